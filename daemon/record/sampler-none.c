/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/sampler.h"

#include <errno.h>

/* Built without BPF programs: there is nothing that could take samples. */

int sampler_new(const SamplerOptions *options, Sampler **ret) {
        *ret = NULL;
        return -EOPNOTSUPP;
}

Sampler *sampler_free(Sampler *sampler) {
        return NULL;
}

int sampler_start(Sampler *sampler) {
        return -EOPNOTSUPP;
}

int sampler_pass(Sampler *sampler, uint64_t until_ns) {
        return -EOPNOTSUPP;
}

RecordEnd sampler_end(const Sampler *sampler) {
        return RECORD_END_UNKNOWN;
}

int sampler_stop(Sampler *sampler) {
        return -EOPNOTSUPP;
}

void sampler_summarize(const Sampler *sampler, RecordSummary *ret) {
        *ret = (RecordSummary){};
}
