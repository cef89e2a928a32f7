/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The line between the listener and a capture: a file comes through, and nothing else is one. */

#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "exits/exit-line.h"

typedef struct Line {
        int listener, capture;
} Line;

static void line_done(Line *line) {
        line->listener = fd_close(line->listener);
        line->capture = fd_close(line->capture);
}

START_TEST(the_file_that_was_sent_is_received) {
        _cleanup_(line_done) Line line;
        _cleanup_(fd_closep) int file = open("/dev/null", O_RDONLY | O_CLOEXEC), got = -EBADF;
        struct stat sent, received;

        ck_assert_int_eq(exit_line_new(&line.listener, &line.capture), 0);
        ck_assert_int_eq(exit_line_send(line.listener, file), 0);
        line.listener = fd_close(line.listener); /* as the listener does, when it has sent */
        ck_assert_int_eq(exit_line_receive(line.capture, NSEC_PER_SEC, &got), 0);
        ck_assert_int_ge(got, 0);
        ck_assert_int_eq(fcntl(got, F_GETFD), FD_CLOEXEC);
        ck_assert_int_eq(fstat(file, &sent), 0);
        ck_assert_int_eq(fstat(got, &received), 0);
        ck_assert_uint_eq(sent.st_rdev, received.st_rdev);
}
END_TEST

START_TEST(a_silent_listener_is_not_waited_for) {
        _cleanup_(line_done) Line line;
        int got = -EBADF;

        ck_assert_int_eq(exit_line_new(&line.listener, &line.capture), 0);
        ck_assert_int_eq(exit_line_receive(line.capture, 20 * NSEC_PER_MSEC, &got),
                         EXIT_LINE_E_SILENT);
        ck_assert_int_eq(got, -EBADF);
}
END_TEST

START_TEST(a_listener_that_is_gone_has_ended_the_line) {
        _cleanup_(line_done) Line line;
        int got = -EBADF;

        ck_assert_int_eq(exit_line_new(&line.listener, &line.capture), 0);
        line.listener = fd_close(line.listener);
        ck_assert_int_eq(exit_line_receive(line.capture, NSEC_PER_SEC, &got), EXIT_LINE_E_ENDED);
        ck_assert_int_eq(got, -EBADF);
}
END_TEST

START_TEST(a_capture_that_is_gone_ends_no_listener) {
        _cleanup_(line_done) Line line;

        ck_assert_int_eq(exit_line_new(&line.listener, &line.capture), 0);
        line.capture = fd_close(line.capture);
        ck_assert_int_eq(exit_line_send(line.listener, STDIN_FILENO), -EPIPE);
}
END_TEST

START_TEST(bytes_without_a_file_are_none) {
        _cleanup_(line_done) Line line;
        int got = -EBADF;

        ck_assert_int_eq(exit_line_new(&line.listener, &line.capture), 0);
        ck_assert_int_eq(send(line.listener, "x", 1, 0), 1);
        ck_assert_int_eq(exit_line_receive(line.capture, NSEC_PER_SEC, &got), EXIT_LINE_E_ENDED);
        ck_assert_int_eq(got, -EBADF);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("exit-line");
        TCase *line = tcase_create("line");

        tcase_add_test(line, the_file_that_was_sent_is_received);
        tcase_add_test(line, a_silent_listener_is_not_waited_for);
        tcase_add_test(line, a_listener_that_is_gone_has_ended_the_line);
        tcase_add_test(line, a_capture_that_is_gone_ends_no_listener);
        tcase_add_test(line, bytes_without_a_file_are_none);
        suite_add_tcase(suite, line);
        return check_main(suite);
}
