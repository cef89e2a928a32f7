/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/frame.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"

#define FIRST_BYTES 4096u
#define KEPT_BYTES (512u * 1024u) /* a stream without input releases more memory than this */
/* Room beside descriptors for credentials and the like, in case somebody switched them on. */
#define OTHER_CONTROL_BYTES 256u

typedef struct ReceivedFd {
        int fd;
        uint64_t position; /* in the stream, of the last byte of the read it came with */
} ReceivedFd;

struct FrameStream {
        int fd;
        size_t max_frame_bytes;
        size_t max_fds;
        bool closed; /* by the peer */
        bool dead;   /* the peer exceeded a bound */

        char *bytes;
        size_t first; /* index of the first byte that was not handed out */
        size_t end;   /* index behind the last byte received */
        size_t n_allocated;
        bool has_frame;    /* a terminator was found */
        size_t frame_end;  /* index of that terminator */
        uint64_t position; /* of @first in the stream */

        ReceivedFd *received; /* of frames that were not handed out, at most 2 * max_fds */
        size_t n_received;
        int *fds; /* of the frame last handed out, at most max_fds; -EBADF when taken */
        size_t n_fds;
        char *control;
        size_t n_control;
        const FrameKeeper *keeper; /* borrowed; NULL: none */

        FrameQueue queue;
};

static int allocate(FrameStream *stream) {
        /*
         * Room for as many descriptors as the kernel allows in one message, even if we allow fewer:
         * recvmsg(2) closes descriptors that have no room, and we would have to wait for that.
         */
        stream->n_control = CMSG_SPACE(sizeof(int) * FRAME_QUEUE_MAX_FDS) + OTHER_CONTROL_BYTES;
        stream->control = malloc(stream->n_control);
        stream->received = calloc(2 * stream->max_fds + 1, sizeof(*stream->received));
        stream->fds = calloc(stream->max_fds + 1, sizeof(*stream->fds));
        return stream->control && stream->received && stream->fds ? 0 : -ENOMEM;
}

int frame_stream_new(int fd, size_t max_frame_bytes, size_t max_queued_bytes, unsigned max_fds,
                     FrameStream **ret) {
        _cleanup_(frame_stream_freep) FrameStream *stream = NULL;
        int flags, r;

        stream = malloc(sizeof(*stream));
        if (!stream)
                return -ENOMEM;
        *stream = (FrameStream){
                .fd = -EBADF,
                .max_frame_bytes = MIN_OF(max_frame_bytes, SIZE_MAX - 1),
                .max_fds = MIN_OF(max_fds, (unsigned) FRAME_QUEUE_MAX_FDS),
        };
        frame_queue_init(&stream->queue, max_queued_bytes);
        r = allocate(stream);
        if (r < 0)
                return r;

        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        stream->fd = fd;
        *ret = TAKE_PTR(stream);
        return 0;
}

static void close_fds(FrameStream *stream) {
        for (size_t i = 0; i < stream->n_fds; i++)
                frame_keeper_close(stream->keeper, stream->fds[i]);
        stream->n_fds = 0;
}

static void close_received(FrameStream *stream) {
        for (size_t i = 0; i < stream->n_received; i++)
                frame_keeper_close(stream->keeper, stream->received[i].fd);
        stream->n_received = 0;
}

FrameStream *frame_stream_free(FrameStream *stream) {
        if (!stream)
                return NULL;
        close_fds(stream);
        close_received(stream);
        frame_queue_done(&stream->queue);
        frame_keeper_close_socket(stream->keeper, stream->fd);
        free(stream->control);
        free(stream->received);
        free(stream->fds);
        free(stream->bytes);
        free(stream);
        return NULL;
}

void frame_stream_set_keeper(FrameStream *stream, const FrameKeeper *keeper) {
        stream->keeper = stream->queue.keeper = keeper;
}

int frame_stream_fd(const FrameStream *stream) {
        return stream->fd;
}

bool frame_stream_has_input(const FrameStream *stream) {
        return stream->end > stream->first;
}

size_t frame_stream_queued_bytes(const FrameStream *stream) {
        return stream->queue.n;
}

size_t frame_stream_memory(const FrameStream *stream) {
        return stream->n_allocated + stream->queue.n_allocated;
}

static void move_to_front(FrameStream *stream) {
        assert(stream->bytes);
        memmove(stream->bytes, stream->bytes + stream->first, stream->end - stream->first);
        stream->end -= stream->first;
        if (stream->has_frame)
                stream->frame_end -= stream->first;
        stream->first = 0;
}

static int grow(FrameStream *stream) {
        size_t n_allocated = MAX_OF(2 * stream->n_allocated, (size_t) FIRST_BYTES);
        char *bytes;

        n_allocated = MIN_OF(n_allocated, stream->max_frame_bytes + 1);
        bytes = realloc(stream->bytes, n_allocated);
        if (!bytes)
                return -ENOMEM;
        stream->bytes = bytes;
        stream->n_allocated = n_allocated;
        return 0;
}

static void forget_input(FrameStream *stream) {
        stream->first = stream->end = 0;
        if (stream->n_allocated > KEPT_BYTES) {
                free(stream->bytes);
                stream->bytes = NULL;
                stream->n_allocated = 0;
        }
}

/* A dead stream is not used again, so its input is dropped. */
static int die(FrameStream *stream) {
        stream->dead = true;
        stream->has_frame = false;
        forget_input(stream);
        close_fds(stream);
        close_received(stream);
        return FRAME_E_TOO_LARGE;
}

/*
 * Room behind @end. Bytes are moved when at least as many were handed out, or when a single frame
 * fills more than half of the largest buffer: either way each byte moves a bounded number of times.
 * A full buffer with complete frames in it has no room until one is handed out.
 */
static int make_room(FrameStream *stream) {
        if (stream->first == stream->end)
                forget_input(stream);
        if (stream->n_allocated - stream->end > stream->n_allocated / 4)
                return 0;
        if (stream->first > 0 && stream->first >= stream->n_allocated / 2) {
                move_to_front(stream);
                return 0;
        }
        if (stream->n_allocated < stream->max_frame_bytes + 1)
                return grow(stream);
        if (stream->end < stream->n_allocated)
                return 0;
        if (stream->has_frame)
                return FRAME_E_AGAIN;
        move_to_front(stream);
        return 0;
}

/* Looks only at the bytes from @from on: the bytes before have no terminator. */
static void find_frame(FrameStream *stream, size_t from) {
        const char *found = NULL;

        if (stream->end > from)
                found = memchr(stream->bytes + from, '\0', stream->end - from);
        stream->has_frame = found;
        if (found)
                stream->frame_end = (size_t) (found - stream->bytes);
}

/* Takes every descriptor. False if there are too many: then the stream dies and closes them. */
static bool receive_fds(FrameStream *stream, struct msghdr *message, uint64_t position) {
        bool fit = true;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
                size_t n;

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < n; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        frame_keeper_note(stream->keeper, fd);
                        if (stream->n_received < 2 * stream->max_fds)
                                stream->received[stream->n_received++] =
                                        (ReceivedFd){ fd, position };
                        else {
                                frame_keeper_close(stream->keeper, fd);
                                fit = false;
                        }
                }
        }
        return fit;
}

static int receive(FrameStream *stream, struct msghdr *message, size_t *ret_n) {
        ssize_t n;

        do
                n = recvmsg(stream->fd, message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == EAGAIN)
                return FRAME_E_AGAIN;
        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
                stream->closed = true;
                return FRAME_E_CLOSED;
        }
        if (n < 0)
                return -errno;
        *ret_n = (size_t) n;
        return 0;
}

int frame_stream_read(FrameStream *stream) {
        struct iovec vector;
        struct msghdr message = {
                .msg_iov = &vector,
                .msg_iovlen = 1,
                .msg_control = stream->control,
                .msg_controllen = stream->n_control,
        };
        size_t n = 0, old_end;
        bool fit;
        int r;

        if (stream->dead)
                return FRAME_E_TOO_LARGE;
        if (stream->closed)
                return FRAME_E_CLOSED;
        /* Complete frames that hold many descriptors have to be handed out before more is read. */
        if (stream->has_frame && stream->n_received >= stream->max_fds && stream->n_received > 0)
                return FRAME_E_AGAIN;
        r = make_room(stream);
        if (r != 0)
                return r;

        vector.iov_base = stream->bytes + stream->end;
        vector.iov_len = stream->n_allocated - stream->end;
        r = receive(stream, &message, &n);
        if (r != 0)
                return r;
        old_end = stream->end;
        stream->end += n;
        fit = receive_fds(stream, &message, stream->position + (stream->end - stream->first) - 1);
        if (!fit || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
                return die(stream);
        if (!stream->has_frame)
                find_frame(stream, old_end);
        if (!stream->has_frame && (stream->end - stream->first > stream->max_frame_bytes ||
                                   stream->n_received > stream->max_fds))
                return die(stream);
        return 0;
}

/* Gives the frame that is handed out the descriptors that came with bytes before @end. */
static int take_received(FrameStream *stream, uint64_t end) {
        size_t n = 0;

        while (n < stream->n_received && stream->received[n].position < end)
                n++;
        if (n > stream->max_fds)
                return die(stream);
        for (size_t i = 0; i < n; i++)
                stream->fds[i] = stream->received[i].fd;
        stream->n_fds = n;
        stream->n_received -= n;
        memmove(stream->received, stream->received + n,
                stream->n_received * sizeof(*stream->received));
        return 0;
}

int frame_stream_next(FrameStream *stream, Span *ret) {
        Span frame;
        int r;

        close_fds(stream);
        if (stream->dead)
                return FRAME_E_TOO_LARGE;
        if (!stream->has_frame)
                return FRAME_E_AGAIN;

        frame = (Span){ stream->bytes + stream->first, stream->frame_end - stream->first };
        r = take_received(stream, stream->position + frame.n + 1);
        if (r != 0)
                return r;
        stream->first = stream->frame_end + 1;
        stream->position += frame.n + 1;
        find_frame(stream, stream->first);
        *ret = frame;
        return 0;
}

size_t frame_stream_n_fds(const FrameStream *stream) {
        return stream->n_fds;
}

int frame_stream_take_fd(FrameStream *stream, size_t index) {
        return index < stream->n_fds ? TAKE_FD(stream->fds[index]) : -EBADF;
}

int frame_stream_queue(FrameStream *stream, Span frame, const int *fds, size_t n_fds) {
        return frame_queue_add(&stream->queue, frame, fds, n_fds);
}

int frame_stream_write(FrameStream *stream) {
        return frame_queue_send(&stream->queue, stream->fd);
}

/* 0 when something happened on the socket, FRAME_E_AGAIN when the time passed, -errno (-EINTR). */
static int wait_for(const FrameStream *stream, short events, int timeout_ms) {
        struct pollfd pollfd = { .fd = stream->fd, .events = events };
        int r = poll(&pollfd, 1, timeout_ms);

        if (r < 0)
                return -errno;
        return r == 0 ? FRAME_E_AGAIN : 0;
}

int frame_stream_flush(FrameStream *stream) {
        int r;

        for (;;) {
                r = frame_stream_write(stream);
                if (r != FRAME_E_AGAIN)
                        return r;
                r = wait_for(stream, POLLOUT, -1);
                if (r != 0)
                        return err_fold(r);
        }
}

static uint64_t now_mono_ms(void) {
        return clock_now_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC;
}

/* Returns the rest of @timeout_ms; a negative timeout never ends. */
static int left_ms(int timeout_ms, uint64_t started_mono_ms) {
        uint64_t passed;

        if (timeout_ms <= 0)
                return timeout_ms;
        passed = now_mono_ms() - started_mono_ms;
        return passed >= (uint64_t) timeout_ms ? 0 : timeout_ms - (int) passed;
}

int frame_stream_wait(FrameStream *stream, int timeout_ms, Span *ret) {
        uint64_t started_mono_ms = timeout_ms > 0 ? now_mono_ms() : 0;
        int r;

        for (;;) {
                r = frame_stream_next(stream, ret);
                if (r != FRAME_E_AGAIN)
                        return r;
                r = frame_stream_read(stream);
                if (r == 0)
                        continue;
                if (r != FRAME_E_AGAIN)
                        return r;
                r = wait_for(stream, POLLIN, left_ms(timeout_ms, started_mono_ms));
                if (r != 0)
                        return r;
        }
}
