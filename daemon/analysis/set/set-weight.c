/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-weight.h"

#include "analysis/account/weight.h"

/* rates */

static Amount median_of(const SetFamily *family, const SetSamples *samples, unsigned side) {
        double values[SET_MAX_CAPTURES];
        size_t n = set_samples_get(samples, family->sides[side], values);

        if (n == 0)
                return (Amount){ .known = false };
        return amount_of((uint64_t) (quartiles_of(values, n).median + 0.5));
}

static Amount rate_of(const SetFamily *family, const SetGroup *group, unsigned side, MetricId id) {
        size_t slot = set_row_list_find(family->list, row_index(false, id));

        if (slot == SET_NO_SLOT)
                return (Amount){ .known = false };
        return median_of(family, &group->rows[slot].samples, side);
}

static bool is_exact(const SetFamily *family, const SetGroup *group, unsigned side) {
        size_t slot =
                set_row_list_find(family->list, row_index(false, METRIC_blkio_delay_total_ns));
        char text[ABSENCE_BYTES];
        SetRowView row;

        if (slot == SET_NO_SLOT)
                return true;
        set_family_view(family, group, slot, &row);
        return !approximation_of_value(&row.row, side, family->defects[side], text);
}

/* As account_of() has it: cut to what running and waiting leave, where it is not exact. */
static void find_storage(const SetFamily *family, const SetGroup *group, unsigned side,
                         Account *second) {
        Amount rest;

        second->storage_exact = true;
        second->storage_ns = rate_of(family, group, side, METRIC_storage_wait_ns);
        if (!second->storage_ns.known)
                second->storage_ns = rate_of(family, group, side, METRIC_iowait_sum);
        if (second->storage_ns.known)
                return;
        second->storage_ns = rate_of(family, group, side, METRIC_blkio_delay_total_ns);
        if (!second->storage_ns.known || is_exact(family, group, side))
                return;
        second->storage_exact = false;
        if (!second->alive_ns.known)
                return;
        rest = amount_subtract(
                second->alive_ns,
                amount_of(number_add_saturating(second->running_ns.n, second->waiting_ns.n)));
        second->storage_ns.n = MIN_OF(second->storage_ns.n, rest.n);
}

static void find_blocked(const SetFamily *family, const SetGroup *group, unsigned side,
                         Account *second) {
        second->is_of_kernel = !group->group->has_program;
        second->blocked_ns = rate_of(family, group, side, METRIC_uninterruptible_ns);
        if (!second->blocked_ns.known)
                second->blocked_ns =
                        amount_subtract(rate_of(family, group, side, METRIC_block_sum),
                                        rate_of(family, group, side, METRIC_iowait_sum));
}

void set_rates_find(const SetFamily *family, const SetGroup *group, unsigned side, SetRates *ret) {
        Amount threads = median_of(family, &group->threads, side);

        *ret = (SetRates){
                .has_group = threads.known,
                .second = {
                        .threads = threads.n,
                        .alive_ns = median_of(family, &group->alive, side),
                        .running_ns = rate_of(family, group, side, METRIC_run_time_ns),
                        .waiting_ns = rate_of(family, group, side, METRIC_wait_time_ns),
                        .read_bytes = rate_of(family, group, side, METRIC_read_bytes),
                        .write_bytes = rate_of(family, group, side, METRIC_write_bytes),
                        .rss_growth_bytes = median_of(family, &group->grown, side),
                },
        };
        ret->second.reasons_ns[WAIT_REASON_lock] =
                rate_of(family, group, side, METRIC_lock_wait_ns);
        find_storage(family, group, side, &ret->second);
        find_blocked(family, group, side, &ret->second);
}

bool set_weight_between(const HostUse hosts[static SIDES], const SetRates rates[static SIDES],
                        double *ret) {
        Shares shares[SIDES];

        for (unsigned side = 0; side < SIDES; side++) {
                WeightScale scale = weight_scale_of(&hosts[side], amount_of(NSEC_PER_SEC));

                shares[side] =
                        shares_of(&scale, rates[side].has_group ? &rates[side].second : NULL);
        }
        return weight_between(&shares[0], &shares[1], ret);
}

/* JSON */

static void write_rates(JsonWriter *writer, const char *key, const SetRates *rates) {
        json_write_key(writer, key);
        if (!rates->has_group) {
                json_write_null(writer);
                return;
        }
        json_write_object(writer);
        amount_write_json(writer, "runningNs", rates->second.running_ns);
        amount_write_json(writer, "waitingNs", rates->second.waiting_ns);
        amount_write_json(writer, "storageNs", rates->second.storage_ns);
        json_write_member_bool(writer, "exact", rates->second.storage_exact);
        amount_write_json(writer, "blockedNs", rates->second.blocked_ns);
        amount_write_json(writer, "lockNs", rates->second.reasons_ns[WAIT_REASON_lock]);
        amount_write_json(writer, "readBytes", rates->second.read_bytes);
        amount_write_json(writer, "writeBytes", rates->second.write_bytes);
        amount_write_json(writer, "memoryGrowthBytes", rates->second.rss_growth_bytes);
        json_write_end(writer);
}

void set_weight_write_json(JsonWriter *writer, const SetFamily *family, const SetGroup *group) {
        SetRates rates[SIDES];
        double weight;
        bool known;

        for (unsigned side = 0; side < SIDES; side++)
                set_rates_find(family, group, side, &rates[side]);
        known = set_weight_between(family->hosts, rates, &weight);
        for (unsigned side = 0; side < SIDES; side++)
                known = known && (!rates[side].has_group || family->hosts[side].n_cpus.n > 0);
        json_write_key(writer, "weight");
        if (known)
                json_write_double(writer, weight);
        else
                json_write_null(writer);
        json_write_key(writer, "rates");
        json_write_object(writer);
        write_rates(writer, "before", &rates[0]);
        write_rates(writer, "after", &rates[1]);
        json_write_end(writer);
}
