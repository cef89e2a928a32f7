/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Hostile
 *
 * A host that does everything it may to be hard to read.
 *
 *     hostile storm TABLE N LIFE_US   N threads, each of them replaced by a new one after about
 *                                     LIFE_US; TABLE is a file of N tids, 0 while there is none
 *     hostile exec PATH PATH US       threads that are not their leaders execute the other PATH (a
 *                                     link to this program) every US; see mark()
 *     hostile bomb                    every process forks until it must not, some of them exit
 *     hostile zombie N                N children that exited and are not waited for
 *     hostile headless N              a process whose leader exited while N threads go on
 *     hostile vfork                   a child that never execs; its parent waits for it
 *     hostile stopped                 a child that stopped itself
 *     hostile traced                  a child that stands still for its tracer
 *     hostile reuse                   a child; another one with the same number takes its place for
 *                                     each line of input
 *     hostile namesakes LIFE_US       a thread "large", then a thread "small" with its number, and
 *                                     so on; only the large ones allocate MARK_BYTES, and more
 *
 * The leaders of the two programs that execute each other, exec-0 and exec-1, have allocated and
 * freed MARK_BYTES once and twice.
 *
 * Each writes one line with the ids of the processes that matter when it is ready, and ends with
 * its standard input. Only the bomb must be ended from outside, by its cgroup.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536 /* or what the machine wants at least: arm64 twice as much */
#define MAX_CHILDREN 1024
#define WRITTEN_BYTES 1000
#define MARK_BYTES (1 << 20)

static pthread_attr_t small_stack;
static pid_t children[MAX_CHILDREN];
static unsigned n_children;

static void fail(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static unsigned number(const char *text) {
        return (unsigned) strtoul(text, NULL, 10);
}

static void sleep_us(unsigned us) {
        (void) nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

static void ready(const pid_t *pids, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                printf("%d%c", (int) pids[i], i + 1 < n ? ' ' : '\n');
        if (fflush(stdout) != 0)
                fail("stdout");
}

static void wait_for_end(void) {
        char byte;

        while (read(STDIN_FILENO, &byte, 1) > 0)
                continue;
}

static void allocate_marks(unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                void *volatile memory = malloc(MARK_BYTES);

                free(memory);
        }
}

static void start_thread(void *(*function)(void *), void *argument) {
        pthread_t thread;
        int r;

        while ((r = pthread_create(&thread, &small_stack, function, argument)) == EAGAIN)
                sleep_us(1000);
        if (r != 0)
                fail("pthread_create");
        (void) pthread_detach(thread);
}

static void *sleep_on(void *argument) {
        for (;;)
                (void) pause();
        return NULL;
}

/* A child that dies with this process, whatever becomes of it. */
static pid_t start_child(void) {
        pid_t parent = getpid(), pid = n_children < MAX_CHILDREN ? fork() : -1;

        if (pid < 0)
                fail("fork");
        if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
                _exit(EXIT_FAILURE);
        if (pid > 0)
                children[n_children++] = pid;
        return pid;
}

static void end_children(void) {
        for (unsigned i = 0; i < n_children; i++)
                (void) kill(children[i], SIGKILL);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                continue;
}

/* storm */

static uint32_t *tids; /* shared with whoever reads the table */
static unsigned storm_life_us;

static void *mayfly(void *argument) {
        uint32_t *slot = argument;
        unsigned short seed[3] = { (unsigned short) gettid(), (unsigned short) (slot - tids), 7 };

        __atomic_store_n(slot, (uint32_t) gettid(), __ATOMIC_RELEASE);
        sleep_us((unsigned) (storm_life_us * (0.5 + erand48(seed))));
        __atomic_store_n(slot, 0, __ATOMIC_RELEASE);
        start_thread(mayfly, slot);
        return NULL;
}

static void storm(const char *table, unsigned n, unsigned life_us) {
        int fd = open(table, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0 || ftruncate(fd, (off_t) (n * sizeof(*tids))) < 0)
                fail(table);
        tids = mmap(NULL, n * sizeof(*tids), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (tids == MAP_FAILED)
                fail("mmap");
        storm_life_us = life_us;
        for (unsigned i = 0; i < n; i++)
                start_thread(mayfly, tids + i);
        ready(&(pid_t){ getpid() }, 1);
        wait_for_end();
        _exit(EXIT_SUCCESS);
}

/* exec */

typedef struct Exec {
        char **arguments;
        unsigned life_us;
} Exec;

/*
 * Marks the calling thread with the number at the end of @path: one CPU, a name, and how much it
 * has written.
 */
static void mark(const char *path) {
        static const char bytes[2 * WRITTEN_BYTES];
        unsigned n = (unsigned) (path[strlen(path) - 1] - '0');
        size_t n_bytes = ((size_t) n + 1) * WRITTEN_BYTES;
        char name[16];
        cpu_set_t cpus;
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        CPU_ZERO(&cpus);
        CPU_SET(n, &cpus);
        (void) snprintf(name, sizeof(name), "next-%u", n);
        if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0 || prctl(PR_SET_NAME, name) < 0 ||
            write(fd, bytes, n_bytes) != (ssize_t) n_bytes)
                fail("marks");
        (void) close(fd);
}

/* It is marked first, so that whoever is the leader bears one number at any time. */
static void *execute(void *argument) {
        const Exec *exec = argument;
        char **arguments = exec->arguments;
        char *next[] = {
                arguments[3], arguments[1], arguments[3], arguments[2], arguments[4], NULL
        };

        mark(arguments[3]);
        sleep_us(exec->life_us);
        (void) execv(next[0], next);
        fail(next[0]);
        return NULL;
}

static void *end_with_input(void *argument) {
        wait_for_end();
        _exit(EXIT_SUCCESS);
}

/* The first of the two paths is the one that runs now. */
static void exec_in_turn(char **arguments) {
        Exec exec = { arguments, number(arguments[4]) };

        if (strcmp(arguments[0], arguments[2]) != 0) {
                ready(&(pid_t){ getpid() }, 1);
                (void) execv(arguments[2], (char *[]){ arguments[2], arguments[1], arguments[2],
                                                       arguments[3], arguments[4], NULL });
                fail(arguments[2]);
        }
        allocate_marks(1 + (unsigned) (arguments[2][strlen(arguments[2]) - 1] - '0'));
        start_thread(end_with_input, NULL);
        start_thread(sleep_on, NULL);
        start_thread(execute, &exec);
        (void) sleep_on(NULL);
}

/* bomb */

static void bomb(void) {
        unsigned short seed[3] = { 1, 2, (unsigned short) getpid() };
        pid_t first = getpid();

        /* Nobody is left for process 1 to wait for: until it does, they count. */
        if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || signal(SIGCHLD, SIG_IGN) == SIG_ERR)
                fail("bomb");
        /* Else captures have one part in a hundred of the CPU, and take minutes. */
        if (setpriority(PRIO_PROCESS, 0, 19) < 0)
                fail("nice");
        ready(&(pid_t){ getpid() }, 1);
        for (;;) {
                pid_t pid = fork();

                if (pid == 0)
                        seed[2] = (unsigned short) getpid();
                else if (pid < 0) {
                        sleep_us(10000);
                        if (erand48(seed) < 0.01 && getpid() != first)
                                _exit(EXIT_SUCCESS);
                }
        }
}

/* those who stand still */

static void zombies(unsigned n) {
        siginfo_t info;

        for (unsigned i = 0; i < n; i++)
                if (start_child() == 0)
                        _exit(EXIT_SUCCESS);
        for (unsigned i = 0; i < n; i++)
                if (waitid(P_PID, (id_t) children[i], &info, WEXITED | WNOWAIT) < 0)
                        fail("waitid");
        ready(children, n);
}

static void headless(unsigned n) {
        pid_t pid = start_child();

        if (pid == 0) {
                for (unsigned i = 0; i < n; i++)
                        start_thread(sleep_on, NULL);
                pthread_exit(NULL);
        }
        ready(&pid, 1);
}

/* The one that waits is a child, so that this one can end both. */
static void wait_for_exec(void) {
        pid_t pid = start_child();

        if (pid == 0) {
                if (vfork() == 0) {
                        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                        for (;;)
                                (void) pause();
                }
                _exit(EXIT_SUCCESS);
        }
        ready(&pid, 1);
}

static void stand_still(long request) {
        pid_t pid = start_child();
        siginfo_t info;

        if (pid == 0) {
                if (request >= 0 && ptrace((enum __ptrace_request) request, 0, NULL, NULL) < 0)
                        fail("ptrace");
                (void) raise(SIGSTOP);
                for (;;)
                        (void) pause();
        }
        if (waitid(P_PID, (id_t) pid, &info, WSTOPPED | WNOWAIT) < 0)
                fail("waitid");
        ready(&pid, 1);
}

/* reuse */

static void *sleep_and_burn(void *argument) {
        unsigned long rounds = *(unsigned long *) argument;
        volatile unsigned long spin = 0;

        while (spin < rounds)
                spin++;
        return sleep_on(NULL);
}

/* clone3(2) chooses the number: CAP_CHECKPOINT_RESTORE in the pid namespace, Linux 5.5. */
static pid_t start_with_number(pid_t pid) {
        struct clone_args arguments = {
                .exit_signal = SIGCHLD,
                .set_tid = pid != 0 ? (uint64_t) (uintptr_t) &pid : 0,
                .set_tid_size = pid != 0,
        };
        pid_t made = (pid_t) syscall(SYS_clone3, &arguments, sizeof(arguments));

        if (made < 0)
                fail("clone3");
        if (made == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                _exit(EXIT_FAILURE);
        return made;
}

/* The second and later lives work less than the first: their counters are behind. */
static void live_again(void) {
        unsigned long rounds = 100000000;
        pid_t pid = start_with_number(0);
        char line[16];

        for (;;) {
                if (pid == 0)
                        (void) sleep_and_burn(&rounds);
                ready(&pid, 1);
                if (!fgets(line, sizeof(line), stdin))
                        break;
                (void) kill(pid, SIGKILL);
                (void) waitpid(pid, NULL, 0);
                rounds = 1000;
                pid = start_with_number(pid);
        }
        children[n_children++] = pid;
}

/* namesakes */

static unsigned namesake_life_us;
static pid_t namesake;

static void *live_as_namesake(void *argument) {
        bool is_large = argument != NULL;

        (void) prctl(PR_SET_NAME, is_large ? "large" : "small");
        namesake = gettid();
        if (is_large)
                allocate_marks(2);
        sleep_us(namesake_life_us);
        return NULL;
}

/* In a pid namespace of its own the next number is what the last one was set to, plus one. */
static void be_namesakes(unsigned life_us) {
        pthread_t thread;
        bool is_large = true;

        namesake_life_us = life_us;
        start_thread(end_with_input, NULL);
        ready(&(pid_t){ getpid() }, 1);
        for (;; is_large = !is_large) {
                if (namesake != 0) {
                        char text[16];
                        int n = snprintf(text, sizeof(text), "%d", (int) namesake - 1);
                        int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

                        if (fd < 0 || write(fd, text, (size_t) n) != n)
                                fail("ns_last_pid");
                        (void) close(fd);
                }
                if (pthread_create(&thread, &small_stack, live_as_namesake,
                                   is_large ? &namesake : NULL) != 0)
                        fail("pthread_create");
                (void) pthread_join(thread, NULL);
        }
}

int main(int argc, char **argv) {
        const char *mode = argc > 1 ? argv[1] : "";
        long least = sysconf(_SC_THREAD_STACK_MIN);

        if (pthread_attr_init(&small_stack) != 0 ||
            pthread_attr_setstacksize(&small_stack,
                                      least > STACK_BYTES ? (size_t) least : STACK_BYTES) != 0)
                fail("attributes");
        if (strcmp(mode, "storm") == 0 && argc == 5)
                storm(argv[2], number(argv[3]), number(argv[4]));
        else if (strcmp(mode, "exec") == 0 && argc == 5)
                exec_in_turn(argv);
        else if (strcmp(mode, "bomb") == 0)
                bomb();
        else if (strcmp(mode, "zombie") == 0 && argc == 3)
                zombies(number(argv[2]));
        else if (strcmp(mode, "headless") == 0 && argc == 3)
                headless(number(argv[2]));
        else if (strcmp(mode, "vfork") == 0)
                wait_for_exec();
        else if (strcmp(mode, "stopped") == 0)
                stand_still(-1);
        else if (strcmp(mode, "reuse") == 0)
                live_again();
        else if (strcmp(mode, "namesakes") == 0 && argc == 3)
                be_namesakes(number(argv[2]));
        else if (strcmp(mode, "traced") == 0)
                stand_still(PTRACE_TRACEME);
        else
                return 2;
        wait_for_end();
        end_children();
        return EXIT_SUCCESS;
}
