/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/account/weight.h"

#include <math.h>

#include "base/macro.h"

WeightScale weight_scale_of(const HostUse *host, Amount elapsed_ns) {
        bool known =
                host->n_cpus.known && host->n_cpus.n > 0 && elapsed_ns.known && elapsed_ns.n > 0;
        double cpus = known ? (double) host->n_cpus.n : 1;
        double ns = known ? (double) elapsed_ns.n : (double) NSEC_PER_SEC;
        double moved = (double) host->disk_read_bytes.n + (double) host->disk_written_bytes.n;
        double least = ns / (double) NSEC_PER_SEC * (double) WEIGHT_STORAGE_BYTES_PER_SECOND;

        return (WeightScale){
                .known = known,
                .cpu_ns = cpus * ns,
                .storage_bytes = fmax(moved, least),
                .memory_bytes = (double) host->memory_bytes.n * WEIGHT_MEMORY_PER_MINUTE * ns /
                                (60 * (double) NSEC_PER_SEC),
        };
}

Shares shares_of(const WeightScale *scale, const Account *account) {
        bool has_memory = scale->memory_bytes > 0;
        Amount time, moved, grown;

        if (!account)
                return (Shares){ .has_time = true, .has_storage = true, .has_memory = true };
        /* Time in parts that exclude each other, and waits that nobody chooses to be in. */
        time = amount_add_known(account->running_ns, account->waiting_ns);
        time = amount_add_known(time, account->storage_ns);
        time = amount_add_known(time, account->reasons_ns[WAIT_REASON_lock]);
        if (!account->is_of_kernel) /* its threads are known to idle uninterruptibly */
                time = amount_add_known(time, account->blocked_ns);
        moved = amount_add_known(account->read_bytes, account->write_at_most_bytes.known
                                                              ? account->write_at_most_bytes
                                                              : account->write_bytes);
        grown.known = account->rss_growth_bytes.known || account->heap_growth_bytes.known;
        grown.n = MAX_OF(account->rss_growth_bytes.n, account->heap_growth_bytes.n);
        return (Shares){
                .has_time = time.known,
                .has_storage = moved.known,
                .has_memory = has_memory && grown.known,
                .time = (double) time.n / scale->cpu_ns,
                .storage = fmin((double) moved.n / scale->storage_bytes, 1),
                .memory = has_memory ? fmin((double) grown.n / scale->memory_bytes, 1) : 0,
        };
}

bool weight_between(const Shares *a, const Shares *b, double *ret) {
        const bool known[] = { b->has_time && (!a || a->has_time),
                               b->has_storage && (!a || a->has_storage),
                               b->has_memory && (!a || a->has_memory) };
        const double moved[] = { b->time - (a ? a->time : 0), b->storage - (a ? a->storage : 0),
                                 b->memory - (a ? a->memory : 0) };
        bool any = false;

        *ret = 0;
        for (size_t i = 0; i < ELEMENTSOF(moved); i++) {
                any = any || known[i];
                if (known[i] && fabs(moved[i]) > fabs(*ret))
                        *ret = moved[i];
        }
        return any;
}

void group_weigh(Group *group) {
        const Columns *columns = group->columns;

        for (unsigned figures = 0; figures < _FIGURES_MAX; figures++) {
                Shares shares[COLUMNS_MAX] = {};
                double *weight = &group->weights[figures];

                for (unsigned i = 0; i < columns->n; i++) {
                        WeightScale scale = weight_scale_of(
                                &columns->of[i].host, period_elapsed_ns(&columns->of[i].period));
                        Account account;
                        bool has = group_account(group, i, (Figures) figures, &account);

                        shares[i] = shares_of(&scale, has ? &account : NULL);
                }
                group->has_weight = columns->n == 1
                                            ? weight_between(NULL, &shares[0], weight)
                                            : weight_between(&shares[0], &shares[1], weight);
        }
}
