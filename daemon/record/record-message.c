/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/record-message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "base/cleanup.h"

typedef union Control {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
} Control;

int record_message_send(int socket, RecordMessageKind kind, const void *first, size_t n_first,
                        const void *second, size_t n_second, int fd) {
        uint64_t word = kind;
        struct iovec parts[] = {
                { &word, sizeof(word) },
                { (void *) (uintptr_t) first, n_first },
                { (void *) (uintptr_t) second, n_second },
        };
        Control control = {};
        struct msghdr message = { .msg_iov = parts, .msg_iovlen = ELEMENTSOF(parts) };

        if (fd >= 0) {
                message.msg_control = &control;
                message.msg_controllen = sizeof(control);
                control.head = (struct cmsghdr){
                        .cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS,
                        .cmsg_len = CMSG_LEN(sizeof(int)),
                };
                memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        }
        while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
                if (errno != EINTR)
                        return -errno;
        return 0;
}

int record_message_receive(int socket, uint64_t space[static RECORD_MESSAGE_MAX_BYTES / 8],
                           RecordMessage *ret) {
        uint64_t word;
        struct iovec parts[] = { { &word, sizeof(word) }, { space, RECORD_MESSAGE_MAX_BYTES } };
        Control control = {};
        struct msghdr message = { .msg_iov = parts,
                                  .msg_iovlen = ELEMENTSOF(parts),
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        const struct cmsghdr *head;
        size_t n_fds = 0;
        ssize_t n;

        do
                n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        if (n == 0)
                return -EPIPE;
        ret->fd = -EBADF;
        head = CMSG_FIRSTHDR(&message);
        if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
                n_fds = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        /* Alignment leaves room for a second one. */
        for (size_t i = 0; i < n_fds; i++) {
                (void) fd_close(ret->fd);
                memcpy(&ret->fd, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
        }
        if ((size_t) n < sizeof(word) || word >= _RECORD_MESSAGE_MAX || n_fds > 1 ||
            (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
                ret->fd = fd_close(ret->fd);
                return -EBADMSG;
        }
        ret->kind = (RecordMessageKind) word;
        ret->body = space;
        ret->n = (size_t) n - sizeof(word);
        return 0;
}
