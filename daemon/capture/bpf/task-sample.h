/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskSample
 *
 * Puts what a task tells into a slot, in the units and with the meaning of the files of /proc and
 * of taskstats: the backends must give the same values. A value that stands in a task but is not a
 * measurement stays absent, as there.
 */

#include "capture/batch/readings.h"
#include "kernel/bpf/task-table.h"

/* @memory: of the process that the thread belongs to; NULL: not known. Clears the sample first. */
void task_sample_take(const Readings *readings, ThreadSlot *slot, const Task *task,
                      const TaskMemory *memory);
