/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LISTEN_FD 3
#define END_TIMEOUT_MS 5000
#define CANNOT_RUN 126 /* the status that shells use */

int child_run(int (*do_fork)(pid_t *ret), ChildBecome become, void *userdata, pid_t *ret_pid) {
        _cleanup_(fd_closep) int read_fd = -EBADF, write_fd = -EBADF;
        int fds[2], error = 0, r = 0;
        ssize_t n;

        *ret_pid = 0;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        read_fd = fds[0];
        write_fd = fds[1];
        if (do_fork)
                r = do_fork(ret_pid);
        else if ((*ret_pid = fork()) < 0)
                r = -errno;
        if (r < 0) {
                *ret_pid = 0;
                return r;
        }
        if (*ret_pid == 0) {
                /* This one is out of the way of the descriptors that the program gets. */
                int error_fd = fcntl(write_fd, F_DUPFD_CLOEXEC, LISTEN_FD + 1);

                error = error_fd < 0 ? errno : become(userdata);
                (void) !write(error_fd < 0 ? write_fd : error_fd, &error, sizeof(error));
                _exit(CANNOT_RUN);
        }
        write_fd = fd_close(write_fd);
        /* The pipe closes with nothing in it when the program runs. */
        do
                n = read(read_fd, &error, sizeof(error));
        while (n < 0 && errno == EINTR);
        return n == sizeof(error) ? -error : 0;
}

/* a ctprofd of our own */

typedef struct Server {
        const char *path;
        const char *const *arguments;
        int socket_fd;
} Server;

/* Gives the program its socket, closes all else, and executes it. */
static int become_server(void *userdata) {
        const Server *server = userdata;
        int socket_fd = fcntl(server->socket_fd, F_DUPFD_CLOEXEC, LISTEN_FD + 1), null_fd;
        char pid[24];
        sigset_t none;

        if (socket_fd < 0 || dup2(socket_fd, LISTEN_FD) < 0)
                return errno;
        /* Close descriptors that our parent left open; kernels without this flag keep them. */
        (void) close_range(LISTEN_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);

        /* Our stdout carries only results. */
        null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)
                return errno;

        /* Ctrl-C is for us: we hang up, and that ends the call in order. */
        if (setpgid(0, 0) < 0)
                return errno;
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGINT, SIG_DFL);
        (void) signal(SIGTERM, SIG_DFL);

        (void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
        if (setenv("LISTEN_FDS", "1", 1) < 0 || setenv("LISTEN_PID", pid, 1) < 0 ||
            setenv("LISTEN_FDNAMES", "varlink", 1) < 0)
                return errno;
        /* We report failures of a call; the log of the child would report them a second time. */
        if (setenv("SYSTEMD_LOG_LEVEL", "err", 0) < 0)
                return errno;
        (void) unsetenv("NOTIFY_SOCKET");
        /* It does not write to the arguments; C cannot express that in its type. */
        (void) execv(server->path, (char *const *) (uintptr_t) server->arguments);
        return errno;
}

int child_start(Child *child, const char *path, const char *const arguments[], int *ret_fd) {
        _cleanup_(fd_closep) int ours = -EBADF, theirs = -EBADF;
        int sockets[2], r;

        *child = (Child){};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return -errno;
        ours = sockets[0];
        theirs = sockets[1];
        r = child_run(NULL, become_server, &(Server){ path, arguments, theirs }, &child->pid);
        if (r < 0) {
                theirs = fd_close(theirs);
                child_end(child);
                return r;
        }
        *ret_fd = TAKE_FD(ours);
        return 0;
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
        while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
                ;
        child->pid = 0;
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

/* where it is */

int server_program_find(const char *override, const char *own_directory, Buffer *ret) {
        bool is_told = override && override[0] != '\0';
        /* All but the last are relative to the directory of our executable. */
        const char *const places[][2] = {
                { own_directory, "/ctprofd" },
                { own_directory, "/../daemon/ctprofd" }, /* of a build tree */
                { own_directory, "/../sbin/ctprofd" },
                { own_directory, "/../libexec/ctprofd" },
                { own_directory, "/../lib/ctprof/ctprofd" },
                { CTPROF_SBINDIR, "/ctprofd" },
        };
        struct stat st;

        for (size_t i = 0; i < (is_told ? 1 : ELEMENTSOF(places)); i++) {
                const char *path;
                int r;

                buffer_clear(ret);
                if (is_told)
                        buffer_append_text(ret, override);
                else
                        buffer_append_format(ret, "%s%s", places[i][0], places[i][1]);
                r = buffer_terminate(ret, &path);
                if (r < 0)
                        return r;
                if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
                        return SERVER_PROGRAM_OK;
        }
        return SERVER_PROGRAM_E_NONE;
}
