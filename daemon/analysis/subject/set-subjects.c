/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/set-subjects.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/number.h"
#include "analysis/subject/host-view.h"

#define DEFAULT_USER_HZ 100 /* for heads without user_hz; it is 100 everywhere */

void set_subjects_done(SetSubjects *subjects) {
        for (size_t i = 0; i < subjects->n; i++) {
                Subject *const both[] = { subjects->members[i].subject,
                                          subjects->members[i].begin };

                for (size_t k = 0; k < ELEMENTSOF(both); k++) {
                        if (!both[k])
                                continue;
                        subject_done(both[k]);
                        free(both[k]);
                }
        }
        subjects->n = 0;
}

int set_subjects_add(SetSubjects *subjects, Side side, SetSubject **ret) {
        SetSubject member = {
                .subject = malloc(sizeof(*member.subject)),
                .begin = malloc(sizeof(*member.begin)),
                .position = subjects->n_sides[side],
                .side = side,
        };

        assert(subjects->n < SET_MAX_CAPTURES);
        if (!member.subject || !member.begin) {
                free(member.subject);
                free(member.begin);
                return -ENOMEM;
        }
        subject_init(member.subject);
        subject_init(member.begin);
        subjects->members[subjects->n] = member;
        *ret = &subjects->members[subjects->n++];
        subjects->n_sides[side]++;
        return 0;
}

void set_subject_is_snapshot(SetSubject *member) {
        subject_done(member->subject);
        free(member->subject);
        member->subject = member->begin;
        member->begin = NULL;
}

/* Both are of one boot and record when in it they were taken. */
static bool are_comparable(const Subject *a, const Subject *b) {
        return subject_boots(a, b) == BOOTS_SAME && a->head.has_start_boottime &&
               b->head.has_start_boottime;
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
        /*
         * Realtime can be set back while a host runs, boottime cannot. So boots are ordered by the
         * realtime of their first capture, and captures of one boot by boottime.
         */
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

/* Makes the capture end an interval that begins with @begin. */
static void add_window(SetCapture *capture, const Subject *begin, const Subject *end) {
        capture->column.has_begin = true;
        capture->column.begin = judge_time_of(&begin->head);
        capture->column.elapsed_ns = end->head.start_boottime_ns - begin->head.start_boottime_ns;
}

SetCapture set_subjects_relate(const SetSubjects *subjects, size_t index, Subject **ret_previous) {
        const SetSubject *member = &subjects->members[index], *earlier = NULL;
        const Head *head = &member->subject->head;
        SetCapture capture = {
                .side = member->side,
                .is_interval = member->begin,
                .column = { .end = judge_time_of(head),
                            .defects = kernel_defects_of(head->kernel_release) },
        };
        bool has_boot = head->boot_id[0] != '\0';
        uint64_t hz, begin_ns;

        *ret_previous = member->begin;
        if (member->begin)
                add_window(&capture, member->begin, member->subject);
        /* Two that do not record their boot may be of one, and share all threads. */
        for (size_t i = 0; i < subjects->n && !has_boot; i++) {
                if (i == index || subjects->members[i].subject->head.boot_id[0] != '\0')
                        continue;
                capture.has_earlier = true;
                capture.earlier_ticks = UINT64_MAX;
                return capture;
        }
        /* The last capture before this one in its boot, of either side. */
        for (size_t i = 0; i < subjects->n; i++) {
                const SetSubject *other = &subjects->members[i];
                uint64_t at_ns = other->subject->head.start_boottime_ns;

                if (are_comparable(member->subject, other->subject) &&
                    at_ns < head->start_boottime_ns &&
                    (!earlier || at_ns > earlier->subject->head.start_boottime_ns))
                        earlier = other;
        }
        if (!earlier)
                return capture;
        head = &earlier->subject->head;
        hz = head->has_user_hz && head->user_hz > 0 ? head->user_hz : DEFAULT_USER_HZ;
        begin_ns = head->start_boottime_ns;
        capture.has_earlier = true;
        capture.earlier_ticks =
                number_add_saturating(number_multiply_saturating(begin_ns / NSEC_PER_SEC, hz),
                                      begin_ns % NSEC_PER_SEC * hz / NSEC_PER_SEC);
        if (member->begin || earlier->begin || earlier->side != member->side)
                return capture;
        add_window(&capture, earlier->subject, member->subject);
        *ret_previous = earlier->subject;
        return capture;
}

/* how the host is used */

int set_host_find(SetSubjects *subjects, unsigned side, HostUse *ret, Subject **ret_culprit) {
        /* The disks read and wrote so much a second, in each interval in which it is known. */
        struct {
                double values[SET_MAX_CAPTURES];
                size_t n;
        } rates[2];
        Amount medians[ELEMENTSOF(rates)] = {};
        HostUse use = { .n_cpus = { .known = false } };
        int r = 0;

        for (size_t k = 0; k < ELEMENTSOF(rates); k++)
                rates[k].n = 0;
        for (size_t i = 0; i < subjects->n && r == 0; i++) {
                Subject *previous;
                SetCapture capture;
                Amount moved[ELEMENTSOF(rates)];

                if (subjects->members[i].side != side)
                        continue;
                capture = set_subjects_relate(subjects, i, &previous);
                r = subject_host_use(previous, subjects->members[i].subject, ret_culprit, &use,
                                     NULL);
                if (r != 0 || !previous || capture.column.elapsed_ns == 0)
                        continue;
                moved[0] = use.disk_read_bytes;
                moved[1] = use.disk_written_bytes;
                for (size_t k = 0; k < ELEMENTSOF(rates); k++)
                        if (moved[k].known)
                                rates[k].values[rates[k].n++] = (double) moved[k].n *
                                                                (double) NSEC_PER_SEC /
                                                                (double) capture.column.elapsed_ns;
        }
        for (size_t k = 0; k < ELEMENTSOF(rates); k++)
                if (rates[k].n > 0)
                        medians[k] = amount_of(
                                number_of_real(quartiles_of(rates[k].values, rates[k].n).median));
        *ret = (HostUse){
                .n_cpus = use.n_cpus, /* of the last capture */
                .memory_bytes = use.memory_bytes,
                .disk_read_bytes = medians[0],
                .disk_written_bytes = medians[1],
        };
        return r;
}
