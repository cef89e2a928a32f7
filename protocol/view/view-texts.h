/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ViewTexts
 *
 * A few texts from outside that a view carries along, in their order. Fixed size and without
 * pointers, so that a view can be copied.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define VIEW_TEXTS_MAX 64u
#define VIEW_TEXTS_BYTES 4096u

typedef struct ViewTexts {
        unsigned n;
        uint16_t ends[VIEW_TEXTS_MAX];
        char bytes[VIEW_TEXTS_BYTES];
} ViewTexts;

/* False, and nothing added, when there is no room. */
_must_check_ bool view_texts_add(ViewTexts *texts, Span text);
Span view_texts_get(const ViewTexts *texts, unsigned index);
