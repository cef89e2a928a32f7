/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Session
 *
 * One run of ctprofctl: its options, its terminals, and the calls it makes. session_call() explains
 * a failure on stderr before it returns, so that verbs only pass the exit status on.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "remote/remote.h"
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
        TableLegend legend;      /* of all tables */
        bool is_machine;         /* the result is for a program: JSON or rows */
        bool is_chatty;          /* lines may be printed that are neither result nor error: hints */
        const char *socket_path; /* borrowed: of the daemon here, without a host */
        bool captures_ends;      /* what is captured are the two ends of an interval */
        bool is_refused;         /* the last call was refused: another one may succeed */
        int left_status;         /* the exit status if the user quits the pager early */
        const char *host; /* borrowed: whose daemon is asked, through ssh; NULL: this one's */
        bool is_of_many;  /* other sessions ask other hosts at the same time */
        int connected_fd; /* closed once the host is connected; -EBADF: nobody waits for that */
        char daemon_version[REMOTE_VERSION_BYTES]; /* of the host; "": not known */
        char *spool_path; /* owned, absolute; NULL until a private ctprofd is needed */
        /*
         * Owned; the private ctprofd that made the first of the two ends, kept for the second: what
         * threads do that end in between is known to its programs alone.
         */
        Connection *kept;
} Session;

/* Examines the terminals. */
void session_init(Session *session, const Options *options);
/*
 * Flushes results and waits for the pager. Returns @status, or STATUS_FAILED after a sentence if
 * the results could not be written.
 */
int session_done(Session *session, int status);

/* Appends the directory of a private ctprofd's spool; nothing if there is no home directory. */
int local_spool_default(const char *xdg_state_home, const char *home, Buffer *ret);
/*
 * Makes that directory if it is missing; ctprofd checks one that is there. @path: as the user names
 * it, NULL for the default, $XDG_STATE_HOME/ctprof. *ret is absolute and owned by the caller. 0, or
 * an exit status after a sentence.
 */
int local_spool_prepare(const char *path, char **ret);

/* Starts the pager for long output, except for programs. 0 or an exit status. */
int session_page(Session *session);

/*
 * A call, with the words for reporting its failure. It owns its parameters: session_call_begin()
 * opens their object, the caller writes members, and the call itself closes the object and reports
 * a failure to write. session_call_done() releases them.
 */
typedef struct SessionCall {
        EndpointKind endpoint;   /* ENDPOINT_DAEMON becomes a private daemon with --local */
        Request request;         /* its time limits are set by session_call() */
        bool is_about_files;     /* replies may have names of files, which are any text */
        const char *subject;     /* the name or path that a refusal is about; may be NULL */
        const char *taken_hint;  /* what to do about SnapshotExists */
        const char *tolerated;   /* the name of an error that is as good as a reply; may be NULL */
        uint64_t at_realtime_ns; /* when the daemon is called, by its host's clock; 0: at once */
        /* These get the userdata of the call, and return 0, or an exit status after a sentence. */
        int (*on_progress)(void *userdata, json_object *progress); /* may be NULL, as the next */
        int (*on_stop)(void *userdata); /* of a request that is stoppable (call/connection.h) */
        Buffer parameters;
        JsonWriter writer; /* of the parameters, once begun */
} SessionCall;

JsonWriter *session_call_begin(SessionCall *call);
void session_call_done(SessionCall *call);

/* Like ConnectionOnReply; a positive value is an exit status that the verb has explained. */
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
