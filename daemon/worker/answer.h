/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Answer
 *
 * The replies to one call, in their order: any number with more to follow, then one final reply or
 * error, and nothing after it. Every reply is sent before the next is built, so a slow reader
 * delays the job and does not cost memory. Functions fail with -EPIPE once the peer hung up;
 * answer_is_closed() distinguishes that from failures of our own.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "interface/interface.h"
#include "json/json-writer.h"
#include "wire/frame.h"

typedef struct Answer {
        FrameStream *stream;  /* borrowed */
        bool more;            /* the caller takes several replies */
        bool silent;          /* the caller takes none (oneway) */
        bool finished;        /* the last one is sent */
        bool closed;          /* the peer hung up */
        bool stopped;         /* the peer asked the job to end, see answer_is_stopped() */
        uint64_t progress_ns; /* CLOCK_MONOTONIC of the last progress reply; 0: none yet */
        Buffer parameters;    /* of the reply under construction */
        Buffer frame;
        JsonWriter writer;
} Answer;

void answer_init(Answer *answer, FrameStream *stream);
void answer_done(Answer *answer);

/* Begins a reply; its parameters' members are written into the result, which is an open object. */
JsonWriter *answer_begin(Answer *answer);
/* Sends the reply that was begun, with more to follow. Only when the caller asked for more. */
_must_check_ int answer_reply(Answer *answer);
/* Sends the reply that was begun as the last one. */
_must_check_ int answer_final(Answer *answer);
/* The same with @fd as descriptor 0; @fd is the answer's whatever happens. */
_must_check_ int answer_final_descriptor(Answer *answer, int fd);

/*
 * Sends an array @key of @n objects in replies of about LIMIT_BATCH_BYTES each, with more to
 * follow; @write writes the @index-th. Nothing is sent when there is none.
 */
_must_check_ int answer_list(Answer *answer, const char *key, size_t n,
                             void (*write)(const void *userdata, size_t index, JsonWriter *writer),
                             const void *userdata);

/*
 * Reports the progress of a long call, at most ten times a second, and only to a caller that asked
 * for more. @total is 0 when it is not known.
 */
_must_check_ int answer_progress(Answer *answer, const char *phase, uint64_t done, uint64_t total);

/* Ends the call with @error. */
_must_check_ int answer_error(Answer *answer, WireError error, const WireErrorDetail *detail);

bool answer_is_closed(const Answer *answer);
/* Asks the socket: whether the peer is still there to read the next reply. */
bool answer_has_peer(Answer *answer);
/*
 * Whether the main process has asked the job to come to an end and answer with what there is
 * (JOB_METHOD_STOP). Looks at what has arrived and does not wait; the socket becomes readable when
 * it is asked. Descriptors of the call that were not taken by now are closed.
 */
bool answer_is_stopped(Answer *answer);
