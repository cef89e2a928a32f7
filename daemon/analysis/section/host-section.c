/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/host-section.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

static const char *const unit_names[] = {
        [HOST_UNIT_COUNT] = "count",
        [HOST_UNIT_BYTES] = "bytes",
        [HOST_UNIT_KIB] = "bytes",
        [HOST_UNIT_SECTORS] = "bytes",
        [HOST_UNIT_MS] = "ns",
        [HOST_UNIT_TICKS] = "ns",
        [HOST_UNIT_HUNDREDTHS] = "hundredths",
};

typedef struct LineMaker {
        HostLines *lines;
        HostPartId part;
        const HostTotals *totals;
        unsigned n_sides;
        bool same_boot;
        uint64_t elapsed_ns; /* 0: not known */
} LineMaker;

/* An item of both sides, or of one. */
typedef struct ItemPair {
        const HostItem *sides[HOST_SECTION_SIDES];
        uint64_t done; /* orders items: how much it did, in a unit of the part's own */
        size_t place;
        bool cut;
} ItemPair;

static const HostPart *part_of(const LineMaker *maker, unsigned side) {
        return &maker->totals[side].parts[maker->part];
}

/* one number */

static Reading value_of(const HostTotals *totals, HostUnit unit, Amount count) {
        count = host_value_of_unit(totals, unit, count);
        return count.known ? READING(count.n) : (Reading){};
}

static int add_line(LineMaker *maker, const HostLine *like, HostUnit unit, HostRule rule,
                    const Amount counts[static HOST_SECTION_SIDES]) {
        HostLines *lines = maker->lines;
        HostLine *line;
        int r;

        r = ARRAY_RESERVE(lines->lines, lines->n_allocated, lines->n + 1);
        if (r != 0)
                return r;
        line = &lines->lines[lines->n++];
        *line = *like;
        line->unit = unit_names[unit];
        for (unsigned side = 0; side < maker->n_sides; side++)
                line->sides[side] = value_of(&maker->totals[side], unit, counts[side]);
        if (maker->n_sides < 2)
                return 0;
        /* Counters are subtracted in the kernel's unit, where it is known how they wrap. */
        line->delta = reading_delta(line->sides[0], line->sides[1]);
        if (maker->same_boot && rule == HOST_RULE_SUM_32 && maker->elapsed_ns > 0) {
                Amount delta = host_count_difference(rule, counts[0], counts[1]);

                if (delta.known)
                        line->delta = value_of(&maker->totals[1], unit, delta);
        }
        line->has_rate = rule != HOST_RULE_LEVEL && maker->elapsed_ns > 0 &&
                         line->delta.state == READING_NUMBER && !line->delta.negative;
        if (line->has_rate)
                line->per_second =
                        (double) line->delta.magnitude * 1e9 / (double) maker->elapsed_ns;
        return 0;
}

/* numbers of the host */

static int add_number(LineMaker *maker, const HostNumber *like, unsigned of_side) {
        const HostGroupInfo *group = &host_groups[like->group];
        HostLine line = { .key = like->name };
        Amount counts[HOST_SECTION_SIDES] = {};

        for (unsigned side = 0; side < maker->n_sides; side++) {
                counts[side] = side == of_side ? like->count
                                               : host_totals_number(&maker->totals[side],
                                                                    maker->part, like->name);
                line.there[side] = part_of(maker, side)->has;
        }
        if (maker->part == HOST_PART_CPU)
                line.item = HOST_CPU_ALL;
        return add_line(maker, &line, group->unit, group->rule, counts);
}

/* items */

static int add_columns(LineMaker *maker, HostLine *line,
                       const Amount *const sides[static HOST_SECTION_SIDES]) {
        const HostPartInfo *info = &host_parts[maker->part];
        int r = 0;

        for (unsigned i = 0; r == 0 && i < info->n_columns; i++) {
                Amount counts[HOST_SECTION_SIDES] = {};

                for (unsigned side = 0; side < maker->n_sides; side++)
                        if (sides[side])
                                counts[side] = sides[side][i];
                line->key = info->columns[i].shown;
                r = add_line(maker, line, info->columns[i].unit, info->columns[i].rule, counts);
        }
        return r;
}

/* the choice among items */

static uint64_t done_in(const LineMaker *maker, const ItemPair *pair) {
        const HostPartInfo *info = &host_parts[maker->part];
        uint64_t done[HOST_SECTION_SIDES] = {};

        for (unsigned side = 0; side < maker->n_sides; side++) {
                const HostItem *item = pair->sides[side];

                if (item && maker->part == HOST_PART_CPU)
                        done[side] = host_cpu_time(item->counts, HOST_CPU_TIME_USED).n;
                /* The halves of two counters add up to no more than 64 bits. */
                for (unsigned i = 0; item && maker->part != HOST_PART_CPU && i < info->n_ranks; i++)
                        done[side] += item->counts[info->ranks[i]].n / 2;
        }
        if (maker->n_sides < 2)
                return done[0];
        /* One that went did something of which nothing is known. */
        if (!pair->sides[1])
                return 0;
        return done[1] >= done[0] ? done[1] - done[0] : done[0] - done[1];
}

static int compare_done(const void *a, const void *b) {
        const ItemPair *const *x = a, *const *y = b;

        if ((*x)->done != (*y)->done)
                return (*x)->done > (*y)->done ? -1 : 1;
        return ((*x)->place > (*y)->place) - ((*x)->place < (*y)->place);
}

static int cut_items(LineMaker *maker, ItemPair *pairs, size_t n, uint64_t limit) {
        _cleanup_(freep) ItemPair **order = NULL;

        if (limit == 0 || n <= limit)
                return 0;
        order = reallocarray(NULL, n, sizeof(*order));
        if (!order)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                pairs[i].done = done_in(maker, &pairs[i]);
                pairs[i].place = i;
                order[i] = &pairs[i];
        }
        qsort(order, n, sizeof(ItemPair *), compare_done);
        for (size_t i = limit; i < n; i++)
                order[i]->cut = true;
        maker->lines->n_cut = n - limit;
        return 0;
}

static int add_items(LineMaker *maker, uint64_t limit) {
        unsigned last = maker->n_sides - 1;
        const HostPart *after = part_of(maker, last), *before = part_of(maker, 0);
        size_t n = part_of(maker, 0)->n_items + part_of(maker, 1)->n_items;
        _cleanup_(freep) ItemPair *pairs = NULL;
        int r;

        if (n == 0)
                return 0;
        pairs = reallocarray(NULL, n, sizeof(*pairs));
        if (!pairs)
                return -ENOMEM;
        n = 0;
        for (size_t i = 0; i < after->n_items; i++) {
                ItemPair pair = {};

                pair.sides[last] = &after->items[i];
                if (last > 0)
                        pair.sides[0] = host_part_find(before, after->items[i].name, i);
                pairs[n++] = pair;
        }
        for (size_t i = 0; last > 0 && i < before->n_items; i++)
                if (!host_part_find(after, before->items[i].name, i))
                        pairs[n++] = (ItemPair){ .sides = { &before->items[i] } };
        r = cut_items(maker, pairs, n, limit);
        for (size_t i = 0; r == 0 && i < n; i++) {
                const Amount *counts[HOST_SECTION_SIDES] = {};
                HostLine line = {};

                if (pairs[i].cut)
                        continue;
                for (unsigned side = 0; side < maker->n_sides; side++) {
                        const HostItem *item = pairs[i].sides[side];

                        if (!item)
                                continue;
                        counts[side] = item->counts;
                        line.item = item->name;
                        line.kind = item->kind;
                        line.there[side] = true;
                }
                r = add_columns(maker, &line, counts);
        }
        return r;
}

int host_lines_make(HostLines *lines, HostPartId part,
                    const HostTotals totals[static HOST_SECTION_SIDES], unsigned n_sides,
                    bool same_boot, uint64_t limit) {
        LineMaker maker = {
                .lines = lines,
                .part = part,
                .totals = totals,
                .n_sides = n_sides,
                .same_boot = same_boot,
        };
        const HostPartInfo *info = &host_parts[part];
        unsigned last = n_sides - 1;
        const HostPart *after = &totals[last].parts[part], *before = &totals[0].parts[part];
        const Amount *all_cpus[HOST_SECTION_SIDES] = {};
        HostLine whole = { .item = part == HOST_PART_CPU ? HOST_CPU_ALL : NULL };
        int r = 0;

        if (same_boot && n_sides > 1)
                maker.elapsed_ns =
                        host_count_difference(HOST_RULE_SUM, totals[0].parts[part].at_boottime_ns,
                                              totals[1].parts[part].at_boottime_ns)
                                .n;
        for (unsigned side = 0; side < n_sides; side++) {
                all_cpus[side] = totals[side].parts[part].all_cpus;
                whole.there[side] = totals[side].parts[part].has;
        }
        if (part == HOST_PART_CPU)
                r = add_columns(&maker, &whole, all_cpus);
        for (size_t i = 0; r == 0 && i < after->n_numbers; i++)
                r = add_number(&maker, &after->numbers[i], last);
        for (size_t i = 0; r == 0 && last > 0 && i < before->n_numbers; i++) {
                bool found = false;

                for (size_t j = 0; j < after->n_numbers && !found; j++)
                        found = strcmp(after->numbers[j].name, before->numbers[i].name) == 0;
                if (!found)
                        r = add_number(&maker, &before->numbers[i], 0);
        }
        for (unsigned i = 0; r == 0 && part != HOST_PART_CPU && info->item && i < info->n_columns;
             i++) {
                Amount counts[HOST_SECTION_SIDES] = {};

                /* The time that all disks were busy says nothing: they work side by side. */
                if (info->columns[i].unit == HOST_UNIT_MS)
                        continue;
                for (unsigned side = 0; side < n_sides; side++)
                        counts[side] = host_totals_sum(&totals[side], part, i);
                whole.key = info->columns[i].shown;
                r = add_line(&maker, &whole, info->columns[i].unit, info->columns[i].rule, counts);
        }
        return r == 0 ? add_items(&maker, limit) : r;
}
