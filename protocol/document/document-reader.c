/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "document/document-reader.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/name.h"
#include "base/number.h"

int document_reader_init(DocumentReader *document, const DocumentKind *kind, void *userdata,
                         JsonRefill refill, void *refill_userdata, uint64_t max_bytes) {
        const JsonLimits limits = {
                .max_depth = SNAPSHOT_MAX_DEPTH,
                .max_token_bytes = SNAPSHOT_MAX_TOKEN_BYTES,
                .max_text_bytes = max_bytes,
        };

        *document = (DocumentReader){ .kind = kind, .userdata = userdata };
        buffer_init(&document->name, 0);
        buffer_init(&document->value, SNAPSHOT_MAX_VALUE_BYTES);
        return json_scanner_new_stream(refill, refill_userdata, &limits, &document->scanner);
}

void document_reader_done(DocumentReader *document) {
        document->scanner = json_scanner_free(document->scanner);
        buffer_done(&document->name);
        name_set_done(&document->names);
        buffer_done(&document->value);
}

/* what sections are read with */

/*
 * Every number of the format is a 64-bit integer. An object that is handed on unread is checked
 * here, because its reader could do nothing but refuse the document, too.
 */
static bool has_only_integers(Span json) {
        bool in_string = false;

        for (size_t i = 0; i < json.n; i++) {
                char c = json.bytes[i];

                if (in_string && c == '\\')
                        i++;
                else if (c == '"')
                        in_string = !in_string;
                else if (!in_string && c >= '0' && c <= '9') {
                        size_t start = i;

                        while (i + 1 < json.n && json.bytes[i + 1] >= '0' &&
                               json.bytes[i + 1] <= '9')
                                i++;
                        if (!number_parse_u64((Span){ json.bytes + start, i + 1 - start },
                                              &(uint64_t){ 0 }))
                                return false;
                        if (i + 1 < json.n &&
                            (json.bytes[i + 1] == '.' || (json.bytes[i + 1] | 0x20) == 'e'))
                                return false;
                }
        }
        return true;
}

/* The object whose opening token was read. */
static int take_object(DocumentReader *document, Span *ret_json) {
        int r;

        buffer_clear(&document->value);
        r = json_scanner_raw(document->scanner, &document->value);
        if (r == -EMSGSIZE)
                return document_fail(document, "the value is too long");
        if (r != 0)
                return r;
        *ret_json = buffer_span(&document->value);
        if (!has_only_integers(*ret_json))
                return document_fail(document, "a number within is not a 64-bit integer");
        return 0;
}

int document_object(DocumentReader *document, Span *ret_json) {
        JsonToken token;

        *ret_json = (Span){};
        json_scanner_next(document->scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token != JSON_TOKEN_OBJECT)
                return document_fail(document, "an object or null is expected");
        return take_object(document, ret_json);
}

int document_map(void *userdata, DocumentReader *document) {
        int r = name_set_truncate(&document->names, 0);

        return r < 0 ? r : json_scanner_expect(document->scanner, JSON_TOKEN_OBJECT);
}

int document_entry(DocumentReader *document, const char *twice, Span *ret_name, Span *ret_json) {
        size_t n_before = document->names.n, number;
        Span key;
        int r;

        *ret_name = *ret_json = (Span){};
        r = json_scanner_member(document->scanner, &key);
        if (r != 0 || !key.bytes)
                return r;
        /* Two escapes of one name are two keys to the scanner. */
        buffer_clear(&document->name);
        r = name_unescape(&document->name, key);
        if (r != 0)
                return r;
        r = name_set_add(&document->names, buffer_span(&document->name), &number);
        if (r != 0)
                return r;
        if (number < n_before)
                return document_fail(document, twice);
        r = json_scanner_expect(document->scanner, JSON_TOKEN_OBJECT);
        if (r != 0)
                return r;
        *ret_name = document->name.n > 0 ? buffer_span(&document->name) : SPAN_LITERAL("");
        return take_object(document, ret_json);
}

/* the document */

int document_reader_next(DocumentReader *document, const DocumentSection **ret) {
        const DocumentKind *kind = document->kind;
        char where[96] = "";
        bool more = false;
        int r = 0;

        if (!document->has_begun)
                r = json_scanner_expect(document->scanner, JSON_TOKEN_OBJECT);
        document->has_begun = true;
        while (r == 0 && !more && !document->has_ended) {
                size_t i = 0;
                Span key;

                if (document->section) {
                        r = document->section->next(document->userdata, document, &more);
                        if (r == 0 && !more)
                                document->section = NULL;
                        continue;
                }
                document->member = NULL;
                r = json_scanner_member(document->scanner, &key);
                if (r != 0)
                        break;
                if (!key.bytes) {
                        document->has_ended = true;
                        r = json_scanner_expect(document->scanner, JSON_TOKEN_END);
                        if (r == 0)
                                r = kind->end(document->userdata, document);
                        break;
                }
                while (i < kind->n_sections && !span_is(key, kind->sections[i].name))
                        i++;
                if (i == kind->n_sections) {
                        r = kind->member(document->userdata, document, key);
                        continue;
                }
                document->member = kind->sections[i].name;
                document->reading = &kind->sections[i];
                if (kind->sections[i].next)
                        document->section = &kind->sections[i];
                r = kind->sections[i].read(document->userdata, document);
        }
        if (r == JSON_E_MALFORMED) {
                if (document->element > 0)
                        (void) snprintf(where, sizeof(where), ", number %" PRIu64 "%s%s",
                                        document->element, document->column ? ", " : "",
                                        document->column ? document->column : "");
                (void) snprintf(document->complaint, sizeof(document->complaint), "%s%s%s%s",
                                document->member ? document->member : "", where,
                                document->member ? ": " : "", document->scanner->complaint);
        }
        if (r == 0)
                *ret = document->section;
        return r;
}
