/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/recorded-stacks.h"

#include <errno.h>

#include "base/cleanup.h"

static int on_begin(void *userdata, const ThreadSample *sample, Span smaps_json) {
        return sample->self ? 0 : stack_view_add_begin(userdata, sample);
}

static int on_end(void *userdata, const ThreadSample *sample, Span smaps_json) {
        return sample->self ? 0 : stack_view_add_end(userdata, sample);
}

/* A function is one frame, whichever of its lines the stacks are in. */
static int forget_lines(RecordingDocument *recording) {
        StackTable *table = &recording->table;

        if (!recording->facts.lines)
                return 0;
        for (size_t i = 0; i < table->n_frames; i++)
                table->frames[i].file = table->frames[i].line = 0;
        return stack_table_fold(table);
}

int work_read_recording(Work *work, const Subject *end, bool lines, RecordingDocument *ret) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        _cleanup_(head_done) Head head = {};
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        SnapshotFault fault = {};
        uint64_t offset = 0;
        int r;

        if (!end->head.has_user_hz || end->head.user_hz == 0) {
                /* Its threads are those of the samples by when they began. */
                fault_set(&fault, 0, "its head does not say how long a tick is (userHz)");
                return work_refuse_fault(work, subject_name(end), &fault);
        }
        r = snapshot_file_reader_new(end->fd, SNAPSHOT_PART_RECORDING, &file, &head, &fault);
        if (r == 0)
                r = recording_document_read(snapshot_file_refill, file, head.document_bytes, ret,
                                            &offset, complaint);
        if (r == -EBADMSG && snapshot_file_reader_fault(file)->text[0] != '\0') {
                fault = *snapshot_file_reader_fault(file);
                r = SNAPSHOT_FILE_E_DAMAGED;
        } else if (r == JSON_E_MALFORMED && complaint[0] != '\0') {
                fault_set(&fault, offset, "%s", complaint);
                fault.in_document = true;
        }
        if (r == 0 && !lines)
                r = forget_lines(ret);
        return r > 0 ? work_refuse_fault(work, subject_name(end), &fault) : r;
}

int work_divide_stacks(Work *work, Subject *begin, Subject *end, const RecordingDocument *recording,
                       bool by_waker, StackView *view) {
        static const SubjectVisitor of_begin = { .on_thread = on_begin },
                                    of_end = { .on_thread = on_end };
        int r = work_pass_subject(work, begin, &of_begin, view);

        if (r == 0)
                r = work_pass_subject(work, end, &of_end, view);
        return r == 0 ? stack_view_divide(view, recording, end->head.user_hz, by_waker) : r;
}
