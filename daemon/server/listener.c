/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "log/log.h"
#include "wire/limits.h"

#define LISTENER_REST_US USEC_PER_SEC

struct Listener {
        Server *server; /* borrowed */
        int fd;
        sd_event_source *io;
        sd_event_source *rest;
};

/*
 * Errors that concern one connection only, or a signal: the next accept(2) may succeed. The manual
 * page lists the network errors.
 */
static bool is_passing(int error) {
        return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM;
}

static void take_rest(Listener *listener, int error) {
        log_warning(-error, "Could not accept a connection, pausing for a second");
        (void) sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
        (void) sd_event_source_set_time_relative(listener->rest, LISTENER_REST_US);
        (void) sd_event_source_set_enabled(listener->rest, SD_EVENT_ONESHOT);
}

static int on_rested(sd_event_source *source, uint64_t usec, void *userdata) {
        Listener *listener = userdata;

        (void) sd_event_source_set_enabled(listener->io, SD_EVENT_ON);
        return 0;
}

static int on_incoming(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Listener *listener = userdata;
        int r;

        for (unsigned i = 0; i < LIMIT_ACCEPTS_PER_TURN; i++) {
                int connected = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (connected < 0) {
                        if (errno == EAGAIN)
                                break;
                        if (is_passing(errno))
                                continue;
                        take_rest(listener, errno);
                        break;
                }
                r = server_adopt(listener->server, connected);
                if (r < 0)
                        log_warning(r, "Could not serve a connection, dropping it");
        }
        return 0;
}

int listener_new(sd_event *event, int fd, Server *server, Listener **ret) {
        _cleanup_(listener_freep) Listener *listener = NULL;
        int flags, r;

        listener = malloc(sizeof(*listener));
        if (!listener)
                return -ENOMEM;
        *listener = (Listener){ .server = server, .fd = -EBADF };

        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(event, &listener->io, fd, EPOLLIN, on_incoming, listener);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(listener->io, "listener-io");
        r = sd_event_add_time_relative(event, &listener->rest, CLOCK_MONOTONIC, 0, 0, on_rested,
                                       listener);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(listener->rest, "listener-rest");
        (void) sd_event_source_set_enabled(listener->rest, SD_EVENT_OFF);

        listener->fd = fd;
        *ret = TAKE_PTR(listener);
        return 0;
}

Listener *listener_free(Listener *listener) {
        if (!listener)
                return NULL;

        sd_event_source_disable_unref(listener->rest);
        sd_event_source_disable_unref(listener->io);
        (void) fd_close(listener->fd);
        free(listener);
        return NULL;
}
