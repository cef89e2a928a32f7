/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The program in the running kernel: what it says of threads of this process is what procfs says.
 * The threads sleep, so that nothing changes between the two.
 */

#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/bpf/bpf-call.h"
#include "kernel/bpf/task-program.h"
#include "kernel/bpf/task-table.h"
#include "kernel/bpf/task-value.h"
#include "kernel/procfs/proc-sched.h"
#include "kernel/procfs/proc-task.h"

#define N_SLEEPERS 32
#define TICK_NS UINT64_C(10000000) /* USER_HZ is 100 on all architectures that we know */

static TaskObjects objects;
static TaskTable *table;

/* threads that sleep */

typedef struct Sleeper {
        pthread_t thread;
        pid_t tid;
        sem_t is_ready, go_on;
} Sleeper;

static Sleeper sleepers[N_SLEEPERS];

static void *run_sleeper(void *userdata) {
        Sleeper *sleeper = userdata;
        const size_t index = (size_t) (sleeper - sleepers);
        struct sched_param idle = {};
        char name[TASK_COMM_BYTES];
        cpu_set_t cpus;

        sleeper->tid = (pid_t) syscall(SYS_gettid);
        (void) snprintf(name, sizeof(name), "sleeper) %zu\n", index);
        (void) pthread_setname_np(pthread_self(), name);
        /* They differ in what the program has to tell apart. */
        if (index % 3 == 1)
                (void) sched_setscheduler(0, index % 2 ? SCHED_BATCH : SCHED_IDLE, &idle);
        CPU_ZERO(&cpus);
        CPU_SET(index % 2, &cpus);
        if (index % 4 == 2)
                (void) sched_setaffinity(0, sizeof(cpus), &cpus);
        for (volatile unsigned i = 0; i < 20000 * index; i++)
                ;
        sem_post(&sleeper->is_ready);
        sem_wait(&sleeper->go_on);
        return NULL;
}

/* The state is that of a sleeper before it leaves its CPU: it has left it once it gave it up. */
static bool is_asleep(pid_t tid) {
        char path[64], text[PROCFS_BUFFER_BYTES];
        ProcStat stat;
        size_t n;

        (void) snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
        if (text_file_read(AT_FDCWD, path, text, sizeof(text), &n) != 0 ||
            proc_stat_parse((Span){ text, n }, &stat) != 0 || stat.state != 'S')
                return false;
        (void) snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
        return text_file_read(AT_FDCWD, path, text, sizeof(text) - 1, &n) == 0 &&
               (text[n] = '\0', !strstr(text, "\nvoluntary_ctxt_switches:\t0\n"));
}

static void start_sleepers(void) {
        for (size_t i = 0; i < N_SLEEPERS; i++) {
                sem_init(&sleepers[i].is_ready, 0, 0);
                sem_init(&sleepers[i].go_on, 0, 0);
                ck_assert_int_eq(
                        pthread_create(&sleepers[i].thread, NULL, run_sleeper, &sleepers[i]), 0);
        }
        for (size_t i = 0; i < N_SLEEPERS; i++) {
                sem_wait(&sleepers[i].is_ready);
                while (!is_asleep(sleepers[i].tid))
                        (void) sched_yield();
        }
}

static void end_sleepers(void) {
        for (size_t i = 0; i < N_SLEEPERS; i++)
                sem_post(&sleepers[i].go_on);
        for (size_t i = 0; i < N_SLEEPERS; i++) {
                (void) pthread_join(sleepers[i].thread, NULL);
                sem_destroy(&sleepers[i].is_ready);
                sem_destroy(&sleepers[i].go_on);
        }
}

static void setup(void) {
        start_sleepers();
        ck_assert_int_eq(task_table_read(objects.fds[TASK_OBJECT_TASKS], &table), 0);
}

static void teardown(void) {
        table = task_table_free(table);
        end_sleepers();
}

static Task find_task(const TaskTable *tasks, pid_t tid) {
        for (size_t i = 0; i < task_table_count(tasks); i++) {
                Task task = task_table_get(tasks, i);

                if (task.record->tid == (unsigned) tid)
                        return task;
        }
        ck_abort_msg("the iterator has no thread %d", tid);
}

/* a file of one of them */

static char text[PROCFS_BUFFER_BYTES];

static bool read_file(pid_t tid, const char *name, Span *ret) {
        char path[64];
        size_t n;
        int r;

        (void) snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
        r = text_file_read(AT_FDCWD, path, text, sizeof(text), &n);
        ck_assert(r == 0 || r == TEXT_E_ABSENT);
        *ret = (Span){ text, n };
        return r == 0;
}

#define EQUAL(a, b)                                                                          \
        ck_assert_msg((long long) (a) == (long long) (b), "%.16s: " #a " %lld, " #b " %lld", \
                      record->comm, (long long) (a), (long long) (b))

START_TEST(identity_and_cpu_times_are_those_of_stat) {
        const pid_t tid = sleepers[_i].tid;
        const TaskRecord *record = find_task(table, tid).record;
        uint64_t user_ns, system_ns;
        ProcStat stat;
        Span file;

        ck_assert(read_file(tid, "stat", &file));
        ck_assert_int_eq(proc_stat_parse(file, &stat), 0);
        ck_assert(stat.comm.n < TASK_COMM_BYTES &&
                  memcmp(record->comm, stat.comm.bytes, stat.comm.n) == 0 &&
                  record->comm[stat.comm.n] == '\0');
        EQUAL(record->tgid, getpid());
        EQUAL(record->ppid, stat.ppid);
        EQUAL(record->start_boottime_ns / TICK_NS, stat.starttime);
        EQUAL(record->n_threads, stat.num_threads);
        EQUAL(task_state(record), stat.state);
        EQUAL(record->flags, stat.flags);
        EQUAL(record->priority - 100, stat.priority);
        EQUAL(record->static_priority - 120, stat.nice);
        EQUAL(record->rt_priority, stat.rt_priority);
        EQUAL(record->policy, stat.policy);
        /* The load balancer may have moved it since, as test scheduling_is_that_of_sched says. */
        ck_assert_int_lt((int) record->processor, CPU_SETSIZE);
        EQUAL(record->minflt, stat.minflt);
        EQUAL(record->majflt, stat.majflt);
        task_cpu_times(record, &user_ns, &system_ns);
        EQUAL(user_ns / TICK_NS, stat.utime);
        EQUAL(system_ns / TICK_NS, stat.stime);
}
END_TEST

START_TEST(switches_and_owner_are_those_of_status) {
        const pid_t tid = sleepers[_i].tid;
        const TaskRecord *record = find_task(table, tid).record;
        ProcStatus status;
        Span file;

        ck_assert(read_file(tid, "status", &file));
        ck_assert_int_eq(proc_status_parse(file, &status), 0);
        EQUAL(record->uid, status.uid);
        EQUAL(record->owner, status.uid);
        EQUAL(record->gid, status.gid);
        EQUAL(record->voluntary_csw, status.voluntary_csw);
        EQUAL(record->nonvoluntary_csw, status.nonvoluntary_csw);
        EQUAL(record->level + 1, status.n_namespaces);
}
END_TEST

/* owners */

#define STRANGER 60001
#define SUBORDINATES 700000 /* the first of 65,536 uids that are lent to the stranger */

static int write_map(pid_t pid, const char *name, const char *map) {
        char path[64];
        FILE *file;

        (void) snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
        file = fopen(path, "w");
        return file && fputs(map, file) >= 0 && fclose(file) == 0 ? 0 : -errno;
}

/* Without ids that mean something in it a namespace can have none below. */
static int map_own(void) {
        int r = write_map(getpid(), "uid_map", "5 5 1\n");

        if (r == 0)
                r = write_map(getpid(), "setgroups", "deny");
        return r == 0 ? write_map(getpid(), "gid_map", "0 0 1\n") : r;
}

/* A process of the stranger's that goes through each of @n_spaces user namespaces. */
static pid_t start_stranger(unsigned n_spaces, int ready, int go_on) {
        pid_t pid = fork();
        char byte = 0;

        if (pid != 0)
                return pid;
        if (setresgid(STRANGER, STRANGER, STRANGER) < 0 ||
            setresuid(STRANGER, STRANGER, STRANGER) < 0)
                _exit(1);
        for (unsigned i = 0; i < n_spaces; i++) {
                if (prctl(PR_SET_DUMPABLE, 1) < 0 || unshare(CLONE_NEWUSER) < 0)
                        _exit(1);
                if (i > 0 && map_own() == 0)
                        continue;
                /* The maps of the first one are written by somebody who may: root. */
                if (i > 0 || write(ready, &byte, 1) != 1 || read(go_on, &byte, 1) != 1 ||
                    setresuid(5, 5, 5) < 0)
                        _exit(1);
        }
        (void) !write(ready, &byte, 1);
        for (;;)
                (void) pause();
}

START_TEST(who_created_the_outermost_user_namespace_answers) {
        static const unsigned levels[] = { 0, 1, 3 };
        const unsigned n_spaces = levels[_i];
        _cleanup_(task_table_freep) TaskTable *own = NULL;
        const TaskRecord *record;
        int ready[2], go_on[2];
        char byte = 0;
        pid_t pid;

        ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(go_on, O_CLOEXEC), 0);
        pid = start_stranger(n_spaces, ready[1], go_on[0]);
        (void) close(ready[1]);
        if (n_spaces > 0) {
                ck_assert_int_eq(read(ready[0], &byte, 1), 1);
                ck_assert_int_eq(write_map(pid, "uid_map", "0 60001 1\n1 700000 65536\n"), 0);
                ck_assert_int_eq(write_map(pid, "gid_map", "0 60001 1\n"), 0);
                ck_assert_int_eq(write(go_on[1], &byte, 1), 1);
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        ck_assert_int_eq(task_table_read(objects.fds[TASK_OBJECT_TASKS], &own), 0);
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
        (void) close(ready[0]);
        (void) close(go_on[0]);
        (void) close(go_on[1]);

        record = find_task(own, pid).record;
        EQUAL(record->uid, n_spaces == 0 ? STRANGER : SUBORDINATES + 4);
        EQUAL(record->owner, STRANGER);
}
END_TEST

START_TEST(run_and_wait_times_are_those_of_schedstat) {
        const pid_t tid = sleepers[_i].tid;
        const TaskRecord *record = find_task(table, tid).record;
        ProcSchedstat schedstat;
        Span file;

        if (!read_file(tid, "schedstat", &file)) {
                ck_assert(!(record->has & TASK_HAS_RUN_DELAY));
                return;
        }
        ck_assert_int_eq(proc_schedstat_parse(file, &schedstat), 0);
        EQUAL(record->run_time_ns, schedstat.run_time_ns);
        EQUAL(record->wait_time_ns, schedstat.wait_time_ns);
        EQUAL(record->timeslices, schedstat.timeslices);
}
END_TEST

START_TEST(calls_and_bytes_are_those_of_io) {
        const pid_t tid = sleepers[_i].tid;
        const TaskRecord *record = find_task(table, tid).record;
        ProcIo io;
        Span file;

        if (!read_file(tid, "io", &file)) {
                ck_assert(!(record->has & TASK_HAS_IO_BYTES));
                return;
        }
        ck_assert_int_eq(proc_io_parse(file, &io), 0);
        EQUAL(record->rchar, io.values[PROC_IO_rchar]);
        EQUAL(record->wchar, io.values[PROC_IO_wchar]);
        EQUAL(record->syscr, io.values[PROC_IO_syscr]);
        EQUAL(record->syscw, io.values[PROC_IO_syscw]);
        EQUAL(record->read_bytes, io.values[PROC_IO_read_bytes]);
        EQUAL(record->write_bytes, io.values[PROC_IO_write_bytes]);
        EQUAL(record->cancelled_write_bytes, io.values[PROC_IO_cancelled_write_bytes]);
}
END_TEST

#define EQUAL_SCHEDSTAT(name, ...)                  \
        if (sched.present >> PROC_SCHED_##name & 1) \
                EQUAL(task.schedstats->name, sched.values[PROC_SCHED_##name]);

static bool read_sched(pid_t tid, ProcSched *ret) {
        Span file;

        if (!read_file(tid, "sched", &file))
                return false;
        ck_assert_int_eq(proc_sched_parse(file, ret), 0);
        return true;
}

START_TEST(scheduling_is_that_of_sched) {
        const pid_t tid = sleepers[_i].tid;
        ProcSched sched, sched_before;
        const TaskRecord *record;
        Task task;

        if (!read_sched(tid, &sched))
                return; /* this kernel has no such file */
        /*
         * Since 6.12 a thread that sleeps can still be on a run queue, until its turn comes, and be
         * moved to another CPU with it: the table is read between two equal readings.
         */
        do {
                sched_before = sched;
                table = task_table_free(table);
                ck_assert_int_eq(task_table_read(objects.fds[TASK_OBJECT_TASKS], &table), 0);
                ck_assert(read_sched(tid, &sched));
        } while (sched.values[PROC_SCHED_nr_migrations] !=
                 sched_before.values[PROC_SCHED_nr_migrations]);
        task = find_task(table, tid);
        record = task.record;
        EQUAL(record->nr_migrations, sched.values[PROC_SCHED_nr_migrations]);
        if (sched.present >> PROC_SCHED_slice & 1)
                EQUAL(record->slice_ns, sched.values[PROC_SCHED_slice]);
        if (sched.has_ext_enabled)
                EQUAL((record->has & TASK_IS_EXT) != 0, sched.ext_enabled);
        EQUAL((record->has & TASK_HAS_EXT) != 0, sched.has_ext_enabled);
        if (sched.has_schedstats) {
                ck_assert_ptr_nonnull(task.schedstats);
                COUNTERS_OF_SCHEDSTATS(EQUAL_SCHEDSTAT)
                EQUAL_SCHEDSTAT(sum_sleep_runtime)
        }
}
END_TEST

START_TEST(affinity_is_that_of_the_system_call) {
        const pid_t tid = sleepers[_i].tid;
        const Task task = find_task(table, tid);
        cpu_set_t cpus;

        ck_assert_int_eq(sched_getaffinity(tid, sizeof(cpus), &cpus), 0);
        ck_assert_uint_gt(task.n_affinity_words, 0);
        /* The call leaves out CPUs that are not active. */
        for (size_t i = 0; i < task.n_affinity_words && i < CPU_SETSIZE / 64; i++) {
                uint64_t word;

                memcpy(&word, (const char *) &cpus + 8 * i, 8);
                ck_assert_uint_eq(task.affinity[i] & word, word);
        }
        ck_assert_uint_eq(task.affinity[0] & 3, ((const uint64_t *) (const void *) &cpus)[0] & 3);
}
END_TEST

START_TEST(memory_is_told_once_for_a_process) {
        const Task leader = find_task(table, getpid());
        struct stat exe;

        ck_assert_ptr_nonnull(leader.memory);
        ck_assert_int_eq(stat("/proc/self/exe", &exe), 0);
        ck_assert(leader.memory->has & TASK_MEMORY_HAS_EXE);
        ck_assert_uint_eq(leader.memory->exe_inode, exe.st_ino);
        ck_assert_uint_gt(leader.memory->vm, 0);
        ck_assert_uint_ge(MAX_OF(leader.memory->vm_peak, leader.memory->vm), leader.memory->vm);
        for (size_t i = 0; i < N_SLEEPERS; i++) {
                Task task = find_task(table, sleepers[i].tid);

                ck_assert_ptr_null(task.memory);
                ck_assert(task.record->has & TASK_HAS_SPACE);
        }
}
END_TEST

/* What the kernel has not added up yet, and does not show, before 6.16: per CPU. */
static uint64_t find_slack(void) {
        unsigned n_cpus = (unsigned) sysconf(_SC_NPROCESSORS_CONF), major = 0, minor = 0;
        struct utsname host;

        ck_assert_int_eq(uname(&host), 0);
        ck_assert_int_eq(sscanf(host.release, "%u.%u", &major, &minor), 2);
        return major > 6 || (major == 6 && minor >= 16)
                       ? 0
                       : (uint64_t) MAX_OF(32u, 2 * n_cpus) * n_cpus * 4096;
}

static void expect_pages(int64_t n_pages, uint64_t shown_bytes, const char *kind) {
        int64_t n_bytes = n_pages * sysconf(_SC_PAGESIZE), shown = (int64_t) shown_bytes;

        ck_assert_msg(llabs(n_bytes - shown) <= (long long) find_slack(), "%s: %lld, shown %lld",
                      kind, (long long) n_bytes, (long long) shown);
}

START_TEST(resident_pages_are_those_of_status) {
        _cleanup_(task_table_freep) TaskTable *own = NULL;
        pid_t pid = fork();
        ProcStatus status;
        char path[64];
        Task child;
        size_t n;

        if (pid == 0) {
                (void) pause();
                _exit(0);
        }
        ck_assert_int_gt(pid, 0);
        (void) snprintf(path, sizeof(path), "/proc/%d/status", pid);
        do
                ck_assert(text_file_read(AT_FDCWD, path, text, sizeof(text), &n) == 0 &&
                          proc_status_parse((Span){ text, n }, &status) == 0);
        while (status.state != 'S');
        ck_assert_int_eq(task_table_read(objects.fds[TASK_OBJECT_TASKS], &own), 0);
        ck_assert(text_file_read(AT_FDCWD, path, text, sizeof(text), &n) == 0 &&
                  proc_status_parse((Span){ text, n }, &status) == 0);
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);

        child = find_task(own, pid);
        ck_assert_ptr_nonnull(child.memory);
        ck_assert(child.memory->has & TASK_MEMORY_HAS_RESIDENT);
        expect_pages(child.memory->resident[TASK_MEMORY_FILE], status.rss_file, "file");
        expect_pages(child.memory->resident[TASK_MEMORY_ANON], status.rss_anon, "anon");
        expect_pages(child.memory->resident[TASK_MEMORY_SHMEM], status.rss_shmem, "shmem");
        expect_pages(child.memory->resident[TASK_MEMORY_SWAP], status.swap, "swap");
        expect_pages((int64_t) MAX_OF(child.memory->rss_peak, task_resident(child.memory)),
                     status.rss_peak, "peak");
        ck_assert_uint_eq(task_library_code(child.memory, (uint64_t) sysconf(_SC_PAGESIZE)),
                          status.library_code);
}
END_TEST

START_TEST(threads_of_the_kernel_have_no_memory) {
        size_t n_kernel = 0;

        for (size_t i = 0; i < task_table_count(table); i++) {
                Task task = task_table_get(table, i);

                if (!(task.record->flags & 0x00200000u)) /* PF_KTHREAD */
                        continue;
                n_kernel++;
                ck_assert_ptr_null(task.memory);
        }
        ck_assert_uint_gt(n_kernel, 0);
}
END_TEST

/* Two readers do not disturb each other: nothing is shared between passes. */
static void *read_again(void *userdata) {
        for (unsigned i = 0; i < 50; i++) {
                TaskTable *own = NULL;
                size_t n_found = 0;

                if (task_table_read(objects.fds[TASK_OBJECT_TASKS], &own) != 0)
                        return NULL;
                for (size_t k = 0; k < task_table_count(own); k++) {
                        const TaskRecord *record = task_table_get(own, k).record;

                        n_found += record->tgid == (unsigned) getpid() &&
                                   memcmp(record->comm, "sleeper", 7) == 0;
                }
                own = task_table_free(own);
                if (n_found != N_SLEEPERS)
                        return NULL;
        }
        return userdata;
}

START_TEST(several_may_read_at_a_time) {
        pthread_t threads[4];

        for (size_t i = 0; i < ELEMENTSOF(threads); i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, read_again, &threads), 0);
        for (size_t i = 0; i < ELEMENTSOF(threads); i++) {
                void *result;

                (void) pthread_join(threads[i], &result);
                ck_assert_ptr_eq(result, &threads);
        }
}
END_TEST

/* loading */

START_TEST(a_build_without_it_says_so) {
        char reason[TASK_PROGRAM_REASON_BYTES] = "";
        TaskObjects again;
        int r;

        r = task_program_load(&(TaskProgramOptions){}, &again, reason);
        ck_assert_int_ge(r, 0);
        if (!HAS_BPF) {
                ck_assert_int_eq(r, TASK_PROGRAM_E_NOT_BUILT);
        }
        ck_assert(r == 0 || (again.fds[TASK_OBJECT_TASKS] < 0 && strlen(reason) > 20));
        task_objects_done(&again);
}
END_TEST

/* The verifier needs about 3 us for an instruction that it looks at, each time a daemon starts. */
#define MOST_VERIFIED 40000u

static int ask(int fd, void *info, uint32_t n) {
        union bpf_attr call = bpf_call_nothing();

        call.info.bpf_fd = (uint32_t) fd;
        call.info.info_len = n;
        call.info.info = (uintptr_t) info;
        return bpf_call(BPF_OBJ_GET_INFO_BY_FD, &call) < 0 ? -errno : 0;
}

static int open_by_id(enum bpf_cmd cmd, uint32_t id) {
        union bpf_attr call = bpf_call_nothing();
        int fd;

        call.prog_id = id;
        fd = (int) bpf_call(cmd, &call);
        return fd < 0 ? -errno : fd;
}

/* Of the program of a link; -errno. */
static int find_program(int link_fd, struct bpf_prog_info *ret) {
        struct bpf_link_info link = {};
        _cleanup_(fd_closep) int fd = -EBADF;
        int r = ask(link_fd, &link, sizeof(link));

        if (r < 0)
                return r;
        fd = open_by_id(BPF_PROG_GET_FD_BY_ID, link.prog_id);
        return fd < 0 ? fd : ask(fd, ret, sizeof(*ret));
}

START_TEST(the_verifier_is_soon_done) {
        static const TaskObject links[] = { TASK_OBJECT_TASKS, TASK_OBJECT_EXIT, TASK_OBJECT_FREE,
                                            TASK_OBJECT_SWITCH, TASK_OBJECT_END_WAIT };
        const TaskProgramOptions options = { .ledger = true, .waits = true };
        char reason[TASK_PROGRAM_REASON_BYTES] = "";
        TaskObjects all;

        ck_assert_msg(task_program_load(&options, &all, reason) == 0, "%s", reason);
        for (size_t i = 0; i < ELEMENTSOF(links); i++) {
                struct bpf_prog_info program = {};

                ck_assert_int_eq(find_program(all.fds[links[i]], &program), 0);
                ck_assert_uint_gt(program.verified_insns, 0); /* told since 5.16 */
                ck_assert_uint_le(program.verified_insns, MOST_VERIFIED);
        }
        task_objects_done(&all);
}
END_TEST

START_TEST(the_programs_of_a_recording_are_loaded) {
        static const TaskObject own[] = { TASK_OBJECT_GO_ON, TASK_OBJECT_CLOCK,
                                          TASK_OBJECT_WAKING };
        const TaskProgramOptions options = { .ledger = true, .waits = true };
        char reason[TASK_PROGRAM_REASON_BYTES] = "";
        TaskObjects all;

        ck_assert_msg(task_program_load(&options, &all, reason) == 0, "%s", reason);
        /* A kernel that has neither hook says why it does without. */
        ck_assert_msg((all.fds[TASK_OBJECT_GO_ON] >= 0) == (reason[0] == '\0'), "%s", reason);
        ck_assert_int_ge(all.fds[TASK_OBJECT_SAMPLES], 0);
        ck_assert_int_ge(all.fds[TASK_OBJECT_CLOCK], 0);
        ck_assert_int_ge(all.fds[TASK_OBJECT_REST], 0);
        ck_assert_int_ge(all.fds[TASK_OBJECT_WAKING], 0);
        for (size_t i = 0; i < ELEMENTSOF(own); i++) {
                struct bpf_prog_info program = {};

                if (all.fds[own[i]] < 0)
                        continue;
                ck_assert_int_eq(ask(all.fds[own[i]], &program, sizeof(program)), 0);
                ck_assert_uint_le(program.verified_insns, MOST_VERIFIED);
        }
        task_objects_done(&all);
}
END_TEST

START_TEST(what_captures_alone_need_is_loaded_without_them) {
        static const TaskObject of_recordings[] = { TASK_OBJECT_GO_ON, TASK_OBJECT_CLOCK,
                                                    TASK_OBJECT_WAKING, TASK_OBJECT_SAMPLES,
                                                    TASK_OBJECT_REST };
        static const TaskObject of_captures[] = { TASK_OBJECT_TASKS, TASK_OBJECT_EXIT,
                                                  TASK_OBJECT_SWITCH, TASK_OBJECT_END_WAIT };
        const TaskProgramOptions options = { .ledger = true, .waits = true, .captures_only = true };
        char reason[TASK_PROGRAM_REASON_BYTES] = "";
        TaskObjects all;

        ck_assert_msg(task_program_load(&options, &all, reason) == 0, "%s", reason);
        ck_assert_str_eq(reason, "");
        for (size_t i = 0; i < ELEMENTSOF(of_captures); i++)
                ck_assert_int_ge(all.fds[of_captures[i]], 0);
        for (size_t i = 0; i < ELEMENTSOF(of_recordings); i++)
                ck_assert_int_lt(all.fds[of_recordings[i]], 0);
        task_objects_done(&all);
}
END_TEST

#define MOST_MAP_BYTES (UINT64_C(16) << 20)
#define MAX_MAPS 64

static uint64_t find_map_bytes(uint32_t id) {
        char path[64], line[128];
        uint64_t n_bytes = 0;
        _cleanup_(fd_closep) int fd = open_by_id(BPF_MAP_GET_FD_BY_ID, id);
        FILE *file;

        ck_assert_int_ge(fd, 0);
        (void) snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        file = fopen(path, "re");
        ck_assert_ptr_nonnull(file);
        while (fgets(line, sizeof(line), file))
                (void) sscanf(line, "memlock: %" SCNu64, &n_bytes);
        (void) fclose(file);
        return n_bytes;
}

START_TEST(empty_maps_take_little_memory) {
        const TaskProgramOptions options = { .ledger = true, .waits = true };
        char reason[TASK_PROGRAM_REASON_BYTES] = "";
        uint32_t known[MAX_MAPS];
        uint64_t n_bytes = 0;
        size_t n_known = 0;
        TaskObjects all;

        ck_assert_msg(task_program_load(&options, &all, reason) == 0, "%s", reason);
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++) {
                uint32_t ids[MAX_MAPS];
                struct bpf_prog_info program = { .nr_map_ids = MAX_MAPS,
                                                 .map_ids = (uintptr_t) ids };

                if (i == TASK_OBJECT_GO_ON || i == TASK_OBJECT_CLOCK || i == TASK_OBJECT_WAKING) {
                        if (ask(all.fds[i], &program, sizeof(program)) < 0)
                                continue;
                } else if (find_program(all.fds[i], &program) < 0)
                        continue; /* a map */
                for (uint32_t k = 0; k < program.nr_map_ids; k++) {
                        bool is_known = false;

                        for (size_t at = 0; at < n_known; at++)
                                is_known |= known[at] == ids[k];
                        if (is_known)
                                continue;
                        ck_assert_uint_lt(n_known, MAX_MAPS);
                        known[n_known++] = ids[k];
                        n_bytes += find_map_bytes(ids[k]);
                }
        }
        task_objects_done(&all);
        printf("# %zu maps with %" PRIu64 " bytes\n", n_known, n_bytes);
        (void) fflush(stdout);
        ck_assert_uint_gt(n_known, 8);
        ck_assert_uint_lt(n_bytes, MOST_MAP_BYTES);
}
END_TEST

/* Only the thread that called vfork(2) waits, uninterruptibly, until the other process ends. */
static void *wait_for_a_fork(void *go) {
        char byte;

        if (vfork() == 0)
                _exit(read(*(int *) go, &byte, 1) != 0);
        return NULL;
}

static uint64_t find_wait_since(const TaskObjects *all, pid_t tgid) {
        uint64_t since_ns = 0;
        TaskTable *all_tasks;

        ck_assert_int_eq(task_table_read(all->fds[TASK_OBJECT_TASKS], &all_tasks), 0);
        for (size_t i = 0; i < task_table_count(all_tasks); i++) {
                Task task = task_table_get(all_tasks, i);

                if (task.record->tgid == (uint32_t) tgid && task.waits)
                        since_ns = MAX_OF(since_ns, task.waits->since_ns);
        }
        task_table_free(all_tasks);
        return since_ns;
}

START_TEST(a_wait_in_progress_counts_from_the_loading_on) {
        const TaskProgramOptions options = { .waits = true };
        char reason[TASK_PROGRAM_REASON_BYTES] = "";
        struct timespec now;
        pthread_t thread;
        TaskObjects all;
        uint64_t before_ns, since_ns = 0;
        int go[2];

        ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
        ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_a_fork, &go[0]), 0);
        /* Nothing tells from outside that it waits by now. */
        for (int i = 0; i < 100 && since_ns == 0; i++) {
                (void) usleep(10000);
                (void) clock_gettime(CLOCK_MONOTONIC, &now);
                before_ns = (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
                ck_assert_msg(task_program_load(&options, &all, reason) == 0, "%s", reason);
                since_ns = find_wait_since(&all, getpid());
                task_objects_done(&all);
        }
        ck_assert_uint_ge(since_ns, before_ns);
        ck_assert_int_eq(write(go[1], "", 1), 1);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        (void) close(go[0]);
        (void) close(go[1]);
}
END_TEST

static Suite *make_suite(bool is_loaded) {
        Suite *suite = suite_create("task-program");
        TCase *tcase = tcase_create("loading");

        tcase_add_test(tcase, a_build_without_it_says_so);
        if (is_loaded) {
                tcase_add_test(tcase, the_verifier_is_soon_done);
                tcase_add_test(tcase, the_programs_of_a_recording_are_loaded);
                tcase_add_test(tcase, what_captures_alone_need_is_loaded_without_them);
                tcase_add_test(tcase, empty_maps_take_little_memory);
                tcase_add_test(tcase, a_wait_in_progress_counts_from_the_loading_on);
        }
        suite_add_tcase(suite, tcase);
        if (!is_loaded)
                return suite;
        tcase = tcase_create("parity");
        tcase_add_unchecked_fixture(tcase, setup, teardown);
        tcase_add_loop_test(tcase, identity_and_cpu_times_are_those_of_stat, 0, N_SLEEPERS);
        tcase_add_loop_test(tcase, switches_and_owner_are_those_of_status, 0, N_SLEEPERS);
        if (geteuid() == 0)
                tcase_add_loop_test(tcase, who_created_the_outermost_user_namespace_answers, 0, 3);
        tcase_add_loop_test(tcase, run_and_wait_times_are_those_of_schedstat, 0, N_SLEEPERS);
        tcase_add_loop_test(tcase, calls_and_bytes_are_those_of_io, 0, N_SLEEPERS);
        tcase_add_loop_test(tcase, scheduling_is_that_of_sched, 0, N_SLEEPERS);
        tcase_add_loop_test(tcase, affinity_is_that_of_the_system_call, 0, N_SLEEPERS);
        tcase_add_test(tcase, memory_is_told_once_for_a_process);
        tcase_add_test(tcase, resident_pages_are_those_of_status);
        tcase_add_test(tcase, threads_of_the_kernel_have_no_memory);
        tcase_add_test(tcase, several_may_read_at_a_time);
        suite_add_tcase(suite, tcase);
        return suite;
}

int main(void) {
        char reason[TASK_PROGRAM_REASON_BYTES];
        int r = task_program_load(&(TaskProgramOptions){}, &objects, reason);

        /* A refusal is a mistake of the program or of this kernel: somebody has to look at it. */
        if (r < 0 || r == TASK_PROGRAM_E_REFUSED) {
                printf("Bail out! %s\n", r < 0 ? strerror(-r) : reason);
                return EXIT_FAILURE;
        }
        if (r > 0)
                printf("# without parity: %s\n", reason);
        r = check_main(make_suite(r == 0));
        task_objects_done(&objects);
        return r;
}
