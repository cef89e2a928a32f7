/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

static const WorkerConfinement confinements[] = { WORKER_FREE, WORKER_CONFINED };

static const char *plain(json_object *object) {
        return json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
}

/* An order about the first of two descriptors, with the second one to write. */
static Order *new_order(OrderMethod method) {
        Order *order = order_new(method);

        ck_assert_ptr_nonnull(order);
        order->analysis.n[0] = 1;
        order->analysis.subjects[0].from.fd = 1;
        order->analysis.output = 2;
        return order;
}

/* Converts @fd; *ret_fd is the output. */
static void convert(int fd, OrderFormat format, WorkerConfinement confinement, int *ret_fd) {
        _cleanup_(freep) Order *order = new_order(ORDER_CONVERT);
        int fds[] = { fd, fixture_file("", 0) };
        Conversation answer;
        json_object *head;
        Span text;

        order->analysis.format = format;
        obey(order, fds, 2, confinement, &answer);
        ck_assert_msg(!answer.error, "%s: %s", answer.error, plain(answer.replies[0]));
        ck_assert(result_unpack(buffer_span(&answer.result), &text, 1));
        head = json_tokener_parse(text.bytes);
        ck_assert(json_object_is_type(head, json_type_object));
        json_object_put(head);
        conversation_done(&answer);
        *ret_fd = fds[1];
}

static json_object *convert_to_ktstr(int fd, WorkerConfinement confinement) {
        json_object *document;
        char *text;
        int output;

        convert(fd, ORDER_FORMAT_KTSTR, confinement, &output);
        text = fixture_text(output);
        document = json_tokener_parse(text);
        ck_assert_ptr_nonnull(document);
        free(text);
        (void) close(output);
        return document;
}

static json_object *thread_at(json_object *document, size_t index) {
        return json_object_array_get_idx(json_path(document, "threads", NULL), index);
}

static const char *const top_members[] = {
        "captured_at_unix_ns", "host",          "threads",
        "cgroup_stats",        "probe_summary", "parse_summary",
        "taskstats_summary",   "psi",           "sched_ext",
};

START_TEST(ktstr_has_all_members_in_order) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        json_object *document;
        size_t i = 0;

        if (cannot_be_tried(confinements[_i]))
                return;
        document = convert_to_ktstr(fd, confinements[_i]);
        json_object_object_foreach(document, key, value) {
                (void) value;
                ck_assert_str_eq(key, top_members[i++]);
        }
        ck_assert_uint_eq(i, ELEMENTSOF(top_members));
        ck_assert_uint_eq(json_object_array_length(json_path(document, "threads", NULL)), 3);
        for (size_t j = 0; j < 3; j++)
                ck_assert_int_eq(json_object_object_length(thread_at(document, j)), 99);
        ck_assert_uint_eq(json_object_get_uint64(json_path(document, top_members[0], NULL)),
                          FIXTURE_START_NS);
        json_object_put(document);
        (void) close(fd);
}
END_TEST

/* Members of the first thread; absent values are written as the prior tool does. */
static const struct {
        const char *key, *value;
} object_rows[] = {
        { "tid", "100" },
        { "tgid", "100" },
        { "pcomm", "\"pool\"" },
        { "comm", "\"worker-1\"" },
        { "start_time_clock_ticks", "50" },
        { "policy", "\"SCHED_OTHER\"" },
        { "nice", "-5" },
        { "cpu_affinity", "[0,1,2,7]" },
        { "state", "\"S\"" },
        { "ext_enabled", "false" },
        { "processor", "0" },
        { "run_time_ns", "1000" },
        { "wait_time_ns", "0" },
        { "smaps_rollup_kb", "{\"Rss\":12}" },
        { "smaps_rollup_kib", "{\"Rss\":12}" },
        { "irq_delay_min_ns", "0" },
        { "hiwater_vm_bytes", "0" },
};

START_TEST(ktstr_writes_what_its_readers_expect) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        json_object *document = convert_to_ktstr(fd, WORKER_FREE);

        ck_assert_str_eq(plain(json_path(thread_at(document, 0), object_rows[_i].key, NULL)),
                         object_rows[_i].value);
        json_object_put(document);
        (void) close(fd);
}
END_TEST

START_TEST(ktstr_writes_every_metric_once) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        json_object *document = convert_to_ktstr(fd, WORKER_FREE);
        bool wanted = _i != METRIC_thread_count && metric_table[_i].explained_by != SOURCE_WAITS &&
                      metric_table[_i].explained_by != SOURCE_REASONS &&
                      metric_table[_i].section != METRIC_SECTION_TASKSTATS_ACCOUNTING &&
                      metric_table[_i].rule != METRIC_RULE_SumGaugeBytes;

        /* There are 99 members in all, so each is there once. */
        ck_assert(json_object_object_get_ex(thread_at(document, 1), metric_table[_i].name, NULL) ==
                  wanted);
        json_object_put(document);
        (void) close(fd);
}
END_TEST

START_TEST(ktstr_keeps_names_that_are_no_utf8) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        json_object *document = convert_to_ktstr(fd, WORKER_FREE);

        ck_assert_str_eq(json_string_at(thread_at(document, 2), "comm"), "we\"ird\xee\xbf\xbf");
        ck_assert_str_eq(plain(json_path(thread_at(document, 2), "smaps_rollup_kb", NULL)), "{}");
        ck_assert_str_eq(plain(json_path(thread_at(document, 2), "smaps_rollup_kib", NULL)), "{}");
        json_object_put(document);
        (void) close(fd);
}
END_TEST

/* Which flags are true beside one value; the others of its family could not be read. */
static const struct {
        const char *value, *flags;
} flag_rows[] = {
        { "minflt", "....." },
        { "cpu_delay_total_ns", "tc..." },
        { "blkio_delay_count", "t.b.." },
        { "irq_delay_max_ns", "t.b.." },
        { "hiwater_vm_bytes", "t..x." },
        { "deallocated_bytes", "....j" },
};

START_TEST(ktstr_flags_tell_what_was_read) {
        static const char *const flags[] = {
                "taskstats_measured", "cpu_delay_active",  "delay_block_active",
                "xacct_active",       "jemalloc_measured",
        };
        json_object *document, *flag;
        char text[256];
        int n, fd;

        /* A zero that was measured counts like any other value. */
        n = snprintf(text, sizeof(text),
                     "{\"threads\":[{\"tid\":1,\"tgid\":1,\"start_time_clock_ticks\":0,\"%s\":0}]}",
                     flag_rows[_i].value);
        fd = fixture_zstd(text, (size_t) n);
        document = convert_to_ktstr(fd, WORKER_FREE);
        for (size_t i = 0; i < ELEMENTSOF(flags); i++) {
                flag = json_path(thread_at(document, 0), flags[i], NULL);
                ck_assert(json_object_is_type(flag, json_type_boolean));
                ck_assert_msg(json_object_get_boolean(flag) == (flag_rows[_i].flags[i] != '.'),
                              "%s beside %s", flags[i], flag_rows[_i].value);
        }
        json_object_put(document);
        (void) close(fd);
}
END_TEST

static const struct {
        const char *member, *value;
} document_rows[] = {
        { "host", "{\"total_memory_kb\":2048,\"total_memory_kib\":2048,"
                  "\"sched_tunables\":{\"sched_rt_runtime_us\":\"950000\"},\"online_cpus\":2,"
                  "\"cpufreq_governor\":{\"0\":\"performance\",\"10\":\"powersave\","
                  "\"9\":\"powersave\"},\"kernel_release\":\"6.12.1\"}" },
        { "probe_summary",
          "{\"tgids_walked\":9,\"jemalloc_detected\":2,\"probed_ok\":7,\"failed\":3,"
          "\"dominant_failure\":\"permission\",\"privilege_dominant\":true}" },
        { "parse_summary", "{\"tids_walked\":3,\"read_failures\":2,"
                           "\"read_failures_by_file\":{\"io\":2},\"dominant_read_failure\":\"io\","
                           "\"kernel_config_dominant\":true,\"negative_dotted_values\":0}" },
        { "taskstats_summary",
          "{\"ok_count\":3,\"eperm_count\":0,\"esrch_count\":0,\"other_err_count\":0}" },
        { "sched_ext", "null" },
};

START_TEST(ktstr_tells_of_the_whole) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        json_object *document = convert_to_ktstr(fd, WORKER_FREE), *value = NULL;

        ck_assert(json_object_object_get_ex(document, document_rows[_i].member, &value));
        ck_assert_str_eq(value ? plain(value) : "null", document_rows[_i].value);
        json_object_put(document);
        (void) close(fd);
}
END_TEST

#define PSI_ZERO "{\"avg10\":0,\"avg60\":0,\"avg300\":0,\"total_usec\":0}"
#define PSI_ZEROS "{\"some\":" PSI_ZERO ",\"full\":" PSI_ZERO "}"

START_TEST(ktstr_reshapes_cgroups_and_pressure) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        json_object *document = convert_to_ktstr(fd, WORKER_FREE);

        ck_assert_str_eq(
                plain(json_path(document, "cgroup_stats", "/system.slice/pool.service", NULL)),
                "{\"cpu\":{\"usage_usec\":7,\"nr_throttled\":0,\"throttled_usec\":0,"
                "\"max_quota_us\":null,\"max_period_us\":100000,\"weight\":100,\"weight_nice\":"
                "null},"
                "\"memory\":{\"current\":1,\"max\":null,\"high\":null,\"low\":18446744073709551615,"
                "\"min\":null,\"stat\":{\"anon\":5},\"events\":{}},"
                "\"pids\":{\"current\":null,\"max\":null},"
                "\"psi\":{\"cpu\":" PSI_ZEROS ",\"memory\":" PSI_ZEROS ",\"io\":" PSI_ZEROS
                ",\"irq\":" PSI_ZEROS "}}");
        ck_assert_str_eq(plain(json_path(document, "psi", "cpu", "some", NULL)),
                         "{\"avg10\":150,\"avg60\":0,\"avg300\":0,\"total_usec\":0}");
        json_object_put(document);
        (void) close(fd);
}
END_TEST

START_TEST(what_ktstr_wrote_can_be_shown) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot), output;
        json_object *head;
        Conversation answer;

        convert(fd, ORDER_FORMAT_KTSTR, WORKER_FREE, &output);
        converse("io.ctprof.Profiler.Info",
                 "{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"old\"}}", false, &output, 1,
                 WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        head = json_path(answer.replies[0], "snapshot", NULL);
        ck_assert_str_eq(json_string_at(head, "name"), "old");
        ck_assert_int_eq(json_object_get_int(json_path(head, "formatVersion", NULL)), 0);
        ck_assert_int_eq(json_object_get_int(json_path(head, "threads", NULL)), 3);
        ck_assert_int_eq(json_object_get_int(json_path(head, "processes", NULL)), 1);
        ck_assert_uint_eq(json_object_get_uint64(json_path(head, "startRealtimeNs", NULL)),
                          FIXTURE_START_NS);
        ck_assert_str_eq(json_string_at(json_object_array_get_idx(
                                                json_path(answer.replies[0], "sources", NULL), 0),
                                        "reason"),
                         "format version 0: absent cannot be told from zero");
        conversation_done(&answer);
        (void) close(output);
        (void) close(fd);
}
END_TEST

START_TEST(ndjson_is_one_thread_a_line) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot), output;
        char *text, *line, *rest;
        json_object *object, *value;
        size_t n, n_lines = 0;

        if (cannot_be_tried(confinements[_i]))
                return;
        convert(fd, ORDER_FORMAT_NDJSON, confinements[_i], &output);
        text = fixture_bytes(output, &n);
        ck_assert_uint_gt(n, 0);
        ck_assert_int_eq(text[n - 1], '\n');
        for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                object = json_tokener_parse(line);
                ck_assert_ptr_nonnull(object);
                ck_assert_str_eq(json_string_at(object, "kind"), "thread");
                ck_assert_str_eq(json_string_at(object, "host"), "host");
                ck_assert_str_eq(json_string_at(object, "boot_id"), FIXTURE_BOOT_ID);
                ck_assert_int_eq(json_object_get_int(json_path(object, "tid", NULL)),
                                 100 + (int) n_lines);
                ck_assert_str_eq(json_string_at(object, "cpu_affinity"), "0-2,7");
                ck_assert_int_eq(json_object_get_int64(json_path(object, "run_time_ns", NULL)),
                                 1000 * ((int64_t) n_lines + 1));
                /* Absent members are null, not left out. */
                ck_assert(json_object_object_get_ex(object, "wait_time_ns", &value));
                ck_assert_ptr_null(value);
                ck_assert(json_object_object_get_ex(object, "exe_dev", &value));
                ck_assert_ptr_null(value);
                json_object_put(object);
                n_lines++;
        }
        ck_assert_uint_eq(n_lines, 3);
        free(text);
        (void) close(output);
        (void) close(fd);
}
END_TEST

START_TEST(ndjson_tells_the_dead_after_the_living) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        char *text, *line, *rest;
        json_object *object, *value;
        unsigned n_lines = 0;
        int fd, output;
        size_t n;

        snapshot.n_exited = 2;
        fd = fixture_snapshot(&snapshot);
        convert(fd, ORDER_FORMAT_NDJSON, WORKER_FREE, &output);
        text = fixture_bytes(output, &n);
        for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                object = json_tokener_parse(line);
                ck_assert_ptr_nonnull(object);
                ck_assert_str_eq(json_string_at(object, "kind"), n_lines < 3 ? "thread" : "dead");
                ck_assert_str_eq(json_string_at(object, "boot_id"), FIXTURE_BOOT_ID);
                if (n_lines >= 3) {
                        ck_assert_str_eq(json_string_at(object, "ledger_id"), FIXTURE_LEDGER_ID);
                        ck_assert_str_eq(json_string_at(object, "comm"), "we\"ird\xee\xbf\xbf");
                        ck_assert_uint_eq(json_object_get_uint64(json_path(object, "exits", NULL)),
                                          n_lines - 2);
                        ck_assert_uint_eq(
                                json_object_get_uint64(json_path(object, "run_time_ns", NULL)),
                                1000 * (n_lines - 2));
                        ck_assert(json_object_object_get_ex(object, "minflt", &value) && !value);
                        ck_assert(!json_object_object_get_ex(object, "tid", &value));
                }
                json_object_put(object);
                n_lines++;
        }
        ck_assert_uint_eq(n_lines, 3 + 2);
        free(text);
        (void) close(output);
        (void) close(fd);
}
END_TEST

/* It has no place for them, and a reader that knows no ledger takes its text. */
START_TEST(ktstr_is_of_the_living) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        json_object *document;
        int fd;

        snapshot.n_exited = 1;
        fd = fixture_snapshot(&snapshot);
        document = convert_to_ktstr(fd, WORKER_FREE);
        ck_assert_int_eq(json_object_object_length(document), ELEMENTSOF(top_members));
        ck_assert_uint_eq(json_object_array_length(json_path(document, "threads", NULL)), 3);
        json_object_put(document);
        (void) close(fd);
}
END_TEST

static const struct {
        OrderFormat format;
        OrderFd from, output;
} convert_rows[] = {
        { _ORDER_FORMAT_MAX, 1, 2 },   { ORDER_FORMAT_KTSTR, 1, 0 },  { ORDER_FORMAT_KTSTR, 1, 3 },
        { ORDER_FORMAT_NDJSON, 0, 2 }, { ORDER_FORMAT_NDJSON, 1, 1 },
};

START_TEST(convert_checks_its_order) {
        _cleanup_(freep) Order *order = new_order(ORDER_CONVERT);
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fds[] = { fixture_snapshot(&snapshot), fixture_file("", 0) };
        Conversation answer;

        order->analysis.format = convert_rows[_i].format;
        order->analysis.subjects[0].from.fd = convert_rows[_i].from;
        order->analysis.output = convert_rows[_i].output;
        obey(order, fds, 2, WORKER_FREE, &answer);
        ck_assert_ptr_nonnull(answer.error);
        ck_assert_int_eq(lseek(fds[1], 0, SEEK_END), 0);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

START_TEST(an_output_that_cannot_be_written_fails_the_job) {
        _cleanup_(freep) Order *order = new_order(ORDER_CONVERT);
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fds[] = { fixture_snapshot(&snapshot), open("/dev/null", O_RDONLY | O_CLOEXEC) };
        Conversation answer;

        order->analysis.format = ORDER_FORMAT_NDJSON;
        obey(order, fds, 2, WORKER_FREE, &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.JobFailed");
        ck_assert_ptr_nonnull(json_string_at(answer.replies[0], "reason"));
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

/* The file of a client is where the client has put it; what the main process hands over is not. */
START_TEST(what_is_full_is_not_always_the_spool) {
        _cleanup_(freep) Order *order = new_order(ORDER_CONVERT);
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fds[] = { fixture_snapshot(&snapshot), open("/dev/full", O_WRONLY | O_CLOEXEC) };
        Conversation answer;

        ck_assert_int_ge(fds[1], 0);
        order->analysis.format = ORDER_FORMAT_NDJSON;
        obey(order, fds, 2, WORKER_FREE, &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.SpoolFull");
        conversation_done(&answer);
        converse("io.ctprof.Job.Convert",
                 "{\"snapshot\":{\"fileDescriptor\":0},\"format\":\"ndjson\",\"output\":1}", false,
                 fds, 2, WORKER_FREE, &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.JobFailed");
        ck_assert_str_eq(json_string_at(answer.replies[0], "reason"), strerror(ENOSPC));
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

/* import */

static void order_import(int fd, const char *name, WorkerConfinement confinement, int *ret_fd,
                         Conversation *ret) {
        _cleanup_(freep) Order *order = new_order(ORDER_IMPORT);
        int fds[] = { fd, fixture_file("", 0) };

        (void) snprintf(order->analysis.name.text, sizeof(order->analysis.name.text), "%s", name);
        order->analysis.uid = 7;
        obey(order, fds, 2, confinement, ret);
        *ret_fd = fds[1];
}

/* The reply is made of the head of what was written. */
static void import(int fd, WorkerConfinement confinement, int *ret_fd, Conversation *ret) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        SnapshotFault fault = {};
        JsonWriter writer;
        Head head = {};

        order_import(fd, "mine", confinement, ret_fd, ret);
        ck_assert_ptr_null(ret->error);
        ck_assert_uint_eq(ret->result.n, 0);
        ck_assert_int_eq(snapshot_file_verify(*ret_fd, SNAPSHOT_PART_WHOLE, &head, &fault), 0);
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshot");
        head_write_json(&writer, &head);
        json_write_end(&writer);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        ret->replies[ret->n++] = json_tokener_parse(text.bytes);
        head_done(&head);
}

START_TEST(import_keeps_the_body_under_a_new_head) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot), output;
        char *before, *after;
        json_object *head;
        Conversation answer;
        Head written = {};
        SnapshotFault fault;
        size_t n;

        if (cannot_be_tried(confinements[_i]))
                return;
        import(fd, confinements[_i], &output, &answer);
        ck_assert_ptr_null(answer.error);
        head = json_path(answer.replies[0], "snapshot", NULL);
        ck_assert_str_eq(json_string_at(head, "name"), "mine");
        ck_assert_int_eq(json_object_get_int(json_path(head, "uid", NULL)), 7);
        ck_assert(json_object_get_boolean(json_path(head, "tagged", NULL)));
        ck_assert_str_eq(json_string_at(head, "bootId"), FIXTURE_BOOT_ID);
        ck_assert_str_eq(
                plain(json_path(head, "importedFrom", NULL)),
                "{\"formatVersion\":1,\"name\":\"before\",\"uid\":1000,\"hostName\":\"host\"}");
        ck_assert_int_eq(snapshot_file_verify(output, SNAPSHOT_PART_WHOLE, &written, &fault), 0);
        ck_assert_str_eq(written.name, "mine");
        head_done(&written);

        before = fixture_bytes(fd, &n);
        after = fixture_bytes(output, &n);
        ck_assert_int_eq(memcmp(before, after, 200), 0);
        free(before);
        free(after);
        conversation_done(&answer);
        (void) close(output);
        (void) close(fd);
}
END_TEST

START_TEST(import_rewrites_the_prior_format) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot), old, output;
        json_object *head, *again;
        Conversation answer;
        Head written = {};
        SnapshotFault fault;

        if (cannot_be_tried(confinements[_i]))
                return;
        convert(fd, ORDER_FORMAT_KTSTR, WORKER_FREE, &old);
        import(old, confinements[_i], &output, &answer);
        ck_assert_msg(!answer.error, "%s", plain(answer.replies[0]));
        head = json_path(answer.replies[0], "snapshot", NULL);
        ck_assert_int_eq(json_object_get_int(json_path(head, "formatVersion", NULL)),
                         HEAD_FORMAT_VERSION);
        ck_assert_str_eq(plain(json_path(head, "importedFrom", NULL)), "{\"formatVersion\":0}");
        ck_assert_str_eq(json_string_at(head, "kernelRelease"), "6.12.1");
        ck_assert(!json_object_get_boolean(json_path(head, "complete", NULL)));
        ck_assert_int_eq(snapshot_file_verify(output, SNAPSHOT_PART_WHOLE, &written, &fault), 0);
        ck_assert_uint_eq(written.threads, 3);
        ck_assert_uint_eq(written.start_realtime_ns, FIXTURE_START_NS);
        head_done(&written);

        /* The import keeps the facts that the file records. */
        again = convert_to_ktstr(output, WORKER_FREE);
        ck_assert_str_eq(plain(json_path(thread_at(again, 0), "cpu_affinity", NULL)), "[0,1,2,7]");
        ck_assert_str_eq(json_string_at(thread_at(again, 2), "comm"), "we\"ird\xee\xbf\xbf");
        ck_assert_int_eq(json_object_get_int(json_path(again, "host", "total_memory_kb", NULL)),
                         2048);
        ck_assert_int_eq(json_object_object_length(json_path(again, "cgroup_stats", NULL)), 1);
        json_object_put(again);
        conversation_done(&answer);
        (void) close(old);
        (void) close(output);
        (void) close(fd);
}
END_TEST

START_TEST(import_keeps_the_dead) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;
        json_object *head, *ledger;
        int fds[1], fd, output;

        snapshot.n_exited = 3;
        fd = fixture_snapshot(&snapshot);
        import(fd, WORKER_FREE, &output, &answer);
        ck_assert_ptr_null(answer.error);
        head = json_path(answer.replies[0], "snapshot", NULL);
        ck_assert_str_eq(json_string_at(head, "ledgerId"), FIXTURE_LEDGER_ID);
        conversation_done(&answer);

        fds[0] = output;
        converse("io.ctprof.Profiler.Info", "{\"snapshot\":{\"fileDescriptor\":0}}", false, fds, 1,
                 WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ledger = json_path(answer.replies[0], "ledger", NULL);
        ck_assert_uint_eq(json_object_get_uint64(json_path(ledger, "exits", NULL)), 1 + 2 + 3);
        ck_assert_uint_eq(json_object_get_uint64(json_path(ledger, "lost_records", NULL)), 2);
        conversation_done(&answer);
        (void) close(output);
        (void) close(fd);
}
END_TEST

static const char *const import_rows[] = { "", ".x", "../x", "a..b" };

START_TEST(import_checks_its_name) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot), output;
        Conversation answer;

        order_import(fd, import_rows[_i], WORKER_FREE, &output, &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.InvalidName");
        conversation_done(&answer);
        (void) close(fd);
        (void) close(output);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("convert");
        TCase *ktstr = tcase_create("ktstr");
        TCase *ndjson = tcase_create("ndjson");
        TCase *calls = tcase_create("calls");
        TCase *imports = tcase_create("import");

        tcase_add_loop_test(ktstr, ktstr_has_all_members_in_order, 0, 2);
        tcase_add_loop_test(ktstr, ktstr_flags_tell_what_was_read, 0, ELEMENTSOF(flag_rows));
        tcase_add_loop_test(ktstr, ktstr_writes_what_its_readers_expect, 0,
                            ELEMENTSOF(object_rows));
        tcase_add_loop_test(ktstr, ktstr_writes_every_metric_once, 0, _METRIC_MAX);
        tcase_add_test(ktstr, ktstr_keeps_names_that_are_no_utf8);
        tcase_add_loop_test(ktstr, ktstr_tells_of_the_whole, 0, ELEMENTSOF(document_rows));
        tcase_add_test(ktstr, ktstr_reshapes_cgroups_and_pressure);
        tcase_add_test(ktstr, what_ktstr_wrote_can_be_shown);
        tcase_add_test(ktstr, ktstr_is_of_the_living);
        tcase_add_loop_test(ndjson, ndjson_is_one_thread_a_line, 0, 2);
        tcase_add_test(ndjson, ndjson_tells_the_dead_after_the_living);
        tcase_add_loop_test(calls, convert_checks_its_order, 0, ELEMENTSOF(convert_rows));
        tcase_add_test(calls, an_output_that_cannot_be_written_fails_the_job);
        tcase_add_test(calls, what_is_full_is_not_always_the_spool);
        tcase_add_loop_test(imports, import_keeps_the_body_under_a_new_head, 0, 2);
        tcase_add_test(imports, import_keeps_the_dead);
        tcase_add_loop_test(imports, import_rewrites_the_prior_format, 0, 2);
        tcase_add_loop_test(imports, import_checks_its_name, 0, ELEMENTSOF(import_rows));
        suite_add_tcase(suite, ktstr);
        suite_add_tcase(suite, ndjson);
        suite_add_tcase(suite, calls);
        suite_add_tcase(suite, imports);
        return check_main(suite);
}
