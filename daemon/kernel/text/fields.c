/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/text/fields.h"

#include "base/number.h"

bool fields_put(Fields *fields, Span key, Span value) {
        size_t i = 0;
        uint64_t bit, number;

        while (i < fields->n_keys && !span_equal(fields->keys[i], key))
                i++;
        if (i == fields->n_keys)
                return false;

        bit = UINT64_C(1) << i;
        if (fields->seen & bit) {
                fields->present &= ~bit;
                fields->malformed = true;
        } else if (!number_parse_u64(value, &number)) {
                fields->malformed = true;
        } else {
                fields->values[i] = number;
                fields->present |= bit;
        }
        fields->seen |= bit;
        return true;
}
