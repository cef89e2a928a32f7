/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcWalk
 *
 * The numeric names of a directory: the processes of /proc, the threads of a task directory. The
 * list is ascending and without duplicates, and its memory is used again by the next listing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/procfs/procfs.h"

#define PROC_WALK_MAX_IDS (4 * 1024 * 1024) /* PID_MAX_LIMIT of 64-bit kernels */

/* One of zeros is empty and usable. */
typedef struct ProcWalk {
        pid_t *ids; /* owned */
        size_t n_ids;
        size_t n_allocated;
        char *entries; /* owned: what getdents64(2) fills */
} ProcWalk;

/* Releases the memory; the walk is empty and usable again. */
void proc_walk_done(ProcWalk *walk);

/*
 * Lists the names of @dir_fd (a readable directory, from its start) that are whole numbers in
 * 1..2^31-1 in plain decimal: no sign, no leading zero. TEXT_E_ABSENT or TEXT_E_VANISHED when
 * the process has gone, TEXT_E_TOO_LARGE past PROC_WALK_MAX_IDS; then the list is empty.
 */
_must_check_ int proc_walk_list(ProcWalk *walk, int dir_fd);

/* Makes @id the whole list. -ENOMEM. */
_must_check_ int proc_walk_put(ProcWalk *walk, pid_t id);

/*
 * The same for the threads of process @tgid, whose task directory is @path below @dir_fd. Where
 * that says that there is one thread, it is not listed: to open and list it costs as much as to
 * read a file of the thread, which is the leader, as that stays until all others have gone.
 *
 * One listing can lack threads that live all the while: the kernel remembers its place as a thread,
 * and when that thread exits, the listing ends, or continues by the number of threads listed so far
 * and skips as many as have exited before that place (first_tid(), next_tid() of fs/proc/base.c).
 * That happens in one of fifty listings of a busy pool. So the directory is listed until that adds
 * no thread, four times at most, and in large pieces, because it can happen between two calls, too.
 */
_must_check_ int proc_walk_list_threads(ProcWalk *walk, int dir_fd, const char *path, pid_t tgid);
