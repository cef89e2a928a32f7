/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/macro.h"
#include "metric/metric.h"
#include "snapshot/source.h"

static const JsonLimits limits = { .max_depth = 8, .max_token_bytes = 4096 };

static int scan(const char *json, SourceTable *ret) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;

        ck_assert_int_eq(json_scanner_new_text(span_of(json), &limits, &scanner), 0);
        return source_table_scan_json(scanner, ret);
}

START_TEST(a_source_is_written_as_the_contract_says) {
        static const struct {
                Source source;
                const char *json;
        } rows[] = {
                { { .state = SOURCE_STATE_OK,
                    .counts = { 1, 2, 3, 4, 5, 6 },
                    .reason = "not shown" },
                  "{\"name\":\"io\",\"state\":\"ok\",\"ok\":1,\"denied\":2,\"vanished\":3,"
                  "\"unsupported\":4,\"malformed\":5,\"other\":6}" },
                { { .state = SOURCE_STATE_UNAVAILABLE, .reason = "needs \"root\"" },
                  "{\"name\":\"io\",\"state\":\"unavailable\",\"reason\":\"needs \\\"root\\\"\","
                  "\"ok\":0,\"denied\":0,\"vanished\":0,\"unsupported\":0,\"malformed\":0,"
                  "\"other\":0}" },
                { { .state = SOURCE_STATE_UNAVAILABLE,
                    .counts = { 0, 0, 0, 4, 0, 0 },
                    .reason = "off: turn it on",
                    .switched_off = true },
                  "{\"name\":\"io\",\"state\":\"unavailable\",\"reason\":\"off: turn it on\","
                  "\"switchedOff\":true,\"ok\":0,\"denied\":0,\"vanished\":0,"
                  "\"unsupported\":4,\"malformed\":0,\"other\":0}" },
                { { .state = SOURCE_STATE_OK, .backend = SOURCE_BACKEND_BPF, .implausible = 7 },
                  "{\"name\":\"io\",\"state\":\"ok\",\"ok\":0,\"denied\":0,\"vanished\":0,"
                  "\"unsupported\":0,\"malformed\":0,\"other\":0,\"backend\":\"bpf\","
                  "\"implausible\":7}" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                JsonWriter writer;
                Buffer buffer;

                buffer_init(&buffer, 0);
                json_writer_init(&writer, &buffer);
                source_write_json(&writer, SOURCE_IO, &rows[i].source);
                ck_assert_int_eq(json_writer_finish(&writer), 0);
                ck_assert(span_is(buffer_span(&buffer), rows[i].json));
                buffer_done(&buffer);
        }
}
END_TEST

START_TEST(a_table_survives_a_round_trip) {
        SourceTable written = {}, read;
        JsonWriter writer;
        const char *text;
        Buffer buffer;

        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                Source *source = &written.sources[id];

                source->state = (SourceState) (id % _SOURCE_STATE_MAX);
                source->switched_off = id % 3 == 0;
                source->backend = (SourceBackend) (id % _SOURCE_BACKEND_MAX);
                for (unsigned k = 0; k < _SOURCE_OUTCOME_MAX; k++)
                        source->counts[k] = k == 0 ? UINT64_MAX : id * 10 + k;
                if (source->state != SOURCE_STATE_OK)
                        memset(source->reason, 'a' + (int) id, sizeof(source->reason) - 1);
        }
        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        source_table_write_json(&writer, &written);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        ck_assert_int_eq(scan(text, &read), 0);
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                ck_assert_uint_eq(read.sources[id].state, written.sources[id].state);
                ck_assert_str_eq(read.sources[id].reason, written.sources[id].reason);
                ck_assert_int_eq(read.sources[id].switched_off, written.sources[id].switched_off);
                ck_assert_uint_eq(read.sources[id].backend, written.sources[id].backend);
                ck_assert_mem_eq(read.sources[id].counts, written.sources[id].counts,
                                 sizeof(read.sources[id].counts));
        }
        buffer_done(&buffer);
}
END_TEST

static const struct {
        const char *before, *after;
} reason_rows[] = {
        { "Can't read /sys/fs/\xff/\n: no", "Can't read /sys/fs/\xee\xbf\xbf/\n: no" },
        { "half a \xe2\x82", "half a \xee\xbf\xa2\xee\xbe\x82" },
        { "what looks like our escape of a byte: \xee\xbf\xbf",
          "what looks like our escape of a byte: \xee\xbf\xbf" },
        { "\xc3\xa4", "\xc3\xa4" },
};

/*
 * A reason may contain a path with any bytes. Once it was read it is text, and stays the same
 * however often it is written again, for example when an exported file is imported.
 */
START_TEST(a_reason_of_any_bytes_becomes_text_once) {
        SourceTable table = {};

        (void) snprintf(table.sources[SOURCE_IO].reason, sizeof(table.sources[SOURCE_IO].reason),
                        "%s", reason_rows[_i].before);
        table.sources[SOURCE_IO].state = SOURCE_STATE_PARTIAL;
        for (unsigned i = 0; i < 2; i++) {
                JsonWriter writer;
                const char *text;
                Buffer buffer;

                buffer_init(&buffer, 0);
                json_writer_init(&writer, &buffer);
                source_table_write_json(&writer, &table);
                ck_assert_int_eq(json_writer_finish(&writer), 0);
                ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
                ck_assert_int_eq(scan(text, &table), 0);
                ck_assert_str_eq(table.sources[SOURCE_IO].reason, reason_rows[_i].after);
                buffer_done(&buffer);
        }
}
END_TEST

START_TEST(missing_sources_are_unavailable_with_a_reason) {
        SourceTable table;

        ck_assert_int_eq(scan("[{\"name\":\"stat\",\"state\":\"ok\",\"ok\":7}]", &table), 0);
        ck_assert_uint_eq(table.sources[SOURCE_STAT].state, SOURCE_STATE_OK);
        ck_assert_uint_eq(table.sources[SOURCE_STAT].counts[SOURCE_OUTCOME_ok], 7);
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                if (id == SOURCE_STAT)
                        continue;
                ck_assert_uint_eq(table.sources[id].state, id >= SOURCE_FIRST_LATER
                                                                   ? SOURCE_STATE_NOT_REQUESTED
                                                                   : SOURCE_STATE_UNAVAILABLE);
                ck_assert_str_ne(table.sources[id].reason, "");
        }
}
END_TEST

START_TEST(what_is_unknown_is_skipped) {
        SourceTable table;

        ck_assert_int_eq(scan("[{\"name\":\"tarot\",\"state\":\"ok\"},"
                              "{\"state\":\"ok\"},"
                              "{\"name\":\"stat\",\"state\":\"hazy\",\"ok\":7},"
                              "{\"name\":\"io\",\"state\":\"partial\",\"reason\":\"so\","
                              "\"mood\":[1.5,{}],\"backend\":\"telepathy\",\"denied\":3}]",
                              &table),
                         0);
        ck_assert_uint_eq(table.sources[SOURCE_STAT].state, SOURCE_STATE_UNAVAILABLE);
        ck_assert_uint_eq(table.sources[SOURCE_IO].state, SOURCE_STATE_PARTIAL);
        ck_assert_str_eq(table.sources[SOURCE_IO].reason, "so");
        ck_assert_uint_eq(table.sources[SOURCE_IO].counts[SOURCE_OUTCOME_denied], 3);
        ck_assert_uint_eq(table.sources[SOURCE_IO].backend, SOURCE_BACKEND_NONE);
}
END_TEST

START_TEST(a_long_reason_is_cut_at_a_character) {
        char json[2048], reason[SOURCE_REASON_BYTES + 8];
        SourceTable table;

        /* One ASCII character, then two-byte ones: the cut falls within one of these. */
        memset(reason, 0, sizeof(reason));
        reason[0] = 'a';
        for (size_t i = 1; i + 2 < sizeof(reason); i += 2)
                memcpy(reason + i, "\xc3\xa4", 2);
        (void) snprintf(json, sizeof(json),
                        "[{\"name\":\"io\",\"state\":\"partial\",\"reason\":\"%s\"}]", reason);
        ck_assert_int_eq(scan(json, &table), 0);
        ck_assert_uint_eq(strlen(table.sources[SOURCE_IO].reason), SOURCE_REASON_BYTES - 1);
        ck_assert_mem_eq(table.sources[SOURCE_IO].reason, reason, SOURCE_REASON_BYTES - 1);

        reason[1] = 'b';
        memmove(reason + 2, reason + 3, sizeof(reason) - 3);
        (void) snprintf(json, sizeof(json),
                        "[{\"name\":\"io\",\"state\":\"partial\",\"reason\":\"%s\"}]", reason);
        ck_assert_int_eq(scan(json, &table), 0);
        ck_assert_uint_eq(strlen(table.sources[SOURCE_IO].reason), SOURCE_REASON_BYTES - 2);
}
END_TEST

static const char *const malformed_rows[] = {
        "{}",
        "null",
        "[1]",
        "[null]",
        "[{\"name\":1}]",
        "[{\"state\":null}]",
        "[{\"reason\":{}}]",
        "[{\"ok\":-1}]",
        "[{\"ok\":1.0}]",
        "[{\"ok\":18446744073709551616}]",
        "[{\"ok\":\"1\"}]",
        "[{\"ok\":1,\"ok\":1}]",
        "[{\"name\":\"io\",\"state\":\"ok\"},{\"name\":\"io\",\"state\":\"ok\"}]",
        "[{\"name\":\"io\"",
};

START_TEST(malformed_tables_are_refused) {
        SourceTable table;

        memset(&table, 0x5a, sizeof(table));
        ck_assert_int_eq(scan(malformed_rows[_i], &table), JSON_E_MALFORMED);
        ck_assert_int_eq(table.sources[0].reason[0], 0x5a);
}
END_TEST

static const struct {
        SourceId id;
        SourceState state;
        bool is_complete;
} complete_rows[] = {
        { SOURCE_STAT, SOURCE_STATE_OK, true },
        { SOURCE_STAT, SOURCE_STATE_NOT_REQUESTED, true },
        { SOURCE_STAT, SOURCE_STATE_NOT_APPLICABLE, true },
        { SOURCE_STAT, SOURCE_STATE_PARTIAL, false },
        { SOURCE_STAT, SOURCE_STATE_UNAVAILABLE, false },
        { SOURCE_HOST, SOURCE_STATE_PARTIAL, false },
        { SOURCE_JEMALLOC, SOURCE_STATE_PARTIAL, true },
        { SOURCE_JEMALLOC, SOURCE_STATE_UNAVAILABLE, true },
        { SOURCE_EXITS, SOURCE_STATE_PARTIAL, true },
        { SOURCE_EXITS, SOURCE_STATE_UNAVAILABLE, true },
        { SOURCE_WAITS, SOURCE_STATE_UNAVAILABLE, true },
        { SOURCE_REASONS, SOURCE_STATE_PARTIAL, true },
        { SOURCE_REASONS, SOURCE_STATE_UNAVAILABLE, true },
};

START_TEST(one_source_decides_whether_all_is_complete) {
        SourceTable table = {};

        table.sources[complete_rows[_i].id].state = complete_rows[_i].state;
        ck_assert_int_eq(source_table_is_complete(&table), complete_rows[_i].is_complete);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("source");
        TCase *json = tcase_create("json"), *complete = tcase_create("complete");

        tcase_add_test(json, a_source_is_written_as_the_contract_says);
        tcase_add_test(json, a_table_survives_a_round_trip);
        tcase_add_loop_test(json, a_reason_of_any_bytes_becomes_text_once, 0,
                            ELEMENTSOF(reason_rows));
        tcase_add_test(json, missing_sources_are_unavailable_with_a_reason);
        tcase_add_test(json, what_is_unknown_is_skipped);
        tcase_add_test(json, a_long_reason_is_cut_at_a_character);
        tcase_add_loop_test(json, malformed_tables_are_refused, 0, ELEMENTSOF(malformed_rows));
        suite_add_tcase(suite, json);
        tcase_add_loop_test(complete, one_source_decides_whether_all_is_complete, 0,
                            ELEMENTSOF(complete_rows));
        suite_add_tcase(suite, complete);
        return check_main(suite);
}
