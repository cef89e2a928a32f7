/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/analysis-read.h"

#include <stdarg.h>

#include "base/buffer.h"
#include "check-main.h"
#include "snapshot-fixture.h"

/* A thread in the tables below: process, thread, start, and a number that identifies its side. */
typedef struct Thread {
        unsigned tgid, tid, start, run;
} Thread;

#define MAX_THREADS 8 /* a start of 0 ends a table */

static int file_of(const Thread *threads, const char *rest) {
        Buffer text;
        int fd;

        buffer_init(&text, 0);
        ck_assert_int_eq(buffer_append_format(&text, "{\"host\":null,\"threads\":["), 0);
        for (unsigned i = 0; i < MAX_THREADS && threads[i].start > 0; i++)
                ck_assert_int_eq(
                        buffer_append_format(&text,
                                             "%s{\"tid\":%u,\"tgid\":%u,"
                                             "\"start_time_clock_ticks\":%u,\"run_time_ns\":%u}",
                                             i > 0 ? "," : "", threads[i].tid, threads[i].tgid,
                                             threads[i].start, threads[i].run),
                        0);
        ck_assert_int_eq(buffer_append_format(&text, "]%s}", rest), 0);
        fd = fixture_zstd(text.bytes, text.n);
        buffer_done(&text);
        return fd;
}

/* The result of a merge as text: "=1/2" "-1/2" "+1/2", and what visitors saw. */
typedef struct Story {
        Buffer lives, seen;
        int stop_with; /* the visitor of the later side fails with this */
} Story;

_printf_(2, 3) static void tell(Buffer *text, const char *format, ...) {
        char line[64];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(line, sizeof(line), format, ap);
        va_end(ap);
        ck_assert_int_eq(buffer_append(text, line, strlen(line)), 0);
}

static int on_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        Story *story = userdata;
        const ThreadSample *any = before ? before : after;

        ck_assert_ptr_nonnull(any);
        if (before && after) {
                ck_assert_int_eq(before->tid, after->tid);
                ck_assert_int_eq(before->tgid, after->tgid);
                ck_assert_uint_eq(before->start_ticks, after->start_ticks);
                /* Each sample belongs to its own document. */
                ck_assert_uint_eq(thread_sample_get(before, METRIC_run_time_ns), 1);
                ck_assert_uint_eq(thread_sample_get(after, METRIC_run_time_ns), 2);
        }
        tell(&story->lives, "%s%c%d/%d", story->lives.n > 0 ? " " : "",
             before && after ? '=' : (before ? '-' : '+'), any->tgid, any->tid);
        return 0;
}

static int see_before(void *userdata, const ThreadSample *sample, Span smaps) {
        tell(&((Story *) userdata)->seen, "b%d", sample->tid);
        return 0;
}

static int see_after(void *userdata, const ThreadSample *sample, Span smaps) {
        Story *story = userdata;

        tell(&story->seen, "a%d", sample->tid);
        return story->stop_with;
}

static int see_cgroup(void *userdata, Span path, Span stats) {
        tell(&((Story *) userdata)->seen, "c");
        return 0;
}

static int merge(int before, int after, Subject subjects[static 2], Story *story,
                 unsigned *ret_culprit) {
        static const SubjectVisitor visitors[] = {
                { .on_thread = see_before, .on_cgroup = see_cgroup },
                { .on_thread = see_after, .on_cgroup = see_cgroup },
        };
        const int fds[] = { before, after };
        MergeSide sides[2];

        for (unsigned i = 0; i < 2; i++) {
                subject_init(&subjects[i]);
                ck_assert_int_eq(subject_open(&subjects[i], fds[i], NULL), 0);
                sides[i] = (MergeSide){ &subjects[i], &visitors[i], story };
        }
        buffer_init(&story->lives, 0);
        buffer_init(&story->seen, 0);
        return subject_merge(sides, on_life, story, ret_culprit);
}

static void done(Subject subjects[static 2], Story *story) {
        subject_done(&subjects[0]);
        subject_done(&subjects[1]);
        buffer_done(&story->lives);
        buffer_done(&story->seen);
}

static const struct {
        const char *what;
        Thread before[MAX_THREADS], after[MAX_THREADS];
        const char *lives;
} merge_rows[] = {
        { "nothing", {}, {}, "" },
        { "one that stays", { { 1, 1, 5, 1 } }, { { 1, 1, 5, 2 } }, "=1/1" },
        { "only gone", { { 1, 1, 5, 1 }, { 1, 2, 5, 1 } }, {}, "-1/1 -1/2" },
        { "only born", {}, { { 1, 1, 5, 2 }, { 1, 2, 5, 2 } }, "+1/1 +1/2" },
        { "a reused id, the older first", { { 1, 1, 5, 1 } }, { { 1, 1, 6, 2 } }, "-1/1 +1/1" },
        { "starts that go backwards are two lives as well",
          { { 1, 1, 6, 1 } },
          { { 1, 1, 5, 2 } },
          "+1/1 -1/1" },
        { "the same thread id in another process is another life",
          { { 1, 1, 5, 1 }, { 1, 9, 5, 1 } },
          { { 1, 1, 5, 2 }, { 9, 9, 5, 2 } },
          "=1/1 -1/9 +9/9" },
        { "threads of a process are ordered by number, not as text",
          { { 9, 9, 5, 1 }, { 10, 10, 5, 1 } },
          { { 9, 9, 5, 2 }, { 9, 11, 5, 2 }, { 10, 10, 5, 2 } },
          "=9/9 +9/11 =10/10" },
        { "in front, between and behind",
          { { 2, 2, 5, 1 }, { 2, 4, 5, 1 }, { 6, 6, 5, 1 } },
          { { 1, 1, 5, 2 }, { 2, 2, 5, 2 }, { 2, 3, 5, 2 }, { 6, 6, 5, 2 }, { 7, 7, 5, 2 } },
          "+1/1 =2/2 +2/3 -2/4 =6/6 +7/7" },
};

START_TEST(every_life_is_handed_out_once) {
        Subject subjects[2];
        unsigned culprit;
        Story story = {};

        ck_assert_int_eq(merge(file_of(merge_rows[_i].before, ""),
                               file_of(merge_rows[_i].after, ""), subjects, &story, &culprit),
                         0);
        ck_assert_int_eq(buffer_append_byte(&story.lives, '\0'), 0);
        ck_assert_msg(strcmp(story.lives.bytes, merge_rows[_i].lives) == 0, "%s: %s",
                      merge_rows[_i].what, story.lives.bytes);
        done(subjects, &story);
}
END_TEST

START_TEST(each_side_is_read_to_its_end) {
        static const Thread one[MAX_THREADS] = { { 1, 1, 5, 1 }, { 1, 2, 5, 1 } };
        static const char rest[] = ",\"cgroup_stats\":{\"/\":{}},\"psi\":{\"p\":1}";
        Subject subjects[2];
        unsigned culprit;
        Story story = {};

        ck_assert_int_eq(merge(file_of(one, rest), file_of((Thread[MAX_THREADS]){}, rest), subjects,
                               &story, &culprit),
                         0);
        ck_assert_int_eq(buffer_append_byte(&story.seen, '\0'), 0);
        ck_assert_str_eq(story.seen.bytes, "b1cb2c");
        for (unsigned i = 0; i < 2; i++) {
                ck_assert(subjects[i].passed);
                ck_assert_uint_gt(subjects[i].psi.n, 0);
        }
        ck_assert_uint_eq(subjects[0].head.threads, 2);
        ck_assert_uint_eq(subjects[1].head.threads, 0);
        done(subjects, &story);
}
END_TEST

static const struct {
        Thread threads[MAX_THREADS];
        bool fits;
} order_rows[] = {
        { { { 1, 1, 5, 1 }, { 1, 2, 5, 1 }, { 2, 1, 5, 1 } }, true },
        { { { 1, 2, 5, 1 }, { 1, 1, 5, 1 } }, false },
        { { { 2, 2, 5, 1 }, { 1, 3, 5, 1 } }, false },
        { { { 1, 1, 5, 1 }, { 1, 1, 5, 1 } }, false },
        { { { 1, 1, 5, 1 }, { 1, 1, 6, 1 } }, false },
};

START_TEST(threads_out_of_order_are_refused) {
        for (unsigned side = 0; side < 2; side++) {
                static const Thread none[MAX_THREADS];
                const Thread *threads = order_rows[_i].threads;
                unsigned culprit = 7;
                Subject subjects[2];
                Story story = {};

                ck_assert_int_eq(merge(file_of(side == 0 ? threads : none, ""),
                                       file_of(side == 1 ? threads : none, ""), subjects, &story,
                                       &culprit),
                                 order_rows[_i].fits ? 0 : SUBJECT_E_UNREADABLE);
                if (!order_rows[_i].fits) {
                        ck_assert_uint_eq(culprit, side);
                        ck_assert_ptr_nonnull(strstr(subjects[side].fault.text, "order"));
                        ck_assert_str_eq(subjects[1 - side].fault.text, "");
                }
                done(subjects, &story);
        }
}
END_TEST

START_TEST(damage_is_that_of_its_side) {
        static const Thread one[MAX_THREADS] = { { 1, 1, 5, 1 } };
        static const Thread same[MAX_THREADS] = { { 1, 1, 5, 2 } };

        for (unsigned side = 0; side < 2; side++) {
                static const char *const rests[] = { "", ",\"psi\":7" };
                unsigned culprit = 7;
                Subject subjects[2];
                Story story = {};

                ck_assert_int_eq(merge(file_of(one, rests[side == 0]),
                                       file_of(same, rests[side == 1]), subjects, &story, &culprit),
                                 SUBJECT_E_UNREADABLE);
                ck_assert_uint_eq(culprit, side);
                ck_assert(subjects[side].fault.in_document);
                done(subjects, &story);
        }
}
END_TEST

START_TEST(a_visitor_can_stop_the_merge) {
        static const Thread one[MAX_THREADS] = { { 1, 1, 5, 1 } };
        Story story = { .stop_with = -ECANCELED };
        unsigned culprit = 7;
        Subject subjects[2];

        ck_assert_int_eq(merge(file_of(one, ""), file_of(one, ""), subjects, &story, &culprit),
                         -ECANCELED);
        ck_assert_uint_eq(culprit, 1);
        done(subjects, &story);
}
END_TEST

/* names first */

static int want_progress(void *userdata, uint64_t n_read, uint64_t n_total) {
        return 0;
}

/*
 * The second row has no name, so reading the names fails there. Where the number before it is
 * broken as well, that is the first fault of the document.
 */
static const struct {
        const char *number, *fault;
} fault_rows[] = {
        { "7", "comm" },
        { "-", "run_time_ns" },
        { "\"]\"", "run_time_ns" },
        { "[", "run_time_ns" },
};

START_TEST(the_first_fault_is_told_though_names_are_read_first) {
        static const AnalysisVisitor visitor = { .on_progress = want_progress };
        ColumnTable table = { .threads.keys.has_census = true };
        AnalysisRead read = { .visitor = &visitor, .table = &table };
        Subject subject;
        Buffer text;

        buffer_init(&text, 0);
        ck_assert_int_eq(buffer_append_format(
                                 &text,
                                 "{\"formatVersion\":1,\"threads\":{\"columns\":[\"tid\",\"tgid\","
                                 "\"start_time_clock_ticks\",\"comm\",\"run_time_ns\"],\"rows\":"
                                 "[[1,1,5,\"a\",%s],[2,2,5,7,7]]}}",
                                 fault_rows[_i].number),
                         0);
        subject_init(&subject);
        ck_assert_int_eq(subject_open(&subject, fixture_zstd(text.bytes, text.n), NULL), 0);
        ck_assert_int_eq(analysis_read_names(&read, &subject), SUBJECT_E_UNREADABLE);
        ck_assert_ptr_eq(read.culprit, &subject);
        ck_assert_ptr_nonnull(strstr(subject.fault.text, fault_rows[_i].fault));
        subject_done(&subject);
        buffer_done(&text);
}
END_TEST

static int refuse_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        return -ENOBUFS;
}

START_TEST(so_can_who_wants_the_lives) {
        static const Thread one[MAX_THREADS] = { { 1, 1, 5, 1 } };
        static const SubjectVisitor nobody = {};
        Subject subjects[2];
        MergeSide sides[2];
        unsigned culprit;

        for (unsigned i = 0; i < 2; i++) {
                subject_init(&subjects[i]);
                ck_assert_int_eq(subject_open(&subjects[i], file_of(one, ""), NULL), 0);
                sides[i] = (MergeSide){ .subject = &subjects[i], .visitor = &nobody };
        }
        ck_assert_int_eq(subject_merge(sides, refuse_life, NULL, &culprit), -ENOBUFS);
        subject_done(&subjects[0]);
        subject_done(&subjects[1]);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("subject-merge");
        TCase *lives = tcase_create("lives"), *refusals = tcase_create("refusals");

        tcase_add_loop_test(lives, every_life_is_handed_out_once, 0, ELEMENTSOF(merge_rows));
        tcase_add_test(lives, each_side_is_read_to_its_end);
        suite_add_tcase(suite, lives);
        tcase_add_loop_test(refusals, threads_out_of_order_are_refused, 0, ELEMENTSOF(order_rows));
        tcase_add_test(refusals, damage_is_that_of_its_side);
        tcase_add_loop_test(refusals, the_first_fault_is_told_though_names_are_read_first, 0,
                            ELEMENTSOF(fault_rows));
        tcase_add_test(refusals, a_visitor_can_stop_the_merge);
        tcase_add_test(refusals, so_can_who_wants_the_lives);
        suite_add_tcase(suite, refusals);
        return check_main(suite);
}
