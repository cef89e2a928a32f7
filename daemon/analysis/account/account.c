/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/account/account.h"

#include <string.h>

#include "base/macro.h"
#include "base/number.h"

static const Amount unknown = { .known = false };

#define METRIC_OF_REASON(reason, text, ...) METRIC_##reason##_wait_ns,
#define NAME_OF_REASON(reason, text, ...) #reason,
static const char *const reason_names[] = { WAIT_REASONS(NAME_OF_REASON) };

/* The sources of an account; all borrowed for the call. */
typedef struct Basis {
        const Column *column;
        const GroupColumn *of;
        Figures figures;
        const LifeCounts *lives; /* of an interval; NULL: whole lives */
} Basis;

/* @figure: the one that is made of the sum. */
static Amount sum_of(Account *account, const Basis *basis, MetricId id, AccountFigure figure) {
        const GroupExited *exited = basis->figures == FIGURES_CUT ? basis->of->exited : NULL;
        uint64_t excess = exited ? exited->excess[id] : 0;
        Sum sum = column_sum(basis->of, id);

        if (sum.present == 0 || sum.saturated)
                return unknown;
        if (excess == 0)
                return amount_of(sum.value);
        account->is_cut[figure] = true;
        return amount_subtract(amount_of(sum.value), amount_of(excess));
}

/* time */

static void account_for_time(Account *account, const Basis *basis) {
        static const MetricId metrics[] = { WAIT_REASONS(METRIC_OF_REASON) };
        const MetricId delay = METRIC_blkio_delay_total_ns;
        const LifeTally *tally = &basis->of->tally;
        /*
         * An account of waits that began at some time misses what older lives did before. An
         * interval has it only if the account began before.
         */
        const Amount first = tally->first_start_ns, waits = basis->column->setup.waits_since_ns;
        const Amount reasons = basis->column->setup.reasons_since_ns;
        bool has_waits = basis->lives || (waits.known && first.known && first.n >= waits.n);
        bool has_reasons = basis->lives || (reasons.known && first.known && first.n >= reasons.n);
        Amount sums[ELEMENTSOF(metrics)], parts, all;

        if (basis->of->ends[SIDE_AFTER] && basis->column->period.known && !tally->lacks_alive)
                account->alive_ns = amount_of(tally->alive_ns);
        account->running_ns = sum_of(account, basis, METRIC_run_time_ns, ACCOUNT_RUNNING);
        account->waiting_ns = sum_of(account, basis, METRIC_wait_time_ns, ACCOUNT_WAITING);

        if (has_waits)
                account->storage_ns =
                        sum_of(account, basis, METRIC_storage_wait_ns, ACCOUNT_STORAGE);
        if (!account->storage_ns.known)
                account->storage_ns = sum_of(account, basis, METRIC_iowait_sum, ACCOUNT_STORAGE);
        account->storage_exact = account->storage_ns.known;
        if (!account->storage_ns.known)
                account->storage_ns = sum_of(account, basis, delay, ACCOUNT_STORAGE);
        if (!account->storage_exact && account->storage_ns.known) {
                const Doubts *doubts = basis->of->ends[SIDE_AFTER]->doubts;
                uint64_t busy = number_add_saturating(account->running_ns.n, account->waiting_ns.n);
                uint64_t left = account->alive_ns.n > busy ? account->alive_ns.n - busy : 0;

                account->storage_exact =
                        !kernel_defects_of_metric(basis->column->setup.defects, delay) &&
                        (!doubts ||
                         (doubts->corrected[delay] == 0 && doubts->implausible[delay] == 0));
                if (!account->storage_exact && account->alive_ns.known)
                        account->storage_ns.n = MIN_OF(account->storage_ns.n, left);
        }

        if (has_waits)
                account->blocked_ns =
                        sum_of(account, basis, METRIC_uninterruptible_ns, ACCOUNT_BLOCKED);
        if (!account->blocked_ns.known)
                account->blocked_ns =
                        amount_subtract(sum_of(account, basis, METRIC_block_sum, ACCOUNT_BLOCKED),
                                        sum_of(account, basis, METRIC_iowait_sum, ACCOUNT_BLOCKED));
        if (!account->blocked_ns.known)
                account->is_cut[ACCOUNT_BLOCKED] = false;

        account->no_reasons = basis->column->no_reasons ? basis->column->no_reasons
                              : has_reasons
                                      ? "none of these threads was counted all the time"
                                      : "these threads began before waits were counted by reason";
        for (unsigned i = 0; i < ELEMENTSOF(metrics) && has_reasons; i++) {
                sums[i] = sum_of(account, basis, metrics[i],
                                 i == WAIT_REASON_sync ? ACCOUNT_SYNC : ACCOUNT_REASONS);
                has_reasons = sums[i].known;
        }
        if (has_reasons) {
                account->no_reasons = NULL;
                account->sync_ns = sums[WAIT_REASON_sync];
                memcpy(account->reasons_ns, sums, sizeof(account->reasons_ns));
        } else {
                account->is_cut[ACCOUNT_SYNC] = account->is_cut[ACCOUNT_REASONS] = false;
        }

        if (!account->alive_ns.known)
                return;
        parts = amount_add_known(account->running_ns, account->waiting_ns);
        parts = amount_add_known(parts, account->storage_ns);
        parts = amount_add_known(parts, account->blocked_ns);
        all = parts;
        for (unsigned i = 0; i < WAIT_REASONS_APART_MAX; i++)
                all = amount_add_known(all, account->reasons_ns[i]);
        account->alive_ns.n = MAX_OF(account->alive_ns.n, all.n);
        if (account->running_ns.known && account->waiting_ns.known)
                account->asleep_ns = amount_subtract(account->alive_ns, parts);
}

Account account_of(const Column *column, const GroupColumn *of, bool is_of_kernel,
                   Figures figures) {
        const Aggregate *end = of->ends[SIDE_AFTER];
        const LifeCounts *lives = of->work ? &of->work->lives : NULL;
        const Basis basis = { .column = column, .of = of, .figures = figures, .lives = lives };
        const Amount room =
                amount_add(column->host.disk_written_bytes, column->host.dirty_growth_bytes);
        Account account = { .threads = end ? end->n_threads : 0,
                            .started_by = column_starters(of),
                            .is_of_kernel = is_of_kernel };

        account.switches =
                amount_add(sum_of(&account, &basis, METRIC_voluntary_csw, ACCOUNT_SWITCHES),
                           sum_of(&account, &basis, METRIC_nonvoluntary_csw, ACCOUNT_SWITCHES));
        account.read_bytes = sum_of(&account, &basis, METRIC_read_bytes, ACCOUNT_READ);
        account.write_bytes = sum_of(&account, &basis, METRIC_write_bytes, ACCOUNT_WRITE);
        account.major_faults = sum_of(&account, &basis, METRIC_majflt, ACCOUNT_MAJOR_FAULTS);

        /* Nothing is disproved unless both are known: what the disks wrote, and what they will. */
        account.write_exact = !account.write_bytes.known || !room.known ||
                              number_multiply_saturating(account.write_bytes.n, 10) <=
                                      number_multiply_saturating(room.n, 11);
        if (!account.write_exact) {
                /*
                 * A thread that writes by system calls wrote no more than these were handed. One
                 * that maps files hands nothing to them.
                 */
                bool is_cut = account.is_cut[ACCOUNT_WRITE];
                Amount handed = sum_of(&account, &basis, METRIC_wchar, ACCOUNT_WRITE);

                account.write_at_most_bytes = account.write_bytes;
                if (handed.known && handed.n > 0 && handed.n < account.write_bytes.n)
                        account.write_at_most_bytes = handed;
                else
                        account.is_cut[ACCOUNT_WRITE] = is_cut;
        }

        account.peak_rss_bytes = of->tally.risen_rss_bytes;
        account.rss_bytes = of->tally.rss_bytes[SIDE_AFTER];
        if (lives) {
                account.born = amount_of(lives->born);
                account.ended = amount_of(lives->vanished);
                account.short_lived = lives->short_lived;
                account.rss_before_bytes = of->tally.rss_bytes[SIDE_BEFORE];
                account.rss_growth_bytes = life_tally_rss_growth(&of->tally);
                /* Nobody knows what threads allocated that were born and ended inside. */
                if (lives->short_lived.n == 0)
                        account.heap_growth_bytes = life_tally_heap_growth(&of->tally);
        }
        if (lives && lives->short_lived.known) {
                uint64_t exits = of->exited ? group_exited_exits(of->exited) : 0;

                account.left_out = amount_of(0);
                if (of->exited)
                        account.left_out.n = number_add_saturating(
                                group_exited_left_out(of->exited, METRIC_run_time_ns),
                                of->exited->n_vanished > exits ? of->exited->n_vanished - exits
                                                               : 0);
        }
        account_for_time(&account, &basis);
        return account;
}

Amount account_figure(const Account *account, ViewColumn column) {
        const Amount *written = account->write_at_most_bytes.known ? &account->write_at_most_bytes
                                                                   : &account->write_bytes;
        const Amount *const figures[_VIEW_COLUMN_MAX] = {
                [VIEW_COLUMN_CPU] = &account->running_ns,
                [VIEW_COLUMN_WAIT] = &account->waiting_ns,
                [VIEW_COLUMN_IO] = &account->storage_ns,
                [VIEW_COLUMN_LOCK] = &account->reasons_ns[WAIT_REASON_lock],
                [VIEW_COLUMN_BLOCKED] = &account->blocked_ns,
                [VIEW_COLUMN_SWITCH] = &account->switches,
                [VIEW_COLUMN_READ] = &account->read_bytes,
                [VIEW_COLUMN_WRITE] = written,
                [VIEW_COLUMN_MAJFLT] = &account->major_faults,
                [VIEW_COLUMN_RSS] = &account->rss_bytes,
                [VIEW_COLUMN_PEAK] = &account->peak_rss_bytes,
        };

        return *figures[column];
}

bool group_account(const Group *group, unsigned column, Figures figures, Account *ret) {
        const GroupColumn *of = &group->of[column];

        if (!of->ends[SIDE_AFTER] && !group->columns->are_ends)
                return false;
        *ret = account_of(&group->columns->of[column], of, !group->has_program, figures);
        return true;
}

bool group_figure(const Group *group, unsigned column, Figures figures, ViewColumn figure,
                  double *ret) {
        uint64_t elapsed_ns = group->columns->of[column].setup.elapsed_ns;
        Account account;
        Amount amount;

        *ret = 0;
        if (!group_account(group, column, figures, &account))
                return true;
        amount = account_figure(&account, figure);
        *ret = (double) amount.n;
        if (figure == VIEW_COLUMN_RSS && group->columns->are_ends) {
                *ret -= (double) account.rss_before_bytes.n;
                return amount.known || account.rss_before_bytes.known;
        }
        if (group->columns->are_intervals && figure != VIEW_COLUMN_PEAK &&
            figure != VIEW_COLUMN_RSS && elapsed_ns > 0)
                *ret *= (double) NSEC_PER_SEC / (double) elapsed_ns;
        return amount.known;
}

/* JSON */

void account_write_times(JsonWriter *writer, const Account *account) {
        amount_write_json(writer, "aliveNs", account->alive_ns);
        amount_write_json(writer, "runningNs", account->running_ns);
        amount_write_json(writer, "waitingNs", account->waiting_ns);
        amount_write_json(writer, "storageNs", account->storage_ns);
        amount_write_json(writer, "blockedNs", account->blocked_ns);
        amount_write_json(writer, "asleepNs", account->asleep_ns);
        if (account->storage_ns.known)
                json_write_member_bool(writer, "exact", account->storage_exact);
        else
                json_write_member_null(writer, "exact");
        amount_write_json(writer, "syncNs", account->sync_ns);
        if (!account->reasons_ns[0].known) {
                json_write_member_null(writer, "reasons");
                /* A reason from a file may end within a character. */
                json_write_member_name(writer, "reasonsReason", span_of(account->no_reasons));
                return;
        }
        json_write_key(writer, "reasons");
        json_write_object(writer);
        for (unsigned i = 0; i < WAIT_REASONS_APART_MAX; i++)
                amount_write_json(writer, reason_names[i], account->reasons_ns[i]);
        json_write_end(writer);
}

#define FIGURE_KEY(id, key) key,
static const char *const figure_keys[] = { ACCOUNT_FIGURES(FIGURE_KEY) };

void account_write_json(JsonWriter *writer, const Account *account) {
        bool is_cut = false;

        json_write_object(writer);
        json_write_member_u64(writer, "threads", account->threads);
        amount_write_json(writer, "born", account->born);
        amount_write_json(writer, "ended", account->ended);
        amount_write_json(writer, "bornAndEnded", account->short_lived);
        amount_write_json(writer, "leftOut", account->left_out);
        member_list_write_json(writer, "startedBy", account->started_by);
        account_write_times(writer, account);
        amount_write_json(writer, "switches", account->switches);
        amount_write_json(writer, "readBytes", account->read_bytes);
        amount_write_json(writer, "writeBytes", account->write_bytes);
        if (account->write_bytes.known)
                json_write_member_bool(writer, "writeExact", account->write_exact);
        else
                json_write_member_null(writer, "writeExact");
        if (account->write_at_most_bytes.known)
                amount_write_json(writer, "writeAtMostBytes", account->write_at_most_bytes);
        amount_write_json(writer, "majorFaults", account->major_faults);
        amount_write_json(writer, "peakRssBytes", account->peak_rss_bytes);
        amount_write_json(writer, "rssBytes", account->rss_bytes);
        amount_write_json(writer, "rssBeforeBytes", account->rss_before_bytes);
        amount_write_json(writer, "heapGrowthBytes", account->heap_growth_bytes);
        /* The member is there only where something was cut. */
        for (unsigned figure = 0; figure < _ACCOUNT_FIGURE_MAX; figure++) {
                if (!account->is_cut[figure])
                        continue;
                if (!is_cut) {
                        json_write_key(writer, "cut");
                        json_write_array(writer);
                }
                is_cut = true;
                json_write_text(writer, figure_keys[figure]);
        }
        if (is_cut)
                json_write_end(writer);
        json_write_end(writer);
}
