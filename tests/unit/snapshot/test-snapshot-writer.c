/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/host-part.h"
#include "check-main.h"

#include <errno.h>
#include <stdio.h>

#include "document.h"
#include "snapshot/thread-column.h"

static const Head head = {
        .has_smaps_requested = true,
        .format_version = 1,
        .tool_version = "1.2",
        .host_name = "node",
        .has_start_realtime = true,
        .start_realtime_ns = 11,
        .has_end_realtime = true,
        .end_realtime_ns = 12,
        .has_threads = true,
        .has_processes = true,
};

/* The columns as they are in files. A name that was ever written to disk never changes. */
START_TEST(columns_are_identity_then_the_registry) {
        static const char *const identity[] = {
                "tid",
                "tgid",
                "ppid",
                "uid",
                "gid",
                "pcomm",
                "comm",
                "cgroup",
                "start_time_clock_ticks",
                "kthread",
                "self",
                "exe_dev",
                "exe_inode",
                "smaps_rollup_kb",
                "command",
                "command_line",
        };

        ck_assert_uint_eq(_COLUMN_IDENTITY_MAX, ELEMENTSOF(identity));
        for (ThreadColumn column = 0; column < _COLUMN_MAX; column++) {
                const char *name = thread_column_name(column);

                if (column < _COLUMN_IDENTITY_MAX)
                        ck_assert_str_eq(name, identity[column]);
                else
                        ck_assert_str_eq(name, metric_table[column - _COLUMN_IDENTITY_MAX].name);
                ck_assert_uint_eq(thread_column_find(span_of(name)),
                                  column == _COLUMN_IDENTITY_MAX +
                                                          (ThreadColumn) METRIC_thread_count
                                          ? _COLUMN_MAX
                                          : column);
        }
        ck_assert_uint_eq(thread_column_find(span_of("")), _COLUMN_MAX);
}
END_TEST

/* Whether the manual has @name in bold, as it sets members: alone, or in a list of them. */
static bool is_in_manual(const char *manual, const char *name) {
        size_t n = strlen(name);

        for (const char *at = manual; (at = strstr(at, name)); at += n) {
                const char *line = at;

                while (line > manual && line[-1] != '\n')
                        line--;
                if (strncmp(line, ".B", 2) == 0 && strchr(" \n", at[n]) && at[-1] == ' ')
                        return true;
        }
        return false;
}

static char *read_manual(void) {
        FILE *stream = fopen(TESTS_DIR "/../man/snapshot.5", "re");
        size_t n = 0;
        char *text = NULL;

        ck_assert_ptr_nonnull(stream);
        ck_assert_int_gt(getdelim(&text, &n, '\0', stream), 0);
        (void) fclose(stream);
        return text;
}

START_TEST(the_manual_lists_every_column_and_source) {
        char *manual = read_manual();

        for (ThreadColumn column = 0; column < _COLUMN_MAX; column++)
                if (column != _COLUMN_IDENTITY_MAX + (ThreadColumn) METRIC_thread_count)
                        ck_assert_msg(is_in_manual(manual, thread_column_name(column)), "%s",
                                      thread_column_name(column));
        for (ExitedColumn column = _COLUMN_MAX; column < _EXITED_COLUMN_MAX; column++)
                ck_assert_msg(is_in_manual(manual, exited_column_name(column)), "%s",
                              exited_column_name(column));
        for (unsigned part = 0; part < _HOST_PART_MAX; part++)
                for (unsigned i = 0; i < host_parts[part].n_columns; i++)
                        ck_assert_msg(is_in_manual(manual, host_parts[part].columns[i].name), "%s",
                                      host_parts[part].columns[i].name);
        for (unsigned kind = HOST_KIND_UNKNOWN + 1; kind < _HOST_KIND_MAX; kind++)
                ck_assert_msg(is_in_manual(manual, host_kinds[(HostKind) kind].name), "%s",
                              host_kinds[(HostKind) kind].name);
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                char name[64], *c = name;

                for (const char *from = metric_source_names[id]; *from; from++) {
                        if (*from == '-')
                                *c++ = '\\';
                        *c++ = *from;
                }
                *c = '\0';
                ck_assert_msg(is_in_manual(manual, name), "%s", name);
        }
        free(manual);
}
END_TEST

/* The members of heads and documents. */
static const char *const members[] = {
        "formatVersion",
        "toolVersion",
        "hostName",
        "machineId",
        "bootId",
        "kernelRelease",
        "startRealtimeNs",
        "startBoottimeNs",
        "user_hz",
        "page_size",
        "smapsRequested",
        "captured_at_unix_ns",
        "host",
        "host_cpu",
        "host_memory",
        "host_disk",
        "host_network",
        "at_boottime_ns",
        "counts",
        "levels",
        "levels_kib",
        "levels_hundredths",
        "threads",
        "columns",
        "rows",
        "ledger",
        "generation",
        "exits",
        "unfinished",
        "folded_rows",
        "overflow_exits",
        "lost_marks",
        "lost_records",
        "dead",
        "moved",
        "cgroup_stats",
        "psi",
        "sched_ext",
        "probe_summary",
        "tgids_walked",
        "jemalloc_detected",
        "probed_ok",
        "failed",
        "dominant_failure",
        "privilege_dominant",
        "failures",
        "sources",
        "end",
        "endRealtimeNs",
        "endBoottimeNs",
        "processes",
        "backend",
        "complete",
        "taskstatsVersion",
        "cost",
        "wallNs",
        "cpuNs",
        "peakRssBytes",
        "name",
        "tagged",
        "sizeBytes",
        "allocatedBytes",
        "publishedRealtimeNs",
        "uid",
        "userHz",
        "pageSize",
        "documentBytes",
        "smapsMode",
        "smapsMaxRssBytes",
        "smapsMaxProcesses",
        "heapRequested",
        "ledgerId",
        "ledgerSinceBoottimeNs",
        "waitsSinceBoottimeNs",
        "reasonsId",
        "reasonsSinceBoottimeNs",
        "importedFrom",
};

START_TEST(the_manual_lists_every_member) {
        char *manual = read_manual();

        ck_assert_msg(is_in_manual(manual, members[_i]), "%s", members[_i]);
        free(manual);
}
END_TEST

START_TEST(every_section_has_a_name_and_a_reader) {
        for (unsigned id = 0; id < _SNAPSHOT_SECTION_MAX; id++) {
                const DocumentSection *section = &snapshot_sections[id];

                ck_assert_ptr_nonnull(section->name);
                ck_assert(section->read != NULL);
                ck_assert((section->shape == DOCUMENT_TABLE) == (section->write_columns != NULL));
        }
        for (unsigned part = 0; part < _HOST_PART_MAX; part++)
                ck_assert_str_eq(snapshot_sections[SNAPSHOT_SECTION_HOST_CPU + part].name,
                                 host_parts[part].member);
}
END_TEST

START_TEST(an_empty_document_has_all_its_members) {
        static const char start[] =
                "{\"formatVersion\":1,\"toolVersion\":\"1.2\",\"hostName\":\"node\","
                "\"startRealtimeNs\":11,\"smapsRequested\":false,\"captured_at_unix_ns\":11,"
                "\"host\":null,\"host_cpu\":null,\"host_memory\":null,\"host_disk\":null,"
                "\"host_network\":null,\"threads\":{\"columns\":[\"tid\",\"tgid\",\"ppid\",";
        static const char middle[] =
                "\"off_cpu_min_ns\"],\"rows\":[]},\"ledger\":null,"
                "\"dead\":{\"columns\":[\"pcomm\",\"comm\",\"cgroup\",\"kthread\",\"self\",";
        static const char rest[] =
                "\"off_cpu_min_ns\"],\"rows\":[]},\"moved\":{\"columns\":[\"tid\",\"tgid\","
                "\"start_time_clock_ticks\",\"pcomm\",\"comm\",\"cgroup\",\"kthread\",\"self\"],"
                "\"rows\":[]},\"cgroup_stats\":{},\"psi\":null,"
                "\"sched_ext\":null,\"probe_summary\":null,\"sources\":[{\"name\":\"stat\",";
        static const char end[] = "],\"end\":{\"endRealtimeNs\":12,\"threads\":0,\"processes\":0}}";
        Buffer document;

        document_write(&document, &head, (Span){});
        ck_assert_mem_eq(document.bytes, start, sizeof(start) - 1);
        ck_assert_ptr_nonnull(memmem(document.bytes, document.n, middle, sizeof(middle) - 1));
        ck_assert_ptr_nonnull(memmem(document.bytes, document.n, rest, sizeof(rest) - 1));
        ck_assert_mem_eq(document.bytes + document.n - (sizeof(end) - 1), end, sizeof(end) - 1);
        buffer_done(&document);
}
END_TEST

START_TEST(a_row_has_a_cell_for_every_column) {
        ThreadSample sample;
        unsigned n_nulls = 0;
        Buffer row;

        thread_sample_clear(&sample);
        sample.tid = 7;
        sample.tgid = 6;
        sample.start_ticks = 5;
        buffer_init(&row, 0);
        ck_assert_int_eq(thread_row_encode(&row, &sample, (Span){}), 0);
        ck_assert_mem_eq(row.bytes,
                         "[7,6,null,null,null,null,null,null,5,null,false,null,null,null", 62);
        for (size_t i = 0; i + 4 <= row.n; i++)
                n_nulls += memcmp(row.bytes + i, "null", 4) == 0;
        /* All but tid, tgid, start and self; thread_count has no column. */
        ck_assert_uint_eq(n_nulls, _COLUMN_MAX - 1 - 4);
        buffer_done(&row);
}
END_TEST

static const struct {
        MetricId id;
        uint64_t value;
        const char *cell;
} cell_rows[] = {
        { METRIC_nice, (uint64_t) -20, "-20" },
        { METRIC_nice, 0, "0" },
        { METRIC_priority, (uint64_t) (int64_t) INT32_MIN, "-2147483648" },
        { METRIC_processor, INT32_MAX, "2147483647" },
        { METRIC_rt_priority, UINT32_MAX, "4294967295" },
        { METRIC_policy, 0, "\"SCHED_OTHER\"" },
        { METRIC_policy, (uint64_t) -1, "\"SCHED_UNKNOWN(-1)\"" },
        { METRIC_state, 'S', "\"S\"" },
        { METRIC_state, '"', "\"\\\"\"" },
        { METRIC_ext_enabled, 0, "false" },
        { METRIC_ext_enabled, 1, "true" },
        { METRIC_run_time_ns, UINT64_MAX, "18446744073709551615" },
        { METRIC_cpu_affinity, 5, "\"0-3,7\"" },
};

START_TEST(a_cell_looks_like_its_type) {
        ThreadSample sample;
        char expected[64];
        Buffer row;

        thread_sample_clear(&sample);
        sample.cpus = SPAN_LITERAL("0-3,7");
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                thread_sample_put(&sample, (MetricId) id, 77);
        thread_sample_put(&sample, cell_rows[_i].id, cell_rows[_i].value);
        if (cell_rows[_i].id != METRIC_cpu_affinity)
                thread_sample_drop(&sample, METRIC_cpu_affinity);
        buffer_init(&row, 0);
        ck_assert_int_eq(thread_row_encode(&row, &sample, (Span){}), 0);
        (void) snprintf(expected, sizeof(expected), ",%s,", cell_rows[_i].cell);
        ck_assert_ptr_nonnull(memmem(row.bytes, row.n, expected, strlen(expected)));
        buffer_done(&row);
}
END_TEST

/* What stands in the sample: nothing, numbers of all lengths, or every second metric. */
static void fill(ThreadSample *sample, int variant) {
        uint64_t value = 1;

        thread_sample_clear(sample);
        sample->tid = sample->tgid = 4;
        sample->pcomm = sample->comm = SPAN_LITERAL("n\"ame");
        sample->cgroup = SPAN_LITERAL("/a");
        sample->cpus = SPAN_LITERAL("0-3,7");
        for (unsigned id = 0; variant > 0 && id < _METRIC_MAX; id++) {
                if (variant == 2 && id % 2 == 0)
                        continue;
                value = value > UINT64_MAX / 7 ? (uint64_t) -5 : value * 7;
                thread_sample_put(sample, (MetricId) id, id == METRIC_state ? 'S' : value);
        }
}

START_TEST(a_row_is_its_cells) {
        ThreadSample sample;
        JsonWriter json;
        Buffer row, cells;

        fill(&sample, _i);
        buffer_init(&row, 0);
        buffer_init(&cells, 0);
        ck_assert_int_eq(thread_row_encode(&row, &sample, (Span){}), 0);
        json_writer_init(&json, &cells);
        json_write_array(&json);
        for (ThreadColumn column = 0; column < _COLUMN_MAX; column++)
                if (column != _COLUMN_IDENTITY_MAX + (ThreadColumn) METRIC_thread_count)
                        thread_cell_write(&json, &sample, column);
        json_write_end(&json);
        ck_assert_int_eq(json_writer_finish(&json), 0);
        ck_assert(span_equal(buffer_span(&row), buffer_span(&cells)));
        buffer_done(&cells);
        buffer_done(&row);
}
END_TEST

START_TEST(a_row_that_does_not_fit_leaves_nothing) {
        ThreadSample sample;
        Buffer row;

        thread_sample_clear(&sample);
        buffer_init(&row, 100);
        ck_assert_int_eq(buffer_append_text(&row, "before"), 0);
        ck_assert_int_eq(thread_row_encode(&row, &sample, (Span){}), -EMSGSIZE);
        ck_assert(span_is(buffer_span(&row), "before"));
        buffer_done(&row);
}
END_TEST

static int count_and_fail(void *userdata, const char *bytes, size_t n) {
        unsigned *n_left = userdata;

        if (*n_left == 0)
                return -ENOSPC;
        (*n_left)--;
        return 0;
}

START_TEST(a_failing_sink_ends_the_writing) {
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        SourceTable sources = {};
        unsigned n_left = (unsigned) _i;
        int r;

        /* the opening members, the first rows, the comma, the second rows, the end: five writes. */
        ck_assert_int_eq(snapshot_writer_new(count_and_fail, &n_left, &writer), 0);
        r = snapshot_writer_begin(writer, &head);
        if (r == 0)
                r = snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, SPAN_LITERAL("[1]"));
        if (r == 0)
                r = snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, SPAN_LITERAL("[2]"));
        if (r == 0)
                r = snapshot_writer_end(writer, &sources, &head);
        ck_assert_int_eq(r, _i < 5 ? -ENOSPC : 0);
}
END_TEST

START_TEST(values_made_elsewhere_stand_where_they_belong) {
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        SourceTable sources = {};
        const char *text;
        Buffer document;

        buffer_init(&document, 0);
        ck_assert_int_eq(snapshot_writer_new(document_sink, &document, &writer), 0);
        ck_assert_int_eq(snapshot_writer_begin(writer, &head), 0);
        ck_assert_int_eq(
                snapshot_writer_object(writer, SNAPSHOT_SECTION_HOST, SPAN_LITERAL("{\"h\":1}")),
                0);
        ck_assert_int_eq(snapshot_writer_object(writer, SNAPSHOT_SECTION_HOST_DISK,
                                                SPAN_LITERAL("{\"d\":5}")),
                         0);
        ck_assert_int_eq(
                snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, SPAN_LITERAL("[1],[2]")), 0);
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, (Span){}), 0);
        ck_assert_int_eq(
                snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, SPAN_LITERAL("[3]")), 0);
        ck_assert_int_eq(snapshot_writer_entry(writer, SNAPSHOT_SECTION_CGROUPS, SPAN_LITERAL("/"),
                                               SPAN_LITERAL("{}")),
                         0);
        ck_assert_int_eq(snapshot_writer_entry(writer, SNAPSHOT_SECTION_CGROUPS,
                                               SPAN_LITERAL("/\xff\""), SPAN_LITERAL("{\"c\":2}")),
                         0);
        ck_assert_int_eq(snapshot_writer_object(writer, SNAPSHOT_SECTION_PRESSURE,
                                                SPAN_LITERAL("{\"p\":3}")),
                         0);
        ck_assert_int_eq(snapshot_writer_object(writer, SNAPSHOT_SECTION_SCHED_EXT,
                                                SPAN_LITERAL("{\"x\":4}")),
                         0);
        ck_assert_int_eq(snapshot_writer_object(writer, SNAPSHOT_SECTION_PROBE_SUMMARY,
                                                SPAN_LITERAL("{\"y\":5}")),
                         0);
        ck_assert_int_eq(snapshot_writer_end(writer, &sources, &head), 0);
        ck_assert_int_eq(buffer_terminate(&document, &text), 0);
        ck_assert_ptr_nonnull(strstr(text, "\"host\":{\"h\":1},\"host_cpu\":null,"
                                           "\"host_memory\":null,\"host_disk\":{\"d\":5},"
                                           "\"host_network\":null,\"threads\""));
        ck_assert_ptr_nonnull(strstr(text, "\"rows\":[[1],[2],[3]]}"));
        ck_assert_ptr_nonnull(
                strstr(text, "\"cgroup_stats\":{\"/\":{},\"/\xee\xbf\xbf\\\"\":{\"c\":2}},"));
        ck_assert_ptr_nonnull(strstr(text, "\"psi\":{\"p\":3},\"sched_ext\":{\"x\":4},"
                                           "\"probe_summary\":{\"y\":5},"));
        buffer_done(&document);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("snapshot-writer");
        TCase *document = tcase_create("document"), *row = tcase_create("row");

        tcase_add_test(document, columns_are_identity_then_the_registry);
        tcase_add_test(document, the_manual_lists_every_column_and_source);
        tcase_add_loop_test(document, the_manual_lists_every_member, 0, ELEMENTSOF(members));
        tcase_add_test(document, an_empty_document_has_all_its_members);
        tcase_add_test(document, every_section_has_a_name_and_a_reader);
        tcase_add_test(document, values_made_elsewhere_stand_where_they_belong);
        tcase_add_loop_test(document, a_failing_sink_ends_the_writing, 0, 6);
        suite_add_tcase(suite, document);
        tcase_add_test(row, a_row_has_a_cell_for_every_column);
        tcase_add_loop_test(row, a_cell_looks_like_its_type, 0, ELEMENTSOF(cell_rows));
        tcase_add_loop_test(row, a_row_is_its_cells, 0, 3);
        tcase_add_test(row, a_row_that_does_not_fit_leaves_nothing);
        suite_add_tcase(suite, row);
        return check_main(suite);
}
