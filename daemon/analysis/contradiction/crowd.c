/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/contradiction/crowd.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "analysis/group/life.h"

void crowds_init(Crowds *crowds) {
        *crowds = (Crowds){};
        key_tree_init(&crowds->tree, sizeof(Crowd));
        key_tree_init(&crowds->stuck, sizeof(StuckName));
        buffer_init(&crowds->key, 0);
}

void crowds_done(Crowds *crowds) {
        key_tree_done(&crowds->tree, NULL);
        key_tree_done(&crowds->stuck, NULL);
        buffer_done(&crowds->key);
}

/* times */

/* The first that is known is the time. */
static const MetricId storage_metrics[] = { METRIC_storage_wait_ns, METRIC_iowait_sum,
                                            METRIC_blkio_delay_total_ns };
/* They overlap; reclaim and compaction do not. */
static const MetricId evicted_metrics[] = { METRIC_thrashing_delay_total_ns,
                                            METRIC_swapin_delay_total_ns };

/* What a thread did of a sum inside; of one that is gone less what it had by then. */
static bool done_of(const ThreadSample *before, const ThreadSample *after, MetricId id,
                    uint64_t *ret) {
        if (before && after)
                return life_grown(before, after, id, ret);
        if (!thread_sample_has(after ? after : before, id))
                return false;
        *ret = thread_sample_get(after ? after : before, id);
        return true;
}

static uint64_t first_of(const ThreadSample *before, const ThreadSample *after, const MetricId *ids,
                         size_t n) {
        uint64_t ns = 0;

        for (size_t i = 0; i < n; i++)
                if (done_of(before, after, ids[i], &ns))
                        return ns;
        return 0;
}

static uint64_t one_of(const ThreadSample *before, const ThreadSample *after, MetricId id) {
        return first_of(before, after, &id, 1);
}

/* Whether there is any. */
static bool read_times(const ThreadSample *before, const ThreadSample *after,
                       uint64_t ret[static _CROWD_TIME_MAX]) {
        uint64_t thrashing, swapin, any = 0;

        ret[CROWD_RUNNING] = one_of(before, after, METRIC_run_time_ns);
        ret[CROWD_WAITING] = one_of(before, after, METRIC_wait_time_ns);
        ret[CROWD_STORAGE] = first_of(before, after, storage_metrics, ELEMENTSOF(storage_metrics));
        thrashing = one_of(before, after, evicted_metrics[0]);
        swapin = one_of(before, after, evicted_metrics[1]);
        ret[CROWD_EVICTED] = MAX_OF(thrashing, swapin);
        ret[CROWD_MEMORY] = number_add_saturating(
                ret[CROWD_EVICTED],
                number_add_saturating(one_of(before, after, METRIC_freepages_delay_total_ns),
                                      one_of(before, after, METRIC_compact_delay_total_ns)));
        ret[CROWD_ASYNC_IO] = one_of(before, after, METRIC_async_io_wait_ns);
        for (unsigned i = 0; i < _CROWD_TIME_MAX; i++)
                any |= ret[i];
        return any != 0;
}

/* crowds */

/* Names end in a NUL, which none of them has; what follows is of a fixed length. */
static int make_key(Buffer *key, const ThreadSample *sample, const Crowd *like) {
        buffer_clear(key);
        buffer_append(key, sample->pcomm.bytes, sample->pcomm.n);
        buffer_append_byte(key, '\0');
        buffer_append(key, sample->cgroup.bytes, sample->cgroup.n);
        buffer_append_byte(key, '\0');
        buffer_append(key, like->cpus.bytes, like->cpus.n);
        buffer_append_byte(key, '\0');
        buffer_append_byte(key, like->has_class ? '1' : '0');
        buffer_append(key, (const char *) &like->policy, sizeof(like->policy));
        return buffer_append(key, (const char *) &like->nice, sizeof(like->nice));
}

/* What the key of a crowd says besides names, of a thread that lives at the end. */
static Crowd crowd_like(const ThreadSample *after) {
        Crowd like = {};

        if (!after)
                return like;
        if (thread_sample_has(after, METRIC_cpu_affinity))
                like.cpus = after->cpus;
        if (thread_sample_has(after, METRIC_policy) && thread_sample_has(after, METRIC_nice)) {
                like.has_class = true;
                like.policy = (int64_t) thread_sample_get(after, METRIC_policy);
                like.nice = (int64_t) thread_sample_get(after, METRIC_nice);
        }
        return like;
}

static int obtain(Crowds *crowds, const ThreadSample *names, const ThreadSample *after,
                  Crowd **ret) {
        const Crowd like = crowd_like(after);
        Crowd *crowd;
        int r;

        r = make_key(&crowds->key, names, &like);
        if (r == 0 && (!crowds->last || !span_equal(crowds->last->key, buffer_span(&crowds->key))))
                r = key_tree_put(&crowds->tree, buffer_span(&crowds->key), &crowds->last);
        if (r != 0)
                return r;
        crowd = (Crowd *) (void *) crowds->last->payload;
        if (!crowd->process.bytes) {
                const char *at = crowds->last->key.bytes;

                *crowd = like;
                crowd->process = (Span){ at, names->pcomm.n };
                crowd->cgroup = (Span){ at + names->pcomm.n + 1, names->cgroup.n };
                crowd->cpus = (Span){ at + names->pcomm.n + names->cgroup.n + 2, like.cpus.n };
        }
        *ret = crowd;
        return 0;
}

static void add_times(Crowd *crowd, const uint64_t ns[static _CROWD_TIME_MAX], uint64_t sign) {
        for (unsigned i = 0; i < _CROWD_TIME_MAX; i++)
                crowd->ns[i] += sign * ns[i];
}

/* threads in state D */

static bool is_stuck(const ThreadSample *sample) {
        return sample && thread_sample_has(sample, METRIC_state) &&
               thread_sample_get(sample, METRIC_state) == 'D';
}

static int add_stuck(Crowds *crowds, const ThreadSample *before, const ThreadSample *after) {
        StuckName *name;
        KeyNode *node;
        int r;

        buffer_clear(&crowds->key);
        buffer_append(&crowds->key, after->pcomm.bytes, after->pcomm.n);
        buffer_append_byte(&crowds->key, '\0');
        buffer_append(&crowds->key, after->comm.bytes, after->comm.n);
        r = buffer_failure(&crowds->key);
        if (r == 0)
                r = key_tree_put(&crowds->stuck, buffer_span(&crowds->key), &node);
        if (r != 0)
                return r;
        name = (StuckName *) (void *) node->payload;
        name->process = (Span){ node->key.bytes, after->pcomm.n };
        name->thread = (Span){ node->key.bytes + after->pcomm.n + 1, after->comm.n };
        name->kthread = after->has_kthread && after->kthread;
        name->n++;
        name->n_before += is_stuck(before);
        return 0;
}

/* all of it */

int crowds_add(Crowds *crowds, const Period *period, const ThreadSample *before,
               const ThreadSample *after) {
        uint64_t ns[_CROWD_TIME_MAX];
        Crowd *crowd;
        int r = 0;

        assert(before || after);
        if (is_stuck(after))
                r = add_stuck(crowds, before, after);
        /* What one has that was overlooked before is not what it did inside. */
        if (r != 0 || (!before && period_overlooked(period, after)) ||
            !read_times(before, after, ns))
                return r;
        r = obtain(crowds, after ? after : before, after, &crowd);
        if (r != 0)
                return r;
        crowd->n_threads += after != NULL;
        add_times(crowd, ns, after ? 1 : UINT64_MAX);
        return 0;
}

int crowds_add_dead(Crowds *crowds, Side end, const DeadRow *row) {
        uint64_t ns[_CROWD_TIME_MAX];
        Crowd *crowd;
        int r;

        if (row->exits == 0 || !read_times(NULL, &row->sample, ns))
                return 0;
        r = obtain(crowds, &row->sample, NULL, &crowd);
        if (r == 0)
                add_times(crowd, ns, end == SIDE_AFTER ? 1 : UINT64_MAX);
        return r;
}

uint64_t crowds_ns(const Crowds *crowds, CrowdTime time) {
        uint64_t ns = 0;

        for (const KeyNode *node = crowds->tree.first; node; node = node->next)
                ns = number_add_saturating(ns, crowd_ns(crowd_of(node), time));
        return ns;
}
