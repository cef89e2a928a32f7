/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskProgram
 *
 * Loads the program of the task iterator (task.bpf.c) into the kernel. That takes CAP_BPF and
 * CAP_PERFMON, types of the running kernel (/sys/kernel/btf/vmlinux), and some 15 MiB for a moment.
 * What is loaded lives as long as somebody has the descriptor; to use it takes neither capability.
 *
 * Built without -Dbpf, the file is task-program-fallback.c.
 */

#include "base/macro.h"

enum {
        TASK_PROGRAM_OK,
        TASK_PROGRAM_E_NOT_BUILT,
        TASK_PROGRAM_E_NO_TYPES, /* CONFIG_DEBUG_INFO_BTF */
        TASK_PROGRAM_E_DENIED,   /* capabilities, lockdown, a sandbox */
        TASK_PROGRAM_E_REFUSED,  /* this kernel does not take the program */
};

#define TASK_PROGRAM_REASON_BYTES 256

/*
 * *ret_link_fd is what task_table_read() wants, owned by the caller. When the result is positive,
 * @ret_reason says for users why the host is read without it. -errno: no memory, no descriptors.
 */
_must_check_ int task_program_load(int *ret_link_fd,
                                   char ret_reason[static TASK_PROGRAM_REASON_BYTES]);
