/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/request.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "job/job.h"
#include "json/json-scanner.h"
#include "spool/spool-failure.h"
#include "wire/message-object.h"
#include "wire/message.h"

#define ENVELOPE_BYTES 64 /* of a reply, at most */
/* With less than this a job is not started: not even a small snapshot would fit. */
#define LEAST_BYTES UINT64_C(65536)
#define STUCK_REASON                                                                             \
        "Too many earlier jobs hang in the kernel, where nothing can stop them: see what their " \
        "threads wait for in /proc/PID/task/TID/stack."

/* life */

int request_new(Manager *manager, const Method *method, Connection *connection, const Call *call,
                Request **ret) {
        Request *request;

        request = malloc(sizeof(*request));
        if (!request)
                return -ENOMEM;
        *request = (Request){
                .manager = manager,
                .method = method,
                .connection = connection,
                .parameters = call ? json_object_get(call->parameters) : NULL,
                .uid = connection ? connection->peer.uid : 0,
                .reserved_fd = -EBADF,
                .more = call && call->more && !call->oneway,
        };
        request->next = manager->requests;
        if (request->next)
                request->next->previous = request;
        manager->requests = request;
        if (connection)
                connection->call_data = request;
        *ret = request;
        return 0;
}

int request_handle(Request *request) {
        int r;

        request->view = request_view(request);
        request->view->n_refs++;
        r = request->method->handle(request);
        request->view = spool_view_unref(request->view);
        return r;
}

/*
 * A job reads what its caller sends, and a filter cannot see the address of a message: with a
 * socket of the caller's it could send in the name of the daemon.
 */
int request_take_fd(Request *request, size_t index) {
        socklen_t n_type = sizeof(int);
        int fd = -EBADF, type;

        if (request->n_call_fds == 0)
                fd = frame_stream_take_fd(request->connection->stream, index);
        else if (index < request->n_call_fds)
                fd = TAKE_FD(request->call_fds[index]);
        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n_type) != 0)
                return fd;
        (void) disposal_close(request->manager->disposal, fd);
        return -EBADF;
}

SpoolView *request_view(const Request *request) {
        return request->view ? request->view : request->manager->index->view;
}

/* Gives its place to the next one. */
static void leave_queue(Request *request) {
        if (request->entry.place == QUEUE_OUTSIDE)
                return;
        queue_remove(&request->manager->queues[request->queue], &request->entry);
        (void) sd_event_source_set_enabled(request->manager->turn, SD_EVENT_ONESHOT);
}

Request *request_free(Request *request) {
        if (!request)
                return NULL;

        leave_queue(request);
        request->job = job_free(request->job);
        request->files_job = job_free(request->files_job);
        request->memory_job = job_free(request->memory_job);
        for (size_t i = 0; i < request->n_fds; i++)
                (void) disposal_close(request->manager->disposal, request->fds[i]);
        for (size_t i = 0; i < request->n_call_fds; i++)
                (void) disposal_close(request->manager->disposal, request->call_fds[i]);
        if (request->release)
                request->release(request);
        free(request->state);
        buffer_done(&request->order);
        json_object_put(request->parameters);
        if (request->next)
                request->next->previous = request->previous;
        if (request->previous)
                request->previous->next = request->next;
        else
                request->manager->requests = request->next;
        charge_end(&request->held);
        free(request);
        return NULL;
}

void request_settle(Request *request, int r) {
        const WireErrorDetail detail = { .reason = strerror(-r) };

        /*
         * Without memory no error reply can be built; the connection sends what it can, and breaks.
         */
        if (r < 0 && !request->is_over &&
            request_fail(request, WIRE_ERROR_JOB_FAILED, &detail) < 0) {
                request->is_over = true;
                if (request->connection)
                        connection_error(request->connection, WIRE_ERROR_JOB_FAILED, &detail);
        }
        if (request->is_over)
                (void) request_free(request);
}

/* what a method finds */

void *request_keep(Request *request, size_t n_bytes, void (*release)(Request *request)) {
        assert(!request->state);
        request->state = calloc(1, n_bytes);
        if (request->state)
                request->release = release;
        return request->state;
}

int request_hold(Request *request, size_t n_bytes) {
        request->n_state_bytes = n_bytes;
        /* The parameters of the call are counted with its message. */
        if (!request->connection ||
            connection_hold(request->connection, n_bytes + request->order.n_allocated))
                return 0;
        return request_refuse(request, WIRE_ERROR_BUSY,
                              "Answering this call takes more memory than your other calls and "
                              "unread replies leave you; let some of them finish.");
}

int request_decode(Request *request, const Parameter *table, size_t n_table, void *ret) {
        const char *key;
        int r;

        r = parameters_decode(request->parameters, table, n_table, ret, &key);
        if (r == PARAMETERS_E_INVALID)
                return request_refuse_parameter(request, key, NULL);
        return err_fold(r);
}

/* answers */

/* Takes the descriptors over, also when there is no connection to send them to. */
static void end(Request *request, Span frame, bool is_error, const int *fds, size_t n_fds) {
        /* Also an error of a call that changes something: its job may have ended midway. */
        bool may_have_changed = request->method->record != RECORD_NOTHING;

        assert(!request->is_over);
        request->is_over = true;
        record_call(&request->manager->failures,
                    &(RecordedCall){
                            .method = request->method->name,
                            .record = request->method->record,
                            .uid = request->uid,
                            .parameters = request->parameters,
                    },
                    frame, is_error, clock_now_ns(CLOCK_MONOTONIC));
        if (request->connection)
                connection_forward(request->connection, frame,
                                   may_have_changed ? REPLY_LAST_OF_CHANGE : REPLY_LAST, fds,
                                   n_fds);
        else
                for (size_t i = 0; i < n_fds; i++)
                        (void) fd_close(fds[i]);
}

int request_fail(Request *request, WireError error, const WireErrorDetail *detail) {
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };
        int r;

        r = wire_error_encode_reply(&frame, error, detail);
        if (r < 0)
                return r;
        end(request, buffer_span(&frame), true, NULL, 0);
        return REQUEST_ANSWERED;
}

int request_refuse(Request *request, WireError error, const char *reason) {
        return request_fail(request, error, &(WireErrorDetail){ .reason = reason });
}

int request_refuse_parameter(Request *request, const char *key, const char *reason) {
        return request_fail(request, WIRE_ERROR_INVALID_PARAMETER,
                            &(WireErrorDetail){ .subject = span_of(key), .reason = reason });
}

int request_fail_spool(Request *request, const char *name, int r) {
        SpoolFailure failure;

        /* Somebody else removed it, and the index does not know yet. */
        if (r == SPOOL_E_NOT_FOUND && spool_view_find(request_view(request), span_of(name)))
                spool_index_forget(request->manager->index);
        if (!spool_failure_init(&failure, request->manager->spool, request_view(request), name, r))
                return err_fold(r);
        return request_fail(request, failure.error, &failure.detail);
}

int request_answer(Request *request, Span parameters, const int *fds, size_t n_fds) {
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };
        int r;

        r = reply_encode(&frame, parameters, false);
        if (r == 0)
                end(request, buffer_span(&frame), false, fds, n_fds);
        else
                for (size_t i = 0; i < n_fds; i++)
                        (void) disposal_close(request->manager->disposal, fds[i]);
        return r;
}

int request_answer_written(Request *request, JsonWriter *writer) {
        int r = json_writer_finish(writer);

        return r == 0 ? request_answer(request, buffer_span(writer->buffer), NULL, 0) : r;
}

int request_forward(Request *request, const JobReply *reply) {
        int fds[LIMIT_FDS_PER_ORDER];
        size_t n_fds = MIN_OF(reply->n_fds, ELEMENTSOF(fds));

        if (reply->kind != PACKET_LAST)
                return -EBADMSG;
        for (size_t i = 0; i < n_fds; i++)
                fds[i] = TAKE_FD(reply->fds[i]);
        return request_answer(request, reply->body, fds, n_fds);
}

int request_parse(Span text, json_object **ret) {
        const JsonLimits limits = { .max_depth = LIMIT_JSON_DEPTH, .max_token_bytes = text.n };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        _cleanup_(message_object_freep) json_object *object = NULL;
        JsonToken token;
        int r;

        r = json_scanner_new_text(text, &limits, &scanner);
        if (r == 0)
                r = json_scanner_next(scanner, &token);
        if (r == 0)
                r = message_object_read(scanner, token, &(size_t){ SIZE_MAX }, &object);
        if (r == 0)
                r = json_scanner_expect(scanner, JSON_TOKEN_END);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r > 0 ? -EBADMSG : r;
}

int request_take_texts(const JobReply *reply, Span *ret_texts, size_t n) {
        return reply->kind == PACKET_RESULT && result_unpack(reply->body, ret_texts, n) ? 0
                                                                                        : -EBADMSG;
}

void request_write_rotated(JsonWriter *writer, Span before, Span after) {
        if (before.n + after.n == 0)
                return;
        json_write_key(writer, "rotated");
        json_write_array(writer);
        for (unsigned i = 0; i < 2; i++)
                for (Span rest = i == 0 ? before : after; rest.n > 0;) {
                        const char *end = memchr(rest.bytes, '\n', rest.n);
                        size_t n = end ? (size_t) (end - rest.bytes) : rest.n;

                        json_write_name(writer, (Span){ rest.bytes, n });
                        n += end ? 1 : 0;
                        rest = (Span){ rest.bytes + n, rest.n - n };
                }
        json_write_end(writer);
}

/* replies of the job */

static void on_reply(Job *job, const JobReply *reply, void *userdata) {
        Request *request = userdata;
        const Stage *stage = request->stage;
        int r = 0;

        /* The end of a job without a last reply comes as an error reply. */
        if (reply->is_last) {
                if (!stage->keeps_place)
                        leave_queue(request);
                if (reply->kind != PACKET_ERROR)
                        r = stage->on_result ? stage->on_result(request, reply)
                                             : request_forward(request, reply);
                else if (stage->on_failure)
                        r = stage->on_failure(request, reply->error, &reply->detail);
                else
                        r = request_fail(request, reply->error, &reply->detail);
                /* The last reply may have started the next job. */
                if (request->job == job)
                        request->job = NULL;
                (void) job_free(job);
        } else if (reply->kind == PACKET_PART) {
                if (request->more && stage->on_part) {
                        r = stage->on_part(request, reply->body);
                } else if (request->more) {
                        connection_continue(request->connection, reply->body);
                        if (connection_is_full(request->connection)) {
                                /* Until the caller reads, other requests have its place. */
                                job_pause(request->job);
                                queue_rest(&request->manager->queues[request->queue],
                                           &request->entry);
                                (void) sd_event_source_set_enabled(request->manager->turn,
                                                                   SD_EVENT_ONESHOT);
                        }
                }
        } else if (reply->kind == PACKET_CHANGE) {
                /*
                 * Follows what a spool job says it did. A capture job, which reads what anybody on
                 * the host can write, is not believed: a survey finds what it rotated.
                 */
                if (request->terms == &job_terms[JOB_SPOOL])
                        spool_index_follow(request->manager->index, reply->body);
        } else if (stage->on_note) {
                r = stage->on_note(request, reply);
        }
        request_settle(request, r);
}

/* The jobs before it and after it end by themselves. */
static bool has_endless_job(const Request *request) {
        return request->job && request->terms->clock == JOB_CLOCK_SILENCE;
}

int request_start_job(Request *request) {
        const ManagerSettings *settings = &request->manager->settings;
        uint64_t timeout_ns = 0; /* the terms bound it */
        JobOrder order;
        int r;

        r = users_ask(request->manager->users, request->uid, USE_STUCK, 1);
        if (r == USER_E_FULL_FOR_USER)
                return request_refuse(request, WIRE_ERROR_BUSY,
                                      "Jobs of your earlier calls hang and cannot be stopped.");
        if (r != USER_OK)
                return request_refuse(request, WIRE_ERROR_JOB_FAILED, STUCK_REASON);
        r = request->stage->prepare ? request->stage->prepare(request) : 0;
        if (r != 0)
                return r;
        if (request->terms == &job_terms[JOB_CAPTURE])
                timeout_ns = settings->capture_ns;
        else if (request->terms == &job_terms[JOB_ANALYSIS] ||
                 request->terms == &job_terms[JOB_SPOOL])
                timeout_ns = settings->analysis_ns;
        order = (JobOrder){
                .terms = request->terms,
                .body = buffer_span(&request->order),
                .fds = request->fds,
                .n_fds = request->n_fds,
                .uid = request->uid,
                .timeout_ns = timeout_ns,
                .max_file_bytes = request->max_file_bytes,
        };
        r = job_pool_start(request->manager->pool, &order, on_reply, request, &request->job);
        if (r < 0)
                return r;
        request->n_fds = 0; /* the job's */
        buffer_done(&request->order);
        if (request->connection)
                (void) !connection_hold(request->connection,
                                        request->n_state_bytes + request->order.n_allocated);
        return request->is_stopping && has_endless_job(request) ? job_stop(request->job) : 0;
}

int request_stop(Request *request) {
        if (!request->can_stop || request->is_stopping)
                return 0;
        request->is_stopping = true;
        return has_endless_job(request) ? job_stop(request->job) : 0;
}

/* the order for its job */

Order *request_new_order(Request *request, OrderMethod method) {
        Order *order = order_new(method);

        while (request->n_fds > 0)
                (void) disposal_close(request->manager->disposal, request->fds[--request->n_fds]);
        if (order)
                order->more = request->more;
        return order;
}

int request_add_fd(Request *request, int fd, OrderFd *ret) {
        if (request->n_fds == ELEMENTSOF(request->fds)) {
                (void) disposal_close(request->manager->disposal, fd);
                return -E2BIG;
        }
        request->fds[request->n_fds++] = fd;
        *ret = (OrderFd) request->n_fds;
        return 0;
}

int request_add_copy(Request *request, int fd, OrderFd *ret) {
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

        return copy < 0 ? -errno : request_add_fd(request, copy, ret);
}

int request_add_spool(Request *request, OrderSpool *ret) {
        Spool *spool = request->manager->spool;

        if (spool->dir_fd < 0)
                return request_fail_spool(request, "", SPOOL_E_UNAVAILABLE);
        ret->limits = request->manager->settings.spool;
        ret->limits.reserved_bytes = request_sum_reserved(request->manager, request);
        (void) snprintf(ret->path, sizeof(ret->path), "%s", spool->path);
        return request_add_copy(request, spool->dir_fd, &ret->directory);
}

int request_add_roll(Request *request, OrderSpool *ret) {
        const Manager *manager = request->manager;
        int fd, r;

        r = spool_index_lend(manager->index, manager->spool->dir_fd, &fd);
        return r == 0 && fd >= 0 ? request_add_fd(request, fd, &ret->roll) : r;
}

int request_set_order(Request *request, const Order *order) {
        request->terms = &job_terms[order->kind];
        buffer_clear(&request->order);
        return order_pack(order, &request->order);
}

int request_submit(Request *request, const Order *order, QueueKind queue, const Stage *stage) {
        Queue *line = &request->manager->queues[queue];
        int r = order ? request_set_order(request, order) : 0;

        /* What has done a part of its work is not lost because others came meanwhile. */
        if (r == 0 && !request->was_queued)
                r = request_hold(request, request->n_state_bytes);
        if (r != 0)
                return r;
        request->queue = queue;
        request->stage = stage;
        /* As many run as may, so that this one waits. */
        if (request->more && stage->tells_progress &&
            !users_have_room(line->users, USE_RUNNING + (Use) queue, 1) &&
            connection_has_room(request->connection, sizeof(REQUEST_WAITING) + ENVELOPE_BYTES))
                connection_continue(request->connection, SPAN_LITERAL(REQUEST_WAITING));
        r = request->was_queued ? queue_add_again(line, &request->entry, request->uid)
                                : queue_add(line, &request->entry, request->uid);
        if (r > 0)
                return request_refuse(
                        request, WIRE_ERROR_BUSY,
                        r == USER_E_FULL_FOR_USER
                                ? "You have too many calls waiting; let some of them finish."
                                : "Too many calls are waiting; try again later.");
        if (r < 0)
                return r;
        request->was_queued = true;
        (void) sd_event_source_set_enabled(request->manager->turn, SD_EVENT_ONESHOT);
        return 0;
}

int request_continue(Request *request, const Order *order, const Stage *stage) {
        int r = request_set_order(request, order);

        if (r != 0)
                return r;
        request->stage = stage;
        return request_start_job(request);
}

/* reservations */

uint64_t request_sum_reserved(const Manager *manager, const Request *except) {
        uint64_t sum = 0;

        for (const Request *request = manager->requests; request; request = request->next) {
                uint64_t n_written = 0;

                if (request == except)
                        continue;
                if (request->reserved_fd >= 0 &&
                    spool_allocated_bytes(request->reserved_fd, &n_written) < 0)
                        n_written = 0;
                if (n_written < request->reserved_bytes)
                        sum += request->reserved_bytes - n_written;
        }
        return sum;
}

int request_reserve_half(Request *request, int file) {
        const Manager *manager = request->manager;
        const SpoolLimits *limits = &manager->settings.spool;
        uint64_t others = request_sum_reserved(manager, request), half;
        char reason[256];
        SpoolFree space;
        int r;

        r = spool_free_space(manager->spool->dir_fd, &space);
        if (r < 0)
                return r;
        if (space.n_bytes <= limits->keep_free_bytes)
                return request_refuse(
                        request, WIRE_ERROR_SPOOL_FULL,
                        "The spool is full: its file system has no space left but what must "
                        "stay free; remove snapshots, free space there, or lower that limit "
                        "(KeepFree=)");
        if (space.has_files && space.n_files < limits->keep_free_files) {
                (void) snprintf(reason, sizeof(reason),
                                "The spool is full: its file system has %" PRIu64 " inodes free "
                                "and %" PRIu64 " must stay free; remove snapshots or other files "
                                "there",
                                space.n_files, limits->keep_free_files);
                return request_refuse(request, WIRE_ERROR_SPOOL_FULL, reason);
        }
        space.n_bytes -= limits->keep_free_bytes;
        half = space.n_bytes > others ? (space.n_bytes - others) / 2 : 0;
        if (half < LEAST_BYTES && others > 0)
                return request_refuse(
                        request, WIRE_ERROR_BUSY,
                        "Running jobs may need all the space that the spool's file system "
                        "has left; try again when they have ended.");
        /* A larger one could not be kept. */
        if (limits->max_bytes > 0)
                half = MIN_OF(half, limits->max_bytes);
        request->reserved_bytes = request->max_file_bytes = MAX_OF(half, UINT64_C(1));
        request->reserved_fd = file;
        return 0;
}

int request_reserve_memory(Request *request) {
        Users *users = request->manager->users;
        char reason[256];
        uint64_t left;

        held_files_take_back(&request->manager->held);
        charge_end(&request->held);
        if (users_ask(users, request->uid, USE_HELD, 2 * LIMIT_HELD_LEAST_BYTES) != USER_OK) {
                (void) snprintf(reason, sizeof(reason),
                                "Files of earlier exports and captures that are still open count "
                                "as %" PRIu64 " MiB of yours and %" PRIu64 " MiB of all users; "
                                "close some of them.",
                                users_count(users, request->uid, USE_HELD) >> 20,
                                users->n[USE_HELD] >> 20);
                return request_refuse(request, WIRE_ERROR_BUSY, reason);
        }
        left = MIN_OF(users->limits.of_user[USE_HELD] - users_count(users, request->uid, USE_HELD),
                      users->limits.of_all[USE_HELD] - users->n[USE_HELD]);
        request->max_file_bytes = left / 2;
        return charge_begin(&request->held, users, request->uid, USE_HELD, request->max_file_bytes);
}

/* references */

int request_find_name(Request *request, const char *name, const char **ret) {
        const IndexEntry *entry = spool_view_resolve(request_view(request), span_of(name));

        if (request->manager->spool->dir_fd < 0)
                return request_fail_spool(request, name, SPOOL_E_UNAVAILABLE);
        if (!entry)
                return request_fail_spool(request, name, SPOOL_E_NOT_FOUND);
        *ret = entry->name;
        return 0;
}

static int open_reference(void *userdata, const char *key, OrderReference *reference,
                          OrderFd *ret) {
        Request *request = userdata;
        int fd = -EBADF, r;

        if (reference->name) {
                /* A snapshot of the spool is called what it is called there. */
                r = request_find_name(request, reference->name, &reference->label);
                if (r != 0)
                        return r;
                /* The file is not read: a job finds out and explains what is wrong with it. */
                r = spool_open_snapshot(request->manager->spool, reference->label, &fd, NULL);
                if (r != 0)
                        return request_fail_spool(request, reference->label, r);
        } else {
                fd = request_take_fd(request, (size_t) reference->index.value);
        }
        if (fd < 0)
                return request_refuse_parameter(request, "fileDescriptor",
                                                "The call has no descriptor of a file with this "
                                                "number, or names it twice.");
        return request_add_fd(request, fd, ret);
}

static int refuse_reference(void *userdata, WireError error, const WireErrorDetail *detail) {
        return request_fail(userdata, error, detail);
}

OrderDoor request_door(Request *request) {
        return (OrderDoor){ .open = open_reference,
                            .refuse = refuse_reference,
                            .userdata = request };
}
