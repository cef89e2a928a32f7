/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SandboxGrant
 *
 * What a kind of job may do inside the sandbox beside using its descriptors. The calls of each
 * grant are in sandbox-calls.c; to let a kind of job do more, add a grant and its calls.
 */

typedef enum SandboxGrant {
        SANDBOX_READ_FILES = 1 << 0,    /* open files to read them, look at files and directories */
        SANDBOX_OBSERVE = 1 << 1,       /* what a capture needs: threads of its own, affinity */
        SANDBOX_CHANGE_NAMES = 1 << 2,  /* make files; link, rename and remove names */
        SANDBOX_READ_MEMORY = 1 << 3,   /* that of other processes */
        SANDBOX_RECEIVE_FILES = 1 << 4, /* take a few descriptors from a socket */
        SANDBOX_ITERATE = 1 << 5,       /* begin passes of BPF iterators that others have loaded */
        SANDBOX_LOAD_PROGRAMS = 1 << 6, /* load BPF programs, as far as capabilities allow */
        SANDBOX_LISTEN = 1 << 8,        /* take many messages at once, seal files in memory */
        SANDBOX_FOLD_ROWS = 1 << 7,     /* move rows of a BPF map into a sealed file in memory */
        SANDBOX_ASK = 1 << 9,           /* another job, through a pair of sockets */
        SANDBOX_RECEIVE_MANY = 1 << 11, /* take a descriptor of each file that processes execute */
        SANDBOX_RECORD = 1 << 10,       /* empty a BPF map of a recording */
} SandboxGrant;

/* The architectures on which struct stat is the one that the kernel fills for fstat(2). */
#if defined(__x86_64__) || defined(__aarch64__) || defined(__powerpc64__) || defined(__s390x__) || \
        (defined(__riscv) && __riscv_xlen == 64)
#define SANDBOX_HAS_FSTAT 1
#else
#define SANDBOX_HAS_FSTAT 0
#endif
