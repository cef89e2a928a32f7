/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Work
 *
 * One call that a job serves. A method ends in one of three ways: it has sent the last reply, it
 * has refused the call with an error, or it returns a negative errno and worker.c sends the error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "job/job-kind.h"
#include "kernel/bpf/task-object.h"
#include "order/order.h"
#include "spool/spool.h"
#include "worker/answer.h"
#include "analysis/subject/subject.h"

enum {
        WORK_OK,
        WORK_E_ANSWERED, /* the call was refused; the caller only passes this up */
};

typedef struct Work {
        Order *order;                 /* owned */
        int fds[LIMIT_FDS_PER_ORDER]; /* owned: those that came with it, unless they were taken */
        size_t n_fds;
        Answer answer;
        const JobTerms *terms;   /* of this kind of job */
        uint64_t max_file_bytes; /* the size of files it may write; 0: no bound of its own */
        bool confines;           /* false: a test, which stays in its process */
        bool is_confined;
} Work;

/* One function for each method; worker.c has the table. */
int work_analysis(Work *work);     /* job-analysis.c: Show, Compare */
int work_compare_sets(Work *work); /* job-sets.c */
int work_stacks(Work *work);       /* job-stacks.c */
int work_verify(Work *work);       /* job-verify.c */
int work_info(Work *work);
int work_tell_sources(Work *work);
int work_convert(Work *work); /* job-convert.c */
int work_import(Work *work);  /* job-import.c */
int work_capture(Work *work); /* job-capture.c */
int work_probe(Work *work);
int work_load(Work *work); /* job-programs.c */
int work_fold(Work *work);
int work_listen(Work *work); /* job-listen.c */
int work_files(Work *work);  /* job-memory.c */
int work_memory(Work *work);
int work_record(Work *work); /* job-record.c */
int work_unwind(Work *work);
int work_join(Work *work);
int work_publish(Work *work); /* job-spool.c */
int work_remove(Work *work);
int work_rename(Work *work);
int work_clean(Work *work);
int work_survey(Work *work);

/*
 * The descriptor, which the caller owns from now on; -EBADF when there is none, or it was taken.
 */
int work_take_fd(Work *work, OrderFd fd);

/*
 * Enters the sandbox of this kind of job, with those of its capabilities that are in @keep. A job
 * that enters when it is ready has to call this before it reads bytes of somebody else, and before
 * it answers. -EPROTONOSUPPORT: a privileged job that needs a filter, on a kernel without.
 */
_must_check_ int work_confine(Work *work, uint64_t keep);

/* Answers with @error. WORK_E_ANSWERED, or a negative errno when that could not be sent. */
_must_check_ int work_refuse(Work *work, WireError error, const WireErrorDetail *detail);
/* Says why there is no room to write; NULL for any other negative errno. */
const char *work_full_reason(int error);
_must_check_ int work_refuse_parameter(Work *work, const char *parameter, const char *reason);

/* Refuses a text that a snapshot cannot be given as its name: InvalidName. */
_must_check_ int work_check_name(Work *work, const char *name);

/* subject_open() and subject_pass(), which refuse a file that cannot be read. */
_must_check_ int work_open_subject(Work *work, const OrderFile *file, Subject *subject);
_must_check_ int work_pass_subject(Work *work, Subject *subject, const SubjectVisitor *visitor,
                                   void *userdata);
/* Refuses the call when @r, a result of reading @subject, is SUBJECT_E_UNREADABLE. */
_must_check_ int work_read_result(Work *work, const Subject *subject, int r);
/*
 * snapshot_file_verify() of a snapshot or of all parts of a recording; *ret is the head of the
 * whole file, and the caller's to free in any case. job-verify.c.
 */
_must_check_ int work_verify_file(int fd, Head *ret, SnapshotFault *ret_fault);
/* Answers with SnapshotUnreadable. */
_must_check_ int work_refuse_fault(Work *work, const char *name, const SnapshotFault *fault);

/* Answers with sources, a sample of a probe or nothing, and who lost names; NULL: nobody knows. */
_must_check_ int work_answer_sources(Work *work, const SourceTable *table, Span sample,
                                     const LedgerSummary *summary);

/* the spool, which captures and the jobs that change it open by a descriptor of the order */

/*
 * Opens the spool of an order, whose descriptors it takes; @enters: inside of the sandbox of the
 * job, without capabilities if the directory and all files in it belong to us.
 */
_must_check_ int work_open_spool(Work *work, const OrderSpool *order, bool enters, Spool **ret);
/*
 * Finds the capabilities that a job needs in that directory: in one of its own it may change
 * everything, and reads everything unless another user, which can only be root, has put a file
 * there. A failure to find that out counts as such a file.
 */
uint64_t work_spool_capabilities(int directory);

/* Refuses the call because of SPOOL_E_* @r about the snapshot @name. Passes on a negative @r. */
_must_check_ int work_refuse_spool(Work *work, Spool *spool, const char *name, int r);

/* The name of a snapshot without a tag: "20261120T153501.123Z", the time it begins at. */
_must_check_ int work_time_name(const Head *head,
                                char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]);
