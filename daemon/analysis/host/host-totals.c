/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/host/host-totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

#define SECTOR_BYTES 512
#define KIB_BYTES 1024

void host_totals_done(HostTotals *totals) {
        for (unsigned i = 0; i < _HOST_PART_MAX; i++) {
                free(totals->parts[i].items);
                free(totals->parts[i].numbers);
        }
        *totals = (HostTotals){};
}

/* lookup */

HostCount host_totals_number(const HostTotals *totals, HostPartId part, const char *name) {
        const HostPart *from = &totals->parts[part];

        for (size_t i = 0; i < from->n_numbers; i++)
                if (strcmp(from->numbers[i].name, name) == 0)
                        return from->numbers[i].count;
        return (HostCount){};
}

const HostItem *host_totals_item(const HostTotals *totals, HostPartId part, Span name) {
        const HostPart *from = &totals->parts[part];

        for (size_t i = 0; i < from->n_items; i++)
                if (span_is(name, from->items[i].name))
                        return &from->items[i];
        return NULL;
}

const HostItem *host_part_find(const HostPart *part, const char *name, size_t hint) {
        if (hint < part->n_items && strcmp(part->items[hint].name, name) == 0)
                return &part->items[hint];
        for (size_t i = 0; i < part->n_items; i++)
                if (strcmp(part->items[i].name, name) == 0)
                        return &part->items[i];
        return NULL;
}

size_t host_totals_n_cpus(const HostTotals *totals) {
        return totals->parts[HOST_PART_CPU].n_items;
}

/* sums */

static HostCount add(const HostCount *counts, const unsigned *columns, size_t n) {
        HostCount sum = HOST_COUNT(0);

        for (size_t i = 0; i < n; i++) {
                if (!counts[columns[i]].has)
                        return (HostCount){};
                sum.value = number_add_saturating(sum.value, counts[columns[i]].value);
        }
        return sum;
}

HostCount host_cpu_used(const HostCount cpu[static HOST_MAX_COLUMNS]) {
        static const unsigned columns[] = { HOST_CPU_USER, HOST_CPU_NICE, HOST_CPU_SYSTEM,
                                            HOST_CPU_IRQ, HOST_CPU_SOFTIRQ };

        return add(cpu, columns, ELEMENTSOF(columns));
}

HostCount host_cpu_time(const HostCount cpu[static HOST_MAX_COLUMNS]) {
        static const unsigned columns[] = { HOST_CPU_USER,    HOST_CPU_NICE,   HOST_CPU_SYSTEM,
                                            HOST_CPU_IDLE,    HOST_CPU_IOWAIT, HOST_CPU_IRQ,
                                            HOST_CPU_SOFTIRQ, HOST_CPU_STEAL };

        return add(cpu, columns, ELEMENTSOF(columns));
}

HostCount host_totals_sum(const HostTotals *totals, HostPartId part, unsigned column) {
        const HostPart *from = &totals->parts[part];
        HostCount sum = { .has = from->has };

        for (size_t i = 0; sum.has && i < from->n_items; i++) {
                const HostItem *item = &from->items[i];
                const HostCount *count = &item->counts[column];

                if (item->kind == HOST_KIND_UNKNOWN)
                        sum.has = count->has && count->value == 0;
                else if (host_kind_is_whole(item->kind))
                        sum.has = count->has;
                else
                        continue;
                sum.value = number_add_saturating(sum.value, count->value);
        }
        return sum.has ? sum : (HostCount){};
}

/* units */

/* 10^9 / @hz would lose the fraction of odd rates. */
static uint64_t ticks_to_ns(uint64_t ticks, uint32_t hz) {
        uint64_t seconds = number_multiply_saturating(ticks / hz, NSEC_PER_SEC);

        return number_add_saturating(seconds, ticks % hz * NSEC_PER_SEC / hz);
}

HostCount host_value_of_unit(const HostTotals *totals, HostUnit unit, HostCount count) {
        if (!count.has)
                return count;
        switch (unit) {
        case HOST_UNIT_COUNT:
        case HOST_UNIT_BYTES:
        case HOST_UNIT_HUNDREDTHS:
                break;
        case HOST_UNIT_KIB:
                count.value = number_multiply_saturating(count.value, KIB_BYTES);
                break;
        case HOST_UNIT_SECTORS:
                count.value = number_multiply_saturating(count.value, SECTOR_BYTES);
                break;
        case HOST_UNIT_MS:
                count.value = number_multiply_saturating(count.value, NSEC_PER_MSEC);
                break;
        case HOST_UNIT_TICKS:
                if (totals->user_hz == 0)
                        return (HostCount){};
                count.value = ticks_to_ns(count.value, totals->user_hz);
                break;
        }
        return count;
}

HostCount host_value(const HostTotals *totals, HostPartId part, unsigned column, HostCount count) {
        return host_value_of_unit(totals, host_parts[part].columns[column].unit, count);
}

/* differences */

HostCount host_count_difference(HostRule rule, HostCount before, HostCount after) {
        if (rule == HOST_RULE_LEVEL)
                return after;
        if (!before.has || !after.has)
                return (HostCount){};
        if (after.value >= before.value)
                return HOST_COUNT(after.value - before.value);
        if (rule == HOST_RULE_SUM_32 && before.value <= UINT32_MAX)
                return HOST_COUNT(after.value + UINT32_MAX + 1 - before.value);
        return (HostCount){};
}

static void subtract_columns(HostPartId part, const HostCount *before, const HostCount *after,
                             HostCount *ret) {
        for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                ret[i] = host_count_difference(host_parts[part].columns[i].rule, before[i],
                                               after[i]);
}

static int subtract_items(HostPartId id, const HostPart *before, const HostPart *after,
                          HostPart *ret) {
        int r;

        r = ARRAY_RESERVE(ret->items, ret->n_items_allocated, after->n_items);
        for (size_t i = 0; r == 0 && i < after->n_items; i++) {
                const HostItem *old = host_part_find(before, after->items[i].name, i);
                HostItem *item = &ret->items[ret->n_items];

                if (!old)
                        continue;
                *item = after->items[i];
                subtract_columns(id, old->counts, after->items[i].counts, item->counts);
                ret->n_items++;
        }
        return r;
}

static const HostNumber *find_number(const HostPart *part, const HostNumber *like, size_t hint) {
        if (hint < part->n_numbers && strcmp(part->numbers[hint].name, like->name) == 0)
                return &part->numbers[hint];
        for (size_t i = 0; i < part->n_numbers; i++)
                if (strcmp(part->numbers[i].name, like->name) == 0)
                        return &part->numbers[i];
        return NULL;
}

static int subtract_numbers(const HostPart *before, const HostPart *after, HostPart *ret) {
        int r;

        r = ARRAY_RESERVE(ret->numbers, ret->n_numbers_allocated, after->n_numbers);
        for (size_t i = 0; r == 0 && i < after->n_numbers; i++) {
                const HostNumber *old = find_number(before, &after->numbers[i], i);
                HostCount none = { .has = false };
                HostNumber *number = &ret->numbers[ret->n_numbers++];

                *number = after->numbers[i];
                number->count = host_count_difference(host_groups[number->group].rule,
                                                      old ? old->count : none, number->count);
        }
        return r;
}

static int subtract_part(HostPartId id, const HostPart *before, const HostPart *after,
                         HostPart *ret) {
        int r;

        if (!before->has || !after->has)
                return 0;
        ret->has = true;
        ret->at_boottime_ns = after->at_boottime_ns;
        ret->elapsed_ns =
                host_count_difference(HOST_RULE_SUM, before->at_boottime_ns, after->at_boottime_ns);
        subtract_columns(id, before->all_cpus, after->all_cpus, ret->all_cpus);
        r = subtract_items(id, before, after, ret);
        return r == 0 ? subtract_numbers(before, after, ret) : r;
}

int host_totals_difference(const HostTotals *before, const HostTotals *after, HostTotals *ret) {
        int r = 0;

        *ret = (HostTotals){ .user_hz = before->user_hz == after->user_hz ? after->user_hz : 0 };
        for (unsigned id = 0; r == 0 && id < _HOST_PART_MAX; id++)
                r = subtract_part((HostPartId) id, &before->parts[id], &after->parts[id],
                                  &ret->parts[id]);
        return r;
}
