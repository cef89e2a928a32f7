/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_WORDS 15

/* The exit status for the handler below, which cannot get it in any other way. */
static volatile sig_atomic_t status_when_left;

static void on_broken_pipe(int number) {
        _exit(status_when_left);
}

/* The command that the user chose; NULL for no pager, "" if the user chose nothing. */
static const char *wanted_pager(void) {
        const char *pager = getenv("SYSTEMD_PAGER");

        if (!pager)
                pager = getenv("PAGER");
        if (!pager)
                return "";
        if (pager[strspn(pager, " \t")] == '\0' || strcmp(pager, "cat") == 0)
                return NULL;
        return pager;
}

/* Splits @command at blanks, as systemd does, without quotes. Returns only on failure. */
static void exec_words(const char *command) {
        char *words[MAX_WORDS + 1] = {}, *rest, *copy = strdup(command);
        size_t n = 0;

        if (!copy)
                return;
        for (char *word = strtok_r(copy, " \t", &rest); word && n < MAX_WORDS;
             word = strtok_r(NULL, " \t", &rest))
                words[n++] = word;
        if (n > 0)
                (void) execvp(words[0], words);
        free(copy);
}

/* The last resort if there is no pager: copies stdin to stdout. */
static _noreturn_ void copy_through(void) {
        char bytes[4096];
        ssize_t n;

        while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
                for (ssize_t done = 0, written; done < n; done += written) {
                        written = write(STDOUT_FILENO, bytes + done, (size_t) (n - done));
                        if (written < 0)
                                _exit(EXIT_FAILURE);
                }
        _exit(EXIT_SUCCESS);
}

static _noreturn_ void run_pager(const char *command) {
        const char *less = getenv("SYSTEMD_LESS");
        const char *secure = getenv("SYSTEMD_PAGERSECURE");

        (void) setenv("LESS", less ? less : "FRSX", 1);
        (void) setenv("LESSCHARSET", "utf-8", 0);
        /* The shell escape of a pager under sudo would grant more than the rules of sudo do. */
        if (secure ? strcmp(secure, "0") != 0 : getenv("SUDO_UID") != NULL)
                (void) setenv("LESSSECURE", "1", 1);

        if (command[0] != '\0')
                exec_words(command);
        exec_words("less");
        exec_words("more");
        copy_through();
}

int pager_open(Pager *pager, const Terminal *terminal, int left_status) {
        _cleanup_(fd_closep) int read_fd = -EBADF, write_fd = -EBADF;
        const char *command = wanted_pager();
        int fds[2];
        pid_t pid;

        *pager = (Pager){};
        if (!terminal->out || !command)
                return 0;
        if (fflush(stdout) == EOF)
                return -errno;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        read_fd = fds[0];
        write_fd = fds[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                sigset_t none;

                (void) sigemptyset(&none);
                (void) sigprocmask(SIG_SETMASK, &none, NULL);
                (void) signal(SIGINT, SIG_DFL);
                (void) signal(SIGTERM, SIG_DFL);
                (void) signal(SIGPIPE, SIG_DFL);
                if (dup2(read_fd, STDIN_FILENO) < 0)
                        _exit(EXIT_FAILURE);
                run_pager(command);
        }
        if (dup2(write_fd, STDOUT_FILENO) < 0)
                return -errno;
        status_when_left = left_status;
        (void) signal(SIGPIPE, on_broken_pipe);
        pager->pid = pid;
        return 0;
}

void pager_close(Pager *pager) {
        if (pager->pid == 0)
                return;
        (void) fflush(stdout);
        (void) close(STDOUT_FILENO);
        while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        (void) signal(SIGPIPE, SIG_DFL);
        pager->pid = 0;
}
