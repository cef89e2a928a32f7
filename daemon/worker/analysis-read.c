/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/analysis.h"

#include <errno.h>
#include <stdio.h>
#include "base/err.h"
#include "base/number.h"
#include "worker/subject-merge.h"

/* How many threads go by between two looks at the clock. */
#define THREADS_PER_LOOK 512

static int analysis_look(Analysis *analysis) {
        if (analysis->n_read++ % THREADS_PER_LOOK != 0)
                return 0;
        return answer_progress(&analysis->work->answer, "reading", analysis->n_read - 1,
                               analysis->n_total);
}

static int analysis_census_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        Analysis *analysis = ((AnalysisSide *) userdata)->analysis;
        int r;

        r = analysis_look(analysis);
        if (r == 0)
                r = section_feed_census(&analysis->feed, sample);
        return r == 0 ? comparison_census(analysis->comparison, sample) : r;
}

static int analysis_feed_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        const AnalysisSide *side = userdata;
        int r;

        r = analysis_look(side->analysis);
        if (r != 0)
                return r;
        return section_feed_thread(&side->analysis->feed, side->side, sample, smaps_json);
}

static int analysis_fold_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        const AnalysisSide *side = userdata;
        int r;

        r = analysis_feed_thread(userdata, sample, smaps_json);
        return r == 0 ? comparison_fold(side->analysis->comparison, side->side, sample) : r;
}

static int analysis_fold_life(void *userdata, const ThreadSample *before,
                              const ThreadSample *after) {
        Analysis *analysis = userdata;

        return comparison_fold_life(analysis->comparison, before, after);
}

static int analysis_fold_cgroup(void *userdata, Span path, Span stats_json) {
        const AnalysisSide *side = userdata;

        return section_feed_cgroup(&side->analysis->feed, side->side, path, stats_json);
}

/* What a pass came to: a record that sections cannot read is the file's fault. */
static int analysis_section_result(Analysis *analysis, Subject *subject, int r) {
        if (r != -EBADMSG || !analysis->feed.malformed)
                return r;
        subject->fault = (SnapshotFault){};
        (void) snprintf(subject->fault.text, sizeof(subject->fault.text), "%s",
                        sections_complaint(analysis->feed.sections));
        return work_refuse_fault(analysis->work, subject_name(subject), &subject->fault);
}

static int analysis_pass(Analysis *analysis, const SubjectVisitor *visitor) {
        int r;

        for (unsigned i = 0; i < analysis->n_sides; i++) {
                r = work_pass_subject(analysis->work, &analysis->subjects[i], visitor,
                                      &analysis->sides[i]);
                if (r != 0)
                        return analysis_section_result(analysis, &analysis->subjects[i], r);
        }
        return 0;
}

/* The last pass where lives of threads are followed: over both sides at once. */
static int analysis_merge(Analysis *analysis) {
        static const SubjectVisitor visitor = {
                .on_thread = analysis_feed_thread,
                .on_cgroup = analysis_fold_cgroup,
        };
        MergeSide sides[SIDES];
        unsigned culprit = 0;
        Subject *subject;
        int r;

        for (unsigned i = 0; i < SIDES; i++)
                sides[i] = (MergeSide){ &analysis->subjects[i], &visitor, &analysis->sides[i] };
        r = subject_merge(sides, analysis_fold_life, analysis, &culprit);
        subject = &analysis->subjects[culprit];
        if (r == SUBJECT_E_UNREADABLE)
                return work_refuse_fault(analysis->work, subject_name(subject), &subject->fault);
        return analysis_section_result(analysis, subject, err_fold(r));
}

static int analysis_read_sections(Analysis *analysis) {
        int r;

        for (unsigned i = 0; i < analysis->n_sides; i++) {
                Subject *subject = &analysis->subjects[i];

                r = section_feed_subject(&analysis->feed, i, subject);
                if (r != 0)
                        return analysis_section_result(analysis, subject, r);
        }
        return 0;
}

static int analysis_old_name(void *userdata, Span name, Span *ret) {
        Analysis *analysis = userdata;
        int r;

        buffer_clear(&analysis->name);
        r = comparison_append_old_cgroup(analysis->comparison, name, &analysis->name);
        *ret = buffer_span(&analysis->name);
        return r;
}

int analysis_read(Analysis *analysis) {
        static const SubjectVisitor census = { .on_thread = analysis_census_thread };
        static const SubjectVisitor fold = {
                .on_thread = analysis_fold_thread,
                .on_cgroup = analysis_fold_cgroup,
        };
        const SourceTable *sources[SIDES] = {};
        unsigned n_passes;
        int r;

        r = comparison_new(&analysis->view, &analysis->setup, &analysis->comparison);
        if (r != 0)
                return err_fold(r);
        r = section_feed_init(&analysis->feed, &analysis->view, analysis->n_sides);
        if (r != 0)
                return r;

        n_passes = comparison_wants_census(analysis->comparison) ? 2 : 1;
        for (unsigned i = 0; i < analysis->n_sides; i++) {
                uint64_t n = subject_n_threads(&analysis->subjects[i]);

                analysis->n_total = number_add_saturating(analysis->n_total,
                                                          number_multiply_saturating(n, n_passes));
        }

        r = n_passes > 1 ? analysis_pass(analysis, &census) : 0;
        if (r == 0)
                r = comparison_wants_lives(analysis->comparison) ? analysis_merge(analysis)
                                                                 : analysis_pass(analysis, &fold);
        if (r == 0)
                r = analysis_read_sections(analysis);
        if (r != 0)
                return r;
        for (unsigned i = 0; i < analysis->n_sides; i++)
                if (analysis->subjects[i].has_sources)
                        sources[i] = &analysis->subjects[i].sources;
        r = err_fold(comparison_finish(analysis->comparison, sources));
        return r == 0 ? section_feed_finish(&analysis->feed, analysis_old_name, analysis) : r;
}
