/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/metrics-page.h"
#include "report/sink.h"

static MetricsPage *page;
static GroupForm form;
static GroupSink made = { &sink_metrics, &form }, *sink = &made;
static char *text;

static void setup(void) {
        ck_assert_int_eq(metrics_page_new(2, &page), 0);
        form = (GroupForm){ .metrics = page };
        text = NULL;
}

static void teardown(void) {
        page = metrics_page_free(page);
        free(text);
}

static json_object *parse(const char *json) {
        json_object *object = json_tokener_parse(json);

        ck_assert_ptr_nonnull(object);
        return object;
}

static void add_interval(void) {
        json_object *reply = parse("{\"elapsedNs\":2000000000,\"coverage\":{\"cpuUsedNs\":"
                                   "3000000000,\"attributedNs\":1000000000}}");

        ck_assert_int_eq(sink->type->begin(sink, reply), 0);
        (void) json_object_put(reply);
}

/* Takes @group. */
static void add_group(json_object *group) {
        json_object *groups = json_object_new_array();

        ck_assert_int_eq(json_object_array_add(groups, group), 0);
        ck_assert_int_eq(sink->type->groups(sink, GROUP_LIST_GROUPS, groups), 0);
        (void) json_object_put(groups);
}

/* One that has run for @n seconds, and did nothing else. */
static void add_running(const char *name, unsigned n) {
        json_object *group = json_object_new_object(), *time = json_object_new_object();

        (void) json_object_object_add(time, "runningNs", json_object_new_uint64(n * NSEC_PER_SEC));
        (void) json_object_object_add(group, "time", time);
        (void) json_object_object_add(group, "key", json_object_new_string(name));
        add_group(group);
}

static void write_page(void) {
        size_t n;
        FILE *out = open_memstream(&text, &n);

        ck_assert_ptr_nonnull(out);
        metrics_page_write(page, NULL, "pcomm", out);
        (void) fclose(out);
}

static bool says(const char *line) {
        const char *at = strstr(text, line);

        return at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static void begin_last(void) {
        metrics_page_begin_last(page);
        add_interval();
}

START_TEST(the_rest_is_added_up) {
        begin_last();
        add_running("a", 4);
        add_running("b", 3);
        add_running("c", 2);
        add_running("d", 1);
        write_page();
        ck_assert(says("ctprof_group_cpu_cores{group=\"a\"} 2"));
        ck_assert(says("ctprof_group_cpu_cores{group=\"b\"} 1.5"));
        ck_assert(says("ctprof_group_cpu_cores{group=\"other\"} 1.5"));
        ck_assert(says("ctprof_groups_omitted 2"));
        ck_assert(says("ctprof_host_cpu_cores 1.5"));
        ck_assert(says("ctprof_attributed_cpu_cores 0.5"));
        ck_assert(says("ctprof_interval_seconds 2"));
        ck_assert_ptr_null(strstr(text, "group=\"c\""));
}
END_TEST

START_TEST(what_was_not_measured_has_no_line) {
        json_object *group = parse(
                "{\"key\":\"a\",\"threadsAfter\":5,\"time\":{\"runningNs\":null,\"reasons\":null},"
                "\"lives\":{\"born\":1,\"ended\":null,\"bornAndEnded\":2},\"metrics\":{"
                "\"majflt\":{\"perSecond\":0},\"read_bytes\":{\"perSecond\":null}}}");

        begin_last();
        add_group(group);
        write_page();
        ck_assert(says("ctprof_group_threads{group=\"a\"} 5"));
        ck_assert(says("ctprof_group_threads_born{group=\"a\"} 3"));
        ck_assert(says("ctprof_group_page_faults_per_second{group=\"a\",kind=\"major\"} 0"));
        ck_assert_ptr_null(strstr(text, "ctprof_group_threads_ended{"));
        ck_assert_ptr_null(strstr(text, "ctprof_group_cpu_cores{"));
        ck_assert_ptr_null(strstr(text, "ctprof_group_wait_ratio{"));
        ck_assert_ptr_null(strstr(text, "ctprof_group_io_bytes_per_second{"));
        ck_assert_ptr_null(strstr(text, "nan"));
}
END_TEST

/* Not one that ended since, nor more of them than of the first. */
START_TEST(groups_of_earlier_intervals_stay) {
        add_interval();
        add_running("early", 4);
        add_running("gone", 3);
        add_interval();
        add_running("earlier", 2);
        add_running("late", 1);
        begin_last();
        add_running("a", 9);
        add_running("b", 8);
        add_running("strange", 7);
        add_running("late", 3);
        add_running("earlier", 2);
        add_running("early", 1);
        write_page();
        ck_assert(says("ctprof_group_cpu_cores{group=\"a\"} 4.5"));
        ck_assert(says("ctprof_group_cpu_cores{group=\"b\"} 4"));
        ck_assert(says("ctprof_group_cpu_cores{group=\"late\"} 1.5"));
        ck_assert(says("ctprof_group_cpu_cores{group=\"earlier\"} 1"));
        ck_assert(says("ctprof_group_cpu_cores{group=\"other\"} 4"));
        ck_assert_ptr_null(strstr(text, "early\""));
        ck_assert_ptr_null(strstr(text, "gone"));
}
END_TEST

#define A32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A120 A32 A32 A32 "aaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
        const char *name, *label; /* NULL: it is in "other" */
} label_rows[] = {
        { "say \"no\" \\ \n", "say \\\"no\\\" \\\\ \\n" },
        { "/\x1fnginx\x1fworker", "/|nginx|worker" },
        { "\xc3\xbc", "\xc3\xbc" },
        { A120 "1234567", A120 "1234567" },
        { A120 "123456789", A120 "1234567\xe2\x80\xa6" },
        { A120 "123456\xe2\x82\xac", A120 "123456\xe2\x80\xa6" }, /* no half of a character */
        { "other", NULL },
        { "", "" },
};

START_TEST(labels_are_bounded_and_escaped) {
        char line[256];

        begin_last();
        add_running(label_rows[_i].name, 2);
        write_page();
        (void) snprintf(line, sizeof(line), "ctprof_group_cpu_cores{group=\"%s\"} 1",
                        label_rows[_i].label ? label_rows[_i].label : "other");
        ck_assert_msg(says(line), "%s", text);
        ck_assert(
                says(label_rows[_i].label ? "ctprof_groups_omitted 0" : "ctprof_groups_omitted 1"));
}
END_TEST

START_TEST(no_series_is_there_twice) {
        begin_last();
        add_running(A120 "1234567890", 2);
        add_running(A120 "1234567xyz", 2);
        write_page();
        ck_assert(says("ctprof_group_cpu_cores{group=\"" A120 "1234567\xe2\x80\xa6\"} 1"));
        ck_assert(says("ctprof_group_cpu_cores{group=\"other\"} 1"));
}
END_TEST

START_TEST(a_source_without_a_name_has_no_line) {
        json_object *reply = parse("{\"elapsedNs\":1,\"sourcesAfter\":[{\"state\":\"ok\"},"
                                   "{\"name\":\"stat\",\"state\":\"ok\"}]}");

        metrics_page_begin_last(page);
        ck_assert_int_eq(sink->type->begin(sink, reply), 0);
        (void) json_object_put(reply);
        write_page();
        ck_assert(says("ctprof_source_available{source=\"stat\"} 1"));
        ck_assert_ptr_null(strstr(text, "source=\"\""));
}
END_TEST

START_TEST(without_an_interval_there_are_no_groups) {
        metrics_page_begin_last(page);
        write_page();
        ck_assert_ptr_nonnull(strstr(text, "# There is no interval yet"));
        ck_assert_ptr_null(strstr(text, "ctprof_group"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("metrics-page");
        TCase *gauges = tcase_create("gauges");

        tcase_add_checked_fixture(gauges, setup, teardown);
        tcase_add_test(gauges, the_rest_is_added_up);
        tcase_add_test(gauges, what_was_not_measured_has_no_line);
        tcase_add_test(gauges, groups_of_earlier_intervals_stay);
        tcase_add_loop_test(gauges, labels_are_bounded_and_escaped, 0, ELEMENTSOF(label_rows));
        tcase_add_test(gauges, no_series_is_there_twice);
        tcase_add_test(gauges, a_source_without_a_name_has_no_line);
        tcase_add_test(gauges, without_an_interval_there_are_no_groups);
        suite_add_tcase(suite, gauges);
        return check_main(suite);
}
