/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/command.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "check-main.h"
#include "temporary.h"

static int run_shell(const char *script, CommandResult *ret) {
        char shell[] = "/bin/sh", dash_c[] = "-c", text[128];
        char *const words[] = { shell, dash_c, text, NULL };

        (void) snprintf(text, sizeof(text), "%s", script);
        return command_run(words, COMMAND_STDOUT_OURS, ret);
}

static const struct {
        const char *script;
        bool signalled;
        int code, status;
} rows[] = {
        { "exit 0", false, 0, 0 },
        { "exit 3", false, 3, 3 },
        { "exit 255", false, 255, 255 },
        { "kill -KILL $$", true, SIGKILL, 128 + SIGKILL },
        { "kill -INT $$", true, SIGINT, 128 + SIGINT }, /* not ignored in the command */
};

START_TEST(the_end_of_a_command_is_its_own) {
        CommandResult result = {};

        ck_assert_int_eq(run_shell(rows[_i].script, &result), 0);
        ck_assert_int_eq(result.signalled, rows[_i].signalled);
        ck_assert_int_eq(result.code, rows[_i].code);
        ck_assert_int_eq(command_status(&result), rows[_i].status);
        ck_assert_uint_gt(result.elapsed_ns, 0);
        ck_assert_int_gt(result.usage.ru_maxrss, 0);
        ck_assert_int_gt(result.usage.ru_minflt, 0);
}
END_TEST

START_TEST(programs_are_found_as_a_shell_would) {
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES], search[TEMPORARY_PATH_BYTES * 2];
        const char *old = getenv("PATH");
        int fd;

        temporary_init(&temporary);
        fd = open(temporary_path(&temporary, "prog", path), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        ck_assert_int_ge(fd, 0);
        (void) fd_close(fd);
        (void) snprintf(search, sizeof(search), "/nonexistent:%s", temporary.path);
        ck_assert_int_eq(setenv("PATH", search, 1), 0);
        ck_assert_int_eq(command_check("prog"), COMMAND_STATUS_CANNOT_RUN);
        ck_assert_int_eq(command_check(path), COMMAND_STATUS_CANNOT_RUN);
        ck_assert_int_eq(command_check(temporary.path), COMMAND_STATUS_CANNOT_RUN);
        ck_assert_int_eq(chmod(path, 0755), 0);
        ck_assert_int_eq(command_check("prog"), 0);
        ck_assert_int_eq(command_check(path), 0);
        ck_assert_int_eq(command_check("gorp"), COMMAND_STATUS_NOT_FOUND);
        ck_assert_int_eq(command_check("/nonexistent/prog"), COMMAND_STATUS_NOT_FOUND);
        ck_assert_int_eq(command_check(""), COMMAND_STATUS_NOT_FOUND);
        ck_assert_int_eq(setenv("PATH", old ? old : "/usr/bin:/bin", 1), 0);
}
END_TEST

START_TEST(what_cannot_be_run_has_no_result) {
        char missing[] = "/nonexistent/prog";
        char *const words[] = { missing, NULL };
        CommandResult result = { .code = 77 };

        ck_assert_int_eq(command_run(words, COMMAND_STDOUT_OURS, &result),
                         COMMAND_STATUS_NOT_FOUND);
        ck_assert_int_eq(result.code, 77);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("command");
        TCase *run = tcase_create("run");
        TCase *check = tcase_create("check");

        tcase_add_loop_test(run, the_end_of_a_command_is_its_own, 0, ELEMENTSOF(rows));
        tcase_add_test(check, programs_are_found_as_a_shell_would);
        tcase_add_test(check, what_cannot_be_run_has_no_result);
        suite_add_tcase(suite, run);
        suite_add_tcase(suite, check);
        return check_main(suite);
}
