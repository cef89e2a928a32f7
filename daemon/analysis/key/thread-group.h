/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadGroup
 *
 * The group that a thread is in, by its keys, made when it is the first; and what the group learns
 * of its names from each of its threads.
 */

#include "base/macro.h"
#include "analysis/group/side.h"
#include "analysis/group/group.h"
#include "analysis/key/thread-key.h"
#include "snapshot/thread-sample.h"

/* The thread counts among the group's members. 0 or -ENOMEM. */
_must_check_ int thread_group_obtain(ThreadKeys *keys, GroupTable *table, Side side,
                                     const ThreadSample *sample, Group **ret);
