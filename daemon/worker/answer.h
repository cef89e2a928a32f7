/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Answer
 *
 * Sends what a job answers: any number of replies that announce another one, notes to the main
 * process, and then one final reply, result or error. Every one is sent before the next is built,
 * so a slow reader delays the job and does not cost memory. Functions fail with -EPIPE once the
 * peer has hung up; @closed distinguishes that from failures of our own.
 *
 * The peer is the main process, which gets packets, or a client that has started an analysis job
 * itself and gets frames.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "interface/interface.h"
#include "job/packet.h"
#include "json/json-writer.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* There is room for the members around the parameters of a reply. */
#define ANSWER_PARAMETERS_BYTES (LIMIT_REPLY_BYTES - 256)

/* It begins with its peer and the bounds of its buffers. */
typedef struct Answer {
        int socket;           /* borrowed */
        FrameStream *stream;  /* borrowed, of a client; NULL: the peer is the main process */
        PacketReader *reader; /* borrowed: of what the main process sends */
        bool more;            /* the caller accepts several replies */
        bool silent;          /* the caller accepts no reply (oneway) */
        bool finished;        /* the last reply is sent */
        bool closed;          /* the peer hung up */
        uint64_t progress_ns; /* CLOCK_MONOTONIC of the last progress reply; 0: none yet */
        Buffer parameters;    /* of the reply under construction; ANSWER_PARAMETERS_BYTES */
        Buffer frame;         /* LIMIT_REPLY_BYTES */
        JsonWriter writer;
} Answer;

/* Begins a reply and returns its parameters, an open object to write members into. */
JsonWriter *answer_begin(Answer *answer);
/*
 * Sends the reply that was begun: as PACKET_PART it announces another one, which requires a caller
 * that asked for more; PACKET_LAST ends the call. @fd, descriptor 0: taken over in any case;
 * negative: none.
 */
_must_check_ int answer_send(Answer *answer, PacketKind kind, int fd);

/*
 * For the main process alone: a note, or a PACKET_RESULT, which ends the call and of which the main
 * process makes the last reply. @fds are borrowed.
 */
_must_check_ int answer_packet(Answer *answer, PacketKind kind, Span body, const int *fds,
                               size_t n_fds);
/* Ends the call with a result of texts, see order/order.h. */
_must_check_ int answer_texts(Answer *answer, const Span *texts, size_t n);

/*
 * Sends an array @key of @n objects in replies of about LIMIT_BATCH_BYTES each, all of which
 * announce another reply. @write writes the @index-th object. Sends nothing if @n is 0.
 */
_must_check_ int answer_list(Answer *answer, const char *key, size_t n,
                             void (*write)(const void *userdata, size_t index, JsonWriter *writer),
                             const void *userdata);

/*
 * Reports the progress of a long call, at most ten times a second, and only to a caller that asked
 * for more. @total is 0 when it is not known.
 */
_must_check_ int answer_progress(Answer *answer, const char *phase, uint64_t done, uint64_t total);
/* Likewise, with numbers of their own. */
typedef struct AnswerCount {
        const char *name; /* in the interface */
        uint64_t n;
} AnswerCount;
_must_check_ int answer_progress_with(Answer *answer, const char *phase, uint64_t done,
                                      uint64_t total, const AnswerCount *counts, size_t n_counts);

/* Ends the call with @error. */
_must_check_ int answer_error(Answer *answer, WireError error, const WireErrorDetail *detail);

/* Checks on the socket whether the peer is still there to read the next reply. */
bool answer_has_peer(Answer *answer);
