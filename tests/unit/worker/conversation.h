/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Conversation
 *
 * One call of a job and all its replies. An unconfined job runs on a thread of this process, so
 * that its leaks and side effects are visible; a confined one runs in a child because a sandbox
 * cannot be left.
 */

#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interface/job-interface.h"
#include "job/sandbox/sandbox.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/message.h"
#include "worker/worker.h"

#define CONVERSATION_MAX_REPLIES 4096

typedef struct Conversation {
        json_object *replies[CONVERSATION_MAX_REPLIES]; /* parameters of each */
        size_t n;
        json_object *change; /* what the job told the main process alone, or NULL */
        char *error;         /* of the last; NULL: success */
        bool finished;       /* a last reply came */
        int fd;              /* the first received descriptor */
        int status;          /* of the child; 0: no child */
} Conversation;

typedef struct ConversationServer {
        JobKind kind;
        int fd;
        WorkerConfinement confinement;
} ConversationServer;

static inline int conversation_serve(const ConversationServer *server) {
        FrameStream *stream;
        int r;

        r = frame_stream_new(server->fd, 2 * LIMIT_CALL_BYTES, LIMIT_QUEUED_BYTES,
                             LIMIT_FDS_PER_CALL, &stream);
        if (r != 0)
                return r;
        r = worker_serve(server->kind, stream, server->confinement);
        (void) frame_stream_free(stream);
        return r;
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
                if (reply.continues &&
                    json_object_object_get(reply.parameters, JOB_KEY_SPOOL_CHANGE)) {
                        json_object_put(ret->change);
                        ret->change = json_object_get(
                                json_object_object_get(reply.parameters, JOB_KEY_SPOOL_CHANGE));
                        reply_done(&reply);
                        continue;
                }
                /* Nobody parses files: its descriptor is closed with the next reply. */
                if (reply.continues && json_object_object_get(reply.parameters, JOB_KEY_FILES)) {
                        reply_done(&reply);
                        continue;
                }
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

static inline void conversation_done(Conversation *conversation) {
        for (size_t i = 0; i < conversation->n; i++)
                json_object_put(conversation->replies[i]);
        json_object_put(conversation->change);
        free(conversation->error);
        (void) fd_close(conversation->fd);
        *conversation = (Conversation){ .fd = -EBADF };
}

static inline void converse(const char *kind, const char *method, const char *parameters, bool more,
                            const int *fds, size_t n_fds, WorkerConfinement confinement,
                            Conversation *ret) {
        ConversationServer server = { .confinement = confinement };
        FrameStream *stream;
        pthread_t thread;
        pid_t pid = 0;
        int pair[2], status = 0;

        *ret = (Conversation){ .fd = -EBADF };
        ck_assert(job_kind_find(kind, &server.kind));
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert_int_eq(frame_stream_new(pair[0], LIMIT_REPLY_BYTES, LIMIT_QUEUED_BYTES,
                                          LIMIT_FDS_PER_CALL, &stream),
                         0);
        server.fd = pair[1];
        if (confinement == WORKER_CONFINED) {
                pid = fork();
                if (pid == 0) {
                        (void) frame_stream_free(stream);
                        sandbox_exit(conversation_serve(&server) == 0 ? EXIT_SUCCESS
                                                                      : EXIT_FAILURE);
                }
                ck_assert_int_gt(pid, 0);
                (void) close(pair[1]);
        } else {
                ck_assert_int_eq(pthread_create(&thread, NULL, conversation_thread, &server), 0);
        }
        conversation_send(stream, method, parameters, more, fds, n_fds);
        conversation_receive(stream, ret);
        (void) frame_stream_free(stream);
        if (confinement == WORKER_CONFINED)
                ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        else
                ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ret->status = status;
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
