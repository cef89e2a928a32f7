/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Conversation
 *
 * One order of a job, or one call that it gets from a client, and all its replies. An unconfined
 * job runs on a thread of this process, so that its leaks and side effects are visible; a confined
 * one runs in a child because a sandbox cannot be left.
 */

#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "job/packet.h"
#include "job/sandbox/sandbox.h"
#include "order/order.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/message.h"
#include "worker/worker.h"

#define CONVERSATION_MAX_REPLIES 4096

typedef struct Conversation {
        json_object *replies[CONVERSATION_MAX_REPLIES]; /* parameters of each */
        size_t n;
        Buffer result; /* of the last, where that is no reply */
        char *error;   /* of the last; NULL: success */
        bool finished; /* a last reply came */
        int fd;        /* the first received descriptor */
        int status;    /* of the child; 0: no child */
} Conversation;

typedef struct ConversationServer {
        JobKind kind;
        int fd;
        WorkerConfinement confinement;
} ConversationServer;

static inline int conversation_serve(const ConversationServer *server) {
        return worker_serve(server->kind, server->fd, server->confinement);
}

static inline void *conversation_thread(void *userdata) {
        ck_assert_int_eq(conversation_serve(userdata), 0);
        return NULL;
}

static inline void conversation_send(FrameStream *stream, const char *method,
                                     const char *parameters, bool more, const int *fds,
                                     size_t n_fds) {
        int sent[LIMIT_FDS_PER_CALL];
        Buffer frame;

        buffer_init(&frame, 0);
        ck_assert_int_eq(call_encode(&frame, method, span_of(parameters), more), 0);
        for (size_t i = 0; i < n_fds; i++) {
                sent[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
                ck_assert_int_ge(sent[i], 0);
        }
        ck_assert_int_eq(frame_stream_queue(stream, buffer_span(&frame), sent, n_fds), 0);
        ck_assert_int_eq(frame_stream_flush(stream), 0);
        buffer_done(&frame);
}

static inline void conversation_receive(FrameStream *stream, Conversation *ret) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Span frame;
        Reply reply;
        int r;

        while (!ret->finished) {
                r = frame_stream_wait(stream, 60000, &frame);
                if (r == FRAME_E_CLOSED)
                        return;
                ck_assert_int_eq(r, 0);
                ck_assert_int_eq(reply_decode(frame, &reply, complaint), 0);
                ck_assert_uint_lt(ret->n, CONVERSATION_MAX_REPLIES);
                ret->replies[ret->n++] = json_object_get(reply.parameters);
                ret->finished = !reply.continues;
                if (reply.error)
                        ret->error = strdup(reply.error);
                if (ret->fd < 0)
                        ret->fd = frame_stream_take_fd(stream, 0);
                reply_done(&reply);
        }
}

/* An error as the main process tells it. */
static inline json_object *conversation_error(Span body, Conversation *ret) {
        WireErrorDetail detail;
        json_object *object;
        const char *text;
        WireError error;
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert(failure_unpack(body, &error, &detail));
        ck_assert_int_eq(wire_error_encode(&buffer, error, &detail), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        ret->error = strdup(wire_error_names[error]);
        object = json_tokener_parse(text);
        buffer_done(&buffer);
        return object;
}

static inline void conversation_take(PacketReader *reader, Conversation *ret) {
        Span body = buffer_span(&reader->body);
        char *text = strndup(body.bytes ? body.bytes : "", body.n);

        switch (reader->kind) {
        case PACKET_RESULT:
                ck_assert_int_eq(buffer_append(&ret->result, body.bytes, body.n), 0);
                break;
        case PACKET_ERROR:
                ret->replies[ret->n++] = conversation_error(body, ret);
                break;
        case PACKET_PART:
        case PACKET_LAST:
                ck_assert_uint_lt(ret->n, CONVERSATION_MAX_REPLIES);
                ret->replies[ret->n] = json_tokener_parse(text);
                ck_assert_ptr_nonnull(ret->replies[ret->n++]);
                break;
        case PACKET_UNWIND:
        case PACKET_CLOCKS:
        case PACKET_FILES: /* nobody parses files: its descriptor is closed with the next packet */
        case PACKET_ENTRIES:
        case PACKET_CHANGE:
        case PACKET_MEMORY:
        case PACKET_LEFT:
        case PACKET_LISTENING:
        case PACKET_ORDER:
        case PACKET_STOP:
        case PACKET_TELL:
        case _PACKET_KIND_MAX:
                break;
        }
        free(text);
        ret->finished = reader->kind == PACKET_LAST || reader->kind == PACKET_RESULT ||
                        reader->kind == PACKET_ERROR;
        if (ret->fd < 0 && reader->kind != PACKET_FILES && reader->kind != PACKET_MEMORY)
                ret->fd = reader->n_fds > 0 ? TAKE_FD(reader->fds[0]) : -EBADF;
}

static inline void conversation_send_order(int socket, const Order *order, const int *fds,
                                           size_t n_fds) {
        Buffer body;

        buffer_init(&body, 0);
        ck_assert_int_eq(order_pack(order, &body), 0);
        ck_assert_int_eq(packet_send(socket, PACKET_ORDER, buffer_span(&body), fds, n_fds, 0), 0);
        buffer_done(&body);
}

static inline void conversation_hear(int socket, Conversation *ret) {
        struct pollfd wait = { .fd = socket, .events = POLLIN };
        PacketReader reader;
        int r;

        reader = (PacketReader){ .max_bytes = LIMIT_REPLY_BYTES };
        while (!ret->finished) {
                r = packet_receive(&reader, socket);
                if (r == PACKET_E_CLOSED)
                        break;
                ck_assert(r == 0 || r == PACKET_E_AGAIN || r == PACKET_E_PARTIAL);
                if (r == PACKET_E_AGAIN)
                        ck_assert_int_gt(poll(&wait, 1, 60000), 0);
                if (r == 0)
                        conversation_take(&reader, ret);
        }
        packet_reader_done(&reader);
}

static inline void conversation_done(Conversation *conversation) {
        for (size_t i = 0; i < conversation->n; i++)
                json_object_put(conversation->replies[i]);
        buffer_done(&conversation->result);
        free(conversation->error);
        (void) fd_close(conversation->fd);
        *conversation = (Conversation){ .fd = -EBADF };
}

/* A job at the other end of *@ret_fd. */
typedef struct ConversationJob {
        ConversationServer server;
        pthread_t thread;
        pid_t pid;
        int fd;
} ConversationJob;

static inline void conversation_start(ConversationJob *job, JobKind kind, int type,
                                      WorkerConfinement confinement) {
        int pair[2];

        ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
        *job = (ConversationJob){
                .server = { .kind = kind, .fd = pair[1], .confinement = confinement },
                .fd = pair[0],
        };
        if (confinement == WORKER_CONFINED) {
                job->pid = fork();
                if (job->pid == 0) {
                        (void) close(pair[0]);
                        sandbox_exit(conversation_serve(&job->server) == 0 ? EXIT_SUCCESS
                                                                           : EXIT_FAILURE);
                }
                ck_assert_int_gt(job->pid, 0);
                (void) close(pair[1]);
        } else {
                ck_assert_int_eq(
                        pthread_create(&job->thread, NULL, conversation_thread, &job->server), 0);
        }
}

static inline int conversation_await(const ConversationJob *job) {
        int status = 0;

        if (job->server.confinement == WORKER_CONFINED)
                ck_assert_int_eq(waitpid(job->pid, &status, 0), job->pid);
        else
                ck_assert_int_eq(pthread_join(job->thread, NULL), 0);
        return status;
}

/* A call of a client to an analysis job. */
static inline void converse(const char *method, const char *parameters, bool more, const int *fds,
                            size_t n_fds, WorkerConfinement confinement, Conversation *ret) {
        ConversationJob job;
        FrameStream *stream;

        *ret = (Conversation){ .fd = -EBADF };
        conversation_start(&job, JOB_ANALYSIS, SOCK_STREAM, confinement);
        ck_assert_int_eq(frame_stream_new(job.fd, LIMIT_REPLY_BYTES, LIMIT_QUEUED_BYTES,
                                          LIMIT_FDS_PER_CALL, &stream),
                         0);
        conversation_send(stream, method, parameters, more, fds, n_fds);
        conversation_receive(stream, ret);
        (void) frame_stream_free(stream);
        ret->status = conversation_await(&job);
}

/* An order of the main process, with copies of descriptors that @order knows from 1 on. */
static inline void obey(const Order *order, const int *fds, size_t n_fds,
                        WorkerConfinement confinement, Conversation *ret) {
        ConversationJob job;

        *ret = (Conversation){ .fd = -EBADF };
        conversation_start(&job, order->kind, SOCK_SEQPACKET, confinement);
        conversation_send_order(job.fd, order, fds, n_fds);
        conversation_hear(job.fd, ret);
        (void) close(job.fd);
        ret->status = conversation_await(&job);
}

/* Finds the value at a path of keys that ends in NULL; NULL when there is none. */
static inline json_object *json_path(json_object *object, ...) {
        va_list keys;
        const char *key;

        va_start(keys, object);
        while (object && (key = va_arg(keys, const char *)))
                object = json_object_object_get(object, key);
        va_end(keys);
        return object;
}

static inline const char *json_string_at(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key));
}

/* In a case: whether a job of this confinement cannot run here. */
static inline bool cannot_be_tried(WorkerConfinement confinement) {
        return check_skips(confinement == WORKER_CONFINED ? check_lacks_filters() : NULL);
}
