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
        Side interval; /* of two intervals: the one that is being read */
        View sections; /* which sections are shown */
        ComparisonSetup setup;
        /* What the host did in an interval, under SIDE_AFTER; of two in each. */
        HostUse uses[SIDES];
        HostView hosts[SIDES];    /* for the reader */
        LimitTally limits[SIDES]; /* which cgroups were held back */
        Crowds crowds[SIDES];     /* likewise, who contended with whom */
        Period periods[SIDES];
        Comparison *comparison;
        SectionFeed feed;
        Buffer name; /* scratch: the former name of a cgroup */
} Analysis;

static void analysis_done(Analysis *analysis) {
        section_feed_done(&analysis->feed);
        for (unsigned i = 0; i < SIDES; i++) {
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

/*
 * Of intervals: whether a ledger tells of threads that ended; of snapshots: since when waits were
 * counted.
 */
static void analysis_join_ledgers(Analysis *analysis) {
        ComparisonSetup *setup = &analysis->setup;
        ViewSubjects *call = analysis->call;

        if (call->kind == VIEW_KIND_INTERVAL)
                setup->has_ledger[SIDE_AFTER] = subjects_join_ledgers(&call->subjects[SIDE_BEFORE],
                                                                      &call->subjects[SIDE_AFTER]);
        for (unsigned i = 0; i < analysis->n_sides; i++) {
                const Head *head = &view_subjects_end(call, i)->head;

                if (of_intervals(analysis)) {
                        setup->has_ledger[i] = subjects_join_ledgers(view_subjects_begin(call, i),
                                                                     view_subjects_end(call, i));
                        continue;
                }
                if (head->has_waits_since)
                        setup->waits_since_ns[i] = amount_of(head->waits_since_boottime_ns);
                if (head->has_reasons_since)
                        setup->reasons_since_ns[i] = amount_of(head->reasons_since_boottime_ns);
        }
}

/* Says how the sides are related, and how far the readings of each can be believed. */
static void analysis_set_up(Analysis *analysis) {
        ComparisonSetup *setup = &analysis->setup;

        *setup = (ComparisonSetup){
                .n_sides = analysis->n_sides,
                .boots = analysis->call->boots,
                .elapsed_ns = analysis->call->elapsed_ns,
        };
        for (unsigned i = 0; i < analysis->n_sides; i++) {
                const Head *head = &view_subjects_end(analysis->call, i)->head;

                setup->defects[i] = kernel_defects_of(head->kernel_release);
                setup->times[i] = judge_time_of(head);
                setup->interval_of_ns[i] = view_subjects_elapsed_ns(analysis->call, i);
                if (of_intervals(analysis))
                        setup->begins[i] =
                                judge_time_of(&view_subjects_begin(analysis->call, i)->head);
        }
        for (unsigned i = 0; i < analysis->n_sides && analysis->n_sides > 1; i++) {
                const JudgeTime times[SIDES] = {
                        of_intervals(analysis) ? setup->begins[i] : setup->times[SIDE_BEFORE],
                        of_intervals(analysis) ? setup->times[i] : setup->times[SIDE_AFTER],
                };

                analysis->periods[i] = period_between(times);
        }
        if (setup->boots == BOOTS_SAME && !of_intervals(analysis))
                setup->interval_ns = judge_interval_ns(setup->times);
        analysis_join_ledgers(analysis);
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

/* The interval that is being read. */
static Side side_of_interval(const Analysis *analysis) {
        return of_intervals(analysis) ? analysis->interval : SIDE_AFTER;
}

static int analysis_on_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        Analysis *analysis = userdata;
        Side side = side_of_interval(analysis);
        int r = crowds_add(&analysis->crowds[side], &analysis->periods[side], before, after);

        if (r != 0)
                return r;
        return of_intervals(analysis)
                       ? comparison_fold_work(analysis->comparison, side, before, after)
                       : comparison_fold_life(analysis->comparison, before, after);
}

static int analysis_on_dead(void *userdata, Side end, const DeadRow *row) {
        Analysis *analysis = userdata;
        Side side = side_of_interval(analysis);
        int r = crowds_add_dead(&analysis->crowds[side], end, row);

        return r == 0 ? comparison_fold_dead(analysis->comparison, side, end, row) : r;
}

/*
 * Of what is read on @side of a window or alone, sections take what is at the end of an interval.
 * False: nothing of it.
 */
static bool find_side(const Analysis *analysis, Side *side) {
        bool is_end = *side == SIDE_AFTER;

        if (!of_intervals(analysis))
                return true;
        *side = analysis->interval;
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
        if (of_intervals(analysis))
                return limit_tally_add(&analysis->limits[analysis->interval], side, path,
                                       stats_json);
        if (analysis->n_sides > 1)
                return limit_tally_add(&analysis->limits[SIDE_AFTER], side, path, stats_json);
        return 0;
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

/* Two snapshots were read: whether their ledger knows the names of who ended in between. */
static int analysis_read_interval(Analysis *analysis, AnalysisRead *read, Side side,
                                  Subject *before, Subject *after) {
        int r = analysis_read_window(read, before, after);

        if (r == 0 && subjects_loss_of_names(before, after))
                comparison_lose_names(analysis->comparison, side);
        return r;
}

/* The numbers of all threads, after their names. */
static int analysis_read_numbers(Analysis *analysis, AnalysisRead *read) {
        Subject *subjects = analysis->call->subjects;
        int r = 0;

        if (comparison_wants_lives(analysis->comparison))
                return analysis_read_interval(analysis, read, SIDE_AFTER, &subjects[SIDE_BEFORE],
                                              &subjects[SIDE_AFTER]);
        for (unsigned i = 0; i < analysis->n_sides && r == 0; i++) {
                analysis->interval = (Side) i;
                r = of_intervals(analysis)
                            ? analysis_read_interval(analysis, read, (Side) i,
                                                     view_subjects_begin(analysis->call, i),
                                                     view_subjects_end(analysis->call, i))
                            : analysis_read_side(read, (Side) i, &subjects[i]);
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
        for (unsigned i = 0; i < SIDES && complaint[0] == '\0'; i++)
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

/* What the host did, for the reader, in the interval that ends with @side. */
static int analysis_view_host(Analysis *analysis, Side side, Subject *before) {
        const Coverage *coverage = comparison_coverage(analysis->comparison, side);
        HostView *host = &analysis->hosts[side];
        CoverageLedger ledger;
        Subject *culprit;
        int r;

        r = subject_host_view(before, view_subjects_end(analysis->call, side), &culprit, host);
        if (r != 0)
                return analysis_read_result(analysis, culprit, r);
        host->n_cpus = analysis->uses[side].n_cpus;
        ledger = coverage_ledger_of(before, view_subjects_end(analysis->call, side));
        host->waiting_ns = coverage_waiting_ns(coverage, &ledger);
        return 0;
}

/* What the hosts did, against which accounts are measured. */
static int analysis_read_hosts(Analysis *analysis) {
        bool is_interval = comparison_wants_lives(analysis->comparison);
        Subject *subjects = analysis->call->subjects, *culprit;

        for (unsigned i = is_interval ? SIDE_AFTER : SIDE_BEFORE; i < analysis->n_sides; i++) {
                Subject *before = is_interval              ? &subjects[SIDE_BEFORE]
                                  : of_intervals(analysis) ? view_subjects_begin(analysis->call, i)
                                                           : NULL;
                int r = subject_host_use(before, view_subjects_end(analysis->call, i), &culprit,
                                         &analysis->uses[i], &analysis->hosts[i].difference);

                if (r != 0)
                        return analysis_read_result(analysis, culprit, r);
                comparison_set_host(analysis->comparison, (Side) i, &analysis->uses[i]);
                comparison_lack_reasons(
                        analysis->comparison, (Side) i,
                        subjects_lack_reasons(before, view_subjects_end(analysis->call, i)));
                if (before)
                        r = analysis_view_host(analysis, (Side) i, before);
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
        r = of_intervals(analysis)
                    ? limit_tally_write_changes(&limits[SIDE_BEFORE], SIDE_AFTER,
                                                &limits[SIDE_AFTER], SIDE_AFTER, writer)
                    : limit_tally_write_changes(&limits[SIDE_AFTER], SIDE_BEFORE,
                                                &limits[SIDE_AFTER], SIDE_AFTER, writer);
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

static void analysis_write_lives(const Analysis *analysis, JsonWriter *writer) {
        const Subject *subjects = analysis->call->subjects;
        LifeCounts lives = comparison_lives(analysis->comparison);
        char folded[LOST_ROWS_BYTES];

        if (!comparison_wants_lives(analysis->comparison))
                return;
        json_write_key(writer, "lives");
        life_counts_write_json(
                writer, &lives,
                subjects_loss_of_names(&subjects[SIDE_BEFORE], &subjects[SIDE_AFTER]),
                subjects_lost_rows(&subjects[SIDE_BEFORE], &subjects[SIDE_AFTER], folded));
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

static void analysis_write_coverage_of(const Analysis *analysis, Side side, const Subject *from,
                                       const Subject *to, JsonWriter *writer) {
        const Head *const heads[SIDES] = { &from->head, &to->head };
        const HostUse *use = &analysis->uses[side];
        const CoverageSpan span = coverage_span_of(use, heads);
        CoverageLedger ledger = coverage_ledger_of(from, to);
        char absence[ABSENCE_BYTES];

        coverage_write_json(writer, comparison_coverage(analysis->comparison, side), &ledger, use,
                            &span, absence_of_run_times(from, to, absence));
}

static void analysis_write_coverage(const Analysis *analysis, JsonWriter *writer) {
        const Subject *subjects = analysis->call->subjects;

        if (!comparison_wants_lives(analysis->comparison)) {
                json_write_member_null(writer, "coverage");
                return;
        }
        json_write_key(writer, "coverage");
        analysis_write_coverage_of(analysis, SIDE_AFTER, &subjects[SIDE_BEFORE],
                                   &subjects[SIDE_AFTER], writer);
}

static void analysis_write_coverages(const Analysis *analysis, JsonWriter *writer) {
        json_write_key(writer, "coverage");
        json_write_object(writer);
        for (unsigned i = 0; i < SIDES; i++) {
                json_write_key(writer, interval_names[i]);
                analysis_write_coverage_of(analysis, (Side) i,
                                           view_subjects_begin(analysis->call, i),
                                           view_subjects_end(analysis->call, i), writer);
        }
        json_write_end(writer);
}

/* What of the interval that is @side contradicts itself. */
static int analysis_write_but(const Analysis *analysis, Side side, const Subject *from,
                              const Subject *to, JsonWriter *writer) {
        const Head *const heads[SIDES] = { &from->head, &to->head };
        const HostUse *use = &analysis->uses[side];
        const CoverageSpan span = coverage_span_of(use, heads);
        const CoverageLedger ledger = coverage_ledger_of(from, to);
        const Coverage *coverage = comparison_coverage(analysis->comparison, side);
        _cleanup_(buffer_done) Buffer cgroup_v1 = {};
        ContradictionBasis basis = {
                .elapsed_ns = period_elapsed_ns(&analysis->periods[side]),
                .host = &analysis->hosts[side],
                .use = use,
                .believed_ns = coverage_believed_ns(coverage, &ledger, use, &span),
                .crowds = &analysis->crowds[side],
                .limits = &analysis->limits[side],
        };
        bool found;
        int r = host_context_find(buffer_span(&to->host), HOST_CONTEXT_CGROUP_V1, &cgroup_v1,
                                  &found);

        basis.cgroup_v1 = buffer_span(&cgroup_v1);
        return r == 0 ? contradictions_write_json(&basis, writer) : r;
}

/* The members host, limited and but. */
static int analysis_write_host(Analysis *analysis, JsonWriter *writer) {
        const Subject *subjects = analysis->call->subjects;
        Side side = SIDE_AFTER;
        int r;

        if (!comparison_wants_lives(analysis->comparison))
                return 0;
        json_write_key(writer, "host");
        host_view_write_json(&analysis->hosts[side], writer);
        json_write_key(writer, "limited");
        r = limit_tally_write_json(&analysis->limits[side],
                                   host_view_oom_kills(&analysis->hosts[side]), writer);
        json_write_key(writer, "but");
        return r == 0 ? analysis_write_but(analysis, side, &subjects[SIDE_BEFORE],
                                           &subjects[SIDE_AFTER], writer)
                      : r;
}

static int analysis_write_hosts(Analysis *analysis, JsonWriter *writer) {
        int r = 0;

        json_write_key(writer, "host");
        json_write_object(writer);
        for (unsigned i = 0; i < SIDES; i++) {
                json_write_key(writer, interval_names[i]);
                host_view_write_json(&analysis->hosts[i], writer);
        }
        json_write_end(writer);
        json_write_key(writer, "limited");
        json_write_object(writer);
        for (unsigned i = 0; i < SIDES && r == 0; i++) {
                json_write_key(writer, interval_names[i]);
                r = limit_tally_write_json(&analysis->limits[i],
                                           host_view_oom_kills(&analysis->hosts[i]), writer);
        }
        json_write_end(writer);
        json_write_key(writer, "but");
        json_write_object(writer);
        for (unsigned i = 0; i < SIDES && r == 0; i++) {
                json_write_key(writer, interval_names[i]);
                r = analysis_write_but(analysis, (Side) i, view_subjects_begin(analysis->call, i),
                                       view_subjects_end(analysis->call, i), writer);
        }
        json_write_end(writer);
        return r;
}

/* One of two intervals. */
static void analysis_write_interval(const Analysis *analysis, Side side, const char *key,
                                    JsonWriter *writer) {
        const Subject *from = view_subjects_begin(analysis->call, side);
        const Subject *to = view_subjects_end(analysis->call, side);
        LifeCounts lives = comparison_lives_of(analysis->comparison, side);
        char folded[LOST_ROWS_BYTES];

        json_write_key(writer, key);
        json_write_object(writer);
        analysis_write_side(writer, from, "before", "sourcesBefore");
        analysis_write_side(writer, to, "after", "sourcesAfter");
        json_write_member_u64(writer, "elapsedNs", view_subjects_elapsed_ns(analysis->call, side));
        json_write_key(writer, "lives");
        life_counts_write_json(writer, &lives, subjects_loss_of_names(from, to),
                               subjects_lost_rows(from, to, folded));
        json_write_end(writer);
}

static void analysis_write_kind(const Analysis *analysis, JsonWriter *writer) {
        json_write_member_text(writer, "kind", view_kind_name(analysis->call->kind));
        if (analysis->call->view.n_filter > 0)
                json_write_member_u64(writer, "matchedGroups",
                                      comparison_n_matched(analysis->comparison));
}

static int analysis_answer_intervals(Analysis *analysis) {
        JsonWriter *writer = answer_begin(&analysis->work->answer);
        int r;

        analysis_write_kind(analysis, writer);
        analysis_write_interval(analysis, SIDE_BEFORE, "a", writer);
        analysis_write_interval(analysis, SIDE_AFTER, "b", writer);
        json_write_member_bool(writer, "sameBoot", analysis->setup.boots == BOOTS_SAME);
        analysis_write_coverages(analysis, writer);
        r = analysis_write_hosts(analysis, writer);
        if (r == 0)
                r = comparison_write_waits(analysis->comparison, writer);
        if (r == 0)
                r = analysis_write_host_changes(analysis, writer);
        if (r == 0)
                r = analysis_write_changes(analysis, writer);
        return r == 0 ? answer_reply(&analysis->work->answer) : r;
}

static int analysis_answer_heads(Analysis *analysis) {
        const Subject *before = &analysis->call->subjects[SIDE_BEFORE];
        const Subject *after = &analysis->call->subjects[SIDE_AFTER];
        JsonWriter *writer;
        int r;

        if (of_intervals(analysis))
                return analysis_answer_intervals(analysis);
        writer = answer_begin(&analysis->work->answer);
        analysis_write_kind(analysis, writer);
        if (analysis->n_sides == 1) {
                analysis_write_side(writer, before, "snapshot", "sources");
                analysis_write_coverage(analysis, writer);
                return answer_reply(&analysis->work->answer);
        }
        analysis_write_side(writer, before, "before", "sourcesBefore");
        analysis_write_side(writer, after, "after", "sourcesAfter");
        json_write_member_bool(writer, "sameBoot", analysis->setup.boots == BOOTS_SAME);
        json_write_key(writer, "elapsedNs");
        if (analysis->call->has_elapsed)
                json_write_u64(writer, analysis->setup.elapsed_ns);
        else
                json_write_null(writer);
        if (analysis->call->swapped)
                json_write_member_bool(writer, "swapped", true);
        analysis_write_lives(analysis, writer);
        analysis_write_coverage(analysis, writer);
        r = analysis_write_host(analysis, writer);
        if (r == 0)
                r = analysis_write_host_changes(analysis, writer);
        if (r == 0)
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

        for (unsigned i = 0; i < SIDES; i++) {
                limit_tally_init(&analysis.limits[i]);
                crowds_init(&analysis.crowds[i]);
        }
        analysis_set_up(&analysis);
        analysis_choose_sections(&analysis);
        r = analysis_read(&analysis);
        return r == 0 ? analysis_answer(&analysis) : r;
}

/* The comparison borrows the sources of the subjects, so these are freed after it. */
static int serve(Work *work, const ViewParameters *parameters) {
        _cleanup_(view_subjects_done) ViewSubjects call;
        int r;

        view_subjects_init(&call);
        r = view_subjects_open(work, parameters, &call);
        return r == 0 ? analysis_run(work, &call) : r;
}

static int work_show(Work *work) {
        static const Parameter table[] = {
                { "snapshot", PARAMETER_OBJECT, true, offsetof(ViewParameters, refs[0]) },
                { "view", PARAMETER_OBJECT, false, offsetof(ViewParameters, view) },
        };
        ViewParameters parameters = { .n_refs = 1, .names = { "snapshot" } };
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        return r == 0 ? serve(work, &parameters) : r;
}

static int work_compare(Work *work) {
        static const Parameter table[] = {
                { "before", PARAMETER_OBJECT, true, offsetof(ViewParameters, refs[0]) },
                { "after", PARAMETER_OBJECT, true, offsetof(ViewParameters, refs[1]) },
                { "view", PARAMETER_OBJECT, false, offsetof(ViewParameters, view) },
        };
        ViewParameters parameters = { .n_refs = 2, .names = { "before", "after" } };
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        return r == 0 ? serve(work, &parameters) : r;
}

const WorkMethod work_analysis_methods[] = {
        { PROFILER_INTERFACE ".Show", work_show, WORK_NEEDS_MORE, 0 },
        { PROFILER_INTERFACE ".Compare", work_compare, WORK_NEEDS_MORE, 0 },
        {},
};
