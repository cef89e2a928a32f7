/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Bench
 *
 * A whole service with its own spool and fake jobs, for tests. The caller's side is a plain socket,
 * and the event loop runs while the test waits for a frame.
 */

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "default-settings.h"
#include "job/fd-store.h"
#include "job/job.h"
#include "log/log.h"
#include "server/server.h"
#include "service/service.h"
#include "spool/spool.h"
#include "wire/frame.h"
#include "wire/limits.h"

typedef struct Bench {
        char path[64];
        sd_event *event;
        Users *users;
        Spool *spool;
        Disposal *disposal;
        JobPool *pool;
        FdStore *fd_store;
        Manager *manager;
        Server *server;
        unsigned n_running, n_waiting;
} Bench;

static inline void bench_on_activity(void *userdata) {
        Bench *bench = userdata;

        queue_count(bench->users, &bench->n_running, &bench->n_waiting);
}

static inline void bench_open(Bench *bench, const char *spool_path) {
        const ConnectionLimits limits = server_default_limits();
        const UserLimits user_limits = user_default_limits(LIMIT_ANALYSES);
        Manager setup = {
                .settings = default_settings(),
                .on_activity = bench_on_activity,
                .userdata = bench,
        };
        int fd = open(FAKE_CTPROFD, O_PATH | O_CLOEXEC);

        log_open(LOG_ERR);
        ck_assert_msg(fd >= 0, "%s: %s", FAKE_CTPROFD, strerror(errno));
        ck_assert_int_ge(sd_event_new(&bench->event), 0);
        ck_assert_int_ge(spool_open(spool_path, &bench->spool), 0);
        ck_assert_int_eq(users_new(&user_limits, &bench->users), 0);
        ck_assert_int_eq(disposal_new(bench->event, bench->users, &bench->disposal), 0);
        ck_assert_int_eq(job_pool_new(bench->event, bench->users, bench->disposal, fd, "ctprofd",
                                      &bench->pool),
                         0);
        setup.event = bench->event;
        setup.users = bench->users;
        setup.disposal = bench->disposal;
        setup.pool = bench->pool;
        ck_assert_int_eq(fd_store_new("test", &bench->fd_store), 0);
        setup.fd_store = bench->fd_store;
        setup.spool = bench->spool;
        /* Captures without a job that loads programs before: test-loading has those. */
        setup.settings.backend = BACKEND_CHOICE_PROCFS;
        setup.settings.spool = (SpoolLimits){ .max_bytes = 1 << 20, .max_age_ns = 5 };
        ck_assert_int_eq(service_new(&setup, &bench->manager), 0);
        ck_assert_int_eq(server_new(bench->event, bench->users, bench->disposal, &limits,
                                    &service_events, bench->manager, &bench->server),
                         0);
}

static inline void bench_init(Bench *bench) {
        *bench = (Bench){ .path = "/tmp/ctprof-test-XXXXXX" };
        ck_assert_ptr_nonnull(mkdtemp(bench->path));
        bench_open(bench, bench->path);
}

static inline void bench_close(Bench *bench) {
        service_stop(bench->manager);
        server_free(bench->server);
        service_free(bench->manager);
        job_pool_free(bench->pool);
        fd_store_free(bench->fd_store);
        disposal_free(bench->disposal);
        users_free(bench->users);
        spool_free(bench->spool);
        sd_event_unref(bench->event);
}

static inline void bench_done(Bench *bench) {
        SpoolEntry *entries = NULL;
        char path[256];
        size_t n = 0;

        ck_assert_int_eq(spool_list(bench->spool, &entries, &n), 0);
        for (size_t i = 0; i < n; i++) {
                (void) snprintf(path, sizeof(path), "%s/%s" SNAPSHOT_FILE_SUFFIX, bench->path,
                                entries[i].head.name);
                ck_assert_int_eq(unlink(path), 0);
        }
        spool_entries_free(entries, n);
        bench_close(bench);
        ck_assert_int_eq(rmdir(bench->path), 0);
}

/* A snapshot with an empty document. */
static inline void bench_add(Bench *bench, const char *name, uint64_t start_realtime_ns) {
        SnapshotFileWriter *writer;
        Head head = {
                .format_version = HEAD_FORMAT_VERSION,
                .has_start_realtime = true,
                .start_realtime_ns = start_realtime_ns,
                .has_uid = true,
                .uid = getuid(),
                .tagged = true,
        };
        uint64_t n_bytes;
        int fd;

        (void) snprintf(head.name, sizeof(head.name), "%s", name);
        ck_assert_int_eq(spool_temporary(bench->spool, &fd), 0);
        ck_assert_int_eq(snapshot_file_writer_new(fd, &writer), 0);
        ck_assert_int_eq(snapshot_file_writer_write(writer, "{}", 2), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &head, &n_bytes), 0);
        snapshot_file_writer_free(writer);
        ck_assert_int_eq(spool_publish(bench->spool, fd, name, false, 0, NULL), 0);
        fd_close(fd);
}

static inline FrameStream *bench_connect(Bench *bench) {
        FrameStream *stream;
        int ends[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        ck_assert_int_eq(server_adopt(bench->server, ends[0]), SERVER_OK);
        ck_assert_int_eq(frame_stream_new(ends[1], LIMIT_REPLY_BYTES, LIMIT_CALL_BYTES,
                                          LIMIT_FDS_PER_CALL, &stream),
                         0);
        return stream;
}

static inline void bench_send(FrameStream *stream, const char *call, const int *fds, size_t n_fds) {
        ck_assert_int_eq(frame_stream_queue(stream, span_of(call), fds, n_fds), 0);
        ck_assert_int_eq(frame_stream_write(stream), 0);
}

/* The next frame as text, valid until the next call; "EOF" when the daemon closed the socket. */
static inline const char *bench_receive(Bench *bench, FrameStream *stream) {
        static char text[LIMIT_REPLY_BYTES + 1];
        Span frame;
        int r;

        for (;;) {
                r = frame_stream_next(stream, &frame);
                if (r == FRAME_OK)
                        break;
                ck_assert_int_eq(r, FRAME_E_AGAIN);
                r = frame_stream_read(stream);
                if (r == FRAME_E_CLOSED)
                        return "EOF";
                if (r == FRAME_E_AGAIN)
                        ck_assert_int_ge(sd_event_run(bench->event, 20000), 0);
                else
                        ck_assert_int_eq(r, 0);
        }
        memcpy(text, frame.bytes, frame.n);
        text[frame.n] = '\0';
        return text;
}

static inline const char *bench_call(Bench *bench, FrameStream *stream, const char *call) {
        bench_send(stream, call, NULL, 0);
        return bench_receive(bench, stream);
}

static inline size_t bench_n_children(const Bench *bench) {
        return bench->pool->n_jobs;
}

/* Runs the event loop until this many jobs run and wait. */
static inline void bench_await(Bench *bench, unsigned n_running, unsigned n_waiting) {
        while (bench->n_running != n_running || bench->n_waiting != n_waiting)
                ck_assert_int_ge(sd_event_run(bench->event, 20000), 0);
}
