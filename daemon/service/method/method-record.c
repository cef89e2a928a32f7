/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/name.h"
#include "job/fd-store.h"
#include "job/job.h"
#include "kernel/bpf/record-sample.h"
#include "log/log.h"
#include "service/method/addition.h"
#include "service/method/folding.h"
#include "service/method/loading.h"
#include "service/method/memory-jobs.h"
#include "service/method/upkeep.h"
#include "view/glob.h"

/*
 * A recording: a capture, samples until it is to end, another capture, and one file of all three.
 * Captures have their turns as others have; between them a recording has none, so that captures go
 * on beside it. One runs at a time, for programs and their ring are one for the host.
 */

#define DEFAULT_PERIOD_NS UINT64_C(10000000)
#define MIN_PERIOD_NS UINT64_C(100000)
#define MAX_PERIOD_NS UINT64_C(1000000000)
#define DEFAULT_STACK_BYTES 16384u
#define MAX_SAMPLES 2000u /* a second: more make the period grow */

typedef struct RecordFields {
        const char *tag;
        bool replace, anonymous;
        OptionalU64 for_ns, period_ns, stack_bytes, min_ns, max_ns, every_ns;
        json_object *filter; /* NULL: of all threads */
        OptionalBool kernel_stacks, on_cpu, off_cpu;
        bool wakers, pointers, lines;
} RecordFields;

typedef struct FilterFields {
        json_object *pids, *uids; /* NULL: any */
        const char *comm, *cgroup, *threads;
        bool descendants;
} FilterFields;

typedef struct RecordState {
        CaptureState capture; /* of the end at hand */
        RecordFields fields;
        RecordScope scope;
        int begin, recording, end; /* owned: files of the spool that have no name */
        Job *unwind_job;           /* owned; NULL: there is none */
        uint64_t since_realtime_ns, until_realtime_ns;
        uint64_t max_bytes; /* of what is recorded: its ends have the rest of RecordingBytes= */
} RecordState;

static void discard(const Request *request, int *fd) {
        if (*fd >= 0)
                spool_discard(request->manager->spool, *fd);
        *fd = fd_close(*fd);
}

static void record_release(Request *request) {
        RecordState *state = request->state;

        if (request->manager->recording == request) {
                request->manager->recording = NULL;
                loading_end_sampling(request->manager);
        }
        state->unwind_job = job_free(state->unwind_job);
        discard(request, &state->begin);
        discard(request, &state->recording);
        discard(request, &state->end);
        addition_release(request);
}

/* the files become one */

/* Nobody names it: the caller gets the file, which is in memory. */
static int answer_anonymous(Request *request, const JobReply *reply) {
        RecordState *state = request->state;
        const Addition *addition = &state->capture.addition;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;
        char path[64];
        Span head;
        int fd, r;

        r = request_take_texts(reply, &head, 1);
        if (r < 0)
                return r;
        /* Our descriptor is writable and the caller must not get it. */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", addition->file);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = held_files_add(&request->manager->held, addition->file, request->uid);
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshot");
        json_write_raw(&writer, head);
        json_write_key(&writer, "sources");
        json_write_raw(&writer, buffer_span(&addition->sources));
        addition_write_recording(addition, &writer);
        json_write_member_u64(&writer, "fileDescriptor", 0);
        json_write_end(&writer);
        if (r == 0)
                r = json_writer_finish(&writer);
        if (r < 0) {
                (void) fd_close(fd);
                return r;
        }
        return request_answer(request, buffer_span(&text), &fd, 1);
}

static int on_joined(Request *request, const JobReply *reply) {
        RecordState *state = request->state;

        discard(request, &state->begin);
        discard(request, &state->recording);
        discard(request, &state->end);
        request->reserved_bytes = request->max_file_bytes = 0;
        request->reserved_fd = -EBADF;
        return state->fields.anonymous ? answer_anonymous(request, reply)
                                       : addition_publish(request);
}

/* One in memory has no other bound. */
static int on_not_joined(Request *request, WireError error, const WireErrorDetail *detail) {
        const RecordState *state = request->state;
        char reason[256];

        if (!state->fields.anonymous || error != WIRE_ERROR_SPOOL_FULL)
                return request_fail(request, error, detail);
        (void) snprintf(reason, sizeof(reason),
                        "The recording is larger than %" PRIu64 " MiB, which is half of the memory "
                        "that your open files leave; record into the spool, and export it.",
                        request->max_file_bytes >> 20);
        return request_refuse(request, WIRE_ERROR_JOB_FAILED, reason);
}

static int join(Request *request) {
        static const Stage joining = { .on_result = on_joined,
                                       .on_failure = on_not_joined,
                                       .keeps_place = true };
        RecordState *state = request->state;
        Addition *addition = &state->capture.addition;
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_JOIN);
        JoinOrder *parts;
        int r;

        if (!order)
                return -ENOMEM;
        state->end = TAKE_FD(addition->file);
        if (state->fields.anonymous) {
                /* The spool keeps the parts until they are one file, and never sees that. */
                addition->spool = NULL;
                r = held_file_new(&addition->file);
                if (r < 0)
                        return r;
        } else {
                r = spool_temporary(request->manager->spool, &addition->file);
                if (r != 0)
                        return request_fail_spool(request, "", r);
        }
        parts = &order->join;
        parts->name = addition->name;
        parts->tagged = addition->tagged;
        parts->uid = request->uid;
        r = state->fields.anonymous ? request_reserve_memory(request)
                                    : request_reserve_half(request, addition->file);
        if (r == 0)
                r = request_add_copy(request, state->begin, &parts->begin);
        if (r == 0)
                r = request_add_copy(request, state->end, &parts->end);
        if (r == 0)
                r = request_add_copy(request, state->recording, &parts->recording);
        if (r == 0)
                r = request_add_copy(request, addition->file, &parts->output);
        return r == 0 ? request_continue(request, order, &joining) : r;
}

/* samples */

/* It becomes part of the answer; what nobody has asked for is a line of the log, too. */
static int take_result(Request *request, const RecordResult *result) {
        static const char *const ends[_RECORD_END_MAX] = RECORD_END_NAMES;
        Addition *addition = &((RecordState *) request->state)->capture.addition;
        JsonWriter writer;

        json_writer_init(&writer, &addition->recording);
        json_write_object(&writer);
        if (result->ended_by != RECORD_END_UNKNOWN)
                json_write_member_text(&writer, "endedBy", ends[result->ended_by]);
        json_write_member_u64(&writer, "samples", result->n_samples);
        json_write_member_u64(&writer, "lost", result->n_lost);
        unclocked_time_write(&writer, &result->unclocked);
        json_write_end(&writer);
        if (result->ended_by == RECORD_END_BYTES)
                log_info("The recording of uid %u ended early: it came near RecordingBytes=",
                         (unsigned) request->uid);
        if (result->ended_by == RECORD_END_MEMORY)
                log_info("The recording of uid %u ended early: its job may have no more memory",
                         (unsigned) request->uid);
        if (result->unclocked.cpus[0] != '\0')
                log_info("The recording of uid %u has no samples of what ran on CPU %s, which was "
                         "switched on after ctprofd began",
                         (unsigned) request->uid, result->unclocked.cpus);
        return json_writer_finish(&writer);
}

static int on_recorded(Request *request, const JobReply *reply) {
        RecordState *state = request->state;
        RecordResult result;
        int r;

        if (reply->kind != PACKET_RESULT || !record_result_unpack(reply->body, &result))
                return -EBADMSG;
        r = take_result(request, &result);
        if (r < 0)
                return r;
        state->unwind_job = job_free(state->unwind_job);
        memory_jobs_end(request);
        /* A caller that has ended it can still cancel it. */
        request->is_kept = state->capture.addition.tagged && !request->is_stopping;
        request->can_stop = false;
        state->capture.on_written = join;
        request->reserved_bytes = request->max_file_bytes = 0;
        request->reserved_fd = -EBADF;
        clean_spool(request->manager);
        return request_submit(request, NULL, QUEUE_ADDING, &addition_capturing);
}

static void on_unwind_reply(Job *job, const JobReply *reply, void *userdata) {
        RecordState *state = ((Request *) userdata)->state;

        if (!reply->is_last)
                return;
        if (reply->is_end)
                log_debug("%s", reply->detail.reason);
        state->unwind_job = job_free(job);
}

/*
 * The job that records reads what everybody can write: its socket is passed on, and left alone. At
 * the end it asks for one that reads the stacks of those who go on waiting.
 */
static int on_note(Request *request, const JobReply *note) {
        RecordState *state = request->state;
        const Manager *manager = request->manager;
        _cleanup_(freep) Order *order = NULL;
        _cleanup_(buffer_done) Buffer body = {};
        JobOrder job;
        int fd, r;

        if (note->kind == PACKET_MEMORY)
                return memory_jobs_take(request, note);
        if (note->kind != PACKET_UNWIND || state->unwind_job || note->n_fds == 0)
                return 0;
        fd = TAKE_FD(note->fds[0]);
        order = order_new(ORDER_UNWIND);
        if (order) {
                order->unwind.socket = 1;
                order->unwind.max_bytes = state->max_bytes;
                order->unwind.lines = state->fields.lines;
        }
        r = order ? order_pack(order, &body) : -ENOMEM;
        job = (JobOrder){
                .terms = &job_terms[JOB_UNWIND],
                .body = buffer_span(&body),
                .fds = &fd,
                .n_fds = 1,
                .uid = request->uid,
                .timeout_ns = LIMIT_RECORD_NS,
                .max_file_bytes = manager->settings.recording_bytes,
        };
        if (r == 0)
                r = job_pool_start(manager->pool, &job, on_unwind_reply, request,
                                   &state->unwind_job);
        if (r < 0)
                (void) disposal_close(manager->disposal, fd);
        return r;
}

/* The end will be about as large as the begin; without room for both nothing is recorded. */
static int find_room(Request *request) {
        RecordState *state = request->state;
        uint64_t max_bytes = request->manager->settings.recording_bytes, n_bytes;
        struct stat status;
        char reason[256];

        if (fstat(state->begin, &status) < 0)
                return -errno;
        n_bytes = 2 * (uint64_t) status.st_size;
        if (n_bytes < max_bytes) {
                state->max_bytes = max_bytes - n_bytes;
                return 0;
        }
        (void) snprintf(reason, sizeof(reason),
                        "RecordingBytes=%" PRIu64
                        "K of ctprofd.conf(5) leaves no room for samples: "
                        "the snapshots of both ends take %" PRIu64 "K here.",
                        max_bytes >> 10, n_bytes >> 10);
        return request_refuse(request, WIRE_ERROR_JOB_FAILED, reason);
}

/* They hang for ever in a file of somebody who wants that, and each has its place and memory. */
static int refuse_hung_jobs(Request *request) {
        const JobPool *pool = request->manager->pool;

        if (job_pool_count_kind(pool, JOB_RECORD) < LIMIT_RECORD_JOBS &&
            job_pool_count_kind(pool, JOB_UNWIND) < LIMIT_RECORD_JOBS)
                return 0;
        return request_refuse(
                request, WIRE_ERROR_JOB_FAILED,
                "jobs of earlier recordings hang in the kernel and cannot be stopped; "
                "\"systemctl status ctprofd\" lists them");
}

static int prepare_record(Request *request) {
        RecordState *state = request->state;
        const RecordFields *fields = &state->fields;
        Manager *manager = request->manager;
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_RECORD);
        RecordOrder *record;
        uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
        int r;

        if (!order)
                return -ENOMEM;
        record = &order->record;
        r = refuse_hung_jobs(request);
        if (r == 0)
                r = find_room(request);
        if (r != 0)
                return r;
        r = spool_temporary(manager->spool, &state->recording);
        if (r != 0)
                return request_fail_spool(request, "", r);
        request->reserved_bytes = manager->settings.recording_bytes;
        request->reserved_fd = state->recording;
        record->waiting = !fields->off_cpu.is_set || fields->off_cpu.value;
        record->running = !fields->on_cpu.is_set || fields->on_cpu.value;
        record->frames = !fields->kernel_stacks.is_set || fields->kernel_stacks.value;
        if (fields->wakers)
                record->wakers = RECORD_WAKERS_ALL;
        else if (record->waiting)
                record->wakers = RECORD_WAKERS_LOCKS;
        record->stack_bytes = fields->stack_bytes.is_set ? (uint32_t) fields->stack_bytes.value
                                                         : DEFAULT_STACK_BYTES;
        record->pointers = fields->pointers;
        record->period_ns = fields->period_ns.is_set ? fields->period_ns.value : DEFAULT_PERIOD_NS;
        record->max_samples = MAX_SAMPLES;
        record->scope = state->scope;
        record->limit_ns = manager->settings.recording_ns;
        if (fields->for_ns.is_set)
                record->limit_ns = MIN_OF(record->limit_ns, fields->for_ns.value);
        record->every_ns = fields->every_ns.value;
        if (fields->every_ns.is_set)
                record->limit_ns = MIN_OF(record->limit_ns, record->every_ns * LIMIT_STEPS);
        if (request->is_stopping)
                record->limit_ns = 0;
        if (request->connection)
                record->caller_pid = (uint32_t) request->connection->peer.pid;
        state->since_realtime_ns = now_ns;
        state->until_realtime_ns = now_ns + record->limit_ns;
        r = request_add_copy(request, state->recording, &record->output);
        if (r == 0)
                r = loading_add_sampling(request, record);
        return r == 0 ? request_set_order(request, order) : r;
}

static const Stage recording_tagged = {
        .prepare = prepare_record,
        .on_note = on_note,
        .on_part = addition_on_progress,
        .on_result = on_recorded,
        .tells_progress = true,
        .outlives_caller = true,
};
static const Stage recording_untagged = {
        .prepare = prepare_record,
        .on_note = on_note,
        .on_part = addition_on_progress,
        .on_result = on_recorded,
        .tells_progress = true,
};

static int on_begin_written(Request *request) {
        RecordState *state = request->state;
        Addition *addition = &state->capture.addition;

        state->begin = TAKE_FD(addition->file);
        buffer_clear(&addition->sources); /* those of the end are told */
        request->reserved_bytes = request->max_file_bytes = 0;
        request->reserved_fd = -EBADF;
        /* Its place belongs to captures. */
        queue_remove(&request->manager->queues[QUEUE_ADDING], &request->entry);
        (void) sd_event_source_set_enabled(request->manager->turn, SD_EVENT_ONESHOT);
        return request_submit(request, NULL, QUEUE_RECORDING,
                              addition->tagged ? &recording_tagged : &recording_untagged);
}

/* calls */

static int refuse_second(Request *request) {
        const Request *other = request->manager->recording;
        const RecordState *state = other->state;

        return request_fail(request, WIRE_ERROR_RECORDING_RUNS,
                            &(WireErrorDetail){ .has_recorder = true,
                                                .uid = other->uid,
                                                .since_realtime_ns = state->since_realtime_ns,
                                                .until_realtime_ns = state->until_realtime_ns });
}

/* False unless there are a few numbers, each of which is one of @ret. NULL: there are none. */
static bool take_numbers(json_object *array, uint32_t *ret, uint32_t *ret_n) {
        size_t n = array ? json_object_array_length(array) : 0;

        if (array && (n == 0 || n > RECORD_FILTER_MAX))
                return false;
        for (size_t i = 0; i < n; i++) {
                json_object *number = json_object_array_get_idx(array, i);

                if (json_object_get_int64(number) < 0 || json_object_get_int64(number) > UINT32_MAX)
                        return false;
                ret[i] = (uint32_t) json_object_get_int64(number);
        }
        *ret_n = (uint32_t) n;
        return true;
}

/*
 * Writes the conditions that the filter has into @scope, which becomes a part of the order. The job
 * that records finds the cgroup by its path.
 */
static int decode_filter(Request *request, json_object *object, RecordScope *scope) {
        static const Parameter table[] = {
                { "pids", PARAMETER_NUMBERS, false, offsetof(FilterFields, pids) },
                { "uids", PARAMETER_NUMBERS, false, offsetof(FilterFields, uids) },
                { "comm", PARAMETER_TEXT, false, offsetof(FilterFields, comm) },
                { "cgroup", PARAMETER_TEXT, false, offsetof(FilterFields, cgroup) },
                { "threads", PARAMETER_TEXT, false, offsetof(FilterFields, threads) },
                { "descendants", PARAMETER_BOOL, false, offsetof(FilterFields, descendants) },
        };
        static const char *const threads[_RECORD_THREADS_MAX] = {
                [RECORD_THREADS_ALL] = "all",
                [RECORD_THREADS_USER] = "user",
                [RECORD_THREADS_KERNEL] = "kernel",
        };
        RecordFilter *filter = &scope->filter;
        FilterFields fields = {};
        const char *key;

        if (parameters_decode(object, table, ELEMENTSOF(table), &fields, &key) != 0) {
                char reason[128];

                (void) snprintf(reason, sizeof(reason), "It has a wrong member, \"%.40s\".", key);
                return request_refuse_parameter(request, "filter", reason);
        }
        if (!take_numbers(fields.pids, filter->pids, &filter->n_pids) ||
            !take_numbers(fields.uids, filter->uids, &filter->n_uids))
                return request_refuse_parameter(request, "filter",
                                                "It takes 1 to 16 processes, and as many users.");
        if (fields.comm && (glob_check_text(span_of(fields.comm)) != 0 ||
                            strlen(fields.comm) >= sizeof(scope->comm)))
                return request_refuse_parameter(request, "filter",
                                                "The name is no glob, or too long a one.");
        if (fields.cgroup &&
            (fields.cgroup[0] != '/' || strlen(fields.cgroup) >= sizeof(scope->cgroup)))
                return request_refuse_parameter(
                        request, "filter", "A cgroup is a path as in /proc/PID/cgroup, from / on.");
        if (fields.threads)
                filter->threads = name_find(span_of(fields.threads), threads, _RECORD_THREADS_MAX);
        if (filter->threads == _RECORD_THREADS_MAX)
                return request_refuse_parameter(request, "filter",
                                                "Threads are \"all\", \"user\" or \"kernel\".");
        if (fields.descendants && request->connection)
                filter->starter = (uint32_t) request->connection->peer.pid;
        if (fields.descendants && filter->starter == 0)
                return request_refuse_parameter(request, "filter",
                                                "The caller is in another pid namespace, where its "
                                                "descendants are not known.");
        if (fields.comm)
                memcpy(scope->comm, fields.comm, strlen(fields.comm) + 1);
        if (fields.cgroup)
                memcpy(scope->cgroup, fields.cgroup, strlen(fields.cgroup) + 1);
        record_scope_settle(scope);
        return 0;
}

static int check_steps(Request *request, const RecordFields *fields) {
        const uint64_t longest_ns = request->manager->settings.recording_ns;
        uint64_t every_ns = fields->every_ns.value;
        char reason[160];

        if (!fields->every_ns.is_set)
                return 0;
        if (every_ns < LIMIT_STEP_LEAST_NS || every_ns > longest_ns) {
                (void) snprintf(reason, sizeof(reason),
                                "A step lasts at least %" PRIu64 " ms, and no longer than a "
                                "recording may.",
                                LIMIT_STEP_LEAST_NS / NSEC_PER_MSEC);
                return request_refuse_parameter(request, "everyNs", reason);
        }
        if (!fields->for_ns.is_set || fields->for_ns.value <= every_ns * LIMIT_STEPS)
                return 0;
        (void) snprintf(reason, sizeof(reason),
                        "A recording has %u steps at most: for so long a one they last %" PRIu64
                        " ms or more.",
                        LIMIT_STEPS,
                        (fields->for_ns.value / LIMIT_STEPS + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
        return request_refuse_parameter(request, "everyNs", reason);
}

static int check_lengths(Request *request, const RecordFields *fields, RecordScope *scope) {
        const ManagerSettings *settings = &request->manager->settings;
        char reason[160];

        scope->min_ns = fields->min_ns.value;
        scope->max_ns = fields->max_ns.value;
        if (fields->max_ns.is_set && scope->max_ns == 0)
                return request_refuse_parameter(request, "maxNs", "Then no wait would be left.");
        if (scope->max_ns > 0 && scope->min_ns > scope->max_ns)
                return request_refuse_parameter(request, "minNs", "It is above \"maxNs\".");
        if (!fields->for_ns.is_set)
                return 0;
        if (fields->for_ns.value == 0)
                return request_refuse_parameter(request, "forNs",
                                                "A recording lasts for some time.");
        if (fields->for_ns.value <= settings->recording_ns)
                return 0;
        (void) snprintf(reason, sizeof(reason),
                        "A recording here takes %" PRIu64 " s at most: ctprofd.conf(5) has "
                        "RecordingTime=.",
                        settings->recording_ns / NSEC_PER_SEC);
        return request_refuse_parameter(request, "forNs", reason);
}

int method_record(Request *request) {
        static const Parameter table[] = {
                { "tag", PARAMETER_TEXT, false, offsetof(RecordFields, tag) },
                { "replace", PARAMETER_BOOL, false, offsetof(RecordFields, replace) },
                { "forNs", PARAMETER_OPTIONAL_U64, false, offsetof(RecordFields, for_ns) },
                { "periodNs", PARAMETER_OPTIONAL_U64, false, offsetof(RecordFields, period_ns) },
                { "stackBytes", PARAMETER_OPTIONAL_U64, false,
                  offsetof(RecordFields, stack_bytes) },
                { "framePointers", PARAMETER_BOOL, false, offsetof(RecordFields, pointers) },
                { "kernelStacks", PARAMETER_OPTIONAL_BOOL, false,
                  offsetof(RecordFields, kernel_stacks) },
                { "onCpu", PARAMETER_OPTIONAL_BOOL, false, offsetof(RecordFields, on_cpu) },
                { "offCpu", PARAMETER_OPTIONAL_BOOL, false, offsetof(RecordFields, off_cpu) },
                { "minNs", PARAMETER_OPTIONAL_U64, false, offsetof(RecordFields, min_ns) },
                { "maxNs", PARAMETER_OPTIONAL_U64, false, offsetof(RecordFields, max_ns) },
                { "filter", PARAMETER_OBJECT, false, offsetof(RecordFields, filter) },
                { "anonymous", PARAMETER_BOOL, false, offsetof(RecordFields, anonymous) },
                { "wakers", PARAMETER_BOOL, false, offsetof(RecordFields, wakers) },
                { "everyNs", PARAMETER_OPTIONAL_U64, false, offsetof(RecordFields, every_ns) },
                { "lines", PARAMETER_BOOL, false, offsetof(RecordFields, lines) },
        };
        Manager *manager = request->manager;
        const ManagerSettings *settings = &manager->settings;
        RecordState *state;
        RecordFields *fields;
        CaptureFields *capture;
        const char *complaint;
        int r;

        if (!request->more)
                return request_fail(request, WIRE_ERROR_EXPECTED_MORE, NULL);
        if (manager->recording)
                return refuse_second(request);
        state = request_keep(request, sizeof(*state), record_release);
        if (!state)
                return -ENOMEM;
        state->begin = state->recording = state->end = state->capture.addition.file = -EBADF;
        fields = &state->fields;
        r = request_decode(request, table, ELEMENTSOF(table), fields);
        if (r != 0)
                return r;
        complaint = fields->tag ? snapshot_name_new_complaint(span_of(fields->tag)) : NULL;
        if (complaint)
                return request_fail(
                        request, WIRE_ERROR_INVALID_NAME,
                        &(WireErrorDetail){ .subject = span_of(fields->tag), .reason = complaint });
        if (fields->replace && !fields->tag)
                return request_refuse_parameter(request, "replace",
                                                "Only a named recording can replace another.");
        if (fields->period_ns.is_set &&
            (fields->period_ns.value < MIN_PERIOD_NS || fields->period_ns.value > MAX_PERIOD_NS))
                return request_refuse_parameter(request, "periodNs",
                                                "It is from 100 microseconds to 1 second.");
        if (fields->stack_bytes.is_set && fields->stack_bytes.value > RECORD_MAX_STACK_BYTES)
                return request_refuse_parameter(request, "stackBytes",
                                                "At most 32768 bytes of a stack are copied.");
        if (fields->pointers && fields->stack_bytes.is_set && fields->stack_bytes.value == 0)
                return request_refuse_parameter(request, "framePointers",
                                                "Then no stacks of user mode are recorded.");
        if (fields->on_cpu.is_set && fields->off_cpu.is_set && !fields->on_cpu.value &&
            !fields->off_cpu.value)
                return request_refuse_parameter(request, "offCpu",
                                                "Then nothing would be recorded.");
        if (fields->wakers && fields->off_cpu.is_set && !fields->off_cpu.value)
                return request_refuse_parameter(request, "wakers",
                                                "They are of waits, which are not recorded then.");
        if (fields->lines && fields->stack_bytes.is_set && fields->stack_bytes.value == 0)
                return request_refuse_parameter(request, "lines",
                                                "Then no stacks of user mode are recorded.");
        if (settings->reasons_ns == 0 && (!fields->off_cpu.is_set || fields->off_cpu.value))
                return request_refuse(request, WIRE_ERROR_JOB_FAILED,
                                      "waits cannot be recorded where they are not counted by "
                                      "reason: ctprofd.conf says WaitReasons=off; running time "
                                      "alone can (--on-cpu)");
        r = check_steps(request, fields);
        if (r == 0)
                r = check_lengths(request, fields, &state->scope);
        if (r == 0 && fields->filter)
                r = decode_filter(request, fields->filter, &state->scope);
        if (r != 0)
                return r;
        capture = &state->capture.fields;
        capture->tag = fields->tag;
        capture->replace = fields->replace;
        capture->interval = true;
        capture->backend = loading_choose(manager, BACKEND_CHOICE_BPF, true);
        capture->smaps = settings->smaps;
        capture->heap = settings->heap;
        state->capture.on_written = on_begin_written;
        state->capture.addition.tagged = fields->tag;
        state->capture.addition.replace = fields->replace;
        if (fields->tag)
                memcpy(state->capture.addition.name.text, fields->tag, strlen(fields->tag) + 1);
        state->since_realtime_ns = clock_now_ns(CLOCK_REALTIME);
        state->until_realtime_ns =
                state->since_realtime_ns +
                (fields->for_ns.is_set ? fields->for_ns.value : settings->recording_ns);
        manager->recording = request;
        request->can_stop = true;
        clean_spool(manager);
        return request_submit(request, NULL, QUEUE_ADDING, &addition_capturing);
}

int method_end_recording(Request *request) {
        Request *other = request->manager->recording;
        int r = request_decode(request, NULL, 0, NULL);

        if (r != 0)
                return r;
        if (!other)
                return request_fail(request, WIRE_ERROR_NO_RECORDING, NULL);
        if (request->uid != 0 && request->uid != other->uid)
                return request_fail(request, WIRE_ERROR_PERMISSION_DENIED, NULL);
        r = request_stop(other);
        return r == 0 ? request_answer(request, SPAN_LITERAL("{}"), NULL, 0) : r;
}

void recording_write_status(const Manager *manager, JsonWriter *writer) {
        const Request *request = manager->recording;
        const RecordState *state = request ? request->state : NULL;
        RecordControl control;

        json_write_key(writer, "recording");
        if (!request) {
                json_write_null(writer);
                return;
        }
        json_write_object(writer);
        json_write_member_u64(writer, "uid", request->uid);
        if (state->fields.tag)
                json_write_member_text(writer, "tag", state->fields.tag);
        json_write_member_u64(writer, "sinceRealtimeNs", state->since_realtime_ns);
        json_write_member_u64(writer, "untilRealtimeNs", state->until_realtime_ns);
        /* While the snapshots at the two ends are captured, there are no counts of samples. */
        if (loading_look_at_sampling(manager, &control)) {
                json_write_member_u64(writer, "samples", control.n_samples);
                json_write_member_u64(writer, "lost", record_count_lost(&control));
                json_write_member_u64(writer, "periodNs", control.period_ns);
        }
        json_write_end(writer);
}
