/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"
#include "echo-server.h"

#include <stdlib.h>

static EchoServer echo;
static EchoServerLimits limits;
static char text[4096];

static void setup(void) {
        limits = echo_default_limits();
        limits.users.of_all[USE_CONNECTIONS] = 4;
        limits.users.of_user[USE_CONNECTIONS] = 3;
        echo_init(&echo, &limits);
}

static void teardown(void) {
        echo_done(&echo);
}

START_TEST(one_user_gets_so_many_connections_and_then_an_error) {
        int fds[3], adopted, late;

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fds[i] = echo_connect(&echo);
        late = echo_try_connect(&echo, &adopted);
        ck_assert_int_eq(adopted, SERVER_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(echo_receive(late, text, sizeof(text)),
                                     "\"error\":\"io.ctprof.Profiler.Busy\""));
        ck_assert_str_eq(echo_receive(late, text, sizeof(text)), "EOF");
        fd_close(late);

        /* There is room again after one of them is closed. */
        fd_close(fds[0]);
        echo_turn(&echo);
        fds[0] = echo_connect(&echo);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fd_close(fds[i]);
}
END_TEST

START_TEST(all_users_together_get_so_many_connections) {
        EchoServerLimits few = limits;
        EchoServer small;
        int adopted, fd, late;

        few.users.of_all[USE_CONNECTIONS] = 1;
        echo_init(&small, &few);
        fd = echo_connect(&small);
        late = echo_try_connect(&small, &adopted);
        ck_assert_int_eq(adopted, SERVER_E_REFUSED);
        fd_close(late);
        fd_close(fd);
        echo_done(&small);
}
END_TEST

/* Sends the first half of a call of @n bytes. */
static void send_part(int fd, size_t n) {
        char *bytes = malloc(n);

        ck_assert_ptr_nonnull(bytes);
        memset(bytes, ' ', n);
        echo_send(fd, bytes, n);
        free(bytes);
}

START_TEST(one_user_has_so_many_bytes_under_way_over_all_connections) {
        const size_t part = 60000;
        EchoServerLimits little = limits;
        EchoServer small;
        int a, b, c;

        /* Two buffers of this size fit while they grow, a third does not. */
        little.users.of_user[USE_BYTES] = 2 * 65536 + 4096;
        echo_init(&small, &little);
        a = echo_connect(&small);
        b = echo_connect(&small);
        c = echo_connect(&small);
        send_part(a, part);
        echo_turn(&small);
        send_part(b, part);
        echo_turn(&small);
        ck_assert_uint_eq(small.users->n[USE_CONNECTIONS], 3);
        send_part(c, part);
        ck_assert_ptr_nonnull(strstr((echo_turn(&small), echo_receive(c, text, sizeof(text))),
                                     "\"error\":\"io.ctprof.Profiler.Busy\""));
        ck_assert_uint_eq(small.users->n[USE_CONNECTIONS], 2);
        /* Memory that is released can be used again. */
        fd_close(a);
        echo_turn(&small);
        fd_close(c);
        c = echo_connect(&small);
        ECHO_SEND(c, "{\"method\":\"x.Say\",\"parameters\":{\"n\":1}}");
        echo_turn(&small);
        ck_assert_str_eq(echo_receive(c, text, sizeof(text)), "{\"parameters\":{\"n\":1}}|");
        fd_close(b);
        fd_close(c);
        echo_done(&small);
}
END_TEST

START_TEST(a_reply_nobody_reads_counts_and_what_drains_it_goes_on) {
        EchoServerLimits little = limits;
        char *reply = malloc(200000);
        EchoServer small;
        int fd;

        little.users.of_user[USE_BYTES] = 1000;
        echo_init(&small, &little);
        fd = echo_connect(&small);
        ck_assert_ptr_nonnull(reply);
        memset(reply, 'x', 200000);
        memcpy(reply, "{\"s\":\"", 6);
        memcpy(reply + 200000 - 2, "\"}", 2);
        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"more\":true}");
        /* Even the first bytes of a call exceed what this user may hold. */
        echo_turn(&small);
        ck_assert_ptr_nonnull(strstr(echo_receive(fd, text, sizeof(text)), "Busy"));
        fd_close(fd);
        echo_turn(&small);

        little.users.of_user[USE_BYTES] = 100000;
        small.users->limits = little.users;
        fd = echo_connect(&small);
        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"more\":true}");
        echo_turn(&small);
        ck_assert_ptr_nonnull(small.held);
        ck_assert(!connection_is_full(small.held));
        connection_continue(small.held, (Span){ reply, 200000 });
        ck_assert(connection_is_full(small.held));
        ck_assert_uint_eq(small.n_drained, 0);
        for (size_t n = 0; n < 200000;) {
                ssize_t got;

                echo_turn(&small);
                got = recv(fd, text, sizeof(text), 0);
                ck_assert_int_gt(got, 0);
                n += (size_t) got;
        }
        echo_turn(&small);
        ck_assert_uint_eq(small.n_drained, 1);
        ck_assert(!connection_is_full(small.held));
        echo_reply(small.held, SPAN_LITERAL("{}"), NULL, 0);
        fd_close(fd);
        free(reply);
        echo_done(&small);
}
END_TEST

START_TEST(an_empty_object_counts_as_what_it_takes) {
        const char head[] = "{\"method\":\"x.Hold\",\"parameters\":{\"a\":[{}", tail[] = "]}}";
        const size_t n_objects = 5000, n_head = sizeof(head) - 1;
        size_t n = n_head + 3 * n_objects + sizeof(tail);
        EchoServerLimits little = limits;
        char *call = malloc(n);
        EchoServer small;
        int fds[4];

        ck_assert_ptr_nonnull(call);
        memcpy(call, head, n_head);
        for (size_t i = 0; i < n_objects; i++)
                memcpy(call + n_head + 3 * i, ",{}", 3);
        memcpy(call + n_head + 3 * n_objects, tail, sizeof(tail));
        /* The texts of all calls together are a hundredth of this, the values of two are more. */
        little.users.of_user[USE_BYTES] = 6 << 20;
        echo_init(&small, &little);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                fds[i] = echo_connect(&small);
                echo_send(fds[i], call, n);
                echo_turn(&small);
        }
        ck_assert_uint_eq(small.n_calls, 1);
        ck_assert_ptr_nonnull(
                strstr(echo_receive(fds[1], text, sizeof(text)), "io.ctprof.Profiler.Busy"));
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fd_close(fds[i]);
        free(call);
        echo_done(&small);
}
END_TEST

START_TEST(a_reply_past_the_bound_is_busy_when_others_are_unread) {
        const size_t n_reply = 300000;
        EchoServerLimits little = limits;
        char *reply = malloc(n_reply);
        Connection *first;
        EchoServer small;
        int a, b;

        ck_assert_ptr_nonnull(reply);
        memset(reply, 'x', n_reply);
        memcpy(reply, "{\"s\":\"", 6);
        memcpy(reply + n_reply - 2, "\"}", 2);
        little.users.of_user[USE_BYTES] = 500000;
        echo_init(&small, &little);
        a = echo_connect(&small);
        b = echo_connect(&small);
        ECHO_SEND(a, "{\"method\":\"x.Hold\"}");
        echo_turn(&small);
        first = small.held;
        ECHO_SEND(b, "{\"method\":\"x.Hold\"}");
        echo_turn(&small);
        echo_reply(first, (Span){ reply, n_reply }, NULL, 0);
        echo_reply(small.held, (Span){ reply, n_reply }, NULL, 0);
        echo_turn(&small);
        ck_assert_ptr_nonnull(strstr(echo_receive(b, text, sizeof(text)), "Busy"));
        ck_assert_str_eq(echo_receive(b, text, sizeof(text)), "EOF");
        /* What is queued stays queued. */
        ck_assert_ptr_nonnull(strstr(echo_receive(a, text, sizeof(text)), "{\"s\":\"xxx"));
        ck_assert_uint_eq(small.users->n[USE_CONNECTIONS], 1);
        fd_close(a);
        fd_close(b);
        free(reply);
        echo_done(&small);
}
END_TEST

/* Makes a call that is not answered before the test does it; returns its connection. */
static Connection *hold(EchoServer *small, int fd) {
        ECHO_SEND(fd, "{\"method\":\"x.Hold\",\"more\":true}");
        echo_turn(small);
        return small->held;
}

START_TEST(a_connection_that_another_one_filled_goes_on_too) {
        static char reply[30000];
        EchoServerLimits little = limits;
        Connection *first, *second;
        EchoServer small;
        int a, b;

        memset(reply, 'x', sizeof(reply));
        little.users.of_user[USE_BYTES] = 2 * sizeof(reply);
        echo_init(&small, &little);
        a = echo_connect(&small);
        b = echo_connect(&small);
        first = hold(&small, a);
        second = hold(&small, b);
        connection_forward(first, SPAN_LITERAL("{\"parameters\":{}}"), REPLY_PART, NULL, 0);
        ck_assert(!connection_is_full(first));
        connection_forward(second, (Span){ reply, sizeof(reply) }, REPLY_PART, NULL, 0);
        ck_assert(connection_is_full(first));
        /* It keeps nothing any more when the first is written to. */
        connection_drop(second, "dropped");
        ck_assert_uint_eq(small.n_drained, 0);
        echo_turn(&small);
        ck_assert_uint_eq(small.n_drained, 1);
        fd_close(a);
        fd_close(b);
        echo_done(&small);
}
END_TEST

/* Its peer may leave without reading what is queued: then there would never be room. */
START_TEST(a_call_that_wants_no_answer_need_not_pause) {
        static char reply[400000];
        EchoServerLimits little = limits;
        Connection *first, *second;
        EchoServer small;
        int a, b;

        memset(reply, 'x', sizeof(reply));
        little.users.of_user[USE_BYTES] = 1000000;
        echo_init(&small, &little);
        a = echo_connect(&small);
        b = echo_connect(&small);
        first = hold(&small, a);
        connection_forward(first, (Span){ reply, sizeof(reply) }, REPLY_LAST, NULL, 0);
        ECHO_SEND(a, "{\"method\":\"x.Hold\",\"oneway\":true}");
        echo_turn(&small);
        ck_assert_uint_eq(small.n_calls, 2);
        second = hold(&small, b);
        connection_forward(second, (Span){ reply, sizeof(reply) }, REPLY_PART, NULL, 0);
        ck_assert(connection_is_full(second));
        ck_assert_uint_gt(frame_stream_queued_bytes(first->stream), 0);
        ck_assert(!connection_is_full(first));
        fd_close(a);
        fd_close(b);
        echo_done(&small);
}
END_TEST

/* It has arrived: that it is taken later is not its peer's fault. */
START_TEST(a_call_that_waits_for_room_is_not_late) {
        static char reply[400000];
        EchoServerLimits little = limits;
        Connection *first, *second;
        size_t n_read = 0;
        EchoServer small;
        int a, b;

        memset(reply, 'x', sizeof(reply));
        little.users.of_user[USE_BYTES] = 1000000;
        little.connection.idle_ns = 500 * NSEC_PER_MSEC;
        echo_init(&small, &little);
        a = echo_connect(&small);
        b = echo_connect(&small);
        first = hold(&small, a);
        second = hold(&small, b);
        connection_forward(first, (Span){ reply, sizeof(reply) }, REPLY_LAST, NULL, 0);
        echo_send(a, "{\"method\":", 10);
        echo_turn(&small);
        connection_forward(second, (Span){ reply, sizeof(reply) }, REPLY_PART, NULL, 0);
        ECHO_SEND(a, "\"x.Echo\",\"parameters\":{\"n\":1}}");
        echo_turn(&small);
        (void) usleep(600000);
        echo_turn(&small);
        ck_assert_uint_eq(small.n_calls, 2);
        while (n_read < sizeof(reply) + 1) {
                ssize_t n = recv(a, text, MIN_OF(sizeof(text), sizeof(reply) + 1 - n_read), 0);

                ck_assert_int_gt(n, 0);
                n_read += (size_t) n;
                echo_turn(&small);
        }
        ck_assert_uint_eq(small.n_calls, 3);
        ck_assert_str_eq(echo_receive(a, text, sizeof(text)), "{\"parameters\":{\"n\":1}}|");
        fd_close(a);
        fd_close(b);
        echo_done(&small);
}
END_TEST

START_TEST(the_answer_to_a_change_is_sent_past_the_bound) {
        static char reply[300000];
        EchoServerLimits little = limits;
        Connection *first;
        EchoServer small;
        int a, b;

        memset(reply, 'x', sizeof(reply));
        little.users.of_user[USE_BYTES] = sizeof(reply);
        echo_init(&small, &little);
        a = echo_connect(&small);
        b = echo_connect(&small);
        ECHO_SEND(a, "{\"method\":\"x.Hold\"}");
        echo_turn(&small);
        first = small.held;
        ECHO_SEND(b, "{\"method\":\"x.Hold\"}");
        echo_turn(&small);
        connection_forward(first, (Span){ reply, sizeof(reply) }, REPLY_LAST, NULL, 0);
        ck_assert(!connection_has_room(small.held, 1));
        connection_forward(small.held, SPAN_LITERAL("{\"parameters\":{}}"), REPLY_LAST_OF_CHANGE,
                           NULL, 0);
        /* Whoever reads none of these gets no more of them. */
        ECHO_SEND(b, "{\"method\":\"x.Hold\"}");
        echo_turn(&small);
        ck_assert_ptr_nonnull(strstr(echo_receive(b, text, sizeof(text)),
                                     "{\"parameters\":{}}|{\"error\":\"io.ctprof.Profiler.Busy\""));
        fd_close(a);
        fd_close(b);
        echo_done(&small);
}
END_TEST

START_TEST(all_users_together_hold_so_much_and_the_largest_goes) {
        EchoServerLimits little = limits;
        EchoServer small;
        int fds[3];

        /* Two buffers fit, and the small one makes them too many. */
        little.users.of_all[USE_BYTES] = 2 * 65536 + 4095;
        echo_init(&small, &little);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                fds[i] = echo_connect(&small);
                send_part(fds[i], i < 2 ? 60000 : 100);
                echo_turn(&small);
        }
        ck_assert_uint_eq(small.users->n[USE_CONNECTIONS], 2);
        ck_assert_str_eq(echo_receive(fds[0], text, sizeof(text)), "EOF");
        for (size_t i = 1; i < ELEMENTSOF(fds); i++)
                ck_assert_str_eq(echo_receive(fds[i], text, sizeof(text)), "");
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fd_close(fds[i]);
        echo_done(&small);
}
END_TEST

START_TEST(other_limits_hold_for_who_comes_next) {
        EchoServerLimits other = limits;
        int fds[4], adopted, late;

        for (size_t i = 0; i < 3; i++)
                fds[i] = echo_connect(&echo);
        other.users.of_all[USE_CONNECTIONS] = 100;
        other.users.of_user[USE_CONNECTIONS] = 4;
        echo.users->limits = other.users;
        fds[3] = echo_connect(&echo);
        /* The new limit is below the number of connections: they stay, new ones are refused. */
        other.users.of_all[USE_CONNECTIONS] = other.users.of_user[USE_CONNECTIONS] = 1;
        echo.users->limits = other.users;
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 4);
        late = echo_try_connect(&echo, &adopted);
        ck_assert_int_eq(adopted, SERVER_E_REFUSED);
        fd_close(late);
        for (size_t i = 0; i < 4; i++)
                fd_close(fds[i]);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 0);
}
END_TEST

START_TEST(the_last_connection_to_end_may_end_the_loop) {
        int a, b;

        echo.server->ends_empty = true;
        a = echo_connect(&echo);
        b = echo_connect(&echo);
        fd_close(a);
        echo_turn(&echo);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 1);
        fd_close(b);
        ck_assert_int_eq(sd_event_loop(echo.event), 0);
        ck_assert_uint_eq(echo.users->n[USE_CONNECTIONS], 0);
}
END_TEST

START_TEST(a_server_that_ends_sends_what_is_queued) {
        EchoServer short_lived;
        int fd;

        echo_init(&short_lived, &limits);
        fd = echo_connect(&short_lived);
        ECHO_SEND(fd, "{\"method\":\"x.Hold\"}");
        echo_turn(&short_lived);
        echo_reply(short_lived.held, SPAN_LITERAL("{}"), NULL, 0);
        echo_done(&short_lived);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "{\"parameters\":{}}|");
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "EOF");
        fd_close(fd);
}
END_TEST

START_TEST(a_descriptor_that_is_no_socket_is_refused_and_closed) {
        int ends[2];
        char byte;

        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_eq(server_adopt(echo.server, ends[1]), -ENOTSOCK);
        ck_assert_int_eq(read(ends[0], &byte, 1), 0);
        fd_close(ends[0]);
}
END_TEST

START_TEST(a_listener_serves_who_connects) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        socklen_t n = sizeof(sa_family_t);
        int listening, fd;

        /* For an empty address the kernel chooses an abstract name, so no file is left behind. */
        listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(listening, (struct sockaddr *) &address, n), 0);
        n = sizeof(address);
        ck_assert_int_eq(getsockname(listening, (struct sockaddr *) &address, &n), 0);
        ck_assert_int_eq(listen(listening, 8), 0);
        ck_assert_int_eq(server_listen(echo.server, listening), 0);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(fd, (struct sockaddr *) &address, n), 0);
        ECHO_SEND(fd, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":9}}");
        echo_turn(&echo);
        ck_assert_str_eq(echo_receive(fd, text, sizeof(text)), "{\"parameters\":{\"n\":9}}|");

        fd_close(fd);
        echo_turn(&echo);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("server");
        TCase *server = tcase_create("server");

        tcase_add_checked_fixture(server, setup, teardown);
        tcase_add_test(server, one_user_gets_so_many_connections_and_then_an_error);
        tcase_add_test(server, a_connection_that_another_one_filled_goes_on_too);
        tcase_add_test(server, a_call_that_wants_no_answer_need_not_pause);
        tcase_add_test(server, a_call_that_waits_for_room_is_not_late);
        tcase_add_test(server, the_answer_to_a_change_is_sent_past_the_bound);
        tcase_add_test(server, all_users_together_get_so_many_connections);
        tcase_add_test(server, one_user_has_so_many_bytes_under_way_over_all_connections);
        tcase_add_test(server, a_reply_nobody_reads_counts_and_what_drains_it_goes_on);
        tcase_add_test(server, an_empty_object_counts_as_what_it_takes);
        tcase_add_test(server, a_reply_past_the_bound_is_busy_when_others_are_unread);
        tcase_add_test(server, all_users_together_hold_so_much_and_the_largest_goes);
        tcase_add_test(server, other_limits_hold_for_who_comes_next);
        tcase_add_test(server, the_last_connection_to_end_may_end_the_loop);
        tcase_add_test(server, a_server_that_ends_sends_what_is_queued);
        tcase_add_test(server, a_descriptor_that_is_no_socket_is_refused_and_closed);
        tcase_add_test(server, a_listener_serves_who_connects);
        suite_add_tcase(suite, server);
        return check_main(suite);
}
