/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/host/host-totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "document/document-reader.h"
#include "json/json-scanner.h"

#define SECTOR_BYTES 512
#define KIB_BYTES 1024

void host_totals_done(HostTotals *totals) {
        for (unsigned i = 0; i < _HOST_PART_MAX; i++) {
                free(totals->parts[i].items);
                free(totals->parts[i].numbers);
        }
        *totals = (HostTotals){};
}

/* lookup */

Amount host_totals_number(const HostTotals *totals, HostPartId part, const char *name) {
        const HostPart *from = &totals->parts[part];

        for (size_t i = 0; i < from->n_numbers; i++)
                if (strcmp(from->numbers[i].name, name) == 0)
                        return from->numbers[i].count;
        return (Amount){};
}

const HostItem *host_part_find(const HostPart *part, const char *name, size_t hint) {
        if (hint < part->n_items && strcmp(part->items[hint].name, name) == 0)
                return &part->items[hint];
        for (size_t i = 0; i < part->n_items; i++)
                if (strcmp(part->items[i].name, name) == 0)
                        return &part->items[i];
        return NULL;
}

/* sums */

Amount host_cpu_time(const Amount cpu[static HOST_MAX_COLUMNS], HostCpuTime what) {
        static const unsigned rest[] = { HOST_CPU_IDLE, HOST_CPU_IOWAIT, HOST_CPU_STEAL };
        const HostPartInfo *info = &host_parts[HOST_PART_CPU];
        Amount sum = amount_of(0);

        for (size_t i = 0; i < info->n_ranks; i++)
                sum = amount_add(sum, cpu[info->ranks[i]]);
        for (size_t i = 0; what == HOST_CPU_TIME_ALL && i < ELEMENTSOF(rest); i++)
                sum = amount_add(sum, cpu[rest[i]]);
        return sum;
}

Amount host_totals_sum(const HostTotals *totals, HostPartId part, unsigned column) {
        const HostPart *from = &totals->parts[part];
        Amount sum = { .known = from->has };

        for (size_t i = 0; sum.known && i < from->n_items; i++) {
                const HostItem *item = &from->items[i];
                const Amount *count = &item->counts[column];

                if (item->kind == HOST_KIND_UNKNOWN)
                        sum.known = count->known && count->n == 0;
                else if (host_kinds[item->kind].is_whole)
                        sum.known = count->known;
                else
                        continue;
                sum.n = number_add_saturating(sum.n, count->n);
        }
        return sum.known ? sum : (Amount){};
}

/* units */

Amount host_value_of_unit(const HostTotals *totals, HostUnit unit, Amount count) {
        uint32_t hz = totals->user_hz;
        uint64_t seconds_ns;

        if (!count.known)
                return count;
        switch (unit) {
        case HOST_UNIT_COUNT:
        case HOST_UNIT_BYTES:
        case HOST_UNIT_HUNDREDTHS:
                break;
        case HOST_UNIT_KIB:
                count.n = number_multiply_saturating(count.n, KIB_BYTES);
                break;
        case HOST_UNIT_SECTORS:
                count.n = number_multiply_saturating(count.n, SECTOR_BYTES);
                break;
        case HOST_UNIT_MS:
                count.n = number_multiply_saturating(count.n, NSEC_PER_MSEC);
                break;
        case HOST_UNIT_TICKS:
                if (hz == 0)
                        return (Amount){};
                /* 10^9 / hz would lose the fraction of odd rates. */
                seconds_ns = number_multiply_saturating(count.n / hz, NSEC_PER_SEC);
                count.n = number_add_saturating(seconds_ns, count.n % hz * NSEC_PER_SEC / hz);
                break;
        }
        return count;
}

/* differences */

Amount host_count_difference(HostRule rule, Amount before, Amount after) {
        if (rule == HOST_RULE_LEVEL)
                return after;
        if (!before.known || !after.known)
                return (Amount){};
        if (after.n >= before.n)
                return amount_of(after.n - before.n);
        if (rule == HOST_RULE_SUM_32 && before.n <= UINT32_MAX)
                return amount_of(after.n + UINT32_MAX + 1 - before.n);
        return (Amount){};
}

int host_totals_difference(const HostTotals *before, const HostTotals *after, HostTotals *ret) {
        int r = 0;

        *ret = (HostTotals){ .user_hz = before->user_hz == after->user_hz ? after->user_hz : 0 };
        for (unsigned id = 0; r == 0 && id < _HOST_PART_MAX; id++) {
                const HostPart *old = &before->parts[id], *new = &after->parts[id];
                HostPart *part = &ret->parts[id];

                if (!old->has || !new->has)
                        continue;
                part->has = true;
                part->at_boottime_ns = new->at_boottime_ns;
                part->elapsed_ns = host_count_difference(HOST_RULE_SUM, old->at_boottime_ns,
                                                         new->at_boottime_ns);
                for (unsigned k = 0; k < host_parts[id].n_columns; k++)
                        part->all_cpus[k] = host_count_difference(
                                host_parts[id].columns[k].rule, old->all_cpus[k], new->all_cpus[k]);
                r = ARRAY_RESERVE(part->items, part->n_items_allocated, new->n_items);
                for (size_t i = 0; r == 0 && i < new->n_items; i++) {
                        const HostItem *item = host_part_find(old, new->items[i].name, i);
                        Amount *counts;

                        if (!item)
                                continue;
                        part->items[part->n_items] = new->items[i];
                        counts = part->items[part->n_items++].counts;
                        for (unsigned k = 0; k < host_parts[id].n_columns; k++)
                                counts[k] = host_count_difference(host_parts[id].columns[k].rule,
                                                                  item->counts[k], counts[k]);
                }
                if (r == 0)
                        r = ARRAY_RESERVE(part->numbers, part->n_numbers_allocated, new->n_numbers);
                for (size_t i = 0; r == 0 && i < new->n_numbers; i++) {
                        const HostNumber *number = &new->numbers[i];
                        /* Both sides mostly list the same ones. */
                        bool in_place = i < old->n_numbers &&
                                        strcmp(old->numbers[i].name, number->name) == 0;
                        Amount earlier = in_place ? old->numbers[i].count
                                                  : host_totals_number(before, (HostPartId) id,
                                                                       number->name);

                        part->numbers[part->n_numbers] = *number;
                        part->numbers[part->n_numbers++].count = host_count_difference(
                                host_groups[number->group].rule, earlier, number->count);
                }
        }
        return r;
}

/* reading */

#define MAX_CELLS 64 /* of a row; a later version may have more than we know */

/* A column is one of the part's, one of these, or of a later version. */
enum { COLUMN_NAME = HOST_MAX_COLUMNS, COLUMN_KIND, COLUMN_MAJOR, COLUMN_MINOR, COLUMN_UNKNOWN };

typedef struct PartScan {
        HostPartId id;
        HostPart *part;
        HostGroupId group;
        unsigned columns[MAX_CELLS];
        size_t n_columns;
} PartScan;

/* Names of a host fit. A thing with a longer one is no part of any, and is left out: false. */
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

static int scan_rows(PartScan *scan, JsonScanner *scanner) {
        HostPart *part = scan->part;
        JsonToken token;
        int r;

        if (scan->n_columns == 0)
                return json_scanner_fail(scanner, "the columns must come before the rows");
        r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);
        while (r == 0) {
                HostItem item = {};
                Amount count = {};
                Span text;
                bool has;

                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        return 0;
                if (token != JSON_TOKEN_ARRAY)
                        return json_scanner_fail(scanner, "a row must be an array");
                for (size_t i = 0; r == 0 && i < scan->n_columns; i++) {
                        unsigned column = scan->columns[i];

                        switch (column) {
                        case COLUMN_NAME:
                                r = json_scanner_text(scanner, &text);
                                if (r == 0)
                                        (void) copy_name(text, item.name);
                                break;
                        case COLUMN_KIND:
                                json_scanner_next(scanner, &token);
                                if (token == JSON_TOKEN_STRING)
                                        item.kind = host_kind_find(scanner->string);
                                else if (token != JSON_TOKEN_NULL)
                                        r = json_scanner_fail(scanner,
                                                              "a string or null is expected");
                                break;
                        case COLUMN_MAJOR:
                        case COLUMN_MINOR:
                                r = scan_count(scanner, &count);
                                has = r == 0 && count.known && count.n <= UINT32_MAX;
                                if (column == COLUMN_MAJOR)
                                        item.has_device = has;
                                *(column == COLUMN_MAJOR ? &item.major : &item.minor) =
                                        has ? (uint32_t) count.n : 0;
                                break;
                        case COLUMN_UNKNOWN:
                                r = json_scanner_next(scanner, &token);
                                if (r == 0 &&
                                    (token == JSON_TOKEN_OBJECT || token == JSON_TOKEN_ARRAY))
                                        r = json_scanner_skip(scanner);
                                else if (r == 0 && token == JSON_TOKEN_ARRAY_END)
                                        r = json_scanner_fail(scanner, "the row has too few cells");
                                break;
                        default:
                                r = scan_count(scanner, &item.counts[column]);
                        }
                }
                if (r == 0)
                        r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY_END);
                if (r != 0)
                        break;
                if (scan->id == HOST_PART_CPU && strcmp(item.name, HOST_CPU_ALL) == 0) {
                        memcpy(part->all_cpus, item.counts, sizeof(part->all_cpus));
                        continue;
                }
                if (item.name[0] == '\0')
                        continue;
                if (part->n_items == HOST_MAX_ITEMS)
                        return json_scanner_fail(scanner, "there are more rows than any host has");
                r = ARRAY_RESERVE(part->items, part->n_items_allocated, part->n_items + 1);
                if (r == 0)
                        part->items[part->n_items++] = item;
        }
        return r;
}

/* the object */

static int scan_member(void *userdata, JsonScanner *scanner, Span key) {
        static const char *const others[] = { "kind", "major", "minor" };
        PartScan *scan = userdata;
        const HostPartInfo *info = &host_parts[scan->id];
        JsonToken token;
        int r;

        if (span_is(key, "at_boottime_ns"))
                return scan_count(scanner, &scan->part->at_boottime_ns);
        if (span_is(key, "columns")) {
                r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);
                if (r != 0)
                        return r;
                for (;;) {
                        unsigned column = COLUMN_UNKNOWN;
                        Span name;

                        json_scanner_next(scanner, &token);
                        if (token == JSON_TOKEN_ARRAY_END)
                                return 0;
                        if (token != JSON_TOKEN_STRING)
                                return json_scanner_fail(scanner,
                                                         "the name of a column is expected");
                        if (scan->n_columns == MAX_CELLS)
                                return json_scanner_fail(scanner, "there are too many columns");
                        name = scanner->string;
                        for (unsigned i = 0; i < info->n_columns; i++)
                                if (span_is(name, info->columns[i].name))
                                        column = i;
                        for (unsigned i = 0; i < ELEMENTSOF(others); i++)
                                if (span_is(name, others[i]))
                                        column = COLUMN_KIND + i;
                        if (info->item && span_is(name, info->item))
                                column = COLUMN_NAME;
                        scan->columns[scan->n_columns++] = column;
                }
        }
        if (span_is(key, "rows"))
                return scan_rows(scan, scanner);
        for (unsigned i = 0; i < _HOST_GROUP_MAX; i++)
                if (span_is(key, host_groups[i].member)) {
                        scan->group = (HostGroupId) i;
                        return json_scanner_object(scanner, scan_number, scan);
                }
        return json_scanner_skip(scanner);
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
        JsonToken token;
        int r;

        if (json.n == 0)
                return 0;
        r = json_scanner_new_text(json, &limits, &scanner);
        if (r != 0)
                return r;
        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token == JSON_TOKEN_OBJECT) {
                scan.part->has = true;
                r = json_scanner_members(scanner, scan_member, &scan);
        } else {
                r = json_scanner_fail(scanner, "an object or null is expected");
        }
        if (r == 0)
                r = json_scanner_expect(scanner, JSON_TOKEN_END);
        if (r == JSON_E_MALFORMED)
                (void) snprintf(ret_complaint, HOST_COMPLAINT_BYTES,
                                "%.120s (at byte %" PRIu64 " of it)", scanner->complaint,
                                scanner->offset);
        return r;
}
