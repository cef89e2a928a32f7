/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "wire/limits.h"
#include "worker/work-spool.h"

/* Begins an answer with @n heads; the caller may add members. */
static JsonWriter *work_begin_heads(Work *work, const Head *heads, size_t n) {
        JsonWriter *writer = answer_begin(&work->answer);

        json_write_key(writer, "snapshots");
        json_write_array(writer);
        for (size_t i = 0; i < n; i++)
                head_write_json(writer, &heads[i]);
        json_write_end(writer);
        return writer;
}

/* The parameters of all methods here; each method decodes those in its own table. */
typedef struct SpoolCall {
        SpoolParameters spool;
        int file; /* owned */
        const char *name, *new_name;
        json_object *names, *sources, *rotated;
        bool replace, tagged;
        uid_t uid;
} SpoolCall;

#define SPOOL_CALL_NONE ((SpoolCall){ .spool = SPOOL_PARAMETERS_NONE, .file = -EBADF })

static void spool_call_done(SpoolCall *call) {
        spool_parameters_done(&call->spool);
        call->file = fd_close(call->file);
}

/* publish */

static int publish_file(Work *work, const SpoolCall *parameters, Spool *spool,
                        const SpoolLimits *limits, Head *head, Buffer *rotated) {
        SpoolNeed need = {
                .uid = parameters->uid,
                .replaces = parameters->replace ? parameters->name : NULL,
        };
        SnapshotFault fault = {};
        int r;

        r = snapshot_file_read_head(parameters->file, head, &fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD || r == SNAPSHOT_FILE_E_DAMAGED)
                return work_refuse_fault(work, parameters->name, &fault);
        if (r != 0)
                return err_fold(r);
        if (strcmp(head->name, parameters->name) != 0)
                return work_refuse_parameter(work, "name",
                                             "The head of the file has another name.");

        /* Remove older snapshots only once this one is on the disk and its caller still waits. */
        r = work_await_disk(work, spool, parameters->file);
        if (r != 0)
                return r;
        r = spool_allocated_bytes(parameters->file, &need.n_bytes);
        if (r < 0)
                return r;
        r = spool_make_room(spool, limits, &need, rotated);
        if (r != 0)
                return work_refuse_spool(work, spool, parameters->name, r);
        r = spool_publish(spool, parameters->file, parameters->name, parameters->replace,
                          parameters->uid, NULL);
        if (r != 0)
                return work_refuse_spool(work, spool, parameters->name, r);
        spool_describe(parameters->file, head);
        r = work_tell_change(work, spool);
        if (r != 0)
                return r;
        work_write_rotated(work_begin_heads(work, head, 1), rotated);
        return answer_final(&work->answer);
}

static int work_publish(Work *work) {
        static const Parameter table[] = {
                SPOOL_PARAMETERS(SpoolCall, spool),
                SPOOL_LIMITS_PARAMETER(SpoolCall, spool),
                { JOB_KEY_FILE, PARAMETER_DESCRIPTOR, true, offsetof(SpoolCall, file) },
                { JOB_KEY_NAME, PARAMETER_TEXT, true, offsetof(SpoolCall, name) },
                { JOB_KEY_REPLACE, PARAMETER_BOOL, false, offsetof(SpoolCall, replace) },
                { JOB_KEY_UID, PARAMETER_UID, true, offsetof(SpoolCall, uid) },
        };
        _cleanup_(spool_call_done) SpoolCall parameters = SPOOL_CALL_NONE;
        _cleanup_(spool_freep) Spool *spool = NULL;
        _cleanup_(buffer_done) Buffer rotated = {};
        _cleanup_(head_done) Head head = {};
        SpoolLimits limits;
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r != 0)
                return r;
        r = work_check_name(work, parameters.name);
        if (r != 0)
                return r;
        r = work_decode_limits(work, &parameters.spool, &limits);
        if (r != 0)
                return r;
        r = work_adopt_spool(work, &parameters.spool, &spool);
        if (r != 0)
                return r;
        r = publish_file(work, &parameters, spool, &limits, &head, &rotated);
        spool_discard(spool, parameters.file);
        return r;
}

/* keep a capture */

typedef struct Keeping {
        Work *work;            /* borrowed */
        const SpoolCall *call; /* borrowed */
        Spool *spool;          /* owned, as all below */
        Head head, replaced;   /* @replaced: without a name, none */
        Buffer rotated;
} Keeping;

static void keeping_done(Keeping *keeping) {
        /* It is unnamed, or a temporary, unless it was published. */
        if (keeping->spool)
                spool_discard(keeping->spool, keeping->call->file);
        keeping->spool = spool_free(keeping->spool);
        head_done(&keeping->head);
        head_done(&keeping->replaced);
        buffer_done(&keeping->rotated);
}

/*
 * The capture wrote the head, and it reads what everybody on the host can write: so what decides
 * about a snapshot (its name, whether it is tagged, and whose it is) has to be as ordered.
 */
static int keeping_check_head(Keeping *keeping) {
        const SpoolCall *call = keeping->call;
        const Head *head = &keeping->head;
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        if (call->name)
                (void) snprintf(name, sizeof(name), "%s", call->name);
        r = call->name ? 0 : work_time_name(head, name);
        if (r != 0)
                return r;
        if (strcmp(head->name, name) == 0 && head->tagged == call->tagged && head->has_uid &&
            head->uid == call->uid)
                return 0;
        return work_refuse(keeping->work, WIRE_ERROR_JOB_FAILED,
                           &(WireErrorDetail){
                                   .reason = "the capture wrote a head that was not ordered",
                           });
}

static int keeping_publish(Keeping *keeping, const SpoolLimits *limits) {
        const SpoolCall *call = keeping->call;
        Work *work = keeping->work;
        Spool *spool = keeping->spool;
        Head *head = &keeping->head;
        SpoolNeed need = { .uid = call->uid, .replaces = call->replace ? call->name : NULL };
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        /* Remove older snapshots only once this one is on the disk and its caller still waits. */
        r = work_await_disk(work, spool, call->file);
        if (r != 0)
                return r;
        r = spool_allocated_bytes(call->file, &need.n_bytes);
        if (r < 0)
                return r;
        r = spool_make_room(spool, limits, &need, &keeping->rotated);
        if (r != 0) {
                /* So that the caller who reads the refusal and tries again finds the room free. */
                (void) !ftruncate(call->file, 0);
                return work_refuse_spool(work, spool, head->name, r);
        }
        if (call->name) {
                r = spool_publish(spool, call->file, head->name, call->replace, call->uid,
                                  &keeping->replaced);
                if (r == 0)
                        spool_describe(call->file, head);
        } else {
                /* Another capture may have taken the name, which is that of a millisecond. */
                memcpy(name, head->name, sizeof(name));
                r = spool_publish_untagged(spool, call->file, name, head);
        }
        return r == 0 ? 0 : work_refuse_spool(work, spool, head->name, r);
}

/* The whole answer to the caller, with what the capture said. */
static int keeping_answer(Keeping *keeping) {
        JsonWriter *writer = answer_begin(&keeping->work->answer);

        json_write_key(writer, "snapshot");
        head_write_json(writer, &keeping->head);
        json_write_key(writer, JOB_KEY_SOURCES);
        json_write_raw(writer, span_of(json_object_to_json_string_ext(keeping->call->sources,
                                                                      JSON_C_TO_STRING_PLAIN)));
        work_write_rotated(writer, &keeping->rotated);
        if (keeping->replaced.name[0] != '\0') {
                json_write_key(writer, "replaced");
                head_write_json(writer, &keeping->replaced);
        }
        return answer_final(&keeping->work->answer);
}

/* The names that had to go before the capture. */
static int keeping_add_rotated(Keeping *keeping) {
        json_object *names = keeping->call->rotated;
        size_t n = names ? json_object_array_length(names) : 0;
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                json_object *name = json_object_array_get_idx(names, i);

                if (!json_object_is_type(name, json_type_string))
                        return work_refuse_parameter(keeping->work, JOB_KEY_ROTATED, NULL);
                r = buffer_append_text(&keeping->rotated, json_object_get_string(name));
                if (r == 0)
                        r = buffer_append_byte(&keeping->rotated, '\n');
        }
        return r;
}

static int work_keep(Work *work) {
        static const Parameter table[] = {
                SPOOL_PARAMETERS(SpoolCall, spool),
                SPOOL_LIMITS_PARAMETER(SpoolCall, spool),
                { JOB_KEY_FILE, PARAMETER_DESCRIPTOR, true, offsetof(SpoolCall, file) },
                { JOB_KEY_NAME, PARAMETER_TEXT, false, offsetof(SpoolCall, name) },
                { JOB_KEY_TAGGED, PARAMETER_BOOL, false, offsetof(SpoolCall, tagged) },
                { JOB_KEY_REPLACE, PARAMETER_BOOL, false, offsetof(SpoolCall, replace) },
                { JOB_KEY_UID, PARAMETER_UID, true, offsetof(SpoolCall, uid) },
                { JOB_KEY_SOURCES, PARAMETER_ARRAY, true, offsetof(SpoolCall, sources) },
                { JOB_KEY_ROTATED, PARAMETER_ARRAY, false, offsetof(SpoolCall, rotated) },
        };
        _cleanup_(spool_call_done) SpoolCall call = SPOOL_CALL_NONE;
        _cleanup_(keeping_done) Keeping keeping = { .work = work, .call = &call };
        SnapshotFault fault = {};
        SpoolLimits limits;
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &call);
        if (r == 0 && call.name)
                r = work_check_name(work, call.name);
        if (r == 0)
                r = work_decode_limits(work, &call.spool, &limits);
        if (r == 0)
                r = work_adopt_spool(work, &call.spool, &keeping.spool);
        if (r == 0)
                r = keeping_add_rotated(&keeping);
        if (r != 0)
                return r;
        r = snapshot_file_read_head(call.file, &keeping.head, &fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD || r == SNAPSHOT_FILE_E_DAMAGED)
                return work_refuse_fault(work, call.name ? call.name : "", &fault);
        if (r != 0)
                return err_fold(r);
        r = keeping_check_head(&keeping);
        if (r == 0)
                r = keeping_publish(&keeping, &limits);
        if (r == 0)
                r = work_tell_change(work, keeping.spool);
        return r == 0 ? keeping_answer(&keeping) : r;
}

/* remove */

/* The snapshots to remove, with the heads they had before. */
typedef struct Removal {
        Work *work; /* borrowed */
        Spool *spool;
        Head *heads;
        size_t n;
} Removal;

static void removal_done(Removal *removal) {
        for (size_t i = 0; i < removal->n; i++)
                head_done(&removal->heads[i]);
        free(removal->heads);
        removal->spool = spool_free(removal->spool);
}

/* A snapshot that is named twice is removed once. */
static int removal_add(Removal *removal, const char *reference) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        r = spool_resolve(removal->spool, span_of(reference), name);
        if (r != 0)
                return work_refuse_spool(removal->work, removal->spool, reference, r);
        for (size_t i = 0; i < removal->n; i++)
                if (strcmp(removal->heads[i].name, name) == 0)
                        return 0;
        memcpy(removal->heads[removal->n++].name, name, sizeof(name));
        return 0;
}

static int removal_run(Removal *removal, uid_t uid) {
        size_t culprit;
        int r;

        if (removal->n == 0)
                return 0;
        r = spool_remove(removal->spool, removal->heads, removal->n, uid, &culprit);
        return r == 0 ? 0
                      : work_refuse_spool(removal->work, removal->spool,
                                          removal->heads[culprit].name, r);
}

static int work_remove(Work *work) {
        static const Parameter table[] = {
                SPOOL_PARAMETERS(SpoolCall, spool),
                { JOB_KEY_NAMES, PARAMETER_ARRAY, true, offsetof(SpoolCall, names) },
                { JOB_KEY_UID, PARAMETER_UID, true, offsetof(SpoolCall, uid) },
        };
        _cleanup_(spool_call_done) SpoolCall parameters = SPOOL_CALL_NONE;
        _cleanup_(removal_done) Removal removal = { .work = work };
        size_t n;
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r != 0)
                return r;
        n = json_object_array_length(parameters.names);
        if (n > LIMIT_NAMES_PER_LIST)
                return work_refuse_parameter(work, "names", "The list of names is too long.");
        for (size_t i = 0; i < n; i++)
                if (!json_object_is_type(json_object_array_get_idx(parameters.names, i),
                                         json_type_string))
                        return work_refuse_parameter(work, "names", NULL);

        removal.heads = calloc(n + 1, sizeof(*removal.heads));
        if (!removal.heads)
                return -ENOMEM;
        r = work_adopt_spool(work, &parameters.spool, &removal.spool);
        if (r != 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                json_object *name = json_object_array_get_idx(parameters.names, i);

                r = removal_add(&removal, json_object_get_string(name));
                if (r != 0)
                        return r;
        }
        r = removal_run(&removal, parameters.uid);
        if (r == 0)
                r = work_tell_change(work, removal.spool);
        if (r != 0)
                return r;
        (void) work_begin_heads(work, removal.heads, removal.n);
        return answer_final(&work->answer);
}

/* rename */

static int work_rename(Work *work) {
        static const Parameter table[] = {
                SPOOL_PARAMETERS(SpoolCall, spool),
                { JOB_KEY_NAME, PARAMETER_TEXT, true, offsetof(SpoolCall, name) },
                { JOB_KEY_NEW_NAME, PARAMETER_TEXT, true, offsetof(SpoolCall, new_name) },
                { JOB_KEY_UID, PARAMETER_UID, true, offsetof(SpoolCall, uid) },
        };
        _cleanup_(spool_call_done) SpoolCall parameters = SPOOL_CALL_NONE;
        _cleanup_(spool_freep) Spool *spool = NULL;
        _cleanup_(head_done) Head head = {};
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r != 0)
                return r;
        r = work_check_name(work, parameters.new_name);
        if (r != 0)
                return r;
        r = work_adopt_spool(work, &parameters.spool, &spool);
        if (r != 0)
                return r;

        r = spool_resolve(spool, span_of(parameters.name), name);
        if (r != 0)
                return work_refuse_spool(work, spool, parameters.name, r);
        r = spool_rename(spool, name, parameters.new_name, parameters.uid, &head);
        if (r != 0)
                return work_refuse_spool(work, spool,
                                         r == SPOOL_E_EXISTS ? parameters.new_name : name, r);
        r = work_tell_change(work, spool);
        if (r != 0)
                return r;
        json_write_member_text(work_begin_heads(work, &head, 1), "oldName", name);
        return answer_final(&work->answer);
}

/* clean */

static int work_clean(Work *work) {
        static const Parameter table[] = {
                SPOOL_PARAMETERS(SpoolCall, spool),
        };
        _cleanup_(spool_call_done) SpoolCall parameters = SPOOL_CALL_NONE;
        _cleanup_(spool_freep) Spool *spool = NULL;
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r != 0)
                return r;
        r = work_adopt_spool(work, &parameters.spool, &spool);
        if (r != 0)
                return r;
        r = spool_clean(spool);
        if (r != 0)
                return work_refuse_spool(work, spool, "", r);
        r = work_tell_change(work, spool);
        if (r != 0)
                return r;
        (void) answer_begin(&work->answer);
        return answer_final(&work->answer);
}

const WorkMethod work_spool_methods[] = {
        { JOB_METHOD_PUBLISH, work_publish, WORK_NEEDS_NOTHING, 0 },
        { JOB_METHOD_KEEP, work_keep, WORK_NEEDS_NOTHING, 0 },
        { JOB_METHOD_REMOVE, work_remove, WORK_NEEDS_NOTHING, 0 },
        { JOB_METHOD_RENAME, work_rename, WORK_NEEDS_NOTHING, 0 },
        { JOB_METHOD_CLEAN, work_clean, WORK_NEEDS_NOTHING, 0 },
        {},
};
