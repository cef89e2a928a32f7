/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <stdio.h>

#include "analysis/host/host-totals.h"
#include "base/buffer.h"
#include "json/json-input.h"
#include "kernel/procfs/host-files.h"
#include "text/fixture.h"

static char complaint[HOST_COMPLAINT_BYTES];
static HostTotals before, after, difference;

static void setup(void) {
        before = after = (HostTotals){ .user_hz = 100 };
        difference = (HostTotals){};
}

static void teardown(void) {
        host_totals_done(&before);
        host_totals_done(&after);
        host_totals_done(&difference);
}

static void scan(HostTotals *totals, HostPartId part, const char *json) {
        int r = host_totals_scan(totals, part, span_of(json), complaint);

        ck_assert_msg(r == 0, "%s", complaint);
}

static void check_count(Amount count, bool has, uint64_t value) {
        ck_assert_int_eq(count.known, has);
        if (has)
                ck_assert_uint_eq(count.n, value);
}

#define ABSENT false, 0

static void subtract(void) {
        ck_assert_int_eq(host_totals_difference(&before, &after, &difference), 0);
}

/* reading */

START_TEST(what_a_capture_writes_is_read_back) {
        uint64_t counts[_SOURCE_OUTCOME_MAX] = {};
        int fd = fixture_open("proc/6.18-host");
        const HostItem *disk, *interface;
        Buffer text = {};

        for (unsigned part = 0; part < _HOST_PART_MAX; part++) {
                Buffer json = {};
                JsonWriter writer;
                int r;

                json_writer_init(&writer, &json);
                json_write_object(&writer);
                json_write_member_u64(&writer, "at_boottime_ns", 77);
                if (part == HOST_PART_CPU)
                        host_cpu_read(fd, &text, &writer, counts);
                else if (part == HOST_PART_MEMORY)
                        host_memory_read(fd, &text, &writer, counts);
                else if (part == HOST_PART_DISK)
                        host_disk_read(fd, -EBADF, &text, &writer, counts);
                else
                        (void) host_network_read(fd, -EBADF, &text, &writer, counts);
                json_write_end(&writer);
                ck_assert_int_eq(json_writer_finish(&writer), 0);
                r = host_totals_scan(&before, (HostPartId) part, buffer_span(&json), complaint);
                ck_assert_msg(r == 0, "%s", complaint);
                check_count(before.parts[part].at_boottime_ns, true, 77);
                buffer_done(&json);
        }
        buffer_done(&text);
        (void) close(fd);
        ck_assert_uint_eq(before.parts[HOST_PART_CPU].n_items, 2);
        check_count(host_cpu_time(before.parts[HOST_PART_CPU].all_cpus, HOST_CPU_TIME_USED), true,
                    135856 + 100062 + 78983 + 0 + 1123);
        check_count(host_cpu_time(before.parts[HOST_PART_CPU].items[1].counts, HOST_CPU_TIME_ALL),
                    true, 70228 + 48498 + 41372 + 61219 + 1113 + 0 + 852 + 149);
        check_count(host_totals_number(&before, HOST_PART_CPU, "ctxt"), true, 9726005);
        check_count(host_totals_number(&before, HOST_PART_CPU, "load5"), true, 563);
        check_count(host_totals_number(&before, HOST_PART_MEMORY, "MemTotal"), true, 24684096);
        check_count(host_totals_number(&before, HOST_PART_NETWORK, "TcpExtListenDrops"), true, 0);
        check_count(host_totals_number(&before, HOST_PART_NETWORK, "MemTotal"), ABSENT);
        disk = host_part_find(&before.parts[HOST_PART_DISK], "vda", 0);
        ck_assert(disk && disk->kind == HOST_KIND_DISK && disk->has_device);
        ck_assert_uint_eq(disk->major, 254);
        check_count(disk->counts[HOST_DISK_BUSY_MS], true, 59096);
        /* loop0 read 22082 sectors, which vda counts, too. */
        check_count(host_totals_sum(&before, HOST_PART_DISK, HOST_DISK_READ_SECTORS), true,
                    10140906);
        interface = host_part_find(&before.parts[HOST_PART_NETWORK], "eth0", 0);
        ck_assert(interface && interface->kind == HOST_KIND_UNKNOWN);
        /* Without /sys it is not known what eth0 is, so there is no sum of what it moved. */
        check_count(host_totals_sum(&before, HOST_PART_NETWORK, HOST_NETWORK_RX_BYTES), ABSENT);
        check_count(host_totals_sum(&before, HOST_PART_NETWORK, HOST_NETWORK_RX_ERRORS), true, 0);
}
END_TEST

START_TEST(nothing_and_null_are_absent) {
        scan(&before, HOST_PART_CPU, "");
        scan(&before, HOST_PART_DISK, "null");
        ck_assert(!before.parts[HOST_PART_CPU].has && !before.parts[HOST_PART_DISK].has);
        check_count(host_totals_sum(&before, HOST_PART_DISK, HOST_DISK_READS), ABSENT);
        check_count(host_totals_number(&before, HOST_PART_CPU, "ctxt"), ABSENT);
        check_count(host_cpu_time(before.parts[HOST_PART_CPU].all_cpus, HOST_CPU_TIME_USED),
                    ABSENT);
        ck_assert_ptr_null(host_part_find(&before.parts[HOST_PART_CPU], "0", 0));
}
END_TEST

START_TEST(what_a_later_version_adds_is_skipped) {
        scan(&before, HOST_PART_DISK,
             "{\"new\":{\"a\":[1]},\"columns\":[\"weather\",\"disk\",\"kind\",\"reads\"],"
             "\"rows\":[[{\"x\":1},\"sda\",\"quantum\",5],[null,\"sdb\",null,null]]}");
        ck_assert_uint_eq(before.parts[HOST_PART_DISK].n_items, 2);
        check_count(before.parts[HOST_PART_DISK].items[0].counts[HOST_DISK_READS], true, 5);
        ck_assert_int_eq(before.parts[HOST_PART_DISK].items[0].kind, HOST_KIND_UNKNOWN);
        ck_assert(!before.parts[HOST_PART_DISK].items[0].has_device);
        check_count(before.parts[HOST_PART_DISK].items[1].counts[HOST_DISK_READS], ABSENT);
        check_count(before.parts[HOST_PART_DISK].items[1].counts[HOST_DISK_WRITES], ABSENT);
}
END_TEST

#define X16 "xxxxxxxxxxxxxxxx"

static const struct {
        const char *json;
        const char *complaint;
} wrong_rows[] = {
        { "7", "an object or null is expected" },
        { "[]", "an object or null is expected" },
        { "{\"counts\":3}", "" },
        { "{\"counts\":{\"a\":-1}}", "an integer from 0 to 2^64-1 or null" },
        { "{\"counts\":{\"a\":1.5}}", "an integer from 0 to 2^64-1 or null" },
        { "{\"counts\":{\"a\":18446744073709551616}}", "an integer from 0 to 2^64-1 or null" },
        { "{\"at_boottime_ns\":\"x\"}", "an integer from 0 to 2^64-1 or null" },
        { "{\"rows\":[]}", "the columns must come before the rows" },
        { "{\"columns\":[1]}", "the name of a column is expected" },
        { "{\"columns\":{}}", "" },
        { "{\"columns\":[\"disk\"],\"rows\":[1]}", "a row must be an array" },
        { "{\"columns\":[\"disk\"],\"rows\":[[1]]}", "" },
        { "{\"columns\":[\"disk\"],\"rows\":[[\"a\",1]]}", "" },
        { "{\"columns\":[\"disk\",\"reads\"],\"rows\":[[\"a\"]]}", "an integer from 0" },
        { "{\"columns\":[\"disk\",\"kind\"],\"rows\":[[\"a\",1]]}", "a string or null" },
        { "{\"columns\":[\"disk\",\"reads\"],\"rows\":[[\"a\",\"b\"]]}", "an integer from 0" },
        { "{\"columns\":[\"disk\"],\"rows\":[[\"a\"]}", "" },
        { "{\"columns\":[\"x\",\"disk\"],\"rows\":[[]]}", "too few cells" },
        { "{}{}", "" },
        { "{\"counts\":{\"a\":1}", "" },
};

START_TEST(what_no_capture_writes_is_refused_with_a_complaint) {
        ck_assert_int_eq(
                host_totals_scan(&before, HOST_PART_DISK, span_of(wrong_rows[_i].json), complaint),
                JSON_E_MALFORMED);
        ck_assert_msg(strstr(complaint, wrong_rows[_i].complaint) != NULL, "%s", complaint);
        ck_assert_ptr_nonnull(strstr(complaint, "(at byte "));
}
END_TEST

START_TEST(more_columns_than_there_is_room_for_are_refused) {
        char json[1024] = "{\"columns\":[\"disk\"";

        for (unsigned i = 0; i < 64; i++)
                strcat(json, ",\"x\"");
        strcat(json, "],\"rows\":[]}");
        ck_assert_int_eq(host_totals_scan(&before, HOST_PART_DISK, span_of(json), complaint),
                         JSON_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(complaint, "too many columns"));
}
END_TEST

START_TEST(what_has_no_name_of_a_host_is_left_out) {
        scan(&before, HOST_PART_DISK,
             "{\"counts\":{\"" X16 X16 X16 X16 X16 X16 "\":1,\"\":2,\"n\":3},"
             "\"columns\":[\"disk\"],\"rows\":[[\"" X16 X16 X16 X16 X16 X16 "\"],[\"\"],"
             "[\"sda\"]]}");
        ck_assert_uint_eq(before.parts[HOST_PART_DISK].n_items, 1);
        ck_assert_uint_eq(before.parts[HOST_PART_DISK].n_numbers, 1);
}
END_TEST

/* units */

START_TEST(values_are_in_units_that_people_read) {
        HostTotals none = {};

        check_count(host_value_of_unit(&before, HOST_UNIT_TICKS, amount_of(7)), true, 70000000);
        check_count(host_value_of_unit(&none, HOST_UNIT_TICKS, amount_of(7)), ABSENT);
        check_count(host_value_of_unit(&before, HOST_UNIT_SECTORS, amount_of(2)), true, 1024);
        check_count(host_value_of_unit(&before, HOST_UNIT_MS, amount_of(2)), true, 2000000);
        check_count(host_value_of_unit(&before, HOST_UNIT_SECTORS, amount_of(UINT64_MAX)), true,
                    UINT64_MAX);
        check_count(host_value_of_unit(&before, HOST_UNIT_COUNT, (Amount){}), ABSENT);
        check_count(host_value_of_unit(&before, HOST_UNIT_KIB, amount_of(3)), true, 3072);
        before.user_hz = 1024;
        check_count(host_value_of_unit(&before, HOST_UNIT_TICKS, amount_of(1025)), true,
                    1000976562);
        check_count(host_value_of_unit(&before, HOST_UNIT_TICKS, amount_of(UINT64_MAX)), true,
                    UINT64_MAX);
}
END_TEST

/* differences */

static const struct {
        HostRule rule;
        Amount before, after;
        bool has;
        uint64_t value;
} count_rows[] = {
        { HOST_RULE_SUM, { true, 5 }, { true, 9 }, true, 4 },
        { HOST_RULE_SUM, { true, 5 }, { true, 5 }, true, 0 },
        { HOST_RULE_SUM, { true, 9 }, { true, 5 }, ABSENT },
        { HOST_RULE_SUM, { false, 0 }, { true, 5 }, ABSENT },
        { HOST_RULE_SUM, { true, 5 }, { false, 0 }, ABSENT },
        { HOST_RULE_SUM_32, { true, 4294967290 }, { true, 4 }, true, 10 },
        { HOST_RULE_SUM_32, { true, 4294967295 }, { true, 0 }, true, 1 },
        { HOST_RULE_SUM_32, { true, 5000000000 }, { true, 4 }, ABSENT },
        { HOST_RULE_LEVEL, { true, 9 }, { true, 5 }, true, 5 },
        { HOST_RULE_LEVEL, { false, 0 }, { true, 5 }, true, 5 },
        { HOST_RULE_LEVEL, { true, 5 }, { false, 0 }, ABSENT },
};

START_TEST(a_difference_follows_the_rule) {
        check_count(host_count_difference(count_rows[_i].rule, count_rows[_i].before,
                                          count_rows[_i].after),
                    count_rows[_i].has, count_rows[_i].value);
}
END_TEST

#define CPUS(at, rows)                                                 \
        "{\"at_boottime_ns\":" #at ",\"counts\":{\"ctxt\":" #at "},"   \
        "\"levels\":{\"procs_running\":" #at "},\"columns\":[\"cpu\"," \
        "\"user_clock_ticks\",\"system_clock_ticks\"],\"rows\":[" rows "]}"

START_TEST(a_cpu_that_was_plugged_in_between_has_no_difference) {
        scan(&before, HOST_PART_CPU,
             CPUS(100, "[\"all\",10,20],[\"0\",4,5],[\"1\",6,15],[\"3\",0,0]"));
        scan(&after, HOST_PART_CPU,
             CPUS(400, "[\"all\",110,25],[\"0\",5,7],[\"2\",90,1],[\"3\",9,9]"));
        subtract();
        ck_assert(difference.parts[HOST_PART_CPU].has);
        check_count(difference.parts[HOST_PART_CPU].elapsed_ns, true, 300);
        check_count(difference.parts[HOST_PART_CPU].at_boottime_ns, true, 400);
        check_count(difference.parts[HOST_PART_CPU].all_cpus[HOST_CPU_USER], true, 100);
        check_count(difference.parts[HOST_PART_CPU].all_cpus[HOST_CPU_SYSTEM], true, 5);
        check_count(difference.parts[HOST_PART_CPU].all_cpus[HOST_CPU_IDLE], ABSENT);
        ck_assert_uint_eq(difference.parts[HOST_PART_CPU].n_items, 2);
        check_count(
                host_part_find(&difference.parts[HOST_PART_CPU], "0", 0)->counts[HOST_CPU_SYSTEM],
                true, 2);
        check_count(host_part_find(&difference.parts[HOST_PART_CPU], "3", 0)->counts[HOST_CPU_USER],
                    true, 9);
        ck_assert_ptr_null(host_part_find(&difference.parts[HOST_PART_CPU], "1", 0));
        ck_assert_ptr_null(host_part_find(&difference.parts[HOST_PART_CPU], "2", 0));
        check_count(host_totals_number(&difference, HOST_PART_CPU, "ctxt"), true, 300);
        check_count(host_totals_number(&difference, HOST_PART_CPU, "procs_running"), true, 400);
        ck_assert_uint_eq(difference.user_hz, 100);
        /* Used needs irq and softirq, too. */
        check_count(host_cpu_time(difference.parts[HOST_PART_CPU].all_cpus, HOST_CPU_TIME_USED),
                    ABSENT);
}
END_TEST

START_TEST(a_part_or_number_of_one_side_has_no_difference) {
        scan(&before, HOST_PART_MEMORY, "{\"counts\":{\"a\":1},\"levels_kib\":{\"c\":1}}");
        scan(&after, HOST_PART_MEMORY,
             "{\"counts\":{\"b\":1,\"a\":0},\"levels_kib\":{\"c\":5,\"d\":6}}");
        scan(&after, HOST_PART_DISK, "{}");
        subtract();
        ck_assert(!difference.parts[HOST_PART_CPU].has && !difference.parts[HOST_PART_DISK].has);
        ck_assert(difference.parts[HOST_PART_MEMORY].has);
        check_count(difference.parts[HOST_PART_MEMORY].elapsed_ns, ABSENT);
        check_count(host_totals_number(&difference, HOST_PART_MEMORY, "a"), ABSENT);
        check_count(host_totals_number(&difference, HOST_PART_MEMORY, "b"), ABSENT);
        check_count(host_totals_number(&difference, HOST_PART_MEMORY, "c"), true, 5);
        check_count(host_totals_number(&difference, HOST_PART_MEMORY, "d"), true, 6);
}
END_TEST

START_TEST(a_sum_of_differences_has_whole_items_only) {
        static const char columns[] =
                "{\"columns\":[\"interface\",\"kind\",\"rx_bytes\"],\"rows\":";
        char json[512];

        (void) snprintf(json, sizeof(json), "%s%s", columns,
                        "[[\"lo\",\"loopback\",1],[\"eth0\",\"device\",10],"
                        "[\"vf\",\"lower\",3],[\"br0\",\"virtual\",2],[\"x\",null,7]]}");
        scan(&before, HOST_PART_NETWORK, json);
        (void) snprintf(json, sizeof(json), "%s%s", columns,
                        "[[\"lo\",\"loopback\",100],[\"eth0\",\"device\",15],"
                        "[\"eth1\",\"device\",900],[\"vf\",\"lower\",30],"
                        "[\"br0\",\"virtual\",20],[\"x\",null,7]]}");
        scan(&after, HOST_PART_NETWORK, json);
        subtract();
        check_count(host_totals_sum(&difference, HOST_PART_NETWORK, HOST_NETWORK_RX_BYTES), true,
                    5);
        check_count(host_totals_sum(&before, HOST_PART_NETWORK, HOST_NETWORK_RX_BYTES), ABSENT);
}
END_TEST

START_TEST(ticks_of_two_lengths_have_no_length) {
        after.user_hz = 1000;
        subtract();
        ck_assert_uint_eq(difference.user_hz, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-totals");
        TCase *reading = tcase_create("reading"), *delta = tcase_create("difference");

        tcase_add_checked_fixture(reading, setup, teardown);
        tcase_add_test(reading, what_a_capture_writes_is_read_back);
        tcase_add_test(reading, nothing_and_null_are_absent);
        tcase_add_test(reading, what_a_later_version_adds_is_skipped);
        tcase_add_loop_test(reading, what_no_capture_writes_is_refused_with_a_complaint, 0,
                            ELEMENTSOF(wrong_rows));
        tcase_add_test(reading, what_has_no_name_of_a_host_is_left_out);
        tcase_add_test(reading, more_columns_than_there_is_room_for_are_refused);
        tcase_add_test(reading, values_are_in_units_that_people_read);
        tcase_add_checked_fixture(delta, setup, teardown);
        tcase_add_loop_test(delta, a_difference_follows_the_rule, 0, ELEMENTSOF(count_rows));
        tcase_add_test(delta, a_cpu_that_was_plugged_in_between_has_no_difference);
        tcase_add_test(delta, a_part_or_number_of_one_side_has_no_difference);
        tcase_add_test(delta, a_sum_of_differences_has_whole_items_only);
        tcase_add_test(delta, ticks_of_two_lengths_have_no_length);
        suite_add_tcase(suite, reading);
        suite_add_tcase(suite, delta);
        return check_main(suite);
}
