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
#include "interface/job-interface.h"
#include "interface/parameters.h"
#include "job/job-kind.h"
#include "kernel/bpf/task-object.h"
#include "wire/frame.h"
#include "wire/message.h"
#include "worker/answer.h"
#include "worker/snapshot-ref.h"
#include "view/view.h"
#include "analysis/subject/subject.h"

enum {
        WORK_OK,
        WORK_E_ANSWERED, /* the call was refused; the caller only passes this up */
};

typedef struct Work {
        FrameStream *stream; /* borrowed; holds the descriptors of the call */
        Call call;
        Answer answer;
        const JobTerms *terms;   /* of this kind of job */
        uint64_t max_file_bytes; /* the size of files it may write; 0: no bound of its own */
        bool confines;           /* false: a test, which stays in its process */
        bool is_confined;
} Work;

typedef int (*WorkRun)(Work *work);

/* A condition that must hold before a method runs. */
typedef enum WorkNeed {
        WORK_NEEDS_NOTHING,
        WORK_NEEDS_MORE, /* its answer has no bound, so the call must say "more" */
} WorkNeed;

typedef struct WorkMethod {
        const char *name;
        WorkRun run;
        WorkNeed need;
        uint64_t max_file_bytes; /* the size of files it may write inside the sandbox */
} WorkMethod;

/* One table per file, ended by a row without a name. */
extern const WorkMethod work_analysis_methods[]; /* job-analysis.c */
extern const WorkMethod work_sets_methods[];     /* job-sets.c */
extern const WorkMethod work_verify_methods[];   /* job-verify.c */
extern const WorkMethod work_convert_methods[];  /* job-convert.c */
extern const WorkMethod work_import_methods[];   /* job-import.c */
extern const WorkMethod work_capture_methods[];  /* job-capture.c */
extern const WorkMethod work_load_methods[];     /* job-load.c */
extern const WorkMethod work_fold_methods[];     /* job-fold.c */
extern const WorkMethod work_listen_methods[];   /* job-listen.c */
extern const WorkMethod work_files_methods[];    /* job-files.c */
extern const WorkMethod work_memory_methods[];   /* job-memory.c */
extern const WorkMethod work_spool_methods[];    /* job-spool.c */
extern const WorkMethod work_survey_methods[];   /* job-survey.c */

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

/*
 * Answers with the names of kernel objects, whose descriptors are those of the reply in the same
 * order, and with @reason why there are not more, unless that is "". Takes the descriptors over.
 */
_must_check_ int work_answer_objects(Work *work, TaskObjects *objects, const char *reason);

/* Refuses a text that a snapshot cannot be given as its name: InvalidName. */
_must_check_ int work_check_name(Work *work, const char *name);

/* Decodes the parameters of the call and refuses wrong ones. */
_must_check_ int work_decode(Work *work, const Parameter *table, size_t n_table, void *ret);
/* The same for @object, the parameter @name, whose members are reported as "NAME.MEMBER". */
_must_check_ int work_decode_member(Work *work, json_object *object, const char *name,
                                    const Parameter *table, size_t n_table, void *ret);
_must_check_ int work_decode_ref(Work *work, json_object *object, const char *name,
                                 SnapshotRef *ret);
/* @ret is SUBJECT_REF_NONE before; after a failure it is still to be freed. */
_must_check_ int work_decode_subject_ref(Work *work, json_object *object, const char *name,
                                         SubjectRef *ret);
_must_check_ int work_decode_view(Work *work, json_object *object, View *ret);

/* subject_open() and subject_pass(), which refuse a file that cannot be read. */
_must_check_ int work_open_subject(Work *work, SnapshotRef *ref, Subject *subject);
_must_check_ int work_pass_subject(Work *work, Subject *subject, const SubjectVisitor *visitor,
                                   void *userdata);
/* Refuses the call when @r, a result of reading @subject, is SUBJECT_E_UNREADABLE. */
_must_check_ int work_read_result(Work *work, const Subject *subject, int r);
/* Answers with SnapshotUnreadable. */
_must_check_ int work_refuse_fault(Work *work, const char *name, const SnapshotFault *fault);
