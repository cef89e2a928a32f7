/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Server
 *
 * All connections of the process. Their number is bounded, in total and for each user (user.h); a
 * connection past a bound gets an error and is closed.
 *
 * The memory that is kept for all peers together is bounded, too. When that bound is passed, the
 * user who holds most loses the connection that holds most. Refusing the newest instead, as for one
 * user's own bound, would let a few users lock out everybody else.
 */

#include <stdint.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "log/log.h"
#include "server/connection.h"
#include "server/own-processes.h"

typedef struct Server {
        /* All connections share it, and follow other limits from their next timer on. */
        ConnectionSetup setup;
        Connection **connections; /* owned, all of them */
        unsigned n_connections;
        size_t n_allocated;
        LogLimit log_limit; /* for lines that a peer can cause */
        /* Called each time the last connection has ended; NULL, as at first: nobody is told. */
        void (*on_empty)(void *userdata);
        void *on_empty_userdata;
        /*
         * Borrowed: peers that connect while it is set are in it until they disconnect; NULL, as at
         * first: nobody asks who calls.
         */
        OwnProcesses *own;
        /* of the socket that connections come from, if there is one */
        int listening_fd;
        sd_event_source *io, *rest;
} Server;

enum {
        SERVER_OK,
        SERVER_E_REFUSED, /* a bound was reached; the peer got an error */
};

/* The bounds of wire/limits.h. */
ConnectionLimits server_default_limits(void);

/* @events and @userdata are handed to every connection; @users and @disposal are borrowed. */
_must_check_ int server_new(sd_event *event, Users *users, Disposal *disposal,
                            const ConnectionLimits *limits, const ConnectionEvents *events,
                            void *userdata, Server **ret);
/* Ends every connection without telling the events; sends what their sockets take at once. */
Server *server_free(Server *server);
DEFINE_CLEANUP(Server *, server_free);

/* Makes a connection of a connected socket, which is taken over in any case. */
_must_check_ int server_adopt(Server *server, int fd);
/*
 * Adopts the listening socket @fd on success, and serves who connects to it. When accept(2) fails
 * for lack of descriptors or memory, the server pauses for a moment instead of spinning.
 */
_must_check_ int server_listen(Server *server, int fd);
