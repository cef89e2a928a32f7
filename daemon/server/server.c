/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "job/descriptor/timer.h"
#include "wire/limits.h"
#include "wire/message-object.h"

/* With more unsent bytes than this, the job that feeds a connection should pause. */
#define SERVER_PAUSE_BYTES (4u * LIMIT_BATCH_BYTES)

#define SERVER_BREACH_ID "916b51d33e7d445a872d99ae81cfb2ad"

#define LISTENING_REST_NS NSEC_PER_SEC
#define TIMER_ACCURACY_US 10000

#define TOO_MUCH_REASON \
        "You have too many calls and unread replies under way; let some of them finish."

/* limits */

ConnectionLimits server_default_limits(void) {
        return (ConnectionLimits){
                .max_call_bytes = LIMIT_CALL_BYTES,
                .max_queued_bytes = LIMIT_QUEUED_BYTES,
                .pause_bytes = SERVER_PAUSE_BYTES,
                .max_fds = LIMIT_FDS_PER_CALL,
                .idle_ns = LIMIT_IDLE_NS,
                .stalled_ns = LIMIT_STALLED_NS,
        };
}

static void log_peer(Server *server, const Peer *peer, const char *what, const char *state) {
        const LogEvent event = { .message_id = SERVER_BREACH_ID, .uid = peer->uid };
        char quoted[LOG_QUOTE_BYTES], others[LOG_SUPPRESSED_BYTES];
        unsigned n_suppressed;

        if (!log_limit_pass(&server->log_limit, peer->uid, clock_now_ns(CLOCK_MONOTONIC),
                            &n_suppressed))
                return;
        /* The complaint about a malformed call may quote it. */
        log_write(LOG_WARNING, 0, &event, "Connection of uid %u (pid %d) ended while %s: %s%s",
                  (unsigned) peer->uid, (int) peer->pid, state, log_quote(span_of(what), quoted),
                  log_suppressed(n_suppressed, others));
}

/* what is known */

const char *connection_state(const Connection *connection) {
        static const char *const names[] = {
                [CONNECTION_READING] = "reading",
                [CONNECTION_CALLED] = "called",
                [CONNECTION_CLOSING] = "closing",
                [CONNECTION_BROKEN] = "broken",
        };

        return names[connection->state];
}

/* Called after everything that changes what is kept for the peer. */
static void weigh(Connection *connection) {
        bool is_broken = connection->state == CONNECTION_BROKEN;

        charge_set(&connection->unread,
                   is_broken ? 0 : frame_stream_queued_bytes(connection->stream));
        charge_set(&connection->bytes, is_broken ? 0
                                                 : connection->stream->n_allocated +
                                                           connection->stream->queue.n_allocated +
                                                           connection->n_call_bytes +
                                                           connection->n_held_bytes);
}

/* True when the user may have so many more bytes; with 0, when it is not past its bound. */
static bool may_have(const Connection *connection, size_t n_bytes) {
        return users_ask(connection->server->users, connection->peer.uid, USE_BYTES, n_bytes) ==
               USER_OK;
}

/*
 * With nothing queued there would be no drain event, and the call would never resume. Nor would a
 * oneway call whose peer left without reading what is queued; it adds nothing to that.
 */
static bool is_full(const Connection *connection) {
        size_t n_queued = frame_stream_queued_bytes(connection->stream);
        const Users *users = connection->server->users;

        if (connection->oneway)
                return false;
        /* Senders pause early, so that what others of the same user still send has room. */
        return n_queued >= connection->server->limits.pause_bytes ||
               (n_queued > 0 && users_count(users, connection->peer.uid, USE_BYTES) >
                                        users->limits.of_user[USE_BYTES] / 2);
}

/*
 * A sender pauses only after it has asked, so on_drained is owed from here on. It is not enough to
 * look when a reply is queued: what other connections of the user keep may fill this one, too.
 */
bool connection_is_full(Connection *connection) {
        bool full = is_full(connection);

        connection->told_full |= full;
        return full;
}

bool connection_has_room(const Connection *connection, size_t n_bytes) {
        return !is_full(connection) &&
               (users_count(connection->server->users, connection->peer.uid, USE_UNREAD) == 0 ||
                may_have(connection, n_bytes));
}

/* sources */

/*
 * Marks the connection as broken; its event sources free it. This comes before the calls of others:
 * what it holds counts no more, so it must not be there for long.
 */
static void break_soon(Connection *connection) {
        connection->state = CONNECTION_BROKEN;
        weigh(connection);
        (void) sd_event_source_set_priority(connection->next, SD_EVENT_PRIORITY_IMPORTANT);
        timer_start(connection->next, 0);
}

void connection_drop(Connection *connection, const char *what) {
        log_peer(connection->server, &connection->peer, what, connection_state(connection));
        break_soon(connection);
}

/*
 * Drops the largest connection of the user who holds most, until that suffices or nobody holds
 * anything. A dropped connection counts no more, and is freed in an event of its own.
 */
static void bound_memory(Server *server) {
        while (!users_have_room(server->users, USE_BYTES, 0)) {
                Connection *largest = NULL;
                uint64_t of_user = 0;

                for (unsigned i = 0; i < server->n_connections; i++) {
                        Connection *other = server->connections[i];
                        uint64_t n = users_count(server->users, other->peer.uid, USE_BYTES);

                        if (other->bytes.n == 0 || n < of_user ||
                            (n == of_user && largest && other->bytes.n <= largest->bytes.n))
                                continue;
                        of_user = n;
                        largest = other;
                }
                if (!largest)
                        return;
                connection_drop(largest,
                                "All users together have too many calls and unread replies under "
                                "way, this user most of them, and this connection most of those.");
        }
}

bool connection_hold(Connection *connection, size_t n_bytes) {
        connection->n_held_bytes = n_bytes;
        weigh(connection);
        if (!may_have(connection, 0))
                return false;
        bound_memory(connection->server);
        return true;
}

/* Nobody waits for the answer to a oneway call, so nobody can want it sooner. */
static bool may_stop(const Connection *connection) {
        return connection->state == CONNECTION_CALLED && connection->in_flight &&
               !connection->oneway && !connection->stopped && !connection->peer_gone;
}

/*
 * Chooses the events to wait for. The kernel reports a peer that is gone again and again, so the
 * source is switched off once that is known; a oneway call that still runs ends by itself.
 */
static void arm(Connection *connection) {
        bool reads = connection->state == CONNECTION_READING && connection->hungry &&
                     !connection->input_ended;
        bool writes = frame_stream_queued_bytes(connection->stream) > 0;
        uint32_t events = (reads ? (uint32_t) EPOLLIN : 0) | (writes ? (uint32_t) EPOLLOUT : 0) |
                          (may_stop(connection) ? (uint32_t) EPOLLRDHUP : 0);

        if (connection->peer_gone) {
                (void) sd_event_source_set_enabled(connection->io, SD_EVENT_OFF);
                (void) sd_event_source_set_enabled(connection->stalled_timer, SD_EVENT_OFF);
                return;
        }
        (void) sd_event_source_set_io_events(connection->io, events);
}

/* descriptors */

static void close_all(Connection *connection, const int *fds, size_t n_fds) {
        for (size_t i = 0; i < n_fds; i++)
                (void) disposal_close(connection->server->disposal, fds[i]);
}

/* answers */

/* Nothing is sent after the last answer of a connection, nor for a call that wants none. */
static void queue_frame(Connection *connection, Span frame, const int *fds, size_t n_fds) {
        bool was_empty = frame_stream_queued_bytes(connection->stream) == 0;
        int r;

        if (connection->state == CONNECTION_BROKEN || connection->state == CONNECTION_CLOSING ||
            connection->oneway) {
                close_all(connection, fds, n_fds);
                return;
        }
        r = frame_stream_queue(connection->stream, frame, fds, n_fds);
        if (r != 0) {
                /*
                 * Out of memory, or an answer larger than the queue: there is no smaller answer to
                 * send.
                 */
                close_all(connection, fds, n_fds);
                break_soon(connection);
                return;
        }
        weigh(connection);
        if (was_empty)
                timer_start(connection->stalled_timer, connection->server->limits.stalled_ns);
        arm(connection);
        bound_memory(connection->server);
}

/* The call is answered; the next one is taken in an iteration of its own. */
static void end_call(Connection *connection) {
        connection->in_flight = connection->oneway = connection->stopped = false;
        connection->call_data = NULL;
        connection->n_call_bytes = connection->n_held_bytes = 0;
        weigh(connection);
        if (connection->state == CONNECTION_CALLED)
                connection->state = CONNECTION_READING;
        timer_start(connection->next, 0);
}

static void refuse_as(Connection *connection, WireError error, const char *reason);

void connection_forward(Connection *connection, Span frame, ReplyKind kind, const int *fds,
                        size_t n_fds) {
        bool is_sent = connection->state == CONNECTION_CALLED && !connection->oneway;

        assert(connection->in_flight);
        /* A reply may be as large as a reply can be, so a user gets one in any case. */
        if (kind != REPLY_LAST_OF_CHANGE && is_sent &&
            users_count(connection->server->users, connection->peer.uid, USE_UNREAD) > 0 &&
            !may_have(connection, frame.n + 1)) {
                close_all(connection, fds, n_fds);
                refuse_as(connection, WIRE_ERROR_BUSY, TOO_MUCH_REASON);
        } else {
                queue_frame(connection, frame, fds, n_fds);
        }
        if (kind != REPLY_PART)
                end_call(connection);
}

void connection_continue(Connection *connection, Span parameters) {
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };

        if (reply_encode(&frame, parameters, true) == 0)
                connection_forward(connection, buffer_span(&frame), REPLY_PART, NULL, 0);
        else
                break_soon(connection);
}

static void queue_error(Connection *connection, WireError error, const WireErrorDetail *detail) {
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };

        if (wire_error_encode_reply(&frame, error, detail) == 0)
                queue_frame(connection, buffer_span(&frame), NULL, 0);
        else
                break_soon(connection);
}

void connection_error(Connection *connection, WireError error, const WireErrorDetail *detail) {
        assert(connection->in_flight);
        queue_error(connection, error, detail);
        end_call(connection);
}

/* input */

/* Sends an error if possible, and ends the connection. */
static void end_with(Connection *connection, WireError error, const char *reason) {
        const WireErrorDetail detail = { .subject = SPAN_LITERAL("call"), .reason = reason };

        queue_error(connection, error, &detail);
        if (connection->state != CONNECTION_BROKEN)
                connection->state = CONNECTION_CLOSING;
}

/* After a broken frame, nothing that follows can be trusted to be one. */
static void refuse_as(Connection *connection, WireError error, const char *reason) {
        log_peer(connection->server, &connection->peer, reason, connection_state(connection));
        end_with(connection, error, reason);
}

static void take_frame(Connection *connection, Span frame) {
        const WireErrorDetail upgrade = {
                .subject = SPAN_LITERAL("upgrade"),
                .reason = "This service cannot switch a connection to another protocol.",
        };
        Server *server = connection->server;
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Call call;
        int r;

        r = call_decode(frame, &call, complaint);
        if (r == MESSAGE_E_MALFORMED) {
                refuse_as(connection, WIRE_ERROR_INVALID_PARAMETER, complaint);
                return;
        }
        if (r != 0) {
                end_with(connection, WIRE_ERROR_JOB_FAILED,
                         "The daemon ran out of memory while it read the call.");
                return;
        }
        /* Nobody would read the answer, so the call is not made. */
        if (connection->peer_gone && !call.oneway) {
                connection->state = CONNECTION_BROKEN;
                call_done(&call);
                return;
        }
        connection->n_call_bytes = message_object_memory(call.parameters);
        weigh(connection);
        if (may_have(connection, 0))
                bound_memory(server);
        else
                refuse_as(connection, WIRE_ERROR_BUSY, TOO_MUCH_REASON);
        if (connection->state == CONNECTION_READING) {
                connection->state = CONNECTION_CALLED;
                connection->in_flight = true;
                connection->oneway = call.oneway;
                if (call.upgrade)
                        connection_error(connection, WIRE_ERROR_INVALID_PARAMETER, &upgrade);
                else
                        server->events->on_call(connection, &call, server->userdata);
                /* The stream would keep the descriptors until the next frame, if one comes. */
                for (size_t i = 0; i < connection->stream->n_fds; i++)
                        (void) disposal_close(server->disposal,
                                              frame_stream_take_fd(connection->stream, i));
        }
        call_done(&call);
}

static void read_input(Connection *connection) {
        int r;

        if (users_ask(connection->server->users, connection->peer.uid, USE_CLOSING, 0) != USER_OK) {
                refuse_as(connection, WIRE_ERROR_BUSY,
                          "Too many descriptors that you sent earlier are still being closed; try "
                          "again later.");
                return;
        }
        r = frame_stream_read(connection->stream);
        weigh(connection);
        if (r == 0 && !may_have(connection, 0))
                refuse_as(connection, WIRE_ERROR_BUSY, TOO_MUCH_REASON);
        else if (r == 0)
                bound_memory(connection->server);
        if (r == 0 || (r == FRAME_E_AGAIN && !connection->peer_gone))
                return;
        connection->input_ended = true;
        if (r == FRAME_E_TOO_LARGE)
                refuse_as(connection, WIRE_ERROR_INVALID_PARAMETER,
                          "The call is too long, or it has too many descriptors.");
        else if (r < 0)
                connection->state = CONNECTION_BROKEN;
}

/*
 * Takes the next call, also one that the peer sent before it left: its socket no longer causes
 * events. Takes at most one in an iteration of the event loop, so that a peer that sends a thousand
 * calls in one write takes turns with the others.
 */
static void go_on(Connection *connection) {
        Span frame;
        bool full;
        int r;

        while (connection->peer_gone && !connection->input_ended &&
               connection->state == CONNECTION_READING)
                read_input(connection);
        if (connection->state != CONNECTION_READING)
                return;
        /* While it is full its answers are sent first; on_io() comes back here. */
        full = is_full(connection) && !connection->peer_gone;
        r = full ? FRAME_OK : frame_stream_next(connection->stream, &frame);
        connection->hungry = r == FRAME_E_AGAIN;
        /*
         * The idle limit runs from the first byte of a call to its last; bytes in between do not
         * extend it.
         */
        if (!connection->hungry || connection->stream->end == connection->stream->first) {
                connection->begun = false;
                (void) sd_event_source_set_enabled(connection->idle_timer, SD_EVENT_OFF);
        } else if (!connection->begun) {
                connection->begun = true;
                timer_start(connection->idle_timer, connection->server->limits.idle_ns);
        }
        if (r == FRAME_E_AGAIN && connection->input_ended)
                connection->state = CONNECTION_CLOSING;
        else if (r != FRAME_OK && r != FRAME_E_AGAIN)
                connection->state = CONNECTION_BROKEN;
        if (full || r != FRAME_OK)
                return;
        take_frame(connection, frame);
        if (connection->state == CONNECTION_READING)
                timer_start(connection->next, 0);
}

/* Sends what the socket takes at once, then closes; tells nobody. */
static Connection *connection_free(Connection *connection) {
        if (!connection)
                return NULL;

        sd_event_source_disable_unref(connection->stalled_timer);
        sd_event_source_disable_unref(connection->idle_timer);
        sd_event_source_disable_unref(connection->next);
        sd_event_source_disable_unref(connection->io);
        if (connection->stream && frame_stream_queued_bytes(connection->stream) > 0)
                (void) !frame_stream_write(connection->stream);
        frame_stream_free(connection->stream);
        charge_end(&connection->unread);
        charge_end(&connection->bytes);
        charge_end(&connection->charge);
        free(connection);
        return NULL;
}
DEFINE_CLEANUP(Connection *, connection_free);

/* Every event source ends here: it decides the state of the connection, and may free it. */
static void settle(Connection *connection) {
        Server *server = connection->server;
        bool abandoned = connection->peer_gone && connection->in_flight && !connection->oneway;
        bool drained = connection->peer_gone || frame_stream_queued_bytes(connection->stream) == 0;
        unsigned i = 0;

        if (connection->state != CONNECTION_BROKEN && !abandoned &&
            !(connection->state == CONNECTION_CLOSING && drained)) {
                arm(connection);
                return;
        }
        connection->state = CONNECTION_BROKEN;
        weigh(connection);
        if (connection->in_flight)
                server->events->on_hangup(connection, server->userdata);
        connection->in_flight = false;
        while (server->connections[i] != connection)
                i++;
        server->connections[i] = server->connections[--server->n_connections];
        if (server->own)
                own_processes_leave(server->own, &connection->peer);
        if (server->n_connections == 0 && server->ends_empty)
                (void) sd_event_exit(server->event, 0);
        (void) connection_free(connection);
}

/* event sources */

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Connection *connection = userdata;
        Server *server = connection->server;
        size_t n_queued = frame_stream_queued_bytes(connection->stream);
        int r;

        if (n_queued > 0) {
                r = frame_stream_write(connection->stream);
                weigh(connection);
                if (r != 0 && r != FRAME_E_AGAIN)
                        connection->peer_gone = true;
                else if (r == 0)
                        (void) sd_event_source_set_enabled(connection->stalled_timer, SD_EVENT_OFF);
                else if (frame_stream_queued_bytes(connection->stream) < n_queued)
                        timer_start(connection->stalled_timer, server->limits.stalled_ns);
                if ((r == 0 || r == FRAME_E_AGAIN) && connection->told_full &&
                    !is_full(connection)) {
                        connection->told_full = false;
                        if (connection->in_flight)
                                server->events->on_drained(connection, server->userdata);
                }
        }
        if (revents & (EPOLLHUP | EPOLLERR))
                connection->peer_gone = true;
        if ((revents & EPOLLRDHUP) && may_stop(connection)) {
                connection->stopped = true;
                server->events->on_stop(connection, server->userdata);
        }
        if ((revents & EPOLLIN) && connection->state == CONNECTION_READING)
                read_input(connection);
        go_on(connection);
        settle(connection);
        return 0;
}

static int on_next(sd_event_source *source, uint64_t usec, void *userdata) {
        Connection *connection = userdata;

        go_on(connection);
        settle(connection);
        return 0;
}

static int on_idle(sd_event_source *source, uint64_t usec, void *userdata) {
        Connection *connection = userdata;

        refuse_as(connection, WIRE_ERROR_INVALID_PARAMETER,
                  "The rest of the call did not arrive in time.");
        settle(connection);
        return 0;
}

static int on_stalled(sd_event_source *source, uint64_t usec, void *userdata) {
        Connection *connection = userdata;

        log_peer(connection->server, &connection->peer, "Replies were not read in time.",
                 connection_state(connection));
        connection->state = CONNECTION_BROKEN;
        settle(connection);
        return 0;
}

/* life */

/* Takes over @fd in any case. */
static int connection_new(Server *server, int fd, const Peer *peer, Connection **ret) {
        _cleanup_(connection_freep) Connection *connection = NULL;
        _cleanup_(fd_closep) int owned_fd = fd;
        int r;

        connection = calloc(1, sizeof(*connection));
        if (!connection)
                return -ENOMEM;
        connection->server = server;
        connection->state = CONNECTION_READING;
        connection->hungry = true;
        connection->peer = *peer;
        r = charge_begin(&connection->charge, server->users, peer->uid, USE_CONNECTIONS, 1);
        if (r == 0)
                r = charge_begin(&connection->bytes, server->users, peer->uid, USE_BYTES, 0);
        if (r == 0)
                r = charge_begin(&connection->unread, server->users, peer->uid, USE_UNREAD, 0);
        if (r < 0)
                return r;

        r = frame_stream_new(owned_fd, server->limits.max_call_bytes,
                             server->limits.max_queued_bytes, server->limits.max_fds,
                             &connection->stream);
        if (r != 0)
                return err_fold(r);
        owned_fd = -EBADF; /* the stream's */
        disposal_keeper_init(&connection->keeper, server->disposal, peer->uid);
        connection->stream->keeper = &connection->keeper.keeper;
        r = sd_event_add_io(server->event, &connection->io, connection->stream->fd, EPOLLIN, on_io,
                            connection);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(connection->io, "connection-io");
        r = timer_new(server->event, &connection->next, "connection-next", 1, on_next, connection);
        if (r == 0)
                r = timer_new(server->event, &connection->idle_timer, "connection-idle",
                              TIMER_ACCURACY_US, on_idle, connection);
        if (r == 0)
                r = timer_new(server->event, &connection->stalled_timer, "connection-stalled",
                              TIMER_ACCURACY_US, on_stalled, connection);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(connection);
        return 0;
}

/* the server */

int server_new(sd_event *event, Users *users, Disposal *disposal, const ConnectionLimits *limits,
               const ConnectionEvents *events, void *userdata, Server **ret) {
        Server *server = malloc(sizeof(*server));

        if (!server)
                return -ENOMEM;
        *server = (Server){
                .event = sd_event_ref(event),
                .users = users,
                .disposal = disposal,
                .limits = *limits,
                .events = events,
                .userdata = userdata,
                .log_limit = { .interval_ns = 60 * NSEC_PER_SEC, .burst = 5 },
                .listening_fd = -EBADF,
        };
        *ret = server;
        return 0;
}

Server *server_free(Server *server) {
        if (!server)
                return NULL;

        sd_event_source_disable_unref(server->rest);
        sd_event_source_disable_unref(server->io);
        (void) fd_close(server->listening_fd);
        for (unsigned i = 0; i < server->n_connections; i++)
                (void) connection_free(server->connections[i]);
        free(server->connections);
        sd_event_unref(server->event);
        free(server);
        return NULL;
}

/* admission */

int server_adopt(Server *server, int fd) {
        _cleanup_(fd_closep) int owned_fd = fd;
        _cleanup_(buffer_done) Buffer frame = {};
        WireErrorDetail detail = { .reason = NULL };
        Connection *connection;
        Peer peer;
        int r;

        /*
         * A byte out of band may carry descriptors too, and where it is skipped instead of read the
         * kernel lets go of them in our name. Some kernels have no such bytes.
         */
        (void) setsockopt(owned_fd, SOL_SOCKET, SO_OOBINLINE, &(int){ 1 }, sizeof(int));
        r = peer_read(owned_fd, &peer);
        if (r < 0)
                return r;
        r = users_ask(server->users, peer.uid, USE_CONNECTIONS, 1);
        if (r != USER_OK) {
                detail.reason = r == USER_E_FULL
                                        ? "Too many connections are open; try again later."
                                        : "You have too many connections open; close some of them.";
                log_peer(server, &peer, detail.reason, "connecting");
                /* Nothing was sent to the peer yet, so the socket takes these few bytes at once. */
                if (wire_error_encode_reply(&frame, WIRE_ERROR_BUSY, &detail) == 0 &&
                    buffer_append_byte(&frame, '\0') == 0)
                        (void) send(owned_fd, frame.bytes, frame.n, MSG_DONTWAIT | MSG_NOSIGNAL);
                (void) disposal_close_socket(server->disposal, TAKE_FD(owned_fd));
                return SERVER_E_REFUSED;
        }
        r = ARRAY_RESERVE(server->connections, server->n_allocated, server->n_connections + 1);
        if (r == 0)
                r = connection_new(server, TAKE_FD(owned_fd), &peer, &connection);
        if (r < 0)
                return err_fold(r);
        server->connections[server->n_connections++] = connection;
        if (server->own)
                own_processes_enter(server->own, &peer);
        return 0;
}

/* listening */

static int on_rested(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *server = userdata;

        (void) sd_event_source_set_enabled(server->io, SD_EVENT_ON);
        return 0;
}

static int on_incoming(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Server *server = userdata;
        int r;

        for (unsigned i = 0; i < LIMIT_ACCEPTS_PER_TURN; i++) {
                int connected = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (connected < 0) {
                        if (errno == EAGAIN)
                                break;
                        /*
                         * These concern one connection only, or a signal: the next accept(2) may
                         * succeed. The manual page lists the network errors.
                         */
                        if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO ||
                            errno == EPERM)
                                continue;
                        log_warning(-errno, "Could not accept a connection, pausing for a second");
                        (void) sd_event_source_set_enabled(server->io, SD_EVENT_OFF);
                        timer_start(server->rest, LISTENING_REST_NS);
                        break;
                }
                r = server_adopt(server, connected);
                if (r < 0)
                        log_warning(r, "Could not serve a connection, dropping it");
        }
        return 0;
}

int server_listen(Server *server, int fd) {
        sd_event *event = server->event;
        int flags, r;

        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(event, &server->io, fd, EPOLLIN, on_incoming, server);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(server->io, "listener-io");
        r = timer_new(event, &server->rest, "listener-rest", 0, on_rested, server);
        if (r < 0)
                return r;
        server->listening_fd = fd;
        return 0;
}
