/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/host/host-totals.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "json/json-scanner.h"
#include "document/document-section.h"

#define MAX_CELLS 64 /* of a row; a later version may have more than we know */

/* What a column is: one of the part's, one of these, or of a later version. */
enum { COLUMN_NAME = HOST_MAX_COLUMNS, COLUMN_KIND, COLUMN_MAJOR, COLUMN_MINOR, COLUMN_UNKNOWN };

typedef struct PartScan {
        HostPartId id;
        HostPart *part;
        HostGroupId group;
        unsigned columns[MAX_CELLS];
        size_t n_columns;
} PartScan;

/* Names of a host fit. What has a longer one is no part of any, and is left out: false. */
static bool copy_name(Span name, char ret[static HOST_NAME_BYTES]) {
        if (name.n == 0 || name.n >= HOST_NAME_BYTES)
                return false;
        memcpy(ret, name.bytes, name.n);
        ret[name.n] = '\0';
        return true;
}

static int scan_count(JsonScanner *scanner, Amount *ret) {
        JsonToken token;

        *ret = (Amount){};
        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        ret->known = json_scanner_has_u64(scanner, &ret->n);
        if (token != JSON_TOKEN_INTEGER || !ret->known)
                return json_scanner_fail(scanner,
                                         "an integer from 0 to 2^64-1 or null is expected");
        return 0;
}

/* numbers of the host */

static int scan_number(void *userdata, JsonScanner *scanner, Span key) {
        PartScan *scan = userdata;
        HostPart *part = scan->part;
        HostNumber *number;
        int r;

        if (part->n_numbers == HOST_MAX_NUMBERS)
                return json_scanner_fail(scanner, "there are more numbers than any host has");
        r = ARRAY_RESERVE(part->numbers, part->n_numbers_allocated, part->n_numbers + 1);
        if (r != 0)
                return r;
        number = &part->numbers[part->n_numbers];
        number->group = scan->group;
        if (!copy_name(key, number->name))
                return json_scanner_skip(scanner);
        r = scan_count(scanner, &number->count);
        part->n_numbers += r == 0;
        return r;
}

/* items */

static unsigned find_column(HostPartId part, Span name) {
        const HostPartInfo *info = &host_parts[part];

        if (info->item && span_is(name, info->item))
                return COLUMN_NAME;
        if (span_is(name, "kind"))
                return COLUMN_KIND;
        if (span_is(name, "major"))
                return COLUMN_MAJOR;
        if (span_is(name, "minor"))
                return COLUMN_MINOR;
        for (unsigned i = 0; i < info->n_columns; i++)
                if (span_is(name, info->columns[i].name))
                        return i;
        return COLUMN_UNKNOWN;
}

static int scan_columns(PartScan *scan, JsonScanner *scanner) {
        JsonToken token;
        int r;

        r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);
        if (r != 0)
                return r;
        for (;;) {
                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        return 0;
                if (token != JSON_TOKEN_STRING)
                        return json_scanner_fail(scanner, "the name of a column is expected");
                if (scan->n_columns == MAX_CELLS)
                        return json_scanner_fail(scanner, "there are too many columns");
                scan->columns[scan->n_columns++] =
                        find_column(scan->id, json_scanner_string(scanner));
        }
}

static int scan_u32(JsonScanner *scanner, bool *ret_has, uint32_t *ret) {
        Amount count;
        int r;

        r = scan_count(scanner, &count);
        if (r != 0)
                return r;
        *ret_has = count.known && count.n <= UINT32_MAX;
        *ret = *ret_has ? (uint32_t) count.n : 0;
        return 0;
}

static int scan_kind(JsonScanner *scanner, HostKind *ret) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token != JSON_TOKEN_STRING)
                return json_scanner_fail(scanner, "a string or null is expected");
        *ret = host_kind_find(json_scanner_string(scanner));
        return 0;
}

static int skip_cell(JsonScanner *scanner) {
        JsonToken token;
        int r;

        r = json_scanner_next(scanner, &token);
        if (r == 0 && (token == JSON_TOKEN_OBJECT || token == JSON_TOKEN_ARRAY))
                return json_scanner_skip(scanner);
        if (r == 0 && token == JSON_TOKEN_ARRAY_END)
                return json_scanner_fail(scanner, "the row has too few cells");
        return r;
}

static int scan_cell(JsonScanner *scanner, unsigned column, HostItem *item) {
        bool has_minor;
        Span text;
        int r;

        switch (column) {
        case COLUMN_NAME:
                r = json_scanner_text(scanner, &text);
                if (r == 0)
                        (void) copy_name(text, item->name);
                return r;
        case COLUMN_KIND:
                return scan_kind(scanner, &item->kind);
        case COLUMN_MAJOR:
                return scan_u32(scanner, &item->has_device, &item->major);
        case COLUMN_MINOR:
                return scan_u32(scanner, &has_minor, &item->minor);
        case COLUMN_UNKNOWN:
                return skip_cell(scanner);
        default:
                return scan_count(scanner, &item->counts[column]);
        }
}

/* The opening bracket was read. */
static int scan_cells(PartScan *scan, JsonScanner *scanner, HostItem *ret) {
        int r = 0;

        *ret = (HostItem){};
        for (size_t i = 0; r == 0 && i < scan->n_columns; i++)
                r = scan_cell(scanner, scan->columns[i], ret);
        return r == 0 ? json_scanner_expect(scanner, JSON_TOKEN_ARRAY_END) : r;
}

static int keep_item(PartScan *scan, JsonScanner *scanner, const HostItem *item) {
        HostPart *part = scan->part;
        int r;

        if (scan->id == HOST_PART_CPU && strcmp(item->name, HOST_CPU_ALL) == 0) {
                memcpy(part->all_cpus, item->counts, sizeof(part->all_cpus));
                return 0;
        }
        if (item->name[0] == '\0')
                return 0;
        if (part->n_items == HOST_MAX_ITEMS)
                return json_scanner_fail(scanner, "there are more rows than any host has");
        r = ARRAY_RESERVE(part->items, part->n_items_allocated, part->n_items + 1);
        if (r == 0)
                part->items[part->n_items++] = *item;
        return r;
}

static int scan_rows(PartScan *scan, JsonScanner *scanner) {
        HostItem item;
        JsonToken token;
        int r;

        if (scan->n_columns == 0)
                return json_scanner_fail(scanner, "the columns must come before the rows");
        r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);
        while (r == 0) {
                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        return 0;
                if (token != JSON_TOKEN_ARRAY)
                        return json_scanner_fail(scanner, "a row must be an array");
                r = scan_cells(scan, scanner, &item);
                if (r == 0)
                        r = keep_item(scan, scanner, &item);
        }
        return r;
}

/* the object */

static int scan_member(void *userdata, JsonScanner *scanner, Span key) {
        PartScan *scan = userdata;

        if (span_is(key, "at_boottime_ns"))
                return scan_count(scanner, &scan->part->at_boottime_ns);
        if (span_is(key, "columns"))
                return scan_columns(scan, scanner);
        if (span_is(key, "rows"))
                return scan_rows(scan, scanner);
        for (unsigned i = 0; i < _HOST_GROUP_MAX; i++)
                if (span_is(key, host_groups[i].member)) {
                        scan->group = (HostGroupId) i;
                        return json_scanner_object(scanner, scan_number, scan);
                }
        return json_scanner_skip(scanner);
}

static int scan_part(PartScan *scan, JsonScanner *scanner) {
        JsonToken token;
        int r;

        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token != JSON_TOKEN_OBJECT)
                return json_scanner_fail(scanner, "an object or null is expected");
        scan->part->has = true;
        r = json_scanner_members(scanner, scan_member, scan);
        return r == 0 ? json_scanner_expect(scanner, JSON_TOKEN_END) : r;
}

int host_totals_scan(HostTotals *totals, HostPartId part, Span json,
                     char ret_complaint[static HOST_COMPLAINT_BYTES]) {
        static const JsonLimits limits = {
                .max_depth = SNAPSHOT_MAX_DEPTH,
                .max_token_bytes = SNAPSHOT_MAX_TOKEN_BYTES,
                .max_text_bytes = SNAPSHOT_MAX_VALUE_BYTES,
        };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        PartScan scan = { .id = part, .part = &totals->parts[part] };
        int r;

        if (json.n == 0)
                return 0;
        r = json_scanner_new_text(json, &limits, &scanner);
        if (r != 0)
                return r;
        r = scan_part(&scan, scanner);
        if (r == JSON_E_MALFORMED)
                (void) snprintf(ret_complaint, HOST_COMPLAINT_BYTES,
                                "%.120s (at byte %" PRIu64 " of it)",
                                json_scanner_complaint(scanner), json_scanner_offset(scanner));
        return r;
}
