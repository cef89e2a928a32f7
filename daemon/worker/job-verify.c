/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/err.h"

typedef struct VerifyParameters {
        json_object *snapshots;
} VerifyParameters;

/* Writes one VerifyResult. */
static int verify_write(JsonWriter *writer, const SnapshotRef *ref) {
        _cleanup_(head_done) Head head = {};
        SnapshotFault fault = {};
        char reason[FAULT_REASON_BYTES];
        const char *name;
        int r;

        r = snapshot_file_verify(ref->fd, &head, &fault);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                fault_of_errno(&fault, r);
        else if (r != 0 && r != SNAPSHOT_FILE_E_DAMAGED)
                return err_fold(r);

        /* The call is about files, so a label takes precedence over the name inside. */
        name = ref->label ? ref->label : head.name;
        json_write_object(writer);
        json_write_member_name(writer, "name", span_of(name));
        json_write_member_bool(writer, "ok", r == 0);
        if (r == 0)
                json_write_member_null(writer, "error");
        else
                json_write_member_name(writer, "error", span_of(fault_reason(&fault, reason)));
        if (r != 0 && fault.has_offset)
                json_write_member_u64(writer, "offset", fault.offset);
        else
                json_write_member_null(writer, "offset");
        json_write_end(writer);
        return 0;
}

static JsonWriter *verify_begin(Answer *answer) {
        JsonWriter *writer = answer_begin(answer);

        json_write_key(writer, "results");
        json_write_array(writer);
        return writer;
}

/* Decode all references before any file is read: errors of the call come first. */
static int verify_decode_refs(Work *work, json_object *array, SnapshotRef *refs) {
        size_t n = json_object_array_length(array);
        char name[64];
        int r;

        for (size_t i = 0; i < n; i++) {
                (void) snprintf(name, sizeof(name), "snapshots[%zu]", i);
                r = work_decode_ref(work, json_object_array_get_idx(array, i), name, &refs[i]);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Sends one reply per snapshot if the caller takes several, otherwise one with all. */
static int verify_answer(Work *work, const SnapshotRef *refs, size_t n_refs) {
        JsonWriter *writer = verify_begin(&work->answer);
        int r;

        for (size_t i = 0; i < n_refs; i++) {
                r = verify_write(writer, &refs[i]);
                if (r != 0)
                        return r;
                if (!work->answer.more || i + 1 == n_refs)
                        continue;
                json_write_end(writer);
                r = answer_reply(&work->answer);
                if (r != 0)
                        return r;
                writer = verify_begin(&work->answer);
        }
        json_write_end(writer);
        return answer_final(&work->answer);
}

static int work_verify(Work *work) {
        static const Parameter table[] = {
                { "snapshots", PARAMETER_ARRAY, true, offsetof(VerifyParameters, snapshots) },
        };
        VerifyParameters parameters = {};
        SnapshotRef *refs;
        size_t n;
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r != 0)
                return r;

        n = json_object_array_length(parameters.snapshots);
        refs = calloc(n + 1, sizeof(*refs));
        if (!refs)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                refs[i] = SNAPSHOT_REF_NONE;
        r = verify_decode_refs(work, parameters.snapshots, refs);
        if (r == 0)
                r = verify_answer(work, refs, n);
        for (size_t i = 0; i < n; i++)
                snapshot_ref_done(&refs[i]);
        free(refs);
        return r;
}

typedef struct InfoParameters {
        json_object *snapshot;
} InfoParameters;

/* What is known of the ledger of the dead as a whole. */
typedef struct InfoLedger {
        bool is_known;
        LedgerSummary summary;
} InfoLedger;

/* The rest of the document was read before: nothing after the ledger is of interest. */
static int info_on_ledger(void *userdata, const LedgerSummary *summary) {
        InfoLedger *ledger = userdata;

        *ledger = (InfoLedger){ true, *summary };
        return -ECANCELED;
}

static int info_read_ledger(Work *work, Subject *subject, InfoLedger *ret) {
        static const SnapshotVisitor visitor = { .on_ledger = info_on_ledger };
        int r;

        if (subject->head.ledger_id[0] == '\0')
                return 0;
        r = snapshot_file_visit(subject->fd, &visitor, ret, &subject->fault);
        if (r == -ECANCELED && ret->is_known)
                return 0;
        return work_read_result(work, subject,
                                r == SNAPSHOT_FILE_E_DAMAGED ? SUBJECT_E_UNREADABLE : r);
}

static int info_answer(Work *work, const Subject *subject, const InfoLedger *ledger) {
        JsonWriter *writer = answer_begin(&work->answer);

        json_write_key(writer, "snapshot");
        subject_write_head(subject, writer);
        if (subject->host.n > 0) {
                json_write_key(writer, "host");
                json_write_raw(writer, buffer_span(&subject->host));
        }
        if (ledger->is_known) {
                json_write_key(writer, "ledger");
                ledger_summary_write_json(writer, &ledger->summary);
        }
        json_write_key(writer, "sources");
        source_table_write_json(writer, &subject->sources);
        return answer_final(&work->answer);
}

static int work_info(Work *work) {
        static const Parameter table[] = {
                { "snapshot", PARAMETER_OBJECT, true, offsetof(InfoParameters, snapshot) },
        };
        static const SubjectVisitor nothing = {};
        _cleanup_(snapshot_ref_done) SnapshotRef ref = SNAPSHOT_REF_NONE;
        _cleanup_(subject_done) Subject subject;
        InfoParameters parameters = {};
        InfoLedger ledger = {};
        int r;

        subject_init(&subject);
        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r == 0)
                r = work_decode_ref(work, parameters.snapshot, "snapshot", &ref);
        if (r == 0)
                r = work_open_subject(work, &ref, &subject);
        if (r == 0)
                r = work_pass_subject(work, &subject, &nothing, NULL);
        if (r == 0)
                r = info_read_ledger(work, &subject, &ledger);
        return r == 0 ? info_answer(work, &subject, &ledger) : r;
}

const WorkMethod work_verify_methods[] = {
        { PROFILER_INTERFACE ".Verify", work_verify, WORK_NEEDS_NOTHING, 0 },
        { PROFILER_INTERFACE ".Info", work_info, WORK_NEEDS_NOTHING, 0 },
        {},
};
