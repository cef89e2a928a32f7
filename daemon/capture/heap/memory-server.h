/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemoryServer
 *
 * The side that answers questions about the memory of processes (memory-question.h): a memory job,
 * or a thread of a test.
 */

#include "base/macro.h"
#include "capture/heap/memory-job.h"

/*
 * Answers one question after the other, until the other side closes its end: 0. -EBADMSG when that
 * side sends something else, -ENOMEM, -errno when the socket fails. @socket_fd is borrowed.
 */
_must_check_ int memory_server_run(int socket_fd, const MemoryJobOptions *options);
