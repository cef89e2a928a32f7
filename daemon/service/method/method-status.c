/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <systemd/sd-id128.h>

#include "config.h"
#include "base/clock.h"
#include "base/number.h"
#include "job/fd-store.h"
#include "job/job.h"
#include "kernel/procfs/host-files.h"
#include "service/method/listening.h"
#include "service/method/loading.h"
#include "service/method/memory-jobs.h"
#include "service/method/method.h"
#include "service/request/request.h"
#include "snapshot/source.h"
#include "wire/message-object.h"

static void write_daemon(const Manager *manager, JsonWriter *writer) {
        const LoadingState state = loading_state(manager);
        cap_t capabilities = cap_get_proc();

        json_write_key(writer, "daemon");
        json_write_object(writer);
        json_write_member_text(writer, "version", CTPROF_VERSION);
        json_write_member_u64(writer, "uptimeNs",
                              clock_now_ns(CLOCK_MONOTONIC) - manager->started_ns);
        json_write_member_u64(writer, "uid", geteuid());
        json_write_key(writer, "capabilities");
        json_write_array(writer);
        for (cap_value_t capability = 0; capability < cap_max_bits(); capability++) {
                cap_flag_value_t is_set = CAP_CLEAR;
                char *name;

                if (!capabilities ||
                    cap_get_flag(capabilities, capability, CAP_EFFECTIVE, &is_set) < 0 ||
                    is_set != CAP_SET)
                        continue;
                name = cap_to_name(capability);
                if (!name)
                        continue;
                json_write_text(writer, name);
                (void) cap_free(name);
        }
        (void) cap_free(capabilities);
        json_write_end(writer);
        json_write_end(writer);

        json_write_key(writer, "backend");
        json_write_object(writer);
        if (state.backend == BACKEND_CHOICE_AUTO)
                json_write_member_null(writer, "name");
        else
                json_write_member_text(writer, "name", backend_choice_names[state.backend]);
        if (state.reason[0] != '\0')
                json_write_member_text(writer, "reason", state.reason);
        if (state.has_since) {
                json_write_member_u64(writer, "loadedRealtimeNs", state.since_realtime_ns);
                json_write_member_u64(writer, "loadedBoottimeNs", state.since_boottime_ns);
        }
        json_write_member_u64(writer, "outdated", fd_store_n_outdated(manager->fd_store));
        json_write_end(writer);
}

/*
 * The contents of a spool that cannot be used are unknown: null, not 0. So is its free space, and
 * inodes that the file system does not count.
 */
static void write_spool(const Manager *manager, const SpoolView *view, JsonWriter *writer) {
        int dir_fd = manager->spool->dir_fd;
        SpoolFree space;
        bool is_known = spool_free_space(dir_fd, &space) == 0;

        json_write_key(writer, "spool");
        json_write_object(writer);
        json_write_member_name(writer, "path", span_of(manager->spool->path));
        if (dir_fd >= 0) {
                json_write_member_u64(writer, "snapshots", view->n);
                json_write_member_u64(writer, "bytes", view->allocated_bytes);
        } else {
                json_write_member_null(writer, "snapshots");
                json_write_member_null(writer, "bytes");
                json_write_member_name(writer, "reason", span_of(manager->spool->complaint));
        }
        json_write_member_u64(writer, "maxBytes", manager->settings.spool.max_bytes);
        json_write_member_u64(writer, "keepFreeBytes", manager->settings.spool.keep_free_bytes);
        if (is_known)
                json_write_member_u64(writer, "freeBytes", space.n_bytes);
        else
                json_write_member_null(writer, "freeBytes");
        if (is_known && space.has_files)
                json_write_member_u64(writer, "freeFiles", space.n_files);
        else
                json_write_member_null(writer, "freeFiles");
        json_write_member_u64(writer, "keepFreeFiles", manager->settings.spool.keep_free_files);
        json_write_end(writer);
}

static void write_jobs(const Manager *manager, JsonWriter *writer) {
        uint32_t owners[LIMIT_HUNG_PROCESSES];
        size_t n = hung_get_barred(&manager->hung, owners, ELEMENTSOF(owners));
        unsigned n_running, n_waiting;

        /* The job of this call has left the queue and is not counted. */
        queue_count(manager->users, &n_running, &n_waiting);
        json_write_key(writer, "jobs");
        json_write_object(writer);
        json_write_member_u64(writer, "running", n_running);
        json_write_member_u64(writer, "waiting", n_waiting);
        json_write_key(writer, "hanging");
        json_write_array(writer);
        for (size_t i = 0; i < manager->pool->n_jobs; i++) {
                const Job *job = manager->pool->jobs[i];
                const HungProcess *process;
                size_t process_at = 0;

                if (job->kill != JOB_KILL_STUCK)
                        continue;
                json_write_object(writer);
                json_write_member_text(writer, "kind", job->terms->word);
                json_write_member_u64(writer, "pid", (uint64_t) job->pid);
                json_write_member_u64(writer, "uid", job->uid);
                json_write_member_u64(writer, "sinceRealtimeNs", job->killed_realtime_ns);
                /* The processes in whose memory it hangs, as it said itself. */
                json_write_key(writer, "processes");
                json_write_array(writer);
                while ((process = hung_next_of(&manager->hung, job->pid, &process_at))) {
                        json_write_object(writer);
                        json_write_member_u64(writer, "pid", process->tgid);
                        json_write_member_u64(writer, "owner", process->owner);
                        json_write_member_u64(writer, "sinceRealtimeNs",
                                              process->since_realtime_ns);
                        json_write_end(writer);
                }
                json_write_end(writer);
                json_write_end(writer);
        }
        json_write_end(writer);
        json_write_key(writer, "barredOwners");
        json_write_array(writer);
        for (size_t i = 0; i < n; i++)
                json_write_u64(writer, owners[i]);
        json_write_end(writer);
        json_write_end(writer);
}

/* The price of a switch and the wake-up before it: tests/bench. */
#define REASON_PRICE_NS 200u

/* Null where no programs can count. */
static void write_reasons(const Manager *manager, JsonWriter *writer) {
        _cleanup_(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        uint64_t n_switches = 0;
        ReasonState state;

        json_write_key(writer, "reasons");
        if (!loading_look_at_reasons(manager, &state)) {
                json_write_null(writer);
                return;
        }
        json_write_object(writer);
        json_write_member_bool(writer, "counted", state.is_on);
        if (state.is_on) {
                json_write_member_u64(writer, "sinceBoottimeNs", state.since_boottime_ns);
                json_write_member_u64(writer, "forNs", state.for_ns);
                if (state.has_end)
                        json_write_member_u64(writer, "leftNs", state.left_ns);
                else
                        json_write_member_null(writer, "leftNs");
        }
        if (state.is_on && proc_fd >= 0 && host_cpu_count_switches(proc_fd, &n_switches) &&
            n_switches >= state.n_switches) {
                n_switches -= state.n_switches;
                json_write_member_u64(writer, "switches", n_switches);
                json_write_member_u64(writer, "costNs",
                                      number_multiply_saturating(n_switches, REASON_PRICE_NS));
        }
        json_write_end(writer);
}

/* The capture that tells how sources can be read; without a name there is none. */
typedef struct LastCapture {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        bool has_start;
        uint64_t start_realtime_ns;
} LastCapture;

/* @sample: {threads, processes}; @ended: {owners}. Empty when nothing was probed. */
static int answer(Request *request, Span sources, Span sample, Span ended) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        const LastCapture *capture = request->state;
        JsonWriter writer;

        json_writer_init(&writer, &text);
        json_write_object(&writer);
        write_daemon(request->manager, &writer);
        json_write_key(&writer, "sources");
        json_write_raw(&writer, sources);
        json_write_key(&writer, "capture");
        if (capture->name[0] == '\0') {
                json_write_null(&writer);
        } else {
                json_write_object(&writer);
                json_write_member_text(&writer, "name", capture->name);
                if (capture->has_start)
                        json_write_member_u64(&writer, "startRealtimeNs",
                                              capture->start_realtime_ns);
                json_write_end(&writer);
        }
        json_write_key(&writer, "sample");
        if (sample.n > 0)
                json_write_raw(&writer, sample);
        else
                json_write_null(&writer);
        write_reasons(request->manager, &writer);
        recording_write_status(request->manager, &writer);
        if (ended.n > 0) {
                json_write_key(&writer, "ended");
                json_write_raw(&writer, ended);
        }
        write_spool(request->manager, request_view(request), &writer);
        write_jobs(request->manager, &writer);
        json_write_end(&writer);
        return request_answer_written(request, &writer);
}

/* A probe tells, or a job that reads a snapshot, which has no sample. */
static int on_told(Request *request, const JobReply *reply) {
        Span texts[3];
        int r = request_take_texts(reply, texts, ELEMENTSOF(texts));

        request->files_job = job_free(request->files_job);
        request->memory_job = job_free(request->memory_job);
        return r == 0 ? answer(request, texts[0], texts[1], texts[2]) : r;
}

/* Status is called when something is wrong, so it answers even if the job failed. */
static int on_not_probed(Request *request, WireError error, const WireErrorDetail *detail) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        SourceTable sources = {};
        JsonWriter writer;
        int r;

        request->files_job = job_free(request->files_job);
        request->memory_job = job_free(request->memory_job);
        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                sources.sources[id] = (Source){
                        .state = SOURCE_STATE_UNAVAILABLE,
                        .reason = "the job that checks the sources failed",
                };
        json_writer_init(&writer, &text);
        source_table_write_json(&writer, &sources);
        r = json_writer_finish(&writer);
        return r == 0 ? answer(request, buffer_span(&text), (Span){}, (Span){}) : r;
}

/* The job looks in the way in which a capture that leaves the choice would. */
static int prepare(Request *request) {
        bool is_bpf = loading_state(request->manager).backend == BACKEND_CHOICE_BPF;
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_PROBE);
        CaptureOrder *capture;
        int r;

        if (!order)
                return -ENOMEM;
        capture = &order->capture;
        capture->smaps = SMAPS_MODE_SMALL;
        capture->smaps_max_rss_bytes = LIMIT_SMAPS_MAX_RSS_BYTES;
        capture->smaps_max_processes = LIMIT_SMAPS_PROCESSES;
        capture->smaps_limit_ns = LIMIT_SMAPS_NS;
        capture->heap_limit_ns = LIMIT_HEAP_NS;
        capture->commands = COMMAND_LINES_NO;
        r = listening_add(request, capture, true);
        if (r == 0)
                r = memory_jobs_add(request, capture);
        if (r == 0)
                r = loading_add(request, capture,
                                is_bpf ? BACKEND_CHOICE_AUTO : BACKEND_CHOICE_PROCFS);
        return r == 0 ? request_set_order(request, order) : r;
}

static int probe(Request *request) {
        static const Stage stage = {
                .prepare = prepare,
                .on_note = memory_jobs_take,
                .on_result = on_told,
                .on_failure = on_not_probed,
        };
        /* It waits behind the job that loads programs: before, there is nothing to say of them. */
        QueueKind queue = request->manager->is_loading ? QUEUE_LOADING : QUEUE_READING;

        return request_submit(request, NULL, queue, &stage);
}

/* the last capture */

static int on_not_read(Request *request, WireError error, const WireErrorDetail *detail) {
        LastCapture *capture = request->state;

        *capture = (LastCapture){};
        return probe(request);
}

/*
 * A capture has tried every thread of the host, and a probe tries a few: where there has been a
 * capture since the boot, it tells.
 */
int method_status(Request *request) {
        static const Stage stage = { .on_result = on_told, .on_failure = on_not_read };
        const IndexEntry *entry = spool_view_resolve(request_view(request), SPAN_LITERAL("latest"));
        _cleanup_(message_object_freep) json_object *head = NULL;
        _cleanup_(freep) Order *order = NULL;
        LastCapture *capture = request_keep(request, sizeof(*capture), NULL);
        char now[SD_ID128_STRING_MAX];
        const char *boot_id = NULL;
        AnalysisOrder *analysis;
        OrderFile *file;
        sd_id128_t boot;
        int fd, r;

        if (!capture)
                return -ENOMEM;
        r = request_decode(request, NULL, 0, NULL);
        if (r != 0)
                return r;
        order = request_new_order(request, ORDER_TELL_SOURCES);
        if (!order)
                return -ENOMEM;
        if (entry) {
                head = json_tokener_parse(entry->text);
                boot_id = json_object_get_string(json_object_object_get(head, "bootId"));
        }
        if (!boot_id || sd_id128_get_boot(&boot) < 0 ||
            strcmp(boot_id, sd_id128_to_string(boot, now)) != 0 ||
            spool_open_snapshot(request->manager->spool, entry->name, &fd, NULL) != 0)
                return probe(request);
        *capture = (LastCapture){
                .has_start = entry->has_start,
                .start_realtime_ns = entry->start_realtime_ns,
        };
        memcpy(capture->name, entry->name, sizeof(capture->name));
        analysis = &order->analysis;
        file = &analysis->subjects[analysis->n[0]++].from;
        r = request_add_fd(request, fd, &file->fd);
        if (r == 0 && !order_set_label(analysis, file, entry->name))
                r = -E2BIG;
        return r == 0 ? request_submit(request, order, QUEUE_READING, &stage) : r;
}
