/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Desk
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

#define DESK_MAX_CALLS 64

typedef struct DeskLimits {
        UserLimits users;
        ConnectionLimits connection;
} DeskLimits;

static inline DeskLimits desk_default_limits(void) {
        return (DeskLimits){ user_default_limits(), server_default_limits() };
}

typedef struct Desk {
        sd_event *event;
        Users *users;
        Disposal *disposal;
        OwnProcesses *own; /* who calls */
        Server *server;
        /* The methods in order of arrival, with their parameter "n". */
        char methods[DESK_MAX_CALLS][64];
        int numbers[DESK_MAX_CALLS];
        unsigned n_calls, n_hangups, n_stops, n_drained;
        size_t n_fds; /* of the last call */
        int taken_fd;
        Connection *held; /* by a call to x.Hold */
} Desk;

static inline Span desk_parameters(char *text, size_t n_text, int number) {
        return (Span){ text, (size_t) snprintf(text, n_text, "{\"n\":%d}", number) };
}

static inline int desk_number(const Call *call) {
        json_object *number = NULL;

        return json_object_object_get_ex(call->parameters, "n", &number)
                       ? json_object_get_int(number)
                       : -1;
}

static inline void desk_reply(Connection *connection, Span parameters, const int *fds,
                              size_t n_fds) {
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };

        ck_assert_int_eq(reply_encode(&frame, parameters, false), 0);
        connection_forward(connection, buffer_span(&frame), REPLY_LAST, fds, n_fds);
}

static inline void desk_on_call(Connection *connection, const Call *call, void *userdata) {
        Desk *desk = userdata;
        unsigned i = desk->n_calls++ % DESK_MAX_CALLS;
        char text[64];

        (void) snprintf(desk->methods[i], sizeof(desk->methods[i]), "%s", call->method);
        desk->numbers[i] = desk_number(call);
        desk->n_fds = connection_n_fds(connection);
        if (strcmp(call->method, "x.Hold") == 0) {
                desk->held = connection;
                return;
        }
        if (strcmp(call->method, "x.Take") == 0)
                desk->taken_fd = connection_take_fd(connection, 0);
        if (strcmp(call->method, "x.Fail") == 0) {
                connection_error(connection, WIRE_ERROR_METHOD_NOT_FOUND,
                                 &(WireErrorDetail){ .subject = span_of(call->method) });
                return;
        }
        desk_reply(connection, desk_parameters(text, sizeof(text), desk->numbers[i]), NULL, 0);
}

static inline void desk_on_hangup(Connection *connection, void *userdata) {
        Desk *desk = userdata;

        desk->n_hangups++;
        if (desk->held == connection)
                desk->held = NULL;
}

static inline void desk_on_drained(Connection *connection, void *userdata) {
        Desk *desk = userdata;

        desk->n_drained++;
}

static inline void desk_on_stop(Connection *connection, void *userdata) {
        Desk *desk = userdata;

        ck_assert_ptr_eq(connection, desk->held);
        desk->n_stops++;
}

static const ConnectionEvents desk_events = {
        .on_call = desk_on_call,
        .on_hangup = desk_on_hangup,
        .on_stop = desk_on_stop,
        .on_drained = desk_on_drained,
};

static inline void desk_init(Desk *desk, const DeskLimits *limits) {
        *desk = (Desk){ .taken_fd = -EBADF };
        ck_assert_int_ge(sd_event_new(&desk->event), 0);
        ck_assert_int_eq(users_new(&limits->users, &desk->users), 0);
        ck_assert_int_eq(disposal_new(desk->event, desk->users, &desk->disposal), 0);
        ck_assert_int_eq(server_new(desk->event, desk->users, desk->disposal, &limits->connection,
                                    &desk_events, desk, &desk->server),
                         0);
        ck_assert_int_eq(own_processes_new(&desk->own), 0);
        server_note_peers(desk->server, desk->own);
}

static inline void desk_done(Desk *desk) {
        (void) fd_close(desk->taken_fd);
        server_free(desk->server);
        own_processes_free(desk->own);
        disposal_free(desk->disposal);
        users_free(desk->users);
        sd_event_unref(desk->event);
}

/* Makes a connection; returns the peer's end, or the result of server_adopt(). */
static inline int desk_try_connect(Desk *desk, int *ret_adopted) {
        int ends[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        *ret_adopted = server_adopt(desk->server, ends[0]);
        return ends[1];
}

static inline int desk_connect(Desk *desk) {
        int adopted, fd = desk_try_connect(desk, &adopted);

        ck_assert_int_eq(adopted, SERVER_OK);
        return fd;
}

/* Runs the event loop until nothing more is ready. */
static inline void desk_turn(Desk *desk) {
        int r;

        do
                r = sd_event_run(desk->event, 0);
        while (r > 0);
        ck_assert_int_eq(r, 0);
}

/* Runs it until @n_connections are left; the time limit of the test ends a wrong wait. */
static inline void desk_await(Desk *desk, unsigned n_connections) {
        while (users_count_all(desk->users, USE_CONNECTIONS) != n_connections)
                ck_assert_int_ge(sd_event_run(desk->event, UINT64_MAX), 0);
}

static inline void desk_send(int fd, const void *bytes, size_t n) {
        ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t) n);
}

/* Sends a string literal; its terminator ends the frame. */
#define DESK_SEND(fd, text) desk_send((fd), (text), sizeof(text))

/* The bytes that have arrived, with '|' for NUL; "" when there are none, "EOF" at the end. */
static inline const char *desk_receive(int fd, char *text, size_t n_text) {
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
