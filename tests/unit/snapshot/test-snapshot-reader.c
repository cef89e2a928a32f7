/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <stdint.h>

#include "base/name.h"
#include "colliding.h"
#include "document.h"
#include "snapshot/thread-column.h"

static const Head head = { .format_version = 1,
                           .has_start_realtime = true,
                           .start_realtime_ns = 9 };

static ThreadSample some_sample(void) {
        ThreadSample sample;

        thread_sample_clear(&sample);
        sample.tid = 2;
        sample.tgid = 1;
        sample.start_ticks = 3;
        return sample;
}

/* Writes @sample and reads it back. */
static Visited *pass_through(const ThreadSample *sample, Span smaps) {
        Buffer row, document;
        Visited *visited;

        buffer_init(&row, 0);
        ck_assert_int_eq(thread_row_encode(&row, sample, smaps), 0);
        document_write(&document, &head, buffer_span(&row));
        ck_assert_msg(document_read(buffer_span(&document), &visited) == SNAPSHOT_OK, "%s",
                      visited->complaint);
        ck_assert_uint_eq(visited->n_threads, 1);
        buffer_done(&row);
        buffer_done(&document);
        return visited;
}

/* The extremes that the type of the metric lets a file hold. */
static unsigned values_of(MetricId id, uint64_t ret_values[static 4]) {
        switch (metric_table[id].kind) {
        case METRIC_KIND_ORDINAL:
                ret_values[0] = 0;
                ret_values[1] = 1;
                if (id == METRIC_rt_priority || id == METRIC_other_wait_call) {
                        ret_values[2] = UINT32_MAX;
                        return 3;
                }
                ret_values[2] = (uint64_t) (int64_t) INT32_MIN;
                ret_values[3] = INT32_MAX;
                return 4;
        case METRIC_KIND_WORD:
                if (id == METRIC_state) {
                        ret_values[0] = 'R';
                        ret_values[1] = '\\';
                        ret_values[2] = 1;
                        ret_values[3] = 127;
                        return 4;
                }
                ret_values[0] = 0;
                ret_values[1] = 1;
                if (id == METRIC_ext_enabled)
                        return 2;
                ret_values[2] = (uint64_t) (int64_t) INT32_MIN;
                ret_values[3] = INT32_MAX;
                return 4;
        case METRIC_KIND_CPUS:
                ret_values[0] = 5; /* of the list below */
                return 1;
        case METRIC_KIND_COUNTER:
        case METRIC_KIND_PEAK:
        case METRIC_KIND_FLOOR:
        case METRIC_KIND_GAUGE:
                ret_values[0] = 0;
                ret_values[1] = 1;
                ret_values[2] = UINT64_MAX;
                return 3;
        }
        return 0;
}

START_TEST(every_metric_survives_at_its_extremes_and_alone) {
        MetricId id = (MetricId) _i;
        uint64_t values[4];
        unsigned n = values_of(id, values);

        if (id == METRIC_thread_count)
                return; /* never stored: one is put for every row */
        for (unsigned k = 0; k < n; k++) {
                ThreadSample sample = some_sample();
                const ThreadSample *read;
                Visited *visited;

                sample.cpus = SPAN_LITERAL("0-3,7");
                thread_sample_put(&sample, id, values[k]);
                visited = pass_through(&sample, (Span){});
                read = &visited->samples[0];
                for (unsigned other = 0; other < _METRIC_MAX; other++)
                        ck_assert_int_eq(thread_sample_has(read, (MetricId) other),
                                         other == id || other == METRIC_thread_count);
                ck_assert_uint_eq(thread_sample_get(read, id), values[k]);
                ck_assert_uint_eq(thread_sample_get(read, METRIC_thread_count), 1);
                if (id == METRIC_cpu_affinity)
                        ck_assert(span_is(read->cpus, "0-3,7"));
                visited_free(visited);
        }
}
END_TEST

START_TEST(identity_survives_whole_and_absent) {
        ThreadSample sample = some_sample();
        const ThreadSample *read;
        Visited *visited;

        visited = pass_through(&sample, (Span){});
        read = &visited->samples[0];
        ck_assert_int_eq(read->tid, 2);
        ck_assert_int_eq(read->tgid, 1);
        ck_assert_uint_eq(read->start_ticks, 3);
        ck_assert(!read->has_ppid && !read->has_owner && !read->has_kthread && !read->has_exe);
        ck_assert(!read->self);
        ck_assert_ptr_null(read->comm.bytes);
        ck_assert_ptr_null(read->pcomm.bytes);
        ck_assert_ptr_null(read->cgroup.bytes);
        ck_assert_uint_eq(visited->smaps[0].n, 0);
        visited_free(visited);

        sample.tid = sample.tgid = sample.ppid = INT32_MAX;
        sample.start_ticks = UINT64_MAX;
        sample.has_ppid = sample.has_owner = sample.has_kthread = sample.has_exe = true;
        sample.self = sample.kthread = true;
        sample.uid = sample.gid = UINT32_MAX;
        sample.exe_dev = sample.exe_inode = UINT64_MAX;
        sample.pcomm = sample.comm = sample.cgroup = SPAN_LITERAL("");
        visited = pass_through(&sample, SPAN_LITERAL("{\"Rss\":1,\"Pss_Anon\":2}"));
        read = &visited->samples[0];
        ck_assert_int_eq(read->tid, INT32_MAX);
        ck_assert_int_eq(read->ppid, INT32_MAX);
        ck_assert_uint_eq(read->start_ticks, UINT64_MAX);
        ck_assert(read->has_ppid && read->has_owner && read->has_kthread && read->has_exe);
        ck_assert(read->self && read->kthread);
        ck_assert_uint_eq(read->uid, UINT32_MAX);
        ck_assert_uint_eq(read->gid, UINT32_MAX);
        ck_assert_uint_eq(read->exe_dev, UINT64_MAX);
        ck_assert_uint_eq(read->exe_inode, UINT64_MAX);
        ck_assert(read->comm.bytes && read->comm.n == 0);
        ck_assert(span_is(visited->smaps[0], "{\"Rss\":1,\"Pss_Anon\":2}"));
        visited_free(visited);
}
END_TEST

/* Every byte, every pair with a lead byte of the escape's own range, and that range itself. */
static const struct {
        const char *name;
        size_t n;
} name_rows[] = {
#define NAME(text) \
        { text, sizeof(text) - 1 }
        NAME("plain"),
        NAME(" blanks "),
        NAME("new\nline"),
        NAME("par(en)s)"),
        NAME("quo\"te\\"),
        NAME("\x01\x1f\x7f"),
        NAME("\xff\xfe"),
        NAME("h\xc3\xa4lf \xc3"),
        NAME("\xee\xbe\x80"),
        NAME("\xee\xbf\xbf\xee"),
        NAME("\xee\xbc\x80"),
        NAME("\xed\xa0\x80"),
        NAME("\xf0\x9f\x98\x80"),
};

START_TEST(names_are_lossless) {
        ThreadSample sample = some_sample();
        Span name = { name_rows[_i].name, name_rows[_i].n };
        Visited *visited;

        sample.pcomm = sample.comm = sample.cgroup = name;
        visited = pass_through(&sample, (Span){});
        ck_assert(span_equal(visited->samples[0].pcomm, name));
        ck_assert(span_equal(visited->samples[0].comm, name));
        ck_assert(span_equal(visited->samples[0].cgroup, name));
        visited_free(visited);
}
END_TEST

START_TEST(every_byte_of_a_name_is_lossless) {
        ThreadSample sample = some_sample();
        char all[255 * 2];
        Visited *visited;

        for (unsigned i = 0; i < 255; i++) {
                all[i] = (char) (i + 1);
                all[255 + i] = (char) (255 - i);
        }
        sample.comm = (Span){ all, sizeof(all) };
        visited = pass_through(&sample, (Span){});
        ck_assert(span_equal(visited->samples[0].comm, sample.comm));
        visited_free(visited);
}
END_TEST

/* documents */

#define ID_COLUMNS "\"tid\",\"tgid\",\"start_time_clock_ticks\""
#define TABLE(columns, rows) \
        "{\"formatVersion\":1,\"threads\":{\"columns\":[" columns "],\"rows\":[" rows "]}}"

static Visited *read_well(const char *document) {
        Visited *visited;

        ck_assert_msg(document_read(span_of(document), &visited) == SNAPSHOT_OK, "%s: %s", document,
                      visited->complaint);
        return visited;
}

START_TEST(columns_stand_in_any_order_and_unknown_ones_are_skipped) {
        Visited *visited = read_well(
                TABLE("\"zz\",\"nice\",\"start_time_clock_ticks\",\"tgid\",\"aa\",\"tid\",\"thread_"
                      "count\"",
                      "[[1.5,{}],-20,7,8,{\"a\":[null]},9,99],[\"x\",null,1,2,null,3,0]"));
        const ThreadSample *a = &visited->samples[0], *b = &visited->samples[1];

        ck_assert_uint_eq(visited->n_threads, 2);
        ck_assert_int_eq(a->tid, 9);
        ck_assert_int_eq(a->tgid, 8);
        ck_assert_int_eq((int64_t) thread_sample_get(a, METRIC_nice), -20);
        ck_assert_uint_eq(thread_sample_get(a, METRIC_thread_count), 1);
        ck_assert_int_eq(b->tid, 3);
        ck_assert(!thread_sample_has(b, METRIC_nice)); /* not left from the row before */
        ck_assert(!thread_sample_has(b, METRIC_run_time_ns));
        visited_free(visited);
}
END_TEST

START_TEST(members_are_handed_out_in_the_order_found) {
        static const char *const documents[] = {
                "{\"formatVersion\":1,\"host\":{\"a\":1},\"host_cpu\":{\"e\":6},"
                "\"host_memory\":null,\"host_disk\":{\"f\":7},\"host_network\":{\"g\":8},"
                "\"threads\":{\"columns\":[" ID_COLUMNS "],\"rows\":[[1,1,0]]},"
                "\"cgroup_stats\":{\"/\\uefff\":{\"b\":2}},\"psi\":{\"c\":3},"
                "\"sched_ext\":{\"d\":4},\"probe_summary\":{\"i\":9},\"sources\":[],"
                "\"extra\":[1e5],\"captured_at_unix_ns\":5}",
                " { \"sched_ext\" : {\"d\": 4} , \"probe_summary\":{\"i\":9}, \"sources\":[ "
                "],\"cgroup_stats\":{ \"/\\uefff\" "
                ":{ \"b\": 2 }}, \"host_network\":{\"g\":8},\"psi\":{\"c\":3}, "
                "\"host_disk\":{\"f\":7}, \"host_cpu\" : {\"e\": 6}, \"host\" : { \"a\" :1}, "
                "\"captured_at_unix_ns\" : 5, \"threads\":{\"columns\":[" ID_COLUMNS
                "],\"note\":{},\"rows\":[[1,1,0]]}, \"formatVersion\": 1 }\n",
        };
        static const char *const orders[] = { "h023tcpxms", "xmsc3p20ht" };

        for (size_t i = 0; i < ELEMENTSOF(documents); i++) {
                Visited *visited = read_well(documents[i]);

                ck_assert_str_eq(visited->order, orders[i]);
                ck_assert(span_is(visited->host, "{\"a\":1}"));
                ck_assert(span_is(visited->host_parts[HOST_PART_CPU], "{\"e\":6}"));
                ck_assert(span_is(visited->host_parts[HOST_PART_DISK], "{\"f\":7}"));
                ck_assert(span_is(visited->host_parts[HOST_PART_NETWORK], "{\"g\":8}"));
                ck_assert(span_is(visited->paths[0], "/\xff"));
                ck_assert(span_is(visited->stats[0], "{\"b\":2}"));
                ck_assert(span_is(visited->psi, "{\"c\":3}"));
                ck_assert(span_is(visited->sched_ext, "{\"d\":4}"));
                ck_assert(span_is(visited->probe_summary, "{\"i\":9}"));
                ck_assert_uint_eq(visited->captured_ns, 5);
                ck_assert_uint_eq(visited->version, 1);
                visited_free(visited);
        }
}
END_TEST

/* Whoever owns a cgroup can make such a pair: it must not spoil the snapshot of the host. */
START_TEST(cgroups_whose_hashes_collide_are_two) {
        _cleanup_(buffer_done) Buffer document = {};
        JsonWriter writer;
        Visited *visited;

        ck_assert_colliding();
        json_writer_init(&writer, &document);
        json_write_object(&writer);
        json_write_member_u64(&writer, "formatVersion", 1);
        json_write_key(&writer, "cgroup_stats");
        json_write_object(&writer);
        for (unsigned i = 0; i < 2; i++) {
                json_write_key_name(&writer, i == 0 ? COLLIDING_A : COLLIDING_B);
                json_write_object(&writer);
                json_write_end(&writer);
        }
        json_write_end(&writer);
        json_write_key(&writer, "threads");
        json_write_object(&writer);
        json_write_key(&writer, "columns");
        json_write_array(&writer);
        json_write_end(&writer);
        json_write_key(&writer, "rows");
        json_write_array(&writer);
        json_write_end(&writer);
        json_write_end(&writer);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);

        ck_assert_msg(document_read(buffer_span(&document), &visited) == SNAPSHOT_OK, "%s",
                      visited->complaint);
        ck_assert_uint_eq(visited->n_cgroups, 2);
        ck_assert(span_equal(visited->paths[0], COLLIDING_A));
        ck_assert(span_equal(visited->paths[1], COLLIDING_B));
        visited_free(visited);
}
END_TEST

START_TEST(null_values_are_not_handed_out) {
        Visited *visited =
                read_well("{\"formatVersion\":1,\"host\":null,\"psi\":null,"
                          "\"sched_ext\":null,\"probe_summary\":null,\"cgroup_stats\":{},"
                          "\"threads\":{\"columns\":[],\"rows\":[]}}");

        ck_assert_str_eq(visited->order, "");
        ck_assert_uint_eq(visited->captured_ns, 0);
        visited_free(visited);
}
END_TEST

START_TEST(processes_are_counted_once) {
        Visited *visited = read_well(
                TABLE(ID_COLUMNS,
                      "[1,1,0],[2,1,0],[3,2147483647,0],[4,1,0],[5,1048576,0],[6,1048575,0]"));

        ck_assert_uint_eq(visited->n_read_threads, 6);
        ck_assert_uint_eq(visited->n_read_processes, 4);
        visited_free(visited);
}
END_TEST

START_TEST(chunks_make_no_difference) {
        ThreadSample sample = some_sample();
        Buffer row, document;
        Visited *visited;

        sample.comm = SPAN_LITERAL("\xff\n\xc3\xa4");
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                thread_sample_put(&sample, (MetricId) id, id == METRIC_ext_enabled ? 1 : 65);
        sample.cpus = SPAN_LITERAL("0-64");
        buffer_init(&row, 0);
        ck_assert_int_eq(thread_row_encode(&row, &sample, SPAN_LITERAL("{\"Rss\":1}")), 0);
        document_write(&document, &head, buffer_span(&row));
        ck_assert_int_eq(document_read_chunks(buffer_span(&document), 1, &visited_all, &visited),
                         SNAPSHOT_OK);
        ck_assert(span_equal(visited->samples[0].comm, sample.comm));
        for (unsigned id = 1; id < _METRIC_MAX; id++)
                ck_assert_uint_eq(thread_sample_get(&visited->samples[0], (MetricId) id),
                                  thread_sample_get(&sample, (MetricId) id));
        visited_free(visited);
        buffer_done(&row);
        buffer_done(&document);
}
END_TEST

START_TEST(a_document_cut_anywhere_is_malformed) {
        ThreadSample sample = some_sample();
        Buffer row, document;
        Visited *visited;

        sample.comm = SPAN_LITERAL("\"\xff");
        buffer_init(&row, 0);
        ck_assert_int_eq(thread_row_encode(&row, &sample, SPAN_LITERAL("{\"Rss\":1}")), 0);
        document_write(&document, &head, buffer_span(&row));
        for (size_t n = 0; n < document.n; n++) {
                ck_assert_int_eq(document_read((Span){ document.bytes, n }, &visited),
                                 SNAPSHOT_E_MALFORMED);
                ck_assert_str_ne(visited->complaint, "");
                ck_assert_uint_le(visited->offset, n);
                visited_free(visited);
        }
        buffer_done(&row);
        buffer_done(&document);
}
END_TEST

/* The cell of one column besides the columns of the identity. */
#define CELL(column, cell) TABLE(ID_COLUMNS ",\"" column "\"", "[1,1,0," cell "]")
#define DEEP "[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]"

static const struct {
        const char *document;
        const char *complaint; /* a part of it */
} malformed_rows[] = {
        { "", "" },
        { "null", "object" },
        { "[]", "object" },
        { "{}", "threads" },
        { "{}{}", "" },
        { TABLE("", "") "x", "" },
        { "{\"formatVersion\":1}", "threads" },
        { "{\"formatVersion\":\"1\"}", "formatVersion: " },
        { "{\"formatVersion\":1.0}", "formatVersion: " },
        { "{\"formatVersion\":-1}", "formatVersion: " },
        { "{\"formatVersion\":1,\"formatVersion\":1}", "duplicate" },
        { "{\"formatVersion\":1,\"captured_at_unix_ns\":-1}", "captured_at_unix_ns: " },
        { "{\"formatVersion\":1,\"captured_at_unix_ns\":18446744073709551616}",
          "captured_at_unix_ns: " },
        { "{\"formatVersion\":1,\"hostName\":1}", "hostName: " },
        { "{\"formatVersion\":1,\"startBoottimeNs\":\"1\"}", "startBoottimeNs: " },
        { "{\"formatVersion\":1,\"user_hz\":null}", "user_hz: " },
        { "{\"formatVersion\":1,\"smapsRequested\":1}", "smapsRequested: " },
        { "{\"formatVersion\":1,\"heapRequested\":\"no\"}", "heapRequested: " },
        { "{\"formatVersion\":1,\"smapsMode\":1}", "smapsMode: " },
        { "{\"formatVersion\":1,\"smapsMaxRssBytes\":\"1\"}", "smapsMaxRssBytes: " },
        { "{\"formatVersion\":1,\"smapsMaxProcesses\":\"1\"}", "smapsMaxProcesses: " },
        { "{\"formatVersion\":1,\"end\":{\"ledgerId\":1}}", "end: " },
        { "{\"formatVersion\":1,\"end\":{\"ledgerSinceBoottimeNs\":null}}", "end: " },
        { "{\"formatVersion\":1,\"end\":{\"waitsSinceBoottimeNs\":-1}}", "end: " },
        { "{\"formatVersion\":1,\"host\":[]}", "host: " },
        { "{\"formatVersion\":1,\"host\":{\"a\":1,\"a\":2}}", "duplicate" },
        { "{\"formatVersion\":1,\"host\":{\"a\":1.5}}", "host: " },
        { "{\"formatVersion\":1,\"host\":{\"a\":\"1.5\",\"b\":[1e3]}}", "host: " },
        { "{\"formatVersion\":1,\"psi\":7}", "psi: " },
        { "{\"formatVersion\":1,\"host_cpu\":7}", "host_cpu: " },
        { "{\"formatVersion\":1,\"host_memory\":[]}", "host_memory: " },
        { "{\"formatVersion\":1,\"host_disk\":\"\"}", "host_disk: " },
        { "{\"formatVersion\":1,\"host_network\":{\"a\":1,\"a\":1}}", "host_network: " },
        { "{\"formatVersion\":1,\"psi\":{\"a\":18446744073709551616}}", "psi: " },
        { "{\"formatVersion\":1,\"sched_ext\":\"on\"}", "sched_ext: " },
        { "{\"formatVersion\":1,\"cgroup_stats\":null}", "cgroup_stats: " },
        { "{\"formatVersion\":1,\"cgroup_stats\":{\"/\":null}}", "cgroup_stats: " },
        { "{\"formatVersion\":1,\"cgroup_stats\":{\"/\":{},\"/\":{}}}", "duplicate" },
        { "{\"formatVersion\":1,\"cgroup_stats\":{\"\\u00e9\":{},\"\\uefc3\\uefa9\":{}}}",
          "cgroup_stats: a cgroup is there twice" },
        { "{\"formatVersion\":1,\"cgroup_stats\":{\"/\":{\"a\":2E0}}}", "cgroup_stats: " },
        { "{\"formatVersion\":1,\"sources\":{}}", "sources: " },
        { "{\"formatVersion\":1,\"end\":1}", "end: " },
        { "{\"formatVersion\":1,\"end\":{\"threads\":-1}}", "end: " },
        { "{\"formatVersion\":1,\"end\":{\"backend\":1}}", "end: " },
        { "{\"formatVersion\":1,\"end\":{\"complete\":1}}", "end: " },
        { "{\"formatVersion\":1,\"end\":{\"endRealtimeNs\":\"\"}}", "end: " },
        { "{\"formatVersion\":1,\"extra\":" DEEP "}", "nested" },
        { "{\"formatVersion\":1,\"threads\":null}", "threads: " },
        { "{\"formatVersion\":1,\"threads\":[]}", "threads: " },
        { "{\"threads\":[],\"formatVersion\":1}", "shape" },
        { "{\"threads\":{\"columns\":[],\"rows\":[]}}", "formatVersion" },
        { "{\"formatVersion\":0,\"threads\":{\"columns\":[],\"rows\":[]}}", "formatVersion" },
        { "{\"formatVersion\":1,\"threads\":{}}", "threads: " },
        { "{\"formatVersion\":1,\"threads\":{\"columns\":[]}}", "rows" },
        { "{\"formatVersion\":1,\"threads\":{\"rows\":[]}}", "before" },
        { "{\"formatVersion\":1,\"threads\":{\"rows\":[],\"columns\":[]}}", "before" },
        { "{\"formatVersion\":1,\"threads\":{\"columns\":{},\"rows\":[]}}", "threads: " },
        { "{\"formatVersion\":1,\"threads\":{\"columns\":[],\"rows\":{}}}", "threads: " },
        { TABLE("1", ""), "column" },
        { TABLE("\"tid\",\"tid\"", ""), "twice" },
        { TABLE("\"a\",\"ab\",\"a\"", ""), "twice" },
        { TABLE("\"\",\"\"", ""), "twice" },
        { TABLE(ID_COLUMNS, "1"), "row" },
        { TABLE(ID_COLUMNS, "{}"), "row" },
        { TABLE(ID_COLUMNS, "[1,1,0],[1,1]"),
          "number 2, start_time_clock_ticks: the row has fewer" },
        { TABLE(ID_COLUMNS, "[1,1,0,0]"), "more cells" },
        { TABLE("", "[]"), "must have a value" },
        { TABLE("\"tid\",\"tgid\"", "[1,1]"), "must have a value" },
        { TABLE(ID_COLUMNS, "[null,1,0]"), "must have a value" },
        { TABLE(ID_COLUMNS, "[1,1,null]"), "must have a value" },
        { TABLE(ID_COLUMNS, "[0,1,0]"), "number 1, tid: " },
        { TABLE(ID_COLUMNS, "[-1,1,0]"), "tid: " },
        { TABLE(ID_COLUMNS, "[1,2147483648,0]"), "tgid: " },
        { TABLE(ID_COLUMNS, "[\"1\",1,0]"), "tid: " },
        { TABLE(ID_COLUMNS, "[1,1,-1]"), "start_time_clock_ticks: " },
        { TABLE(ID_COLUMNS, "[1,1,18446744073709551616]"), "start_time_clock_ticks: " },
        { CELL("ppid", "-1"), "ppid: " },
        { CELL("ppid", "2147483648"), "ppid: " },
        { CELL("uid", "4294967296"), "uid: " },
        { CELL("gid", "true"), "gid: " },
        { CELL("comm", "1"), "comm: " },
        { CELL("comm", "\"\\u0000\""), "" },
        { CELL("comm", "\"\xff\""), "" },
        { CELL("comm", "\"\\ud800\""), "" },
        { CELL("pcomm", "[]"), "pcomm: " },
        { CELL("cgroup", "{}"), "cgroup: " },
        { CELL("kthread", "1"), "kthread: " },
        { CELL("self", "\"true\""), "self: " },
        { CELL("exe_dev", "-1"), "exe_dev: " },
        { CELL("exe_inode", "1e3"), "exe_inode: " },
        { CELL("smaps_rollup_kb", "[]"), "smaps_rollup_kb: " },
        { CELL("smaps_rollup_kb", "{\"Rss\":-1}"), "smaps_rollup_kb: " },
        { CELL("smaps_rollup_kb", "{\"Rss\":null}"), "smaps_rollup_kb: " },
        { CELL("smaps_rollup_kb", "{\"Rss\":1,\"Rss\":1}"), "duplicate" },
        { CELL("run_time_ns", "-1"), "number 1, run_time_ns: " },
        { CELL("run_time_ns", "18446744073709551616"), "run_time_ns: " },
        { CELL("run_time_ns", "1.5"), "run_time_ns: " },
        { CELL("run_time_ns", "\"1\""), "run_time_ns: " },
        { CELL("run_time_ns", "true"), "run_time_ns: " },
        { CELL("run_time_ns", "01"), "run_time_ns: " },
        { CELL("run_time_ns", "[1]"), "run_time_ns: " },
        { CELL("nice", "2147483648"), "nice: " },
        { CELL("nice", "-2147483649"), "nice: " },
        { CELL("nice", "\"0\""), "nice: " },
        { CELL("rt_priority", "-1"), "rt_priority: " },
        { CELL("rt_priority", "4294967296"), "rt_priority: " },
        { CELL("policy", "0"), "policy: " },
        { CELL("policy", "\"\""), "policy: " },
        { CELL("policy", "\"SCHED_NEW\""), "policy: " },
        { CELL("policy", "\"SCHED_UNKNOWN(2147483648)\""), "policy: " },
        { CELL("state", "\"\""), "state: " },
        { CELL("state", "\"RS\""), "state: " },
        { CELL("state", "82"), "state: " },
        { CELL("state", "\"\\u00e4\""), "state: " },
        { CELL("ext_enabled", "0"), "ext_enabled: " },
        { CELL("cpu_affinity", "[0,1]"), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"0-\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"0,\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\",0\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"3-1\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"1-1\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"1,1\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"4,0-2\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"0-65536\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"0 1\""), "cpu_affinity: " },
        { CELL("cpu_affinity", "\"0x1\""), "cpu_affinity: " },
        { CELL("unknown", DEEP), "nested" },
        { "{\"formatVersion\":1,\"threads\":{\"columns\":[" ID_COLUMNS
          "],\"rows\":[[1,1,0]]},\"end\":{\"threads\":2}}",
          "number of threads" },
        { "{\"formatVersion\":1,\"end\":{\"processes\":0},\"threads\":{\"columns\":[" ID_COLUMNS
          "],\"rows\":[[1,1,0]]}}",
          "number of processes" },
};

START_TEST(malformed_documents_are_refused_with_a_complaint) {
        Visited *visited;

        ck_assert_int_eq(document_read(span_of(malformed_rows[_i].document), &visited),
                         SNAPSHOT_E_MALFORMED);
        ck_assert_str_ne(visited->complaint, "");
        ck_assert_msg(strstr(visited->complaint, malformed_rows[_i].complaint) != NULL,
                      "%s\nsays \"%s\", not \"%s\"", malformed_rows[_i].document,
                      visited->complaint, malformed_rows[_i].complaint);
        ck_assert_uint_le(visited->offset, strlen(malformed_rows[_i].document));
        visited_free(visited);
}
END_TEST

START_TEST(cpu_lists_reach_to_the_bound) {
        Visited *visited = read_well(CELL("cpu_affinity", "\"0-2,65534-65535\""));

        ck_assert_uint_eq(thread_sample_get(&visited->samples[0], METRIC_cpu_affinity), 5);
        visited_free(visited);
        visited = read_well(CELL("cpu_affinity", "null"));
        ck_assert(!thread_sample_has(&visited->samples[0], METRIC_cpu_affinity));
        ck_assert_ptr_null(visited->samples[0].cpus.bytes);
        visited_free(visited);
}
END_TEST

START_TEST(strange_keys_of_a_rollup_are_left_out) {
        Visited *visited = read_well(
                CELL("smaps_rollup_kb", "{\"a b\":1,\"Rss\":18446744073709551615,\"\\u00e4\":2}"));

        ck_assert(span_is(visited->smaps[0], "{\"Rss\":18446744073709551615}"));
        visited_free(visited);
        visited = read_well(CELL("smaps_rollup_kb", "{\"a b\":1}"));
        ck_assert_uint_eq(visited->smaps[0].n, 0);
        ck_assert(!visited->samples[0].smaps_unasked);
        visited_free(visited);
}
END_TEST

START_TEST(a_rollup_without_lines_was_not_asked_for) {
        Visited *visited = read_well(CELL("smaps_rollup_kb", "{}"));
        ThreadSample sample;

        ck_assert_uint_eq(visited->smaps[0].n, 0);
        ck_assert(visited->samples[0].smaps_unasked);
        sample = visited->samples[0];
        visited_free(visited);
        visited = pass_through(&sample, (Span){});
        ck_assert(visited->samples[0].smaps_unasked);
        visited_free(visited);
        visited = read_well(CELL("smaps_rollup_kb", "null"));
        ck_assert(!visited->samples[0].smaps_unasked);
        visited_free(visited);
}
END_TEST

START_TEST(the_columns_have_a_bound) {
        for (unsigned excess = 0; excess < 2; excess++) {
                Buffer document;
                Visited *visited;

                buffer_init(&document, 0);
                ck_assert_int_eq(buffer_append_text(&document, "{\"formatVersion\":1,\"threads\":"
                                                               "{\"columns\":[\"x\""),
                                 0);
                for (unsigned i = 1; i < 1024 + excess; i++)
                        ck_assert_int_eq(buffer_append_format(&document, ",\"x%u\"", i), 0);
                ck_assert_int_eq(buffer_append_text(&document, "],\"rows\":[]}}"), 0);
                ck_assert_int_eq(document_read(buffer_span(&document), &visited),
                                 excess ? SNAPSHOT_E_MALFORMED : SNAPSHOT_OK);
                visited_free(visited);
                buffer_done(&document);
        }
}
END_TEST

/* @n bytes of JSON object, handed on whole. */
static void make_host(Buffer *document, size_t n) {
        size_t n_value = n - strlen("{\"\":[]}");
        char *value;

        buffer_init(document, 0);
        ck_assert_int_eq(buffer_append_text(document, "{\"formatVersion\":1,\"host\":{\"\":["), 0);
        ck_assert_int_eq(buffer_reserve(document, n_value, &value), 0);
        for (size_t i = 0; i < n_value; i++)
                value[i] = i % 2 == 0 ? '1' : ',';
        document->n += n_value;
        ck_assert_int_eq(
                buffer_append_text(document, "]},\"threads\":{\"columns\":[],\"rows\":[]}}"), 0);
}

START_TEST(a_value_has_a_bound) {
        for (unsigned excess = 0; excess < 2; excess++) {
                Buffer document;
                Visited *visited;

                /* Two bytes a number; the object's own seven make the sum odd or even. */
                make_host(&document, SNAPSHOT_MAX_VALUE_BYTES + 2 * excess);
                ck_assert_int_eq(document_read(buffer_span(&document), &visited),
                                 excess ? SNAPSHOT_E_MALFORMED : SNAPSHOT_OK);
                if (excess)
                        ck_assert_pstr_eq(visited->complaint, "host: the value is too long");
                visited_free(visited);
                buffer_done(&document);
        }
}
END_TEST

START_TEST(the_document_has_a_bound) {
        static const char document[] =
                "{\"formatVersion\":1,\"threads\":{\"columns\":[],\"rows\":[]}}";

        for (unsigned short_by = 0; short_by < 2; short_by++) {
                _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
                DocumentStream stream = { SPAN_LITERAL(document), 7 };
                SnapshotVisitor nobody = {};

                ck_assert_int_eq(snapshot_reader_new(document_refill, &stream,
                                                     sizeof(document) - 1 - short_by, &reader),
                                 0);
                ck_assert_int_eq(snapshot_reader_run(reader, &nobody, NULL),
                                 short_by ? SNAPSHOT_E_MALFORMED : SNAPSHOT_OK);
        }
}
END_TEST

START_TEST(a_newer_format_is_too_new) {
        static const char *const rows[] = {
                "{\"formatVersion\":2,\"threads\":{\"columns\":[],\"rows\":[]}}",
                "{\"formatVersion\":18446744073709551615}",
                "{\"threads\":{\"columns\":[],\"rows\":[]},\"formatVersion\":2}",
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Visited *visited;

                ck_assert_int_eq(document_read(span_of(rows[i]), &visited), SNAPSHOT_E_TOO_NEW);
                ck_assert_ptr_nonnull(strstr(visited->complaint, "newer"));
                ck_assert_uint_ge(visited->version, 2);
                visited_free(visited);
        }
}
END_TEST

static int refuse_thread(void *userdata, const ThreadSample *sample, Span smaps) {
        return -ECANCELED;
}

static int refuse_cgroup(void *userdata, Span path, Span json) {
        return -ECANCELED;
}

static SnapshotSection refused;

static int refuse_value(void *userdata, SnapshotSection section, Span json) {
        return section == refused ? -ECANCELED : 0;
}

static int refuse_sources(void *userdata, const SourceTable *sources) {
        return -ECANCELED;
}

static int refuse_ledger(void *userdata, const LedgerSummary *ledger) {
        return -ECANCELED;
}

static int refuse_exited(void *userdata, const ExitedRow *row) {
        return -ECANCELED;
}

static const struct {
        SnapshotVisitor visitor;
        SnapshotSection section; /* of on_value */
} refusing_rows[] = {
        { { .on_thread = refuse_thread }, 0 },
        { { .on_cgroup = refuse_cgroup }, 0 },
        { { .on_value = refuse_value }, SNAPSHOT_SECTION_HOST },
        { { .on_value = refuse_value }, SNAPSHOT_SECTION_HOST_DISK },
        { { .on_value = refuse_value }, SNAPSHOT_SECTION_PRESSURE },
        { { .on_value = refuse_value }, SNAPSHOT_SECTION_SCHED_EXT },
        { { .on_value = refuse_value }, SNAPSHOT_SECTION_PROBE_SUMMARY },
        { { .on_sources = refuse_sources }, 0 },
        { { .on_ledger = refuse_ledger }, 0 },
        { { .on_exited = refuse_exited }, 0 },
};

#define LEDGER                                                              \
        "{\"generation\":1,\"exits\":2,\"unfinished\":3,\"folded_rows\":4," \
        "\"overflow_exits\":5,\"lost_marks\":6,\"lost_records\":7}"

#define EVERYTHING                                                                             \
        "{\"formatVersion\":1,\"host\":{},\"host_disk\":{},"                                   \
        "\"threads\":{\"columns\":[" ID_COLUMNS "],\"rows\":[[1,1,0]]},\"ledger\":" LEDGER "," \
        "\"dead\":{\"columns\":[\"exits\",\"lives_ns\",\"accounted\",\"young\","               \
        "\"young_run_ns\"],\"rows\":[[1,2,0,1,5]]},"                                           \
        "\"cgroup_stats\":{\"/\":{}},\"psi\":{},\"sched_ext\":{},"                             \
        "\"probe_summary\":{},"                                                                \
        "\"sources\":[]}"

START_TEST(a_visitor_can_stop_the_reading) {
        Visited *visited;

        refused = refusing_rows[_i].section;
        ck_assert_int_eq(document_read_chunks(span_of(EVERYTHING), 100, &refusing_rows[_i].visitor,
                                              &visited),
                         -ECANCELED);
        visited_free(visited);
}
END_TEST

static int on_name(void *userdata, const ThreadSample *sample, Span smaps_json) {
        Buffer *names = userdata;

        for (unsigned id = 0; id < _METRIC_MAX; id++)
                ck_assert_int_eq(thread_sample_has(sample, (MetricId) id),
                                 id == METRIC_thread_count);
        buffer_append(names, sample->comm.bytes, sample->comm.n);
        return buffer_append_byte(names, ';');
}

/*
 * The second document is broken in numbers only, which
 * nobody reads, and the third where a name is read.
 */
static const struct {
        const char *rows;
        int expected;
        const char *names;
} named_rows[] = {
        { "[1,1,2,\"[1]\",7,{\"a\":[]},8,9],[1,2,2,\"b\",7,null,8,9]", SNAPSHOT_OK, "[1];b;" },
        { "[1,1,2,\"a\",\"no number\",-,8,9,9]", SNAPSHOT_OK, "a;" },
        { "[1,1,2,\"a\",7,7,8,9],[1,2,2,5,7,7,8,9]", SNAPSHOT_E_MALFORMED, "a;" },
        { "[1,1,2,\"a\",7,7,8,9", SNAPSHOT_E_MALFORMED, "a;" },
};

START_TEST(names_are_read_without_numbers) {
        static const SnapshotVisitor visitor = { .on_thread = on_name, .names_only = true };
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        DocumentStream stream;
        Buffer document, names;

        buffer_init(&document, 0);
        buffer_init(&names, 0);
        buffer_append_text(&document,
                           "{\"formatVersion\":1,\"threads\":{\"columns\":[\"tgid\",\"tid\","
                           "\"start_time_clock_ticks\",\"comm\",\"run_time_ns\",\"unknown\","
                           "\"minflt\",\"majflt\"],\"rows\":[");
        buffer_append_text(&document, named_rows[_i].rows);
        buffer_append_text(&document, "]}}");
        stream = (DocumentStream){ buffer_span(&document), document.n };
        ck_assert_int_eq(snapshot_reader_new(document_refill, &stream, 0, &reader), 0);
        ck_assert_int_eq(snapshot_reader_run(reader, &visitor, &names), named_rows[_i].expected);
        ck_assert(span_is(buffer_span(&names), named_rows[_i].names));
        buffer_done(&document);
        buffer_done(&names);
}
END_TEST

START_TEST(a_visitor_may_want_nothing) {
        static const SnapshotVisitor nobody = {};
        Visited *visited;

        ck_assert_int_eq(document_read_chunks(span_of(EVERYTHING), 100, &nobody, &visited),
                         SNAPSHOT_OK);
        ck_assert_uint_eq(visited->n_read_threads, 1);
        visited_free(visited);
}
END_TEST

START_TEST(threads_can_be_fetched_one_by_one) {
        static const char document[] =
                "{\"formatVersion\":1,\"host\":{},\"threads\":{\"columns\":[" ID_COLUMNS
                "],\"rows\":[[1,1,0],[2,1,0]]},\"cgroup_stats\":{\"/\":{}}}";
        static const struct {
                pid_t tid; /* 0: none is left */
                const char *order;
        } steps[] = { { 1, "h" }, { 2, "h" }, { 0, "hc" }, { 0, "hc" } };
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        DocumentStream stream = { SPAN_LITERAL(document), 5 };
        Visited *visited = calloc(1, sizeof(*visited));

        ck_assert_ptr_nonnull(visited);
        ck_assert_int_eq(snapshot_reader_new(document_refill, &stream, 0, &reader), 0);
        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                const ThreadSample *sample;
                Span smaps;

                ck_assert_int_eq(
                        snapshot_reader_next(reader, &visited_all, visited, &sample, &smaps), 0);
                ck_assert_int_eq(sample ? sample->tid : 0, steps[i].tid);
                ck_assert_str_eq(visited->order, steps[i].order);
                ck_assert_uint_eq(visited->n_threads, 0);
        }
        ck_assert_uint_eq(reader->n_threads, 2);
        ck_assert_uint_eq(reader->n_processes, 1);
        visited_free(visited);
}
END_TEST

static int failing_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        return -EIO;
}

START_TEST(a_failing_refill_is_passed_on) {
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;

        ck_assert_int_eq(snapshot_reader_new(failing_refill, NULL, 0, &reader), 0);
        ck_assert_int_eq(snapshot_reader_run(reader, &visited_all, NULL), -EIO);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("snapshot-reader");
        TCase *trip = tcase_create("round trip"), *document = tcase_create("document");
        TCase *malformed = tcase_create("malformed"), *visitor = tcase_create("visitor");

        tcase_add_loop_test(trip, every_metric_survives_at_its_extremes_and_alone, 0, _METRIC_MAX);
        tcase_add_test(trip, identity_survives_whole_and_absent);
        tcase_add_loop_test(trip, names_are_lossless, 0, ELEMENTSOF(name_rows));
        tcase_add_test(trip, every_byte_of_a_name_is_lossless);
        tcase_add_test(trip, chunks_make_no_difference);
        suite_add_tcase(suite, trip);
        tcase_add_test(document, columns_stand_in_any_order_and_unknown_ones_are_skipped);
        tcase_add_test(document, members_are_handed_out_in_the_order_found);
        tcase_add_test(document, null_values_are_not_handed_out);
        tcase_add_test(document, cgroups_whose_hashes_collide_are_two);
        tcase_add_test(document, processes_are_counted_once);
        tcase_add_test(document, cpu_lists_reach_to_the_bound);
        tcase_add_test(document, strange_keys_of_a_rollup_are_left_out);
        tcase_add_test(document, a_rollup_without_lines_was_not_asked_for);
        tcase_add_test(document, a_newer_format_is_too_new);
        suite_add_tcase(suite, document);
        tcase_add_loop_test(malformed, malformed_documents_are_refused_with_a_complaint, 0,
                            ELEMENTSOF(malformed_rows));
        tcase_add_test(malformed, a_document_cut_anywhere_is_malformed);
        tcase_add_test(malformed, the_columns_have_a_bound);
        tcase_add_test(malformed, a_value_has_a_bound);
        tcase_add_test(malformed, the_document_has_a_bound);
        suite_add_tcase(suite, malformed);
        tcase_add_loop_test(visitor, a_visitor_can_stop_the_reading, 0, ELEMENTSOF(refusing_rows));
        tcase_add_test(visitor, a_visitor_may_want_nothing);
        tcase_add_loop_test(visitor, names_are_read_without_numbers, 0, ELEMENTSOF(named_rows));
        tcase_add_test(visitor, threads_can_be_fetched_one_by_one);
        tcase_add_test(visitor, a_failing_refill_is_passed_on);
        suite_add_tcase(suite, visitor);
        return check_main(suite);
}
