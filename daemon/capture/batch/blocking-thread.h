/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BlockingThread
 *
 * A thread of its own for calls that may never return. The kernel takes the target's mmap lock for
 * what is read of its memory, and the owner of the target can keep that lock taken for as long as
 * he likes: it is enough that somebody maps memory while another thread waits for a page of a file
 * system that does not answer. Such a call cannot be interrupted, but its thread can be left
 * behind. So the thread works in memory of its own, which it frees itself when that happens.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"

/* A kind of work: how much memory it needs, and what is done there. */
typedef struct BlockingWork {
        size_t n_bytes;
        /* On the thread, with the memory, which is all that it may use. */
        void (*run)(void *memory);
        /* Releases what the memory owns, once, on whichever thread is last; may be NULL. */
        void (*done)(void *memory);
} BlockingWork;

typedef struct BlockingThread {
        const BlockingWork *work; /* borrowed: a constant */
        pthread_t thread;
        _Atomic pid_t tid; /* 0: it has not begun */
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool asked;       /* work is to be done or being done; one piece at a time */
        bool ended;       /* nothing more will be asked */
        bool left_behind; /* the owner is gone: the thread frees this when its call ends */
        /*
         * Questions are put and answers found there, between two calls of blocking_thread_run().
         */
        max_align_t memory[];
} BlockingThread;

/*
 * Starts the thread, which shares the descriptors of the calling one and handles no signals; its
 * memory is zeroed. -errno.
 */
_must_check_ int blocking_thread_new(const BlockingWork *work, BlockingThread **ret);
/* A thread that still works is left behind; it ends with its call, or with the process. */
BlockingThread *blocking_thread_free(BlockingThread *thread);

/*
 * Lets the thread work once. -ETIMEDOUT when that took longer than @limit_ns: then
 * blocking_thread_free() and blocking_thread_wait() are the only calls left.
 */
_must_check_ int blocking_thread_run(BlockingThread *thread, uint64_t limit_ns);
/*
 * After -ETIMEDOUT: waits for @limit_ns more if the thread is running or ready to run. Such a
 * thread does not hang: on a loaded host it may not have had a processor yet. -ETIMEDOUT as above,
 * and at once when the thread sleeps in a call.
 */
_must_check_ int blocking_thread_wait(BlockingThread *thread, uint64_t limit_ns);
