/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/sched-ext-record.h"

#define NUMBER_NAME(name) #name,
static const char *const number_names[] = { SCHED_EXT_NUMBERS(NUMBER_NAME) };

/* In the order of display. */
enum { POSITION_STATE, POSITION_NUMBERS, POSITION_OPS = POSITION_NUMBERS + _SCHED_EXT_NUMBER_MAX };

typedef struct SchedExtScan {
        SchedExtRecord *record;
        KeyTree *names;
} SchedExtScan;

static int scan_text(const KeyNode **ret, JsonScanner *scanner, KeyTree *names) {
        JsonToken token;
        KeyNode *node;
        Span text;
        int r;

        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token != JSON_TOKEN_STRING)
                return json_scanner_fail(scanner, "a string or null is expected");
        text = scanner->string;
        if (text.n == 0) /* format version 0: could not be read */
                return 0;
        r = key_tree_put(names, 0, text, &node);
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

bool sched_ext_next(unsigned n_sides, const SchedExtRecord records[static 2], size_t *position,
                    CountWalk *walk, SchedExtRow *ret) {
        const SchedExtRecord *a = &records[0], *b = &records[1];
        const CountMap *const maps[] = { &a->events, n_sides > 1 ? &b->events : NULL };
        size_t at = (*position)++;

        if (at == POSITION_STATE) {
                *ret = (SchedExtRow){ .attribute = SPAN_LITERAL("state"),
                                      .is_text = true,
                                      .texts = { a->state, b->state } };
                return true;
        }
        if (at < POSITION_OPS) {
                size_t i = at - POSITION_NUMBERS;

                *ret = (SchedExtRow){ .attribute = span_of(number_names[i]),
                                      .numbers = { a->numbers[i], b->numbers[i] } };
                return true;
        }
        if (at == POSITION_OPS && (a->ops || b->ops)) {
                *ret = (SchedExtRow){ .attribute = SPAN_LITERAL("ops"),
                                      .is_text = true,
                                      .texts = { a->ops, b->ops } };
                return true;
        }
        *ret = (SchedExtRow){};
        return count_walk_next(walk, maps, &ret->attribute, ret->numbers);
}

void sched_ext_members_write(JsonWriter *writer, unsigned n_sides, const SchedExtRow *row) {
        json_write_key(writer, "attr");
        json_write_span(writer, row->attribute);
        json_write_key(writer, "value");
        if (!row->is_text) {
                reading_write_sides(writer, n_sides, row->numbers);
                return;
        }
        if (n_sides > 1)
                json_write_object(writer);
        for (unsigned side = 0; side < n_sides; side++) {
                if (n_sides > 1)
                        json_write_key(writer, side == 0 ? "before" : "after");
                if (row->texts[side])
                        json_write_span(writer, row->texts[side]->key);
                else
                        json_write_null(writer);
        }
        if (n_sides > 1) {
                json_write_member_null(writer, "delta");
                json_write_end(writer);
        }
}
