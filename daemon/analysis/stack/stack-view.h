/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackView
 *
 * Divides the exact time of threads among their sampled stacks. The snapshots of both ends tell how
 * long a thread ran, waited for a CPU and waited for each reason; samples only divide that time.
 * There are two strata. Intervals of at least the sampling period were all taken, so that their
 * stacks have exact time. The remaining time is divided among the stacks of short samples by their
 * weights. If there are no short samples, the remaining time belongs to a stack that says so. So
 * the rows of one thread add up to its time, to the nanosecond.
 *
 * For a thread that was not there at the end, nothing is exact: its rows are estimates from
 * samples. The same holds for intervals if the recording took only those of some lengths and left
 * out others. Threads that the filter of the recording does not take have no rows.
 *
 * The time of waits can be divided further, by who ended the waits. The time of each row is divided
 * once more by the objects that its waits were on, in the proportion that the samples of that row
 * show.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"
#include "metric/record-place.h"
#include "record/recording-document.h"
#include "snapshot/thread-sample.h"

/* In place of the number of a stack: time that no sample covers. */
#define STACK_UNSAMPLED (UINT32_MAX - 1)
/*
 * Likewise: time before the first sample could be taken, or after the last. A snapshot is taken
 * before, and one after, so that each thread is observed for a little longer than it is sampled.
 */
#define STACK_OUTSIDE (UINT32_MAX - 2)

/*
 * By this part of the time that has passed the sum of a thread's times may be off, 2 %, or by as
 * long as it may take until all threads are read.
 */
#define STACK_SUMS_PART 50u
#define STACK_SUMS_SLACK_NS 10000000u

/* A thread that was there at the end, from its numbers at both. */
typedef struct StackTimes {
        uint64_t start_ticks;
        uint32_t tid;
        bool has_begun; /* it was there at the beginning */
        bool is_whole;  /* it was there at the end, too */
        bool is_taken;  /* the filter of the recording takes it */
        uint64_t known; /* a bit for each place */
        uint64_t ns[_RECORD_PLACE_MAX];
        const uint64_t
                *sampled_ns;    /* borrowed: likewise, while samples were taken; NULL: unknown */
        uint64_t outside_ns;    /* without that: of all places, as far as no row has it yet */
        uint32_t process, comm; /* where in the names; each ends in NUL */
} StackTimes;

/* The waker that ended waits: threads of one name in one process name, or something else. */
typedef struct StackWaker {
        uint32_t kind;          /* STACK_WAKER_FIRST: a thread; else a word below it */
        uint32_t process, comm; /* of a thread: where in the labels */
} StackWaker;

/*
 * An object that waits of a row were on, and for how long. The objects of a row are sorted by that
 * time, the longest first.
 */
typedef struct StackOn {
        uint32_t object; /* of the recording; STACK_OBJECT_OTHERS */
        uint64_t ns;
} StackOn;

/* Threads of one name in one process name, in one place, with one stack. */
typedef struct StackRow {
        uint32_t process, comm; /* where in the labels */
        uint32_t place, stack;
        StackWaker waker; /* where rows are divided by it */
        uint32_t waker_stack;
        uint32_t held, held_stack; /* as in StackSampleKey */
        uint64_t ns, n_samples, max_ns;
        double variance_ns2;
        bool is_exact; /* nothing of it is estimated */
        /* Where they are not, and it was asked for: who ended most of its time, and how much. */
        StackWaker woken_by;
        uint64_t woken_ns;
        uint32_t woken_held, woken_held_stack; /* where that one was for most of it */
        size_t first_on, n_on; /* among the objects of the view, where that is told */
} StackRow;

typedef struct StackView {
        StackTimes *times;
        size_t n_times, n_times_allocated;
        Index by_thread;
        Buffer names;   /* of threads */
        Buffer labels;  /* of rows */
        StackRow *rows; /* the heaviest first */
        size_t n_rows, n_rows_allocated;
        Index by_row;
        StackOn *on;
        size_t n_on;
        uint64_t place_ns[_RECORD_PLACE_MAX]; /* of all rows */
        /* Threads that were there throughout; and of these those whose times add up to that. */
        size_t n_throughout, n_adding_up;
} StackView;

void stack_view_done(StackView *view);
/* A thread of the snapshot at the beginning; all of these come first. -ENOMEM. */
_must_check_ int stack_view_add_begin(StackView *view, const ThreadSample *sample);
/* One of that at the end. -ENOMEM. */
_must_check_ int stack_view_add_end(StackView *view, const ThreadSample *sample);
/*
 * Makes the rows. @user_hz: of start times in snapshots. @by_waker: of waits alone, and by who
 * ended them. -ENOMEM.
 */
_must_check_ int stack_view_divide(StackView *view, const RecordingDocument *recording,
                                   uint32_t user_hz, bool by_waker);
/* Waits have one: that for a CPU begins when another one ends. */
static inline bool stack_view_has_waker(unsigned place) {
        return place != RECORD_PLACE_running && place != RECORD_PLACE_run_queue;
}
/*
 * Returns the word that stands in place of functions if @stack is not the number of a stack; NULL
 * if it is one.
 */
const char *stack_word(uint32_t stack);
/* A frame's name, or where it is in its file; may be in @text, until the next call. */
Span stack_frame_name(const RecordingDocument *recording, const StackFrame *frame, Buffer *text);
static inline const char *stack_view_label(const StackView *view, uint32_t at) {
        return view->labels.bytes + at;
}
