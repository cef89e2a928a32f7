/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "capture/heap/heap.h"

#define LIMIT_NS (100 * NSEC_PER_MSEC)
#define LONG_NS (60 * NSEC_PER_SEC)
#define SHORT_NS (50 * NSEC_PER_MSEC)

static CaptureHost host;
static HeapOptions options;
static Heap *heap;
static int file;

/* A file job that answers a question when it is let, always the same. */
static struct {
        pthread_t thread;
        sem_t go;
        int fd;
        unsigned n_answered;
        HeapLayout layout;
} job;

static void *run_job(void *userdata) {
        FileAsked asked;

        while (recv(job.fd, &asked, sizeof(asked), 0) == sizeof(asked)) {
                struct {
                        FileAnswered head;
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

static void setup(void) {
        memset(&job, 0, sizeof(job));
        (void) sem_init(&job.go, 0, 0);
        job.layout.verdict = HEAP_LAYOUT_UNKNOWN;
        host = (CaptureHost){ .system = &capture_system_kernel };
        options = (HeapOptions){ .wanted = true,
                                 .limit_ns = LIMIT_NS,
                                 .cache_fd = memfd_create("cache", MFD_CLOEXEC),
                                 .open_files = open_files };
        ck_assert_int_eq(ftruncate(options.cache_fd, 1 << 20), 0);
        ck_assert_int_eq(heap_new(&options, &host, &heap), 0);
        file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(file, 0);
}

/* Ends the room, and with it the job. */
static void end_heap(void) {
        heap = heap_free(heap);
        if (job.thread)
                (void) pthread_join(job.thread, NULL);
        job.thread = 0;
}

static void teardown(void) {
        (void) sem_post(&job.go);
        end_heap();
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

        return heap_ask(heap, FILE_QUESTION_HEAP_LAYOUT, &identity, file, patience_ns, &answer);
}

static bool is_known(uint64_t inode) {
        const FileIdentity identity = identity_of(inode);
        FileAnswer answer;

        return heap_recall(heap, FILE_QUESTION_HEAP_LAYOUT, &identity, &answer) &&
               answer.HEAP_LAYOUT.verdict == HEAP_LAYOUT_UNKNOWN;
}

START_TEST(each_waits_for_half_and_the_known_have_a_quarter_for_themselves) {
        ck_assert_uint_eq(heap_limit_ns(heap), LIMIT_NS);
        ck_assert_uint_eq(heap_patience_ns(heap, true), LIMIT_NS / 2);
        ck_assert_uint_eq(heap_patience_ns(heap, false), LIMIT_NS * 3 / 8);
        heap_spend(heap, LIMIT_NS / 2);
        ck_assert_uint_eq(heap_patience_ns(heap, true), LIMIT_NS / 4);
        ck_assert_uint_eq(heap_patience_ns(heap, false), LIMIT_NS / 8);
        heap_spend(heap, LIMIT_NS / 4 - 1);
        ck_assert_uint_eq(heap_patience_ns(heap, false), 2 * NSEC_PER_MSEC); /* or nothing at all */
        heap_spend(heap, 1);
        ck_assert_uint_eq(heap_patience_ns(heap, false), 0);
        ck_assert_uint_eq(heap_patience_ns(heap, true), LIMIT_NS / 8);
        heap_spend(heap, LIMIT_NS);
        ck_assert_uint_eq(heap_patience_ns(heap, true), 0);
}
END_TEST

START_TEST(an_answer_is_known_from_then_on) {
        ck_assert(!is_known(1));
        (void) sem_post(&job.go);
        ck_assert_int_eq(ask(1, LONG_NS), HEAP_FAILURE_NONE);
        ck_assert(is_known(1) && !is_known(2));
        ck_assert_uint_lt(heap_patience_ns(heap, true), LIMIT_NS / 2); /* it took time */
        heap_keep(heap);
        end_heap();
        ck_assert_int_eq(heap_new(&options, &host, &heap), 0);
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
        heap_keep(heap);
        end_heap();
        ck_assert_int_eq(heap_new(&options, &host, &heap), 0);
        ck_assert(is_known(1));
}
END_TEST

START_TEST(what_is_not_lasting_is_not_kept) {
        job.layout.verdict = HEAP_FILE_UNREADABLE;
        (void) sem_post(&job.go);
        ck_assert_int_eq(ask(1, LONG_NS), HEAP_FAILURE_NONE);
        ck_assert(!is_known(1));
        job.layout.verdict = _HEAP_VERDICT_MAX; /* no verdict at all */
        (void) sem_post(&job.go);
        ck_assert_int_eq(ask(2, LONG_NS), HEAP_FAILURE_FILE_JOB);
        ck_assert_int_eq(ask(3, SHORT_NS), HEAP_FAILURE_TIME_BUDGET);
        (void) sem_post(&job.go);
        heap_keep(heap);
        ck_assert(!is_known(2) && !is_known(3));
}
END_TEST

START_TEST(without_a_job_nothing_is_known) {
        end_heap();
        options.open_files = NULL;
        ck_assert_int_eq(heap_new(&options, &host, &heap), 0);
        ck_assert_int_eq(ask(1, LONG_NS), HEAP_FAILURE_FILE_JOB);
        heap_keep(heap);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("heap");
        TCase *shared = tcase_create("shared");

        tcase_add_checked_fixture(shared, setup, teardown);
        tcase_add_test(shared, each_waits_for_half_and_the_known_have_a_quarter_for_themselves);
        tcase_add_test(shared, an_answer_is_known_from_then_on);
        tcase_add_test(shared, a_late_answer_is_for_who_asks_next);
        tcase_add_test(shared, a_late_answer_is_waited_for_at_the_end);
        tcase_add_test(shared, what_is_not_lasting_is_not_kept);
        tcase_add_test(shared, without_a_job_nothing_is_known);
        suite_add_tcase(suite, shared);
        return check_main(suite);
}
