/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackTable
 *
 * What the samples of a recording say, added up: for each thread, each place where its time can be
 * and each stack, the time of the samples. It grows with what is different, not with how long a
 * recording is, and has a ceiling: past it samples count for a stack that says so.
 *
 * Frames are functions. One whose name is not known is told by its file and its place there.
 *
 * Beside the samples it has how long waits were, of which all are counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"
#include "kernel/bpf/record-sample.h"

#define STACK_TABLE_MAX_STACKS 262144u
#define STACK_NONE UINT32_MAX /* of samples past it */

/* Modules that are no files. */
#define STACK_NO_MODULE UINT32_MAX
#define STACK_KERNEL (UINT32_MAX - 1)

typedef struct StackFrame {
        uint64_t offset;     /* in the file, of a frame without a name; else of the function */
        uint64_t address;    /* in the file, until its line was looked for; else 0 */
        uint32_t module;     /* its number, or one of the above */
        uint32_t name;       /* where in the names; 0: it has none */
        uint32_t file, line; /* of the source: where in the names; 0: it is not known */
} StackFrame;

/* A thread from its start to its end. */
typedef struct StackThread {
        uint64_t start_boottime_ns;
        uint32_t tid, tgid;
        char comm[16], process[16]; /* NUL where there is room for it */
        bool only_wakes;            /* it woke others, and the recording does not take it */
        bool has_times;
        uint64_t ns[_RECORD_PLACE_MAX]; /* with times: in each place while samples were taken */
} StackThread;

/* The waker that ended a wait: one of these, or STACK_WAKER_FIRST plus the number of a thread. */
enum {
        STACK_WAKER_NONE,      /* it is no wait, or nobody wanted to know */
        STACK_WAKER_UNKNOWN,   /* it was not seen */
        STACK_WAKER_LATER,     /* the wait went on at the end of the recording */
        STACK_WAKER_INTERRUPT, /* a timer, a device, another host */
        STACK_WAKER_FIRST,
};
/* As they are called in files and in replies; the first is null. */
#define STACK_WAKER_NAMES \
        { "none", "unknown", "later", "interrupt" }

/* An object that waits are on. The numbers of objects begin with 1. */
typedef struct StackObject {
        uint32_t kind; /* RecordObjectKind */
        uint32_t name; /* where in the names */
} StackObject;
#define STACK_OBJECT_NONE 0u
#define STACK_OBJECT_OTHERS UINT32_MAX /* one of those for which there was no room */
#define STACK_MAX_OBJECTS 65536u
#define STACK_OBJECTS_MAX_BYTES (8u << 20) /* of their names, which are of strangers */
#define STACK_OBJECTS_EACH 64u             /* that are told apart behind one stack */
/* As they are called in files and in replies; the first is null. */
#define STACK_OBJECT_NAMES \
        { "none", "file", "socket", "futex" }

typedef struct StackSampleKey {
        uint32_t thread, stack, place;
        uint32_t object;
        uint32_t waker, waker_stack; /* a stack of an interrupt or a thread; else 0 */
        uint32_t held, held_stack;   /* where the waker was meanwhile: a place plus 1; 0: unknown */
} StackSampleKey;

/* Times of intervals that were taken whatever happened, and of those that stand for others. */
typedef struct StackSample {
        StackSampleKey key;
        uint64_t long_ns, n_long;
        uint64_t short_ns, n_short;  /* by their weights */
        uint64_t short_variance_us2; /* squares of microseconds: the sum of P * (P - d) */
        uint64_t max_ns;
} StackSample;

/* How long the waits of threads of one name were, in one process name and one place. */
typedef struct StackLengths {
        RecordLengthKey key; /* of names with zeros behind them */
        RecordLengths lengths;
} StackLengths;
_Static_assert(sizeof(StackLengths) == sizeof(RecordLengthKey) + sizeof(RecordLengths),
               "a message of both is one of these");

typedef struct StackTable {
        StackFrame *frames;
        size_t n_frames, n_frames_allocated;
        Index by_frame;
        Buffer names; /* each ends in NUL; the first one is empty */
        uint32_t *name_places;
        size_t n_name_places, n_name_places_allocated;
        Index by_name;

        /* Stacks are numbers of frames, the outermost first, one behind the other. */
        uint32_t *numbers;
        size_t n_numbers, n_numbers_allocated;
        size_t *stacks; /* where each ends */
        size_t n_stacks, n_stacks_allocated;
        Index by_stack;

        StackObject *objects;
        size_t n_objects, n_objects_allocated, n_object_bytes;
        Index by_object;
        /*
         * Pairs, one after the other, of the number of a stack and the number of an object that
         * waits with this stack are on.
         */
        uint32_t (*pairs)[2];
        size_t n_pairs, n_pairs_allocated;
        Index by_pair;
        unsigned char *pairs_each; /* how many each stack has */
        size_t n_pairs_each;

        StackThread *threads;
        size_t n_threads, n_threads_allocated;
        Index by_thread;

        StackSample *samples;
        size_t n_samples, n_samples_allocated;
        Index by_sample;

        StackLengths *lengths;
        size_t n_lengths, n_lengths_allocated;
        Index by_length;

        uint64_t n_overflow; /* samples without a stack of their own, for want of room */
} StackTable;

void stack_table_done(StackTable *table);
/* The memory that it takes. */
size_t stack_table_bytes(const StackTable *table);
/* The place of a name behind the others; 0: it is none. -ENOMEM. */
_must_check_ int stack_table_add_name(StackTable *table, Span name, uint32_t *ret);
/* The number of a frame whose names are in the table. -ENOMEM. */
_must_check_ int stack_table_put_frame(StackTable *table, const StackFrame *frame, uint32_t *ret);
/*
 * After frames were changed in their places: makes one of those that are alike now, and of the
 * stacks and samples that they are in. -ENOMEM.
 */
_must_check_ int stack_table_fold(StackTable *table);
/* One without a line. The number of the frame. -ENOMEM. */
_must_check_ int stack_table_add_frame(StackTable *table, uint32_t module, uint64_t offset,
                                       Span name, uint32_t *ret);
/* @frames: the outermost first. *ret may be STACK_NONE. -ENOMEM. */
_must_check_ int stack_table_add_stack(StackTable *table, const uint32_t *frames, size_t n,
                                       uint32_t *ret);
/* *ret: its number; STACK_OBJECT_OTHERS where there is no room for more. -ENOMEM. */
_must_check_ int stack_table_add_object(StackTable *table, RecordObjectKind kind, Span name,
                                        uint32_t *ret);
/*
 * Puts *object behind @stack, and STACK_OBJECT_OTHERS in its place where that stack has as many as
 * are told apart: each makes samples of their own. -ENOMEM.
 */
_must_check_ int stack_table_place_object(StackTable *table, uint32_t stack, uint32_t *object);
_must_check_ int stack_table_add_thread(StackTable *table, const StackThread *thread,
                                        uint32_t *ret);
/* By its numbers and its start. NULL: it is not there. */
StackThread *stack_table_find_thread(StackTable *table, uint32_t tid, uint32_t tgid,
                                     uint64_t start_boottime_ns);
/* A part of an interval that lasted @ns: weights as in kernel/bpf/record-sample.h. -ENOMEM. */
_must_check_ int stack_table_add_sample(StackTable *table, const StackSampleKey *key, uint64_t ns,
                                        uint64_t weight_ns);
/* One that was added up elsewhere, and has a key that is not there. -ENOMEM. */
_must_check_ int stack_table_put_sample(StackTable *table, const StackSample *sample);
/* Adds to the row of that key. Bytes after the end of a name make no difference. -ENOMEM. */
_must_check_ int stack_table_add_lengths(StackTable *table, const RecordLengthKey *key,
                                         const RecordLengths *lengths);
