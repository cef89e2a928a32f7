/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/view-subjects.h"

#include "base/buffer.h"
#include "base/cleanup.h"

void view_subjects_init(ViewSubjects *subjects) {
        *subjects = (ViewSubjects){ .kind = VIEW_KIND_STATE };
        for (unsigned i = 0; i < VIEW_SUBJECTS_MAX; i++)
                subject_init(&subjects->subjects[i]);
}

void view_subjects_done(ViewSubjects *subjects) {
        for (unsigned i = 0; i < VIEW_SUBJECTS_MAX; i++)
                subject_done(&subjects->subjects[i]);
}

unsigned view_subjects_n_sides(const ViewSubjects *subjects) {
        return subjects->kind == VIEW_KIND_STATE ? 1 : SIDES;
}

Subject *view_subjects_end(ViewSubjects *subjects, unsigned side) {
        return &subjects->subjects[subjects->kind == VIEW_KIND_INTERVALS ? 2 * side + 1 : side];
}

Subject *view_subjects_begin(ViewSubjects *subjects, unsigned side) {
        return &subjects->subjects[2 * side];
}

/* the references */

static bool is_interval(const OrderSubject *subject) {
        return subject->to.fd > 0;
}

static int refuse_sides(Work *work, const AnalysisOrder *order) {
        if (order->n[1] == 0 ||
            is_interval(&order->subjects[0]) == is_interval(&order->subjects[1]))
                return 0;
        return work_refuse_parameter(work, is_interval(&order->subjects[0]) ? "after" : "before",
                                     "one side is an interval and the other a snapshot: both have "
                                     "to be of one sort");
}

static int open_subjects(Work *work, ViewSubjects *subjects) {
        const AnalysisOrder *order = &work->order->analysis;
        int r = refuse_sides(work, order);

        for (unsigned i = 0; i < order->n[0] + order->n[1] && r == 0; i++) {
                const OrderSubject *subject = &order->subjects[i];

                r = work_open_subject(work, &subject->from, &subjects->subjects[subjects->n++]);
                if (r == 0 && is_interval(subject))
                        r = work_open_subject(work, &subject->to,
                                              &subjects->subjects[subjects->n++]);
        }
        return r;
}

/* time */

static int refuse_window(Work *work, Buffer *reason) {
        WireErrorDetail detail = {};
        int r = buffer_terminate(reason, &detail.reason);

        return r == 0 ? work_refuse(work, WIRE_ERROR_NO_WINDOW, &detail) : r;
}

/* Both say when they were captured, in one boot. */
static bool are_ordered(const Subject *from, const Subject *to) {
        return subject_boots(from, to) == BOOTS_SAME && from->head.has_start_boottime &&
               to->head.has_start_boottime;
}

/* Refuses two snapshots that are not of one boot, or do not say. */
static int refuse_unordered(Work *work, const Subject *from, const Subject *to) {
        const char *first = subject_name(from), *second = subject_name(to);
        _cleanup_(buffer_done) Buffer reason = { .bytes = NULL };

        switch (subject_boots(from, to)) {
        case BOOTS_SAME:
                buffer_append_format(&reason, "\"%s\" does not record when it was captured",
                                     from->head.has_start_boottime ? second : first);
                break;
        case BOOTS_DIFFERENT:
                buffer_append_format(&reason,
                                     "\"%s\" and \"%s\" are from different boots, so only their "
                                     "totals can be compared",
                                     first, second);
                break;
        case BOOTS_UNKNOWN:
                buffer_append_format(&reason, "\"%s\" does not record its boot",
                                     from->head.boot_id[0] == '\0' ? first : second);
                break;
        }
        return refuse_window(work, &reason);
}

int view_subjects_check_interval(Work *work, const Subject *from, const Subject *to) {
        const char *first = subject_name(from), *second = subject_name(to);
        _cleanup_(buffer_done) Buffer reason = { .bytes = NULL };

        if (!are_ordered(from, to))
                return refuse_unordered(work, from, to);
        if (from->head.start_boottime_ns < to->head.start_boottime_ns)
                return 0;
        if (from->head.start_boottime_ns == to->head.start_boottime_ns)
                buffer_append_format(&reason, "\"%s\" and \"%s\" are the same capture", first,
                                     second);
        else
                buffer_append_format(&reason, "\"%s\" is later than \"%s\": name \"%s..%s\"", first,
                                     second, second, first);
        return refuse_window(work, &reason);
}

/*
 * Relates two snapshots in time. Captures of one boot that were named in the wrong order are
 * swapped: read backwards, every counter would seem to have been reset although nothing was.
 */
static void relate(ViewSubjects *subjects) {
        Subject *before = &subjects->subjects[SIDE_BEFORE];
        Subject *after = &subjects->subjects[SIDE_AFTER];

        subjects->boots = subject_boots(before, after);
        if (!are_ordered(before, after))
                return;
        if (after->head.start_boottime_ns < before->head.start_boottime_ns) {
                Subject earlier = *after;

                *after = *before;
                *before = earlier;
                subjects->swapped = true;
        }
        subjects->has_elapsed = true;
        subjects->elapsed_ns = after->head.start_boottime_ns - before->head.start_boottime_ns;
}

/* the kind */

static ViewKind kind_of(const ViewSubjects *subjects, bool intervals) {
        if (subjects->n == 1)
                return VIEW_KIND_STATE;
        if (subjects->n > SIDES)
                return VIEW_KIND_INTERVALS;
        if (intervals)
                return VIEW_KIND_INTERVAL;
        return subjects->has_elapsed && !subjects->view.totals ? VIEW_KIND_INTERVAL
                                                               : VIEW_KIND_TOTALS;
}

/* Refuses a view that asks for an interval where there is none. */
static int check_window(Work *work, const ViewSubjects *subjects) {
        _cleanup_(buffer_done) Buffer reason = { .bytes = NULL };

        if (!subjects->view.window)
                return 0;
        if (subjects->kind == VIEW_KIND_TOTALS)
                return refuse_unordered(work, &subjects->subjects[SIDE_BEFORE],
                                        &subjects->subjects[SIDE_AFTER]);
        if (subjects->kind != VIEW_KIND_STATE)
                return 0;
        buffer_append_format(&reason, "\"%s\" is one snapshot", subject_name(subjects->subjects));
        return refuse_window(work, &reason);
}

/* An interval has one side: what was done in it. */
static int check_one_sided(Work *work, const ViewSubjects *subjects) {
        static const char reason[] = "it needs two sides, and an interval is one: ask for totals, "
                                     "or compare two intervals";

        if (subjects->kind != VIEW_KIND_INTERVAL)
                return 0;
        if (subjects->view.has_threshold)
                return work_refuse_parameter(work, "view.threshold", reason);
        if (subjects->view.sort.order == VIEW_ORDER_PERCENT)
                return work_refuse_parameter(work, "view.sortBy", reason);
        return 0;
}

static int check_view(Work *work, const ViewSubjects *subjects, bool intervals) {
        if (subjects->view.totals && subjects->view.window)
                return work_refuse_parameter(work, "view",
                                             "a view is of totals or of a window, not of both");
        if (subjects->view.totals && intervals)
                return work_refuse_parameter(work, "view",
                                             "totals are of two snapshots, not of an interval");
        return 0;
}

static int choose_kind(Work *work, ViewSubjects *subjects, bool intervals) {
        int r = check_view(work, subjects, intervals);

        if (r == 0 && intervals)
                r = view_subjects_check_interval(work, &subjects->subjects[0],
                                                 &subjects->subjects[1]);
        if (r == 0 && subjects->n > SIDES)
                r = view_subjects_check_interval(work, &subjects->subjects[2],
                                                 &subjects->subjects[3]);
        if (r != 0)
                return r;
        if (subjects->n == SIDES)
                relate(subjects);
        subjects->kind = kind_of(subjects, intervals);
        if (subjects->kind == VIEW_KIND_INTERVALS)
                subjects->boots = subject_boots(view_subjects_end(subjects, SIDE_BEFORE),
                                                view_subjects_end(subjects, SIDE_AFTER));
        r = check_window(work, subjects);
        if (r == 0)
                r = check_one_sided(work, subjects);
        subjects->view.window = subjects->kind == VIEW_KIND_INTERVAL;
        return r;
}

int view_subjects_open(Work *work, ViewSubjects *ret) {
        const AnalysisOrder *order = &work->order->analysis;
        int r;

        ret->view = order->view;
        r = open_subjects(work, ret);
        return r == 0 ? choose_kind(work, ret, is_interval(&order->subjects[0])) : r;
}
