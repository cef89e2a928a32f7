/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "capture/bpf/bpf-backend.h"
#include "capture/cgroups.h"
#include "capture/exited-rows.h"
#include "capture/heap/heap.h"
#include "capture/host-record.h"
#include "capture/procfs/procfs-backend.h"
#include "capture/source-report.h"
#include "capture/walk.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/procfs/host-context.h"
#include "kernel/procfs/host-files.h"
#include "kernel/procfs/procfs.h"
#include "kernel/procfs/sched-ext.h"
#include "kernel/text/pressure.h"

/* In order of preference: the first one that works on this host is used. procfs always does. */
static const Backend *const backends[] = {
        &bpf_backend,
        &procfs_backend,
};

typedef struct Capture {
        const CaptureOptions *options;
        SnapshotWriter *writer; /* owned */
        CaptureHost host;
        const Backend *backend;
        TaskObjects ledger_objects; /* borrowed, as the ledger wants them */
        bool lost_reasons;          /* their account was switched off while threads were read */
        CgroupSet cgroups;
        Tally tally;
        RollupBudget smaps;
        Heap *heap; /* owned */
        Pace pace;
        int cgroup_mount, sched_ext;
        char cgroup_v1[CGROUP_V1_TEXT_BYTES];
        uint64_t begin_ns, begin_cpu_ns;
        Buffer host_json;
        HostRecord record;
} Capture;

static void capture_done(Capture *capture) {
        capture->writer = snapshot_writer_free(capture->writer);
        capture->heap = heap_free(capture->heap);
        free(capture->smaps.largest.processes);
        capture->host.cgroupfs = cgroupfs_free(capture->host.cgroupfs);
        capture->host.ledger = ledger_free(capture->host.ledger);
        cgroup_set_done(&capture->cgroups);
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                buffer_done(&capture->record.json[i]);
        buffer_done(&capture->host_json);
}

/* before the walk */

static int look_around(Capture *capture, Head *head) {
        const CaptureOptions *options = capture->options;
        const CaptureSystem *system = options->system;
        HostContext host;
        JsonWriter json;
        int r;

        json_writer_init(&json, &capture->host_json);
        cgroup_v1_read(options->proc_fd, capture->cgroup_v1);
        r = host_context_read(options->proc_fd, options->sys_fd, capture->cgroup_v1, &json, &host);
        if (r == 0)
                r = json_writer_finish(&json);
        if (r < 0)
                return r;
        tally_add_counts(&capture->tally, SOURCE_HOST, host.counts);
        head->format_version = HEAD_FORMAT_VERSION;
        (void) snprintf(head->boot_id, sizeof(head->boot_id), "%s", host.boot_id);
        (void) snprintf(head->host_name, sizeof(head->host_name), "%s", host.host_name);
        (void) snprintf(head->kernel_release, sizeof(head->kernel_release), "%s",
                        host.kernel_release);
        head->user_hz = host.user_hz;
        head->page_size = host.page_size;
        head->has_user_hz = host.user_hz != 0;
        head->has_page_size = host.page_size != 0;

        capture->cgroup_mount = CGROUPFS_E_NO_MOUNT;
        if (system->open_cgroups)
                capture->cgroup_mount =
                        system->open_cgroups(options->proc_fd, &capture->host.cgroupfs);
        if (capture->cgroup_mount == -ENOMEM)
                return -ENOMEM;
        gates_read(options->proc_fd, system, &host, capture->host.cgroupfs, &capture->host.gates);
        for (size_t i = 0; !capture->backend; i++) {
                assert(i < ELEMENTSOF(backends)); /* the last one works everywhere */
                if (!backends[i]->probe || backends[i]->probe(&capture->host))
                        capture->backend = backends[i];
        }
        (void) snprintf(head->backend, sizeof(head->backend), "%s", capture->backend->name);

        /*
         * The counts of programs are of use where these also tell which threads there are, and
         * those of the listener of exits everywhere.
         */
        capture->ledger_objects = TASK_OBJECTS_NONE;
        if (options->tasks && capture->backend == &bpf_backend)
                capture->ledger_objects = *options->tasks;
        if (options->exits_fd >= 0)
                capture->ledger_objects.fds[TASK_OBJECT_FOLDED] = options->exits_fd;
        r = ledger_open(&capture->ledger_objects, &capture->host.ledger);
        if (r == -ENOMEM)
                return r;
        if (r == 0 && capture->host.ledger)
                capture->host.heard_exits =
                        ledger_is_kept(capture->host.ledger) &&
                        ledger_origin(capture->host.ledger) == LEDGER_FROM_TASKSTATS;

        head->smaps_requested = options->smaps != SMAPS_MODE_NONE;
        head->has_smaps_requested = true;
        (void) snprintf(head->smaps_mode, sizeof(head->smaps_mode), "%s",
                        smaps_mode_names[options->smaps]);
        head->has_smaps_max_rss = options->smaps == SMAPS_MODE_SMALL;
        head->smaps_max_rss_bytes = options->smaps_max_rss_bytes;
        head->has_smaps_max_processes = options->smaps == SMAPS_MODE_SMALL;
        head->smaps_max_processes = options->smaps_max_processes;
        head->heap_requested = options->heap;
        head->has_heap_requested = true;
        head->has_taskstats_version = capture->host.gates.taskstats_version != 0;
        head->taskstats_version = capture->host.gates.taskstats_version;
        return 0;
}

/* So that the time of others does not end in the middle of a capture. */
#define REASONS_LEAST_NS (10 * NSEC_PER_SEC)

/* Before threads are read, so that what they do until the next capture has its reasons. */
static int count_reasons(Capture *capture) {
        const CaptureOptions *options = capture->options;
        ReasonState state = {};
        uint64_t n_switches = 0;
        int r;

        if (!options->tasks || capture->backend != &bpf_backend)
                return 0;
        (void) host_cpu_count_switches(options->proc_fd, &n_switches);
        if (options->reasons_ns > 0)
                r = reasons_start(options->tasks, options->reasons_ns, n_switches);
        else
                r = reasons_prolong(options->tasks, REASONS_LEAST_NS);
        if (r == 0)
                r = reasons_look(options->tasks, &state);
        if (r == 0 && state.is_on)
                capture->host.reason_epoch = state.epoch;
        return r == -ENOMEM ? r : 0;
}

/* Counts of waits stand in the rows, but are of no use without what the head says of them. */
static void describe_reasons(Capture *capture, Head *head) {
        const CaptureOptions *options = capture->options;
        uint64_t epoch = capture->host.reason_epoch;
        const LedgerControl *control;
        ReasonState state = {};

        if (epoch == 0 || !capture->host.ledger)
                return;
        capture->lost_reasons =
                reasons_look(options->tasks, &state) != 0 || !state.is_on || state.epoch != epoch;
        if (capture->lost_reasons)
                return;
        control = capture->host.ledger->control;
        head->has_reasons_since = true;
        head->reasons_since_boottime_ns = state.since_boottime_ns;
        /* The epoch is one of these programs, and of no others. */
        for (size_t i = 0; i < sizeof(control->id) / 2; i++)
                (void) snprintf(head->reasons_id + 2 * i, 3, "%02x", control->id[i]);
        (void) snprintf(head->reasons_id + sizeof(control->id), sizeof(control->id) + 1,
                        "%016" PRIx64, epoch);
}

/* after the walk */

/* The head names a ledger only where the document has one. */
static int write_ended(Capture *capture, Head *head) {
        Ledger *ledger = capture->host.ledger;
        const LedgerControl *control = ledger->control;

        head->has_waits_since = control->waits_since_ns != 0;
        head->waits_since_boottime_ns = control->waits_since_ns;
        head->has_ledger_since = ledger_is_kept(ledger) && ledger->is_read;
        head->ledger_since_boottime_ns = control->ledger_since_ns;
        for (size_t i = 0; head->has_ledger_since && i < sizeof(control->id); i++)
                (void) snprintf(head->ledger_id + 2 * i, 3, "%02x", control->id[i]);
        describe_reasons(capture, head);
        return ledger->is_read
                       ? exited_rows_write(&capture->host, &capture->cgroups, capture->writer)
                       : 0;
}

/* Reads and writes all that stands behind the threads, but for the last members. */
static int write_rest(Capture *capture, Head *head) {
        _cleanup_(buffer_done) Buffer text = {};
        const CaptureOptions *options = capture->options;
        SnapshotWriter *writer = capture->writer;
        JsonWriter json;
        int r = 0;

        if (capture->host.ledger)
                r = write_ended(capture, head);
        if (r != 0)
                return r;
        heap_keep(capture->heap);
        if (capture->host.cgroupfs)
                r = cgroups_write(&capture->host, &capture->cgroups, &capture->pace, writer,
                                  &capture->tally);
        if (r != 0)
                return r;
        json_writer_init(&json, &text);
        pressure_write_json(&json, PRESSURE_OF_HOST, options->proc_fd,
                            capture->tally.counts[SOURCE_HOST_PRESSURE]);
        r = json_writer_finish(&json);
        if (r == 0)
                r = snapshot_writer_object(writer, SNAPSHOT_SECTION_PRESSURE, buffer_span(&text));
        if (r != 0)
                return r;
        buffer_clear(&text);
        capture->sched_ext = TEXT_E_ABSENT;
        if (options->sys_fd >= 0) {
                json_writer_init(&json, &text);
                capture->sched_ext = sched_ext_read(options->sys_fd, &json,
                                                    capture->tally.counts[SOURCE_SCHED_EXT]);
                r = json_writer_finish(&json);
        }
        if (r == 0)
                r = snapshot_writer_object(writer, SNAPSHOT_SECTION_SCHED_EXT, buffer_span(&text));
        if (r != 0)
                return r;
        buffer_clear(&text);
        if (!capture->heap->absence) {
                json_writer_init(&json, &text);
                heap_summary_write_json(&json, &capture->heap->summary);
                r = json_writer_finish(&json);
        }
        return r == 0 ? snapshot_writer_object(writer, SNAPSHOT_SECTION_PROBE_SUMMARY,
                                               buffer_span(&text))
                      : r;
}

static int finish(Capture *capture, bool is_trial, Head *head, SourceTable *ret_sources) {
        const SourceReport report = {
                .backend = capture->backend,
                .gates = &capture->host.gates,
                .tally = &capture->tally,
                .smaps = &capture->smaps,
                .heap = capture->heap,
                .ledger = capture->host.ledger,
                .no_ledger = capture->options->no_tasks,
                .no_exits = capture->options->no_exits,
                .no_reasons = capture->options->no_reasons,
                .reason_epoch = capture->host.reason_epoch,
                .lost_reasons = capture->lost_reasons,
                .hears_exits = is_trial ? capture->options->hears_exits : capture->host.heard_exits,
                .is_trial = is_trial,
                .cgroup_mount = capture->cgroup_mount,
                .cgroup_v1 = capture->cgroup_v1,
                .record = &capture->record,
                .sched_ext = capture->sched_ext,
        };
        struct rusage usage = {};
        SourceTable sources;
        int r;

        source_report_write(&report, &sources);
        head->threads = capture->tally.n_threads;
        head->processes = capture->tally.n_processes;
        head->complete = source_table_is_complete(&sources);
        head->has_threads = head->has_processes = head->has_complete = true;
        /* The cost covers all threads of this process, up to the last members. */
        head->end_realtime_ns = clock_now_ns(CLOCK_REALTIME);
        head->end_boottime_ns = clock_now_ns(CLOCK_BOOTTIME);
        head->has_end_realtime = head->has_end_boottime = true;
        (void) getrusage(RUSAGE_SELF, &usage);
        head->cost_wall_ns = clock_now_ns(CLOCK_MONOTONIC) - capture->begin_ns;
        head->cost_cpu_ns = clock_timeval_ns(usage.ru_utime) + clock_timeval_ns(usage.ru_stime) -
                            capture->begin_cpu_ns;
        head->cost_peak_rss_bytes = (uint64_t) usage.ru_maxrss * 1024;
        head->has_cost = true;
        r = snapshot_writer_end(capture->writer, &sources, head);
        if (r == 0)
                *ret_sources = sources;
        return r;
}

int capture_run(const CaptureOptions *options, pid_t only, SnapshotSink sink, void *sink_userdata,
                Head *head, SourceTable *ret_sources) {
        _cleanup_(capture_done) Capture capture = {
                .options = options,
                .host = { .proc_fd = options->proc_fd,
                          .sys_fd = options->sys_fd,
                          .task_fd =
                                  options->tasks ? options->tasks->fds[TASK_OBJECT_TASKS] : -EBADF,
                          .main_pid = options->main_pid,
                          .system = options->system,
                          .self_pids = options->self_pids,
                          .n_self_pids = options->n_self_pids },
                .smaps = { .mode = options->smaps,
                           .largest = { .n_max = options->smaps_max_processes,
                                        .max_bytes = options->smaps_max_rss_bytes },
                           .limit_ns = options->smaps_limit_ns },
                .pace = options->pace,
        };
        WalkOptions walk = {
                .host = &capture.host,
                .n_workers = only == 0 ? options->n_workers : 0,
                .only = only,
                .smaps = &capture.smaps,
                .pace = &capture.pace,
        };
        const HeapOptions heap = {
                .wanted = options->heap || only != 0, /* a probe tries it, whatever is wanted */
                .commands = options->commands,
                .limit_ns = options->heap_limit_ns,
                .cache_fd = options->heap_cache_fd,
                .open_memory = options->open_memory,
                .no_memory = options->no_memory,
                .userdata = options->pace.userdata,
                .is_trial = only != 0,
        };
        struct rusage usage = {};
        int r;

        (void) getrusage(RUSAGE_SELF, &usage);
        capture.begin_cpu_ns = clock_timeval_ns(usage.ru_utime) + clock_timeval_ns(usage.ru_stime);
        capture.begin_ns = clock_now_ns(CLOCK_MONOTONIC);
        head->start_realtime_ns = clock_now_ns(CLOCK_REALTIME);
        head->start_boottime_ns = clock_now_ns(CLOCK_BOOTTIME);
        head->has_start_realtime = head->has_start_boottime = true;
        r = snapshot_writer_new(sink, sink_userdata, &capture.writer);
        if (r == 0)
                r = look_around(&capture, head);
        if (r == 0)
                r = heap_new(&heap, &capture.host, &capture.heap);
        if (r == 0)
                r = snapshot_writer_begin(capture.writer, head);
        if (r == 0)
                r = snapshot_writer_object(capture.writer, SNAPSHOT_SECTION_HOST,
                                           buffer_span(&capture.host_json));
        if (r == 0)
                r = host_record_read(&capture.record, options->proc_fd, options->sys_fd,
                                     &capture.tally);
        for (unsigned i = 0; r == 0 && i < _HOST_PART_MAX; i++)
                r = snapshot_writer_object(capture.writer, SNAPSHOT_SECTION_HOST_CPU + i,
                                           buffer_span(&capture.record.json[i]));
        if (r == 0 && only == 0)
                r = count_reasons(&capture);
        if (r != 0)
                return r;
        walk.backend = capture.backend;
        walk.heap = capture.heap;
        r = walk_run(&walk, capture.writer, &capture.tally, &capture.cgroups);
        if (r == 0)
                r = write_rest(&capture, head);
        return r == 0 ? finish(&capture, only != 0, head, ret_sources) : r;
}

/* probe */

static int drop_bytes(void *userdata, const char *bytes, size_t n) {
        return 0;
}

int capture_probe(const CaptureOptions *options, SourceTable *ret_sources,
                  CaptureSample *ret_sample) {
        pid_t self = options->system->own_pid ? options->system->own_pid : getpid();
        Head head = {};
        char target[32];
        uint32_t pid;
        ssize_t n = readlinkat(options->proc_fd, "self", target, sizeof(target));
        int r;

        /* The number that the calling process has in this /proc. */
        if (n > 0 && number_parse_u32((Span){ target, (size_t) n }, &pid) && pid <= INT32_MAX)
                self = (pid_t) pid;
        r = capture_run(options, self, drop_bytes, NULL, &head, ret_sources);
        if (r == 0)
                *ret_sample = (CaptureSample){ head.threads, head.processes };
        head_done(&head);
        return r;
}
