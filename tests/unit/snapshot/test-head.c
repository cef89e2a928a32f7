/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/macro.h"
#include "snapshot/head.h"

static const JsonLimits limits = { .max_depth = 8, .max_token_bytes = 4096 };

static int scan(Span json, Head *ret) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;

        ck_assert_int_eq(json_scanner_new_text(json, &limits, &scanner), 0);
        return head_scan_json(scanner, ret);
}

static void write_head(const Head *head, Buffer *ret) {
        JsonWriter writer;

        buffer_init(ret, 0);
        json_writer_init(&writer, ret);
        head_write_json(&writer, head);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
}

/* The origin is borrowed, so there is no head_done(). */
static Head full_head(void) {
        static char origin[] = "{\"name\":\"elsewhere\",\"uid\":7,\"hostName\":\"far\"}";

        return (Head){
                .name = "before",
                .tagged = true,
                .format_version = 1,
                .tool_version = "1.2",
                .host_name = "node-1",
                .machine_id = "0123456789abcdef0123456789abcdef",
                .boot_id = "fedcba9876543210fedcba9876543210",
                .kernel_release = "6.18.0-test",
                .backend = "procfs",
                .has_start_realtime = true,
                .start_realtime_ns = UINT64_MAX,
                .has_end_realtime = true,
                .end_realtime_ns = 0,
                .has_start_boottime = true,
                .start_boottime_ns = 1,
                .has_end_boottime = true,
                .end_boottime_ns = 2,
                .has_threads = true,
                .threads = 3,
                .has_processes = true,
                .processes = 4,
                .has_uid = true,
                .uid = UINT32_MAX,
                .has_size = true,
                .size_bytes = 5,
                .has_complete = true,
                .complete = false,
                .has_cost = true,
                .cost_wall_ns = 6,
                .cost_cpu_ns = 7,
                .cost_peak_rss_bytes = 8,
                .has_user_hz = true,
                .user_hz = 100,
                .has_page_size = true,
                .page_size = 4096,
                .has_document_bytes = true,
                .document_bytes = UINT64_MAX,
                .has_taskstats_version = true,
                .taskstats_version = 16,
                .has_smaps_requested = true,
                .smaps_requested = true,
                .smaps_mode = "small",
                .has_smaps_max_rss = true,
                .smaps_max_rss_bytes = 0,
                .has_smaps_max_processes = true,
                .smaps_max_processes = 64,
                .has_heap_requested = true,
                .heap_requested = false,
                .ledger_id = "00112233445566778899aabbccddeeff",
                .has_ledger_since = true,
                .ledger_since_boottime_ns = 0,
                .has_waits_since = true,
                .waits_since_boottime_ns = UINT64_MAX,
                .reasons_id = "ffeeddccbbaa99887766554433221100",
                .has_reasons_since = true,
                .reasons_since_boottime_ns = 11,
                .imported_from = origin,
                .has_allocated = true,
                .allocated_bytes = 4096,
                .has_published = true,
                .published_realtime_ns = 9,
        };
}

START_TEST(a_full_head_is_written_as_the_contract_says) {
        Head head = full_head();
        Buffer json;

        write_head(&head, &json);
        ck_assert(span_is(
                buffer_span(&json),
                "{\"name\":\"before\",\"tagged\":true,\"formatVersion\":1,\"toolVersion\":\"1.2\","
                "\"hostName\":\"node-1\",\"machineId\":\"0123456789abcdef0123456789abcdef\","
                "\"bootId\":\"fedcba9876543210fedcba9876543210\","
                "\"startRealtimeNs\":18446744073709551615,\"endRealtimeNs\":0,"
                "\"startBoottimeNs\":1,\"endBoottimeNs\":2,\"kernelRelease\":\"6.18.0-test\","
                "\"threads\":3,\"processes\":4,\"sizeBytes\":5,\"allocatedBytes\":4096,"
                "\"publishedRealtimeNs\":9,\"uid\":4294967295,"
                "\"backend\":\"procfs\",\"complete\":false,\"userHz\":100,\"pageSize\":4096,"
                "\"documentBytes\":18446744073709551615,\"taskstatsVersion\":16,"
                "\"smapsMode\":\"small\",\"smapsMaxRssBytes\":0,\"smapsMaxProcesses\":64,"
                "\"heapRequested\":false,"
                "\"ledgerId\":\"00112233445566778899aabbccddeeff\",\"ledgerSinceBoottimeNs\":0,"
                "\"waitsSinceBoottimeNs\":18446744073709551615,"
                "\"reasonsId\":\"ffeeddccbbaa99887766554433221100\",\"reasonsSinceBoottimeNs\":11,"
                "\"smapsRequested\":true,"
                "\"cost\":{\"wallNs\":6,\"cpuNs\":7,\"peakRssBytes\":8},"
                "\"importedFrom\":{\"name\":\"elsewhere\",\"uid\":7,\"hostName\":\"far\"}}"));
        buffer_done(&json);
}
END_TEST

START_TEST(unknown_members_are_left_out) {
        Head head = {};
        Buffer json;

        write_head(&head, &json);
        ck_assert(span_is(buffer_span(&json), "{\"tagged\":false,\"formatVersion\":0}"));
        buffer_done(&json);
}
END_TEST

/* Writing what was read gives the same text, so nothing was lost or changed on the way. */
static void check_round_trip(const Head *head) {
        Buffer first, second;
        Head read;

        write_head(head, &first);
        ck_assert_int_eq(scan(buffer_span(&first), &read), 0);
        write_head(&read, &second);
        ck_assert(span_equal(buffer_span(&first), buffer_span(&second)));
        head_done(&read);
        buffer_done(&first);
        buffer_done(&second);
}

START_TEST(heads_survive_a_round_trip) {
        Head full = full_head(), empty = {}, strange = full_head();

        check_round_trip(&full);
        check_round_trip(&empty);
        /* The kernel takes any bytes as host name. */
        for (unsigned i = 1; i < HEAD_TEXT_BYTES; i++)
                strange.host_name[i - 1] = (char) i;
        strange.host_name[HEAD_TEXT_BYTES - 1] = '\0';
        check_round_trip(&strange);
}
END_TEST

START_TEST(a_recording_says_so_and_where_its_parts_are) {
        static const char text[] = "{\"fileKind\":\"recording\",\"beginBytes\":17,"
                                   "\"endBytes\":18,\"tagged\":false,\"formatVersion\":1}";
        Head head = { .format_version = 1 }, read;
        Buffer json;

        head.is_recording = head.has_parts = true;
        head.begin_bytes = 17;
        head.end_bytes = 18;
        write_head(&head, &json);
        ck_assert(span_is(buffer_span(&json), text));
        buffer_done(&json);
        check_round_trip(&head);
        ck_assert_int_eq(scan(SPAN_LITERAL(text), &read), 0);
        ck_assert(read.is_recording && read.begin_bytes == 17 && read.end_bytes == 18);
        head_done(&read);
        /* Kinds of later versions are not known. */
        ck_assert_int_eq(scan(SPAN_LITERAL("{\"fileKind\":\"other\",\"formatVersion\":1}"), &read),
                         0);
        ck_assert(!read.is_recording);
        head_done(&read);
}
END_TEST

START_TEST(any_bytes_of_a_host_name_come_back) {
        Head head = full_head(), read;
        Buffer json;

        for (unsigned i = 1; i < HEAD_TEXT_BYTES; i++)
                head.host_name[i - 1] = (char) i;
        head.host_name[HEAD_TEXT_BYTES - 1] = '\0';
        write_head(&head, &json);
        ck_assert_int_eq(scan(buffer_span(&json), &read), 0);
        ck_assert_str_eq(read.host_name, head.host_name);
        head_done(&read);
        buffer_done(&json);
}
END_TEST

START_TEST(unknown_members_are_skipped) {
        Head head;

        ck_assert_int_eq(scan(SPAN_LITERAL("{\"mood\":[1.5,{\"a\":null}],\"formatVersion\":7,"
                                           "\"cost\":{\"wallNs\":1,\"joules\":2.5}}"),
                              &head),
                         0);
        ck_assert_uint_eq(head.format_version, 7);
        ck_assert(!head.has_cost); /* not all of it is known */
        ck_assert(!head.has_threads && !head.has_uid && !head.has_start_realtime);
        head_done(&head);
}
END_TEST

static const char *const malformed_rows[] = {
        "null",
        "[]",
        "{}", /* the version is missing */
        "{\"formatVersion\":\"1\"}",
        "{\"formatVersion\":4294967296}",
        "{\"formatVersion\":-1}",
        "{\"formatVersion\":1,\"name\":1}",
        "{\"formatVersion\":1,\"name\":null}",
        "{\"formatVersion\":1,\"tagged\":1}",
        "{\"formatVersion\":1,\"tagged\":\"true\"}",
        "{\"formatVersion\":1,\"threads\":-1}",
        "{\"formatVersion\":1,\"threads\":1.5}",
        "{\"formatVersion\":1,\"threads\":18446744073709551616}",
        "{\"formatVersion\":1,\"uid\":4294967296}",
        "{\"formatVersion\":1,\"uid\":-1}",
        "{\"formatVersion\":1,\"complete\":\"yes\"}",
        "{\"formatVersion\":1,\"bootId\":\"\"}",
        "{\"formatVersion\":1,\"bootId\":\"0123456789abcdef0123456789abcde\"}",
        "{\"formatVersion\":1,\"bootId\":\"0123456789abcdef0123456789abcdeff\"}",
        "{\"formatVersion\":1,\"bootId\":\"0123456789abcdef0123456789abcdeg\"}",
        "{\"formatVersion\":1,\"machineId\":1}",
        "{\"formatVersion\":1,\"ledgerId\":null}",
        "{\"formatVersion\":1,\"ledgerId\":\"\"}",
        "{\"formatVersion\":1,\"ledgerId\":\"0123456789abcdef0123456789abcde-\"}",
        "{\"formatVersion\":1,\"ledgerSinceBoottimeNs\":-1}",
        "{\"formatVersion\":1,\"waitsSinceBoottimeNs\":\"1\"}",
        "{\"formatVersion\":1,\"cost\":1}",
        "{\"formatVersion\":1,\"cost\":{\"wallNs\":-1}}",
        "{\"formatVersion\":1,\"fileKind\":1}",
        "{\"formatVersion\":1,\"fileKind\":\"recording\"}", /* without its parts */
        "{\"formatVersion\":1,\"beginBytes\":-1}",
        "{\"formatVersion\":1,\"endBytes\":\"1\"}",
        "{\"formatVersion\":1,\"importedFrom\":null}",
        "{\"formatVersion\":1,\"importedFrom\":\"x\"}",
        "{\"formatVersion\":1,\"importedFrom\":[]}",
        "{\"formatVersion\":1,\"formatVersion\":1}",
        "{\"formatVersion\":1,\"importedFrom\":{\"a\":1,\"a\":1}}",
        "{\"formatVersion\":1",
};

START_TEST(malformed_heads_are_refused) {
        Head head = { .format_version = 4711 };

        ck_assert_int_eq(scan(span_of(malformed_rows[_i]), &head), JSON_E_MALFORMED);
        ck_assert_uint_eq(head.format_version, 4711);
}
END_TEST

static const struct {
        const char *key;
        size_t max;
} text_rows[] = {
        { "name", SNAPSHOT_NAME_MAX_CHARS },
        { "hostName", HEAD_TEXT_BYTES - 1 },
        { "toolVersion", HEAD_TEXT_BYTES - 1 },
        { "kernelRelease", HEAD_TEXT_BYTES - 1 },
        { "backend", 31 },
};

START_TEST(texts_fit_exactly_or_are_refused) {
        char json[1024], text[512];
        Head head;

        for (size_t excess = 0; excess < 2; excess++) {
                memset(text, 'x', sizeof(text));
                text[text_rows[_i].max + excess] = '\0';
                (void) snprintf(json, sizeof(json), "{\"formatVersion\":1,\"%s\":\"%s\"}",
                                text_rows[_i].key, text);
                ck_assert_int_eq(scan(span_of(json), &head), excess ? JSON_E_MALFORMED : 0);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("head");
        TCase *write = tcase_create("write"), *read = tcase_create("scan");

        tcase_add_test(write, a_full_head_is_written_as_the_contract_says);
        tcase_add_test(write, unknown_members_are_left_out);
        suite_add_tcase(suite, write);
        tcase_add_test(read, heads_survive_a_round_trip);
        tcase_add_test(read, a_recording_says_so_and_where_its_parts_are);
        tcase_add_test(read, any_bytes_of_a_host_name_come_back);
        tcase_add_test(read, unknown_members_are_skipped);
        tcase_add_loop_test(read, malformed_heads_are_refused, 0, ELEMENTSOF(malformed_rows));
        tcase_add_loop_test(read, texts_fit_exactly_or_are_refused, 0, ELEMENTSOF(text_rows));
        suite_add_tcase(suite, read);
        return check_main(suite);
}
