/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/taskstats/taskstats-socket.h"

#include <errno.h>
#include <linux/taskstats.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/socket.h>

#include "kernel/taskstats/taskstats-message.h"

int taskstats_errno(int r) {
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

static int connect_family(struct nl_sock *netlink, unsigned timeout_seconds, uint16_t *ret_family) {
        const struct timeval timeout = { .tv_sec = timeout_seconds };
        int family, r;

        r = genl_connect(netlink);
        if (r < 0)
                return taskstats_errno(r);
        if (setsockopt(nl_socket_get_fd(netlink), SOL_SOCKET, SO_RCVTIMEO, &timeout,
                       sizeof(timeout)) < 0)
                return -errno;
        family = genl_ctrl_resolve(netlink, TASKSTATS_GENL_NAME);
        if (family == -NLE_OBJ_NOTFOUND)
                return TASKSTATS_E_NO_FAMILY;
        if (family < 0)
                return taskstats_errno(family);
        *ret_family = (uint16_t) family;
        return 0;
}

int taskstats_connect(unsigned timeout_seconds, struct nl_sock **ret, uint16_t *ret_family) {
        struct nl_sock *netlink = nl_socket_alloc();
        int r;

        if (!netlink)
                return -ENOMEM;
        r = connect_family(netlink, timeout_seconds, ret_family);
        if (r == 0)
                *ret = netlink;
        else
                nl_socket_free(netlink);
        return r;
}
