/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/cancel.h"
#include "call/child.h"
#include "call/dial.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* A call fits in with its envelope. */
#define QUEUE_BYTES (LIMIT_CALL_BYTES + 4096u)

struct Connection {
        FrameStream *stream;
        const char *peer; /* in sentences */
        Child child;
        int words_fd; /* of the child, where it tells why it ended; -EBADF: none */
};

static _printf_(2, 3) int complain(char *ret_complaint, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(ret_complaint, CONNECTION_COMPLAINT_BYTES, format, arguments);
        va_end(arguments);
        return CONNECTION_E_FAILED;
}

int connection_adopt(int fd, const char *peer, Connection **ret) {
        _cleanup_(connection_freep) Connection *connection = NULL;
        int r;

        connection = malloc(sizeof(*connection));
        if (!connection)
                return -ENOMEM;
        *connection = (Connection){ .peer = peer, .words_fd = -EBADF };
        r = frame_stream_new(fd, LIMIT_REPLY_BYTES, QUEUE_BYTES, LIMIT_FDS_PER_CALL,
                             &connection->stream);
        if (r != 0)
                return err_fold(r);
        *ret = TAKE_PTR(connection);
        return 0;
}

void connection_set_child(Connection *connection, Child child, int words_fd) {
        connection->child = child;
        connection->words_fd = words_fd;
}

Connection *connection_free(Connection *connection) {
        if (!connection)
                return NULL;
        /* Hang up first: the child ends when its socket closes. */
        connection->stream = frame_stream_free(connection->stream);
        child_end(&connection->child);
        connection->words_fd = fd_close(connection->words_fd);
        free(connection);
        return NULL;
}

int connection_open(const Endpoint *endpoint, uint64_t timeout_ns, Connection **ret,
                    char ret_complaint[static CONNECTION_COMPLAINT_BYTES]) {
        const char *const private_words[] = { "ctprofd", "--spool", endpoint->spool_path, NULL };
        static const char *const analysis_words[] = { "ctprofd", "--job=analysis", NULL };
        bool is_private = endpoint->kind == ENDPOINT_PRIVATE;
        _cleanup_(buffer_done) Buffer path = {};
        _cleanup_(fd_closep) int fd = -EBADF;
        char own[PATH_MAX], *slash;
        Child child;
        ssize_t n;
        int r;

        if (endpoint->kind == ENDPOINT_DAEMON) {
                r = dial(endpoint->socket_path, timeout_ns, !endpoint->is_of_bridge, &fd,
                         ret_complaint);
                if (r == DIAL_E_REFUSED)
                        return CONNECTION_E_FAILED;
                if (r == DIAL_E_CANCELLED)
                        return CONNECTION_E_CANCELLED;
                if (r != 0)
                        return err_fold(r);
                r = connection_adopt(fd, "ctprofd", ret);
                if (r == 0)
                        (void) TAKE_FD(fd);
                return r;
        }

        /* Without /proc there are still $CTPROFD and the configured place. */
        n = readlink("/proc/self/exe", own, sizeof(own) - 1);
        own[n < 0 ? 0 : n] = '\0';
        slash = strrchr(own, '/');
        if (slash)
                *slash = '\0';
        r = server_program_find(getenv("CTPROFD"), own, &path);
        if (r == SERVER_PROGRAM_E_NONE)
                return complain(ret_complaint,
                                "No ctprofd was found beside ctprofctl (the last look was at %s): "
                                "set $CTPROFD to its path.",
                                path.bytes);
        if (r != 0)
                return err_fold(r);
        r = child_start(&child, path.bytes, is_private ? private_words : analysis_words, &fd);
        if (r < 0)
                return complain(ret_complaint, "%s cannot be run: %s.", path.bytes, strerror(-r));
        r = connection_adopt(fd, is_private ? "The private ctprofd" : "The analysis job", ret);
        if (r != 0) {
                fd = fd_close(fd);
                child_end(&child);
                return r;
        }
        (void) TAKE_FD(fd);
        (*ret)->child = child;
        return 0;
}

bool connection_is_quiet(const Connection *connection) {
        struct pollfd socket = { .fd = connection->stream->fd, .events = POLLIN };

        return poll(&socket, 1, 0) == 0;
}

static int complain_lost(Connection *connection, char *ret_complaint) {
        char fate[CHILD_FATE_BYTES];
        ssize_t n = 0;

        if (cancel_requested())
                return CONNECTION_E_CANCELLED;
        if (connection->child.pid <= 0)
                return complain(ret_complaint,
                                "%s hung up in the middle of the call: \"journalctl -u ctprofd\" "
                                "may tell why.",
                                connection->peer);
        child_end(&connection->child);
        /* It may have written a sentence that tells more than how it ended. */
        if (connection->words_fd >= 0) {
                do
                        n = read(connection->words_fd, ret_complaint,
                                 CONNECTION_COMPLAINT_BYTES - 1);
                while (n < 0 && errno == EINTR);
                ret_complaint[MAX_OF(n, (ssize_t) 0)] = '\0';
        }
        if (n > 0)
                return CONNECTION_E_FAILED;
        child_format_fate(&connection->child, fate);
        return complain(ret_complaint, "%s %s in the middle of the call.", connection->peer, fate);
}

/* One call has a time until which its peer is waited for, and counts what came so far. */
typedef struct Exchange {
        Connection *connection;
        const Request *request;
        void *userdata;
        char *complaint;
        uint64_t end_mono_ns;     /* of the whole call */
        uint64_t silence_mono_ns; /* when the peer has been silent for too long */
        uint64_t n_replies, n_bytes;
} Exchange;

static int complain_late(Exchange *exchange) {
        const Request *request = exchange->request;

        if (exchange->end_mono_ns > exchange->silence_mono_ns)
                return complain(exchange->complaint,
                                "%s sent nothing for %.3g seconds; --timeout=SECONDS waits longer.",
                                exchange->connection->peer,
                                (double) request->silence_ns / (double) NSEC_PER_SEC);
        return complain(exchange->complaint,
                        "%s did not answer within %.3g seconds; --timeout=SECONDS waits longer.",
                        exchange->connection->peer,
                        (double) request->timeout_ns / (double) NSEC_PER_SEC);
}

/* Waits until the socket is ready, and writes the complaint otherwise. */
static int wait_for_peer(Exchange *exchange, short events) {
        Connection *connection = exchange->connection;
        const Request *request = exchange->request;
        int fd = connection->stream->fd, r;

        for (;;) {
                r = cancel_wait_either(fd, events,
                                       request->watched_fd ? *request->watched_fd : -EBADF,
                                       MIN_OF(exchange->end_mono_ns, exchange->silence_mono_ns));
                if (r != CANCEL_E_WATCHED && (r != CANCEL_E_STOP || events != POLLIN))
                        break;
                if (request->on_stop) {
                        r = request->on_stop(exchange->userdata);
                        if (r != 0)
                                return r;
                        exchange->silence_mono_ns = mono_deadline_ns(request->silence_ns);
                } else {
                        /*
                         * Closing our writing side asks the peer to end the call and to answer.
                         * This fails if the peer has hung up; the next read reports that.
                         */
                        (void) shutdown(fd, SHUT_WR);
                }
        }
        if (r == CANCEL_E_CANCELLED || r == CANCEL_E_STOP)
                return CONNECTION_E_CANCELLED;
        return r == CANCEL_E_TIMEOUT ? complain_late(exchange) : err_fold(r);
}

static int send_call(Exchange *exchange) {
        Connection *connection = exchange->connection;
        const Request *request = exchange->request;
        _cleanup_(buffer_done) Buffer frame = {};
        int fds[LIMIT_FDS_PER_CALL], r;
        size_t n = 0;

        if (request->n_fds > LIMIT_FDS_PER_CALL)
                return -E2BIG;
        r = call_encode(&frame, request->method, request->parameters, request->more);
        if (r < 0)
                return r;
        for (; n < request->n_fds; n++) {
                fds[n] = fcntl(request->fds[n], F_DUPFD_CLOEXEC, 0);
                if (fds[n] < 0)
                        break;
        }
        r = n < request->n_fds ? -errno : 0;
        if (r == 0 && request->prelude.n > 0)
                r = frame_stream_queue(connection->stream, request->prelude, NULL, 0);
        if (r == 0)
                r = frame_stream_queue(connection->stream, buffer_span(&frame), fds, n);
        if (r != 0) {
                while (n > 0)
                        (void) close(fds[--n]);
                return r == FRAME_E_FULL ? complain(exchange->complaint, "The call is too long.")
                                         : err_fold(r);
        }
        for (;;) {
                r = frame_stream_write(connection->stream);
                if (r != FRAME_E_AGAIN)
                        break;
                r = wait_for_peer(exchange, POLLOUT);
                if (r != 0)
                        return r;
        }
        /* A peer that refuses may have sent a reason before it hung up: read that first. */
        return r == FRAME_E_CLOSED ? 0 : err_fold(r);
}

static int next_reply(Exchange *exchange, Reply *ret) {
        char malformed[MESSAGE_COMPLAINT_BYTES], *ret_complaint = exchange->complaint;
        uint64_t deadline_mono_ns = MIN_OF(exchange->end_mono_ns, exchange->silence_mono_ns);
        Connection *connection = exchange->connection;
        Span frame;
        int r;

        for (;;) {
                r = frame_stream_next(connection->stream, &frame);
                if (r != FRAME_E_AGAIN)
                        break;
                r = frame_stream_read(connection->stream);
                /* A peer that never stops sending is never waited for: reads look at the clock. */
                if (r == 0 && clock_now_ns(CLOCK_MONOTONIC) >= deadline_mono_ns)
                        r = complain_late(exchange);
                else if (r == FRAME_E_AGAIN)
                        r = wait_for_peer(exchange, POLLIN);
                else if (r == FRAME_E_CLOSED)
                        return complain_lost(connection, ret_complaint);
                else if (r == FRAME_E_TOO_LARGE)
                        return complain(ret_complaint, "%s sent a reply that is too long.",
                                        connection->peer);
                if (r != 0)
                        return r;
        }
        if (r != 0)
                return err_fold(r);
        r = reply_decode(frame, ret, malformed);
        if (r == MESSAGE_E_MALFORMED)
                return complain(ret_complaint, "%s sent a reply that is not one: %s.",
                                connection->peer, malformed);
        if (r != 0)
                return err_fold(r);
        exchange->n_replies++;
        exchange->n_bytes += frame.n;
        if (ret->continues && !exchange->request->more)
                return complain(ret_complaint, "%s announced more replies to a call that has one.",
                                connection->peer);
        if (exchange->n_replies > LIMIT_REPLIES_PER_CALL ||
            exchange->n_bytes > LIMIT_REPLY_BYTES_PER_CALL)
                return complain(ret_complaint,
                                "%s does not come to an end: it sent %llu replies with %llu bytes.",
                                connection->peer, (unsigned long long) exchange->n_replies,
                                (unsigned long long) exchange->n_bytes);
        return clock_now_ns(CLOCK_MONOTONIC) >= deadline_mono_ns ? complain_late(exchange) : 0;
}

int connection_call(Connection *connection, const Request *request, ConnectionOnReply on_reply,
                    void *userdata, Reply *ret_error,
                    char ret_complaint[static CONNECTION_COMPLAINT_BYTES]) {
        uint64_t left_ns = request->timeout_ns > request->spent_ns
                                   ? request->timeout_ns - request->spent_ns
                                   : 1;
        Exchange exchange = {
                .connection = connection,
                .request = request,
                .userdata = userdata,
                .complaint = ret_complaint,
                .end_mono_ns =
                        request->timeout_ns == 0 ? CANCEL_NO_DEADLINE : mono_deadline_ns(left_ns),
                .silence_mono_ns = mono_deadline_ns(request->silence_ns),
        };
        bool last = false;
        int r;

        if (request->stoppable)
                cancel_begin_stoppable();
        r = send_call(&exchange);
        while (r == 0 && !last) {
                _cleanup_(reply_done) Reply reply = {};

                r = next_reply(&exchange, &reply);
                if (r == 0 && reply.error) {
                        *ret_error = reply;
                        reply = (Reply){};
                        r = CONNECTION_E_ERROR;
                }
                if (r != 0)
                        break;
                last = !reply.continues;
                r = on_reply(userdata, connection, reply.parameters, last);
                /* It begins here: handing on can take as long as the user reads the pager. */
                exchange.silence_mono_ns = mono_deadline_ns(request->silence_ns);
        }
        if (request->stoppable)
                cancel_end_stoppable();
        return r;
}

int connection_take_fd(Connection *connection, json_object *parameters, const char *key) {
        json_object *index;

        if (!json_object_object_get_ex(parameters, key, &index) ||
            !json_object_is_type(index, json_type_int) || json_object_get_int64(index) < 0)
                return -EBADF;
        return frame_stream_take_fd(connection->stream, (size_t) json_object_get_int64(index));
}
