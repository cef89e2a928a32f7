/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name.h"
#include "job/workshop.h"
#include "server/own-processes.h"
#include "service/method/clean.h"
#include "service/method/listening.h"
#include "service/method/loading.h"
#include "service/method/memory-aid.h"
#include "service/method/task-aid.h"
#include "service/request/reservation.h"

#define CAPTURE_ENVELOPE_BYTES 64 /* of a reply, at most */
#define CAPTURE_MAX_PIDS 64
#define CAPTURE_MAX_CALLERS 512
_Static_assert(CAPTURE_MAX_PIDS + CAPTURE_MAX_CALLERS < ORDER_MAX_PIDS, "room for all and ours");

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
        OrderName name;     /* the tag; "": there is none */
        const Spool *spool; /* borrowed; @file is there, unless the capture is anonymous */
        int file;           /* owned; ours beside those of the jobs */
        MemoryAid memory;   /* until the capture job has ended */
        Buffer sources;     /* what the capture job said of them; part of the answer */
        Buffer rotated;     /* names that had to make room before it */
} CaptureState;

static void state_free(void *pointer) {
        CaptureState *state = pointer;

        memory_aid_done(&state->memory);
        buffer_done(&state->sources);
        buffer_done(&state->rotated);
        if (state->file >= 0 && state->spool)
                spool_discard(state->spool, state->file);
        (void) fd_close(state->file);
        free(state);
}

/*
 * The daemon, its jobs, and whoever calls: for as long as they are connected, callers are part of
 * the measurement.
 */
static void add_own_pids(const Request *request, CaptureOrder *order) {
        const Desk *desk = request->desk;
        size_t n = 0;

        order->self_pids[n++] = getpid();
        n += workshop_get_pids(desk->workshop, order->self_pids + n, CAPTURE_MAX_PIDS);
        if (desk->own)
                n += own_processes_get_pids(desk->own, order->self_pids + n, CAPTURE_MAX_CALLERS);
        order->n_self_pids = (uint32_t) n;
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

static void on_note(Request *request, const JobReply *note) {
        CaptureState *state = request->state;

        memory_aid_take(&state->memory, request, note);
}

/* Drop progress for a caller that does not read it: a capture must not pause and delay others. */
static int on_progress(Request *request, Span parameters) {
        if (connection_has_room(request->connection, parameters.n + CAPTURE_ENVELOPE_BYTES))
                connection_continue(request->connection, parameters);
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

/* The answer to the caller, with what the capture said. */
static int on_published(Request *request, const JobReply *reply) {
        const CaptureState *state = request->state;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        Span texts[3];
        JsonWriter writer;
        int r = request_take_texts(reply, texts, ELEMENTSOF(texts));

        if (r < 0)
                return r;
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshot");
        json_write_raw(&writer, texts[0]);
        json_write_key(&writer, "sources");
        json_write_raw(&writer, buffer_span(&state->sources));
        request_write_rotated(&writer, buffer_span(&state->rotated), texts[1]);
        if (texts[2].n > 0) {
                json_write_key(&writer, "replaced");
                json_write_raw(&writer, texts[2]);
        }
        json_write_end(&writer);
        return request_answer_written(request, &writer);
}

static int publish(Request *request) {
        static const Stage stage = { .on_result = on_published };
        const CaptureState *state = request->state;
        _cleanup_(order_freep) Order *order = request_new_order(request, ORDER_PUBLISH);
        SpoolOrder *spool;
        int r;

        if (!order)
                return -ENOMEM;
        spool = &order->spool;
        spool->name = state->name;
        spool->tagged = state->fields.tag;
        spool->replace = state->fields.replace;
        spool->uid = request->uid;
        r = request_add_spool(request, &spool->spool);
        if (r == 0)
                r = request_add_copy(request, state->file, &spool->file);
        if (r == 0)
                r = request_add_roll(request, &spool->spool);
        return r == 0 ? request_continue(request, order, &stage) : r;
}

static int on_captured(Request *request, const JobReply *reply) {
        CaptureState *state = request->state;
        Span texts[2];
        int r;

        memory_aid_done(&state->memory);
        if (state->fields.anonymous) {
                r = reservation_lend(request, state->file);
                return r == 0 ? request_forward(request, reply) : r;
        }
        r = request_take_texts(reply, texts, ELEMENTSOF(texts));
        if (r < 0)
                return r;
        buffer_append(&state->sources, texts[0].bytes, texts[0].n);
        buffer_append(&state->rotated, texts[1].bytes, texts[1].n);
        if (buffer_failure(&state->sources) < 0 || buffer_failure(&state->rotated) < 0)
                return -ENOMEM;
        return publish(request);
}

/* The order is made late because it lists the processes of the jobs that run by then. */
static int set_order(Request *request, CaptureOrder *order) {
        CaptureState *state = request->state;
        const CaptureFields *fields = &state->fields;
        const DeskSettings *settings = &request->desk->settings;
        int r = 0;

        memcpy(order->name, state->name.text, sizeof(order->name));
        order->tagged = fields->tag;
        order->replace = fields->replace;
        order->uid = request->uid;
        order->smaps = fields->smaps;
        order->smaps_max_rss_bytes = settings->smaps_max_rss_bytes;
        order->smaps_max_processes = settings->smaps_max_processes;
        order->smaps_limit_ns = settings->smaps_ns;
        add_own_pids(request, order);
        task_aid_add_reasons(request->desk, order,
                             !fields->wants_reasons.is_set || fields->wants_reasons.value);
        if (!fields->anonymous)
                r = request_add_spool(request, &order->spool);
        if (r == 0)
                r = open_file(request, state);
        if (r == 0)
                r = request_add_copy(request, state->file, &order->output);
        if (r == 0)
                r = memory_aid_add_wishes(request, order, fields->heap);
        memory_aid_add(request, order);
        if (r == 0)
                r = task_aid_add(request, order, fields->backend);
        if (r == 0 && !fields->anonymous)
                r = request_add_roll(request, &order->spool);
        /* Last, so that little time is between what it tells and the walk. */
        return r == 0 ? listening_add(request, order) : r;
}

static const Stage capturing;

/* Captures after the attempt to load programs, whatever came of it. */
static int go_on(Request *request) {
        _cleanup_(order_freep) Order *order = request_new_order(request, ORDER_CAPTURE);
        int r = order ? set_order(request, &order->capture) : -ENOMEM;

        return r == 0 ? request_continue(request, order, &capturing) : r;
}

static int on_loaded(Request *request, const JobReply *reply) {
        loading_take(request, reply);
        return go_on(request);
}

static int on_not_loaded(Request *request, WireError error, const WireErrorDetail *detail) {
        loading_fail(request, detail);
        return go_on(request);
}

static int prepare(Request *request) {
        static const Stage loading = {
                .on_result = on_loaded,
                .on_failure = on_not_loaded,
                .keeps_place = true,
        };
        const CaptureState *state = request->state;
        bool must_load = task_aid_must_load(request->desk, state->fields.backend);
        _cleanup_(order_freep) Order *order =
                request_new_order(request, must_load ? ORDER_LOAD : ORDER_CAPTURE);
        int r = 0;

        if (!order)
                return -ENOMEM;
        if (must_load) {
                request->stage = &loading;
                order->load = task_aid_load_order(request->desk);
        } else {
                r = set_order(request, &order->capture);
        }
        return r == 0 ? request_set_order(request, order) : r;
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
        if (fields->tag)
                memcpy(state->name.text, fields->tag, strlen(fields->tag) + 1);
        clean_spool(request->desk);
        return request_enqueue(request, QUEUE_ADDING, &capturing);
}
