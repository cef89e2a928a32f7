/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "interface/job-interface.h"
#include "job/workshop.h"
#include "spool/spool-failure.h"
#include "wire/message.h"

#define STUCK_REASON                                                                             \
        "Too many earlier jobs hang in the kernel, where nothing can stop them: see what their " \
        "threads wait for in /proc/PID/task/TID/stack."

/* life */

int request_new(Desk *desk, const Method *method, Connection *connection, const Call *call,
                Request **ret) {
        Request *request;

        request = malloc(sizeof(*request));
        if (!request)
                return -ENOMEM;
        *request = (Request){
                .desk = desk,
                .method = method,
                .connection = connection,
                .parameters = call ? json_object_get(call->parameters) : NULL,
                .uid = connection ? connection_peer(connection)->uid : 0,
                .reserved_fd = -EBADF,
                .more = call && call->more && !call->oneway,
        };
        buffer_init(&request->text, LIMIT_ORDER_BYTES);
        buffer_init(&request->call, LIMIT_ORDER_BYTES);
        request->next = desk->requests;
        if (request->next)
                request->next->previous = request;
        desk->requests = request;
        if (connection)
                connection_set_call_data(connection, request);
        *ret = request;
        return 0;
}

int request_handle(Request *request) {
        int r;

        request->view = spool_view_ref(request_view(request));
        r = request->method->handle(request);
        request->view = spool_view_unref(request->view);
        return r;
}

void request_keep_fds(Request *request) {
        size_t n = MIN_OF(connection_n_fds(request->connection), ELEMENTSOF(request->call_fds));

        for (size_t i = 0; i < n; i++)
                request->call_fds[i] = connection_take_fd(request->connection, i);
        request->n_call_fds = n;
}

/*
 * A job reads what its caller sends, and a filter cannot see the address of a message: with a
 * socket of the caller's it could send in the name of the daemon.
 */
int request_take_fd(Request *request, size_t index) {
        socklen_t n_type = sizeof(int);
        int fd = -EBADF, type;

        if (request->n_call_fds == 0)
                fd = connection_take_fd(request->connection, index);
        else if (index < request->n_call_fds)
                fd = TAKE_FD(request->call_fds[index]);
        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n_type) != 0)
                return fd;
        (void) request_close_fd(request, fd);
        return -EBADF;
}

SpoolView *request_view(const Request *request) {
        return request->view ? request->view : spool_index_view(request->desk->index);
}

int request_close_fd(Request *request, int fd) {
        return disposal_close(request->desk->disposal, fd);
}

void request_close_fds(Request *request) {
        for (size_t i = 0; i < request->n_fds; i++)
                (void) request_close_fd(request, request->fds[i]);
        request->n_fds = 0;
}

/* Gives its place to the next one. */
static void leave_queue(Request *request) {
        if (request->entry.place == QUEUE_OUTSIDE)
                return;
        queue_remove(&request->desk->queues[request->queue], &request->entry);
        desk_turn(request->desk);
}

Request *request_free(Request *request) {
        if (!request)
                return NULL;

        leave_queue(request);
        request->job = job_free(request->job);
        request_close_fds(request);
        for (size_t i = 0; i < request->n_call_fds; i++)
                (void) request_close_fd(request, request->call_fds[i]);
        if (request->free_state)
                request->free_state(request->state);
        buffer_done(&request->call);
        buffer_done(&request->text);
        json_object_put(request->parameters);
        if (request->next)
                request->next->previous = request->previous;
        if (request->previous)
                request->previous->next = request->next;
        else
                request->desk->requests = request->next;
        charge_end(&request->lent);
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

void request_keep(Request *request, void *state, void (*free_state)(void *state)) {
        assert(!request->state);
        request->state = state;
        request->free_state = free_state;
}

/* What is kept for it, in bytes, without the parameters of the call. */
static size_t memory(const Request *request) {
        return request->n_state_bytes + request->text.n_allocated + request->call.n_allocated;
}

int request_hold(Request *request, size_t n_bytes) {
        request->n_state_bytes = n_bytes;
        if (!request->connection || connection_hold(request->connection, memory(request)))
                return 0;
        return request_fail(request, WIRE_ERROR_BUSY,
                            &(WireErrorDetail){
                                    .reason = "Answering this call takes more memory than your "
                                              "other calls and unread replies leave you; let "
                                              "some of them finish.",
                            });
}

int request_decode(Request *request, const Parameter *table, size_t n_table, void *ret) {
        const char *key;
        int r;

        r = parameters_decode(request->parameters, table, n_table, NULL, ret, &key);
        if (r == PARAMETERS_E_INVALID)
                return request_refuse_parameter(request, key, NULL);
        return err_fold(r);
}

/* answers */

/* Errors of a call that changes something, too: its job may have ended in the middle of it. */
static ReplyKind kind_of_last(const Request *request) {
        return request->method->record == RECORD_NOTHING ? REPLY_LAST : REPLY_LAST_OF_CHANGE;
}

/* Takes the descriptors over, also when there is no connection to send them to. */
static void end(Request *request, Span frame, bool is_error, const int *fds, size_t n_fds) {
        assert(!request->is_over);
        request->is_over = true;
        recorder_take(&request->desk->recorder,
                      &(RecordedCall){
                              .method = request->method->name,
                              .record = request->method->record,
                              .uid = request->uid,
                              .parameters = request->parameters,
                      },
                      frame, is_error, clock_now_ns(CLOCK_MONOTONIC));
        if (request->connection)
                connection_forward(request->connection, frame, kind_of_last(request), fds, n_fds);
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

int request_fail_as(Request *request, Span frame) {
        end(request, frame, true, NULL, 0);
        return REQUEST_ANSWERED;
}

int request_refuse_parameter(Request *request, const char *key, const char *reason) {
        return request_fail(request, WIRE_ERROR_INVALID_PARAMETER,
                            &(WireErrorDetail){ .subject = span_of(key), .reason = reason });
}

int request_fail_spool(Request *request, const char *name, int r) {
        SpoolFailure failure;

        /* Somebody else removed it, and the index does not know yet. */
        if (r == SPOOL_E_NOT_FOUND && spool_view_find(request_view(request), span_of(name)))
                spool_index_forget(request->desk->index);
        if (!spool_failure_init(&failure, request->desk->spool, request_view(request), name, r))
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
                        (void) request_close_fd(request, fds[i]);
        return r;
}

int request_answer_written(Request *request, JsonWriter *writer) {
        int r = json_writer_finish(writer);

        return r == 0 ? request_answer(request, buffer_span(writer->buffer), NULL, 0) : r;
}

int request_forward(Request *request, Span frame) {
        int fds[LIMIT_FDS_PER_ORDER];
        size_t n_fds = MIN_OF(job_n_fds(request->job), ELEMENTSOF(fds));

        for (size_t i = 0; i < n_fds; i++)
                fds[i] = job_take_fd(request->job, i);
        end(request, frame, false, fds, n_fds);
        return 0;
}

int request_forward_error(Request *request, Span frame) {
        end(request, frame, true, NULL, 0);
        return 0;
}

/* replies of the job */

/* @job was the request's, unless its last reply has already started the next one. */
static void free_job(Request *request, Job *job) {
        if (request->job == job)
                request->job = NULL;
        (void) job_free(job);
}

static int take_last(Request *request, Span frame, bool is_error) {
        const Stage *stage = request->stage;

        if (!stage->keeps_place)
                leave_queue(request);
        if (is_error) {
                if (stage->on_failure)
                        return stage->on_failure(request, frame);
                end(request, frame, true, NULL, 0);
                return 0;
        }
        return stage->on_result ? stage->on_result(request, frame)
                                : request_forward(request, frame);
}

/* The job waits until the caller reads; let other requests have its place meanwhile. */
static void pause_job(Request *request) {
        job_pause(request->job);
        queue_rest(&request->desk->queues[request->queue], &request->entry);
        desk_turn(request->desk);
}

/*
 * Follows what a spool job says to us alone; false when the reply is another. A capture job, which
 * reads what anybody on the host can write, is not believed: a survey finds what it rotated.
 */
static bool take_change(Request *request, Span frame) {
        static const char start[] = "{\"parameters\":{\"" JOB_KEY_SPOOL_CHANGE "\":";
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Reply reply;

        if (request->terms != job_terms(JOB_SPOOL) || frame.n < sizeof(start) ||
            memcmp(frame.bytes, start, sizeof(start) - 1) != 0)
                return false;
        if (reply_decode(frame, &reply, complaint) != 0) {
                spool_index_forget(request->desk->index);
                return true;
        }
        spool_index_follow(request->desk->index,
                           json_object_object_get(reply.parameters, JOB_KEY_SPOOL_CHANGE));
        reply_done(&reply);
        return true;
}

static bool take_note(Request *request, Span frame) {
        return request->stage->on_note && request->stage->on_note(request, frame);
}

static int take_part(Request *request, Span frame) {
        if (take_change(request, frame) || take_note(request, frame) || !request->more)
                return 0;
        if (request->stage->on_part)
                return request->stage->on_part(request, frame);
        connection_forward(request->connection, frame, REPLY_PART, NULL, 0);
        if (connection_is_full(request->connection))
                pause_job(request);
        return 0;
}

static void on_reply(Job *job, Span frame, bool continues, bool is_error, void *userdata) {
        Request *request = userdata;
        int r;

        if (continues) {
                r = take_part(request, frame);
        } else {
                r = take_last(request, frame, is_error);
                free_job(request, job);
        }
        request_settle(request, r);
}

/* Treats the end of a job without a last reply as an error reply. */
static void on_end(Job *job, const char *reason, void *userdata) {
        const WireErrorDetail detail = { .reason = reason };
        _cleanup_(buffer_done) Buffer frame = { .max_bytes = LIMIT_REPLY_BYTES };
        Request *request = userdata;
        int r;

        r = wire_error_encode_reply(&frame, WIRE_ERROR_JOB_FAILED, &detail);
        if (r == 0)
                r = take_last(request, buffer_span(&frame), true);
        free_job(request, job);
        request_settle(request, r);
}

static const JobEvents job_events = { .on_reply = on_reply, .on_end = on_end };

/* What the administrator chose for jobs of this kind; 0: the terms bound it. */
static uint64_t timeout_of(const Request *request) {
        const DeskSettings *settings = &request->desk->settings;

        if (request->terms == job_terms(JOB_CAPTURE))
                return settings->capture_ns;
        if (request->terms == job_terms(JOB_ANALYSIS) || request->terms == job_terms(JOB_SPOOL))
                return settings->analysis_ns;
        return 0;
}

int request_start_job(Request *request) {
        JobOrder order;
        int r;

        r = users_ask(request->desk->users, request->uid, USE_STUCK, 1);
        if (r == USER_E_FULL_FOR_USER)
                return request_fail(request, WIRE_ERROR_BUSY,
                                    &(WireErrorDetail){
                                            .reason = "Jobs of your earlier calls hang and cannot "
                                                      "be stopped.",
                                    });
        if (r != USER_OK)
                return request_fail(request, WIRE_ERROR_JOB_FAILED,
                                    &(WireErrorDetail){ .reason = STUCK_REASON });
        r = request->stage->prepare ? request->stage->prepare(request) : 0;
        if (r != 0)
                return r;
        order = (JobOrder){
                .terms = request->terms,
                .call = buffer_span(&request->call),
                .fds = request->fds,
                .n_fds = request->n_fds,
                .uid = request->uid,
                .timeout_ns = timeout_of(request),
                .max_file_bytes = request->max_file_bytes,
        };
        r = workshop_start(request->desk->workshop, &order, &job_events, request, &request->job);
        if (r < 0)
                return r;
        request->n_fds = 0; /* the job's */
        buffer_done(&request->call);
        if (request->connection)
                (void) !connection_hold(request->connection, memory(request));
        return request->is_stopping ? job_stop(request->job) : 0;
}

int request_resume(Request *request) {
        if (request->on_drained)
                return request->on_drained(request);
        if (!request->job)
                return 0;
        queue_wake(&request->entry);
        job_resume(request->job);
        return 0;
}

int request_stop(Request *request) {
        if (!request->terms || request->terms->clock != JOB_CLOCK_SILENCE || request->is_stopping)
                return 0;
        request->is_stopping = true;
        return request->job ? job_stop(request->job) : 0;
}

void request_hang_up(Request *request) {
        if (!request->job || !request->stage->outlives_caller || request->is_stopping) {
                (void) request_free(request);
                return;
        }
        request->connection = NULL;
        request->more = false;
        /* It may have waited for the caller to read. */
        queue_wake(&request->entry);
        job_resume(request->job);
        request_settle(request, request_stop(request));
}
