/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/view-subjects.h"

#include <errno.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "analysis/compare/comparison.h"
#include "analysis/compare/group-json.h"
#include "analysis/contradiction/contradiction.h"
#include "analysis/group/judge.h"
#include "analysis/pairing/pairing.h"
#include "view/view.h"
#include "analysis/section/section-json.h"
#include "wire/limits.h"
#include "analysis/subject/analysis-read.h"
#include "analysis/subject/host-change.h"
#include "analysis/subject/host-use-read.h"
#include "analysis/subject/host-view.h"
#include "analysis/subject/ledger-span.h"
#include "analysis/subject/limit-tally.h"
#include "analysis/subject/section-feed.h"

/* One call of Show or Compare. */
typedef struct Analysis {
        Work *work;         /* borrowed */
        ViewSubjects *call; /* borrowed */
        unsigned n_sides;
        unsigned column; /* the interval that is being read */
        View sections;   /* which sections are shown */
        ComparisonSetup setup;
        /* Of each column of an interval: */
        Period periods[COLUMNS_MAX];
        HostUse uses[COLUMNS_MAX];      /* what the host did; also up to a snapshot */
        HostView hosts[COLUMNS_MAX];    /* the same for the reader */
        LimitTally limits[COLUMNS_MAX]; /* which cgroups were held back */
        Crowds crowds[COLUMNS_MAX];     /* likewise, who contended with whom */
        Comparison *comparison;
        SectionFeed feed;
        Buffer name; /* scratch: the former name of a cgroup */
} Analysis;

static void analysis_done(Analysis *analysis) {
        section_feed_done(&analysis->feed);
        for (unsigned i = 0; i < COLUMNS_MAX; i++) {
                limit_tally_done(&analysis->limits[i]);
                crowds_done(&analysis->crowds[i]);
                host_view_done(&analysis->hosts[i]);
        }
        buffer_done(&analysis->name);
        analysis->comparison = comparison_free(analysis->comparison);
}

/* preparing */

static bool of_intervals(const Analysis *analysis) {
        return analysis->call->kind == VIEW_KIND_INTERVALS;
}

/*
 * Of two intervals the sections compare the states at their ends. Those that count since the boot
 * would say nothing of the intervals, so they are left out.
 */
static void analysis_choose_sections(Analysis *analysis) {
        analysis->sections = analysis->call->view;
        for (unsigned id = 0; of_intervals(analysis) && id < _SECTION_MAX; id++)
                if (!view_table_is_of_states((SectionId) id))
                        analysis->sections.tables[id] = false;
}

static bool is_interval(const Analysis *analysis) {
        return analysis->call->kind == VIEW_KIND_INTERVAL;
}

/* The snapshot at which a column of an interval begins, and the one at its end. */
static Subject *begin_of(const Analysis *analysis, unsigned column) {
        return is_interval(analysis) ? &analysis->call->subjects[SIDE_BEFORE]
                                     : view_subjects_begin(analysis->call, column);
}
static Subject *end_of(const Analysis *analysis, unsigned column) {
        return is_interval(analysis) ? &analysis->call->subjects[SIDE_AFTER]
                                     : view_subjects_end(analysis->call, column);
}

/*
 * Of intervals: whether a ledger tells of threads that ended; of snapshots: since when waits were
 * counted.
 */
static ColumnSetup column_of(const Analysis *analysis, unsigned column) {
        Subject *end = end_of(analysis, column);
        const Head *head = &end->head;
        ColumnSetup setup = {
                .has_begin = is_interval(analysis) || of_intervals(analysis),
                .keeps_begin = is_interval(analysis),
                .end = judge_time_of(head),
                .defects = kernel_defects_of(head->kernel_release),
        };

        if (setup.has_begin) {
                Subject *begin = begin_of(analysis, column);

                setup.begin = judge_time_of(&begin->head);
                setup.elapsed_ns = head->start_boottime_ns - begin->head.start_boottime_ns;
                setup.has_ledger = subjects_join_ledgers(begin, end);
                return setup;
        }
        if (head->has_waits_since)
                setup.waits_since_ns = amount_of(head->waits_since_boottime_ns);
        if (head->has_reasons_since)
                setup.reasons_since_ns = amount_of(head->reasons_since_boottime_ns);
        return setup;
}

/* Says how the sides are related, and how far the readings of each can be believed. */
static void analysis_set_up(Analysis *analysis) {
        ComparisonSetup *setup = &analysis->setup;

        *setup = (ComparisonSetup){
                .n_columns = is_interval(analysis) ? 1 : analysis->n_sides,
                .boots = analysis->call->boots,
                .elapsed_ns = analysis->call->elapsed_ns,
        };
        for (unsigned i = 0; i < setup->n_columns; i++) {
                ColumnSetup *column = &setup->columns[i];

                *column = column_of(analysis, i);
                analysis->periods[i] =
                        period_between((const JudgeTime[SIDES]){ column->begin, column->end });
        }
        if (analysis->call->kind == VIEW_KIND_TOTALS && setup->boots == BOOTS_SAME) {
                const JudgeTime times[SIDES] = { setup->columns[0].end, setup->columns[1].end };

                setup->interval_ns = judge_interval_ns(times);
        }
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
        return comparison_add(((Analysis *) userdata)->comparison, side, NULL, sample);
}

static int analysis_on_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        Analysis *analysis = userdata;
        unsigned column = analysis->column;
        int r = crowds_add(&analysis->crowds[column], &analysis->periods[column], before, after);

        return r == 0 ? comparison_add(analysis->comparison, column, before, after) : r;
}

static int analysis_on_dead(void *userdata, Side end, const DeadRow *row) {
        Analysis *analysis = userdata;
        int r = crowds_add_dead(&analysis->crowds[analysis->column], end, row);

        return r == 0 ? comparison_add_ended(analysis->comparison, analysis->column, end, row) : r;
}

/*
 * Of what is read on @side of a window or alone, sections take what is at the end of an interval.
 * False: nothing of it.
 */
static bool find_side(const Analysis *analysis, Side *side) {
        bool is_end = *side == SIDE_AFTER;

        if (!of_intervals(analysis))
                return true;
        *side = (Side) analysis->column;
        return is_end;
}

static int analysis_on_smaps(void *userdata, Side side, const ThreadSample *sample,
                             Span smaps_json) {
        Analysis *analysis = userdata;

        if (!find_side(analysis, &side))
                return 0;
        return section_feed_thread(&analysis->feed, side, sample, smaps_json);
}

/* What happened to cgroups, whatever the sections make of their records. */
static int analysis_tally_limits(Analysis *analysis, Side side, Span path, Span stats_json) {
        if (analysis->n_sides == 1)
                return 0;
        return limit_tally_add(&analysis->limits[analysis->column], side, path, stats_json);
}

static int analysis_on_cgroup(void *userdata, Side side, Span path, Span stats_json) {
        Analysis *analysis = userdata;
        int r = analysis_tally_limits(analysis, side, path, stats_json);

        if (r != 0 || !find_side(analysis, &side))
                return r;
        return section_feed_cgroup(&analysis->feed, side, path, stats_json);
}

static int analysis_on_progress(void *userdata, uint64_t n_read, uint64_t n_total) {
        return answer_progress(&((Analysis *) userdata)->work->answer, "reading", n_read, n_total);
}

/* The numbers of all threads, after their names. */
static int analysis_read_numbers(Analysis *analysis, AnalysisRead *read) {
        int r = 0;

        for (unsigned i = 0; i < analysis->setup.n_columns && r == 0; i++) {
                Subject *end = end_of(analysis, i);

                if (!analysis->setup.columns[i].has_begin) {
                        r = analysis_read_side(read, (Side) i, end);
                        continue;
                }
                analysis->column = i;
                r = analysis_read_window(read, begin_of(analysis, i), end);
                if (r == 0 && subjects_loss_of_names(begin_of(analysis, i), end))
                        comparison_lose_names(analysis->comparison, i);
        }
        return r;
}

static int analysis_read_threads(Analysis *analysis, AnalysisRead *read) {
        Subject *subjects = analysis->call->subjects;
        bool has_census = comparison_wants_census(analysis->comparison);
        int r = 0;

        for (unsigned i = 0; i < analysis->call->n; i++)
                analysis_read_expect(read, &subjects[i], has_census ? 2 : 1);
        for (unsigned i = 0; has_census && i < analysis->call->n && r == 0; i++)
                r = analysis_read_names(read, &subjects[i]);
        return r == 0 ? analysis_read_numbers(analysis, read) : r;
}

/* What is wrong with a record of the file that is being read; "" for nothing. */
static const char *analysis_complaint(const Analysis *analysis) {
        const char *complaint = "";

        if (analysis->feed.malformed)
                return sections_complaint(analysis->feed.sections);
        for (unsigned i = 0; i < COLUMNS_MAX && complaint[0] == '\0'; i++)
                complaint = analysis->limits[i].complaint;
        return complaint;
}

/* A record that cannot be read makes its file unreadable. */
static int analysis_read_result(Analysis *analysis, Subject *subject, int r) {
        const char *complaint = analysis_complaint(analysis);

        if (r == -EBADMSG && complaint[0] != '\0') {
                subject->fault = (SnapshotFault){};
                (void) snprintf(subject->fault.text, sizeof(subject->fault.text), "%.*s",
                                (int) sizeof(subject->fault.text) - 1, complaint);
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

/* What the host did, for the reader, in an interval. */
static int analysis_view_host(Analysis *analysis, unsigned column) {
        Subject *before = begin_of(analysis, column), *after = end_of(analysis, column), *culprit;
        const Coverage *coverage = comparison_coverage(analysis->comparison, column);
        HostView *host = &analysis->hosts[column];
        CoverageLedger ledger;
        int r;

        r = subject_host_view(before, after, &culprit, host);
        if (r != 0)
                return analysis_read_result(analysis, culprit, r);
        host->n_cpus = analysis->uses[column].n_cpus;
        ledger = coverage_ledger_of(before, after);
        host->waiting_ns = coverage_waiting_ns(coverage, &ledger);
        return 0;
}

/* What the hosts did, against which accounts are measured. */
static int analysis_read_hosts(Analysis *analysis) {
        for (unsigned i = 0; i < analysis->setup.n_columns; i++) {
                bool has_begin = analysis->setup.columns[i].has_begin;
                Subject *before = has_begin ? begin_of(analysis, i) : NULL, *culprit;
                Subject *after = end_of(analysis, i);
                int r = subject_host_use(before, after, &culprit, &analysis->uses[i],
                                         &analysis->hosts[i].difference);

                if (r != 0)
                        return analysis_read_result(analysis, culprit, r);
                comparison_set_host(analysis->comparison, i, &analysis->uses[i]);
                comparison_lack_reasons(analysis->comparison, i,
                                        subjects_lack_reasons(before, after));
                if (before)
                        r = analysis_view_host(analysis, i);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int analysis_read(Analysis *analysis) {
        AnalysisVisitor visitor = {
                .on_name = analysis_on_name,
                .on_thread = analysis_on_thread,
                .on_life = analysis_on_life,
                .on_dead = analysis_on_dead,
                .on_smaps = analysis_on_smaps,
                .on_cgroup = analysis_on_cgroup,
                .on_progress = analysis_on_progress,
        };
        const SourceTable *sources[SIDES] = {};
        AnalysisRead read = { .visitor = &visitor, .userdata = analysis };
        int r;

        r = comparison_new(&analysis->call->view, &analysis->setup, &analysis->comparison);
        if (r == 0)
                r = section_feed_init(&analysis->feed, &analysis->sections, analysis->n_sides);
        if (r != 0)
                return err_fold(r);
        for (unsigned i = 0; i < analysis->n_sides; i++)
                section_feed_head(&analysis->feed, i, &view_subjects_end(analysis->call, i)->head);
        if (comparison_wants_cgroups(analysis->comparison))
                visitor.on_cgroup_name = analysis_on_cgroup_name;
        r = analysis_read_threads(analysis, &read);
        if (r != 0)
                return analysis_read_result(analysis, read.culprit, r);
        for (unsigned i = 0; i < analysis->n_sides; i++) {
                Subject *subject = view_subjects_end(analysis->call, i);

                r = section_feed_subject(&analysis->feed, i, subject);
                if (r != 0)
                        return analysis_read_result(analysis, subject, r);
                sources[i] = subject_sources(subject);
        }
        r = analysis_read_hosts(analysis);
        if (r == 0)
                r = err_fold(comparison_finish(analysis->comparison, sources));
        return r == 0 ? section_feed_finish(&analysis->feed, analysis_old_name, analysis) : r;
}

/* answering */

/* As members of objects. */
static const char *const interval_names[SIDES] = { "a", "b" };

static void analysis_write_side(JsonWriter *writer, const Subject *subject, const char *head,
                                const char *sources) {
        json_write_key(writer, head);
        subject_write_head(subject, writer);
        json_write_key(writer, sources);
        source_table_write_json(writer, &subject->sources);
}

/* What somebody set anew: limits of cgroups, then what whole groups run with. */
static int analysis_write_changes(Analysis *analysis, JsonWriter *writer) {
        const LimitTally *limits = analysis->limits;
        int r;

        json_write_key(writer, "changes");
        json_write_array(writer);
        r = of_intervals(analysis) ? limit_tally_write_changes(&limits[0], SIDE_AFTER, &limits[1],
                                                               SIDE_AFTER, writer)
                                   : limit_tally_write_changes(&limits[0], SIDE_BEFORE, &limits[0],
                                                               SIDE_AFTER, writer);
        if (r == 0)
                r = comparison_write_changes(analysis->comparison, writer);
        json_write_end(writer);
        return r;
}

static int analysis_write_host_changes(Analysis *analysis, JsonWriter *writer) {
        HostFacts facts[SIDES];
        int r = 0;

        for (unsigned i = 0; i < SIDES; i++)
                host_facts_init(&facts[i]);
        for (unsigned i = 0; i < SIDES && r == 0; i++) {
                Subject *subject = view_subjects_end(analysis->call, i);

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

static void analysis_write_lives(const Analysis *analysis, unsigned column, JsonWriter *writer) {
        const Subject *from = begin_of(analysis, column), *to = end_of(analysis, column);
        char folded[LOST_ROWS_BYTES];

        json_write_key(writer, "lives");
        life_counts_write_json(writer, comparison_lives(analysis->comparison, column),
                               subjects_loss_of_names(from, to),
                               subjects_lost_rows(from, to, folded));
}

/* Work is known of threads whose run time both snapshots have: the first without says why. */
static const char *absence_of_run_times(const Subject *from, const Subject *to,
                                        char ret_text[static ABSENCE_BYTES]) {
        const SourceTable *sources = subject_sources(from);

        if (sources && sources->sources[metric_table[METRIC_run_time_ns].explained_by].state ==
                               SOURCE_STATE_OK)
                sources = subject_sources(to);
        return absence_of_metric(sources, METRIC_run_time_ns, ret_text);
}

/* How the interval of a column, and what threads are known to have done in it, is measured. */
typedef struct IntervalScale {
        CoverageSpan span;
        CoverageLedger ledger;
} IntervalScale;

static IntervalScale scale_of(const Analysis *analysis, unsigned column) {
        const Subject *from = begin_of(analysis, column), *to = end_of(analysis, column);
        const Head *const heads[SIDES] = { &from->head, &to->head };

        return (IntervalScale){ .span = coverage_span_of(&analysis->uses[column], heads),
                                .ledger = coverage_ledger_of(from, to) };
}

static int analysis_write_coverage(Analysis *analysis, unsigned column, JsonWriter *writer) {
        const IntervalScale scale = scale_of(analysis, column);
        char absence[ABSENCE_BYTES];

        coverage_write_json(writer, comparison_coverage(analysis->comparison, column),
                            &scale.ledger, &analysis->uses[column], &scale.span,
                            absence_of_run_times(begin_of(analysis, column),
                                                 end_of(analysis, column), absence));
        return 0;
}

static int analysis_write_host(Analysis *analysis, unsigned column, JsonWriter *writer) {
        host_view_write_json(&analysis->hosts[column], writer);
        return 0;
}

static int analysis_write_limited(Analysis *analysis, unsigned column, JsonWriter *writer) {
        return limit_tally_write_json(&analysis->limits[column],
                                      host_view_oom_kills(&analysis->hosts[column]), writer);
}

/* What of the interval contradicts itself. */
static int analysis_write_but(Analysis *analysis, unsigned column, JsonWriter *writer) {
        const IntervalScale scale = scale_of(analysis, column);
        const HostUse *use = &analysis->uses[column];
        _cleanup_(buffer_done) Buffer cgroup_v1 = {};
        ContradictionBasis basis = {
                .elapsed_ns = period_elapsed_ns(&analysis->periods[column]),
                .host = &analysis->hosts[column],
                .use = use,
                .believed_ns =
                        coverage_believed_ns(comparison_coverage(analysis->comparison, column),
                                             &scale.ledger, use, &scale.span),
                .crowds = &analysis->crowds[column],
                .limits = &analysis->limits[column],
        };
        bool found;
        int r = host_context_find(buffer_span(&end_of(analysis, column)->host),
                                  HOST_CONTEXT_CGROUP_V1, &cgroup_v1, &found);

        basis.cgroup_v1 = buffer_span(&cgroup_v1);
        return r == 0 ? contradictions_write_json(&basis, writer) : r;
}

/* What is told of each interval: of one it is the member, and of two an object of both. */
static const struct {
        const char *key;
        int (*write)(Analysis *analysis, unsigned column, JsonWriter *writer);
} interval_members[] = {
        { "coverage", analysis_write_coverage },
        { "host", analysis_write_host },
        { "limited", analysis_write_limited },
        { "but", analysis_write_but },
};

static int analysis_write_intervals(Analysis *analysis, JsonWriter *writer) {
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(interval_members) && r == 0; i++) {
                json_write_key(writer, interval_members[i].key);
                if (!of_intervals(analysis)) {
                        r = interval_members[i].write(analysis, 0, writer);
                        continue;
                }
                json_write_object(writer);
                for (unsigned c = 0; c < SIDES && r == 0; c++) {
                        json_write_key(writer, interval_names[c]);
                        r = interval_members[i].write(analysis, c, writer);
                }
                json_write_end(writer);
        }
        return r;
}

/* One of two intervals. */
static void analysis_write_interval(const Analysis *analysis, unsigned column, const char *key,
                                    JsonWriter *writer) {
        json_write_key(writer, key);
        json_write_object(writer);
        analysis_write_side(writer, begin_of(analysis, column), "before", "sourcesBefore");
        analysis_write_side(writer, end_of(analysis, column), "after", "sourcesAfter");
        json_write_member_u64(writer, "elapsedNs", analysis->setup.columns[column].elapsed_ns);
        analysis_write_lives(analysis, column, writer);
        json_write_end(writer);
}

static void analysis_write_kind(const Analysis *analysis, JsonWriter *writer) {
        json_write_member_text(writer, "kind", view_kind_name(analysis->call->kind));
        if (analysis->call->view.n_filter > 0)
                json_write_member_u64(writer, "matchedGroups",
                                      comparison_n_matched(analysis->comparison));
}

/* The subjects of the view, and how they are related. */
static void analysis_write_subjects(const Analysis *analysis, JsonWriter *writer) {
        const Subject *before = &analysis->call->subjects[SIDE_BEFORE];
        const Subject *after = &analysis->call->subjects[SIDE_AFTER];

        if (analysis->n_sides == 1) {
                analysis_write_side(writer, before, "snapshot", "sources");
                return;
        }
        if (of_intervals(analysis)) {
                for (unsigned i = 0; i < SIDES; i++)
                        analysis_write_interval(analysis, i, interval_names[i], writer);
        } else {
                analysis_write_side(writer, before, "before", "sourcesBefore");
                analysis_write_side(writer, after, "after", "sourcesAfter");
        }
        json_write_member_bool(writer, "sameBoot", analysis->setup.boots == BOOTS_SAME);
        if (of_intervals(analysis))
                return;
        json_write_key(writer, "elapsedNs");
        if (analysis->call->has_elapsed)
                json_write_u64(writer, analysis->setup.elapsed_ns);
        else
                json_write_null(writer);
        if (analysis->call->swapped)
                json_write_member_bool(writer, "swapped", true);
        if (is_interval(analysis))
                analysis_write_lives(analysis, 0, writer);
}

static int analysis_answer_heads(Analysis *analysis) {
        JsonWriter *writer = answer_begin(&analysis->work->answer);
        int r = 0;

        analysis_write_kind(analysis, writer);
        analysis_write_subjects(analysis, writer);
        if (analysis->setup.columns[0].has_begin)
                r = analysis_write_intervals(analysis, writer);
        else
                json_write_member_null(writer, "coverage");
        if (r == 0 && of_intervals(analysis))
                r = comparison_write_waits(analysis->comparison, writer);
        if (r == 0 && analysis->n_sides > 1)
                r = analysis_write_host_changes(analysis, writer);
        if (r == 0 && analysis->n_sides > 1)
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

        if (analysis->call->view.axis != VIEW_AXIS_CGROUP &&
            analysis->call->view.axis != VIEW_AXIS_ALL)
                return;
        json_write_key(writer, "pairings");
        comparison_write_pairings(analysis->comparison, writer);
        json_write_member_u64(writer, "hiddenPairings",
                              n > PAIRING_MAX_WRITTEN ? n - PAIRING_MAX_WRITTEN : 0);
}

/* The lists that the view wants, of all sides. */
static int analysis_answer_lists(Analysis *analysis) {
        const View *view = &analysis->call->view;
        int r = 0;

        if (view->overview)
                r = analysis_answer_list(analysis, COMPARISON_OVERVIEW, "overview");
        if (!view->rows)
                return r;
        if (r == 0)
                r = analysis_answer_list(analysis, COMPARISON_GROUPS, "groups");
        if (r == 0 && analysis->n_sides > 1)
                r = analysis_answer_list(analysis, COMPARISON_ONLY_BEFORE,
                                         of_intervals(analysis) ? "onlyA" : "onlyBefore");
        if (r == 0 && analysis->n_sides > 1)
                r = analysis_answer_list(analysis, COMPARISON_ONLY_AFTER,
                                         of_intervals(analysis) ? "onlyB" : "onlyAfter");
        return r;
}

static int analysis_answer(Analysis *analysis) {
        const Comparison *comparison = analysis->comparison;
        bool has_overview = analysis->call->view.overview;
        SectionCursor sections;
        JsonWriter *writer;
        int r;

        r = analysis_answer_heads(analysis);
        if (r == 0)
                r = analysis_answer_lists(analysis);
        if (r != 0)
                return r;

        r = analysis_answer_sections(analysis, &sections);
        if (r != 0)
                return r;
        writer = &analysis->work->answer.writer;
        json_write_member_u64(
                writer, "hiddenRows",
                number_add_saturating(comparison_hidden_rows(comparison), sections.n_hidden));
        if (analysis->call->view.has_threshold && analysis->n_sides > 1)
                json_write_member_u64(writer, "rowsAboveThreshold",
                                      analysis_rows_above(analysis, &sections));
        json_write_member_u64(writer, "hiddenGroups",
                              comparison_hidden(comparison, has_overview ? COMPARISON_OVERVIEW
                                                                         : COMPARISON_GROUPS));
        json_write_key(writer, "hiddenSections");
        section_cuts_write(analysis->feed.sections, writer);
        if (analysis->n_sides > 1 && analysis->call->view.rows) {
                json_write_member_u64(writer,
                                      of_intervals(analysis) ? "hiddenOnlyA" : "hiddenOnlyBefore",
                                      comparison_hidden(comparison, COMPARISON_ONLY_BEFORE));
                json_write_member_u64(writer,
                                      of_intervals(analysis) ? "hiddenOnlyB" : "hiddenOnlyAfter",
                                      comparison_hidden(comparison, COMPARISON_ONLY_AFTER));
        }
        if (analysis->n_sides > 1)
                analysis_write_pairings(analysis, writer);
        return answer_final(&analysis->work->answer);
}

static int analysis_run(Work *work, ViewSubjects *call) {
        _cleanup_(analysis_done) Analysis analysis = {
                .work = work,
                .call = call,
                .n_sides = view_subjects_n_sides(call),
        };
        int r;

        for (unsigned i = 0; i < COLUMNS_MAX; i++) {
                limit_tally_init(&analysis.limits[i]);
                crowds_init(&analysis.crowds[i]);
        }
        analysis_set_up(&analysis);
        analysis_choose_sections(&analysis);
        r = analysis_read(&analysis);
        return r == 0 ? analysis_answer(&analysis) : r;
}

/* The comparison borrows the sources of the subjects, so these are freed after it. */
int work_analysis(Work *work) {
        _cleanup_(view_subjects_done) ViewSubjects call;
        int r;

        view_subjects_init(&call);
        r = view_subjects_open(work, &call);
        return r == 0 ? analysis_run(work, &call) : r;
}
