/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "echo-server.h"
#include "kernel/bpf/ledger-record.h"
#include "wire/frame.h"

static EchoServer echo;
static EchoServerLimits limits;
static char text[64 * 1024];

static void setup(void) {
        limits = echo_default_limits();
        echo_init(&echo, &limits);
}

static void setup_small(void) {
        limits = echo_default_limits();
        limits.connection.max_call_bytes = 1024;
        limits.connection.max_queued_bytes = 256 * 1024;
        limits.connection.pause_bytes = 64 * 1024;
        echo_init(&echo, &limits);
}

/* Short limits for cases that wait for them to pass; other cases may run on a busy machine. */
static void setup_hasty(void) {
        limits = echo_default_limits();
        limits.connection.pause_bytes = 64 * 1024;
        limits.connection.idle_ns = 20 * NSEC_PER_MSEC;
        limits.connection.stalled_ns = 20 * NSEC_PER_MSEC;
        echo_init(&echo, &limits);
}

static void teardown(void) {
        echo_done(&echo);
}

START_TEST(two_calls_in_one_write_are_answered_in_order) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":1}}\0"
                      "{\"method\":\"x.Echo\",\"parameters\":{\"n\":2}}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)),
                         "{\"parameters\":{\"n\":1}}|{\"parameters\":{\"n\":2}}|");
        fd_close(fd);
}
END_TEST

START_TEST(a_second_call_waits_for_the_answer_to_the_first) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Hold\"}\0{\"method\":\"x.Echo\",\"parameters\":{\"n\":2}}");
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 1);
        ck_assert_str_eq(connection_state(echo.held), "called");
        echo_reply(echo.held, SPAN_LITERAL("{}"), NULL, 0);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 2);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)),
                         "{\"parameters\":{}}|{\"parameters\":{\"n\":2}}|");
        fd_close(fd);
}
END_TEST

START_TEST(a_call_in_single_bytes_is_answered) {
        static const char call[] = "{\"method\":\"x.Echo\",\"parameters\":{\"n\":7}}";
        int fd = echo_connect(&echo);

        for (size_t i = 0; i < sizeof(call); i++) {
                echo_send(fd, call + i, 1);
                echo_turn(&echo);
        }
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "{\"parameters\":{\"n\":7}}|");
        fd_close(fd);
}
END_TEST

START_TEST(many_calls_in_one_write_take_turns_with_another_peer) {
        int greedy = echo_connect(&echo), modest = echo_connect(&echo);

        for (unsigned i = 0; i < 50; i++)
                ECHO_SEND(greedy, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":1}}");
        ECHO_SEND(modest, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":2}}");
        while (echo_receive(modest, text, sizeof(text))[0] == '\0')
                ck_assert_int_ge(sd_event_run(echo.event, 0), 0);
        ck_assert_str_eq(text, "{\"parameters\":{\"n\":2}}|");
        ck_assert_uint_lt(echo.n_calls, 25);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 51);
        fd_close(greedy);
        fd_close(modest);
}
END_TEST

static const struct {
        const char *call;
        size_t n;
} malformed_rows[] = {
#define ROW(text) \
        { text, sizeof(text) }
        ROW("{\"method\":\"x.Echo\",\"parameters\":{\"s\":\"\xff\"}}"), /* not UTF-8 */
        ROW("{\"method\":\"x.Echo\",\"method\":\"x.Echo\"}"),           /* a member twice */
        ROW("{\"method\":\"x.Echo\"} {}"),                              /* two values */
        ROW("{\"parameters\":{}}"),                                     /* no method */
        ROW("{\"method\":1}"),
        ROW("[]"),
        ROW("GET / HTTP/1.1\r\n\r\n"),
        ROW(""),
#undef ROW
};

START_TEST(what_is_no_call_is_refused_and_ends_that_connection_only) {
        int bad = echo_connect(&echo), good = echo_connect(&echo);

        echo_send(bad, malformed_rows[_i].call, malformed_rows[_i].n);
        ECHO_SEND(bad, "{\"method\":\"x.Echo\"}");
        echo_turn(&echo);
        ck_assert_ptr_nonnull(strstr(echo_receive(bad, text, sizeof(text)),
                                     "\"error\":\"org.varlink.service.InvalidParameter\""));
        ck_assert_str_eq(echo_receive(bad, text, sizeof(text)), "EOF");
        ck_assert_uint_eq(echo.n_calls, 0);

        ECHO_SEND(good, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":3}}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(good, text, sizeof(text)), "{\"parameters\":{\"n\":3}}|");
        fd_close(bad);
        fd_close(good);
}
END_TEST

START_TEST(a_hundred_mebibytes_without_an_end_cost_one_connection) {
        int flood = echo_connect(&echo), good = echo_connect(&echo);
        ssize_t n = 0;
        size_t sent = 0;

        memset(text, 'x', sizeof(text));
        while (sent < 100 * 1024 * 1024) {
                n = send(flood, text, sizeof(text), MSG_NOSIGNAL | MSG_DONTWAIT);
                if (n > 0)
                        sent += (size_t) n;
                else if (errno != EAGAIN)
                        break;
                ck_assert_int_ge(sd_event_run(echo.event, 0), 0);
        }
        ck_assert_int_lt(n, 0);
        ck_assert_int_eq(errno, EPIPE);
        ck_assert_uint_le(sent, 2 * LIMIT_CALL_BYTES);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 1);

        ECHO_SEND(good, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":4}}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(good, text, sizeof(text)), "{\"parameters\":{\"n\":4}}|");
        fd_close(flood);
        fd_close(good);
}
END_TEST

START_TEST(a_call_may_have_just_the_bound_of_bytes) {
        int fd = echo_connect(&echo), over = echo_connect(&echo);
        char call[1026];

        memset(call, ' ', sizeof(call));
        memcpy(call, "{\"method\":\"x.Echo\"}", 19);
        call[1024] = '\0';
        echo_send(fd, call, 1025);
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "{\"parameters\":{\"n\":-1}}|");

        call[1024] = ' ';
        call[1025] = '\0';
        echo_send(over, call, 1026);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 1);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 1);
        fd_close(fd);
        fd_close(over);
}
END_TEST

START_TEST(an_error_carries_its_name_and_parameter) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Fail\"}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)),
                         "{\"error\":\"org.varlink.service.MethodNotFound\","
                         "\"parameters\":{\"method\":\"x.Fail\"}}|");
        fd_close(fd);
}
END_TEST

START_TEST(an_upgrade_is_refused_without_asking) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Echo\",\"upgrade\":true}");
        echo_turn(&echo);
        ck_assert_ptr_nonnull(strstr(echo_receive(fd, text, sizeof(text)), "\"upgrade\""));
        ck_assert_uint_eq(echo.n_calls, 0);
        ECHO_SEND(fd, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":5}}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "{\"parameters\":{\"n\":5}}|");
        fd_close(fd);
}
END_TEST

START_TEST(a_oneway_call_gets_no_answer_and_the_next_one_does) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Echo\",\"oneway\":true,\"parameters\":{\"n\":1}}\0"
                      "{\"method\":\"x.Fail\",\"oneway\":true}\0"
                      "{\"method\":\"x.Echo\",\"parameters\":{\"n\":2}}");
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 3);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "{\"parameters\":{\"n\":2}}|");
        fd_close(fd);
}
END_TEST

START_TEST(hanging_up_cancels_the_call_in_flight) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Hold\"}\0{\"method\":\"x.Echo\"}");
        echo_turn(&echo);
        fd_close(fd);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_hangups, 1);
        ck_assert_uint_eq(echo.n_calls, 1);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 0);
}
END_TEST

START_TEST(hanging_up_between_calls_is_no_cancellation) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Echo\"}");
        echo_turn(&echo);
        fd_close(fd);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_hangups, 0);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 0);
}
END_TEST

START_TEST(a_caller_that_only_stops_sending_is_answered) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Hold\"}\0{\"method\":\"x.Echo\",\"parameters\":{\"n\":2}}");
        ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_hangups, 0);
        echo_reply(echo.held, SPAN_LITERAL("{}"), NULL, 0);
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)),
                         "{\"parameters\":{}}|{\"parameters\":{\"n\":2}}|");
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "EOF");
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 0);
        fd_close(fd);
}
END_TEST

START_TEST(a_caller_that_only_stops_sending_asks_each_call_to_end) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"more\":true}\0{\"method\":\"x.Hold\"}");
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_stops, 0);
        ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_stops, 1); /* once, even if the call goes on */
        connection_continue(echo.held, SPAN_LITERAL("{}"));
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_stops, 1);
        echo_reply(echo.held, SPAN_LITERAL("{}"), NULL, 0);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 2);
        ck_assert_uint_eq(echo.n_stops, 2);
        ck_assert_uint_eq(echo.n_hangups, 0);
        echo_reply(echo.held, SPAN_LITERAL("{}"), NULL, 0);
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)),
                         "{\"parameters\":{},\"continues\":true}|{\"parameters\":{}}|"
                         "{\"parameters\":{}}|");
        fd_close(fd);
}
END_TEST

START_TEST(a_oneway_call_is_done_although_its_caller_left) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"oneway\":true}\0"
                      "{\"method\":\"x.Echo\",\"oneway\":true}\0{\"method\":\"x.Echo\"}");
        fd_close(fd);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 1);
        ck_assert_uint_eq(echo.n_hangups, 0);
        echo_reply(echo.held, SPAN_LITERAL("{}"), NULL, 0);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 2); /* not the third: nobody reads its answer */
        ck_assert_uint_eq(echo.n_hangups, 0);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 0);
}
END_TEST

START_TEST(replies_with_more_to_follow_keep_the_call_open) {
        int fd = echo_connect(&echo);
        char number[32];

        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"more\":true}");
        echo_turn(&echo);
        connection_continue(echo.held, echo_parameters(number, sizeof(number), 1));
        connection_forward(echo.held, SPAN_LITERAL("{\"parameters\":{},\"continues\":true}"),
                           REPLY_PART, NULL, 0);
        ck_assert_str_eq(connection_state(echo.held), "called");
        connection_forward(echo.held, SPAN_LITERAL("{\"parameters\":{}}"), REPLY_LAST, NULL, 0);
        ck_assert_str_eq(connection_state(echo.held), "reading");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)),
                         "{\"parameters\":{\"n\":1},\"continues\":true}|"
                         "{\"parameters\":{},\"continues\":true}|{\"parameters\":{}}|");
        fd_close(fd);
}
END_TEST

static void send_with_fds(int fd, const char *call, size_t n, const int *attached,
                          size_t n_attached) {
        char space[CMSG_SPACE(sizeof(int) * FRAME_QUEUE_MAX_FDS)] = {};
        struct iovec vector = { (void *) (uintptr_t) call, n };
        struct msghdr message = {
                .msg_iov = &vector,
                .msg_iovlen = 1,
                .msg_control = space,
                .msg_controllen = CMSG_SPACE(sizeof(int) * n_attached),
        };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        *header = (struct cmsghdr){
                .cmsg_level = SOL_SOCKET,
                .cmsg_type = SCM_RIGHTS,
                .cmsg_len = CMSG_LEN(sizeof(int) * n_attached),
        };
        memcpy(CMSG_DATA(header), attached, sizeof(int) * n_attached);
        ck_assert_int_eq(sendmsg(fd, &message, MSG_NOSIGNAL), (ssize_t) n);
}

static void send_with_fd(int fd, const char *call, size_t n, int attached) {
        send_with_fds(fd, call, n, &attached, 1);
}

/* The read end sees EOF when the last copy of the write end is closed. */
static bool is_closed_everywhere(int read_end) {
        char byte;

        return recv(read_end, &byte, 1, MSG_DONTWAIT) == 0;
}

START_TEST(descriptors_that_nobody_takes_are_closed_with_the_call) {
        static const char hold[] = "{\"method\":\"x.Hold\"}", take[] = "{\"method\":\"x.Take\"}";
        int fd = echo_connect(&echo), ends[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        send_with_fd(fd, hold, sizeof(hold), ends[1]);
        fd_close(ends[1]);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_fds, 1);
        while (disposal_n_children(echo.disposal) > 0)
                ck_assert_int_ge(sd_event_run(echo.event, UINT64_MAX), 0);
        ck_assert(is_closed_everywhere(ends[0]));
        fd_close(ends[0]);

        echo_reply(echo.held, SPAN_LITERAL("{}"), NULL, 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        send_with_fd(fd, take, sizeof(take), ends[1]);
        fd_close(ends[1]);
        echo_turn(&echo);
        ck_assert_int_ge(echo.taken_fd, 0);
        ck_assert(!is_closed_everywhere(ends[0]));
        fd_close(ends[0]);
        fd_close(fd);
}
END_TEST

/* The kernel would close descriptors that do not fit, in our context. */
START_TEST(descriptors_past_the_bound_are_closed_elsewhere_too) {
        static const char call[] = "{\"method\":\"x.Hold\"}";
        int fd = echo_connect(&echo), ends[2], copies[FRAME_QUEUE_MAX_FDS];
        char answer[512];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        for (size_t i = 0; i < ELEMENTSOF(copies); i++)
                copies[i] = ends[1];
        send_with_fds(fd, call, sizeof(call), copies, ELEMENTSOF(copies));
        fd_close(ends[1]);
        ck_assert_int_ge(sd_event_run(echo.event, UINT64_MAX), 0);
        ck_assert_uint_eq(users_count(echo.users, getuid(), USE_CLOSING), ELEMENTSOF(copies));
        ck_assert(!is_closed_everywhere(ends[0]));
        while (users_count(echo.users, getuid(), USE_CLOSING) > 0)
                ck_assert_int_ge(sd_event_run(echo.event, UINT64_MAX), 0);
        ck_assert(is_closed_everywhere(ends[0]));
        ck_assert_ptr_nonnull(
                strstr(echo_receive(fd, answer, sizeof(answer)), "too many descriptors"));
        fd_close(ends[0]);
        fd_close(fd);
}
END_TEST

START_TEST(whose_descriptors_are_still_being_closed_brings_no_more) {
        int fd = echo_connect(&echo);
        DisposalKeeper keeper;
        char answer[512];

        /* As if a child was closing them. */
        disposal_keeper_init(&keeper, echo.disposal, getuid());
        for (unsigned i = 0; i <= LIMIT_FDS_CLOSING_PER_UID; i++) {
                int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

                keeper.keeper.note(copy, keeper.keeper.userdata);
                (void) disposal_close(echo.disposal, copy);
        }
        ECHO_SEND(fd, "{\"method\":\"x.Hold\"}");
        ck_assert_int_ge(sd_event_run(echo.event, UINT64_MAX), 0);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_calls, 0);
        ck_assert_ptr_nonnull(strstr(echo_receive(fd, answer, sizeof(answer)), "Busy"));
        fd_close(fd);
}
END_TEST

START_TEST(descriptors_of_an_answer_that_cannot_go_out_are_closed) {
        int fd = echo_connect(&echo), ends[2];

        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"oneway\":true}");
        echo_turn(&echo);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        echo_reply(echo.held, SPAN_LITERAL("{}"), &ends[1], 1);
        ck_assert(is_closed_everywhere(ends[0]));
        fd_close(ends[0]);
        fd_close(fd);
}
END_TEST

START_TEST(a_call_begun_and_not_ended_is_given_up_in_time) {
        int fd = echo_connect(&echo), silent = echo_connect(&echo);

        echo_send(fd, "{\"meth", 6);
        echo_await(&echo, 1);
        ck_assert_ptr_nonnull(strstr(echo_receive(fd, text, sizeof(text)), "in time"));

        /* A peer that has not begun a call may be silent for ever. */
        ECHO_SEND(silent, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":1}}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(silent, text, sizeof(text)), "{\"parameters\":{\"n\":1}}|");
        fd_close(fd);
        fd_close(silent);
}
END_TEST

/* Sends replies of 512 bytes until the connection is full or has ended. */
static unsigned fill(Connection *connection) {
        static char reply[512];
        unsigned n = 0;

        memset(reply, ' ', sizeof(reply));
        memcpy(reply, "{\"parameters\":{},\"continues\":true}", 34);
        while (echo.n_hangups == 0 && !connection_is_full(connection)) {
                connection_forward(connection, (Span){ reply, sizeof(reply) }, REPLY_PART, NULL, 0);
                echo_turn(&echo);
                n++;
        }
        return n;
}

START_TEST(a_slow_reader_fills_up_and_drains) {
        int fd = echo_connect(&echo), other = echo_connect(&echo);
        size_t expected, received = 0;

        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"more\":true}");
        echo_turn(&echo);
        expected = fill(echo.held) * 513u;
        ck_assert_uint_le(frame_stream_queued_bytes(echo.held->stream),
                          limits.connection.pause_bytes + 513);
        ck_assert_uint_eq(echo.n_drained, 0);

        ECHO_SEND(other, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":1}}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(other, text, sizeof(text)), "{\"parameters\":{\"n\":1}}|");

        while (received < expected) {
                ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

                if (n > 0)
                        received += (size_t) n;
                else
                        ck_assert_int_eq(errno, EAGAIN);
                echo_turn(&echo);
        }
        ck_assert_uint_eq(received, expected);
        ck_assert_uint_eq(echo.n_drained, 1);
        echo_reply(echo.held, SPAN_LITERAL("{}"), NULL, 0);
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "{\"parameters\":{}}|");
        fd_close(fd);
        fd_close(other);
}
END_TEST

START_TEST(a_reader_that_reads_nothing_is_dropped_in_time) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"more\":true}");
        echo_turn(&echo);
        (void) fill(echo.held);
        echo_await(&echo, 0);
        ck_assert_uint_eq(echo.n_hangups, 1);
        fd_close(fd);
}
END_TEST

START_TEST(a_reader_that_reads_nothing_gets_no_further_call_answered) {
        unsigned n_sent = 0, n_answered;
        int fd = echo_connect(&echo);

        while (n_sent < 200000) {
                static const char call[] = "{\"method\":\"x.Echo\",\"parameters\":{\"n\":1}}";
                ssize_t n = send(fd, call, sizeof(call), MSG_NOSIGNAL | MSG_DONTWAIT);

                if (n < 0)
                        break;
                ck_assert_int_eq(n, sizeof(call));
                n_sent++;
                ck_assert_int_ge(sd_event_run(echo.event, 0), 0);
        }
        ck_assert_int_eq(errno, EAGAIN);
        n_answered = echo.n_calls;
        ck_assert_uint_lt(n_answered, n_sent);
        fd_close(fd);
}
END_TEST

START_TEST(an_answer_past_every_bound_breaks_the_connection_only) {
        int fd = echo_connect(&echo);
        Buffer huge;
        char *space;

        buffer_init(&huge, 0);
        ck_assert_int_eq(buffer_reserve(&huge, limits.connection.max_queued_bytes, &space), 0);
        memset(space, ' ', limits.connection.max_queued_bytes);
        ECHO_SEND(fd, "{\"method\":\"x.Hold\"}");
        echo_turn(&echo);
        connection_forward(echo.held, (Span){ space, limits.connection.max_queued_bytes },
                           REPLY_PART, NULL, 0);
        ck_assert_uint_eq(echo.n_hangups, 0); /* not from within the reply function */
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 1);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.n_hangups, 1);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 0);
        buffer_done(&huge);
        fd_close(fd);
}
END_TEST

START_TEST(the_peer_is_known) {
        int fd = echo_connect(&echo);

        ECHO_SEND(fd, "{\"method\":\"x.Hold\"}");
        echo_turn(&echo);
        ck_assert_uint_eq(echo.held->peer.uid, getuid());
        ck_assert_int_eq(echo.held->peer.pid, getpid());
        fd_close(fd);
}
END_TEST

/* What the list says, as whoever judges threads that end reads it. */
static const LedgerOwn *map_own(void) {
        _cleanup_(fd_closep) int fd = own_processes_lend(&echo.own);
        const LedgerOwn *list = mmap(NULL, sizeof(LedgerOwn), PROT_READ, MAP_SHARED, fd, 0);

        ck_assert_ptr_ne(list, MAP_FAILED);
        return list;
}

static bool is_listed(const LedgerOwn *list, pid_t pid, uint64_t start_ticks, uint64_t later_ns) {
        struct timespec now;
        uint64_t now_ns;

        (void) clock_gettime(CLOCK_BOOTTIME, &now);
        now_ns = (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec + later_ns;
        return ledger_own_has(list, (unsigned) pid, start_ticks, now_ns) != 0;
}

START_TEST(a_process_is_our_own_while_it_is_connected) {
        const LedgerOwn *list = map_own();
        int fds[2] = { echo_connect(&echo), echo_connect(&echo) };
        uint64_t start_ticks;
        pid_t pid = 0;

        ck_assert(peer_start_of(getpid(), &start_ticks));
        ck_assert(is_listed(list, getpid(), start_ticks, 0));
        ck_assert(!is_listed(list, getpid(), start_ticks + 1, 0));
        ck_assert(!is_listed(list, getppid(), LEDGER_OWN_ANY_START, 0));
        ck_assert_uint_eq(own_processes_get_pids(&echo.own, &pid, 1), 1);
        ck_assert_int_eq(pid, getpid());

        (void) fd_close(fds[0]);
        echo_turn(&echo);
        ck_assert(is_listed(list, getpid(), start_ticks, LEDGER_FAREWELL_NS));
        (void) fd_close(fds[1]);
        echo_turn(&echo);
        ck_assert_uint_eq(own_processes_get_pids(&echo.own, &pid, 1), 0);
        ck_assert(is_listed(list, getpid(), start_ticks, 0));
        ck_assert(!is_listed(list, getpid(), start_ticks, LEDGER_FAREWELL_NS));

        /* Whoever calls again is one of them again. */
        fds[0] = echo_connect(&echo);
        ck_assert(is_listed(list, getpid(), start_ticks, LEDGER_FAREWELL_NS));
        (void) fd_close(fds[0]);
        (void) munmap((void *) (uintptr_t) list, sizeof(LedgerOwn));
}
END_TEST

/* Its connection is held by another process: the number may be anybody's. */
START_TEST(a_process_that_ended_is_our_own_no_more) {
        const LedgerOwn *list = map_own();
        int status;
        pid_t child = fork(), pid = 0;
        Peer peer = { .uid = getuid(), .has_start = true };

        if (child == 0) {
                (void) pause();
                _exit(0);
        }
        peer.pid = child;
        ck_assert(peer_start_of(child, &peer.start_ticks));
        own_processes_enter(&echo.own, &peer);
        ck_assert_uint_eq(own_processes_get_pids(&echo.own, &pid, 1), 1);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(is_listed(list, child, peer.start_ticks, LEDGER_FAREWELL_NS));
        ck_assert_uint_eq(own_processes_get_pids(&echo.own, &pid, 1), 0);
        ck_assert(!is_listed(list, child, peer.start_ticks, LEDGER_FAREWELL_NS));
        own_processes_leave(&echo.own, &peer);
        (void) munmap((void *) (uintptr_t) list, sizeof(LedgerOwn));
}
END_TEST

/* Of one home. */
static Peer neighbour(unsigned i) {
        return (Peer){ .has_start = true,
                       .pid = (pid_t) (5 + i * LEDGER_OWN_HOMES),
                       .start_ticks = i + 1 };
}

START_TEST(a_full_list_takes_what_was_left_first) {
        const LedgerOwn *list = map_own();
        Peer last = neighbour(LEDGER_OWN_TRIES), first = neighbour(2), second = neighbour(1);

        for (unsigned i = 0; i <= LEDGER_OWN_TRIES; i++) {
                Peer one = neighbour(i);

                own_processes_enter(&echo.own, &one);
                ck_assert(is_listed(list, one.pid, LEDGER_OWN_ANY_START, 0) ==
                          (i < LEDGER_OWN_TRIES));
        }
        own_processes_leave(&echo.own, &last); /* it is as any other process */
        own_processes_leave(&echo.own, &first);
        own_processes_leave(&echo.own, &second);
        own_processes_enter(&echo.own, &last);
        ck_assert(is_listed(list, last.pid, LEDGER_OWN_ANY_START, 0));
        ck_assert(!is_listed(list, first.pid, LEDGER_OWN_ANY_START, 0));
        ck_assert(is_listed(list, second.pid, LEDGER_OWN_ANY_START, 0));
        (void) munmap((void *) (uintptr_t) list, sizeof(LedgerOwn));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("connection");
        TCase *calls = tcase_create("calls"), *ends = tcase_create("ends");
        TCase *bounds = tcase_create("bounds"), *times = tcase_create("times");

        tcase_add_checked_fixture(calls, setup, teardown);
        tcase_add_test(calls, two_calls_in_one_write_are_answered_in_order);
        tcase_add_test(calls, a_second_call_waits_for_the_answer_to_the_first);
        tcase_add_test(calls, a_call_in_single_bytes_is_answered);
        tcase_add_test(calls, many_calls_in_one_write_take_turns_with_another_peer);
        tcase_add_loop_test(calls, what_is_no_call_is_refused_and_ends_that_connection_only, 0,
                            ELEMENTSOF(malformed_rows));
        tcase_add_test(calls, an_error_carries_its_name_and_parameter);
        tcase_add_test(calls, an_upgrade_is_refused_without_asking);
        tcase_add_test(calls, a_oneway_call_gets_no_answer_and_the_next_one_does);
        tcase_add_test(calls, replies_with_more_to_follow_keep_the_call_open);
        tcase_add_test(calls, descriptors_that_nobody_takes_are_closed_with_the_call);
        tcase_add_test(calls, descriptors_past_the_bound_are_closed_elsewhere_too);
        tcase_add_test(calls, whose_descriptors_are_still_being_closed_brings_no_more);
        tcase_add_test(calls, descriptors_of_an_answer_that_cannot_go_out_are_closed);
        tcase_add_test(calls, the_peer_is_known);
        tcase_add_test(calls, a_process_is_our_own_while_it_is_connected);
        tcase_add_test(calls, a_process_that_ended_is_our_own_no_more);
        tcase_add_test(calls, a_full_list_takes_what_was_left_first);
        tcase_add_checked_fixture(ends, setup, teardown);
        tcase_add_test(ends, hanging_up_cancels_the_call_in_flight);
        tcase_add_test(ends, hanging_up_between_calls_is_no_cancellation);
        tcase_add_test(ends, a_caller_that_only_stops_sending_is_answered);
        tcase_add_test(ends, a_caller_that_only_stops_sending_asks_each_call_to_end);
        tcase_add_test(ends, a_oneway_call_is_done_although_its_caller_left);
        tcase_add_test(ends, a_hundred_mebibytes_without_an_end_cost_one_connection);
        tcase_add_checked_fixture(bounds, setup_small, teardown);
        tcase_add_test(bounds, a_call_may_have_just_the_bound_of_bytes);
        tcase_add_test(bounds, a_slow_reader_fills_up_and_drains);
        tcase_add_test(bounds, a_reader_that_reads_nothing_gets_no_further_call_answered);
        tcase_add_test(bounds, an_answer_past_every_bound_breaks_the_connection_only);
        suite_add_tcase(suite, calls);
        suite_add_tcase(suite, ends);
        tcase_add_checked_fixture(times, setup_hasty, teardown);
        tcase_add_test(times, a_call_begun_and_not_ended_is_given_up_in_time);
        tcase_add_test(times, a_reader_that_reads_nothing_is_dropped_in_time);
        suite_add_tcase(suite, bounds);
        suite_add_tcase(suite, times);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
