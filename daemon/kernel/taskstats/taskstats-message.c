/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/taskstats/taskstats-message.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "base/number.h"

/* the struct */

/* The size of each version (include/uapi/linux/taskstats.h of the kernels that had it). */
static const uint16_t version_bytes[] = {
        [8] = 328,  [9] = 344,  [10] = 352, [11] = 368, [12] = 400,
        [13] = 416, [14] = 432, [15] = 560, [16] = 560,
};

#define VERSION_OF_ITS_OWN 15

/*
 * The offsets of a member: in the layout that grew from version 8 to 17, and in that of version 15.
 * A version lacks the members whose offset is beyond its size.
 */
typedef struct Place {
        uint16_t at, at_15;
} Place;

#define COUNT(family, kind, at, at_15) \
        { METRIC_##family##_delay_count, TASKSTATS_GROUP_##kind, { at, at_15 }, 1, false }
#define TOTAL(family, kind, at, at_15) \
        { METRIC_##family##_delay_total_ns, TASKSTATS_GROUP_##kind, { at, at_15 }, 1, false }
#define LONGEST(family, kind, at, at_15) \
        { METRIC_##family##_delay_max_ns, TASKSTATS_GROUP_##kind, { at, at_15 }, 1, false }
#define SHORTEST(family, kind, at, at_15) \
        { METRIC_##family##_delay_min_ns, TASKSTATS_GROUP_##kind, { at, at_15 }, 1, false }
#define SCALED(metric, kind, at, at_15, by) \
        { METRIC_##metric, TASKSTATS_GROUP_##kind, { at, at_15 }, by, false }
#define PLAIN(metric, kind, at, at_15) SCALED(metric, kind, at, at_15, 1)
/* KiB, and 0 where there is nothing to measure. */
#define WATERMARK(metric, at, at_15) \
        { METRIC_##metric, TASKSTATS_GROUP_XACCT, { at, at_15 }, 1024, true }

// clang-format off
static const struct {
        MetricId metric;
        TaskstatsGroup group;
        Place place;
        uint16_t scale;
        bool zero_is_absent;
} metric_rows[] = {
        /*       metric or family       group  at   in version 15 */
        COUNT   (cpu,                   CPU,    16,  16),
        TOTAL   (cpu,                   CPU,    24,  24),
        COUNT   (blkio,                 DELAY,  32,  48),
        TOTAL   (blkio,                 DELAY,  40,  56),
        COUNT   (swapin,                DELAY,  48,  80),
        TOTAL   (swapin,                DELAY,  56,  88),
        PLAIN   (acct_run_real_ns,      CPU,    64, 112),
        PLAIN   (acct_run_virtual_ns,   CPU,    72, 120),
        SCALED  (acct_elapsed_ns,       BASIC, 144, 192, 1000),
        SCALED  (acct_utime_ns,         BASIC, 152, 200, 1000),
        SCALED  (acct_stime_ns,         BASIC, 160, 208, 1000),
        PLAIN   (minflt,                FAULTS, 168, 216),
        PLAIN   (majflt,                FAULTS, 176, 224),
        PLAIN   (acct_rss_mb_us,        XACCT, 184, 232),
        PLAIN   (acct_vm_mb_us,         XACCT, 192, 240),
        WATERMARK(hiwater_rss_bytes,           200, 248),
        WATERMARK(hiwater_vm_bytes,            208, 256),
        PLAIN   (voluntary_csw,         BASIC, 272, 320),
        PLAIN   (nonvoluntary_csw,      BASIC, 280, 328),
        SCALED  (acct_utime_scaled_ns,  BASIC, 288, 336, 1000),
        SCALED  (acct_stime_scaled_ns,  BASIC, 296, 344, 1000),
        PLAIN   (acct_run_scaled_ns,    CPU,   304, 352),
        COUNT   (freepages,             DELAY, 312, 360),
        TOTAL   (freepages,             DELAY, 320, 368),
        COUNT   (thrashing,             DELAY, 328, 392),
        TOTAL   (thrashing,             DELAY, 336, 400),
        COUNT   (compact,               DELAY, 352, 432),
        TOTAL   (compact,               DELAY, 360, 440),
        COUNT   (wpcopy,                DELAY, 400, 496),
        TOTAL   (wpcopy,                DELAY, 408, 504),
        COUNT   (irq,                   IRQ,   416, 528),
        TOTAL   (irq,                   IRQ,   424, 536),
        LONGEST (cpu,                   CPU,   432,  32),
        SHORTEST(cpu,                   CPU,   440,  40),
        LONGEST (blkio,                 DELAY, 448,  64),
        SHORTEST(blkio,                 DELAY, 456,  72),
        LONGEST (swapin,                DELAY, 464,  96),
        SHORTEST(swapin,                DELAY, 472, 104),
        LONGEST (freepages,             DELAY, 480, 376),
        SHORTEST(freepages,             DELAY, 488, 384),
        LONGEST (thrashing,             DELAY, 496, 408),
        SHORTEST(thrashing,             DELAY, 504, 416),
        LONGEST (compact,               DELAY, 512, 448),
        SHORTEST(compact,               DELAY, 520, 456),
        LONGEST (wpcopy,                DELAY, 528, 512),
        SHORTEST(wpcopy,                DELAY, 536, 520),
        LONGEST (irq,                   IRQ,   544, 544),
        SHORTEST(irq,                   IRQ,   552, 552),

        /* The kernel's variables behind schedstat (equal for 120 of 120 threads on 6.18). */
        PLAIN   (timeslices,            CPU,    16,  16),
        PLAIN   (wait_time_ns,          CPU,    24,  24),
        PLAIN   (run_time_ns,           CPU,    72, 120),
};

static const struct {
        uint16_t n_bytes;
        Place place;
} members[_TASKSTATS_MEMBER_MAX] = {
        [TASKSTATS_CPU_COUNT]          = { 8, {  16,  16 } },
        [TASKSTATS_CPU_RUN_VIRTUAL_NS] = { 8, {  72, 120 } },
        [TASKSTATS_UID]                = { 4, { 120, 168 } },
        [TASKSTATS_GID]                = { 4, { 124, 172 } },
        [TASKSTATS_TID]                = { 4, { 128, 176 } },
        [TASKSTATS_PPID]               = { 4, { 132, 180 } },
        [TASKSTATS_AGE_US]             = { 8, { 144, 192 } },
        [TASKSTATS_HIWATER_VM_KIB]     = { 8, { 208, 256 } },
        [TASKSTATS_EXE_DEV]            = { 8, { 384, 480 } },
        [TASKSTATS_EXE_INODE]          = { 8, { 392, 488 } },
        [TASKSTATS_IRQ_COUNT]          = { 8, { 416, 528 } },
        [TASKSTATS_TGID]               = { 4, { 368, 464 } },
};
static const Place name_place = { 80, 128 };

/* Counts of the seven categories that exist only if accounting was on at the task's fork. */
static const Place delay_counts[] = {
        {  32,  48 }, {  48,  80 }, { 312, 360 }, { 328, 392 },
        { 352, 432 }, { 400, 496 }, { 416, 528 },
};
// clang-format on

int taskstats_decode(const void *payload, size_t n_payload, Taskstats *ret) {
        uint16_t version;
        size_t n_bytes = MIN_OF(n_payload, (size_t) TASKSTATS_KNOWN_BYTES);

        if (n_payload < sizeof(version))
                return TASKSTATS_E_MALFORMED;
        memcpy(&version, payload, sizeof(version));
        if (version < TASKSTATS_MIN_VERSION)
                return TASKSTATS_E_TOO_OLD;
        if (version < ELEMENTSOF(version_bytes))
                n_bytes = MIN_OF(n_bytes, (size_t) version_bytes[version]);

        ret->version = version;
        ret->n_bytes = (uint16_t) n_bytes;
        /* Netlink aligns to 4 bytes only, so the struct is copied before it is read. */
        memcpy(ret->bytes, payload, n_bytes);
        return 0;
}

static inline bool read_word(const Taskstats *stats, Place place, size_t n_bytes, uint64_t *ret) {
        size_t at = stats->version == VERSION_OF_ITS_OWN ? place.at_15 : place.at;
        uint32_t half;

        if (at + n_bytes > stats->n_bytes)
                return false;
        if (n_bytes == sizeof(half)) {
                memcpy(&half, stats->bytes + at, sizeof(half));
                *ret = half;
        } else
                *ret = stats->words[at / 8];
        return true;
}

bool taskstats_get(const Taskstats *stats, TaskstatsMember member, uint64_t *ret) {
        return read_word(stats, members[member].place, members[member].n_bytes, ret);
}

bool taskstats_get_name(const Taskstats *stats, char ret[static TASKSTATS_NAME_BYTES]) {
        size_t at = stats->version == VERSION_OF_ITS_OWN ? name_place.at_15 : name_place.at;

        if (at + TASKSTATS_NAME_BYTES > stats->n_bytes)
                return false;
        memcpy(ret, stats->bytes + at, TASKSTATS_NAME_BYTES);
        return true;
}

bool taskstats_has_delays(const Taskstats *stats) {
        uint64_t count;

        for (size_t i = 0; i < ELEMENTSOF(delay_counts); i++)
                if (read_word(stats, delay_counts[i], sizeof(count), &count) && count != 0)
                        return true;
        return false;
}

void taskstats_put_metrics(const Taskstats *stats, unsigned groups, ThreadSample *sample) {
        for (size_t i = 0; i < ELEMENTSOF(metric_rows); i++) {
                uint64_t value;

                if (!(groups & metric_rows[i].group) ||
                    !read_word(stats, metric_rows[i].place, sizeof(value), &value) ||
                    (value == 0 && metric_rows[i].zero_is_absent))
                        continue;
                if (metric_rows[i].scale != 1)
                        value = number_multiply_saturating(value, metric_rows[i].scale);
                thread_sample_put(sample, metric_rows[i].metric, value);
        }
}

/* messages */

void taskstats_request_encode(uint16_t family, uint32_t sequence, pid_t tid,
                              char ret[static TASKSTATS_REQUEST_BYTES]) {
        /*
         * Without NLM_F_ACK: it would queue a second message after each answer, and every request
         * is answered or refused anyway. The port stays 0: the kernel uses the socket's address.
         */
        const struct {
                struct nlmsghdr header;
                struct genlmsghdr command;
                struct nlattr attribute;
                uint32_t tid;
        } request = {
                { .nlmsg_len = TASKSTATS_REQUEST_BYTES,
                  .nlmsg_type = family,
                  .nlmsg_flags = NLM_F_REQUEST,
                  .nlmsg_seq = sequence },
                { .cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION },
                { .nla_len = sizeof(struct nlattr) + sizeof(uint32_t),
                  .nla_type = TASKSTATS_CMD_ATTR_PID },
                (uint32_t) tid,
        };

        _Static_assert(sizeof(request) == TASKSTATS_REQUEST_BYTES, "there is no padding");
        memcpy(ret, &request, sizeof(request));
}

/* The thread that a TASKSTATS_CMD_NEW message is about, and its struct; 0, -EBADMSG, -EPROTO. */
static int decode_stats(struct nlmsghdr *header, pid_t *ret_tid, Taskstats *ret) {
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
        if (!pid || nla_len(pid) < (int) sizeof(uint32_t) || !stats)
                return -EBADMSG;
        *ret_tid = (pid_t) nla_get_u32(pid);
        r = taskstats_decode(nla_data(stats), (size_t) nla_len(stats), ret);
        if (r == TASKSTATS_E_TOO_OLD)
                return -EPROTO;
        return r == 0 ? 0 : -EBADMSG;
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
                const struct nlmsgerr *error = nlmsg_data(header);
                pid_t tid = 0;
                int r;

                if (i >= n_tids || answers[i].error != -EINPROGRESS)
                        continue;
                if (header->nlmsg_type == NLMSG_ERROR) {
                        /* It is never 0: no acknowledgement was requested. */
                        r = -EBADMSG;
                        if (nlmsg_datalen(header) >= (int) sizeof(error->error) &&
                            error->error < 0 && error->error != -EINPROGRESS)
                                r = error->error;
                } else if (header->nlmsg_type == family) {
                        r = decode_stats(header, &tid, &answers[i].stats);
                        if ((r == 0 || r == -EPROTO) && tid != tids[i])
                                r = -EBADMSG;
                } else
                        continue;
                answers[i].error = r;
                n_known++;
        }
        return n_known;
}

int taskstats_exit_decode(const void *datagram, size_t n_datagram, uint16_t family,
                          TaskstatsExit *ret) {
        struct nlmsghdr *header = (struct nlmsghdr *) (uintptr_t) datagram;
        int r;

        if (n_datagram > INT32_MAX || !nlmsg_ok(header, (int) n_datagram))
                return TASKSTATS_E_MALFORMED;
        if (header->nlmsg_type != family)
                return TASKSTATS_E_NO_EXIT;
        if (genlmsg_valid_hdr(header, 0) &&
            !nlmsg_find_attr(header, GENL_HDRLEN, TASKSTATS_TYPE_AGGR_PID))
                return TASKSTATS_E_NO_EXIT;
        r = decode_stats(header, &ret->tid, &ret->stats);
        if (r == -EPROTO)
                return TASKSTATS_E_TOO_OLD;
        return r == 0 ? 0 : TASKSTATS_E_MALFORMED;
}
