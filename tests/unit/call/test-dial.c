/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/dial.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "check-main.h"
#include "temporary.h"

static const struct {
        int error;
        const char *group;
        const char *sentence;
} refusals[] = {
        { ENOENT, "ctprof",
          "No ctprofd is at /run/x: as root, \"systemctl enable --now ctprofd.socket\" starts it; "
          "--local does without." },
        { ECONNREFUSED, "ctprof",
          "No ctprofd listens at /run/x: as root, \"systemctl enable --now ctprofd.socket\" starts "
          "it; --local does without." },
        { EACCES, "ctprof",
          "Only members of group ctprof may use the ctprofd at /run/x: as root, \"usermod -aG "
          "ctprof "
          "alice\", then log in again; --local does without it." },
        { EACCES, "2000",
          "Only members of group 2000 may use the ctprofd at /run/x: as root, \"usermod -aG 2000 "
          "alice\", then log in again; --local does without it." },
        { EACCES, NULL,
          "Only members of group ctprof may use the ctprofd at /run/x: as root, \"usermod -aG "
          "ctprof "
          "alice\", then log in again; --local does without it." },
        { EACCES, "", "Only root may use the ctprofd at /run/x; --local does without it." },
        { EAGAIN, "ctprof",
          "The ctprofd at /run/x is too busy to accept another client: try again later." },
        { EPROTOTYPE, "ctprof",
          "Cannot connect to ctprofd at /run/x: Protocol wrong type for socket." },
};

START_TEST(every_refusal_has_its_way_out) {
        char complaint[DIAL_COMPLAINT_BYTES];

        dial_format_refusal("/run/x", refusals[_i].error, refusals[_i].group, "alice", true,
                            complaint);
        ck_assert_str_eq(complaint, refusals[_i].sentence);
}
END_TEST

static int listen_at(const char *path, int backlog) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        ck_assert_int_ge(fd, 0);
        (void) strcpy(address.sun_path, path);
        ck_assert_int_eq(bind(fd, (const struct sockaddr *) &address, sizeof(address)), 0);
        ck_assert_int_eq(listen(fd, backlog), 0);
        return fd;
}

START_TEST(a_socket_that_listens_is_reached) {
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES], complaint[DIAL_COMPLAINT_BYTES];
        _cleanup_(fd_closep) int listener = -EBADF, fd = -EBADF;

        temporary_init(&temporary);
        listener = listen_at(temporary_path(&temporary, "socket", path), 1);
        ck_assert_int_eq(dial(path, 0, true, &fd, complaint), 0);
        ck_assert_int_ge(fd, 0);
}
END_TEST

START_TEST(nobody_there_is_told_apart_from_nobody_listening) {
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES], complaint[DIAL_COMPLAINT_BYTES];
        int listener, fd = -EBADF;

        temporary_init(&temporary);
        (void) temporary_path(&temporary, "socket", path);
        ck_assert_int_eq(dial(path, 0, true, &fd, complaint), DIAL_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(complaint, "No ctprofd is at"));

        listener = listen_at(path, 1);
        (void) fd_close(listener);
        ck_assert_int_eq(dial(path, 0, true, &fd, complaint), DIAL_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(complaint, "No ctprofd listens at"));
        ck_assert_int_eq(fd, -EBADF);
}
END_TEST

START_TEST(a_daemon_that_accepts_nobody_is_not_waited_for) {
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES], complaint[DIAL_COMPLAINT_BYTES];
        _cleanup_(fd_closep) int listener = -EBADF, first = -EBADF, second = -EBADF, third = -EBADF;
        int r;

        temporary_init(&temporary);
        listener = listen_at(temporary_path(&temporary, "socket", path), 0);
        ck_assert_int_eq(dial(path, NSEC_PER_MSEC, true, &first, complaint), 0);
        r = dial(path, NSEC_PER_MSEC, true, &second, complaint);
        if (r == 0) /* how many more a backlog of 0 takes is the kernel's */
                r = dial(path, NSEC_PER_MSEC, true, &third, complaint);
        ck_assert_int_eq(r, DIAL_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(complaint, "too busy"));
}
END_TEST

static volatile sig_atomic_t n_signals;

static void on_alarm(int number) {
        n_signals++;
}

START_TEST(a_signal_that_cancels_nothing_does_not_end_the_wait) {
        const struct itimerval once = { .it_value.tv_usec = 20 * 1000 };
        const struct sigaction action = { .sa_handler = on_alarm };
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES], complaint[DIAL_COMPLAINT_BYTES];
        _cleanup_(fd_closep) int listener = -EBADF, first = -EBADF, second = -EBADF;

        temporary_init(&temporary);
        listener = listen_at(temporary_path(&temporary, "socket", path), 0);
        ck_assert_int_eq(dial(path, NSEC_PER_MSEC, true, &first, complaint), 0);
        ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &once, NULL), 0);
        ck_assert_int_eq(dial(path, 200 * NSEC_PER_MSEC, true, &second, complaint), DIAL_E_REFUSED);
        ck_assert_int_eq(n_signals, 1);
        ck_assert_ptr_nonnull(strstr(complaint, "too busy"));
}
END_TEST

START_TEST(paths_fit_the_address_or_are_refused) {
        char path[200], complaint[DIAL_COMPLAINT_BYTES];
        int fd = -EBADF;

        memset(path, 'x', sizeof(path));
        path[0] = '/';
        path[107] = '\0';
        ck_assert_int_eq(dial(path, 0, true, &fd, complaint), DIAL_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(complaint, "No ctprofd is at"));
        path[107] = 'x';
        path[108] = '\0';
        ck_assert_int_eq(dial(path, 0, true, &fd, complaint), DIAL_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(complaint, "longer than 107 bytes"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("dial");
        TCase *refusal = tcase_create("refusal");
        TCase *connect = tcase_create("connect");

        tcase_add_loop_test(refusal, every_refusal_has_its_way_out, 0, ELEMENTSOF(refusals));
        tcase_add_test(connect, a_socket_that_listens_is_reached);
        tcase_add_test(connect, nobody_there_is_told_apart_from_nobody_listening);
        tcase_add_test(connect, a_daemon_that_accepts_nobody_is_not_waited_for);
        tcase_add_test(connect, a_signal_that_cancels_nothing_does_not_end_the_wait);
        tcase_add_test(connect, paths_fit_the_address_or_are_refused);
        suite_add_tcase(suite, refusal);
        suite_add_tcase(suite, connect);
        return check_main(suite);
}
