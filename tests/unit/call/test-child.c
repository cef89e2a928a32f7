/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/child.h"

#include <check.h>
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check-main.h"

/* All that @script writes to its socket, as text. */
static void run_script(const char *script, Child *child, char *ret_text, size_t n_text) {
        const char *const words[] = { "sh", "-c", script, NULL };
        _cleanup_(fd_closep) int fd = -EBADF;
        size_t n = 0;
        ssize_t got;

        ck_assert_int_eq(child_start(child, "/bin/sh", words, &fd), 0);
        while (n < n_text - 1 && (got = read(fd, ret_text + n, n_text - 1 - n)) > 0)
                n += (size_t) got;
        ret_text[n] = '\0';
        fd = fd_close(fd);
        child_end(child);
}

START_TEST(the_socket_is_announced_as_varlink_has_it) {
        char text[256];
        Child child;

        run_script("[ \"$LISTEN_PID\" = $$ ] && echo \"$LISTEN_FDS $LISTEN_FDNAMES\" >&3", &child,
                   text, sizeof(text));
        ck_assert_str_eq(text, "1 varlink\n");
        ck_assert_int_eq(child.status, 0);
        ck_assert_int_eq(child.pid, 0);
}
END_TEST

START_TEST(it_inherits_nothing_else) {
        char text[256];
        Child child;

        /* Only the standard three, the socket, and the directory that ls opens to look. */
        run_script("exec ls /proc/self/fd >&3", &child, text, sizeof(text));
        ck_assert_str_eq(text, "0\n1\n2\n3\n4\n");
        run_script("readlink /proc/self/fd/0 >&3", &child, text, sizeof(text));
        ck_assert_str_eq(text, "/dev/null\n");
}
END_TEST

START_TEST(it_ends_when_we_hang_up) {
        char text[256];
        Child child;

        run_script("exec 1>&3; echo x; exec 1>&-; read -r line <&3; exit 3", &child, text, 3);
        ck_assert_int_eq(child.pid, 0);
}
END_TEST

static const struct {
        const char *script, *fate;
} fates[] = {
        { "exit 0", "exited with status 0" },
        { "exit 3", "exited with status 3" },
        { "kill -KILL $$", "was killed by SIGKILL" },
        { "kill -TERM $$", "was killed by SIGTERM" },
};

START_TEST(its_fate_is_told) {
        char text[16], fate[CHILD_FATE_BYTES];
        Child child;

        run_script(fates[_i].script, &child, text, sizeof(text));
        child_format_fate(&child, fate);
        ck_assert_str_eq(fate, fates[_i].fate);
}
END_TEST

START_TEST(what_cannot_be_run_is_an_error_here) {
        static const char *const words[] = { "x", NULL };
        Child child;
        int fd = -EBADF;

        ck_assert_int_eq(child_start(&child, "/nonexistent/ctprofd", words, &fd), -ENOENT);
        ck_assert_int_eq(child_start(&child, "/dev/null", words, &fd), -EACCES);
        ck_assert_int_eq(fd, -EBADF);
        child_end(&child); /* of nothing */
}
END_TEST

int main(void) {
        Suite *suite = suite_create("child");
        TCase *start = tcase_create("start");
        TCase *end = tcase_create("end");

        tcase_add_test(start, the_socket_is_announced_as_varlink_has_it);
        tcase_add_test(start, it_inherits_nothing_else);
        tcase_add_test(start, what_cannot_be_run_is_an_error_here);
        tcase_add_test(end, it_ends_when_we_hang_up);
        tcase_add_loop_test(end, its_fate_is_told, 0, ELEMENTSOF(fates));
        suite_add_tcase(suite, start);
        suite_add_tcase(suite, end);
        return check_main(suite);
}
