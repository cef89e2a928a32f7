/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/taskstats/exit-socket.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "kernel/taskstats/taskstats.h"

/* The struct of a thread and that of its process: 1464 bytes with version 17. */
#define MESSAGE_BYTES 4096
/* Some seven thousand exits, for the kernel counts what a message occupies and not its length. */
#define RECEIVE_BYTES (8 * 1024 * 1024)
/* The kernel answers within the call that asks; this is for a kernel that does not. */
#define REGISTER_TIMEOUT_SECONDS 2

struct ExitSocket {
        struct nl_sock *netlink;
        int fd; /* borrowed from @netlink */
        uint16_t family;
        struct mmsghdr headers[EXIT_BATCH_MAX];
        struct iovec places[EXIT_BATCH_MAX];
        struct sockaddr_nl senders[EXIT_BATCH_MAX];
        _Alignas(NLMSG_ALIGNTO) char messages[EXIT_BATCH_MAX][MESSAGE_BYTES];
};

/* Registers, and waits for the kernel's acknowledgement. */
static int ask(ExitSocket *self, const char *cpus) {
        _Alignas(NLMSG_ALIGNTO) char bytes[MESSAGE_BYTES];
        const struct nlmsghdr *header = (const void *) bytes;
        const struct nlmsgerr *verdict = (const void *) (bytes + NLMSG_HDRLEN);
        struct nl_msg *message = nlmsg_alloc();
        int r = -ENOMEM;

        if (!message)
                return -ENOMEM;
        if (genlmsg_put(message, 0, 0, self->family, 0, NLM_F_REQUEST | NLM_F_ACK,
                        TASKSTATS_CMD_GET, TASKSTATS_GENL_VERSION) &&
            nla_put_string(message, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus) == 0)
                r = nl_sendto(self->netlink, nlmsg_hdr(message), nlmsg_hdr(message)->nlmsg_len) < 0
                            ? -EIO
                            : 0;
        nlmsg_free(message);
        while (r == 0) {
                ssize_t n = recv(self->fd, bytes, sizeof(bytes), 0);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? -ETIMEDOUT : -errno;
                if ((size_t) n < NLMSG_HDRLEN + sizeof(verdict->error))
                        return -EBADMSG;
                /* An exit may come first, once the kernel has taken the registration. */
                if (header->nlmsg_type == NLMSG_ERROR)
                        return verdict->error;
        }
        return r;
}

int exit_socket_open(const char *cpus, ExitSocket **ret) {
        _cleanup_(exit_socket_freep) ExitSocket *self = calloc(1, sizeof(*self));
        const int bytes = RECEIVE_BYTES;
        int r;

        if (!self)
                return -ENOMEM;
        self->fd = -EBADF;
        for (size_t i = 0; i < EXIT_BATCH_MAX; i++) {
                self->places[i] = (struct iovec){ self->messages[i], MESSAGE_BYTES };
                self->headers[i].msg_hdr = (struct msghdr){
                        .msg_name = &self->senders[i],
                        .msg_iov = &self->places[i],
                        .msg_iovlen = 1,
                };
        }
        r = taskstats_connect(REGISTER_TIMEOUT_SECONDS, &self->netlink, &self->family);
        if (r != 0)
                return r;
        self->fd = nl_socket_get_fd(self->netlink);
        /* The first is not bounded by net.core.rmem_max, and takes the capability. */
        if (setsockopt(self->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0 &&
            setsockopt(self->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0)
                return -errno;
        r = ask(self, cpus);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(self);
        return 0;
}

ExitSocket *exit_socket_free(ExitSocket *socket) {
        if (!socket)
                return NULL;
        if (socket->netlink)
                nl_socket_free(socket->netlink);
        free(socket);
        return NULL;
}

int exit_socket_fd(const ExitSocket *socket) {
        return socket->fd;
}

int exit_socket_receive(ExitSocket *socket, ExitBatch *ret) {
        int n;

        ret->n = ret->n_unreadable = 0;
        ret->has_lost = ret->is_empty = false;
        for (size_t i = 0; i < EXIT_BATCH_MAX; i++)
                socket->headers[i].msg_hdr.msg_namelen = sizeof(struct sockaddr_nl);
        do
                n = recvmmsg(socket->fd, socket->headers, EXIT_BATCH_MAX, MSG_DONTWAIT, NULL);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == ENOBUFS) {
                ret->has_lost = true;
                return 0;
        }
        if (n < 0 && errno != EAGAIN)
                return -errno;
        ret->is_empty = n < EXIT_BATCH_MAX;
        for (int i = 0; i < n; i++) {
                int r;

                if (socket->senders[i].nl_pid != 0) /* from a process, not from the kernel */
                        continue;
                r = taskstats_exit_decode(socket->messages[i], socket->headers[i].msg_len,
                                          socket->family, &ret->exits[ret->n]);
                if (r == 0)
                        ret->n++;
                else if (r != TASKSTATS_E_NO_EXIT)
                        ret->n_unreadable++;
        }
        return 0;
}
