/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/view-subjects.h"

#include "base/buffer.h"
#include "base/cleanup.h"

void view_subjects_done(ViewSubjects *subjects) {
        for (unsigned i = 0; i < VIEW_SUBJECTS_MAX; i++)
                subject_done(&subjects->subjects[i]);
}

Subject *view_subjects_end(ViewSubjects *subjects, unsigned side) {
        return &subjects->subjects[subjects->kind == VIEW_KIND_INTERVALS ? 2 * side + 1 : side];
}

/* time */

static int refuse_window(Work *work, Buffer *reason) {
        WireErrorDetail detail = {};
        int r = buffer_terminate(reason, &detail.reason);

        return r == 0 ? work_refuse(work, WIRE_ERROR_NO_WINDOW, &detail) : r;
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

        if (subject_boots(from, to) != BOOTS_SAME || !from->head.has_start_boottime ||
            !to->head.has_start_boottime)
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

/* the kind */

/* Chooses the kind of the view, and refuses a view that the kind cannot give. */
static int choose_kind(Work *work, ViewSubjects *subjects) {
        static const char one_sided[] = "it needs two sides, and an interval is one: ask for "
                                        "totals, or compare two intervals";
        _cleanup_(buffer_done) Buffer reason = { .bytes = NULL };
        View *view = &subjects->view;
        bool has_window = view->window;

        if (subjects->n == 1)
                subjects->kind = VIEW_KIND_STATE;
        else if (subjects->n > SIDES)
                subjects->kind = VIEW_KIND_INTERVALS;
        else if (subjects->is_interval)
                subjects->kind = VIEW_KIND_INTERVAL;
        else
                subjects->kind = subjects->has_elapsed && !view->totals ? VIEW_KIND_INTERVAL
                                                                        : VIEW_KIND_TOTALS;
        view->window = subjects->kind == VIEW_KIND_INTERVAL;
        switch (subjects->kind) {
        case VIEW_KIND_STATE:
                if (!has_window)
                        return 0;
                buffer_append_format(&reason, "\"%s\" is one snapshot",
                                     subject_name(subjects->subjects));
                return refuse_window(work, &reason);
        case VIEW_KIND_TOTALS:
                return has_window ? refuse_unordered(work, &subjects->subjects[SIDE_BEFORE],
                                                     &subjects->subjects[SIDE_AFTER])
                                  : 0;
        case VIEW_KIND_INTERVAL:
                if (view->has_threshold)
                        return work_refuse_parameter(work, "view.threshold", one_sided);
                if (view->sort.order == VIEW_ORDER_PERCENT)
                        return work_refuse_parameter(work, "view.sortBy", one_sided);
                return 0;
        case VIEW_KIND_INTERVALS:
                subjects->boots = subject_boots(view_subjects_end(subjects, SIDE_BEFORE),
                                                view_subjects_end(subjects, SIDE_AFTER));
                return 0;
        case VIEW_KIND_SETS:
        case _VIEW_KIND_MAX:
                break;
        }
        return 0;
}

int view_subjects_open_one(Work *work, const OrderSubject *order, Subject *ret_from,
                           Subject *ret_to, bool *ret_is_interval) {
        int r = work_open_subject(work, &order->from, ret_from);

        *ret_is_interval = order->to.fd > 0;
        if (r != 0)
                return r;
        if (!ret_from->head.is_recording)
                return order->to.fd > 0 ? work_open_subject(work, &order->to, ret_to) : 0;
        if (order->to.fd > 0)
                return work_refuse_parameter(
                        work, "to", "a recording is an interval itself, and no end of one");
        *ret_is_interval = true;
        return work_read_result(work, ret_to, subject_open_parts(ret_from, ret_to));
}

int view_subjects_open(Work *work, ViewSubjects *ret) {
        const AnalysisOrder *order = &work->order->analysis;
        bool of_intervals = false;
        Subject *subjects = ret->subjects;
        int r = 0;

        *ret = (ViewSubjects){ .kind = VIEW_KIND_STATE, .view = order->view };
        for (unsigned i = 0; i < VIEW_SUBJECTS_MAX; i++)
                subject_init(&subjects[i]);
        for (unsigned i = 0; i < order->n[0] + order->n[1] && r == 0; i++) {
                bool is_interval;

                r = view_subjects_open_one(work, &order->subjects[i], &subjects[ret->n],
                                           &subjects[ret->n + 1], &is_interval);
                if (r == 0 && i > 0 && is_interval != of_intervals)
                        return work_refuse_parameter(
                                work, of_intervals ? "after" : "before",
                                "one side is an interval and the other a snapshot: "
                                "both have to be of one sort");
                of_intervals = is_interval;
                ret->n += is_interval ? 2 : 1;
        }
        if (r != 0)
                return r;
        ret->is_interval = of_intervals;
        if (order->view.totals && order->view.window)
                return work_refuse_parameter(work, "view",
                                             "a view is of totals or of a window, not of both");
        if (order->view.totals && of_intervals)
                return work_refuse_parameter(work, "view",
                                             "totals are of two snapshots, not of an interval");
        if (of_intervals)
                r = view_subjects_check_interval(work, &subjects[0], &subjects[1]);
        if (r == 0 && ret->n > SIDES)
                r = view_subjects_check_interval(work, &subjects[2], &subjects[3]);
        if (r != 0)
                return r;
        if (ret->n == SIDES)
                ret->boots = subject_boots(&subjects[SIDE_BEFORE], &subjects[SIDE_AFTER]);
        if (ret->n == SIDES && ret->boots == BOOTS_SAME &&
            subjects[SIDE_BEFORE].head.has_start_boottime &&
            subjects[SIDE_AFTER].head.has_start_boottime) {
                uint64_t before_ns = subjects[SIDE_BEFORE].head.start_boottime_ns;
                uint64_t after_ns = subjects[SIDE_AFTER].head.start_boottime_ns;

                /*
                 * Captures of one boot that were named in the wrong order are swapped: read
                 * backwards, every counter would seem to have been reset although nothing was.
                 */
                if (after_ns < before_ns) {
                        Subject earlier = subjects[SIDE_AFTER];

                        subjects[SIDE_AFTER] = subjects[SIDE_BEFORE];
                        subjects[SIDE_BEFORE] = earlier;
                        ret->swapped = true;
                }
                ret->has_elapsed = true;
                ret->elapsed_ns = ret->swapped ? before_ns - after_ns : after_ns - before_ns;
        }
        return choose_kind(work, ret);
}
