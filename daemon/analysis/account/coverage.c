/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/account/coverage.h"

#include "analysis/group/group-window.h"
#include "analysis/group/judge.h"
#include "base/macro.h"
#include "base/number.h"

static void add(CoverageSum *sum, const ThreadSample *before, const ThreadSample *after,
                MetricId id) {
        bool known = thread_sample_has(after, id);
        uint64_t work = 0;

        if (before)
                known = life_grown(before, after, id, &work);
        else if (known)
                work = thread_sample_get(after, id);
        sum->n_threads++;
        sum->n_known += known;
        sum->sum = number_add_saturating(sum->sum, work);
}

void coverage_add(Coverage *coverage, const ThreadSample *before, const ThreadSample *after) {
        CoverageSum *run_time;

        if (!after)
                return;
        if (after->has_kthread && after->kthread)
                run_time = &coverage->kernel_ns;
        else
                run_time = before ? &coverage->survived_ns : &coverage->born_ns;
        add(run_time, before, after, METRIC_run_time_ns);
        add(&coverage->waiting_ns, before, after, METRIC_wait_time_ns);
        add(&coverage->read_bytes, before, after, METRIC_read_bytes);
        add(&coverage->write_bytes, before, after, METRIC_write_bytes);
}

Amount coverage_amount(const CoverageSum *sum) {
        if (sum->n_threads > 0 && sum->n_known == 0)
                return (Amount){ .known = false };
        return amount_of(sum->sum);
}

Amount coverage_bound_ns(const HostUse *host, const Head *const heads[static SIDES]) {
        uint64_t bound = 0;

        for (unsigned i = 0; i < SIDES; i++) {
                JudgeTime time = judge_time_of(heads[i]);

                if (!host->n_cpus.known || !time.known)
                        return (Amount){ .known = false };
                bound = number_add_saturating(bound, time.end_ns - time.start_ns);
                bound = number_add_saturating(bound, time.tick_ns);
        }
        return amount_of(number_multiply_saturating(bound, host->n_cpus.n));
}

/*
 * The sum over all threads whose run time is known; not known when that is none of them. A part
 * without threads is 0 and must not make the sum known.
 */
static Amount attributed_ns(const Coverage *coverage) {
        const CoverageSum *const parts[] = { &coverage->survived_ns, &coverage->born_ns,
                                             &coverage->kernel_ns };
        CoverageSum all = {};

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                all.n_threads += parts[i]->n_threads;
                all.n_known += parts[i]->n_known;
                all.sum = number_add_saturating(all.sum, parts[i]->sum);
        }
        return coverage_amount(&all);
}

void coverage_write_json(JsonWriter *writer, const Coverage *coverage, const HostUse *host,
                         Amount bound_ns, const char *absence) {
        Amount survived = coverage_amount(&coverage->survived_ns);
        Amount born = coverage_amount(&coverage->born_ns);
        Amount kernel = coverage_amount(&coverage->kernel_ns);
        Amount attributed = attributed_ns(coverage);

        json_write_object(writer);
        amount_write_json(writer, "cpuUsedNs", host->cpu_used_ns);
        amount_write_json(writer, "attributedNs", attributed);
        amount_write_json(writer, "survivedNs", survived);
        amount_write_json(writer, "bornNs", born);
        json_write_member_null(writer, "endedNs");
        json_write_member_null(writer, "bornAndEndedNs");
        amount_write_json(writer, "kernelThreadsNs", kernel);
        amount_write_json(writer, "notAttributedNs",
                          amount_subtract(host->cpu_used_ns, attributed));
        amount_write_json(writer, "boundNs", bound_ns);
        amount_write_json(writer, "storageUsedBytes",
                          amount_add(host->disk_read_bytes, host->disk_written_bytes));
        amount_write_json(writer, "storageAttributedBytes",
                          amount_add_known(coverage_amount(&coverage->read_bytes),
                                           coverage_amount(&coverage->write_bytes)));
        if (!attributed.known)
                json_write_member_text(writer, "reason", absence);
        json_write_end(writer);
}
