/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/taskstats/taskstats.h"

#include <errno.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

/* A reply is 36 bytes and the struct: 724 with version 17. */
#define REPLY_BYTES 2048
/* Holds the answers of a batch; libnl's default of 32 KiB would hold a quarter of them. */
#define RECEIVE_BYTES (256 * 1024)
#define RECEIVE_TIMEOUT_SECONDS 2

struct TaskstatsSocket {
        struct nl_sock *netlink;
        int fd; /* borrowed from @netlink */
        TaskstatsTemplate message;
        uint32_t sequence; /* of the next request */

        /*
         * For receiving. libnl's nl_recv() peeks, allocates and frees for every answer, which
         * doubles the cost of our cheapest source, so recvmmsg() fills these instead.
         */
        struct mmsghdr headers[TASKSTATS_BATCH_MAX];
        struct iovec places[TASKSTATS_BATCH_MAX];
        struct sockaddr_nl senders[TASKSTATS_BATCH_MAX];
        char requests[TASKSTATS_BATCH_MAX * TASKSTATS_REQUEST_BYTES];
        _Alignas(NLMSG_ALIGNTO) char replies[TASKSTATS_BATCH_MAX][REPLY_BYTES];
};

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

int taskstats_connect(unsigned timeout_seconds, struct nl_sock **ret, uint16_t *ret_family) {
        const struct timeval timeout = { .tv_sec = timeout_seconds };
        struct nl_sock *netlink = nl_socket_alloc();
        int family = 0, r;

        if (!netlink)
                return -ENOMEM;
        r = genl_connect(netlink);
        if (r < 0)
                r = errno_of(r);
        else if (setsockopt(nl_socket_get_fd(netlink), SOL_SOCKET, SO_RCVTIMEO, &timeout,
                            sizeof(timeout)) < 0)
                r = -errno;
        else {
                family = genl_ctrl_resolve(netlink, TASKSTATS_GENL_NAME);
                r = family == -NLE_OBJ_NOTFOUND ? TASKSTATS_E_NO_FAMILY
                    : family < 0                ? errno_of(family)
                                                : 0;
        }
        if (r != 0) {
                nl_socket_free(netlink);
                return r;
        }
        *ret = netlink;
        *ret_family = (uint16_t) family;
        return 0;
}

int taskstats_open(TaskstatsSocket **ret) {
        _cleanup_(taskstats_freep) TaskstatsSocket *self = NULL;
        uint16_t family = 0;
        int r;

        self = calloc(1, sizeof(*self));
        if (!self)
                return -ENOMEM;
        self->fd = -EBADF;
        self->sequence = 1;
        for (size_t i = 0; i < TASKSTATS_BATCH_MAX; i++) {
                self->places[i] = (struct iovec){ self->replies[i], REPLY_BYTES };
                self->headers[i].msg_hdr = (struct msghdr){
                        .msg_name = &self->senders[i],
                        .msg_iov = &self->places[i],
                        .msg_iovlen = 1,
                };
        }
        r = taskstats_connect(RECEIVE_TIMEOUT_SECONDS, &self->netlink, &family);
        if (r != 0)
                return r;
        self->fd = nl_socket_get_fd(self->netlink);
        r = nl_socket_set_buffer_size(self->netlink, RECEIVE_BYTES, 0);
        if (r < 0)
                return errno_of(r);
        r = taskstats_template_init(&self->message, family);
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
                taskstats_request_encode(&socket->message, socket->sequence + (uint32_t) i, tids[i],
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
                                        socket->replies[i], socket->headers[i].msg_len,
                                        socket->message.family, socket->sequence, tids, n_tids,
                                        answers);
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
