/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "job/workshop.h"
#include "server/own-processes.h"
#include "service/method/clean.h"
#include "service/method/listening.h"
#include "service/method/loading.h"
#include "service/method/memory-aid.h"
#include "service/method/task-aid.h"
#include "service/request/order.h"
#include "service/request/reservation.h"
#include "service/request/transfer.h"

#define CAPTURE_MAX_PIDS 64
#define CAPTURE_MAX_CALLERS 512

/*
 * Two jobs: one reads the host and writes a file that has no name, one gives it its name in the
 * spool. The first reads what everybody can write, and so may not touch the spool.
 */

typedef struct CaptureFields {
        const char *tag;
        bool replace, anonymous, interval;
        OptionalBool wants_smaps;
        const char *backend_name; /* NULL: not given */
        BackendChoice backend;
        const char *smaps_mode; /* likewise */
        SmapsMode smaps;
        OptionalBool wants_heap, wants_reasons;
        bool heap;
} CaptureFields;

typedef struct CaptureState {
        CaptureFields fields;
        const Spool *spool; /* borrowed; @file is there, unless the capture is anonymous */
        int file;           /* owned; ours beside those of the jobs */
        MemoryAid memory;   /* until the capture job has ended */
} CaptureState;

static void state_free(void *pointer) {
        CaptureState *state = pointer;

        memory_aid_done(&state->memory);
        if (state->file >= 0 && state->spool)
                spool_discard(state->spool, state->file);
        (void) fd_close(state->file);
        free(state);
}

/*
 * The daemon, its jobs, and whoever calls: for as long as they are connected, callers are part of
 * the measurement.
 */
static void write_own_pids(const Request *request, JsonWriter *writer) {
        pid_t pids[CAPTURE_MAX_PIDS + CAPTURE_MAX_CALLERS];
        const Desk *desk = request->desk;
        size_t n = workshop_get_pids(desk->workshop, pids, CAPTURE_MAX_PIDS);

        if (desk->own)
                n += own_processes_get_pids(desk->own, pids + n, CAPTURE_MAX_CALLERS);
        json_write_key(writer, JOB_KEY_SELF_PIDS);
        json_write_array(writer);
        json_write_i64(writer, getpid());
        for (size_t i = 0; i < n; i++)
                json_write_i64(writer, pids[i]);
        json_write_end(writer);
}

/*
 * Nobody else sees an anonymous snapshot. It is in memory: the spool cannot count what its caller
 * has open.
 */
static int open_file(Request *request, CaptureState *state) {
        Spool *spool = request->desk->spool;
        int r;

        if (state->file >= 0) /* of an order that was not sent */
                return 0;
        if (state->fields.anonymous) {
                r = lent_file_new(&state->file);
                return r == 0 ? reservation_take_memory(request) : r;
        }
        r = spool_temporary(spool, &state->file);
        if (r != 0)
                return request_fail_spool(request, "", r);
        state->spool = spool;
        reservation_take_capture(request, state->file);
        return 0;
}

/* Our descriptor stays open: whether the file was published is known when the request ends. */
static int add_file(Request *request, JsonWriter *writer, const CaptureState *state,
                    const char *key) {
        int fd = fcntl(state->file, F_DUPFD_CLOEXEC, 0);

        return fd < 0 ? -errno : request_add_fd(request, writer, key, fd);
}

static bool on_note(Request *request, Span frame) {
        CaptureState *state = request->state;

        return memory_aid_take(&state->memory, request, frame);
}

/* Drop progress for a caller that does not read it: a capture must not pause and delay others. */
static int on_progress(Request *request, Span frame) {
        if (connection_has_room(request->connection, frame.n + 1))
                connection_forward(request->connection, frame, REPLY_PART, NULL, 0);
        return 0;
}

/* The boolean is what callers of earlier versions know; both may be given if they agree. */
static int choose_smaps(Request *request, CaptureFields *fields) {
        fields->smaps = request->desk->settings.smaps;
        if (fields->wants_smaps.is_set)
                fields->smaps = fields->wants_smaps.value ? SMAPS_MODE_ALL : SMAPS_MODE_NONE;
        if (!fields->smaps_mode)
                return 0;
        fields->smaps = smaps_mode_find(span_of(fields->smaps_mode));
        if (fields->smaps == _SMAPS_MODE_MAX)
                return request_refuse_parameter(request, "smapsMode",
                                                "It is \"all\", \"small\" or \"none\".");
        if (fields->wants_smaps.is_set &&
            fields->wants_smaps.value != (fields->smaps != SMAPS_MODE_NONE))
                return request_refuse_parameter(request, "smapsMode",
                                                "It contradicts the parameter \"smaps\".");
        return 0;
}

static int choose_backend(Request *request, CaptureFields *fields) {
        BackendChoice wish = request->desk->settings.backend;

        if (fields->backend_name)
                wish = backend_choice_find(span_of(fields->backend_name));
        if (wish == _BACKEND_CHOICE_MAX)
                return request_refuse_parameter(request, "backend",
                                                "It is \"auto\", \"procfs\" or \"bpf\".");
        fields->backend = loading_choose(request->desk, wish, fields->interval);
        return 0;
}

static int check_fields(Request *request, CaptureFields *fields) {
        const char *complaint;
        int r;

        if (fields->replace && !fields->tag)
                return request_refuse_parameter(request, "replace",
                                                "Only a named snapshot can replace another.");
        complaint = fields->tag ? snapshot_name_new_complaint(span_of(fields->tag)) : NULL;
        if (complaint)
                return request_fail(request, WIRE_ERROR_INVALID_NAME,
                                    &(WireErrorDetail){
                                            .subject = span_of(fields->tag),
                                            .reason = complaint,
                                    });
        fields->heap =
                fields->wants_heap.is_set ? fields->wants_heap.value : request->desk->settings.heap;
        r = choose_backend(request, fields);
        return r == 0 ? choose_smaps(request, fields) : r;
}

/* What both jobs have to know. */
static void write_identity(const Request *request, JsonWriter *writer) {
        const CaptureState *state = request->state;
        const CaptureFields *fields = &state->fields;

        if (fields->tag)
                json_write_member_text(writer, JOB_KEY_NAME, fields->tag);
        json_write_member_bool(writer, JOB_KEY_TAGGED, fields->tag);
        json_write_member_bool(writer, JOB_KEY_REPLACE, fields->replace);
        json_write_member_u64(writer, JOB_KEY_UID, request->uid);
        request_write_limits(request, writer);
}

/* @reply: of the capture. */
static int keep(Request *request, json_object *reply) {
        static const Stage stage = {};
        static const char *const passed_on[] = { JOB_KEY_SOURCES, JOB_KEY_ROTATED };
        JsonWriter writer;
        int r;

        request_begin_order(request, &writer);
        r = request_add_spool(request, &writer);
        if (r == 0)
                r = add_file(request, &writer, request->state, JOB_KEY_FILE);
        if (r == 0)
                r = request_add_roll(request, &writer);
        if (r != 0)
                return r;
        write_identity(request, &writer);
        for (size_t i = 0; i < ELEMENTSOF(passed_on); i++) {
                json_object *value = json_object_object_get(reply, passed_on[i]);

                if (!value)
                        continue;
                json_write_key(&writer, passed_on[i]);
                json_write_raw(&writer, span_of(json_object_to_json_string_ext(
                                                value, JSON_C_TO_STRING_PLAIN)));
        }
        return request_continue(request, &writer, JOB_METHOD_KEEP, JOB_SPOOL, &stage);
}

static int on_captured(Request *request, Span frame) {
        CaptureState *state = request->state;
        json_object *reply, *sources;
        int r;

        memory_aid_done(&state->memory);
        if (state->fields.anonymous) {
                r = reservation_lend(request, state->file);
                return r == 0 ? request_forward(request, frame) : r;
        }
        r = transfer_decode(frame, JOB_KEY_SOURCES, json_type_array, &reply, &sources);
        if (r < 0)
                return r;
        r = keep(request, reply);
        json_object_put(reply);
        return r;
}

/* The order is written late because it lists the processes of the jobs that run by then. */
static int write_order(Request *request, JsonWriter *writer) {
        CaptureState *state = request->state;
        int r;

        request_begin_order(request, writer);
        write_identity(request, writer);
        json_write_member_text(writer, JOB_KEY_SMAPS_MODE, smaps_mode_name(state->fields.smaps));
        json_write_member_bool(writer, JOB_KEY_ANONYMOUS, state->fields.anonymous);
        write_own_pids(request, writer);
        json_write_member_u64(writer, JOB_KEY_SMAPS_MAX_RSS,
                              request->desk->settings.smaps_max_rss_bytes);
        json_write_member_u64(writer, JOB_KEY_SMAPS_MAX_PROCESSES,
                              request->desk->settings.smaps_max_processes);
        json_write_member_u64(writer, JOB_KEY_SMAPS_LIMIT_NS, request->desk->settings.smaps_ns);
        task_aid_write_reasons(request->desk, writer,
                               !state->fields.wants_reasons.is_set ||
                                       state->fields.wants_reasons.value);
        r = state->fields.anonymous ? 0 : request_add_spool(request, writer);
        if (r == 0)
                r = open_file(request, state);
        if (r == 0)
                r = add_file(request, writer, state, JOB_KEY_OUTPUT);
        if (r == 0)
                r = memory_aid_write_wishes(request, writer, state->fields.heap);
        memory_aid_write(request, writer);
        if (r == 0)
                r = task_aid_write(request, writer, state->fields.backend);
        if (r == 0 && !state->fields.anonymous)
                r = request_add_roll(request, writer);
        /* Last, so that little time is between what it tells and the walk. */
        return r == 0 ? listening_write(request, writer) : r;
}

static const Stage capturing;

/* With what was loaded, or without. */
static int go_on(Request *request) {
        JsonWriter writer;
        int r = write_order(request, &writer);

        return r == 0 ? request_continue(request, &writer, JOB_METHOD_CAPTURE, JOB_CAPTURE,
                                         &capturing)
                      : r;
}

static int on_loaded(Request *request, Span frame) {
        loading_take(request, frame);
        return go_on(request);
}

static int on_not_loaded(Request *request, Span frame) {
        loading_fail(request, frame);
        return go_on(request);
}

static int prepare(Request *request) {
        static const Stage loading = {
                .on_result = on_loaded,
                .on_failure = on_not_loaded,
                .keeps_place = true,
        };
        const CaptureState *state = request->state;
        JsonWriter writer;
        int r;

        if (task_aid_must_load(request->desk, state->fields.backend)) {
                request->stage = &loading;
                request_begin_order(request, &writer);
                task_aid_write_load(request->desk, &writer);
                return request_end_order(request, &writer, JOB_METHOD_LOAD, JOB_LOAD);
        }
        r = write_order(request, &writer);
        return r == 0 ? request_end_order(request, &writer, JOB_METHOD_CAPTURE, JOB_CAPTURE) : r;
}

static const Stage capturing = {
        .prepare = prepare,
        .on_note = on_note,
        .on_part = on_progress,
        .on_result = on_captured,
        .keeps_place = true,
        .tells_progress = true,
};

int method_capture(Request *request) {
        static const Parameter table[] = {
                { "tag", PARAMETER_TEXT, false, offsetof(CaptureFields, tag) },
                { "replace", PARAMETER_BOOL, false, offsetof(CaptureFields, replace) },
                { "smaps", PARAMETER_OPTIONAL_BOOL, false, offsetof(CaptureFields, wants_smaps) },
                { "smapsMode", PARAMETER_TEXT, false, offsetof(CaptureFields, smaps_mode) },
                { "backend", PARAMETER_TEXT, false, offsetof(CaptureFields, backend_name) },
                { "heap", PARAMETER_OPTIONAL_BOOL, false, offsetof(CaptureFields, wants_heap) },
                { "reasons", PARAMETER_OPTIONAL_BOOL, false,
                  offsetof(CaptureFields, wants_reasons) },
                { "anonymous", PARAMETER_BOOL, false, offsetof(CaptureFields, anonymous) },
                { "interval", PARAMETER_BOOL, false, offsetof(CaptureFields, interval) },
        };
        CaptureFields *fields;
        CaptureState *state;
        int r;

        state = calloc(1, sizeof(*state));
        if (!state)
                return -ENOMEM;
        state->file = -EBADF;
        request_keep(request, state, state_free);
        fields = &state->fields;
        r = request_decode(request, table, ELEMENTSOF(table), fields);
        if (r == 0)
                r = check_fields(request, fields);
        if (r != 0)
                return r;
        clean_spool(request->desk);
        return request_enqueue(request, QUEUE_ADDING, &capturing);
}
