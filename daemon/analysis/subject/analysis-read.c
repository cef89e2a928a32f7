/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/analysis-read.h"

#include "base/number.h"
#include "analysis/subject/subject-merge.h"

#define THREADS_PER_PROGRESS 512

/* Userdata of the visitors of one pass. */
typedef struct ReadSide {
        AnalysisRead *read;
        Side side;
} ReadSide;

void analysis_read_expect(AnalysisRead *read, const Subject *subject, unsigned n_times) {
        uint64_t n = number_multiply_saturating(subject_n_threads(subject), n_times);

        read->n_total = number_add_saturating(read->n_total, n);
}

static int count_thread(AnalysisRead *read) {
        if (read->n_read++ % THREADS_PER_PROGRESS != 0)
                return 0;
        return read->visitor->on_progress(read->userdata, read->n_read - 1, read->n_total);
}

static int read_name(void *userdata, const ThreadSample *sample, Span smaps_json) {
        AnalysisRead *read = ((ReadSide *) userdata)->read;
        int r = count_thread(read);

        return r == 0 ? read->visitor->on_name(read->userdata, sample) : r;
}

static int read_part(void *userdata, const ThreadSample *sample, Span smaps_json) {
        ReadSide *at = userdata;
        AnalysisRead *read = at->read;
        int r = count_thread(read);

        if (r != 0 || !read->visitor->on_smaps)
                return r;
        return read->visitor->on_smaps(read->userdata, at->side, sample, smaps_json);
}

static int read_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        ReadSide *at = userdata;
        int r = read_part(userdata, sample, smaps_json);

        return r == 0 ? at->read->visitor->on_thread(at->read->userdata, at->side, sample) : r;
}

static int read_cgroup(void *userdata, Span path, Span stats_json) {
        ReadSide *at = userdata;

        return at->read->visitor->on_cgroup(at->read->userdata, at->side, path, stats_json);
}

int analysis_read_names(AnalysisRead *read, Subject *subject) {
        static const SubjectVisitor visitor = { .on_thread = read_name };
        ReadSide at = { .read = read };

        read->culprit = subject;
        return subject_pass(subject, &visitor, &at);
}

int analysis_read_side(AnalysisRead *read, Side side, Subject *subject) {
        const SubjectVisitor visitor = {
                .on_thread = read_thread,
                .on_cgroup = read->visitor->on_cgroup ? read_cgroup : NULL,
        };
        ReadSide at = { .read = read, .side = side };

        read->culprit = subject;
        return subject_pass(subject, &visitor, &at);
}

int analysis_read_window(AnalysisRead *read, Subject *before, Subject *after) {
        const SubjectVisitor visitor = {
                .on_thread = read_part,
                .on_cgroup = read->visitor->on_cgroup ? read_cgroup : NULL,
        };
        Subject *const subjects[SIDES] = { before, after };
        ReadSide at[SIDES];
        MergeSide sides[SIDES];
        unsigned culprit = 0;
        int r;

        for (unsigned i = 0; i < SIDES; i++) {
                at[i] = (ReadSide){ .read = read, .side = (Side) i };
                sides[i] = (MergeSide){ subjects[i], &visitor, &at[i] };
        }
        r = subject_merge(sides, read->visitor->on_life, read->userdata, &culprit);
        read->culprit = subjects[culprit];
        return r;
}
