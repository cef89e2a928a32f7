/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/contradiction/cohort.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "analysis/group/life.h"

void cohorts_done(Cohorts *cohorts) {
        key_tree_done(&cohorts->tree, NULL);
        key_tree_done(&cohorts->stuck, NULL);
        buffer_done(&cohorts->key);
}

/* times */

/*
 * The parts that the times of a cohort are made of. The value of a part is that of the first of its
 * metrics that is known.
 */
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
 * Reads the times that a thread spent in the interval. For a thread that has exited, they are the
 * times that it had at the begin of the interval, which the caller subtracts. Returns true if any
 * of the times is not 0.
 */
static bool read_times(const ThreadSample *before, const ThreadSample *after,
                       uint64_t ret[static _COHORT_TIME_MAX]) {
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
        ret[COHORT_RUNNING] = ns[RUNNING];
        ret[COHORT_WAITING] = ns[WAITING];
        ret[COHORT_STORAGE] = ns[STORAGE];
        /* These two overlap; reclaim and compaction do not. */
        ret[COHORT_EVICTED] = MAX_OF(ns[THRASHING], ns[SWAPIN]);
        ret[COHORT_MEMORY] = number_add_saturating(
                ret[COHORT_EVICTED], number_add_saturating(ns[FREEPAGES], ns[COMPACTION]));
        ret[COHORT_ASYNC_IO] = ns[ASYNC_IO];
        for (unsigned i = 0; i < _COHORT_TIME_MAX; i++)
                any |= ret[i];
        return any != 0;
}

/* cohorts */

/*
 * Adds @sign times @ns to the cohort of a thread. @after: the thread as it lives at the end, which
 * tells its CPUs and class; NULL: it does not.
 */
static int add_times(Cohorts *cohorts, const ThreadSample *names, const ThreadSample *after,
                     const uint64_t ns[static _COHORT_TIME_MAX], uint64_t sign) {
        Buffer *key = &cohorts->key;
        Cohort *cohort, like = {};
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
        if (r == 0 && (!cohorts->last || !span_equal(cohorts->last->key, buffer_span(key))))
                r = key_tree_put(&cohorts->tree, sizeof(*cohort), buffer_span(key), &cohorts->last);
        if (r != 0)
                return r;
        cohort = (Cohort *) (void *) cohorts->last->payload;
        if (!cohort->process.bytes) {
                const char *at = cohorts->last->key.bytes;

                *cohort = like;
                cohort->process = (Span){ at, names->pcomm.n };
                cohort->cgroup = (Span){ at + names->pcomm.n + 1, names->cgroup.n };
                cohort->cpus = (Span){ at + names->pcomm.n + names->cgroup.n + 2, like.cpus.n };
        }
        cohort->n_threads += after != NULL;
        for (unsigned i = 0; i < _COHORT_TIME_MAX; i++)
                cohort->ns[i] += sign * ns[i];
        return 0;
}

int cohorts_add(Cohorts *cohorts, const Period *period, const ThreadSample *before,
                const ThreadSample *after) {
        const ThreadSample *const sides[SIDES] = { before, after };
        uint64_t ns[_COHORT_TIME_MAX];
        bool stuck[SIDES]; /* in state D */
        int r;

        assert(before || after);
        for (unsigned i = 0; i < SIDES; i++)
                stuck[i] = sides[i] && thread_sample_has(sides[i], METRIC_state) &&
                           thread_sample_get(sides[i], METRIC_state) == 'D';
        if (stuck[SIDE_AFTER]) {
                StuckName *name;
                KeyNode *node;

                buffer_clear(&cohorts->key);
                buffer_append(&cohorts->key, after->pcomm.bytes, after->pcomm.n);
                buffer_append_byte(&cohorts->key, '\0');
                buffer_append(&cohorts->key, after->comm.bytes, after->comm.n);
                r = buffer_failure(&cohorts->key);
                if (r == 0)
                        r = key_tree_put(&cohorts->stuck, sizeof(*name), buffer_span(&cohorts->key),
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
        return add_times(cohorts, after ? after : before, after, ns, after ? 1 : UINT64_MAX);
}

int cohorts_add_exited(Cohorts *cohorts, Side end, const ExitedRow *row) {
        uint64_t ns[_COHORT_TIME_MAX];

        if (row->exits == 0 || !read_times(NULL, &row->sample, ns))
                return 0;
        return add_times(cohorts, &row->sample, NULL, ns, end == SIDE_AFTER ? 1 : UINT64_MAX);
}
