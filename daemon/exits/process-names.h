/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcessNames
 *
 * The names of processes whose threads end, which the messages do not tell: a name is that of the
 * first thread. It is read from /proc while that lasts, or learned from the message of the first
 * thread, and remembered for a moment, because the threads of a process often end together. After
 * that a process may have another name, and its number may be that of another process.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "kernel/bpf/task-record.h"

#define PROCESS_NAMES_MAX 1024u /* a power of two */
#define PROCESS_NAMES_AGE_NS UINT64_C(1000000000)

typedef struct ProcessName {
        pid_t tgid; /* 0: none is remembered here */
        char name[TASK_COMM_BYTES];
        uint64_t learned_ns;
} ProcessName;

typedef struct ProcessNames {
        int proc_fd; /* borrowed; negative: there is none */
        ProcessName names[PROCESS_NAMES_MAX];
} ProcessNames;

void process_names_init(ProcessNames *names, int proc_fd);
/* @name: padded with NULs. @now_ns: of a clock that does not go back. */
void process_names_learn(ProcessNames *names, pid_t tgid, const char name[static TASK_COMM_BYTES],
                         uint64_t now_ns);
/* What is remembered. False, and *ret is unchanged, when nothing is. */
bool process_names_recall(const ProcessNames *names, pid_t tgid, uint64_t now_ns,
                          char ret[static TASK_COMM_BYTES]);
/* The same, or what /proc has. */
bool process_names_find(ProcessNames *names, pid_t tgid, uint64_t now_ns,
                        char ret[static TASK_COMM_BYTES]);
