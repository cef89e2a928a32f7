/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <fcntl.h>
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
#include "worker/work-spool.h"

/* The machine id is hashed with this, so that it cannot be matched with other programs' ids. */
#define CAPTURE_APPLICATION_ID \
        SD_ID128_MAKE(5d, 0b, 8e, 2f, 71, 4c, 4a, 96, 9e, 3d, c2, 18, f6, 0a, 57, e3)

#define CAPTURE_MAX_SELF_PIDS 1024

typedef struct CaptureParameters {
        SpoolParameters spool;
        int output;       /* owned: where the snapshot is written */
        const char *name; /* NULL: named by the time it begins at */
        bool tagged, replace, anonymous;
        const char *smaps_mode; /* a name of smaps-mode.h */
        uint64_t smaps_max_rss_bytes, smaps_max_processes, smaps_limit_ns;
        bool heap;
        const char *command_lines; /* a name of command.h */
        uint64_t heap_limit_ns;
        int heap_cache;        /* owned; negative: none */
        const char *no_memory; /* why nobody reads memory of processes; NULL: somebody may */
        TaskObjects tasks;     /* owned */
        const char *no_tasks;  /* why not all of them are there; NULL: nobody asked for more */
        int exit_line;         /* owned; negative: nobody tells of exits */
        int exits;             /* owned: the file that came from there, or negative */
        bool hears_exits;      /* of a probe */
        const char *no_exits;  /* why there is no such file; NULL: nobody was to tell */
        uint64_t reasons_ns;
        const char *no_reasons;
        uid_t uid;
        json_object *self_pids;
} CaptureParameters;

#define CAPTURE_PARAMETERS_NONE                                                 \
        ((CaptureParameters){ .spool = SPOOL_PARAMETERS_NONE,                   \
                              .output = -EBADF,                                 \
                              .smaps_mode = "small",                            \
                              .smaps_max_rss_bytes = LIMIT_SMAPS_MAX_RSS_BYTES, \
                              .smaps_max_processes = LIMIT_SMAPS_PROCESSES,     \
                              .smaps_limit_ns = LIMIT_SMAPS_NS,                 \
                              .command_lines = "no",                            \
                              .heap_limit_ns = LIMIT_HEAP_NS,                   \
                              .heap_cache = -EBADF,                             \
                              .exit_line = -EBADF,                              \
                              .exits = -EBADF })

/*
 * One snapshot on its way from the kernel into a file. A spool job gives the file its name: this
 * one reads text that everybody on the host can choose, so it looks at the spool before and then
 * enters a sandbox in which it can change nothing there.
 */
typedef struct Recording {
        Work *work; /* borrowed */
        /* Of the answer, while threads of the capture may ask for a job that reads memory. */
        pthread_mutex_t lock;
        const CaptureParameters *parameters;
        SpoolLimits limits;
        Spool *spool; /* NULL: anonymous */
        int file;     /* borrowed from the parameters */
        ReadySystem *system;
        int proc_fd, sys_fd;
        pid_t main_pid; /* asked for before the sandbox, where there is no call for it */
        pid_t *self_pids;
        size_t n_self_pids;

        SnapshotFileWriter *writer;
        int write_error; /* set when writing failed, to distinguish it from failures of reading */
        Head head;
        SourceTable sources;
        Buffer rotated; /* names that had to make room before the capture */
} Recording;

static void recording_init(Recording *recording, Work *work, const CaptureParameters *parameters) {
        *recording = (Recording){
                .work = work,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .parameters = parameters,
                .file = parameters->output,
                .proc_fd = -EBADF,
                .sys_fd = -EBADF,
                .main_pid = getppid(),
        };
        buffer_init(&recording->rotated, 0);
}

static void recording_done(Recording *recording) {
        recording->writer = snapshot_file_writer_free(recording->writer);
        recording->spool = spool_free(recording->spool);
        recording->system = ready_system_free(recording->system);
        recording->proc_fd = fd_close(recording->proc_fd);
        recording->sys_fd = fd_close(recording->sys_fd);
        free(recording->self_pids);
        (void) pthread_mutex_destroy(&recording->lock);
        head_done(&recording->head);
        buffer_done(&recording->rotated);
}

/* before anything is read */

static int recording_refuse_spool(Recording *recording, int r) {
        const char *name = recording->parameters->name;

        /* First, so that the caller who reads the refusal and tries again finds the room free. */
        (void) !ftruncate(recording->file, 0);
        return work_refuse_spool(recording->work, recording->spool, name ? name : "", r);
}

/* Refuses a name that is in use, before the capture begins. */
static int recording_check_name(Recording *recording) {
        const CaptureParameters *parameters = recording->parameters;
        _cleanup_(fd_closep) int fd = -EBADF;
        _cleanup_(head_done) Head head = {};
        int r;

        if (!parameters->name || parameters->anonymous)
                return 0;
        r = spool_open_snapshot(recording->spool, parameters->name, &fd, &head);
        if (r == SPOOL_E_NOT_FOUND)
                return 0;
        if (r != 0 && r != SPOOL_E_DAMAGED)
                return recording_refuse_spool(recording, r);
        if (!parameters->replace)
                return recording_refuse_spool(recording, SPOOL_E_EXISTS);
        if (r == SPOOL_E_DAMAGED)
                return 0; /* spool_publish() checks whose it is */
        if (parameters->uid != 0 && head.has_uid && head.uid != parameters->uid)
                return recording_refuse_spool(recording, SPOOL_E_NOT_OWNER);
        return 0;
}

/* Refuses a spool that is full already before the capture, not after it. */
static int recording_make_room(Recording *recording) {
        const CaptureParameters *parameters = recording->parameters;
        const SpoolNeed need = {
                .uid = parameters->uid,
                .replaces = parameters->replace ? parameters->name : NULL,
        };
        int r;

        r = spool_make_room(recording->spool, &recording->limits, &need, &recording->rotated);
        return r == 0 ? 0 : recording_refuse_spool(recording, r);
}

static int recording_limit_file(uint64_t max_bytes) {
        const struct rlimit limit = { .rlim_cur = max_bytes, .rlim_max = max_bytes };

        return setrlimit(RLIMIT_FSIZE, &limit) < 0 ? -errno : 0;
}

/* Other jobs may write at the same time: together they leave free what must stay free. */
static int recording_find_room(const Recording *recording) {
        uint64_t n_room;
        int r;

        r = spool_find_room(recording->spool, &recording->limits, &n_room);
        return r == 0 ? recording_limit_file(MIN_OF(n_room, (uint64_t) LIMIT_CAPTURE_BYTES)) : r;
}

static int recording_look_at_spool(Recording *recording, SpoolParameters *spool) {
        int r;

        if (recording->parameters->anonymous)
                return 0;
        if (spool->directory < 0)
                return work_refuse_parameter(recording->work, JOB_KEY_DIRECTORY, NULL);
        r = spool_adopt(spool->directory, spool->path ? spool->path : "", &recording->spool);
        if (r >= 0)
                (void) TAKE_FD(spool->directory);
        if (r != 0)
                return recording_refuse_spool(recording, r);
        r = spool_take_roll(recording->spool, TAKE_FD(spool->roll));
        if (r == 0)
                r = recording_check_name(recording);
        if (r == 0)
                r = recording_make_room(recording);
        return r == 0 ? recording_find_room(recording) : r;
}

static int recording_decode_pids(Recording *recording, json_object *array) {
        size_t n = array ? json_object_array_length(array) : 0;

        if (n > CAPTURE_MAX_SELF_PIDS)
                return work_refuse_parameter(recording->work, "selfPids", NULL);
        recording->self_pids = calloc(n + 1, sizeof(*recording->self_pids));
        if (!recording->self_pids)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *value = json_object_array_get_idx(array, i);
                int64_t pid = json_object_get_int64(value);

                if (!json_object_is_type(value, json_type_int) || pid < 1 || pid > INT32_MAX)
                        return work_refuse_parameter(recording->work, "selfPids", NULL);
                recording->self_pids[recording->n_self_pids++] = (pid_t) pid;
        }
        recording->self_pids[recording->n_self_pids++] = getpid();
        return 0;
}

/* Before the sandbox, in which no descriptors are taken; what is in the file is looked at there. */
static void recording_hear_exits(CaptureParameters *parameters) {
        int r;

        if (parameters->exit_line < 0)
                return;
        r = exit_line_receive(parameters->exit_line, LIMIT_LISTEN_NS, &parameters->exits);
        if (r == EXIT_LINE_E_SILENT)
                parameters->no_exits = "the job that hears of exits did not answer in time";
        else if (r != 0)
                parameters->no_exits = "the job that hears of exits could not tell of them";
}

/* What cannot be opened any more in the sandbox, and then enters it. */
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
        Answer *answer = &recording->work->answer;
        int r;

        (void) pthread_mutex_lock(&recording->lock);
        json_write_member_bool(answer_begin(answer), JOB_KEY_MEMORY, true);
        r = answer_note_descriptor(answer, peer_fd);
        (void) pthread_mutex_unlock(&recording->lock);
        return r;
}

static CaptureOptions recording_options(Recording *recording) {
        return (CaptureOptions){
                .proc_fd = recording->proc_fd,
                .sys_fd = recording->sys_fd,
                .system = ready_system_get(recording->system),
                .n_workers = CAPTURE_DEFAULT_WORKERS,
                .smaps = smaps_mode_find(span_of(recording->parameters->smaps_mode)),
                .smaps_max_rss_bytes = recording->parameters->smaps_max_rss_bytes,
                .smaps_max_processes = recording->parameters->smaps_max_processes,
                .smaps_limit_ns = recording->parameters->smaps_limit_ns,
                .heap = recording->parameters->heap,
                .commands = command_lines_find(span_of(recording->parameters->command_lines)),
                .heap_limit_ns = recording->parameters->heap_limit_ns,
                .tasks = &recording->parameters->tasks,
                .no_tasks = recording->parameters->no_tasks,
                .exits_fd = recording->parameters->exits,
                .hears_exits = recording->parameters->hears_exits,
                .no_exits = recording->parameters->no_exits,
                .reasons_ns = recording->parameters->reasons_ns,
                .no_reasons = recording->parameters->no_reasons,
                .main_pid = recording->main_pid,
                .heap_cache_fd = recording->parameters->heap_cache,
                .open_memory = recording_open_memory,
                .no_memory = recording->parameters->no_memory,
                .self_pids = recording->self_pids,
                .n_self_pids = recording->n_self_pids,
                .pace = { .progress = recording_progress,
                          .cancelled = recording_cancelled,
                          .userdata = recording },
        };
}

static void recording_begin_head(Recording *recording) {
        Head *head = &recording->head;
        sd_id128_t machine;

        head->format_version = HEAD_FORMAT_VERSION;
        head->tagged = recording->parameters->tagged;
        head->has_uid = true;
        head->uid = recording->parameters->uid;
        (void) snprintf(head->tool_version, sizeof(head->tool_version), "%s", CTPROF_VERSION);
        /* Snapshots of a host without a machine id have none. */
        if (sd_id128_get_machine_app_specific(CAPTURE_APPLICATION_ID, &machine) == 0)
                (void) sd_id128_to_string(machine, head->machine_id);
}

static int recording_run(Recording *recording) {
        const CaptureOptions options = recording_options(recording);
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
        return err_fold(r);
}

/* afterwards */

static int recording_finish_file(Recording *recording) {
        Head *head = &recording->head;
        const char *name = recording->parameters->name;
        int r;

        if (name)
                (void) snprintf(head->name, sizeof(head->name), "%s", name);
        r = name ? 0 : work_time_name(head, head->name);
        if (r != 0)
                return r;
        r = snapshot_file_writer_finish(recording->writer, head, &head->size_bytes);
        head->has_size = r == 0;
        if (r < 0 && recording->spool)
                return recording_refuse_spool(recording, spool_explain(recording->spool, r));
        return err_fold(r);
}

static JsonWriter *recording_begin_answer(Recording *recording) {
        JsonWriter *writer = answer_begin(&recording->work->answer);

        json_write_key(writer, "snapshot");
        head_write_json(writer, &recording->head);
        json_write_key(writer, "sources");
        source_table_write_json(writer, &recording->sources);
        return writer;
}

static int recording_answer_file(Recording *recording) {
        JsonWriter *writer = recording_begin_answer(recording);
        char path[64];
        int fd;

        /* Reopen read-only: our descriptor is writable and the caller must not get it. */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", recording->file);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        json_write_member_u64(writer, "fileDescriptor", 0);
        return answer_final_descriptor(&recording->work->answer, fd);
}

/* The names that had to go are part of the answer to the caller, which the spool job gives. */
static int recording_answer(Recording *recording) {
        JsonWriter *writer = recording_begin_answer(recording);

        work_write_rotated(writer, &recording->rotated);
        return answer_final(&recording->work->answer);
}

static int capture_start(Work *work, CaptureParameters *parameters) {
        _cleanup_(recording_done) Recording recording;
        int r;

        recording_init(&recording, work, parameters);
        r = parameters->name ? work_check_name(work, parameters->name) : 0;
        if (r != 0)
                return r;
        r = work_decode_limits(work, &parameters->spool, &recording.limits);
        if (r != 0)
                return r;
        r = recording_decode_pids(&recording, parameters->self_pids);
        if (r != 0)
                return r;
        r = recording_look_at_spool(&recording, &parameters->spool);
        if (r != 0)
                return r;
        recording_begin_head(&recording);
        recording_hear_exits(parameters);
        r = recording_open_kernel(&recording);
        if (r != 0)
                return r;
        r = recording_run(&recording);
        if (r != 0)
                return r;
        r = recording_finish_file(&recording);
        if (r != 0)
                return r;
        return parameters->anonymous ? recording_answer_file(&recording)
                                     : recording_answer(&recording);
}

#define TASK_OBJECT_PARAMETER(id, name)      \
        { name, PARAMETER_DESCRIPTOR, false, \
          offsetof(CaptureParameters, tasks.fds[TASK_OBJECT_##id]) },

static int work_capture(Work *work) {
        static const Parameter table[] = {
                { JOB_KEY_DIRECTORY, PARAMETER_DESCRIPTOR, false,
                  offsetof(CaptureParameters, spool.directory) },
                { JOB_KEY_ROLL, PARAMETER_DESCRIPTOR, false,
                  offsetof(CaptureParameters, spool.roll) },
                { JOB_KEY_SPOOL_PATH, PARAMETER_TEXT, false,
                  offsetof(CaptureParameters, spool.path) },
                SPOOL_LIMITS_PARAMETER(CaptureParameters, spool),
                { JOB_KEY_OUTPUT, PARAMETER_DESCRIPTOR, true, offsetof(CaptureParameters, output) },
                { JOB_KEY_NAME, PARAMETER_TEXT, false, offsetof(CaptureParameters, name) },
                { JOB_KEY_TAGGED, PARAMETER_BOOL, false, offsetof(CaptureParameters, tagged) },
                { JOB_KEY_REPLACE, PARAMETER_BOOL, false, offsetof(CaptureParameters, replace) },
                { JOB_KEY_SMAPS_MODE, PARAMETER_TEXT, false,
                  offsetof(CaptureParameters, smaps_mode) },
                { JOB_KEY_SMAPS_MAX_RSS, PARAMETER_U64, false,
                  offsetof(CaptureParameters, smaps_max_rss_bytes) },
                { JOB_KEY_SMAPS_MAX_PROCESSES, PARAMETER_U64, false,
                  offsetof(CaptureParameters, smaps_max_processes) },
                { JOB_KEY_SMAPS_LIMIT_NS, PARAMETER_U64, false,
                  offsetof(CaptureParameters, smaps_limit_ns) },
                { JOB_KEY_HEAP, PARAMETER_BOOL, false, offsetof(CaptureParameters, heap) },
                { JOB_KEY_COMMAND_LINES, PARAMETER_TEXT, false,
                  offsetof(CaptureParameters, command_lines) },
                { JOB_KEY_HEAP_LIMIT_NS, PARAMETER_U64, false,
                  offsetof(CaptureParameters, heap_limit_ns) },
                { JOB_KEY_HEAP_CACHE, PARAMETER_DESCRIPTOR, false,
                  offsetof(CaptureParameters, heap_cache) },
                { JOB_KEY_NO_MEMORY, PARAMETER_TEXT, false,
                  offsetof(CaptureParameters, no_memory) },
                TASK_OBJECTS(TASK_OBJECT_PARAMETER){ JOB_KEY_NO_TASKS, PARAMETER_TEXT, false,
                                                     offsetof(CaptureParameters, no_tasks) },
                { JOB_KEY_EXIT_LINE, PARAMETER_DESCRIPTOR, false,
                  offsetof(CaptureParameters, exit_line) },
                { JOB_KEY_NO_EXITS, PARAMETER_TEXT, false, offsetof(CaptureParameters, no_exits) },
                { JOB_KEY_REASONS_NS, PARAMETER_U64, false,
                  offsetof(CaptureParameters, reasons_ns) },
                { JOB_KEY_NO_REASONS, PARAMETER_TEXT, false,
                  offsetof(CaptureParameters, no_reasons) },
                { JOB_KEY_ANONYMOUS, PARAMETER_BOOL, false,
                  offsetof(CaptureParameters, anonymous) },
                { JOB_KEY_UID, PARAMETER_UID, true, offsetof(CaptureParameters, uid) },
                { JOB_KEY_SELF_PIDS, PARAMETER_ARRAY, false,
                  offsetof(CaptureParameters, self_pids) },
        };
        CaptureParameters parameters = CAPTURE_PARAMETERS_NONE;
        int r;

        task_objects_init(&parameters.tasks);
        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r == 0 && smaps_mode_find(span_of(parameters.smaps_mode)) == _SMAPS_MODE_MAX)
                r = work_refuse_parameter(work, JOB_KEY_SMAPS_MODE, NULL);
        if (r == 0 && command_lines_find(span_of(parameters.command_lines)) == _COMMAND_LINES_MAX)
                r = work_refuse_parameter(work, JOB_KEY_COMMAND_LINES, NULL);
        if (r == 0)
                r = capture_start(work, &parameters);
        spool_parameters_done(&parameters.spool);
        parameters.output = fd_close(parameters.output);
        parameters.heap_cache = fd_close(parameters.heap_cache);
        parameters.exit_line = fd_close(parameters.exit_line);
        parameters.exits = fd_close(parameters.exits);
        task_objects_done(&parameters.tasks);
        return r;
}

/* Where that cannot be told, nobody is named. */
static void tell_losses(const TaskObjects *tasks, JsonWriter *writer) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        LedgerSummary summary = {};

        if (ledger_open(tasks, &ledger) == 0 && ledger && ledger_survey(ledger) == 0 &&
            dead_rows_find_losses(ledger, &summary) == 0)
                owner_losses_write_json(writer, summary.losses, summary.n_losses);
}

static int probe(Work *work, const CaptureParameters *parameters) {
        _cleanup_(recording_done) Recording recording;
        CaptureOptions options;
        CaptureSample sample;
        JsonWriter *writer;
        int r;

        recording_init(&recording, work, parameters);
        r = recording_open_kernel(&recording);
        if (r != 0)
                return r;
        options = recording_options(&recording);
        r = capture_probe(&options, &recording.sources, &sample);
        if (r != 0)
                return err_fold(r);
        writer = answer_begin(&work->answer);
        json_write_key(writer, JOB_KEY_SOURCES);
        source_table_write_json(writer, &recording.sources);
        json_write_key(writer, JOB_KEY_SAMPLE);
        json_write_object(writer);
        json_write_member_u64(writer, "threads", sample.n_threads);
        json_write_member_u64(writer, "processes", sample.n_processes);
        json_write_end(writer);
        tell_losses(&parameters->tasks, writer);
        return answer_final(&work->answer);
}

static int work_probe(Work *work) {
        static const Parameter table[] = {
                TASK_OBJECTS(TASK_OBJECT_PARAMETER){ JOB_KEY_NO_TASKS, PARAMETER_TEXT, false,
                                                     offsetof(CaptureParameters, no_tasks) },
                { JOB_KEY_LISTENING, PARAMETER_BOOL, false,
                  offsetof(CaptureParameters, hears_exits) },
                { JOB_KEY_NO_MEMORY, PARAMETER_TEXT, false,
                  offsetof(CaptureParameters, no_memory) },
                { JOB_KEY_NO_EXITS, PARAMETER_TEXT, false, offsetof(CaptureParameters, no_exits) },
        };
        CaptureParameters parameters = CAPTURE_PARAMETERS_NONE;
        int r;

        task_objects_init(&parameters.tasks);
        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r == 0)
                r = probe(work, &parameters);
        task_objects_done(&parameters.tasks);
        return r;
}

const WorkMethod work_capture_methods[] = {
        { JOB_METHOD_CAPTURE, work_capture, WORK_NEEDS_NOTHING, LIMIT_FILE_BYTES },
        { JOB_METHOD_PROBE, work_probe, WORK_NEEDS_NOTHING, 0 },
        {},
};
