/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Fields
 *
 * Numbers collected by key. A key that comes twice, or a value that is not a whole number of 64
 * bits, is malformed and leaves its field absent for good; other keys are skipped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/span.h"

#define FIELDS_MAX 64

typedef struct Fields {
        const Span *keys; /* borrowed; at most FIELDS_MAX */
        size_t n_keys;
        uint64_t *values; /* borrowed; one per key, written where present */
        uint64_t present; /* bit per key */
        uint64_t seen;    /* bit per key that occurred, with any value */
        bool malformed;
} Fields;

/* False when @key is not one of the keys. */
bool fields_put(Fields *fields, Span key, Span value);
