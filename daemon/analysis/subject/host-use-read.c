/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/host-use-read.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "analysis/subject/host-change.h"

static Amount disk_bytes(const HostTotals *totals, unsigned column) {
        Amount sum = host_totals_sum(totals, HOST_PART_DISK, column);

        return host_value(totals, HOST_PART_DISK, column, sum);
}

static Amount kib_of(const HostTotals *totals, const char *name) {
        Amount kib = host_totals_number(totals, HOST_PART_MEMORY, name);

        return host_value_of_unit(totals, HOST_UNIT_KIB, kib);
}

/* Memory that is to be written, or is being written and not counted by the disk yet. */
static Amount dirty_bytes(const HostTotals *totals) {
        Amount dirty = kib_of(totals, "Dirty");

        return dirty.known ? amount_add_known(dirty, kib_of(totals, "Writeback")) : dirty;
}

static Amount n_cpus_of(const HostTotals *totals) {
        size_t n = host_totals_n_cpus(totals);

        return n > 0 ? amount_of(n) : (Amount){ .known = false };
}

/* All but the number of CPUs, what is dirty and how much memory there is. */
static HostUse use_of(const HostTotals *totals) {
        Amount used = host_cpu_used(totals->parts[HOST_PART_CPU].all_cpus);

        return (HostUse){
                .cpu_used_ns = host_value(totals, HOST_PART_CPU, HOST_CPU_USER, used),
                .disk_read_bytes = disk_bytes(totals, HOST_DISK_READ_SECTORS),
                .disk_written_bytes = disk_bytes(totals, HOST_DISK_WRITTEN_SECTORS),
        };
}

HostUse host_use_since_boot(const HostTotals *totals) {
        HostUse use = use_of(totals);

        use.n_cpus = n_cpus_of(totals);
        use.memory_bytes = kib_of(totals, "MemTotal");
        use.dirty_growth_bytes = dirty_bytes(totals);
        return use;
}

HostUse host_use_between(const HostTotals *before, const HostTotals *after,
                         const HostTotals *difference) {
        HostUse use = use_of(difference);

        use.n_cpus = n_cpus_of(after);
        use.memory_bytes = kib_of(after, "MemTotal");
        use.dirty_growth_bytes = amount_subtract(dirty_bytes(after), dirty_bytes(before));
        return use;
}

/* The number of CPUs in the host context, which every version records. */
static int n_cpus_of_context(const Subject *subject, Amount *ret) {
        _cleanup_(buffer_done) Buffer text = {};
        bool found;
        uint64_t n;
        int r = host_context_find(buffer_span(&subject->host), "online_cpus", &text, &found);

        if (r == 0 && found && number_parse_u64(buffer_span(&text), &n) && n > 0)
                *ret = amount_of(n);
        return r; /* who needs a context that cannot be read says so */
}

int subject_host_use(Subject *before, Subject *after, Subject **ret_culprit, HostUse *ret,
                     HostTotals *ret_difference) {
        HostTotals earlier = {}, later = {}, difference = {};
        int r;

        *ret_culprit = after;
        r = subject_host_totals(after, &later);
        if (r == 0 && before) {
                *ret_culprit = before;
                r = subject_host_totals(before, &earlier);
        }
        if (r == 0 && before)
                r = host_totals_difference(&earlier, &later, &difference);
        if (r == 0)
                *ret = before ? host_use_between(&earlier, &later, &difference)
                              : host_use_since_boot(&later);
        if (r == 0 && !ret->n_cpus.known)
                r = n_cpus_of_context(after, &ret->n_cpus);
        host_totals_done(&earlier);
        host_totals_done(&later);
        if (ret_difference)
                *ret_difference = TAKE(difference, (HostTotals){});
        host_totals_done(&difference);
        return r;
}
