/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Absence
 *
 * Why a value is not there, in words: what the capture said of the source that would have had it,
 * or that it does not apply, or which input of a derived value is missing.
 */

#include "analysis/compare/row.h"
#include "snapshot/source.h"

#define ABSENCE_BYTES (SOURCE_REASON_BYTES + 128)

/* @sources: of the side, NULL when its file records none. */
const char *absence_of_metric(const SourceTable *sources, MetricId id);
/* Why values[@index] of @row is absent; it must be. Returns @ret_text. */
const char *absence_of_value(const Row *row, unsigned index, const SourceTable *sources,
                             char ret_text[static ABSENCE_BYTES]);
