/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/err.h"
#include "base/number.h"
#include "job/job-kind.h"
#include "wire/limits.h"
#include "worker/work.h"

/* The connected socket, by the convention of varlink's "exec:": the first of sd_listen_fds(3). */
#define WORKER_SOCKET 3
#define WORKER_CALL_TIMEOUT_MS ((int) (LIMIT_IDLE_NS / NSEC_PER_MSEC))
/* The main process adds labels and descriptors to a call before it passes it on. */
#define WORKER_CALL_BYTES (2 * LIMIT_CALL_BYTES)

/* The tables of each kind, ended by NULL. A kind without its list does not compile. */
static const WorkMethod *const methods_of_CAPTURE[] = { work_capture_methods, NULL };
static const WorkMethod *const methods_of_MEMORY[] = { work_memory_methods, NULL };
static const WorkMethod *const methods_of_LOAD[] = { work_load_methods, NULL };
static const WorkMethod *const methods_of_FOLD[] = { work_fold_methods, NULL };
static const WorkMethod *const methods_of_LISTEN[] = { work_listen_methods, NULL };
static const WorkMethod *const methods_of_FILES[] = { work_files_methods, NULL };
static const WorkMethod *const methods_of_ANALYSIS[] = {
        work_analysis_methods, work_verify_methods, work_convert_methods,
        work_import_methods,   work_sets_methods,   NULL,
};
static const WorkMethod *const methods_of_SPOOL[] = { work_spool_methods, work_survey_methods,
                                                      NULL };

static const WorkMethod *const *const worker_tables[_JOB_KIND_MAX] = {
#define WORKER_TABLE(id, ...) [JOB_##id] = methods_of_##id,
        JOB_KINDS(WORKER_TABLE)
#undef WORKER_TABLE
};

static const WorkMethod *worker_method_find(JobKind kind, const char *name) {
        const WorkMethod *const *table = worker_tables[kind];

        for (; *table; table++)
                for (const WorkMethod *method = *table; method->name; method++)
                        if (strcmp(method->name, name) == 0)
                                return method;
        return NULL;
}

/* Sends the error of a method that failed. */
static int worker_fail(Work *work, int error) {
        const char *reason = strerror(-error), *full = work_full_reason(error);

        if (full)
                return answer_error(&work->answer, WIRE_ERROR_SPOOL_FULL,
                                    &(WireErrorDetail){ .reason = full });

        if (error == -EPROTONOSUPPORT)
                reason = "this kernel has no seccomp filters, and without one a privileged "
                         "daemon reads no files";
        if (error == -EMSGSIZE)
                reason = "the result is too large to be sent";
        return answer_error(&work->answer, WIRE_ERROR_JOB_FAILED,
                            &(WireErrorDetail){ .reason = reason });
}

static int worker_dispatch(JobKind kind, Work *work, WorkerConfinement confinement) {
        const WorkMethod *method = worker_method_find(kind, work->call.method);
        int r;

        if (!method)
                return work_refuse(work, WIRE_ERROR_METHOD_NOT_FOUND,
                                   &(WireErrorDetail){ .subject = span_of(work->call.method) });
        if (method->need == WORK_NEEDS_MORE && !work->call.more)
                return work_refuse(work, WIRE_ERROR_EXPECTED_MORE, NULL);
        work->terms = job_terms(kind);
        work->max_file_bytes = method->max_file_bytes;
        work->confines = confinement == WORKER_CONFINED;
        if (work->confines) {
                r = work->terms->entry == JOB_ENTERS_AT_ONCE
                            ? work_confine(work, work->terms->kept_inside)
                            : sandbox_limit_capabilities(work->terms->capabilities);
                if (r != 0)
                        return r;
        }
        r = method->run(work);
        assert(r != 0 || work->is_confined || !work->confines);
        return r;
}

static int worker_serve_call(JobKind kind, Work *work, Span frame, WorkerConfinement confinement) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        int r;

        r = call_decode(frame, &work->call, complaint);
        if (r == MESSAGE_E_MALFORMED)
                return work_refuse_parameter(work, "call", complaint);
        if (r != 0)
                return err_fold(r);

        work->answer.more = work->call.more;
        work->answer.silent = work->call.oneway;
        r = worker_dispatch(kind, work, confinement);
        if (r < 0 && !answer_is_closed(&work->answer) && !work->answer.finished)
                r = worker_fail(work, r);
        call_done(&work->call);
        return r;
}

int worker_serve(JobKind kind, FrameStream *stream, WorkerConfinement confinement) {
        Work work = { .stream = stream };
        Span frame;
        int r;

        r = frame_stream_wait(stream, WORKER_CALL_TIMEOUT_MS, &frame);
        if (r == FRAME_E_CLOSED)
                return 0;
        if (r == FRAME_E_AGAIN)
                return -ETIMEDOUT;
        if (r != 0)
                return err_fold(r);

        answer_init(&work.answer, stream);
        r = worker_serve_call(kind, &work, frame, confinement);
        if (r == WORK_E_ANSWERED || answer_is_closed(&work.answer))
                r = 0;
        answer_done(&work.answer);
        return err_fold(r);
}

/* A job inherits the signal mask of the event loop of its parent, but has no event loop. */
static void worker_reset_signals(void) {
        sigset_t none;

        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGTERM, SIG_DFL);
        (void) signal(SIGINT, SIG_DFL);
        (void) signal(SIGPIPE, SIG_IGN);
}

static int worker_adopt_socket(FrameStream **ret) {
        const char *count = getenv("LISTEN_FDS");
        struct sockaddr_storage peer;
        socklen_t n_peer = sizeof(peer);
        uint64_t n;
        int r;

        /* The variable may be missing, but must not contradict. */
        if (count && (!number_parse_u64(span_of(count), &n) || n < 1))
                return -ENOTCONN;
        if (getpeername(WORKER_SOCKET, (struct sockaddr *) &peer, &n_peer) != 0)
                return -errno;
        if (fcntl(WORKER_SOCKET, F_SETFD, FD_CLOEXEC) != 0)
                return -errno;
        r = frame_stream_new(WORKER_SOCKET, WORKER_CALL_BYTES, LIMIT_QUEUED_BYTES,
                             LIMIT_FDS_PER_ORDER, ret);
        return err_fold(r);
}

_noreturn_ void worker_main(const char *word) {
        FrameStream *stream = NULL;
        JobKind kind;
        int r;

        if (!job_kind_find(word, &kind)) {
                (void) fprintf(stderr, "ctprofd: there is no kind of job named \"%s\"\n", word);
                sandbox_exit(EXIT_FAILURE);
        }
        worker_reset_signals();
        r = worker_adopt_socket(&stream);
        if (r == 0) {
                r = worker_serve(kind, stream, WORKER_CONFINED);
                (void) frame_stream_free(stream);
        }
        if (r != 0)
                (void) fprintf(stderr, "ctprofd: the %s job cannot serve its call: %s\n", word,
                               strerror(-r));
        sandbox_exit(r == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}
