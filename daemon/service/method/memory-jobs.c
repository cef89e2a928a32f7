/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/memory-jobs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "job/fd-store.h"
#include "job/job.h"
#include "log/log.h"

/* in the descriptor store */
#define PROCESSES_NAME "heap-cache"
#define FILES_NAME "heap-files"

#define TOO_MANY_REASON                                                                        \
        "too many jobs hang in the memory of processes, and nothing can stop them: ctprofctl " \
        "status lists them"

void memory_jobs_prepare(FdStore *fd_store) {
        static const struct {
                const char *name;
                uint64_t n_bytes;
        } files[] = {
                { PROCESSES_NAME, LIMIT_HEAP_CACHE_BYTES },
                { FILES_NAME, LIMIT_HEAP_FILES_BYTES },
        };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_(fd_closep) int held = fd_store_borrow(fd_store, files[i].name);
                _cleanup_(fd_closep) int fd = -EBADF;
                int r;

                if (held >= 0)
                        continue;
                fd = fd_store_file_new("ctprof-heap", files[i].n_bytes);
                r = fd < 0 ? fd : fd_store_put(fd_store, files[i].name, fd);
                if (r < 0)
                        log_warning(r, "Captures cannot keep for each other where counters are");
        }
}

int memory_jobs_add(Request *request, CaptureOrder *order) {
        const Manager *manager = request->manager;
        int fd = -EBADF;

        if (job_pool_count_kind(manager->pool, JOB_MEMORY) >= LIMIT_MEMORY_JOBS)
                (void) snprintf(order->no_memory, sizeof(order->no_memory), "%s", TOO_MANY_REASON);
        if (order->heap || order->commands != COMMAND_LINES_NO)
                fd = fd_store_borrow(manager->fd_store, PROCESSES_NAME);
        return fd < 0 ? 0 : request_add_fd(request, fd, &order->heap_cache);
}

/* jobs */

static void on_reply(Job *job, const JobReply *reply, void *userdata);

/*
 * Starts the job that @note asks for, and gives it the socket that came with the note. The job that
 * asks reads data which every user can write, so its socket is passed on and otherwise left alone.
 * If no job can be started, the socket is closed: so the job that asks learns that no job comes.
 */
static void start(Request *request, const JobReply *note, OrderMethod method) {
        const Manager *manager = request->manager;
        bool is_files = method == ORDER_FILES;
        bool *was_asked = is_files ? &request->files_was_asked : &request->memory_was_asked;
        JobKind kind = is_files ? JOB_FILES : JOB_MEMORY;
        int fds[2] = { -EBADF, -EBADF }, r = -ENOMEM;
        _cleanup_(freep) Order *order = NULL;
        _cleanup_(buffer_done) Buffer body = {};
        JobOrder job;

        if (TAKE(*was_asked, true) || note->n_fds == 0)
                return;
        fds[0] = TAKE_FD(note->fds[0]);
        order = order_new(method);
        if (order && is_files) {
                order->files.socket = 1;
        } else if (order) {
                fds[1] = fd_store_borrow(manager->fd_store, FILES_NAME);
                order->memory.socket = 1;
                order->memory.files = fds[1] >= 0 ? 2 : 0;
                order->memory.limit_ns = manager->settings.heap_ns;
                order->memory.n_barred = (uint32_t) hung_get_barred(
                        &manager->hung, order->memory.barred, ELEMENTSOF(order->memory.barred));
                order->memory.n_hung = (uint32_t) manager->hung.n;
                for (size_t i = 0; i < manager->hung.n; i++)
                        order->memory.hung[i] =
                                (OrderLife){ .start_ticks = manager->hung.rows[i].start_ticks,
                                             .tgid = manager->hung.rows[i].tgid };
        }
        if (order)
                r = order_pack(order, &body);
        /* A file or memory of anybody on the host may be one in which they hang for ever. */
        if (job_pool_count_kind(manager->pool, kind) >=
            (is_files ? LIMIT_FILE_JOBS : LIMIT_MEMORY_JOBS))
                r = -EAGAIN;
        job = (JobOrder){
                .terms = &job_terms[kind],
                .body = buffer_span(&body),
                .fds = fds,
                .n_fds = fds[1] >= 0 ? 2 : 1,
                .uid = request->uid,
                .timeout_ns = manager->settings.capture_ns,
        };
        if (r == 0)
                r = job_pool_start(manager->pool, &job, on_reply, request,
                                   is_files ? &request->files_job : &request->memory_job);
        if (r < 0) {
                log_debug("No job reads for a capture: %s", strerror(-r));
                (void) disposal_close(manager->disposal, fds[0]);
                (void) fd_close(fds[1]);
        }
}

static void on_reply(Job *job, const JobReply *reply, void *userdata) {
        Request *request = userdata;
        OrderLife life;

        if (reply->is_end)
                log_debug("%s", reply->detail.reason);
        if (reply->is_last && job == request->files_job) {
                request->files_job = job_free(job);
        } else if (reply->is_last) {
                request->memory_job = job_free(job);
        } else if (job == request->files_job) {
                return;
        } else if (reply->kind == PACKET_FILES) {
                start(request, reply, ORDER_FILES);
        } else if (reply->kind == PACKET_LEFT && reply->body.n == sizeof(life)) {
                memcpy(&life, reply->body.bytes, sizeof(life));
                if (life.tgid <= INT32_MAX)
                        hung_add(&request->manager->hung, job->pid, life.tgid, life.start_ticks,
                                 life.owner);
        }
}

void memory_jobs_end(Request *request) {
        request->files_job = job_free(request->files_job);
        request->memory_job = job_free(request->memory_job);
        request->memory_was_asked = request->files_was_asked = false;
}

int memory_jobs_take(Request *request, const JobReply *note) {
        if (note->kind == PACKET_MEMORY)
                start(request, note, ORDER_MEMORY);
        return 0;
}
