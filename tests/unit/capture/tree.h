/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Tree
 *
 * A directory laid out like /proc, /sys and a cgroup v2 hierarchy, made for one test and removed
 * after it. Files are written in the kernel's form with the values that a test is about.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/span.h"

typedef struct Tree {
        char path[64];
        int fd, proc_fd, sys_fd, cgroup_fd;
} Tree;

/*
 * With an unremarkable kernel: 6.18, schedstats on, delay accounting booted, pressure without irq.
 */
void tree_make(Tree *tree);
void tree_remove(Tree *tree);

/* @path is below the tree ("proc/7/task/7/stat"); directories are made. */
void tree_write(const Tree *tree, const char *path, Span content);
void tree_write_text(const Tree *tree, const char *path, const char *format, ...)
        __attribute__((__format__(__printf__, 3, 4)));
void tree_delete(const Tree *tree, const char *path);
void tree_link(const Tree *tree, const char *path, const char *target);
/*
 * Nobody but the superuser may read it; tree_deny() in a test is of use under tree_be_nobody()
 * only.
 */
void tree_deny(const Tree *tree, const char *path);
/* A directory must be allowed again before the tree is removed. */
void tree_allow(const Tree *tree, const char *path);
/* File access of this thread as an ordinary user, and back. */
void tree_be_nobody(void);
void tree_be_somebody(void);

/* All zero is an ordinary sleeping user thread: the defaults are named. */
typedef struct TreeThread {
        pid_t tgid, tid;
        const char *comm; /* "thread" */
        size_t n_comm;    /* 0: to its end */
        char state;       /* 'S' */
        bool kthread;
        bool no_space;   /* vsize 0, as of kernel threads and zombies */
        int policy;      /* SCHED_OTHER */
        uint64_t start;  /* 1000 + tid */
        int num_threads; /* 1 */
        unsigned minflt; /* 11 */
        unsigned start_stack;
        unsigned flags;     /* 64 */
        const char *cgroup; /* "/" */
        /* kB in status, beside 2 of files, 3 of shared memory and 4 in swap; the tid. */
        unsigned long long anon_kib;
} TreeThread;

/*
 * Its directory with stat, sched, io, schedstat, status, cgroup, smaps_rollup, exe; and statm of a
 * process, with a page for each 4 of anon_kib.
 */
void tree_add_thread(const Tree *tree, const TreeThread *thread);
