/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskProgram
 *
 * Loads the programs of task.bpf.c into the kernel and attaches them: the task iterator, and, where
 * they are wanted, the ledger of exits and the account of waits. That takes CAP_BPF and
 * CAP_PERFMON, types of the running kernel (/sys/kernel/btf/vmlinux), and some 15 MiB for a moment.
 * Programs see all of the host, as the initial namespaces have it.
 * The programs live as long as somebody has the descriptors; to use them takes neither capability.
 *
 * Built without -Dbpf, the file is task-program-fallback.c.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "kernel/bpf/task-object.h"

enum {
        TASK_PROGRAM_OK,
        TASK_PROGRAM_E_NOT_BUILT,
        TASK_PROGRAM_E_NO_CALL,   /* CONFIG_BPF_SYSCALL */
        TASK_PROGRAM_E_NO_TYPES,  /* CONFIG_DEBUG_INFO_BTF */
        TASK_PROGRAM_E_DENIED,    /* capabilities, lockdown, a sandbox */
        TASK_PROGRAM_E_NAMESPACE, /* in a pid, time or cgroup namespace */
        TASK_PROGRAM_E_REFUSED,   /* this kernel does not take the program */
};

#define TASK_PROGRAM_REASON_BYTES 256

typedef struct TaskProgramOptions {
        bool ledger;        /* count what threads have done that end */
        bool waits;         /* count uninterruptible waits */
        bool captures_only; /* no recording will take samples with them: loads in half the time */
} TaskProgramOptions;

/*
 * *ret has the iterator, and the objects of what else was wanted; owned by the caller, and all
 * negative on failure. Where the kernel does not take what a recording needs, or only the iterator,
 * the rest is not there, and @ret_reason says why; else it is "". When the result is positive,
 * @ret_reason says for users why the host is read without any of it. -errno: no memory, no
 * descriptors.
 */
_must_check_ int task_program_load(const TaskProgramOptions *options, TaskObjects *ret,
                                   char ret_reason[static TASK_PROGRAM_REASON_BYTES]);
