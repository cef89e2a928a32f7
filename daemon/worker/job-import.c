/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/name.h"
#include "snapshot/snapshot-writer.h"
#include "wire/limits.h"
#include "analysis/subject/host-change.h"

#define ROWS_BYTES (64 * 1024)

typedef struct ImportParameters {
        SnapshotRef from; /* owned */
        int output;       /* owned; readable, because what was written is checked */
        const char *name;
        bool tagged;
        uid_t uid;
} ImportParameters;

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
static int import_head(const Head *origin, const ImportParameters *parameters, Head *ret) {
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
        (void) snprintf(head.name, sizeof(head.name), "%s", parameters->name);
        head.tagged = parameters->tagged;
        head.has_uid = true;
        head.uid = parameters->uid;
        r = buffer_take_text(&text, &head.imported_from);
        if (r != 0)
                return r;
        *ret = head;
        return 0;
}

/* Refuses the call for a failure of a file function on the input or the output. */
static int import_refuse(Work *work, const ImportParameters *parameters, int r,
                         SnapshotFault *fault) {
        const char *name = parameters->from.label ? parameters->from.label : "";

        if (work_full_reason(r))
                return r;
        if (r == SNAPSHOT_FILE_E_DAMAGED || r == -EBADMSG)
                return work_refuse_fault(work, name, fault);
        if (r >= 0 || r == -ENOMEM)
                return err_fold(r);
        fault_of_errno(fault, r);
        return work_refuse_fault(work, name, fault);
}

/*
 * Verifies the whole copy before it is published: the input is a file of the user and may have
 * changed since its digest was checked.
 */
static int import_answer(Work *work, const ImportParameters *parameters) {
        _cleanup_(head_done) Head head = {};
        SnapshotFault fault = {};
        JsonWriter *writer;
        int r;

        r = snapshot_file_verify(parameters->output, &head, &fault);
        if (r != 0)
                return import_refuse(work, parameters, r, &fault);
        writer = answer_begin(&work->answer);
        json_write_key(writer, "snapshot");
        head_write_json(writer, &head);
        return answer_final(&work->answer);
}

/* Copies the body of a current file under a new head and checks its digest on the way. */
static int import_copy(Work *work, const ImportParameters *parameters, const Head *origin) {
        _cleanup_(head_done) Head head = {};
        SnapshotFault fault = {};
        uint64_t n_bytes;
        int r;

        r = import_head(origin, parameters, &head);
        if (r != 0)
                return r;
        r = snapshot_file_rehead(parameters->from.fd, parameters->output, &head, &n_bytes, &fault);
        if (r != 0)
                return import_refuse(work, parameters, r, &fault);
        return import_answer(work, parameters);
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
                r = snapshot_row_encode(&rewriting->rows, sample, smaps_json);
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
        _cleanup_(host_facts_done) HostFacts facts;
        _cleanup_(buffer_done) Buffer release = {};
        int r;

        host_facts_init(&facts);
        buffer_init(&release, sizeof(head->kernel_release) - 1);
        r = host_facts_flatten(&facts, buffer_span(&rewriting->subject.host), head);
        if (r != 0)
                return r == HOST_CHANGE_E_MALFORMED ? 0 : r;
        for (size_t i = 0; i < facts.n; i++) {
                if (strcmp(host_facts_key(&facts, i), "kernel_release") != 0)
                        continue;
                r = name_unescape(&release, span_of(host_facts_value(&facts, i)));
                if (r == -EMSGSIZE)
                        return 0;
                if (r != 0)
                        return r;
                memcpy(head->kernel_release, release.bytes ? release.bytes : "", release.n);
                head->kernel_release[release.n] = '\0';
        }
        return 0;
}

static int rewriting_begin(Rewriting *rewriting, const ImportParameters *parameters) {
        static const SubjectVisitor nothing = {};
        Head *head = &rewriting->head;
        int r;

        r = work_pass_subject(rewriting->work, &rewriting->subject, &nothing, NULL);
        if (r == 0)
                r = import_head(&rewriting->subject.head, parameters, head);
        if (r == 0)
                r = rewriting_find_release(rewriting, head);
        if (r != 0)
                return r;
        head->format_version = HEAD_FORMAT_VERSION;
        head->has_complete = true;
        head->complete = source_table_is_complete(&rewriting->subject.sources);

        r = snapshot_file_writer_new(parameters->output, &rewriting->file);
        if (r == 0)
                r = snapshot_writer_new(snapshot_file_writer_write, rewriting->file,
                                        &rewriting->document);
        if (r == 0)
                r = snapshot_writer_begin(rewriting->document, head);
        if (r == 0)
                r = snapshot_writer_object(rewriting->document, SNAPSHOT_SECTION_HOST,
                                           buffer_span(&rewriting->subject.host));
        return err_fold(r);
}

/* One pass for threads and one for cgroups: the file may have them in any order. */
static int rewriting_run(Rewriting *rewriting) {
        static const SubjectVisitor threads = { .on_thread = rewriting_on_thread };
        static const SubjectVisitor cgroups = { .on_cgroup = rewriting_on_cgroup };
        Subject *subject = &rewriting->subject;
        uint64_t n_bytes;
        int r;

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
                r = snapshot_writer_end(rewriting->document, &subject->sources, &rewriting->head);
        if (r == 0)
                r = snapshot_file_writer_finish(rewriting->file, &rewriting->head, &n_bytes);
        return r;
}

static int import_rewrite(Work *work, ImportParameters *parameters) {
        _cleanup_(rewriting_done) Rewriting rewriting = { .work = work };
        SnapshotFault fault = {};
        int r;

        subject_init(&rewriting.subject);
        buffer_init(&rewriting.rows, 0);
        r = work_open_subject(work, &parameters->from, &rewriting.subject);
        if (r == 0)
                r = rewriting_begin(&rewriting, parameters);
        if (r == 0)
                r = rewriting_run(&rewriting);
        if (r < 0 && !answer_is_closed(&work->answer))
                return import_refuse(work, parameters, r, &fault);
        return r == 0 ? import_answer(work, parameters) : r;
}

static int import_start(Work *work, ImportParameters *parameters) {
        _cleanup_(head_done) Head origin = {};
        SnapshotFault fault = {};
        int r;

        r = work_check_name(work, parameters->name);
        if (r != 0)
                return r;
        r = snapshot_file_read_head(parameters->from.fd, &origin, &fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD)
                return import_rewrite(work, parameters);
        if (r != 0)
                return import_refuse(work, parameters, r, &fault);
        return import_copy(work, parameters, &origin);
}

static int work_import(Work *work) {
        static const Parameter table[] = {
                { JOB_KEY_FILE_DESCRIPTOR, PARAMETER_DESCRIPTOR, true,
                  offsetof(ImportParameters, from.fd) },
                { JOB_KEY_LABEL, PARAMETER_TEXT, false, offsetof(ImportParameters, from.label) },
                { JOB_KEY_OUTPUT, PARAMETER_DESCRIPTOR, true, offsetof(ImportParameters, output) },
                { JOB_KEY_NAME, PARAMETER_TEXT, true, offsetof(ImportParameters, name) },
                { JOB_KEY_TAGGED, PARAMETER_BOOL, true, offsetof(ImportParameters, tagged) },
                { JOB_KEY_UID, PARAMETER_UID, true, offsetof(ImportParameters, uid) },
        };
        ImportParameters parameters = { .from = SNAPSHOT_REF_NONE, .output = -EBADF };
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r == 0)
                r = import_start(work, &parameters);
        snapshot_ref_done(&parameters.from);
        parameters.output = fd_close(parameters.output);
        return r;
}

const WorkMethod work_import_methods[] = {
        { JOB_METHOD_IMPORT, work_import, WORK_NEEDS_NOTHING, LIMIT_FILE_BYTES },
        {},
};
