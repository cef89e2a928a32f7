/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/recorded-stacks.h"
#include "worker/view-subjects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "analysis/set/set-comparison.h"
#include "analysis/set/stack-set.h"
#include "view/view.h"
#include "wire/limits.h"
#include "analysis/subject/analysis-read.h"
#include "analysis/subject/ledger-span.h"
#include "analysis/subject/set-subjects.h"

_Static_assert(SET_MAX_CAPTURES == LIMIT_SNAPSHOTS_PER_CALL, "a sample for every snapshot");

typedef struct SetAnalysis {
        Work *work;                 /* borrowed */
        const AnalysisOrder *order; /* borrowed */
        SetSubjects subjects;
        SetComparison *comparison;
} SetAnalysis;

static const char *const side_names[SIDES] = { "before", "after" };

static void set_analysis_done(SetAnalysis *sets) {
        /* The comparison borrows the subjects' sources. */
        sets->comparison = set_comparison_free(sets->comparison);
        set_subjects_done(&sets->subjects);
}

/* opening */

/* Refuses views that two sets cannot answer, and opens the members of both. */
static int open_sets(SetAnalysis *sets) {
        const AnalysisOrder *order = sets->order;
        const View *view = &order->view;
        const SetSubject *other = NULL, *one;
        const char *complaint = NULL;
        char same[512];
        int r = 0;

        if (!(order->alpha > 0 && order->alpha < 1))
                return work_refuse_parameter(sets->work, "alpha", "alpha must be between 0 and 1");
        if (view->axis == VIEW_AXIS_THREAD)
                complaint = "sets cannot be compared by thread: a thread of one set need not be in "
                            "the other";
        else if (view->window)
                complaint = "comparisons of sets always measure the work between captures: leave "
                            "the window out";
        else if (view->totals)
                complaint = "sets are compared by rates and levels, not by totals";
        else if (view->pairs.n > 0)
                complaint = "cgroups are not paired in sets";
        if (complaint)
                return work_refuse_parameter(sets->work, "view", complaint);
        for (unsigned side = 0; side < SIDES; side++)
                if (order->n[side] == 0)
                        return work_refuse_parameter(sets->work, side_names[side],
                                                     "a set needs at least one snapshot");
        for (unsigned i = 0; i < order->n[0] + order->n[1] && r == 0; i++) {
                const OrderSubject *subject = &order->subjects[i];
                Side side = i < order->n[0] ? SIDE_BEFORE : SIDE_AFTER;
                bool is_interval; /* its end stands for it */
                SetSubject *member;

                r = set_subjects_add(&sets->subjects, side, &member);
                if (r == 0)
                        r = view_subjects_open_one(sets->work, subject, member->begin,
                                                   member->subject, &is_interval);
                if (r == 0 && is_interval)
                        r = view_subjects_check_interval(sets->work, member->begin,
                                                         member->subject);
                else if (r == 0)
                        set_subject_is_snapshot(member);
        }
        if (r != 0)
                return r;
        one = set_subjects_sort(&sets->subjects, &other);
        if (!one)
                return 0;
        (void) snprintf(same, sizeof(same), "%.200s and %.200s are the same capture",
                        subject_name(one->subject), subject_name(other->subject));
        return work_refuse_parameter(sets->work, side_names[other->side], same);
}

/* reading */

static int set_on_thread(void *userdata, Side side, const ThreadSample *sample) {
        return set_comparison_add(((SetAnalysis *) userdata)->comparison, NULL, sample);
}

static int set_on_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        return set_comparison_add(((SetAnalysis *) userdata)->comparison, before, after);
}

static int set_on_progress(void *userdata, uint64_t n_read, uint64_t n_total) {
        return answer_progress(&((SetAnalysis *) userdata)->work->answer, "reading", n_read,
                               n_total);
}

static int read_captures(SetAnalysis *sets, AnalysisRead *read) {
        const SetSubject *members = sets->subjects.members;
        size_t n = sets->subjects.n;
        bool has_census = sets->comparison->table.threads.keys.has_census;
        Subject *previous;
        int r = 0;

        for (size_t i = 0; i < n; i++) {
                analysis_read_expect(read, members[i].subject, has_census ? 2 : 1);
                (void) set_subjects_relate(&sets->subjects, i, &previous);
                if (previous) {
                        analysis_read_expect(read, previous, 1);
                        (void) subjects_join_ledgers(previous, members[i].subject);
                }
                if (members[i].begin && has_census)
                        analysis_read_expect(read, members[i].begin, 1);
        }
        for (size_t i = 0; i < n && r == 0; i++) {
                if (members[i].begin)
                        r = analysis_read_names(read, members[i].begin);
                if (r == 0)
                        r = analysis_read_names(read, members[i].subject);
        }
        for (size_t i = 0; i < n && r == 0; i++) {
                SetCapture capture = set_subjects_relate(&sets->subjects, i, &previous);

                capture.column.has_ledger =
                        previous && subjects_share_ledger(previous, members[i].subject);
                set_comparison_begin(sets->comparison, &capture);
                r = analysis_read_column(read, 0, capture.side, previous, members[i].subject);
                if (r == 0)
                        r = set_comparison_end(sets->comparison);
        }
        return r;
}

/* The sources of the last capture of a side stand for all of its captures. */
static const Subject *last_of(const SetAnalysis *sets, unsigned side) {
        size_t index = side == 0 ? sets->subjects.n_sides[0] : sets->subjects.n;

        return sets->subjects.members[index - 1].subject;
}

static int read_sets(SetAnalysis *sets) {
        static const AnalysisVisitor visitor = {
                .on_thread = set_on_thread,
                .on_life = set_on_life,
                .on_progress = set_on_progress,
        };
        const SourceTable *sources[SIDES];
        AnalysisRead read = { .visitor = &visitor, .userdata = sets };
        int r;

        r = set_comparison_new(&sets->order->view, sets->subjects.n, sets->order->alpha,
                               &sets->comparison);
        if (r != 0)
                return err_fold(r);
        read.table = &sets->comparison->table;
        r = read_captures(sets, &read);
        if (r != 0)
                return work_read_result(sets->work, read.culprit, r);
        for (unsigned side = 0; side < SIDES; side++) {
                Subject *culprit = NULL;
                HostUse host;

                /* The weights are measured by what the host did. */
                r = set_host_find(&sets->subjects, side, &host, &culprit);
                if (r != 0)
                        return work_read_result(sets->work, culprit, r);
                sets->comparison->hosts[side] = host;
                sources[side] = subject_sources(last_of(sets, side));
        }
        return err_fold(set_comparison_finish(sets->comparison, sources));
}

/* answering */

/* Writes where each member of the side begins: null for a snapshot. */
static void write_begins(const SetAnalysis *sets, unsigned side, const char *key,
                         JsonWriter *writer) {
        const SetSubject *members = sets->subjects.members;
        bool has_any = false;

        for (size_t i = 0; i < sets->subjects.n; i++)
                has_any = has_any || (members[i].side == side && members[i].begin);
        if (!has_any)
                return;
        json_write_key(writer, key);
        json_write_array(writer);
        for (size_t i = 0; i < sets->subjects.n; i++) {
                if (members[i].side != side)
                        continue;
                if (members[i].begin)
                        json_write_name(writer, span_of(subject_name(members[i].begin)));
                else
                        json_write_null(writer);
        }
        json_write_end(writer);
}

/* Their tests precede all groups or stacks: they are done by then. */
static void write_tests(const SetAnalysis *sets, const SetFamily *family, JsonWriter *writer) {
        json_write_key(writer, "alpha");
        json_write_double(writer, sets->order->alpha);
        json_write_member_u64(writer, "tested", family->n_tested);
        json_write_member_u64(writer, "significant", family->n_significant);
        json_write_key(writer, "leastP");
        json_write_double(writer, family->least_p);
        json_write_key(writer, "samplesNeeded");
        if (family->n_needed > 0)
                json_write_u64(writer, family->n_needed);
        else
                json_write_null(writer);
}

static void write_heads(const SetAnalysis *sets, unsigned side, JsonWriter *writer) {
        json_write_key(writer, side_names[side]);
        json_write_array(writer);
        for (size_t i = 0; i < sets->subjects.n; i++)
                if (sets->subjects.members[i].side == side)
                        subject_write_head(sets->subjects.members[i].subject, writer);
        json_write_end(writer);
}

static int answer_heads(SetAnalysis *sets) {
        static const char *const source_names[SIDES] = { "sourcesBefore", "sourcesAfter" };
        static const char *const from_names[SIDES] = { "beforeFrom", "afterFrom" };
        const SetFigures *figures = &sets->comparison->figures;
        JsonWriter *writer = answer_begin(&sets->work->answer);

        json_write_member_text(writer, "kind", view_kind_names[VIEW_KIND_SETS]);
        if (sets->order->view.n_filter > 0)
                json_write_member_u64(writer, "matchedGroups", figures->n_matched);
        for (unsigned side = 0; side < SIDES; side++) {
                write_begins(sets, side, from_names[side], writer);
                write_heads(sets, side, writer);
                json_write_key(writer, source_names[side]);
                source_table_write_json(writer, &last_of(sets, side)->sources);
        }
        write_tests(sets, &figures->family, writer);
        return answer_send(&sets->work->answer, PACKET_PART, -EBADF);
}

static void write_group(const void *userdata, size_t index, JsonWriter *writer) {
        set_comparison_write(userdata, index, writer);
}

/* stacks */

/*
 * Adds the stacks of one recording to @stacks. The recording is freed at the end: there may be up
 * to 64 of them, and they are not in memory at once.
 */
static int take_stacks(SetAnalysis *sets, const SetSubject *member, StackSet *stacks,
                       RecordingFacts *ret_facts) {
        _cleanup_(recording_document_done) RecordingDocument recording = {};
        _cleanup_(stack_view_done) StackView view = {};
        const RecordingFacts *facts = &recording.facts;
        int r = work_read_recording(sets->work, member->subject, false, &recording);

        if (r == 0 && facts->end_boottime_ns <= facts->start_boottime_ns) {
                SnapshotFault fault = {};

                fault_set(&fault, 0, "it does not say for how long samples were taken");
                return work_refuse_fault(sets->work, subject_name(member->subject), &fault);
        }
        if (r == 0)
                r = work_divide_stacks(sets->work, member->begin, member->subject, &recording,
                                       false, &view);
        *ret_facts = *facts;
        return r == 0 ? stack_set_take(stacks, member->side, &view, &recording, sets->order->places)
                      : r;
}

static int read_stacks(SetAnalysis *sets, StackSet *stacks, RecordingFacts *facts) {
        const SetSubjects *subjects = &sets->subjects;
        char complaint[512];
        int r = 0;

        for (size_t i = 0; i < subjects->n; i++) {
                const SetSubject *member = &subjects->members[i];

                if (member->subject->part == SNAPSHOT_PART_END)
                        continue;
                (void) snprintf(complaint, sizeof(complaint),
                                "%.200s was not recorded, and has no stacks",
                                subject_name(member->subject));
                return work_refuse_parameter(sets->work, side_names[member->side], complaint);
        }
        for (size_t i = 0; i < subjects->n && r == 0; i++) {
                r = answer_progress(&sets->work->answer, "reading", i, subjects->n);
                if (r == 0)
                        r = take_stacks(sets, &subjects->members[i], stacks, &facts[i]);
        }
        return r == 0 ? stack_set_finish(stacks) : r;
}

static void write_stack(const void *userdata, size_t index, JsonWriter *writer) {
        stack_set_write(userdata, index, writer);
}

static int answer_stacks(SetAnalysis *sets, const StackSet *stacks, const RecordingFacts *facts) {
        static const char *const recorded_names[SIDES] = { "recordedBefore", "recordedAfter" };
        uint64_t limit = sets->order->limit;
        size_t n = limit > 0 ? (size_t) MIN_OF((uint64_t) stacks->n_rows, limit) : stacks->n_rows;
        Answer *answer = &sets->work->answer;
        JsonWriter *writer = answer_begin(answer);
        int r;

        json_write_member_text(writer, "kind", view_kind_names[VIEW_KIND_SETS]);
        for (unsigned side = 0; side < SIDES; side++) {
                write_heads(sets, side, writer);
                json_write_key(writer, recorded_names[side]);
                json_write_array(writer);
                for (size_t i = 0; i < sets->subjects.n; i++) {
                        if (sets->subjects.members[i].side != side)
                                continue;
                        json_write_object(writer);
                        recording_facts_write(writer, &facts[i]);
                        json_write_member_u64(writer, "elapsedNs",
                                              facts[i].end_boottime_ns -
                                                      facts[i].start_boottime_ns);
                        json_write_end(writer);
                }
                json_write_end(writer);
        }
        write_tests(sets, &stacks->family, writer);
        stack_set_write_unsampled(stacks, writer);
        json_write_member_u64(writer, "overflowStacks", stacks->n_overflow);
        r = answer_send(answer, PACKET_PART, -EBADF);
        if (r == 0)
                r = answer_list(answer, "stacks", n, write_stack, stacks);
        if (r != 0)
                return r;
        json_write_member_u64(answer_begin(answer), "hiddenStacks", stacks->n_rows - n);
        return answer_send(answer, PACKET_LAST, -EBADF);
}

static int compare_stacks(SetAnalysis *sets) {
        _cleanup_(stack_set_done)
                StackSet stacks = { .n_captures = sets->subjects.n, .alpha = sets->order->alpha };
        _cleanup_(freep) RecordingFacts *facts = calloc(sets->subjects.n + 1, sizeof(*facts));
        int r = facts ? read_stacks(sets, &stacks, facts) : -ENOMEM;

        return r == 0 ? answer_stacks(sets, &stacks, facts) : r;
}

int work_compare_sets(Work *work) {
        _cleanup_(set_analysis_done)
                SetAnalysis sets = { .work = work, .order = &work->order->analysis };
        const SetFigures *figures;
        JsonWriter *writer;
        int r;

        r = open_sets(&sets);
        if (r == 0 && sets.order->stacks)
                return compare_stacks(&sets);
        if (r == 0)
                r = read_sets(&sets);
        if (r == 0)
                r = answer_heads(&sets);
        if (r == 0)
                r = answer_list(&work->answer, "groups", sets.comparison->n_shown, write_group,
                                sets.comparison);
        if (r != 0)
                return r;
        figures = &sets.comparison->figures;
        writer = answer_begin(&work->answer);
        json_write_member_u64(writer, "hiddenRows", figures->n_hidden_rows);
        if (sets.order->view.has_threshold)
                json_write_member_u64(writer, "rowsAboveThreshold", figures->n_above_threshold);
        json_write_member_u64(writer, "hiddenGroups", figures->n_hidden_groups);
        json_write_member_u64(writer, "groupsOnlyBefore", figures->n_only[0]);
        json_write_member_u64(writer, "groupsOnlyAfter", figures->n_only[1]);
        return answer_send(&work->answer, PACKET_LAST, -EBADF);
}
