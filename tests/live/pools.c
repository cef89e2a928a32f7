/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Pools
 *
 * Pools of threads that do what they are told, and nothing else.
 *
 *     pools PROCESS [POOL N]...
 *
 * Calls itself PROCESS and starts N threads called POOL of each. Commands come on standard input, a
 * line each, and "done" is answered when all that was asked for is over and every thread sleeps:
 *
 *     burn POOL MS      each thread of the pool uses so much CPU time
 *     start POOL N      N more threads
 *     end POOL N        N threads, those that were started last, end
 *
 * It writes "done" once when it is ready, and ends with its standard input.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256
#define NAME_BYTES 16

typedef struct Worker {
        pthread_t thread;
        char pool[NAME_BYTES];
        bool used, quit;
        unsigned burn_ms; /* to do */
} Worker;

static Worker workers[MAX_THREADS];
static unsigned n_awake; /* workers that have not gone to sleep yet */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER, asleep = PTHREAD_COND_INITIALIZER;

static void fail(const char *what) {
        fprintf(stderr, "pools: %s\n", what);
        exit(EXIT_FAILURE);
}

static long long thread_cpu_ns(void) {
        struct timespec now;

        if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) < 0)
                fail("clock_gettime");
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void burn(unsigned ms) {
        long long until = thread_cpu_ns() + ms * 1000000LL;
        volatile unsigned long spin = 0;

        while (thread_cpu_ns() < until)
                for (unsigned i = 0; i < 10000; i++)
                        spin++;
}

static void *work(void *argument) {
        Worker *worker = argument;

        (void) prctl(PR_SET_NAME, worker->pool);
        (void) pthread_mutex_lock(&mutex);
        while (!worker->quit) {
                unsigned ms = worker->burn_ms;

                if (ms > 0) {
                        worker->burn_ms = 0;
                        (void) pthread_mutex_unlock(&mutex);
                        burn(ms);
                        (void) pthread_mutex_lock(&mutex);
                        continue;
                }
                if (--n_awake == 0)
                        (void) pthread_cond_signal(&asleep);
                while (!worker->quit && worker->burn_ms == 0)
                        (void) pthread_cond_wait(&told, &mutex);
        }
        (void) pthread_mutex_unlock(&mutex);
        return NULL;
}

/* With the mutex held. */
static void wait_for_sleep(void) {
        while (n_awake > 0)
                (void) pthread_cond_wait(&asleep, &mutex);
}

static void start(const char *pool, unsigned n) {
        (void) pthread_mutex_lock(&mutex);
        for (unsigned i = 0; i < MAX_THREADS && n > 0; i++) {
                Worker *worker = &workers[i];

                if (worker->used)
                        continue;
                *worker = (Worker){ .used = true };
                (void) snprintf(worker->pool, sizeof(worker->pool), "%s", pool);
                if (pthread_create(&worker->thread, NULL, work, worker) != 0)
                        fail("pthread_create");
                n_awake++;
                n--;
        }
        if (n > 0)
                fail("too many threads");
        wait_for_sleep();
        (void) pthread_mutex_unlock(&mutex);
}

static void end(const char *pool, unsigned n) {
        for (unsigned i = MAX_THREADS; i-- > 0 && n > 0;) {
                Worker *worker = &workers[i];

                if (!worker->used || strcmp(worker->pool, pool) != 0)
                        continue;
                (void) pthread_mutex_lock(&mutex);
                worker->quit = true;
                (void) pthread_cond_broadcast(&told);
                (void) pthread_mutex_unlock(&mutex);
                if (pthread_join(worker->thread, NULL) != 0)
                        fail("pthread_join");
                worker->used = false;
                n--;
        }
        if (n > 0)
                fail("there are not as many threads");
}

static void burn_pool(const char *pool, unsigned ms) {
        (void) pthread_mutex_lock(&mutex);
        for (unsigned i = 0; i < MAX_THREADS; i++)
                if (workers[i].used && strcmp(workers[i].pool, pool) == 0) {
                        workers[i].burn_ms = ms;
                        n_awake++;
                }
        (void) pthread_cond_broadcast(&told);
        wait_for_sleep();
        (void) pthread_mutex_unlock(&mutex);
}

static void answer(void) {
        if (puts("done") < 0 || fflush(stdout) != 0)
                fail("stdout");
}

int main(int argc, char **argv) {
        static const struct {
                const char *word;
                void (*run)(const char *pool, unsigned n);
        } commands[] = { { "burn", burn_pool }, { "start", start }, { "end", end } };
        char line[128], word[16], pool[NAME_BYTES];
        unsigned n;

        if (argc < 2 || argc % 2 != 0)
                fail("usage: pools PROCESS [POOL N]...");
        (void) prctl(PR_SET_NAME, argv[1]);
        for (int i = 2; i < argc; i += 2)
                start(argv[i], (unsigned) atoi(argv[i + 1]));
        answer();
        while (fgets(line, sizeof(line), stdin)) {
                bool known = false;

                if (sscanf(line, "%15s %15s %u", word, pool, &n) != 3)
                        fail("a command is WORD POOL NUMBER");
                for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
                        if (strcmp(word, commands[i].word) == 0) {
                                commands[i].run(pool, n);
                                known = true;
                        }
                if (!known)
                        fail("there is no such command");
                answer();
        }
        return EXIT_SUCCESS;
}
