/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/command.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "call/cancel.h"
#include "check-main.h"
#include "session/complain.h"
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

/* Long enough for a signal while the child searches, and short enough to be handed on. */
#define SEARCHED_DIRECTORIES 25000

static void search_for_long(Buffer *path) {
        for (unsigned i = 0; i < SEARCHED_DIRECTORIES; i++)
                buffer_append_text(path, "/no:");
        buffer_append_text(path, "/usr/bin:/bin");
}

START_TEST(a_signal_before_the_program_runs_is_not_lost) {
        const struct timespec moment = { .tv_nsec = 2000000 };
        char sleep_word[] = "sleep", time_word[] = "20";
        char *const words[] = { sleep_word, time_word, NULL };
        _cleanup_(buffer_done) Buffer path = {};
        CommandResult result = {};
        const char *text;
        int status;
        pid_t pid;

        search_for_long(&path);
        ck_assert_int_eq(buffer_terminate(&path, &text), 0);
        ck_assert_int_eq(setenv("PATH", text, 1), 0);
        cancel_open();
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                (void) nanosleep(&moment, NULL);
                _exit(kill(getppid(), SIGTERM));
        }
        status = command_run(words, COMMAND_STDOUT_OURS, &result);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert_uint_lt(result.elapsed_ns, 15 * NSEC_PER_SEC);
        /* On a busy host it may even have come before there was a child. */
        if (status == 0)
                ck_assert_int_eq(command_status(&result), COMMAND_STATUS_SIGNALLED + SIGTERM);
        else
                ck_assert_int_eq(status, STATUS_FAILED);
        ck_assert_int_eq(cancel_requested(), status != 0);
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
        tcase_add_test(run, a_signal_before_the_program_runs_is_not_lost);
        tcase_set_timeout(run, 120);
        tcase_add_test(check, programs_are_found_as_a_shell_would);
        tcase_add_test(check, what_cannot_be_run_has_no_result);
        suite_add_tcase(suite, run);
        suite_add_tcase(suite, check);
        return check_main(suite);
}
