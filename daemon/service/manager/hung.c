/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/manager/hung.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/fd-store.h"
#include "job/job.h"
#include "wire/limits.h"

#define FILE_NAME "hung-processes" /* in the descriptor store */
#define MAX_OF_JOB 8u

/* A daemon that cannot write it remembers for as long as it lives. */
static void store(Hung *hung) {
        memset(hung->rows + hung->n, 0, sizeof(hung->rows) - hung->n * sizeof(*hung->rows));
        if (hung->fd >= 0)
                (void) !pwrite(hung->fd, hung->rows, sizeof(hung->rows), 0);
}

void hung_init(Hung *hung, FdStore *fd_store) {
        uint64_t over_ns = clock_now_ns(CLOCK_BOOTTIME);

        hung->n = 0;
        hung->fd = fd_store_borrow(fd_store, FILE_NAME);
        if (hung->fd < 0) {
                hung->fd = fd_store_file_new("ctprof-hung", sizeof(hung->rows));
                if (hung->fd >= 0)
                        (void) !fd_store_put(fd_store, FILE_NAME, hung->fd);
                return;
        }
        if (pread(hung->fd, hung->rows, sizeof(hung->rows), 0) != (ssize_t) sizeof(hung->rows))
                return;
        /* The rows of an earlier daemon: its jobs are not ours, and nobody tells if they hang. */
        while (hung->n < ELEMENTSOF(hung->rows) && hung->rows[hung->n].tgid != 0) {
                HungProcess *row = &hung->rows[hung->n++];

                if (row->state != HUNG_OVER)
                        row->over_boottime_ns = over_ns;
                row->state = HUNG_OVER;
                row->job = 0;
        }
}

/* rows */

static void forget(Hung *hung, size_t i) {
        memmove(&hung->rows[i], &hung->rows[i + 1], (hung->n - i - 1) * sizeof(*hung->rows));
        hung->n--;
}

void hung_add(Hung *hung, pid_t job, uint32_t tgid, uint64_t start_ticks, uint32_t owner) {
        size_t n_of_job = 0, oldest = hung->n;

        for (size_t i = 0; i < hung->n; i++) {
                const HungProcess *row = &hung->rows[i];

                n_of_job += row->job == job;
                if (row->state == HUNG_OVER &&
                    (oldest == hung->n ||
                     row->over_boottime_ns < hung->rows[oldest].over_boottime_ns))
                        oldest = i;
        }
        if (tgid == 0 || n_of_job >= MAX_OF_JOB)
                return;
        /* The one that has been over for the longest time makes room. */
        if (hung->n == ELEMENTSOF(hung->rows)) {
                if (oldest == hung->n)
                        return;
                forget(hung, oldest);
        }
        hung->rows[hung->n++] = (HungProcess){
                .start_ticks = start_ticks,
                .since_realtime_ns = clock_now_ns(CLOCK_REALTIME),
                .tgid = tgid,
                .owner = owner,
                .job = job,
                .state = HUNG_SUSPECT,
        };
        store(hung);
}

void hung_follow(Hung *hung, const JobPool *pool) {
        if (hung->n == 0)
                return;
        for (size_t i = hung->n; i-- > 0;) {
                HungProcess *row = &hung->rows[i];
                const Job *job = NULL;

                if (row->state == HUNG_OVER)
                        continue;
                for (size_t k = 0; k < pool->n_jobs && !job; k++)
                        if (pool->jobs[k]->pid == row->job)
                                job = pool->jobs[k];
                if (job) {
                        if (job->kill == JOB_KILL_STUCK)
                                row->state = HUNG_NOW;
                } else if (row->state == HUNG_SUSPECT) {
                        forget(hung, i);
                } else {
                        row->state = HUNG_OVER;
                        row->over_boottime_ns = clock_now_ns(CLOCK_BOOTTIME);
                        row->job = 0;
                }
        }
        store(hung);
}

/* use */

size_t hung_get_barred(const Hung *hung, uint32_t *ret_owners, size_t n) {
        uint64_t at_ns = clock_now_ns(CLOCK_BOOTTIME);
        size_t n_owners = 0;

        for (size_t i = 0; i < hung->n && n_owners < n; i++) {
                uint32_t owner = hung->rows[i].owner;
                bool is_new = true;
                size_t n_reads = 0;

                for (size_t k = 0; k < n_owners; k++)
                        is_new &= ret_owners[k] != owner;
                for (size_t k = 0; k < hung->n; k++) {
                        const HungProcess *row = &hung->rows[k];

                        n_reads += row->owner == owner &&
                                   (row->state != HUNG_OVER ||
                                    at_ns - row->over_boottime_ns < HUNG_BARRED_NS);
                }
                if (is_new && n_reads >= HUNG_READS_TO_BAR)
                        ret_owners[n_owners++] = owner;
        }
        return n_owners;
}

const HungProcess *hung_next_of(const Hung *hung, pid_t job, size_t *at) {
        while (*at < hung->n) {
                const HungProcess *row = &hung->rows[(*at)++];

                if (row->job == job)
                        return row;
        }
        return NULL;
}
