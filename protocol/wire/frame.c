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

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"

#define FIRST_BYTES 4096u
/* A stream without input, and a queue without bytes, release more memory than this. */
#define KEPT_BYTES (512u * 1024u)
/* Room beside descriptors for credentials and the like, in case somebody switched them on. */
#define OTHER_CONTROL_BYTES 256u

int frame_stream_new(int fd, size_t max_frame_bytes, size_t max_queued_bytes, unsigned max_fds,
                     FrameStream **ret) {
        _cleanup_(frame_stream_freep) FrameStream *stream = NULL;
        int flags;

        stream = malloc(sizeof(*stream));
        if (!stream)
                return -ENOMEM;
        *stream = (FrameStream){
                .fd = -EBADF,
                .max_frame_bytes = MIN_OF(max_frame_bytes, SIZE_MAX - 1),
                .max_fds = MIN_OF(max_fds, (unsigned) FRAME_QUEUE_MAX_FDS),
                .queue = { .max_bytes = max_queued_bytes },
        };
        stream->received = calloc(3 * stream->max_fds + 1, sizeof(*stream->received));
        if (!stream->received)
                return -ENOMEM;

        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        stream->fd = fd;
        *ret = TAKE_PTR(stream);
        return 0;
}

/* Closes what was not taken of the frame last handed out. */
static void close_fds(FrameStream *stream) {
        for (size_t i = 0; i < stream->n_fds; i++)
                frame_keeper_close(stream->keeper, stream->received[i].fd);
        memmove(stream->received, stream->received + stream->n_fds,
                stream->n_received * sizeof(*stream->received));
        stream->n_fds = 0;
}

FrameStream *frame_stream_free(FrameStream *stream) {
        if (!stream)
                return NULL;
        for (size_t i = 0; i < stream->n_fds + stream->n_received; i++)
                frame_keeper_close(stream->keeper, stream->received[i].fd);
        for (size_t i = 0; i < stream->queue.n_fds; i++)
                frame_keeper_close(stream->keeper, stream->queue.fds[i]);
        free(stream->queue.attachments);
        free(stream->queue.bytes);
        if (!stream->keeper)
                (void) fd_close(stream->fd);
        else if (stream->fd >= 0)
                stream->keeper->close_socket(stream->fd, stream->keeper->userdata);
        free(stream->received);
        free(stream->bytes);
        free(stream);
        return NULL;
}

size_t frame_stream_queued_bytes(const FrameStream *stream) {
        return stream->queue.n;
}

static void move_to_front(FrameStream *stream) {
        assert(stream->bytes);
        memmove(stream->bytes, stream->bytes + stream->first, stream->end - stream->first);
        stream->end -= stream->first;
        if (stream->has_frame)
                stream->frame_end -= stream->first;
        stream->first = 0;
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
        stream->exited = true;
        stream->has_frame = false;
        forget_input(stream);
        stream->n_fds += stream->n_received;
        stream->n_received = 0;
        close_fds(stream);
        return FRAME_E_TOO_LARGE;
}

/*
 * Makes room behind @end. Bytes are moved when at least as many were handed out, or when a single
 * frame fills more than half of the largest buffer: either way each byte moves a bounded number of
 * times. A full buffer with complete frames in it has no room until one is handed out.
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
        if (stream->n_allocated < stream->max_frame_bytes + 1) {
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

int frame_stream_read(FrameStream *stream) {
        /*
         * Room for as many descriptors as the kernel allows in one message, even if we allow fewer:
         * recvmsg(2) closes descriptors that have no room, and we would have to wait for that.
         */
        union {
                char bytes[CMSG_SPACE(sizeof(int) * FRAME_QUEUE_MAX_FDS) + OTHER_CONTROL_BYTES];
                struct cmsghdr header;
        } control;
        struct iovec vector;
        struct msghdr message = {
                .msg_iov = &vector,
                .msg_iovlen = 1,
                .msg_control = control.bytes,
                .msg_controllen = sizeof(control.bytes),
        };
        bool fits = true;
        uint64_t position;
        size_t old_end;
        ssize_t n;
        int r;

        if (stream->exited)
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
        do
                n = recvmsg(stream->fd, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == EAGAIN)
                return FRAME_E_AGAIN;
        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
                stream->closed = true;
                return FRAME_E_CLOSED;
        }
        if (n < 0)
                return -errno;
        old_end = stream->end;
        stream->end += (size_t) n;
        /* Every descriptor is taken. If there are too many the stream dies and closes them. */
        position = stream->position + (stream->end - stream->first) - 1;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
                size_t n_fds;

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < n_fds; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        if (stream->keeper)
                                stream->keeper->note(fd, stream->keeper->userdata);
                        if (stream->n_received < 2 * stream->max_fds) {
                                stream->received[stream->n_fds + stream->n_received++] =
                                        (ReceivedFd){ fd, position };
                                continue;
                        }
                        frame_keeper_close(stream->keeper, fd);
                        fits = false;
                }
        }
        if (!fits || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
                return die(stream);
        if (!stream->has_frame)
                find_frame(stream, old_end);
        if (!stream->has_frame && (stream->end - stream->first > stream->max_frame_bytes ||
                                   stream->n_received > stream->max_fds))
                return die(stream);
        return 0;
}

int frame_stream_next(FrameStream *stream, Span *ret) {
        uint64_t end;
        size_t n = 0;
        Span frame;

        close_fds(stream);
        if (stream->exited)
                return FRAME_E_TOO_LARGE;
        if (!stream->has_frame)
                return FRAME_E_AGAIN;

        frame = (Span){ stream->bytes + stream->first, stream->frame_end - stream->first };
        /* The frame has the descriptors that came with its bytes. */
        end = stream->position + frame.n + 1;
        while (n < stream->n_received && stream->received[n].position < end)
                n++;
        if (n > stream->max_fds)
                return die(stream);
        stream->n_fds = n;
        stream->n_received -= n;
        stream->first = stream->frame_end + 1;
        stream->position = end;
        find_frame(stream, stream->first);
        *ret = frame;
        return 0;
}

int frame_stream_take_fd(FrameStream *stream, size_t index) {
        return index < stream->n_fds ? TAKE_FD(stream->received[index].fd) : -EBADF;
}

int frame_stream_queue(FrameStream *stream, Span frame, const int *fds, size_t n_fds) {
        FrameQueue *queue = &stream->queue;
        size_t wanted;
        char *end;
        int r;

        if (frame.n > 0 && memchr(frame.bytes, '\0', frame.n))
                return -EINVAL;
        if (frame.n >= queue->max_bytes || queue->n > queue->max_bytes - frame.n - 1 ||
            n_fds > FRAME_QUEUE_MAX_FDS - queue->n_fds)
                return FRAME_E_FULL;

        /* Room behind the unsent bytes: for each byte that is sent at most one byte moves. */
        wanted = queue->n + frame.n + 1;
        if (queue->first + wanted > queue->n_allocated) {
                if (queue->first >= queue->n_allocated / 2 && wanted <= queue->n_allocated)
                        memmove(queue->bytes, queue->bytes + queue->first, queue->n);
                else {
                        size_t n_allocated = MAX_OF(2 * queue->n_allocated, (size_t) FIRST_BYTES);
                        char *bytes;

                        n_allocated = MAX_OF(n_allocated, wanted);
                        bytes = malloc(n_allocated);
                        if (!bytes)
                                return -ENOMEM;
                        if (queue->n > 0)
                                memcpy(bytes, queue->bytes + queue->first, queue->n);
                        free(queue->bytes);
                        queue->bytes = bytes;
                        queue->n_allocated = n_allocated;
                }
                queue->first = 0;
        }
        if (n_fds > 0) {
                r = ARRAY_RESERVE(queue->attachments, queue->n_attachments_allocated,
                                  queue->n_attachments + 1);
                if (r < 0)
                        return r;
                memcpy(queue->fds + queue->n_fds, fds, n_fds * sizeof(*fds));
                queue->attachments[queue->n_attachments++] = (FrameAttachment){
                        .first = queue->position + queue->n,
                        .end = queue->position + queue->n + frame.n + 1,
                        .n_fds = n_fds,
                };
                queue->n_fds += n_fds;
        }
        end = queue->bytes + queue->first + queue->n;
        if (frame.n > 0)
                memcpy(end, frame.bytes, frame.n);
        end[frame.n] = '\0';
        queue->n += frame.n + 1;
        return 0;
}

int frame_stream_write(FrameStream *stream) {
        FrameQueue *queue = &stream->queue;

        while (queue->n > 0) {
                union {
                        char bytes[CMSG_SPACE(sizeof(int) * FRAME_QUEUE_MAX_FDS)];
                        struct cmsghdr header;
                } control = {};
                struct iovec vector = { .iov_base = queue->bytes + queue->first };
                struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
                FrameAttachment *attachment = NULL;
                uint64_t end = queue->position + queue->n;
                ssize_t n_sent;

                if (queue->n_attachments > 0 && queue->attachments[0].first == queue->position) {
                        size_t n_bytes;

                        attachment = &queue->attachments[0];
                        end = attachment->end;
                        n_bytes = sizeof(int) * attachment->n_fds;
                        control.header.cmsg_level = SOL_SOCKET;
                        control.header.cmsg_type = SCM_RIGHTS;
                        control.header.cmsg_len = CMSG_LEN(n_bytes);
                        memcpy(CMSG_DATA(&control.header), queue->fds, n_bytes);
                        message.msg_control = control.bytes;
                        message.msg_controllen = CMSG_SPACE(n_bytes);
                } else if (queue->n_attachments > 0)
                        end = queue->attachments[0].first;

                vector.iov_len = (size_t) (end - queue->position);
                do
                        n_sent = sendmsg(stream->fd, &message, MSG_NOSIGNAL);
                while (n_sent < 0 && errno == EINTR);
                if (n_sent < 0) {
                        if (errno == EAGAIN)
                                return FRAME_E_AGAIN;
                        if (errno == EPIPE || errno == ECONNRESET)
                                return FRAME_E_CLOSED;
                        return -errno;
                }
                if (attachment) {
                        size_t n = attachment->n_fds;

                        for (size_t i = 0; i < n; i++)
                                frame_keeper_close(stream->keeper, queue->fds[i]);
                        queue->n_fds -= n;
                        memmove(queue->fds, queue->fds + n, queue->n_fds * sizeof(*queue->fds));
                        queue->n_attachments--;
                        memmove(queue->attachments, queue->attachments + 1,
                                queue->n_attachments * sizeof(*queue->attachments));
                }
                queue->first += (size_t) n_sent;
                queue->n -= (size_t) n_sent;
                queue->position += (size_t) n_sent;
        }
        queue->first = 0;
        if (queue->n_allocated > KEPT_BYTES) {
                free(queue->bytes);
                queue->bytes = NULL;
                queue->n_allocated = 0;
        }
        return 0;
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

int frame_stream_wait(FrameStream *stream, int timeout_ms, Span *ret) {
        uint64_t started_ns = timeout_ms > 0 ? clock_now_ns(CLOCK_MONOTONIC) : 0, passed_ms;
        int r, left_ms;

        for (;;) {
                r = frame_stream_next(stream, ret);
                if (r != FRAME_E_AGAIN)
                        return r;
                r = frame_stream_read(stream);
                if (r == 0)
                        continue;
                if (r != FRAME_E_AGAIN)
                        return r;
                left_ms = timeout_ms; /* a negative timeout never ends */
                if (timeout_ms > 0) {
                        passed_ms = (clock_now_ns(CLOCK_MONOTONIC) - started_ns) / NSEC_PER_MSEC;
                        left_ms = passed_ms >= (uint64_t) timeout_ms ? 0
                                                                     : timeout_ms - (int) passed_ms;
                }
                r = wait_for(stream, POLLIN, left_ms);
                if (r != 0)
                        return r;
        }
}
