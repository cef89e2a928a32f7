/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/name.h"
#include "snapshot/snapshot-writer.h"
#include "snapshot/thread-column.h"
#include "wire/limits.h"
#include "analysis/subject/host-change.h"

#define ROWS_BYTES (64 * 1024)

/* Rewrites a file of the prior tool in the current format. */
typedef struct Rewriting {
        Work *work; /* borrowed */
        Subject subject;
        Head head;
        SnapshotFileWriter *file;
        SnapshotWriter *document;
        Buffer rows; /* joined by "," */
} Rewriting;

/*
 * Makes the head of the copy: facts about the capture from the file, name and owner from the call.
 */
static int import_head(const AnalysisOrder *order, const Head *origin, Head *ret) {
        _cleanup_(buffer_done) Buffer text = {};
        Head head = *origin;
        JsonWriter writer;
        int r;

        buffer_init(&text, HEAD_MAX_BYTES);
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_member_u64(&writer, "formatVersion", origin->format_version);
        if (origin->name[0] != '\0')
                json_write_member_name(&writer, "name", span_of(origin->name));
        if (origin->has_uid)
                json_write_member_u64(&writer, "uid", origin->uid);
        if (origin->host_name[0] != '\0')
                json_write_member_name(&writer, "hostName", span_of(origin->host_name));
        json_write_end(&writer);
        r = json_writer_finish(&writer);
        if (r != 0)
                return r;

        head.imported_from = NULL;
        head.has_size = head.has_published = head.has_allocated = false;
        (void) snprintf(head.name, sizeof(head.name), "%s", order->name.text);
        head.tagged = true;
        head.has_uid = true;
        head.uid = order->uid;
        r = buffer_take_text(&text, &head.imported_from);
        if (r != 0)
                return r;
        *ret = head;
        return 0;
}

/* Refuses the call for a failure of a file function on the input or the output. */
static int import_refuse(Work *work, int r, SnapshotFault *fault) {
        const AnalysisOrder *order = &work->order->analysis;
        const char *label = order_label(order, &order->subjects[0].from);

        if (work_full_reason(r))
                return r;
        if (r >= 0 && r != SNAPSHOT_FILE_E_DAMAGED)
                return err_fold(r);
        if (r == -ENOMEM)
                return r;
        if (r < 0 && r != -EBADMSG)
                fault_of_errno(fault, r);
        return work_refuse_fault(work, label ? label : "", fault);
}

/*
 * Verifies the whole copy before it is published: the input is a file of the user and may have
 * changed since its digest was checked.
 */
static int import_answer(Work *work, int output) {
        _cleanup_(head_done) Head head = {};
        SnapshotFault fault = {};
        int r;

        r = work_verify_file(output, &head, &fault);
        return r == 0 ? answer_texts(&work->answer, NULL, 0) : import_refuse(work, r, &fault);
}

/* rewriting */

static void rewriting_done(Rewriting *rewriting) {
        rewriting->document = snapshot_writer_free(rewriting->document);
        rewriting->file = snapshot_file_writer_free(rewriting->file);
        head_done(&rewriting->head);
        buffer_done(&rewriting->rows);
        subject_done(&rewriting->subject);
}

static int rewriting_flush(Rewriting *rewriting) {
        int r = snapshot_writer_rows(rewriting->document, SNAPSHOT_SECTION_THREADS,
                                     buffer_span(&rewriting->rows));

        buffer_clear(&rewriting->rows);
        return r;
}

static int rewriting_on_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        Rewriting *rewriting = userdata;
        int r = 0;

        if (rewriting->rows.n > 0)
                r = buffer_append_byte(&rewriting->rows, ',');
        if (r == 0)
                r = thread_row_encode(&rewriting->rows, sample, smaps_json);
        if (r == 0 && rewriting->rows.n >= ROWS_BYTES)
                r = rewriting_flush(rewriting);
        return r;
}

static int rewriting_on_cgroup(void *userdata, Span path, Span stats_json) {
        Rewriting *rewriting = userdata;

        return snapshot_writer_entry(rewriting->document, SNAPSHOT_SECTION_CGROUPS, path,
                                     stats_json);
}

/* Finds the kernel release, which the prior tool keeps in the host context. */
static int rewriting_find_release(Rewriting *rewriting, Head *head) {
        _cleanup_(host_facts_done) HostFacts facts = {};
        _cleanup_(buffer_done) Buffer release = {};
        int r;

        buffer_init(&release, sizeof(head->kernel_release) - 1);
        r = host_facts_flatten(&facts, buffer_span(&rewriting->subject.host), head);
        if (r != 0)
                return r == HOST_CHANGE_E_MALFORMED ? 0 : r;
        for (size_t i = 0; i < facts.n; i++) {
                if (strcmp(facts.text.bytes + facts.facts[i].key, "kernel_release") != 0)
                        continue;
                r = name_unescape(&release, span_of(facts.text.bytes + facts.facts[i].value));
                if (r == -EMSGSIZE)
                        return 0;
                if (r != 0)
                        return r;
                memcpy(head->kernel_release, release.bytes ? release.bytes : "", release.n);
                head->kernel_release[release.n] = '\0';
        }
        return 0;
}

/* One pass for threads and one for cgroups: the file may have them in any order. */
static int rewriting_run(Rewriting *rewriting, int output) {
        static const SubjectVisitor nothing = {};
        static const SubjectVisitor threads = { .on_thread = rewriting_on_thread };
        static const SubjectVisitor cgroups = { .on_cgroup = rewriting_on_cgroup };
        Subject *subject = &rewriting->subject;
        Head *head = &rewriting->head;
        uint64_t n_bytes;
        int r;

        r = work_pass_subject(rewriting->work, subject, &nothing, NULL);
        if (r == 0)
                r = import_head(&rewriting->work->order->analysis, &subject->head, head);
        if (r == 0)
                r = rewriting_find_release(rewriting, head);
        if (r != 0)
                return r;
        head->format_version = HEAD_FORMAT_VERSION;
        head->has_complete = true;
        head->complete = source_table_is_complete(&subject->sources);

        r = snapshot_file_writer_new(output, &rewriting->file);
        if (r == 0)
                r = snapshot_writer_new(snapshot_file_writer_write, rewriting->file,
                                        &rewriting->document);
        if (r == 0)
                r = snapshot_writer_begin(rewriting->document, head);
        if (r == 0)
                r = snapshot_writer_object(rewriting->document, SNAPSHOT_SECTION_HOST,
                                           buffer_span(&subject->host));
        if (r != 0)
                return err_fold(r);

        r = work_pass_subject(rewriting->work, subject, &threads, rewriting);
        if (r == 0)
                r = rewriting_flush(rewriting);
        if (r == 0)
                r = work_pass_subject(rewriting->work, subject, &cgroups, rewriting);
        if (r == 0)
                r = snapshot_writer_object(rewriting->document, SNAPSHOT_SECTION_PRESSURE,
                                           buffer_span(&subject->psi));
        if (r == 0)
                r = snapshot_writer_object(rewriting->document, SNAPSHOT_SECTION_SCHED_EXT,
                                           buffer_span(&subject->sched_ext));
        if (r == 0)
                r = snapshot_writer_object(rewriting->document, SNAPSHOT_SECTION_PROBE_SUMMARY,
                                           buffer_span(&subject->probe_summary));
        if (r == 0)
                r = snapshot_writer_end(rewriting->document, &subject->sources, head);
        if (r == 0)
                r = snapshot_file_writer_finish(rewriting->file, head, &n_bytes);
        return r;
}

/* Takes over @from. */
static int import_rewrite(Work *work, int from, int output) {
        const AnalysisOrder *order = &work->order->analysis;
        _cleanup_(rewriting_done) Rewriting rewriting = { .work = work };
        SnapshotFault fault = {};
        int r;

        subject_init(&rewriting.subject);
        buffer_init(&rewriting.rows, 0);
        r = work_read_result(work, &rewriting.subject,
                             subject_open(&rewriting.subject, from,
                                          order_label(order, &order->subjects[0].from)));
        if (r == 0)
                r = rewriting_run(&rewriting, output);
        if (r < 0 && !work->answer.closed)
                return import_refuse(work, r, &fault);
        return r == 0 ? import_answer(work, output) : r;
}

int work_import(Work *work) {
        const AnalysisOrder *order = &work->order->analysis;
        _cleanup_(fd_closep) int from = work_take_fd(work, order->subjects[0].from.fd);
        /* It is readable, because what was written is checked. */
        _cleanup_(fd_closep) int output = work_take_fd(work, order->output);
        _cleanup_(head_done) Head origin = {}, head = {};
        SnapshotFault fault = {};
        uint64_t n_bytes;
        int r;

        r = work_check_name(work, order->name.text);
        if (r != 0)
                return r;
        r = snapshot_file_read_head(from, &origin, &fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD)
                return import_rewrite(work, TAKE_FD(from), output);
        if (r != 0)
                return import_refuse(work, r, &fault);
        /* Copy the body of a current file under a new head and check its digest on the way. */
        r = import_head(order, &origin, &head);
        if (r != 0)
                return r;
        r = snapshot_file_rehead(from, output, &head, &n_bytes, &fault);
        return r == 0 ? import_answer(work, output) : import_refuse(work, r, &fault);
}
