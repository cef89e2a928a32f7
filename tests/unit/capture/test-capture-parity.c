/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Both backends on the running kernel: what they say of a thousand threads that sleep is the same,
 * reading by reading. Of a reading that files give before and after and that differs, the task's
 * must lie between.
 */

#include "check-main.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/macro.h"
#include "captured.h"
#include "kernel/bpf/task-program.h"
#include "metric/metric.h"

#define N_CHILDREN 6
#define N_THREADS 200 /* of each: more than a batch */

static TaskObjects tasks;
static int proc_fd, sys_fd;
static ReadySystem *own_system;
static pid_t children[N_CHILDREN];
static Tree tree;
static FakeSystem fake;
static Captured before, by_task, after;

/* children whose threads sleep */

static void *sleep_for_ever(void *userdata) {
        const size_t *index = userdata;
        char name[16];

        /* Names that a careless reader of stat or of a task would get wrong. */
        (void) snprintf(name, sizeof(name), *index % 3 ? "a) b (%zu\n" : "fifteen-bytes%02zu",
                        *index % 100);
        (void) pthread_setname_np(pthread_self(), name);
        for (volatile size_t i = 0; i < 2000 * (*index % 20); i++)
                ;
        for (;;)
                (void) pause();
        return NULL;
}

static _Noreturn void run_child(int ready_fd) {
        static size_t indexes[N_THREADS];
        pthread_attr_t attributes;
        pthread_t thread;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) pthread_attr_init(&attributes);
        (void) pthread_attr_setstacksize(&attributes, 64 * 1024);
        for (size_t i = 0; i + 1 < N_THREADS; i++) {
                indexes[i] = i;
                if (pthread_create(&thread, &attributes, sleep_for_ever, &indexes[i]) != 0)
                        _exit(1);
        }
        (void) !write(ready_fd, "", 1);
        for (;;)
                (void) pause();
}

static void start_children(void) {
        int ready[2];

        ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
        for (size_t i = 0; i < N_CHILDREN; i++) {
                children[i] = fork();
                ck_assert_int_ge(children[i], 0);
                if (children[i] == 0)
                        run_child(ready[1]);
        }
        (void) close(ready[1]);
        for (size_t i = 0; i < N_CHILDREN; i++) {
                char byte;

                ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        }
        (void) close(ready[0]);
        (void) usleep(300000); /* until the last thread sleeps */
}

static void end_children(void) {
        for (size_t i = 0; i < N_CHILDREN; i++) {
                (void) kill(children[i], SIGKILL);
                (void) waitpid(children[i], NULL, 0);
        }
}

/* captures */

static void capture(Captured *captured, const TaskObjects *objects, const char *backend) {
        captured_init(captured, &tree, &fake);
        captured->options.proc_fd = proc_fd;
        captured->options.sys_fd = sys_fd;
        captured->options.tasks = objects;
        captured->options.system = &own_system->system;
        captured->options.n_workers = 2;
        captured_run(captured);
        ck_assert_int_eq(captured->result, 0);
        ck_assert_str_eq(captured->head.backend, backend);
}

static void setup(void) {
        proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
        tree_make(&tree);
        fake_system_init(&fake, &tree);
        ck_assert_int_eq(ready_system_new(2, &own_system), 0);
        start_children();
        capture(&before, NULL, "procfs");
        capture(&by_task, &tasks, "bpf");
        capture(&after, NULL, "procfs");
}

static void teardown(void) {
        end_children();
        captured_done(&before);
        captured_done(&by_task);
        captured_done(&after);
        own_system = ready_system_free(own_system);
        tree_remove(&tree);
        (void) close(proc_fd);
        (void) close(sys_fd);
}

static bool is_ours(const CapturedThread *thread) {
        for (size_t i = 0; i < N_CHILDREN; i++)
                if (thread->sample.tgid == children[i])
                        return true;
        return false;
}

/* comparing */

typedef struct Trio {
        const ThreadSample *before, *task, *after;
} Trio;

/* The @nth of our threads; false behind the last one. */
static bool find_trio(size_t *at, Trio *ret) {
        for (; *at < before.n_threads; (*at)++) {
                const CapturedThread *first = &before.threads[*at], *task, *last;

                if (!is_ours(first))
                        continue;
                task = captured_find(&by_task, first->sample.tid);
                last = captured_find(&after, first->sample.tid);
                ck_assert_msg(task && last, "thread %d is in all captures", first->sample.tid);
                *ret = (Trio){ &first->sample, &task->sample, &last->sample };
                (*at)++;
                return true;
        }
        return false;
}

START_TEST(threads_are_the_same) {
        size_t at = 0, n = 0;
        Trio trio;

        while (find_trio(&at, &trio)) {
                const ThreadSample *file = trio.before, *task = trio.task;

                n++;
                ck_assert_int_eq(task->tgid, file->tgid);
                ck_assert_uint_eq(task->start_ticks, file->start_ticks);
                ck_assert(task->has_ppid && task->ppid == file->ppid);
                ck_assert(task->has_kthread && task->kthread == file->kthread);
                ck_assert(task->has_owner && task->uid == file->uid && task->gid == file->gid);
                ck_assert(!file->has_exe ||
                          (task->exe_dev == file->exe_dev && task->exe_inode == file->exe_inode));
                ck_assert_msg(span_equal(task->comm, file->comm), "%.*s, %.*s", (int) task->comm.n,
                              task->comm.bytes, (int) file->comm.n, file->comm.bytes);
                ck_assert(span_equal(task->pcomm, file->pcomm));
                ck_assert(span_equal(task->cgroup, file->cgroup));
                ck_assert(span_equal(task->cpus, file->cpus));
        }
        ck_assert_uint_eq(n, N_CHILDREN * N_THREADS);
}
END_TEST

static bool lies_between(uint64_t a, uint64_t x, uint64_t b) {
        return (a <= x && x <= b) || (b <= x && x <= a);
}

/* Readings of one metric: how many are equal, or lie between; the rest fails. */
static size_t count_agreements(MetricId id, size_t *ret_n_missing) {
        size_t at = 0, n = 0;
        Trio trio;

        *ret_n_missing = 0;
        while (find_trio(&at, &trio)) {
                uint64_t first, last, task;

                if (!thread_sample_has(trio.before, id) || !thread_sample_has(trio.after, id))
                        continue;
                if (!thread_sample_has(trio.task, id)) {
                        (*ret_n_missing)++;
                        continue;
                }
                first = thread_sample_get(trio.before, id);
                last = thread_sample_get(trio.after, id);
                task = thread_sample_get(trio.task, id);
                ck_assert_msg(lies_between(first, task, last),
                              "%s of %.*s (%d): %llu between %llu and %llu", metric_table[id].name,
                              (int) trio.task->comm.n, trio.task->comm.bytes, trio.task->tid,
                              (unsigned long long) task, (unsigned long long) first,
                              (unsigned long long) last);
                n++;
        }
        return n;
}

START_TEST(readings_are_the_same) {
        size_t n, n_missing;

        n = count_agreements((MetricId) _i, &n_missing);
        printf("# %s: %zu compared\n", metric_table[_i].name, n);
        ck_assert_uint_eq(n_missing, 0);
}
END_TEST

/* Nothing is proven where nothing was compared: these exist on every kernel that we know. */
START_TEST(enough_was_compared) {
        static const MetricId everywhere[] = {
                METRIC_policy,        METRIC_nice,          METRIC_priority,
                METRIC_rt_priority,   METRIC_cpu_affinity,  METRIC_processor,
                METRIC_state,         METRIC_voluntary_csw, METRIC_nonvoluntary_csw,
                METRIC_nr_migrations, METRIC_minflt,        METRIC_majflt,
                METRIC_run_time_ns,   METRIC_wait_time_ns,  METRIC_timeslices,
        };
        size_t n_missing;

        for (size_t i = 0; i < ELEMENTSOF(everywhere); i++)
                ck_assert_msg(count_agreements(everywhere[i], &n_missing) == N_CHILDREN * N_THREADS,
                              "%s", metric_table[everywhere[i]].name);
        ck_assert_uint_eq(count_agreements(METRIC_nr_threads, &n_missing), N_CHILDREN);
        ck_assert_uint_eq(count_agreements(METRIC_rss_anon_bytes, &n_missing), N_CHILDREN);
}
END_TEST

START_TEST(the_sources_are_not_worse) {
        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                ck_assert_msg(by_task.sources.sources[id].state <= before.sources.sources[id].state,
                              "source %u: %s", id, by_task.sources.sources[id].reason);
}
END_TEST

int main(void) {
        char reason[TASK_PROGRAM_REASON_BYTES];
        Suite *suite;
        TCase *tcase;
        int r = task_program_load(&(TaskProgramOptions){ .ledger = true, .waits = true }, &tasks,
                                  reason);

        if (r != 0) {
                printf("1..0 # SKIP %s\n", r < 0 ? strerror(-r) : reason);
                return EXIT_SUCCESS;
        }
        suite = suite_create("capture-parity");
        tcase = tcase_create("backends");
        tcase_add_unchecked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, threads_are_the_same);
        tcase_add_loop_test(tcase, readings_are_the_same, 0, _METRIC_MAX);
        tcase_add_test(tcase, enough_was_compared);
        tcase_add_test(tcase, the_sources_are_not_worse);
        suite_add_tcase(suite, tcase);
        r = check_main(suite);
        task_objects_done(&tasks);
        return r;
}
