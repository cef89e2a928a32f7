/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/set-host.h"

#include "analysis/subject/host-use-read.h"

/* What the disks moved a second, in each window in which it is known. */
typedef struct DiskRates {
        double values[SET_MAX_CAPTURES];
        size_t n;
} DiskRates;

static void add_rate(DiskRates *rates, Amount moved, uint64_t elapsed_ns) {
        if (moved.known && elapsed_ns > 0)
                rates->values[rates->n++] =
                        (double) moved.n * (double) NSEC_PER_SEC / (double) elapsed_ns;
}

static Amount median_of(DiskRates *rates) {
        if (rates->n == 0)
                return (Amount){ .known = false };
        return amount_of((uint64_t) quartiles_of(rates->values, rates->n).median);
}

int set_host_find(SetSubjects *subjects, unsigned side, HostUse *ret, Subject **ret_culprit) {
        DiskRates read = { .n = 0 }, written = { .n = 0 };
        HostUse use = { .n_cpus = { .known = false } };
        int r = 0;

        for (size_t i = 0; i < subjects->n && r == 0; i++) {
                Subject *previous;
                SetCapture capture;

                if (subjects->members[i].side != side)
                        continue;
                capture = set_subjects_relate(subjects, i, &previous);
                r = subject_host_use(previous, subjects->members[i].subject, ret_culprit, &use,
                                     NULL);
                if (r != 0 || !previous)
                        continue;
                add_rate(&read, use.disk_read_bytes, capture.column.elapsed_ns);
                add_rate(&written, use.disk_written_bytes, capture.column.elapsed_ns);
        }
        *ret = (HostUse){
                .n_cpus = use.n_cpus, /* of the last capture */
                .memory_bytes = use.memory_bytes,
                .disk_read_bytes = median_of(&read),
                .disk_written_bytes = median_of(&written),
        };
        return r;
}
