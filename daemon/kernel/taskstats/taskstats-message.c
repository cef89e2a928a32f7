/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/taskstats/taskstats-message.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

int taskstats_template_init(TaskstatsTemplate *message, uint16_t family) {
        struct nl_msg *msg;
        int r = 0;

        msg = nlmsg_alloc();
        if (!msg)
                return -ENOMEM;
        /*
         * Without NLM_F_ACK: it would queue a second message after each answer, and every request
         * is answered or refused anyway. The port stays 0: the kernel uses the socket's address.
         */
        if (!genlmsg_put(msg, 0, 0, family, 0, NLM_F_REQUEST, TASKSTATS_CMD_GET,
                         TASKSTATS_GENL_VERSION) ||
            nla_put_u32(msg, TASKSTATS_CMD_ATTR_PID, 0) < 0)
                r = -ENOMEM;
        else if (nlmsg_hdr(msg)->nlmsg_len != TASKSTATS_REQUEST_BYTES)
                r = -EPROTO;
        else {
                memcpy(message->bytes, nlmsg_hdr(msg), TASKSTATS_REQUEST_BYTES);
                message->family = family;
        }
        nlmsg_free(msg);
        return r;
}

void taskstats_request_encode(const TaskstatsTemplate *message, uint32_t sequence, pid_t tid,
                              char *ret) {
        uint32_t number = (uint32_t) tid;

        memcpy(ret, message->bytes, TASKSTATS_REQUEST_BYTES);
        memcpy(ret + offsetof(struct nlmsghdr, nlmsg_seq), &sequence, sizeof(sequence));
        memcpy(ret + TASKSTATS_REQUEST_BYTES - sizeof(number), &number, sizeof(number));
}

/* The struct of a TASKSTATS_CMD_NEW message that is about @tid; 0, -EBADMSG, -EPROTO. */
static int decode_stats(struct nlmsghdr *header, pid_t tid, Taskstats *ret) {
        struct nlattr *aggregate, *pid, *stats;
        int r;

        if (!genlmsg_valid_hdr(header, 0))
                return -EBADMSG;
        /* Some architectures send an empty TASKSTATS_TYPE_NULL first, for alignment. */
        aggregate = nlmsg_find_attr(header, GENL_HDRLEN, TASKSTATS_TYPE_AGGR_PID);
        if (!aggregate)
                return -EBADMSG;
        pid = nla_find(nla_data(aggregate), nla_len(aggregate), TASKSTATS_TYPE_PID);
        stats = nla_find(nla_data(aggregate), nla_len(aggregate), TASKSTATS_TYPE_STATS);
        if (!pid || nla_len(pid) < (int) sizeof(uint32_t) || nla_get_u32(pid) != (uint32_t) tid)
                return -EBADMSG;
        if (!stats)
                return -EBADMSG;
        r = taskstats_decode(nla_data(stats), (size_t) nla_len(stats), ret);
        if (r == TASKSTATS_E_TOO_OLD)
                return -EPROTO;
        return r == 0 ? 0 : -EBADMSG;
}

/* The errno of an error message, which is never 0: no acknowledgement was requested. */
static int decode_error(struct nlmsghdr *header) {
        const struct nlmsgerr *error = nlmsg_data(header);

        if (nlmsg_datalen(header) < (int) sizeof(error->error) || error->error >= 0 ||
            error->error == -EINPROGRESS)
                return -EBADMSG;
        return error->error;
}

size_t taskstats_replies_decode(const void *datagram, size_t n_datagram, uint16_t family,
                                uint32_t sequence, const pid_t *tids, size_t n_tids,
                                TaskstatsAnswer *answers) {
        /* libnl's readers take non-const pointers but do not write through them. */
        struct nlmsghdr *header = (struct nlmsghdr *) (uintptr_t) datagram;
        int n_left = n_datagram > INT32_MAX ? 0 : (int) n_datagram;
        size_t n_known = 0;

        for (; nlmsg_ok(header, n_left); header = nlmsg_next(header, &n_left)) {
                uint32_t i = header->nlmsg_seq - sequence; /* wraps as the numbers do */

                if (i >= n_tids || answers[i].error != -EINPROGRESS)
                        continue;
                if (header->nlmsg_type == NLMSG_ERROR)
                        answers[i].error = decode_error(header);
                else if (header->nlmsg_type == family)
                        answers[i].error = decode_stats(header, tids[i], &answers[i].stats);
                else
                        continue;
                n_known++;
        }
        return n_known;
}
