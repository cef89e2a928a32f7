/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KernelType
 *
 * The kernel's types as our programs need them: only the members that they read, in any order. Each
 * access is recorded, and libbpf finds the member in the types of the running kernel when a program
 * is loaded (CO-RE), so that no header of the building machine's kernel is needed. A member that a
 * kernel lacks must be asked for with bpf_core_field_exists() before it is read. A type that a
 * kernel may lack must not be named at all: libbpf would look for it in modules, for which it takes
 * CAP_SYS_ADMIN.
 *
 * A name that ends in three underscores and a word is another kernel's form of the same type.
 * Numbers are unsigned wherever their size changed or may change: libbpf adjusts the size of such a
 * load, but does not load a program for which it would have to extend a sign.
 */

#include "metric/counter-list.h"

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
/* The declarations of the helpers use these. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#define PF_KTHREAD 0x00200000u
#define PF_IO_WORKER 0x00000010u
#define PF_USER_WORKER 0x00004000u /* since 6.4, and nothing before */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file {
        unsigned long size, count;
};

struct bpf_iter_meta {
        struct seq_file *seq;
};

struct thread_info {
        __u32 cpu;
        __u32 status; /* x86 */
};

/* The registers of a thread when it entered the kernel: x86, arm64. */
struct pt_regs {
        unsigned long orig_ax, di, si, dx;
};
struct pt_regs___arm64 {
        __u64 regs[31], pstate, orig_x0;
        __u32 syscallno;
};

struct restart_block {
        void *fn;
};

/* With CONFIG_PREEMPT_RT, where it is a lock that sleeps. */
struct spinlock___sleeping {
        struct {
                int unused;
        } lock;
};

struct uw_tls {
        unsigned long tp_value;
};

struct thread_struct {
        unsigned long fsbase; /* x86 */
};

struct thread_struct___arm64 {
        struct uw_tls uw;
};

#define KERNEL_MEMBER(member, ...) __u64 member;
struct sched_statistics {
        COUNTERS_OF_SCHEDSTATS(KERNEL_MEMBER)
        __u64 sum_sleep_runtime;
        __u64 core_forceidle_sum;
};

struct sched_entity {
        __u64 sum_exec_runtime, nr_migrations, slice;
};

struct sched_ext_entity {
        __u32 flags;
};

struct sched_info {
        unsigned long pcount;
        unsigned long long run_delay, max_run_delay, min_run_delay;
};

struct prev_cputime {
        __u64 utime, stime;
};

struct task_io_accounting {
        COUNTERS_OF_IO(KERNEL_MEMBER)
};

struct task_delay_info {
        __u64 blkio_delay, blkio_delay_max, blkio_delay_min;
        __u64 swapin_delay, swapin_delay_max, swapin_delay_min;
        __u64 freepages_delay, freepages_delay_max, freepages_delay_min;
        __u64 thrashing_delay, thrashing_delay_max, thrashing_delay_min;
        __u64 compact_delay, compact_delay_max, compact_delay_min;
        __u64 wpcopy_delay, wpcopy_delay_max, wpcopy_delay_min;
        __u64 irq_delay, irq_delay_max, irq_delay_min;
        __u32 blkio_count, swapin_count, freepages_count, thrashing_count, compact_count,
                wpcopy_count, irq_count;
};

struct super_block {
        __u32 s_dev;
};

struct inode {
        struct super_block *i_sb;
        unsigned long i_ino;
        __u16 i_mode;
        __u32 i_rdev, i_generation;
};

struct qstr {
        const unsigned char *name;
};
struct dentry {
        struct dentry *d_parent;
        struct qstr d_name;
};
struct path {
        struct dentry *dentry;
};
struct file {
        struct path f_path;
        struct inode *f_inode;
        void *private_data;
};

struct fdtable {
        __u32 max_fds;
        struct file **fd;
};

struct files_struct {
        struct fdtable *fdt;
};

struct percpu_counter {
        __s64 count;
        __s32 *counters; /* of each CPU: at this address + the offset of the CPU */
};

struct mm_struct {
        unsigned long hiwater_rss, hiwater_vm, total_vm, exec_vm, start_code, end_code, start_stack;
        struct percpu_counter rss_stat[4];
        struct file *exe_file;
};

/*
 * Up to 6.1, whose verifier refuses to look into it where it is read as a member: it takes
 * bpf_core_read().
 */
typedef struct {
        long counter;
} atomic_long_t;
struct mm_rss_stat {
        atomic_long_t count[4];
};
struct mm_struct___single {
        struct mm_rss_stat rss_stat;
};

typedef struct {
        int counter;
} atomic_t;

struct signal_struct {
        __u32 nr_threads;
        atomic_t live; /* threads that have not exited */
        unsigned long maxrss;
};

struct kernfs_node {
        __u64 id;
        const char *name;
        struct kernfs_node *parent; /* up to 6.14 */
};
struct kernfs_node___rcu {
        struct kernfs_node *__parent;
};

struct cgroup {
        struct kernfs_node *kn;
};

struct css_set {
        struct cgroup *dfl_cgrp;
};

typedef struct {
        __u32 val;
} kuid_t;
typedef struct {
        __u32 val;
} kgid_t;
struct user_namespace {
        struct user_namespace *parent; /* NULL: it is the initial one */
        kuid_t owner;                  /* the effective uid that created it */
};
struct cred {
        kuid_t uid;
        kgid_t gid;
        struct user_namespace *user_ns;
};

struct upid {
        __u32 nr;
};
struct hlist_node {
        struct hlist_node *next;
};
struct hlist_head {
        struct hlist_node *first;
};
struct pid {
        __u32 level;
        struct hlist_head tasks[4]; /* by what it is the number of: of a thread, of a process */
        struct upid numbers[1];     /* in each namespace, from the initial one on */
};

struct in6_addr {
        __u8 bytes[16];
};
struct sock_common {
        __u32 skc_daddr, skc_rcv_saddr;
        __u16 skc_dport, skc_num, skc_family;
        __u8 skc_state;
        struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; /* with CONFIG_IPV6 */
};
struct sock {
        struct sock_common __sk_common;
        __u16 sk_protocol;
        struct pid *sk_peer_pid;
};
struct socket {
        struct sock *sk;
};

struct cpumask {
        unsigned long bits[1];
};

#define KERNEL_TASK_MEMBER(metric, place, member, ...) unsigned long member;
struct task_struct {
        unsigned int sched_contributes_to_load : 1;
        unsigned int in_iowait : 1;
        unsigned int frozen : 1; /* by a cgroup of version 2 */
        struct thread_info thread_info;
        struct thread_struct thread;
        __u32 on_cpu; /* a byte since 7.3 */
        struct restart_block restart_block;
        struct files_struct *files;
        __u32 __state, exit_state, flags, policy, rt_priority;
        int prio, static_prio;
        __u32 pid, tgid;
        char comm[16];
        __u64 start_time, start_boottime;
        struct task_struct *group_leader, *real_parent;
        struct signal_struct *signal;
        struct pid *thread_pid;
        struct hlist_node pid_links[4]; /* in the lists of struct pid */
        const struct cred *real_cred;
        struct css_set *cgroups;
        struct mm_struct *mm;
        struct completion *vfork_done; /* as long as the address space is the parent's */
        __u64 self_exec_id, parent_exec_id;
        const struct cpumask *cpus_ptr;
        struct sched_entity se;
        struct sched_ext_entity scx;
        struct sched_statistics stats;
        struct sched_info sched_info;
        __u64 utime, stime;
        struct prev_cputime prev_cputime;
        COUNTERS_OF_STAT(KERNEL_TASK_MEMBER)
        COUNTERS_OF_STATUS(KERNEL_TASK_MEMBER)
        struct task_io_accounting ioac;
        __u64 acct_rss_mem1, acct_vm_mem1;
        struct task_delay_info *delays;
};

struct task_struct___arm64 {
        struct thread_struct___arm64 thread;
};

/* Up to 5.13. */
struct task_struct___state {
        unsigned long state;
};

/* Up to 5.15 on x86. */
struct task_struct___cpu {
        __u32 cpu;
};

struct bpf_array {
        void *pptrs[1];
};

struct bpf_iter__task {
        struct bpf_iter_meta *meta;
        struct task_struct *task;
};

/* Since 6.0. */
struct kallsym_iter {
        unsigned long value;
        char type;
        char name[512], module_name[56];
};
struct bpf_iter__ksym {
        struct bpf_iter_meta *meta;
        struct kallsym_iter *ksym;
};

#pragma clang attribute pop

/* include/uapi/linux/bpf.h */
enum {
        BPF_MAP_TYPE_HASH = 1,
        BPF_MAP_TYPE_ARRAY = 2,
        BPF_MAP_TYPE_PERCPU_ARRAY = 6,
        BPF_MAP_TYPE_RINGBUF = 27,
        BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
        BPF_NOEXIST = 1,
        BPF_F_NO_PREALLOC = 1 << 0,
        BPF_F_MMAPABLE = 1 << 10,
        BPF_LOCAL_STORAGE_GET_F_CREATE = 1 << 0,
        BPF_RB_NO_WAKEUP = 1 << 0,
        BPF_F_USER_STACK = 1 << 8,
};
enum bpf_func_id {
        BPF_FUNC_map_lookup_percpu_elem = 195, /* since 5.19 */
};
