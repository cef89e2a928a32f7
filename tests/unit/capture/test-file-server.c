/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/file-job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check-lack.h"
#include "check-main.h"
#include "served.h"

#define MAX_FDS 4

static Served served;
static int ours;

static void setup(void) {
        int pair[2];

        new_pair(pair);
        ours = pair[0];
        served_start(&served, pair[1]);
}

/* Whatever the test did, the server ends when nobody is left. */
static void teardown(void) {
        ours = fd_close(ours);
        ck_assert_int_eq(served_join(&served), 0);
}

static void send_with(const void *bytes, size_t n, const int *fds, size_t n_fds) {
        union {
                char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
                struct cmsghdr head;
        } control;
        struct iovec part = { (void *) (uintptr_t) bytes, n };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

        if (n_fds > 0) {
                memset(&control, 0, sizeof(control));
                control.head.cmsg_level = SOL_SOCKET;
                control.head.cmsg_type = SCM_RIGHTS;
                control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        }
        ck_assert_int_eq(sendmsg(ours, &message, MSG_NOSIGNAL), (ssize_t) n);
}

static void ask(uint32_t id, uint32_t question, const int *fds, size_t n_fds) {
        const HelperAsked asked = { .id = id, .question = question };

        send_with(&asked, sizeof(asked), fds, n_fds);
}

typedef struct Got {
        HelperAnswered head;
        FileAnswer bytes;
} Got;

static Got receive(size_t n_bytes) {
        Got got;

        ck_assert_int_eq(recv(ours, &got, sizeof(got), MSG_TRUNC),
                         (ssize_t) (offsetof(Got, bytes) + n_bytes));
        return got;
}

static void expect_refusal(uint32_t id, int32_t result) {
        Got got = receive(0);

        ck_assert_uint_eq(got.head.id, id);
        ck_assert_int_eq(got.head.result, result);
}

/* A pipe whose end is given away tells when nobody has it any more. */
static void expect_closed(int read_fd) {
        char byte;

        ck_assert_int_eq(read(read_fd, &byte, 1), 0);
        (void) close(read_fd);
}

static int new_file(const void *bytes, size_t n) {
        int fd = memfd_create("file", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, bytes, n), (ssize_t) n);
        return fd;
}

/* answers */

START_TEST(a_question_is_answered_with_its_number) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        const HeapLayout wanted = heap_layout_of(fd);

        for (uint32_t i = 0; i < 5; i++) {
                Got got;

                ask(UINT32_MAX - i, FILE_QUESTION_HEAP_LAYOUT, &fd, 1);
                got = receive(sizeof(HeapLayout));
                ck_assert_uint_eq(got.head.id, UINT32_MAX - i);
                ck_assert_int_eq(got.head.result, 0);
                ck_assert_mem_eq(&got.bytes.HEAP_LAYOUT, &wanted, sizeof(wanted));
        }
        (void) close(fd);
}
END_TEST

START_TEST(a_file_that_is_cut_off_has_a_verdict) {
        int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;
        char bytes[64];
        Got got;

        /* The header alone: what it points at is not there. */
        ck_assert_int_eq(read(program, bytes, sizeof(bytes)), (ssize_t) sizeof(bytes));
        fd = new_file(bytes, sizeof(bytes));
        ask(7, FILE_QUESTION_HEAP_LAYOUT, &fd, 1);
        got = receive(sizeof(HeapLayout));
        ck_assert_int_eq(got.head.result, 0);
        ck_assert_uint_eq(got.bytes.HEAP_LAYOUT.verdict, HEAP_FAILURE_FILE_UNREADABLE);
        (void) close(fd);
        (void) close(program);
}
END_TEST

START_TEST(an_empty_file_is_none_of_ours) {
        int fd = new_file("", 0);
        Got got;

        ask(7, FILE_QUESTION_HEAP_LAYOUT, &fd, 1);
        got = receive(sizeof(HeapLayout));
        ck_assert_int_eq(got.head.result, 0);
        ck_assert_uint_ne(got.bytes.HEAP_LAYOUT.verdict, HEAP_FAILURE_NONE);
        (void) close(fd);
}
END_TEST

/* descriptors */

START_TEST(a_file_is_closed_after_its_question) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), pipe_fds[2];
        unsigned n = n_descriptors();

        /* The server is in this process. It closes a file behind the answer. */
        for (uint32_t i = 0; i < 10; i++) {
                ask(i, FILE_QUESTION_HEAP_LAYOUT, &fd, 1);
                ck_assert_int_eq(receive(sizeof(HeapLayout)).head.result, 0);
        }
        ck_assert_uint_le(n_descriptors(), n + 1);
        (void) close(fd);

        ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
        ask(1, FILE_QUESTION_HEAP_LAYOUT, &pipe_fds[1], 1);
        (void) close(pipe_fds[1]);
        expect_refusal(1, -EBADF);
        expect_closed(pipe_fds[0]);
}
END_TEST

static const size_t wrong_numbers[] = { 0, 2, 3, MAX_FDS };

START_TEST(a_question_has_one_descriptor) {
        int read_fds[MAX_FDS] = {}, write_fds[MAX_FDS] = {};
        size_t n = wrong_numbers[_i];

        if (check_skips(n > 1 ? check_lacks_truncation() : NULL))
                return;
        for (size_t i = 0; i < n; i++) {
                int pipe_fds[2];

                ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
                read_fds[i] = pipe_fds[0];
                write_fds[i] = pipe_fds[1];
        }
        ask(3, FILE_QUESTION_HEAP_LAYOUT, write_fds, n);
        for (size_t i = 0; i < n; i++)
                (void) close(write_fds[i]);
        expect_refusal(3, -EINVAL);
        for (size_t i = 0; i < n; i++)
                expect_closed(read_fds[i]);

        /* The next question is answered. */
        write_fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        ask(4, FILE_QUESTION_HEAP_LAYOUT, write_fds, 1);
        ck_assert_int_eq(receive(sizeof(HeapLayout)).head.result, 0);
        (void) close(write_fds[0]);
}
END_TEST

/* valgrind opens /proc/self/exe itself, and for reading. */
static int open_path(void) {
        return open("/etc/passwd", O_PATH | O_CLOEXEC);
}

static int open_directory(void) {
        return open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_device(void) {
        return open("/dev/zero", O_RDONLY | O_CLOEXEC);
}

static int open_socket(void) {
        return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* Of a regular file, but not for reading. */
static int open_to_write(void) {
        char path[] = "/tmp/ctprof-file-XXXXXX";
        int both = mkstemp(path), fd;

        ck_assert_int_ge(both, 0);
        ck_assert_int_eq(write(both, "0123456789", 10), 10);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        (void) close(both);
        (void) unlink(path);
        return fd;
}

static int (*const openers[])(void) = {
        open_path, open_directory, open_device, open_socket, open_to_write,
};

START_TEST(only_regular_files_are_read) {
        int fd = openers[_i]();

        ck_assert_int_ge(fd, 0);
        ask(5, FILE_QUESTION_HEAP_LAYOUT, &fd, 1);
        if (openers[_i] == open_path) {
                /* It is a regular file, and reading it fails: with an errno, or as unreadable. */
                Got got;
                ssize_t n = recv(ours, &got, sizeof(got), 0);

                ck_assert_int_ge(n, (ssize_t) sizeof(got.head));
                ck_assert(got.head.result < 0 ||
                          got.bytes.HEAP_LAYOUT.verdict == HEAP_FAILURE_FILE_UNREADABLE);
        } else {
                expect_refusal(5, -EBADF);
        }
        (void) close(fd);
}
END_TEST

/* questions */

static const uint32_t unknown_questions[] = { _FILE_QUESTION_MAX, 99, INT32_MAX, UINT32_MAX };

START_TEST(an_unknown_question_is_refused) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        ask(8, unknown_questions[_i], &fd, 1);
        expect_refusal(8, -EOPNOTSUPP);
        ck_assert_uint_eq(file_answer_bytes(unknown_questions[_i]), 0);
        (void) close(fd);
}
END_TEST

static const size_t wrong_lengths[] = { 1, sizeof(HelperAsked) - 1, sizeof(HelperAsked) + 1, 256 };

/* Another end than that of teardown(). */
START_TEST(what_is_no_question_ends_the_server) {
        char bytes[256] = "";
        int pair[2], pipe_fds[2], kept = ours;
        Served other;

        ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
        new_pair(pair);
        ours = pair[0];
        served_start(&other, pair[1]);
        send_with(bytes, wrong_lengths[_i], &pipe_fds[1], 1);
        (void) close(pipe_fds[1]);
        ck_assert_int_eq(served_join(&other), -EBADMSG);
        expect_closed(pipe_fds[0]);
        (void) close(pair[0]);
        ours = kept;
}
END_TEST

START_TEST(an_empty_message_ends_the_server_and_brings_nothing) {
        int pair[2], pipe_fds[2], kept = ours;
        Served other;

        ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
        new_pair(pair);
        ours = pair[0];
        served_start(&other, pair[1]);
        send_with("", 0, &pipe_fds[1], 1);
        (void) close(pipe_fds[1]);
        ck_assert_int_eq(served_join(&other), 0);
        expect_closed(pipe_fds[0]);
        (void) close(pair[0]);
        ours = kept;
}
END_TEST

START_TEST(who_asks_need_not_wait_for_the_answer) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        ask(1, FILE_QUESTION_HEAP_LAYOUT, &fd, 1);
        ask(2, FILE_QUESTION_HEAP_LAYOUT, &fd, 1);
        (void) close(fd); /* teardown() goes, and expects a good end */
}
END_TEST

START_TEST(what_is_no_socket_is_said) {
        int fd = new_file("x", 1);

        ck_assert_int_eq(file_server_run(fd), -ENOTSOCK);
        (void) close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("file-server");
        TCase *answers = tcase_create("answers"), *descriptors = tcase_create("descriptors");
        TCase *questions = tcase_create("questions");

        tcase_add_checked_fixture(answers, setup, teardown);
        tcase_add_test(answers, a_question_is_answered_with_its_number);
        tcase_add_test(answers, a_file_that_is_cut_off_has_a_verdict);
        tcase_add_test(answers, an_empty_file_is_none_of_ours);
        tcase_add_checked_fixture(descriptors, setup, teardown);
        tcase_add_test(descriptors, a_file_is_closed_after_its_question);
        tcase_add_loop_test(descriptors, a_question_has_one_descriptor, 0,
                            ELEMENTSOF(wrong_numbers));
        tcase_add_loop_test(descriptors, only_regular_files_are_read, 0, ELEMENTSOF(openers));
        tcase_add_checked_fixture(questions, setup, teardown);
        tcase_add_loop_test(questions, an_unknown_question_is_refused, 0,
                            ELEMENTSOF(unknown_questions));
        tcase_add_loop_test(questions, what_is_no_question_ends_the_server, 0,
                            ELEMENTSOF(wrong_lengths));
        tcase_add_test(questions, an_empty_message_ends_the_server_and_brings_nothing);
        tcase_add_test(questions, who_asks_need_not_wait_for_the_answer);
        tcase_add_test(questions, what_is_no_socket_is_said);
        suite_add_tcase(suite, answers);
        suite_add_tcase(suite, descriptors);
        suite_add_tcase(suite, questions);
        return check_main(suite);
}
