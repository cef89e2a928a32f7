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
#include "base/file.h"

#define MAX_WORDS 15
#define SCREEN_BYTES (64 * 1024) /* more than a screen has, with colours */

/* The exit status for the handler below, which cannot get it in any other way. */
static volatile sig_atomic_t status_when_left;

static void on_broken_pipe(int number) {
        _exit(status_when_left);
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

static void write_all(int fd, const char *bytes, size_t n) {
        if (file_write(fd, bytes, n) < 0)
                _exit(EXIT_FAILURE);
}

/* Copies stdin: the last resort if there is no pager, and the way in which one is fed. */
static _noreturn_ void copy_through(int fd) {
        char bytes[4096];
        ssize_t n;

        while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
                write_all(fd, bytes, (size_t) n);
        _exit(EXIT_SUCCESS);
}

/* Lines that a terminal breaks take more than one of its rows; escapes take no column. */
static size_t count_rows(const char *text, size_t n, size_t columns) {
        size_t n_rows = 0, width = 0;

        for (size_t i = 0; i < n; i++) {
                if (text[i] == '\033') {
                        while (i + 1 < n && text[i] != 'm')
                                i++;
                } else if (text[i] == '\n') {
                        n_rows++;
                        width = 0;
                } else if (((unsigned char) text[i] & 0xc0) != 0x80) { /* not within a character */
                        n_rows += width == columns;
                        width = width == columns ? 1 : width + 1;
                }
        }
        return n_rows + (width > 0);
}

/*
 * Prints what comes if it leaves a row of the terminal for the prompt, and ends. Otherwise returns,
 * with an stdin that has all of it.
 */
static void print_what_fits(const Terminal *terminal) {
        static char bytes[SCREEN_BYTES];
        size_t n = 0;
        int fds[2];
        pid_t pid;

        for (;;) {
                ssize_t n_read = read(STDIN_FILENO, bytes + n, sizeof(bytes) - n);

                if (n_read < 0 && errno == EINTR)
                        continue;
                n += n_read > 0 ? (size_t) n_read : 0;
                if (n == sizeof(bytes) || count_rows(bytes, n, terminal->columns) >= terminal->rows)
                        break;
                if (n_read <= 0) {
                        write_all(STDOUT_FILENO, bytes, n);
                        _exit(EXIT_SUCCESS);
                }
        }
        /* A process of its own puts it back: the pager may be left before all of it has come. */
        if (pipe2(fds, O_CLOEXEC) < 0)
                _exit(EXIT_FAILURE);
        pid = fork();
        if (pid < 0)
                _exit(EXIT_FAILURE);
        if (pid == 0) {
                (void) close(fds[0]);
                write_all(fds[1], bytes, n);
                copy_through(fds[1]);
        }
        (void) close(fds[1]); /* or the input would never end */
        if (dup2(fds[0], STDIN_FILENO) < 0)
                _exit(EXIT_FAILURE);
}

static _noreturn_ void run_pager(const char *command, const Terminal *terminal) {
        const char *less = getenv("SYSTEMD_LESS");
        const char *secure = getenv("SYSTEMD_PAGERSECURE");

        print_what_fits(terminal);
        (void) setenv("LESS", less ? less : "FRSX", 1);
        (void) setenv("LESSCHARSET", "utf-8", 0);
        /* The shell escape of a pager under sudo would grant more than the rules of sudo do. */
        if (secure ? strcmp(secure, "0") != 0 : getenv("SUDO_UID") != NULL)
                (void) setenv("LESSSECURE", "1", 1);

        if (command[0] != '\0')
                exec_words(command);
        exec_words("less");
        exec_words("more");
        copy_through(STDOUT_FILENO);
}

int pager_open(Pager *pager, const Terminal *terminal, int left_status) {
        _cleanup_(fd_closep) int read_fd = -EBADF, write_fd = -EBADF;
        const char *command = getenv("SYSTEMD_PAGER");
        int fds[2];
        pid_t pid;

        *pager = (Pager){};
        if (!command)
                command = getenv("PAGER");
        if (!command)
                command = ""; /* the user chose nothing */
        else if (command[strspn(command, " \t")] == '\0' || strcmp(command, "cat") == 0)
                return 0;
        if (!terminal->out)
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
                (void) close(read_fd);
                (void) close(write_fd);
                run_pager(command, terminal);
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
