/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "sectioned.h"

#define CPUS(at, rows)                                                                          \
        "{\"at_boottime_ns\":" #at ",\"counts\":{\"ctxt\":" #at "},\"levels\":{\"threads\":7}," \
        "\"levels_hundredths\":{\"load1\":152},\"columns\":[\"cpu\",\"user_clock_ticks\","      \
        "\"nice_clock_ticks\",\"system_clock_ticks\",\"irq_clock_ticks\","                      \
        "\"softirq_clock_ticks\"],\"rows\":[" rows "]}"

#define DISKS(at, rows)                                                                \
        "{\"at_boottime_ns\":" #at ",\"columns\":[\"disk\",\"kind\",\"read_sectors\"," \
        "\"write_ms\"],\"rows\":[" rows "]}"

static void add(Sections *sections, unsigned side, HostPartId part, const char *json) {
        int r;

        sections->totals[side].user_hz = 100;
        r = sections_add_of_host(sections, side, SECTION_HOST_CPU + part, span_of(json));
        ck_assert_msg(r == 0, "%s", sections->complaint);
}

static void expect(const char *text, const char *words) {
        ck_assert_msg(strstr(text, words) != NULL, "%s\nis not in\n%.3000s", words, text);
}

static void expect_no(const char *text, const char *words) {
        ck_assert_msg(strstr(text, words) == NULL, "%s\nis in\n%.3000s", words, text);
}

/* A row of two sides that begins so; numbers are as they are written, @rest from the rate on. */
static void expect_pair(const char *text, const char *row, const char *before, const char *after,
                        const char *delta, const char *rest) {
        char words[512];

        (void) snprintf(words, sizeof(words),
                        "%s\"value\":{\"before\":%s,\"after\":%s,\"delta\":%s},\"perSecond\":%s",
                        row, before, after, delta, rest);
        expect(text, words);
}

START_TEST(one_side_has_values_in_units_that_people_read) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "host-cpu,host-disk", 1);
        const char *text;

        sections->view.changed_only = true;
        add(sections, 0, HOST_PART_CPU, CPUS(1000, "[\"all\",10,0,20,0,0],[\"0\",10,0,20,0,0]"));
        add(sections, 0, HOST_PART_DISK,
            DISKS(1000, "[\"sda\",\"disk\",4,5],[\"sda1\",\"partition\",4,null]"));
        text = sectioned_text(sections);
        expect(text, "{\"cpu\":\"all\",\"key\":\"user\",\"unit\":\"ns\",\"value\":100000000}");
        expect(text, "{\"cpu\":\"0\",\"key\":\"system\",\"unit\":\"ns\",\"value\":200000000}");
        expect(text, "{\"cpu\":\"all\",\"key\":\"load1\",\"unit\":\"hundredths\",\"value\":152}");
        expect(text, "{\"disk\":null,\"key\":\"read_bytes\",\"unit\":\"bytes\",\"value\":2048}");
        expect(text, "{\"disk\":\"sda\",\"kind\":\"disk\",\"key\":\"write_time\",\"unit\":\"ns\","
                     "\"value\":5000000}");
        /* What is 0, and what is not known, has no row. */
        expect_no(text, "nice");
        expect_no(text, "\"sda1\",\"kind\":\"partition\",\"key\":\"write_time\"");
}
END_TEST

START_TEST(two_sides_of_one_boot_have_rates) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "host-cpu,host-disk", 2);
        const char *text;

        add(sections, 0, HOST_PART_CPU, CPUS(1000000000, "[\"all\",10,0,20,0,0]"));
        add(sections, 1, HOST_PART_CPU, CPUS(3000000000, "[\"all\",110,0,20,0,0]"));
        add(sections, 0, HOST_PART_DISK, DISKS(1000000000, "[\"sda\",\"disk\",4,4294967290]"));
        add(sections, 1, HOST_PART_DISK, DISKS(3000000000, "[\"sda\",\"disk\",8,4]"));
        sections->same_boot = true;
        text = sectioned_text(sections);
        expect_pair(text, "{\"cpu\":\"all\",\"key\":\"user\",\"unit\":\"ns\",", "100000000",
                    "1100000000", "1000000000", "500000000}");
        expect_pair(text, "\"key\":\"ctxt\",\"unit\":\"count\",", "1000000000", "3000000000",
                    "2000000000", "1000000000}");
        expect_pair(text, "\"key\":\"threads\",\"unit\":\"count\",", "7", "7", "0", "null}");
        /* A time in 32 bits that passed its end. */
        expect_pair(text, "\"key\":\"write_time\",\"unit\":\"ns\",", "4294967290000000", "4000000",
                    "10000000", "5000000}");
}
END_TEST

START_TEST(two_boots_have_no_rates) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "host-cpu,host-disk", 2);
        const char *text;

        add(sections, 0, HOST_PART_CPU, CPUS(1000000000, "[\"all\",10,0,20,0,0]"));
        add(sections, 1, HOST_PART_CPU, CPUS(3000000000, "[\"all\",5,0,20,0,0]"));
        add(sections, 0, HOST_PART_DISK, DISKS(1000000000, "[\"sda\",\"disk\",4,9]"));
        add(sections, 1, HOST_PART_DISK, DISKS(3000000000, "[\"sda\",\"disk\",8,4]"));
        text = sectioned_text(sections);
        expect_pair(text, "", "100000000", "50000000", "-50000000", "null}");
        expect_pair(text, "", "9000000", "4000000", "-5000000", "null}");
}
END_TEST

START_TEST(a_cpu_of_one_side_says_that_it_was_not_online) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "host-cpu", 2);
        const char *text;

        add(sections, 0, HOST_PART_CPU, CPUS(1, "[\"all\",1,1,1,1,1],[\"0\",1,1,1,1,1]"));
        add(sections, 1, HOST_PART_CPU, CPUS(2, "[\"all\",2,1,1,1,1],[\"1\",1,1,1,1,1]"));
        sections->same_boot = true;
        text = sectioned_text(sections);
        expect_pair(text, "{\"cpu\":\"1\",\"key\":\"user\",\"unit\":\"ns\",", "null", "10000000",
                    "null", "null,\"reason\":\"before: this CPU was not online\"}");
        expect_pair(text, "{\"cpu\":\"0\",\"key\":\"user\",\"unit\":\"ns\",", "10000000", "null",
                    "null", "null,\"reason\":\"after: this CPU was not online\"}");
}
END_TEST

START_TEST(a_side_without_the_part_has_the_reason_of_its_source) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "host-disk", 2);
        SourceTable sources = {};

        sources.sources[SOURCE_HOST_DISK] =
                (Source){ .state = SOURCE_STATE_NOT_REQUESTED, .reason = "it was not read yet" };
        sections->sources[0] = &sources;
        add(sections, 0, HOST_PART_DISK, "");
        add(sections, 1, HOST_PART_DISK, DISKS(2, "[\"sda\",\"disk\",8,4]"));
        expect(sectioned_text(sections), "\"reason\":\"before: it was not read yet\"}");
}
END_TEST

START_TEST(an_old_file_has_no_such_section) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_PCOMM, NULL, 1);

        for (unsigned part = 0; part < _HOST_PART_MAX; part++)
                add(sections, 0, (HostPartId) part, "");
        ck_assert_str_eq(sectioned_text(sections), "{}");
}
END_TEST

START_TEST(a_limit_keeps_the_items_that_did_most) {
        Sections *sections = sectioned_new(VIEW_AXIS_PCOMM, "host-cpu", 2);
        const char *text;

        sections->view.limit = 2;
        add(sections, 0, HOST_PART_CPU,
            CPUS(1, "[\"all\",9,0,0,0,0],[\"0\",5,0,0,0,0],[\"1\",100,0,0,0,0],[\"2\",7,0,0,0,0],"
                    "[\"3\",900,0,0,0,0]"));
        add(sections, 1, HOST_PART_CPU,
            CPUS(2,
                 "[\"all\",9,0,0,0,0],[\"0\",9,0,0,0,0],[\"1\",101,0,0,0,0],[\"2\",27,0,0,0,0]"));
        text = sectioned_text(sections);
        expect(text, "{\"cpu\":\"0\",");
        expect(text, "{\"cpu\":\"2\",");
        expect(text, "{\"cpu\":\"all\",");
        expect_no(text, "{\"cpu\":\"1\",");
        expect_no(text, "{\"cpu\":\"3\",");
        ck_assert_uint_eq(section_n_cut(sections), 2);
        sections_free(sections);
}
END_TEST

START_TEST(numbers_of_one_side_come_too) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "host-memory", 2);
        const char *text;

        add(sections, 0, HOST_PART_MEMORY, "{\"counts\":{\"old\":1,\"same\":2}}");
        add(sections, 1, HOST_PART_MEMORY,
            "{\"counts\":{\"same\":2,\"new\":3},"
            "\"levels_kib\":{\"MemFree\":4}}");
        text = sectioned_text(sections);
        expect(text, "{\"key\":\"old\",\"unit\":\"count\",\"value\":{\"before\":1,\"after\":null");
        expect(text, "{\"key\":\"new\",\"unit\":\"count\",\"value\":{\"before\":null,\"after\":3");
        expect_pair(text, "{\"key\":\"MemFree\",\"unit\":\"bytes\",", "null", "4096", "null",
                    "null,\"reason\":\"before: not recorded by this file\"}");
}
END_TEST

START_TEST(a_malformed_part_names_itself) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "host-network", 1);

        ck_assert_int_eq(
                sections_add_of_host(sections, 0, SECTION_HOST_NETWORK, SPAN_LITERAL("[]")),
                SECTIONS_E_MALFORMED);
        ck_assert_str_eq(sections->complaint,
                         "its host_network: an object or null is expected (at byte 0 of it)");
        /* What no section of the view needs is not even read. */
        ck_assert_int_eq(sections_add_of_host(sections, 0, SECTION_HOST_CPU, SPAN_LITERAL("[]")),
                         0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-section");
        TCase *rows = tcase_create("rows");

        tcase_add_test(rows, one_side_has_values_in_units_that_people_read);
        tcase_add_test(rows, two_sides_of_one_boot_have_rates);
        tcase_add_test(rows, two_boots_have_no_rates);
        tcase_add_test(rows, a_cpu_of_one_side_says_that_it_was_not_online);
        tcase_add_test(rows, a_side_without_the_part_has_the_reason_of_its_source);
        tcase_add_test(rows, an_old_file_has_no_such_section);
        tcase_add_test(rows, a_limit_keeps_the_items_that_did_most);
        tcase_add_test(rows, numbers_of_one_side_come_too);
        tcase_add_test(rows, a_malformed_part_names_itself);
        suite_add_tcase(suite, rows);
        return check_main(suite);
}
