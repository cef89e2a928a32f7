/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Heap reader
 *
 * What reading two counters of every thread of a process costs, in two ways.
 *
 *     heap-reader stops PID ALLOCATED DEALLOCATED ROBUST ROUNDS PAUSE_US
 *     heap-reader floor PID ALLOCATED DEALLOCATED ROBUST ROUNDS PAUSE_US
 *     heap-reader hold PID
 *
 * The three distances are from the thread pointer, as heap-target gives them: of the counters, and
 * of the list of robust mutexes that the kernel knows. "stops" is the prior way: it stops one
 * thread after the other with ptrace, looks every millisecond whether it has stopped, takes the
 * thread pointer from its registers and reads while it is stopped. "floor" stops nobody: it asks
 * the kernel for the list of each thread and reads the memory of many in one call; it checks
 * nothing, and knows where all is. For each round a line "THREADS READ CPU_NS WALL_NS SUM" with the
 * sum of what was read. "hold" stops every thread as a debugger does, writes "held", and lets them
 * go at the end of its input.
 */

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 65536
#define BATCH 512 /* threads of one call: each has two places, and the kernel takes 1,024 */
#define LOOK_NS 1000000
#define MAX_LOOKS 250

typedef struct Distances {
        intptr_t allocated, deallocated, robust;
} Distances;

static pid_t tids[MAX_THREADS];
static uint64_t counters[MAX_THREADS][2];

static void fail(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static unsigned list_threads(pid_t pid) {
        struct dirent *entry;
        unsigned n = 0;
        char path[64];
        DIR *directory;

        (void) snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
        directory = opendir(path);
        if (!directory)
                fail(path);
        while ((entry = readdir(directory)))
                if (entry->d_name[0] != '.' && n < MAX_THREADS)
                        tids[n++] = (pid_t) atoi(entry->d_name);
        (void) closedir(directory);
        return n;
}

/* the prior way */

static bool await_stop(pid_t tid, int *ret_status) {
        for (unsigned i = 0; i < MAX_LOOKS; i++) {
                pid_t found = waitpid(tid, ret_status, __WALL | WNOHANG);

                if (found != 0)
                        return found == tid && WIFSTOPPED(*ret_status);
                (void) nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
        }
        return false;
}

/* Of a thread that is stopped. */
static uintptr_t thread_pointer_of(pid_t tid) {
#if defined(__x86_64__)
        struct user_regs_struct registers = {};
        struct iovec place = { &registers, sizeof(registers) };
        unsigned kind = NT_PRSTATUS;
#elif defined(__aarch64__)
        uint64_t registers[2] = {};
        struct iovec place = { registers, sizeof(registers) };
        unsigned kind = NT_ARM_TLS;
#endif

        if (ptrace(PTRACE_GETREGSET, tid, kind, &place) < 0)
                return 0;
#if defined(__x86_64__)
        return registers.fs_base;
#elif defined(__aarch64__)
        return registers[0];
#endif
}

static bool read_stopped(pid_t tid, const Distances *at, uint64_t *ret) {
        uintptr_t pointer = 0;
        bool is_read = false;
        int status;

        ret[0] = ret[1] = 0;
        if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
                return false;
        if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 && await_stop(tid, &status))
                pointer = thread_pointer_of(tid);
        if (pointer != 0) {
                uint64_t span[8];
                size_t n = (size_t) (at->deallocated - at->allocated) + sizeof(uint64_t);
                struct iovec here = { span, n };
                struct iovec there = { (void *) (pointer + (uintptr_t) at->allocated), n };

                is_read = n <= sizeof(span) &&
                          process_vm_readv(tid, &here, 1, &there, 1, 0) == (ssize_t) n;
                if (is_read) {
                        ret[0] = span[0];
                        ret[1] = span[n / sizeof(uint64_t) - 1];
                }
        }
        (void) ptrace(PTRACE_DETACH, tid, NULL, NULL);
        return is_read;
}

static unsigned read_by_stops(unsigned n, const Distances *at) {
        unsigned n_read = 0;

        for (unsigned i = 0; i < n; i++)
                n_read += read_stopped(tids[i], at, counters[i]);
        return n_read;
}

/* the floor */

static unsigned read_batch(pid_t pid, const uintptr_t *pointers, unsigned n, const Distances *at,
                           uint64_t (*ret)[2]) {
        struct iovec here[2 * BATCH], there[2 * BATCH];
        unsigned n_places = 0;
        ssize_t n_bytes;

        for (unsigned i = 0; i < n; i++) {
                if (pointers[i] == 0)
                        continue;
                for (unsigned k = 0; k < 2; k++) {
                        intptr_t distance = k == 0 ? at->allocated : at->deallocated;

                        here[n_places] = (struct iovec){ &ret[i][k], sizeof(uint64_t) };
                        there[n_places++] =
                                (struct iovec){ (void *) (pointers[i] + (uintptr_t) distance),
                                                sizeof(uint64_t) };
                }
        }
        n_bytes = process_vm_readv(pid, here, n_places, there, n_places, 0);
        return n_bytes > 0 ? (unsigned) ((size_t) n_bytes / sizeof(uint64_t) / 2) : 0;
}

static unsigned read_by_lists(pid_t pid, unsigned n, const Distances *at) {
        uintptr_t pointers[BATCH];
        unsigned n_read = 0;

        for (unsigned begin = 0; begin < n; begin += BATCH) {
                unsigned n_batch = n - begin < BATCH ? n - begin : BATCH;

                for (unsigned i = 0; i < n_batch; i++) {
                        void *head = NULL;
                        size_t n_head;

                        pointers[i] = counters[begin + i][0] = counters[begin + i][1] = 0;
                        if (syscall(SYS_get_robust_list, tids[begin + i], &head, &n_head) == 0 &&
                            head)
                                pointers[i] = (uintptr_t) head - (uintptr_t) at->robust;
                }
                n_read += read_batch(pid, pointers, n_batch, at, counters + begin);
        }
        return n_read;
}

static int64_t cpu_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int64_t wall_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void read_once(bool with_stops, pid_t pid, const Distances *at) {
        int64_t cpu = cpu_ns(), wall = wall_ns();
        unsigned n, n_read;
        uint64_t sum = 0;

        n = list_threads(pid);
        n_read = with_stops ? read_by_stops(n, at) : read_by_lists(pid, n, at);
        cpu = cpu_ns() - cpu;
        wall = wall_ns() - wall;
        for (unsigned i = 0; i < n; i++)
                sum += counters[i][0] + counters[i][1];
        printf("%u %u %" PRIi64 " %" PRIi64 " %" PRIu64 "\n", n, n_read, cpu, wall, sum);
}

static int hold(pid_t pid) {
        unsigned n = list_threads(pid);
        int status;

        for (unsigned i = 0; i < n; i++)
                if (ptrace(PTRACE_SEIZE, tids[i], NULL, NULL) < 0 ||
                    ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL) < 0 ||
                    !await_stop(tids[i], &status))
                        fail("ptrace");
        (void) puts("held");
        (void) fflush(stdout);
        while (getchar() != EOF)
                continue;
        return EXIT_SUCCESS; /* the kernel lets go of them */
}

int main(int argc, char **argv) {
        bool with_stops = argc == 8 && strcmp(argv[1], "stops") == 0;

        if (argc == 3 && strcmp(argv[1], "hold") == 0)
                return hold((pid_t) atoi(argv[2]));
        if (argc != 8 || (!with_stops && strcmp(argv[1], "floor") != 0)) {
                fprintf(stderr, "usage: heap-reader stops|floor PID ALLOCATED DEALLOCATED ROBUST "
                                "ROUNDS PAUSE_US\n       heap-reader hold PID\n");
                return 2;
        }
        for (int round = 0, n = atoi(argv[6]), pause_us = atoi(argv[7]); round < n; round++) {
                read_once(with_stops, (pid_t) atoi(argv[2]),
                          &(Distances){ atol(argv[3]), atol(argv[4]), atol(argv[5]) });
                (void) usleep((useconds_t) pause_us);
        }
        return EXIT_SUCCESS;
}
