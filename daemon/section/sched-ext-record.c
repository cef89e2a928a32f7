/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "section/sched-ext-record.h"

#define NUMBER_NAME(name) #name,
static const char *const number_names[] = { SCHED_EXT_NUMBERS(NUMBER_NAME) };

/* In the order of display. */
enum { POSITION_STATE, POSITION_NUMBERS, POSITION_OPS = POSITION_NUMBERS + _SCHED_EXT_NUMBER_MAX };

typedef struct SchedExtScan {
        SchedExtRecord *record;
        KeyTree *names;
} SchedExtScan;

void sched_ext_record_done(SchedExtRecord *record) {
        count_map_done(&record->events);
}

static int scan_text(const KeyNode **ret, JsonScanner *scanner, KeyTree *names) {
        JsonToken token;
        KeyNode *node;
        Span text;
        int r;

        r = json_scanner_next(scanner, &token);
        if (r != 0 || token == JSON_TOKEN_NULL)
                return r;
        if (token != JSON_TOKEN_STRING)
                return json_scanner_fail(scanner, "a string or null is expected");
        text = json_scanner_string(scanner);
        if (text.n == 0) /* format version 0: could not be read */
                return 0;
        r = key_tree_put(names, text, &node);
        if (r == 0)
                *ret = node;
        return r;
}

static int scan_member(void *userdata, JsonScanner *scanner, Span key) {
        const SchedExtScan *scan = userdata;
        SchedExtRecord *record = scan->record;

        for (size_t i = 0; i < ELEMENTSOF(number_names); i++)
                if (span_is(key, number_names[i]))
                        return reading_scan(&record->numbers[i], scanner, READING_KIND_COUNT);
        if (span_is(key, "state"))
                return scan_text(&record->state, scanner, scan->names);
        if (span_is(key, "ops"))
                return scan_text(&record->ops, scanner, scan->names);
        if (span_is(key, "events"))
                return count_map_scan(&record->events, scanner, scan->names, 1);
        return json_scanner_skip(scanner);
}

int sched_ext_record_scan(SchedExtRecord *record, Span json, KeyTree *names,
                          char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        SchedExtScan scan = { record, names };
        int r;

        r = member_scan_text(json, scan_member, &scan, ret_complaint);
        record->has = r == 0;
        return r;
}

bool sched_ext_record_differs(const SchedExtRecord *a, const SchedExtRecord *b) {
        const CountMap *const maps[] = { &a->events, &b->events };
        CountWalk walk = {};
        Reading sides[2];
        Span key;

        if (a->has != b->has || a->state != b->state || a->ops != b->ops)
                return true;
        for (size_t i = 0; i < _SCHED_EXT_NUMBER_MAX; i++)
                if (!reading_equal(a->numbers[i], b->numbers[i]))
                        return true;
        while (count_walk_next(&walk, maps, &key, sides))
                if (!reading_equal(sides[0], sides[1]))
                        return true;
        return false;
}

static void begin_row(JsonWriter *writer, Span attribute) {
        json_write_object(writer);
        json_write_key(writer, "attr");
        json_write_span(writer, attribute);
        json_write_key(writer, "value");
}

static void write_text(JsonWriter *writer, const KeyNode *text) {
        if (text)
                json_write_span(writer, text->key);
        else
                json_write_null(writer);
}

static void write_text_row(JsonWriter *writer, const char *attribute, unsigned n_sides,
                           const KeyNode *const sides[static 2], bool *ret_absent) {
        begin_row(writer, span_of(attribute));
        for (unsigned side = 0; side < n_sides; side++)
                ret_absent[side] = !sides[side];
        if (n_sides == 1) {
                write_text(writer, sides[0]);
                return;
        }
        json_write_object(writer);
        json_write_key(writer, "before");
        write_text(writer, sides[0]);
        json_write_key(writer, "after");
        write_text(writer, sides[1]);
        json_write_member_null(writer, "delta");
        json_write_end(writer);
}

static void write_number_row(JsonWriter *writer, Span attribute, unsigned n_sides,
                             const Reading *sides, bool *ret_absent) {
        begin_row(writer, attribute);
        for (unsigned side = 0; side < n_sides; side++)
                ret_absent[side] = sides[side].state == READING_ABSENT;
        reading_write_sides(writer, n_sides, sides);
}

bool sched_ext_row_begin(JsonWriter *writer, unsigned n_sides,
                         const SchedExtRecord records[static 2], size_t *position, CountWalk *walk,
                         bool ret_absent[static 2]) {
        const SchedExtRecord *a = &records[0], *b = &records[1];
        const CountMap *const maps[] = { &a->events, n_sides > 1 ? &b->events : NULL };
        size_t at = (*position)++;
        Reading sides[2];
        Span key;

        if (at == POSITION_STATE) {
                write_text_row(writer, "state", n_sides,
                               (const KeyNode *const[]){ a->state, b->state }, ret_absent);
                return true;
        }
        if (at < POSITION_OPS) {
                size_t i = at - POSITION_NUMBERS;

                sides[0] = a->numbers[i];
                sides[1] = b->numbers[i];
                write_number_row(writer, span_of(number_names[i]), n_sides, sides, ret_absent);
                return true;
        }
        if (at == POSITION_OPS && (a->ops || b->ops)) {
                write_text_row(writer, "ops", n_sides, (const KeyNode *const[]){ a->ops, b->ops },
                               ret_absent);
                return true;
        }
        if (!count_walk_next(walk, maps, &key, sides))
                return false;
        write_number_row(writer, key, n_sides, sides, ret_absent);
        return true;
}
