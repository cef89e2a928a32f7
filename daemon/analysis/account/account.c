/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/account/account.h"

#include <string.h>

#include "base/macro.h"
#include "base/number.h"

static const Amount unknown = { .known = false };

#define METRIC_OF_REASON(reason, text, ...) METRIC_##reason##_wait_ns,
#define NAME_OF_REASON(reason, text, ...) #reason,
static const char *const reason_names[] = { WAIT_REASONS(NAME_OF_REASON) };

/* What an account is made of; all borrowed for the call. */
typedef struct Basis {
        const Column *column;
        const GroupColumn *of;
        Figures figures;
        const LifeCounts *lives; /* of an interval; NULL: whole lives */
} Basis;

static Amount whole_sum_of(const Basis *basis, MetricId id) {
        Sum sum = column_sum(basis->of, id);

        return sum.present > 0 && !sum.saturated ? amount_of(sum.value) : unknown;
}

/* @figure: what becomes of the sum. */
static Amount sum_of(Account *account, const Basis *basis, MetricId id, AccountFigure figure) {
        Amount sum = whole_sum_of(basis, id);
        uint64_t excess = basis->of->dead && basis->figures == FIGURES_CUT
                                  ? group_dead_excess(basis->of->dead, id)
                                  : 0;

        if (!sum.known || excess == 0)
                return sum;
        account->is_cut[figure] = true;
        return amount_subtract(sum, amount_of(excess));
}

/* time */

/* What @part, known or not, leaves of @whole. */
static uint64_t without(uint64_t whole, Amount part) {
        return whole > part.n ? whole - part.n : 0;
}

/*
 * An account of waits that began @since misses what older lives did before. An interval has it only
 * if the account began before.
 */
static bool has_counted(const Basis *basis, Amount since) {
        const Amount *first = &basis->of->tally.first_start_ns;

        return basis->lives || (since.known && first->known && first->n >= since.n);
}

static Amount wait_of(Account *account, const Basis *basis, MetricId id, AccountFigure figure) {
        return has_counted(basis, basis->column->setup.waits_since_ns)
                       ? sum_of(account, basis, id, figure)
                       : unknown;
}

static void account_for_storage(Account *account, const Basis *basis) {
        const MetricId delay = METRIC_blkio_delay_total_ns;

        account->storage_ns = wait_of(account, basis, METRIC_storage_wait_ns, ACCOUNT_STORAGE);
        if (!account->storage_ns.known)
                account->storage_ns = sum_of(account, basis, METRIC_iowait_sum, ACCOUNT_STORAGE);
        account->storage_exact = account->storage_ns.known;
        if (account->storage_ns.known)
                return;
        account->storage_ns = sum_of(account, basis, delay, ACCOUNT_STORAGE);
        if (!account->storage_ns.known)
                return;
        account->storage_exact = !kernel_defects_of_metric(basis->column->setup.defects, delay) &&
                                 aggregate_n_corrected(basis->of->ends[SIDE_AFTER], delay) == 0 &&
                                 aggregate_n_implausible(basis->of->ends[SIDE_AFTER], delay) == 0;
        if (!account->storage_exact && account->alive_ns.known) {
                uint64_t left = without(without(account->alive_ns.n, account->running_ns),
                                        account->waiting_ns);

                account->storage_ns.n = MIN_OF(account->storage_ns.n, left);
        }
}

static bool knows_reasons(const Account *account) {
        return account->reasons_ns[0].known;
}

static void account_for_reasons(Account *account, const Basis *basis) {
        static const MetricId metrics[] = { WAIT_REASONS(METRIC_OF_REASON) };
        Amount sums[ELEMENTSOF(metrics)];
        bool known = has_counted(basis, basis->column->setup.reasons_since_ns);

        account->no_reasons = basis->column->no_reasons ? basis->column->no_reasons
                              : known ? "none of these threads was counted all the time"
                                      : "these threads began before waits were counted by reason";
        for (unsigned i = 0; i < ELEMENTSOF(metrics) && known; i++) {
                sums[i] = sum_of(account, basis, metrics[i],
                                 i == WAIT_REASON_sync ? ACCOUNT_SYNC : ACCOUNT_REASONS);
                known = sums[i].known;
        }
        if (!known) {
                account->is_cut[ACCOUNT_SYNC] = account->is_cut[ACCOUNT_REASONS] = false;
                return;
        }
        account->no_reasons = NULL;
        account->sync_ns = sums[WAIT_REASON_sync];
        memcpy(account->reasons_ns, sums, sizeof(account->reasons_ns));
}

static void account_for_rest(Account *account) {
        Amount parts = amount_add_known(account_busy_ns(account), account->blocked_ns), all = parts;

        if (!account->alive_ns.known)
                return;
        for (unsigned i = 0; i < WAIT_REASONS_APART_MAX; i++)
                all = amount_add_known(all, account->reasons_ns[i]);
        account->alive_ns.n = MAX_OF(account->alive_ns.n, all.n);
        if (account->running_ns.known && account->waiting_ns.known)
                account->asleep_ns = amount_of(without(account->alive_ns.n, parts));
}

static void account_for_time(Account *account, const Basis *basis) {
        const LifeTally *tally = &basis->of->tally;

        if (basis->of->ends[SIDE_AFTER] && basis->column->period.known && !tally->lacks_alive)
                account->alive_ns = amount_of(tally->alive_ns);
        account->running_ns = sum_of(account, basis, METRIC_run_time_ns, ACCOUNT_RUNNING);
        account->waiting_ns = sum_of(account, basis, METRIC_wait_time_ns, ACCOUNT_WAITING);
        account_for_storage(account, basis);
        account->blocked_ns = wait_of(account, basis, METRIC_uninterruptible_ns, ACCOUNT_BLOCKED);
        if (!account->blocked_ns.known)
                account->blocked_ns =
                        amount_subtract(sum_of(account, basis, METRIC_block_sum, ACCOUNT_BLOCKED),
                                        sum_of(account, basis, METRIC_iowait_sum, ACCOUNT_BLOCKED));
        if (!account->blocked_ns.known)
                account->is_cut[ACCOUNT_BLOCKED] = false;
        account_for_reasons(account, basis);
        account_for_rest(account);
}

/* storage */

/* Without knowing what the disks wrote and how much is yet to be written nothing is disproved. */
static bool writes_are_plausible(Amount written, const HostUse *host) {
        Amount room = amount_add(host->disk_written_bytes, host->dirty_growth_bytes);

        if (!written.known || !room.known)
                return true;
        return number_multiply_saturating(written.n, 10) <= number_multiply_saturating(room.n, 11);
}

/*
 * Of what is not plausible: who writes by system calls wrote no more than these were handed. Who
 * maps files hands nothing to them.
 */
static Amount writes_at_most(Account *account, const Basis *basis) {
        bool is_cut = account->is_cut[ACCOUNT_WRITE];
        Amount handed = sum_of(account, basis, METRIC_wchar, ACCOUNT_WRITE);

        if (handed.known && handed.n > 0 && handed.n < account->write_bytes.n)
                return handed;
        account->is_cut[ACCOUNT_WRITE] = is_cut;
        return account->write_bytes;
}

/* memory */

static void account_for_memory(Account *account, const Basis *basis) {
        const LifeTally *tally = &basis->of->tally;

        account->peak_rss_bytes = tally->risen_rss_bytes;
        account->rss_bytes = tally->rss_bytes[SIDE_AFTER];
        if (!basis->lives)
                return;
        account->rss_before_bytes = tally->rss_bytes[SIDE_BEFORE];
        account->rss_growth_bytes = life_tally_rss_growth(tally);
        /* What threads allocated that were born and ended inside nobody knows. */
        if (basis->lives->fleeting.n == 0)
                account->heap_growth_bytes = life_tally_heap_growth(tally);
}

/* threads */

static void account_for_lives(Account *account, const LifeCounts *lives, const GroupDead *dead) {
        account->born = amount_of(lives->born);
        account->ended = amount_of(lives->gone);
        account->fleeting = lives->fleeting;
        if (!lives->fleeting.known)
                return;
        account->left_out = amount_of(
                dead ? number_add_saturating(group_dead_left_out(dead, METRIC_run_time_ns),
                                             group_dead_n_elsewhere(dead))
                     : 0);
}

/* all of it */

Account account_of(const Column *column, const GroupColumn *of, bool is_of_kernel,
                   Figures figures) {
        const Aggregate *end = of->ends[SIDE_AFTER];
        const Basis room = { .column = column,
                             .of = of,
                             .figures = figures,
                             .lives = of->work ? &of->work->lives : NULL };
        const Basis *basis = &room;
        Account account = { .threads = end ? end->n_threads : 0,
                            .started_by = column_starters(of),
                            .is_of_kernel = is_of_kernel };

        account.switches =
                amount_add(sum_of(&account, basis, METRIC_voluntary_csw, ACCOUNT_SWITCHES),
                           sum_of(&account, basis, METRIC_nonvoluntary_csw, ACCOUNT_SWITCHES));
        account.read_bytes = sum_of(&account, basis, METRIC_read_bytes, ACCOUNT_READ);
        account.write_bytes = sum_of(&account, basis, METRIC_write_bytes, ACCOUNT_WRITE);
        account.major_faults = sum_of(&account, basis, METRIC_majflt, ACCOUNT_MAJOR_FAULTS);
        if (basis->lives)
                account_for_lives(&account, basis->lives, of->dead);
        account.write_exact = writes_are_plausible(account.write_bytes, &column->host);
        if (!account.write_exact)
                account.write_at_most_bytes = writes_at_most(&account, basis);
        account_for_memory(&account, basis);
        account_for_time(&account, basis);
        return account;
}

Amount account_figure(const Account *account, ViewColumn column) {
        const Amount written = account_written_bytes(account);
        const Amount *const figures[_VIEW_COLUMN_MAX] = {
                [VIEW_COLUMN_CPU] = &account->running_ns,
                [VIEW_COLUMN_WAIT] = &account->waiting_ns,
                [VIEW_COLUMN_IO] = &account->storage_ns,
                [VIEW_COLUMN_LOCK] = &account->reasons_ns[WAIT_REASON_lock],
                [VIEW_COLUMN_BLOCKED] = &account->blocked_ns,
                [VIEW_COLUMN_SWITCH] = &account->switches,
                [VIEW_COLUMN_READ] = &account->read_bytes,
                [VIEW_COLUMN_WRITE] = &written,
                [VIEW_COLUMN_MAJFLT] = &account->major_faults,
                [VIEW_COLUMN_RSS] = &account->rss_bytes,
                [VIEW_COLUMN_PEAK] = &account->peak_rss_bytes,
        };

        return *figures[column];
}

Amount account_busy_ns(const Account *account) {
        return amount_add_known(amount_add_known(account->running_ns, account->waiting_ns),
                                account->storage_ns);
}

Amount account_written_bytes(const Account *account) {
        return account->write_at_most_bytes.known ? account->write_at_most_bytes
                                                  : account->write_bytes;
}

Amount account_weighty_ns(const Account *account) {
        Amount ns =
                amount_add_known(account_busy_ns(account), account->reasons_ns[WAIT_REASON_lock]);

        return account->is_of_kernel ? ns : amount_add_known(ns, account->blocked_ns);
}

Amount account_moved_bytes(const Account *account) {
        return amount_add_known(account->read_bytes, account_written_bytes(account));
}

/* JSON */

static void write_bool_of(JsonWriter *writer, const char *key, Amount amount, bool value) {
        if (amount.known)
                json_write_member_bool(writer, key, value);
        else
                json_write_member_null(writer, key);
}

static void write_times(JsonWriter *writer, const Account *account) {
        amount_write_json(writer, "aliveNs", account->alive_ns);
        amount_write_json(writer, "runningNs", account->running_ns);
        amount_write_json(writer, "waitingNs", account->waiting_ns);
        amount_write_json(writer, "storageNs", account->storage_ns);
        amount_write_json(writer, "blockedNs", account->blocked_ns);
        amount_write_json(writer, "asleepNs", account->asleep_ns);
        write_bool_of(writer, "exact", account->storage_ns, account->storage_exact);
        amount_write_json(writer, "syncNs", account->sync_ns);
        if (!knows_reasons(account)) {
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

/* The member is there only where something was cut. */
static void write_cuts(JsonWriter *writer, const Account *account) {
        bool any = false;

        for (unsigned figure = 0; figure < _ACCOUNT_FIGURE_MAX; figure++) {
                if (!account->is_cut[figure])
                        continue;
                if (!any) {
                        json_write_key(writer, "cut");
                        json_write_array(writer);
                }
                any = true;
                json_write_text(writer, figure_keys[figure]);
        }
        if (any)
                json_write_end(writer);
}

void account_write_json(JsonWriter *writer, const Account *account) {
        json_write_object(writer);
        json_write_member_u64(writer, "threads", account->threads);
        amount_write_json(writer, "born", account->born);
        amount_write_json(writer, "ended", account->ended);
        amount_write_json(writer, "bornAndEnded", account->fleeting);
        amount_write_json(writer, "leftOut", account->left_out);
        member_list_write_json(writer, "startedBy", account->started_by);
        write_times(writer, account);
        amount_write_json(writer, "switches", account->switches);
        amount_write_json(writer, "readBytes", account->read_bytes);
        amount_write_json(writer, "writeBytes", account->write_bytes);
        write_bool_of(writer, "writeExact", account->write_bytes, account->write_exact);
        if (account->write_at_most_bytes.known)
                amount_write_json(writer, "writeAtMostBytes", account->write_at_most_bytes);
        amount_write_json(writer, "majorFaults", account->major_faults);
        amount_write_json(writer, "peakRssBytes", account->peak_rss_bytes);
        amount_write_json(writer, "rssBytes", account->rss_bytes);
        amount_write_json(writer, "rssBeforeBytes", account->rss_before_bytes);
        amount_write_json(writer, "heapGrowthBytes", account->heap_growth_bytes);
        write_cuts(writer, account);
        json_write_end(writer);
}

void account_write_time_json(JsonWriter *writer, const Account *account) {
        json_write_object(writer);
        write_times(writer, account);
        json_write_end(writer);
}
