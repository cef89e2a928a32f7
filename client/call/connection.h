/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Connection
 *
 * One socket to a peer: the daemon of the host, a private daemon, or an analysis job. It carries
 * one call at a time and hands on the replies as they come. A failure below the level of replies
 * becomes one sentence for the user.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "call/child.h"
#include "wire/message.h"

typedef struct Connection Connection;

typedef enum EndpointKind {
        ENDPOINT_DAEMON,   /* at a socket in the file system */
        ENDPOINT_PRIVATE,  /* a ctprofd started for this call */
        ENDPOINT_ANALYSIS, /* the analysis job alone: for calls on files */
} EndpointKind;

typedef struct Endpoint {
        EndpointKind kind;
        const char *socket_path; /* ENDPOINT_DAEMON */
        bool is_of_bridge;       /* whoever reads a complaint is on another host */
        const char *spool_path;  /* ENDPOINT_PRIVATE; absolute */
} Endpoint;

enum {
        CONNECTION_OK,
        CONNECTION_E_FAILED,    /* the complaint is the sentence */
        CONNECTION_E_CANCELLED, /* by a signal; there is nothing to say */
        CONNECTION_E_ERROR,     /* the peer replied with an error */
};

#define CONNECTION_COMPLAINT_BYTES 1024

/* @timeout_ns: for the connect, 0 for a default. CONNECTION_E_FAILED, CONNECTION_E_CANCELLED. */
_must_check_ int connection_open(const Endpoint *endpoint, uint64_t timeout_ns, Connection **ret,
                                 char ret_complaint[static CONNECTION_COMPLAINT_BYTES]);
/* Adopts the connected socket @fd on success. @peer: the name of the other side in sentences. */
_must_check_ int connection_adopt(int fd, const char *peer, Connection **ret);
/*
 * @child stands between us and the peer, and ends when we hang up. Before it ends for another
 * reason it writes a sentence that tells why into @words_fd, which is adopted.
 */
void connection_set_child(Connection *connection, Child child, int words_fd);
/* Hangs up, and waits for the child, if there is one. */
Connection *connection_free(Connection *connection);
DEFINE_CLEANUP(Connection *, connection_free);

typedef struct Request {
        const char *method;
        Span parameters; /* a complete JSON object, or empty */
        const int *fds;  /* borrowed: copies are sent */
        size_t n_fds;
        bool more;
        /*
         * The call runs until the peer is asked to end it: the first signal asks, and a second
         * signal cancels the call. To ask, on_stop() is called or, if it is NULL, the sending side
         * of our socket is closed.
         */
        bool stoppable;
        int (*on_stop)(void *userdata); /* what it returns ends the call, unless it is 0 */
        /*
         * Borrowed, and may be set while the call runs: once this is readable, on_stop() is called,
         * which sets it to -EBADF. NULL: there is none.
         */
        const int *watched_fd;
        uint64_t timeout_ns; /* until the last reply; 0: none */
        uint64_t spent_ns;   /* how much of that is over: the connecting */
        uint64_t silence_ns; /* until the next reply, and from each reply to the next; 0: none */
        Span prelude;        /* a frame that is sent in front of the call, to a bridge, or empty */
} Request;

/*
 * One reply's parameters, borrowed. Returns 0 to go on; anything else ends the call, which then
 * returns that.
 */
typedef int (*ConnectionOnReply)(void *userdata, Connection *connection, json_object *parameters,
                                 bool last);

/*
 * Sends the call and hands on its replies until the last. On CONNECTION_E_ERROR, *ret_error is the
 * error reply, the caller's to reply_done(). CONNECTION_E_FAILED and CONNECTION_E_CANCELLED leave a
 * connection that can only be freed. A peer that replies for ever is given up at the bounds of
 * wire/limits.h.
 */
_must_check_ int connection_call(Connection *connection, const Request *request,
                                 ConnectionOnReply on_reply, void *userdata, Reply *ret_error,
                                 char ret_complaint[static CONNECTION_COMPLAINT_BYTES]);

/* Between calls: the peer has neither hung up nor sent anything. */
bool connection_is_quiet(const Connection *connection);

/* While a reply is handed on: the descriptor that its member @key names, or -EBADF. */
int connection_take_fd(Connection *connection, json_object *parameters, const char *key);
