/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcessMemory
 *
 * What the kernel counts of the memory of each process: resident pages by kind, and swap. It keeps
 * these counts up to date, so that reading them walks no page tables and waits for no lock of the
 * process, however large it is. They are recorded with the leader of the process.
 */

#include <stdbool.h>
#include <stdint.h>
#include "capture/scene/scene.h"
#include "kernel/procfs/proc-task.h"

/*
 * A thread of the process that still has its memory: an exited leader has none, but its siblings
 * have. NULL when there is none in this batch, and when the leader is not in it.
 */
const ThreadSlot *process_memory_find(Scene *scene, const BatchProcess *process);

/* Puts the counts that @status has into @sample. */
void process_memory_put(ThreadSample *sample, const ProcStatus *status);

/*
 * Gives the leader the counts of the process, and takes them from all other threads. Reads status
 * unless the backend has put them into a sample already.
 */
void process_memory_read(Scene *scene, const BatchProcess *process);
