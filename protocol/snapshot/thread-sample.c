/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/thread-sample.h"

#include <stddef.h>
#include <string.h>

#include "base/macro.h"
#include "base/number.h"

#define THREAD_SAMPLE_SLOT(member, ...)                                 \
        [METRIC_##member] = (uint16_t) offsetof(ThreadSample, member) + \
                            REQUIRE(sizeof(((ThreadSample *) 0)->member) == sizeof(uint64_t)),
const uint16_t thread_sample_slots[_METRIC_MAX] = { METRICS(THREAD_SAMPLE_SLOT) };

_Static_assert(sizeof(ThreadSample) <= UINT16_MAX, "slots are 16 bits wide");

void thread_sample_clear(ThreadSample *sample) {
        /*
         * A metric is never read while its presence bit is clear, so the metrics need no clearing.
         */
        memset(sample, 0, offsetof(ThreadSample, present));
        memset(sample->present, 0, sizeof(sample->present));
}

bool thread_sample_memory(const ThreadSample *sample, uint64_t *ret_bytes) {
        static const MetricId ids[] = {
                METRIC_rss_anon_bytes,
                METRIC_rss_file_bytes,
                METRIC_rss_shmem_bytes,
                METRIC_swap_bytes,
        };
        uint64_t sum = 0;

        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                if (!thread_sample_has(sample, ids[i]))
                        return false;
                sum = number_add_saturating(sum, thread_sample_get(sample, ids[i]));
        }
        *ret_bytes = sum;
        return true;
}

/* include/uapi/linux/sched.h; 4 was reserved for SCHED_ISO and never used. */
static const struct {
        int64_t policy;
        const char *name;
} policies[] = {
        { 0, "SCHED_OTHER" }, { 1, "SCHED_FIFO" },     { 2, "SCHED_RR" },  { 3, "SCHED_BATCH" },
        { 5, "SCHED_IDLE" },  { 6, "SCHED_DEADLINE" }, { 7, "SCHED_EXT" },
};

#define UNKNOWN_POLICY "SCHED_UNKNOWN("

size_t policy_format(int64_t policy, char ret_name[static POLICY_NAME_CHARS]) {
        size_t n = sizeof(UNKNOWN_POLICY) - 1;

        for (size_t i = 0; i < ELEMENTSOF(policies); i++)
                if (policies[i].policy == policy) {
                        n = strlen(policies[i].name);
                        memcpy(ret_name, policies[i].name, n);
                        return n;
                }
        /* A policy is an int in the kernel: the clamp keeps the longest text within the array. */
        if (policy > INT32_MAX)
                policy = INT32_MAX;
        if (policy < INT32_MIN)
                policy = INT32_MIN;
        memcpy(ret_name, UNKNOWN_POLICY, n);
        n += number_format_i64(policy, ret_name + n);
        ret_name[n++] = ')';
        return n;
}

bool policy_parse(Span name, int64_t *ret) {
        const size_t n_head = sizeof(UNKNOWN_POLICY) - 1;

        for (size_t i = 0; i < ELEMENTSOF(policies); i++)
                if (span_is(name, policies[i].name)) {
                        *ret = policies[i].policy;
                        return true;
                }
        if (name.n <= n_head + 1 || memcmp(name.bytes, UNKNOWN_POLICY, n_head) != 0 ||
            name.bytes[name.n - 1] != ')')
                return false;
        return number_parse_i64((Span){ name.bytes + n_head, name.n - n_head - 1 }, ret);
}
