/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job-kind.h"

#include <string.h>

const JobTerms job_terms[_JOB_KIND_MAX] = {
#define JOB_KIND_ROW(id, word_, clock_, time_ns_, max_data_bytes_, capabilities_, entry_, grants_, \
                     kept_inside_, reads_foreign_, writes_spool_, counts_alone_)                   \
        [JOB_##id] = { .word = (word_),                                                            \
                       .clock = JOB_CLOCK_##clock_,                                                \
                       .time_ns = (time_ns_),                                                      \
                       .max_data_bytes = (max_data_bytes_),                                        \
                       .capabilities = (capabilities_),                                            \
                       .entry = JOB_ENTERS_##entry_,                                               \
                       .grants = (grants_),                                                        \
                       .kept_inside = (kept_inside_),                                              \
                       .reads_foreign = (reads_foreign_),                                          \
                       .writes_spool = (writes_spool_),                                            \
                       .counts_alone = (counts_alone_) },
        JOB_KINDS(JOB_KIND_ROW)
#undef JOB_KIND_ROW
};

bool job_kind_find(const char *word, JobKind *ret) {
        for (unsigned kind = 0; kind < _JOB_KIND_MAX; kind++)
                if (strcmp(job_terms[kind].word, word) == 0) {
                        *ret = (JobKind) kind;
                        return true;
                }
        return false;
}
