/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job-kind.h"

#include <string.h>

const JobTerms job_terms[_JOB_KIND_MAX] = {
#define JOB_KIND_ROW(id, word, clock, time_ns, max_data_bytes, capabilities, entry, ...) \
        [JOB_##id] = { word,         JOB_CLOCK_##clock,  time_ns,    max_data_bytes,     \
                       capabilities, JOB_ENTERS_##entry, __VA_ARGS__ },
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
