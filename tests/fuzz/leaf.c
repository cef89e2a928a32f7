/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "fuzz.h"
#include "json/json-scanner.h"

static const JsonLimits limits = { .max_depth = 16, .max_token_bytes = 1 << 20 };

void leaf_expect_json(Span json) {
        fuzz_expect(json_check(json, &limits) == 0, "what was written is JSON: %.*s", (int) json.n,
                    json.bytes);
}

static void expect(int r) {
        fuzz_expect(r == 0, "valid JSON can be read");
}

/* Consumes one value. */
static Leaf read_leaf(JsonScanner *scanner) {
        Leaf leaf = { .kind = LEAF_OTHER };
        JsonToken token;

        expect(json_scanner_next(scanner, &token));
        if (token == JSON_TOKEN_NULL) {
                leaf.kind = LEAF_NULL;
        } else if (token == JSON_TOKEN_INTEGER) {
                leaf.kind = LEAF_NUMBER;
                leaf.negative = scanner->number.negative;
                leaf.number = scanner->number.magnitude;
        } else if (token == JSON_TOKEN_STRING) {
                Span text = scanner->string;

                leaf.kind = LEAF_TEXT;
                (void) snprintf(leaf.text, sizeof(leaf.text), "%.*s", (int) text.n, text.bytes);
        } else if (token == JSON_TOKEN_OBJECT || token == JSON_TOKEN_ARRAY) {
                expect(json_scanner_skip(scanner));
        }
        return leaf;
}

/* Moves the scanner in front of the value at @path; false when there is none. */
static bool find(JsonScanner *scanner, const char *path) {
        for (;;) {
                size_t n = strcspn(path, "/");
                Span key;

                expect(json_scanner_expect(scanner, JSON_TOKEN_OBJECT));
                for (;;) {
                        expect(json_scanner_member(scanner, &key));
                        if (!key.bytes)
                                return false;
                        if (span_equal(key, (Span){ path, n }))
                                break;
                        expect(json_scanner_skip(scanner));
                }
                if (path[n] == '\0')
                        return true;
                path += n + 1;
        }
}

Leaf leaf_at(Span json, const char *path) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;

        expect(json_scanner_new_text(json, &limits, &scanner));
        return find(scanner, path) ? read_leaf(scanner) : (Leaf){ .kind = LEAF_MISSING };
}

void leaf_each(Span json, const char *path, void (*on_leaf)(Span key, const Leaf *leaf, void *data),
               void *data) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        _cleanup_(buffer_done) Buffer name = {}; /* the scanner's own goes with the value */
        Span key;

        if (leaf_at(json, path).kind != LEAF_OTHER)
                return;
        expect(json_scanner_new_text(json, &limits, &scanner));
        (void) find(scanner, path);
        expect(json_scanner_expect(scanner, JSON_TOKEN_OBJECT));
        for (;;) {
                Leaf leaf;

                expect(json_scanner_member(scanner, &key));
                if (!key.bytes)
                        return;
                buffer_clear(&name);
                expect(buffer_append(&name, key.bytes, key.n));
                leaf = read_leaf(scanner);
                on_leaf(buffer_span(&name), &leaf, data);
        }
}

void leaf_expect_number(Span json, const char *path, bool has, uint64_t number) {
        Leaf leaf = leaf_at(json, path);

        fuzz_expect((leaf.kind == LEAF_NUMBER) == has, "%s is %s", path, has ? "there" : "absent");
        fuzz_expect(!has || (!leaf.negative && leaf.number == number), "%s is the file's", path);
}
