/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/proc-task.h"
#include "text/fixture.h"

#define ALL_FIELDS ((UINT32_C(1) << _PROC_STAT_MAX) - 1)

/* Fields 4 to 41 of a line, and the rest of it. */
#define TAIL_TO_STARTTIME " 9 1 1 0 -1 4194560 11 0 22 0 33 44 0 0 20 0 1 0 777"
#define TAIL TAIL_TO_STARTTIME " 4096 1 2 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n"

static const struct {
        const char *path;
        pid_t pid;
        const char *comm;
        ProcStat stat; /* the fields only */
        char state;
        uint64_t starttime;
} fixture_rows[] = {
        { "proc/6.1-schedstats/1/task/1/stat",
          1,
          "systemd",
          { .ppid = 0,
            .flags = 4194560,
            .minflt = 2849,
            .majflt = 179,
            .utime = 120,
            .stime = 155,
            .priority = 20,
            .nice = 0,
            .num_threads = 1,
            .vsize = 19963904,
            .start_stack = 140732980952112,
            .processor = 0,
            .rt_priority = 0,
            .policy = 0 },
          'S',
          21 },
        { "proc/6.12-schedstats/245/task/245/stat",
          245,
          "bash",
          { .ppid = 1,
            .flags = 4194560,
            .minflt = 720,
            .majflt = 0,
            .utime = 84,
            .stime = 15,
            .priority = 25,
            .nice = 5,
            .num_threads = 1,
            .vsize = 4595712,
            .start_stack = 140736673840320,
            .processor = 0,
            .rt_priority = 0,
            .policy = 0 },
          'R',
          1063 },
        { "proc/7.2-scx/212/task/212/stat",
          212,
          "bash",
          { .ppid = 1,
            .flags = 4194560,
            .minflt = 715,
            .majflt = 0,
            .utime = 340,
            .stime = 32,
            .priority = 25,
            .nice = 5,
            .num_threads = 1,
            .vsize = 4603904,
            .start_stack = 140725891049152,
            .processor = 1,
            .rt_priority = 0,
            .policy = 0 },
          'R',
          772 },
        { "proc/edge-names/100/task/100/stat",
          100,
          "a) S 9 (b",
          { .ppid = 1,
            .flags = 0x400040,
            .minflt = 11,
            .majflt = 2,
            .utime = 31,
            .stime = 42,
            .priority = 20,
            .num_threads = 6,
            .vsize = 4096000,
            .processor = 5 },
          'S',
          1001 },
        { "proc/edge-names/100/task/105/stat",
          105,
          "  \t ",
          { .ppid = 1,
            .flags = 0x400040,
            .minflt = 11,
            .majflt = 2,
            .utime = 31,
            .stime = 42,
            .priority = -51,
            .num_threads = 6,
            .vsize = 4096000,
            .processor = 5,
            .rt_priority = 50,
            .policy = 1 },
          'S',
          1006 },
};

#define ASSERT_MEMBER(member, ...) ck_assert(stat.member == fixture_rows[_i].stat.member);

START_TEST(kernels_lines_are_read_exactly) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcStat stat;

        ck_assert_int_eq(proc_stat_parse(text, &stat), 0);
        ck_assert(stat.has_identity);
        ck_assert_int_eq(stat.pid, fixture_rows[_i].pid);
        ck_assert(span_is(stat.comm, fixture_rows[_i].comm));
        ck_assert_int_eq(stat.state, fixture_rows[_i].state);
        ck_assert_uint_eq(stat.starttime, fixture_rows[_i].starttime);
        ck_assert_uint_eq(stat.present, ALL_FIELDS);
        PROC_STAT_FIELDS(ASSERT_MEMBER)
        ck_assert_uint_eq(stat.flags & PROC_STAT_PF_KTHREAD, 0);
        fixture_free(text);
}
END_TEST

START_TEST(a_cut_line_is_no_line) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcStat stat;

        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                ck_assert_int_eq(proc_stat_parse(cut, &stat), TEXT_E_MALFORMED);
                ck_assert(!stat.has_identity);
                ck_assert_uint_eq(stat.present, 0);
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

static const struct {
        const char *comm;
} comm_rows[] = {
        { "" },   { ")" },       { "(" },        { ") R 1" }, { "a b" }, { "(weird)name)" },
        { "\n" }, { "a\nb) S" }, { "\xff\xfe" }, { "))))" },
};

START_TEST(a_name_may_hold_anything) {
        char text[256];
        ProcStat stat;
        int n;

        n = snprintf(text, sizeof(text), "77 (%s) D" TAIL, comm_rows[_i].comm);
        ck_assert_int_eq(proc_stat_parse((Span){ text, (size_t) n }, &stat), 0);
        ck_assert(span_is(stat.comm, comm_rows[_i].comm));
        ck_assert_int_eq(stat.pid, 77);
        ck_assert_int_eq(stat.state, 'D');
        ck_assert_int_eq(stat.ppid, 9);
        ck_assert_uint_eq(stat.starttime, 777);
        ck_assert_int_eq(stat.processor, 3);
}
END_TEST

static const char *const broken_rows[] = {
        "",
        "\n",
        " ",
        "1",
        "1 (a",
        "1 a) S" TAIL,
        "1 (a S" TAIL,
        ") ( S" TAIL,
        "(a) S" TAIL,
        "x (a) S" TAIL,
        "0 (a) S" TAIL,
        "-1 (a) S" TAIL,
        "2147483648 (a) S" TAIL,
        "1(a) S" TAIL,
        "1 (a)\n",
        "1 (a) \n",
        "1 (a) S\n",
        "1 (a) SS" TAIL,
        "1 (a) S 9 1 1 0 -1 4194560 11 0 22 0 33 44 0 0 20 0 1 0\n",
        "1 (a) S 9 1 1 0 -1 4194560 11 0 22 0 33 44 0 0 20 0 1 0 x 4096\n",
        "1 (a) S 9 1 1 0 -1 4194560 11 0 22 0 33 44 0 0 20 0 1 0 -7 4096\n",
        "1 (a) S\n 9 1 1 0 -1 4194560 11 0 22 0 33 44 0 0 20 0 1 0 777 4096\n",
};

START_TEST(without_an_identity_there_is_nothing) {
        ProcStat stat;

        ck_assert_int_eq(proc_stat_parse(span_of(broken_rows[_i]), &stat), TEXT_E_MALFORMED);
        ck_assert(!stat.has_identity);
        ck_assert_uint_eq(stat.present, 0);
        ck_assert_uint_eq(stat.comm.n, 0);
}
END_TEST

START_TEST(a_short_line_has_what_is_on_it) {
        ProcStat stat;

        ck_assert_int_eq(proc_stat_parse(span_of("1 (a) S" TAIL_TO_STARTTIME "\n"), &stat),
                         TEXT_E_MALFORMED);
        ck_assert(stat.has_identity);
        ck_assert_uint_eq(stat.starttime, 777);
        ck_assert(stat.present >> PROC_STAT_num_threads & 1);
        ck_assert(!(stat.present >> PROC_STAT_vsize & 1));
        ck_assert(!(stat.present >> PROC_STAT_processor & 1));
        ck_assert(!(stat.present >> PROC_STAT_policy & 1));
}
END_TEST

START_TEST(a_bad_field_is_absent_alone) {
        ProcStat stat;

        ck_assert_int_eq(proc_stat_parse(span_of("1 (a) S 9 1 1 0 -1 4294967296 x 0 "
                                                 "18446744073709551616 0 33 44 0 0 2147483648 -20 "
                                                 "1 0 777 4096 1 2 0 0 0 0 0 0 0 0 0 0 0 0 17 "
                                                 "-1 -3 -2147483648 0 0\n"),
                                         &stat),
                         TEXT_E_MALFORMED);
        ck_assert(stat.has_identity);
        ck_assert(!(stat.present >> PROC_STAT_flags & 1));
        ck_assert(!(stat.present >> PROC_STAT_minflt & 1));
        ck_assert(!(stat.present >> PROC_STAT_majflt & 1));
        ck_assert(!(stat.present >> PROC_STAT_priority & 1));
        ck_assert(!(stat.present >> PROC_STAT_rt_priority & 1));
        ck_assert_uint_eq((uint32_t) __builtin_popcount(stat.present), _PROC_STAT_MAX - 5);
        ck_assert_int_eq(stat.nice, -20);
        ck_assert_int_eq(stat.processor, -1);
        ck_assert_int_eq(stat.policy, INT32_MIN);
        ck_assert_uint_eq(stat.utime, 33);
}
END_TEST

START_TEST(the_flag_of_kernel_threads_is_seen) {
        Span text = fixture_read("proc/edge-names/2/task/2/stat");
        ProcStat stat;

        ck_assert_int_eq(proc_stat_parse(text, &stat), 0);
        ck_assert(span_is(stat.comm, "kthreadd"));
        ck_assert_uint_ne(stat.flags & PROC_STAT_PF_KTHREAD, 0);
        ck_assert_uint_eq(stat.vsize, 0);
        fixture_free(text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-stat");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, kernels_lines_are_read_exactly, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_cut_line_is_no_line, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_name_may_hold_anything, 0, ELEMENTSOF(comm_rows));
        tcase_add_loop_test(parse, without_an_identity_there_is_nothing, 0,
                            ELEMENTSOF(broken_rows));
        tcase_add_test(parse, a_short_line_has_what_is_on_it);
        tcase_add_test(parse, a_bad_field_is_absent_alone);
        tcase_add_test(parse, the_flag_of_kernel_threads_is_seen);
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
