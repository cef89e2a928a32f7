/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskstatsMessage
 *
 * Requests of the TASKSTATS netlink family, the replies to them, and the struct in a reply. Pure:
 * the socket is in taskstats.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "snapshot/thread-sample.h"

/* the struct */

/*
 * One "struct taskstats" as the kernel sent it, whatever its version. The struct grew at its end
 * from version to version, except that version 15 (Linux 6.14.0 to 6.14.8) inserted members in the
 * middle and version 16 moved them to the end. So the version decides the offset of a member, and
 * the length received decides whether it was sent at all. A member that was not sent is absent,
 * never zero.
 */

enum {
        TASKSTATS_OK,
        TASKSTATS_E_MALFORMED, /* too short to hold a version */
        TASKSTATS_E_TOO_OLD,   /* before version 8 (Linux 3.x), with other offsets */
        TASKSTATS_E_NO_FAMILY, /* taskstats_open(): this kernel has no TASKSTATS */
        TASKSTATS_E_NO_EXIT,   /* taskstats_exit_decode(): it tells of no thread */
};

#define TASKSTATS_MIN_VERSION 8
/* The bytes that are decoded; after them come the time stamps of version 17, and the unknown. */
#define TASKSTATS_KNOWN_BYTES 560

typedef struct Taskstats {
        uint16_t version;
        uint16_t n_bytes; /* received, that this version defines and we know */
        union {
                char bytes[TASKSTATS_KNOWN_BYTES];
                uint64_t words[TASKSTATS_KNOWN_BYTES / 8]; /* for alignment */
        };
} Taskstats;

/* Members that are not metrics. */
typedef enum TaskstatsMember {
        TASKSTATS_UID, /* real, in the caller's user namespace */
        TASKSTATS_GID,
        TASKSTATS_TID, /* ac_pid */
        TASKSTATS_PPID,
        TASKSTATS_AGE_US, /* since the thread's start, CLOCK_MONOTONIC */
        TASKSTATS_EXE_DEV,
        TASKSTATS_EXE_INODE,
        TASKSTATS_CPU_COUNT,
        TASKSTATS_CPU_RUN_VIRTUAL_NS,
        TASKSTATS_HIWATER_VM_KIB,
        TASKSTATS_IRQ_COUNT,
        TASKSTATS_TGID, /* since version 12 */
        _TASKSTATS_MEMBER_MAX,
} TaskstatsMember;

#define TASKSTATS_NAME_BYTES 16 /* TASK_COMM_LEN; ends with a NUL unless it is full */

/* The kernel option or condition that a metric of the struct depends on. */
typedef enum TaskstatsGroup {
        TASKSTATS_GROUP_BASIC = 1 << 0,  /* CONFIG_TASKSTATS */
        TASKSTATS_GROUP_CPU = 1 << 1,    /* CONFIG_TASK_DELAY_ACCT, whether switched on or not */
        TASKSTATS_GROUP_DELAY = 1 << 2,  /* the task was forked with delay accounting on */
        TASKSTATS_GROUP_IRQ = 1 << 3,    /* and the kernel accounts interrupt time */
        TASKSTATS_GROUP_XACCT = 1 << 4,  /* CONFIG_TASK_XACCT */
        TASKSTATS_GROUP_FAULTS = 1 << 5, /* what the file stat of a living thread tells */
} TaskstatsGroup;

/* Copies @payload out. 0, TASKSTATS_E_MALFORMED, TASKSTATS_E_TOO_OLD; *ret only on 0. */
_must_check_ int taskstats_decode(const void *payload, size_t n_payload, Taskstats *ret);

/* False when it was not sent; *ret is unchanged then. */
bool taskstats_get(const Taskstats *stats, TaskstatsMember member, uint64_t *ret);

/* The name of the thread, in whole or, when it was not sent, not at all. */
bool taskstats_get_name(const Taskstats *stats, char ret[static TASKSTATS_NAME_BYTES]);

/*
 * Returns whether any of the seven delays besides cpu was counted, so that the task is accounted.
 */
bool taskstats_has_delays(const Taskstats *stats);

/*
 * Puts the metrics of @groups (TaskstatsGroup, or-ed) that were sent. The high-water marks are 0
 * for a task without address space, which is not a measurement: they are absent then.
 */
void taskstats_put_metrics(const Taskstats *stats, unsigned groups, ThreadSample *sample);

/* messages */

/*
 * A reply answers a request only when its sequence number is in the batch and the tid in it is the
 * requested one; any other reply belongs to an earlier batch or another socket.
 */

#define TASKSTATS_BATCH_MAX 64
#define TASKSTATS_REQUEST_BYTES 28

typedef struct TaskstatsAnswer {
        int error; /* 0; -ESRCH, -EPERM, ... from the kernel; -ENODATA, -EBADMSG, -EPROTO from us */
        Taskstats stats; /* when error is 0 */
} TaskstatsAnswer;

/*
 * Writes the request for @tid, numbered @sequence. Requests stand one after the other in the memory
 * of a single send.
 */
void taskstats_request_encode(uint16_t family, uint32_t sequence, pid_t tid,
                              char ret[static TASKSTATS_REQUEST_BYTES]);

/*
 * One datagram with answers to the requests numbered @sequence and up, for @tids in that order.
 * Fills the answers that it has and returns how many became known; messages that answer no request
 * are skipped. An answer is known when its error is not -EINPROGRESS.
 */
size_t taskstats_replies_decode(const void *datagram, size_t n_datagram, uint16_t family,
                                uint32_t sequence, const pid_t *tids, size_t n_tids,
                                TaskstatsAnswer *answers);

/* exits */

/*
 * The kernel sends this to a listener when a thread ends, in a datagram of its own. With the last
 * thread of a process it adds sums of the whole process to the same message; these are not read,
 * because the threads have told all of that before.
 */
typedef struct TaskstatsExit {
        pid_t tid; /* in the initial pid namespace, as all numbers in it */
        Taskstats stats;
} TaskstatsExit;

/*
 * 0, TASKSTATS_E_NO_EXIT when the datagram is of another kind, TASKSTATS_E_MALFORMED,
 * TASKSTATS_E_TOO_OLD; *ret only on 0.
 */
_must_check_ int taskstats_exit_decode(const void *datagram, size_t n_datagram, uint16_t family,
                                       TaskstatsExit *ret);
