/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionCell
 *
 * Values of sections as people read them: on the ladder of their unit, "max" for a limit that is
 * not set, "-" for what was not measured. With raw, plain numbers without unit.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "report/section/section-row.h"

/* All append to @cell. A number, "max", a text, or null. */
_must_check_ int section_cell_value(Buffer *cell, json_object *value, SectionUnit unit, bool raw);
/* Of {before, after, delta}. */
_must_check_ int section_cell_delta(Buffer *cell, json_object *value, SectionUnit unit, bool raw);
/* *ret_large: half of what there was, or more. Nothing for units that have no amounts. */
_must_check_ int section_cell_percent(Buffer *cell, json_object *value, SectionUnit unit, bool raw,
                                      bool *ret_large);
/* "A→B", or one of them where they are alike. */
_must_check_ int section_cell_change(Buffer *cell, json_object *value, SectionUnit unit, bool raw);
/* cpu.max of one side: "50ms/100ms", "max/100ms". */
_must_check_ int section_cell_cpu_max(Buffer *cell, json_object *quota, json_object *period,
                                      bool raw);
