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
#include "capture/bpf/dead-rows.h"
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
typedef struct Recording {
        Work *work;                /* borrowed */
        const CaptureOrder *order; /* borrowed */
        /* Held for the answer: threads of the capture may ask for a job that reads memory. */
        pthread_mutex_t lock;
        Spool *spool; /* NULL: anonymous */
        int file;
        int heap_cache; /* negative: none */
        int exits;      /* what the listener told; negative: nothing */
        const char *no_exits;
        TaskObjects tasks;
        ReadySystem *system;
        int proc_fd, sys_fd;
        pid_t main_pid; /* asked for before the sandbox, where there is no call for it */
        pid_t self_pids[ORDER_MAX_PIDS + 1];
        size_t n_self_pids;

        SnapshotFileWriter *writer;
        int write_error; /* set when writing failed, to distinguish it from failures of reading */
        Head head;
        SourceTable sources;
        Buffer rotated; /* names that had to make room before the capture */
} Recording;

/* NULL for "": there is no reason. */
static const char *reason_of(const char *text) {
        return text[0] != '\0' ? text : NULL;
}

static void recording_init(Recording *recording, Work *work) {
        const CaptureOrder *order = &work->order->capture;

        *recording = (Recording){
                .work = work,
                .order = order,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .file = work_take_fd(work, order->output),
                .heap_cache = work_take_fd(work, order->heap_cache),
                .exits = -EBADF,
                .no_exits = reason_of(order->no_exits),
                .proc_fd = -EBADF,
                .sys_fd = -EBADF,
                .main_pid = getppid(),
                .n_self_pids = MIN_OF(order->n_self_pids, (uint32_t) ORDER_MAX_PIDS),
        };
        work_take_tasks(work, order->tasks, &recording->tasks);
        memcpy(recording->self_pids, order->self_pids,
               recording->n_self_pids * sizeof(*recording->self_pids));
        recording->self_pids[recording->n_self_pids++] = getpid();
        buffer_init(&recording->rotated, 0);
}

static void recording_done(Recording *recording) {
        recording->writer = snapshot_file_writer_free(recording->writer);
        recording->spool = spool_free(recording->spool);
        recording->system = ready_system_free(recording->system);
        recording->proc_fd = fd_close(recording->proc_fd);
        recording->sys_fd = fd_close(recording->sys_fd);
        recording->file = fd_close(recording->file);
        recording->heap_cache = fd_close(recording->heap_cache);
        recording->exits = fd_close(recording->exits);
        task_objects_done(&recording->tasks);
        (void) pthread_mutex_destroy(&recording->lock);
        head_done(&recording->head);
        buffer_done(&recording->rotated);
}

/* before anything is read */

static int recording_refuse_spool(Recording *recording, int r) {
        /* First, so that the caller who reads the refusal and tries again finds the room free. */
        (void) !ftruncate(recording->file, 0);
        return work_refuse_spool(recording->work, recording->spool, recording->order->name, r);
}

/* Refuses a name that is in use, and a spool that is full, before the capture and not after it. */
static int recording_look_at_spool(Recording *recording) {
        const CaptureOrder *order = recording->order;
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
        r = work_open_spool(recording->work, &order->spool,
                            work_take_fd(recording->work, order->spool.directory),
                            work_take_fd(recording->work, order->spool.roll), &recording->spool);
        if (r != 0)
                return r;
        if (order->name[0] != '\0') {
                r = spool_open_snapshot(recording->spool, order->name, &fd, &head);
                if (r != 0 && r != SPOOL_E_NOT_FOUND && r != SPOOL_E_DAMAGED)
                        return recording_refuse_spool(recording, r);
                if (r != SPOOL_E_NOT_FOUND && !order->replace)
                        return recording_refuse_spool(recording, SPOOL_E_EXISTS);
                /* If it is damaged, spool_publish() checks whose it is. */
                if (r == 0 && order->uid != 0 && head.has_uid && head.uid != order->uid)
                        return recording_refuse_spool(recording, SPOOL_E_NOT_OWNER);
                fd = fd_close(fd);
        }
        r = spool_make_room(recording->spool, &order->spool.limits, &need, &recording->rotated);
        if (r != 0)
                return recording_refuse_spool(recording, r);
        /* Other jobs may write at the same time: together they leave free what must stay free. */
        r = spool_find_room(recording->spool, &order->spool.limits, &n_room);
        if (r != 0)
                return r;
        limit.rlim_cur = limit.rlim_max = MIN_OF(n_room, (uint64_t) LIMIT_CAPTURE_BYTES);
        return setrlimit(RLIMIT_FSIZE, &limit) < 0 ? -errno : 0;
}

/* Opens what cannot be opened any more in the sandbox, and enters it. */
static int recording_open_kernel(Recording *recording) {
        int r;

        recording->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (recording->proc_fd < 0)
                return -errno;
        /* Without /sys its readings are absent. */
        recording->sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = ready_system_new(CAPTURE_DEFAULT_WORKERS, &recording->system);
        return r == 0 ? work_confine(recording->work, UINT64_MAX) : r;
}

/* capture */

static int recording_write(void *userdata, const char *bytes, size_t n) {
        Recording *recording = userdata;
        int r;

        r = snapshot_file_writer_write(recording->writer, bytes, n);
        if (r < 0)
                recording->write_error = r;
        return r;
}

static void recording_progress(void *userdata, const char *phase, uint64_t done, uint64_t total) {
        Recording *recording = userdata;

        /* Errors are ignored: recording_cancelled() notices that the peer has hung up. */
        (void) pthread_mutex_lock(&recording->lock);
        (void) !answer_progress(&recording->work->answer, phase, done, total);
        (void) pthread_mutex_unlock(&recording->lock);
}

static bool recording_cancelled(void *userdata) {
        Recording *recording = userdata;
        bool has_peer;

        (void) pthread_mutex_lock(&recording->lock);
        has_peer = answer_has_peer(&recording->work->answer);
        (void) pthread_mutex_unlock(&recording->lock);
        return !has_peer;
}

/* The main process starts the job, or closes @peer_fd, which ends the room that asks. */
static int recording_open_memory(void *userdata, int peer_fd) {
        Recording *recording = userdata;
        int r;

        (void) pthread_mutex_lock(&recording->lock);
        r = answer_note(&recording->work->answer, PACKET_MEMORY, (Span){}, peer_fd);
        (void) pthread_mutex_unlock(&recording->lock);
        return r;
}

static CaptureOptions recording_options(Recording *recording) {
        const CaptureOrder *order = recording->order;

        return (CaptureOptions){
                .proc_fd = recording->proc_fd,
                .sys_fd = recording->sys_fd,
                .system = ready_system_get(recording->system),
                .n_workers = CAPTURE_DEFAULT_WORKERS,
                .smaps = order->smaps,
                .smaps_max_rss_bytes = order->smaps_max_rss_bytes,
                .smaps_max_processes = order->smaps_max_processes,
                .smaps_limit_ns = order->smaps_limit_ns,
                .heap = order->heap,
                .commands = order->commands,
                .heap_limit_ns = order->heap_limit_ns,
                .tasks = &recording->tasks,
                .no_tasks = reason_of(order->no_tasks),
                .exits_fd = recording->exits,
                .hears_exits = order->hears_exits,
                .no_exits = recording->no_exits,
                .reasons_ns = order->reasons_ns,
                .no_reasons = reason_of(order->no_reasons),
                .main_pid = recording->main_pid,
                .heap_cache_fd = recording->heap_cache,
                .open_memory = recording_open_memory,
                .no_memory = reason_of(order->no_memory),
                .self_pids = recording->self_pids,
                .n_self_pids = recording->n_self_pids,
                .pace = { .progress = recording_progress,
                          .cancelled = recording_cancelled,
                          .userdata = recording },
        };
}

static int recording_run(Recording *recording) {
        const CaptureOptions options = recording_options(recording);
        const char *name = reason_of(recording->order->name);
        Head *head = &recording->head;
        char reason[128];
        int r;

        r = snapshot_file_writer_new(recording->file, &recording->writer);
        if (r != 0)
                return err_fold(r);
        r = capture_run(&options, recording_write, recording, &recording->head,
                        &recording->sources);
        if (r == CAPTURE_E_CANCELLED)
                return -ECANCELED;
        if (r < 0 && recording->write_error != 0 && recording->spool)
                return recording_refuse_spool(recording, spool_explain(recording->spool, r));
        if (r < 0 && r != -ENOMEM) {
                (void) snprintf(reason, sizeof(reason), "cannot read the threads of this host: %s",
                                strerror(-r));
                return work_refuse(recording->work, WIRE_ERROR_JOB_FAILED,
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
        r = snapshot_file_writer_finish(recording->writer, head, &head->size_bytes);
        head->has_size = r == 0;
        if (r < 0 && recording->spool)
                return recording_refuse_spool(recording, spool_explain(recording->spool, r));
        return err_fold(r);
}

/* Nobody names an anonymous snapshot, so this is the whole answer. */
static int recording_answer_file(Recording *recording) {
        JsonWriter *writer = answer_begin(&recording->work->answer);
        char path[64];
        int fd;

        json_write_key(writer, "snapshot");
        head_write_json(writer, &recording->head);
        json_write_key(writer, "sources");
        source_table_write_json(writer, &recording->sources);
        /* Reopen read-only: our descriptor is writable and the caller must not get it. */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", recording->file);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        json_write_member_u64(writer, "fileDescriptor", 0);
        return answer_final_descriptor(&recording->work->answer, fd);
}

static int write_sources(const SourceTable *sources, Buffer *text) {
        JsonWriter writer;

        json_writer_init(&writer, text);
        source_table_write_json(&writer, sources);
        return json_writer_finish(&writer);
}

int work_capture(Work *work) {
        const CaptureOrder *order = &work->order->capture;
        _cleanup_(buffer_done) Buffer sources = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        _cleanup_(recording_done) Recording recording;
        _cleanup_(fd_closep) int line = -EBADF;
        Head *head = &recording.head;
        sd_id128_t machine;
        int r;

        recording_init(&recording, work);
        if (order->smaps >= _SMAPS_MODE_MAX || order->commands >= _COMMAND_LINES_MAX)
                return -EINVAL;
        r = order->name[0] != '\0' ? work_check_name(work, order->name) : 0;
        if (r == 0)
                r = recording_look_at_spool(&recording);
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
                r = exit_line_receive(line, LIMIT_LISTEN_NS, &recording.exits);
                if (r == EXIT_LINE_E_SILENT)
                        recording.no_exits = "the job that hears of exits did not answer in time";
                else if (r != 0)
                        recording.no_exits = "the job that hears of exits could not tell of them";
        }
        line = fd_close(line);
        r = recording_open_kernel(&recording);
        if (r == 0)
                r = recording_run(&recording);

        if (r != 0)
                return r;
        if (!recording.spool)
                return recording_answer_file(&recording);
        /* A spool job gives the file its name and tells the rest. */
        r = write_sources(&recording.sources, &sources);
        if (r != 0)
                return r;
        return answer_texts(
                &work->answer,
                (const Span[]){ buffer_span(&sources), buffer_span(&recording.rotated) }, 2);
}

/* probe */

int work_probe(Work *work) {
        _cleanup_(buffer_done) Buffer sources = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        _cleanup_(buffer_done) Buffer losses = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        _cleanup_(recording_done) Recording recording;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        LedgerSummary summary = {};
        CaptureOptions options;
        CaptureSample sample;
        JsonWriter writer;
        char text[128];
        int r;

        recording_init(&recording, work);
        r = recording_open_kernel(&recording);
        if (r != 0)
                return r;
        options = recording_options(&recording);
        r = capture_probe(&options, &recording.sources, &sample);
        if (r != 0)
                return err_fold(r);
        (void) snprintf(text, sizeof(text), "{\"threads\":%" PRIu64 ",\"processes\":%" PRIu64 "}",
                        sample.n_threads, sample.n_processes);
        r = write_sources(&recording.sources, &sources);
        if (r != 0)
                return r;
        /* Nobody is named when it cannot be told who lost rows. */
        if (ledger_open(&recording.tasks, &ledger) == 0 && ledger && ledger_survey(ledger) == 0 &&
            dead_rows_find_losses(ledger, &summary) == 0) {
                json_writer_init(&writer, &losses);
                json_write_object(&writer);
                owner_losses_write_json(&writer, summary.losses, summary.n_losses);
                json_write_end(&writer);
                r = json_writer_finish(&writer);
                if (r != 0)
                        return r;
        }
        return answer_texts(
                &work->answer,
                (const Span[]){ buffer_span(&sources), span_of(text), buffer_span(&losses) }, 3);
}
