/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "profiler/settings.h"
#include "profiler/socket-file.h"

static char directory[64], path[128];

static void setup(void) {
        (void) snprintf(directory, sizeof(directory), "/tmp/ctprof-test-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(directory));
        (void) snprintf(path, sizeof(path), "%s/socket", directory);
}

static void teardown(void) {
        ck_assert_int_eq(rmdir(directory), 0);
}

/* sockets */

START_TEST(a_socket_file_listens_and_goes) {
        SocketFile *file;
        struct stat st;
        int fd;

        ck_assert_int_eq(socket_file_new(path, &file, &fd), 0);
        ck_assert_int_eq(lstat(path, &st), 0);
        ck_assert(S_ISSOCK(st.st_mode));
        ck_assert_int_eq(st.st_mode & 0777, 0660);
        ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
        file = socket_file_free(file);
        ck_assert_int_eq(lstat(path, &st), -1);
        fd_close(fd);
}
END_TEST

START_TEST(a_socket_in_use_is_left_alone) {
        SocketFile *file, *other;
        int fd, other_fd;

        ck_assert_int_eq(socket_file_new(path, &file, &fd), 0);
        ck_assert_int_eq(socket_file_new(path, &other, &other_fd), SOCKET_FILE_E_IN_USE);
        ck_assert_int_eq(access(path, F_OK), 0);
        socket_file_free(file);
        fd_close(fd);
}
END_TEST

START_TEST(an_abandoned_socket_is_replaced) {
        SocketFile *file, *next;
        int fd;

        ck_assert_int_eq(socket_file_new(path, &file, &fd), 0);
        fd_close(fd); /* as if the daemon was killed: the socket file stays */
        ck_assert_int_eq(socket_file_new(path, &next, &fd), 0);
        /* The first socket was replaced, so its owner must not remove the new one. */
        socket_file_free(file);
        ck_assert_int_eq(access(path, F_OK), 0);
        socket_file_free(next);
        fd_close(fd);
}
END_TEST

START_TEST(a_file_that_is_no_socket_is_left_alone) {
        SocketFile *file;
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        fd_close(fd);
        ck_assert_int_eq(socket_file_new(path, &file, &fd), -EEXIST);
        ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_path_has_a_hundred_and_seven_bytes_at_most) {
        char longer[109];
        SocketFile *file;
        int fd;

        memset(longer, 'x', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = '\0';
        ck_assert_int_eq(socket_file_new(longer, &file, &fd), SOCKET_FILE_E_TOO_LONG);
        ck_assert_int_eq(socket_file_new("/nonexistent/socket", &file, &fd), -ENOENT);
}
END_TEST

/* spools */

static const struct {
        const char *state_directory, *state_home, *home;
        const char *system, *private;
} path_rows[] = {
        { NULL, NULL, "/h", "/var/lib/ctprof", "/h/.local/state/ctprof" },
        { "/s", "/x", "/h", "/s", "/x/ctprof" },
        { "/s:/t", NULL, "/h", "/s", "/h/.local/state/ctprof" },
        { "", "", "/h", "/var/lib/ctprof", "/h/.local/state/ctprof" },
        { "relative", "relative", "/h", "/var/lib/ctprof", "/h/.local/state/ctprof" },
};

static void set(const char *name, const char *value) {
        ck_assert_int_eq(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

START_TEST(a_spool_is_where_the_environment_says) {
        _cleanup_(freep) char *system_path = NULL, *private_path = NULL;

        set("STATE_DIRECTORY", path_rows[_i].state_directory);
        set("XDG_STATE_HOME", path_rows[_i].state_home);
        set("HOME", path_rows[_i].home);
        ck_assert_int_eq(settings_find_spool(false, &system_path), 0);
        ck_assert_str_eq(system_path, path_rows[_i].system);
        ck_assert_int_eq(settings_find_spool(true, &private_path), 0);
        ck_assert_str_eq(private_path, path_rows[_i].private);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("place");
        TCase *sockets = tcase_create("sockets"), *spools = tcase_create("spools");

        tcase_add_checked_fixture(sockets, setup, teardown);
        tcase_add_test(sockets, a_socket_file_listens_and_goes);
        tcase_add_test(sockets, a_socket_in_use_is_left_alone);
        tcase_add_test(sockets, an_abandoned_socket_is_replaced);
        tcase_add_test(sockets, a_file_that_is_no_socket_is_left_alone);
        tcase_add_test(sockets, a_path_has_a_hundred_and_seven_bytes_at_most);
        tcase_add_checked_fixture(spools, setup, teardown);
        tcase_add_loop_test(spools, a_spool_is_where_the_environment_says, 0,
                            ELEMENTSOF(path_rows));
        suite_add_tcase(suite, sockets);
        suite_add_tcase(suite, spools);
        return check_main(suite);
}
