/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-json.h"

#include <json-c/json.h>
#include <stdio.h>

#include "check-main.h"
#include "sectioned.h"

#define LIMITED                                                                                \
        "{\"cpu\":{\"usage_usec\":7,\"nr_throttled\":1,\"throttled_usec\":2,"                  \
        "\"max_quota_us\":50000,\"max_period_us\":100000,\"weight\":100,\"weight_nice\":-5},"  \
        "\"memory\":{\"current\":4096,\"max\":\"max\",\"high\":null,\"low\":0,\"min\":0,"      \
        "\"stat\":{\"pgfault\":3,\"anon\":4096,\"file\":0},\"events\":{\"oom\":0}},"           \
        "\"pids\":{\"current\":2,\"max\":10},"                                                 \
        "\"psi\":{\"io\":{\"some\":{\"avg10\":150,\"avg60\":0,\"avg300\":0,\"total_usec\":9}," \
        "\"full\":null}}}"

/* One cgroup on one side. */
static const struct {
        const char *section;
        bool changed_only;
        const char *text;
} show_rows[] = {
        { "cgroup-stats", false,
          "{\"cgroup-stats\":[{\"cgroup\":\"/a\",\"cpu\":{\"usage_usec\":7,\"nr_throttled\":1,"
          "\"throttled_usec\":2},\"memory\":{\"current\":4096}}]}" },
        { "cgroup-limits", false,
          "{\"cgroup-limits\":[{\"cgroup\":\"/a\",\"cpu\":{\"max_quota_us\":50000,"
          "\"max_period_us\":100000,\"cpus\":0.5,\"weight\":100,\"weight_nice\":-5},"
          "\"memory\":{\"max\":\"max\",\"high\":null,\"low\":0,\"min\":0},"
          "\"pids\":{\"current\":2,\"max\":10},\"reason\":\"not recorded by this file\"}]}" },
        { "memory-stat", false,
          "{\"memory-stat\":["
          "{\"cgroup\":\"/a\",\"key\":\"anon\",\"unit\":\"bytes\",\"value\":4096},"
          "{\"cgroup\":\"/a\",\"key\":\"file\",\"unit\":\"bytes\",\"value\":0},"
          "{\"cgroup\":\"/a\",\"key\":\"pgfault\",\"unit\":\"count\",\"value\":3}]}" },
        { "memory-stat", true,
          "{\"memory-stat\":["
          "{\"cgroup\":\"/a\",\"key\":\"anon\",\"unit\":\"bytes\",\"value\":4096},"
          "{\"cgroup\":\"/a\",\"key\":\"pgfault\",\"unit\":\"count\",\"value\":3}]}" },
        { "memory-events", false, "{}" },
        { "pressure", false,
          "{\"pressure\":[{\"cgroup\":\"/a\",\"resource\":\"io\",\"row\":\"some\",\"avg10\":150,"
          "\"avg60\":0,\"avg300\":0,\"total_usec\":9}]}" },
};

START_TEST(one_side_is_numbers) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, show_rows[_i].section, 1);

        sections->view.changed_only = show_rows[_i].changed_only;
        sectioned_cgroup(sections, 0, "/a", LIMITED);
        ck_assert_str_eq(sectioned_text(sections), show_rows[_i].text);
}
END_TEST

// clang-format off
#define PAIR(before, after, delta) \
        "{\"before\":" before ",\"after\":" after ",\"delta\":" delta "}"
#define NONE PAIR("null", "null", "null")
#define REASON(text) ",\"reason\":\"" text "\"}"
#define GONE "there is no such cgroup"
#define UNRECORDED "not recorded by this file"

/* Two cgroups, one on each side only. */
static const struct {
        const char *section;
        const char *before, *after; /* of /b and /a */
        const char *text;
} absent_rows[] = {
        { "cgroup-stats", "{\"cpu\":{\"usage_usec\":0}}", "{\"memory\":{\"current\":5}}",
          "{\"cgroup-stats\":["
          "{\"cgroup\":\"/a\",\"cpu\":{\"usage_usec\":" NONE ",\"nr_throttled\":" NONE
          ",\"throttled_usec\":" NONE "},\"memory\":{\"current\":" PAIR("null", "5", "null") "}"
          REASON("before: " GONE "; after: " UNRECORDED) ","
          "{\"cgroup\":\"/b\",\"cpu\":{\"usage_usec\":" PAIR("0", "null", "null")
          ",\"nr_throttled\":" NONE ",\"throttled_usec\":" NONE
          "},\"memory\":{\"current\":" NONE "}"
          REASON("before: " UNRECORDED "; after: " GONE) "]}" },
        { "memory-stat", "{\"memory\":{\"stat\":{\"anon\":0}}}",
          "{\"memory\":{\"stat\":{\"pgfault\":2}}}",
          "{\"memory-stat\":["
          "{\"cgroup\":\"/a\",\"key\":\"pgfault\",\"unit\":\"count\",\"value\":"
          PAIR("null", "2", "null") REASON("before: " GONE) ","
          "{\"cgroup\":\"/b\",\"key\":\"anon\",\"unit\":\"bytes\",\"value\":"
          PAIR("0", "null", "null") REASON("after: " GONE) "]}" },
        { "memory-events", "{\"memory\":{\"events\":{\"oom\":0}}}", "{}",
          "{\"memory-events\":[{\"cgroup\":\"/b\",\"event\":\"oom\",\"unit\":\"count\","
          "\"count\":" PAIR("0", "null", "null") REASON("after: " GONE) "]}" },
        { "pressure", "{\"psi\":{\"irq\":{\"full\":{\"total_usec\":1}}}}", "{}",
          "{\"pressure\":[{\"cgroup\":\"/b\",\"resource\":\"irq\",\"row\":\"full\","
          "\"avg10\":" NONE ",\"avg60\":" NONE ",\"avg300\":" NONE
          ",\"total_usec\":" PAIR("1", "null", "null")
          REASON("before: " UNRECORDED "; after: " GONE) "]}" },
};

static const char limits_compared[] =
        "{\"cgroup-limits\":[{\"cgroup\":\"/a\",\"cpu\":{"
        "\"max_quota_us\":" PAIR("150000", "20000", "-130000")
        ",\"max_period_us\":" PAIR("100000", "100000", "0")
        ",\"cpus\":" PAIR("1.5", "0.2", "-1.3")
        ",\"weight\":" NONE ",\"weight_nice\":" NONE
        "},\"memory\":{\"max\":" PAIR("null", "\"max\"", "null")
        ",\"high\":" NONE ",\"low\":" NONE ",\"min\":" NONE
        "},\"pids\":{\"current\":" NONE ",\"max\":" NONE "}"
        REASON("before: " UNRECORDED "; after: " UNRECORDED) "]}";

#define NO_SCX REASON("before: this kernel has no sched_ext")
#define NO_SCX_AFTER REASON("before: this kernel has no sched_ext; after: " UNRECORDED)
static const char host_compared[] =
        "{\"smaps-rollup\":[{\"process\":\"a\xee\xbf\xbf\",\"key\":\"Rss\","
        "\"unit\":\"bytes\",\"value\":" PAIR("1024", "null", "null")
        REASON("after: no process of this name has readable memory maps") "],"
        "\"host-pressure\":[{\"resource\":\"cpu\",\"row\":\"some\","
        "\"avg10\":" PAIR("null", "1", "null") ",\"avg60\":" NONE ",\"avg300\":" NONE
        ",\"total_usec\":" NONE REASON("before: " UNRECORDED "; after: " UNRECORDED) "],"
        "\"sched-ext\":["
        "{\"attr\":\"state\",\"value\":" PAIR("null", "\"enabled\"", "null") NO_SCX ","
        "{\"attr\":\"switch_all\",\"value\":" PAIR("null", "1", "null") NO_SCX ","
        "{\"attr\":\"nr_rejected\",\"value\":" NONE NO_SCX_AFTER ","
        "{\"attr\":\"hotplug_seq\",\"value\":" NONE NO_SCX_AFTER ","
        "{\"attr\":\"enable_seq\",\"value\":" NONE NO_SCX_AFTER ","
        "{\"attr\":\"ops\",\"value\":" PAIR("null", "\"simple\"", "null") NO_SCX ","
        "{\"attr\":\"E\",\"value\":" PAIR("null", "3", "null") NO_SCX "]}";

static const char changed_compared[] =
        "{\"memory-stat\":[{\"cgroup\":\"/a\",\"key\":\"file\",\"unit\":\"bytes\","
        "\"value\":" PAIR("2", "3", "1") "}],\"memory-events\":[]}";
// clang-format on

START_TEST(absent_on_one_side_is_null_without_a_difference) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, absent_rows[_i].section, 2);

        sectioned_cgroup(sections, 0, "/b", absent_rows[_i].before);
        sectioned_cgroup(sections, 1, "/a", absent_rows[_i].after);
        ck_assert_str_eq(sectioned_text(sections), absent_rows[_i].text);
}
END_TEST

START_TEST(limits_compare_word_by_word) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, "cgroup-limits", 2);

        sectioned_cgroup(sections, 0, "/a",
                         "{\"cpu\":{\"max_quota_us\":150000,\"max_period_us\":100000}}");
        sectioned_cgroup(sections, 1, "/a",
                         "{\"cpu\":{\"max_quota_us\":20000,\"max_period_us\":100000},"
                         "\"memory\":{\"max\":\"max\"}}");
        sectioned_cgroup(sections, 1, "/without", "{\"cpu\":{\"max_quota_us\":\"max\"}}");
        ck_assert_str_eq(sectioned_text(sections), limits_compared);
}
END_TEST

START_TEST(unchanged_rows_can_be_left_out) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, "memory-stat,memory-events", 2);

        sections->view.changed_only = true;
        sectioned_cgroup(sections, 0, "/a",
                         "{\"memory\":{\"stat\":{\"anon\":1,\"file\":2},\"events\":{\"oom\":0}}}");
        sectioned_cgroup(sections, 1, "/a",
                         "{\"memory\":{\"stat\":{\"anon\":1,\"file\":3},\"events\":{\"oom\":0}}}");
        ck_assert_str_eq(sectioned_text(sections), changed_compared);
}
END_TEST

/* By the same name: a process of 1 KiB, one of 300 MiB, and one of nothing, not asked for. */
static void add_memory(Sections *sections, unsigned side, bool with_large, bool with_unasked) {
        ThreadSample sample;

        thread_sample_clear(&sample);
        sample.pcomm = SPAN_LITERAL("p");
        thread_sample_put(&sample, METRIC_rss_anon_bytes, 1024);
        thread_sample_put(&sample, METRIC_rss_file_bytes, 0);
        thread_sample_put(&sample, METRIC_rss_shmem_bytes, 0);
        thread_sample_put(&sample, METRIC_swap_bytes, 0);
        ck_assert_int_eq(sections_add_memory(sections, side, &sample, true), 0);
        ck_assert_int_eq(sections_add_smaps(sections, side, sample.pcomm,
                                            SPAN_LITERAL("{\"Pss\":1,\"Rss\":1}")),
                         0);
        thread_sample_put(&sample, METRIC_rss_anon_bytes, UINT64_C(300) << 20);
        if (with_large)
                ck_assert_int_eq(sections_add_memory(sections, side, &sample, false), 0);
        thread_sample_put(&sample, METRIC_rss_anon_bytes, 0);
        sample.smaps_unasked = true;
        if (with_unasked)
                ck_assert_int_eq(sections_add_memory(sections, side, &sample, false), 0);
}

// clang-format off
#define MEMORY(key, value) \
        "{\"process\":\"p\",\"key\":\"" key "\",\"unit\":\"bytes\",\"value\":" value
#define LEFT_OUT \
        "1 of 2 processes left out for size, 300 MiB: the bound was SmapsMaxRss=256M"

static const struct {
        unsigned n_sides;
        bool changed_only;
        const char *rows;
} left_out_rows[] = {
        { 1, false, "{\"smaps-rollup\":["
          MEMORY("Pss", "null") REASON(LEFT_OUT) ","
          MEMORY("Rss", "null") REASON(LEFT_OUT) ","
          MEMORY("rss_anon_bytes", "314573824") "},"
          MEMORY("rss_file_bytes", "0") "}," MEMORY("rss_shmem_bytes", "0") "},"
          MEMORY("swap_bytes", "0") "}]}" },
        { 1, true, "{\"smaps-rollup\":["
          MEMORY("Pss", "null") REASON(LEFT_OUT) ","
          MEMORY("rss_anon_bytes", "314573824") "}]}" },
        { 2, true, "{\"smaps-rollup\":["
          MEMORY("Pss", PAIR("null", "1024", "null")) REASON("before: " LEFT_OUT) ","
          MEMORY("Rss", PAIR("null", "1024", "null")) REASON("before: " LEFT_OUT) ","
          MEMORY("rss_anon_bytes", PAIR("314573824", "1024", "-314572800")) "}]}" },
};
// clang-format on

START_TEST(processes_that_were_left_out_are_told_with_their_size) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, NULL, left_out_rows[_i].n_sides);

        sections->view.changed_only = left_out_rows[_i].changed_only;
        sections->smaps_max_rss_bytes[0] = 256 << 20;
        add_memory(sections, 0, true, false);
        if (left_out_rows[_i].n_sides > 1)
                add_memory(sections, 1, false, false);
        ck_assert_str_eq(sectioned_text(sections), left_out_rows[_i].rows);
}
END_TEST

// clang-format off
#define LEFT_OUT_OF(n) \
        "1 of " n " processes left out for size, 300 MiB: the bound was SmapsMaxRss=256M"
#define UNASKED_OF(n) \
        "1 of " n " processes not asked for: SmapsMaxProcesses=64 reads the largest"
#define OF_ONE(anon, reason)                                                                       \
        "{\"smaps-rollup\":["                                                                      \
        MEMORY("Pss", "null") REASON(reason) ","                                                   \
        MEMORY("Rss", "null") REASON(reason) ","                                                   \
        MEMORY("rss_anon_bytes", anon) "},"                                                        \
        MEMORY("rss_file_bytes", "0") "}," MEMORY("rss_shmem_bytes", "0") "},"                     \
        MEMORY("swap_bytes", "0") "}]}"

static const struct {
        uint64_t max_processes; /* 0: a file of an earlier version, where {} says nothing */
        bool with_large;
        const char *rows;
} unasked_rows[] = {
        { 64, false, OF_ONE("1024", UNASKED_OF("2")) },
        { 64, true, OF_ONE("314573824", LEFT_OUT_OF("3") "; " UNASKED_OF("3")) },
        { 0, true, OF_ONE("314573824", LEFT_OUT_OF("3")) },
};
// clang-format on

START_TEST(processes_that_were_not_asked_for_are_told) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_PCOMM, NULL, 1);

        sections->smaps_max_rss_bytes[0] = 256 << 20;
        sections->smaps_max_processes[0] = unasked_rows[_i].max_processes;
        add_memory(sections, 0, unasked_rows[_i].with_large, true);
        ck_assert_str_eq(sectioned_text(sections), unasked_rows[_i].rows);
}
END_TEST

START_TEST(counts_without_a_bound_say_that_nothing_was_readable) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_PCOMM, NULL, 1);
        ThreadSample sample;

        thread_sample_clear(&sample);
        sample.pcomm = SPAN_LITERAL("p");
        thread_sample_put(&sample, METRIC_swap_bytes, 1024);
        ck_assert_int_eq(sections_add_memory(sections, 0, &sample, false), 0);
        ck_assert_str_eq(
                sectioned_text(sections),
                "{\"smaps-rollup\":[" MEMORY("Pss", "null")
                        REASON("no process of this name has readable memory maps") "," MEMORY(
                                "swap_bytes", "1024") "}]}");
}
END_TEST

START_TEST(the_host_has_rows_on_every_axis) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_PCOMM, NULL, 2);

        ck_assert_int_eq(
                sections_add_smaps(sections, 0, SPAN_LITERAL("a\xff"), SPAN_LITERAL("{\"Rss\":1}")),
                0);
        ck_assert_int_eq(sections_add_of_host(sections, 1, SECTION_HOST_PRESSURE,
                                              SPAN_LITERAL("{\"cpu\":{\"some\":{\"avg10\":1}},"
                                                           "\"io\":{\"some\":{\"avg10\":0}}}")),
                         0);
        ck_assert_int_eq(
                sections_add_of_host(sections, 1, SECTION_SCHED_EXT,
                                     SPAN_LITERAL("{\"state\":\"enabled\",\"switch_all\":1,"
                                                  "\"ops\":\"simple\",\"events\":{\"E\":3}}")),
                0);
        sectioned_cgroup(sections, 0, "/a", LIMITED);
        ck_assert_str_eq(sectioned_text(sections), host_compared);
}
END_TEST

/* The elements of the arrays of one name in all parts are one list. */
static void collect(json_object *into, const char *text) {
        json_object *part = json_tokener_parse(text);

        ck_assert_ptr_nonnull(part);
        json_object_object_foreach(part, name, rows) {
                json_object *list;

                if (!json_object_object_get_ex(into, name, &list)) {
                        list = json_object_new_array();
                        json_object_object_add(into, name, list);
                }
                for (size_t i = 0; i < json_object_array_length(rows); i++)
                        json_object_array_add(list,
                                              json_object_get(json_object_array_get_idx(rows, i)));
        }
        json_object_put(part);
}

static const size_t part_rows[] = { 0, 1, 100, 300, 1000 };

START_TEST(parts_make_up_the_whole) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, NULL, 2);
        json_object *whole = json_object_new_object(), *parts = json_object_new_object();
        SectionCursor cursor = {};
        size_t n_parts = 0;
        bool done = false;

        for (unsigned side = 0; side < 2; side++) {
                sectioned_cgroup(sections, side, "/a", LIMITED);
                sectioned_cgroup(sections, side, "/b", LIMITED);
                ck_assert_int_eq(
                        sections_add_of_host(sections, side, SECTION_HOST_PRESSURE,
                                             SPAN_LITERAL("{\"cpu\":{\"some\":{\"avg10\":1},"
                                                          "\"full\":{\"avg10\":0}}}")),
                        0);
                ck_assert_int_eq(sections_add_smaps(sections, side, SPAN_LITERAL("p"),
                                                    SPAN_LITERAL("{\"Rss\":1,\"Pss\":2}")),
                                 0);
        }
        ck_assert_int_eq(sections_add_of_host(sections, 0, SECTION_SCHED_EXT,
                                              SPAN_LITERAL("{\"events\":{\"E\":3,\"F\":4}}")),
                         0);
        for (unsigned part = 0; part < _HOST_PART_MAX; part++)
                ck_assert_int_eq(sections_add_of_host(sections, 1, SECTION_HOST_CPU + part,
                                                      SPAN_LITERAL("{\"counts\":{\"n\":5}}")),
                                 0);
        collect(whole, sectioned_text(sections));
        ck_assert_int_eq(json_object_object_length(whole), _SECTION_MAX);
        while (!done) {
                const char *text = sectioned_part(sections, &cursor, part_rows[_i], &done);

                collect(parts, text);
                ck_assert_uint_lt(++n_parts, 1000);
        }
        ck_assert_uint_gt(n_parts, 1);
        ck_assert_str_eq(json_object_to_json_string(parts), json_object_to_json_string(whole));
        json_object_put(whole);
        json_object_put(parts);
}
END_TEST

static const struct {
        SectionId id;
        SourceId source;
        SourceState state;
        const char *reason;
        bool there;
        const char *text; /* NULL: none is written */
} reason_rows[] = {
        { SECTION_CGROUP_STATS, SOURCE_CGROUP_STATS, SOURCE_STATE_OK, "", true,
          "this cgroup has no such file" },
        { SECTION_CGROUP_STATS, SOURCE_CGROUP_STATS, SOURCE_STATE_OK, "", false,
          "there is no such cgroup" },
        { SECTION_MEMORY_STAT, SOURCE_CGROUP_STATS, SOURCE_STATE_UNAVAILABLE,
          "cgroup v2 is not mounted", false, "cgroup v2 is not mounted" },
        { SECTION_MEMORY_EVENTS, SOURCE_CGROUP_STATS, SOURCE_STATE_PARTIAL, "denied to others",
          true, "this cgroup has no such line, or was not readable: denied to others" },
        { SECTION_PRESSURE, SOURCE_CGROUP_PRESSURE, SOURCE_STATE_UNAVAILABLE, "psi=0", true,
          "psi=0" },
        { SECTION_HOST_PRESSURE, SOURCE_HOST_PRESSURE, SOURCE_STATE_NOT_APPLICABLE, "", true,
          "not-applicable" },
        { SECTION_SMAPS_ROLLUP, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_NOT_REQUESTED, "", false,
          "not-requested" },
        { SECTION_SCHED_EXT, SOURCE_SCHED_EXT, SOURCE_STATE_OK, "", true,
          "this kernel has no such file, or there is no scheduler" },
        { SECTION_CGROUP_LIMITS, _SOURCE_MAX, SOURCE_STATE_OK, "", true,
          "not recorded by this file" },
        { SECTION_CGROUP_LIMITS, _SOURCE_MAX, SOURCE_STATE_OK, "", false,
          "there is no such cgroup" },
};

static const char *written(const Sections *sections, SectionId id,
                           const SectionGap gaps[static SECTION_SIDES]) {
        JsonWriter writer;
        const char *text;

        buffer_done(&sectioned_buffer);
        buffer_init(&sectioned_buffer, 0);
        json_writer_init(&writer, &sectioned_buffer);
        json_write_object(&writer);
        section_reason_write(sections, &writer, id, gaps);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&sectioned_buffer, &text), 0);
        return text;
}

START_TEST(a_null_has_the_reason_of_its_source) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, NULL, 1);
        SectionGap gaps[SECTION_SIDES] = { { .absent = true, .there = reason_rows[_i].there } };
        SourceTable table = {};
        char expected[512];

        if (reason_rows[_i].source < _SOURCE_MAX) {
                Source *source = &table.sources[reason_rows[_i].source];

                source->state = reason_rows[_i].state;
                (void) snprintf(source->reason, sizeof(source->reason), "%s",
                                reason_rows[_i].reason);
                sections->sources[0] = &table;
        }
        (void) snprintf(expected, sizeof(expected), "{\"reason\":\"%s\"}", reason_rows[_i].text);
        ck_assert_str_eq(written(sections, reason_rows[_i].id, gaps), expected);
}
END_TEST

START_TEST(what_is_there_needs_no_reason) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, NULL, 2);
        const SectionGap gaps[SECTION_SIDES] = { { .there = true }, { .there = true } };

        ck_assert_str_eq(written(sections, SECTION_PRESSURE, gaps), "{}");
}
END_TEST

START_TEST(the_longest_reasons_fit) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, NULL, 2);
        const SectionGap gaps[SECTION_SIDES] = { { .absent = true }, { .absent = true } };
        SourceTable table = {};
        const char *text;

        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                table.sources[id].state = SOURCE_STATE_PARTIAL;
                memset(table.sources[id].reason, 'x', SOURCE_REASON_BYTES - 1);
        }
        sections->sources[0] = &table;
        sections->sources[1] = &table;
        for (unsigned id = 0; id < _SECTION_MAX; id++) {
                text = written(sections, (SectionId) id, gaps);
                ck_assert_ptr_nonnull(strstr(text, "; after: "));
                ck_assert_ptr_nonnull(strstr(text, "xxx\"}"));
                ck_assert_uint_gt(strlen(text), 2 * (SOURCE_REASON_BYTES - 1));
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-json");
        TCase *rows = tcase_create("rows"), *reasons = tcase_create("reasons");

        tcase_add_loop_test(rows, one_side_is_numbers, 0, ELEMENTSOF(show_rows));
        tcase_add_loop_test(rows, absent_on_one_side_is_null_without_a_difference, 0,
                            ELEMENTSOF(absent_rows));
        tcase_add_test(rows, limits_compare_word_by_word);
        tcase_add_test(rows, unchanged_rows_can_be_left_out);
        tcase_add_test(rows, the_host_has_rows_on_every_axis);
        tcase_add_loop_test(rows, processes_that_were_left_out_are_told_with_their_size, 0,
                            ELEMENTSOF(left_out_rows));
        tcase_add_loop_test(rows, processes_that_were_not_asked_for_are_told, 0,
                            ELEMENTSOF(unasked_rows));
        tcase_add_test(rows, counts_without_a_bound_say_that_nothing_was_readable);
        tcase_add_loop_test(rows, parts_make_up_the_whole, 0, ELEMENTSOF(part_rows));
        suite_add_tcase(suite, rows);
        tcase_add_loop_test(reasons, a_null_has_the_reason_of_its_source, 0,
                            ELEMENTSOF(reason_rows));
        tcase_add_test(reasons, what_is_there_needs_no_reason);
        tcase_add_test(reasons, the_longest_reasons_fit);
        suite_add_tcase(suite, reasons);
        return check_main(suite);
}
