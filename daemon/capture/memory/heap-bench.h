/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapBench
 *
 * What a memory job reads the counters of allocators with: what is known of files from earlier
 * captures, the job that parses files, the time that may be spent, and the thread that makes the
 * calls which may never return.
 *
 * One that does not return in time is left behind. Who answers for processes can spend a share of
 * the time on them and have two calls left behind; then his others are not read, and those of
 * everybody else are.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/heap/memory-question.h"
#include "capture/memory/heap-work.h"
#include "file/file-question.h"

/* Calls for processes of one owner that may hang, in this job or in earlier ones. */
#define HEAP_BENCH_MAX_LEFT 2

typedef struct HeapBenchOptions {
        int proc_fd;                 /* borrowed */
        const CaptureSystem *system; /* borrowed, also by what is left behind */
        uint64_t limit_ns;           /* for each purpose */
        int cache_fd;                /* of what is known of files; borrowed; negative: none */
        /* As RoomTerms has it, for a job that parses files; NULL: there is none. */
        int (*open_files)(void *userdata, int peer_fd);
        /* A call for this process was left behind. May be NULL. */
        void (*on_left)(void *userdata, const MemoryLife *life);
        void *userdata;
        /* What earlier jobs hang in, or hung: processes and owners that are not to be touched. */
        const MemoryLife *hung; /* borrowed */
        size_t n_hung;
        const uint32_t *barred_owners; /* borrowed */
        size_t n_barred_owners;
} HeapBenchOptions;

typedef struct HeapBench HeapBench;

_must_check_ int heap_bench_new(const HeapBenchOptions *options, HeapBench **ret); /* -ENOMEM */
HeapBench *heap_bench_free(HeapBench *bench);
DEFINE_CLEANUP(HeapBench *, heap_bench_free);

const HeapBenchOptions *heap_bench_options(const HeapBench *bench);

/* What is read of a process. The time for one of these is not spent on another. */
typedef enum HeapBenchPurpose {
        HEAP_BENCH_COUNTERS,
        HEAP_BENCH_COMMANDS,
        _HEAP_BENCH_PURPOSE_MAX,
} HeapBenchPurpose;

/*
 * From here on everything is for one process, and counts for its owner. NONE, or why it is not to
 * be touched.
 */
HeapFailure heap_bench_begin(HeapBench *bench, HeapBenchPurpose purpose, const MemoryLife *life,
                             bool was_slow);
/* Whether the process made us wait for so long that another time others come first. */
bool heap_bench_was_slow(const HeapBench *bench);

/*
 * How long to wait for the process: half of what is left at most, so that somebody who makes us
 * wait for a process of his costs that and not the readings of all others. Files are parsed one
 * after the other, so one that takes long costs those behind it, too, of which nothing is known
 * yet. A quarter of the time is only for processes of which everything is known; those that were
 * slow before have an eighth for themselves and take nothing from others. 0: nothing is begun.
 */
uint64_t heap_bench_patience_ns(const HeapBench *bench, bool is_known);

/* Where to put the next piece of work; NULL when no thread can be started. */
HeapWork *heap_bench_work(HeapBench *bench);
/*
 * Lets the thread work for @patience_ns, and for some times that as long as it gets no processor.
 * NONE; TIME_BUDGET when @patience_ns is 0; TIMED_OUT when it was too short: then what
 * heap_bench_work() gave is gone.
 */
HeapFailure heap_bench_run(HeapBench *bench, HeapWorkKind kind, uint64_t patience_ns);
uint64_t heap_bench_now_ns(const HeapBench *bench);

/* What is known of a file already, from this capture or another. */
bool heap_bench_recall(HeapBench *bench, FileQuestion question, const FileIdentity *identity,
                       FileAnswer *ret);
/*
 * Asks about the file @fd, which is @identity, and waits @patience_ns for the answer, which is
 * valid then. HEAP_FAILURE_NONE; FILE_UNREADABLE when there will be no answer; TIME_BUDGET or
 * FILE_JOB when there is none now. An answer that comes later is recalled by who asks next, which
 * may be in the next capture: a program of a gigabyte takes longer than we wait for it.
 */
HeapFailure heap_bench_ask(HeapBench *bench, FileQuestion question, const FileIdentity *identity,
                           int fd, uint64_t patience_ns, FileAnswer *ret);

/*
 * At last keeps what is known of files for the next capture, for which it waits once more for an
 * answer that was late.
 */
void heap_bench_keep(HeapBench *bench);
/* How long that can take. */
uint64_t heap_bench_last_patience_ns(uint64_t limit_ns);
