/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/source.h"

#include <assert.h>
#include <string.h>

#include "base/macro.h"
#include "base/name.h"
#include "metric/metric.h"

#define STATE_NAME(id, name) name,
static const char *const state_names[] = { SOURCE_STATES(STATE_NAME) };

#define OUTCOME_NAME(name) #name,
static const char *const outcome_names[] = { SOURCE_OUTCOMES(OUTCOME_NAME) };

#define BACKEND_NAME(id, name) name,
static const char *const backend_names[] = { SOURCE_BACKENDS(BACKEND_NAME) };

const char *source_state_name(SourceState state) {
        return state_names[state];
}

/*
 * What does not make a snapshot incomplete: allocators' counters, which few processes have, what
 * only programs in the kernel can count, which are not to be had everywhere, and commands, which
 * are but names.
 */
static bool is_optional(SourceId id) {
        return id == SOURCE_JEMALLOC || id == SOURCE_EXITS || id == SOURCE_WAITS ||
               id == SOURCE_REASONS || id == SOURCE_CMDLINE;
}

/* Neither does a source that was not requested. */
bool source_table_is_complete(const SourceTable *table) {
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                if (is_optional((SourceId) id))
                        continue;
                switch (table->sources[id].state) {
                case SOURCE_STATE_OK:
                case SOURCE_STATE_NOT_REQUESTED:
                case SOURCE_STATE_NOT_APPLICABLE:
                        continue;
                case SOURCE_STATE_PARTIAL:
                case SOURCE_STATE_UNAVAILABLE:
                case _SOURCE_STATE_MAX:
                        return false;
                }
        }
        return true;
}

/*
 * A reason may contain a path with any bytes, which must be escaped. A reason that was read from a
 * file is valid UTF-8 and must not be escaped again.
 */
static void write_reason(JsonWriter *writer, Span reason) {
        json_write_key(writer, "reason");
        if (utf8_is_valid(reason))
                json_write_span(writer, reason);
        else
                json_write_name(writer, reason);
}

/* In few words; NULL if the reason tells none. */
static const char *remedy_of(const char *reason) {
#define REMEDY_ROW(in_reason, in_short) { in_reason, in_short },
        static const char *const remedies[][2] = { SOURCE_REMEDIES(REMEDY_ROW) };

        for (size_t i = 0; i < ELEMENTSOF(remedies); i++)
                if (strstr(reason, remedies[i][0]))
                        return remedies[i][1];
        return NULL;
}

void source_write_json(JsonWriter *writer, SourceId id, const Source *source) {
        const char *remedy = source->state != SOURCE_STATE_OK ? remedy_of(source->reason) : NULL;

        json_write_object(writer);
        json_write_member_text(writer, "name", source_name(id));
        json_write_member_text(writer, "state", source_state_name(source->state));
        if (source->state != SOURCE_STATE_OK && source->reason[0] != '\0')
                write_reason(writer, span_of(source->reason));
        if (remedy)
                json_write_member_text(writer, "remedy", remedy);
        if (source->switched_off)
                json_write_member_bool(writer, "switchedOff", true);
        for (unsigned i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                json_write_member_u64(writer, outcome_names[i], source->counts[i]);
        if (source->backend != SOURCE_BACKEND_NONE)
                json_write_member_text(writer, "backend", backend_names[source->backend]);
        if (source->implausible > 0)
                json_write_member_u64(writer, "implausible", source->implausible);
        json_write_end(writer);
}

void source_table_write_json(JsonWriter *writer, const SourceTable *table) {
        json_write_array(writer);
        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                source_write_json(writer, (SourceId) id, &table->sources[id]);
        json_write_end(writer);
}

/* A newer program may write longer reasons. They are truncated, between two characters. */
static void copy_reason(Source *source, Span text) {
        size_t n = 0;

        while (n < text.n) {
                size_t n_character = utf8_character((Span){ text.bytes + n, text.n - n });

                if (n_character == 0 || n + n_character >= sizeof(source->reason))
                        break;
                n += n_character;
        }
        memcpy(source->reason, text.bytes, n);
        source->reason[n] = '\0';
}

/* That of a newer program is not known here. */
static SourceBackend backend_find(Span name) {
        unsigned found = name_find(name, backend_names, _SOURCE_BACKEND_MAX);

        return found == _SOURCE_BACKEND_MAX ? SOURCE_BACKEND_NONE : (SourceBackend) found;
}

/* An id or a state of _MAX is not known to this program. */
typedef struct SourceScan {
        SourceId id;
        Source source;
} SourceScan;

static int on_member(void *userdata, JsonScanner *scanner, Span key) {
        SourceScan *scan = userdata;
        Source *source = &scan->source;
        unsigned outcome = name_find(key, outcome_names, _SOURCE_OUTCOME_MAX);
        /* The key is borrowed only until the next token is read. */
        bool is_name = span_is(key, "name"), is_state = span_is(key, "state"),
             is_backend = span_is(key, "backend");
        Span text;
        int r;

        if (outcome < _SOURCE_OUTCOME_MAX)
                return json_scanner_u64(scanner, &source->counts[outcome]);
        if (span_is(key, "switchedOff"))
                return json_scanner_bool(scanner, &source->switched_off);

        if (!is_name && !is_state && !is_backend && !span_is(key, "reason"))
                return json_scanner_skip(scanner);
        r = json_scanner_text(scanner, &text);
        if (r != 0)
                return r;
        if (is_name)
                scan->id = source_find(text);
        else if (is_state)
                source->state = (SourceState) name_find(text, state_names, _SOURCE_STATE_MAX);
        else if (is_backend)
                source->backend = backend_find(text);
        else
                copy_reason(source, text);
        return 0;
}

/* One object, its opening token read already. */
static int scan_source(JsonScanner *scanner, SourceScan *ret) {
        SourceScan scan = { .id = _SOURCE_MAX, .source = { .state = _SOURCE_STATE_MAX } };
        int r;

        r = json_scanner_members(scanner, on_member, &scan);
        if (r != 0)
                return r;
        if (scan.source.state == SOURCE_STATE_OK)
                scan.source.reason[0] = '\0';
        *ret = scan;
        return 0;
}

int source_table_scan_json(JsonScanner *scanner, SourceTable *ret) {
        bool seen[_SOURCE_MAX] = {};
        SourceTable table;
        JsonToken token;
        SourceScan scan;
        int r;

        for (unsigned i = 0; i < _SOURCE_MAX; i++)
                table.sources[i] = i >= SOURCE_FIRST_LATER
                                           ? (Source){
                                                     .state = SOURCE_STATE_NOT_REQUESTED,
                                                     .reason = "the version that took this "
                                                               "snapshot did not read it yet",
                                             }
                                           : (Source){
                                                     .state = SOURCE_STATE_UNAVAILABLE,
                                                     .reason = "the snapshot does not tell how "
                                                               "this source could be read",
                                             };

        r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);
        if (r != 0)
                return r;
        for (;;) {
                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        break;
                if (token != JSON_TOKEN_OBJECT)
                        return json_scanner_fail(scanner, "a source must be an object");
                r = scan_source(scanner, &scan);
                if (r != 0)
                        return r;
                if (scan.id == _SOURCE_MAX)
                        continue;
                if (seen[scan.id])
                        return json_scanner_fail(scanner, "a source is listed twice");
                seen[scan.id] = true;
                if (scan.source.state != _SOURCE_STATE_MAX)
                        table.sources[scan.id] = scan.source;
        }
        *ret = table;
        return 0;
}
