/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Answer
 *
 * The replies to one call, in their order: any number with more to follow, then one final reply or
 * error, and nothing behind it. Every reply is sent off before the next is built, so that a reader
 * who is slow holds up the job and not the memory. Functions fail with -EPIPE once the peer hung
 * up, and answer_is_closed() tells that apart from trouble of our own.
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
        bool stopped;         /* ... or asked for an end */
        uint64_t progress_ns; /* CLOCK_MONOTONIC of the last progress reply; 0: none yet */
        Buffer parameters;    /* of the reply under construction */
        Buffer frame;
        JsonWriter writer;
} Answer;

void answer_init(Answer *answer, FrameStream *stream);
void answer_done(Answer *answer);

/* Begins a reply; its parameters' members are written into the result, which is an open object. */
JsonWriter *answer_begin(Answer *answer);
/* Sends what was begun, with more to follow. Only when the caller asked for more. */
_must_check_ int answer_reply(Answer *answer);
/* Sends what was begun as the last reply. */
_must_check_ int answer_final(Answer *answer);
/* The same with @fd as descriptor 0; @fd is the answer's whatever happens. */
_must_check_ int answer_final_descriptor(Answer *answer, int fd);

/*
 * Tells how far a long call is, at most ten times a second, and only to a caller who asked for
 * more. @total 0: not known.
 */
_must_check_ int answer_progress(Answer *answer, const char *phase, uint64_t done, uint64_t total);

/* Ends the call with @error. */
_must_check_ int answer_error(Answer *answer, WireError error, const WireErrorDetail *detail);

bool answer_is_closed(const Answer *answer);
/* Asks the socket: whether the peer is still there to read the next reply. */
bool answer_has_peer(Answer *answer);
/*
 * Whether the main process has asked the job to come to an end and answer with what there is
 * (JOB_STOP_METHOD). Looks at what has arrived and does not wait; the socket becomes readable when
 * it is asked. Descriptors of the call that were not taken by now are closed.
 */
bool answer_is_stopped(Answer *answer);
