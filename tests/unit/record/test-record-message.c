/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/macro.h"
#include "check-lack.h"
#include "record/record-message.h"

static int ends[2];
static uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];

static void set_up(void) {
        int bytes = 4 * RECORD_MESSAGE_MAX_BYTES;

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        (void) setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static void tear_down(void) {
        for (size_t i = 0; i < ELEMENTSOF(ends); i++)
                (void) close(ends[i]);
}

static size_t n_open(void) {
        size_t n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

START_TEST(messages_come_as_they_were_sent) {
        RecordMessage message;
        char byte = 0;
        int file[2];

        ck_assert_int_eq(pipe2(file, O_CLOEXEC), 0);
        ck_assert_int_eq(
                record_message_send(ends[0], RECORD_MESSAGE_MODULE, "ab", 2, "cde", 3, file[1]), 0);
        ck_assert_int_eq(record_message_send(ends[0], RECORD_MESSAGE_END, NULL, 0, NULL, 0, -EBADF),
                         0);
        ck_assert_int_eq(record_message_receive(ends[1], space, &message), 0);
        ck_assert_int_eq(message.kind, RECORD_MESSAGE_MODULE);
        ck_assert_uint_eq(message.n, 5);
        ck_assert_mem_eq(message.body, "abcde", 5);
        /* It is the same file, and does not pass on to programs that are started. */
        ck_assert_int_ge(message.fd, 0);
        ck_assert_int_ne(fcntl(message.fd, F_GETFD) & FD_CLOEXEC, 0);
        ck_assert_int_eq(write(message.fd, "x", 1), 1);
        ck_assert_int_eq(read(file[0], &byte, 1), 1);
        ck_assert_int_eq(byte, 'x');
        (void) close(message.fd);
        (void) close(file[0]);
        (void) close(file[1]);
        ck_assert_int_eq(record_message_receive(ends[1], space, &message), 0);
        ck_assert_int_eq(message.kind, RECORD_MESSAGE_END);
        ck_assert_uint_eq(message.n, 0);
        ck_assert_int_lt(message.fd, 0);
}
END_TEST

START_TEST(a_message_has_its_bound) {
        char *bytes = calloc(1, RECORD_MESSAGE_MAX_BYTES + 1);
        RecordMessage message;
        size_t n_before = n_open();

        ck_assert_ptr_nonnull(bytes);
        bytes[RECORD_MESSAGE_MAX_BYTES - 1] = 'z';
        ck_assert_int_eq(record_message_send(ends[0], RECORD_MESSAGE_SAMPLE, bytes,
                                             RECORD_MESSAGE_MAX_BYTES, NULL, 0, -EBADF),
                         0);
        ck_assert_int_eq(record_message_receive(ends[1], space, &message), 0);
        ck_assert_uint_eq(message.n, RECORD_MESSAGE_MAX_BYTES);
        ck_assert_int_eq(((const char *) message.body)[RECORD_MESSAGE_MAX_BYTES - 1], 'z');
        /* One byte more, with a descriptor that nobody gets. */
        ck_assert_int_eq(record_message_send(ends[0], RECORD_MESSAGE_SAMPLE, bytes,
                                             RECORD_MESSAGE_MAX_BYTES + 1, NULL, 0, ends[0]),
                         0);
        ck_assert_int_eq(record_message_receive(ends[1], space, &message), -EBADMSG);
        ck_assert_int_lt(message.fd, 0);
        ck_assert_uint_eq(n_open(), n_before);
        free(bytes);
}
END_TEST

START_TEST(packets_of_others_are_refused) {
        static const uint64_t kinds[] = { _RECORD_MESSAGE_MAX, UINT32_MAX, UINT64_MAX,
                                          UINT64_C(1) << 32 };
        RecordMessage message;

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                ck_assert_int_eq(send(ends[0], &kinds[i], sizeof(kinds[i]), 0), sizeof(kinds[i]));
                ck_assert_int_eq(record_message_receive(ends[1], space, &message), -EBADMSG);
        }
        for (size_t n = 1; n < sizeof(uint64_t); n++) {
                ck_assert_int_eq(send(ends[0], "\0\0\0\0\0\0\0", n, 0), (ssize_t) n);
                ck_assert_int_eq(record_message_receive(ends[1], space, &message), -EBADMSG);
        }
}
END_TEST

/* More descriptors than one: none of them stays open. */
START_TEST(a_message_has_one_descriptor) {
        union {
                char bytes[CMSG_SPACE(3 * sizeof(int))];
                struct cmsghdr head;
        } control = { .bytes = { 0 } };
        const int fds[] = { ends[0], ends[0], ends[0] };
        uint64_t kind = RECORD_MESSAGE_KERNEL;
        struct iovec bytes = { &kind, sizeof(kind) };
        struct msghdr packet = { .msg_iov = &bytes,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control) };
        RecordMessage message;
        size_t n_before = n_open();
        int r;

        if (check_skips(check_lacks_truncation()))
                return;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(fds));
        memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
        ck_assert_int_eq(sendmsg(ends[0], &packet, 0), sizeof(kind));
        r = record_message_receive(ends[1], space, &message);
        ck_assert_int_eq(r, -EBADMSG);
        ck_assert_uint_eq(n_open(), n_before);
}
END_TEST

START_TEST(the_other_side_is_gone) {
        RecordMessage message;

        (void) close(ends[0]);
        ck_assert_int_eq(record_message_receive(ends[1], space, &message), -EPIPE);
        ck_assert_int_eq(record_message_send(ends[1], RECORD_MESSAGE_END, NULL, 0, NULL, 0, -EBADF),
                         -EPIPE);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("record-message");
        TCase *tcase = tcase_create("record-message");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, messages_come_as_they_were_sent);
        tcase_add_test(tcase, a_message_has_its_bound);
        tcase_add_test(tcase, packets_of_others_are_refused);
        tcase_add_test(tcase, a_message_has_one_descriptor);
        tcase_add_test(tcase, the_other_side_is_gone);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
