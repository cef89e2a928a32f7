/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/cancel.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check-main.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* What @claim returns in a process of its own, because the flag is the process's and stays. */
static int in_child(int (*claim)(int fd), int fd) {
        int status = 0;
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0)
                _exit(claim(fd));
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int wait_after_signal(int fd) {
        cancel_open();
        if (cancel_requested())
                return 100;
        (void) raise(SIGINT);
        return cancel_requested() ? cancel_wait(fd, POLLIN, CANCEL_NO_DEADLINE) : 101;
}

static int wait_for_own_alarm(int fd) {
        cancel_open();
        /* The other end of the wait: the signal comes while we are in it. */
        if (fork() == 0) {
                (void) kill(getppid(), SIGTERM);
                _exit(0);
        }
        return cancel_wait(fd, POLLIN, CANCEL_NO_DEADLINE);
}

static int signal_twice(int fd) {
        cancel_open();
        (void) raise(SIGINT);
        (void) raise(SIGINT);
        return 0;
}

START_TEST(a_signal_is_never_missed) {
        _cleanup_(fd_closep) int read_fd = -EBADF, write_fd = -EBADF;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        read_fd = fds[0];
        write_fd = fds[1];
        ck_assert_int_eq(in_child(wait_after_signal, read_fd), CANCEL_E_CANCELLED);
        ck_assert_int_eq(in_child(wait_for_own_alarm, read_fd), CANCEL_E_CANCELLED);
}
END_TEST

START_TEST(a_second_signal_kills) {
        ck_assert_int_eq(in_child(signal_twice, -1), 128 + SIGINT);
}
END_TEST

/* What each wait said, as digits to the base of 4: an exit status has a byte. */
static int stop_and_cancel(int fd) {
        int said = 0;

        cancel_open();
        cancel_begin_stoppable();
        (void) raise(SIGINT);
        said = cancel_wait(fd, POLLIN, CANCEL_NO_DEADLINE);
        said = 4 * said + cancel_wait(fd, POLLIN, 0);
        (void) raise(SIGINT);
        return 4 * said + cancel_wait(fd, POLLIN, 0);
}

static int stop_and_end(int fd) {
        int said = 0;

        cancel_open();
        cancel_begin_stoppable();
        (void) raise(SIGINT);
        said = cancel_wait(fd, POLLIN, 0);
        cancel_end_stoppable();
        said = 4 * said + cancel_requested();
        (void) raise(SIGTERM);
        return 4 * said + cancel_requested();
}

static int end_unstopped(int fd) {
        cancel_open();
        cancel_begin_stoppable();
        cancel_end_stoppable();
        (void) raise(SIGINT);
        return cancel_wait(fd, POLLIN, 0);
}

static int signal_thrice(int fd) {
        cancel_open();
        cancel_begin_stoppable();
        (void) raise(SIGINT);
        (void) raise(SIGINT);
        (void) raise(SIGINT);
        return 0;
}

START_TEST(a_first_signal_can_be_a_wish_to_end) {
        ck_assert_int_eq(in_child(stop_and_cancel, -1),
                         16 * CANCEL_E_STOP + 4 * CANCEL_E_TIMEOUT + CANCEL_E_CANCELLED);
        ck_assert_int_eq(in_child(stop_and_end, -1), 16 * CANCEL_E_STOP + 1);
        ck_assert_int_eq(in_child(end_unstopped, -1), CANCEL_E_CANCELLED);
        ck_assert_int_eq(in_child(signal_thrice, -1), 128 + SIGINT);
}
END_TEST

static int end_of(pid_t pid) {
        siginfo_t end = {};

        while (waitid(P_PID, (id_t) pid, &end, WEXITED | WNOWAIT) < 0)
                ;
        cancel_end_command();
        (void) waitpid(pid, NULL, 0);
        return end.si_status;
}

/* Both come before the child could have said that it is there. */
static int signal_a_command_twice(int fd) {
        pid_t pid;

        cancel_open();
        if (cancel_fork_command(&pid) != 0)
                return 100;
        if (pid == 0)
                (void) pause();
        (void) raise(SIGTERM);
        (void) raise(SIGTERM);
        if (end_of(pid) != SIGTERM || cancel_requested())
                return 101;
        (void) raise(SIGTERM); /* the rest of what the whole group got */
        return cancel_requested() ? 102 : cancel_wait(fd, POLLIN, 0);
}

static int interrupt_a_command(int fd) {
        pid_t pid;

        cancel_open();
        if (cancel_fork_command(&pid) != 0)
                return 100;
        if (pid == 0)
                _exit(raise(SIGINT));
        (void) raise(SIGINT);
        (void) raise(SIGQUIT);
        if (end_of(pid) != SIGINT || cancel_requested())
                return 101;
        (void) raise(SIGINT); /* a new one */
        return cancel_wait(fd, POLLIN, 0);
}

static int signal_before_a_command(int fd) {
        pid_t pid = 0;

        cancel_open();
        (void) raise(SIGINT);
        return cancel_fork_command(&pid) == -ECANCELED && pid < 0 ? CANCEL_E_CANCELLED : 100;
}

START_TEST(signals_are_for_the_command_while_it_runs) {
        ck_assert_int_eq(in_child(signal_a_command_twice, -1), CANCEL_E_TIMEOUT);
        ck_assert_int_eq(in_child(interrupt_a_command, -1), CANCEL_E_CANCELLED);
        ck_assert_int_eq(in_child(signal_before_a_command, -1), CANCEL_E_CANCELLED);
}
END_TEST

START_TEST(waits_end_with_bytes_or_with_time) {
        _cleanup_(fd_closep) int read_fd = -EBADF, write_fd = -EBADF;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        read_fd = fds[0];
        write_fd = fds[1];
        ck_assert_int_eq(cancel_wait(read_fd, POLLIN, 0), CANCEL_E_TIMEOUT);
        ck_assert_int_eq(cancel_wait(read_fd, POLLIN, mono_deadline_ns(1)), CANCEL_E_TIMEOUT);
        ck_assert_int_eq(write(write_fd, "x", 1), 1);
        ck_assert_int_eq(cancel_wait(read_fd, POLLIN, 0), CANCEL_OK);
        ck_assert_int_eq(cancel_wait(read_fd, POLLIN, CANCEL_NO_DEADLINE), CANCEL_OK);
}
END_TEST

START_TEST(another_descriptor_can_be_watched) {
        _cleanup_(fd_closep) int read_fd = -EBADF, write_fd = -EBADF;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        read_fd = fds[0];
        write_fd = fds[1];
        ck_assert_int_eq(cancel_wait_either(-1, POLLIN, read_fd, 0), CANCEL_E_TIMEOUT);
        ck_assert_int_eq(write(write_fd, "x", 1), 1);
        ck_assert_int_eq(cancel_wait_either(-1, POLLIN, read_fd, CANCEL_NO_DEADLINE),
                         CANCEL_E_WATCHED);
        ck_assert_int_eq(cancel_wait_either(read_fd, POLLIN, read_fd, 0), CANCEL_E_WATCHED);
        ck_assert_int_eq(cancel_wait_either(read_fd, POLLIN, -1, 0), CANCEL_OK);
}
END_TEST

START_TEST(deadlines_do_not_wrap) {
        ck_assert_uint_eq(mono_deadline_ns(0), CANCEL_NO_DEADLINE);
        ck_assert_uint_eq(mono_deadline_ns(UINT64_MAX), UINT64_MAX);
        ck_assert_uint_gt(mono_deadline_ns(NSEC_PER_SEC), clock_now_ns(CLOCK_MONOTONIC));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cancel");
        TCase *signals = tcase_create("signals");
        TCase *time = tcase_create("time");

        tcase_add_test(signals, a_signal_is_never_missed);
        tcase_add_test(signals, a_second_signal_kills);
        tcase_add_test(signals, a_first_signal_can_be_a_wish_to_end);
        tcase_add_test(signals, signals_are_for_the_command_while_it_runs);
        tcase_add_test(time, waits_end_with_bytes_or_with_time);
        tcase_add_test(time, another_descriptor_can_be_watched);
        tcase_add_test(time, deadlines_do_not_wrap);
        suite_add_tcase(suite, signals);
        suite_add_tcase(suite, time);
        return check_main(suite);
}
