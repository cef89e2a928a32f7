/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/descriptor/child.h"
#include "job/descriptor/disposal.h"
#include "wire/limits.h"

#define MANY 300

static sd_event *event;
static Users *users;
static Disposal *disposal;
static int ends[2];

static void setup(void) {
        const UserLimits limits = user_default_limits(LIMIT_ANALYSES);

        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_eq(users_new(&limits, &users), 0);
        ck_assert_int_eq(disposal_new(event, users, &disposal), 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void teardown(void) {
        disposal = disposal_free(disposal);
        users = users_free(users);
        event = sd_event_unref(event);
        (void) fd_close(ends[0]);
        (void) fd_close(ends[1]);
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
        ck_assert_int_eq(errno, ECHILD);
}

static bool is_open(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

/* The other end has nobody any more. */
static bool is_hung_up(void) {
        char byte;

        return recv(ends[0], &byte, 1, MSG_DONTWAIT) == 0;
}

/* The time limit of the test ends a wrong wait. */
static void await_nothing_pending(uid_t uid) {
        while (users_count(users, uid, USE_CLOSING) > 0)
                ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
}

/* As when a stream of @uid brings @fd. */
static void note(int fd, uid_t uid) {
        DisposalKeeper keeper;

        disposal_keeper_init(&keeper, disposal, uid);
        keeper.keeper.note(fd, keeper.keeper.userdata);
}

START_TEST(ours_is_closed_at_once) {
        ck_assert_int_eq(disposal_close(disposal, ends[1]), -EBADF);
        ck_assert(is_hung_up());
        ck_assert_uint_eq(disposal_n_children(disposal), 0);
        ends[1] = -EBADF;
        ck_assert_int_eq(disposal_close(disposal, -EBADF), -EBADF);
}
END_TEST

START_TEST(what_was_sent_is_closed_by_a_child) {
        note(ends[1], 1000);
        ck_assert_int_eq(disposal_close(disposal, ends[1]), -EBADF);
        ck_assert(is_open(ends[1])); /* not by us */
        ck_assert_uint_eq(users_count(users, 1000, USE_CLOSING), 1);
        ck_assert_uint_eq(users_count(users, 1001, USE_CLOSING), 0);
        await_nothing_pending(1000);
        ck_assert(!is_open(ends[1]));
        ck_assert(is_hung_up());
        ends[1] = -EBADF;
}
END_TEST

START_TEST(a_number_that_is_used_again_is_ours_again) {
        int fd = ends[1];

        note(fd, 1000);
        (void) disposal_close(disposal, fd);
        await_nothing_pending(1000);
        ck_assert_int_eq(dup2(ends[0], fd), fd);
        (void) disposal_close(disposal, fd);
        ck_assert(!is_open(fd));
        ck_assert_uint_eq(disposal_n_children(disposal), 0);
        ends[1] = -EBADF;
}
END_TEST

START_TEST(many_are_closed_by_few_children) {
        int fds[MANY];

        for (unsigned i = 0; i < MANY; i++) {
                fds[i] = fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
                ck_assert_int_ge(fds[i], 0);
                note(fds[i], 1000 + i % 2);
                (void) disposal_close(disposal, fds[i]);
        }
        ck_assert_uint_eq(users_count(users, 1000, USE_CLOSING), MANY / 2);
        ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
        ck_assert_uint_eq(disposal_n_children(disposal), 2); /* a user each */
        await_nothing_pending(1000);
        await_nothing_pending(1001);
        for (unsigned i = 0; i < MANY; i++)
                ck_assert(!is_open(fds[i]));
        ck_assert(is_open(ends[1]));
}
END_TEST

START_TEST(a_socket_with_nothing_unread_is_closed_at_once) {
        (void) disposal_close_socket(disposal, ends[1]);
        ck_assert(is_hung_up());
        ends[1] = -EBADF;
        (void) disposal_close_socket(disposal, -EBADF);
}
END_TEST

START_TEST(a_socket_with_something_unread_takes_no_more_and_is_closed_by_a_child) {
        char byte;

        ck_assert_int_eq(send(ends[0], "x", 1, MSG_NOSIGNAL), 1);
        (void) disposal_close_socket(disposal, ends[1]);
        ck_assert(is_open(ends[1]));
        ck_assert_int_eq(send(ends[0], "x", 1, MSG_NOSIGNAL), -1);
        ck_assert_int_eq(errno, EPIPE);
        while (is_open(ends[1]))
                ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
        ck_assert_int_le(recv(ends[0], &byte, 1, 0), 0);
        ends[1] = -EBADF;
}
END_TEST

/* The event loop watches children by descriptors. */
START_TEST(a_child_is_reaped_though_no_descriptor_is_left_to_watch_it_by) {
        struct rlimit old, none;
        int lowest = dup(ends[0]);

        ck_assert_int_ge(lowest, 0);
        (void) fd_close(lowest);
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
        none = (struct rlimit){ .rlim_cur = (rlim_t) lowest, .rlim_max = old.rlim_max };
        note(ends[1], 1000);
        (void) disposal_close(disposal, ends[1]);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
        do
                ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
        while (disposal_n_children(disposal) > 0);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
        ck_assert(!is_open(ends[1]));
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
        ck_assert_int_eq(errno, ECHILD);
        ends[1] = -EBADF;
}
END_TEST

static pid_t only_child(void) {
        FILE *file = fopen("/proc/thread-self/children", "re");
        int pid = 0;

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
        ck_assert_int_eq(fclose(file), 0);
        return pid;
}

/* For want of memory, say; wherever in its list it was. */
START_TEST(what_a_killed_child_left_is_closed_by_another) {
        int fds[MANY];

        for (int i = 0; i < MANY; i++) {
                fds[i] = fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
                ck_assert_int_ge(fds[i], 0);
                note(fds[i], 1000);
                (void) disposal_close(disposal, fds[i]);
        }
        while (disposal_n_children(disposal) == 0)
                ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
        if (_i > 0)
                (void) usleep((useconds_t) _i * 5);
        (void) kill(only_child(), SIGKILL); /* or it has ended, and is not reaped yet */
        while (disposal_n_children(disposal) > 0 || users_count(users, 1000, USE_CLOSING) > 0)
                ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
        for (int i = 0; i < MANY; i++)
                ck_assert(!is_open(fds[i]));
}
END_TEST

START_TEST(the_end_closes_what_is_left) {
        note(ends[1], 1000);
        (void) disposal_close(disposal, ends[1]);
        disposal = disposal_free(disposal);
        ck_assert(!is_open(ends[1]));
        ends[1] = -EBADF;
}
END_TEST

/* What a child has after it split off is told by its exit status. */
START_TEST(a_table_of_its_own_has_only_the_lowest) {
        int low = fcntl(ends[1], F_DUPFD_CLOEXEC, CHILD_TABLE_GRAIN - 1),
            high = fcntl(ends[1], F_DUPFD_CLOEXEC, CHILD_TABLE_GRAIN);
        int status;
        pid_t child;

        child = child_fork(false);
        ck_assert_int_ge(child, 0);
        if (child == 0) {
                if (child_split_table(high) != 0)
                        _exit(1);
                _exit(!is_open(low) || is_open(high) || close(low) != 0 ? 2 : 0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
        ck_assert(is_open(low));
        (void) fd_close(low);
        (void) fd_close(high);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("disposal");
        TCase *closing = tcase_create("closing");

        tcase_add_checked_fixture(closing, setup, teardown);
        tcase_add_test(closing, ours_is_closed_at_once);
        tcase_add_test(closing, what_was_sent_is_closed_by_a_child);
        tcase_add_test(closing, a_number_that_is_used_again_is_ours_again);
        tcase_add_test(closing, many_are_closed_by_few_children);
        tcase_add_test(closing, a_socket_with_nothing_unread_is_closed_at_once);
        tcase_add_test(closing,
                       a_socket_with_something_unread_takes_no_more_and_is_closed_by_a_child);
        tcase_add_test(closing, a_child_is_reaped_though_no_descriptor_is_left_to_watch_it_by);
        tcase_add_loop_test(closing, what_a_killed_child_left_is_closed_by_another, 0, 20);
        tcase_add_test(closing, the_end_closes_what_is_left);
        tcase_add_test(closing, a_table_of_its_own_has_only_the_lowest);
        suite_add_tcase(suite, closing);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
