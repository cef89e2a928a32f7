/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/rollup.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "capture/scene/process-memory.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"

#define SMAPS_LEAST_NS (100 * NSEC_PER_MSEC) /* however little is left of the budget */

/* the thread that reads */

/*
 * smaps_rollup is read on a thread of its own. The kernel takes the target's mmap lock for it, and
 * the owner of the target can keep that lock taken for as long as he likes: it is enough that
 * somebody maps memory while another thread waits for a page of a file system that does not answer.
 * Such a read cannot be interrupted, but it can be left behind.
 */
struct RollupThread {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool asked;       /* a file is to be read or being read; one at a time */
        bool ended;       /* nothing more will be asked */
        bool left_behind; /* the worker is gone: the thread frees this when its read ends */

        int dir_fd;
        int result;
        size_t n;
        char file[PROCFS_BUFFER_BYTES];
};

static void destroy(RollupThread *reader) {
        (void) pthread_cond_destroy(&reader->changed);
        (void) pthread_mutex_destroy(&reader->lock);
        free(reader);
}

static void answer_locked(RollupThread *reader) {
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
        RollupThread *reader = userdata;
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

static int start_thread(RollupThread *reader) {
        sigset_t all, before;
        int r;

        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&reader->thread, NULL, run, reader);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

/* The thread shares the descriptors of the calling one. -errno. */
static int rollup_thread_new(RollupThread **ret) {
        RollupThread *reader = calloc(1, sizeof(*reader));
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

/* A thread that does not answer is left behind; it ends with its read, or with the process. */
static RollupThread *rollup_thread_free(RollupThread *reader) {
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

/*
 * The file of the thread whose directory @dir_fd is; codes of procfs_read(). -ETIMEDOUT when it
 * took longer than @limit_ns: then rollup_thread_free() is the only call left. *ret is borrowed
 * until the next call.
 */
static int rollup_thread_read(RollupThread *reader, int dir_fd, uint64_t limit_ns, Span *ret) {
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

/* the step */

void rollup_init(Rollup *rollup, RollupBudget *budget) {
        *rollup = (Rollup){ .budget = budget };
}

void rollup_done(Rollup *rollup) {
        rollup->thread = rollup_thread_free(rollup->thread);
}

/*
 * Waits for the file as long as the budget lasts, at least SMAPS_LEAST_NS. A file that does not
 * arrive in time uses up all of the budget.
 */
static int ask(Rollup *rollup, const CaptureSystem *system, int dir_fd, Span *ret) {
        RollupBudget *budget = rollup->budget;
        uint64_t begin_ns, spent_ns = atomic_load(&budget->spent_ns);
        int r = 0;

        if (spent_ns >= budget->limit_ns)
                return -ETIMEDOUT;
        if (!rollup->thread)
                r = rollup_thread_new(&rollup->thread);
        if (r < 0)
                return r;
        begin_ns = system->now_ns(system->userdata);
        r = rollup_thread_read(rollup->thread, dir_fd,
                               MAX_OF(budget->limit_ns - spent_ns, SMAPS_LEAST_NS), ret);
        atomic_fetch_add(&budget->spent_ns, system->now_ns(system->userdata) - begin_ns);
        if (r == -ETIMEDOUT) {
                atomic_fetch_add(&budget->spent_ns, budget->limit_ns);
                rollup->thread = rollup_thread_free(rollup->thread);
        }
        return r;
}

/* The rollup in @text as JSON. */
static TextPlace add_rollup(Scene *scene, Span text) {
        size_t at = scene->texts.n;
        ProcSmaps smaps;
        JsonWriter json;
        int r;

        r = proc_smaps_parse(text, &smaps);
        tally_add(&scene->tally, SOURCE_SMAPS_ROLLUP, text_file_outcome(r));
        json_writer_init(&json, &scene->texts);
        proc_smaps_write_json(&json, &smaps);
        r = json_writer_finish(&json);
        if (r < 0) {
                scene->error = r;
                return (TextPlace){};
        }
        return (TextPlace){ .at = at, .n = scene->texts.n - at, .is_set = true };
}

/* The process is not read because of its size, which is noted. */
static bool is_too_large(const Rollup *rollup, Scene *scene, const BatchProcess *process) {
        const RollupBudget *budget = rollup->budget;
        uint64_t bytes;

        if (budget->mode != SMAPS_MODE_SMALL ||
            !thread_sample_memory(&scene_find_leader(scene, process)->sample, &bytes) ||
            bytes <= budget->max_rss_bytes)
                return false;
        scene->tally.n_smaps_large++;
        scene->tally.smaps_largest_bytes = MAX_OF(scene->tally.smaps_largest_bytes, bytes);
        return true;
}

TextPlace rollup_read(Rollup *rollup, Scene *scene, const BatchProcess *process) {
        const ThreadSlot *slot = process_memory_find(scene, process);
        SourceOutcome outcome;
        Span text;
        int r;

        if (rollup->budget->mode == SMAPS_MODE_NONE || !slot)
                return (TextPlace){};
        if (!scene->host->gates.has_file[SOURCE_SMAPS_ROLLUP])
                outcome = SOURCE_OUTCOME_unsupported;
        else if (is_too_large(rollup, scene, process))
                outcome = SOURCE_OUTCOME_other;
        else {
                r = ask(rollup, scene->host->system, slot->fd, &text);
                if (r == 0)
                        return add_rollup(scene, text);
                outcome = text_file_outcome(r);
                /* It is exiting and has given up its memory, but its rows were whole before. */
                if (r == PROCFS_E_ABSENT)
                        outcome = SOURCE_OUTCOME_vanished;
                scene->tally.n_smaps_skipped += r == -ETIMEDOUT;
        }
        tally_add(&scene->tally, SOURCE_SMAPS_ROLLUP, outcome);
        return (TextPlace){};
}
