/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/snapshot-file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "snapshot/snapshot-reader.h"
#include "spool/file-trailer.h"
#include "wire/limits.h"

_Static_assert(SNAPSHOT_MAX_DEPTH == LIMIT_DOCUMENT_DEPTH &&
                       SNAPSHOT_MAX_TOKEN_BYTES == LIMIT_TOKEN_BYTES &&
                       SNAPSHOT_MAX_VALUE_BYTES == LIMIT_VALUE_BYTES,
               "the bounds of files are those of the reader");

static const JsonLimits host_limits = {
        .max_depth = SNAPSHOT_MAX_DEPTH,
        .max_token_bytes = SNAPSHOT_MAX_TOKEN_BYTES,
        .max_text_bytes = SNAPSHOT_MAX_VALUE_BYTES,
};

/* Reads the kernel release, the only member of the host context of version 0 that a head has. */
static int on_host_member(void *userdata, JsonScanner *scanner, Span key) {
        Head *head = userdata;
        Span text;
        int r;

        if (!span_is(key, "kernel_release"))
                return json_scanner_skip(scanner);
        r = json_scanner_text(scanner, &text);
        if (r == 0 && text.n < sizeof(head->kernel_release)) {
                memcpy(head->kernel_release, text.bytes, text.n);
                head->kernel_release[text.n] = '\0';
        }
        return r;
}

static int on_host(void *userdata, Span json) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        Head *head = userdata;
        int r;

        if (head->format_version > 0)
                return 0;
        r = json_scanner_new_text(json, &host_limits, &scanner);
        if (r < 0)
                return r;
        r = json_scanner_object(scanner, on_host_member, head);
        return r == JSON_E_MALFORMED ? 0 : r; /* of another type: unknown */
}

/* What verify_document() keeps while it reads. */
typedef struct Verification {
        Head *head;
        bool has_ledger, has_last;
        pid_t last_tgid, last_tid;
        char complaint[sizeof(((SnapshotFault *) NULL)->text)]; /* "" while all is well */
} Verification;

static int verify_host(void *userdata, Span json) {
        return on_host(((Verification *) userdata)->head, json);
}

/*
 * Threads are followed by reading two files side by side, so their order is part of the format. A
 * file that does not record its boot, as those of version 0, is never read like that.
 */
static int verify_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        Verification *verification = userdata;
        pid_t tgid = verification->last_tgid, tid = verification->last_tid;

        if (verification->head->boot_id[0] == '\0')
                return 0;
        if (verification->has_last &&
            (sample->tgid < tgid || (sample->tgid == tgid && sample->tid <= tid))) {
                (void) snprintf(verification->complaint, sizeof(verification->complaint),
                                sample->tgid == tgid && sample->tid == tid
                                        ? "thread %d of process %d is there twice"
                                        : "thread %d of process %d is out of order: threads "
                                          "ascend by process and thread id",
                                (int) sample->tid, (int) sample->tgid);
                return -EBADMSG;
        }
        verification->has_last = true;
        verification->last_tgid = sample->tgid;
        verification->last_tid = sample->tid;
        return 0;
}

static int verify_ledger(void *userdata, const LedgerSummary *ledger) {
        ((Verification *) userdata)->has_ledger = true;
        return 0;
}

static const SnapshotVisitor verifier = {
        .on_host = verify_host,
        .on_thread = verify_thread,
        .on_ledger = verify_ledger,
};

/* Checks what document and head must agree on; without a head, fills it from the document. */
static int compare_head(const SnapshotReader *document, const Verification *verification,
                        bool has_head, SnapshotFault *ret_fault) {
        Head *head = verification->head;
        uint32_t version = snapshot_reader_format_version(document);
        uint64_t n_threads = snapshot_reader_n_threads(document);
        uint64_t n_processes = snapshot_reader_n_processes(document);

        if (!has_head && version > 0) {
                fault_set_at(ret_fault, head->size_bytes, "the head is missing");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (!has_head) {
                head->has_start_realtime = snapshot_reader_captured_realtime_ns(document) > 0;
                head->start_realtime_ns = snapshot_reader_captured_realtime_ns(document);
                head->has_threads = head->has_processes = true;
                head->threads = n_threads;
                head->processes = n_processes;
                return 0;
        }
        if (head->format_version != version)
                fault_set(ret_fault, "head and document have different format versions");
        else if (head->has_threads && head->threads != n_threads)
                fault_set(ret_fault,
                          "the document has %" PRIu64 " threads, but its head says %" PRIu64,
                          n_threads, head->threads);
        else if (head->has_processes && head->processes != n_processes)
                fault_set(ret_fault,
                          "the document has %" PRIu64 " processes, but its head says %" PRIu64,
                          n_processes, head->processes);
        else if (verification->has_ledger != (head->ledger_id[0] != '\0'))
                fault_set(ret_fault, verification->has_ledger
                                             ? "the document has a ledger that its head does not "
                                               "name"
                                             : "the head names a ledger that the document does "
                                               "not have");
        else
                return 0;
        return SNAPSHOT_FILE_E_DAMAGED;
}

/* Reads the document to its end; translates what is wrong with it or its file. */
static int run_document(SnapshotFileReader *file, SnapshotReader *document,
                        const SnapshotVisitor *visitor, void *userdata, SnapshotFault *ret_fault) {
        int r = snapshot_reader_run(document, visitor, userdata);

        if (r == SNAPSHOT_E_MALFORMED || r == SNAPSHOT_E_TOO_NEW) {
                fault_set_at(ret_fault, snapshot_reader_offset(document), "%s",
                             snapshot_reader_complaint(document));
                if (ret_fault)
                        ret_fault->in_document = true;
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        /* Some file systems return this errno themselves; then the reader has set no fault. */
        if (r == -EBADMSG && snapshot_file_reader_fault(file)->text[0] != '\0') {
                if (ret_fault)
                        *ret_fault = *snapshot_file_reader_fault(file);
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        return err_fold(r);
}

static int verify_document(SnapshotFileReader *file, bool has_head, Head *head,
                           SnapshotFault *ret_fault) {
        _cleanup_(snapshot_reader_freep) SnapshotReader *document = NULL;
        Verification verification = { .head = head };
        int r;

        r = snapshot_reader_new(snapshot_file_refill, file, 0, &document);
        if (r < 0)
                return r;
        r = run_document(file, document, &verifier, &verification, ret_fault);
        if (verification.complaint[0] != '\0') {
                fault_set_at(ret_fault, snapshot_reader_offset(document), "%s",
                             verification.complaint);
                if (ret_fault)
                        ret_fault->in_document = true;
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        return r == 0 ? compare_head(document, &verification, has_head, ret_fault) : r;
}

int snapshot_file_visit(int fd, const SnapshotVisitor *visitor, void *userdata,
                        SnapshotFault *ret_fault) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        _cleanup_(snapshot_reader_freep) SnapshotReader *document = NULL;
        _cleanup_(head_done) Head head = {};
        int r;

        r = snapshot_file_reader_new(fd, &file, &head, ret_fault);
        if (r != 0 && r != SNAPSHOT_FILE_E_NO_HEAD)
                return r;
        r = snapshot_reader_new(snapshot_file_refill, file, 0, &document);
        return r < 0 ? r : run_document(file, document, visitor, userdata, ret_fault);
}

int snapshot_file_verify(int fd, Head *ret, SnapshotFault *ret_fault) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        _cleanup_(head_done) Head head = {};
        bool has_head;
        int r;

        r = snapshot_file_reader_new(fd, &file, &head, ret_fault);
        has_head = r == SNAPSHOT_FILE_OK;
        if (r != 0 && r != SNAPSHOT_FILE_E_NO_HEAD)
                return r;
        if (has_head) {
                r = snapshot_file_check_digest(fd, ret_fault);
                if (r == SNAPSHOT_FILE_E_NO_HEAD) {
                        fault_set(ret_fault, "the file changed while it was read");
                        return SNAPSHOT_FILE_E_DAMAGED;
                }
                if (r != 0)
                        return r;
        }
        r = verify_document(file, has_head, &head, ret_fault);
        if (r != 0)
                return r;
        *ret = head;
        head.imported_from = NULL;
        return 0;
}
