/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "kernel/procfs/host-context.h"
#include "text/fixture.h"

static HostContext host;
static Buffer buffer;
static const char *json;

static void read_host(int proc_fd, int sys_fd) {
        JsonWriter writer;

        buffer_clear(&buffer);
        json_writer_init(&writer, &buffer);
        ck_assert_int_eq(host_context_read(proc_fd, sys_fd, "cpu, memory", &writer, &host), 0);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &json), 0);
}

static void teardown(void) {
        buffer_done(&buffer);
}

static const struct {
        const char *name, *release, *boot_id, *member;
} fixture_rows[] = {
        { "6.1-schedstats", "6.1.0-56-cloud-amd64", "0b5a6c1e61d04c1b9f00000000000061",
          "\"total_memory_kib\":996344," },
        { "6.12-schedstats", "6.12.117+deb13-cloud-amd64", "0b5a6c1e61d04c1b9f00000000000612",
          "\"total_memory_kib\":990876," },
        { "7.2-scx", "7.2.12+deb13-cloud-amd64", "0b5a6c1e61d04c1b9f00000000000072",
          "\"total_memory_kib\":985684," },
};

START_TEST(kernels_trees_are_read) {
        char path[64];
        int proc_fd, sys_fd;

        (void) snprintf(path, sizeof(path), "proc/%s", fixture_rows[_i].name);
        proc_fd = fixture_open(path);
        (void) snprintf(path, sizeof(path), "sys/%s", fixture_rows[_i].name);
        sys_fd = fixture_open(path);
        read_host(proc_fd, sys_fd);

        ck_assert(host.has_schedstats && host.schedstats == 1);
        ck_assert(host.has_delayacct && host.delayacct == 1);
        ck_assert(host.has_cmdline && host.delayacct_booted);
        ck_assert(host.has_online_cpus && host.online_cpus == 2);
        ck_assert_str_eq(host.kernel_release, fixture_rows[_i].release);
        ck_assert_str_eq(host.boot_id, fixture_rows[_i].boot_id);
        ck_assert_str_eq(host.host_name, "ctvm");
        ck_assert_uint_eq(host.user_hz, (uint32_t) sysconf(_SC_CLK_TCK));
        ck_assert_uint_eq(host.page_size, (uint32_t) sysconf(_SC_PAGESIZE));
        ck_assert_uint_eq(host.counts[SOURCE_OUTCOME_unsupported], 0);
        ck_assert_uint_eq(host.counts[SOURCE_OUTCOME_malformed], 0);
        ck_assert_uint_eq(host.counts[SOURCE_OUTCOME_other], 0);
        ck_assert_uint_ge(host.counts[SOURCE_OUTCOME_ok], 11);
        ck_assert_ptr_nonnull(strstr(json, fixture_rows[_i].member));
        (void) close(proc_fd);
        (void) close(sys_fd);
}
END_TEST

START_TEST(the_object_is_complete) {
        int proc_fd = fixture_open("proc/7.2-scx"), sys_fd = fixture_open("sys/7.2-scx");
        char wanted[4096];

        read_host(proc_fd, sys_fd);
        (void) snprintf(
                wanted, sizeof(wanted),
                "{\"cpu_model\":\"Example CPU @ 2.00GHz\",\"cpu_vendor\":\"GenuineIntel\","
                "\"total_memory_kib\":985684,\"hugepages_total\":0,\"hugepages_free\":0,"
                "\"hugepages_size_kib\":2048,\"thp_enabled\":\"always [madvise] never\","
                "\"thp_defrag\":\"always defer defer+madvise [madvise] never\","
                "\"sched_tunables\":{\"sched_autogroup_enabled\":\"1\","
                "\"sched_cfs_bandwidth_slice_us\":\"5000\","
                "\"sched_deadline_period_max_us\":\"4194304\","
                "\"sched_deadline_period_min_us\":\"100\",\"sched_rr_timeslice_ms\":\"100\","
                "\"sched_rt_period_us\":\"1000000\",\"sched_rt_runtime_us\":\"1000000\","
                "\"sched_schedstats\":\"1\",\"sched_util_clamp_max\":\"1024\","
                "\"sched_util_clamp_min\":\"1024\",\"sched_util_clamp_min_rt_default\":\"1024\"},"
                "\"sched_schedstats\":1,\"task_delayacct\":1,\"cgroup_v1\":\"cpu, memory\","
                "\"online_cpus\":2,\"numa_nodes\":1,"
                "\"cpufreq_governor\":{\"1\":\"schedutil\"},\"kernel_name\":\"Linux\","
                "\"kernel_release\":\"7.2.12+deb13-cloud-amd64\",\"arch\":\"x86_64\","
                "\"kernel_cmdline\":\"console=ttyS0,115200 quiet panic=-1 mitigations=off "
                "random.trust_cpu=on delayacct psi=1 schedstats=enable systemd.show_status=0 "
                "systemd.log_target=journal systemd.log_color=0 net.ifnames=0\","
                "\"delayacct_booted\":true,\"host_name\":\"ctvm\","
                "\"boot_id\":\"0b5a6c1e61d04c1b9f00000000000072\",\"user_hz\":%ld,"
                "\"page_size\":%ld}",
                sysconf(_SC_CLK_TCK), sysconf(_SC_PAGESIZE));
        ck_assert_str_eq(json, wanted);
        (void) close(proc_fd);
        (void) close(sys_fd);
}
END_TEST

START_TEST(what_cannot_be_read_is_left_out_and_counted) {
        int fd = fixture_open("proc/edge-names");

        read_host(fd, -EBADF);
        ck_assert(!host.has_schedstats && !host.has_delayacct && !host.has_cmdline &&
                  !host.delayacct_booted && !host.has_online_cpus);
        ck_assert_str_eq(host.boot_id, "");
        ck_assert_str_eq(host.kernel_release, "");
        ck_assert_str_eq(host.host_name, "");
        ck_assert_ptr_null(strstr(json, "null"));
        ck_assert_ptr_null(strstr(json, "sched_tunables"));
        /* The one is the caller's, the other of the system call. */
        ck_assert_int_eq(strncmp(json, "{\"cgroup_v1\":\"cpu, memory\",\"arch\":\"", 35), 0);
        ck_assert_uint_eq(host.counts[SOURCE_OUTCOME_ok], 0);
        /* cpuinfo, meminfo, the tunables, online, ostype, osrelease, cmdline, hostname, boot_id */
        ck_assert_uint_eq(host.counts[SOURCE_OUTCOME_unsupported], 9);
        (void) close(fd);
}
END_TEST

START_TEST(a_tunable_that_cannot_be_read_is_counted) {
        char path[] = "/tmp/host-context-XXXXXX";
        int fd, file;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_eq(mkdirat(fd, "sys", 0700), 0);
        ck_assert_int_eq(mkdirat(fd, "sys/kernel", 0700), 0);
        file = openat(fd, "sys/kernel/sched_large", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_eq(ftruncate(file, 1 << 20), 0);
        (void) close(file);

        read_host(fd, -EBADF);
        ck_assert_ptr_nonnull(strstr(json, "\"sched_tunables\":{}"));
        ck_assert_uint_eq(host.counts[SOURCE_OUTCOME_other], 1);

        (void) unlinkat(fd, "sys/kernel/sched_large", 0);
        (void) unlinkat(fd, "sys/kernel", AT_REMOVEDIR);
        (void) unlinkat(fd, "sys", AT_REMOVEDIR);
        (void) close(fd);
        (void) rmdir(path);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-context");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, NULL, teardown);
        tcase_add_loop_test(read, kernels_trees_are_read, 0, ELEMENTSOF(fixture_rows));
        tcase_add_test(read, the_object_is_complete);
        tcase_add_test(read, what_cannot_be_read_is_left_out_and_counted);
        tcase_add_test(read, a_tunable_that_cannot_be_read_is_counted);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
