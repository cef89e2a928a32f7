/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Call
 *
 * The system call that a thread is in, by its saved registers, and what it is on: a file that one
 * of its arguments is the descriptor of, or the address of a futex.
 */

#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/record-sample.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* CALL_DECIDES_..., or a WaitReason, with CALL_SYNCS and CALL_ON_FILE; set before loading. */
const volatile __u8 reason_of_call[CALL_NUMBERS] = {};

static __always_inline _Bool is_thread_of_kernel(const struct task_struct *task) {
        return (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) != 0;
}

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

/* Returns the entry of reason_of_call for the number of the call. */
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

#define MINOR_BITS 20

static __noinline __u32 reason_of_file(struct task_struct *task, __u32 descriptor) {
        struct file *file = task ? find_file(task, descriptor) : 0;
        __u32 type;

        if (!file)
                return WAIT_REASON_file;
        type = RECORD_FILE_TYPE(BPF_CORE_READ(file, f_inode, i_mode));
        if (type == RECORD_FILE_FIFO)
                return WAIT_REASON_pipe;
        if (type == RECORD_FILE_SOCKET)
                return WAIT_REASON_socket;
        if (type == RECORD_FILE_CHARACTER &&
            is_terminal(BPF_CORE_READ(file, f_inode, i_rdev) >> MINOR_BITS))
                return WAIT_REASON_terminal;
        return WAIT_REASON_file;
}

/* what a wait is on */

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define TCP_LISTEN 10
#define PIDTYPE_TGID 1

/*
 * Whoever has connected to a socket of this host, or listens where it is connected to. One that has
 * ended has no name any more: its number may be that of another one.
 */
static __always_inline void read_peer(struct sock *sock, RecordObject *object) {
        struct task_struct *leader = 0;
        struct hlist_node *link;
        struct pid *peer;

        if (!bpf_core_field_exists(sock->sk_peer_pid) || !bpf_core_field_exists(leader->pid_links))
                return;
        peer = BPF_CORE_READ(sock, sk_peer_pid);
        link = peer ? BPF_CORE_READ(peer, tasks[PIDTYPE_TGID].first) : 0;
        if (!link)
                return;
        leader = (void *) link - bpf_core_field_offset(struct task_struct, pid_links) -
                 PIDTYPE_TGID * bpf_core_type_size(struct hlist_node);
        object->socket.peer_pid = BPF_CORE_READ(peer, numbers[0].nr);
        (void) bpf_core_read(object->socket.peer_comm, sizeof(object->socket.peer_comm),
                             &leader->comm);
}

static __always_inline void read_socket(struct file *file, RecordObject *object) {
        struct socket *socket = BPF_CORE_READ(file, private_data);
        struct sock *sock = BPF_CORE_READ(socket, sk);
        struct sock_common *common = &sock->__sk_common;

        if (!sock)
                return;
        object->kind = RECORD_OBJECT_SOCKET;
        object->socket.family = BPF_CORE_READ(common, skc_family);
        object->socket.protocol = BPF_CORE_READ(sock, sk_protocol);
        object->socket.is_listening = BPF_CORE_READ(common, skc_state) == TCP_LISTEN;
        if (object->socket.family == AF_UNIX)
                read_peer(sock, object);
        if (object->socket.family != AF_INET && object->socket.family != AF_INET6)
                return;
        object->socket.port = BPF_CORE_READ(common, skc_num);
        object->socket.peer_port = __builtin_bswap16(BPF_CORE_READ(common, skc_dport));
        if (object->socket.family == AF_INET) {
                (void) bpf_core_read(object->socket.address, 4, &common->skc_rcv_saddr);
                (void) bpf_core_read(object->socket.peer_address, 4, &common->skc_daddr);
        } else if (bpf_core_field_exists(common->skc_v6_daddr)) {
                (void) bpf_core_read(object->socket.address, 16, &common->skc_v6_rcv_saddr);
                (void) bpf_core_read(object->socket.peer_address, 16, &common->skc_v6_daddr);
        }
}

/*
 * Returns true if a wait in @place may be for a file of @type. The type only matters for places
 * that were chosen by the type of the file.
 */
static __always_inline _Bool fits_place(__u32 type, __u32 place) {
        _Bool is_fifo = type == RECORD_FILE_FIFO, is_socket = type == RECORD_FILE_SOCKET;

        if (place == RECORD_PLACE_pipe)
                return is_fifo;
        if (place == RECORD_PLACE_socket)
                return is_socket;
        return (place != RECORD_PLACE_file && place != RECORD_PLACE_terminal) ||
               (!is_fifo && !is_socket);
}

/*
 * Finds the object that @task, which is still in its system call, waits for in @place. If another
 * thread has closed the descriptor meanwhile, there is no object any more. If the descriptor was
 * used again since then, only the type of its file can show that: to notice all such cases, every
 * wait would have to look up its object when it begins.
 */
static __noinline int read_object(struct task_struct *task, __u32 place, RecordObject *object) {
        struct file *file;
        struct inode *inode;
        struct dentry *dentry;
        __u32 decides, type;
        Call call;

        if (!task || !object || place == RECORD_PLACE_stopped || is_thread_of_kernel(task))
                return 0;
        read_call(&call, task);
        if (call.is_foreign)
                return 0;
        decides = find_call(&call);
        if (CALL_REASON(decides) == CALL_DECIDES_FUTEX ||
            CALL_REASON(decides) == CALL_DECIDES_FUTEX_VALUE) {
                /* Else it is the memory around it that is waited for. */
                if (place != RECORD_PLACE_lock && place != RECORD_PLACE_futex)
                        return 0;
                object->kind = RECORD_OBJECT_FUTEX;
                object->futex = call.first;
                return 0;
        }
        if (CALL_REASON(decides) != CALL_DECIDES_FILE && !(decides & CALL_ON_FILE))
                return 0;
        file = find_file(task, (__u32) call.first);
        if (!file)
                return 0;
        inode = BPF_CORE_READ(file, f_inode);
        type = RECORD_FILE_TYPE(BPF_CORE_READ(inode, i_mode));
        if (!fits_place(type, place))
                return 0;
        object->descriptor = (__u32) call.first;
        if (type == RECORD_FILE_SOCKET) {
                read_socket(file, object);
                return 0;
        }
        dentry = BPF_CORE_READ(file, f_path.dentry);
        object->kind = RECORD_OBJECT_FILE;
        object->file.type = (__u16) type;
        object->file.is_alone = BPF_CORE_READ(dentry, d_parent) == dentry;
        (void) bpf_probe_read_kernel_str(object->file_name, sizeof(object->file_name),
                                         BPF_CORE_READ(dentry, d_name.name));
        object->file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
        object->file.inode = BPF_CORE_READ(inode, i_ino);
        object->file.generation = BPF_CORE_READ(inode, i_generation);
        return 0;
}
