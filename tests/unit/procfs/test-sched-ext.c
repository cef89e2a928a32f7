/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <sys/stat.h>

#include "kernel/procfs/sched-ext.h"
#include "text/fixture.h"

static uint64_t counts[_SOURCE_OUTCOME_MAX];
static Buffer buffer;

static int read_json(int sys_fd) {
        JsonWriter writer;
        int r;

        memset(counts, 0, sizeof(counts));
        buffer_clear(&buffer);
        json_writer_init(&writer, &buffer);
        r = sched_ext_read(sys_fd, &writer, counts);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        return r;
}

START_TEST(a_loaded_scheduler_is_read) {
        int fd = fixture_open("sys/7.2-scx");

        ck_assert_int_eq(read_json(fd), 0);
        ck_assert(span_is(
                buffer_span(&buffer),
                "{\"state\":\"enabled\",\"switch_all\":1,\"nr_rejected\":0,\"hotplug_seq\":1,"
                "\"enable_seq\":1,\"ops\":\"ctvm_min\",\"events\":{"
                "\"SCX_EV_BYPASS_ACTIVATE\":1,\"SCX_EV_BYPASS_DISPATCH\":1,"
                "\"SCX_EV_BYPASS_DURATION\":38352409,\"SCX_EV_DISPATCH_KEEP_LAST\":77,"
                "\"SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE\":0,\"SCX_EV_ENQ_SKIP_EXITING\":0,"
                "\"SCX_EV_ENQ_SKIP_MIGRATION_DISABLED\":0,\"SCX_EV_INSERT_NOT_OWNED\":0,"
                "\"SCX_EV_REENQ_IMMED\":0,\"SCX_EV_REENQ_LOCAL_REPEAT\":0,"
                "\"SCX_EV_REFILL_SLICE_DFL\":617,\"SCX_EV_SELECT_CPU_FALLBACK\":0,"
                "\"SCX_EV_SUB_BYPASS_DISPATCH\":0}}"));
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_ok], 7);
        (void) close(fd);
}
END_TEST

START_TEST(a_kernel_without_it_is_null_and_not_counted) {
        int fd = fixture_open("sys/6.12-schedstats");

        ck_assert_int_eq(read_json(fd), TEXT_E_ABSENT);
        ck_assert(span_is(buffer_span(&buffer), "null"));
        for (size_t i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                ck_assert_uint_eq(counts[i], 0);
        (void) close(fd);
}
END_TEST

static void put(int fd, const char *name, const char *text) {
        int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        ck_assert_int_ge(file, 0);
        ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t) strlen(text));
        (void) close(file);
}

START_TEST(an_idle_class_has_nulls_for_what_is_missing) {
        static const char *const names[] = { "kernel/sched_ext/state",
                                             "kernel/sched_ext/switch_all",
                                             "kernel/sched_ext/nr_rejected" };
        char path[] = "/tmp/sched-ext-XXXXXX";
        int fd;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_eq(mkdirat(fd, "kernel", 0700), 0);
        ck_assert_int_eq(mkdirat(fd, "kernel/sched_ext", 0700), 0);
        put(fd, names[0], "disabled\n");
        put(fd, names[1], "0\n");
        put(fd, names[2], "many\n");

        ck_assert_int_eq(read_json(fd), 0);
        ck_assert(span_is(buffer_span(&buffer),
                          "{\"state\":\"disabled\",\"switch_all\":0,\"nr_rejected\":null,"
                          "\"hotplug_seq\":null,\"enable_seq\":null}"));
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_ok], 2);
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_malformed], 1);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                (void) unlinkat(fd, names[i], 0);
        (void) unlinkat(fd, "kernel/sched_ext", AT_REMOVEDIR);
        (void) unlinkat(fd, "kernel", AT_REMOVEDIR);
        (void) close(fd);
        (void) rmdir(path);
}
END_TEST

static void teardown(void) {
        buffer_done(&buffer);
}

int main(void) {
        Suite *suite = suite_create("sched-ext");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, NULL, teardown);
        tcase_add_test(read, a_loaded_scheduler_is_read);
        tcase_add_test(read, a_kernel_without_it_is_null_and_not_counted);
        tcase_add_test(read, an_idle_class_has_nulls_for_what_is_missing);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
