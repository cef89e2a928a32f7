/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/limits.h"

/* With more unsent bytes than this, the job that feeds a connection should pause. */
#define SERVER_PAUSE_BYTES (4u * LIMIT_BATCH_BYTES)

#define SERVER_BREACH_ID "916b51d33e7d445a872d99ae81cfb2ad"

#define LISTENING_REST_US USEC_PER_SEC

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

/* what connections tell */

static void on_breach(Connection *connection, const char *what, void *owner) {
        log_peer(owner, &connection->peer, what, connection_state(connection));
}

/*
 * Drops the largest connection of the user who holds most, until that suffices or nobody holds
 * anything. A dropped connection counts no more, and is freed in an event of its own.
 */
static void on_grown(Connection *connection, void *owner) {
        Server *server = owner;

        while (!users_have_room(server->setup.users, USE_BYTES, 0)) {
                Connection *largest = NULL;
                uint64_t of_user = 0;

                for (unsigned i = 0; i < server->n_connections; i++) {
                        Connection *other = server->connections[i];
                        uint64_t n = users_count(server->setup.users, other->peer.uid, USE_BYTES);

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

static void on_closed(Connection *connection, void *owner) {
        Server *server = owner;
        unsigned i = 0;

        while (server->connections[i] != connection)
                i++;
        server->connections[i] = server->connections[--server->n_connections];
        if (server->own)
                own_processes_leave(server->own, &connection->peer);
        if (server->n_connections == 0 && server->on_empty)
                server->on_empty(server->on_empty_userdata);
}

/* life */

int server_new(sd_event *event, Users *users, Disposal *disposal, const ConnectionLimits *limits,
               const ConnectionEvents *events, void *userdata, Server **ret) {
        Server *server = calloc(1, sizeof(*server));

        if (!server)
                return -ENOMEM;
        server->setup = (ConnectionSetup){
                .event = sd_event_ref(event),
                .users = users,
                .disposal = disposal,
                .limits = *limits,
                .events = events,
                .userdata = userdata,
                .on_closed = on_closed,
                .on_breach = on_breach,
                .on_grown = on_grown,
                .owner = server,
        };
        server->listening_fd = -EBADF;
        server->log_limit = (LogLimit){ .interval_ns = 60 * NSEC_PER_SEC, .burst = 5 };
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
        sd_event_unref(server->setup.event);
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
        r = users_ask(server->setup.users, peer.uid, USE_CONNECTIONS, 1);
        if (r != USER_OK) {
                detail.reason = r == USER_E_FULL
                                        ? "Too many connections are open; try again later."
                                        : "You have too many connections open; close some of them.";
                log_peer(server, &peer, detail.reason, "connecting");
                /* Nothing was sent to the peer yet, so the socket takes these few bytes at once. */
                if (wire_error_encode_reply(&frame, WIRE_ERROR_BUSY, &detail) == 0 &&
                    buffer_append_byte(&frame, '\0') == 0)
                        (void) send(owned_fd, frame.bytes, frame.n, MSG_DONTWAIT | MSG_NOSIGNAL);
                (void) disposal_close_socket(server->setup.disposal, TAKE_FD(owned_fd));
                return SERVER_E_REFUSED;
        }
        r = ARRAY_RESERVE(server->connections, server->n_allocated, server->n_connections + 1);
        if (r == 0)
                r = connection_new(&server->setup, TAKE_FD(owned_fd), &peer, &connection);
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
                        (void) sd_event_source_set_time_relative(server->rest, LISTENING_REST_US);
                        (void) sd_event_source_set_enabled(server->rest, SD_EVENT_ONESHOT);
                        break;
                }
                r = server_adopt(server, connected);
                if (r < 0)
                        log_warning(r, "Could not serve a connection, dropping it");
        }
        return 0;
}

int server_listen(Server *server, int fd) {
        sd_event *event = server->setup.event;
        int flags, r;

        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(event, &server->io, fd, EPOLLIN, on_incoming, server);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(server->io, "listener-io");
        r = sd_event_add_time_relative(event, &server->rest, CLOCK_MONOTONIC, 0, 0, on_rested,
                                       server);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(server->rest, "listener-rest");
        (void) sd_event_source_set_enabled(server->rest, SD_EVENT_OFF);
        server->listening_fd = fd;
        return 0;
}
