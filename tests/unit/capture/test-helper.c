/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "check-main.h"
#include "served.h"

static const HelperTag no_tag;

static bool fits(uint32_t question, size_t n) {
        return n == file_answer_bytes(question);
}

static int file_helper_new(int (*open)(void *userdata, int peer_fd), void *userdata, Helper **ret) {
        const HelperTerms terms = {
                .max_answer_bytes = sizeof(FileAnswer),
                .fits = fits,
                .open = open,
                .userdata = userdata,
        };

        return helper_new(&terms, ret);
}

static int file_helper_ask(Helper *helper, FileQuestion question, const HelperTag *tag, int fd,
                           uint64_t deadline_ns, void *ret) {
        const HelperQuestion asked = { .question = question, .tag = *tag, .fd = fd };
        FileAnswer answer;
        size_t n;
        int r = fd < 0 ? HELPER_E_UNABLE : helper_ask(helper, &asked, deadline_ns, &answer, &n);

        if (r == 0)
                memcpy(ret, &answer, n);
        return r;
}

static int file_helper_take_late(Helper *helper, uint64_t deadline_ns, HelperTag *ret_tag,
                                 FileQuestion *ret_question, FileAnswer *ret) {
        uint32_t question;
        size_t n;
        int r = helper_take_late(helper, deadline_ns, ret_tag, &question, ret, &n);

        if (r == 0)
                *ret_question = (FileQuestion) question;
        return r;
}

#define LONG_NS (60 * NSEC_PER_SEC)
#define SHORT_NS (20 * NSEC_PER_MSEC)

static uint64_t in_ns(uint64_t ns) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec + ns;
}

static int open_program(void) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}

/* a real server */

typedef struct Host {
        Served served;
        unsigned n_opened;
} Host;

static int open_served(void *userdata, int peer_fd) {
        Host *host = userdata;

        host->n_opened++;
        served_start(&host->served, peer_fd);
        return 0;
}

START_TEST(an_answer_is_what_the_file_says) {
        int program = open_program();
        const HeapLayout wanted = heap_layout_of(program);
        ThreadLayout threads;
        HeapLayout layout;
        Host host = {};
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_served, &host, &helper), 0);
        ck_assert_uint_eq(host.n_opened, 0); /* not before there is a question */
        for (unsigned i = 0; i < 3; i++) {
                memset(&layout, 0xff, sizeof(layout));
                ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag,
                                                 program, in_ns(LONG_NS), &layout),
                                 0);
                ck_assert_mem_eq(&layout, &wanted, sizeof(layout));
                memset(&threads, 0xff, sizeof(threads));
                ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_THREAD_LAYOUT, &no_tag,
                                                 program, in_ns(LONG_NS), &threads),
                                 0);
                ck_assert_uint_eq(threads.is_known, 0); /* a program is no library */
        }
        ck_assert_uint_eq(layout.verdict, HEAP_NOT_JEMALLOC);
        ck_assert_uint_eq(host.n_opened, 1);
        ck_assert_ptr_null(helper_free(helper));
        ck_assert_ptr_null(helper_free(NULL));
        ck_assert_int_eq(served_join(&host.served), 0);
        (void) close(program);
}
END_TEST

static int find_libc(struct dl_phdr_info *info, size_t size, void *userdata) {
        char *ret = userdata;

        if (!strstr(info->dlpi_name, "/libc.so"))
                return 0;
        (void) snprintf(ret, 256, "%s", info->dlpi_name);
        return 1;
}

START_TEST(a_library_tells_where_its_threads_are) {
        char path[256] = "";
        ThreadLayout layout, wanted;
        Host host = {};
        Helper *helper;
        int fd;

        (void) dl_iterate_phdr(find_libc, path);
        if (path[0] == '\0')
                return; /* of another name */
        fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        wanted = thread_layout_of(fd);
        ck_assert_int_eq(file_helper_new(open_served, &host, &helper), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_THREAD_LAYOUT, &no_tag, fd,
                                         in_ns(LONG_NS), &layout),
                         0);
        ck_assert_mem_eq(&layout, &wanted, sizeof(layout));
        ck_assert_uint_eq(layout.is_known, 1);
        (void) helper_free(helper);
        ck_assert_int_eq(served_join(&host.served), 0);
        (void) close(fd);
}
END_TEST

START_TEST(what_cannot_be_read_costs_its_own_question) {
        int program = open_program(), pipe_fds[2];
        HeapLayout layout = {};
        Host host = {};
        Helper *helper;

        ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
        ck_assert_int_eq(file_helper_new(open_served, &host, &helper), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, pipe_fds[0],
                                         in_ns(LONG_NS), &layout),
                         -EBADF);
        /* This cannot even be asked, which says nothing of a file. */
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, -1,
                                         in_ns(LONG_NS), &layout),
                         HELPER_E_UNABLE);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, program,
                                         in_ns(LONG_NS), &layout),
                         0);
        ck_assert_uint_eq(layout.verdict, HEAP_NOT_JEMALLOC);
        (void) helper_free(helper);
        ck_assert_int_eq(served_join(&host.served), 0);
        (void) close(program);
        (void) close(pipe_fds[0]);
        (void) close(pipe_fds[1]);
}
END_TEST

typedef struct Asking {
        Helper *helper;
        pthread_barrier_t *start;
        unsigned n_right;
} Asking;

#define ASKED_EACH 25

static void *ask_often(void *userdata) {
        Asking *asking = userdata;
        int program = open_program();
        const HeapLayout wanted = heap_layout_of(program);

        for (unsigned i = 0; i < ASKED_EACH; i++) {
                HeapLayout layout;
                ThreadLayout threads;

                if (file_helper_ask(asking->helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, program,
                                    in_ns(LONG_NS), &layout) == 0 &&
                    memcmp(&layout, &wanted, sizeof(layout)) == 0 &&
                    file_helper_ask(asking->helper, FILE_QUESTION_THREAD_LAYOUT, &no_tag, program,
                                    in_ns(LONG_NS), &threads) == 0 &&
                    threads.is_known == 0)
                        asking->n_right++;
        }
        (void) close(program);
        return NULL;
}

START_TEST(several_threads_may_ask) {
        pthread_t threads[4];
        Asking asking[4] = {};
        Host host = {};
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_served, &host, &helper), 0);
        for (size_t i = 0; i < 4; i++) {
                asking[i].helper = helper;
                ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, &asking[i]), 0);
        }
        for (size_t i = 0; i < 4; i++) {
                ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
                ck_assert_uint_eq(asking[i].n_right, ASKED_EACH);
        }
        ck_assert_uint_eq(host.n_opened, 1);
        (void) helper_free(helper);
        ck_assert_int_eq(served_join(&host.served), 0);
}
END_TEST

/* As the workers of a capture have. */
static void *ask_from_own_table(void *userdata) {
        Asking *asking = userdata;

        ck_assert_int_eq(unshare(CLONE_FILES), 0);
        (void) pthread_barrier_wait(asking->start);
        return ask_often(userdata);
}

START_TEST(threads_with_tables_of_their_own_may_ask) {
        pthread_barrier_t start;
        pthread_t threads[4];
        Asking asking[4] = {};
        unsigned n = n_descriptors();
        Host host = {};
        Helper *helper;

        ck_assert_int_eq(pthread_barrier_init(&start, NULL, 4), 0);
        ck_assert_int_eq(file_helper_new(open_served, &host, &helper), 0);
        for (size_t i = 0; i < 4; i++) {
                asking[i] = (Asking){ .helper = helper, .start = &start };
                ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_from_own_table, &asking[i]),
                                 0);
        }
        for (size_t i = 0; i < 4; i++) {
                ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
                ck_assert_uint_eq(asking[i].n_right, ASKED_EACH);
        }
        ck_assert_uint_eq(host.n_opened, 1);
        (void) helper_free(helper);
        ck_assert_int_eq(served_join(&host.served), 0);
        (void) pthread_barrier_destroy(&start);
        ck_assert_uint_eq(n_descriptors(), n);
}
END_TEST

/* sides that fail */

#define ANSWER_BYTES 512

/* Sends what it has before the question comes, which is the first and so has the id 1. */
typedef struct Fake {
        unsigned n_opened;
        int r;
        char answer[ANSWER_BYTES];
        size_t n_answer; /* 0: none */
        int peer_fd;     /* kept when it is to stay open; the test closes it */
        bool stays;
} Fake;

static int open_fake(void *userdata, int peer_fd) {
        Fake *fake = userdata;

        fake->n_opened++;
        if (fake->n_answer > 0)
                ck_assert_int_eq(send(peer_fd, fake->answer, fake->n_answer, 0),
                                 (ssize_t) fake->n_answer);
        fake->peer_fd = peer_fd;
        if (!fake->stays)
                fake->peer_fd = fd_close(peer_fd);
        return fake->r;
}

static void set_answer(Fake *fake, uint32_t id, int32_t result, size_t n_bytes) {
        const HelperAnswered head = { .id = id, .result = result };

        memset(fake->answer, 0, sizeof(fake->answer));
        memcpy(fake->answer, &head, sizeof(head));
        fake->n_answer = sizeof(head) + n_bytes;
}

static void expect_gone(Helper *helper, const Fake *fake) {
        int program = open_program();
        HeapLayout layout;

        /* It stays so. */
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag,
                                                 program, in_ns(LONG_NS), &layout),
                                 HELPER_E_GONE);
        ck_assert_uint_eq(fake->n_opened, 1);
        (void) close(program);
}

START_TEST(nobody_comes) {
        Fake fake = { .r = -EPIPE, .peer_fd = -EBADF };
        unsigned n = n_descriptors();
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        expect_gone(helper, &fake);
        (void) helper_free(helper);
        ck_assert_uint_eq(n_descriptors(), n);
}
END_TEST

START_TEST(who_comes_is_gone_before_the_question) {
        Fake fake = { .peer_fd = -EBADF };
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        expect_gone(helper, &fake);
        (void) helper_free(helper);
}
END_TEST

static void *take_and_go(void *userdata) {
        const Fake *fake = userdata;
        char byte;

        /* The descriptor is not taken, so it is closed. */
        (void) !recv(fake->peer_fd, &byte, 1, 0);
        (void) close(fake->peer_fd);
        return NULL;
}

static int open_dying(void *userdata, int peer_fd) {
        pthread_t thread;
        Fake *fake = userdata;

        fake->n_opened++;
        fake->peer_fd = peer_fd;
        ck_assert_int_eq(pthread_create(&thread, NULL, take_and_go, fake), 0);
        ck_assert_int_eq(pthread_detach(thread), 0);
        return 0;
}

START_TEST(who_has_the_question_goes_without_an_answer) {
        Fake fake = { .peer_fd = -EBADF };
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_dying, &fake, &helper), 0);
        expect_gone(helper, &fake);
        (void) helper_free(helper);
}
END_TEST

typedef struct Gone {
        Helper *helper;
        Fake *fake;
} Gone;

static void *expect_gone_from_own_table(void *userdata) {
        const Gone *both = userdata;

        ck_assert_int_eq(unshare(CLONE_FILES), 0);
        expect_gone(both->helper, both->fake);
        return NULL;
}

/* Nobody else holds the other side's end, so it is known at once that it has gone. */
START_TEST(it_goes_for_threads_with_tables_of_their_own_too) {
        Fake fake = { .peer_fd = -EBADF };
        Gone both = { .fake = &fake };
        pthread_t thread;

        ck_assert_int_eq(file_helper_new(open_dying, &fake, &both.helper), 0);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(pthread_create(&thread, NULL, expect_gone_from_own_table, &both),
                                 0);
                ck_assert_int_eq(pthread_join(thread, NULL), 0);
        }
        expect_gone(both.helper, &fake);
        (void) helper_free(both.helper);
}
END_TEST

#define LAYOUT_BYTES sizeof(HeapLayout)

static const struct {
        uint32_t id;
        int32_t result;
        size_t n_bytes;
        bool is_right;
} answer_rows[] = {
        { 1, 0, LAYOUT_BYTES, true },
        { 1, -EIO, 0, true },
        { 1, -4095, 0, true },
        { 0, 0, LAYOUT_BYTES, false }, /* to another question */
        { 2, 0, LAYOUT_BYTES, false },
        { 2, -EIO, 0, false },
        { 1, 0, 0, false },
        { 1, 0, LAYOUT_BYTES - 1, false },
        { 1, 0, LAYOUT_BYTES + 1, false },
        { 1, 0, sizeof(ThreadLayout), false },
        { 1, 0, ANSWER_BYTES - sizeof(HelperAnswered), false },
        { 1, -EIO, LAYOUT_BYTES, false },
        { 1, -EIO, 1, false },
        { 1, 1, 0, false }, /* a code of ours, and no errno */
        { 1, 2, LAYOUT_BYTES, false },
        { 1, -4096, 0, false },
        { 1, INT32_MIN, 0, false },
};

START_TEST(an_answer_has_its_form_or_ends_the_helper) {
        Fake fake = { .stays = true, .peer_fd = -EBADF };
        int program = open_program();
        HeapLayout layout;
        Helper *helper;

        set_answer(&fake, answer_rows[_i].id, answer_rows[_i].result, answer_rows[_i].n_bytes);
        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        if (answer_rows[_i].is_right)
                ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag,
                                                 program, in_ns(LONG_NS), &layout),
                                 answer_rows[_i].result);
        else
                expect_gone(helper, &fake);
        (void) helper_free(helper);
        (void) close(fake.peer_fd);
        (void) close(program);
}
END_TEST

START_TEST(less_than_the_head_of_an_answer_ends_the_helper) {
        Fake fake = { .n_answer = sizeof(HelperAnswered) - 1, .stays = true };
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        expect_gone(helper, &fake);
        (void) helper_free(helper);
        (void) close(fake.peer_fd);
}
END_TEST

static int open_giving(void *userdata, int peer_fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control = { .bytes = { 0 } };
        Fake *fake = userdata;
        struct iovec bytes = { fake->answer, fake->n_answer };
        struct msghdr message = {
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &peer_fd, sizeof(peer_fd));
        ck_assert_int_eq(sendmsg(peer_fd, &message, 0), (ssize_t) fake->n_answer);
        fake->peer_fd = peer_fd;
        return 0;
}

START_TEST(descriptors_that_come_with_an_answer_do_not_stay) {
        Fake fake = { .stays = true };
        int program = open_program();
        unsigned n = n_descriptors();
        HeapLayout layout;
        Helper *helper;

        set_answer(&fake, 1, -EIO, 0);
        ck_assert_int_eq(file_helper_new(open_giving, &fake, &helper), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, program,
                                         in_ns(LONG_NS), &layout),
                         -EIO);
        ck_assert_uint_eq(n_descriptors(), n + 3); /* the other side, and two of the helper */
        (void) helper_free(helper);
        (void) close(fake.peer_fd);
        (void) close(program);
}
END_TEST

/* time */

/* How many questions wait to be read, which this reads. */
static unsigned n_waiting(int peer_fd) {
        HelperAsked asked;
        unsigned n = 0;

        while (recv(peer_fd, &asked, sizeof(asked), MSG_DONTWAIT) == sizeof(asked))
                n++;
        return n;
}

START_TEST(who_is_late_is_asked_no_more_before_it_answered) {
        Fake fake = { .stays = true };
        int program = open_program();
        HeapLayout layout;
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag,
                                                 program, in_ns(SHORT_NS), &layout),
                                 HELPER_E_LATE);
        ck_assert_uint_eq(n_waiting(fake.peer_fd), 1);

        /* The answer comes at last; it is nobody's. */
        set_answer(&fake, 1, -EIO, 0);
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        set_answer(&fake, 2, -EACCES, 0);
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_THREAD_LAYOUT, &no_tag, program,
                                         in_ns(LONG_NS), &layout),
                         -EACCES);
        ck_assert_uint_eq(n_waiting(fake.peer_fd), 1);
        ck_assert_uint_eq(fake.n_opened, 1);
        (void) helper_free(helper);
        (void) close(fake.peer_fd);
        (void) close(program);
}
END_TEST

START_TEST(a_late_answer_of_another_length_is_still_one) {
        Fake fake = { .stays = true };
        int program = open_program();
        ThreadLayout threads;
        HeapLayout layout;
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, program,
                                         in_ns(SHORT_NS), &layout),
                         HELPER_E_LATE);
        set_answer(&fake, 1, 0, sizeof(HeapLayout));
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        set_answer(&fake, 2, 0, sizeof(ThreadLayout));
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_THREAD_LAYOUT, &no_tag, program,
                                         in_ns(LONG_NS), &threads),
                         0);
        (void) helper_free(helper);
        (void) close(fake.peer_fd);
        (void) close(program);
}
END_TEST

static const HelperTag tag_1 = { { 1, 2, 3, 4, 5 } }, tag_2 = { { 6 } };

/* Whoever knows by the tag what it was about can use it. */
START_TEST(a_late_answer_can_be_had_when_it_came) {
        Fake fake = { .stays = true };
        int program = open_program();
        FileAnswer answer = {};
        FileQuestion question;
        ThreadLayout threads;
        HelperTag tag = {};
        HeapLayout layout;
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(0), &tag, &question, &answer),
                         HELPER_E_LATE); /* nothing was asked */
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &tag_1, program,
                                         in_ns(SHORT_NS), &layout),
                         HELPER_E_LATE);
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(SHORT_NS), &tag, &question, &answer),
                         HELPER_E_LATE);
        set_answer(&fake, 1, 0, sizeof(HeapLayout));
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        if (_i == 0) { /* the next question finds it on its way */
                set_answer(&fake, 2, 0, sizeof(ThreadLayout));
                ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
                ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_THREAD_LAYOUT, &tag_2,
                                                 program, in_ns(LONG_NS), &threads),
                                 0);
        }
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(LONG_NS), &tag, &question, &answer),
                         0);
        ck_assert_int_eq(question, FILE_QUESTION_HEAP_LAYOUT);
        ck_assert_mem_eq(&tag, &tag_1, sizeof(tag));
        ck_assert_mem_eq(&answer.HEAP_LAYOUT, fake.answer + sizeof(HelperAnswered),
                         sizeof(ThreadLayout));
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(LONG_NS), &tag, &question, &answer),
                         HELPER_E_LATE); /* once */
        (void) helper_free(helper);
        (void) close(fake.peer_fd);
        (void) close(program);
}
END_TEST

/* The third question would have no place for the second late answer. */
START_TEST(a_late_answer_stays_until_it_is_taken) {
        Fake fake = { .stays = true };
        int program = open_program();
        FileAnswer answer;
        FileQuestion question;
        HeapLayout layout;
        Helper *helper;
        HelperTag tag;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &tag_1, program,
                                         in_ns(SHORT_NS), &layout),
                         HELPER_E_LATE);
        set_answer(&fake, 1, 0, sizeof(HeapLayout));
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &tag_2, program,
                                         in_ns(SHORT_NS), &layout),
                         HELPER_E_LATE);
        set_answer(&fake, 2, 0, sizeof(HeapLayout));
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, program,
                                         in_ns(LONG_NS), &layout),
                         HELPER_E_LATE);
        ck_assert_uint_eq(n_waiting(fake.peer_fd), 2);

        ck_assert_int_eq(file_helper_take_late(helper, in_ns(LONG_NS), &tag, &question, &answer),
                         0);
        ck_assert_mem_eq(&tag, &tag_1, sizeof(tag));
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(LONG_NS), &tag, &question, &answer),
                         0);
        ck_assert_mem_eq(&tag, &tag_2, sizeof(tag));
        set_answer(&fake, 3, -EIO, 0);
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, program,
                                         in_ns(LONG_NS), &layout),
                         -EIO);
        (void) helper_free(helper);
        (void) close(fake.peer_fd);
        (void) close(program);
}
END_TEST

START_TEST(a_late_answer_may_be_none) {
        Fake fake = { .stays = true };
        int program = open_program();
        FileAnswer answer;
        FileQuestion question;
        HeapLayout layout;
        Helper *helper;
        HelperTag tag;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &tag_1, program,
                                         in_ns(SHORT_NS), &layout),
                         HELPER_E_LATE);
        set_answer(&fake, 1, -EIO, 0);
        ck_assert_int_gt(send(fake.peer_fd, fake.answer, fake.n_answer, 0), 0);
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(LONG_NS), &tag, &question, &answer),
                         -EIO);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &tag_1, program,
                                         in_ns(SHORT_NS), &layout),
                         HELPER_E_LATE);
        (void) close(fake.peer_fd);
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(LONG_NS), &tag, &question, &answer),
                         HELPER_E_GONE);
        ck_assert_int_eq(file_helper_take_late(helper, in_ns(LONG_NS), &tag, &question, &answer),
                         HELPER_E_GONE);
        (void) helper_free(helper);
        (void) close(program);
}
END_TEST

START_TEST(without_time_nobody_is_asked) {
        Fake fake = { .stays = true, .peer_fd = -EBADF };
        HeapLayout layout;
        Helper *helper;

        ck_assert_int_eq(file_helper_new(open_fake, &fake, &helper), 0);
        ck_assert_int_eq(
                file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, 0, in_ns(0), &layout),
                HELPER_E_LATE);
        ck_assert_int_eq(file_helper_ask(helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, 0, 0, &layout),
                         HELPER_E_LATE);
        ck_assert_uint_eq(fake.n_opened, 0);
        (void) helper_free(helper);
}
END_TEST

/* Two pipes: the helper is being opened, and may end that. */
typedef struct Slow {
        Helper *helper;
        int inside[2], go[2];
} Slow;

static int open_slowly(void *userdata, int peer_fd) {
        const Slow *slow = userdata;
        char byte = 'x';

        (void) close(peer_fd);
        ck_assert_int_eq(write(slow->inside[1], &byte, 1), 1);
        ck_assert_int_eq(read(slow->go[0], &byte, 1), 1);
        return -EPIPE;
}

static void *ask_long(void *userdata) {
        const Slow *slow = userdata;
        HeapLayout layout;

        ck_assert_int_eq(file_helper_ask(slow->helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, 0,
                                         in_ns(LONG_NS), &layout),
                         HELPER_E_GONE);
        return NULL;
}

START_TEST(who_waits_behind_another_has_a_deadline_too) {
        HeapLayout layout;
        pthread_t thread;
        char byte = 'x';
        Slow slow;

        ck_assert_int_eq(pipe2(slow.inside, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(slow.go, O_CLOEXEC), 0);
        ck_assert_int_eq(file_helper_new(open_slowly, &slow, &slow.helper), 0);
        ck_assert_int_eq(pthread_create(&thread, NULL, ask_long, &slow), 0);
        ck_assert_int_eq(read(slow.inside[0], &byte, 1), 1);
        ck_assert_int_eq(file_helper_ask(slow.helper, FILE_QUESTION_HEAP_LAYOUT, &no_tag, 0,
                                         in_ns(SHORT_NS), &layout),
                         HELPER_E_LATE);
        ck_assert_int_eq(write(slow.go[1], &byte, 1), 1);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        slow.helper = helper_free(slow.helper);
        for (unsigned i = 0; i < 2; i++) {
                (void) close(slow.inside[i]);
                (void) close(slow.go[i]);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("helper");
        TCase *ask = tcase_create("ask"), *fail = tcase_create("fail"),
              *late = tcase_create("late");

        tcase_add_test(ask, an_answer_is_what_the_file_says);
        tcase_add_test(ask, a_library_tells_where_its_threads_are);
        tcase_add_test(ask, what_cannot_be_read_costs_its_own_question);
        tcase_add_test(ask, several_threads_may_ask);
        tcase_add_test(ask, threads_with_tables_of_their_own_may_ask);
        tcase_add_test(fail, nobody_comes);
        tcase_add_test(fail, who_comes_is_gone_before_the_question);
        tcase_add_test(fail, who_has_the_question_goes_without_an_answer);
        tcase_add_test(fail, it_goes_for_threads_with_tables_of_their_own_too);
        tcase_add_loop_test(fail, an_answer_has_its_form_or_ends_the_helper, 0,
                            ELEMENTSOF(answer_rows));
        tcase_add_test(fail, less_than_the_head_of_an_answer_ends_the_helper);
        tcase_add_test(fail, descriptors_that_come_with_an_answer_do_not_stay);
        tcase_add_test(late, who_is_late_is_asked_no_more_before_it_answered);
        tcase_add_test(late, a_late_answer_of_another_length_is_still_one);
        tcase_add_loop_test(late, a_late_answer_can_be_had_when_it_came, 0, 2);
        tcase_add_test(late, a_late_answer_stays_until_it_is_taken);
        tcase_add_test(late, a_late_answer_may_be_none);
        tcase_add_test(late, without_time_nobody_is_asked);
        tcase_add_test(late, who_waits_behind_another_has_a_deadline_too);
        suite_add_tcase(suite, ask);
        suite_add_tcase(suite, fail);
        suite_add_tcase(suite, late);
        return check_main(suite);
}
