/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/set-subjects.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/number.h"

#define DEFAULT_USER_HZ 100 /* for heads without user_hz; it is 100 everywhere */

static void free_subject(Subject *subject) {
        if (!subject)
                return;
        subject_done(subject);
        free(subject);
}

void set_subjects_done(SetSubjects *subjects) {
        for (size_t i = 0; i < subjects->n; i++) {
                free_subject(subjects->members[i].subject);
                free_subject(subjects->members[i].begin);
        }
        subjects->n = 0;
}

static int new_subject(Subject **ret) {
        Subject *subject = malloc(sizeof(*subject));

        if (!subject)
                return -ENOMEM;
        subject_init(subject);
        *ret = subject;
        return 0;
}

int set_subjects_add_begin(SetSubjects *subjects, Subject **ret) {
        SetSubject *member = &subjects->members[subjects->n - 1];
        int r;

        assert(subjects->n > 0 && !member->begin);
        r = new_subject(&member->begin);
        *ret = member->begin;
        return r;
}

int set_subjects_add(SetSubjects *subjects, Side side, Subject **ret) {
        Subject *subject;
        int r;

        assert(subjects->n < SET_MAX_CAPTURES);
        r = new_subject(&subject);
        if (r != 0)
                return r;
        subjects->members[subjects->n++] = (SetSubject){
                .subject = subject,
                .position = subjects->n_sides[side]++,
                .side = side,
        };
        *ret = subject;
        return 0;
}

/* Both are of one boot and record when in it they were taken. */
static bool are_comparable(const Subject *a, const Subject *b) {
        return subject_boots(a, b) == BOOTS_SAME && a->head.has_start_boottime &&
               b->head.has_start_boottime;
}

/*
 * Realtime can be set back while a host runs, boottime cannot. So boots are ordered by the realtime
 * of their first capture, and captures of one boot by boottime.
 */
static void find_boots(SetSubjects *subjects) {
        for (size_t i = 0; i < subjects->n; i++) {
                SetSubject *member = &subjects->members[i];

                member->boot_realtime_ns = member->subject->head.start_realtime_ns;
                for (size_t j = 0; j < subjects->n; j++) {
                        const Subject *other = subjects->members[j].subject;

                        if (are_comparable(member->subject, other))
                                member->boot_realtime_ns = MIN_OF(member->boot_realtime_ns,
                                                                  other->head.start_realtime_ns);
                }
        }
}

static int compare_u64(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b) {
        const SetSubject *left = a, *right = b;
        const Head *left_head = &left->subject->head, *right_head = &right->subject->head;
        int r;

        if (left->side != right->side)
                return left->side < right->side ? -1 : 1;
        r = compare_u64(left->boot_realtime_ns, right->boot_realtime_ns);
        if (r == 0)
                r = strcmp(left_head->boot_id, right_head->boot_id);
        if (r == 0)
                r = compare_u64(left_head->start_boottime_ns, right_head->start_boottime_ns);
        return r != 0 ? r : compare_u64(left->position, right->position);
}

const SetSubject *set_subjects_sort(SetSubjects *subjects, const SetSubject **ret_other) {
        find_boots(subjects);
        qsort(subjects->members, subjects->n, sizeof(*subjects->members), by_time);
        for (size_t i = 0; i < subjects->n; i++)
                for (size_t j = i + 1; j < subjects->n; j++) {
                        const Subject *a = subjects->members[i].subject;
                        const Subject *b = subjects->members[j].subject;

                        if (!are_comparable(a, b) ||
                            a->head.start_boottime_ns != b->head.start_boottime_ns)
                                continue;
                        *ret_other = &subjects->members[j];
                        return &subjects->members[i];
                }
        return NULL;
}

static uint64_t start_ticks_of(const Subject *subject) {
        uint64_t hz = subject->head.has_user_hz && subject->head.user_hz > 0 ? subject->head.user_hz
                                                                             : DEFAULT_USER_HZ;
        uint64_t seconds = subject->head.start_boottime_ns / NSEC_PER_SEC;
        uint64_t rest_ns = subject->head.start_boottime_ns % NSEC_PER_SEC;

        return number_add_saturating(number_multiply_saturating(seconds, hz),
                                     rest_ns * hz / NSEC_PER_SEC);
}

/* Finds the last capture before @member in its boot, of either side; NULL when there is none. */
static const SetSubject *find_earlier(const SetSubjects *subjects, const SetSubject *member) {
        const Subject *subject = member->subject;
        const SetSubject *found = NULL;

        for (size_t i = 0; i < subjects->n; i++) {
                const SetSubject *other = &subjects->members[i];
                uint64_t at_ns = other->subject->head.start_boottime_ns;

                if (are_comparable(subject, other->subject) &&
                    at_ns < subject->head.start_boottime_ns &&
                    (!found || at_ns > found->subject->head.start_boottime_ns))
                        found = other;
        }
        return found;
}

static bool has_other_without_boot(const SetSubjects *subjects, size_t index) {
        for (size_t i = 0; i < subjects->n; i++)
                if (i != index && subjects->members[i].subject->head.boot_id[0] == '\0')
                        return true;
        return false;
}

/* Makes the capture end a window that begins with @begin. */
static void add_window(SetCapture *capture, const Subject *begin, const Subject *end) {
        capture->column.has_begin = true;
        capture->column.begin = judge_time_of(&begin->head);
        capture->column.elapsed_ns = end->head.start_boottime_ns - begin->head.start_boottime_ns;
}

SetCapture set_subjects_relate(const SetSubjects *subjects, size_t index, Subject **ret_previous) {
        const SetSubject *member = &subjects->members[index];
        const SetSubject *earlier = find_earlier(subjects, member);
        SetCapture capture = {
                .side = member->side,
                .is_interval = member->begin,
                .column = { .end = judge_time_of(&member->subject->head),
                            .defects = kernel_defects_of(member->subject->head.kernel_release) },
        };

        *ret_previous = member->begin;
        if (member->begin)
                add_window(&capture, member->begin, member->subject);
        if (member->subject->head.boot_id[0] == '\0' && has_other_without_boot(subjects, index)) {
                /* They may be of one boot and share all threads. */
                capture.has_earlier = true;
                capture.earlier_ticks = UINT64_MAX;
                return capture;
        }
        if (!earlier)
                return capture;
        capture.has_earlier = true;
        capture.earlier_ticks = start_ticks_of(earlier->subject);
        if (member->begin || earlier->begin || earlier->side != member->side)
                return capture;
        add_window(&capture, earlier->subject, member->subject);
        *ret_previous = earlier->subject;
        return capture;
}
