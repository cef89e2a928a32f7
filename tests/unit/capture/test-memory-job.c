/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "capture/heap/file-job.h"
#include "capture/heap/memory-job.h"
#include "memory-served.h"
#include "helper/helper.h"

#define LIMIT_NS (100 * NSEC_PER_MSEC)
#define LONG_NS (60 * NSEC_PER_SEC)
#define SHORT_NS (50 * NSEC_PER_MSEC)

static CaptureSystem fake;
static MemoryJobOptions options;
static MemoryJob *memory_job;
static FileAnswers *answers;
static int file;

/* The clock, and by how much it goes on each time that it is looked at. */
static uint64_t clock_ns, step_ns;

static uint64_t now_ns(void *userdata) {
        clock_ns += step_ns;
        return clock_ns;
}

/* A file job that answers a question when it is let, always the same. */
static struct {
        pthread_t thread;
        sem_t go;
        int fd;
        unsigned n_answered;
        HeapLayout layout;
} job;

static void *run_job(void *userdata) {
        HelperAsked asked;

        while (recv(job.fd, &asked, sizeof(asked), 0) == sizeof(asked)) {
                struct {
                        HelperAnswered head;
                        HeapLayout layout;
                } answer = { { asked.id, 0 }, job.layout };

                (void) sem_wait(&job.go);
                job.n_answered++;
                (void) !send(job.fd, &answer, sizeof(answer), MSG_NOSIGNAL);
        }
        (void) close(job.fd);
        return NULL;
}

static int open_files(void *userdata, int peer_fd) {
        job.fd = peer_fd;
        ck_assert_int_eq(pthread_create(&job.thread, NULL, run_job, NULL), 0);
        return 0;
}

static void begin_job(void) {
        ck_assert_int_eq(memory_job_new(&options, &memory_job), 0);
        ck_assert_int_eq(file_answers_new(options.cache_fd, options.open_files, NULL, &answers), 0);
}

static void setup(void) {
        memset(&job, 0, sizeof(job));
        (void) sem_init(&job.go, 0, 0);
        job.layout.verdict = HEAP_FAILURE_LAYOUT_UNKNOWN;
        clock_ns = step_ns = NSEC_PER_SEC / 1000000;
        fake = (CaptureSystem){ .now_ns = now_ns };
        options = (MemoryJobOptions){ .proc_fd = -EBADF,
                                      .system = &fake,
                                      .limit_ns = LIMIT_NS,
                                      .cache_fd = memfd_create("cache", MFD_CLOEXEC),
                                      .open_files = open_files };
        ck_assert_int_eq(ftruncate(options.cache_fd, 1 << 20), 0);
        begin_job();
        file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(file, 0);
}

/* Ends the helper, and with it the job. */
static void end_job(void) {
        memory_job = memory_job_free(memory_job);
        answers = file_answers_free(answers);
        if (job.thread)
                (void) pthread_join(job.thread, NULL);
        job.thread = 0;
}

static void teardown(void) {
        (void) sem_post(&job.go);
        end_job();
        (void) close(file);
        (void) close(options.cache_fd);
        (void) sem_destroy(&job.go);
}

static FileIdentity identity_of(uint64_t inode) {
        return (FileIdentity){ .dev = 1, .inode = inode, .size = 2 };
}

static HeapFailure ask(uint64_t inode, uint64_t patience_ns) {
        const FileIdentity identity = identity_of(inode);
        FileAnswer answer;

        return file_answers_ask(answers, FILE_QUESTION_HEAP_LAYOUT, &identity, file, patience_ns,
                                &answer);
}

static bool is_known(uint64_t inode) {
        const FileIdentity identity = identity_of(inode);
        FileAnswer answer;

        return file_answers_find(answers, FILE_QUESTION_HEAP_LAYOUT, &identity, &answer) &&
               answer.HEAP_LAYOUT.verdict == HEAP_FAILURE_LAYOUT_UNKNOWN;
}

static HeapFailure begin(uint32_t tgid, uint32_t owner, bool was_slow) {
        const MemoryLife life = { .start_ticks = 5, .tgid = tgid, .tid = tgid, .owner = owner };

        return memory_job_begin(memory_job, MEMORY_COUNTERS, &life, was_slow);
}

/* On a file of the process at hand. */
static void spend(uint64_t ns) {
        memory_job_spend(memory_job, ns);
}

static void check_patience(uint64_t unknown_ns, uint64_t known_ns) {
        ck_assert_uint_eq(memory_job_patience_ns(memory_job, false), unknown_ns);
        ck_assert_uint_eq(memory_job_patience_ns(memory_job, true), known_ns);
}

START_TEST(each_waits_for_half_and_the_known_have_a_quarter_for_themselves) {
        ck_assert_int_eq(begin(1, 1, false), HEAP_FAILURE_NONE);
        check_patience(LIMIT_NS * 3 / 8, LIMIT_NS / 2);
        spend(LIMIT_NS / 2);
        ck_assert_int_eq(begin(2, 2, false), HEAP_FAILURE_NONE);
        check_patience(LIMIT_NS / 8, LIMIT_NS / 4);
        spend(LIMIT_NS / 4 - 1);
        ck_assert_int_eq(begin(3, 3, false), HEAP_FAILURE_NONE);
        ck_assert_uint_eq(memory_job_patience_ns(memory_job, false),
                          2 * NSEC_PER_MSEC); /* or none */
        spend(1);
        check_patience(0, LIMIT_NS / 8);
        spend(LIMIT_NS / 4);
        check_patience(0, 0);
}
END_TEST

START_TEST(an_owner_takes_half_from_the_others_at_most) {
        for (uint32_t tgid = 1; tgid <= 3; tgid++) {
                ck_assert_int_eq(begin(tgid, 1, false), HEAP_FAILURE_NONE);
                spend(LIMIT_NS / 6);
        }
        ck_assert_int_eq(begin(4, 1, false), HEAP_FAILURE_NONE);
        ck_assert_uint_le(memory_job_patience_ns(memory_job, true), 2 * NSEC_PER_MSEC);
        spend(2 * NSEC_PER_MSEC);
        check_patience(0, 0);
        ck_assert_int_eq(begin(5, 2, false), HEAP_FAILURE_NONE);
        ck_assert_uint_ge(memory_job_patience_ns(memory_job, true), LIMIT_NS / 5);
}
END_TEST

START_TEST(who_was_slow_takes_nothing_from_the_others) {
        for (uint32_t tgid = 1; tgid <= 10; tgid++) {
                ck_assert_int_eq(begin(tgid, tgid, true), HEAP_FAILURE_NONE);
                if (tgid == 1)
                        check_patience(LIMIT_NS / 16, LIMIT_NS / 16);
                else
                        check_patience(0, 0);
                if (tgid == 1)
                        spend(LIMIT_NS);
        }
        ck_assert_int_eq(begin(20, 20, false), HEAP_FAILURE_NONE);
        check_patience(LIMIT_NS * 3 / 8, LIMIT_NS / 2);
}
END_TEST

START_TEST(what_hung_before_is_not_touched) {
        static const MemoryLife hung[] = { { .tgid = 7, .start_ticks = 5 },
                                           { .tgid = 8, .start_ticks = 4 },
                                           { .tgid = 9 } };
        static const uint32_t barred[] = { 33 };

        end_job();
        options.hung = hung;
        options.n_hung = ELEMENTSOF(hung);
        options.barred_owners = barred;
        options.n_barred_owners = ELEMENTSOF(barred);
        begin_job();
        ck_assert_int_eq(begin(7, 1, false), HEAP_FAILURE_HUNG);
        ck_assert_int_eq(begin(8, 1, false), HEAP_FAILURE_NONE); /* another life */
        ck_assert_int_eq(begin(9, 1, false), HEAP_FAILURE_HUNG);
        ck_assert_int_eq(begin(10, 33, false), HEAP_FAILURE_OWNER_HUNG);
}
END_TEST

static sem_t awake;

static ssize_t never_read(void *userdata, pid_t pid, const struct iovec *local,
                          const struct iovec *remote, size_t n) {
        (void) sem_wait(&awake);
        return -1;
}

#define BUSY_PATIENCE_NS (500 * NSEC_PER_MSEC)

static uint64_t now_mono_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

static ssize_t read_busily(void *userdata, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n) {
        uint64_t end_ns = now_mono_ns() + BUSY_PATIENCE_NS * 6 / 5;

        while (now_mono_ns() < end_ns)
                continue;
        errno = ESRCH;
        return -1;
}

static void read_words(MemoryWork *work) {
        work->result = process_words_read(&work->counters.system, (pid_t) work->life.tid,
                                          work->ranges, work->n_ranges);
}

static HeapFailure read_a_word(uint64_t patience_ns) {
        MemoryWork *work = memory_job_work(memory_job);

        ck_assert_ptr_nonnull(work);
        work->ranges[0] = (WordRange){ 4096, work->words[0], 1, false };
        work->n_ranges = 1;
        return memory_job_run(memory_job, read_words, patience_ns);
}

/* A loaded host lets us wait for a processor: that tells nothing of the process. */
START_TEST(what_takes_long_without_sleeping_does_not_hang) {
        fake.read_memory = read_busily;
        ck_assert_int_eq(begin(10, 30, false), HEAP_FAILURE_NONE);
        ck_assert_int_eq(read_a_word(BUSY_PATIENCE_NS), HEAP_FAILURE_NONE);
        ck_assert_int_eq(begin(10, 30, false), HEAP_FAILURE_NONE);
}
END_TEST

/* One that hangs is one of the two for which its owner is left alone, whatever was read of it. */
START_TEST(what_hung_in_this_job_is_not_touched_again) {
        (void) sem_init(&awake, 0, 0);
        fake.read_memory = never_read;
        ck_assert_int_eq(begin(10, 30, false), HEAP_FAILURE_NONE);
        ck_assert_int_eq(read_a_word(NSEC_PER_MSEC), HEAP_FAILURE_TIMED_OUT);
        ck_assert_int_eq(begin(10, 30, false), HEAP_FAILURE_HUNG);
        ck_assert_int_eq(begin(11, 30, false), HEAP_FAILURE_NONE);
        (void) sem_post(&awake);
}
END_TEST

START_TEST(time_for_counters_is_not_spent_on_commands) {
        const MemoryLife life = { .start_ticks = 5, .tgid = 10, .tid = 10, .owner = 30 };
        uint64_t patience_ns;

        ck_assert_int_eq(begin(10, 30, false), HEAP_FAILURE_NONE);
        patience_ns = memory_job_patience_ns(memory_job, true);
        spend(LIMIT_NS);
        ck_assert_uint_eq(memory_job_patience_ns(memory_job, true), 0);
        ck_assert_int_eq(memory_job_begin(memory_job, MEMORY_COMMANDS, &life, false),
                         HEAP_FAILURE_NONE);
        ck_assert_uint_eq(memory_job_patience_ns(memory_job, true), patience_ns);
        spend(LIMIT_NS);
        ck_assert_uint_eq(memory_job_patience_ns(memory_job, true), 0);
}
END_TEST

START_TEST(an_answer_is_known_from_then_on) {
        ck_assert(!is_known(1));
        (void) sem_post(&job.go);
        ck_assert_int_eq(ask(1, LONG_NS), HEAP_FAILURE_NONE);
        ck_assert(is_known(1) && !is_known(2));
        file_answers_keep(answers, memory_job_last_patience_ns(LIMIT_NS));
        end_job();
        begin_job();
        ck_assert(is_known(1));
}
END_TEST

START_TEST(a_late_answer_is_for_who_asks_next) {
        ck_assert_int_eq(ask(1, SHORT_NS), HEAP_FAILURE_TIME_BUDGET);
        ck_assert(!is_known(1));
        (void) sem_post(&job.go);
        (void) sem_post(&job.go);
        ck_assert_int_eq(ask(2, LONG_NS), HEAP_FAILURE_NONE);
        ck_assert(is_known(1) && is_known(2));
}
END_TEST

/* The first capture of a host with a large program cannot read it, but the second one can. */
START_TEST(a_late_answer_is_waited_for_at_the_end) {
        ck_assert_int_eq(ask(1, SHORT_NS), HEAP_FAILURE_TIME_BUDGET);
        (void) sem_post(&job.go);
        file_answers_keep(answers, memory_job_last_patience_ns(LIMIT_NS));
        end_job();
        begin_job();
        ck_assert(is_known(1));
}
END_TEST

START_TEST(what_is_not_lasting_is_not_kept) {
        job.layout.verdict = HEAP_FAILURE_FILE_UNREADABLE;
        (void) sem_post(&job.go);
        ck_assert_int_eq(ask(1, LONG_NS), HEAP_FAILURE_NONE);
        ck_assert(!is_known(1));
        job.layout.verdict = HEAP_NOT_SETTLED; /* no verdict at all */
        (void) sem_post(&job.go);
        ck_assert_int_eq(ask(2, LONG_NS), HEAP_FAILURE_FILE_JOB);
        ck_assert_int_eq(ask(3, SHORT_NS), HEAP_FAILURE_TIME_BUDGET);
        (void) sem_post(&job.go);
        file_answers_keep(answers, memory_job_last_patience_ns(LIMIT_NS));
        ck_assert(!is_known(2) && !is_known(3));
}
END_TEST

START_TEST(without_a_job_nothing_is_known) {
        end_job();
        options.open_files = NULL;
        begin_job();
        ck_assert_int_eq(ask(1, LONG_NS), HEAP_FAILURE_FILE_JOB);
        file_answers_keep(answers, memory_job_last_patience_ns(LIMIT_NS));
}
END_TEST

/* stacks */

static const char mark[] = "a word that lies on the stack";

static int tid_fd; /* it gets the number of the thread that waits */

static void *wait_for_ever(void *unused) {
        char here[sizeof(mark)];
        pid_t tid = gettid();

        memcpy(here, mark, sizeof(mark));
        asm volatile("" : : "r"(here) : "memory");
        (void) !write(tid_fd, &tid, sizeof(tid));
        for (;;)
                (void) pause();
        return NULL;
}

/* A process one thread of which waits for ever, and how that was seen to. */
static pid_t start_waiting(bool is_leader, StackAsked *ret) {
        char path[64], line[4096];
        unsigned long long sp = 0, number;
        pthread_t thread;
        pid_t pid, tid;
        FILE *text;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                tid_fd = fds[1];
                if (is_leader)
                        wait_for_ever(NULL);
                if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
                        _exit(1);
                pthread_exit(NULL);
        }
        (void) close(fds[1]);
        ck_assert_int_eq(read(fds[0], &tid, sizeof(tid)), sizeof(tid));
        (void) close(fds[0]);
        *ret = (StackAsked){ .life = { .tgid = (uint32_t) pid, .tid = (uint32_t) tid } };
        while (sp == 0) {
                (void) usleep(1000);
                (void) snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int) pid,
                                (int) tid);
                text = fopen(path, "re");
                ck_assert_ptr_nonnull(text);
                if (fgets(line, sizeof(line), text) && line[0] != 'r')
                        ck_assert_int_eq(sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %llx", &sp), 1);
                (void) fclose(text);
        }
        (void) snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int) pid, (int) tid);
        text = fopen(path, "re");
        ck_assert_ptr_nonnull(text);
        while (fgets(line, sizeof(line), text))
                if (sscanf(line, "voluntary_ctxt_switches: %llu", &number) == 1 ||
                    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &number) == 1)
                        ret->n_switches += number;
        (void) fclose(text);
        ret->sp = sp;
        return pid;
}

static bool stack_fits(uint32_t question, size_t n) {
        return question == MEMORY_QUESTION_STACK && n == sizeof(StackAnswered);
}

/* Asks a job that reads what there is. */
static void ask_stack(const StackAsked *asked, StackAnswered *ret) {
        const MemoryJobOptions real = {
                .system = &capture_system_kernel,
                .limit_ns = 60 * NSEC_PER_SEC,
                .proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        };
        const HelperTerms terms = {
                .max_answer_bytes = sizeof(*ret),
                .fits = stack_fits,
                .open = memory_served_open,
        };
        const HelperQuestion question = {
                .question = MEMORY_QUESTION_STACK,
                .body = { (const char *) asked, sizeof(*asked) },
                .fd = -EBADF,
        };
        unsigned n_before = memory_served.n_started;
        Helper *helper;
        size_t n;

        memory_served.options = real;
        ck_assert_int_eq(helper_new(&terms, &helper), 0);
        ck_assert_int_eq(helper_ask(helper, &question, now_mono_ns() + 60 * NSEC_PER_SEC, ret, &n),
                         0);
        helper_free(helper);
        memory_served_join(n_before);
        (void) close(real.proc_fd);
}

START_TEST(the_stack_of_a_thread_that_waits_is_read) {
        StackAsked asked, other;
        StackAnswered answer;
        pid_t pid;

        if (check_skips(check_lacks_own_mappings()))
                return;
        pid = start_waiting(true, &asked);
        ask_stack(&asked, &answer);
        ck_assert_uint_eq(answer.failure, HEAP_FAILURE_NONE);
        ck_assert_uint_ge(answer.n, sizeof(mark));
        ck_assert_ptr_nonnull(memmem(answer.bytes, answer.n, mark, sizeof(mark)));
        /* It has woken since it was seen. */
        other = asked;
        other.n_switches--;
        ask_stack(&other, &answer);
        ck_assert_uint_ne(answer.failure, HEAP_FAILURE_NONE);
        ck_assert_uint_eq(answer.n, 0);
        /* There is no stack. */
        other = asked;
        other.sp = 4096;
        ask_stack(&other, &answer);
        ck_assert_uint_ne(answer.failure, HEAP_FAILURE_NONE);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        /* There is no process. */
        ask_stack(&asked, &answer);
        ck_assert_uint_ne(answer.failure, HEAP_FAILURE_NONE);
}
END_TEST

START_TEST(a_stack_is_read_although_the_leader_has_exited) {
        unsigned n_left = 1000;
        StackAnswered answer;
        StackAsked asked;
        char path[64], exe[64];
        pid_t pid;

        if (check_skips(check_lacks_own_mappings()))
                return;
        pid = start_waiting(false, &asked);
        /* It has no memory from then on. */
        (void) snprintf(path, sizeof(path), "/proc/%d/exe", (int) pid);
        while (readlink(path, exe, sizeof(exe)) >= 0 && n_left-- > 0)
                (void) usleep(1000);
        ask_stack(&asked, &answer);
        ck_assert_uint_eq(answer.failure, HEAP_FAILURE_NONE);
        ck_assert_ptr_nonnull(memmem(answer.bytes, answer.n, mark, sizeof(mark)));
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("memory-job");
        TCase *shared = tcase_create("shared");

        tcase_add_checked_fixture(shared, setup, teardown);
        tcase_add_test(shared, each_waits_for_half_and_the_known_have_a_quarter_for_themselves);
        tcase_add_test(shared, an_owner_takes_half_from_the_others_at_most);
        tcase_add_test(shared, who_was_slow_takes_nothing_from_the_others);
        tcase_add_test(shared, what_hung_before_is_not_touched);
        tcase_add_test(shared, what_takes_long_without_sleeping_does_not_hang);
        tcase_add_test(shared, what_hung_in_this_job_is_not_touched_again);
        tcase_add_test(shared, time_for_counters_is_not_spent_on_commands);
        tcase_add_test(shared, an_answer_is_known_from_then_on);
        tcase_add_test(shared, a_late_answer_is_for_who_asks_next);
        tcase_add_test(shared, a_late_answer_is_waited_for_at_the_end);
        tcase_add_test(shared, what_is_not_lasting_is_not_kept);
        tcase_add_test(shared, without_a_job_nothing_is_known);
        tcase_add_test(shared, the_stack_of_a_thread_that_waits_is_read);
        tcase_add_test(shared, a_stack_is_read_although_the_leader_has_exited);
        suite_add_tcase(suite, shared);
        return check_main(suite);
}
