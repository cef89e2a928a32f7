/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "capture/heap/module.h"

#define LIBRARY "7f0000001000-7f0000003000 r-xp 0002a000 fd:01 1234 "

static const struct {
        const char *line;
        ProcessMapping mapping;
        const char *path;
} good_rows[] = {
        { LIBRARY "/usr/lib/libc.so.6",
          { 0x7f0000001000, 0x7f0000003000, 0x2a000, true, 0, 1234, {} },
          "/usr/lib/libc.so.6" },
        /* as the kernel pads it */
        { "00400000-00401000 r--p 00000000 fd:01 1234                               /bin/a b",
          { 0x400000, 0x401000, 0, false, 0, 1234, {} },
          "/bin/a b" },
        { LIBRARY, { 0x7f0000001000, 0x7f0000003000, 0x2a000, true, 0, 1234, {} }, "" },
        { LIBRARY "/a\\012b (deleted)",
          { 0x7f0000001000, 0x7f0000003000, 0x2a000, true, 0, 1234, {} },
          "/a\\012b (deleted)" },
        { LIBRARY "/memfd:x y  z",
          { 0x7f0000001000, 0x7f0000003000, 0x2a000, true, 0, 1234, {} },
          "/memfd:x y  z" },
        { "ffffffffff600000-ffffffffff601000 --xs ffffffffffffffff fd:01 1234",
          { 0xffffffffff600000, 0xffffffffff601000, UINT64_MAX, true, 0, 1234, {} },
          "" },
        { "7ffc000aa000-7ffc000ac000 r-xp 00000000 fd:01 0                  [vdso]",
          { 0x7ffc000aa000, 0x7ffc000ac000, 0, true, 0, 0, {} },
          "[vdso]" },
        { "7f0000001000-7f0000003000 rwxp 00000000 fd:01 0",
          { 0x7f0000001000, 0x7f0000003000, 0, true, 0, 0, {} },
          "" },
};

START_TEST(every_field_of_a_line_is_read) {
        const ProcessMapping *want = &good_rows[_i].mapping;
        char text[256];
        Cursor cursor;
        ProcessMapping mapping;
        uint64_t n_lines = 7;

        snprintf(text, sizeof(text), "%s\n", good_rows[_i].line);
        cursor = span_of(text);
        ck_assert_int_eq(process_map_next(&cursor, &mapping, &n_lines), 0);
        ck_assert_uint_eq(mapping.start, want->start);
        ck_assert_uint_eq(mapping.end, want->end);
        ck_assert_uint_eq(mapping.offset, want->offset);
        ck_assert_int_eq(mapping.is_executable, want->is_executable);
        ck_assert_uint_eq(mapping.dev, makedev(0xfd, 1));
        ck_assert_uint_eq(mapping.inode, want->inode);
        ck_assert(span_is(mapping.path, good_rows[_i].path));
        ck_assert_uint_eq(n_lines, 8);
        ck_assert_int_eq(process_map_next(&cursor, &mapping, &n_lines), TEXT_E_ABSENT);
}
END_TEST

static const char *const bad_rows[] = {
        "",
        " ",
        "7f0000001000",
        "7f0000001000-7f0000003000",
        "7f0000001000-7f0000003000 r-xp 0002a000 fd:01",
        "7f0000001000-7f0000001000 r-xp 0002a000 fd:01 1234", /* empty */
        "7f0000003000-7f0000001000 r-xp 0002a000 fd:01 1234",
        "-7f0000003000 r-xp 0002a000 fd:01 1234",
        "7f0000001000- r-xp 0002a000 fd:01 1234",
        "0x7f00001000-7f0000003000 r-xp 0002a000 fd:01 1234",
        "7F0000001000-7f0000003000 r-xp 0002a000 fd:01 1234",
        "17f0000001000000-117f0000003000000 r-xp 0002a000 fd:01 1234", /* of 68 bits */
        "7f0000001000-7f0000003000 r-x 0002a000 fd:01 1234",
        "7f0000001000-7f0000003000 rwxr 0002a000 fd:01 1234",
        "7f0000001000-7f0000003000 xwrp 0002a000 fd:01 1234",
        "7f0000001000-7f0000003000 r-xpp 0002a000 fd:01 1234",
        "7f0000001000-7f0000003000 r-xp -2a000 fd:01 1234",
        "7f0000001000-7f0000003000 r-xp 0002a000 fd01 1234",
        "7f0000001000-7f0000003000 r-xp 0002a000 fd: 1234",
        "7f0000001000-7f0000003000 r-xp 0002a000 1fffffffff:01 1234",
        "7f0000001000-7f0000003000 r-xp 0002a000 fd:01 -1",
        "7f0000001000-7f0000003000 r-xp 0002a000 fd:01 12x4 /x",
        "7f0000001000-7f0000003000 r-xp 0002a000 fd:01 18446744073709551616",
};

START_TEST(a_line_that_is_no_mapping_is_malformed_and_passed) {
        char text[256];
        Cursor cursor;
        ProcessMapping mapping;
        uint64_t n_lines = 0;

        snprintf(text, sizeof(text), "%s\n" LIBRARY "/x\n", bad_rows[_i]);
        cursor = span_of(text);
        ck_assert_int_eq(process_map_next(&cursor, &mapping, &n_lines), TEXT_E_MALFORMED);
        ck_assert_int_eq(process_map_next(&cursor, &mapping, &n_lines), 0);
        ck_assert(span_is(mapping.path, "/x"));
        ck_assert_uint_eq(n_lines, 2);
}
END_TEST

START_TEST(data_of_no_file_is_passed_over_and_a_cut_line_left) {
        static const char text[] =
                "55d000000000-55d000021000 rw-p 00000000 00:00 0   [heap]\n"
                "7f0000000000-7f0000001000 ---p 00000000 00:00 0\n" LIBRARY "/a\n"
                "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0   [stack]\n"
                "7f0000004000-7f0000005000 r--p 00000000 fd:01 12";
        Cursor cursor = SPAN_LITERAL(text);
        ProcessMapping mapping;
        uint64_t n_lines = 0;

        ck_assert_int_eq(process_map_next(&cursor, &mapping, &n_lines), 0);
        ck_assert(span_is(mapping.path, "/a"));
        ck_assert_int_eq(process_map_next(&cursor, &mapping, &n_lines), TEXT_E_ABSENT);
        ck_assert_uint_eq(n_lines, 4);
        ck_assert(span_is(cursor, "7f0000004000-7f0000005000 r--p 00000000 fd:01 "
                                  "12"));
}
END_TEST

static const struct {
        const char *printed, *path; /* NULL: none */
} path_rows[] = {
        { "/usr/lib/libc.so.6", "/usr/lib/libc.so.6" },
        { "/a b  c ", "/a b  c " },
        { "/a\\012b\\012", "/a\nb\n" },
        { "/a\\01", "/a\\01" },
        { "/a\\\\0123", "/a\\\n3" },
        { "/x (deleted)", NULL },
        { " (deleted)", NULL },
        { "/x (deleted) ", "/x (deleted) " },
        { "/deleted)", "/deleted)" },
        { "anon_inode:[x]", NULL },
        { "", NULL },
};

START_TEST(a_path_is_what_was_printed_with_its_newlines) {
        ProcessMapping mapping = { .path = span_of(path_rows[_i].printed) };
        char path[PROCESS_MAP_PATH_BYTES];

        ck_assert_int_eq(process_map_path(&mapping, path), path_rows[_i].path != NULL);
        if (path_rows[_i].path)
                ck_assert_str_eq(path, path_rows[_i].path);
}
END_TEST

START_TEST(a_path_with_a_nul_is_none) {
        ProcessMapping mapping = { .path = SPAN_LITERAL("/usr/lib\0/x") };
        char path[PROCESS_MAP_PATH_BYTES];

        ck_assert(!process_map_path(&mapping, path));
}
END_TEST

START_TEST(the_longest_path_fits_and_a_longer_one_is_none) {
        char printed[4 * PROCESS_MAP_PATH_BYTES], path[PROCESS_MAP_PATH_BYTES];
        ProcessMapping mapping = { .path = { printed, PROCESS_MAP_PATH_BYTES - 1 } };

        memset(printed, '/', sizeof(printed));
        ck_assert(process_map_path(&mapping, path));
        ck_assert_uint_eq(strlen(path), PROCESS_MAP_PATH_BYTES - 1);
        mapping.path.n++;
        ck_assert(!process_map_path(&mapping, path));
        for (size_t i = 1; i + 4 <= sizeof(printed); i += 4)
                memcpy(printed + i, "\\012", 4);
        mapping.path.n = 1 + 4 * (PROCESS_MAP_PATH_BYTES - 2);
        ck_assert(process_map_path(&mapping, path));
        ck_assert_uint_eq(strlen(path), PROCESS_MAP_PATH_BYTES - 1);
}
END_TEST

static const struct {
        uint64_t address;
        const char *path; /* NULL: nothing is mapped there */
} find_rows[] = {
        { 0x55d000000000, "[heap]" },  { 0x55d000020fff, "[heap]" }, { 0x55d000021000, NULL },
        { 0x54d000000000, NULL },      { 0x7f0000000800, "" },       { 0x7f0000002fff, "/a" },
        { 0x7ffc00000000, "[stack]" }, { UINT64_MAX, NULL },
};

START_TEST(what_is_mapped_at_an_address_is_found) {
        static const char text[] =
                "55d000000000-55d000021000 rw-p 00000000 00:00 0   [heap]\n"
                "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n" LIBRARY "/a\n"
                "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0   [stack]\n";
        ProcessMapping mapping;
        int r = process_map_find(span_of(text), find_rows[_i].address, &mapping);

        ck_assert_int_eq(r, find_rows[_i].path ? 0 : TEXT_E_ABSENT);
        if (r == 0) {
                ck_assert(span_is(mapping.path, find_rows[_i].path));
                ck_assert(mapping.start <= find_rows[_i].address &&
                          find_rows[_i].address < mapping.end);
        }
        ck_assert_int_eq(process_map_find(SPAN_LITERAL("x\n"), 0, &mapping), TEXT_E_MALFORMED);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("process-map");
        TCase *lines = tcase_create("lines"), *paths = tcase_create("paths");

        tcase_add_loop_test(lines, every_field_of_a_line_is_read, 0, ELEMENTSOF(good_rows));
        tcase_add_loop_test(lines, a_line_that_is_no_mapping_is_malformed_and_passed, 0,
                            ELEMENTSOF(bad_rows));
        tcase_add_test(lines, data_of_no_file_is_passed_over_and_a_cut_line_left);
        tcase_add_loop_test(lines, what_is_mapped_at_an_address_is_found, 0, ELEMENTSOF(find_rows));
        suite_add_tcase(suite, lines);
        tcase_add_loop_test(paths, a_path_is_what_was_printed_with_its_newlines, 0,
                            ELEMENTSOF(path_rows));
        tcase_add_test(paths, a_path_with_a_nul_is_none);
        tcase_add_test(paths, the_longest_path_fits_and_a_longer_one_is_none);
        suite_add_tcase(suite, paths);
        return check_main(suite);
}
