/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/err.h"
#include "wire/limits.h"
#include "wire/message-object.h"

#define TIMER_ACCURACY_US 10000

#define TOO_MUCH_REASON \
        "You have too many calls and unread replies under way; let some of them finish."

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
        return users_ask(connection->setup->users, connection->peer.uid, USE_BYTES, n_bytes) ==
               USER_OK;
}

/*
 * With nothing queued there would be no drain event, and the call would never resume. Nor would a
 * oneway call whose peer left without reading what is queued; it adds nothing to that.
 */
static bool is_full(const Connection *connection) {
        size_t n_queued = frame_stream_queued_bytes(connection->stream);
        const Users *users = connection->setup->users;

        if (connection->oneway)
                return false;
        /* Senders pause early, so that what others of the same user still send has room. */
        return n_queued >= connection->setup->limits.pause_bytes ||
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
               (users_count(connection->setup->users, connection->peer.uid, USE_UNREAD) == 0 ||
                may_have(connection, n_bytes));
}

/* timers and sources */

static void timer_start(sd_event_source *timer, uint64_t ns) {
        (void) sd_event_source_set_time_relative(timer, ns / NSEC_PER_USEC);
        (void) sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

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
        connection->setup->on_breach(connection, what, connection->setup->owner);
        break_soon(connection);
}

bool connection_hold(Connection *connection, size_t n_bytes) {
        connection->n_held_bytes = n_bytes;
        weigh(connection);
        if (!may_have(connection, 0))
                return false;
        connection->setup->on_grown(connection, connection->setup->owner);
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
                (void) disposal_close(connection->setup->disposal, fds[i]);
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
                timer_start(connection->stalled_timer, connection->setup->limits.stalled_ns);
        arm(connection);
        connection->setup->on_grown(connection, connection->setup->owner);
}

static void refuse_as(Connection *connection, WireError error, const char *reason);

/* A reply that a call made may be as large as a reply can be; a user gets one in any case. */
static void queue_reply(Connection *connection, Span frame, const int *fds, size_t n_fds) {
        bool is_sent = connection->state != CONNECTION_BROKEN &&
                       connection->state != CONNECTION_CLOSING && !connection->oneway;

        if (is_sent &&
            users_count(connection->setup->users, connection->peer.uid, USE_UNREAD) > 0 &&
            !may_have(connection, frame.n + 1)) {
                close_all(connection, fds, n_fds);
                refuse_as(connection, WIRE_ERROR_BUSY, TOO_MUCH_REASON);
                return;
        }
        queue_frame(connection, frame, fds, n_fds);
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

void connection_forward(Connection *connection, Span frame, ReplyKind kind, const int *fds,
                        size_t n_fds) {
        assert(connection->in_flight);
        if (kind == REPLY_LAST_OF_CHANGE)
                queue_frame(connection, frame, fds, n_fds);
        else
                queue_reply(connection, frame, fds, n_fds);
        if (kind != REPLY_PART)
                end_call(connection);
}

void connection_continue(Connection *connection, Span parameters) {
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };

        assert(connection->in_flight);
        if (reply_encode(&frame, parameters, true) == 0)
                queue_reply(connection, buffer_span(&frame), NULL, 0);
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
        connection->setup->on_breach(connection, reason, connection->setup->owner);
        end_with(connection, error, reason);
}

static void take_frame(Connection *connection, Span frame) {
        const WireErrorDetail upgrade = {
                .subject = SPAN_LITERAL("upgrade"),
                .reason = "This service cannot switch a connection to another protocol.",
        };
        const ConnectionSetup *setup = connection->setup;
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
                setup->on_grown(connection, setup->owner);
        else
                refuse_as(connection, WIRE_ERROR_BUSY, TOO_MUCH_REASON);
        if (connection->state == CONNECTION_READING) {
                connection->state = CONNECTION_CALLED;
                connection->in_flight = true;
                connection->oneway = call.oneway;
                if (call.upgrade)
                        connection_error(connection, WIRE_ERROR_INVALID_PARAMETER, &upgrade);
                else
                        setup->events->on_call(connection, &call, setup->userdata);
                /* The stream would keep the descriptors until the next frame, if one comes. */
                for (size_t i = 0; i < connection->stream->n_fds; i++)
                        (void) disposal_close(setup->disposal,
                                              frame_stream_take_fd(connection->stream, i));
        }
        call_done(&call);
}

static void read_input(Connection *connection) {
        int r;

        if (users_ask(connection->setup->users, connection->peer.uid, USE_CLOSING, 0) != USER_OK) {
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
                connection->setup->on_grown(connection, connection->setup->owner);
        if (r == 0 || (r == FRAME_E_AGAIN && !connection->peer_gone))
                return;
        connection->input_ended = true;
        if (r == FRAME_E_TOO_LARGE)
                refuse_as(connection, WIRE_ERROR_INVALID_PARAMETER,
                          "The call is too long, or it has too many descriptors.");
        else if (r < 0)
                connection->state = CONNECTION_BROKEN;
}

static void end_watch(Connection *connection) {
        connection->begun = false;
        (void) sd_event_source_set_enabled(connection->idle_timer, SD_EVENT_OFF);
}

/*
 * Takes the next call, also one that the peer sent before it left: its socket no longer causes
 * events. Takes at most one in an iteration of the event loop, so that a peer that sends a thousand
 * calls in one write takes turns with the others.
 */
static void go_on(Connection *connection) {
        Span frame;
        int r;

        while (connection->peer_gone && !connection->input_ended &&
               connection->state == CONNECTION_READING)
                read_input(connection);
        if (connection->state != CONNECTION_READING)
                return;
        if (is_full(connection) && !connection->peer_gone) {
                /* Its answers are sent first; on_io() comes back here. */
                connection->hungry = false;
                end_watch(connection);
                return;
        }

        r = frame_stream_next(connection->stream, &frame);
        connection->hungry = r == FRAME_E_AGAIN;
        if (r == FRAME_E_AGAIN) {
                /*
                 * The idle limit runs from the first byte of a call to its last; bytes in between
                 * do not extend it.
                 */
                if (connection->stream->end == connection->stream->first) {
                        end_watch(connection);
                } else if (!connection->begun) {
                        connection->begun = true;
                        timer_start(connection->idle_timer, connection->setup->limits.idle_ns);
                }
                if (connection->input_ended)
                        connection->state = CONNECTION_CLOSING;
                return;
        }
        if (r != 0) {
                connection->state = CONNECTION_BROKEN;
                return;
        }
        end_watch(connection);
        take_frame(connection, frame);
        if (connection->state == CONNECTION_READING)
                timer_start(connection->next, 0);
}

/* Every event source ends here: it decides the state of the connection, and may free it. */
static void settle(Connection *connection) {
        const ConnectionSetup *setup = connection->setup;
        bool abandoned = connection->peer_gone && connection->in_flight && !connection->oneway;
        bool drained = connection->peer_gone || frame_stream_queued_bytes(connection->stream) == 0;

        if (connection->state != CONNECTION_BROKEN && !abandoned &&
            !(connection->state == CONNECTION_CLOSING && drained)) {
                arm(connection);
                return;
        }
        connection->state = CONNECTION_BROKEN;
        weigh(connection);
        if (connection->in_flight)
                setup->events->on_hangup(connection, setup->userdata);
        connection->in_flight = false;
        setup->on_closed(connection, setup->owner);
        (void) connection_free(connection);
}

/* event sources */

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Connection *connection = userdata;
        const ConnectionSetup *setup = connection->setup;
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
                        timer_start(connection->stalled_timer, setup->limits.stalled_ns);
                if ((r == 0 || r == FRAME_E_AGAIN) && connection->told_full &&
                    !is_full(connection)) {
                        connection->told_full = false;
                        if (connection->in_flight)
                                setup->events->on_drained(connection, setup->userdata);
                }
        }
        if (revents & (EPOLLHUP | EPOLLERR))
                connection->peer_gone = true;
        if ((revents & EPOLLRDHUP) && may_stop(connection)) {
                connection->stopped = true;
                setup->events->on_stop(connection, setup->userdata);
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

        connection->setup->on_breach(connection, "Replies were not read in time.",
                                     connection->setup->owner);
        connection->state = CONNECTION_BROKEN;
        settle(connection);
        return 0;
}

/* life */

static int add_timer(Connection *connection, sd_event_time_handler_t handler,
                     const char *description, uint64_t accuracy_us, sd_event_source **ret) {
        int r;

        r = sd_event_add_time_relative(connection->setup->event, ret, CLOCK_MONOTONIC, 0,
                                       accuracy_us, handler, connection);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(*ret, description);
        (void) sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
        return 0;
}

int connection_new(const ConnectionSetup *setup, int fd, const Peer *peer, Connection **ret) {
        _cleanup_(connection_freep) Connection *connection = NULL;
        _cleanup_(fd_closep) int owned_fd = fd;
        int r;

        connection = calloc(1, sizeof(*connection));
        if (!connection)
                return -ENOMEM;
        connection->setup = setup;
        connection->state = CONNECTION_READING;
        connection->hungry = true;
        connection->peer = *peer;
        r = charge_begin(&connection->charge, setup->users, peer->uid, USE_CONNECTIONS, 1);
        if (r == 0)
                r = charge_begin(&connection->bytes, setup->users, peer->uid, USE_BYTES, 0);
        if (r == 0)
                r = charge_begin(&connection->unread, setup->users, peer->uid, USE_UNREAD, 0);
        if (r < 0)
                return r;

        r = frame_stream_new(owned_fd, setup->limits.max_call_bytes, setup->limits.max_queued_bytes,
                             setup->limits.max_fds, &connection->stream);
        if (r != 0)
                return err_fold(r);
        owned_fd = -EBADF; /* the stream's */
        disposal_keeper_init(&connection->keeper, setup->disposal, peer->uid);
        connection->stream->keeper = &connection->keeper.keeper;
        r = sd_event_add_io(setup->event, &connection->io, connection->stream->fd, EPOLLIN, on_io,
                            connection);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(connection->io, "connection-io");
        r = add_timer(connection, on_next, "connection-next", 1, &connection->next);
        if (r == 0)
                r = add_timer(connection, on_idle, "connection-idle", TIMER_ACCURACY_US,
                              &connection->idle_timer);
        if (r == 0)
                r = add_timer(connection, on_stalled, "connection-stalled", TIMER_ACCURACY_US,
                              &connection->stalled_timer);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(connection);
        return 0;
}

Connection *connection_free(Connection *connection) {
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
