/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <sys/stat.h>

#include "kernel/cgroupfs/cgroup-stats.h"
#include "text/fixture.h"

#define NULL_PSI "{\"cpu\":null,\"memory\":null,\"io\":null,\"irq\":null}"

static Buffer scratch, json;
static CgroupCounts counts;

static void setup(void) {
        buffer_init(&scratch, 0);
        buffer_init(&json, 0);
        counts = (CgroupCounts){};
}

static void teardown(void) {
        buffer_done(&scratch);
        buffer_done(&json);
}

static int read_group(const char *path) {
        int fd = fixture_open(path);
        int r = cgroup_stats_read(fd, &scratch, &json, &counts);

        (void) close(fd);
        return r;
}

static bool has(const char *text) {
        return memmem(json.bytes, json.n, text, strlen(text)) != NULL;
}

/* Each text was put together from the fixture by eye. */
static const struct {
        const char *path;
        const char *texts[14];
} fixture_rows[] = {
        { "cgroup/6.1-schedstats/system.slice/burner.service",
          { "{\"cpu\":{\"usage_usec\":1302012,\"user_usec\":1110891,\"system_usec\":191121,"
            "\"nr_periods\":64,\"nr_throttled\":64,\"throttled_usec\":5170621,"
            "\"max_quota_us\":20000,\"max_period_us\":100000,\"max_burst_us\":0,\"weight\":50,"
            "\"weight_nice\":3},",
            "\"memory\":{\"current\":5107712,\"peak\":", "\"max\":67108864,\"high\":50331648,",
            "\"swap_max\":\"max\",",
            "\"pids\":{\"current\":1,\"peak\":", "\"max\":20,\"events\":{\"max\":0}},",
            "\"io\":{\"254:0\":{\"dbytes\":0,\"dios\":0,\"rbytes\":4280320,\"rios\":72,"
            "\"wbytes\":4196352,\"wios\":8}},",
            "\"psi\":{\"cpu\":{\"some\":{\"avg10\":2773,\"avg60\":593,\"avg300\":127,"
            "\"total_usec\":3983318},\"full\":{\"avg10\":2773,\"avg60\":593,\"avg300\":127,"
            "\"total_usec\":3983237}}," } },
        { "cgroup/6.12-schedstats/system.slice/burner.service",
          { "{\"cpu\":{\"usage_usec\":1301451,\"user_usec\":1056472,\"system_usec\":244979,"
            "\"nr_periods\":65,\"nr_throttled\":65,\"throttled_usec\":5096239,"
            "\"max_quota_us\":20000,\"max_period_us\":100000,",
            "\"memory\":{\"current\":5124096,",
            "\"io\":{\"254:0\":{\"dbytes\":0,\"dios\":0,\"rbytes\":4267008,\"rios\":71," } },
        { "cgroup/7.2-scx/system.slice/burner.service",
          { "{\"cpu\":{\"usage_usec\":4885442,\"user_usec\":4403326,\"system_usec\":482116,"
            "\"nr_periods\":80,\"nr_throttled\":78,\"throttled_usec\":6217748,"
            "\"max_quota_us\":20000,\"max_period_us\":100000,\"max_burst_us\":0,\"weight\":50,"
            "\"weight_nice\":3},",
            "\"memory\":{\"current\":5349376,\"peak\":5783552,\"max\":67108864,\"high\":50331648,"
            "\"low\":0,\"min\":0,\"swap_current\":0,\"swap_max\":\"max\",\"stat\":{",
            "\"active_anon\":282624,", "\"pgfault\":1003,", "\"slab_reclaimable\":452984,",
            "\"zswpwb\":0},",
            "\"events\":{\"high\":0,\"low\":0,\"max\":0,\"oom\":0,\"oom_group_kill\":0,"
            "\"oom_kill\":0,\"sock_throttled\":0}},",
            "\"pids\":{\"current\":1,\"peak\":2,\"max\":20,\"events\":{\"max\":0}},",
            "\"io\":{\"254:0\":{\"dbytes\":0,\"dios\":0,\"rbytes\":4267008,\"rios\":71,"
            "\"wbytes\":4196352,\"wios\":5}},",
            "\"psi\":{\"cpu\":{\"some\":{\"avg10\":2448,\"avg60\":664,\"avg300\":148,"
            "\"total_usec\":4484973},",
            "\"irq\":null}}" } },
};

START_TEST(kernels_files_are_read_exactly) {
        ck_assert_int_eq(read_group(fixture_rows[_i].path), 0);
        for (size_t i = 0; fixture_rows[_i].texts[i]; i++)
                ck_assert_msg(has(fixture_rows[_i].texts[i]), "%s\nnot in\n%.*s",
                              fixture_rows[_i].texts[i], (int) json.n, json.bytes);
        ck_assert(!has("\"stat\":null"));
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_ok], 20);
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_malformed], 0);
        ck_assert_uint_eq(counts.pressure[SOURCE_OUTCOME_ok], 3);
}
END_TEST

START_TEST(what_a_cgroup_does_not_have_is_null_and_no_failure) {
        ck_assert_int_eq(read_group("cgroup/6.12-schedstats/init.scope"), 0);
        ck_assert(span_is(
                buffer_span(&json),
                "{\"cpu\":{\"usage_usec\":2760523,\"user_usec\":1900000,\"system_usec\":860523,"
                "\"nr_periods\":null,\"nr_throttled\":null,\"throttled_usec\":null,"
                "\"max_quota_us\":null,\"max_period_us\":null,\"max_burst_us\":null,"
                "\"weight\":null,\"weight_nice\":null},\"memory\":{\"current\":13000704,"
                "\"peak\":null,\"max\":\"max\",\"high\":null,\"low\":null,\"min\":null,"
                "\"swap_current\":null,\"swap_max\":null,\"stat\":null,\"events\":null},"
                "\"pids\":{\"current\":null,\"peak\":null,\"max\":null,"
                "\"events\":null},\"io\":null,"
                "\"psi\":" NULL_PSI "}"));
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_ok], 3);
        for (size_t i = SOURCE_OUTCOME_ok + 1; i < _SOURCE_OUTCOME_MAX; i++)
                ck_assert_uint_eq(counts.stats[i], 0);
        for (size_t i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                ck_assert_uint_eq(counts.pressure[i], 0);
}
END_TEST

START_TEST(the_root_is_read) {
        ck_assert_int_eq(read_group("cgroup/7.2-scx"), 0);
        ck_assert(has("{\"cpu\":{\"usage_usec\":7000000,"));
        ck_assert(has("\"psi\":{\"cpu\":{\"some\":{\"avg10\":3513,"));
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_ok], 1);
        ck_assert_uint_eq(counts.pressure[SOURCE_OUTCOME_ok], 3);
}
END_TEST

START_TEST(counts_add_up_and_objects_are_appended) {
        ck_assert_int_eq(read_group("cgroup/6.1-schedstats/init.scope"), 0);
        ck_assert_int_eq(buffer_append_byte(&json, ','), 0);
        ck_assert_int_eq(read_group("cgroup/6.12-schedstats/init.scope"), 0);
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_ok], 6);
        ck_assert(has("}},{\"cpu\":"));
}
END_TEST

START_TEST(a_cgroup_without_any_file_has_vanished) {
        char path[] = "/tmp/cgroup-stats-XXXXXX";
        int fd;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_eq(buffer_append_text(&json, "kept"), 0);
        ck_assert_int_eq(cgroup_stats_read(fd, &scratch, &json, &counts), TEXT_E_VANISHED);
        (void) rmdir(path);
        ck_assert_int_eq(cgroup_stats_read(fd, &scratch, &json, &counts), TEXT_E_VANISHED);
        (void) close(fd);
        ck_assert(span_is(buffer_span(&json), "kept"));
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_vanished], 2);
        ck_assert_uint_eq(counts.pressure[SOURCE_OUTCOME_vanished], 2);
}
END_TEST

static const struct {
        const char *name, *content;
        int malformed;
        const char *text; /* must be in the object */
} value_rows[] = {
        { "cpu.max", "max 100000\n", 0, "\"max_quota_us\":\"max\",\"max_period_us\":100000," },
        { "cpu.max", "0 1\n", 0, "\"max_quota_us\":0,\"max_period_us\":1," },
        { "cpu.max", "50000\n", 1, "\"max_quota_us\":50000,\"max_period_us\":null," },
        { "cpu.max", "", 1, "\"max_quota_us\":null,\"max_period_us\":null," },
        { "cpu.max", "max x\n", 1, "\"max_quota_us\":\"max\",\"max_period_us\":null," },
        { "cpu.weight", "x\n", 1, "\"weight\":null," },
        { "cpu.weight.nice", "-20\n", 0, "\"weight_nice\":-20}" },
        { "cpu.weight.nice", "--20\n", 1, "\"weight_nice\":null}" },
        { "cpu.stat", "usage_usec 5\nusage_usec 5\nuser_usec 1\n", 1,
          "\"usage_usec\":null,\"user_usec\":1," },
        { "cpu.stat", "usage_usec 5\nuser_usec 1", 1, "\"usage_usec\":5,\"user_usec\":null," },
        { "memory.max", "max\n", 0, "\"max\":\"max\"," },
        { "memory.max", "0\n", 0, "\"max\":0," },
        { "memory.max", "\n", 1, "\"max\":null," },
        { "memory.max", "-1\n", 1, "\"max\":null," },
        { "memory.low", "max\n", 0, "\"low\":\"max\"," },
        { "memory.min", "18446744073709551615\n", 0, "\"min\":18446744073709551615," },
        { "memory.min", "18446744073709551616\n", 1, "\"min\":null," },
        { "memory.current", "12 13\n", 1, "\"current\":null," },
        { "memory.peak", "7\n", 0, "\"peak\":7," },
        { "memory.stat", "\nb 2\na 1\n\n", 0, "\"stat\":{\"a\":1,\"b\":2}," },
        { "memory.stat", "a 1\nb\nc -1\nd x\n", 1, "\"stat\":{\"a\":1}," },
        { "memory.stat", "a 1\nb 2", 1, "\"stat\":{\"a\":1}," },
        { "memory.stat", "", 0, "\"stat\":{}," },
        { "memory.events", "oom 1\noom 2\n", 1, "\"events\":{}}" },
        { "pids.max", "max\n", 0, "\"max\":\"max\"," },
        { "pids.events", "max 7\n", 0, "\"events\":{\"max\":7}}" },
        { "pids.events", "max -7\n", 1, "\"events\":{}}" },
        { "io.stat", "", 0, "\"io\":{}," },
        { "io.stat", "8:0 rios=x\n", 1, "\"io\":{\"8:0\":{}}," },
};

START_TEST(a_value_is_a_number_a_limit_or_null) {
        char path[] = "/tmp/cgroup-stats-XXXXXX";
        int fd, file;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        file = openat(fd, value_rows[_i].name, O_WRONLY | O_CREAT, 0600);
        ck_assert_int_eq(write(file, value_rows[_i].content, strlen(value_rows[_i].content)),
                         (ssize_t) strlen(value_rows[_i].content));
        (void) close(file);
        ck_assert_int_eq(cgroup_stats_read(fd, &scratch, &json, &counts), 0);
        (void) unlinkat(fd, value_rows[_i].name, 0);
        (void) close(fd);
        (void) rmdir(path);

        ck_assert_msg(has(value_rows[_i].text), "%.*s", (int) json.n, json.bytes);
        ck_assert_int_eq((int) counts.stats[SOURCE_OUTCOME_malformed], value_rows[_i].malformed);
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_ok], value_rows[_i].malformed ? 0 : 1);
}
END_TEST

START_TEST(a_file_past_the_bound_is_null_and_other) {
        char path[] = "/tmp/cgroup-stats-XXXXXX";
        int fd, file;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        file = openat(fd, "memory.stat", O_WRONLY | O_CREAT, 0600);
        ck_assert_int_eq(ftruncate(file, CGROUP_STATS_FILE_BYTES + 1), 0);
        (void) close(file);
        file = openat(fd, "pids.peak", O_WRONLY | O_CREAT, 0600);
        ck_assert_int_eq(write(file, "3\n", 2), 2);
        (void) close(file);
        ck_assert_int_eq(cgroup_stats_read(fd, &scratch, &json, &counts), 0);
        ck_assert(has("\"stat\":null,"));
        ck_assert(has("\"peak\":3,"));
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_other], 1);
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_ok], 1);
        (void) unlinkat(fd, "memory.stat", 0);
        (void) unlinkat(fd, "pids.peak", 0);
        (void) close(fd);
        (void) rmdir(path);
}
END_TEST

START_TEST(a_buffer_that_is_full_is_left_as_it_was) {
        int fd = fixture_open("cgroup/7.2-scx");

        buffer_init(&json, 100);
        ck_assert_int_eq(buffer_append_text(&json, "kept"), 0);
        ck_assert_int_eq(cgroup_stats_read(fd, &scratch, &json, &counts), -EMSGSIZE);
        ck_assert(span_is(buffer_span(&json), "kept"));
        ck_assert_uint_eq(counts.stats[SOURCE_OUTCOME_ok], 0);
        (void) close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroup-stats");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, setup, teardown);
        tcase_add_loop_test(read, kernels_files_are_read_exactly, 0, ELEMENTSOF(fixture_rows));
        tcase_add_test(read, what_a_cgroup_does_not_have_is_null_and_no_failure);
        tcase_add_test(read, the_root_is_read);
        tcase_add_test(read, counts_add_up_and_objects_are_appended);
        tcase_add_test(read, a_cgroup_without_any_file_has_vanished);
        tcase_add_loop_test(read, a_value_is_a_number_a_limit_or_null, 0, ELEMENTSOF(value_rows));
        tcase_add_test(read, a_file_past_the_bound_is_null_and_other);
        tcase_add_test(read, a_buffer_that_is_full_is_left_as_it_was);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
