/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * OneSided
 *
 * Groups that only one of two snapshots has: how many there are, and the ten that ran most with
 * their main figures. However many come, ten are kept.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "render/quantity.h"
#include "session/session.h"

#define ONE_SIDED_SHOWN 10

typedef struct OneSided {
        json_object *groups[ONE_SIDED_SHOWN]; /* owned; the most run time first */
        Quantity run_times[ONE_SIDED_SHOWN];
        size_t n_kept;
        uint64_t n_groups;
} OneSided;

void one_sided_add(OneSided *list, json_object *group);
void one_sided_done(OneSided *list);

/*
 * "only in BEFORE (12 groups)" and the table; nothing when there are none. @n_hidden: further ones
 * that were not sent.
 */
_must_check_ int one_sided_print(const OneSided *list, const Session *session, const char *side,
                                 uint64_t n_hidden);
