/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/heap-aid.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "job/vault.h"
#include "job/workshop.h"
#include "log/log.h"

#define CACHE_NAME "heap-cache" /* in the vault */

/* the cache */

/*
 * It keeps its size, so that it cannot grow beyond what is counted for it, and no reader of it can
 * be cut off.
 */
static int new_cache(void) {
        _cleanup_(fd_closep) int fd = memfd_create("ctprof-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || fchmod(fd, 0600) < 0 || ftruncate(fd, LIMIT_HEAP_CACHE_BYTES) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return TAKE_FD(fd);
}

void heap_aid_prepare(Vault *vault) {
        _cleanup_(fd_closep) int held = vault_lend(vault, CACHE_NAME);
        _cleanup_(fd_closep) int fd = -EBADF;
        int r;

        if (held >= 0)
                return;
        fd = new_cache();
        r = fd < 0 ? fd : vault_put(vault, CACHE_NAME, fd);
        if (r < 0)
                log_warning(r, "Captures cannot keep for each other where counters are");
}

int heap_aid_write(Request *request, JsonWriter *writer) {
        int fd;

        json_write_member_bool(writer, JOB_KEY_HEAP, true);
        json_write_member_u64(writer, JOB_KEY_HEAP_LIMIT_NS, request->desk->settings.heap_ns);
        fd = vault_lend(request->desk->vault, CACHE_NAME);
        return fd < 0 ? 0 : request_add_fd(request, writer, JOB_KEY_HEAP_CACHE, fd);
}

/* the job */

static void on_reply(Job *job, Span frame, bool continues, bool is_error, void *userdata) {
        HeapAid *aid = userdata;

        if (!continues)
                aid->job = job_free(job);
}

static void on_end(Job *job, const char *reason, void *userdata) {
        HeapAid *aid = userdata;

        log_debug("%s", reason);
        aid->job = job_free(job);
}

static const JobEvents job_events = { .on_reply = on_reply, .on_end = on_end };

void heap_aid_done(HeapAid *aid) {
        aid->job = job_free(aid->job);
}

/* @socket: owned by the job when this succeeds. */
static int start_job(HeapAid *aid, const Request *request, int socket) {
        static const char call[] =
                "{\"method\":\"" JOB_METHOD_FILES "\",\"parameters\":{\"" JOB_KEY_SOCKET "\":0}}";
        Workshop *workshop = request->desk->workshop;
        const JobOrder order = {
                .terms = job_terms(JOB_FILES),
                .call = span_of(call),
                .fds = &socket,
                .n_fds = 1,
                .uid = request->uid,
                .timeout_ns = request->desk->settings.capture_ns,
        };

        /* A file of anybody on the host may be one in which they hang for ever. */
        if (workshop_count(workshop, request->uid).n_files >= LIMIT_FILE_JOBS)
                return -EAGAIN;
        return workshop_start(workshop, &order, &job_events, aid, &aid->job);
}

/*
 * Who asks is a capture job, which reads what everybody can write: its socket is passed on and
 * otherwise left alone. Closing it is how the capture learns that nobody comes.
 */
bool heap_aid_take(HeapAid *aid, Request *request, Span frame) {
        static const char start[] = "{\"parameters\":{\"" JOB_KEY_FILES "\":true";
        int socket, r;

        if (frame.n < sizeof(start) || memcmp(frame.bytes, start, sizeof(start) - 1) != 0)
                return false;
        socket = aid->was_asked ? -EBADF : job_take_fd(request->job, 0);
        aid->was_asked = true;
        if (socket < 0)
                return true;
        r = start_job(aid, request, socket);
        if (r < 0) {
                log_debug("No job parses files for a capture: %s", strerror(-r));
                (void) request_close_fd(request, socket);
        }
        return true;
}
