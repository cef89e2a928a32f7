/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * AnalysisRead
 *
 * Reads the subjects of one analysis: once for their names when patterns have to be found, then for
 * their numbers, each subject alone or merged with the one at which its window begins. The caller
 * says which subjects belong together; this module counts threads and remembers which subject
 * failed.
 */

#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/side.h"
#include "snapshot/thread-sample.h"
#include "analysis/subject/subject.h"

/* Receives what is read. Callbacks return 0 to go on or a negative errno, which is passed on. */
typedef struct AnalysisVisitor {
        /* A thread of the first pass. */
        int (*on_name)(void *userdata, const ThreadSample *sample);
        /* A thread of a subject that is read alone. */
        int (*on_thread)(void *userdata, Side side, const ThreadSample *sample);
        /* A thread in a window: both samples, or the only one; see MergeLife. */
        int (*on_life)(void *userdata, const ThreadSample *before, const ThreadSample *after);
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
        Subject *culprit; /* after a failure: which was being read */
        uint64_t n_read;
        uint64_t n_total; /* 0: not known */
} AnalysisRead;

/* Announces that @subject will be read @n_times, for the progress. */
void analysis_read_expect(AnalysisRead *read, const Subject *subject, unsigned n_times);

/* All return 0, SUBJECT_E_UNREADABLE or a negative errno, as subject_pass(). */

_must_check_ int analysis_read_names(AnalysisRead *read, Subject *subject);
_must_check_ int analysis_read_side(AnalysisRead *read, Side side, Subject *subject);
/* Both subjects are of one boot. */
_must_check_ int analysis_read_window(AnalysisRead *read, Subject *before, Subject *after);
