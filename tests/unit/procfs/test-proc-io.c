/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/proc-task.h"
#include "text/fixture.h"

#define ALL_KEYS ((1u << _PROC_IO_MAX) - 1)

static const struct {
        const char *path;
        uint64_t values[_PROC_IO_MAX];
} fixture_rows[] = {
        { "proc/6.1-schedstats/1/task/1/io", { 3653976, 90980, 3626, 710, 15679488, 200704, 0 } },
        { "proc/6.12-schedstats/245/task/245/io",
          { 8425577, 8388849, 195, 137, 4267008, 4206592, 0 } },
        { "proc/7.2-scx/1/task/1/io", { 13398202, 189099, 7548, 946, 23223296, 176128, 0 } },
        { "proc/edge-names/100/task/100/io", { 1, 2, 3, 4, 5, 6, 7 } },
};

START_TEST(kernels_files_are_read_exactly) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcIo io;

        ck_assert_int_eq(proc_io_parse(text, &io), 0);
        ck_assert_uint_eq(io.present, ALL_KEYS);
        ck_assert_mem_eq(io.values, fixture_rows[_i].values, sizeof(io.values));
        fixture_free(text);
}
END_TEST

START_TEST(a_cut_file_has_no_wrong_values) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcIo io;

        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                if (proc_io_parse(cut, &io) == 0)
                        ck_assert(n == 0 || cut.bytes[n - 1] == '\n');
                for (ProcIoKey key = 0; key < _PROC_IO_MAX; key++)
                        if (io.present >> key & 1)
                                ck_assert_uint_eq(io.values[key], fixture_rows[_i].values[key]);
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

START_TEST(a_bad_value_drops_its_key_only) {
        ProcIo io;

        ck_assert_int_eq(proc_io_parse(span_of("rchar: 1\nwchar: x\nsyscr: -3\nsyscw: 4\nsyscw: 4\n"
                                               "new_key: text\nread_bytes: 5\n"),
                                       &io),
                         TEXT_E_MALFORMED);
        ck_assert_uint_eq(io.present, 1u << PROC_IO_rchar | 1u << PROC_IO_read_bytes);
        ck_assert_uint_eq(io.values[PROC_IO_read_bytes], 5);
}
END_TEST

START_TEST(unknown_keys_and_order_do_not_matter) {
        ProcIo io;

        ck_assert_int_eq(
                proc_io_parse(span_of("new: 1\nwchar:\t2\nrchar : 18446744073709551615\n"), &io),
                0);
        ck_assert_uint_eq(io.present, 1u << PROC_IO_rchar | 1u << PROC_IO_wchar);
        ck_assert_uint_eq(io.values[PROC_IO_rchar], UINT64_MAX);
}
END_TEST

START_TEST(a_file_without_any_key_is_none) {
        ProcIo io;

        ck_assert_int_eq(proc_io_parse((Span){}, &io), TEXT_E_MALFORMED);
        ck_assert_uint_eq(io.present, 0);
        ck_assert_int_eq(proc_io_parse(span_of("new: 1\n"), &io), TEXT_E_MALFORMED);
        ck_assert_uint_eq(io.present, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-io");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, kernels_files_are_read_exactly, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_cut_file_has_no_wrong_values, 0, ELEMENTSOF(fixture_rows));
        tcase_add_test(parse, a_bad_value_drops_its_key_only);
        tcase_add_test(parse, unknown_keys_and_order_do_not_matter);
        tcase_add_test(parse, a_file_without_any_key_is_none);
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
