/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/source.h"

#include <assert.h>
#include <string.h>

#include "base/macro.h"
#include "base/name.h"
#include "metric/metric.h"

#define STATE_NAME(id, name) name,
const char *const source_state_names[_SOURCE_STATE_MAX] = { SOURCE_STATES(STATE_NAME) };

#define OUTCOME_NAME(name) #name,
static const char *const outcome_names[] = { SOURCE_OUTCOMES(OUTCOME_NAME) };

#define BACKEND_NAME(id, name) name,
static const char *const backend_names[] = { SOURCE_BACKENDS(BACKEND_NAME) };

/*
 * A snapshot is complete without a source that was not requested, and without allocators' counters,
 * which few processes have, counts that only programs in the kernel can make, which are not to be
 * had everywhere, and commands, which are but names.
 */
bool source_table_is_complete(const SourceTable *table) {
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                if (id == SOURCE_JEMALLOC || id == SOURCE_EXITS || id == SOURCE_WAITS ||
                    id == SOURCE_REASONS || id == SOURCE_CMDLINE)
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

void source_write_json(JsonWriter *writer, SourceId id, const Source *source) {
#define REMEDY_ROW(in_reason, in_short) { in_reason, in_short },
        static const char *const remedies[][2] = { SOURCE_REMEDIES(REMEDY_ROW) };
        Span reason = span_of(source->state != SOURCE_STATE_OK ? source->reason : "");

        json_write_object(writer);
        json_write_member_text(writer, "name", metric_source_names[id]);
        json_write_member_text(writer, "state", source_state_names[source->state]);
        /*
         * A reason may contain a path with any bytes, which must be escaped. A reason that was read
         * from a file is valid UTF-8 and must not be escaped again.
         */
        if (reason.n > 0) {
                json_write_key(writer, "reason");
                if (utf8_is_valid(reason))
                        json_write_span(writer, reason);
                else
                        json_write_name(writer, reason);
        }
        for (size_t i = 0; i < ELEMENTSOF(remedies); i++)
                if (strstr(reason.bytes, remedies[i][0])) {
                        json_write_member_text(writer, "remedy", remedies[i][1]);
                        break;
                }
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
        size_t n = 0;
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
                scan->id = (SourceId) name_find(text, metric_source_names, _SOURCE_MAX);
        else if (is_state)
                source->state =
                        (SourceState) name_find(text, source_state_names, _SOURCE_STATE_MAX);
        else if (is_backend) {
                unsigned backend = name_find(text, backend_names, _SOURCE_BACKEND_MAX);

                /* That of a newer program is not known here. */
                source->backend = backend < _SOURCE_BACKEND_MAX ? (SourceBackend) backend
                                                                : SOURCE_BACKEND_NONE;
        } else {
                /* A newer program may write longer reasons: they end between two characters. */
                while (n < text.n) {
                        size_t k = utf8_character((Span){ text.bytes + n, text.n - n });

                        if (k == 0 || n + k >= sizeof(source->reason))
                                break;
                        n += k;
                }
                memcpy(source->reason, text.bytes, n);
                source->reason[n] = '\0';
        }
        return 0;
}

int source_table_scan_json(JsonScanner *scanner, SourceTable *ret) {
        bool seen[_SOURCE_MAX] = {};
        SourceTable table;
        JsonToken token;
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
                SourceScan scan = { .id = _SOURCE_MAX, .source = { .state = _SOURCE_STATE_MAX } };

                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        break;
                if (token != JSON_TOKEN_OBJECT)
                        return json_scanner_fail(scanner, "a source must be an object");
                r = json_scanner_members(scanner, on_member, &scan);
                if (r != 0)
                        return r;
                if (scan.source.state == SOURCE_STATE_OK)
                        scan.source.reason[0] = '\0';
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
