/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Call
 *
 * The system call that a thread is in, by its saved registers, and the file that its first argument
 * is the descriptor of.
 */

#include "kernel/bpf/ledger-record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* CALL_DECIDES_..., or a WaitReason, with CALL_SYNCS; set before loading. */
const volatile __u8 reason_of_call[CALL_NUMBERS] = {};

typedef struct Call {
        __u64 first;         /* argument */
        __u32 number;        /* CALL_NONE: there is none */
        __u32 is_foreign;    /* of a 32-bit program: the number is one of another table */
        __u32 second, third; /* arguments, the lower halves */
} Call;

/* arch/x86/include/asm/thread_info.h; arch/arm64/include/uapi/asm/ptrace.h */
#define TS_COMPAT 0x0002u
#define PSR_MODE32_BIT 0x10u

static __always_inline void read_call(Call *call, struct task_struct *task) {
        struct pt_regs *regs = (struct pt_regs *) bpf_task_pt_regs(task);
        struct pt_regs___arm64 *arm64 = (struct pt_regs___arm64 *) regs;

        call->number = CALL_NONE;
        call->first = call->is_foreign = call->second = call->third = 0;
        if (bpf_core_field_exists(regs->orig_ax)) {
                call->number = (__u32) regs->orig_ax;
                call->first = regs->di;
                call->second = (__u32) regs->si;
                call->third = (__u32) regs->dx;
                if (bpf_core_field_exists(task->thread_info.status))
                        call->is_foreign = task->thread_info.status & TS_COMPAT;
        } else if (bpf_core_field_exists(arm64->syscallno)) {
                call->number = arm64->syscallno;
                call->first = arm64->orig_x0;
                call->second = (__u32) arm64->regs[1];
                call->third = (__u32) arm64->regs[2];
                call->is_foreign = (__u32) arm64->pstate & PSR_MODE32_BIT;
        }
}

/* What is known of the call by its number. */
static __always_inline __u32 find_call(const Call *call) {
        return call->number < CALL_NUMBERS ? reason_of_call[call->number] : WAIT_REASON_other;
}

/* files */

/* NULL: there is none, or it cannot be read. */
static __always_inline struct file *find_file(struct task_struct *task, __u32 descriptor) {
        struct file **place, *file = 0;
        struct fdtable *table;

        if (!task->files)
                return 0;
        table = task->files->fdt;
        if (descriptor >= table->max_fds)
                return 0;
        place = table->fd + descriptor;
        return bpf_probe_read_kernel(&file, sizeof(file), place) < 0 ? 0 : file;
}

/* include/uapi/linux/major.h: virtual, serial and pseudo terminals. */
static __always_inline int is_terminal(__u32 major) {
        return (major >= 2 && major <= 5) || (major >= 128 && major <= 143) || major == 166 ||
               major == 188 || major == 204 || major == 205 || major == 229;
}

/* include/uapi/linux/stat.h, without the permissions */
#define TYPE_OF_MODE(mode) ((__u32) (mode) >> 12)
#define TYPE_FIFO 1u
#define TYPE_CHARACTER 2u
#define TYPE_SOCKET 12u
#define MINOR_BITS 20

static __noinline __u32 reason_of_file(struct task_struct *task, __u32 descriptor) {
        struct file *file = task ? find_file(task, descriptor) : 0;
        __u32 type;

        if (!file)
                return WAIT_REASON_file;
        type = TYPE_OF_MODE(BPF_CORE_READ(file, f_inode, i_mode));
        if (type == TYPE_FIFO)
                return WAIT_REASON_pipe;
        if (type == TYPE_SOCKET)
                return WAIT_REASON_socket;
        if (type == TYPE_CHARACTER &&
            is_terminal(BPF_CORE_READ(file, f_inode, i_rdev) >> MINOR_BITS))
                return WAIT_REASON_terminal;
        return WAIT_REASON_file;
}
