/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Request
 *
 * One call from its arrival to its last reply. A method reads the parameters, answers or submits an
 * order for a job; the replies of the job go through the request's stage, which by default forwards
 * them as they are. Answering only marks a request as over: it is freed where the event came from,
 * so that no function below pulls it away from its caller.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "interface/interface.h"
#include "interface/parameters.h"
#include "job/job.h"
#include "json/json-writer.h"
#include "server/connection.h"
#include "service/desk/desk.h"
#include "spool/spool.h"
#include "wire/limits.h"

enum {
        REQUEST_OK,
        REQUEST_ANSWERED, /* with an error: nothing is left to do but to pass this up */
};

typedef struct Method {
        const char *name; /* in full */
        /*
         * Answers, or submits a job that will; 0. REQUEST_ANSWERED when an error was the answer. A
         * negative errno is answered by the caller.
         */
        int (*handle)(Request *request);
        Record record;
} Method;

/* What becomes of the replies of a job; a member that is NULL forwards. 0 or a negative errno. */
typedef struct Stage {
        /* Its turn has come: writes the order, for one that must not get old in the queue. */
        int (*prepare)(Request *request);
        /* More follow. */
        int (*on_part)(Request *request, Span frame);
        /* The last one, a success: answer, or submit the next job. */
        int (*on_result)(Request *request, Span frame);
        /* The last one, an error, or one made of the end of the job. */
        int (*on_failure)(Request *request, Span frame);
        /* The replies of the method have a progress member: say so when it has to wait. */
        bool tells_progress;
        /*
         * When the caller hangs up the job is asked to end, and what it answers is kept. A caller
         * that has asked for that before cancels by hanging up.
         */
        bool outlives_caller;
} Stage;

struct Request {
        Desk *desk; /* borrowed */
        const Method *method;
        Connection *connection;  /* NULL: a request of our own, with nobody to answer */
        json_object *parameters; /* owned */
        uid_t uid;
        bool more;
        bool is_stopping; /* its job is to come to an end, or is to as soon as it starts */
        bool is_over;

        /* the order */
        QueueKind queue;
        QueueEntry entry;
        const JobTerms *terms; /* of the job */
        Buffer text;           /* parameters of the job's call, while they are written */
        Buffer call;
        int fds[LIMIT_FDS_PER_ORDER]; /* owned until the job has started */
        size_t n_fds;
        uint64_t max_file_bytes;
        const Stage *stage;
        Job *job;

        /* the method's own */
        void *state;
        void (*free_state)(void *state);
        /* The connection was full and is not: instead of resuming the job. */
        int (*on_drained)(Request *request);

        Request *previous, *next; /* of all of the service */
};

/* what a method finds */

/* Refuses what is wrong with the parameters: REQUEST_ANSWERED. */
_must_check_ int request_decode(Request *request, const Parameter *table, size_t n_table,
                                void *ret);
/* For a descriptor that may be the caller's: those are never closed here; returns -EBADF. */
int request_close_fd(Request *request, int fd);
/* Closes the descriptors of the order. */
void request_close_fds(Request *request);
/* @state is the request's from now on. */
void request_keep(Request *request, void *state, void (*free_state)(void *state));

/* answers */

/* Errors: REQUEST_ANSWERED, or a negative errno. */
_must_check_ int request_fail(Request *request, WireError error, const WireErrorDetail *detail);
_must_check_ int request_refuse_parameter(Request *request, const char *key, const char *reason);
/* @r: a SPOOL_E_* about the snapshot @name, or a negative errno, which is passed on. */
_must_check_ int request_fail_spool(Request *request, const char *name, int r);
/* The last reply; the descriptors are taken over in any case. */
_must_check_ int request_answer(Request *request, Span parameters, const int *fds, size_t n_fds);
/* The same with the frame of a job and the descriptors that came with it. */
_must_check_ int request_forward(Request *request, Span frame);

/* Once per event, when nothing below uses it any more: frees a request that is over. */
void request_settle(Request *request, int r);

/* for the service */

/* @connection and @call are NULL for a request of our own. */
_must_check_ int request_new(Desk *desk, const Method *method, Connection *connection,
                             const Call *call, Request **ret);
Request *request_free(Request *request);
/* Its turn has come. */
_must_check_ int request_start_job(Request *request);
_must_check_ int request_resume(Request *request);
/* The caller wants the answer now, of a job that has no end of its own. */
_must_check_ int request_stop(Request *request);
/* The caller is gone: frees the request, or leaves it to end without one. */
void request_hang_up(Request *request);
