/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/frame.h"

#define MAX_FRAME 200000
#define MAX_QUEUED (4 * 1024 * 1024)
#define MAX_FDS 8

static void open_pair(int fds[static 2]) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static FrameStream *open_stream(int fd, unsigned max_fds) {
        FrameStream *stream;

        ck_assert_int_eq(frame_stream_new(fd, MAX_FRAME, MAX_QUEUED, max_fds, &stream), 0);
        return stream;
}

/* A descriptor that knows its number, to be recognised on the other side. */
static int open_numbered(unsigned number) {
        int fd = eventfd(number + 1, EFD_CLOEXEC | EFD_NONBLOCK);

        ck_assert_int_ge(fd, 0);
        return fd;
}

static unsigned number_of(int fd) {
        uint64_t value = 0;

        ck_assert_int_eq(read(fd, &value, sizeof(value)), sizeof(value));
        return (unsigned) value - 1;
}

/* Descriptors that are closed show at the other end of their pipe. */
typedef struct Canary {
        int watch;
        int fd; /* to be given away */
} Canary;

static Canary canary_open(void) {
        int fds[2];

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        return (Canary){ .watch = fds[0], .fd = fds[1] };
}

static bool canary_is_closed(const Canary *canary) {
        struct pollfd pollfd = { .fd = canary->watch, .events = POLLIN };

        return poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLHUP) != 0;
}

static void send_raw(int socket_fd, const void *bytes, size_t n, const int *fds, size_t n_fds) {
        union {
                char bytes[CMSG_SPACE(sizeof(int) * 253)];
                struct cmsghdr header;
        } control = {};
        char copy[64];
        struct iovec vector = { .iov_base = copy, .iov_len = n };
        struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

        ck_assert_uint_le(n, sizeof(copy));
        memcpy(copy, bytes, n);
        if (n_fds > 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
                memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * n_fds);
                message.msg_control = control.bytes;
                message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        }
        ck_assert_int_eq(sendmsg(socket_fd, &message, MSG_NOSIGNAL), (ssize_t) n);
}

/* What the @i-th frame of a talk looks like. */
static size_t frame_length(unsigned i) {
        return i % 19 == 7 ? 150000 : i % 3;
}
static unsigned frame_fds(unsigned i) {
        return i % 4 == 1 ? 1 : i % 19 == 7 ? 3 : i % 7 == 0 ? MAX_FDS : 0;
}

static int queue_frame(FrameStream *stream, unsigned i, unsigned *n_fds) {
        static char space[150000];
        int fds[MAX_FDS], r;

        memset(space, 'a' + (int) (i % 26), frame_length(i));
        for (unsigned j = 0; j < frame_fds(i); j++)
                fds[j] = open_numbered(*n_fds + j);
        r = frame_stream_queue(stream, (Span){ space, frame_length(i) }, fds, frame_fds(i));
        for (unsigned j = 0; j < frame_fds(i) && r != 0; j++)
                (void) fd_close(fds[j]);
        *n_fds += r == 0 ? frame_fds(i) : 0;
        return r;
}

static void check_frame(FrameStream *stream, Span frame, unsigned i, unsigned *n_fds) {
        ck_assert_uint_eq(frame.n, frame_length(i));
        if (frame.n > 0)
                ck_assert_int_eq(frame.bytes[frame.n - 1], 'a' + (int) (i % 26));
        ck_assert_uint_eq(stream->n_fds, frame_fds(i));
        for (unsigned j = 0; j < frame_fds(i); j++) {
                int fd = frame_stream_take_fd(stream, j);

                ck_assert_int_ge(fd, 0);
                ck_assert_uint_eq(number_of(fd), *n_fds + j);
                ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
                (void) fd_close(fd);
        }
        *n_fds += frame_fds(i);
}

/*
 * Frames with and without descriptors, short and far longer than the socket, written as far as it
 * goes and read now often, now seldom: each descriptor arrives with its frame.
 */
static const unsigned pace_rows[] = { 1, 2, 3, 7, 50 };

START_TEST(descriptors_stay_with_their_frames) {
        FrameStream *sender, *receiver;
        unsigned n_sent = 0, n_sent_fds = 0, n_received = 0, n_received_fds = 0;
        int fds[2], r;
        Span frame;

        open_pair(fds);
        sender = open_stream(fds[0], MAX_FDS);
        receiver = open_stream(fds[1], MAX_FDS);
        for (unsigned round = 0; n_received < 400; round++) {
                while (n_sent < 400) {
                        r = queue_frame(sender, n_sent, &n_sent_fds);
                        if (r == FRAME_E_FULL)
                                break;
                        ck_assert_int_eq(r, 0);
                        n_sent++;
                }
                r = frame_stream_write(sender);
                ck_assert(r == 0 || r == FRAME_E_AGAIN);
                for (unsigned i = 0; i < pace_rows[_i]; i++) {
                        r = frame_stream_read(receiver);
                        ck_assert(r == 0 || r == FRAME_E_AGAIN);
                }
                for (unsigned i = 0; i < 1 + round % pace_rows[_i]; i++) {
                        r = frame_stream_next(receiver, &frame);
                        if (r == FRAME_E_AGAIN)
                                break;
                        ck_assert_int_eq(r, 0);
                        check_frame(receiver, frame, n_received++, &n_received_fds);
                }
        }
        ck_assert_uint_eq(n_sent_fds, n_received_fds);
        frame_stream_free(sender);
        frame_stream_free(receiver);
}
END_TEST

START_TEST(descriptors_leave_with_the_first_byte_of_their_frame) {
        union {
                char bytes[CMSG_SPACE(sizeof(int) * 4)];
                struct cmsghdr header;
        } control;
        static const char expected[] = "a\0bb\0c";
        FrameStream *sender;
        int fds[2], one = open_numbered(1), fd;

        open_pair(fds);
        sender = open_stream(fds[0], MAX_FDS);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("a"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("bb"), &one, 1), 0);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("c"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_write(sender), 0);
        for (size_t i = 0; i < sizeof(expected); i++) {
                char byte;
                struct iovec vector = { .iov_base = &byte, .iov_len = 1 };
                struct msghdr message = { .msg_iov = &vector,
                                          .msg_iovlen = 1,
                                          .msg_control = control.bytes,
                                          .msg_controllen = sizeof(control) };

                ck_assert_int_eq(recvmsg(fds[1], &message, 0), 1);
                ck_assert_int_eq(byte, expected[i]);
                ck_assert_uint_eq(message.msg_controllen > 0, i == 2);
                if (message.msg_controllen > 0) {
                        memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
                        ck_assert_uint_eq(number_of(fd), 1);
                        (void) fd_close(fd);
                }
        }
        frame_stream_free(sender);
        (void) fd_close(fds[1]);
}
END_TEST

START_TEST(descriptors_not_taken_are_closed_by_the_next_call) {
        Canary first = canary_open(), second = canary_open(), third = canary_open();
        FrameStream *receiver;
        int fds[2], taken;
        Span frame;

        open_pair(fds);
        receiver = open_stream(fds[1], MAX_FDS);
        send_raw(fds[0], "x", 2, (const int[]){ first.fd, second.fd }, 2);
        send_raw(fds[0], "y", 2, &third.fd, 1);
        first.fd = fd_close(first.fd);
        second.fd = fd_close(second.fd);
        third.fd = fd_close(third.fd);
        ck_assert_int_eq(frame_stream_wait(receiver, 0, &frame), 0);
        taken = frame_stream_take_fd(receiver, 0);
        ck_assert_int_ge(taken, 0);
        ck_assert_int_eq(frame_stream_take_fd(receiver, 0), -EBADF); /* once */
        ck_assert_int_eq(frame_stream_take_fd(receiver, 2), -EBADF);
        ck_assert(!canary_is_closed(&second));
        ck_assert_int_eq(frame_stream_read(receiver), 0);
        ck_assert(!canary_is_closed(&second));
        ck_assert_int_eq(frame_stream_next(receiver, &frame), 0);
        ck_assert(canary_is_closed(&second));
        ck_assert(!canary_is_closed(&first)); /* the caller's now */
        ck_assert(!canary_is_closed(&third));
        ck_assert_int_eq(frame_stream_next(receiver, &frame), FRAME_E_AGAIN);
        ck_assert(canary_is_closed(&third));
        (void) fd_close(taken);
        frame_stream_free(receiver);
        (void) fd_close(fds[0]);
        (void) fd_close(first.watch);
        (void) fd_close(second.watch);
        (void) fd_close(third.watch);
}
END_TEST

/* In each state a descriptor can be in: before its frame ends, before it is handed out, after. */
START_TEST(free_closes_what_was_received) {
        for (unsigned state = 0; state < 3; state++) {
                Canary canary = canary_open();
                FrameStream *receiver;
                Span frame;
                int fds[2];

                open_pair(fds);
                receiver = open_stream(fds[1], MAX_FDS);
                send_raw(fds[0], "x", state == 0 ? 1 : 2, &canary.fd, 1);
                canary.fd = fd_close(canary.fd);
                ck_assert_int_eq(frame_stream_read(receiver), 0);
                if (state == 2)
                        ck_assert_int_eq(frame_stream_next(receiver, &frame), 0);
                ck_assert(!canary_is_closed(&canary));
                frame_stream_free(receiver);
                ck_assert(canary_is_closed(&canary));
                (void) fd_close(fds[0]);
                (void) fd_close(canary.watch);
        }
}
END_TEST

START_TEST(free_closes_what_was_not_sent) {
        Canary canary = canary_open();
        FrameStream *sender;
        int fds[2];

        open_pair(fds);
        sender = open_stream(fds[0], MAX_FDS);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("x"), &canary.fd, 1), 0);
        ck_assert(!canary_is_closed(&canary));
        frame_stream_free(sender);
        ck_assert(canary_is_closed(&canary));
        (void) fd_close(fds[1]);
        (void) fd_close(canary.watch);
}
END_TEST

START_TEST(sent_descriptors_are_closed_here) {
        Canary canary = canary_open();
        FrameStream *sender;
        int fds[2];

        open_pair(fds);
        sender = open_stream(fds[0], MAX_FDS);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("x"), &canary.fd, 1), 0);
        ck_assert_int_eq(frame_stream_write(sender), 0);
        (void) fd_close(fds[1]); /* and the copy under way goes with the socket */
        ck_assert(canary_is_closed(&canary));
        frame_stream_free(sender);
        (void) fd_close(canary.watch);
}
END_TEST

START_TEST(a_queue_that_is_full_leaves_descriptors_alone) {
        Canary canary = canary_open();
        FrameStream *sender;
        int fds[2];

        open_pair(fds);
        ck_assert_int_eq(frame_stream_new(fds[0], MAX_FRAME, 4, MAX_FDS, &sender), 0);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("1234"), &canary.fd, 1),
                         FRAME_E_FULL);
        ck_assert(!canary_is_closed(&canary));
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("123"), &canary.fd, 1), 0);
        frame_stream_free(sender);
        (void) fd_close(fds[1]);
        (void) fd_close(canary.watch);
}
END_TEST

START_TEST(the_queue_holds_253_descriptors) {
        FrameStream *sender;
        int fds[2], many[254];

        open_pair(fds);
        sender = open_stream(fds[0], MAX_FDS);
        for (unsigned i = 0; i < ELEMENTSOF(many); i++)
                many[i] = open_numbered(i);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("x"), many, 254), FRAME_E_FULL);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("x"), many, 200), 0);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("x"), many + 200, 54),
                         FRAME_E_FULL);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("x"), many + 200, 53), 0);
        ck_assert_int_eq(frame_stream_write(sender), 0);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("x"), many + 253, 1), 0);
        frame_stream_free(sender);
        (void) fd_close(fds[1]);
}
END_TEST

static const struct {
        unsigned max_fds;
        unsigned per_message[3];
        int outcome; /* of reading it all and asking for the frame */
} bound_rows[] = {
        { 3, { 3, 0, 0 }, 0 },
        { 3, { 4, 0, 0 }, FRAME_E_TOO_LARGE },
        { 3, { 1, 1, 1 }, 0 },
        { 3, { 2, 1, 1 }, FRAME_E_TOO_LARGE },
        { 3, { 0, 0, 4 }, FRAME_E_TOO_LARGE },
        { 3, { 3, 3, 3 }, FRAME_E_TOO_LARGE },
        { 0, { 0, 0, 0 }, 0 },
        { 0, { 1, 0, 0 }, FRAME_E_TOO_LARGE },
        { 2, { 253, 0, 0 }, FRAME_E_TOO_LARGE },
        { 253, { 253, 0, 0 }, 0 },
        { 253, { 200, 54, 0 }, FRAME_E_TOO_LARGE },
};

/* One frame in three messages: what is past the bound kills the stream and is closed, all of it. */
START_TEST(descriptors_of_a_frame_are_bounded) {
        static const char *const bytes[] = { "a", "b", "" };
        Canary canary = canary_open();
        FrameStream *receiver;
        int fds[2], many[253], r = 0;
        Span frame;

        open_pair(fds);
        receiver = open_stream(fds[1], bound_rows[_i].max_fds);
        for (unsigned i = 0; i < ELEMENTSOF(many); i++)
                many[i] = canary.fd;
        for (unsigned i = 0; i < 3; i++)
                send_raw(fds[0], bytes[i], 1, many, bound_rows[_i].per_message[i]);
        canary.fd = fd_close(canary.fd);
        while (r == 0)
                r = frame_stream_read(receiver);
        if (r == FRAME_E_AGAIN)
                r = frame_stream_next(receiver, &frame);
        ck_assert_int_eq(r, bound_rows[_i].outcome);
        if (r == 0)
                ck_assert_uint_eq(receiver->n_fds, bound_rows[_i].per_message[0] +
                                                           bound_rows[_i].per_message[1] +
                                                           bound_rows[_i].per_message[2]);
        else {
                ck_assert_int_eq(frame_stream_next(receiver, &frame), FRAME_E_TOO_LARGE);
                ck_assert_uint_eq(receiver->n_fds, 0);
                /* What waits in the socket still holds one. */
                (void) fd_close(fds[0]);
                fds[0] = -EBADF;
                while (recv(receiver->fd, (char[16]){}, 16, 0) > 0)
                        ;
                ck_assert(canary_is_closed(&canary));
        }
        frame_stream_free(receiver);
        (void) fd_close(fds[0]);
        (void) fd_close(canary.watch);
}
END_TEST

/* Pipelined frames with many descriptors: reading pauses, no frame pays for the one before it. */
START_TEST(descriptors_of_waiting_frames_pause_the_reading) {
        FrameStream *receiver;
        unsigned n_frames = 0, n_fds = 0;
        int fds[2], own[3], r;
        Span frame;

        open_pair(fds);
        receiver = open_stream(fds[1], 3);
        for (unsigned i = 0; i < 10; i++) {
                for (unsigned j = 0; j < 3; j++)
                        own[j] = open_numbered(3 * i + j);
                send_raw(fds[0], "x", 2, own, 3);
                for (unsigned j = 0; j < 3; j++)
                        (void) fd_close(own[j]);
        }
        while (n_frames < 10) {
                do
                        r = frame_stream_read(receiver);
                while (r == 0);
                ck_assert_int_eq(r, FRAME_E_AGAIN);
                while (frame_stream_next(receiver, &frame) == 0) {
                        n_frames++;
                        ck_assert_uint_eq(receiver->n_fds, 3);
                        for (unsigned j = 0; j < 3; j++) {
                                int fd = frame_stream_take_fd(receiver, j);

                                ck_assert_uint_eq(number_of(fd), n_fds++);
                                (void) fd_close(fd);
                        }
                }
        }
        frame_stream_free(receiver);
        (void) fd_close(fds[0]);
}
END_TEST

/* A socket that delivers credentials, too: they take room and are passed over. */
START_TEST(other_control_messages_are_passed_over) {
        int fds[2], one = 1, number = open_numbered(5), fd;
        FrameStream *receiver;
        Span frame;

        open_pair(fds);
        ck_assert_int_eq(setsockopt(fds[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
        receiver = open_stream(fds[1], 1);
        send_raw(fds[0], "x", 2, &number, 1);
        (void) fd_close(number);
        ck_assert_int_eq(frame_stream_wait(receiver, 0, &frame), 0);
        ck_assert_uint_eq(receiver->n_fds, 1);
        fd = frame_stream_take_fd(receiver, 0);
        ck_assert_uint_eq(number_of(fd), 5);
        (void) fd_close(fd);
        frame_stream_free(receiver);
        (void) fd_close(fds[0]);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("frame-fds");
        TCase *order = tcase_create("order");
        TCase *ownership = tcase_create("ownership");
        TCase *bounds = tcase_create("bounds");

        tcase_add_loop_test(order, descriptors_stay_with_their_frames, 0, ELEMENTSOF(pace_rows));
        tcase_add_test(order, descriptors_leave_with_the_first_byte_of_their_frame);
        tcase_add_test(order, other_control_messages_are_passed_over);
        tcase_add_test(ownership, descriptors_not_taken_are_closed_by_the_next_call);
        tcase_add_test(ownership, free_closes_what_was_received);
        tcase_add_test(ownership, free_closes_what_was_not_sent);
        tcase_add_test(ownership, sent_descriptors_are_closed_here);
        tcase_add_test(ownership, a_queue_that_is_full_leaves_descriptors_alone);
        tcase_add_test(bounds, the_queue_holds_253_descriptors);
        tcase_add_loop_test(bounds, descriptors_of_a_frame_are_bounded, 0, ELEMENTSOF(bound_rows));
        tcase_add_test(bounds, descriptors_of_waiting_frames_pause_the_reading);
        suite_add_tcase(suite, order);
        suite_add_tcase(suite, ownership);
        suite_add_tcase(suite, bounds);
        return check_main(suite);
}
