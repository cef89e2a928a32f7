/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Request
 *
 * One call from its arrival to its last reply. A method reads the parameters and answers, or
 * submits an order for a job; the job's replies go through the stage of the request, which by
 * default passes their parameters on unchanged. Answering only marks a request as over; it is freed
 * in the event that led to it, so that no function frees it under its caller.
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
#include "order/order.h"
#include "server/server.h"
#include "service/manager/manager.h"
#include "spool/spool.h"
#include "wire/limits.h"

enum {
        REQUEST_OK,
        REQUEST_ANSWERED, /* with an error: nothing is left to do but to pass this up */
};

/* The reply that tells a caller that its request waits for its turn. */
#define REQUEST_WAITING "{\"progress\":{\"phase\":\"waiting\",\"done\":0}}"

typedef struct Method {
        const char *name; /* in full */
        /*
         * Answers, or submits a job that will; 0. REQUEST_ANSWERED when an error was the answer. A
         * negative errno is answered by the caller. NULL: a request of our own.
         */
        int (*handle)(Request *request);
        Record record;
        bool uses_index; /* of the spool: it is current when the handler is called */
} Method;

/*
 * How replies of a job are handled; NULL passes on those that are JSON. Functions return 0 or a
 * negative errno.
 */
typedef struct Stage {
        /* Called when its turn has come: writes an order that would get old in the queue. */
        int (*prepare)(Request *request);
        /* A note for us alone. */
        int (*on_note)(Request *request, const JobReply *note);
        /* A reply with more to follow; the job does not pause for a caller that does not read. */
        int (*on_part)(Request *request, Span parameters);
        /* The last reply, a success: answer, or submit the next job. */
        int (*on_result)(Request *request, const JobReply *reply);
        /* The last reply, an error, also one that says how the job ended. */
        int (*on_failure)(Request *request, WireError error, const WireErrorDetail *detail);
        /* Replies of the method may have a progress member, which tells when it has to wait. */
        bool tells_progress;
        /*
         * The request has its place in the queue until its last job ends: on_result, or on_failure,
         * goes on with request_continue().
         */
        bool keeps_place;
        /*
         * When the caller hangs up the job is asked to end, and what it answers is kept. A caller
         * that has asked for that before cancels by hanging up.
         */
        bool outlives_caller;
} Stage;

/* A call that needs the index waits for the survey that runs, or for the one after it. */
typedef enum SurveyTurn {
        SURVEY_NONE,
        SURVEY_THIS,
        SURVEY_NEXT, /* it came while one ran, which may miss what was there by then */
} SurveyTurn;

struct Request {
        Manager *manager; /* borrowed */
        const Method *method;
        Connection *connection;  /* NULL: a request of our own, with nobody to answer */
        json_object *parameters; /* owned */
        uid_t uid;
        bool more;
        bool can_stop;    /* its job has no end of its own, and will be there or is by now */
        bool is_stopping; /* that job is to come to an end, or is to as soon as it starts */
        bool is_kept;     /* it goes on to its end without its caller */
        bool is_over;

        /* the call, before it is handled */
        SurveyTurn survey;                /* it is handled when the index has been read */
        int call_fds[LIMIT_FDS_PER_CALL]; /* owned: those of the call, if it had to wait */
        size_t n_call_fds;
        SpoolView *view; /* owned, inside of the handler: one for all names of the call */

        /* the order */
        QueueKind queue;
        QueueEntry entry;
        bool was_queued;              /* it has got a place before, and gets each further one */
        const JobTerms *terms;        /* of the job */
        Buffer order;                 /* as it is sent */
        int fds[LIMIT_FDS_PER_ORDER]; /* owned until the job has started */
        size_t n_fds;
        uint64_t max_file_bytes;
        uint64_t reserved_bytes; /* what its job may write into the spool */
        int reserved_fd;         /* borrowed: what it is written to; -EBADF when that is unknown */
        Charge held;             /* for so large a file in memory, that its caller gets */
        const Stage *stage;
        Job *job;

        /* jobs that read memory for it: memory-jobs.h */
        Job *memory_job, *files_job;            /* owned; NULL: there is none, yet or any more */
        bool memory_was_asked, files_was_asked; /* once is enough */

        /* the method's own */
        void *state;          /* owned: request_keep() */
        size_t n_state_bytes; /* that @state holds, as far as a caller can make it large */
        void (*release)(Request *request);
        /* Called instead of resuming the job when a full connection has room again. */
        int (*on_drained)(Request *request);

        Request *previous, *next; /* of all of the service */
};

/* what a method finds */

/* Decodes the parameters, or refuses them: REQUEST_ANSWERED. */
_must_check_ int request_decode(Request *request, const Parameter *table, size_t n_table,
                                void *ret);
/* Takes a descriptor of the call; -EBADF when it has none with this number, or a socket. */
_must_check_ int request_take_fd(Request *request, size_t index);
/*
 * The snapshots in the spool. In a handler always the same ones, later the present ones. Borrowed
 * until the handler returns.
 */
SpoolView *request_view(const Request *request);
/*
 * Makes the state of the request, @n_bytes of zeros. @release, if it is not NULL, lets go of what
 * the state holds in the end. NULL: no memory.
 */
void *request_keep(Request *request, size_t n_bytes, void (*release)(Request *request));

/*
 * The state holds @n_bytes from now on, which count for the caller. REQUEST_ANSWERED when it holds
 * too much already, also because of what this request wrote.
 */
_must_check_ int request_hold(Request *request, size_t n_bytes);

/* answers */

/* Errors: REQUEST_ANSWERED, or a negative errno. */
_must_check_ int request_fail(Request *request, WireError error, const WireErrorDetail *detail);
_must_check_ int request_refuse(Request *request, WireError error, const char *reason);
_must_check_ int request_refuse_parameter(Request *request, const char *key, const char *reason);
/* @r: a SPOOL_E_* about the snapshot @name, or a negative errno, which is passed on. */
_must_check_ int request_fail_spool(Request *request, const char *name, int r);
/* Sends the last reply; the descriptors are taken over in any case. */
_must_check_ int request_answer(Request *request, Span parameters, const int *fds, size_t n_fds);
/* The same with the object in @writer, unless writing it failed. */
_must_check_ int request_answer_written(Request *request, JsonWriter *writer);
/* Sends JSON of a job as the last reply, with the descriptors that came with it. */
_must_check_ int request_forward(Request *request, const JobReply *reply);
/* JSON of a job, of which no more than the form was checked. -EBADMSG, -errno. */
_must_check_ int request_parse(Span text, json_object **ret);
/* The texts of a result: -EBADMSG when it is another, or a reply of JSON. */
_must_check_ int request_take_texts(const JobReply *reply, Span *ret_texts, size_t n);
/* Writes the member "rotated": names of a result, unless there are none. */
void request_write_rotated(JsonWriter *writer, Span before, Span after);

/*
 * Frees a request that is over. To be called once in each event, when no caller uses it any more.
 */
void request_settle(Request *request, int r);

/* the order for its job */

/* A new one, which takes no descriptors over from an earlier order. NULL: no memory. */
Order *request_new_order(Request *request, OrderMethod method);
/* @fd is taken over in any case. */
_must_check_ int request_add_fd(Request *request, int fd, OrderFd *ret);
/* The same with a duplicate of @fd. */
_must_check_ int request_add_copy(Request *request, int fd, OrderFd *ret);
/* The spool: its directory, path and limits. */
_must_check_ int request_add_spool(Request *request, OrderSpool *ret);
/* Adds what is in it, for a job that makes room there; nothing while that is not known. */
_must_check_ int request_add_roll(Request *request, OrderSpool *ret);
/* The order is complete: the request keeps what is sent of it. */
_must_check_ int request_set_order(Request *request, const Order *order);
/* Waits in @queue for a job, with @order, or with what its stage prepares in its turn: NULL. */
_must_check_ int request_submit(Request *request, const Order *order, QueueKind queue,
                                const Stage *stage);
/* The next job, at once and in the place of the job that has ended: of a stage that keeps it. */
_must_check_ int request_continue(Request *request, const Order *order, const Stage *stage);

/*
 * reservations: jobs that run write into the file system of the spool. Each one that does gets a
 * bound when it starts, and until it ends, what it has not written of that is taken for all others.
 * So jobs that run at the same time cannot together use the space that is kept free. A capture,
 * which bounds its file itself, reserves LIMIT_CAPTURE_BYTES.
 */

/* Sums what jobs of all requests but @except (NULL: none) may still write, in bytes. */
uint64_t request_sum_reserved(const Manager *manager, const Request *except);
/*
 * For a job that writes @file, which is borrowed until the request ends: half of what is left, so
 * that there is some left for the next job, and at most the budget of the spool. The job cannot
 * write a longer file. REQUEST_ANSWERED when nothing is left, or no inode.
 */
_must_check_ int request_reserve_half(Request *request, int file);
/*
 * For a job that writes a file in memory which its caller will get: half of what the files leave
 * that this user and others have open (see held-files.h). REQUEST_ANSWERED with Busy when that is
 * too little. The file itself is counted by held_files_add().
 */
_must_check_ int request_reserve_memory(Request *request);

/*
 * references: a call names a snapshot by its name in the spool, which is opened here, or by a
 * descriptor that came with it. Jobs only get descriptors, and the daemon never opens a path that a
 * client names.
 */

/*
 * Finds the name that @name, which may be "latest~N", stands for in the view of the request, from
 * which *ret is borrowed. 0, REQUEST_ANSWERED, or a negative errno.
 */
_must_check_ int request_find_name(Request *request, const char *name, const char **ret);
/*
 * References of a call come in here: the file of each is opened and added to the order. Inside of
 * the handler only, because descriptors are taken from the call.
 */
OrderDoor request_door(Request *request);

/* for the service */

/* @connection and @call are NULL for a request of our own. */
_must_check_ int request_new(Manager *manager, const Method *method, Connection *connection,
                             const Call *call, Request **ret);
Request *request_free(Request *request);
/* Calls the handler of its method; the result is for request_settle(). */
_must_check_ int request_handle(Request *request);
/* Its turn has come. */
_must_check_ int request_start_job(Request *request);
/* Asks its job, if that has no end of its own, for the answer it has by now. */
_must_check_ int request_stop(Request *request);
