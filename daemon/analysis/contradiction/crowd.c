/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/contradiction/crowd.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "analysis/group/life.h"

void crowds_done(Crowds *crowds) {
        key_tree_done(&crowds->tree, NULL);
        key_tree_done(&crowds->stuck, NULL);
        buffer_done(&crowds->key);
}

/* times */

/* What the times are made of: the first of the metrics that is known. */
enum { RUNNING, WAITING, STORAGE, THRASHING, SWAPIN, FREEPAGES, COMPACTION, ASYNC_IO, _PART_MAX };
static const struct {
        unsigned n;
        MetricId ids[3];
} time_parts[_PART_MAX] = {
        [RUNNING] = { 1, { METRIC_run_time_ns } },
        [WAITING] = { 1, { METRIC_wait_time_ns } },
        [STORAGE] = { 3,
                      { METRIC_storage_wait_ns, METRIC_iowait_sum, METRIC_blkio_delay_total_ns } },
        [THRASHING] = { 1, { METRIC_thrashing_delay_total_ns } },
        [SWAPIN] = { 1, { METRIC_swapin_delay_total_ns } },
        [FREEPAGES] = { 1, { METRIC_freepages_delay_total_ns } },
        [COMPACTION] = { 1, { METRIC_compact_delay_total_ns } },
        [ASYNC_IO] = { 1, { METRIC_async_io_wait_ns } },
};

/*
 * What a thread did in the interval; of one that has exited, less what it had by then. True when
 * there is any time.
 */
static bool read_times(const ThreadSample *before, const ThreadSample *after,
                       uint64_t ret[static _CROWD_TIME_MAX]) {
        const ThreadSample *only = after ? after : before;
        uint64_t ns[_PART_MAX] = {}, any = 0;

        for (unsigned i = 0; i < _PART_MAX; i++)
                for (unsigned k = 0; k < time_parts[i].n; k++) {
                        MetricId id = time_parts[i].ids[k];
                        uint64_t grown = 0;
                        bool known = before && after ? life_grown(before, after, id, &grown)
                                                     : thread_sample_has(only, id);

                        if (!known)
                                continue;
                        ns[i] = before && after ? grown : thread_sample_get(only, id);
                        break;
                }
        ret[CROWD_RUNNING] = ns[RUNNING];
        ret[CROWD_WAITING] = ns[WAITING];
        ret[CROWD_STORAGE] = ns[STORAGE];
        /* These two overlap; reclaim and compaction do not. */
        ret[CROWD_EVICTED] = MAX_OF(ns[THRASHING], ns[SWAPIN]);
        ret[CROWD_MEMORY] = number_add_saturating(
                ret[CROWD_EVICTED], number_add_saturating(ns[FREEPAGES], ns[COMPACTION]));
        ret[CROWD_ASYNC_IO] = ns[ASYNC_IO];
        for (unsigned i = 0; i < _CROWD_TIME_MAX; i++)
                any |= ret[i];
        return any != 0;
}

/* crowds */

/*
 * Adds @sign times @ns to the crowd of a thread. @after: the thread as it lives at the end, which
 * tells its CPUs and class; NULL: it does not.
 */
static int add_times(Crowds *crowds, const ThreadSample *names, const ThreadSample *after,
                     const uint64_t ns[static _CROWD_TIME_MAX], uint64_t sign) {
        Buffer *key = &crowds->key;
        Crowd *crowd, like = {};
        int r;

        if (after && thread_sample_has(after, METRIC_cpu_affinity))
                like.cpus = after->cpus;
        if (after && thread_sample_has(after, METRIC_policy) &&
            thread_sample_has(after, METRIC_nice)) {
                like.has_class = true;
                like.policy = (int64_t) thread_sample_get(after, METRIC_policy);
                like.nice = (int64_t) thread_sample_get(after, METRIC_nice);
        }
        /* Names end in a NUL, which none of them has; what follows is of a fixed length. */
        buffer_clear(key);
        buffer_append(key, names->pcomm.bytes, names->pcomm.n);
        buffer_append_byte(key, '\0');
        buffer_append(key, names->cgroup.bytes, names->cgroup.n);
        buffer_append_byte(key, '\0');
        buffer_append(key, like.cpus.bytes, like.cpus.n);
        buffer_append_byte(key, '\0');
        buffer_append_byte(key, like.has_class ? '1' : '0');
        buffer_append(key, (const char *) &like.policy, sizeof(like.policy));
        r = buffer_append(key, (const char *) &like.nice, sizeof(like.nice));
        if (r == 0 && (!crowds->last || !span_equal(crowds->last->key, buffer_span(key))))
                r = key_tree_put(&crowds->tree, sizeof(*crowd), buffer_span(key), &crowds->last);
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
        crowd->n_threads += after != NULL;
        for (unsigned i = 0; i < _CROWD_TIME_MAX; i++)
                crowd->ns[i] += sign * ns[i];
        return 0;
}

int crowds_add(Crowds *crowds, const Period *period, const ThreadSample *before,
               const ThreadSample *after) {
        const ThreadSample *const sides[SIDES] = { before, after };
        uint64_t ns[_CROWD_TIME_MAX];
        bool stuck[SIDES]; /* in state D */
        int r;

        assert(before || after);
        for (unsigned i = 0; i < SIDES; i++)
                stuck[i] = sides[i] && thread_sample_has(sides[i], METRIC_state) &&
                           thread_sample_get(sides[i], METRIC_state) == 'D';
        if (stuck[SIDE_AFTER]) {
                StuckName *name;
                KeyNode *node;

                buffer_clear(&crowds->key);
                buffer_append(&crowds->key, after->pcomm.bytes, after->pcomm.n);
                buffer_append_byte(&crowds->key, '\0');
                buffer_append(&crowds->key, after->comm.bytes, after->comm.n);
                r = buffer_failure(&crowds->key);
                if (r == 0)
                        r = key_tree_put(&crowds->stuck, sizeof(*name), buffer_span(&crowds->key),
                                         &node);
                if (r != 0)
                        return r;
                name = (StuckName *) (void *) node->payload;
                name->process = (Span){ node->key.bytes, after->pcomm.n };
                name->thread = (Span){ node->key.bytes + after->pcomm.n + 1, after->comm.n };
                name->kthread = after->has_kthread && after->kthread;
                name->n++;
                name->n_before += stuck[SIDE_BEFORE];
        }
        /* A thread that was overlooked before did not do inside all that it has. */
        if ((!before && period_overlooked(period, after)) || !read_times(before, after, ns))
                return 0;
        return add_times(crowds, after ? after : before, after, ns, after ? 1 : UINT64_MAX);
}

int crowds_add_exited(Crowds *crowds, Side end, const ExitedRow *row) {
        uint64_t ns[_CROWD_TIME_MAX];

        if (row->exits == 0 || !read_times(NULL, &row->sample, ns))
                return 0;
        return add_times(crowds, &row->sample, NULL, ns, end == SIDE_AFTER ? 1 : UINT64_MAX);
}
