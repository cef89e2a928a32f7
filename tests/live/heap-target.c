/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Heap target
 *
 * Threads that allocate with jemalloc, and say what jemalloc counted for each of them.
 *
 *     heap-target [OPTION...] THREADS
 *
 *     --library PATH     loads PATH and allocates with it, beside what is linked or preloaded; may
 *                        be repeated: a thread's numbers are sums over all of them
 *     --prefix PREFIX    what its functions begin with
 *     --quiet N          N more threads, which never allocate
 *     --map PATH         maps the whole of PATH to be read, as a viewer of files would
 *     --steps N          allocations of a thread in a round (2,000)
 *     --fork             goes on in a child that was forked after some work
 *     --headless         the leader exits, and the other threads go on
 *     --vfork            one of the threads waits in vfork() for ever
 *     --moved            two of the threads wait for ever with their thread pointers moved: to a
 *                        copy of their data with other numbers, and to nothing (x86_64, glibc)
 *
 * When it is ready it writes one line:
 *
 *     PID VERSION ALLOCATED DEALLOCATED ROBUST
 *
 * with the version of the first library, and distances from the thread pointer: of the two
 * counters, where these are the same for every thread, and of the list of robust mutexes. For each
 * line of input the threads do a round of work: what one of them allocates, another frees. Then
 * each of them asks mallctl() for its own counters and waits, and so do all until the next line of
 * input; nobody allocates after the reading. The answer is a line "TID ALLOCATED DEALLOCATED" a
 * thread ("TID - -" if it never allocates) and an empty one. It ends with its standard input.
 *
 * With HEAP_LINKED the functions are linked, their names begin with HEAP_PREFIX; otherwise they are
 * what the loader finds, as with LD_PRELOAD. With HEAP_ALIGNED the program has thread-local data of
 * its own that has to be aligned.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(ARCH_SET_FS)
#define ARCH_SET_FS 0x1002 /* asm/prctl.h, which musl has not got */
#endif

#define MAX_THREADS 4096
#define MAX_ALLOCATORS 4
#define N_SLOTS 1024

typedef int Mallctl(const char *name, void *old, size_t *old_n, void *new, size_t new_n);

typedef struct Allocator {
        void *(*malloc)(size_t n);
        void *(*calloc)(size_t n, size_t size);
        void *(*realloc)(void *memory, size_t n);
        int (*posix_memalign)(void **ret, size_t alignment, size_t n);
        void (*free)(void *memory);
        Mallctl *mallctl;
        _Atomic(void *) slots[N_SLOTS]; /* what one thread allocated and any other may free */
} Allocator;

typedef struct Thread {
        pid_t tid;
        bool is_quiet, is_copied;
        uint64_t random;
        uint64_t allocated, deallocated;
        intptr_t distances[2]; /* of the counters of the first allocator, from the thread pointer */
} Thread;

#ifdef HEAP_LINKED
#ifndef HEAP_PREFIX
#define HEAP_PREFIX
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(name) JOIN(HEAP_PREFIX, name)
void *NAME(malloc)(size_t n);
void *NAME(calloc)(size_t n, size_t size);
void *NAME(realloc)(void *memory, size_t n);
int NAME(posix_memalign)(void **ret, size_t alignment, size_t n);
void NAME(free)(void *memory);
Mallctl NAME(mallctl);
#endif

#ifdef HEAP_ALIGNED
_Thread_local char aligned_data[192] __attribute__((aligned(64))) = { 1, 2, 3 };
#endif

static Allocator allocators[MAX_ALLOCATORS];
static unsigned n_allocators;
static Thread threads[MAX_THREADS];
static unsigned n_threads, n_steps = 2000;
static pthread_barrier_t entered, begin, work_done, all_read;
static char report[MAX_THREADS * 64];

static void fail(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static uintptr_t thread_pointer(void) {
        uintptr_t pointer;

#if defined(__x86_64__)
        __asm__("mov %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
        __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#else
#error "where is the thread pointer?"
#endif
        return pointer;
}

/* allocators */

static void add_linked(void) {
#ifdef HEAP_LINKED
        Allocator *a = &allocators[n_allocators++];

        a->malloc = NAME(malloc);
        a->calloc = NAME(calloc);
        a->realloc = NAME(realloc);
        a->posix_memalign = NAME(posix_memalign);
        a->free = NAME(free);
        a->mallctl = NAME(mallctl);
#endif
}

#ifdef HEAP_LINKED
static void add_loaded(const char *path, const char *prefix) {
        fprintf(stderr, "heap-target: %s%s: this one loads nothing\n", prefix, path);
        exit(2);
}
#else
static void *find(void *library, const char *prefix, const char *name) {
        char symbol[128];

        (void) snprintf(symbol, sizeof(symbol), "%s%s", prefix, name);
        return dlsym(library, symbol);
}

/* Of @path, or with NULL what was preloaded, if anything was. */
static void add_loaded(const char *path, const char *prefix) {
        void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
        Allocator *a = &allocators[n_allocators];

        if (path && !library) {
                fprintf(stderr, "heap-target: %s\n", dlerror());
                exit(EXIT_FAILURE);
        }
        *(void **) &a->malloc = find(library, prefix, "malloc");
        *(void **) &a->calloc = find(library, prefix, "calloc");
        *(void **) &a->realloc = find(library, prefix, "realloc");
        *(void **) &a->posix_memalign = find(library, prefix, "posix_memalign");
        *(void **) &a->free = find(library, prefix, "free");
        *(void **) &a->mallctl = find(library, prefix, "mallctl");
        if (a->mallctl)
                n_allocators++;
}
#endif

static uint64_t counter(const Allocator *allocator, const char *name) {
        uint64_t value = 0;
        size_t n = sizeof(value);

        if (allocator->mallctl(name, &value, &n, NULL, 0) != 0)
                return 0;
        return value;
}

static intptr_t distance(const char *name) {
        uint64_t *pointer = NULL;
        size_t n = sizeof(pointer);

        if (allocators[0].mallctl(name, &pointer, &n, NULL, 0) != 0)
                return 0;
        return (intptr_t) ((uintptr_t) pointer - thread_pointer());
}

static intptr_t robust_distance(void) {
        void *head = NULL;
        size_t n;

        if (syscall(SYS_get_robust_list, 0, &head, &n) < 0 || !head)
                return 0;
        return (intptr_t) ((uintptr_t) head - thread_pointer());
}

/* work */

static uint64_t next_random(Thread *thread) {
        thread->random ^= thread->random << 13;
        thread->random ^= thread->random >> 7;
        thread->random ^= thread->random << 17;
        return thread->random;
}

static size_t some_size(Thread *thread) {
        uint64_t random = next_random(thread);

        switch (random % 64) {
        case 0:
                return 1 + random % (8u << 20);
        case 1 ... 8:
                return 1 + random % (64u << 10);
        default:
                return random % 2048;
        }
}

static void *some_memory(Thread *thread, const Allocator *allocator) {
        size_t n = some_size(thread);
        void *memory = NULL;

        switch (next_random(thread) % 8) {
        case 0:
                return allocator->calloc(1, n);
        case 1:
                return allocator->realloc(allocator->malloc(some_size(thread)), n + 1);
        case 2:
                return allocator->posix_memalign(&memory, 256, n) == 0 ? memory : NULL;
        default:
                return allocator->malloc(n);
        }
}

static void work(Thread *thread) {
        for (unsigned i = 0; i < n_steps; i++) {
                Allocator *allocator = &allocators[next_random(thread) % n_allocators];
                unsigned slot = (unsigned) (next_random(thread) % N_SLOTS);

                allocator->free(
                        atomic_exchange(&allocator->slots[slot], some_memory(thread, allocator)));
        }
}

static void read_counters(Thread *thread) {
        uint64_t allocated = 0, deallocated = 0;

        for (unsigned i = 0; i < n_allocators; i++) {
                allocated += counter(&allocators[i], "thread.allocated");
                deallocated += counter(&allocators[i], "thread.deallocated");
        }
        thread->allocated = allocated;
        thread->deallocated = deallocated;
}

/* report */

static char *put_number(char *at, uint64_t number, char end) {
        char digits[24];
        unsigned n = 0;

        do
                digits[n++] = (char) ('0' + number % 10);
        while ((number /= 10) > 0);
        while (n > 0)
                *at++ = digits[--n];
        *at++ = end;
        return at;
}

static char *put_text(char *at, const char *text) {
        size_t n = strlen(text);

        memcpy(at, text, n);
        return at + n;
}

static char *put_signed(char *at, intptr_t number, char end) {
        if (number < 0)
                *at++ = '-';
        return put_number(at, number < 0 ? -(uint64_t) number : (uint64_t) number, end);
}

static void write_all(const char *text, const char *end) {
        while (text < end) {
                ssize_t n = write(STDOUT_FILENO, text, (size_t) (end - text));

                if (n < 0 && errno != EINTR)
                        exit(EXIT_FAILURE);
                text += n > 0 ? n : 0;
        }
}

/* Without stdio, which allocates. */
static void write_report(void) {
        char *at = report;

        for (unsigned i = 0; i < n_threads; i++) {
                at = put_number(at, (uint64_t) threads[i].tid, ' ');
                if (threads[i].is_quiet) {
                        at = put_text(at, "- -\n");
                } else {
                        at = put_number(at, threads[i].allocated, ' ');
                        at = put_number(at, threads[i].deallocated, '\n');
                }
        }
        *at++ = '\n';
        write_all(report, at);
}

static void write_ready(void) {
        const char *version = "-";
        size_t n = sizeof(version);
        char *at = report;

        (void) allocators[0].mallctl("version", &version, &n, NULL, 0);
        at = put_number(at, (uint64_t) getpid(), ' ');
        at = put_text(at, version);
        *at++ = ' ';
        at = put_signed(at, threads[0].distances[0], ' ');
        at = put_signed(at, threads[0].distances[1], ' ');
        at = put_signed(at, robust_distance(), '\n');
        write_all(report, at);
}

/* threads */

static void enter(Thread *thread) {
        thread->tid = gettid();
        thread->random = 0x9e3779b97f4a7c15u * (uint64_t) (1 + thread - threads);
        if (thread->is_quiet)
                return;
        read_counters(thread);
        thread->distances[0] = distance("thread.allocatedp");
        thread->distances[1] = distance("thread.deallocatedp");
}

/* Those who take part. The first reading may still set something up; the second is what stays. */
static void play(Thread *thread) {
        (void) pthread_barrier_wait(&begin);
        if (!thread->is_quiet) {
                work(thread);
                read_counters(thread);
        }
        (void) pthread_barrier_wait(&work_done);
        if (!thread->is_quiet)
                read_counters(thread);
        (void) pthread_barrier_wait(&all_read);
}

static void *run(void *userdata) {
        enter(userdata);
        (void) pthread_barrier_wait(&entered);
        for (;;)
                play(userdata);
        return NULL;
}

/* Its child shares the memory, and neither executes a program nor exits before it is told to. */
static void *run_vfork(void *userdata) {
        Thread *thread = userdata;

        enter(thread);
        work(thread);
        read_counters(thread);
        read_counters(thread);
        (void) pthread_barrier_wait(&entered);
        if (vfork() == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void) pause();
        }
        return NULL;
}

#if defined(__x86_64__)
#define COPY_BELOW (16u << 10) /* a thread's own data, and of what lies below it a part */
#define COPY_ABOVE 0x900       /* struct pthread of glibc */
#define ROOM (64u << 10)

/* Nothing may be called any more: all of the C library's code needs the thread pointer. */
_Noreturn static void wait_with_pointer(char *pointer) {
        long r;

        __asm__ volatile("syscall"
                         : "=a"(r)
                         : "0"(SYS_arch_prctl), "D"(ARCH_SET_FS), "S"(pointer)
                         : "rcx", "r11", "memory");
        for (;;)
                __asm__ volatile("syscall" : "=a"(r) : "0"(SYS_pause) : "rcx", "r11", "memory");
}

/* As a program has it that gives a thread other data for a while, down to the thread's number. */
static void copy_data(const Thread *thread, char *pointer) {
        char *before = (char *) thread_pointer();
        uintptr_t itself = (uintptr_t) pointer;

        memcpy(pointer - COPY_BELOW, before - COPY_BELOW, COPY_BELOW + COPY_ABOVE);
        memcpy(pointer, &itself, sizeof(itself));
        memcpy(pointer + 16, &itself, sizeof(itself));
        for (unsigned i = 0; i < 2; i++) {
                uint64_t number = 12345;

                memcpy(pointer + thread->distances[i], &number, sizeof(number));
        }
}

static void *run_moved(void *userdata) {
        char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        Thread *thread = userdata;

        if (room == MAP_FAILED)
                fail("mmap");
        enter(thread);
        work(thread);
        read_counters(thread);
        read_counters(thread);
        if (thread->is_copied)
                copy_data(thread, room + ROOM / 2);
        (void) pthread_barrier_wait(&entered);
        wait_with_pointer(room + ROOM / 2);
}
#else
static void *run_moved(void *userdata) {
        fprintf(stderr, "heap-target: --moved is for x86_64\n");
        exit(2);
}
#endif

/* The thread that talks to whoever started the program. */
static void *conduct(void *userdata) {
        char byte;

        enter(userdata);
        (void) pthread_barrier_wait(&entered);
        write_ready();
        while (read(STDIN_FILENO, &byte, 1) > 0)
                if (byte == '\n') {
                        play(userdata);
                        write_report();
                }
        _exit(EXIT_SUCCESS);
}

static void start(void *(*function)(void *), Thread *thread) {
        pthread_attr_t attributes;
        pthread_t handle;
        int r;

        if (pthread_attr_init(&attributes) != 0 ||
            pthread_attr_setstacksize(&attributes, 128 * 1024) != 0)
                fail("attributes");
        r = pthread_create(&handle, &attributes, function, thread);
        if (r != 0) {
                errno = r;
                fail("pthread_create");
        }
        (void) pthread_attr_destroy(&attributes);
}

/* The child has a life of its own, but what its only thread allocated before. */
static void go_on_in_child(void) {
        int status = 0;
        pid_t pid;

        enter(&threads[0]);
        work(&threads[0]);
        pid = fork();
        if (pid < 0)
                fail("fork");
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                        fail("prctl");
                return;
        }
        if (waitpid(pid, &status, 0) != pid)
                fail("waitpid");
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

static void map(const char *path) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 ||
            mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
                fail(path);
        (void) close(fd);
}

typedef struct Options {
        const char *prefix;
        unsigned n_quiet;
        bool with_fork, is_headless, with_vfork;
        unsigned n_moved;
} Options;

static void run_all(unsigned n, const Options *options) {
        unsigned n_playing = n + options->n_quiet, i = 0;
        Thread *leader;

        n_threads = n_playing + options->with_vfork + options->n_moved;
        if (pthread_barrier_init(&entered, NULL, n_threads) != 0 ||
            pthread_barrier_init(&begin, NULL, n_playing) != 0 ||
            pthread_barrier_init(&work_done, NULL, n_playing) != 0 ||
            pthread_barrier_init(&all_read, NULL, n_playing) != 0)
                fail("barriers");
        /* The first conducts; it is the leader, unless that one exits. */
        leader = options->is_headless ? NULL : &threads[i++];
        if (!leader)
                start(conduct, &threads[i++]);
        for (; i < n; i++)
                start(run, &threads[i]);
        for (; i < n_playing; i++) {
                threads[i].is_quiet = true;
                start(run, &threads[i]);
        }
        if (options->with_vfork)
                start(run_vfork, &threads[i++]);
        for (; i < n_threads; i++) {
                threads[i].is_copied = i + 1 < n_threads;
                start(run_moved, &threads[i]);
        }
        if (leader)
                (void) conduct(leader);
        else
                pthread_exit(NULL);
}

static unsigned number(const char *text, unsigned max) {
        char *end;
        unsigned long value = strtoul(text, &end, 10);

        if (*text == '\0' || *end != '\0' || value > max) {
                fprintf(stderr, "heap-target: %s: not a number up to %u\n", text, max);
                exit(2);
        }
        return (unsigned) value;
}

int main(int argc, char **argv) {
        static const struct option names[] = {
                { "library", required_argument, NULL, 'l' },
                { "prefix", required_argument, NULL, 'p' },
                { "quiet", required_argument, NULL, 'q' },
                { "map", required_argument, NULL, 'm' },
                { "steps", required_argument, NULL, 's' },
                { "fork", no_argument, NULL, 'f' },
                { "headless", no_argument, NULL, 'h' },
                { "vfork", no_argument, NULL, 'v' },
                { "moved", no_argument, NULL, 'd' },
                {},
        };
        Options options = { .prefix = "" };
        int c;

        add_linked();
#ifndef HEAP_LINKED
        add_loaded(NULL, "");
#endif
        while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0)
                switch (c) {
                case 'l':
                        add_loaded(optarg, options.prefix);
                        break;
                case 'p':
                        options.prefix = optarg;
                        break;
                case 'q':
                        options.n_quiet = number(optarg, MAX_THREADS / 2);
                        break;
                case 'm':
                        map(optarg);
                        break;
                case 's':
                        n_steps = number(optarg, 1000000);
                        break;
                case 'f':
                        options.with_fork = true;
                        break;
                case 'h':
                        options.is_headless = true;
                        break;
                case 'v':
                        options.with_vfork = true;
                        break;
                case 'd':
                        options.n_moved = 2;
                        break;
                default:
                        return 2;
                }
        if (optind != argc - 1 || n_allocators == 0) {
                fprintf(stderr, n_allocators == 0 ? "heap-target: there is no jemalloc\n"
                                                  : "usage: heap-target [OPTION...] THREADS\n");
                return 2;
        }
        if (options.with_fork)
                go_on_in_child();
        run_all(1 + number(argv[optind], MAX_THREADS / 2 - 2), &options);
        return EXIT_SUCCESS;
}
