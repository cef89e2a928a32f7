/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/taskstats/taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

/* A reply is 36 bytes and the struct: 724 with version 17. */
#define REPLY_BYTES 2048
/*
 * A message about an exit has the struct of a thread and that of its process: 1464 bytes with
 * version 17.
 */
#define EXIT_BYTES 4096
/* Holds the answers of a batch; libnl's default of 32 KiB would hold a quarter of them. */
#define REPLIES_BYTES (256 * 1024)
/* Some seven thousand exits, for the kernel counts what a message occupies and not its length. */
#define EXITS_BYTES (8 * 1024 * 1024)
#define TIMEOUT_SECONDS 2 /* the kernel answers within the call that asks; for one that does not */

static int errno_of(int r) {
        switch (-r) {
        case NLE_NOMEM:
                return -ENOMEM;
        case NLE_PERM:
        case NLE_NOACCESS:
                return -EPERM;
        case NLE_AF_NOSUPPORT:
                return -EAFNOSUPPORT;
        case NLE_AGAIN:
                return -ETIMEDOUT;
        default:
                return -EIO;
        }
}

/* Registers for exits, and waits for the kernel's acknowledgement. */
static int ask(TaskstatsSocket *self, const char *cpus) {
        const struct nlmsghdr *header = (const void *) self->messages;
        const struct nlmsgerr *verdict = (const void *) (self->messages + NLMSG_HDRLEN);
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
                ssize_t n = recv(self->fd, self->messages, EXIT_BYTES, 0);

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

int taskstats_open(const char *cpus, TaskstatsSocket **ret) {
        const struct timeval timeout = { .tv_sec = TIMEOUT_SECONDS };
        const int n_kept = cpus ? EXITS_BYTES : REPLIES_BYTES;
        size_t n_bytes = cpus ? EXIT_BYTES : REPLY_BYTES;
        _cleanup_(taskstats_freep) TaskstatsSocket *self = NULL;
        int r;

        self = calloc(1, sizeof(*self) + TASKSTATS_BATCH_MAX * n_bytes);
        if (!self)
                return -ENOMEM;
        self->sequence = 1;
        for (size_t i = 0; i < TASKSTATS_BATCH_MAX; i++) {
                self->places[i] = (struct iovec){ self->messages + i * n_bytes, n_bytes };
                self->headers[i].msg_hdr = (struct msghdr){
                        .msg_name = &self->senders[i],
                        .msg_iov = &self->places[i],
                        .msg_iovlen = 1,
                };
        }
        self->netlink = nl_socket_alloc();
        if (!self->netlink)
                return -ENOMEM;
        r = genl_connect(self->netlink);
        if (r < 0)
                return errno_of(r);
        self->fd = nl_socket_get_fd(self->netlink);
        if (setsockopt(self->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
                return -errno;
        r = genl_ctrl_resolve(self->netlink, TASKSTATS_GENL_NAME);
        if (r < 0)
                return r == -NLE_OBJ_NOTFOUND ? TASKSTATS_E_NO_FAMILY : errno_of(r);
        self->family = (uint16_t) r;
        /* The first is not bounded by net.core.rmem_max, and takes the capability. */
        if ((!cpus ||
             setsockopt(self->fd, SOL_SOCKET, SO_RCVBUFFORCE, &n_kept, sizeof(n_kept)) < 0) &&
            setsockopt(self->fd, SOL_SOCKET, SO_RCVBUF, &n_kept, sizeof(n_kept)) < 0)
                return -errno;
        r = cpus ? ask(self, cpus) : 0;
        if (r != 0)
                return r;
        *ret = TAKE_PTR(self);
        return 0;
}

TaskstatsSocket *taskstats_free(TaskstatsSocket *socket) {
        if (!socket)
                return NULL;
        if (socket->netlink)
                nl_socket_free(socket->netlink);
        free(socket);
        return NULL;
}

/*
 * Sends @n_tids requests at once, and receives until all answers are known, no more arrive in time,
 * or the kernel reports that it dropped some (ENOBUFS). Unanswered ones stay -EINPROGRESS.
 */
static int converse(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                    TaskstatsAnswer *answers) {
        size_t n_known = 0;
        int r;

        for (size_t i = 0; i < n_tids; i++) {
                answers[i].error = -EINPROGRESS;
                taskstats_request_encode(socket->family, socket->sequence + (uint32_t) i, tids[i],
                                         socket->requests + i * TASKSTATS_REQUEST_BYTES);
        }
        /* Not nl_sendto(), which names the kernel's address: a job may name none. */
        r = send(socket->fd, socket->requests, n_tids * TASKSTATS_REQUEST_BYTES, 0) < 0 ? -errno
                                                                                        : 0;
        while (r == 0 && n_known < n_tids) {
                int n;

                for (size_t i = 0; i < n_tids - n_known; i++)
                        socket->headers[i].msg_hdr.msg_namelen = sizeof(struct sockaddr_nl);
                n = recvmmsg(socket->fd, socket->headers, (unsigned) (n_tids - n_known),
                             MSG_WAITFORONE, NULL);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && (errno == ENOBUFS || errno == EAGAIN))
                        break;
                if (n < 0)
                        r = -errno;
                for (int i = 0; i < n; i++)
                        if (socket->senders[i].nl_pid == 0) /* of the kernel, of no process */
                                n_known += taskstats_replies_decode(
                                        socket->places[i].iov_base, socket->headers[i].msg_len,
                                        socket->family, socket->sequence, tids, n_tids, answers);
        }
        /* Numbers are not used again, so a late answer of this batch matches no later request. */
        socket->sequence += (uint32_t) n_tids;
        return r;
}

int taskstats_query(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                    TaskstatsAnswer *answers) {
        bool silent = false;
        int r;

        if (n_tids == 0)
                return 0;
        if (n_tids > TASKSTATS_BATCH_MAX)
                return -EINVAL;
        r = converse(socket, tids, n_tids, answers);
        if (r < 0)
                return r;

        /*
         * Answers lost to a full receive buffer are requested again, one by one; after the first
         * that does not arrive in time, no more are.
         */
        for (size_t i = 0; i < n_tids; i++) {
                if (answers[i].error != -EINPROGRESS)
                        continue;
                if (!silent && n_tids > 1) {
                        r = converse(socket, &tids[i], 1, &answers[i]);
                        if (r < 0)
                                return r;
                }
                if (answers[i].error == -EINPROGRESS) {
                        answers[i].error = -ENODATA;
                        silent = true;
                }
        }
        return 0;
}

int taskstats_receive_exits(TaskstatsSocket *socket, ExitBatch *ret) {
        int n;

        ret->n = ret->n_unreadable = 0;
        ret->has_lost = ret->is_empty = false;
        for (size_t i = 0; i < TASKSTATS_BATCH_MAX; i++)
                socket->headers[i].msg_hdr.msg_namelen = sizeof(struct sockaddr_nl);
        do
                n = recvmmsg(socket->fd, socket->headers, TASKSTATS_BATCH_MAX, MSG_DONTWAIT, NULL);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == ENOBUFS) {
                ret->has_lost = true;
                return 0;
        }
        if (n < 0 && errno != EAGAIN)
                return -errno;
        ret->is_empty = n < TASKSTATS_BATCH_MAX;
        for (int i = 0; i < n; i++) {
                int r;

                if (socket->senders[i].nl_pid != 0) /* from a process, not from the kernel */
                        continue;
                r = taskstats_exit_decode(socket->places[i].iov_base, socket->headers[i].msg_len,
                                          socket->family, &ret->exits[ret->n]);
                if (r == 0)
                        ret->n++;
                else if (r != TASKSTATS_E_NO_EXIT)
                        ret->n_unreadable++;
        }
        return 0;
}
