/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "view/view-sort.h"

static void assert_written(const ViewSort *sort, const char *wanted) {
        const char *text;
        JsonWriter writer;
        Buffer buffer;

        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        view_sort_write_json(&writer, sort);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        ck_assert_str_eq(text, wanted);
        buffer_done(&buffer);
}

static const struct {
        const char *text;
        ViewOrder order;
        const char *written;
} rows[] = {
        { "weight", VIEW_ORDER_WEIGHT, "\"weight\"" },
        { "impact", VIEW_ORDER_IMPACT, "\"impact\"" },
        { " Delta ", VIEW_ORDER_DELTA, "\"delta\"" },
        { "percent", VIEW_ORDER_PERCENT, "\"percent\"" },
        { "name", VIEW_ORDER_NAME, "\"name\"" },
        { "run_time_ns", VIEW_ORDER_METRICS, "\"run_time_ns\"" },
        { "run_time_ns:desc, avg_wait_ns : ASC ", VIEW_ORDER_METRICS,
          "\"run_time_ns,avg_wait_ns:asc\"" },
        { "cpu_affinity,nice:asc", VIEW_ORDER_METRICS, "\"cpu_affinity,nice:asc\"" },
};

START_TEST(an_order_is_read_and_written) {
        char complaint[VIEW_COMPLAINT_BYTES];
        ViewSort sort;

        ck_assert_int_eq(view_sort_parse(span_of(rows[_i].text), &sort, complaint), VIEW_OK);
        ck_assert_int_eq(sort.order, rows[_i].order);
        assert_written(&sort, rows[_i].written);
}
END_TEST

static const struct {
        const char *text;
        const char *complaint;
} refused_rows[] = {
        { "", "empty entry" },
        { " ", "empty entry" },
        { "run_time_ns,", "empty entry" },
        { ",run_time_ns", "empty entry" },
        { "run_time_ns:up", "\"run_time_ns:up\" in the order has no direction" },
        { "run_time_ns:", "no direction" },
        { ":", "no direction" },
        { "nonsense:up", "no direction" }, /* before the name */
        { "policy", "Groups cannot be ordered by policy" },
        { "state:asc", "ordered by state" },
        { "processor", "Groups cannot be ordered by processor: it says where" },
        { "run_time", "did you mean \"run_time_ns\"" },
        { "zzzzzzzzzzzzzz", "metric-list" },
        { "run_time_ns,run_time_ns:asc", "\"run_time_ns\" twice" },
        { "impact:asc", "\"impact\" stands alone" },
        { "run_time_ns,name", "\"name\" stands alone" },
        { "minflt,majflt,rchar,wchar,syscr,syscw,read_bytes,write_bytes,wait_sum,wait_count,wait_"
          "max,"
          "block_sum,block_max,iowait_sum,iowait_count,exec_max,slice_max",
          "more than 16 keys" },
};

START_TEST(a_wrong_order_is_refused_by_name) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        ViewSort sort = { .order = VIEW_ORDER_NAME };

        ck_assert_int_eq(view_sort_parse(span_of(refused_rows[_i].text), &sort, complaint),
                         VIEW_E_INVALID);
        ck_assert_msg(strstr(complaint, refused_rows[_i].complaint) != NULL, "%s", complaint);
        ck_assert_int_eq(sort.order, VIEW_ORDER_NAME);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("view-sort");
        TCase *sort = tcase_create("sort");

        tcase_add_loop_test(sort, an_order_is_read_and_written, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(sort, a_wrong_order_is_refused_by_name, 0, ELEMENTSOF(refused_rows));
        suite_add_tcase(suite, sort);
        return check_main(suite);
}
