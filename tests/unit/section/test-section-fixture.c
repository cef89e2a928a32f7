/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-json.h"

#include <json-c/json.h>

#include "kernel/cgroupfs/cgroup-stats.h"
#include "check-main.h"
#include "sectioned.h"
#include "text/fixture.h"

#define SERVICE "/system.slice/burner.service"

/* Adds a service of a fixture as its files are read. */
static void add(Sections *sections, unsigned side, const char *kernel) {
        CgroupCounts counts = {};
        Buffer scratch, json;
        char path[128];
        int fd;

        (void) snprintf(path, sizeof(path), "cgroup/%s%s", kernel, SERVICE);
        fd = fixture_open(path);
        buffer_init(&scratch, 0);
        buffer_init(&json, 0);
        ck_assert_int_eq(cgroup_stats_read(fd, &scratch, &json, &counts), 0);
        ck_assert_int_eq(
                sections_add_cgroup(sections, side, SPAN_LITERAL(SERVICE), buffer_span(&json)), 0);
        buffer_done(&scratch);
        buffer_done(&json);
        (void) close(fd);
}

// clang-format off
#define HALF(resource, row, avg10, avg60, avg300, total)                                  \
        "{\"cgroup\":\"" SERVICE "\",\"resource\":\"" resource "\",\"row\":\"" row        \
        "\",\"avg10\":" avg10 ",\"avg60\":" avg60 ",\"avg300\":" avg300                   \
        ",\"total_usec\":" total "}"
#define STATS(usage, throttled, throttled_usec, current)                                  \
        "{\"cgroup\":\"" SERVICE "\",\"cpu\":{\"usage_usec\":" usage                      \
        ",\"nr_throttled\":" throttled ",\"throttled_usec\":" throttled_usec              \
        "},\"memory\":{\"current\":" current "}}"
/* the service has the same limits everywhere */
#define LIMITS                                                                            \
        "{\"cgroup\":\"" SERVICE "\",\"cpu\":{\"max_quota_us\":20000,"                    \
        "\"max_period_us\":100000,\"cpus\":0.2,\"weight\":50,\"weight_nice\":3},"         \
        "\"memory\":{\"max\":67108864,\"high\":50331648,\"low\":0,\"min\":0},"            \
        "\"pids\":{\"current\":1,\"max\":20}}"

/* Each text was written by hand from the files of the fixture. */
static const struct {
        const char *kernel, *text;
} golden_rows[] = {
        { "6.1-schedstats",
          "{\"cgroup-stats\":[" STATS("1302012", "64", "5170621", "5107712") "],"
          "\"cgroup-limits\":[" LIMITS "],"
          "\"pressure\":[" HALF("cpu", "some", "2773", "593", "127", "3983318") ","
          HALF("cpu", "full", "2773", "593", "127", "3983237") ","
          HALF("io", "some", "0", "0", "0", "7717") ","
          HALF("io", "full", "0", "0", "0", "7717") "]}" },
        { "6.12-schedstats",
          "{\"cgroup-stats\":[" STATS("1301451", "65", "5096239", "5124096") "],"
          "\"cgroup-limits\":[" LIMITS "],"
          "\"pressure\":[" HALF("cpu", "some", "2745", "576", "123", "4020958") ","
          HALF("cpu", "full", "2745", "576", "123", "4020958") ","
          HALF("io", "some", "0", "0", "0", "4515") ","
          HALF("io", "full", "0", "0", "0", "4515") "]}" },
        { "7.2-scx",
          "{\"cgroup-stats\":[" STATS("4885442", "78", "6217748", "5349376") "],"
          "\"cgroup-limits\":[" LIMITS "],"
          "\"pressure\":[" HALF("cpu", "some", "2448", "664", "148", "4484973") ","
          HALF("cpu", "full", "2448", "664", "148", "4484973") ","
          HALF("io", "some", "0", "0", "0", "6556") ","
          HALF("io", "full", "0", "0", "0", "6556") "]}" },
};
// clang-format on

START_TEST(a_service_of_each_kernel_is_as_its_files_say) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(
                VIEW_AXIS_CGROUP, "cgroup-stats,cgroup-limits,memory-events,pressure", 1);

        add(sections, 0, golden_rows[_i].kernel);
        ck_assert_str_eq(sectioned_text(sections), golden_rows[_i].text);
}
END_TEST

/* A key of one kernel only is absent on the other side, not 0. */
START_TEST(keys_that_a_kernel_lacks_are_null) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, "memory-stat,memory-events", 2);
        json_object *object, *rows, *value;
        size_t n_lacking = 0;

        add(sections, 0, "6.1-schedstats");
        add(sections, 1, "7.2-scx");
        object = json_tokener_parse(sectioned_text(sections));
        rows = json_object_object_get(object, "memory-stat");
        ck_assert_uint_eq(json_object_array_length(rows), 71);
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
                json_object *row = json_object_array_get_idx(rows, i);
                const char *key = json_object_get_string(json_object_object_get(row, "key"));
                const char *unit = json_object_get_string(json_object_object_get(row, "unit"));
                bool is_zswap = strncmp(key, "zswapped", 8) == 0;

                value = json_object_object_get(row, "value");
                if (is_zswap) {
                        ck_assert_str_eq(unit, "bytes");
                        ck_assert_ptr_null(json_object_object_get(value, "before"));
                        ck_assert_ptr_nonnull(json_object_object_get(value, "after"));
                }
                if (!json_object_object_get(value, "before")) {
                        ck_assert_ptr_null(json_object_object_get(value, "delta"));
                        n_lacking++;
                }
        }
        ck_assert_uint_gt(n_lacking, 10);
        rows = json_object_object_get(object, "memory-events");
        ck_assert_uint_eq(json_object_array_length(rows), 7);
        json_object_put(object);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-fixture");
        TCase *services = tcase_create("services");

        tcase_add_loop_test(services, a_service_of_each_kernel_is_as_its_files_say, 0,
                            ELEMENTSOF(golden_rows));
        tcase_add_test(services, keys_that_a_kernel_lacks_are_null);
        suite_add_tcase(suite, services);
        return check_main(suite);
}
