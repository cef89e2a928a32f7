/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcfsWalk
 *
 * Lists the processes of /proc in ascending order, and the threads of each when its turn comes.
 */

#include "capture/scene/backend.h"

/* As Backend has them. walk_new: -EACCES and -ENOENT when /proc cannot be listed. */
_must_check_ int procfs_walk_new(const CaptureHost *host, pid_t only, Tally *tally, void **ret);
_must_check_ int procfs_walk_next(void *walk, Batch *batch);
void procfs_walk_free(void *walk);
