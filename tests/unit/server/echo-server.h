/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * EchoServer
 *
 * A server whose handler does what the method's name says, for tests of connections. The peer's
 * side is a plain blocking socket, and the event loop runs only when the test asks for it.
 */

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/server.h"
#include "wire/limits.h"

#define ECHO_MAX_CALLS 64

typedef struct EchoServerLimits {
        UserLimits users;
        ConnectionLimits connection;
} EchoServerLimits;

static inline EchoServerLimits echo_default_limits(void) {
        return (EchoServerLimits){ user_default_limits(LIMIT_ANALYSES), server_default_limits() };
}

typedef struct EchoServer {
        sd_event *event;
        Users *users;
        Disposal *disposal;
        OwnProcesses own; /* who calls */
        Server *server;
        /* The methods in order of arrival, with their parameter "n". */
        char methods[ECHO_MAX_CALLS][64];
        int numbers[ECHO_MAX_CALLS];
        unsigned n_calls, n_hangups, n_stops, n_drained;
        size_t n_fds; /* of the last call */
        int taken_fd;
        Connection *held; /* by a call to x.Hold */
} EchoServer;

static inline Span echo_parameters(char *text, size_t n_text, int number) {
        return (Span){ text, (size_t) snprintf(text, n_text, "{\"n\":%d}", number) };
}

static inline int echo_number(const Call *call) {
        json_object *number = NULL;

        return json_object_object_get_ex(call->parameters, "n", &number)
                       ? json_object_get_int(number)
                       : -1;
}

static inline void echo_reply(Connection *connection, Span parameters, const int *fds,
                              size_t n_fds) {
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };

        ck_assert_int_eq(reply_encode(&frame, parameters, false), 0);
        connection_forward(connection, buffer_span(&frame), REPLY_LAST, fds, n_fds);
}

static inline void echo_on_call(Connection *connection, const Call *call, void *userdata) {
        EchoServer *echo = userdata;
        unsigned i = echo->n_calls++ % ECHO_MAX_CALLS;
        char text[64];

        (void) snprintf(echo->methods[i], sizeof(echo->methods[i]), "%s", call->method);
        echo->numbers[i] = echo_number(call);
        echo->n_fds = connection->stream->n_fds;
        if (strcmp(call->method, "x.Hold") == 0) {
                echo->held = connection;
                return;
        }
        if (strcmp(call->method, "x.Take") == 0)
                echo->taken_fd = frame_stream_take_fd(connection->stream, 0);
        if (strcmp(call->method, "x.Fail") == 0) {
                connection_error(connection, WIRE_ERROR_METHOD_NOT_FOUND,
                                 &(WireErrorDetail){ .subject = span_of(call->method) });
                return;
        }
        echo_reply(connection, echo_parameters(text, sizeof(text), echo->numbers[i]), NULL, 0);
}

static inline void echo_on_hangup(Connection *connection, void *userdata) {
        EchoServer *echo = userdata;

        echo->n_hangups++;
        if (echo->held == connection)
                echo->held = NULL;
}

static inline void echo_on_drained(Connection *connection, void *userdata) {
        EchoServer *echo = userdata;

        echo->n_drained++;
}

static inline void echo_on_stop(Connection *connection, void *userdata) {
        EchoServer *echo = userdata;

        ck_assert_ptr_eq(connection, echo->held);
        echo->n_stops++;
}

static const ConnectionEvents echo_events = {
        .on_call = echo_on_call,
        .on_hangup = echo_on_hangup,
        .on_stop = echo_on_stop,
        .on_drained = echo_on_drained,
};

static inline void echo_init(EchoServer *echo, const EchoServerLimits *limits) {
        *echo = (EchoServer){ .taken_fd = -EBADF };
        ck_assert_int_ge(sd_event_new(&echo->event), 0);
        ck_assert_int_eq(users_new(&limits->users, &echo->users), 0);
        ck_assert_int_eq(disposal_new(echo->event, echo->users, &echo->disposal), 0);
        ck_assert_int_eq(server_new(echo->event, echo->users, echo->disposal, &limits->connection,
                                    &echo_events, echo, &echo->server),
                         0);
        ck_assert_int_eq(own_processes_init(&echo->own), 0);
        echo->server->own = &echo->own;
}

static inline void echo_done(EchoServer *echo) {
        (void) fd_close(echo->taken_fd);
        server_free(echo->server);
        own_processes_done(&echo->own);
        disposal_free(echo->disposal);
        users_free(echo->users);
        sd_event_unref(echo->event);
}

/* Makes a connection; returns the peer's end, or the result of server_adopt(). */
static inline int echo_try_connect(EchoServer *echo, int *ret_adopted) {
        int ends[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        *ret_adopted = server_adopt(echo->server, ends[0]);
        return ends[1];
}

static inline int echo_connect(EchoServer *echo) {
        int adopted, fd = echo_try_connect(echo, &adopted);

        ck_assert_int_eq(adopted, SERVER_OK);
        return fd;
}

/* Runs the event loop until nothing more is ready. */
static inline void echo_turn(EchoServer *echo) {
        int r;

        do
                r = sd_event_run(echo->event, 0);
        while (r > 0);
        ck_assert_int_eq(r, 0);
}

/* Runs it until @n_connections are left; the time limit of the test ends a wrong wait. */
static inline void echo_await(EchoServer *echo, unsigned n_connections) {
        while (echo->users->n[USE_CONNECTIONS] != n_connections)
                ck_assert_int_ge(sd_event_run(echo->event, UINT64_MAX), 0);
}

static inline void echo_send(int fd, const void *bytes, size_t n) {
        ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t) n);
}

/* Sends a string literal; its terminator ends the frame. */
#define ECHO_SEND(fd, text) echo_send((fd), (text), sizeof(text))

/* The bytes that have arrived, with '|' for NUL; "" when there are none, "EOF" at the end. */
static inline const char *echo_receive(int fd, char *text, size_t n_text) {
        ssize_t n = recv(fd, text, n_text - 1, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno == ECONNRESET))
                return "EOF";
        if (n < 0)
                return "";
        for (ssize_t i = 0; i < n; i++)
                if (text[i] == '\0')
                        text[i] = '|';
        text[n] = '\0';
        return text;
}
