/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch/blocking-thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "kernel/procfs/proc-task.h"

static void destroy(BlockingThread *thread) {
        if (thread->work->done)
                thread->work->done(thread->memory);
        (void) pthread_cond_destroy(&thread->changed);
        (void) pthread_mutex_destroy(&thread->lock);
        free(thread);
}

static void *run(void *userdata) {
        BlockingThread *thread = userdata;
        bool left_behind;

        atomic_store(&thread->tid, gettid());
        (void) pthread_mutex_lock(&thread->lock);
        while (!thread->ended) {
                if (!thread->asked) {
                        (void) pthread_cond_wait(&thread->changed, &thread->lock);
                        continue;
                }
                (void) pthread_mutex_unlock(&thread->lock);
                thread->work->run(thread->memory);
                (void) pthread_mutex_lock(&thread->lock);
                thread->asked = false;
                (void) pthread_cond_signal(&thread->changed);
        }
        left_behind = thread->left_behind;
        (void) pthread_mutex_unlock(&thread->lock);
        if (left_behind)
                destroy(thread);
        return NULL;
}

int blocking_thread_new(const BlockingWork *work, BlockingThread **ret) {
        BlockingThread *thread = calloc(1, sizeof(*thread) + work->n_bytes);
        pthread_condattr_t attributes;
        sigset_t all, before;
        int r;

        if (!thread)
                return -ENOMEM;
        thread->work = work;
        (void) pthread_mutex_init(&thread->lock, NULL);
        (void) pthread_condattr_init(&attributes);
        (void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void) pthread_cond_init(&thread->changed, &attributes);
        (void) pthread_condattr_destroy(&attributes);

        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&thread->thread, NULL, run, thread);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0) {
                destroy(thread);
                return -r;
        }
        *ret = thread;
        return 0;
}

BlockingThread *blocking_thread_free(BlockingThread *thread) {
        pthread_t number;
        bool left_behind;

        if (!thread)
                return NULL;
        number = thread->thread;
        (void) pthread_mutex_lock(&thread->lock);
        left_behind = thread->left_behind = thread->asked;
        thread->ended = true;
        (void) pthread_cond_signal(&thread->changed);
        (void) pthread_mutex_unlock(&thread->lock);
        if (left_behind)
                (void) pthread_detach(number);
        else {
                (void) pthread_join(number, NULL);
                destroy(thread);
        }
        return NULL;
}

/* The lock is taken. */
static int wait_for_answer(BlockingThread *thread, uint64_t limit_ns) {
        const struct timespec end =
                clock_timespec(number_add_saturating(clock_now_ns(CLOCK_MONOTONIC), limit_ns));
        int r = 0;

        while (r == 0 && thread->asked)
                r = pthread_cond_timedwait(&thread->changed, &thread->lock, &end);
        return thread->asked ? -ETIMEDOUT : 0;
}

int blocking_thread_run(BlockingThread *thread, uint64_t limit_ns) {
        int r;

        (void) pthread_mutex_lock(&thread->lock);
        assert(!thread->asked);
        thread->asked = true;
        (void) pthread_cond_signal(&thread->changed);
        r = wait_for_answer(thread, limit_ns);
        (void) pthread_mutex_unlock(&thread->lock);
        return r;
}

int blocking_thread_wait(BlockingThread *thread, uint64_t limit_ns) {
        char path[64], text[PROCFS_BUFFER_BYTES];
        pid_t tid = atomic_load(&thread->tid);
        bool is_ready = tid == 0; /* one that has not begun is ready to */
        ProcStat stat;
        size_t n;
        int r;

        (void) snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
        if (!is_ready && text_file_read(AT_FDCWD, path, text, sizeof(text), &n) == 0) {
                (void) !proc_stat_parse((Span){ text, n }, &stat);
                is_ready = stat.has_identity && stat.state == 'R';
        }
        /* Where its state cannot be read, it is taken to sleep. */
        if (!is_ready)
                limit_ns = 0;
        (void) pthread_mutex_lock(&thread->lock);
        r = wait_for_answer(thread, limit_ns);
        (void) pthread_mutex_unlock(&thread->lock);
        return r;
}
