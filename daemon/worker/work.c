/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include "base/err.h"
#include "base/name.h"
#include "view/view-json.h"

#define CULPRIT_BYTES 128

int work_confine(Work *work, uint64_t keep) {
        bool privileged = sandbox_is_privileged();
        int r;

        if (!work->confines)
                return 0;
        r = sandbox_enter(work->terms->grants, work->terms->kept_inside & keep,
                          work->max_file_bytes);
        /* Without privileges we read a file with the rights of its reader, as any program would. */
        if (r == SANDBOX_E_NO_FILTER)
                r = privileged && work->terms->reads_foreign ? -EPROTONOSUPPORT : 0;
        work->is_confined = r == 0;
        return r;
}

int work_refuse(Work *work, WireError error, const WireErrorDetail *detail) {
        int r = answer_error(&work->answer, error, detail);

        return r == 0 ? WORK_E_ANSWERED : r;
}

const char *work_full_reason(int error) {
        switch (error) {
        case -EFBIG: /* RLIMIT_FSIZE was set to the room that is left */
                return "The spool is full: its file system has no more room beyond what is kept "
                       "free and what other jobs may still write";
        case -ENOSPC:
                return "The spool is on a file system without free space: remove snapshots or "
                       "make room there";
        case -EDQUOT:
                return "The spool has used up the disk quota of its owner: remove snapshots or "
                       "raise the quota";
        default:
                return NULL;
        }
}

int work_refuse_parameter(Work *work, const char *parameter, const char *reason) {
        return work_refuse(work, WIRE_ERROR_INVALID_PARAMETER,
                           &(WireErrorDetail){
                                   .subject = span_of(parameter),
                                   .reason = reason,
                           });
}

int work_decode(Work *work, const Parameter *table, size_t n_table, void *ret) {
        return work_decode_member(work, work->call.parameters, "", table, n_table, ret);
}

int work_decode_member(Work *work, json_object *object, const char *name, const Parameter *table,
                       size_t n_table, void *ret) {
        char culprit[CULPRIT_BYTES];
        const char *key, *dot = name[0] == '\0' ? "" : ".";
        int r;

        if (!json_object_is_type(object, json_type_object))
                return work_refuse_parameter(work, name, NULL);
        r = parameters_decode(object, table, n_table, work->stream, ret, &key);
        if (r != PARAMETERS_E_INVALID)
                return err_fold(r);
        /* A key from outside that is too long must not be cut within a character. */
        if (snprintf(culprit, sizeof(culprit), "%s%s%s", name, dot, key) >= CULPRIT_BYTES)
                (void) snprintf(culprit, sizeof(culprit), "%s%s...", name, dot);
        return work_refuse_parameter(work, culprit, NULL);
}

int work_decode_ref(Work *work, json_object *object, const char *name, SnapshotRef *ret) {
        static const Parameter table[] = {
                { JOB_KEY_FILE_DESCRIPTOR, PARAMETER_DESCRIPTOR, true, offsetof(SnapshotRef, fd) },
                { JOB_KEY_LABEL, PARAMETER_TEXT, false, offsetof(SnapshotRef, label) },
        };

        return work_decode_member(work, object, name, table, ELEMENTSOF(table), ret);
}

typedef struct SubjectFields {
        SnapshotRef from;
        json_object *to;
} SubjectFields;

int work_decode_subject_ref(Work *work, json_object *object, const char *name, SubjectRef *ret) {
        static const Parameter table[] = {
                { JOB_KEY_FILE_DESCRIPTOR, PARAMETER_DESCRIPTOR, true,
                  offsetof(SubjectFields, from) + offsetof(SnapshotRef, fd) },
                { JOB_KEY_LABEL, PARAMETER_TEXT, false,
                  offsetof(SubjectFields, from) + offsetof(SnapshotRef, label) },
                { JOB_KEY_TO, PARAMETER_OBJECT, false, offsetof(SubjectFields, to) },
        };
        SubjectFields fields = { .from = SNAPSHOT_REF_NONE };
        char inner[CULPRIT_BYTES];
        int r;

        r = work_decode_member(work, object, name, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        ret->ends[0] = fields.from;
        ret->is_interval = fields.to;
        if (!fields.to)
                return 0;
        (void) snprintf(inner, sizeof(inner), "%s." JOB_KEY_TO, name);
        return work_decode_ref(work, fields.to, inner, &ret->ends[1]);
}

int work_decode_view(Work *work, json_object *object, View *ret) {
        char complaint[VIEW_COMPLAINT_BYTES];
        int r = view_decode(object, ret, complaint);

        if (r == VIEW_E_INVALID)
                return work_refuse_parameter(work, "view", complaint);
        return err_fold(r);
}

int work_check_name(Work *work, const char *name) {
        const char *complaint = snapshot_name_new_complaint(span_of(name));

        if (!complaint)
                return 0;
        return work_refuse(work, WIRE_ERROR_INVALID_NAME,
                           &(WireErrorDetail){
                                   .subject = span_of(name),
                                   .reason = complaint,
                           });
}

int work_refuse_fault(Work *work, const char *name, const SnapshotFault *fault) {
        char reason[FAULT_REASON_BYTES];

        return work_refuse(work, WIRE_ERROR_SNAPSHOT_UNREADABLE,
                           &(WireErrorDetail){
                                   .subject = span_of(name),
                                   .reason = fault_reason(fault, reason),
                                   .has_offset = fault->has_offset,
                                   .offset = fault->offset,
                           });
}

int work_read_result(Work *work, const Subject *subject, int r) {
        if (r == SUBJECT_E_UNREADABLE)
                return work_refuse_fault(work, subject_name(subject), &subject->fault);
        return err_fold(r);
}

int work_open_subject(Work *work, SnapshotRef *ref, Subject *subject) {
        return work_read_result(work, subject, subject_open(subject, TAKE_FD(ref->fd), ref->label));
}

int work_pass_subject(Work *work, Subject *subject, const SubjectVisitor *visitor, void *userdata) {
        return work_read_result(work, subject, subject_pass(subject, visitor, userdata));
}

int work_answer_objects(Work *work, TaskObjects *objects, const char *reason) {
        static const char *const names[] = TASK_OBJECT_NAMES;
        JsonWriter *writer = answer_begin(&work->answer);
        int fds[_TASK_OBJECT_MAX];
        size_t n = 0;

        json_write_key(writer, JOB_KEY_TASKS);
        json_write_array(writer);
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++) {
                if (objects->fds[i] < 0)
                        continue;
                json_write_text(writer, names[i]);
                fds[n++] = TAKE_FD(objects->fds[i]);
        }
        json_write_end(writer);
        if (reason[0] != '\0')
                json_write_member_text(writer, JOB_KEY_REASON, reason);
        return answer_final_descriptors(&work->answer, fds, n);
}
