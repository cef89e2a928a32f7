/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * AnalysisRead
 *
 * Reads the subjects of one analysis: once for their names when patterns have to be found, then for
 * their numbers, column by column, each subject alone or merged with the one at which its interval
 * begins. Names and what ledgers tell of the ended go to the table of the analysis; a visitor adds
 * threads to it, and receives what the caller wants besides. The caller says which subjects belong
 * together; this module counts threads and remembers which subject failed.
 *
 * Here every thread is judged (analysis/group/judge.h) before its numbers are passed on: analyses
 * do not believe what cannot be, while conversions and the file keep what the kernel said. The
 * subject then says of each source how many values were not believed. In an interval, waits that
 * two accounts counted, each since another moment, are left out.
 */

#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "analysis/compare/column-table.h"
#include "analysis/group/side.h"
#include "snapshot/thread-sample.h"
#include "analysis/subject/subject.h"

/*
 * Reads two snapshots of one boot side by side, so that both samples of a thread are available at
 * once. A thread is identified by process, thread and start time: a reused id is one thread that
 * has exited and one that was born. Both documents must list each thread once, in ascending order
 * of process and thread id, as captures do; so only two threads are in memory at a time.
 */
typedef struct MergeSide {
        Subject *subject; /* different on each side */
        /*
         * Receives the threads and cgroups of this side alone, each thread before it is passed on
         * with that of the other side. Threads of one side arrive in order; sides alternate
         * arbitrarily.
         */
        const SubjectVisitor *visitor;
        void *userdata; /* of @visitor */
} MergeSide;

/*
 * Called once for every thread. If both are set, they have the same tgid, tid and start_ticks.
 * @after is NULL for a thread that has exited, @before for one that was born; never both. Returns 0
 * to go on or a negative errno, which is passed on. Samples are borrowed for the call.
 */
typedef int (*MergeLife)(void *userdata, const ThreadSample *before, const ThreadSample *after);

/*
 * One pass over both; the caller must know that they are of one boot. 0; SUBJECT_E_UNREADABLE, also
 * when threads are out of order, with the fault in the subject of side *ret_culprit; or a negative
 * errno, with *ret_culprit set to the side that was being read when a visitor failed.
 */
_must_check_ int subject_merge(const MergeSide sides[static SIDES], MergeLife on_life,
                               void *userdata, unsigned *ret_culprit);

/* Receives what is read. Callbacks return 0 to go on or a negative errno, which is passed on. */
typedef struct AnalysisVisitor {
        /*
         * A thread of the first pass, or the names of threads that ended, if the ledger of the
         * subject takes part; NULL: not wanted.
         */
        int (*on_name)(void *userdata, const ThreadSample *sample);
        /*
         * A cgroup of the first pass, with threads of its own or without, if the table counts them;
         * NULL: not wanted.
         */
        int (*on_cgroup_name)(void *userdata, Span path);
        /* A thread of a subject that is read alone. */
        int (*on_thread)(void *userdata, Side side, const ThreadSample *sample);
        /* A thread in an interval: both samples, or the only one; see MergeLife. */
        int (*on_life)(void *userdata, const ThreadSample *before, const ThreadSample *after);
        /*
         * A row of the ledger at the @end of an interval, where both snapshots have the same; NULL:
         * not wanted.
         */
        int (*on_exited)(void *userdata, Side end, const ExitedRow *row);
        /* The memory of a process; NULL: not wanted. Comes before the thread or life itself. */
        int (*on_smaps)(void *userdata, Side side, const ThreadSample *sample, Span smaps_json);
        /* NULL: not wanted. */
        int (*on_cgroup)(void *userdata, Side side, Span path, Span stats_json);
        /* Called every few hundred threads. */
        int (*on_progress)(void *userdata, uint64_t n_read, uint64_t n_total);
} AnalysisVisitor;

typedef struct AnalysisRead {
        const AnalysisVisitor *visitor; /* borrowed */
        void *userdata;
        ColumnTable *table; /* borrowed */
        Subject *culprit;   /* after a failure: which was being read */
        uint64_t n_read;
        uint64_t n_total; /* 0: not known */
} AnalysisRead;

/* Announces that @subject will be read @n_times, for the progress. */
void analysis_read_expect(AnalysisRead *read, const Subject *subject, unsigned n_times);

/* All return 0, SUBJECT_E_UNREADABLE or a negative errno, as subject_pass(). */

/* Does nothing unless the keys of the table have a census. */
_must_check_ int analysis_read_names(AnalysisRead *read, Subject *subject);
/*
 * Reads a column of the table, which has begun: the interval between two subjects of one boot, or
 * without @before @after alone, as the one of @side.
 */
_must_check_ int analysis_read_column(AnalysisRead *read, unsigned column, Side side,
                                      Subject *before, Subject *after);
