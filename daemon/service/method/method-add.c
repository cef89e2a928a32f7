/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/name.h"
#include "job/job.h"
#include "server/own-processes.h"
#include "service/method/addition.h"
#include "service/method/listening.h"
#include "service/method/loading.h"
#include "service/method/memory-jobs.h"
#include "service/method/upkeep.h"

#define NO_REASONS_OFF "waits are not counted by reason: ctprofd.conf says WaitReasons=off"
#define NO_REASONS_UNWANTED                                                                  \
        "waits were not being counted by reason, and this capture did not ask for it; with " \
        "WaitReasons=always in ctprofd.conf they always are"

#define CAPTURE_ENVELOPE_BYTES 64 /* of a reply, at most */
#define CAPTURE_MAX_PIDS 64
#define CAPTURE_MAX_CALLERS 512
_Static_assert(CAPTURE_MAX_PIDS + CAPTURE_MAX_CALLERS < ORDER_MAX_PIDS, "room for all and ours");

/*
 * The methods that add a snapshot to the spool. Each has two jobs: one reads the host, or a file
 * that the caller sent, and writes a file that has no name; one gives it its name in the spool. The
 * first reads what everybody can write, and so may not touch the spool, and has ended before the
 * second looks at what it wrote (JobWait).
 */

/* publishing */

void addition_release(Request *request) {
        Addition *addition = request->state;

        buffer_done(&addition->sources);
        buffer_done(&addition->rotated);
        buffer_done(&addition->recording);
        if (addition->spool)
                spool_discard(addition->spool, addition->file);
        (void) fd_close(addition->file);
}

void addition_write_recording(const Addition *addition, JsonWriter *writer) {
        if (addition->recording.n == 0)
                return;
        json_write_key(writer, "recording");
        json_write_raw(writer, buffer_span(&addition->recording));
}

/* The answer to the caller: an import has a list of one, and a capture says how it went. */
static int on_published(Request *request, const JobReply *reply) {
        const Addition *addition = request->state;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        Span texts[3];
        JsonWriter writer;
        int r = request_take_texts(reply, texts, ELEMENTSOF(texts));

        if (r < 0)
                return r;
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        if (!addition->is_import) {
                json_write_key(&writer, "snapshot");
                json_write_raw(&writer, texts[0]);
                json_write_key(&writer, "sources");
                json_write_raw(&writer, buffer_span(&addition->sources));
                addition_write_recording(addition, &writer);
        } else {
                json_write_key(&writer, "snapshots");
                json_write_array(&writer);
                json_write_raw(&writer, texts[0]);
                json_write_end(&writer);
        }
        request_write_rotated(&writer, buffer_span(&addition->rotated), texts[1]);
        if (!addition->is_import && texts[2].n > 0) {
                json_write_key(&writer, "replaced");
                json_write_raw(&writer, texts[2]);
        }
        json_write_end(&writer);
        return request_answer_written(request, &writer);
}

static const Stage publishing = { .on_result = on_published };

static int new_publishing(Request *request, Order **ret) {
        const Addition *addition = request->state;
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_PUBLISH);
        SpoolOrder *spool;
        int r;

        if (!order)
                return -ENOMEM;
        spool = &order->spool;
        spool->name = addition->name;
        spool->tagged = addition->tagged;
        spool->replace = addition->replace;
        spool->is_import = addition->is_import;
        spool->uid = request->uid;
        r = request_add_spool(request, &spool->spool);
        if (r == 0)
                r = request_add_copy(request, addition->file, &spool->file);
        if (r == 0)
                r = request_add_roll(request, &spool->spool);
        if (r == 0)
                *ret = TAKE_PTR(order);
        return r;
}

int addition_publish(Request *request) {
        _cleanup_(freep) Order *order = NULL;
        int r = new_publishing(request, &order);

        return r == 0 ? request_continue(request, order, &publishing) : r;
}

/* capture */

/* Drop progress for a caller that does not read it: a capture must not pause and delay others. */
int addition_on_progress(Request *request, Span parameters) {
        if (!request->connection)
                return 0;
        if (connection_has_room(request->connection, parameters.n + CAPTURE_ENVELOPE_BYTES))
                connection_continue(request->connection, parameters);
        return 0;
}

static int on_captured(Request *request, const JobReply *reply) {
        CaptureState *state = request->state;
        Addition *addition = &state->addition;
        Span texts[2];
        int r;

        memory_jobs_end(request);
        if (state->fields.anonymous) {
                r = held_files_add(&request->manager->held, addition->file, request->uid);
                return r == 0 ? request_forward(request, reply) : r;
        }
        r = request_take_texts(reply, texts, ELEMENTSOF(texts));
        if (r < 0)
                return r;
        buffer_append(&addition->sources, texts[0].bytes, texts[0].n);
        buffer_append(&addition->rotated, texts[1].bytes, texts[1].n);
        if (buffer_failure(&addition->sources) < 0 || buffer_failure(&addition->rotated) < 0)
                return -ENOMEM;
        return state->on_written(request);
}

/* The order is made late because it lists the processes of the jobs that run by then. */
static int set_order(Request *request, CaptureOrder *order) {
        CaptureState *state = request->state;
        Addition *addition = &state->addition;
        const CaptureFields *fields = &state->fields;
        const Manager *manager = request->manager;
        bool has_file = addition->file >= 0; /* of an order that was not sent */
        uint64_t reasons_ns = manager->settings.reasons_ns;
        size_t n = 0;
        int r = 0;

        memcpy(order->name, addition->name.text, sizeof(order->name));
        order->tagged = fields->tag;
        order->replace = fields->replace;
        order->uid = request->uid;
        order->smaps = fields->smaps;
        order->smaps_max_rss_bytes = manager->settings.smaps_max_rss_bytes;
        order->smaps_max_processes = manager->settings.smaps_max_processes;
        order->smaps_limit_ns = manager->settings.smaps_ns;
        order->heap = fields->heap;
        order->commands = manager->settings.commands;
        order->heap_limit_ns = manager->settings.heap_ns;
        /*
         * The daemon, its jobs, and whoever calls: for as long as they are connected, callers are
         * part of the measurement.
         */
        order->self_pids[n++] = getpid();
        for (size_t i = 0; i < manager->pool->n_jobs && i < CAPTURE_MAX_PIDS; i++)
                order->self_pids[n++] = manager->pool->jobs[i]->pid;
        if (manager->own)
                n += own_processes_get_pids(manager->own, order->self_pids + n,
                                            CAPTURE_MAX_CALLERS);
        order->n_self_pids = (uint32_t) n;
        if (reasons_ns == REASONS_FOREVER ||
            (reasons_ns > 0 && (!fields->wants_reasons.is_set || fields->wants_reasons.value)))
                order->reasons_ns = reasons_ns;
        else
                (void) snprintf(order->no_reasons, sizeof(order->no_reasons), "%s",
                                reasons_ns == 0 ? NO_REASONS_OFF : NO_REASONS_UNWANTED);
        if (!fields->anonymous)
                r = request_add_spool(request, &order->spool);
        if (r == 0 && !has_file && fields->anonymous) {
                /*
                 * Nobody else sees it. It is in memory: the spool cannot count what its caller has
                 * open.
                 */
                r = held_file_new(&addition->file);
                if (r == 0)
                        r = request_reserve_memory(request);
        } else if (r == 0 && !has_file) {
                r = spool_temporary(manager->spool, &addition->file);
                if (r != 0)
                        return request_fail_spool(request, "", r);
                addition->spool = manager->spool;
                /* The job bounds the file itself; so much is reserved, be it there or not. */
                request->reserved_bytes = LIMIT_CAPTURE_BYTES;
                request->reserved_fd = addition->file;
        }
        if (r == 0)
                r = request_add_copy(request, addition->file, &order->output);
        if (r == 0)
                r = memory_jobs_add(request, order);
        if (r == 0)
                r = loading_add(request, order, fields->backend);
        if (r == 0 && !fields->anonymous)
                r = request_add_roll(request, &order->spool);
        /* Last, so that little time is between what it tells and the walk. */
        return r == 0 ? listening_add(request, order, false) : r;
}

/* Captures after the attempt to load programs, whatever came of it. */
static int go_on(Request *request) {
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_CAPTURE);
        int r = order ? set_order(request, &order->capture) : -ENOMEM;

        return r == 0 ? request_continue(request, order, &addition_capturing) : r;
}

static int on_loaded(Request *request, const JobReply *reply) {
        loading_take(request, reply);
        return go_on(request);
}

static int on_not_loaded(Request *request, WireError error, const WireErrorDetail *detail) {
        loading_fail(request, detail);
        return go_on(request);
}

static int prepare_capture(Request *request) {
        static const Stage loading = {
                .on_note = loading_take_clocks,
                .on_result = on_loaded,
                .on_failure = on_not_loaded,
                .keeps_place = true,
        };
        const CaptureState *state = request->state;
        const Manager *manager = request->manager;
        bool must_load = loading_is_due(manager, state->fields.backend);
        _cleanup_(freep) Order *order =
                request_new_order(request, must_load ? ORDER_LOAD : ORDER_CAPTURE);
        int r = 0;

        if (!order)
                return -ENOMEM;
        if (must_load) {
                request->stage = &loading;
                /* A private service ends with the caller, whose first call tells what it is for. */
                order->load = loading_order(manager,
                                            manager->is_private && manager->recording != request);
        } else {
                r = set_order(request, &order->capture);
        }
        return r == 0 ? request_set_order(request, order) : r;
}

const Stage addition_capturing = {
        .prepare = prepare_capture,
        .on_note = memory_jobs_take,
        .on_part = addition_on_progress,
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
        const ManagerSettings *settings = &request->manager->settings;
        const char *complaint;
        CaptureState *state = request_keep(request, sizeof(*state), addition_release);
        CaptureFields *fields;
        BackendChoice wish;
        int r;

        if (!state)
                return -ENOMEM;
        state->addition.file = -EBADF;
        state->on_written = addition_publish;
        fields = &state->fields;
        r = request_decode(request, table, ELEMENTSOF(table), fields);
        if (r != 0)
                return r;
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
        fields->heap = fields->wants_heap.is_set ? fields->wants_heap.value : settings->heap;

        wish = settings->backend;
        if (fields->backend_name)
                wish = (BackendChoice) name_find(span_of(fields->backend_name),
                                                 backend_choice_names, _BACKEND_CHOICE_MAX);
        if (wish == _BACKEND_CHOICE_MAX)
                return request_refuse_parameter(request, "backend",
                                                "It is \"auto\", \"procfs\" or \"bpf\".");
        fields->backend = loading_choose(request->manager, wish, fields->interval);

        /* The boolean is what callers of earlier versions know; both may be given if they agree. */
        fields->smaps = settings->smaps;
        if (fields->wants_smaps.is_set)
                fields->smaps = fields->wants_smaps.value ? SMAPS_MODE_ALL : SMAPS_MODE_NONE;
        if (fields->smaps_mode)
                fields->smaps = (SmapsMode) name_find(span_of(fields->smaps_mode), smaps_mode_names,
                                                      _SMAPS_MODE_MAX);
        if (fields->smaps == _SMAPS_MODE_MAX)
                return request_refuse_parameter(request, "smapsMode",
                                                "It is \"all\", \"small\" or \"none\".");
        if (fields->smaps_mode && fields->wants_smaps.is_set &&
            fields->wants_smaps.value != (fields->smaps != SMAPS_MODE_NONE))
                return request_refuse_parameter(request, "smapsMode",
                                                "It contradicts the parameter \"smaps\".");

        state->addition.tagged = fields->tag;
        state->addition.replace = fields->replace;
        if (fields->tag)
                memcpy(state->addition.name.text, fields->tag, strlen(fields->tag) + 1);
        clean_spool(request->manager);
        return request_submit(request, NULL, QUEUE_ADDING, &addition_capturing);
}

/* import */

/*
 * The first job makes a verified copy. The name comes from the call, never from the file: it is the
 * tag, or else the label, which is what the caller calls the file.
 */

typedef struct ImportFields {
        OptionalU64 index;
        const char *tag, *label;
} ImportFields;

typedef struct Import {
        Addition addition;
        int from;          /* owned; what to import */
        const char *label; /* of the parameters, which live as long as the request */
} Import;

static void import_release(Request *request) {
        Import *import = request->state;

        addition_release(request);
        (void) disposal_close(request->manager->disposal, import->from);
}

static int on_copied(Request *request, const JobReply *reply) {
        _cleanup_(freep) Order *order = NULL;
        int r = new_publishing(request, &order);

        if (r != 0)
                return r;
        /* The copy is written. */
        request->reserved_bytes = request->max_file_bytes = 0;
        request->reserved_fd = -EBADF;
        clean_spool(request->manager);
        return request_submit(request, order, QUEUE_ADDING, &publishing);
}

/* The file is made when the job's turn has come: what waits reserves nothing. */
static int prepare_import(Request *request) {
        Import *import = request->state;
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_IMPORT);
        AnalysisOrder *analysis;
        OrderFile *from;
        int r;

        if (!order)
                return -ENOMEM;
        analysis = &order->analysis;
        from = &analysis->subjects[analysis->n[0]++].from;
        analysis->name = import->addition.name;
        analysis->uid = request->uid;
        r = request_add_fd(request, TAKE_FD(import->from), &from->fd);
        if (r != 0)
                return r;
        if (!order_set_label(analysis, from, import->label))
                return request_refuse_parameter(request, "label", "It is too long.");
        r = spool_temporary(request->manager->spool, &import->addition.file);
        if (r != 0)
                return request_fail_spool(request, "", r);
        r = request_reserve_half(request, import->addition.file);
        if (r == 0)
                r = request_add_copy(request, import->addition.file, &analysis->output);
        return r == 0 ? request_set_order(request, order) : r;
}

int method_import(Request *request) {
        static const Stage stage = { .prepare = prepare_import, .on_result = on_copied };
        static const Parameter table[] = {
                { "fileDescriptor", PARAMETER_OPTIONAL_U64, true, offsetof(ImportFields, index) },
                { "tag", PARAMETER_TEXT, false, offsetof(ImportFields, tag) },
                { "label", PARAMETER_TEXT, false, offsetof(ImportFields, label) },
        };
        ImportFields fields = { .tag = NULL };
        char resolved[SNAPSHOT_NAME_MAX_CHARS + 1];
        const char *name, *complaint;
        Import *import;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        name = fields.tag ? fields.tag : fields.label;
        complaint = name ? snapshot_name_new_complaint(span_of(name)) : NULL;
        if (complaint)
                return request_fail(
                        request, WIRE_ERROR_INVALID_NAME,
                        &(WireErrorDetail){ .subject = span_of(name), .reason = complaint });
        /* Refuses a taken name before anything is copied. Publishing checks again, and decides. */
        r = name ? spool_resolve(request->manager->spool, span_of(name), resolved)
                 : SPOOL_E_NOT_FOUND;
        if (r != SPOOL_E_NOT_FOUND)
                return request_fail_spool(request, name, r == 0 ? SPOOL_E_EXISTS : r);
        import = request_keep(request, sizeof(*import), import_release);
        if (!import)
                return -ENOMEM;
        *import = (Import){
                .addition = {
                        .tagged = true,
                        .is_import = true,
                        .spool = request->manager->spool,
                        .file = -EBADF,
                },
                .from = request_take_fd(request, (size_t) fields.index.value),
                .label = fields.label,
        };
        if (import->from < 0)
                return request_refuse_parameter(request, "fileDescriptor",
                                                "The call has no descriptor of a file with this "
                                                "number.");
        if (!name)
                return request_refuse_parameter(
                        request, "tag", "Give a tag or a label: the snapshot needs a name.");
        memcpy(import->addition.name.text, name, strlen(name) + 1);
        return request_submit(request, NULL, QUEUE_READING, &stage);
}
