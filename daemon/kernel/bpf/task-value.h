/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskValue
 *
 * Procfs and taskstats make these of the numbers in a task before they show them. Both backends
 * must give the same values, so this is done as the kernel does it.
 */

#include <stdint.h>
#include "kernel/bpf/task-table.h"

/* The letter of the state: one of "RSDTtXZPI" (fs/proc/array.c, get_task_state()). */
char task_state(const TaskRecord *record);

/*
 * Computes the CPU time in user and in kernel mode, in ns. The kernel samples both times; they are
 * scaled so that their sum is the precise run time, and so that neither of them ever falls
 * (kernel/sched/cputime.c, cputime_adjust()).
 */
void task_cpu_times(const TaskRecord *record, uint64_t *ret_user_ns, uint64_t *ret_system_ns);

/* Since boot, as procfs has it. */
uint64_t task_start_ticks(const TaskRecord *record);

/* A device number of the kernel, as stat(2) has it. */
uint64_t task_device(uint64_t kernel_device);

/*
 * Bytes mapped to be executed, without the program itself (fs/proc/task_mmu.c, VmLib); @page_bytes
 * is the size of a page.
 */
uint64_t task_library_code(const TaskMemory *memory, uint64_t page_bytes);

/*
 * In MiB times microseconds, of the kernel's sum of pages times ns / 1024 (kernel/tsacct.c,
 * xacct_add_tsk()). The kernel multiplies first, which wraps after some minutes of a process with
 * 50 GiB; many that ended get there together, and what wraps cannot be subtracted. Here it does
 * not.
 */
uint64_t task_integral_mb_us(uint64_t integral, uint64_t page_bytes);

/* Pages, resident: of files, anonymous and shared memory. A sum below 0 is 0. */
uint64_t task_resident(const TaskMemory *memory);
