/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "job/descriptor/disposal.h"
#include "job/job.h"
#include "job/spawner.h"
#include "job/fd-store.h"
#include "job/job.h"

/* What came of one job. */
typedef struct Story {
        Job *job;
        unsigned n_replies;
        unsigned pause_at; /* the reply to pause at; 0: none */
        bool drops;        /* loses interest at the first reply */
        bool answered, ended;
        int fd;
        char last[4096];
        char reason[JOB_EXIT_TEXT_BYTES];
} Story;

static sd_event *event;
static Users *users;
static Disposal *disposal;
static JobPool *pool;

static void on_reply(Job *job, const JobReply *reply, void *userdata) {
        Story *story = userdata;

        ck_assert(!story->answered && !story->ended);
        if (reply->is_end) {
                ck_assert(reply->is_last);
                story->ended = true;
                (void) snprintf(story->reason, sizeof(story->reason), "%s", reply->detail.reason);
                if (story->drops)
                        story->job = job_free(job);
                return;
        }
        story->n_replies++;
        story->answered = reply->is_last;
        story->fd = reply->n_fds > 0 ? TAKE_FD(reply->fds[0]) : -EBADF;
        (void) snprintf(story->last, sizeof(story->last), "%.*s", (int) reply->body.n,
                        reply->body.bytes);
        if (story->drops)
                story->job = job_free(job);
        else if (story->pause_at == story->n_replies)
                job_pause(job);
}

static void setup_from(const char *executable) {
        const UserLimits limits = user_default_limits(LIMIT_ANALYSES);
        int fd = open(executable, O_PATH | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_eq(users_new(&limits, &users), 0);
        ck_assert_int_eq(disposal_new(event, users, &disposal), 0);
        ck_assert_int_eq(job_pool_new(event, users, disposal, fd, "ctprofd", &pool), 0);
}

static void setup(void) {
        setup_from(FAKE_JOB);
}

static void teardown(void) {
        pool = job_pool_free(pool);
        disposal = disposal_free(disposal);
        users = users_free(users);
        event = sd_event_unref(event);
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
        ck_assert_int_eq(errno, ECHILD);
}

static void start_with(Story *story, const char *method, const JobOrder *template) {
        JobOrder order = *template;

        order.body = span_of(method);
        story->fd = -EBADF;
        ck_assert_int_eq(job_pool_start(pool, &order, on_reply, story, &story->job), 0);
}

static void start(Story *story, const char *method) {
        start_with(story, method, &(JobOrder){ .terms = &job_terms[JOB_ANALYSIS] });
}

static void turn(void) {
        ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
}

static void finish(Story *story) {
        while (!story->answered && !story->ended)
                turn();
}

static size_t count_children(void) {
        return pool->n_jobs;
}

static void await_children(size_t n) {
        while (count_children() > n)
                turn();
}

START_TEST(a_job_starts_with_a_socket_and_nothing_else) {
        Story story = {};
        int stray = open("/dev/null", O_RDONLY); /* inherited unless somebody closes it */
        sigset_t term, before;

        (void) sigemptyset(&term);
        (void) sigaddset(&term, SIGTERM);
        (void) sigprocmask(SIG_BLOCK, &term, &before);
        start_with(&story, "x.Describe",
                   &(JobOrder){ .terms = &job_terms[JOB_SPOOL], .max_file_bytes = 4096 });
        finish(&story);
        (void) sigprocmask(SIG_SETMASK, &before, NULL);
        ck_assert_str_eq(story.last,
                         "{\"kind\":\"spool\",\"descriptors\":1,\"death\":9,"
                         "\"blocked\":0,\"fileLimit\":\"4096\",\"listen\":\"1 1 varlink\","
                         "\"notify\":0}");
        job_free(story.job);
        fd_close(stray);
}
END_TEST

START_TEST(replies_come_in_order_and_the_last_one_ends) {
        Story story = {};

        start(&story, "x.Progress");
        finish(&story);
        ck_assert_uint_eq(story.n_replies, 3);
        ck_assert_str_eq(story.last, "{\"n\":3}");
        /* It ends by itself, and its end is no news. */
        job_free(story.job);
        await_children(0);
        ck_assert(!story.ended);
}
END_TEST

START_TEST(descriptors_go_both_ways) {
        Story story = {};
        int fd = memfd_create("given", MFD_CLOEXEC), sent = dup(fd);
        char byte = 0;

        start_with(&story, "x.Descriptors",
                   &(JobOrder){ .terms = &job_terms[JOB_ANALYSIS], .fds = &sent, .n_fds = 1 });
        finish(&story);
        ck_assert_int_eq(pread(fd, &byte, 1, 0), 1);
        ck_assert_int_eq(byte, 'x');
        ck_assert_int_ge(story.fd, 0);
        fd_close(story.fd);                         /* which may have got the number of: */
        ck_assert_int_eq(fcntl(sent, F_GETFD), -1); /* taken over, and closed once sent */
        fd_close(fd);
        job_free(story.job);
}
END_TEST

START_TEST(a_held_descriptor_is_lent_and_a_new_one_comes_to_stay) {
        _cleanup_(fd_store_freep) FdStore *fd_store = NULL;
        int fd = memfd_create("held", MFD_CLOEXEC), held;
        char bytes[2] = "";

        ck_assert_int_eq(fd_store_new("d1", &fd_store), 0);
        ck_assert_int_eq(fd_store_put(fd_store, "held", fd), FD_STORE_OK);
        for (unsigned i = 0; i < 2; i++) {
                Story story = {};

                held = fd_store_borrow(fd_store, "held");
                start_with(
                        &story, "x.Descriptors",
                        &(JobOrder){ .terms = &job_terms[JOB_CAPTURE], .fds = &held, .n_fds = 1 });
                finish(&story);
                ck_assert_int_eq(fd_store_put(fd_store, "made", story.fd), FD_STORE_OK);
                (void) disposal_close(disposal, story.fd);
                job_free(story.job);
        }
        /* Both jobs wrote through one open file: what is lent is the object and no copy of it. */
        ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), 2);
        ck_assert_mem_eq(bytes, "xx", 2);
        held = fd_store_borrow(fd_store, "made");
        ck_assert_int_eq(write(held, "x", 1), 1);
        fd_close(held);
        fd_close(fd);
}
END_TEST

#define MALFORMED "The analysis job gave a malformed reply and was stopped."

static const struct {
        const char *method;
        const char *reason;
        unsigned n_replies;
} end_rows[] = {
        { "x.Exit", "The analysis job ended with status 3 and without an answer.", 0 },
        { "x.Partial", "The analysis job ended with status 0 and without an answer.", 1 },
        { "x.Kill", "The analysis job was killed, most likely because memory ran out.", 0 },
        { "x.NonsenseShort", MALFORMED, 0 },
        { "x.NonsenseKind", MALFORMED, 0 },
        { "x.NonsenseOrder", MALFORMED, 0 },
        { "x.NonsenseNul", MALFORMED, 0 },
        { "x.NonsenseEmpty", MALFORMED, 0 },
        { "x.NonsenseUtf8", MALFORMED, 0 },
        { "x.NonsenseLong", MALFORMED, 0 },
        { "x.NonsenseError", MALFORMED, 0 },
        { "x.NonsenseErrorRange", MALFORMED, 0 },
        { "x.NonsenseErrorText", MALFORMED, 0 },
        { "x.NonsenseMixed", MALFORMED, 0 },
        { "x.NonsenseGrowing", MALFORMED, 0 },
        { "x.NonsenseAmongReplies", MALFORMED, 1 },
        { "x.Endless", MALFORMED, 0 },
};

START_TEST(a_job_without_an_answer_ends_with_the_reason) {
        Story story = {};

        start(&story, end_rows[_i].method);
        finish(&story);
        ck_assert(story.ended);
        ck_assert_str_eq(story.reason, end_rows[_i].reason);
        ck_assert_uint_eq(story.n_replies, end_rows[_i].n_replies);
        job_free(story.job);
        await_children(0);
}
END_TEST

START_TEST(a_job_past_its_deadline_is_stopped) {
        Story story = {};

        start_with(
                &story, "x.Hang",
                &(JobOrder){ .terms = &job_terms[JOB_CAPTURE], .timeout_ns = 20 * NSEC_PER_MSEC });
        finish(&story);
        ck_assert_str_eq(story.reason, "The capture job took longer than 0 s and was stopped.");
        job_free(story.job);
}
END_TEST

START_TEST(a_job_that_nobody_wants_is_killed) {
        Story story = {};

        start(&story, "x.Hang");
        ck_assert_uint_eq(count_children(), 1);
        story.job = job_free(story.job);
        await_children(0);
        ck_assert(!story.answered && !story.ended);
}
END_TEST

static const JobOrder waiting_rows[] = {
        { .terms = &job_terms[JOB_CAPTURE] },
        { .terms = &job_terms[JOB_ANALYSIS], .max_file_bytes = 4096 },
};

START_TEST(what_was_written_counts_when_nobody_writes_any_more) {
        for (unsigned drops = 0; drops < 2; drops++) {
                Story story = { .drops = drops };
                pid_t pid;

                start_with(&story, "x.AnswerAndLinger", &waiting_rows[_i]);
                pid = story.job->pid;
                while (!story.answered) {
                        ck_assert(!story.ended);
                        turn();
                }
                ck_assert_int_eq(kill(pid, 0), -1);
                ck_assert_int_eq(errno, ESRCH);
                ck_assert_str_eq(story.last, "{}");
                ck_assert_int_ge(story.fd, 0);
                fd_close(story.fd);
                job_free(story.job);
                await_children(0);
        }
}
END_TEST

static const JobOrder prompt_rows[] = {
        { .terms = &job_terms[JOB_ANALYSIS] },
        { .terms = &job_terms[JOB_SPOOL], .max_file_bytes = 4096 },
        { .terms = &job_terms[JOB_RECORD], .max_file_bytes = 4096 },
};

START_TEST(other_answers_wait_for_nothing) {
        Story story = {};

        start_with(&story, "x.AnswerAndHang", &prompt_rows[_i]);
        finish(&story);
        ck_assert(story.answered && !story.job->exited);
        ck_assert_int_eq(kill(story.job->pid, SIGKILL), 0);
        job_free(story.job);
}
END_TEST

START_TEST(a_job_that_lingers_holds_up_only_itself) {
        Story story = {}, freed = {};
        const JobOrder order = { .terms = &job_terms[JOB_CAPTURE] };

        start_with(&story, "x.AnswerAndHang", &order);
        start_with(&freed, "x.AnswerAndHang", &order);
        while (!story.job->answered || !freed.job->answered)
                turn();
        ck_assert(!story.answered && !story.ended);
        ck_assert_int_eq(kill(freed.job->pid, SIGKILL), 0);
        freed.job = job_free(freed.job);
        await_children(1);
        ck_assert(!freed.answered && !freed.ended);
        /* As when its farewell has lasted too long. */
        ck_assert_int_eq(kill(story.job->pid, SIGKILL), 0);
        finish(&story);
        ck_assert(story.answered && !story.ended);
        job_free(story.job);
}
END_TEST

static void on_killed(const JobTerms *terms, void *userdata) {
        unsigned *n_killed = userdata;

        ck_assert_ptr_eq(terms, &job_terms[JOB_ANALYSIS]);
        (*n_killed)++;
}

START_TEST(the_end_of_killed_jobs_is_told_and_no_other) {
        Story ended = {}, killed = {};
        unsigned n_killed = 0;

        pool->on_killed = on_killed;
        pool->userdata = &n_killed;
        start(&ended, "x.Exit");
        finish(&ended);
        ended.job = job_free(ended.job);
        await_children(0);
        ck_assert_uint_eq(n_killed, 0);
        start(&killed, "x.Hang");
        killed.job = job_free(killed.job);
        ck_assert_uint_eq(n_killed, 0);
        await_children(0);
        ck_assert_uint_eq(n_killed, 1);
        pool->on_killed = NULL;
        start(&killed, "x.Hang");
        killed.job = job_free(killed.job);
        await_children(0);
        ck_assert_uint_eq(n_killed, 1);
}
END_TEST

START_TEST(a_job_may_be_freed_from_its_own_events) {
        Story replied = { .drops = true }, ended = { .drops = true };

        start(&replied, "x.Progress");
        start(&ended, "x.Exit");
        await_children(0);
        ck_assert_uint_eq(replied.n_replies, 1);
        ck_assert(!replied.answered);
        ck_assert(ended.ended);
}
END_TEST

START_TEST(a_paused_job_waits_and_nothing_is_lost) {
        Story story = { .pause_at = 10 };

        start(&story, "x.Flood");
        while (story.n_replies < 10)
                turn();
        /* It fills its socket and waits; there is nothing to do for the loop. */
        ck_assert_int_ge(sd_event_run(event, 50000), 0);
        ck_assert_uint_eq(story.n_replies, 10);
        ck_assert_uint_eq(count_children(), 1);
        job_resume(story.job);
        finish(&story);
        ck_assert_uint_eq(story.n_replies, 4001);
        ck_assert_str_eq(story.last, "{\"done\":true}");
        job_free(story.job);
}
END_TEST

START_TEST(a_paused_job_that_died_tells_so_when_resumed) {
        Story story = { .pause_at = 1 };

        start(&story, "x.Partial");
        while (story.n_replies < 1)
                turn();
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_ge(sd_event_run(event, 50000), 0);
        ck_assert(!story.ended);
        job_resume(story.job);
        finish(&story);
        ck_assert(story.ended);
        job_free(story.job);
}
END_TEST

/* A kind of job that ends when its caller wants. */
static const JobTerms record_terms = {
        .word = "record",
        .clock = JOB_CLOCK_SILENCE,
        .time_ns = 100 * NSEC_PER_MSEC,
        .max_data_bytes = JOB_ANY_MEMORY,
};

static void record(Story *story, const char *method) {
        start_with(story, method, &(JobOrder){ .terms = &record_terms });
}

START_TEST(a_job_that_tells_something_may_take_long) {
        Story story = {};
        uint64_t begin_us, now_us;

        record(&story, "x.Record");
        ck_assert_int_ge(sd_event_now(event, CLOCK_MONOTONIC, &begin_us), 0);
        do {
                turn();
                ck_assert(!story.answered && !story.ended);
                ck_assert_int_ge(sd_event_now(event, CLOCK_MONOTONIC, &now_us), 0);
        } while (now_us - begin_us < 3 * record_terms.time_ns / NSEC_PER_USEC);
        ck_assert_int_eq(job_stop(story.job), 0);
        finish(&story);
        ck_assert_str_eq(story.last, "{\"stopped\":true}");
        job_free(story.job);
}
END_TEST

START_TEST(a_job_that_was_just_started_can_be_stopped) {
        Story story = {};

        record(&story, "x.Record");
        ck_assert_int_eq(job_stop(story.job), 0);
        finish(&story);
        ck_assert_str_eq(story.last, "{\"stopped\":true}");
        ck_assert_int_eq(job_stop(story.job), 0); /* and it does no harm after that */
        job_free(story.job);
}
END_TEST

START_TEST(stopping_twice_kills) {
        Story story = {};

        record(&story, "x.RecordOnAndOn");
        while (story.n_replies < 2)
                turn();
        ck_assert_int_eq(job_stop(story.job), 0);
        ck_assert_int_eq(job_stop(story.job), 0);
        finish(&story);
        ck_assert_str_eq(story.reason, "The record job was stopped before it could answer.");
        job_free(story.job);
}
END_TEST

static const struct {
        const char *method;
        bool stops;
        const char *reason;
} silence_rows[] = {
        { "x.Hang", false, "The record job gave no sign of life for 0 s and was stopped." },
        { "x.RecordAndHang", true,
          "The record job was asked to end, did not within 0 s and was stopped." },
        { "x.RecordOnAndOn", true,
          "The record job was asked to end, did not within 0 s and was stopped." },
};

START_TEST(a_job_may_not_be_silent_for_ever) {
        Story story = {};

        record(&story, silence_rows[_i].method);
        if (silence_rows[_i].stops)
                ck_assert_int_eq(job_stop(story.job), 0);
        finish(&story);
        ck_assert_str_eq(story.reason, silence_rows[_i].reason);
        job_free(story.job);
}
END_TEST

/* A kind of job that waits for calls, for as long as its caller wants. */
static const JobTerms wait_terms = {
        .word = "wait",
        .clock = JOB_CLOCK_NONE,
        .max_data_bytes = JOB_ANY_MEMORY,
};

START_TEST(a_job_without_a_clock_may_be_silent_and_gets_calls) {
        Story story = {};
        int ends[2];
        char byte;

        start_with(&story, "x.Wait", &(JobOrder){ .terms = &wait_terms });
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_ge(sd_event_run(event, 50000), 0);
        ck_assert(!story.answered && !story.ended);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        ck_assert_int_eq(job_send(story.job, PACKET_TELL, ends[0]), 0);
        finish(&story);
        ck_assert_str_eq(story.last, "{\"took\":1}");
        ck_assert_int_eq(read(ends[1], &byte, 1), 1);
        ck_assert_int_eq(byte, '!');
        /* It has answered and ended: what comes too late stays with the caller. */
        ck_assert_int_eq(job_send(story.job, PACKET_TELL, ends[1]), -ENOTCONN);
        ck_assert_int_eq(close(ends[1]), 0);
        job_free(story.job);
}
END_TEST

START_TEST(a_paused_job_is_not_silent) {
        Story story = { .pause_at = 2 };
        unsigned n;

        record(&story, "x.Record");
        while (story.n_replies < 2)
                turn();
        n = story.n_replies;
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_ge(sd_event_run(event, 50000), 0);
        ck_assert(!story.ended);
        ck_assert_uint_eq(story.n_replies, n);
        ck_assert_int_eq(job_stop(story.job), 0);
        job_resume(story.job);
        finish(&story);
        ck_assert(story.answered);
        job_free(story.job);
}
END_TEST

START_TEST(jobs_are_counted_and_known_by_their_pids) {
        Story a = {}, b = {};

        start(&a, "x.Hang");
        start(&b, "x.Hang");
        ck_assert_uint_eq(pool->n_jobs, 2);
        ck_assert_int_ne(pool->jobs[0]->pid, pool->jobs[1]->pid);
        ck_assert_int_eq(kill(pool->jobs[0]->pid, 0), 0);
        job_free(a.job);
        job_free(b.job);
        /* teardown: the job pool ends what still runs */
}
END_TEST

static const JobKind alone[] = { JOB_FILES, JOB_MEMORY };

START_TEST(jobs_that_read_for_captures_count_by_themselves) {
        Story parsing = {}, reading = {};

        start_with(&parsing, "x.Hang", &(JobOrder){ .terms = &job_terms[alone[_i]], .uid = 7 });
        start_with(&reading, "x.Hang", &(JobOrder){ .terms = &job_terms[JOB_ANALYSIS], .uid = 7 });
        ck_assert_uint_eq(job_pool_count_kind(pool, alone[_i]), 1);
        ck_assert_uint_eq(users->n[USE_HANGABLE], 1);
        ck_assert_uint_eq(users_count(users, 7, USE_HANGABLE), 1);
        reading.job = job_free(reading.job);
        parsing.job = job_free(parsing.job);
        /* They are killed and not gone. */
        ck_assert_uint_eq(job_pool_count_kind(pool, alone[_i]), 1);
        ck_assert_uint_eq(users->n[USE_HANGABLE], 1);
        await_children(0);
        ck_assert_uint_eq(job_pool_count_kind(pool, alone[_i]), 0);
        ck_assert_uint_eq(users->n[USE_HANGABLE], 0);
}
END_TEST

START_TEST(an_executable_that_is_none_is_a_job_that_could_not_be_started) {
        Story story = {};

        teardown();
        setup_from("/dev/null");
        start(&story, "x.Describe");
        finish(&story);
        ck_assert_str_eq(story.reason, "The analysis job could not be started.");
        job_free(story.job);
}
END_TEST

static const struct {
        siginfo_t status;
        JobKill kill;
        const char *text;
} exit_rows[] = {
        { { .si_code = CLD_EXITED, .si_status = 1 },
          JOB_KILL_NONE,
          "The spool job ended with status 1 and without an answer." },
        { { .si_code = CLD_EXITED, .si_status = SPAWNER_EXIT_EXEC },
          JOB_KILL_NONE,
          "The spool job could not be started." },
        { { .si_code = CLD_KILLED, .si_status = SIGKILL },
          JOB_KILL_DEADLINE,
          "The spool job took longer than 90 s and was stopped." },
        { {},
          JOB_KILL_STUCK,
          "The spool job took longer than 90 s and hangs in the kernel, where nothing can stop "
          "it." },
        { { .si_code = CLD_KILLED, .si_status = SIGSYS },
          JOB_KILL_NONE,
          "The spool job was stopped by its sandbox: it made a system call it may not make." },
        { { .si_code = CLD_DUMPED, .si_status = SIGSEGV },
          JOB_KILL_NONE,
          "The spool job crashed (signal 11, Segmentation fault)." },
        { { .si_code = CLD_KILLED, .si_status = SIGXCPU },
          JOB_KILL_NONE,
          "The spool job used more CPU time than it may." },
};

START_TEST(every_end_has_a_sentence) {
        char text[JOB_EXIT_TEXT_BYTES];

        job_exit_text("spool", exit_rows[_i].kill, 90 * NSEC_PER_SEC, &exit_rows[_i].status, text);
        ck_assert_str_eq(text, exit_rows[_i].text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("job");
        TCase *job = tcase_create("job"), *text = tcase_create("exit text");

        tcase_add_checked_fixture(job, setup, teardown);
        tcase_add_test(job, a_job_starts_with_a_socket_and_nothing_else);
        tcase_add_test(job, replies_come_in_order_and_the_last_one_ends);
        tcase_add_test(job, descriptors_go_both_ways);
        tcase_add_test(job, a_held_descriptor_is_lent_and_a_new_one_comes_to_stay);
        tcase_add_loop_test(job, a_job_without_an_answer_ends_with_the_reason, 0,
                            ELEMENTSOF(end_rows));
        tcase_add_test(job, a_job_past_its_deadline_is_stopped);
        tcase_add_test(job, a_job_that_nobody_wants_is_killed);
        tcase_add_loop_test(job, what_was_written_counts_when_nobody_writes_any_more, 0,
                            ELEMENTSOF(waiting_rows));
        tcase_add_loop_test(job, other_answers_wait_for_nothing, 0, ELEMENTSOF(prompt_rows));
        tcase_add_test(job, a_job_that_lingers_holds_up_only_itself);
        tcase_add_test(job, the_end_of_killed_jobs_is_told_and_no_other);
        tcase_add_test(job, a_job_may_be_freed_from_its_own_events);
        tcase_add_test(job, a_paused_job_waits_and_nothing_is_lost);
        tcase_add_test(job, a_paused_job_that_died_tells_so_when_resumed);
        tcase_add_test(job, a_job_that_tells_something_may_take_long);
        tcase_add_test(job, a_job_that_was_just_started_can_be_stopped);
        tcase_add_test(job, stopping_twice_kills);
        tcase_add_test(job, a_job_without_a_clock_may_be_silent_and_gets_calls);
        tcase_add_loop_test(job, a_job_may_not_be_silent_for_ever, 0, ELEMENTSOF(silence_rows));
        tcase_add_test(job, a_paused_job_is_not_silent);
        tcase_add_test(job, jobs_are_counted_and_known_by_their_pids);
        tcase_add_loop_test(job, jobs_that_read_for_captures_count_by_themselves, 0,
                            ELEMENTSOF(alone));
        tcase_add_test(job, an_executable_that_is_none_is_a_job_that_could_not_be_started);
        tcase_add_loop_test(text, every_end_has_a_sentence, 0, ELEMENTSOF(exit_rows));
        suite_add_tcase(suite, job);
        suite_add_tcase(suite, text);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
