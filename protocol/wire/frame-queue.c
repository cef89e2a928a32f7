/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/frame-queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/cleanup.h"

#define FIRST_BYTES 4096u
#define KEPT_BYTES (512u * 1024u) /* an empty queue releases more memory than this */

void frame_queue_init(FrameQueue *queue, size_t max_bytes) {
        *queue = (FrameQueue){ .max_bytes = max_bytes };
}

static void attachment_done(FrameAttachment *attachment, const FrameKeeper *keeper) {
        for (size_t i = 0; i < attachment->n_fds; i++)
                frame_keeper_close(keeper, attachment->fds[i]);
        free(attachment->fds);
        *attachment = (FrameAttachment){};
}

void frame_queue_done(FrameQueue *queue) {
        for (size_t i = 0; i < queue->n_attachments; i++)
                attachment_done(&queue->attachments[i], queue->keeper);
        free(queue->attachments);
        free(queue->bytes);
        frame_queue_init(queue, queue->max_bytes);
}

/* Makes room for @n bytes behind the unsent ones. For each byte sent at most one byte moves. */
static int make_room(FrameQueue *queue, size_t n) {
        size_t wanted = queue->n + n, n_allocated;
        char *bytes;

        if (queue->first + wanted <= queue->n_allocated)
                return 0;
        if (queue->first >= queue->n_allocated / 2 && wanted <= queue->n_allocated) {
                memmove(queue->bytes, queue->bytes + queue->first, queue->n);
                queue->first = 0;
                return 0;
        }
        n_allocated = MAX_OF(2 * queue->n_allocated, (size_t) FIRST_BYTES);
        n_allocated = MAX_OF(n_allocated, wanted);
        bytes = malloc(n_allocated);
        if (!bytes)
                return -ENOMEM;
        if (queue->n > 0)
                memcpy(bytes, queue->bytes + queue->first, queue->n);
        free(queue->bytes);
        queue->bytes = bytes;
        queue->n_allocated = n_allocated;
        queue->first = 0;
        return 0;
}

/* Attaches descriptors to the frame that is appended next. */
static int attach(FrameQueue *queue, size_t n_frame, const int *fds, size_t n_fds) {
        _cleanup_(freep) int *copy = NULL;
        int r;

        r = ARRAY_RESERVE(queue->attachments, queue->n_attachments_allocated,
                          queue->n_attachments + 1);
        if (r < 0)
                return r;
        copy = reallocarray(NULL, n_fds, sizeof(*copy));
        if (!copy)
                return -ENOMEM;
        memcpy(copy, fds, n_fds * sizeof(*copy));
        queue->attachments[queue->n_attachments++] = (FrameAttachment){
                .first = queue->position + queue->n,
                .end = queue->position + queue->n + n_frame,
                .fds = TAKE_PTR(copy),
                .n_fds = n_fds,
        };
        queue->n_fds += n_fds;
        return 0;
}

int frame_queue_add(FrameQueue *queue, Span frame, const int *fds, size_t n_fds) {
        char *end;
        int r;

        if (frame.n > 0 && memchr(frame.bytes, '\0', frame.n))
                return -EINVAL;
        if (frame.n >= queue->max_bytes || queue->n > queue->max_bytes - frame.n - 1 ||
            n_fds > FRAME_QUEUE_MAX_FDS - queue->n_fds)
                return FRAME_E_FULL;

        r = make_room(queue, frame.n + 1);
        if (r < 0)
                return r;
        if (n_fds > 0) {
                r = attach(queue, frame.n + 1, fds, n_fds);
                if (r < 0)
                        return r;
        }
        end = queue->bytes + queue->first + queue->n;
        if (frame.n > 0)
                memcpy(end, frame.bytes, frame.n);
        end[frame.n] = '\0';
        queue->n += frame.n + 1;
        return 0;
}

static void drop_attachment(FrameQueue *queue) {
        queue->n_fds -= queue->attachments[0].n_fds;
        attachment_done(&queue->attachments[0], queue->keeper);
        queue->n_attachments--;
        memmove(queue->attachments, queue->attachments + 1,
                queue->n_attachments * sizeof(*queue->attachments));
}

static void drop_bytes(FrameQueue *queue, size_t n) {
        queue->first += n;
        queue->n -= n;
        queue->position += n;
        if (queue->n > 0)
                return;
        queue->first = 0;
        if (queue->n_allocated > KEPT_BYTES) {
                free(queue->bytes);
                queue->bytes = NULL;
                queue->n_allocated = 0;
        }
}

static ssize_t send_some(int socket_fd, char *bytes, size_t n, const FrameAttachment *attachment) {
        union {
                char bytes[CMSG_SPACE(sizeof(int) * FRAME_QUEUE_MAX_FDS)];
                struct cmsghdr header;
        } control = {};
        struct iovec vector = { .iov_base = bytes, .iov_len = n };
        struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
        ssize_t n_sent;

        if (attachment) {
                size_t n_bytes = sizeof(int) * attachment->n_fds;

                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(n_bytes);
                memcpy(CMSG_DATA(&control.header), attachment->fds, n_bytes);
                message.msg_control = control.bytes;
                message.msg_controllen = CMSG_SPACE(n_bytes);
        }
        do
                n_sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL);
        while (n_sent < 0 && errno == EINTR);
        return n_sent;
}

int frame_queue_send(FrameQueue *queue, int socket_fd) {
        while (queue->n > 0) {
                const FrameAttachment *attachment = NULL;
                uint64_t end = queue->position + queue->n;
                ssize_t n_sent;

                if (queue->n_attachments > 0 && queue->attachments[0].first == queue->position) {
                        attachment = &queue->attachments[0];
                        end = attachment->end;
                } else if (queue->n_attachments > 0)
                        end = queue->attachments[0].first;

                n_sent = send_some(socket_fd, queue->bytes + queue->first,
                                   (size_t) (end - queue->position), attachment);
                if (n_sent < 0) {
                        if (errno == EAGAIN)
                                return FRAME_E_AGAIN;
                        if (errno == EPIPE || errno == ECONNRESET)
                                return FRAME_E_CLOSED;
                        return -errno;
                }
                if (attachment)
                        drop_attachment(queue);
                drop_bytes(queue, (size_t) n_sent);
        }
        return 0;
}
