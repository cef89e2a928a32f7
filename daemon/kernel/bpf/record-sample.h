/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordSample
 *
 * What the programs of a recording write into its ring: where one thread was while it did not run,
 * or while it ran.
 *
 * An interval of length d is taken always if d is at least the period P, with its length as its
 * weight; else with probability d/P, and then it weighs P. So the weights of what was taken are an
 * unbiased estimate of the time of all intervals, for every way to group them, and what is long is
 * exact. Running time is sampled by a clock of each CPU, and each sample weighs its period.
 *
 * Who ends a wait is told by a record of its own, where that is wanted: it comes first, has no
 * parts, and has the number by which the sample of the wait refers to it.
 */

#include "kernel/bpf/task-record.h"
#include "metric/record-place.h"

#define RECORD_MAX_FRAMES 64u
#define RECORD_MAX_STACK_BYTES 32768u
#define RECORD_MAX_CALLERS 127u /* that frame pointers lead to */
#define RECORD_STACK_PAGE 4096u
#define RECORD_RING_BYTES (8u << 20)

/* In place of the number of a wake-up. */
enum {
        RECORD_WAKE_NONE,    /* nobody wants to know, or it is no wait */
        RECORD_WAKE_UNKNOWN, /* it was not seen */
        RECORD_WAKE_LATER,   /* the wait goes on */
        RECORD_WAKE_FIRST,
};

typedef struct RecordPart {
        __u64 ns;        /* how long */
        __u64 weight_ns; /* 0: it was not taken */
} RecordPart;

/* The kind of object that a wait is on, as far as the system call of the wait tells it. */
typedef enum RecordObjectKind {
        RECORD_OBJECT_NONE, /* it is on nothing of these, or not known */
        RECORD_OBJECT_FILE,
        RECORD_OBJECT_SOCKET,
        RECORD_OBJECT_FUTEX,
        _RECORD_OBJECT_MAX,
} RecordObjectKind;

/* include/uapi/linux/stat.h: of a mode, without the permissions */
#define RECORD_FILE_TYPE(mode) ((__u32) (mode) >> 12)
#define RECORD_FILE_FIFO 1u
#define RECORD_FILE_CHARACTER 2u
#define RECORD_FILE_SOCKET 12u

typedef struct RecordFile {
        __u64 dev; /* as the kernel has it */
        __u64 inode;
        __u32 generation; /* of the inode: another file may get its number */
        __u16 type;       /* RECORD_FILE_TYPE() */
        __u16 is_alone;   /* it is in no directory, as what eventfd(2) makes */
} RecordFile;
#define RECORD_FILE_NAME_BYTES 40u /* with the NUL */

typedef struct RecordSocket {
        __u16 family, protocol;
        __u16 port, peer_port; /* 0: there is none */
        __u32 is_listening;
        __u32 peer_pid;                     /* of a socket of this host; 0: not known */
        __u8 address[16], peer_address[16]; /* the first 4 bytes of IPv4 */
        char peer_comm[TASK_COMM_BYTES];
} RecordSocket;

typedef struct RecordObject {
        __u32 kind;       /* RecordObjectKind */
        __u32 descriptor; /* of a file or a socket */
        union {
                struct {
                        RecordFile file;
                        /* Without directories; it may be cut. */
                        char file_name[RECORD_FILE_NAME_BYTES];
                };
                RecordSocket socket;
                __u64 futex; /* its address in the process */
        };
} RecordObject;

/*
 * Behind it are n_stack_bytes of the stack of user mode, from its sp on; with has_callers,
 * addresses in its functions, the innermost first, as frame pointers lead to them.
 */
typedef struct RecordSample {
        __u32 tid, tgid;
        __u32 n_frames, n_stack_bytes;
        __u32 owner; /* who answers for the process (owner.bpf.h), of a wait that goes on */
        __u8 place;  /* RecordPlace of the wait; _RECORD_PLACE_MAX: there is none */
        __u8 is_kernel_thread;
        __u8 has_registers; /* those of user mode */
        __u8 is_late;       /* the thread went on unseen: its stack of user mode is not known */
        __u8 is_waker;      /* no sample: who woke another thread, or was interrupted by what did */
        __u8 hides_frames;  /* of a waker: they are there to find interrupts by, and not wanted */
        __u8 has_callers;
        __u8 unused[5];
        __u64 start_boottime_ns;
        __u64 image;       /* of its process: another one once that has executed a program */
        __u64 start_stack; /* an address of it; 0: the process has no memory any more */
        __u64 seen_ns;     /* CLOCK_MONOTONIC */
        /* Set only for a wait that goes on, for the job that reads the memory of the process. */
        __u64 sp;
        __u64 n_switches; /* with another number it has woken since */
        RecordPart wait, queue, running;
        __u64 wake;          /* which wake-up ended the wait, or, of a waker, its own number */
        RecordObject object; /* of the wait */
        char comm[TASK_COMM_BYTES], process[TASK_COMM_BYTES]; /* of its first thread */
        /* x86_64: r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss */
        /* aarch64: x0 ... x30, sp, pc, pstate */
        __u64 registers[34];
        __u64 frames[RECORD_MAX_FRAMES]; /* of the kernel, innermost first */
} RecordSample;

/*
 * How long waits were, and times on a run queue: each that ends is counted by its length, whether
 * it is a sample or not. There is a row for each name of a thread in a process name and each place,
 * so that many processes of one name take one row; what finds no room is counted as lost.
 */

#define RECORD_MAX_LENGTH_ROWS 6144u /* of 600 bytes in the kernel, also at rest */
/*
 * Below 1 microsecond; then from each power of two of them to the next; the last has no end and
 * begins at 18 minutes. A power of two.
 */
#define RECORD_LENGTHS 32u

typedef struct RecordLengthKey {
        char process[TASK_COMM_BYTES], comm[TASK_COMM_BYTES];
        __u32 place; /* RecordPlace */
        __u32 unused;
} RecordLengthKey;

typedef struct RecordLengths {
        __u64 n[RECORD_LENGTHS], ns[RECORD_LENGTHS];
} RecordLengths;

/* From which length on waits are counted there; those of the next one are longer. */
static inline __u64 record_length_begin(unsigned which) {
        return which == 0 ? 0 : 1000ull << (which - 1);
}
