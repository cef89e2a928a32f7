/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetWeight
 *
 * How much a group matters in two sets of captures: its account (account.h) of one second on each
 * side, which are the medians over the windows, and the share of the host that moved more
 * (weight.h). A side that has no thread of the group did nothing there; of one that has some, of
 * which no window tells the work, nothing is known.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "analysis/account/account.h"
#include "analysis/set/set-family.h"
#include "analysis/set/set-group.h"
#include "json/json-writer.h"

/* One side of a group. Of the account only the members below "rates" of SetGroup are known. */
typedef struct SetRates {
        bool has_group; /* some capture of the side has threads of the group */
        Account second; /* what the group did in a second */
} SetRates;

void set_rates_find(const SetFamily *family, const SetGroup *group, unsigned side, SetRates *ret);
/*
 * The share that moved more, after minus before. A host of unknown size counts as one CPU. False:
 * unknown.
 */
bool set_weight_between(const HostUse hosts[static SIDES], const SetRates rates[static SIDES],
                        double *ret);
/* The members "weight" and "rates" of a SetGroup. The weight on a host of unknown size is null. */
void set_weight_write_json(JsonWriter *writer, const SetFamily *family, const SetGroup *group);
