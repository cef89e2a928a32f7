/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/uptime.h"

#include "base/macro.h"

#define AFTER 1

static bool age_of(const Uptimes *uptimes, const Group *group, uint64_t *ret) {
        const Aggregate *after = group->sides[AFTER];
        uint64_t start;

        if (!after || after->n_started == 0)
                return false;
        start = after->start_ticks / after->n_started;
        *ret = uptimes->last_start - MIN_OF(start, uptimes->last_start);
        return true;
}

void uptimes_init(Uptimes *uptimes, const GroupTable *table) {
        *uptimes = (Uptimes){ .oldest = 1 };
        for (size_t i = 0; i < table->n_groups; i++) {
                const Aggregate *after = table->groups[i]->sides[AFTER];

                if (after)
                        uptimes->last_start = MAX_OF(uptimes->last_start, after->last_start);
        }
        for (size_t i = 0; i < table->n_groups; i++) {
                uint64_t age;

                if (table->groups[i]->sides[0] && age_of(uptimes, table->groups[i], &age))
                        uptimes->oldest = MAX_OF(uptimes->oldest, age);
        }
}

bool uptimes_percent(const Uptimes *uptimes, const Group *group, double *ret) {
        uint64_t age;

        if (!age_of(uptimes, group, &age))
                return false;
        *ret = (double) age / (double) uptimes->oldest * 100;
        return true;
}
