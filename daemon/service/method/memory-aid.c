/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/memory-aid.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "job/vault.h"
#include "job/workshop.h"
#include "log/log.h"
#include "service/desk/hung.h"
#include "wire/message.h"

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

int memory_aid_write_wishes(Request *request, JsonWriter *writer, bool heap) {
        const DeskSettings *settings = &request->desk->settings;
        int fd;

        json_write_member_bool(writer, JOB_KEY_HEAP, heap);
        json_write_member_text(writer, JOB_KEY_COMMAND_LINES,
                               command_lines_name(settings->commands));
        json_write_member_u64(writer, JOB_KEY_HEAP_LIMIT_NS, settings->heap_ns);
        if (!heap && settings->commands == COMMAND_LINES_NO)
                return 0;
        fd = vault_lend(request->desk->vault, PROCESSES_NAME);
        return fd < 0 ? 0 : request_add_fd(request, writer, JOB_KEY_HEAP_CACHE, fd);
}

static bool has_room(const Request *request) {
        return workshop_count_kind(request->desk->workshop, JOB_MEMORY) < LIMIT_MEMORY_JOBS;
}

void memory_aid_write(Request *request, JsonWriter *writer) {
        if (!has_room(request))
                json_write_member_text(writer, JOB_KEY_NO_MEMORY, TOO_MANY_REASON);
}

/* jobs */

void memory_aid_done(MemoryAid *aid) {
        aid->files = job_free(aid->files);
        aid->memory = job_free(aid->memory);
}

static bool says(Span frame, Span start) {
        return frame.n > start.n && memcmp(frame.bytes, start.bytes, start.n) == 0;
}

/* @fds: owned by the job when this succeeds. */
static int start_job(MemoryAid *aid, JobKind kind, Span call, const int *fds, size_t n_fds,
                     const JobEvents *events, Job **ret) {
        const Request *request = aid->request;
        const JobOrder order = {
                .terms = job_terms(kind),
                .call = call,
                .fds = fds,
                .n_fds = n_fds,
                .uid = request->uid,
                .timeout_ns = request->desk->settings.capture_ns,
        };

        return workshop_start(request->desk->workshop, &order, events, aid, ret);
}

/* the job that parses files */

static void on_files_reply(Job *job, Span frame, bool continues, bool is_error, void *userdata) {
        MemoryAid *aid = userdata;

        if (!continues)
                aid->files = job_free(job);
}

static void on_files_end(Job *job, const char *reason, void *userdata) {
        MemoryAid *aid = userdata;

        log_debug("%s", reason);
        aid->files = job_free(job);
}

static int start_files(MemoryAid *aid, int socket) {
        static const JobEvents events = { .on_reply = on_files_reply, .on_end = on_files_end };
        static const char call[] =
                "{\"method\":\"" JOB_METHOD_FILES "\",\"parameters\":{\"" JOB_KEY_SOCKET "\":0}}";

        /* A file of anybody on the host may be one in which they hang for ever. */
        if (workshop_count_kind(aid->request->desk->workshop, JOB_FILES) >= LIMIT_FILE_JOBS)
                return -EAGAIN;
        return start_job(aid, JOB_FILES, span_of(call), &socket, 1, &events, &aid->files);
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

static uint64_t get_number(json_object *object, const char *key) {
        json_object *value;

        return json_object_object_get_ex(object, key, &value) &&
                               json_object_is_type(value, json_type_int)
                       ? json_object_get_uint64(value)
                       : 0;
}

static void take_left(MemoryAid *aid, Job *job, Span frame) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        json_object *process;
        uint64_t tgid, owner;
        Reply reply;

        if (reply_decode(frame, &reply, complaint) != 0)
                return;
        if (json_object_object_get_ex(reply.parameters, JOB_KEY_LEFT, &process)) {
                tgid = get_number(process, JOB_KEY_TGID);
                owner = get_number(process, JOB_KEY_OWNER);
                if (tgid <= INT32_MAX && owner <= UINT32_MAX)
                        hung_add(aid->request->desk->hung, job_pid(job), (uint32_t) tgid,
                                 get_number(process, JOB_KEY_START_TICKS), (uint32_t) owner);
        }
        reply_done(&reply);
}

static void on_memory_reply(Job *job, Span frame, bool continues, bool is_error, void *userdata) {
        static const Span asks = SPAN_LITERAL("{\"parameters\":{\"" JOB_KEY_FILES "\":true"),
                          tells = SPAN_LITERAL("{\"parameters\":{\"" JOB_KEY_LEFT "\":");
        MemoryAid *aid = userdata;

        if (!continues)
                aid->memory = job_free(job);
        else if (says(frame, asks))
                take_socket(aid, job, &aid->files_was_asked, start_files);
        else if (says(frame, tells))
                take_left(aid, job, frame);
}

static void on_memory_end(Job *job, const char *reason, void *userdata) {
        MemoryAid *aid = userdata;

        log_debug("%s", reason);
        aid->memory = job_free(job);
}

static int write_call(const Desk *desk, bool has_files, Buffer *call) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_ORDER_BYTES };
        JsonWriter writer;
        int r;

        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_member_u64(&writer, JOB_KEY_SOCKET, 0);
        if (has_files)
                json_write_member_u64(&writer, JOB_KEY_HEAP_FILES, 1);
        json_write_member_u64(&writer, JOB_KEY_HEAP_LIMIT_NS, desk->settings.heap_ns);
        hung_write_order(desk->hung, &writer);
        json_write_end(&writer);
        r = json_writer_finish(&writer);
        return r == 0 ? call_encode(call, JOB_METHOD_MEMORY, buffer_span(&text), true) : r;
}

static int start_memory(MemoryAid *aid, int socket) {
        static const JobEvents events = { .on_reply = on_memory_reply, .on_end = on_memory_end };
        _cleanup_(buffer_done) Buffer call = { .max_bytes = LIMIT_ORDER_BYTES };
        const Desk *desk = aid->request->desk;
        int fds[2] = { socket, vault_lend(desk->vault, FILES_NAME) };
        size_t n_fds = fds[1] >= 0 ? 2 : 1;
        int r = has_room(aid->request) ? 0 : -EAGAIN;

        if (r == 0)
                r = write_call(desk, n_fds == 2, &call);
        if (r == 0)
                r = start_job(aid, JOB_MEMORY, buffer_span(&call), fds, n_fds, &events,
                              &aid->memory);
        if (r < 0)
                (void) fd_close(fds[1]);
        return r;
}

bool memory_aid_take(MemoryAid *aid, Request *request, Span frame) {
        static const Span asks = SPAN_LITERAL("{\"parameters\":{\"" JOB_KEY_MEMORY "\":true");

        if (!says(frame, asks))
                return false;
        aid->request = request;
        take_socket(aid, request->job, &aid->memory_was_asked, start_memory);
        return true;
}
