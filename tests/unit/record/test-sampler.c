/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A recording of the running kernel: threads that wait and that compute in known functions, seen
 * through the programs, the messages and the unwinder, in one process and its child.
 */

#include "check-main.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "kernel/bpf/clock-event.h"
#include "kernel/bpf/task-program.h"
#include "metric/record-place.h"
#include "record/collector.h"
#include "record/sampler.h"

#define WINDOW_NS UINT64_C(1500000000)
#define SLEEPER "known-sleeper"

#define STACK_BYTES 4096

/* Its caller is known by half of what is copied of its stack. */
__attribute__((noinline)) static void sleep_in_a_known_function(void) {
        const struct timespec short_while = { 0, 12000000 };
        volatile char room[STACK_BYTES / 2];

        (void) prctl(PR_SET_NAME, SLEEPER);
        room[0] = 0;
        (void) nanosleep(&short_while, NULL);
        room[0]++;
}

__attribute__((noinline)) static void compute_in_a_known_function(void) {
        for (volatile int i = 0; i < 1000000; i++)
                ;
        __asm__ volatile("");
}

/* So that stacks begin in all parts of a page. */
#define DEPTHS 8
static void (*volatile work)(void); /* not known to compilers, which would make copies by it */

__attribute__((noinline)) static void work_below(unsigned depth) {
        volatile char room[512];

        room[0] = 0;
        if (depth == 0)
                work();
        else
                work_below(depth - 1);
        room[0]++;
}

#define N_NAMES 40u
#define NAMES "one-of-"
#define NAMES_PERIOD_NS 200000000

/* Processes of one CPU, each with a name of its own, that one interrupt wakes at once. */
static void start_names(pid_t names[static N_NAMES]) {
        const struct timespec begin = { (time_t) (clock_now_ns(CLOCK_MONOTONIC) / NSEC_PER_SEC),
                                        0 };
        cpu_set_t first;

        CPU_ZERO(&first);
        CPU_SET(0, &first);
        for (unsigned i = 0; i < N_NAMES; i++) {
                names[i] = fork();
                ck_assert_int_ge(names[i], 0);
                if (names[i] == 0) {
                        char name[16];
                        struct timespec next = begin;

                        (void) snprintf(name, sizeof(name), NAMES "%u", i);
                        (void) prctl(PR_SET_NAME, name);
                        if (sched_setaffinity(0, sizeof(first), &first) < 0)
                                _exit(1);
                        for (;;) {
                                next.tv_nsec += NAMES_PERIOD_NS;
                                if (next.tv_nsec >= 1000000000) {
                                        next.tv_nsec -= 1000000000;
                                        next.tv_sec++;
                                }
                                (void) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
                        }
                }
        }
}

/* Processes of their own: the one that records is left out. */
static pid_t start(void (*of_child)(void)) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        work = of_child;
        if (pid == 0)
                for (unsigned i = 0;; i++)
                        work_below(i % DEPTHS);
        return pid;
}

static void end(pid_t pid) {
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* The child: it unwinds, and its exit status says what it found. */

static bool has_frame(const StackTable *table, uint32_t stack, const char *name) {
        size_t begin = stack > 0 ? table->stacks[stack - 1] : 0;

        for (size_t i = begin; i < table->stacks[stack]; i++)
                if (strcmp(table->names.bytes + table->frames[table->numbers[i]].name, name) == 0)
                        return true;
        return false;
}

/* How much of the time of @tid in @place is in stacks that have @name; the sum in *ret_all. */
static uint64_t time_of(const StackTable *table, pid_t tid, RecordPlace place, const char *name,
                        uint64_t *ret_all) {
        uint64_t found = 0;

        *ret_all = 0;
        for (size_t i = 0; i < table->n_samples; i++) {
                const StackSample *sample = &table->samples[i];

                if (table->threads[sample->key.thread].tid != (uint32_t) tid ||
                    sample->key.place != place || sample->key.stack == STACK_NONE)
                        continue;
                *ret_all += sample->long_ns + sample->short_ns;
                if (has_frame(table, sample->key.stack, name))
                        found += sample->long_ns + sample->short_ns;
        }
        return found;
}

/* How much time of @tid in @place was ended by an interrupt, in that function. */
static uint64_t time_to_interrupt(const StackTable *table, pid_t tid, RecordPlace place,
                                  const char *name) {
        uint64_t ns = 0;

        for (size_t i = 0; i < table->n_samples; i++) {
                const StackSample *sample = &table->samples[i];

                if (table->threads[sample->key.thread].tid == (uint32_t) tid &&
                    sample->key.place == place && sample->key.waker == STACK_WAKER_INTERRUPT &&
                    sample->key.waker_stack != STACK_NONE &&
                    has_frame(table, sample->key.waker_stack, name))
                        ns += sample->long_ns + sample->short_ns;
        }
        return ns;
}

typedef struct Found {
        uint64_t sleep_ns, in_sleep_ns, below_sleep_ns, in_kernel_sleep_ns, run_ns, in_run_ns,
                by_timer_ns;
        uint64_t n_lengths, length_ns, n_long_lengths, n_sampled; /* of the sleeper */
        uint64_t n_names, n_of_names; /* that have lengths of sleeps; how many all these are */
        uint64_t n_others;            /* threads with time off the CPU, but for both below */
        int failure;
        pid_t sleeper, spinner; /* told by the parent */
} Found;

static Found *found; /* shared */

/* The sleeper has a name of its own. All that are as long as the period are samples, too. */
static void count_lengths(const StackTable *table) {
        for (size_t i = 0; i < table->n_lengths; i++) {
                const StackLengths *of = &table->lengths[i];
                bool is_name = of->key.place == RECORD_PLACE_sleep &&
                               strncmp(of->key.comm, NAMES, strlen(NAMES)) == 0;

                found->n_names += is_name;
                for (unsigned which = 0; is_name && which < RECORD_LENGTHS; which++)
                        found->n_of_names += of->lengths.n[which];
                for (unsigned which = 0;
                     which < RECORD_LENGTHS && strcmp(of->key.comm, SLEEPER) == 0 &&
                     of->key.place == RECORD_PLACE_sleep;
                     which++) {
                        found->n_lengths += of->lengths.n[which];
                        found->length_ns += of->lengths.ns[which];
                        if (record_length_begin(which) >= 8192000)
                                found->n_long_lengths += of->lengths.n[which];
                }
        }
        for (size_t i = 0; i < table->n_samples; i++)
                if (table->threads[table->samples[i].key.thread].tid == (uint32_t) found->sleeper &&
                    table->samples[i].key.place == RECORD_PLACE_sleep)
                        found->n_sampled += table->samples[i].n_long;
}

static int unwind(int socket) {
        static uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];
        Collector *collector;
        RecordMessage message;
        int r = collector_new(&collector);

        if (r == 0)
                r = collector_run(collector, socket, UINT64_MAX, UINT64_MAX, space, &message);
        if (r == 0) {
                const StackTable *table = collector_table(collector);

                found->in_sleep_ns = time_of(table, found->sleeper, RECORD_PLACE_sleep,
                                             "sleep_in_a_known_function", &found->sleep_ns);
                found->below_sleep_ns = time_of(table, found->sleeper, RECORD_PLACE_sleep,
                                                "work_below", &found->sleep_ns);
                found->in_kernel_sleep_ns = time_of(table, found->sleeper, RECORD_PLACE_sleep,
                                                    "hrtimer_nanosleep", &found->sleep_ns);
                found->by_timer_ns = time_to_interrupt(table, found->sleeper, RECORD_PLACE_sleep,
                                                       "hrtimer_wakeup");
                count_lengths(table);
                found->in_run_ns = time_of(table, found->spinner, RECORD_PLACE_running,
                                           "compute_in_a_known_function", &found->run_ns);
                for (size_t i = 0; i < table->n_samples; i++) {
                        const StackSample *sample = &table->samples[i];
                        uint32_t tid = table->threads[sample->key.thread].tid;

                        found->n_others += tid != (uint32_t) found->sleeper &&
                                           tid != (uint32_t) found->spinner &&
                                           sample->key.place != RECORD_PLACE_running;
                }
        }
        found->failure = r;
        (void) collector_free(collector);
        return r;
}

static TaskObjects objects;
static char reason[TASK_PROGRAM_REASON_BYTES];

static LedgerControl *map_control(void) {
        LedgerControl *control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED,
                                      objects.fds[TASK_OBJECT_CONTROL], 0);

        ck_assert_ptr_ne(control, MAP_FAILED);
        return control;
}

static void switch_reasons_on(void) {
        LedgerControl *control = map_control();

        control->reasons.since_ns = clock_now_ns(CLOCK_MONOTONIC);
        control->reasons.until_ns = control->reasons.since_ns + 60 * NSEC_PER_SEC;
        control->reasons.epoch = control->reasons.since_ns;
        (void) munmap(control, sizeof(*control));
}

/* A recording of all threads whose process ends in the middle of it, with samples in the ring. */
static void leave_samples_behind(const SamplerOptions *options) {
        static const RecordScope all;
        LedgerControl *control = map_control();
        SamplerOptions few = *options;
        Sampler *sampler;

        few.scope = &all;
        few.symbols = few.ticks = -EBADF;
        few.frames = few.running = false;
        few.wakers = RECORD_WAKERS_NONE;
        few.n_clocks = 0;
        ck_assert_int_eq(sampler_new(&few, &sampler), 0);
        ck_assert_int_eq(sampler_start(sampler), 0);
        (void) usleep(50000);
        ck_assert_uint_gt(control->record.n_samples, 0);
        (void) sampler_free(sampler);
        control->record.id = 0;
        (void) munmap(control, sizeof(*control));
}

/* The owner of a process can make reading its memory last, while others go on. */
static size_t read_slowly(void *userdata, const RecordSample *sample, void *ret) {
        unsigned *n_slow = userdata;

        if (*n_slow < 10) {
                (*n_slow)++;
                (void) usleep(20000);
        }
        return 0;
}

/* First of all threads, then of one process alone. */
START_TEST(known_functions) {
        RecordScope scope = {};
        SamplerOptions options = {
                .scope = &scope,
                .fork = -EBADF,
                .waiting = true,
                .running = true,
                .frames = true,
                .wakers = RECORD_WAKERS_ALL,
                .stack_bytes = STACK_BYTES,
                .period_ns = 10000000,
                .max_samples = 100000,
        };
        uint64_t begun_ns, cpu_ns, passed_ns, n_lost, most_ns, elapsed_ns;
        unsigned n_slow = 0;
        struct timespec cpu;
        RecordSummary summary;
        clockid_t spinner_clock;
        Sampler *sampler;
        int clocks[64], pair[2], status, r;
        unsigned next_cpu = 0;
        size_t n_opened;
        pid_t child, names[N_NAMES];

        *found = (Found){};
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
                (void) close(pair[0]);
                _exit(unwind(pair[1]) == 0 ? 0 : 1);
        }
        (void) close(pair[1]);
        found->sleeper = start(sleep_in_a_known_function);
        found->spinner = start(compute_in_a_known_function);
        start_names(names);
        if (_i == 1) {
                scope.filter.pids[scope.filter.n_pids++] = (uint32_t) found->sleeper;
                record_scope_settle(&scope);
        }
        ck_assert_int_eq(clock_getcpuclockid(found->spinner, &spinner_clock), 0);
        options.unwinder = child;

        switch_reasons_on();
        options.socket = pair[0];
        options.ring = objects.fds[TASK_OBJECT_SAMPLES];
        options.control = objects.fds[TASK_OBJECT_CONTROL];
        options.go_on = objects.fds[TASK_OBJECT_GO_ON];
        options.waking = objects.fds[TASK_OBJECT_WAKING];
        /* One at a time, as a host with many CPUs has many times as many. */
        do {
                ck_assert_int_eq(clock_events_open(objects.fds[TASK_OBJECT_CLOCK], &next_cpu,
                                                   clocks + options.n_clocks, 1, &n_opened),
                                 0);
                options.n_clocks += n_opened;
                ck_assert_uint_lt(options.n_clocks, ELEMENTSOF(clocks));
        } while (n_opened > 0);
        ck_assert_int_eq((long) options.n_clocks, sysconf(_SC_NPROCESSORS_ONLN));
        options.rest = objects.fds[TASK_OBJECT_REST];
        options.symbols = objects.fds[TASK_OBJECT_SYMBOLS];
        options.lengths = objects.fds[TASK_OBJECT_LENGTHS];
        options.ticks = objects.fds[TASK_OBJECT_TICKS];
        ck_assert_int_ge(options.ticks, 0);
        options.read_stack = read_slowly;
        options.userdata = &n_slow;
        if (_i == 1)
                leave_samples_behind(&options);
        ck_assert_int_eq(sampler_new(&options, &sampler), 0);
        ck_assert_int_eq(clock_events_start(clocks, options.n_clocks, options.period_ns), 0);
        ck_assert_int_eq(sampler_start(sampler), 0);
        ck_assert_int_eq(clock_gettime(spinner_clock, &cpu), 0);
        cpu_ns = (uint64_t) cpu.tv_sec * NSEC_PER_SEC + (uint64_t) cpu.tv_nsec;
        begun_ns = clock_now_ns(CLOCK_MONOTONIC);
        do {
                (void) usleep(20000);
                r = sampler_pass(sampler, UINT64_MAX);
                passed_ns = clock_now_ns(CLOCK_MONOTONIC) - begun_ns;
        } while (r == 0 && passed_ns < WINDOW_NS);
        ck_assert_int_eq(r, 0);
        ck_assert_int_eq(clock_gettime(spinner_clock, &cpu), 0);
        cpu_ns = (uint64_t) cpu.tv_sec * NSEC_PER_SEC + (uint64_t) cpu.tv_nsec - cpu_ns;
        clock_events_stop(clocks, options.n_clocks);
        ck_assert_int_eq(sampler_stop(sampler), 0);
        end(found->sleeper);
        end(found->spinner);
        for (unsigned i = 0; i < N_NAMES; i++)
                end(names[i]);
        sampler_summarize(sampler, &summary);
        ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_END, &summary, sizeof(summary),
                                             NULL, 0, -1),
                         0);
        (void) sampler_free(sampler);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(found->failure, 0);
        (void) close(pair[0]);

        /* A process that is kept from its CPU cannot read them in time. */
        if (check_skips(summary.control.n_lost_ring + summary.control.n_lost_pending +
                                                summary.control.n_lost_wakes >
                                        0
                                ? "samples were lost: this machine is too busy"
                                : NULL))
                return;
        ck_assert_str_eq(summary.unclocked.cpus, "");
        /* It sleeps nearly all of the time, and each sleep is longer than the period. */
        ck_assert_uint_gt(found->sleep_ns, passed_ns / 4);
        /* The last sleep is told in full, or is taken for as long as the period if it is at all. */
        elapsed_ns = summary.end_boottime_ns - summary.begin_boottime_ns;
        ck_assert_uint_gt(n_slow, 0);
        ck_assert_uint_le(found->sleep_ns, elapsed_ns + options.period_ns);
        ck_assert_uint_gt(found->in_kernel_sleep_ns, found->sleep_ns / 10 * 9);
        ck_assert_uint_gt(found->by_timer_ns, found->sleep_ns / 10 * 9);
        if (summary.sees_return) {
                ck_assert_uint_gt(found->in_sleep_ns, found->sleep_ns / 10 * 9);
                ck_assert_uint_gt(found->below_sleep_ns, found->sleep_ns / 10 * 9);
        }
        /*
         * Each sleep is counted, and is a sample, but for one at each end, for those after which it
         * was not seen to get a CPU, and for what other threads of this machine leave no room for.
         */
        n_lost = summary.control.n_unseen + summary.control.n_lost_ring +
                 summary.control.n_lost_pending + summary.control.n_lost_storage +
                 summary.control.n_busy;
        ck_assert(summary.has_lengths && summary.control.n_lost_lengths == 0);
        ck_assert_uint_eq(found->n_lengths, found->n_long_lengths);
        ck_assert_uint_le(found->n_lengths, found->n_sampled + n_lost + found->n_sampled / 20 + 2);
        ck_assert_uint_ge(found->n_lengths + 2, found->n_sampled);
        ck_assert_uint_ge(found->length_ns, found->n_lengths * 12000000);
        if (_i == 1) {
                ck_assert_uint_eq(found->n_names, 0);
                ck_assert_uint_eq(found->run_ns, 0);
                ck_assert_uint_eq(found->n_others, 0);
                return;
        }
        ck_assert_uint_eq(found->n_names, N_NAMES);
        ck_assert_uint_ge(found->n_of_names + n_lost, N_NAMES * (passed_ns / NAMES_PERIOD_NS - 2));
        /* The clock has ticks, and this machine may be busy: that is more than both make. */
        most_ns = cpu_ns / 5 + 10 * options.period_ns;
        ck_assert_uint_gt(found->run_ns + most_ns, cpu_ns);
        ck_assert_uint_lt(found->run_ns, cpu_ns + most_ns);
        ck_assert_uint_gt(found->in_run_ns, found->run_ns / 10 * 9);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("sampler");
        TCase *tcase = tcase_create("sampler");
        const TaskProgramOptions options = { .waits = true };
        int r;

        found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        objects = TASK_OBJECTS_NONE;
        r = HAS_BPF ? task_program_load(&options, &objects, reason) : TASK_PROGRAM_E_NOT_BUILT;
        tcase_add_loop_test(tcase, known_functions, 0, 2);
        suite_add_tcase(suite, tcase);
        r = check_main_unless(r == 0 && objects.fds[TASK_OBJECT_SAMPLES] >= 0 ? NULL
                              : reason[0]                                     ? reason
                                          : "programs could not be loaded",
                              suite);
        task_objects_done(&objects);
        return r;
}
