/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "remote/relay.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "call/cancel.h"
#include "check-main.h"
#include "remote/bridge-frame.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* A client, our end of the bridge, its other end, and a daemon: both relays run in threads. */
typedef struct Bridge {
        FrameStream *client, *daemon;
        Relay near, far;
        pthread_t near_thread, far_thread;
        int near_result, far_result;
} Bridge;

static void *run_near(void *userdata) {
        Bridge *bridge = userdata;

        bridge->near_result = relay_run(&bridge->near);
        return NULL;
}

static void *run_far(void *userdata) {
        Bridge *bridge = userdata;

        bridge->far_result = relay_run(&bridge->far);
        return NULL;
}

static int hold(Relay *relay, Span message) {
        return bridge_parse_hold(message, &relay->held_until_realtime_ns) ? RELAY_SWALLOW : 0;
}

static void make_pair(FrameStream **ret_stream, int *ret_fd) {
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_eq(frame_stream_new(fds[0], LIMIT_REPLY_BYTES, 2 * LIMIT_REPLY_BYTES,
                                          LIMIT_FDS_PER_CALL, ret_stream),
                         0);
        *ret_fd = fds[1];
}

static void bridge_open(Bridge *bridge) {
        int there[2], back[2];

        (void) signal(SIGPIPE, SIG_IGN);
        *bridge = (Bridge){
                .near = { .log_fd = -EBADF,
                          .max_in_bytes = LIMIT_REPLY_BYTES,
                          .max_out_bytes = LIMIT_CALL_BYTES,
                          .is_near = true },
                .far = { .log_fd = -EBADF,
                         .max_in_bytes = LIMIT_CALL_BYTES,
                         .max_out_bytes = LIMIT_REPLY_BYTES,
                         .on_message = hold },
        };
        ck_assert_int_eq(pipe2(there, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(back, O_CLOEXEC), 0);
        make_pair(&bridge->client, &bridge->near.socket_fd);
        make_pair(&bridge->daemon, &bridge->far.socket_fd);
        bridge->near.out_fd = there[1];
        bridge->far.in_fd = there[0];
        bridge->far.out_fd = back[1];
        bridge->near.in_fd = back[0];
        ck_assert_int_eq(pthread_create(&bridge->near_thread, NULL, run_near, bridge), 0);
        ck_assert_int_eq(pthread_create(&bridge->far_thread, NULL, run_far, bridge), 0);
}

/* Hangs up at the client, and waits for both ends. */
static void bridge_close(Bridge *bridge) {
        bridge->client = frame_stream_free(bridge->client);
        ck_assert_int_eq(pthread_join(bridge->near_thread, NULL), 0);
        bridge->daemon = frame_stream_free(bridge->daemon);
        ck_assert_int_eq(pthread_join(bridge->far_thread, NULL), 0);
}

static char *bytes_of(size_t n, unsigned seed) {
        char *bytes = malloc(n + 1);

        for (size_t i = 0; i < n; i++)
                bytes[i] = (char) (seed + i * 7 + (i >> 8));
        return bytes;
}

static int file_of(size_t n, unsigned seed) {
        _cleanup_(freep) char *bytes = bytes_of(n, seed);
        int fd = unnamed_file_open();

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, bytes, n), (ssize_t) n);
        return fd;
}

static void check_file(int fd, size_t n, unsigned seed) {
        _cleanup_(freep) char *bytes = malloc(n + 1), *wanted = bytes_of(n, seed);
        struct stat st;

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert(S_ISREG(st.st_mode));
        ck_assert_uint_eq(st.st_nlink, 0);
        ck_assert_int_eq(pread(fd, bytes, n + 1, 0), (ssize_t) n);
        ck_assert_int_eq(memcmp(bytes, wanted, n), 0);
        (void) close(fd);
}

static void send_frame(FrameStream *stream, const char *text, const int *fds, size_t n_fds) {
        ck_assert_int_eq(frame_stream_queue(stream, span_of(text), fds, n_fds), 0);
        ck_assert_int_eq(frame_stream_flush(stream), 0);
}

static void expect_frame(FrameStream *stream, const char *text, size_t n_fds) {
        Span frame;

        ck_assert_int_eq(frame_stream_wait(stream, 60000, &frame), 0);
        ck_assert_msg(span_is(frame, text), "%.*s", (int) frame.n, frame.bytes);
        ck_assert_uint_eq(stream->n_fds, n_fds);
}

START_TEST(messages_and_files_go_both_ways) {
        static const size_t sizes[] = { 0, 1, 65536, 300001 };
        int fds[ELEMENTSOF(sizes)];
        Bridge bridge;

        bridge_open(&bridge);
        send_frame(bridge.client, "{\"call\":1}", NULL, 0);
        expect_frame(bridge.daemon, "{\"call\":1}", 0);
        for (unsigned i = 0; i < ELEMENTSOF(sizes); i++)
                fds[i] = file_of(sizes[i], i);
        send_frame(bridge.client, "{\"call\":2}", fds, ELEMENTSOF(fds));
        expect_frame(bridge.daemon, "{\"call\":2}", ELEMENTSOF(fds));
        for (unsigned i = 0; i < ELEMENTSOF(sizes); i++)
                check_file(frame_stream_take_fd(bridge.daemon, i), sizes[i], i);
        fds[0] = file_of(1 << 20, 9);
        send_frame(bridge.daemon, "{\"reply\":2}", fds, 1);
        send_frame(bridge.daemon, "{\"reply\":3}", NULL, 0);
        expect_frame(bridge.client, "{\"reply\":2}", 1);
        check_file(frame_stream_take_fd(bridge.client, 0), 1 << 20, 9);
        expect_frame(bridge.client, "{\"reply\":3}", 0);
        bridge_close(&bridge);
        ck_assert_int_eq(bridge.near_result, RELAY_E_HUNG_UP);
        /* Whichever it sees first: that nobody reads any more, or that the daemon is gone. */
        ck_assert(bridge.far_result == RELAY_OK || bridge.far_result == RELAY_E_PIPE);
}
END_TEST

/* Several that come in one read are all passed on, without anything that comes behind them. */
START_TEST(messages_do_not_wait_for_others) {
        Bridge bridge;
        char text[32];

        bridge_open(&bridge);
        for (int i = 0; i < 100; i++) {
                (void) snprintf(text, sizeof(text), "{\"n\":%d}", i);
                ck_assert_int_eq(frame_stream_queue(bridge.client, span_of(text), NULL, 0), 0);
        }
        ck_assert_int_eq(frame_stream_flush(bridge.client), 0);
        for (int i = 0; i < 100; i++) {
                (void) snprintf(text, sizeof(text), "{\"n\":%d}", i);
                expect_frame(bridge.daemon, text, 0);
        }
        bridge_close(&bridge);
}
END_TEST

START_TEST(a_long_message_comes_whole) {
        _cleanup_(freep) char *text = malloc(LIMIT_REPLY_BYTES + 1);
        Bridge bridge;

        bridge_open(&bridge);
        memset(text, 'x', LIMIT_REPLY_BYTES);
        text[0] = '{';
        text[LIMIT_REPLY_BYTES] = '\0';
        send_frame(bridge.daemon, text, NULL, 0);
        expect_frame(bridge.client, text, 0);
        bridge_close(&bridge);
}
END_TEST

/* A client that closes its writing side asks the call to end, and still hears the answer. */
START_TEST(half_an_end_goes_through) {
        Bridge bridge;
        Span frame;

        bridge_open(&bridge);
        send_frame(bridge.client, "{\"call\":1}", NULL, 0);
        ck_assert_int_eq(shutdown(bridge.client->fd, SHUT_WR), 0);
        expect_frame(bridge.daemon, "{\"call\":1}", 0);
        ck_assert_int_eq(frame_stream_wait(bridge.daemon, 60000, &frame), FRAME_E_CLOSED);
        send_frame(bridge.daemon, "{\"reply\":1}", NULL, 0);
        bridge.daemon = frame_stream_free(bridge.daemon);
        expect_frame(bridge.client, "{\"reply\":1}", 0);
        ck_assert_int_eq(pthread_join(bridge.near_thread, NULL), 0);
        ck_assert_int_eq(pthread_join(bridge.far_thread, NULL), 0);
        ck_assert_int_eq(bridge.near_result, RELAY_OK);
        ck_assert_int_eq(bridge.far_result, RELAY_OK);
        bridge.client = frame_stream_free(bridge.client);
}
END_TEST

START_TEST(a_daemon_that_hangs_up_is_an_end) {
        Bridge bridge;
        Span frame;

        bridge_open(&bridge);
        send_frame(bridge.daemon, "{\"reply\":1}", NULL, 0);
        bridge.daemon = frame_stream_free(bridge.daemon);
        expect_frame(bridge.client, "{\"reply\":1}", 0);
        ck_assert_int_eq(pthread_join(bridge.near_thread, NULL), 0);
        ck_assert_int_eq(pthread_join(bridge.far_thread, NULL), 0);
        ck_assert_int_eq(bridge.near_result, RELAY_OK);
        /* Whoever sees it in the thread that owned the socket. */
        ck_assert_int_eq(frame_stream_wait(bridge.client, 60000, &frame), FRAME_E_CLOSED);
        bridge.client = frame_stream_free(bridge.client);
}
END_TEST

START_TEST(a_call_is_held_until_its_time) {
        uint64_t until_ns = clock_now_ns(CLOCK_REALTIME) + 300 * NSEC_PER_MSEC;
        Buffer text = {};
        Bridge bridge;
        Span frame;

        bridge_open(&bridge);
        ck_assert_int_eq(bridge_append_hold(&text, until_ns), 0);
        ck_assert_int_eq(frame_stream_queue(bridge.client, buffer_span(&text), NULL, 0), 0);
        send_frame(bridge.client, "{\"call\":1}", NULL, 0);
        ck_assert_int_eq(frame_stream_wait(bridge.daemon, 60000, &frame), 0);
        ck_assert(clock_now_ns(CLOCK_REALTIME) >= until_ns);
        ck_assert(span_is(frame, "{\"call\":1}"));
        bridge_close(&bridge);
        buffer_done(&text);
}
END_TEST

START_TEST(only_files_are_sent) {
        int fds[2];
        Bridge bridge;

        bridge_open(&bridge);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        send_frame(bridge.client, "{\"call\":1}", fds, 2);
        ck_assert_int_eq(pthread_join(bridge.near_thread, NULL), 0);
        ck_assert_int_eq(bridge.near_result, RELAY_E_NO_FILE);
        ck_assert_int_eq(pthread_join(bridge.far_thread, NULL), 0);
        bridge.client = frame_stream_free(bridge.client);
        bridge.daemon = frame_stream_free(bridge.daemon);
}
END_TEST

/* What a bridge sends, and how our end takes it. */
#define TEXT(literal) \
        { (literal), sizeof(literal) - 1 }
static const struct {
        Span text;
        int r;
} lies[] = {
        { TEXT("motd\n"), RELAY_E_MALFORMED },
        { TEXT("{\"ctprofFile\":{\"bytes\":2}}\0abc{}\0"), RELAY_E_MALFORMED },
        { TEXT("{\"ctprofFile\":{\"bytes\":5000000000}}\0"), RELAY_E_FILE_TOO_LONG },
        { TEXT("{\"ctprofFile\":{\"bytes\":3}}\0ab"), RELAY_E_PIPE },
        { TEXT("{\"half\""), RELAY_E_PIPE },
        { TEXT("{}\0"), RELAY_OK },
        { TEXT(""), RELAY_OK },
};

START_TEST(a_bridge_that_lies_is_found_out) {
        int there[2], back[2];
        Bridge bridge = { .near = { .log_fd = -EBADF,
                                    .max_in_bytes = LIMIT_REPLY_BYTES,
                                    .max_out_bytes = LIMIT_CALL_BYTES,
                                    .is_near = true } };

        ck_assert_int_eq(pipe2(there, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(back, O_CLOEXEC), 0);
        make_pair(&bridge.client, &bridge.near.socket_fd);
        bridge.near.out_fd = there[1];
        bridge.near.in_fd = back[0];
        ck_assert_int_eq(write(back[1], lies[_i].text.bytes, lies[_i].text.n),
                         (ssize_t) lies[_i].text.n);
        (void) close(back[1]);
        ck_assert_int_eq(relay_run(&bridge.near), lies[_i].r);
        bridge.client = frame_stream_free(bridge.client);
        (void) close(there[0]);
}
END_TEST

/* A bridge that ended leaves its reason, and what it does not read does not hide it. */
START_TEST(the_last_words_of_a_bridge_are_read) {
        static const char words[] = "{\"last\":1}";
        int there[2], back[2], log[2];
        Bridge bridge = { .near = { .max_in_bytes = LIMIT_REPLY_BYTES,
                                    .max_out_bytes = LIMIT_CALL_BYTES,
                                    .is_near = true } };

        (void) signal(SIGPIPE, SIG_IGN);
        ck_assert_int_eq(pipe2(there, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(back, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(log, O_CLOEXEC | O_NONBLOCK), 0);
        make_pair(&bridge.client, &bridge.near.socket_fd);
        bridge.near.out_fd = there[1];
        bridge.near.in_fd = back[0];
        bridge.near.log_fd = log[0];
        send_frame(bridge.client, "{\"call\":1}", NULL, 0);
        (void) close(there[0]);
        ck_assert_int_eq(write(back[1], words, sizeof(words)), sizeof(words));
        for (int i = 0; i < 200; i++)
                ck_assert_int_gt(dprintf(log[1], "line %d\n", i), 0);
        (void) close(back[1]);
        (void) close(log[1]);
        ck_assert_int_eq(relay_run(&bridge.near), RELAY_OK);
        while (relay_read_log(&bridge.near))
                ;
        ck_assert_uint_le(bridge.near.n_tail, RELAY_TAIL_BYTES);
        ck_assert_mem_eq(bridge.near.tail + bridge.near.n_tail - 9, "line 199\n", 9);
        expect_frame(bridge.client, words, 0);
        bridge.client = frame_stream_free(bridge.client);
        (void) close(log[0]);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("relay");
        TCase *tcase = tcase_create("relay");

        tcase_add_test(tcase, messages_and_files_go_both_ways);
        tcase_add_test(tcase, messages_do_not_wait_for_others);
        tcase_add_test(tcase, a_long_message_comes_whole);
        tcase_add_test(tcase, half_an_end_goes_through);
        tcase_add_test(tcase, a_daemon_that_hangs_up_is_an_end);
        tcase_add_test(tcase, a_call_is_held_until_its_time);
        tcase_add_test(tcase, only_files_are_sent);
        tcase_add_loop_test(tcase, a_bridge_that_lies_is_found_out, 0, ELEMENTSOF(lies));
        tcase_add_test(tcase, the_last_words_of_a_bridge_are_read);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
