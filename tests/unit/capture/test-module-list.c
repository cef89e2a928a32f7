/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "capture/heap/module.h"
#include "temporary.h"

#define PAGE UINT64_C(4096)

static ModuleList list;

static void add(uint64_t inode, uint64_t page, uint64_t n_pages, uint64_t offset_page,
                bool is_executable, const char *path) {
        module_list_add(&list, &(ProcessMapping){ .start = page * PAGE,
                                                  .end = (page + n_pages) * PAGE,
                                                  .offset = offset_page * PAGE,
                                                  .is_executable = is_executable,
                                                  .dev = 5,
                                                  .inode = inode,
                                                  .path = span_of(path) });
}

/* A library as it is mapped today: headers, code, constants, data. */
static void add_library(uint64_t inode, uint64_t page, const char *path) {
        add(inode, page, 1, 0, false, path);
        add(inode, page + 1, 4, 1, true, path);
        add(inode, page + 5, 2, 5, false, path);
        add(inode, page + 7, 1, 6, false, path);
        add(inode, page + 8, 1, 7, false, path);
}

START_TEST(modules_are_the_files_that_are_executed) {
        module_list_begin(&list);
        add(1, 0x400, 1, 0, false, "/bin/x");
        add(1, 0x401, 1, 1, true, "/bin/x");
        add(9, 0x500, 100, 0, false, "/data");
        add_library(2, 0x1000, "/lib/a.so.1");
        add(8, 0x1100, 1, 0, false, "/locale");
        add(7, 0x1101, 1, 0, false, "/fonts");
        add_library(3, 0x2000, "/lib/b.so");
        add(9, 0x3000, 1, 0, false, "/data");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert_uint_eq(list.n, 3);
        ck_assert_uint_eq(list.modules[0].inode, 1);
        ck_assert_uint_eq(list.modules[1].inode, 2);
        ck_assert_uint_eq(list.modules[2].inode, 3);
        ck_assert_uint_eq(list.modules[2].n, 5);
        ck_assert_uint_eq(list.n_pieces, 12);
        ck_assert(span_is(module_list_mapping(&list, &list.modules[1]).path, "/lib/a.so.1"));
        ck_assert_uint_eq(module_list_mapping(&list, &list.modules[1]).start, 0x1000 * PAGE);
        ck_assert_uint_eq(module_list_mapping(&list, &list.modules[1]).end, 0x1001 * PAGE);
        ck_assert(module_list_is_named(&list, &list.modules[1], "a.so.1"));
        ck_assert(!module_list_is_named(&list, &list.modules[1], ".so.1"));
        ck_assert(!module_list_is_named(&list, &list.modules[1], "a.so"));
        ck_assert(!module_list_is_named(&list, &list.modules[1], "/lib/a.so.1"));
}
END_TEST

/* A database maps thousands of windows onto its files. */
START_TEST(windows_onto_data_take_no_room) {
        module_list_begin(&list);
        for (unsigned i = 0; i < 3 * MODULE_LIST_MAX_PIECES; i++)
                add(9 + i % 2, 0x1000 + 2 * i, 1, i, false, "/data");
        for (unsigned i = 0; i < 1000; i++)
                add(2, 0x200000 + 2 * i, 1, 5000 - i, false, "/lib/a.so");
        add_library(2, 0x300000, "/lib/a.so");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert_uint_eq(list.n, 1);
        ck_assert_uint_le(list.n_pieces, 64 + 5);
        ck_assert_uint_eq(list.pieces[list.n_pieces - 5].start, 0x300000 * PAGE);
}
END_TEST

START_TEST(more_modules_than_fit_are_told) {
        module_list_begin(&list);
        for (unsigned i = 0; i < MODULE_LIST_MAX; i++)
                add(10 + i, 0x1000 + i, 1, 0, true, "/x");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert_uint_eq(list.n, MODULE_LIST_MAX);
        add(5, 0x900000, 1, 0, false, "/data");
        ck_assert_int_eq(module_list_end(&list), 0);
        add(6, 0x900001, 1, 0, true, "/y");
        ck_assert_int_eq(module_list_end(&list), TEXT_E_TOO_LARGE);
        ck_assert_uint_eq(list.n, MODULE_LIST_MAX);

        module_list_begin(&list);
        for (unsigned i = 0; i < MODULE_LIST_MAX_PIECES + 1; i++)
                add(1, 0x1000 + i, 1, i, true, "/x");
        ck_assert_int_eq(module_list_end(&list), TEXT_E_TOO_LARGE);
        ck_assert_uint_eq(list.n, 1);
}
END_TEST

START_TEST(paths_that_do_not_fit_are_unknown) {
        static char path[4096];

        memset(path, '/', sizeof(path) - 1);
        module_list_begin(&list);
        for (unsigned i = 0; i < 100; i++)
                add(10 + i, 0x1000 + i, 1, 0, true, path);
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert_uint_eq(list.n, 100);
        ck_assert_uint_eq(list.modules[0].n_path, sizeof(path) - 1);
        ck_assert_uint_eq(list.modules[99].n_path, 0);
        ck_assert(!module_list_is_named(&list, &list.modules[99], ""));
}
END_TEST

/* reading */

static const struct {
        const char *text;
        int result;
        size_t n;
} file_rows[] = {
        { "00400000-00401000 r-xp 00000000 fd:01 12 /bin/x\n", 0, 1 },
        { "00400000-00401000 r--p 00000000 fd:01 12 /bin/x\n"
          "00401000-00402000 rw-p 00000000 00:00 0 [heap]\n",
          0, 0 },
        { "", TEXT_E_VANISHED, 0 },
        { "00400000-00401000 r-xp 00000000 fd:01 12 /bin/x", TEXT_E_MALFORMED, 0 },
        { "00400000-00401000 r-xp 00000000 fd:01 12 /bin/x\nx\n", TEXT_E_MALFORMED, 1 },
};

static Temporary temporary;
static int dir_fd;

static void setup(void) {
        temporary_init(&temporary);
        dir_fd = open(temporary.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(dir_fd, 0);
}

static void teardown(void) {
        (void) close(dir_fd);
        temporary_done(&temporary);
}

static void write_maps(Span text) {
        int fd = openat(dir_fd, "maps", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, text.bytes, text.n), (ssize_t) text.n);
        (void) close(fd);
}

START_TEST(a_map_is_read_to_its_end) {
        ck_assert_int_eq(module_list_read(&list, dir_fd), TEXT_E_ABSENT);
        write_maps(span_of(file_rows[_i].text));
        ck_assert_int_eq(module_list_read(&list, dir_fd), file_rows[_i].result);
        if (file_rows[_i].result == 0)
                ck_assert_uint_eq(list.n, file_rows[_i].n);
}
END_TEST

/* Lines do not end where reads do. */
START_TEST(a_long_map_is_read_in_pieces) {
        _cleanup_(buffer_done) Buffer text = {};
        char path[1000];

        memset(path, 'x', sizeof(path));
        path[0] = '/';
        for (unsigned i = 0; i < 500; i++) {
                path[sizeof(path) - 1 - i] = '\0';
                (void) buffer_append_format(&text, "%x000-%x000 r-xp 00000000 fd:01 %u %s\n",
                                            0x1000 + 2 * i, 0x1001 + 2 * i, 100 + i, path);
        }
        write_maps(buffer_span(&text));
        ck_assert_int_eq(module_list_read(&list, dir_fd), 0);
        ck_assert_uint_eq(list.n, 500);
        ck_assert_uint_eq(list.modules[499].inode, 599);
        ck_assert_uint_eq(list.pieces[499].start, (0x1000 + 2 * 499) * PAGE);

        buffer_clear(&text);
        for (unsigned i = 0; i < MODULE_LIST_READ_BYTES; i++)
                (void) buffer_append_byte(&text, 'x');
        write_maps(buffer_span(&text));
        ck_assert_int_eq(module_list_read(&list, dir_fd), TEXT_E_TOO_LARGE);
        buffer_clear(&text);
        for (unsigned i = 0; i <= MODULE_LIST_MAX_LINES; i++)
                (void) buffer_append_format(&text, "%x000-%x000 rw-p 00000000 00:00 0\n", i + 1,
                                            i + 2);
        write_maps(buffer_span(&text));
        ck_assert_int_eq(module_list_read(&list, dir_fd), TEXT_E_TOO_LARGE);
}
END_TEST

/* places */

static const HeapLayout library = { .verdict = HEAP_FAILURE_NONE, .tls_vaddr = 7 * PAGE + 0x123 };

START_TEST(a_library_is_where_its_first_segment_is) {
        size_t at = 0;
        uint64_t bias = 0;

        module_list_begin(&list);
        add_library(2, 0x1000, "/lib/a.so");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert(module_list_place(&list, &list.modules[0], &library, PAGE, &at, &bias));
        ck_assert_uint_eq(bias, 0x1000 * PAGE);
        ck_assert(!module_list_place(&list, &list.modules[0], &library, PAGE, &at, &bias));
}
END_TEST

START_TEST(addresses_of_the_file_need_not_begin_at_zero) {
        HeapLayout layout = library;
        size_t at = 0;
        uint64_t bias = 0;

        layout.first_vaddr = 0x10 * PAGE;
        layout.tls_vaddr += 0x10 * PAGE;
        module_list_begin(&list);
        add_library(2, 0x1000, "/lib/a.so");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert(module_list_place(&list, &list.modules[0], &layout, PAGE, &at, &bias));
        ck_assert_uint_eq(bias, 0xff0 * PAGE);
        layout.is_fixed = 1;
        at = 0;
        ck_assert(!module_list_place(&list, &list.modules[0], &layout, PAGE, &at, &bias));
        layout.first_vaddr = 0x1000 * PAGE;
        layout.tls_vaddr = 0x1007 * PAGE;
        ck_assert(module_list_place(&list, &list.modules[0], &layout, PAGE, &at, &bias));
        ck_assert_uint_eq(bias, 0);
}
END_TEST

/* Another linker namespace has a copy of its own; maps may have both side by side. */
START_TEST(every_copy_of_a_library_is_found) {
        uint64_t biases[4], n = 0, bias;
        size_t at = 0;

        module_list_begin(&list);
        add_library(2, 0x1000, "/lib/a.so");
        add_library(2, 0x1009, "/lib/a.so");
        add_library(2, 0x1100, "/lib/a.so");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert_uint_eq(list.n, 1);
        while (module_list_place(&list, &list.modules[0], &library, PAGE, &at, &bias)) {
                ck_assert_uint_lt(n, ELEMENTSOF(biases));
                biases[n++] = bias;
        }
        ck_assert_uint_eq(n, 3);
        ck_assert_uint_eq(biases[0], 0x1000 * PAGE);
        ck_assert_uint_eq(biases[1], 0x1009 * PAGE);
        ck_assert_uint_eq(biases[2], 0x1100 * PAGE);
}
END_TEST

/* As many pieces as there can be, of which each could be where a copy begins. */
START_TEST(a_process_with_many_pieces_is_gone_through_once) {
        const uint64_t n = MODULE_LIST_MAX_PIECES / 8, step = 32;
        HeapLayout far = library;
        uint64_t n_found = 0, bias = 0;
        size_t at = 0;

        module_list_begin(&list);
        for (uint64_t i = 0; i < n; i++) {
                add_library(2, 0x1000 + step * i, "/lib/a.so");
                for (uint64_t k = 10; k < 13; k++) /* read only */
                        add(2, 0x1000 + step * i + k, 1, 0, false, "/lib/a.so");
        }
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert_uint_eq(list.n, 1);
        ck_assert_uint_eq(list.n_pieces, MODULE_LIST_MAX_PIECES);
        while (module_list_place(&list, &list.modules[0], &library, PAGE, &at, &bias))
                ck_assert_uint_eq(bias, (0x1000 + step * n_found++) * PAGE);
        ck_assert_uint_eq(n_found, n);

        /* Half of the pieces lie between the beginning and the image, and the first one fits. */
        far.tls_vaddr += step * n / 2 * PAGE;
        at = 0;
        ck_assert(module_list_place(&list, &list.modules[0], &far, PAGE, &at, &bias));
        ck_assert_uint_eq(bias, 0x1000 * PAGE);
        far.tls_vaddr += step * n * PAGE;
        at = 0;
        ck_assert(!module_list_place(&list, &list.modules[0], &far, PAGE, &at, &bias));
}
END_TEST

/* A tool that only looks into the file has it mapped, too. */
START_TEST(a_copy_that_is_read_is_not_one_that_runs) {
        uint64_t bias = 0;
        size_t at = 0;

        module_list_begin(&list);
        add(2, 0xf00, 16, 0, false, "/lib/a.so");
        add_library(2, 0x1000, "/lib/a.so");
        add(2, 0x1100, 16, 0, false, "/lib/a.so");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert_uint_eq(list.n, 1);
        ck_assert(module_list_place(&list, &list.modules[0], &library, PAGE, &at, &bias));
        ck_assert_uint_eq(bias, 0x1000 * PAGE);
        ck_assert(!module_list_place(&list, &list.modules[0], &library, PAGE, &at, &bias));
}
END_TEST

/* Where pages are larger, segments that share one are mapped from the same place of the file. */
START_TEST(large_pages_are_rounded_to) {
        HeapLayout layout = { .first_vaddr = 0x11000,
                              .first_offset = 0x1000,
                              .tls_vaddr = 0x31000 };
        uint64_t bias = 0, at_64k = 0x7f0000000000;
        size_t at = 0;

        module_list_begin(&list);
        add(2, at_64k / PAGE, 16, 0, false, "/lib/a.so");
        add(2, at_64k / PAGE + 16, 16, 0, true, "/lib/a.so");
        add(2, at_64k / PAGE + 32, 16, 16, false, "/lib/a.so");
        ck_assert_int_eq(module_list_end(&list), 0);
        ck_assert(module_list_place(&list, &list.modules[0], &layout, 65536, &at, &bias));
        ck_assert_uint_eq(bias, at_64k - 0x10000);
}
END_TEST

START_TEST(a_layout_of_another_file_is_found_nowhere) {
        HeapLayout layout = library;
        uint64_t bias = 0;
        size_t at = 0;

        module_list_begin(&list);
        add_library(2, 0x1000, "/lib/a.so");
        ck_assert_int_eq(module_list_end(&list), 0);
        layout.first_offset = 0x10 * PAGE;
        ck_assert(!module_list_place(&list, &list.modules[0], &layout, PAGE, &at, &bias));
        layout = library;
        layout.tls_vaddr = 0x1000 * PAGE;
        ck_assert(!module_list_place(&list, &list.modules[0], &layout, PAGE, &at, &bias));
        layout.tls_vaddr = UINT64_MAX;
        ck_assert(!module_list_place(&list, &list.modules[0], &layout, PAGE, &at, &bias));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("module-list");
        TCase *modules = tcase_create("modules"), *reading = tcase_create("reading"),
              *places = tcase_create("places");

        tcase_add_test(modules, modules_are_the_files_that_are_executed);
        tcase_add_test(modules, windows_onto_data_take_no_room);
        tcase_add_test(modules, more_modules_than_fit_are_told);
        tcase_add_test(modules, paths_that_do_not_fit_are_unknown);
        suite_add_tcase(suite, modules);
        tcase_add_checked_fixture(reading, setup, teardown);
        tcase_add_loop_test(reading, a_map_is_read_to_its_end, 0, ELEMENTSOF(file_rows));
        tcase_add_test(reading, a_long_map_is_read_in_pieces);
        suite_add_tcase(suite, reading);
        tcase_add_test(places, a_library_is_where_its_first_segment_is);
        tcase_add_test(places, addresses_of_the_file_need_not_begin_at_zero);
        tcase_add_test(places, every_copy_of_a_library_is_found);
        tcase_add_test(places, a_process_with_many_pieces_is_gone_through_once);
        tcase_add_test(places, a_copy_that_is_read_is_not_one_that_runs);
        tcase_add_test(places, large_pages_are_rounded_to);
        tcase_add_test(places, a_layout_of_another_file_is_found_nowhere);
        suite_add_tcase(suite, places);
        return check_main(suite);
}
