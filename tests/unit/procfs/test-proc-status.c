/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/proc-task.h"
#include "text/fixture.h"

static const struct {
        const char *path;
        char state;
        pid_t tgid, ppid;
        uid_t uid;
        gid_t gid;
        bool has_kthread;
        uint64_t threads;
        const char *cpus;
        uint64_t voluntary, nonvoluntary;
        uint64_t anon_kib, file_kib, shmem_kib; /* resident */
        uint64_t library_kib;
        unsigned n_namespaces;
} fixture_rows[] = {
        { "proc/6.1-schedstats/177/task/177/status", 'R', 177, 1, 0, 0, false, 1, "0-1", 2, 71, 244,
          2908, 0, 1596, 1 },
        { "proc/6.12-schedstats/245/task/245/status", 'R', 245, 1, 0, 0, true, 1, "0-1", 3, 77, 276,
          3168, 0, 1668, 1 },
        { "proc/7.2-scx/1/task/1/status", 'S', 1, 0, 0, 0, true, 1, "0-1", 549, 364, 2624, 10744, 0,
          12116, 1 },
        { "proc/edge-names/100/task/101/status", 'S', 100, 1, 1000, 100, false, 6, "0-3", 6, 3, 0,
          0, 0, 0, 0 }, /* its memory is not printed */
};

START_TEST(kernels_files_are_read_exactly) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcStatus status;

        ck_assert_int_eq(proc_status_parse(text, &status), 0);
        ck_assert(status.has_state && status.has_tgid && status.has_ppid && status.has_uid &&
                  status.has_gid && status.has_threads && status.has_cpus_allowed &&
                  status.has_voluntary_csw && status.has_nonvoluntary_csw);
        ck_assert_int_eq(status.state, fixture_rows[_i].state);
        ck_assert_int_eq(status.tgid, fixture_rows[_i].tgid);
        ck_assert_int_eq(status.ppid, fixture_rows[_i].ppid);
        ck_assert_uint_eq(status.uid, fixture_rows[_i].uid);
        ck_assert_uint_eq(status.gid, fixture_rows[_i].gid);
        ck_assert_int_eq(status.has_kthread, fixture_rows[_i].has_kthread);
        ck_assert(!status.kthread);
        ck_assert_uint_eq(status.threads, fixture_rows[_i].threads);
        ck_assert(span_is(status.cpus_allowed, fixture_rows[_i].cpus));
        ck_assert_uint_eq(status.voluntary_csw, fixture_rows[_i].voluntary);
        ck_assert_uint_eq(status.nonvoluntary_csw, fixture_rows[_i].nonvoluntary);
        ck_assert(status.has_rss_anon == (fixture_rows[_i].anon_kib != 0));
        ck_assert(status.has_rss_anon == status.has_rss_peak);
        ck_assert(!status.has_rss_peak ||
                  status.rss_peak >= status.rss_anon + status.rss_file + status.rss_shmem);
        ck_assert(status.has_rss_anon == status.has_rss_file &&
                  status.has_rss_file == status.has_rss_shmem &&
                  status.has_rss_shmem == status.has_swap);
        ck_assert_uint_eq(status.rss_anon, fixture_rows[_i].anon_kib * 1024);
        ck_assert_uint_eq(status.rss_file, fixture_rows[_i].file_kib * 1024);
        ck_assert_uint_eq(status.rss_shmem, fixture_rows[_i].shmem_kib * 1024);
        ck_assert_uint_eq(status.swap, 0);
        ck_assert(status.has_library_code == status.has_rss_anon);
        ck_assert_uint_eq(status.library_code, fixture_rows[_i].library_kib * 1024);
        ck_assert(status.has_n_namespaces == (fixture_rows[_i].n_namespaces != 0));
        ck_assert_uint_eq(status.n_namespaces, fixture_rows[_i].n_namespaces);
        fixture_free(text);
}
END_TEST

START_TEST(a_cut_file_has_no_wrong_values) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcStatus status;

        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                if (proc_status_parse(cut, &status) == 0)
                        ck_assert(n == 0 || cut.bytes[n - 1] == '\n');
                ck_assert(!status.has_tgid || status.tgid == fixture_rows[_i].tgid);
                ck_assert(!status.has_uid || status.uid == fixture_rows[_i].uid);
                ck_assert(!status.has_cpus_allowed ||
                          span_is(status.cpus_allowed, fixture_rows[_i].cpus));
                ck_assert(!status.has_voluntary_csw ||
                          status.voluntary_csw == fixture_rows[_i].voluntary);
                ck_assert(!status.has_nonvoluntary_csw ||
                          status.nonvoluntary_csw == fixture_rows[_i].nonvoluntary);
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

START_TEST(every_state_is_read) {
        static const char letters[] = "RSDTtXZPI";
        char text[64];
        ProcStatus status;
        int n;

        n = snprintf(text, sizeof(text), "State:\t%c (word)\n", letters[_i]);
        ck_assert_int_eq(proc_status_parse((Span){ text, (size_t) n }, &status), 0);
        ck_assert(status.has_state);
        ck_assert_int_eq(status.state, letters[_i]);
}
END_TEST

static const char *const bad_lines[] = {
        "State:\t\n",
        "State:\tSS\n",
        "Tgid:\tx\n",
        "Tgid:\t2147483648\n",
        "PPid:\t-1\n",
        "Uid:\t\n",
        "Uid:\tx 0 0 0\n",
        "Uid:\t4294967296 0 0 0\n",
        "Gid:\t-1\n",
        "Kthread:\t2\n",
        "Threads:\tx\n",
        "Cpus_allowed_list:\t\n",
        "voluntary_ctxt_switches:\t\n",
        "nonvoluntary_ctxt_switches:\t18446744073709551616\n",
};

START_TEST(a_bad_line_drops_its_key_only) {
        char text[128];
        ProcStatus status;
        int n;

        n = snprintf(text, sizeof(text), "Name:\tx\n%sVmPeak:\t 1 kB\n", bad_lines[_i]);
        ck_assert_int_eq(proc_status_parse((Span){ text, (size_t) n }, &status), TEXT_E_MALFORMED);
        ck_assert(!status.has_state && !status.has_tgid && !status.has_ppid && !status.has_uid &&
                  !status.has_gid && !status.has_kthread && !status.has_threads &&
                  !status.has_cpus_allowed && !status.has_voluntary_csw &&
                  !status.has_nonvoluntary_csw);
}
END_TEST

START_TEST(a_file_without_any_key_is_none) {
        ProcStatus status;

        ck_assert_int_eq(proc_status_parse((Span){}, &status), TEXT_E_MALFORMED);
        ck_assert_int_eq(proc_status_parse(span_of("Name:\tx\n"), &status), TEXT_E_MALFORMED);
}
END_TEST

START_TEST(a_key_twice_is_absent) {
        ProcStatus status;

        ck_assert_int_eq(
                proc_status_parse(span_of("Uid:\t1\nThreads:\t2\nUid:\t1\nUid:\t1\n"), &status),
                TEXT_E_MALFORMED);
        ck_assert(!status.has_uid);
        ck_assert(status.has_threads && status.threads == 2);
}
END_TEST

static const struct {
        const char *text;
        unsigned n; /* 0: absent and malformed */
} namespace_rows[] = {
        { "NSpid:\t1234\n", 1 },       { "NSpid:\t1234\t17\t1\n", 3 }, { "NSpid:\t0\n", 1 },
        { "NSpid:\t\n", 0 },           { "NSpid:\t1234\tx\n", 0 },     { "NSpid:\t-1\n", 0 },
        { "NSpid:\t2147483648\n", 0 },
};

START_TEST(a_task_has_a_number_in_each_namespace) {
        ProcStatus status;
        int r = proc_status_parse(span_of(namespace_rows[_i].text), &status);

        ck_assert_int_eq(r, namespace_rows[_i].n != 0 ? 0 : TEXT_E_MALFORMED);
        ck_assert(status.has_n_namespaces == (namespace_rows[_i].n != 0));
        if (status.has_n_namespaces)
                ck_assert_uint_eq(status.n_namespaces, namespace_rows[_i].n);
}
END_TEST

START_TEST(kernel_threads_say_so) {
        ProcStatus status;

        ck_assert_int_eq(proc_status_parse(span_of("Kthread:\t1\nUid:\t4294967295\t1\n"), &status),
                         0);
        ck_assert(status.has_kthread && status.kthread);
        ck_assert_uint_eq(status.uid, UINT32_MAX);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-status");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, kernels_files_are_read_exactly, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_cut_file_has_no_wrong_values, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, every_state_is_read, 0, 9);
        tcase_add_loop_test(parse, a_bad_line_drops_its_key_only, 0, ELEMENTSOF(bad_lines));
        tcase_add_test(parse, a_file_without_any_key_is_none);
        tcase_add_test(parse, a_key_twice_is_absent);
        tcase_add_loop_test(parse, a_task_has_a_number_in_each_namespace, 0,
                            ELEMENTSOF(namespace_rows));
        tcase_add_test(parse, kernel_threads_say_so);
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
