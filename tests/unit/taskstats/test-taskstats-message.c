/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <string.h>

#include "base/macro.h"
#include "kernel/taskstats/taskstats-message.h"

#define FAMILY 31
#define SEQUENCE 100

/* A datagram put together by hand, not by the library that takes it apart. */
typedef struct Datagram {
        _Alignas(4) char bytes[8192];
        size_t n;
} Datagram;

static void put(Datagram *datagram, const void *bytes, size_t n) {
        ck_assert_uint_le(datagram->n + n, sizeof(datagram->bytes));
        memcpy(datagram->bytes + datagram->n, bytes, n);
        datagram->n += n;
}

static void put_attribute(Datagram *datagram, uint16_t type, uint16_t n_payload) {
        put(datagram, &(uint16_t){ (uint16_t) (n_payload + 4) }, 2);
        put(datagram, &type, 2);
}

static void put_header(Datagram *datagram, uint32_t n_payload, uint16_t type, uint32_t sequence) {
        struct nlmsghdr header = { .nlmsg_len = NLMSG_HDRLEN + n_payload,
                                   .nlmsg_type = type,
                                   .nlmsg_seq = sequence };

        put(datagram, &header, sizeof(header));
}

#define STATS_BYTES 560

static void put_answer(Datagram *datagram, uint32_t sequence, uint32_t tid, uint16_t version) {
        struct genlmsghdr genl = { .cmd = TASKSTATS_CMD_NEW, .version = 1 };
        char stats[STATS_BYTES] = "";

        memcpy(stats, &version, sizeof(version));
        memcpy(stats + 16, &(uint64_t){ tid * 10 }, 8); /* cpu_count */
        put_header(datagram, sizeof(genl) + 4 + 4 + 8 + 4 + STATS_BYTES, FAMILY, sequence);
        put(datagram, &genl, sizeof(genl));
        put_attribute(datagram, TASKSTATS_TYPE_NULL, 0);
        put_attribute(datagram, TASKSTATS_TYPE_AGGR_PID, 8 + 4 + STATS_BYTES);
        put_attribute(datagram, TASKSTATS_TYPE_PID, 4);
        put(datagram, &tid, 4);
        put_attribute(datagram, TASKSTATS_TYPE_STATS, STATS_BYTES);
        put(datagram, stats, sizeof(stats));
}

static void put_error(Datagram *datagram, uint32_t sequence, int error) {
        struct nlmsgerr body = { .error = error };

        put_header(datagram, sizeof(body), NLMSG_ERROR, sequence);
        put(datagram, &body, sizeof(body));
}

static const pid_t tids[] = { 7, 8, 9 };

static size_t decode(const Datagram *datagram, TaskstatsAnswer *answers) {
        return taskstats_replies_decode(datagram->bytes, datagram->n, FAMILY, SEQUENCE, tids,
                                        ELEMENTSOF(tids), answers);
}

#define UNANSWERED                                                      \
        {                                                               \
                { .error = -EINPROGRESS }, { .error = -EINPROGRESS }, { \
                        .error = -EINPROGRESS                           \
                }                                                       \
        }

START_TEST(a_request_is_28_bytes_that_ask_for_one_tid) {
        const char *expected = "\x1c\0\0\0"
                               "\x1f\0"
                               "\1\0"
                               "\5\0\0\0"
                               "\0\0\0\0"
                               "\1\1\0\0"
                               "\x08\0"
                               "\1\0"
                               "\xd2\4\0\0";
        char bytes[TASKSTATS_REQUEST_BYTES];

        taskstats_request_encode(FAMILY, 5, 1234, bytes);
        ck_assert_mem_eq(bytes, expected, sizeof(bytes));
}
END_TEST

START_TEST(answers_find_their_requests_in_any_order) {
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };
        uint64_t count;

        put_answer(&datagram, SEQUENCE + 2, 9, 16);
        put_error(&datagram, SEQUENCE + 1, -ESRCH);
        put_answer(&datagram, SEQUENCE, 7, 16);
        ck_assert_uint_eq(decode(&datagram, answers), 3);
        ck_assert_int_eq(answers[0].error, 0);
        ck_assert_int_eq(answers[1].error, -ESRCH);
        ck_assert_int_eq(answers[2].error, 0);
        ck_assert(taskstats_get(&answers[0].stats, TASKSTATS_CPU_COUNT, &count));
        ck_assert_uint_eq(count, 70);
        ck_assert(taskstats_get(&answers[2].stats, TASKSTATS_CPU_COUNT, &count));
        ck_assert_uint_eq(count, 90);
}
END_TEST

START_TEST(answers_of_another_batch_or_family_are_skipped) {
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };

        put_answer(&datagram, SEQUENCE - 1, 7, 16);
        put_error(&datagram, SEQUENCE + 3, -EPERM);
        put_header(&datagram, 0, FAMILY + 1, SEQUENCE);
        put_header(&datagram, 0, NLMSG_DONE, SEQUENCE + 1);
        ck_assert_uint_eq(decode(&datagram, answers), 0);
        for (size_t i = 0; i < 3; i++)
                ck_assert_int_eq(answers[i].error, -EINPROGRESS);
}
END_TEST

START_TEST(a_second_answer_to_one_request_is_skipped) {
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };

        put_error(&datagram, SEQUENCE, -EPERM);
        put_answer(&datagram, SEQUENCE, 7, 16);
        ck_assert_uint_eq(decode(&datagram, answers), 1);
        ck_assert_int_eq(answers[0].error, -EPERM);
}
END_TEST

START_TEST(an_answer_about_another_tid_is_refused) {
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };

        put_answer(&datagram, SEQUENCE, 8, 16);
        ck_assert_uint_eq(decode(&datagram, answers), 1);
        ck_assert_int_eq(answers[0].error, -EBADMSG);
}
END_TEST

START_TEST(a_struct_too_old_to_read_is_said_to_be) {
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };

        put_answer(&datagram, SEQUENCE, 7, 7);
        ck_assert_uint_eq(decode(&datagram, answers), 1);
        ck_assert_int_eq(answers[0].error, -EPROTO);
}
END_TEST

START_TEST(an_error_message_without_an_error_is_malformed) {
        static const int errors[] = { 0, 3, -EINPROGRESS };
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };

        put_error(&datagram, SEQUENCE, errors[_i]);
        ck_assert_uint_eq(decode(&datagram, answers), 1);
        ck_assert_int_eq(answers[0].error, -EBADMSG);
}
END_TEST

/* Every cut leaves a datagram whose last message does not fit: it is not read. */
START_TEST(a_datagram_cut_anywhere_answers_nothing) {
        Datagram whole = { .n = 0 };

        put_answer(&whole, SEQUENCE, 7, 16);
        for (size_t n = 0; n < whole.n; n++) {
                TaskstatsAnswer answers[] = UNANSWERED;
                char *exact = malloc(n + 1);

                ck_assert_ptr_nonnull(exact);
                memcpy(exact, whole.bytes, n);
                ck_assert_uint_eq(
                        taskstats_replies_decode(exact, n, FAMILY, SEQUENCE, tids, 3, answers), 0);
                free(exact);
        }
}
END_TEST

/* The lengths inside lie: the message is as long as it says, its attributes are not. */
START_TEST(attributes_that_run_past_their_message_are_malformed) {
        static const size_t lengths_at[] = { 24, 28, 36 };
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };

        put_answer(&datagram, SEQUENCE, 7, 16);
        memcpy(datagram.bytes + lengths_at[_i], &(uint16_t){ 4096 }, 2);
        ck_assert_uint_eq(decode(&datagram, answers), 1);
        ck_assert_int_eq(answers[0].error, -EBADMSG);
}
END_TEST

START_TEST(a_message_without_its_attributes_is_malformed) {
        static const uint16_t wrong = 9;
        static const size_t types_at[] = { 26, 30, 38 };
        TaskstatsAnswer answers[] = UNANSWERED;
        Datagram datagram = { .n = 0 };

        put_answer(&datagram, SEQUENCE, 7, 16);
        memcpy(datagram.bytes + types_at[_i], &wrong, sizeof(wrong));
        ck_assert_uint_eq(decode(&datagram, answers), 1);
        ck_assert_int_eq(answers[0].error, -EBADMSG);
}
END_TEST

/* exits */

/* As the kernel sends it; with the last thread of a process, the sums of that process follow. */
static void put_exit(Datagram *datagram, uint32_t tid, uint16_t version, bool is_last) {
        size_t begin = datagram->n;

        put_answer(datagram, 0, tid, version);
        if (is_last) {
                char stats[STATS_BYTES] = "";

                memcpy(stats, &version, sizeof(version));
                memcpy(stats + 16, &(uint64_t){ 4711 }, 8);
                put_attribute(datagram, TASKSTATS_TYPE_AGGR_TGID, 8 + 4 + STATS_BYTES);
                put_attribute(datagram, TASKSTATS_TYPE_TGID, 4);
                put(datagram, &tid, 4);
                put_attribute(datagram, TASKSTATS_TYPE_STATS, STATS_BYTES);
                put(datagram, stats, sizeof(stats));
        }
        memcpy(datagram->bytes + begin, &(uint32_t){ (uint32_t) (datagram->n - begin) }, 4);
}

START_TEST(an_exit_tells_of_its_thread_and_not_of_the_process) {
        Datagram datagram = { .n = 0 };
        TaskstatsExit told;
        uint64_t count;

        put_exit(&datagram, 7, 16, _i == 1);
        ck_assert_int_eq(taskstats_exit_decode(datagram.bytes, datagram.n, FAMILY, &told), 0);
        ck_assert_int_eq(told.tid, 7);
        ck_assert(taskstats_get(&told.stats, TASKSTATS_CPU_COUNT, &count));
        ck_assert_uint_eq(count, 70);
}
END_TEST

START_TEST(sums_of_a_process_alone_are_no_exit) {
        struct genlmsghdr genl = { .cmd = TASKSTATS_CMD_NEW, .version = 1 };
        Datagram datagram = { .n = 0 };
        TaskstatsExit told;

        put_header(&datagram, sizeof(genl) + 4 + 8, FAMILY, 0);
        put(&datagram, &genl, sizeof(genl));
        put_attribute(&datagram, TASKSTATS_TYPE_AGGR_TGID, 8);
        put_attribute(&datagram, TASKSTATS_TYPE_TGID, 4);
        put(&datagram, &(uint32_t){ 7 }, 4);
        ck_assert_int_eq(taskstats_exit_decode(datagram.bytes, datagram.n, FAMILY, &told),
                         TASKSTATS_E_NO_EXIT);
}
END_TEST

START_TEST(what_is_no_exit_is_told_from_what_is_a_broken_one) {
        Datagram datagram = { .n = 0 }, error = { .n = 0 }, old = { .n = 0 };
        TaskstatsExit told;

        put_exit(&datagram, 7, 16, true);
        ck_assert_int_eq(taskstats_exit_decode(datagram.bytes, datagram.n, FAMILY + 1, &told),
                         TASKSTATS_E_NO_EXIT);
        put_error(&error, 0, -EPERM);
        ck_assert_int_eq(taskstats_exit_decode(error.bytes, error.n, FAMILY, &told),
                         TASKSTATS_E_NO_EXIT);
        put_exit(&old, 7, 7, false);
        ck_assert_int_eq(taskstats_exit_decode(old.bytes, old.n, FAMILY, &told),
                         TASKSTATS_E_TOO_OLD);
        for (size_t n = 0; n < datagram.n; n++)
                ck_assert_int_eq(taskstats_exit_decode(datagram.bytes, n, FAMILY, &told),
                                 TASKSTATS_E_MALFORMED);
}
END_TEST

START_TEST(an_exit_without_its_struct_is_malformed) {
        static const size_t types_at[] = { 30, 38 };
        Datagram datagram = { .n = 0 };
        TaskstatsExit told;

        put_exit(&datagram, 7, 16, false);
        memcpy(datagram.bytes + types_at[_i], &(uint16_t){ 9 }, 2);
        ck_assert_int_eq(taskstats_exit_decode(datagram.bytes, datagram.n, FAMILY, &told),
                         TASKSTATS_E_MALFORMED);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("taskstats-message");
        TCase *exits = tcase_create("exits");
        TCase *request = tcase_create("request");
        TCase *reply = tcase_create("reply");

        tcase_add_test(request, a_request_is_28_bytes_that_ask_for_one_tid);
        tcase_add_test(reply, answers_find_their_requests_in_any_order);
        tcase_add_test(reply, answers_of_another_batch_or_family_are_skipped);
        tcase_add_test(reply, a_second_answer_to_one_request_is_skipped);
        tcase_add_test(reply, an_answer_about_another_tid_is_refused);
        tcase_add_test(reply, a_struct_too_old_to_read_is_said_to_be);
        tcase_add_loop_test(reply, an_error_message_without_an_error_is_malformed, 0, 3);
        tcase_add_test(reply, a_datagram_cut_anywhere_answers_nothing);
        tcase_add_loop_test(reply, attributes_that_run_past_their_message_are_malformed, 0, 3);
        tcase_add_loop_test(reply, a_message_without_its_attributes_is_malformed, 0, 3);
        tcase_add_loop_test(exits, an_exit_tells_of_its_thread_and_not_of_the_process, 0, 2);
        tcase_add_test(exits, sums_of_a_process_alone_are_no_exit);
        tcase_add_test(exits, what_is_no_exit_is_told_from_what_is_a_broken_one);
        tcase_add_loop_test(exits, an_exit_without_its_struct_is_malformed, 0, 2);
        suite_add_tcase(suite, exits);
        suite_add_tcase(suite, request);
        suite_add_tcase(suite, reply);
        return check_main(suite);
}
