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

Amount host_totals_number(const HostTotals *totals, HostPartId part, const char *name) {
        const HostPart *from = &totals->parts[part];

        for (size_t i = 0; i < from->n_numbers; i++)
                if (strcmp(from->numbers[i].name, name) == 0)
                        return from->numbers[i].count;
        return (Amount){};
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

static Amount add(const Amount *counts, const unsigned *columns, size_t n) {
        Amount sum = amount_of(0);

        for (size_t i = 0; i < n; i++) {
                if (!counts[columns[i]].known)
                        return (Amount){};
                sum.n = number_add_saturating(sum.n, counts[columns[i]].n);
        }
        return sum;
}

Amount host_cpu_used(const Amount cpu[static HOST_MAX_COLUMNS]) {
        static const unsigned columns[] = { HOST_CPU_USER, HOST_CPU_NICE, HOST_CPU_SYSTEM,
                                            HOST_CPU_IRQ, HOST_CPU_SOFTIRQ };

        return add(cpu, columns, ELEMENTSOF(columns));
}

Amount host_cpu_time(const Amount cpu[static HOST_MAX_COLUMNS]) {
        static const unsigned columns[] = { HOST_CPU_USER,    HOST_CPU_NICE,   HOST_CPU_SYSTEM,
                                            HOST_CPU_IDLE,    HOST_CPU_IOWAIT, HOST_CPU_IRQ,
                                            HOST_CPU_SOFTIRQ, HOST_CPU_STEAL };

        return add(cpu, columns, ELEMENTSOF(columns));
}

Amount host_totals_sum(const HostTotals *totals, HostPartId part, unsigned column) {
        const HostPart *from = &totals->parts[part];
        Amount sum = { .known = from->has };

        for (size_t i = 0; sum.known && i < from->n_items; i++) {
                const HostItem *item = &from->items[i];
                const Amount *count = &item->counts[column];

                if (item->kind == HOST_KIND_UNKNOWN)
                        sum.known = count->known && count->n == 0;
                else if (host_kind_is_whole(item->kind))
                        sum.known = count->known;
                else
                        continue;
                sum.n = number_add_saturating(sum.n, count->n);
        }
        return sum.known ? sum : (Amount){};
}

/* units */

/* 10^9 / @hz would lose the fraction of odd rates. */
static uint64_t ticks_to_ns(uint64_t ticks, uint32_t hz) {
        uint64_t seconds = number_multiply_saturating(ticks / hz, NSEC_PER_SEC);

        return number_add_saturating(seconds, ticks % hz * NSEC_PER_SEC / hz);
}

Amount host_value_of_unit(const HostTotals *totals, HostUnit unit, Amount count) {
        if (!count.known)
                return count;
        switch (unit) {
        case HOST_UNIT_COUNT:
        case HOST_UNIT_BYTES:
        case HOST_UNIT_HUNDREDTHS:
                break;
        case HOST_UNIT_KIB:
                count.n = number_multiply_saturating(count.n, KIB_BYTES);
                break;
        case HOST_UNIT_SECTORS:
                count.n = number_multiply_saturating(count.n, SECTOR_BYTES);
                break;
        case HOST_UNIT_MS:
                count.n = number_multiply_saturating(count.n, NSEC_PER_MSEC);
                break;
        case HOST_UNIT_TICKS:
                if (totals->user_hz == 0)
                        return (Amount){};
                count.n = ticks_to_ns(count.n, totals->user_hz);
                break;
        }
        return count;
}

Amount host_value(const HostTotals *totals, HostPartId part, unsigned column, Amount count) {
        return host_value_of_unit(totals, host_parts[part].columns[column].unit, count);
}

/* differences */

Amount host_count_difference(HostRule rule, Amount before, Amount after) {
        if (rule == HOST_RULE_LEVEL)
                return after;
        if (!before.known || !after.known)
                return (Amount){};
        if (after.n >= before.n)
                return amount_of(after.n - before.n);
        if (rule == HOST_RULE_SUM_32 && before.n <= UINT32_MAX)
                return amount_of(after.n + UINT32_MAX + 1 - before.n);
        return (Amount){};
}

static void subtract_columns(HostPartId part, const Amount *before, const Amount *after,
                             Amount *ret) {
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
                Amount none = { .known = false };
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
