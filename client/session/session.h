/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Session
 *
 * One run of ctprofctl: what was asked for, what stands behind stdout and stderr, and the calls it
 * makes. A failed call has been explained on stderr when session_call() returns, so that verbs only
 * pass its exit status on.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "render/json-out.h"
#include "render/pager.h"
#include "render/progress.h"
#include "render/table.h"
#include "render/terminal.h"
#include "session/options.h"

typedef struct Session {
        const Options *options; /* borrowed */
        Terminal terminal;
        JsonStyle json;
        Progress progress;
        Pager pager;
        bool rows;        /* the result is rows for a program */
        bool is_refused;  /* the last call was: another may fare better */
        int left_status;  /* what to end with when the person leaves the pager early */
        char *spool_path; /* owned; absolute, once a private ctprofd was wanted */
} Session;

/* Looks at the terminals. */
void session_init(Session *session, const Options *options);
/*
 * Flushes results, waits for the pager. Returns @status, or STATUS_FAILED with a sentence when
 * results could not be written.
 */
int session_done(Session *session, int status);

static inline bool session_has_json(const Session *session) {
        return session->json != JSON_STYLE_OFF;
}
/* The result is for a program: JSON or rows. */
static inline bool session_is_machine(const Session *session) {
        return session_has_json(session) || session->rows;
}
/* Lines that neither are the result nor an error: headers, hints, "removed x". */
bool session_is_chatty(const Session *session);
TableLegend session_legend(const Session *session);
/* For output that may be long; never under JSON. STATUS_DONE or a status. */
int session_page(Session *session);

/*
 * A call and what is to be said about it. It owns its parameters: session_call_begin() opens their
 * object, the caller writes members, and the call itself closes the object and reports a failure to
 * write. session_call_done() releases them.
 */
typedef struct SessionCall {
        EndpointKind endpoint;  /* ENDPOINT_DAEMON stands for what --local says */
        Request request;        /* a timeout of 0 means what the user or the default says */
        bool unhurried;         /* has no default timeout */
        const char *subject;    /* what a refusal is about: a name or a path; may be NULL */
        const char *taken_hint; /* the way out of SnapshotExists */
        Buffer parameters;
        JsonWriter writer; /* of the parameters, once begun */
} SessionCall;

JsonWriter *session_call_begin(SessionCall *call);
void session_call_done(SessionCall *call);

/* As ConnectionOnReply; positive values are statuses, of which the verb has said why. */
typedef ConnectionOnReply SessionOnReply;

/* 0 or an exit status. */
int session_call(Session *session, SessionCall *call, SessionOnReply on_reply, void *userdata);
/*
 * For calls with one reply: its parameters, owned by the caller. @ret_fd takes the descriptor of
 * member "fileDescriptor"; NULL where there is none.
 */
int session_call_one(Session *session, SessionCall *call, json_object **ret, int *ret_fd);

/* Prints @object as the JSON result. 0 or an exit status. */
int session_print_json(const Session *session, json_object *object);
/* Ends a JSON result that was written in pieces. 0 or an exit status. */
int session_finish_json(JsonOut *out);
