/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/memory-aid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "job/vault.h"
#include "job/workshop.h"
#include "log/log.h"
#include "service/desk/hung.h"

/* in the vault */
#define PROCESSES_NAME "heap-cache"
#define FILES_NAME "heap-files"

#define TOO_MANY_REASON                                                                        \
        "too many jobs hang in the memory of processes, and nothing can stop them: ctprofctl " \
        "status lists them"

/* what is kept */

/*
 * It keeps its size, so that it cannot grow beyond what is counted for it, and no reader of it can
 * be cut off.
 */
static int new_file(uint64_t n_bytes) {
        _cleanup_(fd_closep) int fd = memfd_create("ctprof-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || fchmod(fd, 0600) < 0 || ftruncate(fd, (off_t) n_bytes) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static void prepare_file(Vault *vault, const char *name, uint64_t n_bytes) {
        _cleanup_(fd_closep) int held = vault_lend(vault, name);
        _cleanup_(fd_closep) int fd = -EBADF;
        int r;

        if (held >= 0)
                return;
        fd = new_file(n_bytes);
        r = fd < 0 ? fd : vault_put(vault, name, fd);
        if (r < 0)
                log_warning(r, "Captures cannot keep for each other where counters are");
}

void memory_aid_prepare(Vault *vault) {
        prepare_file(vault, PROCESSES_NAME, LIMIT_HEAP_CACHE_BYTES);
        prepare_file(vault, FILES_NAME, LIMIT_HEAP_FILES_BYTES);
}

int memory_aid_add_wishes(Request *request, CaptureOrder *order, bool heap) {
        const DeskSettings *settings = &request->desk->settings;
        int fd;

        order->heap = heap;
        order->commands = settings->commands;
        order->heap_limit_ns = settings->heap_ns;
        if (!heap && settings->commands == COMMAND_LINES_NO)
                return 0;
        fd = vault_lend(request->desk->vault, PROCESSES_NAME);
        return fd < 0 ? 0 : request_add_fd(request, fd, &order->heap_cache);
}

static bool has_room(const Request *request) {
        return workshop_count_kind(request->desk->workshop, JOB_MEMORY) < LIMIT_MEMORY_JOBS;
}

void memory_aid_add(Request *request, CaptureOrder *order) {
        if (!has_room(request))
                (void) snprintf(order->no_memory, sizeof(order->no_memory), "%s", TOO_MANY_REASON);
}

/* jobs */

void memory_aid_done(MemoryAid *aid) {
        aid->files = job_free(aid->files);
        aid->memory = job_free(aid->memory);
}

/* @fds: sent and closed when this succeeds. */
static int start_job(MemoryAid *aid, const Order *order, const int *fds, size_t n_fds,
                     const JobEvents *events, Job **ret) {
        const Request *request = aid->request;
        _cleanup_(buffer_done) Buffer body = {};
        int r = order_pack(order, &body);
        const JobOrder job = {
                .terms = job_terms(order_kind(order->method)),
                .body = buffer_span(&body),
                .fds = fds,
                .n_fds = n_fds,
                .uid = request->uid,
                .timeout_ns = request->desk->settings.capture_ns,
        };

        return r == 0 ? workshop_start(request->desk->workshop, &job, events, aid, ret) : r;
}

/* the job that parses files */

static void on_files_reply(Job *job, const JobReply *reply, void *userdata) {
        MemoryAid *aid = userdata;

        if (job_reply_is_last(reply))
                aid->files = job_free(job);
}

static void on_files_end(Job *job, const char *reason, void *userdata) {
        MemoryAid *aid = userdata;

        log_debug("%s", reason);
        aid->files = job_free(job);
}

static int start_files(MemoryAid *aid, int socket) {
        static const JobEvents events = { .on_reply = on_files_reply, .on_end = on_files_end };
        _cleanup_(order_freep) Order *order = order_new(ORDER_FILES);

        if (!order)
                return -ENOMEM;
        /* A file of anybody on the host may be one in which they hang for ever. */
        if (workshop_count_kind(aid->request->desk->workshop, JOB_FILES) >= LIMIT_FILE_JOBS)
                return -EAGAIN;
        order->files.socket = 1;
        return start_job(aid, order, &socket, 1, &events, &aid->files);
}

/*
 * Who asks is a job that reads what everybody can write: its socket is passed on and otherwise left
 * alone. Closing it is how it learns that nobody comes.
 */
static void take_socket(MemoryAid *aid, Job *job, bool *was_asked,
                        int (*start)(MemoryAid *aid, int socket)) {
        int socket = *was_asked ? -EBADF : job_take_fd(job, 0), r;

        *was_asked = true;
        if (socket < 0)
                return;
        r = start(aid, socket);
        if (r < 0) {
                log_debug("No job reads for a capture: %s", strerror(-r));
                (void) request_close_fd(aid->request, socket);
        }
}

/* the job that reads memory */

static void take_left(MemoryAid *aid, Job *job, Span body) {
        OrderLife life;

        if (body.n != sizeof(life))
                return;
        memcpy(&life, body.bytes, sizeof(life));
        if (life.tgid <= INT32_MAX)
                hung_add(aid->request->desk->hung, job_pid(job), life.tgid, life.start_ticks,
                         life.owner);
}

static void on_memory_reply(Job *job, const JobReply *reply, void *userdata) {
        MemoryAid *aid = userdata;

        if (job_reply_is_last(reply))
                aid->memory = job_free(job);
        else if (reply->kind == PACKET_FILES)
                take_socket(aid, job, &aid->files_was_asked, start_files);
        else if (reply->kind == PACKET_LEFT)
                take_left(aid, job, reply->body);
}

static void on_memory_end(Job *job, const char *reason, void *userdata) {
        MemoryAid *aid = userdata;

        log_debug("%s", reason);
        aid->memory = job_free(job);
}

static int start_memory(MemoryAid *aid, int socket) {
        static const JobEvents events = { .on_reply = on_memory_reply, .on_end = on_memory_end };
        _cleanup_(order_freep) Order *order = order_new(ORDER_MEMORY);
        const Desk *desk = aid->request->desk;
        int fds[2] = { socket, vault_lend(desk->vault, FILES_NAME) };
        size_t n_fds = fds[1] >= 0 ? 2 : 1;
        int r = !order ? -ENOMEM : has_room(aid->request) ? 0 : -EAGAIN;

        if (r == 0) {
                order->memory.socket = 1;
                order->memory.files = fds[1] >= 0 ? 2 : 0;
                order->memory.limit_ns = desk->settings.heap_ns;
                hung_add_to_order(desk->hung, &order->memory);
                r = start_job(aid, order, fds, n_fds, &events, &aid->memory);
        }
        if (r < 0)
                (void) fd_close(fds[1]);
        return r;
}

void memory_aid_take(MemoryAid *aid, Request *request, const JobReply *note) {
        if (note->kind != PACKET_MEMORY)
                return;
        aid->request = request;
        take_socket(aid, request->job, &aid->memory_was_asked, start_memory);
}
