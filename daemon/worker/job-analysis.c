/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "analysis/compare/comparison.h"
#include "analysis/compare/group-json.h"
#include "analysis/group/judge.h"
#include "analysis/pairing/pairing.h"
#include "view/view.h"
#include "analysis/section/section-json.h"
#include "wire/limits.h"
#include "analysis/subject/analysis-read.h"
#include "analysis/subject/host-change.h"
#include "analysis/subject/section-feed.h"

/* One call of Show (one side) or Compare (two). */
typedef struct Analysis {
        Work *work; /* borrowed */
        View view;
        unsigned n_sides;
        Subject subjects[SIDES];
        ComparisonSetup setup;
        bool has_elapsed; /* setup.elapsed_ns is known; it may be 0 */
        bool swapped;     /* the caller's "before" was the later capture */
        Comparison *comparison;
        SectionFeed feed;
        Buffer name; /* scratch: the former name of a cgroup */
} Analysis;

typedef struct AnalysisParameters {
        json_object *refs[SIDES];
        json_object *view;
} AnalysisParameters;

static void analysis_done(Analysis *analysis) {
        section_feed_done(&analysis->feed);
        buffer_done(&analysis->name);
        /* The comparison borrows the subjects' sources. */
        analysis->comparison = comparison_free(analysis->comparison);
        for (unsigned i = 0; i < SIDES; i++)
                subject_done(&analysis->subjects[i]);
}

/* opening */

static int analysis_open(Analysis *analysis, const AnalysisParameters *parameters,
                         const char *const names[static SIDES]) {
        SnapshotRef refs[SIDES] = { SNAPSHOT_REF_NONE, SNAPSHOT_REF_NONE };
        int r;

        r = work_decode_view(analysis->work, parameters->view, &analysis->view);
        if (r != 0)
                return r;
        if (analysis->view.window && analysis->n_sides < 2)
                return work_refuse_parameter(analysis->work, "view",
                                             "a window needs two snapshots");

        /* Decode all references before any file is opened: errors of the call come first. */
        for (unsigned i = 0; i < analysis->n_sides && r == 0; i++)
                r = work_decode_ref(analysis->work, parameters->refs[i], names[i], &refs[i]);
        for (unsigned i = 0; i < analysis->n_sides && r == 0; i++)
                r = work_open_subject(analysis->work, &refs[i], &analysis->subjects[i]);
        for (unsigned i = 0; i < analysis->n_sides; i++)
                snapshot_ref_done(&refs[i]);
        return r;
}

/*
 * Relates the two sides in time. Captures of one boot that were named in the wrong order are
 * swapped: read backwards, every counter would seem to have been reset although nothing was.
 */
static void analysis_relate(Analysis *analysis) {
        Subject *subjects = analysis->subjects;

        analysis->setup = (ComparisonSetup){ .n_sides = analysis->n_sides };
        if (analysis->n_sides < 2)
                return;
        analysis->setup.boots = subject_boots(&subjects[SIDE_BEFORE], &subjects[SIDE_AFTER]);
        if (analysis->setup.boots != BOOTS_SAME || !subjects[SIDE_BEFORE].head.has_start_boottime ||
            !subjects[SIDE_AFTER].head.has_start_boottime)
                return;
        if (subjects[SIDE_AFTER].head.start_boottime_ns <
            subjects[SIDE_BEFORE].head.start_boottime_ns) {
                Subject earlier = subjects[SIDE_AFTER];

                subjects[SIDE_AFTER] = subjects[SIDE_BEFORE];
                subjects[SIDE_BEFORE] = earlier;
                analysis->swapped = true;
        }
        analysis->has_elapsed = true;
        analysis->setup.elapsed_ns = subjects[SIDE_AFTER].head.start_boottime_ns -
                                     subjects[SIDE_BEFORE].head.start_boottime_ns;
}

/* Says how far the readings of each side can be believed; call after analysis_relate(). */
static void analysis_doubt(Analysis *analysis) {
        ComparisonSetup *setup = &analysis->setup;
        JudgeTime times[SIDES] = { { .known = false }, { .known = false } };

        for (unsigned i = 0; i < analysis->n_sides; i++) {
                const Head *head = &analysis->subjects[i].head;

                setup->defects[i] = kernel_defects_of(head->kernel_release);
                times[i] = judge_time_of(head);
        }
        if (setup->boots == BOOTS_SAME)
                setup->interval_ns = judge_interval_ns(times);
}

/* Refuses a window between snapshots that cannot have threads in common. */
static int analysis_check_window(Analysis *analysis) {
        const Subject *subjects = analysis->subjects;
        const char *before = subject_name(&subjects[SIDE_BEFORE]);
        const char *after = subject_name(&subjects[SIDE_AFTER]);
        _cleanup_(buffer_done) Buffer reason = { .bytes = NULL };
        WireErrorDetail detail = {};
        int r;

        if (!analysis->view.window)
                return 0;
        switch (analysis->setup.boots) {
        case BOOTS_SAME:
                return 0;
        case BOOTS_DIFFERENT:
                buffer_append_format(&reason, "\"%s\" and \"%s\" are from different boots", before,
                                     after);
                break;
        case BOOTS_UNKNOWN:
                buffer_append_format(&reason, "\"%s\" does not record its boot",
                                     subjects[SIDE_BEFORE].head.boot_id[0] == '\0' ? before
                                                                                   : after);
                break;
        }
        r = buffer_terminate(&reason, &detail.reason);
        if (r != 0)
                return r;
        return work_refuse(analysis->work, WIRE_ERROR_NO_WINDOW, &detail);
}

/* reading */

static int analysis_on_name(void *userdata, const ThreadSample *sample) {
        Analysis *analysis = userdata;
        int r = section_feed_census(&analysis->feed, sample);

        return r == 0 ? comparison_census(analysis->comparison, sample) : r;
}

static int analysis_on_cgroup_name(void *userdata, Span path) {
        Analysis *analysis = userdata;
        int r = section_feed_census_cgroup(&analysis->feed, path);

        return r == 0 ? comparison_census_cgroup(analysis->comparison, path) : r;
}

static int analysis_on_thread(void *userdata, Side side, const ThreadSample *sample) {
        return comparison_fold(((Analysis *) userdata)->comparison, side, sample);
}

static int analysis_on_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        return comparison_fold_life(((Analysis *) userdata)->comparison, before, after);
}

static int analysis_on_smaps(void *userdata, Side side, const ThreadSample *sample,
                             Span smaps_json) {
        return section_feed_thread(&((Analysis *) userdata)->feed, side, sample, smaps_json);
}

static int analysis_on_cgroup(void *userdata, Side side, Span path, Span stats_json) {
        return section_feed_cgroup(&((Analysis *) userdata)->feed, side, path, stats_json);
}

static int analysis_on_progress(void *userdata, uint64_t n_read, uint64_t n_total) {
        return answer_progress(&((Analysis *) userdata)->work->answer, "reading", n_read, n_total);
}

static int analysis_read_threads(Analysis *analysis, AnalysisRead *read) {
        Subject *subjects = analysis->subjects;
        bool has_census = comparison_wants_census(analysis->comparison);
        int r = 0;

        for (unsigned i = 0; i < analysis->n_sides; i++)
                analysis_read_expect(read, &subjects[i], has_census ? 2 : 1);
        for (unsigned i = 0; has_census && i < analysis->n_sides && r == 0; i++)
                r = analysis_read_names(read, &subjects[i]);
        if (r != 0)
                return r;
        if (comparison_wants_lives(analysis->comparison))
                return analysis_read_window(read, &subjects[SIDE_BEFORE], &subjects[SIDE_AFTER]);
        for (unsigned i = 0; i < analysis->n_sides && r == 0; i++)
                r = analysis_read_side(read, (Side) i, &subjects[i]);
        return r;
}

/* A record that the sections cannot read makes its file unreadable. */
static int analysis_read_result(Analysis *analysis, Subject *subject, int r) {
        if (r == -EBADMSG && analysis->feed.malformed) {
                subject->fault = (SnapshotFault){};
                (void) snprintf(subject->fault.text, sizeof(subject->fault.text), "%s",
                                sections_complaint(analysis->feed.sections));
                r = SUBJECT_E_UNREADABLE;
        }
        return work_read_result(analysis->work, subject, r);
}

static int analysis_old_name(void *userdata, Span name, Span *ret) {
        Analysis *analysis = userdata;
        int r;

        buffer_clear(&analysis->name);
        r = comparison_append_old_cgroup(analysis->comparison, name, &analysis->name);
        *ret = buffer_span(&analysis->name);
        return r;
}

static int analysis_read(Analysis *analysis) {
        AnalysisVisitor visitor = {
                .on_name = analysis_on_name,
                .on_thread = analysis_on_thread,
                .on_life = analysis_on_life,
                .on_smaps = analysis_on_smaps,
                .on_cgroup = analysis_on_cgroup,
                .on_progress = analysis_on_progress,
        };
        const SourceTable *sources[SIDES] = {};
        AnalysisRead read = { .visitor = &visitor, .userdata = analysis };
        int r;

        r = comparison_new(&analysis->view, &analysis->setup, &analysis->comparison);
        if (r == 0)
                r = section_feed_init(&analysis->feed, &analysis->view, analysis->n_sides);
        if (r != 0)
                return err_fold(r);
        for (unsigned i = 0; i < analysis->n_sides; i++)
                section_feed_head(&analysis->feed, i, &analysis->subjects[i].head);
        if (comparison_wants_cgroups(analysis->comparison))
                visitor.on_cgroup_name = analysis_on_cgroup_name;
        r = analysis_read_threads(analysis, &read);
        if (r != 0)
                return analysis_read_result(analysis, read.culprit, r);
        for (unsigned i = 0; i < analysis->n_sides; i++) {
                Subject *subject = &analysis->subjects[i];

                r = section_feed_subject(&analysis->feed, i, subject);
                if (r != 0)
                        return analysis_read_result(analysis, subject, r);
                sources[i] = subject_sources(subject);
        }
        r = err_fold(comparison_finish(analysis->comparison, sources));
        return r == 0 ? section_feed_finish(&analysis->feed, analysis_old_name, analysis) : r;
}

/* answering */

static void analysis_write_side(JsonWriter *writer, const Subject *subject, const char *head,
                                const char *sources) {
        json_write_key(writer, head);
        subject_write_head(subject, writer);
        json_write_key(writer, sources);
        source_table_write_json(writer, &subject->sources);
}

static int analysis_write_changes(Analysis *analysis, JsonWriter *writer) {
        HostFacts facts[SIDES];
        int r = 0;

        for (unsigned i = 0; i < SIDES; i++)
                host_facts_init(&facts[i]);
        for (unsigned i = 0; i < SIDES && r == 0; i++) {
                Subject *subject = &analysis->subjects[i];

                r = host_facts_flatten(&facts[i], buffer_span(&subject->host), &subject->head);
                if (r == HOST_CHANGE_E_MALFORMED) {
                        subject->fault =
                                (SnapshotFault){ .text = "its host context is not a JSON object" };
                        r = work_refuse_fault(analysis->work, subject_name(subject),
                                              &subject->fault);
                }
        }
        if (r == 0) {
                json_write_key(writer, "hostChanges");
                host_changes_write(writer, &facts[SIDE_BEFORE], &facts[SIDE_AFTER]);
        }
        for (unsigned i = 0; i < SIDES; i++)
                host_facts_done(&facts[i]);
        return r;
}

static void analysis_write_window(const Analysis *analysis, JsonWriter *writer) {
        LifeCounts lives = comparison_lives(analysis->comparison);

        if (!comparison_wants_lives(analysis->comparison))
                return;
        json_write_key(writer, "window");
        json_write_object(writer);
        life_counts_write_json(writer, &lives);
        json_write_end(writer);
}

static int analysis_answer_heads(Analysis *analysis) {
        const Subject *before = &analysis->subjects[SIDE_BEFORE];
        const Subject *after = &analysis->subjects[SIDE_AFTER];
        JsonWriter *writer = answer_begin(&analysis->work->answer);
        int r;

        if (analysis->n_sides == 1) {
                analysis_write_side(writer, before, "snapshot", "sources");
                return answer_reply(&analysis->work->answer);
        }
        analysis_write_side(writer, before, "before", "sourcesBefore");
        analysis_write_side(writer, after, "after", "sourcesAfter");
        json_write_member_bool(writer, "sameBoot", analysis->setup.boots == BOOTS_SAME);
        json_write_key(writer, "elapsedNs");
        if (analysis->has_elapsed)
                json_write_u64(writer, analysis->setup.elapsed_ns);
        else
                json_write_null(writer);
        if (analysis->swapped)
                json_write_member_bool(writer, "swapped", true);
        analysis_write_window(analysis, writer);
        r = analysis_write_changes(analysis, writer);
        return r == 0 ? answer_reply(&analysis->work->answer) : r;
}

/* A list of the comparison, for answer_list(). */
typedef struct AnalysisList {
        const Comparison *comparison;
        ComparisonList list;
} AnalysisList;

static void analysis_write_member(const void *userdata, size_t index, JsonWriter *writer) {
        const AnalysisList *list = userdata;

        comparison_write(list->comparison, list->list, index, writer);
}

static int analysis_answer_list(Analysis *analysis, ComparisonList list, const char *key) {
        AnalysisList from = { analysis->comparison, list };

        return answer_list(&analysis->work->answer, key, comparison_n(from.comparison, list),
                           analysis_write_member, &from);
}

/* Answers in parts of about LIMIT_BATCH_BYTES; leaves the last reply open for what follows. */
static int analysis_answer_sections(Analysis *analysis, SectionCursor *ret_end) {
        Answer *answer = &analysis->work->answer;
        SectionCursor cursor = {};
        bool done = false;
        int r = 0;

        while (r == 0 && !done) {
                JsonWriter *writer = answer_begin(answer);

                json_write_key(writer, "sections");
                done = section_part_write(analysis->feed.sections, &cursor, writer,
                                          LIMIT_BATCH_BYTES);
                if (!done)
                        r = answer_reply(answer);
        }
        *ret_end = cursor;
        return r;
}

/*
 * Everything that the view shows counts, and what only its limit left out. A cgroup or process that
 * the limit cut off a section had at least one row.
 */
static uint64_t analysis_rows_above(const Analysis *analysis, const SectionCursor *sections) {
        uint64_t n = comparison_rows_above_threshold(analysis->comparison);

        n = number_add_saturating(n, sections->n_rows);
        return number_add_saturating(n, section_n_cut(analysis->feed.sections));
}

static void analysis_write_pairings(const Analysis *analysis, JsonWriter *writer) {
        size_t n = comparison_n_pairings(analysis->comparison);

        if (analysis->view.axis != VIEW_AXIS_CGROUP && analysis->view.axis != VIEW_AXIS_ALL)
                return;
        json_write_key(writer, "pairings");
        comparison_write_pairings(analysis->comparison, writer);
        json_write_member_u64(writer, "hiddenPairings",
                              n > PAIRING_MAX_WRITTEN ? n - PAIRING_MAX_WRITTEN : 0);
}

static int analysis_answer(Analysis *analysis) {
        const Comparison *comparison = analysis->comparison;
        SectionCursor sections;
        JsonWriter *writer;
        int r;

        r = analysis_answer_heads(analysis);
        if (r == 0)
                r = analysis_answer_list(analysis, COMPARISON_GROUPS, "groups");
        if (r == 0 && analysis->n_sides > 1)
                r = analysis_answer_list(analysis, COMPARISON_ONLY_BEFORE, "onlyBefore");
        if (r == 0 && analysis->n_sides > 1)
                r = analysis_answer_list(analysis, COMPARISON_ONLY_AFTER, "onlyAfter");
        if (r != 0)
                return r;

        r = analysis_answer_sections(analysis, &sections);
        if (r != 0)
                return r;
        writer = &analysis->work->answer.writer;
        json_write_member_u64(
                writer, "hiddenRows",
                number_add_saturating(comparison_hidden_rows(comparison), sections.n_hidden));
        if (analysis->view.has_threshold && analysis->n_sides > 1)
                json_write_member_u64(writer, "rowsAboveThreshold",
                                      analysis_rows_above(analysis, &sections));
        json_write_member_u64(writer, "hiddenGroups",
                              comparison_hidden(comparison, COMPARISON_GROUPS));
        json_write_key(writer, "hiddenSections");
        section_cuts_write(analysis->feed.sections, writer);
        if (analysis->n_sides > 1) {
                json_write_member_u64(writer, "hiddenOnlyBefore",
                                      comparison_hidden(comparison, COMPARISON_ONLY_BEFORE));
                json_write_member_u64(writer, "hiddenOnlyAfter",
                                      comparison_hidden(comparison, COMPARISON_ONLY_AFTER));
                analysis_write_pairings(analysis, writer);
        }
        return answer_final(&analysis->work->answer);
}

static int analysis_run(Work *work, const AnalysisParameters *parameters, unsigned n_sides,
                        const char *const names[static SIDES]) {
        _cleanup_(analysis_done) Analysis analysis = { .work = work, .n_sides = n_sides };
        int r;

        for (unsigned i = 0; i < SIDES; i++)
                subject_init(&analysis.subjects[i]);
        r = analysis_open(&analysis, parameters, names);
        if (r != 0)
                return r;
        analysis_relate(&analysis);
        analysis_doubt(&analysis);
        r = analysis_check_window(&analysis);
        if (r == 0)
                r = analysis_read(&analysis);
        if (r != 0)
                return r;
        return analysis_answer(&analysis);
}

static int work_show(Work *work) {
        static const Parameter table[] = {
                { "snapshot", PARAMETER_OBJECT, true, offsetof(AnalysisParameters, refs[0]) },
                { "view", PARAMETER_OBJECT, false, offsetof(AnalysisParameters, view) },
        };
        static const char *const names[SIDES] = { "snapshot" };
        AnalysisParameters parameters = {};
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        return r == 0 ? analysis_run(work, &parameters, 1, names) : r;
}

static int work_compare(Work *work) {
        static const Parameter table[] = {
                { "before", PARAMETER_OBJECT, true, offsetof(AnalysisParameters, refs[0]) },
                { "after", PARAMETER_OBJECT, true, offsetof(AnalysisParameters, refs[1]) },
                { "view", PARAMETER_OBJECT, false, offsetof(AnalysisParameters, view) },
        };
        static const char *const names[SIDES] = { "before", "after" };
        AnalysisParameters parameters = {};
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        return r == 0 ? analysis_run(work, &parameters, 2, names) : r;
}

const WorkMethod work_analysis_methods[] = {
        { PROFILER_INTERFACE ".Show", work_show, WORK_NEEDS_MORE, 0 },
        { PROFILER_INTERFACE ".Compare", work_compare, WORK_NEEDS_MORE, 0 },
        {},
};
