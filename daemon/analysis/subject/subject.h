/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Subject
 *
 * One snapshot that a job reads: the file, its head and, after the first pass, the parts of the
 * document that concern the whole host. A pass reads the document from front to back and passes
 * threads or cgroups on; there can be any number of passes. The digest is checked first, so damage
 * is found before any content is used.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/exited-row.h"
#include "snapshot/head.h"
#include "snapshot/snapshot-reader.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"
#include "spool/snapshot-file.h"
#include "analysis/host/host-totals.h"
#include "analysis/group/side.h"
#include "analysis/subject/exited-list.h"

enum {
        SUBJECT_OK,
        SUBJECT_E_UNREADABLE, /* not a snapshot, damaged, or too new: see the fault */
};

typedef struct Subject {
        int fd;            /* owned, unless it is of the begin of a recording */
        SnapshotPart part; /* of the file */
        const char *label; /* what the caller calls the file; may be NULL */
        Head head;         /* with format version 0 complete only after a pass */
        SnapshotFault fault;
        /*
         * Its ledger of exits takes part in an analysis, because another snapshot has the same one
         * (ledger-span.h).
         */
        bool reads_exited;

        /* after the first pass */
        bool passed;
        Buffer host, psi, sched_ext, probe_summary; /* one JSON value each; empty for null */
        Buffer host_parts[_HOST_PART_MAX];          /* the same; see subject_host_totals() */
        bool has_sources; /* otherwise the table says that none are recorded */
        SourceTable sources;
        LedgerSummary ledger; /* zeroed: there is none */
        MovedList moved;
        ExitedList exited;    /* where it takes part */
        uint64_t n_rows_lost; /* of an interval that ends with it: ExitedSpan.n_lost */

        /* Set when reading failed, to distinguish it from an error of the visitor. */
        int read_error;
} Subject;

/* Receives what a pass reads; each may be NULL. As in SnapshotVisitor. */
typedef struct SubjectVisitor {
        int (*on_thread)(void *userdata, const ThreadSample *sample, Span smaps_json);
        int (*on_exited)(void *userdata, const ExitedRow *row);
        int (*on_cgroup)(void *userdata, Span path, Span stats_json);
        bool names_only; /* on_thread gets no numbers, and they are not checked */
} SubjectVisitor;

/*
 * If the file is a recording, the head is that of the whole recording, and no snapshot in it can be
 * read before subject_open_parts().
 */
void subject_init(Subject *subject);
void subject_done(Subject *subject);

/*
 * Takes @fd, checks the digest and reads the head. @label: what the caller calls the file,
 * borrowed; may be NULL. SUBJECT_E_UNREADABLE.
 */
_must_check_ int subject_open(Subject *subject, int fd, const char *label);
/*
 * Makes @recording, which was opened and is one, the snapshot of its begin, and *ret_end that of
 * its end, which owns the file: it outlives the first. SUBJECT_E_UNREADABLE.
 */
_must_check_ int subject_open_parts(Subject *recording, Subject *ret_end);
/*
 * Makes one pass. SUBJECT_E_UNREADABLE, or a negative errno: of the visitor, or a failure of this
 * process such as -ENOMEM.
 */
_must_check_ int subject_pass(Subject *subject, const SubjectVisitor *visitor, void *userdata);

/*
 * A pass thread by thread, for reading several subjects side by side. @subject and @visitor outlive
 * it. Each step passes the next thread to on_thread and returns it, borrowed until the next step;
 * NULL at the end of a complete document. Results are as above; after a failure the pass can only
 * be freed.
 */
typedef struct SubjectPass SubjectPass;

_must_check_ int subject_pass_new(Subject *subject, const SubjectVisitor *visitor, void *userdata,
                                  SubjectPass **ret);
SubjectPass *subject_pass_free(SubjectPass *pass);
DEFINE_CLEANUP(SubjectPass *, subject_pass_free);
_must_check_ int subject_pass_next(SubjectPass *pass, const ThreadSample **ret_sample);

/* The label or else the name in the head, borrowed; "" when there is neither. */
const char *subject_name(const Subject *subject);
/* Writes the object HEAD with subject_name() as its name. */
void subject_write_head(const Subject *subject, JsonWriter *writer);
/* Tells whether the two snapshots are of one boot. */
Boots subject_boots(const Subject *before, const Subject *after);
/* Explains why values are absent; NULL when the file records no sources. */
const SourceTable *subject_sources(const Subject *subject);
/*
 * The totals of the host, after a pass; parts that the file does not have are absent.
 * SUBJECT_E_UNREADABLE when one is not what a capture writes, or -ENOMEM. *ret must be freed in all
 * cases.
 */
_must_check_ int subject_host_totals(Subject *subject, HostTotals *ret);
/*
 * Notes how many values of each source an analysis found impossible. A subject that is read several
 * times keeps the largest number: that of the pass that judged most.
 */
void subject_note_implausible(Subject *subject, const uint64_t counts[static _SOURCE_MAX]);

/* Sets @fault to "it cannot be read: @error". */
void fault_of_errno(SnapshotFault *fault, int error);
/* The text of @fault for an error reply; says when its offset refers to the document. */
#define FAULT_REASON_BYTES (sizeof(((SnapshotFault *) 0)->text) + 32)
const char *fault_reason(const SnapshotFault *fault, char ret_text[static FAULT_REASON_BYTES]);
