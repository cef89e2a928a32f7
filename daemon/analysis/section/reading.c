/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/reading.h"

#include "base/number.h"

static const char *const kind_complaints[] = {
        [READING_KIND_COUNT] = "an integer from 0 to 2^64-1 or null is expected",
        [READING_KIND_SIGNED] = "an integer or null is expected",
        [READING_KIND_LIMIT] = "an integer from 0 to 2^64-1, \"max\" or null is expected",
};

int reading_scan(Reading *ret, JsonScanner *scanner, ReadingKind kind) {
        Reading reading = {};
        JsonToken token;
        bool good;

        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_INTEGER) {
                reading = READING(json_scanner_magnitude(scanner));
                reading.negative = json_scanner_negative(scanner);
                good = !reading.negative || kind == READING_KIND_SIGNED;
        } else if (token == JSON_TOKEN_STRING) {
                reading.state = READING_MAX;
                good = kind == READING_KIND_LIMIT && span_is(json_scanner_string(scanner), "max");
        } else {
                good = token == JSON_TOKEN_NULL;
        }
        if (!good)
                return json_scanner_fail(scanner, kind_complaints[kind]);
        *ret = reading;
        return 0;
}

int reading_compare(Reading a, Reading b) {
        int order = (a.magnitude > b.magnitude) - (a.magnitude < b.magnitude);

        if (a.negative != b.negative)
                return a.negative ? -1 : 1;
        return a.negative ? -order : order;
}

bool reading_equal(Reading a, Reading b) {
        if (a.state != b.state)
                return false;
        return a.state != READING_NUMBER || reading_compare(a, b) == 0;
}

static Reading largest(Reading a, Reading b) {
        return reading_compare(a, b) >= 0 ? a : b;
}

Reading reading_merge(ReadingMerge rule, Reading a, Reading b) {
        bool both = a.state == READING_NUMBER && b.state == READING_NUMBER;

        switch (rule) {
        case READING_MERGE_SUM:
                if (both)
                        return READING(number_add_saturating(a.magnitude, b.magnitude));
                return a.state == READING_ABSENT ? b : a;
        case READING_MERGE_PEAK:
                if (both)
                        return largest(a, b);
                return a.state == READING_ABSENT ? b : a;
        case READING_MERGE_LARGEST:
                if (both)
                        return largest(a, b);
                if (a.state == READING_MAX || b.state == READING_MAX)
                        return (Reading){ .state = READING_MAX };
                return (Reading){};
        case READING_MERGE_SMALLEST:
                if (both)
                        return reading_compare(a, b) <= 0 ? a : b;
                if (a.state == READING_ABSENT || b.state == READING_ABSENT)
                        return (Reading){};
                return a.state == READING_MAX ? b : a;
        }
        return (Reading){};
}

Reading reading_delta(Reading before, Reading after) {
        Reading delta = { .state = READING_NUMBER };

        if (before.state != READING_NUMBER || after.state != READING_NUMBER)
                return (Reading){};
        if (before.negative != after.negative) {
                delta.magnitude = number_add_saturating(before.magnitude, after.magnitude);
                delta.negative = after.negative;
                return delta;
        }
        if (after.magnitude >= before.magnitude) {
                delta.magnitude = after.magnitude - before.magnitude;
                delta.negative = after.negative && delta.magnitude > 0;
                return delta;
        }
        delta.magnitude = before.magnitude - after.magnitude;
        delta.negative = !after.negative;
        return delta;
}

void reading_write(JsonWriter *writer, Reading reading) {
        switch (reading.state) {
        case READING_ABSENT:
                json_write_null(writer);
                break;
        case READING_NUMBER:
                json_write_signed_u64(writer, reading.negative, reading.magnitude);
                break;
        case READING_MAX:
                json_write_text(writer, "max");
                break;
        }
}

void reading_write_sides(JsonWriter *writer, unsigned n_sides, const Reading *sides) {
        if (n_sides == 1) {
                reading_write(writer, sides[0]);
                return;
        }
        json_write_object(writer);
        json_write_key(writer, "before");
        reading_write(writer, sides[0]);
        json_write_key(writer, "after");
        reading_write(writer, sides[1]);
        json_write_key(writer, "delta");
        reading_write(writer, reading_delta(sides[0], sides[1]));
        json_write_end(writer);
}
