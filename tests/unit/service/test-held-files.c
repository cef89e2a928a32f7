/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/manager/held-files.h"
#include "wire/limits.h"

#define MIB (UINT64_C(1) << 20)

static sd_event *event;
static Users *users;
static HeldFiles held;

static void setup(void) {
        const UserLimits limits = user_default_limits(LIMIT_ANALYSES);

        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_eq(users_new(&limits, &users), 0);
        ck_assert_int_eq(held_files_init(&held, event, users), 0);
}

static void teardown(void) {
        held_files_done(&held);
        users = users_free(users);
        event = sd_event_unref(event);
}

static int open_again(int fd, int flags) {
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return open(path, flags | O_CLOEXEC);
}

/* Lends a file of so many MiB; returns the reader's descriptor. */
static int lend(uid_t uid, size_t n_mib) {
        static char block[MIB];
        int file, reader;

        ck_assert_int_eq(held_file_new(&file), 0);
        for (size_t i = 0; i < n_mib; i++)
                ck_assert_int_eq(write(file, block, sizeof(block)), (ssize_t) sizeof(block));
        reader = open_again(file, O_RDONLY);
        ck_assert_int_ge(reader, 0);
        ck_assert_int_eq(held_files_add(&held, file, uid), 0);
        (void) fd_close(file);
        return reader;
}

static void check_sum(uid_t uid, uint64_t user, uint64_t all) {
        held_files_take_back(&held);
        ck_assert_uint_eq(users_count(users, uid, USE_HELD), user);
        ck_assert_uint_eq(users->n[USE_HELD], all);
}

START_TEST(a_file_counts_until_its_reader_closes_it) {
        int a = lend(1, 20), b = lend(2, 1), copy;

        /* A small one counts as more, so their number is bounded, too. */
        check_sum(1, 20 * MIB, 20 * MIB + LIMIT_HELD_LEAST_BYTES);
        check_sum(2, LIMIT_HELD_LEAST_BYTES, 20 * MIB + LIMIT_HELD_LEAST_BYTES);
        check_sum(3, 0, 20 * MIB + LIMIT_HELD_LEAST_BYTES);
        copy = dup(a);
        (void) fd_close(a);
        check_sum(1, 20 * MIB, 20 * MIB + LIMIT_HELD_LEAST_BYTES);
        (void) fd_close(copy);
        check_sum(1, 0, LIMIT_HELD_LEAST_BYTES);
        (void) fd_close(b);
        check_sum(2, 0, 0);
}
END_TEST

START_TEST(a_mapping_counts_too) {
        int fd = lend(1, 8);
        void *map = mmap(NULL, 8 * MIB, PROT_READ, MAP_PRIVATE, fd, 0);

        ck_assert_ptr_ne(map, MAP_FAILED);
        (void) fd_close(fd);
        check_sum(1, 8 * MIB, 8 * MIB);
        (void) munmap(map, 8 * MIB);
        check_sum(1, 0, 0);
}
END_TEST

static uint64_t bytes_of(int fd) {
        struct stat st;

        ck_assert_int_eq(fstat(fd, &st), 0);
        return (uint64_t) st.st_blocks * 512;
}

START_TEST(what_no_longer_counts_has_no_bytes) {
        int reader = lend(1, 8), path = open_again(reader, O_PATH), again;
        char byte;

        ck_assert_int_ge(path, 0);
        /* While it is open for reading nothing is taken from it. */
        check_sum(1, 8 * MIB, 8 * MIB);
        ck_assert_uint_eq(bytes_of(reader), 8 * MIB);
        (void) fd_close(reader);
        /* Who opens it in time goes on reading. */
        reader = open_again(path, O_RDONLY);
        ck_assert_int_ge(reader, 0);
        check_sum(1, 8 * MIB, 8 * MIB);
        ck_assert_int_eq(pread(reader, &byte, 1, 8 * MIB - 1), 1);
        (void) fd_close(reader);

        check_sum(1, 0, 0);
        again = open_again(path, O_RDONLY);
        ck_assert_int_ge(again, 0);
        ck_assert_uint_eq(bytes_of(again), 0);
        ck_assert_int_eq(read(again, &byte, 1), 0);
        (void) fd_close(again);
        again = open_again(path, O_RDWR);
        ck_assert_int_ge(again, 0);
        ck_assert_int_eq(ftruncate(again, 1), -1);
        ck_assert_int_eq(write(again, "x", 1), -1);
        ck_assert_int_eq(fallocate(again, 0, 0, 4096), -1);
        ck_assert_uint_eq(bytes_of(again), 0);
        (void) fd_close(again);
        (void) fd_close(path);
}
END_TEST

START_TEST(nobody_writes_into_it) {
        int fd = lend(1, 8), writable;
        struct stat st;

        ck_assert_int_lt(write(fd, "x", 1), 0);
        ck_assert_int_eq(ftruncate(fd, 0), -1);
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0644);
        /* The mode refuses that to others, but not to our own user and to root. */
        writable = open_again(fd, O_RDWR);
        ck_assert_int_ge(writable, 0);
        ck_assert_int_eq(write(writable, "x", 1), -1);
        ck_assert_int_eq(errno, EPERM);
        ck_assert_int_eq(fallocate(writable, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
                         -1);
        ck_assert_int_eq(ftruncate(writable, 64 << 20), -1);
        (void) fd_close(fd);
        check_sum(1, 8 * MIB, 8 * MIB);
        (void) fd_close(writable);
        check_sum(1, 0, 0);
}
END_TEST

START_TEST(what_is_returned_is_given_back_without_a_call) {
        int fd = lend(1, 8);
        unsigned n = 0;

        (void) fd_close(fd);
        /* Two checks at most: then the timer is off, and nothing is left to wait for. */
        while (sd_event_run(event, 2000000) > 0)
                n++;
        ck_assert_uint_ge(n, 1);
        ck_assert_uint_le(n, 2);
        check_sum(1, 0, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("lent");
        TCase *files = tcase_create("files");

        tcase_add_checked_fixture(files, setup, teardown);
        tcase_add_test(files, a_file_counts_until_its_reader_closes_it);
        tcase_add_test(files, a_mapping_counts_too);
        tcase_add_test(files, what_no_longer_counts_has_no_bytes);
        tcase_add_test(files, nobody_writes_into_it);
        tcase_add_test(files, what_is_returned_is_given_back_without_a_call);
        suite_add_tcase(suite, files);
        return check_main(suite);
}
