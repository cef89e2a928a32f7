/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcessMemory
 *
 * The kernel counts the memory of each process: resident pages by kind, and swap. It keeps these
 * counts up to date, so that reading them walks no page tables and waits for no lock of the
 * process, however large it is. They are recorded with the leader of the process.
 *
 * The peak of the resident size stands with every thread for which taskstats has one, but it is
 * read here, too. Taskstats adds up only what the CPUs have passed on so far, which can be less
 * than the present size. The file adds up all from 6.16 on; before, it counts as taskstats does.
 */

#include <stdbool.h>
#include <stdint.h>
#include "capture/batch/readings.h"
#include "kernel/procfs/proc-task.h"

/*
 * A thread of the process that still has its memory: an exited leader has none, but its siblings
 * have. NULL when there is none in this batch, and when the leader is not in it.
 */
ThreadSlot *process_memory_find(Readings *readings, const BatchProcess *process);

/* Puts what @status has of the process into the slot of one of its threads. */
void process_memory_put(ThreadSlot *slot, const ProcStatus *status);

/*
 * Gives the leader the counts of the process, and takes them from all other threads. Reads status
 * unless the backend has put them into a sample already. Replaces the peaks that taskstats gave.
 */
void process_memory_read(Readings *readings, const BatchProcess *process);
