/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "job/job-kind.h"
#include "wire/limits.h"
#include "wire/message.h"
#include "worker/work.h"

/* The connected socket, by the convention of varlink's "exec:": the first of sd_listen_fds(3). */
#define WORKER_SOCKET 3
#define WORKER_CALL_TIMEOUT_MS ((int) (LIMIT_IDLE_NS / NSEC_PER_MSEC))

static const struct {
        int (*run)(Work *work);
        uint64_t max_file_bytes; /* the size of files it may write inside the sandbox */
        /*
         * What is full when it cannot write is the spool. Of files that are in memory the main
         * process, which made them, says instead that they are too large.
         */
        bool fills_spool;
} methods[_ORDER_METHOD_MAX] = {
        [ORDER_CAPTURE] = { work_capture, LIMIT_FILE_BYTES, true },
        [ORDER_PROBE] = { work_probe, 0, false },
        [ORDER_PUBLISH] = { work_publish, 0, true },
        [ORDER_REMOVE] = { work_remove, 0, true },
        [ORDER_RENAME] = { work_rename, 0, true },
        [ORDER_CLEAN] = { work_clean, 0, true },
        [ORDER_SURVEY] = { work_survey, 0, true },
        [ORDER_SHOW] = { work_analysis, 0, false },
        [ORDER_COMPARE] = { work_analysis, 0, false },
        [ORDER_COMPARE_SETS] = { work_compare_sets, 0, false },
        [ORDER_INFO] = { work_info, 0, false },
        [ORDER_TELL_SOURCES] = { work_tell_sources, 0, false },
        [ORDER_VERIFY] = { work_verify, 0, false },
        [ORDER_STACKS] = { work_stacks, 0, false },
        [ORDER_CONVERT] = { work_convert, LIMIT_DOCUMENT_BYTES, true },
        [ORDER_IMPORT] = { work_import, LIMIT_FILE_BYTES, true },
        [ORDER_LOAD] = { work_load, 0, false },
        [ORDER_FOLD] = { work_fold, LIMIT_FOLD_FILE_BYTES, false },
        [ORDER_LISTEN] = { work_listen, LIMIT_LISTEN_FILE_BYTES, false },
        [ORDER_FILES] = { work_files, 0, false },
        [ORDER_RECORD] = { work_record, 0, false },
        [ORDER_UNWIND] = { work_unwind, LIMIT_CAPTURE_BYTES, false },
        [ORDER_JOIN] = { work_join, LIMIT_FILE_BYTES, true },
        [ORDER_MEMORY] = { work_memory, 0, false },
};

/* Neither the file of a client that has started this job nor a capture for its caller alone is. */
static bool is_in_spool(const Work *work) {
        const Order *order = work->order;

        return order && !work->answer.stream && methods[order->method].fills_spool &&
               (order->method != ORDER_CAPTURE || order->capture.spool.directory > 0);
}

/* Sends the error of a method that failed with @r, unless the last reply is sent. */
static int end(Work *work, int r) {
        assert(r != 0 || work->is_confined || !work->confines);
        if (r < 0 && !work->answer.closed && !work->answer.finished) {
                const char *full = is_in_spool(work) ? work_full_reason(r) : NULL;
                WireErrorDetail detail = { .reason = full };

                if (r == -EPROTONOSUPPORT)
                        detail.reason = "this kernel has no seccomp filters, and without one a "
                                        "privileged daemon reads no files";
                else if (r == -EMSGSIZE)
                        detail.reason = "the result is too large to be sent";
                else if (!full)
                        detail.reason = strerror(-r);
                r = answer_error(&work->answer,
                                 full ? WIRE_ERROR_SPOOL_FULL : WIRE_ERROR_JOB_FAILED, &detail);
        }
        return r == WORK_E_ANSWERED || work->answer.closed ? 0 : err_fold(r);
}

/* @door: of a call of a client, which is decoded inside of the sandbox; NULL: there is none. */
static int obey(Work *work, const OrderDoor *door, json_object *parameters) {
        OrderMethod method = work->order->method;
        int r = 0;

        work->max_file_bytes = methods[method].max_file_bytes;
        if (work->confines)
                r = work->terms->entry == JOB_ENTERS_AT_ONCE
                            ? work_confine(work, work->terms->kept_inside)
                            : sandbox_limit_capabilities(work->terms->capabilities);
        if (r == 0 && door)
                r = order_decode(door, parameters, work->order);
        return end(work, r == 0 ? methods[method].run(work) : r);
}

/* an order of the main process */

static int serve_order(JobKind kind, Work *work, PacketReader *reader) {
        struct pollfd wait = { .fd = work->answer.socket, .events = POLLIN };
        int r;

        do {
                r = packet_receive(reader, work->answer.socket);
                if (r == PACKET_E_AGAIN && poll(&wait, 1, WORKER_CALL_TIMEOUT_MS) == 0)
                        return -ETIMEDOUT;
        } while (r == PACKET_E_AGAIN || r == PACKET_E_PARTIAL);
        if (r == PACKET_E_CLOSED)
                return 0;
        if (r == PACKET_E_MALFORMED || (r == 0 && reader->kind != PACKET_ORDER))
                r = -EBADMSG;
        if (r == 0)
                r = order_unpack(buffer_span(&reader->body), kind, reader->n_fds, &work->order);
        if (r != 0)
                return r;
        while (work->n_fds < reader->n_fds) {
                work->fds[work->n_fds] = TAKE_FD(reader->fds[work->n_fds]);
                work->n_fds++;
        }
        work->answer.reader = reader;
        work->answer.more = work->order->more;
        return obey(work, NULL, NULL);
}

/* a call of a client that has started this job itself */

static int open_reference(void *userdata, const char *key, OrderReference *reference,
                          OrderFd *ret) {
        Work *work = userdata;
        int fd = -EBADF;

        if (reference->name)
                return work_refuse_parameter(work, "name", NULL);
        if (work->n_fds < ELEMENTSOF(work->fds))
                fd = frame_stream_take_fd(work->answer.stream, (size_t) reference->index.value);
        if (fd < 0)
                return work_refuse_parameter(work, "fileDescriptor", NULL);
        work->fds[work->n_fds++] = fd;
        *ret = (OrderFd) work->n_fds;
        return 0;
}

static int refuse_call(void *userdata, WireError error, const WireErrorDetail *detail) {
        return work_refuse(userdata, error, detail);
}

static int serve_frame(Work *work) {
        const OrderDoor door = { .open = open_reference, .refuse = refuse_call, .userdata = work };
        char complaint[MESSAGE_COMPLAINT_BYTES];
        _cleanup_(call_done) Call call = {};
        OrderMethod method;
        Span frame;
        int r;

        r = frame_stream_wait(work->answer.stream, WORKER_CALL_TIMEOUT_MS, &frame);
        if (r == FRAME_E_CLOSED)
                return 0;
        if (r == FRAME_E_AGAIN)
                return -ETIMEDOUT;
        if (r != 0)
                return err_fold(r);
        r = call_decode(frame, &call, complaint);
        if (r == MESSAGE_E_MALFORMED)
                r = work_refuse_parameter(work, "call", complaint);
        if (r != 0)
                return end(work, r);
        work->answer.more = call.more;
        work->answer.silent = call.oneway;
        method = order_method_find(call.method);
        if (method == _ORDER_METHOD_MAX) {
                r = work_refuse(work, WIRE_ERROR_METHOD_NOT_FOUND,
                                &(WireErrorDetail){ .subject = span_of(call.method) });
                return end(work, r);
        }
        work->order = order_new(method);
        if (!work->order)
                return end(work, -ENOMEM);
        work->order->more = call.more;
        return obey(work, &door, call.parameters);
}

int worker_serve(JobKind kind, int socket, WorkerConfinement confinement) {
        Work work = {
                .terms = &job_terms[kind],
                .confines = confinement == WORKER_CONFINED,
                .answer = { .socket = socket,
                            .parameters = { .max_bytes = ANSWER_PARAMETERS_BYTES },
                            .frame = { .max_bytes = LIMIT_REPLY_BYTES } },
        };
        PacketReader reader;
        socklen_t n_type = sizeof(int);
        int type, r;

        if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &n_type) < 0)
                return -errno;
        reader = (PacketReader){ .max_bytes = ORDER_MAX_BYTES };
        if (type == SOCK_SEQPACKET) {
                r = serve_order(kind, &work, &reader);
        } else if (kind == JOB_ANALYSIS) {
                r = frame_stream_new(socket, LIMIT_CALL_BYTES, LIMIT_QUEUED_BYTES,
                                     LIMIT_FDS_PER_CALL, &work.answer.stream);
                if (r == 0)
                        r = serve_frame(&work);
        } else {
                r = -EPROTOTYPE;
        }
        for (size_t i = 0; i < work.n_fds; i++)
                (void) fd_close(work.fds[i]);
        freep(&work.order);
        packet_reader_done(&reader);
        buffer_done(&work.answer.parameters);
        buffer_done(&work.answer.frame);
        if (work.answer.stream)
                (void) frame_stream_free(work.answer.stream);
        else
                (void) fd_close(socket);
        return r;
}

_noreturn_ void worker_main(const char *word) {
        const char *count = getenv("LISTEN_FDS");
        struct sockaddr_storage peer;
        socklen_t n_peer = sizeof(peer);
        JobKind kind;
        sigset_t none;
        uint64_t n;
        int r = 0;

        if (!job_kind_find(word, &kind)) {
                (void) fprintf(stderr, "ctprofd: there is no kind of job named \"%s\"\n", word);
                sandbox_exit(EXIT_FAILURE);
        }
        /* A job inherits the signal mask of its parent's event loop, but has no event loop. */
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGTERM, SIG_DFL);
        (void) signal(SIGINT, SIG_DFL);
        (void) signal(SIGPIPE, SIG_IGN);
        /* The variable may be missing, but must not contradict. */
        if (count && (!number_parse_u64(span_of(count), &n) || n < 1))
                r = -ENOTCONN;
        else if (getpeername(WORKER_SOCKET, (struct sockaddr *) &peer, &n_peer) != 0 ||
                 fcntl(WORKER_SOCKET, F_SETFD, FD_CLOEXEC) != 0)
                r = -errno;
        if (r == 0)
                r = worker_serve(kind, WORKER_SOCKET, WORKER_CONFINED);
        if (r != 0)
                (void) fprintf(stderr, "ctprofd: the %s job cannot serve its call: %s\n", word,
                               strerror(-r));
        sandbox_exit(r == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}
