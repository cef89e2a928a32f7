/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The ledger of exits in the running kernel: what it says of processes that ended is what
 * wait4(2) says, and while a storm of short lives goes on, each of them is among the living or in
 * one row.
 */

#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "kernel/bpf/ledger.h"
#include "kernel/bpf/task-program.h"

static TaskObjects objects;
static Ledger *ledger;

/* captures */

static void begin(void) {
        ck_assert_int_eq(ledger_begin(ledger, getpid()), 0);
}

static TaskTable *end(void) {
        TaskTable *table;

        ck_assert_int_eq(task_table_read(objects.fds[TASK_OBJECT_TASKS], &table), 0);
        ck_assert_int_eq(ledger_end(ledger, table), 0);
        ck_assert(ledger->is_read);
        return table;
}

static TaskTable *capture(void) {
        begin();
        return end();
}

static bool is_called(const char comm[static TASK_COMM_BYTES], const char *name) {
        return strncmp(comm, name, TASK_COMM_BYTES) == 0;
}

/* Of threads with this name, whatever their process. */
static LedgerValues find_exited(const char *thread) {
        LedgerValues sum = {};

        for (size_t i = 0; i < ledger->n_rows; i++)
                if (is_called(ledger->rows[i].key.thread, thread))
                        ledger_values_add(&sum, &ledger->rows[i].values);
        return sum;
}

static size_t count_living(const TaskTable *table, const char *thread) {
        size_t n = 0;

        for (size_t i = 0; i < task_table_count(table); i++) {
                const TaskRecord *record = task_table_get(table, i).record;

                n += is_called(record->comm, thread) && !(record->has & TASK_IS_DEAD);
        }
        return n;
}

/* Of what was attached a moment ago nothing is missing, but a thread may still be on its way. */
static void wait_until_finished(void) {
        const LedgerControl *control = ledger->control;

        for (int i = 0; i < 500 && control->n_finished < control->n_marked; i++)
                (void) usleep(10000);
}

/* lives */

static void burn(uint64_t ns) {
        struct timespec now;
        uint64_t at, until = 0;

        do {
                (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
                at = (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
                if (until == 0)
                        until = at + ns;
        } while (at < until);
}

static _Noreturn void live(const char *name) {
        const size_t n = (size_t) 2 << 20;
        char *memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        (void) prctl(PR_SET_NAME, name);
        if (memory != MAP_FAILED)
                memset(memory, 1, n);
        burn(NSEC_PER_SEC / 500);
        _exit(0);
}

static struct rusage run_processes(const char *name, unsigned n) {
        struct rusage all = {};

        for (unsigned i = 0; i < n; i++) {
                struct rusage one;
                pid_t pid = fork();

                if (pid == 0)
                        live(name);
                ck_assert_int_eq(wait4(pid, NULL, 0, &one), pid);
                timeradd(&all.ru_utime, &one.ru_utime, &all.ru_utime);
                timeradd(&all.ru_stime, &one.ru_stime, &all.ru_stime);
                all.ru_minflt += one.ru_minflt;
                all.ru_nvcsw += one.ru_nvcsw;
                all.ru_maxrss = MAX_OF(all.ru_maxrss, one.ru_maxrss);
        }
        return all;
}

static double seconds(struct timeval time) {
        return (double) time.tv_sec + (double) time.tv_usec / 1e6;
}

/* The parent hears what the kernel has passed on: of each kind and CPU it lacks dozens of pages. */
static void check_peak(const LedgerValues *exited, const struct rusage *heard) {
        const int64_t pages_of_a_cpu = 3 * 64;
        int64_t peak = (int64_t) exited->maxima[LEDGER_RSS_PEAK];
        int64_t pages = heard->ru_maxrss * 1024 / sysconf(_SC_PAGESIZE);

        ck_assert_int_gt(peak, 2 << 20 >> 12);
        ck_assert_int_le(llabs(peak - pages), pages_of_a_cpu * sysconf(_SC_NPROCESSORS_CONF));
}

START_TEST(processes_did_what_their_parent_hears) {
        const unsigned n = 50;
        struct rusage heard;
        LedgerValues exited;
        double ran;

        heard = run_processes("ledger-process", n);
        wait_until_finished();
        task_table_free(capture());
        exited = find_exited("ledger-process");
        ran = (double) exited.sums[LEDGER_run_time_ns] / 1e9;

        ck_assert_uint_eq(exited.exits, n);
        ck_assert_uint_eq(exited.young, n);
        ck_assert_uint_eq(exited.sums[LEDGER_minflt], (uint64_t) heard.ru_minflt);
        ck_assert_double_eq_tol(ran, seconds(heard.ru_utime) + seconds(heard.ru_stime), ran / 50);
        ck_assert_uint_ge(exited.lives_ns, exited.sums[LEDGER_run_time_ns]);
        check_peak(&exited, &heard);

        /* Nothing is young that was there at the last capture, and nothing is lost by another. */
        task_table_free(capture());
        ck_assert_uint_eq(find_exited("ledger-process").exits, n);
        ck_assert_uint_eq(find_exited("ledger-process").sums[LEDGER_run_time_ns],
                          exited.sums[LEDGER_run_time_ns]);
}
END_TEST

/* What wait4(2) says of such a child is the peak of its parent. */
START_TEST(the_memory_of_a_parent_is_not_that_of_what_it_executes) {
        const size_t n = (size_t) 64 << 20;
        char *memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char name[] = "true", *const arguments[] = { name, NULL };
        char *const environment[] = { NULL };
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
        struct rusage heard;
        LedgerValues exited;
        pid_t pid;

        ck_assert_ptr_ne(memory, MAP_FAILED);
        memset(memory, 1, n);
        ck_assert_int_eq(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environment), 0);
        ck_assert_int_eq(wait4(pid, NULL, 0, &heard), pid);
        (void) munmap(memory, n);
        task_table_free(capture());
        exited = find_exited("true");
        ck_assert_uint_gt(exited.exits, 0);
        ck_assert_int_ge(heard.ru_maxrss, (long) (n >> 10));
        ck_assert_uint_lt(exited.maxima[LEDGER_RSS_PEAK] * page_bytes, n / 2);
        if (exited.maxima[LEDGER_VM_PEAK] != 0) /* else the kernel had given it back */
                ck_assert_uint_gt(exited.maxima[LEDGER_RSS_PEAK], 0);
        ck_assert_uint_le(exited.maxima[LEDGER_RSS_PEAK], exited.maxima[LEDGER_VM_PEAK]);
}
END_TEST

START_TEST(a_thread_that_a_capture_has_seen_is_not_young) {
        int go[2];
        TaskTable *table;
        pid_t pid;
        char byte;

        ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                (void) prctl(PR_SET_NAME, "ledger-old");
                (void) close(go[1]);
                _exit(read(go[0], &byte, 1) != 0);
        }
        (void) close(go[0]);
        do { /* until it has its name */
                table = capture();
                byte = count_living(table, "ledger-old") == 1;
                task_table_free(table);
        } while (!byte);
        (void) close(go[1]);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        task_table_free(capture());
        ck_assert_uint_eq(find_exited("ledger-old").exits, 1);
        ck_assert_uint_eq(find_exited("ledger-old").young, 0);
}
END_TEST

START_TEST(a_zombie_is_among_the_dead_alone) {
        TaskTable *table;
        siginfo_t info;
        pid_t pid = fork();

        if (pid == 0)
                live("ledger-zombie");
        ck_assert_int_eq(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
        table = capture();
        ck_assert_uint_eq(find_exited("ledger-zombie").exits, 1);
        ck_assert_uint_eq(count_living(table, "ledger-zombie"), 0);
        task_table_free(table);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(a_row_tells_its_cgroup) {
        _cleanup_(buffer_done) Buffer path = {};
        char line[4096], *own = NULL;
        FILE *file = fopen("/proc/self/cgroup", "re");

        ck_assert_ptr_nonnull(file);
        while (!own && fgets(line, sizeof(line), file))
                if (strncmp(line, "0::", 3) == 0)
                        own = line + 3;
        (void) fclose(file);
        if (!own)
                return; /* no hierarchy of version 2 */
        own[strcspn(own, "\n")] = '\0';

        (void) run_processes("ledger-cgroup", 1);
        task_table_free(capture());
        for (size_t i = 0; i < ledger->n_rows; i++) {
                const LedgerKey *key = &ledger->rows[i].key;

                if (is_called(key->thread, "ledger-cgroup"))
                        ck_assert_int_eq(ledger_cgroup_path(ledger, key->cgroup, &path), 0);
        }
        ck_assert_int_eq(buffer_append(&path, "", 1), 0);
        ck_assert_str_eq(path.bytes, own);
        ck_assert_int_eq(ledger_cgroup_path(ledger, UINT64_MAX, &path), -ENOENT);
}
END_TEST

/* parents */

static void *run_as_thread(void *name) {
        (void) prctl(PR_SET_NAME, "ledger-runner");
        (void) run_processes(name, 2);
        return NULL;
}

/*
 * A process of that name runs two of another name, whose parent is one of its threads. It leaves
 * one behind that ends when the line does; NULL: none.
 */
static void run_family(const char *parent, const char *child, const int *line) {
        pthread_t thread;
        pid_t pid = fork();
        char byte;

        if (pid != 0) {
                ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
                return;
        }
        (void) prctl(PR_SET_NAME, parent);
        if (line && fork() == 0) {
                (void) close(line[1]);
                (void) prctl(PR_SET_NAME, "ledger-orphan");
                _exit(read(line[0], &byte, 1) != 0);
        }
        if (pthread_create(&thread, NULL, run_as_thread, (void *) (uintptr_t) child) != 0)
                _exit(1);
        (void) pthread_join(thread, NULL);
        _exit(0);
}

/* Threads of that name that had such a parent. */
static uint64_t count_exited_of(const char *thread, const char *parent) {
        uint64_t n = 0;

        for (size_t i = 0; i < ledger->n_rows; i++) {
                const LedgerRow *row = &ledger->rows[i];

                if (is_called(row->key.thread, thread) && is_called(row->key.parent, parent))
                        n += row->values.exits;
        }
        return n;
}

START_TEST(a_row_tells_whose_children_ended) {
        char own[TASK_COMM_BYTES] = "";
        int line[2];

        (void) prctl(PR_GET_NAME, own);
        ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
        ck_assert_int_eq(pipe2(line, O_CLOEXEC), 0);
        run_family("ledger-mother", "ledger-child", line);
        run_family("ledger-father", "ledger-child", line);
        (void) close(line[0]);
        (void) close(line[1]);
        for (int i = 0; i < 2; i++)
                ck_assert_int_gt(wait(NULL), 0);
        ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
        task_table_free(capture());
        ck_assert_uint_eq(count_exited_of("ledger-child", "ledger-mother"), 2);
        ck_assert_uint_eq(count_exited_of("ledger-child", "ledger-father"), 2);
        ck_assert_uint_eq(find_exited("ledger-child").exits, 4);
        ck_assert_uint_eq(count_exited_of("ledger-mother", own), 1);
        ck_assert_uint_eq(count_exited_of("ledger-runner", own), 2); /* as their process */
        ck_assert_uint_eq(count_exited_of("ledger-orphan", own), 2); /* by then */
        for (size_t i = 0; i < ledger->n_rows; i++)
                if (ledger->rows[i].key.flags & LEDGER_OF_KERNEL)
                        ck_assert_str_eq(ledger->rows[i].key.parent, "");
}
END_TEST

START_TEST(own_children_are_marked) {
        (void) run_processes("ledger-own", 1); /* the captures before said who it is */
        task_table_free(capture());
        for (size_t i = 0; i < ledger->n_rows; i++) {
                const LedgerKey *key = &ledger->rows[i].key;

                if (is_called(key->thread, "ledger-own"))
                        ck_assert_uint_eq(key->flags, LEDGER_OF_SELF);
        }
        ck_assert_uint_eq(find_exited("ledger-own").exits, 1);
}
END_TEST

static uint64_t start_ticks_of(pid_t pid) {
        char path[64], text[1024];
        unsigned long long ticks = 0;
        const char *rest;
        size_t n;
        FILE *file;

        (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
        file = fopen(path, "re");
        ck_assert_ptr_nonnull(file);
        n = fread(text, 1, sizeof(text) - 1, file);
        (void) fclose(file);
        text[n] = '\0';
        rest = strrchr(text, ')');
        ck_assert_ptr_nonnull(rest);
        /* The name is the second field, the start the twenty-second. */
        for (unsigned field = 2; field < 22; field++) {
                rest = strchr(rest + 1, ' ');
                ck_assert_ptr_nonnull(rest);
        }
        ticks = strtoull(rest, NULL, 10);
        return ticks;
}

typedef struct Caller {
        const char *name;
        bool is_noted;        /* in the list of callers */
        uint64_t start_error; /* the one in the list began at another time */
        uint64_t until_ns;    /* from now on */
        __u32 flags;
} Caller;

static const Caller callers[] = {
        { "ledger-caller", true, 0, LEDGER_OWN_FOR_EVER, LEDGER_OF_SELF },
        { "ledger-leaving", true, 0, 60 * NSEC_PER_SEC, LEDGER_OF_SELF },
        { "ledger-left", true, 0, 0, 0 },
        { "ledger-later", true, 1, LEDGER_OWN_FOR_EVER, 0 },
        { "ctprofctl", false, 0, 0, 0 },
};

/* A child of somebody else, as a client is one of a shell; it ends when its line does. */
static pid_t start_caller(const char *name, int *ret_line) {
        int lines[2], told[2];
        pid_t pid;

        ck_assert_int_eq(pipe2(lines, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(told, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                pid = fork();
                if (pid == 0) {
                        char byte;

                        (void) close(lines[1]);
                        (void) prctl(PR_SET_NAME, name);
                        pid = getpid();
                        (void) !write(told[1], &pid, sizeof(pid));
                        (void) !read(lines[0], &byte, 1);
                }
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert_int_eq(read(told[0], &pid, sizeof(pid)), sizeof(pid));
        (void) close(lines[0]);
        (void) close(told[0]);
        (void) close(told[1]);
        *ret_line = lines[1];
        return pid;
}

/* The last one of the places that are free, so that all of them are looked at. */
static size_t place_of(const LedgerOwn *own, pid_t pid) {
        size_t home = ledger_own_home((unsigned) pid), i = home + LEDGER_OWN_TRIES - 1;

        while (i > home && own->places[i].until_ns != 0)
                i--;
        return i;
}

/* Not by their names: everybody can take any. */
START_TEST(callers_are_marked_by_their_lives) {
        LedgerOwn *own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED,
                              objects.fds[TASK_OBJECT_OWN], 0);
        pid_t pids[ELEMENTSOF(callers)];
        int lines[ELEMENTSOF(callers)];
        bool found[ELEMENTSOF(callers)] = {};
        struct timespec now;
        uint64_t now_ns;

        ck_assert_ptr_ne(own, MAP_FAILED);
        for (size_t i = 0; i < ELEMENTSOF(callers); i++)
                pids[i] = start_caller(callers[i].name, &lines[i]);
        (void) clock_gettime(CLOCK_BOOTTIME, &now);
        now_ns = (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
        for (size_t i = 0; i < ELEMENTSOF(callers); i++)
                if (callers[i].is_noted)
                        own->places[place_of(own, pids[i])] = (LedgerOwnPlace){
                                .pid = (__u64) (unsigned) pids[i],
                                .start_ticks = start_ticks_of(pids[i]) + callers[i].start_error,
                                .until_ns = callers[i].until_ns == LEDGER_OWN_FOR_EVER
                                                    ? LEDGER_OWN_FOR_EVER
                                                    : now_ns + callers[i].until_ns,
                        };
        for (size_t i = 0; i < ELEMENTSOF(callers); i++)
                (void) close(lines[i]);
        for (size_t i = 0; i < ELEMENTSOF(callers); i++)
                for (int j = 0; j < 500 && kill(pids[i], 0) == 0; j++)
                        (void) usleep(10000);
        task_table_free(capture());
        for (size_t i = 0; i < ledger->n_rows; i++)
                for (size_t j = 0; j < ELEMENTSOF(callers); j++) {
                        const LedgerKey *key = &ledger->rows[i].key;

                        if (!is_called(key->thread, callers[j].name))
                                continue;
                        ck_assert_msg(key->flags == callers[j].flags, "%s: %u", callers[j].name,
                                      key->flags);
                        found[j] = true; /* in a row for each parent of the host */
                }
        for (size_t i = 0; i < ELEMENTSOF(callers); i++)
                ck_assert_msg(found[i], "%s", callers[i].name);
        memset(own, 0, sizeof(*own));
        (void) munmap(own, sizeof(*own));
}
END_TEST

/* Which thread it is, by its name; the table has one of them. */
static MovedLife life_of(const TaskTable *table, const char *thread) {
        MovedLife life = {};

        for (size_t i = 0; i < task_table_count(table); i++) {
                const TaskRecord *record = task_table_get(table, i).record;

                if (is_called(record->comm, thread))
                        life = (MovedLife){ record->tid, record->tgid, record->start_boottime_ns };
        }
        ck_assert_uint_ne(life.tid, 0);
        return life;
}

/* A zombie that ended before there were programs, so that it has no mark. */
static pid_t early;

static void start_early(void) {
        siginfo_t info;

        early = fork();
        if (early == 0) {
                (void) prctl(PR_SET_NAME, "ledger-early");
                _exit(0);
        }
        (void) waitid(P_PID, (id_t) early, &info, WEXITED | WNOWAIT);
}

/* As if it had been added, which a capture does not read of its own generation. */
START_TEST(a_thread_without_a_mark_is_found_where_programs_noted_it) {
        LedgerControl *control = (void *) (uintptr_t) ledger->control;
        uint64_t n_lost_marks = control->n_lost_marks;
        TaskTable *table = capture();
        LedgerUnmarked *place;

        ck_assert_uint_eq(count_living(table, "ledger-early"), 1);
        place = &control->unmarked[n_lost_marks % LEDGER_MAX_UNMARKED];
        *place = (LedgerUnmarked){ control->generation, life_of(table, "ledger-early") };
        control->n_lost_marks++;
        task_table_free(table);

        table = capture();
        ck_assert_uint_eq(count_living(table, "ledger-early"), 0);
        task_table_free(table);
        begin();
        place->generation = control->generation;
        table = end();
        ck_assert_uint_eq(count_living(table, "ledger-early"), 1);
        task_table_free(table);

        /* Another one that has its number is alive. */
        place->generation--;
        place->life.start_boottime_ns--;
        table = capture();
        ck_assert_uint_eq(count_living(table, "ledger-early"), 1);
        task_table_free(table);
        *place = (LedgerUnmarked){};
        control->n_lost_marks = n_lost_marks;
        ck_assert_int_eq(waitpid(early, NULL, 0), early);
}
END_TEST

/* a storm of short lives */

typedef struct Storm {
        volatile uint64_t n_begun, n_made; /* before and after each fork() or pthread_create() */
        volatile bool is_over;
} Storm;

static Storm *storm;
static pid_t storm_pid; /* while it goes on: a test that fails leaves its end to the teardown */

static void end_storm(void) {
        if (storm_pid <= 0)
                return;
        storm->is_over = true;
        (void) waitpid(storm_pid, NULL, 0);
        storm_pid = 0;
}

static void *end_at_once(void *userdata) {
        (void) prctl(PR_SET_NAME, "ledger-storm");
        return NULL;
}

static _Noreturn void run_storm(bool of_threads) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) prctl(PR_SET_NAME, of_threads ? "ledger-parent" : "ledger-storm");
        while (!storm->is_over) {
                pthread_t thread;
                pid_t pid;

                storm->n_begun++;
                if (of_threads) {
                        if (pthread_create(&thread, NULL, end_at_once, NULL) != 0)
                                _exit(1);
                        storm->n_made++;
                        (void) pthread_join(thread, NULL);
                        continue;
                }
                pid = fork();
                if (pid == 0)
                        _exit(0);
                storm->n_made++;
                (void) waitpid(pid, NULL, 0);
        }
        _exit(0);
}

static void check_partition(bool of_threads, size_t n_parents) {
        uint64_t n_exited_before = find_exited("ledger-storm").exits;

        storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        ck_assert_ptr_ne(storm, MAP_FAILED);
        storm_pid = fork();
        if (storm_pid == 0)
                run_storm(of_threads);
        while (storm->n_made == 0)
                (void) usleep(1000);
        for (int i = 0; i < 100 || storm->n_made < 200; i++) {
                uint64_t n_made = storm->n_made, n_seen, n_begun;
                TaskTable *table = capture();

                n_seen = count_living(table, "ledger-storm") - n_parents +
                         find_exited("ledger-storm").exits - n_exited_before;
                n_begun = storm->n_begun;
                task_table_free(table);
                ck_assert_uint_eq(ledger->n_lost, 0);
                /* One at a time is being made, and a thread has its name only a moment later. */
                ck_assert_msg(n_made <= n_seen + of_threads && n_seen <= n_begun,
                              "%llu made before, %llu seen, %llu begun after",
                              (unsigned long long) n_made, (unsigned long long) n_seen,
                              (unsigned long long) n_begun);
        }
        end_storm();
        task_table_free(capture());
        ck_assert_uint_eq(find_exited("ledger-storm").exits - n_exited_before,
                          storm->n_made + n_parents);
        (void) munmap(storm, sizeof(*storm));
}

START_TEST(each_process_of_a_storm_is_there_once) {
        check_partition(false, 1);
}
END_TEST

START_TEST(each_thread_of_a_storm_is_there_once) {
        check_partition(true, 0);
}
END_TEST

START_TEST(a_capture_that_died_does_no_harm) {
        begin();
        (void) run_processes("ledger-during", 3);
        begin(); /* another one */
        (void) run_processes("ledger-during", 2);
        task_table_free(end());
        ck_assert_uint_eq(find_exited("ledger-during").exits, 5);
        task_table_free(capture());
        ck_assert_uint_eq(find_exited("ledger-during").exits, 5);
}
END_TEST

/* folds */

static int fold(uint64_t crowd, size_t max_rows) {
        int folded;

        ck_assert_int_eq(ledger_fold(ledger,
                                     &(LedgerFoldOptions){ .crowd = crowd, .max_rows = max_rows },
                                     &folded),
                         0);
        return folded;
}

/* The ledger as the next job has it. */
static void reopen(int folded) {
        ledger = ledger_free(ledger);
        objects.fds[TASK_OBJECT_FOLDED] = folded;
        ck_assert_int_eq(ledger_open(&objects, &ledger), 0);
        ck_assert_ptr_nonnull(ledger);
}

/* As the main process does it, until there is no need. Returns the last file. */
static int fold_on(int folded, uint64_t crowd, size_t max_rows) {
        int next;

        while ((next = fold(crowd, max_rows)) >= 0) {
                reopen(next);
                if (folded >= 0)
                        (void) close(folded);
                folded = next;
        }
        return folded;
}

static void run_named(char letter, unsigned n) {
        char name[TASK_COMM_BYTES];

        for (unsigned i = 0; i < n; i++) {
                (void) snprintf(name, sizeof(name), "ledger-%c%u", letter, i);
                (void) run_processes(name, 1);
        }
}

static void expect_named(char letter, unsigned n) {
        char name[TASK_COMM_BYTES];

        for (unsigned i = 0; i < n; i++) {
                (void) snprintf(name, sizeof(name), "ledger-%c%u", letter, i);
                ck_assert_uint_eq(find_exited(name).exits, 1);
        }
}

/* The rows that each run of the loop removes are in the file that the run before has made. */
START_TEST(a_fold_keeps_every_row_and_empties_the_table) {
        const LedgerControl *control = ledger->control;
        uint64_t n_rows, captures;
        int folded;

        run_named('f', 40);
        task_table_free(capture());
        run_named('g', 40);
        wait_until_finished();
        n_rows = control->n_rows;
        captures = LEDGER_CAPTURES(control->generation);
        ck_assert_uint_ge(n_rows, 80);
        folded = fold(80, LEDGER_FILE_MAX_ROWS);
        ck_assert_int_ge(folded, 0);
        ck_assert_uint_ge(control->n_rows, n_rows);
        /* A job that dies now leaves all rows in the table, and in the file half of them. */
        reopen(folded);
        task_table_free(capture());
        expect_named('f', 40);
        expect_named('g', 40);
        folded = fold_on(folded, 20, LEDGER_FILE_MAX_ROWS);
        control = ledger->control;
        ck_assert_uint_lt(control->n_rows, 20);
        ck_assert_uint_eq(LEDGER_CAPTURES(control->generation), captures + 1);
        run_named('f', 1);
        task_table_free(capture());
        ck_assert_uint_eq(find_exited("ledger-f0").exits, 2);
        expect_named('g', 40);
        ck_assert_uint_eq(ledger->n_folded, 0);
        reopen(-EBADF);
        (void) close(folded);
}
END_TEST

START_TEST(rows_that_a_file_has_no_room_for_lose_their_numbers) {
        uint64_t n_exits = 0;
        LedgerValues sum;
        int folded;

        run_named('h', 60);
        wait_until_finished();
        task_table_free(capture());
        expect_named('h', 60);
        folded = fold_on(-EBADF, 20, 400); /* of which root has 50 */
        ck_assert_uint_lt(ledger->control->n_rows, 20);
        task_table_free(capture());
        ck_assert_uint_gt(ledger->n_folded, 0);
        sum = find_exited("ledger-h0");
        ck_assert_uint_ge(sum.n_folded, 10);
        for (unsigned i = 0; i < 60; i++) {
                char name[TASK_COMM_BYTES];

                (void) snprintf(name, sizeof(name), "ledger-h%u", i);
                n_exits += i == 0 ? sum.exits : find_exited(name).exits;
        }
        ck_assert_uint_eq(n_exits, 60);
        reopen(-EBADF);
        (void) close(folded);
}
END_TEST

/* owners */

#define STRANGER 60001u

static void *live_as_thread(void *name) {
        (void) prctl(PR_SET_NAME, name);
        return NULL;
}

/* Threads of a process of the user's, each of another name without digits. */
static void run_of_user(uid_t uid, unsigned n_threads) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                if (setresuid(uid, uid, uid) < 0)
                        _exit(1);
                for (unsigned i = 0; i < n_threads; i++) {
                        char name[TASK_COMM_BYTES] = "ledger-o-aaa";
                        pthread_t thread;

                        for (unsigned k = 0, left = i; k < 3; k++, left /= 26)
                                name[9 + k] = (char) ('a' + left % 26);
                        if (pthread_create(&thread, NULL, live_as_thread, name) != 0)
                                _exit(1);
                        (void) pthread_join(thread, NULL);
                }
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
}

static LedgerValues find_owner(uint32_t uid, size_t *ret_n) {
        LedgerValues sum = {};

        *ret_n = 0;
        for (size_t i = 0; i < ledger->n_rows; i++)
                if (ledger->rows[i].key.owner == uid) {
                        ledger_values_add(&sum, &ledger->rows[i].values);
                        (*ret_n)++;
                }
        return sum;
}

/* Half of what is known of the children is their parents. */
START_TEST(rows_that_a_file_has_no_room_for_lose_their_parents_first) {
        const unsigned n_families = 60;
        size_t n_rows = 0;
        int folded;

        for (unsigned i = 0; i < n_families; i++) {
                char name[TASK_COMM_BYTES];

                (void) snprintf(name, sizeof(name), "ledger-m%u", i);
                run_family(name, "ledger-child", NULL);
        }
        wait_until_finished();
        task_table_free(capture());
        ck_assert_uint_eq(count_exited_of("ledger-child", "ledger-m7"), 2);
        (void) find_owner(0, &n_rows);
        ck_assert_uint_gt(n_rows, 3 * n_families - 1);
        /* Root has an eighth. */
        folded = fold_on(-EBADF, 20, 8 * (n_rows - n_families / 2));
        task_table_free(capture());
        ck_assert_uint_eq(find_exited("ledger-child").exits, 2 * n_families);
        ck_assert_uint_ge(count_exited_of("ledger-child", ""), n_families / 2);
        ck_assert_uint_eq(ledger->n_folded, 0);
        for (unsigned i = 0; i < n_families; i++) {
                char name[TASK_COMM_BYTES];

                (void) snprintf(name, sizeof(name), "ledger-m%u", i);
                ck_assert_uint_eq(find_exited(name).exits, 1);
        }
        reopen(-EBADF);
        (void) close(folded);
}
END_TEST

/* As it is an hour later: time is what is told. */
START_TEST(rows_that_are_old_are_folded_whether_or_not_there_is_room) {
        LedgerFoldOptions options = LEDGER_FOLD_DEFAULTS;
        LedgerValues sum;
        size_t n = 0;
        int folded = -EBADF;

        run_of_user(STRANGER, 900);
        task_table_free(capture());
        sum = find_owner(STRANGER, &n);
        ck_assert_uint_ge(n, 900);
        ck_assert_uint_eq(sum.exits, 901);
        options.idle_since_ns = UINT64_MAX;
        /* Once for rows of each generation, and once to remove those. */
        for (unsigned run = 0; run < 3; run++) {
                int next;

                options.is_forced = run < 2;
                ck_assert_int_eq(ledger_fold(ledger, &options, &next), 0);
                ck_assert_int_eq(next >= 0, run < 2);
                if (next < 0)
                        break;
                reopen(next);
                if (folded >= 0)
                        (void) close(folded);
                folded = next;
        }
        task_table_free(capture());
        sum = find_owner(STRANGER, &n);
        ck_assert_uint_eq(sum.exits, 901);
        ck_assert_uint_le(n, ledger_rows_share(STRANGER, LEDGER_FILE_MAX_ROWS) / 4 + 1);
        ck_assert_uint_ge(sum.n_folded, 300);
        reopen(-EBADF);
        (void) close(folded);
}
END_TEST

/* Each has a row by its name; all those who found no place among the owners count as one. */
START_TEST(owners_beyond_the_bound_are_one_together) {
        const uint32_t first = 300000, n_uids = LEDGER_MAX_OWNERS + 100;
        const LedgerControl *control = ledger->control;
        uint64_t n_exits = 0;
        size_t n;
        int folded;

        for (uint32_t uid = first; uid < first + n_uids; uid++)
                run_of_user(uid, 0);
        wait_until_finished();
        task_table_free(capture());
        for (uint32_t uid = first; uid < first + n_uids; uid++)
                n_exits += find_owner(uid, &n).exits;
        ck_assert_uint_eq(n_exits, n_uids);
        ck_assert_uint_ge(control->owners[LEDGER_MAX_OWNERS].n_rows, 100);
        folded = fold_on(-EBADF, 1, LEDGER_FILE_MAX_ROWS);
        control = ledger->control;
        ck_assert_uint_lt(control->owners[LEDGER_MAX_OWNERS].n_rows, 50);
        task_table_free(capture());
        for (uint32_t uid = first; uid < first + n_uids; uid++)
                n_exits -= find_owner(uid, &n).exits;
        ck_assert_uint_eq(n_exits, 0);
        reopen(-EBADF);
        (void) close(folded);
}
END_TEST

/* the account of waits */

START_TEST(waits_for_storage_are_counted) {
        char path[] = "/var/tmp/ctprof-ledger-XXXXXX", block[4096] = "";
        int fd = mkostemp(path, O_CLOEXEC);
        LedgerValues exited;
        pid_t pid;

        ck_assert_int_ge(fd, 0);
        (void) unlink(path);
        pid = fork();
        if (pid == 0) {
                (void) prctl(PR_SET_NAME, "ledger-waits");
                for (int i = 0; i < 20; i++)
                        if (pwrite(fd, block, sizeof(block), 4096 * i) < 0 || fsync(fd) < 0)
                                _exit(1);
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        (void) close(fd);
        task_table_free(capture());
        exited = find_exited("ledger-waits");
        ck_assert_uint_eq(exited.exits, 1);
        if (exited.sums[LEDGER_write_bytes] == 0)
                return; /* a file system in memory */
        ck_assert_uint_gt(exited.sums[LEDGER_N_STORAGE_WAITS] + exited.sums[LEDGER_N_OTHER_WAITS],
                          0);
        ck_assert_uint_le(exited.sums[LEDGER_STORAGE_WAIT_NS] + exited.sums[LEDGER_OTHER_WAIT_NS] +
                                  exited.sums[LEDGER_run_time_ns],
                          exited.lives_ns);
}
END_TEST

/* rules */

START_TEST(values_are_added_by_their_rules) {
        LedgerValues a = { .exits = 1, .accounted = 1 }, b = { .exits = 2, .lives_ns = 7 };

        a.sums[LEDGER_rchar] = 3;
        b.sums[LEDGER_rchar] = 4;
        a.maxima[LEDGER_wait_max] = 9;
        b.maxima[LEDGER_wait_max] = 8;
        a.minima[LEDGER_RUN_DELAY_MIN] = 0;
        b.minima[LEDGER_RUN_DELAY_MIN] = 5;
        ledger_values_add(&a, &b);
        ck_assert_uint_eq(a.exits, 3);
        ck_assert_uint_eq(a.accounted, 1);
        ck_assert_uint_eq(a.lives_ns, 7);
        ck_assert_uint_eq(a.sums[LEDGER_rchar], 7);
        ck_assert_uint_eq(a.maxima[LEDGER_wait_max], 9);
        ck_assert_uint_eq(a.minima[LEDGER_RUN_DELAY_MIN], 5);
        b.minima[LEDGER_RUN_DELAY_MIN] = 4;
        ledger_values_add(&a, &b);
        ck_assert_uint_eq(a.minima[LEDGER_RUN_DELAY_MIN], 4);
}
END_TEST

static void setup(void) {
        ck_assert_int_eq(ledger_open(&objects, &ledger), 0);
        ck_assert_ptr_nonnull(ledger);
        ck_assert(ledger_is_kept(ledger));
        task_table_free(capture());
}

static void teardown(void) {
        end_storm();
        ledger = ledger_free(ledger);
}

/* Threads are counted by their names, those of the whole host: one such test at a time. */
static int lock_names(void) {
        int fd = open("/tmp/ctprof-test-ledger.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

        if (fd >= 0)
                (void) flock(fd, LOCK_EX);
        return fd;
}

int main(void) {
        const TaskProgramOptions options = { .ledger = true, .waits = true };
        int lock = lock_names();
        char reason[TASK_PROGRAM_REASON_BYTES];
        Suite *suite = suite_create("ledger");
        TCase *tcase = tcase_create("rules");
        int r;

        start_early();
        r = task_program_load(&options, &objects, reason);
        tcase_add_test(tcase, values_are_added_by_their_rules);
        suite_add_tcase(suite, tcase);
        if (r == 0) {
                tcase = tcase_create("kernel");
                tcase_add_checked_fixture(tcase, setup, teardown);
                tcase_add_test(tcase, a_thread_without_a_mark_is_found_where_programs_noted_it);
                tcase_add_test(tcase, processes_did_what_their_parent_hears);
                tcase_add_test(tcase, the_memory_of_a_parent_is_not_that_of_what_it_executes);
                tcase_add_test(tcase, a_thread_that_a_capture_has_seen_is_not_young);
                tcase_add_test(tcase, a_zombie_is_among_the_dead_alone);
                tcase_add_test(tcase, a_row_tells_its_cgroup);
                tcase_add_test(tcase, a_row_tells_whose_children_ended);
                tcase_add_test(tcase, a_fold_keeps_every_row_and_empties_the_table);
                tcase_add_test(tcase, rows_that_a_file_has_no_room_for_lose_their_numbers);
                tcase_add_test(tcase, rows_that_a_file_has_no_room_for_lose_their_parents_first);
                tcase_add_test(tcase, rows_that_are_old_are_folded_whether_or_not_there_is_room);
                tcase_add_test(tcase, owners_beyond_the_bound_are_one_together);
                tcase_add_test(tcase, own_children_are_marked);
                tcase_add_test(tcase, callers_are_marked_by_their_lives);
                tcase_add_test(tcase, each_process_of_a_storm_is_there_once);
                tcase_add_test(tcase, each_thread_of_a_storm_is_there_once);
                tcase_add_test(tcase, a_capture_that_died_does_no_harm);
                tcase_add_test(tcase, waits_for_storage_are_counted);
                suite_add_tcase(suite, tcase);
        } else
                printf("# SKIP the kernel: %s\n", r < 0 ? strerror(-r) : reason);
        r = check_main(suite);
        task_objects_done(&objects);
        (void) waitpid(early, NULL, 0);
        (void) fd_close(lock);
        return r;
}
