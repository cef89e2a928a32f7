/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <string.h>

#include "capture/heap/thread-counters.h"

#define BASE UINT64_C(0x10000)
#define N_WORDS 4096

/* A process whose memory begins at BASE, where each word is its index; some cannot be read. */
static struct {
        bool is_bad[N_WORDS];
        int error;           /* of a call with nothing read but bad words */
        ssize_t tears_after; /* bytes of the first bad range that are read all the same */
        unsigned n_calls;
        pid_t pid;
} process;

static void setup(void) {
        memset(&process, 0, sizeof(process));
        process.error = -EFAULT;
}

static ssize_t read_memory(void *userdata, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n) {
        ssize_t n_read = 0;

        process.n_calls++;
        process.pid = pid;
        ck_assert_uint_le(n, PROCESS_WORDS_BATCH);
        for (size_t i = 0; i < n; i++) {
                uint64_t first = ((uint64_t) (uintptr_t) remote[i].iov_base - BASE) / 8;

                ck_assert_uint_eq(local[i].iov_len, remote[i].iov_len);
                for (size_t k = 0; k < remote[i].iov_len / 8; k++) {
                        uint64_t word = first + k;

                        if (word >= N_WORDS || process.is_bad[word]) {
                                n_read += process.tears_after;
                                return n_read > 0 ? n_read : process.error;
                        }
                        memcpy((char *) local[i].iov_base + 8 * k, &word, 8);
                }
                n_read += (ssize_t) remote[i].iov_len;
        }
        return n_read;
}

static const CaptureSystem memory = { .read_memory = read_memory };

/* @n ranges of @n_words, one after the other. */
static void make_ranges(WordRange *ranges, uint64_t *words, size_t n, uint32_t n_words) {
        memset(words, 0xee, n * n_words * sizeof(*words));
        for (size_t i = 0; i < n; i++)
                ranges[i] =
                        (WordRange){ BASE + 8 * n_words * i, words + n_words * i, n_words, true };
}

START_TEST(many_ranges_take_few_calls) {
        WordRange ranges[2 * PROCESS_WORDS_BATCH + 1];
        uint64_t words[3 * ELEMENTSOF(ranges)];

        make_ranges(ranges, words, ELEMENTSOF(ranges), 3);
        ck_assert_int_eq(process_words_read(&memory, 17, ranges, ELEMENTSOF(ranges)), 0);
        ck_assert_uint_eq(process.n_calls, 3);
        ck_assert_int_eq(process.pid, 17);
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                ck_assert_uint_eq(words[i], i);
        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                ck_assert(ranges[i].is_read);
}
END_TEST

/* Whichever range stops the kernel, and whether or not it tells how far it came in it. */
START_TEST(a_range_that_cannot_be_read_costs_only_itself) {
        WordRange ranges[7];
        uint64_t words[2 * ELEMENTSOF(ranges)];

        make_ranges(ranges, words, ELEMENTSOF(ranges), 2);
        process.is_bad[_i] = true;
        for (int tears = 0; tears <= 8; tears += 8) {
                process.tears_after = tears;
                process.n_calls = 0;
                ck_assert_int_eq(process_words_read(&memory, 1, ranges, ELEMENTSOF(ranges)), 0);
                for (size_t i = 0; i < ELEMENTSOF(ranges); i++) {
                        ck_assert_int_eq(ranges[i].is_read, i != (size_t) _i / 2);
                        if (ranges[i].is_read)
                                ck_assert_uint_eq(words[2 * i + 1], 2 * i + 1);
                }
                ck_assert_uint_le(process.n_calls, 3);
        }
}
END_TEST

START_TEST(several_bad_ranges_are_passed_one_by_one) {
        WordRange ranges[64];
        uint64_t words[ELEMENTSOF(ranges)];

        make_ranges(ranges, words, ELEMENTSOF(ranges), 1);
        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                process.is_bad[i] = i % 3 == 0 || i > 60;
        ck_assert_int_eq(process_words_read(&memory, 1, ranges, ELEMENTSOF(ranges)), 0);
        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                ck_assert_int_eq(ranges[i].is_read, !process.is_bad[i]);
        memset(process.is_bad, true, sizeof(process.is_bad));
        ck_assert_int_eq(process_words_read(&memory, 1, ranges, ELEMENTSOF(ranges)), 0);
        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                ck_assert(!ranges[i].is_read);
}
END_TEST

START_TEST(a_kernel_that_reads_nothing_and_says_so_does_not_loop) {
        WordRange ranges[3];
        uint64_t words[3];

        make_ranges(ranges, words, 3, 1);
        process.is_bad[0] = process.is_bad[1] = process.is_bad[2] = true;
        process.error = 0;
        ck_assert_int_eq(process_words_read(&memory, 1, ranges, 3), 0);
        ck_assert_uint_eq(process.n_calls, 3);
}
END_TEST

static const struct {
        int error, code;
} error_rows[] = {
        { -ESRCH, TEXT_E_VANISHED },
        { -EPERM, TEXT_E_DENIED },
        { -ENOSYS, TEXT_E_UNSUPPORTED },
        { -ENOMEM, -ENOMEM },
};

START_TEST(a_process_that_cannot_be_read_at_all_is_told_so) {
        WordRange ranges[3];
        uint64_t words[3];

        make_ranges(ranges, words, 3, 1);
        process.is_bad[0] = true;
        process.error = error_rows[_i].error;
        ck_assert_int_eq(process_words_read(&memory, 1, ranges, 3), error_rows[_i].code);
        ck_assert_uint_eq(process.n_calls, 1);
        ck_assert(!ranges[0].is_read && !ranges[1].is_read && !ranges[2].is_read);
}
END_TEST

/* They come from another process's memory, and never go to the kernel. */
static const WordRange wild_rows[] = {
        { .address = 0, .n = 1 },
        { .address = BASE + 4, .n = 1 },
        { .address = BASE + 1, .n = 1 },
        { .address = BASE, .n = 0 },
        { .address = UINT64_MAX - 7, .n = 1 },
        { .address = UINT64_MAX - 15, .n = 2 },
        { .address = UINT64_MAX - 16, .n = 1 },
};

START_TEST(wild_addresses_are_not_asked_for) {
        WordRange ranges[3];
        uint64_t words[3];

        make_ranges(ranges, words, 3, 1);
        ranges[_i % 3].address = wild_rows[_i].address;
        ranges[_i % 3].n = wild_rows[_i].n;
        ck_assert_int_eq(process_words_read(&memory, 1, ranges, 3), 0);
        for (int i = 0; i < 3; i++)
                ck_assert_int_eq(ranges[i].is_read, i != _i % 3);
        ck_assert_uint_eq(process.n_calls, 1);
        ck_assert_int_eq(process_words_read(&memory, 1, &ranges[_i % 3], 1), 0);
        ck_assert_uint_eq(process.n_calls, 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("process-words");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, setup, NULL);
        tcase_add_test(read, many_ranges_take_few_calls);
        tcase_add_loop_test(read, a_range_that_cannot_be_read_costs_only_itself, 0, 14);
        tcase_add_test(read, several_bad_ranges_are_passed_one_by_one);
        tcase_add_test(read, a_kernel_that_reads_nothing_and_says_so_does_not_loop);
        tcase_add_loop_test(read, a_process_that_cannot_be_read_at_all_is_told_so, 0,
                            ELEMENTSOF(error_rows));
        tcase_add_loop_test(read, wild_addresses_are_not_asked_for, 0, ELEMENTSOF(wild_rows));
        suite_add_tcase(suite, read);
        return check_main(suite);
}
