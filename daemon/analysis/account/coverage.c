/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/account/coverage.h"

#include "analysis/group/life.h"
#include "analysis/group/judge.h"
#include "base/macro.h"
#include "base/number.h"

/* threads that ended */

/* Adds @sign times what @sample has. */
static void add_exited(Coverage *coverage, const ThreadSample *sample, uint64_t sign) {
        bool kernel = sample->has_kthread && sample->kthread;
        const struct {
                CoverageExited *exited;
                MetricId id;
        } rows[] = {
                { kernel ? &coverage->exited_kernel_ns : &coverage->exited_ns, METRIC_run_time_ns },
                { sample->self ? &coverage->exited_own_ns : NULL, METRIC_run_time_ns },
                { &coverage->exited_waiting_ns, METRIC_wait_time_ns },
                { &coverage->exited_read_bytes, METRIC_read_bytes },
                { &coverage->exited_write_bytes, METRIC_write_bytes },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                if (!rows[i].exited)
                        continue;
                if (thread_sample_has(sample, rows[i].id))
                        rows[i].exited->sum += sign * thread_sample_get(sample, rows[i].id);
                else
                        rows[i].exited->unknown = true;
        }
}

void coverage_add_exited(Coverage *coverage, Side end, const ExitedRow *row) {
        uint64_t sign = end == SIDE_AFTER ? 1 : UINT64_MAX; /* -1 */

        if (row->exits == 0)
                return;
        add_exited(coverage, &row->sample, sign);
        if (!row->sample.has_kthread || !row->sample.kthread)
                coverage->young_ns.sum += sign * row->young_run_ns;
}

/* Negative is what no ledger of a kernel says: it is not believed. */
static Amount exited_amount(const CoverageExited *exited, const CoverageLedger *ledger) {
        if (!ledger->known || exited->unknown || (int64_t) exited->sum < 0)
                return (Amount){ .known = false };
        return amount_of(exited->sum);
}

/* threads */

void coverage_add(Coverage *coverage, const ThreadSample *before, const ThreadSample *after) {
        bool kernel = after && after->has_kthread && after->kthread;
        bool own = (after && after->self) || (before && before->self);
        const struct {
                CoverageSum *sum;
                MetricId id;
        } rows[] = {
                { kernel   ? &coverage->kernel_ns
                  : before ? &coverage->survived_ns
                           : &coverage->born_ns,
                  METRIC_run_time_ns },
                { own ? &coverage->own_ns : NULL, METRIC_run_time_ns },
                { &coverage->waiting_ns, METRIC_wait_time_ns },
                { &coverage->read_bytes, METRIC_read_bytes },
                { &coverage->write_bytes, METRIC_write_bytes },
        };

        if (!after) {
                add_exited(coverage, before, UINT64_MAX);
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                bool known = thread_sample_has(after, rows[i].id);
                CoverageSum *sum = rows[i].sum;
                uint64_t work = 0;

                if (!sum)
                        continue;
                if (before)
                        known = life_grown(before, after, rows[i].id, &work);
                else if (known)
                        work = thread_sample_get(after, rows[i].id);
                sum->n_threads++;
                sum->n_known += known;
                sum->sum = number_add_saturating(sum->sum, work);
        }
}

Amount coverage_amount(const CoverageSum *sum) {
        if (sum->n_threads > 0 && sum->n_known == 0)
                return (Amount){ .known = false };
        return amount_of(sum->sum);
}

CoverageSpan coverage_span_of(const HostUse *host, const Head *const heads[static SIDES]) {
        JudgeTime times[SIDES];
        uint64_t bound = 0;

        for (unsigned i = 0; i < SIDES; i++) {
                times[i] = judge_time_of(heads[i]);
                if (!host->n_cpus.known || !times[i].known)
                        return (CoverageSpan){};
                bound = number_add_saturating(bound, times[i].end_ns - times[i].start_ns);
                bound = number_add_saturating(bound, times[i].tick_ns);
        }
        return (CoverageSpan){
                .bound_ns = amount_of(number_multiply_saturating(bound, host->n_cpus.n)),
                .elapsed_ns = amount_subtract(amount_of(times[SIDE_AFTER].start_ns),
                                              amount_of(times[SIDE_BEFORE].start_ns)),
        };
}

Amount coverage_waiting_ns(const Coverage *coverage, const CoverageLedger *ledger) {
        Amount waiting = coverage_amount(&coverage->waiting_ns);

        return waiting.known ? amount_add_known(waiting,
                                                exited_amount(&coverage->exited_waiting_ns, ledger))
                             : waiting;
}

/* The work of threads, as far as it can be told apart. */
typedef struct Parts {
        Amount attributed; /* of all whose run time is known, those that ended included */
        Amount ended, born_and_ended, kernel_ended;
        bool exact; /* how the sum of the two before the last is divided */
} Parts;

/*
 * The sum of all that ended is exact. How it is divided is less so. Young threads were born inside,
 * but where captures were made in between, others were, too, and the ledger does not tell them from
 * those that the earlier snapshot has. And those that were born while the earlier capture was made
 * are young, although it has them: what they had done by then is no part of the sum.
 */
static Parts parts_of(const Coverage *coverage, const CoverageLedger *ledger) {
        const CoverageSum *const sums[] = { &coverage->survived_ns, &coverage->born_ns,
                                            &coverage->kernel_ns };
        Amount all_ended = exited_amount(&coverage->exited_ns, ledger);
        Parts parts = { .kernel_ended = exited_amount(&coverage->exited_kernel_ns, ledger) };
        Amount young = exited_amount(&coverage->young_ns, ledger);
        CoverageSum all = {};

        if (all_ended.known && young.known) {
                parts.exact = ledger->in_a_row && young.n <= all_ended.n;
                parts.born_and_ended = amount_of(MIN_OF(young.n, all_ended.n));
                parts.ended = amount_of(all_ended.n - parts.born_and_ended.n);
        }
        for (size_t i = 0; i < ELEMENTSOF(sums); i++) {
                all.n_threads += sums[i]->n_threads;
                all.n_known += sums[i]->n_known;
                all.sum = number_add_saturating(all.sum, sums[i]->sum);
        }
        /* A part without threads is 0, and must not make the sum known. */
        parts.attributed = coverage_amount(&all);
        if (!parts.attributed.known)
                return parts;
        parts.attributed = amount_add_known(parts.attributed, parts.ended);
        parts.attributed = amount_add_known(parts.attributed, parts.born_and_ended);
        parts.attributed = amount_add_known(parts.attributed, parts.kernel_ended);
        return parts;
}

Amount coverage_believed_ns(const Coverage *coverage, const CoverageLedger *ledger,
                            const HostUse *host, const CoverageSpan *span) {
        Amount believed = parts_of(coverage, ledger).attributed, used = host->cpu_used_ns;

        if (!believed.known || !used.known ||
            believed.n <= number_add_saturating(used.n, span->bound_ns.n))
                return (Amount){ .known = false };
        if (host->n_cpus.known && span->elapsed_ns.known)
                believed.n = MIN_OF(believed.n,
                                    number_multiply_saturating(host->n_cpus.n, span->elapsed_ns.n));
        return believed.n > used.n ? believed : (Amount){ .known = false };
}

void coverage_write_json(JsonWriter *writer, const Coverage *coverage, const CoverageLedger *ledger,
                         const HostUse *host, const CoverageSpan *span, const char *absence) {
        Amount survived = coverage_amount(&coverage->survived_ns);
        Amount born = coverage_amount(&coverage->born_ns);
        Amount kernel = coverage_amount(&coverage->kernel_ns);
        Parts parts = parts_of(coverage, ledger);
        Amount believed = coverage_believed_ns(coverage, ledger, host, span);
        Amount own = coverage_amount(&coverage->own_ns);
        Amount storage = amount_add_known(coverage_amount(&coverage->read_bytes),
                                          coverage_amount(&coverage->write_bytes));

        if (kernel.known)
                kernel = amount_add_known(kernel, parts.kernel_ended);
        /*
         * Views leave it out. The work of a process before it called, and of one that nobody saw
         * end, may leave the ended less than nothing: then they add nothing.
         */
        if (own.known)
                own = amount_add_known(own, exited_amount(&coverage->exited_own_ns, ledger));
        if (storage.known)
                storage = amount_add_known(
                        storage, amount_add(exited_amount(&coverage->exited_read_bytes, ledger),
                                            exited_amount(&coverage->exited_write_bytes, ledger)));

        json_write_object(writer);
        amount_write_json(writer, "cpuUsedNs", host->cpu_used_ns);
        if (believed.known)
                json_write_member_u64(writer, "cpuBelievedNs", believed.n);
        amount_write_json(writer, "attributedNs", parts.attributed);
        amount_write_json(writer, "survivedNs", survived);
        amount_write_json(writer, "bornNs", born);
        amount_write_json(writer, "endedNs", parts.ended);
        amount_write_json(writer, "bornAndEndedNs", parts.born_and_ended);
        if (parts.ended.known)
                json_write_member_bool(writer, "endedExact", parts.exact);
        else
                json_write_member_text(writer, "endedReason",
                                       ledger->known ? "the ledger of the ended does not have the "
                                                       "run time of all of them"
                                                     : ledger->absence);
        amount_write_json(writer, "kernelThreadsNs", kernel);
        amount_write_json(writer, "ownNs", own);
        amount_write_json(writer, "notAttributedNs",
                          amount_subtract(host->cpu_used_ns, parts.attributed));
        amount_write_json(writer, "boundNs", span->bound_ns);
        amount_write_json(writer, "storageUsedBytes",
                          amount_add(host->disk_read_bytes, host->disk_written_bytes));
        amount_write_json(writer, "storageAttributedBytes", storage);
        if (!parts.attributed.known)
                json_write_member_text(writer, "reason", absence);
        json_write_end(writer);
}
