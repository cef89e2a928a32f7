/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "wire/frame.h"

/* In front of the bytes of every packet. */
typedef struct PacketHead {
        uint32_t kind;
        uint32_t n_left; /* bytes of the message in the packets behind this one */
} PacketHead;

/* Room for as many descriptors as the kernel passes: where there is none, it closes them itself. */
typedef union PacketControl {
        char bytes[CMSG_SPACE(FRAME_QUEUE_MAX_FDS * sizeof(int))];
        struct cmsghdr head;
} PacketControl;

int packet_send(int socket_fd, PacketKind kind, Span body, const int *fds, size_t n_fds,
                int flags) {
        PacketControl control = { .bytes = { 0 } };
        size_t n_sent = 0;

        if (body.n > UINT32_MAX || n_fds > PACKET_MAX_FDS)
                return -EMSGSIZE;
        do {
                size_t n = MIN_OF(body.n - n_sent, (size_t) PACKET_BYTES);
                PacketHead head = { .kind = kind, .n_left = (uint32_t) (body.n - n_sent - n) };
                /* The kernel does not write to what it sends. */
                struct iovec pieces[] = {
                        { &head, sizeof(head) },
                        { n > 0 ? (char *) (uintptr_t) body.bytes + n_sent : NULL, n },
                };
                struct msghdr message = { .msg_iov = pieces, .msg_iovlen = n > 0 ? 2 : 1 };
                ssize_t r;

                if (n_fds > 0 && n_sent == 0) {
                        message.msg_control = &control;
                        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                        control.head.cmsg_level = SOL_SOCKET;
                        control.head.cmsg_type = SCM_RIGHTS;
                        control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                        memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
                }
                do
                        r = sendmsg(socket_fd, &message, flags | MSG_NOSIGNAL);
                while (r < 0 && errno == EINTR);
                if (r < 0)
                        return errno == ECONNRESET ? -EPIPE : -errno;
                n_sent += n;
        } while (n_sent < body.n);
        return 0;
}

void packet_reader_done(PacketReader *reader) {
        while (reader->n_fds > 0)
                frame_keeper_close(reader->keeper, reader->fds[--reader->n_fds]);
        buffer_done(&reader->body);
}

int packet_receive(PacketReader *reader, int socket_fd) {
        PacketControl control;
        PacketHead head = { .n_left = 0 };
        struct iovec pieces[] = { { &head, sizeof(head) }, { NULL, PACKET_BYTES } };
        struct msghdr message = {
                .msg_iov = pieces,
                .msg_iovlen = ELEMENTSOF(pieces),
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        bool is_first = reader->n_left == 0, fits = true;
        char *space;
        ssize_t n;
        int r;

        if (is_first) {
                while (reader->n_fds > 0)
                        frame_keeper_close(reader->keeper, reader->fds[--reader->n_fds]);
                buffer_clear(&reader->body);
        }
        r = buffer_reserve(&reader->body, PACKET_BYTES, &space);
        if (r < 0)
                return r;
        pieces[1].iov_base = space;
        /* A peer that leaves before it has read all that we sent resets the connection at first. */
        do
                n = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        while (n < 0 && (errno == EINTR || errno == ECONNRESET));
        if (n < 0)
                return errno == EAGAIN ? PACKET_E_AGAIN : -errno;
        /* Takes every descriptor; those past the bound are closed. */
        for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part;
             part = CMSG_NXTHDR(&message, part)) {
                size_t n_fds = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
                        continue;
                for (size_t i = 0; i < n_fds; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
                        if (reader->keeper)
                                reader->keeper->note(fd, reader->keeper->userdata);
                        fits &= reader->n_fds < PACKET_MAX_FDS;
                        if (reader->n_fds < PACKET_MAX_FDS)
                                reader->fds[reader->n_fds++] = fd;
                        else
                                frame_keeper_close(reader->keeper, fd);
                }
        }
        if (n == 0)
                return PACKET_E_CLOSED;
        if (!fits || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
            (size_t) n < sizeof(head) || head.kind >= _PACKET_KIND_MAX)
                return PACKET_E_MALFORMED;
        n -= (ssize_t) sizeof(head);
        if (!is_first && (head.kind != reader->kind || (size_t) n > reader->n_left ||
                          head.n_left != reader->n_left - (size_t) n || n == 0))
                return PACKET_E_MALFORMED;
        reader->body.n += (size_t) n;
        if (head.n_left > reader->max_bytes || reader->body.n > reader->max_bytes - head.n_left)
                return PACKET_E_MALFORMED;
        reader->kind = (PacketKind) head.kind;
        reader->n_left = head.n_left;
        return head.n_left > 0 ? PACKET_E_PARTIAL : PACKET_OK;
}

/* errors */

/* The texts are behind it, each with a NUL of its own. */
typedef struct FailureHead {
        uint32_t error;
        uint32_t has_offset, has_reason, has_nearest;
        uint64_t offset;
} FailureHead;

int failure_pack(Buffer *buffer, WireError error, const WireErrorDetail *detail) {
        static const WireErrorDetail none = { .reason = NULL };
        FailureHead head = { .error = error };

        if (!detail)
                detail = &none;
        head.has_offset = detail->has_offset;
        head.offset = detail->offset;
        head.has_reason = detail->reason != NULL;
        head.has_nearest = detail->nearest != NULL;
        buffer_append(buffer, &head, sizeof(head));
        buffer_append(buffer, detail->subject.bytes, detail->subject.n);
        buffer_append_byte(buffer, '\0');
        buffer_append_text(buffer, detail->reason ? detail->reason : "");
        buffer_append_byte(buffer, '\0');
        buffer_append_text(buffer, detail->nearest ? detail->nearest : "");
        return buffer_append_byte(buffer, '\0');
}

/* Takes the text at the start of @rest; false when none ends there. */
static bool take_text(Span *rest, Span *ret) {
        const char *end = rest->n > 0 ? memchr(rest->bytes, '\0', rest->n) : NULL;

        if (!end)
                return false;
        *ret = (Span){ rest->bytes, (size_t) (end - rest->bytes) };
        *rest = (Span){ end + 1, rest->n - ret->n - 1 };
        return true;
}

bool failure_unpack(Span body, WireError *ret_error, WireErrorDetail *ret_detail) {
        Span subject, reason, nearest;
        FailureHead head;

        if (body.n < sizeof(head))
                return false;
        memcpy(&head, body.bytes, sizeof(head));
        body = (Span){ body.bytes + sizeof(head), body.n - sizeof(head) };
        if (head.error >= _WIRE_ERROR_MAX || !take_text(&body, &subject) ||
            !take_text(&body, &reason) || !take_text(&body, &nearest) || body.n > 0)
                return false;
        *ret_error = (WireError) head.error;
        *ret_detail = (WireErrorDetail){
                .subject = subject,
                .reason = head.has_reason ? reason.bytes : NULL,
                .nearest = head.has_nearest ? nearest.bytes : NULL,
                .has_offset = head.has_offset,
                .offset = head.offset,
        };
        return true;
}
