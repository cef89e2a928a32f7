/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/account/weight.h"

#include <math.h>

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
        };
}

Shares shares_of(const WeightScale *scale, const Account *account) {
        Amount busy, moved;

        if (!account)
                return (Shares){ .has_time = true, .has_storage = true };
        busy = account_busy_ns(account);
        moved = account_moved_bytes(account);
        return (Shares){
                .has_time = busy.known,
                .has_storage = moved.known,
                .time = (double) busy.n / scale->cpu_ns,
                .storage = fmin((double) moved.n / scale->storage_bytes, 1),
        };
}

bool weight_of(const Shares *shares, double *ret) {
        if (!shares->has_time && !shares->has_storage)
                return false;
        *ret = fmax(shares->time, shares->storage);
        return true;
}

bool weight_between(const Shares *a, const Shares *b, double *ret) {
        bool has_time = a->has_time && b->has_time, has_storage = a->has_storage && b->has_storage;
        double time = has_time ? b->time - a->time : 0;
        double storage = has_storage ? b->storage - a->storage : 0;

        if (!has_time && !has_storage)
                return false;
        *ret = fabs(storage) > fabs(time) ? storage : time;
        return true;
}
