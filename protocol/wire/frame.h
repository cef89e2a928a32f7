/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FrameStream
 *
 * A connected stream socket as frames: bytes ended by a NUL, in both directions, with descriptors
 * (SCM_RIGHTS) attached to the frame they were sent with. Reads and writes take what the socket
 * gives and never wait; both directions are bounded. Received descriptors are close-on-exec and
 * belong to the stream until taken.
 *
 * A stream socket never merges data behind descriptors into one read, so the descriptors of a read
 * belong to the frame that holds the last byte of that read.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "wire/frame-keeper.h"
#include "wire/frame-queue.h"

typedef struct FrameStream FrameStream;

/*
 * Adopts @fd on success and makes it non-blocking. @max_frame_bytes (without the NUL) and @max_fds
 * bound what is received in one frame; the queue holds @max_queued_bytes, terminators included, and
 * at most 253 descriptors.
 */
_must_check_ int frame_stream_new(int fd, size_t max_frame_bytes, size_t max_queued_bytes,
                                  unsigned max_fds, FrameStream **ret);
/* Closes the socket and the descriptors not taken or not sent. */
FrameStream *frame_stream_free(FrameStream *stream);
DEFINE_CLEANUP(FrameStream *, frame_stream_free);

/* @keeper is borrowed for the stream's life. */
void frame_stream_set_keeper(FrameStream *stream, const FrameKeeper *keeper);

int frame_stream_fd(const FrameStream *stream);
/* A frame has begun and not ended, or complete ones wait. */
bool frame_stream_has_input(const FrameStream *stream);
size_t frame_stream_queued_bytes(const FrameStream *stream);
/* The memory it uses for bytes in both directions. */
size_t frame_stream_memory(const FrameStream *stream);

/*
 * Reads once. 0 when bytes came; else FRAME_E_AGAIN, FRAME_E_CLOSED, FRAME_E_TOO_LARGE, -errno.
 * Complete frames that were received are still handed out after FRAME_E_CLOSED. When complete
 * frames fill the buffer nothing is read: FRAME_E_AGAIN, until frame_stream_next() was called.
 */
_must_check_ int frame_stream_read(FrameStream *stream);
/*
 * The next complete frame without its NUL, borrowed until the next read, wait or free of the
 * stream; FRAME_E_AGAIN when there is none, FRAME_E_TOO_LARGE when it had too many descriptors.
 * Whatever the outcome, descriptors of the frame before it that were not taken are closed.
 */
_must_check_ int frame_stream_next(FrameStream *stream, Span *ret);
size_t frame_stream_n_fds(const FrameStream *stream);
/*
 * The @index-th descriptor of the frame last returned, now the caller's; -EBADF when there is none.
 */
int frame_stream_take_fd(FrameStream *stream, size_t index);

/*
 * Queues @frame (no NUL inside) and its terminator. On success the @n_fds descriptors are the
 * stream's, closed when sent. FRAME_E_FULL changes nothing; nor does a negative errno.
 */
_must_check_ int frame_stream_queue(FrameStream *stream, Span frame, const int *fds, size_t n_fds);
/* Sends what the socket takes: 0 when the queue is empty, FRAME_E_AGAIN, FRAME_E_CLOSED, -errno. */
_must_check_ int frame_stream_write(FrameStream *stream);

/*
 * For clients and jobs, which have nothing else to do: waits until the queue is empty. Returns what
 * frame_stream_write() does, and -EINTR when a signal came.
 */
_must_check_ int frame_stream_flush(FrameStream *stream);
/*
 * Waits for the next frame, up to @timeout_ms (-1: for ever; FRAME_E_AGAIN when it passed). -EINTR
 * is returned when a signal came, so that a caller can be cancelled.
 */
_must_check_ int frame_stream_wait(FrameStream *stream, int timeout_ms, Span *ret);
