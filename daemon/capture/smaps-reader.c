/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/smaps-reader.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "kernel/procfs/procfs.h"

struct SmapsReader {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool asked;       /* there is a question without its answer; one at a time */
        bool ended;       /* no more questions */
        bool left_behind; /* nobody else has the reader any more */

        int dir_fd;
        int result;
        size_t n;
        char file[PROCFS_BUFFER_BYTES];
};

static void destroy(SmapsReader *reader) {
        (void) pthread_cond_destroy(&reader->changed);
        (void) pthread_mutex_destroy(&reader->lock);
        free(reader);
}

static void answer_locked(SmapsReader *reader) {
        int dir_fd = reader->dir_fd, r;
        size_t n = 0;

        (void) pthread_mutex_unlock(&reader->lock);
        r = procfs_read(dir_fd, "smaps_rollup", reader->file, sizeof(reader->file), &n);
        (void) pthread_mutex_lock(&reader->lock);

        reader->result = r;
        reader->n = n;
        reader->asked = false;
        (void) pthread_cond_signal(&reader->changed);
}

static void *run(void *userdata) {
        SmapsReader *reader = userdata;
        bool left_behind;

        (void) pthread_mutex_lock(&reader->lock);
        while (!reader->ended) {
                if (reader->asked)
                        answer_locked(reader);
                else
                        (void) pthread_cond_wait(&reader->changed, &reader->lock);
        }
        left_behind = reader->left_behind;
        (void) pthread_mutex_unlock(&reader->lock);
        if (left_behind)
                destroy(reader);
        return NULL;
}

static int start_thread(SmapsReader *reader) {
        sigset_t all, before;
        int r;

        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&reader->thread, NULL, run, reader);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

int smaps_reader_new(SmapsReader **ret) {
        SmapsReader *reader = calloc(1, sizeof(*reader));
        pthread_condattr_t attributes;
        int r;

        if (!reader)
                return -ENOMEM;
        (void) pthread_mutex_init(&reader->lock, NULL);
        (void) pthread_condattr_init(&attributes);
        (void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void) pthread_cond_init(&reader->changed, &attributes);
        (void) pthread_condattr_destroy(&attributes);

        r = start_thread(reader);
        if (r < 0) {
                destroy(reader);
                return r;
        }
        *ret = reader;
        return 0;
}

SmapsReader *smaps_reader_free(SmapsReader *reader) {
        pthread_t thread;
        bool left_behind;

        if (!reader)
                return NULL;
        thread = reader->thread;
        (void) pthread_mutex_lock(&reader->lock);
        left_behind = reader->left_behind = reader->asked;
        reader->ended = true;
        (void) pthread_cond_signal(&reader->changed);
        (void) pthread_mutex_unlock(&reader->lock);
        if (left_behind)
                (void) pthread_detach(thread);
        else {
                (void) pthread_join(thread, NULL);
                destroy(reader);
        }
        return NULL;
}

static struct timespec find_end(uint64_t limit_ns) {
        struct timespec now;
        uint64_t ns;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        ns = (uint64_t) now.tv_nsec + limit_ns % NSEC_PER_SEC;
        return (struct timespec){
                .tv_sec = now.tv_sec + (time_t) (limit_ns / NSEC_PER_SEC + ns / NSEC_PER_SEC),
                .tv_nsec = (long) (ns % NSEC_PER_SEC),
        };
}

int smaps_reader_read(SmapsReader *reader, int dir_fd, uint64_t limit_ns, Span *ret) {
        const struct timespec end = find_end(limit_ns);
        int r = 0;

        (void) pthread_mutex_lock(&reader->lock);
        assert(!reader->asked);
        reader->dir_fd = dir_fd;
        reader->asked = true;
        (void) pthread_cond_signal(&reader->changed);
        while (r == 0 && reader->asked)
                r = pthread_cond_timedwait(&reader->changed, &reader->lock, &end);
        r = reader->asked ? -ETIMEDOUT : reader->result;
        if (r == 0)
                *ret = (Span){ reader->file, reader->n };
        (void) pthread_mutex_unlock(&reader->lock);
        return r;
}
