/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/procfs/proc-walk.h"
#include "text/fixture.h"

static ProcWalk walk;

static void setup(void) {
        walk = (ProcWalk){};
}

static void teardown(void) {
        proc_walk_done(&walk);
}

START_TEST(processes_are_the_plain_numbers) {
        int fd = fixture_open("proc/edge-names");

        ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
        ck_assert_uint_eq(walk.n_ids, 2);
        ck_assert_int_eq(walk.ids[0], 2);
        ck_assert_int_eq(walk.ids[1], 100);
        (void) close(fd);
}
END_TEST

START_TEST(threads_are_ascending) {
        int fd = fixture_open("proc/edge-names/100/task");

        ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
        ck_assert_uint_eq(walk.n_ids, 6);
        for (size_t i = 0; i < walk.n_ids; i++)
                ck_assert_int_eq(walk.ids[i], 100 + (pid_t) i);
        (void) close(fd);
}
END_TEST

START_TEST(a_walk_can_be_used_again) {
        int fd = fixture_open("proc/7.2-scx");

        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
                ck_assert_uint_eq(walk.n_ids, 2);
                ck_assert_int_eq(walk.ids[0], 1);
                ck_assert_int_eq(walk.ids[1], 212);
        }
        (void) close(fd);
        proc_walk_done(&walk);
        ck_assert_uint_eq(walk.n_ids, 0);
}
END_TEST

START_TEST(names_are_whole_numbers_of_31_bits) {
        static const char *const names[] = { "1",  "2147483647", "2147483648", "4294967297", "0",
                                             "01", "-1",         "+1",         "1a",         " 1" };
        char path[] = "/tmp/proc-walk-XXXXXX";
        int fd;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                ck_assert_int_eq(mkdirat(fd, names[i], 0700), 0);
        ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                ck_assert_int_eq(unlinkat(fd, names[i], AT_REMOVEDIR), 0);
        ck_assert_uint_eq(walk.n_ids, 2);
        ck_assert_int_eq(walk.ids[0], 1);
        ck_assert_int_eq(walk.ids[1], 2147483647);

        ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
        ck_assert_uint_eq(walk.n_ids, 0);
        (void) close(fd);
        (void) rmdir(path);
}
END_TEST

START_TEST(thousands_of_names_are_sorted) {
        char path[] = "/tmp/proc-walk-XXXXXX", name[16];
        int fd;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (unsigned i = 1; i <= 2500; i++) {
                (void) snprintf(name, sizeof(name), "%u", i * 7919 % 10007);
                ck_assert_int_eq(mkdirat(fd, name, 0700), 0);
        }
        ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
        ck_assert_uint_eq(walk.n_ids, 2500);
        for (size_t i = 1; i < walk.n_ids; i++)
                ck_assert_int_lt(walk.ids[i - 1], walk.ids[i]);
        for (unsigned i = 1; i <= 2500; i++) {
                (void) snprintf(name, sizeof(name), "%u", i * 7919 % 10007);
                (void) unlinkat(fd, name, AT_REMOVEDIR);
        }
        (void) close(fd);
        (void) rmdir(path);
}
END_TEST

START_TEST(a_directory_that_went_is_absent) {
        char path[] = "/tmp/proc-walk-XXXXXX";
        int fd;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void) rmdir(path);
        ck_assert_int_eq(proc_walk_list(&walk, fd), TEXT_E_ABSENT);
        ck_assert_uint_eq(walk.n_ids, 0);
        (void) close(fd);
}
END_TEST

START_TEST(what_is_no_directory_is_no_list) {
        int fd = fixture_open("proc/7.2-scx/1/comm");

        ck_assert_int_eq(proc_walk_list(&walk, fd), TEXT_E_ABSENT);
        ck_assert_int_eq(proc_walk_list(&walk, -1), -EBADF);
        (void) close(fd);
}
END_TEST

static void *wait_for_end(void *mutex) {
        (void) pthread_mutex_lock(mutex);
        (void) pthread_mutex_unlock(mutex);
        return NULL;
}

/* A number that no thread here has: it is in the list when the directory was not listed. */
#define NOT_LISTED INT32_MAX

static bool is_alone(void) {
        int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        ck_assert_int_eq(proc_walk_list_threads(&walk, proc, "self/task", NOT_LISTED), 0);
        (void) close(proc);
        return walk.n_ids == 1 && walk.ids[0] == NOT_LISTED;
}

START_TEST(the_kernel_says_when_a_process_has_one_thread) {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_t thread;
        int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        size_t n_threads;

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
        /* Sanitizers and other tools may have threads of their own. */
        n_threads = walk.n_ids;
        ck_assert_int_eq(is_alone(), n_threads == 1);

        (void) pthread_mutex_lock(&mutex);
        ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_end, &mutex), 0);
        ck_assert(!is_alone());
        (void) pthread_mutex_unlock(&mutex);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        (void) close(fd);

        ck_assert_int_eq(proc_walk_list_threads(&walk, -1, "self/task", 1), -EBADF);
        ck_assert_uint_eq(walk.n_ids, 0);
        fd = fixture_open("proc/edge-names/100");
        ck_assert_int_eq(proc_walk_list_threads(&walk, fd, "task", 100), 0);
        ck_assert_uint_eq(walk.n_ids, 6);
        ck_assert_int_eq(proc_walk_list_threads(&walk, fd, "task/100/stat", 100), TEXT_E_ABSENT);
        ck_assert_uint_eq(walk.n_ids, 0);
        (void) close(fd);
}
END_TEST

START_TEST(one_id_takes_the_place_of_a_list) {
        int fd = fixture_open("proc/edge-names/100/task");

        ck_assert_int_eq(proc_walk_list(&walk, fd), 0);
        ck_assert_int_eq(proc_walk_put(&walk, 7), 0);
        ck_assert_uint_eq(walk.n_ids, 1);
        ck_assert_int_eq(walk.ids[0], 7);
        (void) close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-walk");
        TCase *list = tcase_create("list");

        tcase_add_checked_fixture(list, setup, teardown);
        tcase_add_test(list, processes_are_the_plain_numbers);
        tcase_add_test(list, threads_are_ascending);
        tcase_add_test(list, a_walk_can_be_used_again);
        tcase_add_test(list, names_are_whole_numbers_of_31_bits);
        tcase_add_test(list, thousands_of_names_are_sorted);
        tcase_add_test(list, a_directory_that_went_is_absent);
        tcase_add_test(list, what_is_no_directory_is_no_list);
        tcase_add_test(list, the_kernel_says_when_a_process_has_one_thread);
        tcase_add_test(list, one_id_takes_the_place_of_a_list);
        suite_add_tcase(suite, list);
        return check_main(suite);
}
