/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LifeTally
 *
 * What the threads of one group on one side have together besides their metrics: for how long they
 * were alive in the period that the side is about, the highest peak of memory that was reached
 * inside, and by how much their memory grew.
 *
 * A period is the interval between two snapshots, or all the time up to one: then it is about whole
 * lives.
 */

#include <stdbool.h>
#include <stdint.h>
#include "json/amount.h"
#include "analysis/group/judge.h"
#include "analysis/group/side.h"
#include "snapshot/thread-sample.h"

/* A Period is in ns since boot. */
typedef struct Period {
        bool known;
        bool is_interval;  /* else of whole lives, and it begins with the boot */
        uint64_t begin_ns; /* when the capture of the earlier snapshot began */
        uint64_t end_ns;   /* likewise of the later one */
        uint64_t tick_ns;  /* the grain of start times */
        uint64_t most_ns;  /* judge_interval_ns() of an interval; 0: not known */
} Period;

/*
 * Between two snapshots of one boot; not known when the later one is not later. Without @before, of
 * whole lives.
 */
Period period_of(const JudgeTime *before, const JudgeTime *after);
/*
 * A thread that the earlier snapshot lacks although it is older was overlooked there, as when it
 * could not be seen: it lived on, and what it had by then is not known.
 */
bool period_overlooked(const Period *period, const ThreadSample *after);
/* The length of the period. */
Amount period_elapsed_ns(const Period *period);

/* Zeroed: of no thread. */
typedef struct LifeTally {
        uint64_t alive_ns;      /* the sum over the threads; only of a period that is known */
        bool lacks_alive;       /* of threads whose work is counted it is not known */
        Amount first_start_ns;  /* of whole lives: when the first of them began, since boot */
        Amount risen_rss_bytes; /* the highest hiwater_rss_bytes that was reached inside */
        /*
         * Anonymous and shared memory of their processes at the ends of the period; of whole lives
         * only at the end.
         */
        Amount rss_bytes[SIDES];
        /*
         * They allocated and freed so much through jemalloc, by counters of their own that may say
         * anything. Not known where one ended: what it had allocated others free, or nobody does.
         */
        bool has_heap, lacks_heap;
        uint64_t allocated_bytes, freed_bytes;
} LifeTally;

/*
 * Adds one thread. In an interval a thread has both samples, or @after alone if it was born inside,
 * or @before alone if it ended: then nobody knows how long it lived, and it adds nothing. A whole
 * life has @after alone.
 */
void life_tally_add(LifeTally *tally, const Period *period, const ThreadSample *before,
                    const ThreadSample *after);
/* The growth of the memory; 0 where it fell. */
Amount life_tally_rss_growth(const LifeTally *tally);
Amount life_tally_heap_growth(const LifeTally *tally);
/* Adds the threads of @from. */
void life_tally_merge(LifeTally *tally, const LifeTally *from);
