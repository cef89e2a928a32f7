/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/memory-job.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/number.h"

#define PATIENCE_LEAST_NS (2 * NSEC_PER_MSEC)

/* Parts of the limit. */
#define OWNER_PART 2 /* what all processes of one owner may take */
#define SLOW_PART 8  /* what those may that were slow before, besides */
#define LONG_PART 16 /* who is waited for as long as that is slow */

/* The patience starts anew so often for a thread that is ready to run. */
#define MAX_STARVED 7

int memory_job_new(const MemoryJobOptions *options, MemoryJob **ret) {
        MemoryJob *job = calloc(1, sizeof(*job));

        if (!job)
                return -ENOMEM;
        job->options = *options;
        job->account = job->accounts;
        *ret = job;
        return 0;
}

MemoryJob *memory_job_free(MemoryJob *job) {
        if (!job)
                return NULL;
        job->thread = blocking_thread_free(job->thread);
        free(job);
        return NULL;
}

/* the process at hand */

/* Where a start is not known, the number of the process has to do. */
static bool is_same(const MemoryLife *a, const MemoryLife *b) {
        return a->tgid == b->tgid &&
               (a->start_ticks == b->start_ticks || a->start_ticks == 0 || b->start_ticks == 0);
}

HeapFailure memory_job_begin(MemoryJob *job, MemoryPurpose purpose, const MemoryLife *life,
                             bool was_slow) {
        const MemoryJobOptions *options = &job->options;
        size_t at = 0;

        job->purpose = purpose;
        job->life = *life;
        while (at < job->n_accounts && job->accounts[at].owner != life->owner)
                at++;
        if (at == MEMORY_JOB_MAX_OWNERS)
                at--;
        else if (at == job->n_accounts)
                job->accounts[job->n_accounts++] = (OwnerAccount){ .owner = life->owner };
        job->account = &job->accounts[at];
        job->is_of_slow = was_slow;
        job->waited_ns = 0;
        for (size_t i = 0; i < options->n_hung; i++)
                if (is_same(&options->hung[i], life))
                        return HEAP_FAILURE_HUNG;
        for (size_t i = 0; i < job->n_left; i++)
                if (is_same(&job->left[i], life))
                        return HEAP_FAILURE_HUNG;
        for (size_t i = 0; i < options->n_barred_owners; i++)
                if (options->barred_owners[i] == life->owner)
                        return HEAP_FAILURE_OWNER_HUNG;
        return job->account->n_left < MEMORY_JOB_MAX_LEFT ? HEAP_FAILURE_NONE
                                                          : HEAP_FAILURE_OWNER_HUNG;
}

bool memory_job_was_slow(const MemoryJob *job) {
        return job->waited_ns >= MAX_OF(job->options.limit_ns / LONG_PART, PATIENCE_LEAST_NS);
}

/* time */

uint64_t memory_job_now_ns(const MemoryJob *job) {
        const CaptureSystem *system = job->options.system;

        return system->now_ns(system->userdata);
}

void memory_job_spend(MemoryJob *job, uint64_t ns) {
        if (job->is_of_slow)
                job->slow_ns[job->purpose] += ns;
        else {
                job->spent_ns[job->purpose] += ns;
                job->account->spent_ns[job->purpose] += ns;
        }
}

static uint64_t left_of(uint64_t limit_ns, uint64_t spent_ns) {
        return limit_ns > spent_ns ? limit_ns - spent_ns : 0;
}

uint64_t memory_job_patience_ns(const MemoryJob *job, bool is_known) {
        uint64_t limit_ns = job->options.limit_ns, left_ns, own_ns;

        if (job->is_of_slow)
                left_ns = own_ns = left_of(limit_ns / SLOW_PART, job->slow_ns[job->purpose]);
        else {
                left_ns = left_of(is_known ? limit_ns : limit_ns - limit_ns / 4,
                                  job->spent_ns[job->purpose]);
                own_ns = left_of(limit_ns / OWNER_PART, job->account->spent_ns[job->purpose]);
        }
        if (left_ns == 0 || own_ns == 0)
                return 0;
        left_ns = MIN_OF(left_ns / 2, own_ns);
        return MAX_OF(left_ns, PATIENCE_LEAST_NS);
}

/*
 * At the end there is one answer at most to wait for. The job ends with the capture: a file that
 * takes longer than this would be parsed again and again, and never be known. A caller who waits
 * for the snapshot waits for this, too, so the patience does not grow with a generous limit.
 */
#define LAST_PATIENCE 5 /* times the limit */
#define LAST_PATIENCE_MAX_NS (10 * NSEC_PER_SEC)

uint64_t memory_job_last_patience_ns(uint64_t limit_ns) {
        return MIN_OF(number_multiply_saturating(limit_ns, LAST_PATIENCE), LAST_PATIENCE_MAX_NS);
}

/* the thread */

static void run(void *memory) {
        MemoryWork *work = memory;

        work->step(work);
}

static void done(void *memory) {
        MemoryWork *work = memory;

        for (size_t i = 0; i < work->n_files; i++)
                work->files[i].fd = fd_close(work->files[i].fd);
}

static const BlockingWork memory_work = { .n_bytes = sizeof(MemoryWork), .run = run, .done = done };

MemoryWork *memory_job_work(MemoryJob *job) {
        const CaptureSystem *system = job->options.system;
        MemoryWork *work;

        if (!job->thread && blocking_thread_new(&memory_work, &job->thread) != 0)
                return NULL;
        work = (void *) job->thread->memory;
        /* Copies: one that is left behind may outlive the system. */
        work->counters.machine = thread_machine;
        work->counters.memory = (ProcessMemory){ system->read_memory, system->userdata };
        work->counters.find_robust_list = system->find_robust_list;
        work->counters.userdata = system->userdata;
        return work;
}

HeapFailure memory_job_run(MemoryJob *job, void (*step)(MemoryWork *work), uint64_t patience_ns) {
        MemoryWork *work = (void *) job->thread->memory;
        uint64_t begin_ns = memory_job_now_ns(job), took_ns;
        int r;

        if (patience_ns == 0)
                return HEAP_FAILURE_TIME_BUDGET;
        work->step = step;
        r = blocking_thread_run(job->thread, patience_ns);
        for (unsigned i = 0; r == -ETIMEDOUT && i < MAX_STARVED; i++)
                r = blocking_thread_wait(job->thread, patience_ns);
        took_ns = memory_job_now_ns(job) - begin_ns;
        memory_job_spend(job, took_ns);
        job->waited_ns += took_ns;
        if (r == 0)
                return HEAP_FAILURE_NONE;
        job->thread = blocking_thread_free(job->thread);
        job->waited_ns = UINT64_MAX;
        job->account->n_left++;
        if (job->n_left < ELEMENTSOF(job->left))
                job->left[job->n_left++] = job->life;
        if (job->options.on_left)
                job->options.on_left(job->options.userdata, &job->life);
        return HEAP_FAILURE_TIMED_OUT;
}
