/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/host-change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/cleanup.h"
#include "base/name.h"
#include "base/number.h"
#include "json/json-scanner.h"
#include "wire/limits.h"

/* The path of the object or array that is being read, such as "sched_tunables". */
typedef struct HostPath {
        HostFacts *facts;
        JsonScanner *scanner;
        Buffer path;
} HostPath;

/* Members that the prior tool names differently; their numbers mean the same. */
static const struct {
        const char *theirs;
        const char *ours;
} host_spellings[] = {
        { "total_memory_kb", "total_memory_kib" },
        { "hugepages_size_kb", "hugepages_size_kib" },
};

void host_facts_done(HostFacts *facts) {
        buffer_done(&facts->text);
        free(facts->facts);
}

static bool host_facts_has(const HostFacts *facts, const char *key) {
        for (size_t i = 0; i < facts->n; i++)
                if (strcmp(facts->text.bytes + facts->facts[i].key, key) == 0)
                        return true;
        return false;
}

static int host_facts_add(HostFacts *facts, Span key, Span value) {
        HostFact fact;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(host_spellings); i++) {
                if (span_is(key, host_spellings[i].theirs))
                        key = span_of(host_spellings[i].ours);
                /* Files for all versions of the prior tool have both. */
                if (span_is(key, host_spellings[i].ours) &&
                    host_facts_has(facts, host_spellings[i].ours))
                        return 0;
        }

        facts->text.max_bytes = LIMIT_VALUE_BYTES;
        fact.key = facts->text.n;
        buffer_append(&facts->text, key.bytes, key.n);
        buffer_append_byte(&facts->text, '\0');
        fact.value = facts->text.n;
        buffer_append(&facts->text, value.bytes, value.n);
        r = buffer_append_byte(&facts->text, '\0');
        if (r == 0)
                r = ARRAY_RESERVE(facts->facts, facts->n_allocated, facts->n + 1);
        if (r == 0)
                facts->facts[facts->n++] = fact;
        return r;
}

static int host_path_value(HostPath *path, JsonToken token);

/* Enters one member after the other; the name of an element of an array is its index. */
static int host_path_members(HostPath *path, bool is_array) {
        const size_t n_outer = path->path.n;
        char digits[NUMBER_U64_CHARS];
        JsonToken token = JSON_TOKEN_END;
        Span name;
        int r;

        for (uint64_t i = 0;; i++) {
                if (is_array) {
                        r = json_scanner_next(path->scanner, &token);
                        if (r != 0 || token == JSON_TOKEN_ARRAY_END)
                                return r;
                        name = (Span){ digits, number_format_u64(i, digits) };
                } else {
                        r = json_scanner_member(path->scanner, &name);
                        if (r != 0 || !name.bytes)
                                return r;
                }
                if (n_outer > 0)
                        buffer_append_byte(&path->path, '.');
                r = buffer_append(&path->path, name.bytes, name.n);
                if (r == 0 && !is_array)
                        r = json_scanner_next(path->scanner, &token);
                if (r == 0)
                        r = host_path_value(path, token);
                if (r != 0)
                        return r;
                buffer_truncate(&path->path, n_outer);
        }
}

/* Recurses; the scanner limits the depth. */
static int host_path_value(HostPath *path, JsonToken token) {
        Span key = buffer_span(&path->path);
        _cleanup_(buffer_done) Buffer digits = {};
        int r;

        switch (token) {
        case JSON_TOKEN_OBJECT:
                return host_path_members(path, false);
        case JSON_TOKEN_ARRAY:
                return host_path_members(path, true);
        case JSON_TOKEN_STRING:
                return host_facts_add(path->facts, key, path->scanner->string);
        case JSON_TOKEN_INTEGER:
        case JSON_TOKEN_REAL:
                buffer_init(&digits, LIMIT_TOKEN_BYTES);
                r = json_scanner_raw(path->scanner, &digits);
                return r == 0 ? host_facts_add(path->facts, key, buffer_span(&digits)) : r;
        case JSON_TOKEN_TRUE:
                return host_facts_add(path->facts, key, SPAN_LITERAL("true"));
        case JSON_TOKEN_FALSE:
                return host_facts_add(path->facts, key, SPAN_LITERAL("false"));
        case JSON_TOKEN_NULL: /* not known */
                return 0;
        case JSON_TOKEN_END:
        case JSON_TOKEN_OBJECT_END:
        case JSON_TOKEN_ARRAY_END:
        case JSON_TOKEN_KEY:
                break;
        }
        return JSON_E_MALFORMED;
}

static int host_facts_scan(HostFacts *facts, Span json) {
        static const JsonLimits limits = {
                .max_depth = LIMIT_DOCUMENT_DEPTH,
                .max_token_bytes = LIMIT_TOKEN_BYTES,
                .max_text_bytes = LIMIT_VALUE_BYTES,
        };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        HostPath path = { .facts = facts };
        int r;

        r = json_scanner_new_text(json, &limits, &scanner);
        if (r != 0)
                return r;
        path.scanner = scanner;
        buffer_init(&path.path, LIMIT_VALUE_BYTES);
        r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
        if (r == 0)
                r = host_path_members(&path, false);
        if (r == 0)
                r = json_scanner_expect(scanner, JSON_TOKEN_END);
        buffer_done(&path.path);
        return r;
}

static int host_fact_compare(const void *a, const void *b, void *text) {
        const HostFact *left = a, *right = b;
        const char *bytes = text;

        return strverscmp(bytes + left->key, bytes + right->key);
}

int host_facts_flatten(HostFacts *facts, Span json, const Head *head) {
        const struct {
                const char *key, *value;
        } of_head[] = {
                { "host_name", head->host_name },
                { "kernel_release", head->kernel_release },
        };
        int r;

        facts->is_sparse = head->format_version == 0;
        r = json.n > 0 ? host_facts_scan(facts, json) : 0;
        /* The head has what the context may lack. */
        for (size_t i = 0; i < ELEMENTSOF(of_head) && r == 0; i++) {
                _cleanup_(buffer_done) Buffer escaped = {};

                if (of_head[i].value[0] == '\0' || host_facts_has(facts, of_head[i].key))
                        continue;
                buffer_init(&escaped, 0);
                r = name_escape(&escaped, span_of(of_head[i].value));
                if (r == 0)
                        r = host_facts_add(facts, span_of(of_head[i].key), buffer_span(&escaped));
        }
        if (r == JSON_E_MALFORMED || r == -EMSGSIZE)
                return HOST_CHANGE_E_MALFORMED;
        if (r != 0)
                return r;
        if (facts->n > 1)
                qsort_r(facts->facts, facts->n, sizeof(*facts->facts), host_fact_compare,
                        facts->text.bytes);
        return 0;
}

int host_context_find(Span json, const char *key, Buffer *ret, bool *ret_found) {
        HostFacts facts = {};
        int r;

        *ret_found = false;
        r = json.n > 0 ? host_facts_scan(&facts, json) : 0;
        for (size_t i = 0; r == 0 && i < facts.n && !*ret_found; i++)
                if (strcmp(facts.text.bytes + facts.facts[i].key, key) == 0) {
                        *ret_found = true;
                        r = buffer_append_text(ret, facts.text.bytes + facts.facts[i].value);
                }
        host_facts_done(&facts);
        return r == JSON_E_MALFORMED || r == -EMSGSIZE ? 0 : r;
}

void host_changes_write(JsonWriter *writer, const HostFacts *before, const HostFacts *after) {
        size_t i = 0, j = 0;

        json_write_array(writer);
        while (i < before->n || j < after->n) {
                const HostFact *left = i < before->n ? &before->facts[i] : NULL;
                const HostFact *right = j < after->n ? &after->facts[j] : NULL;
                const char *left_key = left ? before->text.bytes + left->key : NULL;
                const char *right_key = right ? after->text.bytes + right->key : NULL;
                int order = !left ? 1 : !right ? -1 : strverscmp(left_key, right_key);
                const char *key = order <= 0 ? left_key : right_key;
                /* Files of earlier versions do not have it, which is no change of the host. */
                bool is_late = strcmp(key, HOST_CONTEXT_CGROUP_V1) == 0;
                const char *old = NULL, *new = NULL;

                if (order <= 0) {
                        old = before->text.bytes + left->value;
                        i++;
                }
                if (order >= 0) {
                        new = after->text.bytes + right->value;
                        j++;
                }
                if ((!old && (before->is_sparse || is_late)) ||
                    (!new && (after->is_sparse || is_late)) || (old && new &&strcmp(old, new) == 0))
                        continue;
                json_write_object(writer);
                json_write_member_text(writer, "key", key);
                json_write_key(writer, "before");
                if (old)
                        json_write_text(writer, old);
                else
                        json_write_null(writer);
                json_write_key(writer, "after");
                if (new)
                        json_write_text(writer, new);
                else
                        json_write_null(writer);
                json_write_end(writer);
        }
        json_write_end(writer);
}
