/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"
#include "desk.h"

#include <stdlib.h>

#include "server/listener.h"

static Desk desk;
static ServerLimits limits;
static char text[4096];

static void setup(void) {
        limits = server_default_limits();
        limits.max_connections = 4;
        limits.max_connections_per_uid = 3;
        desk_init(&desk, &limits);
}

static void teardown(void) {
        desk_done(&desk);
}

START_TEST(one_user_gets_so_many_connections_and_then_an_error) {
        int fds[3], adopted, late;

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fds[i] = desk_connect(&desk);
        late = desk_try_connect(&desk, &adopted);
        ck_assert_int_eq(adopted, SERVER_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(desk_receive(late, text, sizeof(text)),
                                     "\"error\":\"io.ctprof.Profiler.Busy\""));
        ck_assert_str_eq(desk_receive(late, text, sizeof(text)), "EOF");
        fd_close(late);

        /* Room again once one of them is closed. */
        fd_close(fds[0]);
        desk_turn(&desk);
        fds[0] = desk_connect(&desk);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fd_close(fds[i]);
}
END_TEST

START_TEST(all_users_together_get_so_many_connections) {
        ServerLimits few = limits;
        Desk small;
        int adopted, fd, late;

        few.max_connections = 1;
        desk_init(&small, &few);
        fd = desk_connect(&small);
        late = desk_try_connect(&small, &adopted);
        ck_assert_int_eq(adopted, SERVER_E_REFUSED);
        fd_close(late);
        fd_close(fd);
        desk_done(&small);
}
END_TEST

static void count(void *userdata) {
        unsigned *n = userdata;

        (*n)++;
}

START_TEST(the_last_connection_to_end_is_told) {
        unsigned n_empty = 0;
        int a, b;

        server_watch_empty(desk.server, count, &n_empty);
        a = desk_connect(&desk);
        b = desk_connect(&desk);
        fd_close(a);
        desk_turn(&desk);
        ck_assert_uint_eq(n_empty, 0);
        fd_close(b);
        desk_turn(&desk);
        ck_assert_uint_eq(n_empty, 1);
}
END_TEST

START_TEST(a_server_that_ends_sends_what_is_queued) {
        Desk short_lived;
        int fd;

        desk_init(&short_lived, &limits);
        fd = desk_connect(&short_lived);
        DESK_SEND(fd, "{\"method\":\"x.Hold\"}");
        desk_turn(&short_lived);
        connection_reply(short_lived.held, SPAN_LITERAL("{}"), NULL, 0);
        desk_done(&short_lived);
        ck_assert_str_eq(desk_receive(fd, text, sizeof(text)), "{\"parameters\":{}}|");
        ck_assert_str_eq(desk_receive(fd, text, sizeof(text)), "EOF");
        fd_close(fd);
}
END_TEST

START_TEST(a_descriptor_that_is_no_socket_is_refused_and_closed) {
        int ends[2];
        char byte;

        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_eq(server_adopt(desk.server, ends[1]), -ENOTSOCK);
        ck_assert_int_eq(read(ends[0], &byte, 1), 0);
        fd_close(ends[0]);
}
END_TEST

START_TEST(a_listener_serves_who_connects) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        socklen_t n = sizeof(sa_family_t);
        Listener *listener;
        int listening, fd;

        /* Binding to nothing makes the kernel choose an abstract name: no file is left behind. */
        listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(listening, (struct sockaddr *) &address, n), 0);
        n = sizeof(address);
        ck_assert_int_eq(getsockname(listening, (struct sockaddr *) &address, &n), 0);
        ck_assert_int_eq(listen(listening, 8), 0);
        ck_assert_int_eq(listener_new(desk.event, listening, desk.server, &listener), 0);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(fd, (struct sockaddr *) &address, n), 0);
        DESK_SEND(fd, "{\"method\":\"x.Echo\",\"parameters\":{\"n\":9}}");
        desk_turn(&desk);
        ck_assert_str_eq(desk_receive(fd, text, sizeof(text)), "{\"parameters\":{\"n\":9}}|");

        listener_free(listener);
        fd_close(fd);
        desk_turn(&desk);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("server");
        TCase *server = tcase_create("server");

        tcase_add_checked_fixture(server, setup, teardown);
        tcase_add_test(server, one_user_gets_so_many_connections_and_then_an_error);
        tcase_add_test(server, all_users_together_get_so_many_connections);
        tcase_add_test(server, the_last_connection_to_end_is_told);
        tcase_add_test(server, a_server_that_ends_sends_what_is_queued);
        tcase_add_test(server, a_descriptor_that_is_no_socket_is_refused_and_closed);
        tcase_add_test(server, a_listener_serves_who_connects);
        suite_add_tcase(suite, server);
        return check_main(suite);
}
