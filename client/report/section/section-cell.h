/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionCell
 *
 * Values of sections as people read them: numbers with a readable unit, "max" for a limit that is
 * not set, "-" for a value that was not measured. With raw, numbers have no unit.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "report/section/section-row.h"

/* All append to @cell. @value is a number, a text such as "max", or null. */
void section_cell_value(Buffer *cell, json_object *value, SectionUnit unit, bool raw);

/* @value is {before, after, delta}. */
void section_cell_delta(Buffer *cell, json_object *value, SectionUnit unit, bool raw);
/* "-" for a unit without amounts. Returns whether the value changed by half or more. */
bool section_cell_percent(Buffer *cell, json_object *value, SectionUnit unit, bool raw);
/* Per second; of times of CPUs so many CPUs. */
void section_cell_rate(Buffer *cell, json_object *rate, SectionUnit unit, SectionId id, bool raw);
/* "BEFORE→AFTER", or one value if they are equal. */
void section_cell_change(Buffer *cell, json_object *value, SectionUnit unit, bool raw);

/* cpu.max of one side: "50ms/100ms", "max/100ms". */
void section_cell_cpu_max(Buffer *cell, json_object *quota, json_object *period, bool raw);
