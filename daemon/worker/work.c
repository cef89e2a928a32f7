/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include "base/err.h"
#include "base/name.h"

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

int work_take_fd(Work *work, OrderFd fd) {
        return fd > 0 && fd <= work->n_fds ? TAKE_FD(work->fds[fd - 1]) : -EBADF;
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

int work_open_subject(Work *work, const OrderFile *file, Subject *subject) {
        return work_read_result(work, subject,
                                subject_open(subject, work_take_fd(work, file->fd),
                                             order_label(&work->order->analysis, file)));
}

int work_pass_subject(Work *work, Subject *subject, const SubjectVisitor *visitor, void *userdata) {
        return work_read_result(work, subject, subject_pass(subject, visitor, userdata));
}
