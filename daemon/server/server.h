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
 *
 * A connection is one peer on the event loop: bytes become calls, replies become bytes, and no step
 * waits. At most one call is in flight; the calls behind it stay in the stream until its last reply
 * is queued, so answers keep the order of calls. Replies that a peer does not read are kept up to a
 * bound: from pause_bytes on, connection_is_full() asks the sender to pause, and the peer's next
 * call waits.
 *
 * Everything that is kept for a peer counts for its user: bytes that were read and not understood
 * yet, the values of the call in flight, what its request holds, and unread replies. From half of
 * the user's bound on, whoever sends is asked to pause; past the bound, what comes next is answered
 * with Busy and its connection ends. So a user who does not read only hinders itself. A user
 * without unread replies is always sent one, however large it is. Busy says that nothing was done,
 * so the last reply of a call that may have changed something is sent past the bound, too: there is
 * one on each connection, whose next call is refused.
 *
 * Replying only queues. A connection is written to, found dead and freed from its own event
 * sources, never below a caller, so every function here may be called from on_call and on_drained.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include "base/macro.h"
#include "base/span.h"
#include "job/descriptor/disposal.h"
#include "interface/interface.h"
#include "log/log.h"
#include "server/own-processes.h"
#include "user/user.h"
#include "wire/frame.h"
#include "wire/message.h"

typedef struct Connection Connection;
typedef struct Server Server;

typedef struct ConnectionLimits {
        size_t max_call_bytes;
        size_t max_queued_bytes;
        size_t pause_bytes;  /* connection_is_full() from here */
        unsigned max_fds;    /* with one call */
        uint64_t idle_ns;    /* for the rest of a call that has begun */
        uint64_t stalled_ns; /* for a peer that does not read */
} ConnectionLimits;

typedef struct ConnectionEvents {
        /*
         * A call came. One last reply is owed, now or later, unless on_hangup comes first. @call is
         * borrowed; descriptors that are not taken before this returns are closed.
         */
        void (*on_call)(Connection *connection, const Call *call, void *userdata);
        /*
         * The caller is gone or was dropped while its call was in flight: nobody reads an answer.
         */
        void (*on_hangup)(Connection *connection, void *userdata);
        /*
         * The caller closed its writing side while its call was in flight, once a call: it waits
         * for the answer and asks a call that would not end by itself to end.
         */
        void (*on_stop)(Connection *connection, void *userdata);
        /* A full connection has room again while its call is in flight. */
        void (*on_drained)(Connection *connection, void *userdata);
} ConnectionEvents;

/* READING -> CALLED -> READING ... -> CLOSING (queued replies are sent first) or BROKEN. */
typedef enum ConnectionState {
        CONNECTION_READING, /* no call in flight */
        CONNECTION_CALLED,  /* the call is not answered yet */
        CONNECTION_CLOSING, /* the last answer is queued, nothing is read any more */
        CONNECTION_BROKEN,  /* to be freed: nothing can be sent */
} ConnectionState;

struct Connection {
        Server *server;
        Peer peer;
        /* Whoever takes a call finds it again by this; NULL at first, and after the last reply. */
        void *call_data;
        FrameStream *stream; /* inside on_call it has the descriptors of the call */

        /* The members from here on are of the connection itself. */
        DisposalKeeper keeper; /* of the stream */
        ConnectionState state;
        size_t n_call_bytes; /* of the values of the call in flight */
        size_t n_held_bytes; /* what else is kept for it */
        Charge charge, bytes, unread;

        bool in_flight;   /* an answer is owed; true in CALLED, perhaps in BROKEN */
        bool oneway;      /* that call wants no answer */
        bool stopped;     /* that caller closed its writing side, and on_stop told so */
        bool input_ended; /* the peer will send nothing more */
        bool peer_gone;   /* the peer will read nothing more */
        bool told_full;   /* a sender pauses: on_drained is owed */
        bool begun;       /* the idle timer runs for a call that has begun */
        bool hungry;      /* no complete frame waits, so more may be read */

        sd_event_source *io;
        /*
         * Continues outside the current call stack. It is a timer that is due at once and not a
         * deferred source: sd-event serves sources in the order in which they became ready, and a
         * deferred source, ready since it was made, would always come before the sources of other
         * connections.
         */
        sd_event_source *next;
        sd_event_source *idle_timer;
        sd_event_source *stalled_timer;
};

/* server */

struct Server {
        sd_event *event;
        Users *users;            /* borrowed */
        Disposal *disposal;      /* borrowed: closes descriptors that peers send */
        ConnectionLimits limits; /* connections follow other limits from their next timer on */
        const ConnectionEvents *events;
        void *userdata;           /* of the events */
        Connection **connections; /* owned, all of them */
        unsigned n_connections;
        size_t n_allocated;
        LogLimit log_limit; /* for lines that a peer can cause */
        bool ends_empty;    /* the event loop ends when the last connection has ended */
        /*
         * Borrowed: peers that connect while it is set are in it until they disconnect; NULL, as at
         * first: nobody asks who calls.
         */
        OwnProcesses *own;
        /* of the socket that connections come from, if there is one */
        int listening_fd;
        sd_event_source *io, *rest;
};

enum {
        SERVER_OK,
        SERVER_E_REFUSED, /* a bound was reached; the peer got an error */
};

/* The bounds of wire/limits.h. */
ConnectionLimits server_default_limits(void);

/* The events of all connections get @userdata; @users and @disposal are borrowed. */
_must_check_ int server_new(sd_event *event, Users *users, Disposal *disposal,
                            const ConnectionLimits *limits, const ConnectionEvents *events,
                            void *userdata, Server **ret);
/* Ends every connection without telling the events; sends what their sockets take at once. */
Server *server_free(Server *server);

/* Makes a connection of a connected socket, which is taken over in any case. */
_must_check_ int server_adopt(Server *server, int fd);
/*
 * Adopts the listening socket @fd on success, and serves who connects to it. When accept(2) fails
 * for lack of descriptors or memory, the server pauses for a moment instead of spinning.
 */
_must_check_ int server_listen(Server *server, int fd);

/* connections */

/* Its state in one word: "reading", "called" (a call is in flight), "closing" or "broken". */
const char *connection_state(const Connection *connection);
/* True when a sender has to pause; on_drained tells it when there is room again. */
bool connection_is_full(Connection *connection);

/*
 * Ends the connection soon, with its call and everything that is queued. @what: the reason, for the
 * log.
 */
void connection_drop(Connection *connection, const char *what);
/*
 * @n_bytes are kept from now on for the call in flight, beside its message and its replies. False
 * when its user holds too much; the call is then to be answered with an error.
 */
_must_check_ bool connection_hold(Connection *connection, size_t n_bytes);

/*
 * Answers to the call in flight. Descriptors are always taken over. A oneway call gets no answer.
 * There is no failure to handle: when an answer cannot be queued the connection breaks, and
 * on_hangup is called later if the call is still in flight then.
 */

/* A reply with more to follow; only to a caller that set "more". */
void connection_continue(Connection *connection, Span parameters);
void connection_error(Connection *connection, WireError error, const WireErrorDetail *detail);

typedef enum ReplyKind {
        REPLY_PART, /* more follow */
        REPLY_LAST,
        REPLY_LAST_OF_CHANGE, /* never replaced by Busy */
} ReplyKind;

/* A complete reply frame. */
void connection_forward(Connection *connection, Span frame, ReplyKind kind, const int *fds,
                        size_t n_fds);
/*
 * There is room for a reply of so many bytes that may be left out: a call does not end because
 * nobody reads how far it is.
 */
bool connection_has_room(const Connection *connection, size_t n_bytes);
