/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordMessage
 *
 * What the job that records tells the one that unwinds, over a pair of SOCK_SEQPACKET: one message
 * a packet, a head and what belongs to its kind. Both are the same executable. What stacks and
 * files hold is of strangers; so the first one copies it and never looks into it, and the second
 * one, which does, may do nothing but read, compute and write one file.
 *
 *     KERNEL   a descriptor: the lines of /proc/kallsyms, as they are for who may see addresses;
 *              answered by the same without one when they are read
 *     MODULE   RecordModule, its path; a descriptor of the file, unless it could not be opened
 *     SEEK     the answer to that: DebugFileName, what the first one is to look for
 *     DEBUG    RecordDebug; a descriptor of a file that may be the one that is looked for
 *     PROCESS  RecordProcess, Mapping of it in ascending order; replaces what was told of it before
 *     JIT      RecordProcess, which was told before; a descriptor of the map of its code that was
 *              made at run time
 *     OBJECT   RecordObjectName, a path or a word: of what the wait of the next sample is on, or of
 *              what is mapped there
 *     SAMPLE   RecordSample, bytes of the stack; also of a waker, before the sample of its wait
 *     GROUP    CourseGroup; groups are numbered in the order in which they are told
 *     STEP     CourseStep
 *     CELLS    CourseCell of the last step and of groups that were told
 *     LENGTHS  RecordLengthKey, RecordLengths: a row of the table, behind all samples
 *     TIMES    SampledTime of some threads, behind all samples
 *     END      RecordSummary; a descriptor: what is to be written into
 *
 * It answers with a PROCESS, itself, at the beginning, and in the end with an END and a number: 0,
 * or 1 where the document found no room. Once, at any moment, it may say
 *
 *     FULL     RecordFull: it holds nearly as much as it may, and no more should be taken
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/record-sample.h"
#include "record/clock-watch.h"
#include "record/record-scope.h"
#include "record/program/unwinder.h"

typedef enum RecordMessageKind {
        RECORD_MESSAGE_KERNEL,
        RECORD_MESSAGE_MODULE,
        RECORD_MESSAGE_SEEK,
        RECORD_MESSAGE_DEBUG,
        RECORD_MESSAGE_PROCESS,
        RECORD_MESSAGE_JIT,
        RECORD_MESSAGE_SAMPLE,
        RECORD_MESSAGE_GROUP,
        RECORD_MESSAGE_STEP,
        RECORD_MESSAGE_CELLS,
        RECORD_MESSAGE_END,
        RECORD_MESSAGE_LENGTHS,
        RECORD_MESSAGE_TIMES,
        RECORD_MESSAGE_FULL,
        RECORD_MESSAGE_OBJECT,
        _RECORD_MESSAGE_MAX,
} RecordMessageKind;

#define RECORD_MAPPINGS_MAX 1024u /* of one process that are told */
#define RECORD_MESSAGE_MAX_BYTES (64u << 10)

/* Modules are numbered in the order in which they are told. */
typedef struct RecordModule {
        uint64_t dev, inode;
} RecordModule;

typedef struct RecordDebug {
        uint64_t module;
} RecordDebug;

typedef struct RecordProcess {
        uint64_t tgid;
        uint64_t image; /* as a sample has it */
        char comm[16];  /* of its first thread */
} RecordProcess;

typedef struct RecordFull {
        uint64_t end; /* a RecordEnd */
} RecordFull;
typedef struct RecordObjectName {
        uint64_t is_mapped_file;
        uint64_t offset; /* in that, of a futex */
} RecordObjectName;

typedef struct RecordSummary {
        uint64_t begin_boottime_ns, end_boottime_ns;
        uint64_t period_ns;    /* at the end; it was shorter before @n_periods changes */
        uint64_t n_periods;    /* how often it was changed */
        RecordControl control; /* with the losses */
        RecordScope scope;
        uint64_t n_processes;      /* whose mappings were read */
        uint64_t n_lost_processes; /* that had ended before */
        uint64_t n_cut_processes;  /* with more mappings than are told */
        uint64_t n_unread_rest;    /* waits that went on, of which no stack could be read */
        uint64_t n_left_out;       /* samples of the ring that are of threads with another name */
        uint64_t every_ns;         /* a step was to last so long; 0: there are none */
        uint64_t n_unsettled_steps, n_missed_steps, course_places; /* StepsFacts */
        bool sees_return; /* threads are seen when they go on: stacks of user mode */
        bool has_clock;
        bool has_lengths;      /* waits were counted by their lengths */
        bool waiting, running; /* what was sampled */
        RecordEnd ended_by;
        UnclockedTime unclocked;
} RecordSummary;

typedef struct RecordMessage {
        RecordMessageKind kind;
        const void *body;
        size_t n;
        int fd; /* owned by the receiver; negative: none came along */
} RecordMessage;

/* Waits for room. -EPIPE, -errno. @fd is borrowed; negative: none. */
_must_check_ int record_message_send(int socket, RecordMessageKind kind, const void *first,
                                     size_t n_first, const void *second, size_t n_second, int fd);
/*
 * Waits for the next one; its body is in @space, aligned, until the next call. 0; -EPIPE: the
 * other side is gone; -EBADMSG: it is none of the above; -errno.
 */
_must_check_ int record_message_receive(int socket,
                                        uint64_t space[static RECORD_MESSAGE_MAX_BYTES / 8],
                                        RecordMessage *ret);
