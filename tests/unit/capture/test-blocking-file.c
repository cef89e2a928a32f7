/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/batch/blocking-file.h"
#include "kernel/procfs/procfs.h"
#include "tree.h"

#define LONG_NS (100 * NSEC_PER_SEC)
#define STUCK "proc/7/task/7/stuck"
#define N_LINKS 30 /* the kernel follows 40 */
#define WINDING "link-29"

static Tree tree;
static BlockingFile file;
static Span text;

static void setup(void) {
        tree_make(&tree);
        file = (BlockingFile){};
        tree_write_text(&tree, "proc/7/task/7/stat", "seven");
        tree_write_text(&tree, "proc/7/task/7/io", "io of seven");
        /* A pipe without a writer: whoever opens it waits. */
        ck_assert_int_eq(mkfifoat(tree.fd, STUCK, 0600), 0);
}

static void teardown(void) {
        file.thread = blocking_thread_free(file.thread);
        tree_remove(&tree);
}

static int ask(uint32_t owner, const char *path, const char *name, uint64_t limit_ns, int *ret_fd) {
        return blocking_file_read(
                &file,
                &(BlockingQuestion){
                        .owner = owner, .dir_fd = tree.proc_fd, .path = path, .name = name },
                limit_ns, ret_fd, &text);
}

/* The threads that were left behind come to the end of their calls. */
static void release(void) {
        int fd = openat(tree.fd, STUCK, O_RDWR | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        tree_delete(&tree, STUCK);
        (void) close(fd);
}

START_TEST(a_directory_is_opened_with_its_file) {
        BlockingQuestion question = { .name = "io" };
        int fd = -1;

        ck_assert_int_eq(ask(1, "7/task/7", "stat", LONG_NS, &fd), 0);
        ck_assert(span_is(text, "seven"));
        ck_assert_int_ge(fd, 0);
        question.dir_fd = fd;
        ck_assert_int_eq(blocking_file_read(&file, &question, LONG_NS, NULL, &text), 0);
        ck_assert(span_is(text, "io of seven"));
        (void) close(fd);
}
END_TEST

START_TEST(what_cannot_be_read_leaves_nothing_open) {
        int fd = -1, lowest = dup(tree.fd);

        ck_assert_int_eq(ask(1, "8/task/8", "stat", LONG_NS, &fd), TEXT_E_ABSENT);
        ck_assert_int_eq(ask(1, "7/task/7", "schedstat", LONG_NS, &fd), TEXT_E_ABSENT);
        ck_assert_int_eq(fd, -1);
        (void) close(lowest);
        ck_assert_int_eq(dup(tree.fd), lowest);
        (void) close(lowest);
}
END_TEST

START_TEST(who_is_late_twice_is_asked_no_more) {
        int fd = -1;

        for (int i = 0; i < 2; i++)
                ck_assert_int_eq(ask(1, "7/task/7", "stuck", NSEC_PER_MSEC, &fd), -ETIMEDOUT);
        /* With this limit the test would not end. */
        ck_assert_int_eq(ask(1, "7/task/7", "stuck", 1000 * LONG_NS, &fd), -ETIMEDOUT);
        ck_assert_int_eq(ask(1, "7/task/7", "stat", LONG_NS, &fd), -ETIMEDOUT);
        ck_assert_int_eq(fd, -1);
        ck_assert_int_eq(ask(2, "7/task/7", "stat", LONG_NS, &fd), 0);
        ck_assert(span_is(text, "seven"));
        (void) close(fd);
        release();
}
END_TEST

/* Links to links, each by a way that takes the kernel long to go without sleeping. */
static void make_winding(void) {
        char target[4000], path[64];
        size_t n = 0;

        while (n + sizeof("../7/") < sizeof(target) - 16)
                n += (size_t) sprintf(target + n, "../7/");
        for (unsigned i = 0; i < N_LINKS; i++) {
                (void) sprintf(target + n, i == 0 ? "stat" : "link-%u", i - 1);
                (void) sprintf(path, "proc/7/task/7/link-%u", i);
                tree_link(&tree, path, target);
        }
}

START_TEST(who_waits_for_a_processor_is_not_late) {
        int fd = -1;

        make_winding();
        for (int i = 0; i < 3; i++) {
                ck_assert_int_eq(ask(1, "7/task/7", WINDING, 1, &fd), 0);
                ck_assert(span_is(text, "seven"));
                (void) close(fd);
        }
}
END_TEST

START_TEST(owners_that_are_late_are_bounded) {
        int fd = -1;

        for (uint32_t owner = 0; owner < BLOCKING_FILE_MAX_LATE_OWNERS; owner++)
                ck_assert_int_eq(ask(owner, "7/task/7", "stuck", NSEC_PER_MSEC, &fd), -ETIMEDOUT);
        ck_assert_int_eq(ask(1000, "7/task/7", "stuck", 1000 * LONG_NS, &fd), -ETIMEDOUT);
        ck_assert_int_eq(ask(0, "7/task/7", "stat", LONG_NS, &fd), 0); /* it was late but once */
        (void) close(fd);
        release();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("patient-file");
        TCase *reading = tcase_create("reading");

        tcase_add_checked_fixture(reading, setup, teardown);
        tcase_add_test(reading, a_directory_is_opened_with_its_file);
        tcase_add_test(reading, what_cannot_be_read_leaves_nothing_open);
        tcase_add_test(reading, who_is_late_twice_is_asked_no_more);
        tcase_add_test(reading, who_waits_for_a_processor_is_not_late);
        tcase_add_test(reading, owners_that_are_late_are_bounded);
        suite_add_tcase(suite, reading);
        return check_main(suite);
}
