/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LISTEN_FD 3
#define END_TIMEOUT_MS 5000

static int set_environment(void) {
        char pid[24];

        (void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
        if (setenv("LISTEN_FDS", "1", 1) < 0 || setenv("LISTEN_PID", pid, 1) < 0 ||
            setenv("LISTEN_FDNAMES", "varlink", 1) < 0)
                return -errno;
        /* We report failures of a call; the log of the child would report them a second time. */
        if (setenv("SYSTEMD_LOG_LEVEL", "err", 0) < 0)
                return -errno;
        (void) unsetenv("NOTIFY_SOCKET");
        return 0;
}

/*
 * Runs in the new process: gives it its socket, closes all else, and executes it. Returns -errno.
 */
static int become(const char *path, const char *const arguments[], int socket_fd, int *error_fd) {
        sigset_t none;
        int null_fd, r;

        /* Move both away from descriptor 3. */
        r = fcntl(*error_fd, F_DUPFD_CLOEXEC, LISTEN_FD + 1);
        if (r < 0)
                return -errno;
        *error_fd = r;
        socket_fd = fcntl(socket_fd, F_DUPFD_CLOEXEC, LISTEN_FD + 1);
        if (socket_fd < 0 || dup2(socket_fd, LISTEN_FD) < 0)
                return -errno;

        /* Close descriptors that our parent left open; kernels without this flag keep them. */
        (void) close_range(LISTEN_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);

        /* Our stdout carries only results. */
        null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)
                return -errno;

        /* Ctrl-C is for us: we hang up, and that ends the call in order. */
        if (setpgid(0, 0) < 0)
                return -errno;
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGINT, SIG_DFL);
        (void) signal(SIGTERM, SIG_DFL);
        r = set_environment();
        if (r < 0)
                return r;

        /* execv() does not write to the arguments; C cannot express that in its type. */
        union {
                const char *const *is;
                char *const *wanted;
        } cast = { .is = arguments };
        (void) execv(path, cast.wanted);
        return -errno;
}

/* The errno that exec failed with, or 0 when the pipe closed because it succeeded. */
static int read_exec_error(int fd) {
        int error = 0;
        ssize_t n;

        do
                n = read(fd, &error, sizeof(error));
        while (n < 0 && errno == EINTR);
        return n == sizeof(error) ? error : 0;
}

int child_start(Child *child, const char *path, const char *const arguments[], int *ret_fd) {
        _cleanup_(fd_closep) int ours = -EBADF, theirs = -EBADF, error_read = -EBADF,
                                 error_write = -EBADF;
        int sockets[2], pipes[2], error;
        pid_t pid;

        *child = (Child){};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return -errno;
        ours = sockets[0];
        theirs = sockets[1];
        if (pipe2(pipes, O_CLOEXEC) < 0)
                return -errno;
        error_read = pipes[0];
        error_write = pipes[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                error = -become(path, arguments, theirs, &error_write);
                (void) !write(error_write, &error, sizeof(error));
                _exit(EXIT_FAILURE);
        }
        child->pid = pid;
        theirs = fd_close(theirs);
        error_write = fd_close(error_write);
        error = read_exec_error(error_read);
        if (error > 0) {
                child_end(child);
                return -error;
        }
        *ret_fd = TAKE_FD(ours);
        return 0;
}

static void wait_for(Child *child) {
        pid_t pid;

        do
                pid = waitpid(child->pid, &child->status, 0);
        while (pid < 0 && errno == EINTR);
        child->pid = 0;
}

void child_end(Child *child) {
        _cleanup_(fd_closep) int pid_fd = -EBADF;
        struct pollfd polled;
        int n;

        if (child->pid <= 0)
                return;
        pid_fd = pidfd_open(child->pid, 0);
        polled = (struct pollfd){ .fd = pid_fd, .events = POLLIN };
        do
                n = pid_fd < 0 ? 0 : poll(&polled, 1, END_TIMEOUT_MS);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
                (void) kill(child->pid, SIGKILL);
        wait_for(child);
}

void child_format_fate(const Child *child, char ret_text[static CHILD_FATE_BYTES]) {
        const char *name;

        if (WIFSIGNALED(child->status)) {
                name = sigabbrev_np(WTERMSIG(child->status));
                (void) snprintf(ret_text, CHILD_FATE_BYTES, "was killed by SIG%s",
                                name ? name : "NAL");
        } else {
                (void) snprintf(ret_text, CHILD_FATE_BYTES, "exited with status %d",
                                WEXITSTATUS(child->status));
        }
}
