/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Groups with two columns that have no begin, as those of a comparison of totals. */

#include <check.h>

#include "analysis/group/group.h"

static const Columns two_columns = { .n = 2,
                                     .n_sides = 2,
                                     .sides = { { 0, SIDE_AFTER }, { 1, SIDE_AFTER } } };

static inline void fold_into(Group *group, unsigned side, const ThreadSample *sample) {
        ck_assert_int_eq(column_add(&two_columns.of[side], &group->of[side], NULL, sample), 0);
}
