/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reservation
 *
 * Bounds what jobs that run may still write into the file system of the spool. Each job that writes
 * there gets a bound when it starts, and until it ends, what it has not written of that is taken
 * for all others. So jobs that run at the same time cannot together use the space that is kept
 * free. A capture, which bounds its file itself, reserves LIMIT_CAPTURE_BYTES.
 */

#include <stdint.h>
#include "base/macro.h"
#include "service/request/request.h"

/*
 * For a job that writes @file, which is borrowed until the request ends: half of what is left, so
 * that there is some left for the next job, and at most the budget of the spool. The job cannot
 * write a longer file. REQUEST_ANSWERED when nothing is left, or no inode.
 */
_must_check_ int reservation_take_half(Request *request, int file);
/*
 * For a job that writes a file in memory which its caller will get: half of what the files leave
 * that this user and others have open (see lent.h). REQUEST_ANSWERED with Busy when that is too
 * little.
 */
_must_check_ int reservation_take_memory(Request *request);
/* Counts @file for the caller, who gets it, from now on. */
_must_check_ int reservation_lend(Request *request, int file);
