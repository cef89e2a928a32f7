/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "wire/frame.h"

#define MAX_FRAME 1000
#define MAX_QUEUED (1024 * 1024)
#define MAX_FDS 4

typedef struct Pair {
        FrameStream *stream;
        int peer; /* the raw other end, -EBADF when it was closed */
} Pair;

static Pair pair_open(size_t max_frame, size_t max_queued, unsigned max_fds) {
        int fds[2];
        Pair pair;

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_eq(frame_stream_new(fds[0], max_frame, max_queued, max_fds, &pair.stream), 0);
        pair.peer = fds[1];
        return pair;
}

static void pair_close(Pair *pair) {
        pair->stream = frame_stream_free(pair->stream);
        pair->peer = fd_close(pair->peer);
}

static void send_bytes(int fd, const void *bytes, size_t n) {
        ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t) n);
}

static void assert_next(FrameStream *stream, const char *text) {
        Span frame;

        ck_assert_int_eq(frame_stream_next(stream, &frame), 0);
        ck_assert_ptr_nonnull(frame.bytes);
        ck_assert(span_is(frame, text));
}

static void assert_no_frame(FrameStream *stream) {
        Span frame;

        ck_assert_int_eq(frame_stream_next(stream, &frame), FRAME_E_AGAIN);
}

START_TEST(a_frame_in_scraps_arrives_whole) {
        static const char bytes[] = "one\0\0three";
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);

        ck_assert(pair.stream->end == pair.stream->first);
        ck_assert_int_eq(frame_stream_read(pair.stream), FRAME_E_AGAIN);
        for (size_t i = 0; i < sizeof(bytes); i++) {
                send_bytes(pair.peer, bytes + i, 1);
                ck_assert_int_eq(frame_stream_read(pair.stream), 0);
                ck_assert_int_eq(frame_stream_read(pair.stream), FRAME_E_AGAIN);
                ck_assert(pair.stream->end > pair.stream->first);
                if (bytes[i] == '\0')
                        assert_next(pair.stream, i == 3 ? "one" : i == 4 ? "" : "three");
                assert_no_frame(pair.stream);
        }
        ck_assert(pair.stream->end == pair.stream->first);
        pair_close(&pair);
}
END_TEST

START_TEST(many_frames_of_one_read_come_in_order) {
        Pair pair = pair_open(MAX_FRAME * 20, MAX_QUEUED, MAX_FDS);
        char bytes[4000], text[2] = "";

        for (size_t i = 0; i < sizeof(bytes); i += 2) {
                bytes[i] = (char) ('a' + i / 2 % 26);
                bytes[i + 1] = '\0';
        }
        send_bytes(pair.peer, bytes, sizeof(bytes));
        ck_assert_int_eq(frame_stream_read(pair.stream), 0);
        for (size_t i = 0; i < sizeof(bytes); i += 2) {
                text[0] = bytes[i];
                ck_assert(pair.stream->end > pair.stream->first);
                assert_next(pair.stream, text);
        }
        assert_no_frame(pair.stream);
        pair_close(&pair);
}
END_TEST

/*
 * Very many of the smallest frames, taken one for each read, so that the buffer is full most of the
 * time: what costs more than a constant for each would show as a timeout.
 */
START_TEST(small_frames_cost_no_more_than_their_bytes) {
        static char chunk[65536];
        Pair pair = pair_open(sizeof(chunk), MAX_QUEUED, MAX_FDS);
        uint64_t n_sent = 0, n_frames = 0;
        bool fine = true;
        Span frame;

        while (n_frames < 300000) {
                ssize_t n = n_sent < 300000
                                    ? send(pair.peer, chunk, MIN_OF(sizeof(chunk), 300000 - n_sent),
                                           MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : 0;
                int r;

                n_sent += n > 0 ? (uint64_t) n : 0;
                r = frame_stream_read(pair.stream);
                fine = fine && (r == 0 || r == FRAME_E_AGAIN);
                r = frame_stream_next(pair.stream, &frame);
                fine = fine && r == 0 && frame.n == 0;
                n_frames++;
                if (!fine)
                        break;
        }
        ck_assert(fine);
        assert_no_frame(pair.stream);
        pair_close(&pair);
}
END_TEST

START_TEST(reading_stops_when_frames_are_not_taken) {
        static char chunk[4096];
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);
        size_t n_taken = 0;
        Span frame;
        int r;

        send_bytes(pair.peer, chunk, sizeof(chunk));
        do
                r = frame_stream_read(pair.stream);
        while (r == 0);
        ck_assert_int_eq(r, FRAME_E_AGAIN);
        /* Nothing is lost: the rest waits in the socket. */
        while (n_taken < sizeof(chunk)) {
                while (frame_stream_next(pair.stream, &frame) == 0)
                        n_taken++;
                r = frame_stream_read(pair.stream);
                ck_assert_int_eq(r, n_taken < sizeof(chunk) ? 0 : FRAME_E_AGAIN);
        }
        ck_assert_uint_eq(n_taken, sizeof(chunk));
        pair_close(&pair);
}
END_TEST

static const size_t frame_rows[] = { 1, 2, 10, 1000, 4094, 4095, 4096, 4097, 100000 };

START_TEST(a_frame_fits_at_the_bound_and_not_past_it) {
        size_t max = frame_rows[_i];
        char *bytes = malloc(max + 2);

        ck_assert_ptr_nonnull(bytes);
        memset(bytes, 'x', max + 2);
        for (unsigned past = 0; past < 2; past++) {
                Pair pair = pair_open(max, MAX_QUEUED, MAX_FDS);
                Span frame;
                int r;

                bytes[max] = past ? 'x' : '\0';
                send_bytes(pair.peer, "\0y", 3); /* frames before do not count */
                send_bytes(pair.peer, bytes, max + 1);
                do {
                        r = frame_stream_next(pair.stream, &frame);
                        if (r == 0 && frame.n == max && frame.bytes[0] == 'x')
                                break;
                        if (r == FRAME_E_AGAIN)
                                r = frame_stream_read(pair.stream);
                } while (r == 0);
                ck_assert_int_eq(r, past ? FRAME_E_TOO_LARGE : 0);
                if (past) {
                        ck_assert_int_eq(frame_stream_read(pair.stream), FRAME_E_TOO_LARGE);
                        ck_assert_int_eq(frame_stream_next(pair.stream, &frame), FRAME_E_TOO_LARGE);
                        ck_assert(pair.stream->end == pair.stream->first);
                }
                pair_close(&pair);
        }
        free(bytes);
}
END_TEST

START_TEST(an_endless_frame_is_given_up_at_the_bound) {
        static char chunk[65536];
        Pair pair = pair_open(1024 * 1024, MAX_QUEUED, MAX_FDS);
        uint64_t n_sent = 0, n_reads = 0;
        int r = 0;

        memset(chunk, 'x', sizeof(chunk));
        while (r != FRAME_E_TOO_LARGE && n_sent < UINT64_C(100) * 1024 * 1024) {
                ssize_t n = send(pair.peer, chunk, sizeof(chunk), MSG_NOSIGNAL | MSG_DONTWAIT);

                n_sent += n > 0 ? (uint64_t) n : 0;
                r = frame_stream_read(pair.stream);
                n_reads++;
        }
        ck_assert_int_eq(r, FRAME_E_TOO_LARGE);
        /* The bound and what fits into the socket. */
        ck_assert_uint_lt(n_sent, 2 * 1024 * 1024);
        ck_assert_uint_lt(n_reads, 1000);
        pair_close(&pair);
}
END_TEST

START_TEST(frames_before_the_end_are_delivered) {
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);

        send_bytes(pair.peer, "one\0two\0half", 12);
        pair.peer = fd_close(pair.peer);
        ck_assert_int_eq(frame_stream_read(pair.stream), 0);
        ck_assert_int_eq(frame_stream_read(pair.stream), FRAME_E_CLOSED);
        ck_assert_int_eq(frame_stream_read(pair.stream), FRAME_E_CLOSED);
        assert_next(pair.stream, "one");
        assert_next(pair.stream, "two");
        assert_no_frame(pair.stream);
        ck_assert(pair.stream->end > pair.stream->first); /* the half */
        pair_close(&pair);
}
END_TEST

START_TEST(a_reset_is_a_close) {
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);

        /* The peer goes without having read what we sent. */
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL("x"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_write(pair.stream), 0);
        pair.peer = fd_close(pair.peer);
        ck_assert_int_eq(frame_stream_read(pair.stream), FRAME_E_CLOSED);
        pair_close(&pair);
}
END_TEST

START_TEST(writing_to_nobody_is_a_close_without_a_signal) {
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);

        pair.peer = fd_close(pair.peer);
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL("x"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_write(pair.stream), FRAME_E_CLOSED);
        ck_assert_int_eq(frame_stream_flush(pair.stream), FRAME_E_CLOSED);
        pair_close(&pair);
}
END_TEST

/* "printf ... | client" closes its sending side and still wants the answer. */
START_TEST(a_half_closed_peer_gets_its_answer) {
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);
        char bytes[8];

        send_bytes(pair.peer, "call", 5);
        ck_assert_int_eq(shutdown(pair.peer, SHUT_WR), 0);
        ck_assert_int_eq(frame_stream_read(pair.stream), 0);
        ck_assert_int_eq(frame_stream_read(pair.stream), FRAME_E_CLOSED);
        assert_next(pair.stream, "call");
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL("reply"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_write(pair.stream), 0);
        ck_assert_int_eq(recv(pair.peer, bytes, sizeof(bytes), 0), 6);
        ck_assert_str_eq(bytes, "reply");
        pair_close(&pair);
}
END_TEST

START_TEST(the_queue_is_full_past_its_bound) {
        Pair pair = pair_open(MAX_FRAME, 10, MAX_FDS);

        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL("0123456789"), NULL, 0),
                         FRAME_E_FULL);
        ck_assert_uint_eq(frame_stream_queued_bytes(pair.stream), 0);
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL("012345678"), NULL, 0), 0);
        ck_assert_uint_eq(frame_stream_queued_bytes(pair.stream), 10);
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL(""), NULL, 0), FRAME_E_FULL);
        ck_assert_int_eq(frame_stream_write(pair.stream), 0);
        ck_assert_uint_eq(frame_stream_queued_bytes(pair.stream), 0);
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL("0123"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL("0123"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_queue(pair.stream, SPAN_LITERAL(""), NULL, 0), FRAME_E_FULL);
        pair_close(&pair);
}
END_TEST

START_TEST(a_frame_with_a_terminator_inside_is_a_mistake) {
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);

        ck_assert_int_eq(frame_stream_queue(pair.stream, (Span){ "a\0b", 3 }, NULL, 0), -EINVAL);
        ck_assert_uint_eq(frame_stream_queued_bytes(pair.stream), 0);
        pair_close(&pair);
}
END_TEST

/* The @i-th frame of a long talk: its length and its letter follow from its number. */
static size_t frame_length(unsigned i) {
        return i % 17 == 0 ? 50000 + i : i % 5 == 0 ? 0 : i % 40;
}

static Span make_frame(unsigned i, char *space) {
        memset(space, 'a' + (int) (i % 26), frame_length(i));
        return (Span){ space, frame_length(i) };
}

/* Takes @n bytes at most, checks them, and returns the number of frames that ended. */
static unsigned check_bytes(int fd, size_t n, unsigned *frame, size_t *at) {
        static char bytes[65536];
        ssize_t n_read = recv(fd, bytes, MIN_OF(n, sizeof(bytes)), MSG_DONTWAIT);
        unsigned n_ended = 0;
        bool right = true;

        for (ssize_t i = 0; i < n_read; i++) {
                bool ends = *at == frame_length(*frame);

                right = right && bytes[i] == (ends ? '\0' : 'a' + (char) (*frame % 26));
                *at = ends ? 0 : *at + 1;
                *frame += ends ? 1 : 0;
                n_ended += ends ? 1 : 0;
        }
        ck_assert(right);
        return n_ended;
}

/* The peer reads little and seldom; the queue fills, drains, fills again, and loses nothing. */
START_TEST(a_slow_reader_gets_everything_in_order) {
        static char space[100000];
        Pair pair = pair_open(MAX_FRAME, 300000, MAX_FDS);
        unsigned n_queued = 0, n_checked = 0, n_full = 0;
        size_t at = 0;
        int r;

        while (n_checked < 300) {
                r = n_queued < 300
                            ? frame_stream_queue(pair.stream, make_frame(n_queued, space), NULL, 0)
                            : FRAME_E_FULL;
                if (r == 0) {
                        n_queued++;
                        continue;
                }
                ck_assert_int_eq(r, FRAME_E_FULL);
                n_full++;
                ck_assert_uint_le(frame_stream_queued_bytes(pair.stream), 300000);
                r = frame_stream_write(pair.stream);
                ck_assert(r == 0 || r == FRAME_E_AGAIN);
                (void) check_bytes(pair.peer, 7777, &n_checked, &at);
        }
        ck_assert_uint_eq(at, 0);
        ck_assert_uint_gt(n_full, 10);
        ck_assert_uint_eq(frame_stream_queued_bytes(pair.stream), 0);
        pair_close(&pair);
}
END_TEST

START_TEST(flush_waits_for_a_reader) {
        static char space[100000];
        Pair pair = pair_open(MAX_FRAME, 64 * 1024 * 1024, MAX_FDS);
        unsigned n_checked = 0;
        size_t at = 0;
        int status;
        pid_t pid;

        for (unsigned i = 0; i < 500; i++)
                ck_assert_int_eq(frame_stream_queue(pair.stream, make_frame(i, space), NULL, 0), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                struct pollfd pollfd = { .fd = pair.peer, .events = POLLIN };

                while (n_checked < 500 && poll(&pollfd, 1, 10000) == 1)
                        (void) check_bytes(pair.peer, 65536, &n_checked, &at);
                (void) frame_stream_free(pair.stream); /* a leak checker looks at children too */
                _exit(n_checked == 500 ? 0 : 1);
        }
        ck_assert_int_eq(frame_stream_flush(pair.stream), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        pair_close(&pair);
}
END_TEST

START_TEST(wait_returns_a_frame_or_says_why_not) {
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);
        Span frame;

        ck_assert_int_eq(frame_stream_wait(pair.stream, 0, &frame), FRAME_E_AGAIN);
        ck_assert_int_eq(frame_stream_wait(pair.stream, 1, &frame), FRAME_E_AGAIN);
        send_bytes(pair.peer, "one\0tw", 6);
        ck_assert_int_eq(frame_stream_wait(pair.stream, -1, &frame), 0);
        ck_assert(span_is(frame, "one"));
        ck_assert_int_eq(frame_stream_wait(pair.stream, 1, &frame), FRAME_E_AGAIN);
        send_bytes(pair.peer, "o", 2);
        ck_assert_int_eq(frame_stream_wait(pair.stream, 10000, &frame), 0);
        ck_assert(span_is(frame, "two"));
        pair.peer = fd_close(pair.peer);
        ck_assert_int_eq(frame_stream_wait(pair.stream, -1, &frame), FRAME_E_CLOSED);
        pair_close(&pair);
}
END_TEST

static void on_alarm(int signal_number) {
}

START_TEST(a_signal_ends_a_wait) {
        const struct sigaction action = { .sa_handler = on_alarm };
        /* Time enough between two for a slow machine under valgrind to come into the wait. */
        const struct itimerval often = { .it_interval.tv_usec = 50000, .it_value.tv_usec = 50000 };
        const struct itimerval never = {};
        Pair pair = pair_open(MAX_FRAME, 4 * MAX_QUEUED, MAX_FDS);
        static char space[MAX_QUEUED];
        struct sigaction old;
        Span frame;
        int r, q;

        memset(space, 'x', sizeof(space));
        ck_assert_int_eq(frame_stream_queue(pair.stream, (Span){ space, sizeof(space) }, NULL, 0),
                         0);
        ck_assert_int_eq(sigaction(SIGALRM, &action, &old), 0);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
        r = frame_stream_wait(pair.stream, -1, &frame);
        q = frame_stream_flush(pair.stream);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
        ck_assert_int_eq(sigaction(SIGALRM, &old, NULL), 0);
        ck_assert_int_eq(r, -EINTR);
        ck_assert_int_eq(q, -EINTR);
        pair_close(&pair);
}
END_TEST

START_TEST(a_stream_does_not_block_and_is_nothing_when_freed) {
        FrameStream *stream = NULL;
        Pair pair = pair_open(MAX_FRAME, MAX_QUEUED, MAX_FDS);

        ck_assert_int_ne(fcntl(pair.stream->fd, F_GETFL) & O_NONBLOCK, 0);
        pair_close(&pair);
        ck_assert_ptr_null(frame_stream_free(NULL));
        ck_assert_int_eq(frame_stream_new(-EBADF, MAX_FRAME, MAX_QUEUED, MAX_FDS, &stream), -EBADF);
        ck_assert_ptr_null(stream);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("frame");
        TCase *read = tcase_create("read");
        TCase *close = tcase_create("close");
        TCase *write = tcase_create("write");
        TCase *wait = tcase_create("wait");

        tcase_add_test(read, a_frame_in_scraps_arrives_whole);
        tcase_add_test(read, many_frames_of_one_read_come_in_order);
        tcase_add_test(read, small_frames_cost_no_more_than_their_bytes);
        tcase_add_test(read, reading_stops_when_frames_are_not_taken);
        tcase_add_loop_test(read, a_frame_fits_at_the_bound_and_not_past_it, 0,
                            ELEMENTSOF(frame_rows));
        tcase_add_test(read, an_endless_frame_is_given_up_at_the_bound);
        tcase_add_test(close, frames_before_the_end_are_delivered);
        tcase_add_test(close, a_reset_is_a_close);
        tcase_add_test(close, writing_to_nobody_is_a_close_without_a_signal);
        tcase_add_test(close, a_half_closed_peer_gets_its_answer);
        tcase_add_test(close, a_stream_does_not_block_and_is_nothing_when_freed);
        tcase_add_test(write, the_queue_is_full_past_its_bound);
        tcase_add_test(write, a_frame_with_a_terminator_inside_is_a_mistake);
        tcase_add_test(write, a_slow_reader_gets_everything_in_order);
        tcase_add_test(write, flush_waits_for_a_reader);
        tcase_add_test(wait, wait_returns_a_frame_or_says_why_not);
        tcase_add_test(wait, a_signal_ends_a_wait);
        suite_add_tcase(suite, read);
        suite_add_tcase(suite, close);
        suite_add_tcase(suite, write);
        suite_add_tcase(suite, wait);
        return check_main(suite);
}
