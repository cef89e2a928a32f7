/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "record/recording-document.h"
#include "wire/limits.h"

/* Every part of a recording is a file of its own. */
static int verify_parts(int fd, SnapshotFault *ret_fault) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        _cleanup_(recording_document_done) RecordingDocument recording = {};
        _cleanup_(head_done) Head head = {};
        char complaint[DOCUMENT_COMPLAINT_BYTES];
        uint64_t offset;
        int r = snapshot_file_check_digest(fd, ret_fault);

        for (SnapshotPart part = SNAPSHOT_PART_BEGIN; r == 0 && part < SNAPSHOT_PART_RECORDING;
             part++) {
                _cleanup_(head_done) Head end = {};

                r = snapshot_file_verify(fd, part, &end, ret_fault);
        }
        if (r == 0)
                r = snapshot_file_reader_new(fd, SNAPSHOT_PART_RECORDING, &file, &head, ret_fault);
        if (r != 0)
                return r;
        r = recording_document_read(snapshot_file_refill, file, head.document_bytes, &recording,
                                    &offset, complaint);
        if (r == -EBADMSG && snapshot_file_reader_fault(file)->text[0] != '\0')
                *ret_fault = *snapshot_file_reader_fault(file);
        else if (r == JSON_E_MALFORMED) {
                fault_set(ret_fault, offset, "%s", complaint);
                ret_fault->in_document = true;
        } else
                return err_fold(r);
        return SNAPSHOT_FILE_E_DAMAGED;
}

int work_verify_file(int fd, Head *ret, SnapshotFault *ret_fault) {
        int r = snapshot_file_read_head(fd, ret, ret_fault);

        if (r == 0 && ret->is_recording)
                return verify_parts(fd, ret_fault);
        head_done(ret);
        *ret = (Head){};
        *ret_fault = (SnapshotFault){};
        return snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, ret, ret_fault);
}

/* Writes one VerifyResult. */
static int verify_write(Work *work, JsonWriter *writer, const OrderFile *file) {
        const char *label = order_label(&work->order->analysis, file);
        _cleanup_(fd_closep) int fd = work_take_fd(work, file->fd);
        _cleanup_(head_done) Head head = {};
        SnapshotFault fault = {};
        char reason[FAULT_REASON_BYTES];
        int r;

        r = work_verify_file(fd, &head, &fault);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                fault_of_errno(&fault, r);
        else if (r != 0 && r != SNAPSHOT_FILE_E_DAMAGED)
                return err_fold(r);

        json_write_object(writer);
        /* The call is about files, so a label takes precedence over the name inside. */
        json_write_member_name(writer, "name", span_of(label ? label : head.name));
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

/* Sends one reply per snapshot if the caller takes several, otherwise one with all. */
int work_verify(Work *work) {
        const AnalysisOrder *order = &work->order->analysis;
        JsonWriter *writer = verify_begin(&work->answer);
        int r;

        for (unsigned i = 0; i < order->n[0]; i++) {
                r = verify_write(work, writer, &order->subjects[i].from);
                if (r != 0)
                        return r;
                if (!work->answer.more || i + 1 == order->n[0])
                        continue;
                json_write_end(writer);
                r = answer_send(&work->answer, PACKET_PART, -EBADF);
                if (r != 0)
                        return r;
                writer = verify_begin(&work->answer);
        }
        json_write_end(writer);
        return answer_send(&work->answer, PACKET_LAST, -EBADF);
}

/* The ledger of exits as a whole, if the snapshot has one. */
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

/* @subject is initialised, and remains the caller's to free. */
static int info_read(Work *work, Subject *subject, InfoLedger *ret) {
        static const SubjectVisitor nothing = {};
        static const SnapshotVisitor ledger = { .on_ledger = info_on_ledger };
        int r;

        r = work_open_subject(work, &work->order->analysis.subjects[0].from, subject);
        if (r == 0 && subject->head.is_recording)
                subject->part = SNAPSHOT_PART_END; /* under the head of the whole */
        if (r == 0)
                r = work_pass_subject(work, subject, &nothing, NULL);
        if (r != 0 || subject->head.ledger_id[0] == '\0')
                return r;
        r = snapshot_file_visit(subject->fd, subject->part, &ledger, ret, &subject->fault);
        if (r == -ECANCELED && ret->is_known)
                return 0;
        return work_read_result(work, subject,
                                r == SNAPSHOT_FILE_E_DAMAGED ? SUBJECT_E_UNREADABLE : r);
}

int work_info(Work *work) {
        _cleanup_(subject_done) Subject subject;
        InfoLedger ledger = {};
        JsonWriter *writer;
        int r;

        subject_init(&subject);
        r = info_read(work, &subject, &ledger);
        if (r != 0)
                return r;
        writer = answer_begin(&work->answer);
        json_write_key(writer, "snapshot");
        subject_write_head(&subject, writer);
        if (subject.host.n > 0) {
                json_write_key(writer, "host");
                json_write_raw(writer, buffer_span(&subject.host));
        }
        if (ledger.is_known) {
                json_write_key(writer, "ledger");
                ledger_summary_write_json(writer, &ledger.summary);
        }
        json_write_key(writer, "sources");
        source_table_write_json(writer, &subject.sources);
        return answer_send(&work->answer, PACKET_LAST, -EBADF);
}

int work_tell_sources(Work *work) {
        _cleanup_(subject_done) Subject subject;
        InfoLedger ledger = {};
        int r;

        subject_init(&subject);
        r = info_read(work, &subject, &ledger);
        if (r != 0)
                return r;
        return work_answer_sources(work, &subject.sources, (Span){},
                                   ledger.is_known && ledger.summary.has_losses ? &ledger.summary
                                                                                : NULL);
}
