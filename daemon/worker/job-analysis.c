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
#include "analysis/subject/host-view.h"
#include "analysis/subject/ledger-span.h"
#include "analysis/subject/limit-tally.h"
#include "analysis/subject/section-feed.h"

/* One call of Show or Compare. */
typedef struct Analysis {
        Work *work;                     /* borrowed */
        ViewSubjects *call;             /* borrowed */
        bool is_interval, of_intervals; /* the kind of the view, if it is one of these */
        unsigned n_sides;
        unsigned column; /* the interval that is being read */
        View sections;   /* which sections are shown */
        ComparisonSetup setup;
        /* The snapshot at the end of each column; of an interval also that at which it begins. */
        Subject *begins[COLUMNS_MAX], *ends[COLUMNS_MAX];
        /* For each column of an interval: */
        Period periods[COLUMNS_MAX];
        HostUse uses[COLUMNS_MAX];      /* what the host did; also up to a snapshot */
        HostView hosts[COLUMNS_MAX];    /* the same for the reader */
        LimitTally limits[COLUMNS_MAX]; /* which cgroups were held back */
        Cohorts cohorts[COLUMNS_MAX];   /* likewise, who contended with whom */
        Comparison *comparison;
        SectionFeed feed;
        Buffer name; /* scratch: the former name of a cgroup */
} Analysis;

static void analysis_done(Analysis *analysis) {
        section_feed_done(&analysis->feed);
        for (unsigned i = 0; i < COLUMNS_MAX; i++) {
                key_tree_done(&analysis->limits[i].cgroups, NULL);
                cohorts_done(&analysis->cohorts[i]);
                host_totals_done(&analysis->hosts[i].difference);
        }
        buffer_done(&analysis->name);
        analysis->comparison = comparison_free(analysis->comparison);
}

/* preparing */

/*
 * Says how the sides are related, how far the readings of each can be believed, and which sections
 * are shown.
 */
static void analysis_set_up(Analysis *analysis) {
        ComparisonSetup *setup = &analysis->setup;
        ViewSubjects *call = analysis->call;

        *setup = (ComparisonSetup){
                .n_columns = analysis->is_interval ? 1 : analysis->n_sides,
                .boots = call->boots,
                .elapsed_ns = call->elapsed_ns,
        };
        for (unsigned i = 0; i < setup->n_columns; i++) {
                ColumnSetup *column = &setup->columns[i];
                Subject *begin = analysis->is_interval ? &call->subjects[SIDE_BEFORE]
                                                       : &call->subjects[2 * i];
                Subject *end = analysis->is_interval ? &call->subjects[SIDE_AFTER]
                                                     : view_subjects_end(call, i);
                const Head *head = &end->head;

                *column = (ColumnSetup){
                        .has_begin = analysis->is_interval || analysis->of_intervals,
                        .keeps_begin = analysis->is_interval,
                        .end = judge_time_of(head),
                        .defects = kernel_defects_of(head->kernel_release),
                };
                analysis->ends[i] = end;
                if (column->has_begin) {
                        analysis->begins[i] = begin;
                        column->begin = judge_time_of(&begin->head);
                        column->elapsed_ns =
                                head->start_boottime_ns - begin->head.start_boottime_ns;
                        column->has_ledger = subjects_join_ledgers(begin, end);
                } else {
                        if (head->has_waits_since)
                                column->waits_since_ns = amount_of(head->waits_since_boottime_ns);
                        if (head->has_reasons_since)
                                column->reasons_since_ns =
                                        amount_of(head->reasons_since_boottime_ns);
                }
                analysis->periods[i] = period_of(&column->begin, &column->end);
        }
        if (call->kind == VIEW_KIND_TOTALS && setup->boots == BOOTS_SAME) {
                const JudgeTime times[SIDES] = { setup->columns[0].end, setup->columns[1].end };

                setup->interval_ns = judge_interval_ns(times);
        }
        /*
         * The sections of two intervals compare the states at their ends. Those that count since
         * the boot would say nothing of the intervals, so they are left out.
         */
        analysis->sections = call->view;
        for (unsigned id = 0; analysis->of_intervals && id < _SECTION_MAX; id++)
                if (!view_table_forms[id].is_of_states)
                        analysis->sections.tables[id] = false;
}

/* reading */

static int analysis_on_name(void *userdata, const ThreadSample *sample) {
        return section_feed_census(&((Analysis *) userdata)->feed, sample);
}

static int analysis_on_cgroup_name(void *userdata, Span path) {
        return section_feed_census_cgroup(&((Analysis *) userdata)->feed, path);
}

static int analysis_on_thread(void *userdata, Side side, const ThreadSample *sample) {
        Group *group;

        return column_table_add(&((Analysis *) userdata)->comparison->table, side, NULL, sample,
                                &group);
}

static int analysis_on_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        Analysis *analysis = userdata;
        unsigned column = analysis->column;
        int r = cohorts_add(&analysis->cohorts[column], &analysis->periods[column], before, after);
        Group *group;

        return r == 0 ? column_table_add(&analysis->comparison->table, column, before, after,
                                         &group)
                      : r;
}

static int analysis_on_exited(void *userdata, Side end, const ExitedRow *row) {
        Analysis *analysis = userdata;

        return cohorts_add_exited(&analysis->cohorts[analysis->column], end, row);
}

/*
 * When two intervals are compared, the sections take only the snapshot at the end of each, and the
 * number of the interval is the side.
 */
static int analysis_on_smaps(void *userdata, Side side, const ThreadSample *sample,
                             Span smaps_json) {
        Analysis *analysis = userdata;

        if (analysis->of_intervals && side != SIDE_AFTER)
                return 0;
        return section_feed_thread(&analysis->feed,
                                   analysis->of_intervals ? (Side) analysis->column : side, sample,
                                   smaps_json);
}

static int analysis_on_cgroup(void *userdata, Side side, Span path, Span stats_json) {
        Analysis *analysis = userdata;
        int r = 0;

        /* The tally is of all cgroups, whatever the sections make of their records. */
        if (analysis->n_sides > 1)
                r = limit_tally_add(&analysis->limits[analysis->column], side, path, stats_json);

        if (r != 0 || (analysis->of_intervals && side != SIDE_AFTER))
                return r;
        return section_feed_cgroup(&analysis->feed,
                                   analysis->of_intervals ? (Side) analysis->column : side, path,
                                   stats_json);
}

static int analysis_on_progress(void *userdata, uint64_t n_read, uint64_t n_total) {
        return answer_progress(&((Analysis *) userdata)->work->answer, "reading", n_read, n_total);
}

/* A record that cannot be read makes its file unreadable. */
static int analysis_read_result(Analysis *analysis, Subject *subject, int r) {
        const char *complaint = "";

        if (analysis->feed.malformed)
                complaint = analysis->feed.sections->complaint;
        for (unsigned i = 0; i < COLUMNS_MAX && complaint[0] == '\0'; i++)
                complaint = analysis->limits[i].complaint;

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
        const Pairing *pairing = analysis->comparison->table.pairing;
        int r = 0;

        buffer_clear(&analysis->name);
        if (pairing)
                r = pairing_append_old_name(pairing, name, &analysis->name);
        *ret = buffer_span(&analysis->name);
        return r;
}

/* Reads what the hosts did, against which accounts are measured, and of intervals also shows it. */
static int analysis_read_hosts(Analysis *analysis) {
        Columns *columns = &analysis->comparison->table.columns;

        for (unsigned i = 0; i < analysis->setup.n_columns; i++) {
                Subject *before = analysis->begins[i], *after = analysis->ends[i], *culprit;
                HostView *host = &analysis->hosts[i];
                CoverageLedger ledger;
                int r = subject_host_use(before, after, &culprit, &analysis->uses[i],
                                         &host->difference);

                if (r != 0)
                        return analysis_read_result(analysis, culprit, r);
                columns->of[i].host = analysis->uses[i];
                columns->of[i].no_reasons = subjects_lack_reasons(before, after);
                if (!before)
                        continue;
                r = subject_host_view(before, after, &culprit, host);
                if (r != 0)
                        return analysis_read_result(analysis, culprit, r);
                host->n_cpus = analysis->uses[i].n_cpus;
                ledger = coverage_ledger_of(before, after);
                host->waiting_ns =
                        coverage_waiting_ns(&analysis->comparison->table.coverages[i], &ledger);
        }
        return 0;
}

static int analysis_read(Analysis *analysis) {
        static const AnalysisVisitor visitor = {
                .on_name = analysis_on_name,
                .on_cgroup_name = analysis_on_cgroup_name,
                .on_thread = analysis_on_thread,
                .on_life = analysis_on_life,
                .on_exited = analysis_on_exited,
                .on_smaps = analysis_on_smaps,
                .on_cgroup = analysis_on_cgroup,
                .on_progress = analysis_on_progress,
        };
        const SourceTable *sources[SIDES] = {};
        AnalysisRead read = { .visitor = &visitor, .userdata = analysis };
        Subject *subjects = analysis->call->subjects;
        int r;

        r = comparison_new(&analysis->call->view, &analysis->setup, &analysis->comparison);
        if (r == 0)
                r = section_feed_init(&analysis->feed, &analysis->sections, analysis->n_sides);
        if (r != 0)
                return err_fold(r);
        for (unsigned i = 0; i < analysis->n_sides; i++)
                section_feed_head(&analysis->feed, i, &view_subjects_end(analysis->call, i)->head);
        read.table = &analysis->comparison->table;
        for (unsigned i = 0; i < analysis->call->n; i++)
                analysis_read_expect(&read, &subjects[i],
                                     read.table->threads.keys.has_census ? 2 : 1);
        for (unsigned i = 0; i < analysis->call->n && r == 0; i++)
                r = analysis_read_names(&read, &subjects[i]);
        /* The names are known: now the numbers of all threads. */
        for (unsigned i = 0; i < analysis->setup.n_columns && r == 0; i++) {
                /* Two snapshots that are no interval share one tally, and are its two ends. */
                analysis->column = analysis->begins[i] ? i : 0;
                r = analysis_read_column(&read, i, (Side) i, analysis->begins[i],
                                         analysis->ends[i]);
        }
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

static int analysis_write_host_changes(Analysis *analysis, JsonWriter *writer) {
        HostFacts facts[SIDES] = {};
        int r = 0;

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
        const Subject *from = analysis->begins[column], *to = analysis->ends[column];
        char folded[LOST_ROWS_BYTES];

        json_write_key(writer, "lives");
        life_counts_write_json(writer, &analysis->comparison->table.columns.of[column].lives,
                               subjects_loss_of_names(from, to),
                               subjects_lost_rows(from, to, folded));
}

/* These members tell of an interval; with two intervals each is an object of both. */
typedef enum IntervalMember {
        INTERVAL_COVERAGE,
        INTERVAL_HOST,
        INTERVAL_LIMITED,
        INTERVAL_BUT,
        _INTERVAL_MEMBER_MAX,
} IntervalMember;

static const char *const interval_members[_INTERVAL_MEMBER_MAX] = {
        [INTERVAL_COVERAGE] = "coverage",
        [INTERVAL_HOST] = "host",
        [INTERVAL_LIMITED] = "limited",
        [INTERVAL_BUT] = "but",
};

static int analysis_write_interval(Analysis *analysis, IntervalMember member, unsigned column,
                                   JsonWriter *writer) {
        const Subject *from = analysis->begins[column], *to = analysis->ends[column];
        const Head *const heads[SIDES] = { &from->head, &to->head };
        const Coverage *coverage = &analysis->comparison->table.coverages[column];
        const HostView *host = &analysis->hosts[column];
        const HostUse *use = &analysis->uses[column];
        const CoverageSpan span = coverage_span_of(use, heads);
        const CoverageLedger ledger = coverage_ledger_of(from, to);
        const SourceTable *sources = subject_sources(from);
        _cleanup_(buffer_done) Buffer cgroup_v1 = {};
        ContradictionBasis basis;
        char absence[ABSENCE_BYTES];
        bool found;
        int r = 0;

        switch (member) {
        case INTERVAL_COVERAGE:
                /* Work is known of threads whose run time both have: the first without says why. */
                if (sources &&
                    sources->sources[metric_table[METRIC_run_time_ns].explained_by].state ==
                            SOURCE_STATE_OK)
                        sources = subject_sources(to);
                coverage_write_json(writer, coverage, &ledger, use, &span,
                                    absence_of_metric(sources, METRIC_run_time_ns, absence));
                break;
        case INTERVAL_HOST:
                host_view_write_json(host, writer);
                break;
        case INTERVAL_LIMITED:
                r = limit_tally_write_json(
                        &analysis->limits[column],
                        host_totals_number(&host->difference, HOST_PART_MEMORY, "oom_kill"),
                        writer);
                break;
        case INTERVAL_BUT: /* what of the interval contradicts itself */
                basis = (ContradictionBasis){
                        .elapsed_ns = period_elapsed_ns(&analysis->periods[column]),
                        .host = host,
                        .use = use,
                        .believed_ns = coverage_believed_ns(coverage, &ledger, use, &span),
                        .cohorts = &analysis->cohorts[column],
                        .limits = &analysis->limits[column],
                };
                r = host_context_find(buffer_span(&to->host), HOST_CONTEXT_CGROUP_V1, &cgroup_v1,
                                      &found);
                basis.cgroup_v1 = buffer_span(&cgroup_v1);
                if (r == 0)
                        r = contradictions_write_json(&basis, writer);
                break;
        case _INTERVAL_MEMBER_MAX:
                break;
        }
        return r;
}

static int analysis_answer_heads(Analysis *analysis) {
        JsonWriter *writer = answer_begin(&analysis->work->answer);
        const Subject *before = &analysis->call->subjects[SIDE_BEFORE];
        const LimitTally *limits = analysis->limits;
        int r = 0;

        json_write_member_text(writer, "kind", view_kind_names[analysis->call->kind]);
        if (analysis->call->view.n_filter > 0)
                json_write_member_u64(writer, "matchedGroups", analysis->comparison->n_matched);
        /* The subjects of the view, and how they are related. */
        if (analysis->n_sides == 1) {
                analysis_write_side(writer, before, "snapshot", "sources");
        } else if (analysis->of_intervals) {
                for (unsigned i = 0; i < SIDES; i++) {
                        json_write_key(writer, interval_names[i]);
                        json_write_object(writer);
                        analysis_write_side(writer, analysis->begins[i], "before", "sourcesBefore");
                        analysis_write_side(writer, analysis->ends[i], "after", "sourcesAfter");
                        json_write_member_u64(writer, "elapsedNs",
                                              analysis->setup.columns[i].elapsed_ns);
                        analysis_write_lives(analysis, i, writer);
                        json_write_end(writer);
                }
                json_write_member_bool(writer, "sameBoot", analysis->setup.boots == BOOTS_SAME);
        } else {
                analysis_write_side(writer, before, "before", "sourcesBefore");
                analysis_write_side(writer, &analysis->call->subjects[SIDE_AFTER], "after",
                                    "sourcesAfter");
                json_write_member_bool(writer, "sameBoot", analysis->setup.boots == BOOTS_SAME);
                json_write_key(writer, "elapsedNs");
                if (analysis->call->has_elapsed)
                        json_write_u64(writer, analysis->setup.elapsed_ns);
                else
                        json_write_null(writer);
                if (analysis->call->swapped)
                        json_write_member_bool(writer, "swapped", true);
                if (analysis->is_interval)
                        analysis_write_lives(analysis, 0, writer);
        }
        if (!analysis->setup.columns[0].has_begin)
                json_write_member_null(writer, "coverage");
        for (unsigned i = 0;
             analysis->setup.columns[0].has_begin && i < _INTERVAL_MEMBER_MAX && r == 0; i++) {
                json_write_key(writer, interval_members[i]);
                if (!analysis->of_intervals) {
                        r = analysis_write_interval(analysis, (IntervalMember) i, 0, writer);
                        continue;
                }
                json_write_object(writer);
                for (unsigned c = 0; c < SIDES && r == 0; c++) {
                        json_write_key(writer, interval_names[c]);
                        r = analysis_write_interval(analysis, (IntervalMember) i, c, writer);
                }
                json_write_end(writer);
        }
        if (r == 0 && analysis->of_intervals)
                r = comparison_write_waits(analysis->comparison, writer);
        if (r == 0 && analysis->n_sides > 1)
                r = analysis_write_host_changes(analysis, writer);
        if (r == 0 && analysis->n_sides > 1) {
                /* Somebody set these anew: limits of cgroups, then what whole groups run with. */
                json_write_key(writer, "changes");
                json_write_array(writer);
                r = analysis->of_intervals
                            ? limit_tally_write_changes(&limits[0], SIDE_AFTER, &limits[1],
                                                        SIDE_AFTER, writer)
                            : limit_tally_write_changes(&limits[0], SIDE_BEFORE, &limits[0],
                                                        SIDE_AFTER, writer);
                if (r == 0)
                        r = comparison_write_changes(analysis->comparison, writer);
                json_write_end(writer);
        }
        return r == 0 ? answer_send(&analysis->work->answer, PACKET_PART, -EBADF) : r;
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

static int analysis_answer(Analysis *analysis) {
        const Comparison *comparison = analysis->comparison;
        const View *view = &analysis->call->view;
        bool is_one = analysis->n_sides == 1, of_intervals = analysis->of_intervals;
        size_t n_pairings = comparison->table.pairing ? pairing_n(comparison->table.pairing) : 0;
        Answer *answer = &analysis->work->answer;
        const struct {
                ComparisonList list;
                const char *key;
                bool is_shown;
        } lists[] = {
                { COMPARISON_OVERVIEW, "overview", view->overview },
                { COMPARISON_GROUPS, "groups", view->rows },
                { COMPARISON_ONLY_BEFORE, of_intervals ? "onlyA" : "onlyBefore",
                  view->rows && !is_one },
                { COMPARISON_ONLY_AFTER, of_intervals ? "onlyB" : "onlyAfter",
                  view->rows && !is_one },
        };
        JsonWriter *writer = &answer->writer;
        SectionCursor sections = {};
        bool done = false;
        int r;

        r = analysis_answer_heads(analysis);
        for (size_t i = 0; i < ELEMENTSOF(lists) && r == 0; i++) {
                const AnalysisList from = { comparison, lists[i].list };

                if (lists[i].is_shown)
                        r = answer_list(answer, lists[i].key, comparison->lists[from.list].n_shown,
                                        analysis_write_member, &from);
        }
        /* Parts of about LIMIT_BATCH_BYTES; the last reply stays open for what follows. */
        while (r == 0 && !done) {
                writer = answer_begin(answer);
                json_write_key(writer, "sections");
                done = section_part_write(analysis->feed.sections, &sections, writer,
                                          LIMIT_BATCH_BYTES);
                if (!done)
                        r = answer_send(answer, PACKET_PART, -EBADF);
        }
        if (r != 0)
                return r;
        json_write_member_u64(writer, "hiddenRows",
                              number_add_saturating(comparison->n_hidden_rows, sections.n_hidden));
        /*
         * Everything that the view shows counts, and all that only its limit left out. A cgroup or
         * process that the limit cut off a section had at least one row.
         */
        if (view->has_threshold && !is_one)
                json_write_member_u64(
                        writer, "rowsAboveThreshold",
                        number_add_saturating(
                                number_add_saturating(comparison->n_rows_above_threshold,
                                                      sections.n_rows),
                                section_n_cut(analysis->feed.sections)));
        json_write_member_u64(
                writer, "hiddenGroups",
                comparison->lists[view->overview ? COMPARISON_OVERVIEW : COMPARISON_GROUPS]
                        .n_hidden);
        json_write_key(writer, "hiddenSections");
        section_cuts_write(analysis->feed.sections, writer);
        if (!is_one && view->rows) {
                json_write_member_u64(writer, of_intervals ? "hiddenOnlyA" : "hiddenOnlyBefore",
                                      comparison->lists[COMPARISON_ONLY_BEFORE].n_hidden);
                json_write_member_u64(writer, of_intervals ? "hiddenOnlyB" : "hiddenOnlyAfter",
                                      comparison->lists[COMPARISON_ONLY_AFTER].n_hidden);
        }
        if (!is_one && (view->axis == VIEW_AXIS_CGROUP || view->axis == VIEW_AXIS_ALL)) {
                json_write_key(writer, "pairings");
                n_pairings -= pairing_write_json(comparison->table.pairing, writer);
                json_write_member_u64(writer, "hiddenPairings", n_pairings);
        }
        return answer_send(answer, PACKET_LAST, -EBADF);
}

/* The comparison borrows the sources of the subjects, so these are freed after it. */
int work_analysis(Work *work) {
        _cleanup_(view_subjects_done) ViewSubjects call;
        _cleanup_(analysis_done) Analysis analysis = { .work = work, .call = &call };
        int r;

        r = view_subjects_open(work, &call);
        if (r != 0)
                return r;
        analysis.is_interval = call.kind == VIEW_KIND_INTERVAL;
        analysis.of_intervals = call.kind == VIEW_KIND_INTERVALS;
        analysis.n_sides = call.kind == VIEW_KIND_STATE ? 1 : SIDES;
        analysis_set_up(&analysis);
        r = analysis_read(&analysis);
        return r == 0 ? analysis_answer(&analysis) : r;
}
