/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Amount
 *
 * A number that may not be known. Zeroed, it is not known.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/number.h"
#include "json/json-writer.h"

typedef struct Amount {
        bool known;
        uint64_t n; /* 0 while not known */
} Amount;

static inline Amount amount_of(uint64_t n) {
        return (Amount){ .known = true, .n = n };
}

/* Known if one of the two is; saturates. */
static inline Amount amount_add_known(Amount a, Amount b) {
        return (Amount){ .known = a.known || b.known, .n = number_add_saturating(a.n, b.n) };
}

/* Known if both are; saturates. */
static inline Amount amount_add(Amount a, Amount b) {
        return a.known && b.known ? amount_add_known(a, b) : (Amount){ .known = false };
}

/* The rest of @a without @b, at least 0; known if both are. */
static inline Amount amount_subtract(Amount a, Amount b) {
        if (!a.known || !b.known)
                return (Amount){ .known = false };
        return amount_of(a.n > b.n ? a.n - b.n : 0);
}

/* Writes a member; null while it is not known. */
static inline void amount_write_json(JsonWriter *writer, const char *key, Amount amount) {
        if (amount.known)
                json_write_member_u64(writer, key, amount.n);
        else
                json_write_member_null(writer, key);
}
