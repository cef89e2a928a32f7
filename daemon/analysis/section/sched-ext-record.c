/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/sched-ext-record.h"

#define NUMBER_NAME(name) #name,
const char *const sched_ext_number_names[] = { SCHED_EXT_NUMBERS(NUMBER_NAME) };

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

        for (size_t i = 0; i < _SCHED_EXT_NUMBER_MAX; i++)
                if (span_is(key, sched_ext_number_names[i]))
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
