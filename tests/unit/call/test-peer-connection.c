/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/connection.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "call/cancel.h"
#include "check-main.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* A connection whose peer is the test itself. */
typedef struct Line {
        Connection *connection;
        int peer;
} Line;

static void line_open(Line *line) {
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        line->peer = fds[1];
        ck_assert_int_eq(connection_adopt(fds[0], "ctprofd", &line->connection), 0);
}

static void line_done(Line *line) {
        line->connection = connection_free(line->connection);
        line->peer = fd_close(line->peer);
}

/* The peer says @frames, each with its NUL, before it is asked: a socket keeps them. */
static void line_say(const Line *line, const char *frames, size_t n) {
        ck_assert_int_eq(write(line->peer, frames, n), (ssize_t) n);
}

#define LINE_SAY(line, literal) line_say((line), (literal), sizeof(literal))

typedef struct Heard {
        unsigned n_replies, n_last;
        int64_t sum;
        int stop; /* what the callback returns */
        int fd;
} Heard;

static int on_reply(void *userdata, Connection *connection, json_object *parameters, bool last) {
        Heard *heard = userdata;
        json_object *n;

        heard->n_replies++;
        heard->n_last += last;
        if (json_object_object_get_ex(parameters, "n", &n))
                heard->sum += json_object_get_int64(n);
        heard->fd = connection_take_fd(connection, parameters, "fileDescriptor");
        return heard->stop;
}

static int call(Line *line, uint64_t timeout_ns, Heard *heard, Reply *error, char *complaint) {
        const Request request = { .method = "io.ctprof.Profiler.List",
                                  .parameters = SPAN_LITERAL("{\"n\":1}"),
                                  .more = true,
                                  .timeout_ns = timeout_ns };

        *heard = (Heard){ .fd = -EBADF, .stop = heard->stop };
        return connection_call(line->connection, &request, on_reply, heard, error, complaint);
}

START_TEST(replies_come_one_by_one_to_the_last) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES], asked[256];
        Reply error = {};
        Heard heard = {};

        line_open(&line);
        LINE_SAY(&line,
                 "{\"parameters\":{\"n\":1},\"continues\":true}\0"
                 "{\"parameters\":{\"n\":2},\"continues\":true}\0{\"parameters\":{\"n\":4}}");
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), 0);
        ck_assert_uint_eq(heard.n_replies, 3);
        ck_assert_uint_eq(heard.n_last, 1);
        ck_assert_int_eq(heard.sum, 7);

        ck_assert_int_gt(read(line.peer, asked, sizeof(asked)), 0);
        ck_assert_str_eq(asked, "{\"method\":\"io.ctprof.Profiler.List\",\"parameters\":{\"n\":1},"
                                "\"more\":true}");

        /* And the next call goes over the same line. */
        LINE_SAY(&line, "{\"parameters\":{\"n\":8}}");
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), 0);
        ck_assert_int_eq(heard.sum, 8);
}
END_TEST

START_TEST(an_error_is_the_callers_to_explain) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Reply error = {};
        Heard heard = {};

        line_open(&line);
        LINE_SAY(&line,
                 "{\"parameters\":{},\"continues\":true}\0"
                 "{\"error\":\"io.ctprof.Profiler.Busy\",\"parameters\":{\"reason\":\"x\"}}");
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), CONNECTION_E_ERROR);
        ck_assert_uint_eq(heard.n_replies, 1);
        ck_assert_str_eq(error.error, "io.ctprof.Profiler.Busy");
        reply_done(&error);
}
END_TEST

/* The peer's process: answers when the caller has closed its writing side, and not before. */
static int answer_when_stopped(int peer, pid_t caller) {
        static const char part[] = "{\"parameters\":{\"n\":1},\"continues\":true}";
        static const char last[] = "{\"parameters\":{\"n\":2}}";
        char bytes[256];
        ssize_t n;

        if (read(peer, bytes, sizeof(bytes)) <= 0 ||
            write(peer, part, sizeof(part)) != (ssize_t) sizeof(part) || kill(caller, SIGINT) < 0)
                return 1;
        do
                n = read(peer, bytes, sizeof(bytes));
        while (n > 0);
        return n == 0 && write(peer, last, sizeof(last)) == (ssize_t) sizeof(last) ? 0 : 1;
}

START_TEST(a_call_without_an_end_is_asked_for_one_by_the_first_signal) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        const Request request = { .method = "x.Record", .more = true, .stoppable = true };
        Heard heard = { .fd = -EBADF };
        Reply error = {};
        int status;
        pid_t pid;

        line_open(&line);
        cancel_open();
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                line.connection = connection_free(line.connection);
                _exit(answer_when_stopped(line.peer, getppid()));
        }
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint), 0);
        ck_assert_int_eq(heard.sum, 3);
        ck_assert(!cancel_requested());
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
}
END_TEST

/* What is asked instead of the peer, and how often. */
typedef struct Asked {
        Heard heard; /* on_reply() counts here */
        int watched_fd, peer;
        unsigned n;
        int answer;
} Asked;

static int on_stop(void *userdata) {
        static const char last[] = "{\"parameters\":{\"n\":2}}";
        Asked *asked = userdata;

        asked->n++;
        asked->watched_fd = fd_close(asked->watched_fd);
        return asked->answer != 0 ||
                               write(asked->peer, last, sizeof(last)) == (ssize_t) sizeof(last)
                       ? asked->answer
                       : -EIO;
}

static const int stop_answers[] = { 0, -EPERM, 7 };

START_TEST(a_call_without_an_end_can_be_ended_elsewhere) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Asked asked = { .heard = { .fd = -EBADF }, .answer = stop_answers[_i] };
        const Request request = { .method = "x.Record",
                                  .more = true,
                                  .stoppable = true,
                                  .on_stop = on_stop,
                                  .watched_fd = &asked.watched_fd };
        int fds[2];
        Reply error = {};

        line_open(&line);
        cancel_open();
        asked.peer = line.peer;
        ck_assert_int_eq(pipe(fds), 0);
        asked.watched_fd = fds[0];
        ck_assert_int_eq(close(fds[1]), 0);
        LINE_SAY(&line, "{\"parameters\":{\"n\":1},\"continues\":true}");
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &asked, &error, complaint),
                stop_answers[_i]);
        ck_assert_uint_eq(asked.n, 1);
        ck_assert_int_eq(asked.heard.sum, stop_answers[_i] == 0 ? 3 : 1);
        ck_assert(!cancel_requested());
}
END_TEST

START_TEST(a_callback_ends_the_call) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Heard heard = { .stop = -ENOMEM };
        Reply error = {};

        line_open(&line);
        LINE_SAY(&line, "{\"parameters\":{},\"continues\":true}\0{}");
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), -ENOMEM);
        ck_assert_uint_eq(heard.n_replies, 1);
}
END_TEST

static const struct {
        const char *bytes;
        size_t n;
        bool hang_up;
        const char *sentence;
} failures[] = {
        { "", 0, true,
          "ctprofd hung up in the middle of the call: \"journalctl -u ctprofd\" may tell why." },
        { "{\"parameters\":{},", 17, true,
          "ctprofd hung up in the middle of the call: \"journalctl -u ctprofd\" may tell why." },
        { "{\"parameters\":{},\"continues\":true}", 35, true,
          "ctprofd hung up in the middle of the call: \"journalctl -u ctprofd\" may tell why." },
        { "", 0, false,
          "ctprofd did not answer within 0.001 seconds; --timeout=SECONDS waits longer." },
        { "{\"parameters\":{},\"continues\":true}", 35, false,
          "ctprofd did not answer within 0.001 seconds; --timeout=SECONDS waits longer." },
};

START_TEST(silence_and_hanging_up_are_put_into_words) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Reply error = {};
        Heard heard = {};

        line_open(&line);
        line_say(&line, failures[_i].bytes, failures[_i].n);
        if (failures[_i].hang_up)
                ck_assert_int_eq(shutdown(line.peer, SHUT_WR), 0);
        /* Who hangs up is heard, however late this process gets a CPU. */
        ck_assert_int_eq(call(&line, failures[_i].hang_up ? 60 * NSEC_PER_SEC : NSEC_PER_MSEC,
                              &heard, &error, complaint),
                         CONNECTION_E_FAILED);
        ck_assert_str_eq(complaint, failures[_i].sentence);
}
END_TEST

/* A process that says the same again and again, with pauses, until nobody reads. */
static pid_t start_babbler(Line *line, const char *frames, size_t n, uint64_t pause_ns) {
        const struct timespec pause = { .tv_nsec = (long) pause_ns };
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                line->connection = connection_free(line->connection);
                (void) signal(SIGPIPE, SIG_DFL);
                while (write(line->peer, frames, n) > 0)
                        if (pause_ns > 0)
                                (void) nanosleep(&pause, NULL);
                _exit(0);
        }
        line->peer = fd_close(line->peer);
        return pid;
}

static void end_babbler(Line *line, pid_t pid) {
        line->connection = connection_free(line->connection);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

#define PART "{\"parameters\":{\"progress\":{}},\"continues\":true}"

/* Bytes come all the time, and the call must end all the same. */
static const struct {
        const char *frames;
        size_t n;
        uint64_t pause_ns, timeout_ns, silence_ns;
        const char *sentence;
} babble[] = {
        { PART, sizeof(PART), 0, NSEC_PER_SEC / 5, 0,
          "ctprofd did not answer within 0.2 seconds; --timeout=SECONDS waits longer." },
        { PART, sizeof(PART), NSEC_PER_SEC / 50, NSEC_PER_SEC / 5, NSEC_PER_SEC * 60,
          "ctprofd did not answer within 0.2 seconds; --timeout=SECONDS waits longer." },
        /* a message that never ends is no message */
        { " ", 1, NSEC_PER_SEC / 50, 0, NSEC_PER_SEC / 5,
          "ctprofd sent nothing for 0.2 seconds; --timeout=SECONDS waits longer." },
        { " ", 1, NSEC_PER_SEC / 50, NSEC_PER_SEC, NSEC_PER_SEC / 5,
          "ctprofd sent nothing for 0.2 seconds; --timeout=SECONDS waits longer." },
};

START_TEST(a_peer_that_never_stops_does_not_stop_the_clock) {
        const Request request = { .method = "x.Record",
                                  .more = true,
                                  .timeout_ns = babble[_i].timeout_ns,
                                  .silence_ns = babble[_i].silence_ns };
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Heard heard = { .fd = -EBADF };
        Reply error = {};
        Line line;
        pid_t pid;

        line_open(&line);
        pid = start_babbler(&line, babble[_i].frames, babble[_i].n, babble[_i].pause_ns);
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint),
                CONNECTION_E_FAILED);
        ck_assert_str_eq(complaint, babble[_i].sentence);
        end_babbler(&line, pid);
}
END_TEST

/* Each reply begins the silence anew. */
START_TEST(a_peer_that_says_something_is_waited_for) {
        const Request request = { .method = "x.Record",
                                  .more = true,
                                  .timeout_ns = NSEC_PER_SEC / 2,
                                  .silence_ns = NSEC_PER_SEC / 4 };
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Heard heard = { .fd = -EBADF };
        Reply error = {};
        Line line;
        pid_t pid;

        line_open(&line);
        pid = start_babbler(&line, PART, sizeof(PART), NSEC_PER_SEC / 50);
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint),
                CONNECTION_E_FAILED);
        ck_assert_str_eq(
                complaint,
                "ctprofd did not answer within 0.5 seconds; --timeout=SECONDS waits longer.");
        end_babbler(&line, pid);
}
END_TEST

START_TEST(replies_without_an_end_are_given_up) {
        static char frames[1000 * sizeof(PART)];
        const Request request = { .method = "x.Record", .more = true };
        char complaint[CONNECTION_COMPLAINT_BYTES], expected[CONNECTION_COMPLAINT_BYTES];
        Heard heard = { .fd = -EBADF };
        Reply error = {};
        Line line;
        pid_t pid;

        for (size_t i = 0; i < sizeof(frames); i += sizeof(PART))
                memcpy(frames + i, PART, sizeof(PART));
        line_open(&line);
        pid = start_babbler(&line, frames, sizeof(frames), 0);
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint),
                CONNECTION_E_FAILED);
        ck_assert_uint_eq(heard.n_replies, LIMIT_REPLIES_PER_CALL);
        (void) snprintf(expected, sizeof(expected),
                        "ctprofd does not come to an end: it sent %u replies with %zu bytes.",
                        LIMIT_REPLIES_PER_CALL + 1, (LIMIT_REPLIES_PER_CALL + 1) * strlen(PART));
        ck_assert_str_eq(complaint, expected);
        end_babbler(&line, pid);
}
END_TEST

START_TEST(a_call_for_one_reply_gets_one) {
        const Request request = { .method = "x.List" };
        char complaint[CONNECTION_COMPLAINT_BYTES];
        _cleanup_(line_done) Line line;
        Heard heard = { .fd = -EBADF };
        Reply error = {};

        line_open(&line);
        LINE_SAY(&line, PART);
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint),
                CONNECTION_E_FAILED);
        ck_assert_str_eq(complaint, "ctprofd announced more replies to a call that has one.");
        ck_assert_uint_eq(heard.n_replies, 0);
}
END_TEST

static const struct {
        const char *bytes;
        size_t n;
} garbage[] = {
        { "", 1 },
        { "[]", 3 },
        { "{\"parameters\":[]}", 18 },
        { "{\"parameters\":{\"a\":1,\"a\":2}}", 29 },
        { "{\"continues\":1}", 16 },
        { "\xff", 2 },
};

START_TEST(what_is_no_reply_is_called_that) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Reply error = {};
        Heard heard = {};

        line_open(&line);
        line_say(&line, garbage[_i].bytes, garbage[_i].n);
        ck_assert_int_eq(call(&line, NSEC_PER_SEC, &heard, &error, complaint), CONNECTION_E_FAILED);
        ck_assert_ptr_nonnull(strstr(complaint, "ctprofd sent a reply that is not one: "));
        ck_assert_uint_eq(heard.n_replies, 0);
}
END_TEST

START_TEST(a_peer_that_is_gone_before_the_call_is_noticed) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Reply error = {};
        Heard heard = {};

        line_open(&line);
        line.peer = fd_close(line.peer);
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), CONNECTION_E_FAILED);
        ck_assert_ptr_nonnull(strstr(complaint, "hung up"));
}
END_TEST

START_TEST(a_last_word_is_heard_although_nobody_listens) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Reply error = {};
        Heard heard = {};

        line_open(&line);
        LINE_SAY(&line, "{\"error\":\"io.ctprof.Profiler.Busy\"}");
        line.peer = fd_close(line.peer);
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), CONNECTION_E_ERROR);
        reply_done(&error);
}
END_TEST

START_TEST(descriptors_go_both_ways) {
        char complaint[CONNECTION_COMPLAINT_BYTES], text[3] = "";
        _cleanup_(frame_stream_freep) FrameStream *peer = NULL;
        _cleanup_(fd_closep) int received = -EBADF,
                                 null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        Request request = { .method = "a.b", .fds = &null_fd, .n_fds = 1 };
        Heard heard = { .fd = -EBADF };
        Reply error = {};
        int pipes[2];
        Line line;
        Span frame;

        line_open(&line);
        ck_assert_int_eq(frame_stream_new(line.peer, LIMIT_CALL_BYTES, LIMIT_REPLY_BYTES, 4, &peer),
                         0);
        ck_assert_int_eq(pipe(pipes), 0);
        ck_assert_int_eq(write(pipes[1], "hi", 2), 2);
        (void) fd_close(pipes[1]);
        ck_assert_int_eq(frame_stream_queue(peer,
                                            SPAN_LITERAL("{\"parameters\":{\"fileDescriptor\":0}}"),
                                            &pipes[0], 1),
                         0);
        ck_assert_int_eq(frame_stream_flush(peer), 0);

        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint), 0);
        ck_assert_int_eq(read(heard.fd, text, 2), 2);
        ck_assert_str_eq(text, "hi");
        (void) fd_close(heard.fd);

        /* Ours was sent as a copy. */
        ck_assert_int_ge(fcntl(null_fd, F_GETFD), 0);
        ck_assert_int_eq(frame_stream_wait(peer, 1000, &frame), 0);
        ck_assert_uint_eq(peer->n_fds, 1);
        received = frame_stream_take_fd(peer, 0);
        ck_assert_int_ge(received, 0);
        (void) connection_free(line.connection);
}
END_TEST

START_TEST(descriptors_that_were_not_sent_are_not_there) {
        _cleanup_(line_done) Line line;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Reply error = {};
        Heard heard = {};

        line_open(&line);
        LINE_SAY(&line, "{\"parameters\":{\"fileDescriptor\":0}}");
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), 0);
        ck_assert_int_eq(heard.fd, -EBADF);
        LINE_SAY(&line, "{\"parameters\":{\"fileDescriptor\":-1}}");
        ck_assert_int_eq(call(&line, 0, &heard, &error, complaint), 0);
        ck_assert_int_eq(heard.fd, -EBADF);
}
END_TEST

START_TEST(calls_past_the_bound_are_not_sent) {
        _cleanup_(line_done) Line line;
        _cleanup_(buffer_done) Buffer parameters = {};
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Request request = { .method = "a.b" };
        Reply error = {};
        Heard heard = {};
        char *space;

        line_open(&line);
        ck_assert_int_eq(buffer_append_text(&parameters, "{\"a\":\""), 0);
        ck_assert_int_eq(buffer_reserve(&parameters, 2 * LIMIT_CALL_BYTES, &space), 0);
        memset(space, 'x', 2 * LIMIT_CALL_BYTES);
        parameters.n += 2 * LIMIT_CALL_BYTES;
        ck_assert_int_eq(buffer_append_text(&parameters, "\"}"), 0);
        request.parameters = buffer_span(&parameters);
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint),
                CONNECTION_E_FAILED);
        ck_assert_str_eq(complaint, "The call is too long.");

        request = (Request){ .method = "a.b", .n_fds = LIMIT_FDS_PER_CALL + 1 };
        ck_assert_int_eq(
                connection_call(line.connection, &request, on_reply, &heard, &error, complaint),
                -E2BIG);
}
END_TEST

START_TEST(private_servers_that_do_not_exist_are_named) {
        const Endpoint endpoint = { .kind = ENDPOINT_ANALYSIS };
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Connection *connection = NULL;

        ck_assert_int_eq(setenv("CTPROFD", "/nonexistent/ctprofd", 1), 0);
        ck_assert_int_eq(connection_open(&endpoint, 0, &connection, complaint),
                         CONNECTION_E_FAILED);
        ck_assert_ptr_nonnull(strstr(complaint, "/nonexistent/ctprofd"));
        ck_assert_ptr_nonnull(strstr(complaint, "$CTPROFD"));
        ck_assert_ptr_null(connection);
}
END_TEST

START_TEST(a_private_server_that_dies_is_one_sentence) {
        const Endpoint endpoint = { .kind = ENDPOINT_ANALYSIS };
        const Request request = { .method = "a.b" };
        _cleanup_(connection_freep) Connection *connection = NULL;
        char complaint[CONNECTION_COMPLAINT_BYTES];
        Reply error = {};
        Heard heard = {};

        /* A program that ignores its socket and fails. */
        ck_assert_int_eq(setenv("CTPROFD", "/bin/false", 1), 0);
        ck_assert_int_eq(connection_open(&endpoint, 0, &connection, complaint), 0);
        ck_assert_int_eq(connection_call(connection, &request, on_reply, &heard, &error, complaint),
                         CONNECTION_E_FAILED);
        ck_assert_str_eq(complaint,
                         "The analysis job exited with status 1 in the middle of the call.");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("connection");
        TCase *replies = tcase_create("replies");
        TCase *failure = tcase_create("failure");
        TCase *descriptors = tcase_create("descriptors");
        TCase *server = tcase_create("server");

        tcase_add_test(replies, replies_come_one_by_one_to_the_last);
        tcase_add_test(replies, an_error_is_the_callers_to_explain);
        tcase_add_test(replies, a_callback_ends_the_call);
        tcase_add_test(replies, a_call_without_an_end_is_asked_for_one_by_the_first_signal);
        tcase_add_loop_test(replies, a_call_without_an_end_can_be_ended_elsewhere, 0,
                            ELEMENTSOF(stop_answers));
        tcase_add_loop_test(failure, silence_and_hanging_up_are_put_into_words, 0,
                            ELEMENTSOF(failures));
        tcase_add_loop_test(failure, a_peer_that_never_stops_does_not_stop_the_clock, 0,
                            ELEMENTSOF(babble));
        tcase_add_test(failure, a_peer_that_says_something_is_waited_for);
        tcase_add_test(failure, replies_without_an_end_are_given_up);
        tcase_add_test(failure, a_call_for_one_reply_gets_one);
        tcase_add_loop_test(failure, what_is_no_reply_is_called_that, 0, ELEMENTSOF(garbage));
        tcase_add_test(failure, a_peer_that_is_gone_before_the_call_is_noticed);
        tcase_add_test(failure, a_last_word_is_heard_although_nobody_listens);
        tcase_add_test(failure, calls_past_the_bound_are_not_sent);
        tcase_add_test(descriptors, descriptors_go_both_ways);
        tcase_add_test(descriptors, descriptors_that_were_not_sent_are_not_there);
        tcase_add_test(server, private_servers_that_do_not_exist_are_named);
        tcase_add_test(server, a_private_server_that_dies_is_one_sentence);
        suite_add_tcase(suite, replies);
        suite_add_tcase(suite, failure);
        suite_add_tcase(suite, descriptors);
        suite_add_tcase(suite, server);
        return check_main(suite);
}
