/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <stdio.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "analysis/set/set-comparison.h"
#include "view/view.h"
#include "view/view-json.h"
#include "wire/limits.h"
#include "worker/set-subjects.h"
#include "worker/subject-merge.h"

/* How many threads go by between two looks at the clock. */
#define THREADS_PER_LOOK 512

#define DEFAULT_ALPHA 0.05

_Static_assert(SET_MAX_CAPTURES == LIMIT_SNAPSHOTS_PER_CALL, "a sample for every snapshot");

typedef struct SetAnalysis {
        Work *work; /* borrowed */
        View view;
        double alpha;
        SetSubjects subjects;
        SetComparison *comparison;
        uint64_t n_read;
        uint64_t n_total; /* 0: not known */
} SetAnalysis;

typedef struct SetParameters {
        json_object *refs[SIDES];
        json_object *view;
        double alpha;
} SetParameters;

static const char *const side_names[SIDES] = { "before", "after" };

static void set_analysis_done(SetAnalysis *sets) {
        /* The comparison borrows the subjects' sources. */
        sets->comparison = set_comparison_free(sets->comparison);
        set_subjects_done(&sets->subjects);
}

/* opening */

/* Those views that two sets have no answer to. */
static int check_view(SetAnalysis *sets) {
        const char *complaint = NULL;

        if (sets->view.axis == VIEW_AXIS_THREAD)
                complaint = "sets are not compared by thread: a thread of one set need not be in "
                            "the other";
        else if (sets->view.window)
                complaint = "sets are compared by the work in the windows between captures anyway";
        else if (sets->view.pairs.n > 0)
                complaint = "cgroups are not paired in sets";
        return complaint ? work_refuse_parameter(sets->work, "view", complaint) : 0;
}

static int check_sides(SetAnalysis *sets, const SetParameters *parameters) {
        size_t n = 0;

        for (unsigned side = 0; side < SIDES; side++) {
                size_t n_side = json_object_array_length(parameters->refs[side]);

                if (n_side == 0)
                        return work_refuse_parameter(sets->work, side_names[side],
                                                     "a set needs a snapshot");
                n += n_side;
        }
        if (n > SET_MAX_CAPTURES)
                return work_refuse_parameter(sets->work, "after",
                                             "two sets have at most 64 snapshots together");
        return 0;
}

static int open_side(SetAnalysis *sets, json_object *refs, unsigned side) {
        int r = 0;

        for (size_t i = 0; i < json_object_array_length(refs) && r == 0; i++) {
                SnapshotRef ref = SNAPSHOT_REF_NONE;

                r = work_decode_ref(sets->work, json_object_array_get_idx(refs, i),
                                    side_names[side], &ref);
                if (r == 0)
                        r = set_subjects_add(&sets->subjects, sets->work, side, &ref);
                snapshot_ref_done(&ref);
        }
        return r;
}

static int sort_subjects(SetAnalysis *sets) {
        const SetSubject *other = NULL, *one = set_subjects_sort(&sets->subjects, &other);
        char complaint[512];

        if (!one)
                return 0;
        (void) snprintf(complaint, sizeof(complaint), "%.200s and %.200s are the same capture",
                        subject_name(one->subject), subject_name(other->subject));
        return work_refuse_parameter(sets->work, side_names[other->side], complaint);
}

static int open_sets(SetAnalysis *sets, const SetParameters *parameters) {
        char complaint[VIEW_COMPLAINT_BYTES];
        int r;

        r = view_decode(parameters->view, &sets->view, complaint);
        if (r == VIEW_E_INVALID)
                return work_refuse_parameter(sets->work, "view", complaint);
        if (r != 0)
                return err_fold(r);
        if (!(parameters->alpha > 0 && parameters->alpha < 1))
                return work_refuse_parameter(sets->work, "alpha", "it is between 0 and 1");
        sets->alpha = parameters->alpha;
        r = check_view(sets);
        if (r == 0)
                r = check_sides(sets, parameters);
        for (unsigned side = 0; side < SIDES && r == 0; side++)
                r = open_side(sets, parameters->refs[side], side);
        return r == 0 ? sort_subjects(sets) : r;
}

/* reading */

static int look(SetAnalysis *sets) {
        if (sets->n_read++ % THREADS_PER_LOOK != 0)
                return 0;
        return answer_progress(&sets->work->answer, "reading", sets->n_read - 1, sets->n_total);
}

static int census_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        SetAnalysis *sets = userdata;
        int r = look(sets);

        return r == 0 ? set_comparison_census(sets->comparison, sample) : r;
}

static int fold_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        SetAnalysis *sets = userdata;
        int r = look(sets);

        return r == 0 ? set_comparison_fold(sets->comparison, NULL, sample) : r;
}

static int fold_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        SetAnalysis *sets = userdata;
        int r = look(sets);

        return r == 0 ? set_comparison_fold(sets->comparison, before, after) : r;
}

static int fold_window(SetAnalysis *sets, Subject *previous, Subject *subject) {
        static const SubjectVisitor nothing = { .on_thread = NULL };
        const MergeSide sides[SIDES] = { { .subject = previous, .visitor = &nothing },
                                         { .subject = subject, .visitor = &nothing } };
        unsigned culprit = 0;
        int r;

        r = subject_merge(sides, fold_life, sets, &culprit);
        if (r == SUBJECT_E_UNREADABLE)
                return work_refuse_fault(sets->work, subject_name(sides[culprit].subject),
                                         &sides[culprit].subject->fault);
        return err_fold(r);
}

static int fold_capture(SetAnalysis *sets, size_t index) {
        static const SubjectVisitor fold = { .on_thread = fold_thread };
        Subject *previous, *subject = sets->subjects.members[index].subject;
        SetCapture capture = set_subjects_relate(&sets->subjects, index, &previous);
        int r;

        set_comparison_begin(sets->comparison, &capture);
        r = previous ? fold_window(sets, previous, subject)
                     : work_pass_subject(sets->work, subject, &fold, sets);
        return r == 0 ? set_comparison_end(sets->comparison) : r;
}

static void count_total(SetAnalysis *sets, bool has_census) {
        for (size_t i = 0; i < sets->subjects.n; i++)
                sets->n_total = number_add_saturating(
                        sets->n_total, number_multiply_saturating(
                                               subject_n_threads(sets->subjects.members[i].subject),
                                               has_census ? 2 : 1));
}

/* What the last capture of the side says of its sources stands for all of them. */
static const Subject *last_of(const SetAnalysis *sets, unsigned side) {
        size_t index = side == 0 ? sets->subjects.n_sides[0] : sets->subjects.n;

        return sets->subjects.members[index - 1].subject;
}

static int read_sets(SetAnalysis *sets) {
        static const SubjectVisitor census = { .on_thread = census_thread };
        const SourceTable *sources[SIDES] = { NULL, NULL };
        bool has_census;
        int r;

        r = set_comparison_new(&sets->view, sets->subjects.n, sets->alpha, &sets->comparison);
        if (r != 0)
                return err_fold(r);
        has_census = set_comparison_wants_census(sets->comparison);
        count_total(sets, has_census);
        for (size_t i = 0; has_census && i < sets->subjects.n && r == 0; i++)
                r = work_pass_subject(sets->work, sets->subjects.members[i].subject, &census, sets);
        for (size_t i = 0; i < sets->subjects.n && r == 0; i++)
                r = fold_capture(sets, i);
        if (r != 0)
                return r;
        for (unsigned side = 0; side < SIDES; side++)
                if (last_of(sets, side)->has_sources)
                        sources[side] = &last_of(sets, side)->sources;
        return err_fold(set_comparison_finish(sets->comparison, sources));
}

/* answering */

/* What is known of all tests together stands in front of the groups: nothing is open any more. */
static void write_tests(JsonWriter *writer, const SetFigures *figures) {
        json_write_member_u64(writer, "tested", figures->n_tested);
        json_write_member_u64(writer, "significant", figures->n_significant);
        json_write_key(writer, "leastP");
        json_write_double(writer, figures->least_p);
        json_write_key(writer, "samplesNeeded");
        if (figures->n_needed > 0)
                json_write_u64(writer, figures->n_needed);
        else
                json_write_null(writer);
}

static int answer_heads(SetAnalysis *sets) {
        static const char *const source_names[SIDES] = { "sourcesBefore", "sourcesAfter" };
        JsonWriter *writer = answer_begin(&sets->work->answer);

        for (unsigned side = 0; side < SIDES; side++) {
                json_write_key(writer, side_names[side]);
                json_write_array(writer);
                for (size_t i = 0; i < sets->subjects.n; i++)
                        if (sets->subjects.members[i].side == side)
                                subject_write_head(sets->subjects.members[i].subject, writer);
                json_write_end(writer);
                json_write_key(writer, source_names[side]);
                source_table_write_json(writer, &last_of(sets, side)->sources);
        }
        json_write_key(writer, "alpha");
        json_write_double(writer, sets->alpha);
        write_tests(writer, set_comparison_figures(sets->comparison));
        return answer_reply(&sets->work->answer);
}

/* In replies of about LIMIT_BATCH_BYTES each. */
static int answer_groups(SetAnalysis *sets) {
        Answer *answer = &sets->work->answer;
        size_t n = set_comparison_n(sets->comparison);
        int r = 0;

        for (size_t i = 0; i < n && r == 0;) {
                JsonWriter *writer = answer_begin(answer);

                json_write_key(writer, "groups");
                json_write_array(writer);
                while (i < n && answer->parameters.n < LIMIT_BATCH_BYTES)
                        set_comparison_write(sets->comparison, i++, writer);
                json_write_end(writer);
                r = answer_reply(answer);
        }
        return r;
}

static int answer_hidden(SetAnalysis *sets) {
        const SetFigures *figures = set_comparison_figures(sets->comparison);
        JsonWriter *writer = answer_begin(&sets->work->answer);

        json_write_member_u64(writer, "hiddenRows", figures->n_hidden_rows);
        if (sets->view.has_threshold)
                json_write_member_u64(writer, "rowsAboveThreshold", figures->n_above_threshold);
        json_write_member_u64(writer, "hiddenGroups", figures->n_hidden_groups);
        json_write_member_u64(writer, "groupsOnlyBefore", figures->n_only[0]);
        json_write_member_u64(writer, "groupsOnlyAfter", figures->n_only[1]);
        return answer_final(&sets->work->answer);
}

static int run_sets(SetAnalysis *sets, const SetParameters *parameters) {
        int r;

        r = open_sets(sets, parameters);
        if (r == 0)
                r = read_sets(sets);
        if (r == 0)
                r = answer_heads(sets);
        if (r == 0)
                r = answer_groups(sets);
        return r == 0 ? answer_hidden(sets) : r;
}

static int work_compare_sets(Work *work) {
        static const Parameter table[] = {
                { "before", PARAMETER_ARRAY, true, offsetof(SetParameters, refs[0]) },
                { "after", PARAMETER_ARRAY, true, offsetof(SetParameters, refs[1]) },
                { "view", PARAMETER_OBJECT, false, offsetof(SetParameters, view) },
                { "alpha", PARAMETER_REAL, false, offsetof(SetParameters, alpha) },
        };
        _cleanup_(set_analysis_done) SetAnalysis sets = { .work = work };
        SetParameters parameters = { .alpha = DEFAULT_ALPHA };
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        return r == 0 ? run_sets(&sets, &parameters) : r;
}

const WorkMethod work_sets_methods[] = {
        { PROFILER_INTERFACE ".CompareSets", work_compare_sets, WORK_NEEDS_MORE, 0 },
        {},
};
