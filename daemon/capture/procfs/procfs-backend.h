/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The procfs backend: the files of each thread below /proc, and taskstats where it answers. It
 * works on every kernel and without privileges, with fewer readings of other users' threads.
 */

#include "capture/batch/backend.h"

extern const Backend procfs_backend;

/* Offers process @pid as Backend.offer_memory does; not when it has gone. */
_must_check_ int procfs_offer_process(const CaptureHost *host, pid_t pid, Largest *largest);
/*
 * A walk through the threads of process @pid alone, and a reader, that no process holds up for long
 * (TaskReader); as Backend.walk_new and Backend.reader_new.
 */
_must_check_ int procfs_walk_one(const CaptureHost *host, pid_t pid, Tally *tally, void **ret);
_must_check_ int procfs_reader_new_guarded(Readings *readings, void **ret);
