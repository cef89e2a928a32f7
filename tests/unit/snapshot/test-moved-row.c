/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "document.h"
#include "snapshot/exited-row.h"

/* @rows come without what is around them; @columns, too, or NULL for those that are written. */
static int read_rows(const char *columns, Span rows, Visited **ret) {
        Buffer document;
        JsonWriter json;
        int r;

        buffer_init(&document, 0);
        ck_assert_int_eq(buffer_append_text(&document, "{\"formatVersion\":1,\"threads\":{"
                                                       "\"columns\":[],\"rows\":[]},"
                                                       "\"moved\":{\"columns\":"),
                         0);
        if (columns) {
                ck_assert_int_eq(buffer_append_text(&document, columns), 0);
        } else {
                json_writer_init(&json, &document);
                json_write_array(&json);
                moved_columns_write(&json);
                json_write_end(&json);
                ck_assert_int_eq(json_writer_finish(&json), 0);
        }
        (void) buffer_append_text(&document, ",\"rows\":[");
        (void) buffer_append(&document, rows.bytes, rows.n);
        ck_assert_int_eq(buffer_append_text(&document, "]}}"), 0);
        r = document_read(buffer_span(&document), ret);
        buffer_done(&document);
        return r;
}

/* A name that was ever written to disk never changes. */
START_TEST(columns_are_those_of_a_life_and_of_its_names) {
        static const char wanted[] = "[\"tid\",\"tgid\",\"start_time_clock_ticks\",\"pcomm\","
                                     "\"comm\",\"cgroup\",\"kthread\",\"self\"]";
        JsonWriter json;
        Buffer columns;

        buffer_init(&columns, 0);
        json_writer_init(&json, &columns);
        json_write_array(&json);
        moved_columns_write(&json);
        json_write_end(&json);
        ck_assert_int_eq(json_writer_finish(&json), 0);
        ck_assert_uint_eq(columns.n, sizeof(wanted) - 1);
        ck_assert_mem_eq(columns.bytes, wanted, columns.n);
        buffer_done(&columns);
}
END_TEST

START_TEST(a_row_survives_writing_and_reading) {
        ThreadSample ended;
        Visited *visited;
        Buffer rows;

        thread_sample_clear(&ended);
        ended.tid = 12;
        ended.tgid = 11;
        ended.start_ticks = UINT64_MAX;
        ended.pcomm = SPAN_LITERAL("victim");
        ended.comm = SPAN_LITERAL("a\"b\xff");
        ended.has_kthread = ended.self = true;
        buffer_init(&rows, 0);
        ck_assert_int_eq(moved_row_encode(&rows, &ended), 0);
        ck_assert_int_eq(read_rows(NULL, buffer_span(&rows), &visited), SNAPSHOT_OK);
        ck_assert_uint_eq(visited->n_moved, 1);
        ck_assert_int_eq(visited->moved[0].tid, 12);
        ck_assert_int_eq(visited->moved[0].tgid, 11);
        ck_assert(visited->moved[0].start_ticks == UINT64_MAX);
        ck_assert(span_equal(visited->moved[0].pcomm, ended.pcomm));
        ck_assert(span_equal(visited->moved[0].comm, ended.comm));
        ck_assert_ptr_null(visited->moved[0].cgroup.bytes);
        ck_assert(visited->moved[0].has_kthread && !visited->moved[0].kthread);
        ck_assert(visited->moved[0].self);
        visited_free(visited);
        buffer_done(&rows);
}
END_TEST

static const struct {
        const char *columns, *rows, *complaint;
} bad_rows[] = {
        { "[\"tid\",\"tgid\"]", "[1,null]", "tid and tgid must have a value" },
        { "[\"tid\",\"tgid\"]", "[0,1]", "0 is no thread" },
        { "[\"tgid\"]", "[1]", "tid and tgid must have a value" },
        { "[\"tid\",\"tgid\",\"self\"]", "[1,1,2]", "true or false is expected" },
};

START_TEST(a_row_without_a_thread_is_refused) {
        Visited *visited;

        ck_assert_int_eq(read_rows(bad_rows[_i].columns, span_of(bad_rows[_i].rows), &visited),
                         SNAPSHOT_E_MALFORMED);
        ck_assert_msg(strstr(visited->complaint, bad_rows[_i].complaint), "%s", visited->complaint);
        visited_free(visited);
}
END_TEST

/* Metrics are no columns of it, and neither is what later versions may add. */
START_TEST(other_columns_are_skipped) {
        Visited *visited;

        ck_assert_int_eq(read_rows("[\"later\",\"tid\",\"run_time_ns\",\"tgid\"]",
                                   SPAN_LITERAL("[{\"a\":[1]},5,7,4]"), &visited),
                         SNAPSHOT_OK);
        ck_assert_int_eq(visited->moved[0].tid, 5);
        ck_assert_int_eq(visited->moved[0].tgid, 4);
        ck_assert(!thread_sample_has(&visited->moved[0], METRIC_run_time_ns));
        visited_free(visited);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("moved-row");
        TCase *tcase = tcase_create("rows");

        tcase_add_test(tcase, columns_are_those_of_a_life_and_of_its_names);
        tcase_add_test(tcase, a_row_survives_writing_and_reading);
        tcase_add_loop_test(tcase, a_row_without_a_thread_is_refused, 0, ELEMENTSOF(bad_rows));
        tcase_add_test(tcase, other_columns_are_skipped);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
