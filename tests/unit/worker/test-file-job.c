/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"
#include "conversation.h"

#include <sys/mman.h>
#include "capture/heap/file-job.h"

typedef struct Got {
        HelperAnswered head;
        FileAnswer bytes;
} Got;

static void new_pair(int ret[2]) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret), 0);
}

static void ask(int socket, uint32_t id, int fd) {
        const HelperAsked asked = { .id = id, .question = FILE_QUESTION_HEAP_LAYOUT };
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control = { .bytes = { 0 } };
        struct iovec bytes = { (void *) (uintptr_t) &asked, sizeof(asked) };
        struct msghdr message = {
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        ck_assert_int_eq(sendmsg(socket, &message, 0), (ssize_t) sizeof(asked));
}

/* The job of an order with @socket, which it knows as @place. */
static void serve(int socket, OrderFd place, WorkerConfinement confinement, Conversation *ret) {
        _cleanup_(freep) Order *order = order_new(ORDER_FILES);

        order->files.socket = place;
        obey(order, &socket, 1, confinement, ret);
}

static const WorkerConfinement confinements[] = { WORKER_FREE, WORKER_CONFINED };

START_TEST(a_job_answers_until_nobody_asks) {
        int pair[2], program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        int text = memfd_create("text", MFD_CLOEXEC), pipe_fds[2];
        Conversation conversation;
        Got got;

        if (cannot_be_tried(confinements[_i]))
                return;
        new_pair(pair);
        ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
        ck_assert_int_eq(write(text, "no program at all", 17), 17);
        ask(pair[0], 1, program);
        ask(pair[0], 2, pipe_fds[0]);
        ask(pair[0], 3, text);
        ck_assert_int_eq(shutdown(pair[0], SHUT_WR), 0);

        serve(pair[1], 1, confinements[_i], &conversation);
        ck_assert_ptr_null(conversation.error);
        ck_assert(conversation.finished);
        ck_assert_int_eq(conversation.status, 0);
        ck_assert_int_eq(recv(pair[0], &got, sizeof(got), 0),
                         (ssize_t) (offsetof(Got, bytes) + sizeof(HeapLayout)));
        ck_assert_uint_eq(got.head.id, 1);
        ck_assert_int_eq(got.head.result, 0);
        ck_assert_uint_eq(got.bytes.HEAP_LAYOUT.verdict, HEAP_NOT_JEMALLOC);
        ck_assert_int_eq(recv(pair[0], &got, sizeof(got), 0), (ssize_t) offsetof(Got, bytes));
        ck_assert_uint_eq(got.head.id, 2);
        ck_assert_int_eq(got.head.result, -EBADF);
        ck_assert_int_eq(recv(pair[0], &got, sizeof(got), 0),
                         (ssize_t) (offsetof(Got, bytes) + sizeof(HeapLayout)));
        ck_assert_uint_eq(got.head.id, 3);
        ck_assert_uint_ne(got.bytes.HEAP_LAYOUT.verdict, HEAP_FAILURE_NONE);
        conversation_done(&conversation);
        for (unsigned i = 0; i < 2; i++) {
                (void) close(pair[i]);
                (void) close(pipe_fds[i]);
        }
        (void) close(program);
        (void) close(text);
}
END_TEST

static const struct {
        OrderFd place;
        const char *part;
} refusal_rows[] = {
        { 0, "Bad file descriptor" },
        { 2, "Bad file descriptor" },
        { 1, "non-socket" },
};

START_TEST(a_job_without_a_socket_says_so) {
        int fd = memfd_create("none", MFD_CLOEXEC);
        Conversation conversation;
        const char *text;

        serve(fd, refusal_rows[_i].place, WORKER_FREE, &conversation);
        ck_assert_str_eq(conversation.error, "io.ctprof.Profiler.JobFailed");
        text = json_object_to_json_string_ext(conversation.replies[0], JSON_C_TO_STRING_PLAIN);
        ck_assert_msg(strstr(text, refusal_rows[_i].part) != NULL, "%s", text);
        conversation_done(&conversation);
        (void) close(fd);
}
END_TEST

START_TEST(what_is_no_question_ends_the_job) {
        Conversation conversation;
        int pair[2];

        new_pair(pair);
        ck_assert_int_eq(send(pair[0], "nonsense and more", 17, 0), 17);
        serve(pair[1], 1, WORKER_FREE, &conversation);
        ck_assert_ptr_nonnull(conversation.error);
        ck_assert_ptr_nonnull(strstr(conversation.error, "JobFailed"));
        conversation_done(&conversation);
        (void) close(pair[0]);
        (void) close(pair[1]);
}
END_TEST

/* Orders that no main process of this version gives: they end the job. */
typedef struct Forgery {
        JobKind kind;
        OrderMethod method;
        size_t at; /* a byte that is changed; 0: none */
        size_t n_cut;
} Forgery;

static const Forgery forgeries[] = {
        { JOB_FILES, ORDER_CAPTURE, 0, 0 },    { JOB_ANALYSIS, ORDER_FILES, 0, 0 },
        { JOB_FILES, ORDER_FILES, 1, 0 }, /* of another version */
        { JOB_FILES, ORDER_FILES, 49, 0 },     { JOB_FILES, ORDER_FILES, 0, 1 },
        { JOB_FILES, ORDER_FILES, 0, 9 },      { JOB_ANALYSIS, ORDER_INFO, 0, 1 },
        { JOB_ANALYSIS, ORDER_INFO, 0, 5000 },
};

START_TEST(it_obeys_nothing_else) {
        const Forgery *forgery = &forgeries[_i];
        _cleanup_(freep) Order *order = order_new(forgery->method);
        ConversationServer server = { .kind = forgery->kind, .confinement = WORKER_FREE };
        _cleanup_(buffer_done) Buffer body = {};
        int pair[2];

        new_pair(pair);
        ck_assert_int_eq(order_pack(order, &body), 0);
        if (forgery->at > 0)
                body.bytes[forgery->at] ^= 1;
        body.n -= forgery->n_cut;
        ck_assert_int_eq(packet_send(pair[0], PACKET_ORDER, buffer_span(&body), NULL, 0, 0), 0);
        server.fd = pair[1];
        ck_assert_int_eq(conversation_serve(&server), -EBADMSG);
        (void) close(pair[0]);
}
END_TEST

START_TEST(a_message_that_is_no_order_ends_it) {
        ConversationServer server = { .kind = JOB_FILES, .confinement = WORKER_FREE };
        int pair[2];

        new_pair(pair);
        ck_assert_int_eq(packet_send(pair[0], PACKET_STOP, (Span){}, NULL, 0, 0), 0);
        server.fd = pair[1];
        ck_assert_int_eq(conversation_serve(&server), -EBADMSG);
        (void) close(pair[0]);
}
END_TEST

/* Only an analysis job may be started by anybody, for files of its own. */
START_TEST(it_takes_no_calls) {
        ConversationServer server = { .kind = JOB_FILES, .confinement = WORKER_FREE };
        int pair[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        server.fd = pair[1];
        ck_assert_int_eq(conversation_serve(&server), -EPROTOTYPE);
        (void) close(pair[0]);
}
END_TEST

START_TEST(its_terms_are_those_of_a_stranger) {
        const JobTerms *terms = &job_terms[JOB_FILES];

        ck_assert_uint_eq(terms->capabilities, 0);
        ck_assert_uint_eq(terms->kept_inside, 0);
        ck_assert_int_eq(terms->entry, JOB_ENTERS_AT_ONCE);
        ck_assert(terms->reads_foreign && !terms->writes_spool);
        ck_assert_uint_lt(terms->max_data_bytes, job_terms[JOB_ANALYSIS].max_data_bytes);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("file-job");
        TCase *job = tcase_create("job");

        tcase_add_loop_test(job, a_job_answers_until_nobody_asks, 0, ELEMENTSOF(confinements));
        tcase_add_loop_test(job, a_job_without_a_socket_says_so, 0, ELEMENTSOF(refusal_rows));
        tcase_add_test(job, what_is_no_question_ends_the_job);
        tcase_add_loop_test(job, it_obeys_nothing_else, 0, ELEMENTSOF(forgeries));
        tcase_add_test(job, a_message_that_is_no_order_ends_it);
        tcase_add_test(job, it_takes_no_calls);
        tcase_add_test(job, its_terms_are_those_of_a_stranger);
        suite_add_tcase(suite, job);
        return check_main(suite);
}
