/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Subject
 *
 * One snapshot that a job looks at: the file, what its head says, and, after the first pass, the
 * parts of the document that are about the whole. A pass reads the document from front to back and
 * hands threads or cgroups out; there can be any number. Damage is found before anything is
 * believed: the digest is checked first.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/head.h"
#include "snapshot/snapshot-reader.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"
#include "spool/snapshot-file.h"
#include "analysis/group/side.h"

enum {
        SUBJECT_OK,
        SUBJECT_E_UNREADABLE, /* not a snapshot, damaged, or too new: the fault tells */
};

typedef struct Subject {
        int fd;            /* owned */
        const char *label; /* what the caller calls it; may be NULL */
        Head head;         /* of format version 0 only complete after a pass */
        SnapshotFault fault;

        /* after the first pass */
        bool passed;
        Buffer host, psi, sched_ext; /* one JSON value each; empty for null */
        bool has_sources;            /* else the table says that none are recorded */
        SourceTable sources;

        int read_error; /* of this pass: what reading failed with, to be told from the visitor's */
} Subject;

/* What a pass hands out; either may be NULL. As in SnapshotVisitor. */
typedef struct SubjectVisitor {
        int (*on_thread)(void *userdata, const ThreadSample *sample, Span smaps_json);
        int (*on_cgroup)(void *userdata, Span path, Span stats_json);
} SubjectVisitor;

void subject_init(Subject *subject);
void subject_done(Subject *subject);

/*
 * Takes @fd, checks the digest and reads the head. @label: what the caller calls the file,
 * borrowed; may be NULL. SUBJECT_E_UNREADABLE.
 */
_must_check_ int subject_open(Subject *subject, int fd, const char *label);
/*
 * One pass. SUBJECT_E_UNREADABLE, or a negative errno: the visitor's, or of this process's own
 * trouble.
 */
_must_check_ int subject_pass(Subject *subject, const SubjectVisitor *visitor, void *userdata);

/*
 * A pass thread by thread, for whoever reads several subjects side by side. @subject and @visitor
 * outlive it. Each step gives the next thread to on_thread and then returns it, borrowed until the
 * next step; NULL at the end of the document, when it is known to be whole. Results are as above,
 * and after one that is not 0 there is nothing left but to free it.
 */
typedef struct SubjectPass SubjectPass;

_must_check_ int subject_pass_new(Subject *subject, const SubjectVisitor *visitor, void *userdata,
                                  SubjectPass **ret);
SubjectPass *subject_pass_free(SubjectPass *pass);
DEFINE_CLEANUP(SubjectPass *, subject_pass_free);
_must_check_ int subject_pass_next(SubjectPass *pass, const ThreadSample **ret_sample);

/* "" when neither the file nor the caller has a name for it; borrowed. */
const char *subject_name(const Subject *subject);
/* The HEAD object, under that name. */
void subject_write_head(const Subject *subject, JsonWriter *writer);
/* Whether threads of @before can live on in @after. */
Boots subject_boots(const Subject *before, const Subject *after);
/* Why values are absent; NULL when the file records no sources. */
const SourceTable *subject_sources(const Subject *subject);
/* How many threads a pass will hand out, 0 when that is not known yet. */
uint64_t subject_n_threads(const Subject *subject);

/* Makes @fault say "cannot be read: @error". */
void fault_of_errno(SnapshotFault *fault, int error);
/* @fault as the reason of an error reply: says so where its offset is in the document. */
#define FAULT_REASON_BYTES (sizeof(((SnapshotFault *) 0)->text) + 32)
const char *fault_reason(const SnapshotFault *fault, char ret_text[static FAULT_REASON_BYTES]);
