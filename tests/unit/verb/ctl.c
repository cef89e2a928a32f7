/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "call/cancel.h"
#include "verb/verb.h"
#include "wire/frame.h"
#include "wire/limits.h"

#define MAX_WORDS 64

void ctl_init(Ctl *ctl, const Exchange *exchanges, size_t n_exchanges) {
        ctl->exchanges = exchanges;
        ctl->n_exchanges = n_exchanges;
        ctl->zone = NULL;
        ctl->pager = NULL;
        temporary_init(&ctl->temporary);
}

void ctl_done(Ctl *ctl) {
        temporary_done(&ctl->temporary);
}

/* the daemon */

static void serve(const Exchange *exchange, int listener, FILE *record) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        _cleanup_(frame_stream_freep) FrameStream *stream = NULL;
        struct ucred peer = {};
        socklen_t n_peer = sizeof(peer);
        const char *frame = exchange->replies, *end = frame + exchange->n_replies;
        Span asked;

        if (frame_stream_new(fd, LIMIT_CALL_BYTES, LIMIT_QUEUED_BYTES, LIMIT_FDS_PER_CALL,
                             &stream) ||
            frame_stream_wait(stream, -1, &asked))
                return;
        (void) fprintf(record, "%.*s", (int) asked.n, asked.bytes);
        if (stream->n_fds > 0)
                (void) fprintf(record, " +%zu", stream->n_fds);
        (void) fputc('\n', record);
        (void) fflush(record);

        while (frame < end) {
                size_t n = strlen(frame);
                bool last = frame + n + 1 == end;
                int file = -EBADF;

                if (last && exchange->signal != 0 && frame_stream_flush(stream) == 0 &&
                    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_peer) == 0)
                        (void) kill(peer.pid, exchange->signal);
                if (last && exchange->waits && frame_stream_flush(stream) == 0)
                        serve(exchange + 1, listener, record);
                if (exchange->file && last) {
                        file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
                        /* Its position is at the end, as after writing: readers must not care. */
                        if (write(file, exchange->file, strlen(exchange->file)) < 0)
                                return;
                }
                if (frame_stream_queue(stream, (Span){ frame, n }, &file, file >= 0))
                        return;
                frame += n + 1;
        }
        if (frame_stream_flush(stream))
                return;
}

static pid_t start_daemon(const Ctl *ctl, const char *socket_path, const char *record_path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        FILE *record = fopen(record_path, "we"); /* empty, also if the daemon never gets to run */
        pid_t pid;

        ck_assert_ptr_nonnull(record);
        (void) unlink(socket_path);
        (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
        ck_assert_int_eq(bind(listener, (const struct sockaddr *) &address, sizeof(address)), 0);
        ck_assert_int_eq(listen(listener, 16), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                for (size_t i = 0; i < ctl->n_exchanges; i += 1 + ctl->exchanges[i].waits)
                        serve(&ctl->exchanges[i], listener, record);
                _exit(0);
        }
        (void) fclose(record);
        (void) fd_close(listener);
        return pid;
}

static void read_file(const char *path, char ret_text[static CTL_OUTPUT_BYTES]) {
        FILE *file = fopen(path, "re");
        size_t n = file ? fread(ret_text, 1, CTL_OUTPUT_BYTES - 1, file) : 0;

        ret_text[n] = '\0';
        if (file)
                (void) fclose(file);
}

/* the client */

static int run_words(const Ctl *ctl, const char *const words[], const char *socket_path) {
        char *argv[MAX_WORDS + 2] = {};
        int argc = 0;

        if (chdir(ctl->temporary.path) < 0 || setenv("CTPROF_SOCKET", socket_path, 1) < 0 ||
            setenv("TZ", ctl->zone ? ctl->zone : "UTC", 1) < 0 ||
            setenv("SYSTEMD_PAGER", ctl->pager ? ctl->pager : "", 1) < 0)
                return 99;
        (void) unsetenv("COLUMNS");
        argv[argc++] = strdup("ctprofctl");
        for (size_t i = 0; words[i] && argc <= MAX_WORDS; i++)
                argv[argc++] = strdup(words[i]);
        cancel_open();
        int status = dispatch(argc, argv);
        while (argc > 0)
                free(argv[--argc]);
        return status;
}

static void end_process(pid_t pid, int *ret_status) {
        int status = 0;

        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Of what nobody asked for there is nothing to wait. */
static void end_daemon(pid_t pid) {
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
}

static void redirect(int fd, const char *path) {
        int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (dup2(file, fd) < 0)
                _exit(98);
}

/* What a sanitizer found is written to stderr at the end, where a test need not look. */
static void expect_clean(const char *text) {
        const char *report = strstr(text, "Sanitizer");

        ck_assert_msg(!report, "%.500s", report);
}

void ctl_run(Ctl *ctl, const char *const words[]) {
        char socket_path[TEMPORARY_PATH_BYTES], asked[TEMPORARY_PATH_BYTES],
                out[TEMPORARY_PATH_BYTES], err[TEMPORARY_PATH_BYTES];
        pid_t daemon, client;

        (void) temporary_path(&ctl->temporary, ".socket", socket_path);
        (void) temporary_path(&ctl->temporary, ".asked", asked);
        (void) temporary_path(&ctl->temporary, ".out", out);
        (void) temporary_path(&ctl->temporary, ".err", err);
        daemon = start_daemon(ctl, socket_path, asked);

        /* What is buffered must not be written twice. */
        (void) fflush(NULL);
        client = fork();
        ck_assert_int_ge(client, 0);
        if (client == 0) {
                redirect(STDOUT_FILENO, out);
                redirect(STDERR_FILENO, err);
                exit(run_words(ctl, words, socket_path));
        }
        end_process(client, &ctl->status);
        end_daemon(daemon);
        read_file(out, ctl->out);
        read_file(err, ctl->err);
        read_file(asked, ctl->asked);
        expect_clean(ctl->err);
}

void ctl_run_terminal(Ctl *ctl, const char *const words[], unsigned short columns) {
        const struct winsize size = { .ws_row = 24, .ws_col = columns };
        char socket_path[TEMPORARY_PATH_BYTES], asked[TEMPORARY_PATH_BYTES];
        pid_t daemon, client;
        int master = -EBADF;
        size_t n = 0;
        ssize_t got;

        (void) temporary_path(&ctl->temporary, ".socket", socket_path);
        (void) temporary_path(&ctl->temporary, ".asked", asked);
        daemon = start_daemon(ctl, socket_path, asked);
        (void) fflush(NULL);
        client = forkpty(&master, NULL, NULL, &size);
        ck_assert_int_ge(client, 0);
        if (client == 0) {
                (void) setenv("TERM", "xterm", 1);
                (void) setenv("NO_COLOR", "1", 1);
                exit(run_words(ctl, words, socket_path));
        }
        while (n < CTL_OUTPUT_BYTES - 1 &&
               (got = read(master, ctl->out + n, CTL_OUTPUT_BYTES - 1 - n)) > 0)
                n += (size_t) got;
        ctl->out[n] = '\0';
        ctl->err[0] = '\0';
        (void) fd_close(master);
        end_process(client, &ctl->status);
        end_daemon(daemon);
        read_file(asked, ctl->asked);
        expect_clean(ctl->out);
}
