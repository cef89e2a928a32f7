/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * When
 *
 * Times and durations for people: local wall clock time to the second, ages in their two largest
 * units, and the times that a user can type.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define WHEN_CHARS 40

/* The parts of a time, for a table whose header has the zone. */
typedef enum WhenForm {
        WHEN_FULL,  /* "2026-11-20 15:35:01 UTC" */
        WHEN_CLOCK, /* "2026-11-20 15:35:01" */
        WHEN_ZONE,  /* "UTC", or "+0530" */
} WhenForm;

/* A local time, with the zone that holds then. */
void when_format(uint64_t realtime_ns, WhenForm form, char ret_text[static WHEN_CHARS]);
typedef enum WhenPrecision {
        WHEN_ROUGH, /* "8s", "5min 3s", "2h 5min", "3d 2h" */
        WHEN_EXACT, /* "8.250s", "5min 3.250s", "2h 5min 3s", "3d 2h 5min" */
} WhenPrecision;

void when_format_span(uint64_t span_ns, WhenPrecision precision, char ret_text[static WHEN_CHARS]);

/*
 * YYYY-MM-DD[ HH:MM[:SS]] in local time, today, yesterday, now, or an amount before now: -5min,
 * -2h, -3d (also -30s, -2w, and unit names in full). False if @text is none of these. A time before
 * 1970 becomes 0.
 */
bool when_parse(Span text, uint64_t now_realtime_ns, uint64_t *ret_realtime_ns);
