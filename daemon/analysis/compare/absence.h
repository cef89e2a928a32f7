/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Absence
 *
 * Explains in words why a value is missing: what the capture said about the source that would have
 * it, that the value does not apply, or which input of a derived value is missing.
 */

#include "analysis/compare/row.h"
#include "snapshot/source.h"

#define ABSENCE_BYTES (SOURCE_REASON_BYTES + 128)

/* @sources of the side; NULL when its file records none. */
const char *absence_of_metric(const SourceTable *sources, MetricId id);
/* Explains values[@index] of @row, which must be absent. Returns @ret_text. */
const char *absence_of_value(const Row *row, unsigned index, const SourceTable *sources,
                             char ret_text[static ABSENCE_BYTES]);
