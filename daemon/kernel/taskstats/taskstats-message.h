/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskstatsMessage
 *
 * Encodes requests of the TASKSTATS netlink family (copies of one template) and decodes the
 * replies. Pure. A reply answers a request only when its sequence number is in the batch and the
 * tid in it is the requested one; any other reply belongs to an earlier batch or another socket.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "kernel/taskstats/taskstats-decode.h"

#define TASKSTATS_BATCH_MAX 64
#define TASKSTATS_REQUEST_BYTES 28

/* Requests are encoded one after the other into the memory of a single send. */
typedef struct TaskstatsTemplate {
        char bytes[TASKSTATS_REQUEST_BYTES];
        uint16_t family;
} TaskstatsTemplate;

typedef struct TaskstatsAnswer {
        int error; /* 0; -ESRCH, -EPERM, ... from the kernel; -ENODATA, -EBADMSG, -EPROTO from us */
        Taskstats stats; /* when error is 0 */
} TaskstatsAnswer;

/* -ENOMEM. */
_must_check_ int taskstats_template_init(TaskstatsTemplate *message, uint16_t family);

/* Writes the request for @tid, numbered @sequence, into TASKSTATS_REQUEST_BYTES at @ret. */
void taskstats_request_encode(const TaskstatsTemplate *message, uint32_t sequence, pid_t tid,
                              char *ret);

/*
 * One datagram with answers to the requests numbered @sequence and up, for @tids in that order.
 * Fills the answers that it has and returns how many became known; messages that answer no request
 * are skipped. An answer is known when its error is not -EINPROGRESS.
 */
size_t taskstats_replies_decode(const void *datagram, size_t n_datagram, uint16_t family,
                                uint32_t sequence, const pid_t *tids, size_t n_tids,
                                TaskstatsAnswer *answers);
