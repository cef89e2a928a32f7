/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-line.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/number.h"

typedef union OneDescriptor {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
} OneDescriptor;

int exit_line_new(int *ret_listener, int *ret_capture) {
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        *ret_listener = ends[0];
        *ret_capture = ends[1];
        return 0;
}

int exit_line_send(int listener_fd, int file) {
        OneDescriptor control = {};
        char byte = 0;
        struct iovec bytes = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control.bytes),
        };
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);

        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(file));
        memcpy(CMSG_DATA(part), &file, sizeof(file));
        return sendmsg(listener_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int exit_line_receive(int capture_fd, uint64_t timeout_ns, int *ret) {
        OneDescriptor control = {};
        char byte;
        struct iovec bytes = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control.bytes),
        };
        struct pollfd wait = { .fd = capture_fd, .events = POLLIN };
        const struct cmsghdr *part;
        ssize_t n;
        int n_ready;

        do
                n_ready = poll(&wait, 1, (int) (timeout_ns / NSEC_PER_MSEC));
        while (n_ready < 0 && errno == EINTR);
        if (n_ready < 0)
                return -errno;
        if (n_ready == 0)
                return EXIT_LINE_E_SILENT;
        n = recvmsg(capture_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n <= 0)
                return n == 0 || errno == ECONNRESET ? EXIT_LINE_E_ENDED : -errno;
        part = CMSG_FIRSTHDR(&message);
        if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
            part->cmsg_len != CMSG_LEN(sizeof(int)))
                return EXIT_LINE_E_ENDED;
        memcpy(ret, CMSG_DATA(part), sizeof(int));
        return 0;
}
