/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionReason
 *
 * Why values of a row are null, in words: what the capture said of the source that would have had
 * them, or that the cgroup or process is not there on that side, or that it has no such value. One
 * reason serves a row, since its values are of one source.
 */

#include "analysis/section/sections.h"

/* The other side, both of them, and what joins them. */
#define SECTION_REASON_BYTES (2 * (SOURCE_REASON_BYTES + 128))

/* What a row knows of one side. */
typedef struct SectionGap {
        bool absent; /* a value of the row is null */
        bool there;  /* what the row is about is on that side */
} SectionGap;

/* Writes the member "reason" where a value is absent. @gaps: of the sides there are. */
void section_reason_write(const Sections *sections, JsonWriter *writer, SectionId id,
                          const SectionGap gaps[static SECTION_SIDES]);
