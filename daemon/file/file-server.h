/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FileServer
 *
 * The side that answers: a file job, or a thread of a test. It reads the file with pread(2) alone,
 * because one that its owner cuts off meanwhile would end a process that has it mapped.
 */

#include "base/macro.h"

/*
 * Answers one question after the other, until the other side closes its end: 0. -EBADMSG when that
 * side sends something else, -errno when the socket fails. @socket_fd is borrowed.
 */
_must_check_ int file_server_run(int socket_fd);
