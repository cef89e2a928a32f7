/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/source-line.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "check-main.h"
#include "small-elf.h"

/* This program has debugging information, and looks for its own lines. */

static volatile unsigned counted;

enum { FIRST_LINE = __LINE__ + 3 };
// clang-format off
__attribute__((noinline)) static void
count_one(void) {
        counted++;
}
// clang-format on

static uint64_t bias;

static int take_bias(struct dl_phdr_info *info, size_t n, void *userdata) {
        bias = info->dlpi_addr;
        return 1; /* the first one is the program */
}

typedef struct Found {
        size_t n;
        size_t index;
        uint32_t line;
        bool is_here;
        int failure;
} Found;

static int take_line(void *userdata, size_t index, Span path, uint32_t line) {
        static const char name[] = "test-source-line.c";
        Found *found = userdata;

        found->n++;
        found->index = index;
        found->line = line;
        found->is_here = path.n >= strlen(name) &&
                         memcmp(path.bytes + path.n - strlen(name), name, strlen(name)) == 0;
        return found->failure;
}

static int find_own(uint64_t until_ns, Found *found, bool *ret_whole) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), r;
        uint64_t addresses[3] = { 1, 0, UINT64_MAX };

        ck_assert_int_ge(fd, 0);
        (void) elf_version(EV_CURRENT);
        (void) dl_iterate_phdr(take_bias, NULL);
        addresses[1] = (uintptr_t) count_one - bias;
        count_one();
        r = source_lines_find(fd, addresses, 3, until_ns, take_line, found, ret_whole);
        (void) close(fd);
        return r;
}

START_TEST(an_address_has_a_line) {
        Found found = {};
        bool is_whole;

        ck_assert_int_eq(find_own(UINT64_MAX, &found, &is_whole), 0);
        ck_assert(is_whole);
        ck_assert_uint_eq(found.n, 1);
        ck_assert_uint_eq(found.index, 1);
        ck_assert(found.is_here);
        ck_assert_uint_ge(found.line, FIRST_LINE - 1);
        ck_assert_uint_le(found.line, FIRST_LINE + 3);
}
END_TEST

START_TEST(time_runs_out) {
        Found found = {};
        bool is_whole = true;

        ck_assert_int_eq(find_own(0, &found, &is_whole), 0);
        ck_assert(!is_whole && found.n == 0);
}
END_TEST

/* Its end is looked for before a file is read, and that moves its position. */
START_TEST(no_file_is_read_without_time) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        const uint64_t address = 1;
        Found found = {};
        bool is_whole = true;

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(source_lines_find(fd, &address, 1, 0, take_line, &found, &is_whole), 0);
        ck_assert(!is_whole && found.n == 0);
        ck_assert_int_eq((long) lseek(fd, 0, SEEK_CUR), 0);
        ck_assert_int_eq(
                source_lines_find(fd, &address, 1, UINT64_MAX, take_line, &found, &is_whole), 0);
        ck_assert_int_gt((long) lseek(fd, 0, SEEK_CUR), 0);
        (void) close(fd);
}
END_TEST

START_TEST(a_failure_is_passed_on) {
        Found found = { .failure = -ENOMEM };
        bool is_whole;

        ck_assert_int_eq(find_own(UINT64_MAX, &found, &is_whole), -ENOMEM);
}
END_TEST

static int memory_with(const void *bytes, size_t n) {
        int fd = memfd_create("test", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(pwrite(fd, bytes, n, 0), (ssize_t) n);
        return fd;
}

START_TEST(what_has_none_is_not_whole) {
        const uint64_t address = SMALL_ELF_WORK;
        char elf[SMALL_ELF_BYTES];
        Found found = {};
        bool is_whole;
        int fds[4];

        small_elf_make(elf);
        (void) elf_version(EV_CURRENT);
        fds[0] = memory_with(elf, sizeof(elf));
        fds[1] = memory_with("no program", 10);
        fds[2] = memory_with("", 0);
        /* Nobody has so much memory: it is larger than is read. */
        fds[3] = memory_with(elf, sizeof(elf));
        ck_assert_int_eq(ftruncate(fds[3], (off_t) SOURCE_FILE_MAX_BYTES + 1), 0);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                Elf *read = elf_begin(fds[i], ELF_C_READ, NULL);

                ck_assert(!source_lines_are_in(read));
                (void) elf_end(read);
                is_whole = true;
                ck_assert_int_eq(source_lines_find(fds[i], &address, 1, UINT64_MAX, take_line,
                                                   &found, &is_whole),
                                 0);
                ck_assert(!is_whole && found.n == 0);
                (void) close(fds[i]);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("source-line");
        TCase *lines = tcase_create("lines");

        tcase_add_test(lines, an_address_has_a_line);
        tcase_add_test(lines, time_runs_out);
        tcase_add_test(lines, no_file_is_read_without_time);
        tcase_add_test(lines, a_failure_is_passed_on);
        tcase_add_test(lines, what_has_none_is_not_whole);
        suite_add_tcase(suite, lines);
        return check_main(suite);
}
