/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <stdio.h>

#include "document.h"

static const Head head = { .format_version = 1 };

static const LedgerSummary some_ledger = {
        .generation = 1,
        .exits = UINT64_MAX,
        .unfinished = 3,
        .folded_rows = 4,
        .overflow_exits = 5,
        .lost_marks = 6,
        .lost_records = 7,
};

/* writing */

/* Writes a document with @ledger and the rows of exited threads. */
static void write_document(Buffer *document, const LedgerSummary *ledger, Span rows) {
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        SourceTable sources = {};
        JsonWriter json;
        Buffer text;

        buffer_init(document, 0);
        buffer_init(&text, 0);
        json_writer_init(&json, &text);
        ledger_summary_write_json(&json, ledger);
        ck_assert_int_eq(json_writer_finish(&json), 0);
        ck_assert_int_eq(snapshot_writer_new(document_sink, document, &writer), 0);
        ck_assert_int_eq(snapshot_writer_begin(writer, &head), 0);
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, (Span){}), 0);
        ck_assert_int_eq(
                snapshot_writer_object(writer, SNAPSHOT_SECTION_LEDGER, buffer_span(&text)), 0);
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_EXITED, rows), 0);
        ck_assert_int_eq(snapshot_writer_end(writer, &sources, &head), 0);
        buffer_done(&text);
}

static ExitedRow some_row(void) {
        ExitedRow row = { .exits = 1 };

        thread_sample_clear(&row.sample);
        return row;
}

/* Writes @row and reads it back. */
static Visited *pass_through(const ExitedRow *row) {
        Buffer rows, document;
        Visited *visited;

        buffer_init(&rows, 0);
        ck_assert_int_eq(exited_row_encode(&rows, row), 0);
        write_document(&document, &some_ledger, buffer_span(&rows));
        ck_assert_msg(document_read(buffer_span(&document), &visited) == SNAPSHOT_OK, "%s",
                      visited->complaint);
        ck_assert_uint_eq(visited->n_exited, 1);
        buffer_done(&rows);
        buffer_done(&document);
        return visited;
}

#define LEDGER                                                              \
        "{\"generation\":1,\"exits\":2,\"unfinished\":3,\"folded_rows\":4," \
        "\"overflow_exits\":5,\"lost_marks\":6,\"lost_records\":7}"
#define COUNTS "\"exits\",\"lives_ns\",\"accounted\",\"young\",\"young_run_ns\""
#define DOCUMENT(ledger, exited)                                                               \
        "{\"formatVersion\":1,\"threads\":{\"columns\":[],\"rows\":[]},\"ledger\":" ledger "," \
        "\"dead\":" exited "}"
#define DEAD(columns, rows) DOCUMENT(LEDGER, "{\"columns\":[" columns "],\"rows\":[" rows "]}")

/* columns */

/* The columns as they are in files. A name that was ever written to disk never changes. */
START_TEST(columns_are_names_then_counts_then_metrics) {
        static const char start[] =
                "[\"pcomm\",\"comm\",\"cgroup\",\"kthread\",\"self\",\"exits\",\"lives_ns\","
                "\"accounted\",\"young\",\"young_run_ns\",\"owner\",\"folded\","
                "\"born_boottime_ns\",\"grew_boottime_ns\",\"started_by\",\"run_time_ns\","
                "\"wait_time_ns\",";
        JsonWriter json;
        Buffer columns;
        size_t n = 1;

        buffer_init(&columns, 0);
        json_writer_init(&json, &columns);
        json_write_array(&json);
        exited_columns_write(&json);
        json_write_end(&json);
        ck_assert_int_eq(json_writer_finish(&json), 0);
        ck_assert_uint_gt(columns.n, sizeof(start));
        ck_assert_mem_eq(columns.bytes, start, sizeof(start) - 1);
        for (size_t i = 0; i < columns.n; i++)
                n += columns.bytes[i] == ',';
        /* 102 sums that only grow, 2 of them of allocators; 18 maxima; 9 minima. */
        ck_assert_uint_eq(n, 15 + 102 - 2 + 18 + 9);
        buffer_done(&columns);
}
END_TEST

static const struct {
        MetricId id;
        bool is_carried;
} metric_rows[] = {
        { METRIC_run_time_ns, true },
        { METRIC_utime_clock_ticks, true },
        { METRIC_write_bytes, true },
        { METRIC_wait_max, true },
        { METRIC_cpu_delay_min_ns, true },
        { METRIC_hiwater_rss_bytes, true },
        { METRIC_acct_run_real_ns, true },
        { METRIC_storage_wait_ns, true },
        { METRIC_uninterruptible_count, true },

        { METRIC_thread_count, false },
        { METRIC_policy, false },
        { METRIC_nice, false },
        { METRIC_rt_priority, false },
        { METRIC_cpu_affinity, false },
        { METRIC_processor, false },
        { METRIC_state, false },
        { METRIC_ext_enabled, false },
        { METRIC_nr_threads, false },
        { METRIC_fair_slice_ns, false },
        { METRIC_allocated_bytes, false },
        { METRIC_deallocated_bytes, false },
        { METRIC_acct_elapsed_ns, false },
        { METRIC_rss_anon_bytes, false },
        { METRIC_swap_bytes, false },
};

START_TEST(the_dead_have_no_levels) {
        MetricId id = metric_rows[_i].id;

        ck_assert_int_eq(exited_row_carries(id), metric_rows[_i].is_carried);
        ck_assert_uint_eq(exited_column_find(span_of(metric_table[id].name)),
                          metric_rows[_i].is_carried ? _COLUMN_IDENTITY_MAX + (ThreadColumn) id
                                                     : _EXITED_COLUMN_MAX);
}
END_TEST

START_TEST(every_column_is_found_by_its_name) {
        static const char *const of_the_living[] = {
                "tid",     "tgid",      "ppid",
                "uid",     "gid",       "start_time_clock_ticks",
                "exe_dev", "exe_inode", "smaps_rollup_kb",
                "",        "exit",
        };

        for (ExitedColumn column = _COLUMN_MAX; column < _EXITED_COLUMN_MAX; column++)
                ck_assert_uint_eq(exited_column_find(span_of(exited_column_name(column))), column);
        ck_assert_uint_eq(exited_column_find(SPAN_LITERAL("comm")), COLUMN_comm);
        for (size_t i = 0; i < ELEMENTSOF(of_the_living); i++)
                ck_assert_uint_eq(exited_column_find(span_of(of_the_living[i])),
                                  _EXITED_COLUMN_MAX);
}
END_TEST

/* rows */

START_TEST(every_metric_survives_at_its_extremes_and_alone) {
        static const uint64_t values[] = { 0, 1, UINT64_MAX };
        MetricId id = (MetricId) _i;

        for (size_t k = 0; k < ELEMENTSOF(values); k++) {
                ExitedRow row = some_row();
                const ThreadSample *read;
                Visited *visited;

                thread_sample_put(&row.sample, id, values[k]);
                visited = pass_through(&row);
                read = &visited->exited[0].sample;
                for (unsigned other = 0; other < _METRIC_MAX; other++)
                        ck_assert_int_eq(thread_sample_has(read, (MetricId) other),
                                         other == id && exited_row_carries(id));
                if (exited_row_carries(id))
                        ck_assert_uint_eq(thread_sample_get(read, id), values[k]);
                visited_free(visited);
        }
}
END_TEST

START_TEST(counts_survive_apart_from_each_other) {
        for (ExitedColumn column = _COLUMN_MAX; column < EXITED_COLUMN_started_by; column++) {
                ExitedRow row = some_row();
                Visited *visited;

                row.exits = 0;
                row.has_owner = row.has_times = true;
                *exited_column_count(&row, column) = UINT64_MAX;
                visited = pass_through(&row);
                for (ExitedColumn other = _COLUMN_MAX; other < EXITED_COLUMN_started_by; other++)
                        ck_assert_uint_eq(*exited_column_count(&visited->exited[0], other),
                                          other == column ? UINT64_MAX : 0);
                ck_assert(visited->exited[0].has_owner && visited->exited[0].has_times);
                visited_free(visited);
        }
}
END_TEST

/* As in files of earlier versions, in which a row has no owner either. */
START_TEST(what_came_later_may_be_absent) {
        static const char *const columns[] = { "", ",\"owner\",\"folded\",\"grew_boottime_ns\","
                                                   "\"started_by\"" },
                                 *const cells[] = { "[1,2,3,4,5]", "[1,2,3,4,5,null,7,null,null]" };

        for (size_t i = 0; i < ELEMENTSOF(columns); i++) {
                char document[1024];
                Visited *visited;

                (void) snprintf(document, sizeof(document), DEAD(COUNTS "%s", "%s"), columns[i],
                                cells[i]);
                ck_assert_int_eq(document_read(span_of(document), &visited), SNAPSHOT_OK);
                ck_assert(!visited->exited[0].has_owner && !visited->exited[0].has_times);
                ck_assert_ptr_null(visited->exited[0].started_by.bytes);
                ck_assert(!visited->ledger.has_losses);
                visited_free(visited);
        }
}
END_TEST

START_TEST(losses_of_owners_survive) {
        LedgerSummary summary = some_ledger;
        Visited *visited;
        Buffer document;

        summary.has_losses = true;
        summary.moved_lost = UINT64_MAX - 1;
        summary.folded_grew_boottime_ns = UINT64_MAX;
        summary.n_losses = OWNER_LOSSES_MAX;
        for (size_t i = 0; i < OWNER_LOSSES_MAX; i++)
                summary.losses[i] =
                        (OwnerLoss){ i % 2, i % 2 ? UINT32_MAX - i : 0, i, 2 * i, 3 * i };
        write_document(&document, &summary, (Span){});
        ck_assert_int_eq(document_read(buffer_span(&document), &visited), SNAPSHOT_OK);
        ck_assert_mem_eq(&visited->ledger, &summary, sizeof(summary));
        visited_free(visited);
        buffer_done(&document);
}
END_TEST

START_TEST(names_survive_whole_and_absent) {
        ExitedRow row = some_row();
        const ThreadSample *read;
        Visited *visited;

        visited = pass_through(&row);
        read = &visited->exited[0].sample;
        ck_assert_ptr_null(read->pcomm.bytes);
        ck_assert_ptr_null(read->comm.bytes);
        ck_assert_ptr_null(read->cgroup.bytes);
        ck_assert(!read->has_kthread && !read->self && !read->has_ppid && !read->has_owner);
        ck_assert_int_eq(read->tid, 0);
        ck_assert_int_eq(read->tgid, 0);
        visited_free(visited);

        row.sample.pcomm = SPAN_LITERAL("");
        row.sample.comm = SPAN_LITERAL("kworker/u8:\xff\n");
        row.sample.cgroup = SPAN_LITERAL("/a \"b\"");
        row.sample.has_kthread = row.sample.kthread = row.sample.self = true;
        row.sample.tid = row.sample.tgid = 7; /* not of exited threads: left out */
        visited = pass_through(&row);
        read = &visited->exited[0].sample;
        ck_assert(read->pcomm.bytes && read->pcomm.n == 0);
        ck_assert(span_is(read->comm, "kworker/u8:\xff\n"));
        ck_assert(span_is(read->cgroup, "/a \"b\""));
        ck_assert(read->has_kthread && read->kthread && read->self);
        ck_assert_int_eq(read->tid, 0);
        visited_free(visited);
}
END_TEST

/* Nobody is another thing than not known, and a name is any bytes. */
START_TEST(who_started_it_survives) {
        static const Span names[] = { { NULL, 0 }, { "", 0 }, { "sh", 2 }, { "a\n\xff\"", 4 } };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                ExitedRow row = some_row();
                Visited *visited;
                Span read;

                row.started_by = names[i];
                visited = pass_through(&row);
                read = visited->exited[0].started_by;
                ck_assert_int_eq(read.bytes != NULL, names[i].bytes != NULL);
                ck_assert(!read.bytes || span_equal(read, names[i]));
                visited_free(visited);
        }
}
END_TEST

START_TEST(a_name_that_is_no_text_is_refused) {
        Visited *visited;

        ck_assert_int_eq(
                document_read(span_of(DEAD(COUNTS ",\"started_by\"", "[1,2,3,4,5,6]")), &visited),
                SNAPSHOT_E_MALFORMED);
        visited_free(visited);
}
END_TEST

START_TEST(a_row_that_does_not_fit_leaves_nothing) {
        ExitedRow row = some_row();
        Buffer rows;

        buffer_init(&rows, 16);
        ck_assert_int_eq(buffer_append_text(&rows, "[1],"), 0);
        ck_assert_int_eq(exited_row_encode(&rows, &row), -EMSGSIZE);
        ck_assert(span_is(buffer_span(&rows), "[1],"));
        buffer_done(&rows);
}
END_TEST

/* the ledger */

START_TEST(a_ledger_survives) {
        Buffer document;
        Visited *visited;

        write_document(&document, &some_ledger, (Span){});
        ck_assert_int_eq(document_read(buffer_span(&document), &visited), SNAPSHOT_OK);
        ck_assert_uint_eq(visited->n_ledgers, 1);
        ck_assert_mem_eq(&visited->ledger, &some_ledger, sizeof(some_ledger));
        ck_assert_str_eq(visited->order, "ls");
        visited_free(visited);
        buffer_done(&document);
}
END_TEST

/* documents */

START_TEST(columns_stand_in_any_order_and_others_are_skipped) {
        static const char document[] = DEAD(
                "\"young_run_ns\",\"tid\",\"minflt\",\"mood\",\"young\",\"state\",\"lives_ns\","
                "\"comm\",\"accounted\",\"exits\"",
                "[5,{\"a\":[1.5]},7,null,4,1,2,\"a\",3,1],[9,1,null,\"\",0,\"R\",0,null,0,0]");
        const ExitedRow *row;
        Visited *visited;

        ck_assert_msg(document_read(span_of(document), &visited) == SNAPSHOT_OK, "%s",
                      visited->complaint);
        ck_assert_str_eq(visited->order, "ldd");
        row = &visited->exited[0];
        ck_assert_uint_eq(row->exits, 1);
        ck_assert_uint_eq(row->lives_ns, 2);
        ck_assert_uint_eq(row->accounted, 3);
        ck_assert_uint_eq(row->young, 4);
        ck_assert_uint_eq(row->young_run_ns, 5);
        ck_assert_uint_eq(thread_sample_get(&row->sample, METRIC_minflt), 7);
        ck_assert(span_is(row->sample.comm, "a"));
        ck_assert_int_eq(row->sample.tid, 0);
        ck_assert(!thread_sample_has(&row->sample, METRIC_state));
        ck_assert(!thread_sample_has(&row->sample, METRIC_majflt));

        /* Nothing is left of the row before. */
        row = &visited->exited[1];
        ck_assert_uint_eq(row->young_run_ns, 9);
        ck_assert_uint_eq(row->exits, 0);
        ck_assert(!thread_sample_has(&row->sample, METRIC_minflt));
        ck_assert_ptr_null(row->sample.comm.bytes);
        visited_free(visited);
}
END_TEST

START_TEST(the_dead_are_no_threads) {
        Visited *visited;

        ck_assert_int_eq(document_read(span_of(DEAD(COUNTS, "[1,2,3,4,5]")), &visited),
                         SNAPSHOT_OK);
        ck_assert_uint_eq(visited->n_exited, 1);
        ck_assert_uint_eq(visited->n_read_threads, 0);
        ck_assert_uint_eq(visited->n_read_processes, 0);
        visited_free(visited);
}
END_TEST

START_TEST(there_may_be_no_ledger) {
        static const char *const rows[] = {
                DOCUMENT("null", "{\"columns\":[],\"rows\":[]}"),
                "{\"formatVersion\":1,\"threads\":{\"columns\":[],\"rows\":[]}}",
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Visited *visited;

                ck_assert_int_eq(document_read(span_of(rows[i]), &visited), SNAPSHOT_OK);
                ck_assert_uint_eq(visited->n_ledgers, 0);
                ck_assert_uint_eq(visited->n_exited, 0);
                visited_free(visited);
        }
}
END_TEST

START_TEST(cutting_changes_nothing) {
        static const char document[] = DEAD("\"comm\"," COUNTS ",\"run_time_ns\"",
                                            "[\"\\uefff\\u00e9\",1,2,3,4,5,18446744073709551615]");

        for (size_t chunk = 1; chunk < sizeof(document); chunk++) {
                Visited *visited;

                ck_assert_int_eq(
                        document_read_chunks(SPAN_LITERAL(document), chunk, &visited_all, &visited),
                        SNAPSHOT_OK);
                ck_assert(span_is(visited->exited[0].sample.comm, "\xff\xc3\xa9"));
                ck_assert_uint_eq(thread_sample_get(&visited->exited[0].sample, METRIC_run_time_ns),
                                  UINT64_MAX);
                visited_free(visited);
        }
}
END_TEST

static const struct {
        const char *document, *complaint;
} malformed_rows[] = {
        { DOCUMENT("[]", "null"), "ledger: an object or null is expected" },
        { DOCUMENT("7", "null"), "ledger: an object or null is expected" },
        { DOCUMENT("{}", "null"), "ledger: the ledger lacks a member" },
        { DOCUMENT("{\"generation\":1,\"exits\":2,\"unfinished\":3,\"folded_rows\":4,"
                   "\"overflow_exits\":5,\"lost_marks\":6}",
                   "null"),
          "ledger: the ledger lacks a member" },
        { DOCUMENT("{\"exits\":-1}", "null"), "ledger: " },
        { DOCUMENT("{\"exits\":null}", "null"), "ledger: " },
        { DOCUMENT("{\"exits\":18446744073709551616}", "null"), "ledger: " },
        { DOCUMENT("{\"exits\":1,\"exits\":1}", "null"), "ledger: duplicate" },
        { DOCUMENT(LEDGER, "null"), "dead: an object with columns and rows is expected" },
        { DOCUMENT(LEDGER, "[]"), "dead: an object with columns and rows is expected" },
        { DOCUMENT(LEDGER, "{}"), "dead: a table must have columns and rows" },
        { DOCUMENT("null", "{\"columns\":[" COUNTS "],\"rows\":[[1,2,3,4,5]]}"),
          "dead: rows of the dead without a ledger before them" },
        { "{\"formatVersion\":1,\"dead\":{\"columns\":[" COUNTS "],\"rows\":[[1,2,3,4,5]]},"
          "\"ledger\":" LEDGER "}",
          "dead: rows of the dead without a ledger before them" },
        { DEAD(COUNTS ",\"exits\"", ""), "dead: a column is listed twice" },
        { DEAD(COUNTS, "[1,2,3,4]"), "dead, number 1, young_run_ns: the row has fewer cells" },
        { DEAD(COUNTS, "[1,2,3,4,5],[1,2,3,4,5,6]"), "dead, number 2: the row has more cells" },
        { DEAD("", "[]"), "dead, number 1: exits, lives_ns, accounted, young and young_run_ns" },
        { DEAD(COUNTS, "[null,2,3,4,5]"), "dead, number 1: exits, lives_ns, accounted, young" },
        { DEAD(COUNTS, "[1,2,3,4,null]"), "dead, number 1: exits, lives_ns, accounted, young" },
        { DEAD(COUNTS, "[-1,2,3,4,5]"), "dead, number 1, exits: an integer from 0" },
        { DEAD(COUNTS, "[1,\"2\",3,4,5]"), "dead, number 1, lives_ns: an integer from 0" },
        { DEAD(COUNTS, "[1,2,3.0,4,5]"), "dead, number 1, accounted: an integer from 0" },
        { DEAD(COUNTS, "[1,2,3,18446744073709551616,5]"), "dead, number 1, young: an integer" },
        { DEAD(COUNTS, "[1,2,3,4,[]]"), "dead, number 1, young_run_ns: an integer from 0" },
        { DEAD(COUNTS ",\"owner\"", "[1,2,3,4,5,\"x\"]"), "dead, number 1, owner: an integer" },
        { DEAD(COUNTS ",\"folded\"", "[1,2,3,4,5,-1]"), "dead, number 1, folded: an integer" },
        { DOCUMENT("{\"owners\":{}}", "null"), "ledger: " },
        { DOCUMENT("{\"owners\":[1]}", "null"), "ledger: at most 64 objects" },
        { DOCUMENT("{\"owners\":[{}]}", "null"), "ledger: an owner of rows lacks a member" },
        { DOCUMENT("{\"owners\":[{\"owner\":\"x\"}]}", "null"), "ledger: an owner is an integer" },
        { DEAD(COUNTS ",\"comm\"", "[1,2,3,4,5,6]"), "dead, number 1, comm: a string" },
        { DEAD(COUNTS ",\"kthread\"", "[1,2,3,4,5,0]"), "dead, number 1, kthread: true or" },
        { DEAD(COUNTS ",\"run_time_ns\"", "[1,2,3,4,5,-1]"), "dead, number 1, run_time_ns: " },
        { DEAD(COUNTS ",\"run_time_ns\"", "[1,2,3,4,5,true]"), "dead, number 1, run_time_ns: " },
};

START_TEST(malformed_dead_are_refused) {
        Visited *visited;

        ck_assert_int_eq(document_read(span_of(malformed_rows[_i].document), &visited),
                         SNAPSHOT_E_MALFORMED);
        ck_assert_msg(strncmp(visited->complaint, malformed_rows[_i].complaint,
                              strlen(malformed_rows[_i].complaint)) == 0,
                      "%s", visited->complaint);
        ck_assert_uint_gt(visited->offset, 0);
        ck_assert_uint_le(visited->offset, strlen(malformed_rows[_i].document));
        visited_free(visited);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("dead-row");
        TCase *column = tcase_create("column"), *row = tcase_create("row");
        TCase *document = tcase_create("document");

        tcase_add_test(column, columns_are_names_then_counts_then_metrics);
        tcase_add_loop_test(column, the_dead_have_no_levels, 0, ELEMENTSOF(metric_rows));
        tcase_add_test(column, every_column_is_found_by_its_name);
        suite_add_tcase(suite, column);
        tcase_add_loop_test(row, every_metric_survives_at_its_extremes_and_alone, 0, _METRIC_MAX);
        tcase_add_test(row, counts_survive_apart_from_each_other);
        tcase_add_test(row, what_came_later_may_be_absent);
        tcase_add_test(document, losses_of_owners_survive);
        tcase_add_test(row, names_survive_whole_and_absent);
        tcase_add_test(row, who_started_it_survives);
        tcase_add_test(row, a_name_that_is_no_text_is_refused);
        tcase_add_test(row, a_row_that_does_not_fit_leaves_nothing);
        suite_add_tcase(suite, row);
        tcase_add_test(document, a_ledger_survives);
        tcase_add_test(document, columns_stand_in_any_order_and_others_are_skipped);
        tcase_add_test(document, the_dead_are_no_threads);
        tcase_add_test(document, there_may_be_no_ledger);
        tcase_add_test(document, cutting_changes_nothing);
        tcase_add_loop_test(document, malformed_dead_are_refused, 0, ELEMENTSOF(malformed_rows));
        suite_add_tcase(suite, document);
        return check_main(suite);
}
