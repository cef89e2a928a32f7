/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FrameStream
 *
 * Sends and receives frames over a connected stream socket. A frame is bytes ended by a NUL, with
 * the descriptors (SCM_RIGHTS) that were sent with it. Reading and writing never wait, and the
 * memory for both directions is bounded. Received descriptors are close-on-exec and belong to the
 * stream until they are taken.
 *
 * A stream socket never merges data behind descriptors into one read, so the descriptors of a read
 * belong to the frame that holds the last byte of that read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

/* The kernel allows so many descriptors in one message (SCM_MAX_FD), we in the whole queue. */
#define FRAME_QUEUE_MAX_FDS 253

/* Reading and writing a FrameStream returns these besides a negative errno. */
enum {
        FRAME_OK,
        FRAME_E_AGAIN,  /* nothing can be read or sent now: wait for the socket */
        FRAME_E_CLOSED, /* the peer closed or reset the connection; an incomplete frame is lost */
        FRAME_E_TOO_LARGE, /* a frame or its descriptors exceed the bound: the stream is dead */
        FRAME_E_FULL,      /* the frame does not fit into the queue of unsent bytes */
};

/*
 * Lets a stream close descriptors when its owner must not wait in close(2): a descriptor that came
 * from a peer can be a file that somebody else serves. Without a keeper descriptors are closed at
 * once.
 */
typedef struct FrameKeeper {
        /* The descriptor came from the peer. */
        void (*note)(int fd, void *userdata);
        /* The descriptor came and was not taken, or it was queued and is sent or dropped. */
        void (*close)(int fd, void *userdata);
        /* Closes the stream's own socket. Bytes that were not read from it may hold descriptors. */
        void (*close_socket)(int fd, void *userdata);
        void *userdata;
} FrameKeeper;

static inline void frame_keeper_close(const FrameKeeper *keeper, int fd) {
        if (!keeper)
                (void) fd_close(fd);
        else if (fd >= 0)
                keeper->close(fd, keeper->userdata);
}

typedef struct ReceivedFd {
        int fd;
        uint64_t position; /* in the stream, of the last byte of the read it came with */
} ReceivedFd;

typedef struct FrameAttachment {
        uint64_t first; /* position in the stream of the first byte of the frame */
        uint64_t end;   /* position behind its last byte */
        size_t n_fds;
} FrameAttachment;

/*
 * The bytes that were not sent yet, and the descriptors that leave with the first byte of their
 * frame. A frame with descriptors never shares a message with the frame behind it, because the
 * receiver gives them to the frame that holds the last byte it read.
 */
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
        int fds[FRAME_QUEUE_MAX_FDS]; /* owned; of all attachments, in their order */
        size_t n_fds;
} FrameQueue;

typedef struct FrameStream {
        int fd;
        size_t max_frame_bytes;
        size_t max_fds;
        bool closed; /* by the peer */
        bool exited; /* the peer exceeded a bound */

        char *bytes;
        size_t first; /* index of the first byte that was not handed out */
        size_t end;   /* index behind the last byte received; after @first: there is input */
        size_t n_allocated;
        bool has_frame;    /* a terminator was found */
        size_t frame_end;  /* index of that terminator */
        uint64_t position; /* of @first in the stream */

        /*
         * First those of the frame last handed out, at most @max_fds, -EBADF when taken; then those
         * of frames that were not handed out, at most twice as many.
         */
        ReceivedFd *received;
        size_t n_fds, n_received;
        const FrameKeeper *keeper; /* borrowed, set by the owner; NULL: none */

        FrameQueue queue;
} FrameStream;

/*
 * Adopts @fd on success and makes it non-blocking. @max_frame_bytes (without the NUL) and @max_fds
 * bound what is received in one frame; the queue holds @max_queued_bytes, terminators included, and
 * at most 253 descriptors.
 */
_must_check_ int frame_stream_new(int fd, size_t max_frame_bytes, size_t max_queued_bytes,
                                  unsigned max_fds, FrameStream **ret);
/* Closes the socket and all descriptors that were not taken or not sent. */
FrameStream *frame_stream_free(FrameStream *stream);
DEFINE_CLEANUP(FrameStream *, frame_stream_free);

size_t frame_stream_queued_bytes(const FrameStream *stream);

/*
 * Reads once. 0 when bytes came, otherwise FRAME_E_AGAIN, FRAME_E_CLOSED, FRAME_E_TOO_LARGE or
 * -errno. After FRAME_E_CLOSED the complete frames that were received are still handed out. When
 * complete frames fill the buffer, this reads nothing and returns FRAME_E_AGAIN until
 * frame_stream_next() is called.
 */
_must_check_ int frame_stream_read(FrameStream *stream);
/*
 * Hands out the next complete frame without its NUL, borrowed until the next read, wait or free of
 * the stream. FRAME_E_AGAIN when there is none, FRAME_E_TOO_LARGE when it has too many descriptors.
 * Always closes the descriptors of the previous frame that were not taken.
 */
_must_check_ int frame_stream_next(FrameStream *stream, Span *ret);
/*
 * Takes the @index-th descriptor of the frame last returned; the caller owns it. -EBADF when there
 * is none.
 */
int frame_stream_take_fd(FrameStream *stream, size_t index);

/*
 * Queues @frame (no NUL inside) and its terminator. On success the @n_fds descriptors belong to the
 * stream, which closes them once they are sent. On FRAME_E_FULL or a negative errno nothing
 * changes.
 */
_must_check_ int frame_stream_queue(FrameStream *stream, Span frame, const int *fds, size_t n_fds);
/*
 * Sends as much as the socket takes. 0 when the queue is empty, FRAME_E_AGAIN, FRAME_E_CLOSED or
 * -errno.
 */
_must_check_ int frame_stream_write(FrameStream *stream);

/*
 * Sends and waits until the queue is empty, for clients and jobs, which have nothing else to do.
 * Returns as frame_stream_write(), or -EINTR when a signal came.
 */
_must_check_ int frame_stream_flush(FrameStream *stream);
/*
 * Waits for the next frame. FRAME_E_AGAIN when @timeout_ms have passed (-1: never). -EINTR when a
 * signal came, so that a caller can be cancelled.
 */
_must_check_ int frame_stream_wait(FrameStream *stream, int timeout_ms, Span *ret);
