/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * OneSided
 *
 * Groups that only one side has: their number, and the main figures of the ten that ran most. Only
 * ten are kept in memory. Cgroups of the two sides that were compared with each other although they
 * have different names stand in a table with the reason why.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "render/quantity.h"
#include "session/session.h"
#include "view/view.h"

#define ONE_SIDED_SHOWN 10

/* A zeroed one is empty. Its owner puts the groups that are kept. */
typedef struct OneSided {
        json_object *groups[ONE_SIDED_SHOWN]; /* owned; in falling order of run time */
        Quantity run_times[ONE_SIDED_SHOWN];
        size_t n_kept;
        uint64_t n_groups;
        bool lacks_run_times; /* of some group it is not known how long it ran */
} OneSided;

/* @group is one of the interface that one side has. */
void one_sided_add(OneSided *list, json_object *group);
/*
 * Prints "only in BEFORE (12 groups)" and the table; nothing if there are none. @n_hidden: how many
 * more groups were not sent. 0, -ENOMEM, or the first failed write.
 */
_must_check_ int one_sided_print(const OneSided *list, const Session *session, const char *side,
                                 uint32_t user_hz, uint64_t n_hidden);

/*
 * Prints "Paired by content (3 cgroups)" and a table of the pairings in @reply; nothing if there
 * are none.
 */
_must_check_ int pairing_table_print(const Session *session, json_object *reply);
/* Warns about each pair of --pair that paired nothing. */
void pairing_warn_unmatched(const View *view, json_object *reply);
