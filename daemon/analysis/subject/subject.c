/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/subject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/name.h"
#include "wire/limits.h"

struct SubjectPass {
        Subject *subject;
        SnapshotFileReader *file;
        SnapshotReader *reader;
        SnapshotVisitor document; /* for what a pass keeps in the subject */
        const SubjectVisitor *visitor;
        void *userdata;
};

void subject_init(Subject *subject) {
        *subject = (Subject){ .fd = -EBADF };
        buffer_init(&subject->host, LIMIT_VALUE_BYTES);
        buffer_init(&subject->psi, LIMIT_VALUE_BYTES);
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                buffer_init(&subject->host_parts[i], LIMIT_VALUE_BYTES);
        buffer_init(&subject->sched_ext, LIMIT_VALUE_BYTES);
        buffer_init(&subject->probe_summary, LIMIT_VALUE_BYTES);
}

void subject_done(Subject *subject) {
        subject->fd = subject->part == SNAPSHOT_PART_BEGIN ? -EBADF : fd_close(subject->fd);
        head_done(&subject->head);
        buffer_done(&subject->host);
        buffer_done(&subject->psi);
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                buffer_done(&subject->host_parts[i]);
        buffer_done(&subject->sched_ext);
        buffer_done(&subject->probe_summary);
        moved_list_done(&subject->moved);
        exited_list_done(&subject->exited);
}

void fault_of_errno(SnapshotFault *fault, int error) {
        *fault = (SnapshotFault){};
        (void) snprintf(fault->text, sizeof(fault->text), "it cannot be read: %s",
                        strerror(-error));
}

const char *fault_reason(const SnapshotFault *fault, char ret_text[static FAULT_REASON_BYTES]) {
        if (!fault->in_document)
                return fault->text;
        (void) snprintf(ret_text, FAULT_REASON_BYTES, "in the document: %s", fault->text);
        return ret_text;
}

const char *subject_name(const Subject *subject) {
        return subject->label ? subject->label : subject->head.name;
}

Boots subject_boots(const Subject *before, const Subject *after) {
        if (before->head.boot_id[0] == '\0' || after->head.boot_id[0] == '\0')
                return BOOTS_UNKNOWN;
        return strcmp(before->head.boot_id, after->head.boot_id) == 0 ? BOOTS_SAME
                                                                      : BOOTS_DIFFERENT;
}

const SourceTable *subject_sources(const Subject *subject) {
        return subject->has_sources ? &subject->sources : NULL;
}

void subject_note_implausible(Subject *subject, const uint64_t counts[static _SOURCE_MAX]) {
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                Source *source = &subject->sources.sources[id];

                source->implausible = MAX_OF(source->implausible, counts[id]);
        }
}

int subject_host_totals(Subject *subject, HostTotals *ret) {
        char complaint[HOST_COMPLAINT_BYTES] = "";
        int r;

        *ret = (HostTotals){ .user_hz = subject->head.has_user_hz ? subject->head.user_hz : 0 };
        for (unsigned i = 0; i < _HOST_PART_MAX; i++) {
                r = host_totals_scan(ret, (HostPartId) i, buffer_span(&subject->host_parts[i]),
                                     complaint);
                if (r == JSON_E_MALFORMED) {
                        subject->fault = (SnapshotFault){};
                        (void) snprintf(subject->fault.text, sizeof(subject->fault.text),
                                        "its %s: %s", host_parts[i].member, complaint);
                        return SUBJECT_E_UNREADABLE;
                }
                if (r != 0)
                        return err_fold(r);
        }
        return 0;
}

void subject_write_head(const Subject *subject, JsonWriter *writer) {
        Span name = span_of(subject->head.name);
        Head shown = subject->head; /* a shallow copy: the subject keeps what it owns */
        size_t n = 0;

        if (name.n == 0 && subject->label)
                name = snapshot_name_of_path(subject->label);

        /* A label may be longer than a name: cut it after a whole character. */
        while (n < name.n) {
                size_t n_character = utf8_character((Span){ name.bytes + n, name.n - n });

                n_character = MAX_OF(n_character, (size_t) 1);
                if (n + n_character >= sizeof(shown.name))
                        break;
                n += n_character;
        }
        memmove(shown.name, name.bytes, n);
        shown.name[n] = '\0';
        head_write_json(writer, &shown);
}

/*
 * Translates the result of a file function: -ENOMEM is passed up, everything else is a fault of the
 * file.
 */
static int subject_file_result(Subject *subject, int r) {
        if (r == SNAPSHOT_FILE_E_DAMAGED)
                return SUBJECT_E_UNREADABLE;
        if (r >= 0 || r == -ENOMEM)
                return err_fold(r);
        if (r != -EBADMSG || subject->fault.text[0] == '\0')
                fault_of_errno(&subject->fault, r);
        return SUBJECT_E_UNREADABLE;
}

int subject_open(Subject *subject, int fd, const char *label) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        int r;

        subject->fd = fd;
        subject->label = label;
        r = snapshot_file_check_digest(fd, &subject->fault);
        if (r == 0)
                r = snapshot_file_read_head(fd, &subject->head, &subject->fault);
        if (r == 0 && subject->head.is_recording)
                return 0;
        head_done(&subject->head);
        subject->head = (Head){};
        if (r == 0 || r == SNAPSHOT_FILE_E_NO_HEAD)
                r = snapshot_file_reader_new(fd, SNAPSHOT_PART_WHOLE, &file, &subject->head,
                                             &subject->fault);
        return r == SNAPSHOT_FILE_E_NO_HEAD ? 0 : subject_file_result(subject, r);
}

/* Ends say that they are of a recording, and are called as it is, which the caller knows. */
static int open_part(Subject *subject, SnapshotPart part, const Head *recording) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        int r;

        subject->part = part;
        subject->head = (Head){};
        r = snapshot_file_reader_new(subject->fd, part, &file, &subject->head, &subject->fault);
        if (r == 0)
                memcpy(subject->head.name, recording->name, sizeof(recording->name));
        subject->head.is_recording = true;
        return r == SNAPSHOT_FILE_E_NO_HEAD ? SUBJECT_E_UNREADABLE
                                            : subject_file_result(subject, r);
}

int subject_open_parts(Subject *recording, Subject *ret_end) {
        _cleanup_(head_done) Head head = recording->head;
        int r;

        ret_end->fd = recording->fd;
        ret_end->label = recording->label;
        r = open_part(recording, SNAPSHOT_PART_BEGIN, &head);
        return r == 0 ? open_part(ret_end, SNAPSHOT_PART_END, &head) : r;
}

/* Values that concern the whole host are kept, from the first pass only. */
static int pass_on_value(void *userdata, SnapshotSection section, Span json) {
        Subject *subject = ((SubjectPass *) userdata)->subject;
        Buffer *buffer;

        if (subject->passed || span_is(json, "null"))
                return 0;
        switch ((unsigned) section) {
        case SNAPSHOT_SECTION_HOST:
                buffer = &subject->host;
                break;
        case SNAPSHOT_SECTION_PRESSURE:
                buffer = &subject->psi;
                break;
        case SNAPSHOT_SECTION_SCHED_EXT:
                buffer = &subject->sched_ext;
                break;
        case SNAPSHOT_SECTION_PROBE_SUMMARY:
                buffer = &subject->probe_summary;
                break;
        default:
                buffer = &subject->host_parts[section - SNAPSHOT_SECTION_HOST_CPU];
                break;
        }
        return buffer_append(buffer, json.bytes, json.n);
}

static int pass_on_sources(void *userdata, const SourceTable *sources) {
        SubjectPass *pass = userdata;

        /* A further pass finds the same, and must not undo subject_note_implausible(). */
        if (pass->subject->has_sources)
                return 0;
        pass->subject->sources = *sources;
        pass->subject->has_sources = true;
        return 0;
}

static int pass_on_ledger(void *userdata, const LedgerSummary *ledger) {
        SubjectPass *pass = userdata;

        pass->subject->ledger = *ledger;
        return 0;
}

static int pass_on_exited(void *userdata, const ExitedRow *row) {
        SubjectPass *pass = userdata;
        Subject *subject = pass->subject;
        int r = subject->passed ? 0 : exited_list_add(&subject->exited, row);

        return r == 0 && pass->visitor->on_exited ? pass->visitor->on_exited(pass->userdata, row)
                                                  : r;
}

static int pass_on_moved(void *userdata, const ThreadSample *ended) {
        Subject *subject = ((SubjectPass *) userdata)->subject;

        return subject->passed ? 0 : moved_list_add(&subject->moved, ended);
}

static int pass_on_cgroup(void *userdata, Span path, Span stats_json) {
        SubjectPass *pass = userdata;

        return pass->visitor->on_cgroup(pass->userdata, path, stats_json);
}

static int pass_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        SubjectPass *pass = userdata;
        int r;

        r = snapshot_file_refill(pass->file, space, n_space, ret_n);
        if (r < 0)
                pass->subject->read_error = r;
        return r;
}

/* Translates the result of the reader of the document. */
static int pass_result(SubjectPass *pass, int r) {
        const SnapshotReader *reader = pass->reader;
        Subject *subject = pass->subject;
        SnapshotFault *fault = &subject->fault;

        switch (r) {
        case SNAPSHOT_E_TOO_NEW:
                *fault = (SnapshotFault){};
                (void) snprintf(fault->text, sizeof(fault->text),
                                "it has format version %u, and this ctprof reads up to %u",
                                reader->format_version, (unsigned) HEAD_FORMAT_VERSION);
                return SUBJECT_E_UNREADABLE;
        case SNAPSHOT_E_MALFORMED:
                *fault = (SnapshotFault){
                        .has_offset = true,
                        .offset = reader->document.scanner->offset,
                        .in_document = true,
                };
                (void) snprintf(fault->text, sizeof(fault->text), "%.*s",
                                (int) sizeof(fault->text) - 1, reader->document.complaint);
                return SUBJECT_E_UNREADABLE;
        default:
                break;
        }
        if (subject->read_error == 0)
                return err_fold(r);
        *fault = *snapshot_file_reader_fault(pass->file);
        return subject_file_result(subject, subject->read_error);
}

int subject_pass_new(Subject *subject, const SubjectVisitor *visitor, void *userdata,
                     SubjectPass **ret) {
        _cleanup_(subject_pass_freep) SubjectPass *pass = NULL;
        _cleanup_(head_done) Head head = {};
        int r;

        pass = calloc(1, sizeof(*pass));
        if (!pass)
                return -ENOMEM;
        *pass = (SubjectPass){
                .subject = subject,
                .visitor = visitor,
                .userdata = userdata,
                .document = { .on_ledger = pass_on_ledger,
                              .on_exited = visitor->on_exited || subject->reads_exited
                                                   ? pass_on_exited
                                                   : NULL,
                              .on_moved = pass_on_moved,
                              .on_cgroup = visitor->on_cgroup ? pass_on_cgroup : NULL,
                              .on_value = pass_on_value,
                              .on_sources = pass_on_sources,
                              .names_only = visitor->names_only },
        };
        subject->read_error = 0;
        r = snapshot_file_reader_new(subject->fd, subject->part, &pass->file, &head,
                                     &subject->fault);
        if (r != 0 && r != SNAPSHOT_FILE_E_NO_HEAD)
                return subject_file_result(subject, r);
        r = snapshot_reader_new(pass_refill, pass,
                                head.has_document_bytes ? head.document_bytes
                                                        : LIMIT_DOCUMENT_0_BYTES,
                                &pass->reader);
        if (r != 0)
                return err_fold(r);
        *ret = TAKE_PTR(pass);
        return 0;
}

SubjectPass *subject_pass_free(SubjectPass *pass) {
        if (!pass)
                return NULL;
        snapshot_reader_free(pass->reader);
        snapshot_file_reader_free(pass->file);
        free(pass);
        return NULL;
}

int subject_pass_next(SubjectPass *pass, const ThreadSample **ret_sample) {
        SnapshotReader *reader = pass->reader;
        Subject *subject = pass->subject;
        Head *head = &subject->head;
        Span smaps;
        int r;

        r = snapshot_reader_next(reader, &pass->document, pass, ret_sample, &smaps);
        if (r != 0)
                return pass_result(pass, r);
        if (*ret_sample) {
                r = pass->visitor->on_thread
                            ? pass->visitor->on_thread(pass->userdata, *ret_sample, smaps)
                            : 0;
                return err_fold(r);
        }

        /* The document is complete. A current one without a head had it cut off the file. */
        if (head->format_version == 0 && reader->format_version > 0) {
                subject->fault = (SnapshotFault){};
                (void) snprintf(subject->fault.text, sizeof(subject->fault.text),
                                "the head is missing");
                return SUBJECT_E_UNREADABLE;
        }
        /* Files of format version 0 have no head: take it from the document. */
        if (!subject->passed && head->format_version == 0) {
                head->threads = reader->n_threads;
                head->processes = reader->n_processes;
                head->start_realtime_ns = reader->captured_realtime_ns;
                head->has_threads = head->has_processes = true;
                head->has_start_realtime = head->start_realtime_ns > 0;
        }
        /* Files of the prior tool do not record which numbers were measured. */
        for (unsigned id = 0; !subject->passed && !subject->has_sources && id < _SOURCE_MAX; id++)
                subject->sources.sources[id] = (Source){
                        .state = SOURCE_STATE_PARTIAL,
                        .reason = "format version 0: absent cannot be told from zero",
                };
        subject->passed = true;
        return 0;
}

int subject_pass(Subject *subject, const SubjectVisitor *visitor, void *userdata) {
        _cleanup_(subject_pass_freep) SubjectPass *pass = NULL;
        const ThreadSample *sample = NULL;
        int r;

        r = subject_pass_new(subject, visitor, userdata, &pass);
        if (r != 0)
                return r;
        do
                r = subject_pass_next(pass, &sample);
        while (r == 0 && sample);
        return r;
}
