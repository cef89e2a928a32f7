/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/order.h"

#include <errno.h>
#include <fcntl.h>

#include "service/request/reservation.h"
#include "wire/message.h"

#define WAITING "{\"progress\":{\"phase\":\"waiting\",\"done\":0}}"
#define ENVELOPE_BYTES 64 /* of a reply, at most */

void request_begin_order(Request *request, JsonWriter *writer) {
        request_close_fds(request);
        buffer_clear(&request->text);
        json_writer_init(writer, &request->text);
        json_write_object(writer);
}

int request_add_fd(Request *request, JsonWriter *writer, const char *key, int fd) {
        if (request->n_fds == ELEMENTSOF(request->fds)) {
                (void) request_close_fd(request, fd);
                return -E2BIG;
        }
        json_write_member_u64(writer, key, request->n_fds);
        request->fds[request->n_fds++] = fd;
        return 0;
}

int request_add_spool(Request *request, JsonWriter *writer) {
        Spool *spool = request->desk->spool;
        int fd;

        if (spool_dir_fd(spool) < 0)
                return request_fail_spool(request, "", SPOOL_E_UNAVAILABLE);
        fd = fcntl(spool_dir_fd(spool), F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        json_write_member_name(writer, JOB_KEY_SPOOL_PATH, span_of(spool_path(spool)));
        return request_add_fd(request, writer, JOB_KEY_DIRECTORY, fd);
}

int request_add_roll(Request *request, JsonWriter *writer) {
        const Desk *desk = request->desk;
        int fd, r;

        r = spool_index_lend(desk->index, spool_dir_fd(desk->spool), &fd);
        return r == 0 && fd >= 0 ? request_add_fd(request, writer, JOB_KEY_ROLL, fd) : r;
}

void request_write_limits(const Request *request, JsonWriter *writer) {
        const SpoolLimits *limits = &request->desk->settings.spool;

        json_write_key(writer, JOB_KEY_LIMITS);
        json_write_object(writer);
        json_write_member_u64(writer, JOB_KEY_MAX_BYTES, limits->max_bytes);
        json_write_member_u64(writer, JOB_KEY_KEEP_FREE_BYTES, limits->keep_free_bytes);
        json_write_member_u64(writer, JOB_KEY_KEEP_FREE_FILES, limits->keep_free_files);
        json_write_member_u64(writer, JOB_KEY_MAX_AGE_NS, limits->max_age_ns);
        json_write_member_u64(writer, JOB_KEY_RESERVED_BYTES,
                              reservation_sum(request->desk, request));
        json_write_member_u64(writer, JOB_KEY_MAX_SNAPSHOTS, limits->max_snapshots);
        json_write_member_u64(writer, JOB_KEY_MAX_SNAPSHOTS_PER_UID, limits->max_snapshots_per_uid);
        json_write_end(writer);
}

static int refuse_waiting(Request *request, int r) {
        const char *reason = r == USER_E_FULL_FOR_USER
                                     ? "You have too many calls waiting; let some of them finish."
                                     : "Too many calls are waiting; try again later.";

        return request_fail(request, WIRE_ERROR_BUSY, &(WireErrorDetail){ .reason = reason });
}

int request_end_order(Request *request, JsonWriter *writer, const char *method, JobKind kind) {
        int r;

        json_write_end(writer);
        r = json_writer_finish(writer);
        if (r < 0)
                return r;
        buffer_clear(&request->call);
        r = call_encode(&request->call, method, buffer_span(&request->text), request->more);
        if (r < 0)
                return r;
        buffer_done(&request->text);
        request->terms = job_terms(kind);
        return 0;
}

int request_enqueue(Request *request, QueueKind queue, const Stage *stage) {
        Queue *line = &request->desk->queues[queue];
        int r;

        r = request_hold(request, request->n_state_bytes);
        if (r != 0)
                return r;
        request->queue = queue;
        request->stage = stage;
        if (request->more && stage->tells_progress && queue_is_busy(line) &&
            connection_has_room(request->connection, sizeof(WAITING) + ENVELOPE_BYTES))
                connection_continue(request->connection, SPAN_LITERAL(WAITING));
        r = queue_add(line, &request->entry, request->uid);
        if (r > 0)
                return refuse_waiting(request, r);
        if (r < 0)
                return r;
        desk_turn(request->desk);
        return 0;
}

int request_submit(Request *request, JsonWriter *writer, const char *method, QueueKind queue,
                   JobKind kind, const Stage *stage) {
        int r;

        r = request_end_order(request, writer, method, kind);
        return r == 0 ? request_enqueue(request, queue, stage) : r;
}

int request_continue(Request *request, JsonWriter *writer, const char *method, JobKind kind,
                     const Stage *stage) {
        int r;

        r = request_end_order(request, writer, method, kind);
        if (r != 0)
                return r;
        request->stage = stage;
        return request_start_job(request);
}
