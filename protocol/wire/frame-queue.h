/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FrameQueue
 *
 * The bytes that a FrameStream has not sent yet, and the descriptors that leave with the first byte
 * of their frame. A frame with descriptors never shares a message with the frame behind it, because
 * the receiver gives them to the frame that holds the last byte it read.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "wire/frame-keeper.h"

/* The kernel allows so many descriptors in one message (SCM_MAX_FD), we in the whole queue. */
#define FRAME_QUEUE_MAX_FDS 253

/* What reading and writing a FrameStream returns besides a negative errno. */
enum {
        FRAME_OK,
        FRAME_E_AGAIN,  /* nothing can be read or sent now: wait for the socket */
        FRAME_E_CLOSED, /* the peer closed or reset the connection; an incomplete frame is lost */
        FRAME_E_TOO_LARGE, /* a frame or its descriptors exceed the bound: the stream is dead */
        FRAME_E_FULL,      /* the frame does not fit into the queue of unsent bytes */
};

typedef struct FrameAttachment {
        uint64_t first; /* position in the stream of the first byte of the frame */
        uint64_t end;   /* position behind its last byte */
        int *fds;       /* owned, array and descriptors */
        size_t n_fds;
} FrameAttachment;

typedef struct FrameQueue {
        char *bytes;
        size_t first; /* index of the first unsent byte */
        size_t n;
        size_t n_allocated;
        size_t max_bytes;
        uint64_t position; /* of that byte in the stream */

        FrameAttachment *attachments;
        size_t n_attachments;
        size_t n_attachments_allocated;
        size_t n_fds;              /* of all attachments */
        const FrameKeeper *keeper; /* borrowed; NULL: none */
} FrameQueue;

void frame_queue_init(FrameQueue *queue, size_t max_bytes);
void frame_queue_done(FrameQueue *queue);

/* As frame_stream_queue(). */
_must_check_ int frame_queue_add(FrameQueue *queue, Span frame, const int *fds, size_t n_fds);
/* As frame_stream_write(). */
_must_check_ int frame_queue_send(FrameQueue *queue, int socket_fd);
