/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/host-view.h"

#include "check-main.h"
#include <json-c/json.h>
#include <string.h>

static Subject before, after;

static void setup(void) {
        subject_init(&before);
        subject_init(&after);
        before.head.has_user_hz = after.head.has_user_hz = true;
        before.head.user_hz = after.head.user_hz = 100;
        after.head.has_page_size = true;
        after.head.page_size = 4096;
}

static void teardown(void) {
        subject_done(&before);
        subject_done(&after);
}

static void set(Buffer *part, const char *json) {
        buffer_clear(part);
        ck_assert_int_eq(buffer_append_text(part, json), 0);
}

/* The object that is written; the caller puts it. */
static json_object *view(void) {
        Subject *culprit;
        JsonWriter writer;
        json_object *object;
        HostView host = {};
        HostUse use;
        Buffer text;

        ck_assert_int_eq(subject_host_use(&before, &after, &culprit, &use, &host.difference), 0);
        ck_assert_int_eq(subject_host_view(&before, &after, &culprit, &host), 0);
        host.n_cpus = amount_of(3);
        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        host_view_write_json(&host, &writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        object = json_tokener_parse(text.bytes);
        ck_assert_ptr_nonnull(object);
        buffer_done(&text);
        host_totals_done(&host.difference);
        return object;
}

static void check(json_object *host, const char *key, const char *wanted) {
        json_object *value = NULL;

        ck_assert_msg(json_object_object_get_ex(host, key, &value), "%s", key);
        ck_assert_str_eq(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), wanted);
}

#define CPU_COLUMNS                                                           \
        "\"columns\":[\"cpu\",\"user_clock_ticks\",\"nice_clock_ticks\","     \
        "\"system_clock_ticks\",\"idle_clock_ticks\",\"iowait_clock_ticks\"," \
        "\"irq_clock_ticks\",\"softirq_clock_ticks\",\"steal_clock_ticks\"],"

START_TEST(times_are_differences_of_ticks) {
        json_object *host;

        set(&before.host_parts[HOST_PART_CPU],
            "{\"counts\":{\"ctxt\":10,\"intr\":20,\"processes\":30},"
            "\"levels\":{\"procs_running\":9,\"procs_blocked\":9},"
            "\"levels_hundredths\":{\"load1\":900}," CPU_COLUMNS
            "\"rows\":[[\"all\",100,100,100,100,100,100,100,100],[\"0\",0,0,0,0,0,0,0,0],"
            "[\"1\",0,0,0,0,0,0,0,0]]}");
        set(&after.host_parts[HOST_PART_CPU],
            "{\"counts\":{\"ctxt\":15,\"intr\":27,\"processes\":29},"
            "\"levels\":{\"procs_running\":2,\"procs_blocked\":1},"
            "\"levels_hundredths\":{\"load1\":125}," CPU_COLUMNS
            "\"rows\":[[\"all\",101,102,103,104,105,106,107,108],[\"1\",1,2,3,4,5,6,7,8],"
            "[\"2\",9,9,9,9,9,9,9,9]]}");
        host = view();
        check(host, "cpus", "3");
        check(host, "cpuUsedNs", "190000000"); /* 1 + 2 + 3 + 6 + 7 ticks */
        check(host, "userNs", "10000000");
        check(host, "niceNs", "20000000");
        check(host, "systemNs", "30000000");
        check(host, "idleNs", "40000000");
        check(host, "iowaitNs", "50000000");
        check(host, "irqNs", "60000000");
        check(host, "softirqNs", "70000000");
        check(host, "stealNs", "80000000");
        check(host, "perCpu",
              "[{\"cpu\":1,\"usedNs\":190000000,\"idleNs\":40000000,\"iowaitNs\":50000000,"
              "\"irqNs\":60000000,\"softirqNs\":70000000,\"stealNs\":80000000}]");
        check(host, "contextSwitches", "5");
        check(host, "interrupts", "7");
        check(host, "processesCreated", "null"); /* it fell */
        check(host, "running", "2");
        check(host, "blocked", "1");
        check(host, "load1", "1.25");
        json_object_put(host);
}
END_TEST

START_TEST(pressure_is_in_nanoseconds) {
        json_object *host;

        set(&before.psi, "{\"cpu\":{\"some\":{\"total_usec\":10},\"full\":{\"total_usec\":5}},"
                         "\"memory\":{\"some\":{\"total_usec\":10},\"full\":null},\"io\":null}");
        set(&after.psi, "{\"cpu\":{\"some\":{\"total_usec\":17},\"full\":{\"total_usec\":4}},"
                        "\"memory\":{\"some\":{\"total_usec\":10},\"full\":null},"
                        "\"io\":{\"some\":{\"total_usec\":10}}}");
        host = view();
        check(host, "pressure",
              "{\"cpu\":{\"someNs\":7000,\"fullNs\":null},"
              "\"memory\":{\"someNs\":0,\"fullNs\":null},\"io\":null}");
        json_object_put(host);
}
END_TEST

START_TEST(disks_are_whole_ones_and_their_requests_read_or_write) {
        static const char *const json[] = {
                "{\"columns\":[\"disk\",\"kind\",\"reads\",\"read_sectors\",\"read_ms\",\"writes\","
                "\"written_sectors\",\"write_ms\",\"busy_ms\",\"request_ms\",\"flushes\"],\"rows\":"
                "["
                "[\"sda\",\"disk\",0,0,0,0,0,4294967295,0,0,0],[\"sda1\",\"partition\",0,0,0,0,0,0,"
                "0,"
                "0,0],[\"dm-0\",\"stacked\",0,0,0,0,0,0,0,0,0]]}",
                "{\"columns\":[\"disk\",\"kind\",\"reads\",\"read_sectors\",\"read_ms\",\"writes\","
                "\"written_sectors\",\"write_ms\",\"busy_ms\",\"request_ms\",\"flushes\"],\"rows\":"
                "["
                "[\"sda\",\"disk\",2,4,8,1,2,3,7,99,99],[\"sda1\",\"partition\",2,4,8,1,2,3,7,99,"
                "99],"
                "[\"dm-0\",\"stacked\",2,4,8,1,2,3,7,99,99]]}",
        };
        json_object *host;

        set(&before.host_parts[HOST_PART_DISK], json[0]);
        set(&after.host_parts[HOST_PART_DISK], json[1]);
        host = view();
        /* The kernel counts in 32 bits how long writes took: 4 ms here. */
        check(host, "disks",
              "[{\"name\":\"sda\",\"busyNs\":7000000,\"readBytes\":2048,\"writeBytes\":1024,"
              "\"requests\":3,\"requestNs\":12000000}]");
        json_object_put(host);
}
END_TEST

START_TEST(memory_is_of_the_end_and_swapping_of_the_interval) {
        json_object *host;

        set(&before.host_parts[HOST_PART_MEMORY],
            "{\"levels_kib\":{\"MemTotal\":9,\"MemAvailable\":1},"
            "\"counts\":{\"pswpin\":1,\"pswpout\":5,\"oom_kill\":2}}");
        set(&after.host_parts[HOST_PART_MEMORY],
            "{\"levels_kib\":{\"MemTotal\":8,\"MemAvailable\":3,\"SwapTotal\":6,\"SwapFree\":2,"
            "\"Dirty\":1},\"counts\":{\"pswpin\":2,\"pswpout\":5,\"oom_kill\":5}}");
        host = view();
        check(host, "memory",
              "{\"usedBytes\":5120,\"totalBytes\":8192,\"swapUsedBytes\":4096,"
              "\"swapTotalBytes\":6144,\"swapInBytes\":4096,\"swapOutBytes\":0,"
              "\"dirtyBytes\":1024}");
        check(host, "oomKills", "3");
        json_object_put(host);
}
END_TEST

START_TEST(the_network_is_what_its_devices_moved) {
        json_object *host;

        set(&before.host_parts[HOST_PART_NETWORK],
            "{\"counts\":{\"TcpRetransSegs\":4},\"columns\":[\"interface\",\"kind\",\"rx_bytes\","
            "\"tx_bytes\"],\"rows\":[[\"lo\",\"loopback\",0,0],[\"eth0\",\"device\",10,20]]}");
        set(&after.host_parts[HOST_PART_NETWORK],
            "{\"counts\":{\"TcpRetransSegs\":9,\"TcpExtListenDrops\":1},\"columns\":[\"interface\","
            "\"kind\",\"rx_bytes\",\"tx_bytes\"],"
            "\"rows\":[[\"lo\",\"loopback\",7,7],[\"eth0\",\"device\",13,26]]}");
        host = view();
        check(host, "network",
              "{\"receivedBytes\":3,\"sentBytes\":6,\"tcpRetransmits\":5,\"listenDrops\":null}");
        json_object_put(host);
}
END_TEST

START_TEST(what_one_side_lacks_is_null) {
        static const char *const keys[] = { "cpuUsedNs", "userNs", "stealNs",   "perCpu",
                                            "running",   "load1",  "waitingNs", "processesCreated",
                                            "disks",     "memory", "network",   "oomKills" };
        json_object *host;

        set(&after.host_parts[HOST_PART_CPU],
            "{\"counts\":{\"processes\":1},\"levels\":{\"procs_running\":1}," CPU_COLUMNS
            "\"rows\":[[\"all\",1,1,1,1,1,1,1,1]]}");
        set(&after.host_parts[HOST_PART_MEMORY], "{\"counts\":{\"oom_kill\":1}}");
        set(&after.psi, "{\"cpu\":{\"some\":{\"total_usec\":10}}}");
        host = view();
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                check(host, keys[i], "null");
        check(host, "pressure", "{\"cpu\":null,\"memory\":null,\"io\":null}");
        json_object_put(host);
}
END_TEST

START_TEST(pressure_that_no_capture_writes_is_refused) {
        Subject *culprit = NULL;
        HostView host = {};

        set(&after.psi, "[]");
        ck_assert_int_eq(subject_host_view(&before, &after, &culprit, &host), SUBJECT_E_UNREADABLE);
        ck_assert_ptr_eq(culprit, &after);
        ck_assert_ptr_nonnull(strstr(after.fault.text, "its pressure of the host: "));
        host_totals_done(&host.difference);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-view");
        TCase *t = tcase_create("host-view");

        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, times_are_differences_of_ticks);
        tcase_add_test(t, pressure_is_in_nanoseconds);
        tcase_add_test(t, disks_are_whole_ones_and_their_requests_read_or_write);
        tcase_add_test(t, memory_is_of_the_end_and_swapping_of_the_interval);
        tcase_add_test(t, the_network_is_what_its_devices_moved);
        tcase_add_test(t, what_one_side_lacks_is_null);
        tcase_add_test(t, pressure_that_no_capture_writes_is_refused);
        suite_add_tcase(suite, t);
        return check_main(suite);
}
