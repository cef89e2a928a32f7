/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/proc-sched.h"
#include "text/fixture.h"

#define RULE "-------------------------------------------------------------------\n"
#define HEADER "a (1, #threads: 1)\n" RULE

#define COUNT_BITS(set) ((unsigned) __builtin_popcountll(set))
#define BIT(key) (UINT64_C(1) << PROC_SCHED_##key)

/* Read from the fixtures by eye. */
static const struct {
        const char *path;
        ProcSched sched;
        uint64_t absent;
        uint64_t voluntary_sleep_ns;
} fixture_rows[] = {
        { "proc/6.1-schedstats/1/task/1/sched",
          { .has_schedstats = true,
            .values = { [PROC_SCHED_nr_migrations] = 48,
                        [PROC_SCHED_sum_sleep_runtime] = 7392035482,
                        [PROC_SCHED_sum_block_runtime] = 657442911,
                        [PROC_SCHED_sleep_max] = 5036572616,
                        [PROC_SCHED_block_max] = 158772899,
                        [PROC_SCHED_exec_max] = 10001314,
                        [PROC_SCHED_slice_max] = 111656486,
                        [PROC_SCHED_wait_max] = 13418914,
                        [PROC_SCHED_wait_sum] = 262417701,
                        [PROC_SCHED_wait_count] = 776,
                        [PROC_SCHED_iowait_sum] = 38544633,
                        [PROC_SCHED_iowait_count] = 254,
                        [PROC_SCHED_nr_failed_migrations_affine] = 0,
                        [PROC_SCHED_nr_failed_migrations_running] = 13,
                        [PROC_SCHED_nr_failed_migrations_hot] = 15,
                        [PROC_SCHED_nr_forced_migrations] = 0,
                        [PROC_SCHED_nr_wakeups] = 459,
                        [PROC_SCHED_nr_wakeups_sync] = 33,
                        [PROC_SCHED_nr_wakeups_migrate] = 34,
                        [PROC_SCHED_nr_wakeups_local] = 335,
                        [PROC_SCHED_nr_wakeups_remote] = 124,
                        [PROC_SCHED_nr_wakeups_affine] = 9,
                        [PROC_SCHED_nr_wakeups_affine_attempts] = 34,
                        [PROC_SCHED_nr_switches] = 773,
                        [PROC_SCHED_nr_voluntary_switches] = 459,
                        [PROC_SCHED_nr_involuntary_switches] = 314 } },
          BIT(slice) | BIT(core_forceidle_sum),
          7392035482 - 657442911 },
        { "proc/6.12-schedstats/245/task/245/sched",
          { .has_schedstats = true,
            .values = { [PROC_SCHED_nr_migrations] = 2,
                        [PROC_SCHED_sum_sleep_runtime] = 527038804,
                        [PROC_SCHED_sum_block_runtime] = 16702832,
                        [PROC_SCHED_sleep_max] = 304634573,
                        [PROC_SCHED_block_max] = 16702832,
                        [PROC_SCHED_exec_max] = 11865981,
                        [PROC_SCHED_slice_max] = 24015830,
                        [PROC_SCHED_wait_max] = 86629492,
                        [PROC_SCHED_wait_sum] = 3790741774,
                        [PROC_SCHED_wait_count] = 76,
                        [PROC_SCHED_iowait_sum] = 0,
                        [PROC_SCHED_iowait_count] = 0,
                        [PROC_SCHED_nr_failed_migrations_affine] = 0,
                        [PROC_SCHED_nr_failed_migrations_running] = 3,
                        [PROC_SCHED_nr_failed_migrations_hot] = 2,
                        [PROC_SCHED_nr_forced_migrations] = 0,
                        [PROC_SCHED_nr_wakeups] = 3,
                        [PROC_SCHED_nr_wakeups_sync] = 2,
                        [PROC_SCHED_nr_wakeups_migrate] = 2,
                        [PROC_SCHED_nr_wakeups_local] = 1,
                        [PROC_SCHED_nr_wakeups_remote] = 2,
                        [PROC_SCHED_nr_wakeups_affine] = 0,
                        [PROC_SCHED_nr_wakeups_affine_attempts] = 0,
                        [PROC_SCHED_nr_switches] = 74,
                        [PROC_SCHED_nr_voluntary_switches] = 3,
                        [PROC_SCHED_nr_involuntary_switches] = 71,
                        [PROC_SCHED_slice] = 1400000 } },
          BIT(core_forceidle_sum),
          527038804 - 16702832 },
        { "proc/7.2-scx/1/task/1/sched",
          { .has_schedstats = true,
            .has_ext_enabled = true,
            .ext_enabled = true,
            .values = { [PROC_SCHED_nr_migrations] = 48,
                        [PROC_SCHED_sum_sleep_runtime] = 9932522260,
                        [PROC_SCHED_sum_block_runtime] = 567567631,
                        [PROC_SCHED_sleep_max] = 4914434706,
                        [PROC_SCHED_block_max] = 72577108,
                        [PROC_SCHED_exec_max] = 16069925,
                        [PROC_SCHED_slice_max] = 13240626,
                        [PROC_SCHED_wait_max] = 18614482,
                        [PROC_SCHED_wait_sum] = 914651511,
                        [PROC_SCHED_wait_count] = 960,
                        [PROC_SCHED_iowait_sum] = 37209544,
                        [PROC_SCHED_iowait_count] = 194,
                        [PROC_SCHED_nr_failed_migrations_affine] = 0,
                        [PROC_SCHED_nr_failed_migrations_running] = 18,
                        [PROC_SCHED_nr_failed_migrations_hot] = 14,
                        [PROC_SCHED_nr_forced_migrations] = 0,
                        [PROC_SCHED_nr_wakeups] = 548,
                        [PROC_SCHED_nr_wakeups_sync] = 39,
                        [PROC_SCHED_nr_wakeups_migrate] = 34,
                        [PROC_SCHED_nr_wakeups_local] = 314,
                        [PROC_SCHED_nr_wakeups_remote] = 234,
                        [PROC_SCHED_nr_wakeups_affine] = 12,
                        [PROC_SCHED_nr_wakeups_affine_attempts] = 54,
                        [PROC_SCHED_nr_switches] = 913,
                        [PROC_SCHED_nr_voluntary_switches] = 549,
                        [PROC_SCHED_nr_involuntary_switches] = 364,
                        [PROC_SCHED_slice] = 1400000 } },
          BIT(core_forceidle_sum),
          9932522260 - 567567631 },
};

START_TEST(kernels_files_are_read_exactly) {
        Span text = fixture_read(fixture_rows[_i].path);
        const ProcSched *wanted = &fixture_rows[_i].sched;
        uint64_t sleep_ns;
        ProcSched sched;

        ck_assert_int_eq(proc_sched_parse(text, &sched), 0);
        ck_assert_uint_eq(sched.negative, 0);
        ck_assert_int_eq(sched.has_schedstats, wanted->has_schedstats);
        ck_assert_int_eq(sched.has_ext_enabled, wanted->has_ext_enabled);
        ck_assert_int_eq(sched.ext_enabled, wanted->ext_enabled);
        for (ProcSchedKey key = 0; key < _PROC_SCHED_MAX; key++) {
                ck_assert_int_eq(sched.present >> key & 1,
                                 (fixture_rows[_i].absent >> key & 1) == 0);
                if (sched.present >> key & 1)
                        ck_assert_uint_eq(sched.values[key], wanted->values[key]);
        }
        ck_assert(proc_sched_voluntary_sleep(&sched, &sleep_ns));
        ck_assert_uint_eq(sleep_ns, fixture_rows[_i].voluntary_sleep_ns);
        fixture_free(text);
}
END_TEST

START_TEST(a_cut_file_has_no_wrong_values) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcSched whole, part;

        ck_assert_int_eq(proc_sched_parse(text, &whole), 0);
        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                if (proc_sched_parse(cut, &part) == 0)
                        ck_assert(n > 0 && cut.bytes[n - 1] == '\n');
                ck_assert_uint_eq(part.present & ~whole.present, 0);
                for (ProcSchedKey key = 0; key < _PROC_SCHED_MAX; key++)
                        if (part.present >> key & 1)
                                ck_assert_uint_eq(part.values[key], whole.values[key]);
                ck_assert(!part.has_ext_enabled || part.ext_enabled == whole.ext_enabled);
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

static const char *const edge_paths[] = {
        "proc/edge-names/100/task/100/sched", "proc/edge-names/100/task/101/sched",
        "proc/edge-names/100/task/102/sched", "proc/edge-names/100/task/103/sched",
        "proc/edge-names/100/task/104/sched",
};

START_TEST(a_name_forges_nothing) {
        Span text = fixture_read(edge_paths[_i]);
        ProcSched sched;

        ck_assert_int_eq(proc_sched_parse(text, &sched), 0);
        ck_assert_uint_eq(sched.present, BIT(nr_migrations) | BIT(nr_switches) |
                                                 BIT(nr_voluntary_switches) |
                                                 BIT(nr_involuntary_switches));
        ck_assert_uint_eq(sched.values[PROC_SCHED_nr_migrations], 7);
        ck_assert(!sched.has_schedstats);
        ck_assert(!sched.has_ext_enabled);
        fixture_free(text);
}
END_TEST

static const char *const headless_rows[] = {
        "",
        "\n",
        "nr_switches : 1\n",
        "a (1, #threads: 1)\nnr_switches : 1\n",
        "a (1, #threads: 1)\n---------------\nnr_switches : 1\n",
        /* one dash fewer than needed */
        "a (1, #threads: 1)\n---------------------------------------------------------------\n"
        "nr_switches : 1\n",
        "a (1, #threads: 1)\n" RULE,
};

START_TEST(without_a_rule_there_is_nothing) {
        ProcSched sched;

        ck_assert_int_eq(proc_sched_parse(span_of(headless_rows[_i]), &sched),
                         _i + 1 < (int) ELEMENTSOF(headless_rows) ? TEXT_E_MALFORMED : 0);
        ck_assert_uint_eq(sched.present, 0);
        ck_assert(!sched.has_schedstats);
}
END_TEST

static const char *const key_names[] = {
#define KEY_NAME(key, ...) #key,
        PROC_SCHED_KEYS(KEY_NAME)
};

static const char *const prefixes[] = { "", "se.statistics.", "stats.", "any.prefix.", "." };

START_TEST(every_key_is_found_under_any_prefix) {
        char text[256];
        ProcSched sched;
        int n;

        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++) {
                n = snprintf(text, sizeof(text), HEADER "%s%-*s:%21s\n", prefixes[i],
                             (int) (45 - strlen(prefixes[i])), key_names[_i], "1234");
                ck_assert_int_eq(proc_sched_parse((Span){ text, (size_t) n }, &sched), 0);
                ck_assert_uint_eq(sched.present, UINT64_C(1) << _i);
                ck_assert_uint_eq(sched.values[_i], 1234);
        }
}
END_TEST

START_TEST(keys_need_no_padding) {
        char text[256];
        ProcSched sched;
        int n;

        n = snprintf(text, sizeof(text), HEADER "%s:7\n\t%s \t:\t8 \n", key_names[_i],
                     key_names[(_i + 1) % _PROC_SCHED_MAX]);
        ck_assert_int_eq(proc_sched_parse((Span){ text, (size_t) n }, &sched), 0);
        ck_assert_uint_eq(sched.values[_i], 7);
        ck_assert_uint_eq(sched.values[(_i + 1) % _PROC_SCHED_MAX], 8);
        ck_assert_uint_eq(COUNT_BITS(sched.present), 2);
}
END_TEST

START_TEST(a_key_twice_is_absent) {
        char text[256];
        ProcSched sched;
        int n;

        n = snprintf(text, sizeof(text), HEADER "%s : 1\nse.statistics.%s : 1\n%s : 1\n",
                     key_names[_i], key_names[_i], key_names[_i]);
        ck_assert_int_eq(proc_sched_parse((Span){ text, (size_t) n }, &sched), TEXT_E_MALFORMED);
        ck_assert_uint_eq(sched.present, 0);
}
END_TEST

static const char *const unknown_lines[] = {
        "xwait_max : 1\n",
        "wait_max. : 1\n",
        "wait_max.x : 1\n",
        "wait max : 1\n",
        "wait_maxx : 1\n",
        "ait_max : 1\n",
        "max : 1\n",
        "nr_wakeups_idle : 0\n",
        "nr_wakeups_passive : 0\n",
        "nr_migrations_cold : 0\n",
        "foo.enabled : 1\n",
        "enabled : 1\n",
        "se.ext.enabled : 1\n",
        "clock-delta : x\n",
        "numa_faults node=0 task_private=0\n",
        "k: wait_max : 1\n",
        "k:                                wait_max   : 1\n",
        ":\n",
        "\n",
        "no colon at all, and long enough to reach past the column of colons\n",
};

START_TEST(other_lines_are_passed_over) {
        char text[256];
        ProcSched sched;
        int n;

        n = snprintf(text, sizeof(text), HEADER "%snr_switches : 5\n", unknown_lines[_i]);
        ck_assert_int_eq(proc_sched_parse((Span){ text, (size_t) n }, &sched), 0);
        ck_assert_uint_eq(sched.present, BIT(nr_switches));
        ck_assert(!sched.has_schedstats);
        ck_assert(!sched.has_ext_enabled);
}
END_TEST

static const struct {
        const char *value;
        bool good;
        uint64_t ns;
        bool negative;
} ms_rows[] = {
        { "0.000000", true, 0, false },
        { "0.000001", true, 1, false },
        { "12.345678", true, 12345678, false },
        { "1.2", true, 1200000, false },
        { "1.23", true, 1230000, false },
        { "1.234", true, 1234000, false },
        { "1.9999999", true, 1999999, false },
        { "42", true, 42, false }, /* ns already */
        { "18446744073709.551615", true, UINT64_MAX, false },
        { "18446744073709.551616", false, 0, false },
        { "18446744073709551616", false, 0, false },
        { "-12.345678", false, 0, true },
        { "0.-000500", false, 0, true },
        { "0.-1", false, 0, true },
        { "-5", false, 0, true },
        { "", false, 0, false },
        { "-", false, 0, false },
        { "--5", false, 0, false },
        { "garbage", false, 0, false },
        { "gar-5", false, 0, false },
        { "1.", false, 0, false },
        { "1.2.3", false, 0, false },
        { "nan", false, 0, false },
};

START_TEST(milliseconds_become_nanoseconds) {
        char text[256];
        ProcSched sched;
        int n;

        n = snprintf(text, sizeof(text), HEADER "wait_max : %s\n", ms_rows[_i].value);
        ck_assert_int_eq(proc_sched_parse((Span){ text, (size_t) n }, &sched),
                         ms_rows[_i].good ? 0 : TEXT_E_MALFORMED);
        ck_assert_int_eq(sched.present >> PROC_SCHED_wait_max & 1, ms_rows[_i].good);
        if (ms_rows[_i].good)
                ck_assert_uint_eq(sched.values[PROC_SCHED_wait_max], ms_rows[_i].ns);
        ck_assert_uint_eq(sched.negative, ms_rows[_i].negative ? BIT(wait_max) : 0);
        ck_assert(sched.has_schedstats);
}
END_TEST

static const struct {
        const char *value;
        bool good;
        uint64_t count;
} count_rows[] = {
        { "0", true, 0 },    { "18446744073709551615", true, UINT64_MAX },
        { "1.5", false, 0 }, { "18446744073709551616", false, 0 },
        { "-1", false, 0 },  { "x", false, 0 },
        { "", false, 0 },    { "1 2", false, 0 },
};

START_TEST(counts_are_whole_numbers) {
        char text[256];
        ProcSched sched;
        int n;

        n = snprintf(text, sizeof(text), HEADER "nr_wakeups : %s\n", count_rows[_i].value);
        ck_assert_int_eq(proc_sched_parse((Span){ text, (size_t) n }, &sched),
                         count_rows[_i].good ? 0 : TEXT_E_MALFORMED);
        ck_assert_int_eq(sched.present >> PROC_SCHED_nr_wakeups & 1, count_rows[_i].good);
        if (count_rows[_i].good)
                ck_assert_uint_eq(sched.values[PROC_SCHED_nr_wakeups], count_rows[_i].count);
}
END_TEST

static const struct {
        const char *lines;
        int r;
        bool has, enabled;
} ext_rows[] = {
        { "ext.enabled : 0\n", 0, true, false },
        { "ext.enabled : 1\n", 0, true, true },
        { "", 0, false, false },
        { "ext.enabled : x\n", TEXT_E_MALFORMED, false, false },
        { "ext.enabled : 1\next.enabled : 1\n", TEXT_E_MALFORMED, false, false },
};

START_TEST(ext_enabled_is_a_whole_key) {
        char text[256];
        ProcSched sched;
        int n;

        n = snprintf(text, sizeof(text), HEADER "%s", ext_rows[_i].lines);
        ck_assert_int_eq(proc_sched_parse((Span){ text, (size_t) n }, &sched), ext_rows[_i].r);
        ck_assert_int_eq(sched.has_ext_enabled, ext_rows[_i].has);
        if (ext_rows[_i].has)
                ck_assert_int_eq(sched.ext_enabled, ext_rows[_i].enabled);
}
END_TEST

static const struct {
        const char *lines;
        bool has;
        uint64_t ns;
} sleep_rows[] = {
        { "sum_sleep_runtime : 5.000000\nsum_block_runtime : 2.000001\n", true, 2999999 },
        { "sum_sleep_runtime : 2.000000\nsum_block_runtime : 2.000001\n", true, 0 },
        { "sum_sleep_runtime : 5.000000\n", false, 0 },
        { "sum_block_runtime : 5.000000\n", false, 0 },
        { "sum_sleep_runtime : 5.000000\nsum_block_runtime : -2.000001\n", false, 0 },
        { "", false, 0 },
};

START_TEST(voluntary_sleep_needs_both_totals) {
        uint64_t ns = 4711;
        char text[256];
        ProcSched sched;
        int n;

        n = snprintf(text, sizeof(text), HEADER "%s", sleep_rows[_i].lines);
        ck_assert_int_ge(proc_sched_parse((Span){ text, (size_t) n }, &sched), 0);
        ck_assert_int_eq(proc_sched_voluntary_sleep(&sched, &ns), sleep_rows[_i].has);
        ck_assert_uint_eq(ns, sleep_rows[_i].has ? sleep_rows[_i].ns : 4711);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-sched");
        TCase *kernel = tcase_create("kernel");
        TCase *key = tcase_create("key");
        TCase *value = tcase_create("value");

        tcase_add_loop_test(kernel, kernels_files_are_read_exactly, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(kernel, a_cut_file_has_no_wrong_values, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(kernel, a_name_forges_nothing, 0, ELEMENTSOF(edge_paths));
        tcase_add_loop_test(kernel, without_a_rule_there_is_nothing, 0, ELEMENTSOF(headless_rows));
        tcase_add_loop_test(key, every_key_is_found_under_any_prefix, 0, ELEMENTSOF(key_names));
        tcase_add_loop_test(key, keys_need_no_padding, 0, ELEMENTSOF(key_names));
        tcase_add_loop_test(key, a_key_twice_is_absent, 0, ELEMENTSOF(key_names));
        tcase_add_loop_test(key, other_lines_are_passed_over, 0, ELEMENTSOF(unknown_lines));
        tcase_add_loop_test(value, milliseconds_become_nanoseconds, 0, ELEMENTSOF(ms_rows));
        tcase_add_loop_test(value, counts_are_whole_numbers, 0, ELEMENTSOF(count_rows));
        tcase_add_loop_test(value, ext_enabled_is_a_whole_key, 0, ELEMENTSOF(ext_rows));
        tcase_add_loop_test(value, voluntary_sleep_needs_both_totals, 0, ELEMENTSOF(sleep_rows));
        suite_add_tcase(suite, kernel);
        suite_add_tcase(suite, key);
        suite_add_tcase(suite, value);
        return check_main(suite);
}
