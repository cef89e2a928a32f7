/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/count-map.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"
#include "snapshot/snapshot-reader.h"

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
                reading = READING(scanner->number.magnitude);
                reading.negative = scanner->number.negative;
                good = !reading.negative || kind == READING_KIND_SIGNED;
        } else if (token == JSON_TOKEN_STRING) {
                reading.state = READING_MAX;
                good = kind == READING_KIND_LIMIT && span_is(scanner->string, "max");
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

Reading reading_merge(ReadingMerge rule, Reading a, Reading b) {
        bool both = a.state == READING_NUMBER && b.state == READING_NUMBER;

        switch (rule) {
        case READING_MERGE_SUM:
                if (both)
                        return READING(number_add_saturating(a.magnitude, b.magnitude));
                return a.state == READING_ABSENT ? b : a;
        case READING_MERGE_PEAK:
                if (both)
                        return reading_compare(a, b) >= 0 ? a : b;
                return a.state == READING_ABSENT ? b : a;
        case READING_MERGE_LARGEST:
                if (both)
                        return reading_compare(a, b) >= 0 ? a : b;
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

void reading_write_change(JsonWriter *writer, const Reading sides[static 2], Reading delta,
                          void (*write)(JsonWriter *writer, Reading reading)) {
        json_write_object(writer);
        json_write_key(writer, "before");
        write(writer, sides[0]);
        json_write_key(writer, "after");
        write(writer, sides[1]);
        json_write_key(writer, "delta");
        write(writer, delta);
        json_write_end(writer);
}

/* keys */

/* tsearch(3) compares pointers to keys: the key of a node, and the key that is searched. */
static int compare_keys(const void *a, const void *b) {
        const Span *left = a, *right = b;

        return span_compare(*left, *right);
}

static void keep(void *key _unused_) {
}

void key_tree_done(KeyTree *tree, void (*payload_done)(void *payload)) {
        KeyNode *node = tree->first;

        tdestroy(tree->root, keep);
        while (node) {
                KeyNode *next = node->next;

                if (payload_done)
                        payload_done(node->payload);
                free(node);
                node = next;
        }
        *tree = (KeyTree){};
}

KeyNode *key_tree_find(const KeyTree *tree, Span key) {
        void *const *found = tfind(&key, &tree->root, compare_keys);

        return found ? (KeyNode *) (void *) ((char *) *found - offsetof(KeyNode, key)) : NULL;
}

int key_tree_put(KeyTree *tree, size_t n_payload, Span key, KeyNode **ret) {
        KeyNode *node = key_tree_find(tree, key);
        char *bytes;

        if (node) {
                *ret = node;
                return 0;
        }
        node = calloc(1, sizeof(*node) + n_payload + key.n + 1);
        if (!node)
                return -ENOMEM;
        bytes = (char *) node->payload + n_payload;
        if (key.n > 0)
                memcpy(bytes, key.bytes, key.n);
        node->key = (Span){ bytes, key.n };
        if (!tsearch(&node->key, &tree->root, compare_keys)) {
                free(node);
                return -ENOMEM;
        }
        if (tree->last)
                tree->last->next = node;
        else
                tree->first = node;
        tree->last = node;
        tree->n++;
        *ret = node;
        return 0;
}

int key_node_compare(const void *a, const void *b) {
        const KeyNode *const *left = a, *const *right = b;

        return span_compare((*left)->key, (*right)->key);
}

int key_tree_list(const KeyTree *tree, KeyNodeCompare compare, KeyNode ***ret) {
        KeyNode **list = NULL;
        size_t n = 0;

        if (tree->n > 0) {
                list = calloc(tree->n, sizeof(*list));
                if (!list)
                        return -ENOMEM;
                for (KeyNode *node = tree->first; node; node = node->next)
                        list[n++] = node;
                qsort(list, n, sizeof(*list), compare);
        }
        *ret = list;
        return 0;
}

/* members */

int member_scan_value(JsonScanner *scanner, JsonOnMember on_member, void *userdata) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token != JSON_TOKEN_OBJECT)
                return json_scanner_fail(scanner, "an object or null is expected");
        return json_scanner_members(scanner, on_member, userdata);
}

int member_scan_text(Span json, JsonOnMember on_member, void *userdata,
                     char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        static const JsonLimits limits = {
                .max_depth = SNAPSHOT_MAX_DEPTH,
                .max_token_bytes = SNAPSHOT_MAX_TOKEN_BYTES,
                .max_text_bytes = SNAPSHOT_MAX_VALUE_BYTES,
        };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        int r;

        r = json_scanner_new_text(json, &limits, &scanner);
        if (r != 0)
                return r;
        scanner->input.is_checked = true;
        r = member_scan_value(scanner, on_member, userdata);
        if (r == 0)
                r = json_scanner_expect(scanner, JSON_TOKEN_END);
        if (r == JSON_E_MALFORMED)
                (void) snprintf(ret_complaint, MEMBER_COMPLAINT_BYTES,
                                "%.120s (at byte %" PRIu64 " of it)", scanner->complaint,
                                scanner->offset);
        return r;
}

void count_map_done(CountMap *map) {
        free(map->counts);
        *map = (CountMap){};
}

/* The index of @key, or where it belongs. */
static size_t position_of(const CountMap *map, Span key) {
        /* Files list their keys in the same order, so a new one mostly goes to the end. */
        if (map->n > 0 && span_compare(map->counts[map->n - 1].name->key, key) < 0)
                return map->n;
        return ARRAY_FIRST(map->n, i, span_compare(map->counts[i].name->key, key) >= 0);
}

int count_map_put(CountMap *map, const KeyNode *name, Count **ret) {
        size_t i = position_of(map, name->key);
        int r;

        if (i == map->n || !span_equal(map->counts[i].name->key, name->key)) {
                r = ARRAY_RESERVE(map->counts, map->n_allocated, map->n + 1);
                if (r != 0)
                        return r;
                memmove(&map->counts[i + 1], &map->counts[i], (map->n - i) * sizeof(*map->counts));
                map->counts[i] = (Count){ .name = name };
                map->n++;
        }
        *ret = &map->counts[i];
        return 0;
}

Reading count_map_get(const CountMap *map, Span key) {
        size_t i = position_of(map, key);

        if (i == map->n || !span_equal(map->counts[i].name->key, key) || map->counts[i].absent)
                return (Reading){};
        return READING(map->counts[i].value);
}

int count_map_merge(CountMap *map, const CountMap *from, CountRule rule) {
        Count *count;
        int r;

        for (size_t i = 0; i < from->n; i++) {
                const Count *other = &from->counts[i];
                ReadingMerge merge = rule ? rule(other->name->key) : READING_MERGE_SUM;

                r = count_map_put(map, other->name, &count);
                if (r != 0)
                        return r;
                count->absent |= other->absent;
                if (count->absent) {
                        count->value = 0;
                        continue;
                }
                /* A new count is 0, which changes neither a sum nor a peak of unsigned numbers. */
                count->value = reading_merge(merge, READING(count->value), READING(other->value))
                                       .magnitude;
        }
        return 0;
}

typedef struct CountScan {
        CountMap *map;
        KeyTree *names;
        uint64_t unit;
} CountScan;

static int scan_count(void *userdata, JsonScanner *scanner, Span key) {
        const CountScan *scan = userdata;
        KeyNode *name;
        uint64_t value;
        Count *count;
        int r;

        r = key_tree_put(scan->names, 0, key, &name);
        if (r != 0)
                return r;
        r = json_scanner_u64(scanner, &value);
        if (r != 0)
                return r;
        r = count_map_put(scan->map, name, &count);
        if (r != 0)
                return r;
        count->value = number_multiply_saturating(value, scan->unit);
        return 0;
}

int count_map_scan(CountMap *map, JsonScanner *scanner, KeyTree *names, uint64_t unit) {
        CountScan scan = { map, names, unit };

        return member_scan_value(scanner, scan_count, &scan);
}

int count_map_scan_text(CountMap *map, Span json, KeyTree *names, uint64_t unit,
                        char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        CountScan scan = { map, names, unit };

        return member_scan_text(json, scan_count, &scan, ret_complaint);
}

bool count_walk_next(CountWalk *walk, const CountMap *const maps[static 2], Span *ret_key,
                     Reading ret_sides[static 2]) {
        const Count *counts[2];
        const Count *first;

        for (size_t i = 0; i < 2; i++)
                counts[i] =
                        maps[i] && walk->at[i] < maps[i]->n ? &maps[i]->counts[walk->at[i]] : NULL;
        first = counts[0];
        if (!first || (counts[1] && span_compare(counts[1]->name->key, first->name->key) < 0))
                first = counts[1];
        if (!first)
                return false;

        *ret_key = first->name->key;
        for (size_t i = 0; i < 2; i++) {
                bool has = counts[i] && span_equal(counts[i]->name->key, *ret_key);

                ret_sides[i] = has && !counts[i]->absent ? READING(counts[i]->value) : (Reading){};
                walk->at[i] += has;
        }
        return true;
}
