/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-id128.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "capture/exited-rows.h"
#include "capture/capture.h"
#include "config.h"
#include "exits/exit-line.h"
#include "wire/limits.h"

/* The machine id is hashed with this, so that it cannot be matched with other programs' ids. */
#define CAPTURE_APPLICATION_ID \
        SD_ID128_MAKE(5d, 0b, 8e, 2f, 71, 4c, 4a, 96, 9e, 3d, c2, 18, f6, 0a, 57, e3)

/*
 * One snapshot on its way from the kernel into a file. A spool job gives the file its name: this
 * one reads text that everybody on the host can choose, so it looks at the spool before and then
 * enters a sandbox in which it can change nothing there.
 */
typedef struct CaptureJob {
        Work *work;                /* borrowed */
        const CaptureOrder *order; /* borrowed */
        /* Held for the answer: threads of the capture may ask for a job that reads memory. */
        pthread_mutex_t lock;
        Spool *spool; /* NULL: anonymous */
        int file;
        CaptureOptions options; /* its descriptors are owned */
        TaskObjects tasks;      /* of these options, as the next ones */
        ReadySystem *system;
        pid_t self_pids[ORDER_MAX_PIDS + 1];

        SnapshotFileWriter *writer;
        int write_error; /* set when writing failed, to distinguish it from failures of reading */
        Head head;
        SourceTable sources;
        Buffer rotated; /* names that had to make room before the capture */
} CaptureJob;

/* NULL for "": there is no reason. */
static const char *reason_of(const char *text) {
        return text[0] != '\0' ? text : NULL;
}

static void capture_job_done(CaptureJob *job) {
        job->writer = snapshot_file_writer_free(job->writer);
        job->spool = spool_free(job->spool);
        job->system = ready_system_free(job->system);
        job->options.proc_fd = fd_close(job->options.proc_fd);
        job->options.sys_fd = fd_close(job->options.sys_fd);
        job->file = fd_close(job->file);
        job->options.heap_cache_fd = fd_close(job->options.heap_cache_fd);
        job->options.exits_fd = fd_close(job->options.exits_fd);
        task_objects_done(&job->tasks);
        (void) pthread_mutex_destroy(&job->lock);
        head_done(&job->head);
        buffer_done(&job->rotated);
}

/* before anything is read */

static int capture_job_refuse_spool(CaptureJob *job, int r) {
        /* First, so that the caller who reads the refusal and tries again finds the room free. */
        (void) !ftruncate(job->file, 0);
        return work_refuse_spool(job->work, job->spool, job->order->name, r);
}

/* Refuses a name that is in use, and a spool that is full, before the capture and not after it. */
static int capture_job_look_at_spool(CaptureJob *job) {
        const CaptureOrder *order = job->order;
        const SpoolNeed need = {
                .uid = order->uid,
                .replaces = order->replace ? reason_of(order->name) : NULL,
        };
        _cleanup_(fd_closep) int fd = -EBADF;
        _cleanup_(head_done) Head head = {};
        struct rlimit limit;
        uint64_t n_room;
        int r;

        if (order->spool.directory == 0)
                return 0;
        r = work_open_spool(job->work, &order->spool, false, &job->spool);
        if (r != 0)
                return r;
        if (order->name[0] != '\0') {
                r = spool_open_snapshot(job->spool, order->name, &fd, &head);
                if (r != 0 && r != SPOOL_E_NOT_FOUND && r != SPOOL_E_DAMAGED)
                        return capture_job_refuse_spool(job, r);
                if (r != SPOOL_E_NOT_FOUND && !order->replace)
                        return capture_job_refuse_spool(job, SPOOL_E_EXISTS);
                /* If it is damaged, spool_publish() checks whose it is. */
                if (r == 0 && order->uid != 0 && head.has_uid && head.uid != order->uid)
                        return capture_job_refuse_spool(job, SPOOL_E_NOT_OWNER);
                fd = fd_close(fd);
        }
        r = spool_make_room(job->spool, &order->spool.limits, &need, &job->rotated);
        if (r != 0)
                return capture_job_refuse_spool(job, r);
        /* Other jobs may write at the same time: together they leave free what must stay free. */
        r = spool_find_room(job->spool, &order->spool.limits, &n_room);
        if (r != 0)
                return r;
        limit.rlim_cur = limit.rlim_max = MIN_OF(n_room, (uint64_t) LIMIT_CAPTURE_BYTES);
        return setrlimit(RLIMIT_FSIZE, &limit) < 0 ? -errno : 0;
}

/* Opens what cannot be opened any more in the sandbox, and enters it. */
static int capture_job_open_kernel(CaptureJob *job) {
        int r;

        job->options.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (job->options.proc_fd < 0)
                return -errno;
        /* Without /sys its readings are absent. */
        job->options.sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = ready_system_new(CAPTURE_DEFAULT_WORKERS, &job->system);
        if (r != 0)
                return r;
        job->options.system = &job->system->system;
        return work_confine(job->work, UINT64_MAX);
}

/* capture */

static int capture_job_write(void *userdata, const char *bytes, size_t n) {
        CaptureJob *job = userdata;
        int r;

        r = snapshot_file_writer_write(job->writer, bytes, n);
        if (r < 0)
                job->write_error = r;
        return r;
}

static void capture_job_progress(void *userdata, const char *phase, uint64_t done, uint64_t total) {
        CaptureJob *job = userdata;

        /* Errors are ignored: capture_job_cancelled() notices that the peer has hung up. */
        (void) pthread_mutex_lock(&job->lock);
        (void) !answer_progress(&job->work->answer, phase, done, total);
        (void) pthread_mutex_unlock(&job->lock);
}

static bool capture_job_cancelled(void *userdata) {
        CaptureJob *job = userdata;
        bool has_peer;

        (void) pthread_mutex_lock(&job->lock);
        has_peer = answer_has_peer(&job->work->answer);
        (void) pthread_mutex_unlock(&job->lock);
        return !has_peer;
}

/* The main process starts the job, or closes @peer_fd, which ends the room that asks. */
static int capture_job_open_memory(void *userdata, int peer_fd) {
        CaptureJob *job = userdata;
        int r;

        (void) pthread_mutex_lock(&job->lock);
        r = answer_packet(&job->work->answer, PACKET_MEMORY, (Span){}, &peer_fd, 1);
        (void) pthread_mutex_unlock(&job->lock);
        (void) fd_close(peer_fd);
        return r;
}

static void capture_job_init(CaptureJob *job, Work *work) {
        const CaptureOrder *order = &work->order->capture;
        size_t n_self_pids = MIN_OF(order->n_self_pids, (uint32_t) ORDER_MAX_PIDS);

        *job = (CaptureJob){
                .work = work,
                .order = order,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .file = work_take_fd(work, order->output),
                .options = {
                        .proc_fd = -EBADF,
                        .sys_fd = -EBADF,
                        .n_workers = CAPTURE_DEFAULT_WORKERS,
                        .smaps = order->smaps,
                        .smaps_max_rss_bytes = order->smaps_max_rss_bytes,
                        .smaps_max_processes = order->smaps_max_processes,
                        .smaps_limit_ns = order->smaps_limit_ns,
                        .heap = order->heap,
                        .commands = order->commands,
                        .heap_limit_ns = order->heap_limit_ns,
                        .tasks = &job->tasks,
                        .no_tasks = reason_of(order->no_tasks),
                        .exits_fd = -EBADF,
                        .hears_exits = order->hears_exits,
                        .no_exits = reason_of(order->no_exits),
                        .reasons_ns = order->reasons_ns,
                        .no_reasons = reason_of(order->no_reasons),
                        .main_pid = getppid(), /* the sandbox has no call for it */
                        .heap_cache_fd = work_take_fd(work, order->heap_cache),
                        .open_memory = capture_job_open_memory,
                        .no_memory = reason_of(order->no_memory),
                        .self_pids = job->self_pids,
                        .n_self_pids = n_self_pids + 1,
                        .pace = { .progress = capture_job_progress,
                                  .cancelled = capture_job_cancelled,
                                  .userdata = job },
                },
        };
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++)
                job->tasks.fds[i] = work_take_fd(work, order->tasks[i]);
        memcpy(job->self_pids, order->self_pids, n_self_pids * sizeof(*job->self_pids));
        job->self_pids[n_self_pids] = getpid();
        buffer_init(&job->rotated, 0);
}

static int capture_job_run(CaptureJob *job) {
        const char *name = reason_of(job->order->name);
        Head *head = &job->head;
        char reason[128];
        int r;

        r = snapshot_file_writer_new(job->file, &job->writer);
        if (r != 0)
                return err_fold(r);
        r = capture_run(&job->options, 0, capture_job_write, job, &job->head, &job->sources);
        if (r == CAPTURE_E_CANCELLED)
                return -ECANCELED;
        if (r < 0 && job->write_error != 0 && job->spool)
                return capture_job_refuse_spool(job, spool_explain(job->spool, r));
        if (r < 0 && r != -ENOMEM) {
                (void) snprintf(reason, sizeof(reason), "cannot read the threads of this host: %s",
                                strerror(-r));
                return work_refuse(job->work, WIRE_ERROR_JOB_FAILED,
                                   &(WireErrorDetail){ .reason = reason });
        }
        if (r != 0)
                return err_fold(r);
        if (name)
                (void) snprintf(head->name, sizeof(head->name), "%s", name);
        else
                r = work_time_name(head, head->name);
        if (r != 0)
                return r;
        r = snapshot_file_writer_finish(job->writer, head, &head->size_bytes);
        head->has_size = r == 0;
        if (r < 0 && job->spool)
                return capture_job_refuse_spool(job, spool_explain(job->spool, r));
        return err_fold(r);
}

int work_capture(Work *work) {
        const CaptureOrder *order = &work->order->capture;
        _cleanup_(buffer_done) Buffer sources = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        _cleanup_(capture_job_done) CaptureJob job;
        _cleanup_(fd_closep) int line = -EBADF;
        Head *head = &job.head;
        JsonWriter writer;
        sd_id128_t machine;
        int r;

        capture_job_init(&job, work);
        if (order->smaps >= _SMAPS_MODE_MAX || order->commands >= _COMMAND_LINES_MAX)
                return -EINVAL;
        r = order->name[0] != '\0' ? work_check_name(work, order->name) : 0;
        if (r == 0)
                r = capture_job_look_at_spool(&job);
        if (r != 0)
                return r;
        head->format_version = HEAD_FORMAT_VERSION;
        head->tagged = order->tagged;
        head->has_uid = true;
        head->uid = order->uid;
        (void) snprintf(head->tool_version, sizeof(head->tool_version), "%s", CTPROF_VERSION);
        /* Snapshots of a host without a machine id have none. */
        if (sd_id128_get_machine_app_specific(CAPTURE_APPLICATION_ID, &machine) == 0)
                (void) sd_id128_to_string(machine, head->machine_id);
        /* Before the sandbox, in which no descriptors are taken; the file is looked at there. */
        line = work_take_fd(work, order->exit_line);
        if (line >= 0) {
                r = exit_line_receive(line, LIMIT_LISTEN_NS, &job.options.exits_fd);
                if (r == EXIT_LINE_E_SILENT)
                        job.options.no_exits = "the job that hears of exits did not answer in time";
                else if (r != 0)
                        job.options.no_exits = "the job that hears of exits could not tell of them";
        }
        line = fd_close(line);
        r = capture_job_open_kernel(&job);
        if (r == 0)
                r = capture_job_run(&job);

        if (r != 0)
                return r;
        /* Nobody names an anonymous snapshot, so this is the whole answer. */
        if (!job.spool) {
                JsonWriter *reply = answer_begin(&work->answer);
                char path[64];
                int fd;

                json_write_key(reply, "snapshot");
                head_write_json(reply, head);
                json_write_key(reply, "sources");
                source_table_write_json(reply, &job.sources);
                /* Reopen read-only: our descriptor is writable and the caller must not get it. */
                (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", job.file);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0)
                        return -errno;
                json_write_member_u64(reply, "fileDescriptor", 0);
                return answer_send(&work->answer, PACKET_LAST, fd);
        }
        /* A spool job gives the file its name and tells the rest. */
        json_writer_init(&writer, &sources);
        source_table_write_json(&writer, &job.sources);
        r = json_writer_finish(&writer);
        if (r != 0)
                return r;
        return answer_texts(&work->answer,
                            (const Span[]){ buffer_span(&sources), buffer_span(&job.rotated) }, 2);
}

/* probe */

int work_answer_sources(Work *work, const SourceTable *table, Span sample,
                        const LedgerSummary *summary) {
        _cleanup_(buffer_done) Buffer sources = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        _cleanup_(buffer_done) Buffer losses = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        JsonWriter writer;
        int r;

        json_writer_init(&writer, &sources);
        source_table_write_json(&writer, table);
        r = json_writer_finish(&writer);
        if (r == 0 && summary) {
                json_writer_init(&writer, &losses);
                json_write_object(&writer);
                owner_losses_write_json(&writer, summary->losses, summary->n_losses);
                json_write_end(&writer);
                r = json_writer_finish(&writer);
        }
        if (r != 0)
                return r;
        return answer_texts(&work->answer,
                            (const Span[]){ buffer_span(&sources), sample, buffer_span(&losses) },
                            3);
}

int work_probe(Work *work) {
        _cleanup_(capture_job_done) CaptureJob job;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        LedgerSummary summary = {};
        CaptureSample sample;
        bool is_surveyed;
        char text[128];
        int r;

        capture_job_init(&job, work);
        r = capture_job_open_kernel(&job);
        if (r != 0)
                return r;
        r = capture_probe(&job.options, &job.sources, &sample);
        if (r != 0)
                return err_fold(r);
        (void) snprintf(text, sizeof(text), "{\"threads\":%" PRIu64 ",\"processes\":%" PRIu64 "}",
                        sample.n_threads, sample.n_processes);
        /* Nobody is named when it cannot be told who lost rows. */
        is_surveyed = ledger_open(&job.tasks, &ledger) == 0 && ledger &&
                      ledger_survey(ledger) == 0 && exited_rows_find_losses(ledger, &summary) == 0;
        return work_answer_sources(work, &job.sources, span_of(text),
                                   is_surveyed ? &summary : NULL);
}
