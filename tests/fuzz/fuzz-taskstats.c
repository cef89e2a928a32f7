/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's messages about a thread: 'p' is a struct taskstats of any version and length, held
 * against the layouts of its headers; anything else is a datagram of netlink messages, held against
 * a walk of our own. Members past the length are absent; a cut takes answers away and changes none.
 *
 * Aims at: daemon/kernel/taskstats/taskstats-message.c
 */
#include "fuzz.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "taskstats-layouts.h"
#include "kernel/taskstats/taskstats-message.h"

#define ALL_GROUPS                                                             \
        (TASKSTATS_GROUP_BASIC | TASKSTATS_GROUP_CPU | TASKSTATS_GROUP_DELAY | \
         TASKSTATS_GROUP_IRQ | TASKSTATS_GROUP_XACCT | TASKSTATS_GROUP_FAULTS)
#define FAMILY 31
#define SEQUENCE UINT32_C(0xfffffffe) /* so that the numbers of a batch wrap */

/* How much of the struct a version has; later ones than we know have all of it. */
static size_t version_end(uint16_t version) {
        switch (version) {
        case 8:
                return offsetof(GrownTaskstats, thrashing);
        case 9:
                return offsetof(GrownTaskstats, ac_btime64);
        case 10:
                return offsetof(GrownTaskstats, compact);
        case 11:
                return offsetof(GrownTaskstats, ac_tgid);
        case 12:
                return offsetof(GrownTaskstats, wpcopy);
        case 13:
                return offsetof(GrownTaskstats, irq);
        case 14:
                return offsetof(GrownTaskstats, of_cpu);
        case 15:
                return sizeof(Taskstats15);
        default:
                return offsetof(GrownTaskstats, of_the_longest);
        }
}

/* The number at @at, if @payload and its version have all of it. */
static bool find_number(Span payload, uint16_t version, size_t at, size_t n_bytes, uint64_t *ret) {
        *ret = 0;
        if (at + n_bytes > payload.n || at + n_bytes > version_end(version))
                return false;
        memcpy(ret, payload.bytes + at, n_bytes); /* the low half, as x86 and arm have it */
        return true;
}

/* Any one of these counts shows that a task is accounted. */
static bool is_delay_count(MetricId id) {
        return id == METRIC_blkio_delay_count || id == METRIC_swapin_delay_count ||
               id == METRIC_freepages_delay_count || id == METRIC_thrashing_delay_count ||
               id == METRIC_compact_delay_count || id == METRIC_wpcopy_delay_count ||
               id == METRIC_irq_delay_count;
}

static void check_stats(Span payload, const Taskstats *stats) {
        bool is_15 = stats->version == 15, has_delays = false;
        ThreadSample sample = {};
        uint64_t expected, value;

        for (size_t i = 0; i < ELEMENTSOF(member_rows); i++) {
                bool sent = find_number(payload, stats->version,
                                        is_15 ? member_rows[i].at_15 : member_rows[i].at,
                                        member_rows[i].n_bytes, &expected);

                fuzz_expect(taskstats_get(stats, member_rows[i].member, &value) == sent,
                            "member %zu is there when it was sent", i);
                fuzz_expect(!sent || value == expected, "member %zu is what was sent", i);
        }
        taskstats_put_metrics(stats, ALL_GROUPS, &sample);
        for (size_t i = 0; i < ELEMENTSOF(layout_rows); i++) {
                MetricId id = layout_rows[i].metric;
                bool sent = find_number(payload, stats->version,
                                        is_15 ? layout_rows[i].at_15 : layout_rows[i].at,
                                        sizeof(expected), &expected);

                has_delays |= sent && expected != 0 && is_delay_count(id);
                if (expected == 0 &&
                    (id == METRIC_hiwater_rss_bytes || id == METRIC_hiwater_vm_bytes))
                        sent = false;
                fuzz_expect(thread_sample_has(&sample, id) == sent,
                            "metric %d is there when it was sent", (int) id);
                fuzz_expect(
                        !sent || thread_sample_get(&sample, id) ==
                                         number_multiply_saturating(expected, layout_rows[i].scale),
                        "metric %d is what was sent", (int) id);
        }
        fuzz_expect(taskstats_has_delays(stats) == has_delays, "a task is accounted or is not");
}

static void check_payload(Span payload) {
        uint16_t version = 0;
        Taskstats stats;
        int r = taskstats_decode(payload.bytes, payload.n, &stats);

        if (payload.n < sizeof(version)) {
                fuzz_expect(r == TASKSTATS_E_MALFORMED, "without a version there is nothing");
                return;
        }
        memcpy(&version, payload.bytes, sizeof(version));
        fuzz_expect(r == (version < TASKSTATS_MIN_VERSION ? TASKSTATS_E_TOO_OLD : 0),
                    "every version from 8 can be read");
        if (r == 0)
                check_stats(payload, &stats);
}

static const pid_t tids[] = { 7, 8, 900, INT32_MAX };

typedef struct Answers {
        TaskstatsAnswer of[ELEMENTSOF(tids)];
        size_t n_known;
} Answers;

/* The datagram in memory of its own, aligned as a socket's is. */
static void decode(Span datagram, Answers *ret) {
        _cleanup_(freep) char *copy = fuzz_copy(datagram);

        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                ret->of[i] = (TaskstatsAnswer){ .error = -EINPROGRESS };
        ret->n_known = taskstats_replies_decode(copy, datagram.n, FAMILY, SEQUENCE, tids,
                                                ELEMENTSOF(tids), ret->of);
        fuzz_expect(taskstats_replies_decode(copy, datagram.n, FAMILY, SEQUENCE, tids,
                                             ELEMENTSOF(tids), ret->of) == 0,
                    "an answer is known by its first message");
}

/* The bytes after the first @n, aligned to four; may be none. */
static Span behind(Span text, size_t n) {
        size_t aligned = (n + 3) & ~(size_t) 3;

        return aligned < text.n ? (Span){ text.bytes + aligned, text.n - aligned } : (Span){};
}

/* The payload of the first attribute of @type; false when none comes before the first bad one. */
static bool find_attribute(Span attributes, uint16_t type, Span *ret) {
        struct nlattr head;

        while (attributes.n >= sizeof(head)) {
                memcpy(&head, attributes.bytes, sizeof(head));
                if (head.nla_len < sizeof(head) || head.nla_len > attributes.n)
                        return false;
                if ((head.nla_type & NLA_TYPE_MASK) == type) {
                        *ret = (Span){ attributes.bytes + sizeof(head),
                                       head.nla_len - sizeof(head) };
                        return true;
                }
                attributes = behind(attributes, head.nla_len);
        }
        return false;
}

static int expected_error(const struct nlmsghdr *head, Span body, pid_t tid, Span *ret_payload) {
        Span aggregate, pid;
        uint16_t version;
        int error = 0;
        int32_t number;

        if (head->nlmsg_type == NLMSG_ERROR) {
                if (body.n >= sizeof(error))
                        memcpy(&error, body.bytes, sizeof(error));
                return error < 0 && error != -EINPROGRESS ? error : -EBADMSG;
        }
        if (body.n < sizeof(struct genlmsghdr) ||
            !find_attribute(behind(body, sizeof(struct genlmsghdr)), TASKSTATS_TYPE_AGGR_PID,
                            &aggregate) ||
            !find_attribute(aggregate, TASKSTATS_TYPE_PID, &pid) || pid.n < sizeof(number) ||
            !find_attribute(aggregate, TASKSTATS_TYPE_STATS, ret_payload))
                return -EBADMSG;
        memcpy(&number, pid.bytes, sizeof(number));
        if (number != tid || ret_payload->n < sizeof(version))
                return -EBADMSG;
        memcpy(&version, ret_payload->bytes, sizeof(version));
        return version < TASKSTATS_MIN_VERSION ? -EPROTO : 0;
}

static void check_answers(Span datagram, const Answers *answers) {
        bool known[ELEMENTSOF(tids)] = {};
        struct nlmsghdr head;
        size_t n_known = 0;

        for (Span rest = datagram; rest.n >= sizeof(head); rest = behind(rest, head.nlmsg_len)) {
                Span body, payload;
                uint32_t i;
                int error;

                memcpy(&head, rest.bytes, sizeof(head));
                if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > rest.n)
                        break;
                i = head.nlmsg_seq - SEQUENCE;
                if (i >= ELEMENTSOF(tids) || known[i] ||
                    (head.nlmsg_type != NLMSG_ERROR && head.nlmsg_type != FAMILY))
                        continue;
                body = (Span){ rest.bytes + sizeof(head), head.nlmsg_len - sizeof(head) };
                error = expected_error(&head, body, tids[i], &payload);
                fuzz_expect(answers->of[i].error == error, "answer %u is %d and not %d", i, error,
                            answers->of[i].error);
                if (error == 0)
                        check_stats(payload, &answers->of[i].stats);
                known[i] = true;
                n_known++;
        }
        fuzz_expect(answers->n_known == n_known, "as many answers are known as came");
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                fuzz_expect(known[i] == (answers->of[i].error != -EINPROGRESS),
                            "no answer is made up");
}

static void check_datagram(Span datagram, size_t cut) {
        Answers whole, part;

        decode(datagram, &whole);
        check_answers(datagram, &whole);
        datagram.n = MIN_OF(datagram.n, cut);
        decode(datagram, &part);
        check_answers(datagram, &part);
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                fuzz_expect(part.of[i].error == -EINPROGRESS ||
                                    part.of[i].error == whole.of[i].error,
                            "a cut changes no answer");
}

/* Our request is a message of the same kind, about the requested thread. */
static void check_request(uint32_t sequence, pid_t tid) {
        char bytes[TASKSTATS_REQUEST_BYTES];
        struct nlmsghdr head;
        Span number;

        taskstats_request_encode(FAMILY, sequence, tid, bytes);
        memcpy(&head, bytes, sizeof(head));
        fuzz_expect(head.nlmsg_len == sizeof(bytes) && head.nlmsg_seq == sequence &&
                            head.nlmsg_type == FAMILY,
                    "a request is numbered and addressed");
        fuzz_expect(find_attribute(behind((Span){ bytes, sizeof(bytes) },
                                          sizeof(head) + sizeof(struct genlmsghdr)),
                                   TASKSTATS_CMD_ATTR_PID, &number) &&
                            number.n == sizeof(tid) && memcmp(number.bytes, &tid, number.n) == 0,
                    "a request is about its thread");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        uint8_t kind = fuzz_take_u8(&input);
        uint16_t cut = fuzz_take_u16(&input);

        if (kind == 'p')
                check_payload(fuzz_take_rest(&input));
        else
                check_datagram(fuzz_take_rest(&input), cut);
        check_request(cut, kind);
        return 0;
}
