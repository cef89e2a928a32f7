/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-json.h"

#include <stdio.h>

#include "check-main.h"
#include "sectioned.h"

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
                sections_set_sources(sections, 0, &table);
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
        sections_set_sources(sections, 0, &table);
        sections_set_sources(sections, 1, &table);
        for (unsigned id = 0; id < _SECTION_MAX; id++) {
                text = written(sections, (SectionId) id, gaps);
                ck_assert_ptr_nonnull(strstr(text, "; after: "));
                ck_assert_ptr_nonnull(strstr(text, "xxx\"}"));
                ck_assert_uint_gt(strlen(text), 2 * (SOURCE_REASON_BYTES - 1));
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-reason");
        TCase *reasons = tcase_create("reasons");

        tcase_add_loop_test(reasons, a_null_has_the_reason_of_its_source, 0,
                            ELEMENTSOF(reason_rows));
        tcase_add_test(reasons, what_is_there_needs_no_reason);
        tcase_add_test(reasons, the_longest_reasons_fit);
        suite_add_tcase(suite, reasons);
        return check_main(suite);
}
