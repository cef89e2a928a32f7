/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "call/cancel.h"
#include "call/child.h"
#include "session/complain.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static int complain_exec(const char *name, int error) {
        bool missing = error == ENOENT || error == ENOTDIR;
        char quoted[QUOTE_BYTES];

        return complain(missing ? COMMAND_STATUS_NOT_FOUND : COMMAND_STATUS_CANNOT_RUN,
                        "%s cannot be run: %s.", quote(name, quoted),
                        missing ? "there is no such program" : strerror(error));
}

/* 0 or an errno. */
static int try_program(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                return errno;
        if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
                return EACCES;
        return 0;
}

/* Searches as execvp(3) does. */
static int try_path(const char *name) {
        const char *path = getenv("PATH");
        int error = ENOENT;

        for (path = path ? path : DEFAULT_PATH;; path++) {
                _cleanup_(buffer_done) Buffer candidate = {};
                size_t n = strcspn(path, ":");
                const char *text;
                int e;

                if (buffer_append_format(&candidate, "%.*s/%s", n > 0 ? (int) n : 1,
                                         n > 0 ? path : ".", name) < 0 ||
                    buffer_terminate(&candidate, &text) < 0)
                        return ENOMEM;
                e = try_program(text);
                if (e == 0)
                        return 0;
                if (e == EACCES)
                        error = e;
                path += n;
                if (*path == '\0')
                        return error;
        }
}

int command_check(const char *name) {
        int error = strchr(name, '/') ? try_program(name)
                    : name[0] != '\0' ? try_path(name)
                                      : ENOENT;

        return error == 0 ? 0 : complain_exec(name, error);
}

typedef struct Command {
        char *const *words;
        CommandStdout to;
} Command;

static int become(void *userdata) {
        const Command *command = userdata;

        if (cancel_requested())
                return ECANCELED;
        if (command->to == COMMAND_STDOUT_OURS || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
                (void) execvp(command->words[0], command->words);
        return errno;
}

int command_start(char *const words[], CommandStdout to, RunningCommand *ret) {
        RunningCommand command = { .begin_mono_ns = clock_now_ns(CLOCK_MONOTONIC) };
        CommandResult result;
        int r;

        r = child_run(cancel_fork_command, become, &(Command){ words, to }, &command.pid);
        if (r == 0) {
                *ret = command;
                return 0;
        }
        if (command.pid > 0)
                command_wait(&command, &result);
        return r == -ECANCELED ? complain(STATUS_FAILED, "Cancelled.")
                               : complain_exec(words[0], -r);
}

void command_wait(RunningCommand *command, CommandResult *ret) {
        pid_t pid = command->pid;
        int status = 0;
        siginfo_t end;

        *ret = (CommandResult){};
        /* Once it is reaped its number may be another's: pass on no signal then. */
        while (waitid(P_PID, (id_t) pid, &end, WEXITED | WNOWAIT) < 0 && errno == EINTR)
                ;
        cancel_end_command();
        while (wait4(pid, &status, 0, &ret->usage) < 0 && errno == EINTR)
                ;
        command->pid = 0;
        ret->signalled = WIFSIGNALED(status);
        ret->code = ret->signalled ? WTERMSIG(status) : WEXITSTATUS(status);
        ret->elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - command->begin_mono_ns;
}

int command_run(char *const words[], CommandStdout to, CommandResult *ret) {
        RunningCommand command = {};
        int r = command_start(words, to, &command);

        if (r == 0)
                command_wait(&command, ret);
        return r;
}

int command_status(const CommandResult *result) {
        return result->signalled ? COMMAND_STATUS_SIGNALLED + result->code : result->code;
}
