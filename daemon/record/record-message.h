/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordMessage
 *
 * The messages from the job that records to the job that unwinds, over a pair of sockets of type
 * SOCK_SEQPACKET. Each packet is one message: a head, and the data of its kind. Both jobs run the
 * same executable. The contents of stacks and files come from users that are not trusted. So the
 * job that records copies them and never looks into them; and the job that unwinds, which looks
 * into them, may do nothing but read, compute and write one file.
 *
 *     KERNEL   a descriptor: the lines of /proc/kallsyms, as they are for a reader that may see
 *              addresses; the answer, when the lines are read, is a KERNEL without a descriptor
 *     MODULE   RecordModule, its path; a descriptor of the file, unless it could not be opened
 *     SEEK     the answer to MODULE: DebugFileName, the file that the job that records looks for
 *     DEBUG    RecordDebug; a descriptor of a file that may be the one that SEEK names
 *     PROCESS  RecordProcess, its Mappings in ascending order; replaces an earlier PROCESS of it
 *     JIT      RecordProcess, of which there was a PROCESS before; a descriptor of the map of its
 *              code that was made at run time
 *     OBJECT   RecordObjectName, a path or a word: the name of the object that the wait of the next
 *              sample is on, or of what is mapped at the address of its futex
 *     SAMPLE   RecordSample, bytes of the stack; a waker has one, too, before that of the wait that
 *              it ended
 *     GROUP    CourseGroup; groups are numbered in the order of these messages
 *     STEP     CourseStep
 *     CELLS    CourseCells of the last step, for groups that had a GROUP before
 *     LENGTHS  RecordLengthKey, RecordLengths: a row of the table of lengths, after all samples
 *     TIMES    SampledTimes of some threads, after all samples
 *     END      RecordSummary; a descriptor of the file into which the document is written
 *
 * The job that unwinds sends a PROCESS about itself at the beginning, and in the end an END with a
 * number: 0, or 1 if there was no room for the document. Once, at any moment, it may send
 *
 *     FULL     RecordFull: it holds nearly as much as it may, and no more samples should be taken
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
