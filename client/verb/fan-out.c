/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/fan-out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "call/cancel.h"
#include "remote/relay.h"
#include "session/complain.h"

#define STEP_MS 1000           /* a signal may come in front of a wait */
#define COMPLAINT_BYTES 16384u /* that are kept of one host */
#define COPY_BYTES 65536u

/* One host while it is asked. */
typedef struct Asking {
        const char *host; /* borrowed */
        pid_t pid;        /* 0: not asked yet, or it has ended */
        int pid_fd, connected_fd, out_fd, error_fd;
        bool begun, ended;
        int status;
        char *complaint; /* owned; what it wrote to stderr, or NULL */
        bool is_told;    /* of the complaint */
} Asking;

typedef struct FanOut {
        Session *session;
        int (*run)(Session *session);
        FanOutForm form;
        Asking *askings;
        size_t n;
        size_t n_begun, n_printed;
        size_t n_shown; /* whose output was not empty */
        char *columns;  /* owned: the first line of CSV, which all share; NULL: not known yet */
        char *piece;
} FanOut;

static void fan_out_done(FanOut *fan) {
        for (size_t i = 0; i < fan->n; i++) {
                Asking *asking = &fan->askings[i];

                (void) fd_close(asking->pid_fd);
                (void) fd_close(asking->connected_fd);
                (void) fd_close(asking->out_fd);
                (void) fd_close(asking->error_fd);
                free(asking->complaint);
        }
        free(fan->askings);
        free(fan->columns);
        free(fan->piece);
}

/* asking */

static _noreturn_ void ask(const FanOut *fan, const Asking *asking, int connected_fd) {
        Options options = *fan->session->options;
        Session session;
        int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        options.given |= OPTION_BIT(NO_PAGER);
        /* The names of the columns of CSV tell whether there is one for the host. */
        if (fan->form == FAN_OUT_CSV)
                options.given &= ~OPTION_BIT(NO_LEGEND);
        session_init(&session, &options);
        /* The output goes to our terminal in the end, though through a pager by now. */
        session.terminal = fan->session->terminal;
        session.json = fan->session->json;
        session.terminal.err = false;
        session.progress.enabled = false;
        session.host = asking->host;
        session.is_of_many = true;
        session.connected_fd = connected_fd;
        if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
            dup2(asking->out_fd, STDOUT_FILENO) < 0 || dup2(asking->error_fd, STDERR_FILENO) < 0)
                _exit(STATUS_FAILED);
        /* Nobody wants the answer when the user has left the pager, and we have ended. */
        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void) signal(SIGPIPE, SIG_DFL);
        exit(session_done(&session, fan->run(&session)));
}

static int begin(FanOut *fan, Asking *asking) {
        int fds[2];

        asking->out_fd = unnamed_file_open();
        asking->error_fd = asking->out_fd < 0 ? -EBADF : unnamed_file_open();
        if (asking->out_fd < 0 || asking->error_fd < 0)
                return asking->out_fd < 0 ? asking->out_fd : asking->error_fd;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        asking->connected_fd = fds[0];
        (void) fflush(stdout);
        asking->pid = fork();
        if (asking->pid == 0) {
                (void) close(fds[0]);
                ask(fan, asking, fds[1]);
        }
        (void) close(fds[1]);
        if (asking->pid < 0) {
                asking->pid = 0;
                return -errno;
        }
        asking->pid_fd = pidfd_open(asking->pid, 0);
        asking->begun = true;
        return asking->pid_fd < 0 ? -errno : 0;
}

static void end(Asking *asking) {
        _cleanup_(buffer_done) Buffer text = {};
        size_t n_host = strlen(asking->host);
        int status = 0;
        ssize_t n = 0;
        char *bytes;

        while (waitpid(asking->pid, &status, 0) < 0 && errno == EINTR)
                ;
        asking->pid = 0;
        asking->pid_fd = fd_close(asking->pid_fd);
        asking->connected_fd = fd_close(asking->connected_fd);
        asking->ended = true;
        asking->status = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;

        /* It complains with the name of the host in front, which is left out here. */
        if (buffer_reserve(&text, COMPLAINT_BYTES, &bytes) == 0)
                n = pread(asking->error_fd, bytes, COMPLAINT_BYTES - 1, 0);
        text.n = n > 0 ? (size_t) n : 0;
        asking->error_fd = fd_close(asking->error_fd);
        while (text.n > 0 && text.bytes[text.n - 1] == '\n')
                text.n--;
        if (text.n > n_host + 2 && memcmp(text.bytes, asking->host, n_host) == 0 &&
            memcmp(text.bytes + n_host, ": ", 2) == 0)
                buffer_drop_front(&text, n_host + 2);
        if (text.n > 0 && buffer_take_text(&text, &asking->complaint) != 0)
                asking->complaint = NULL;
        if (!asking->complaint && WIFSIGNALED(status) &&
            asprintf(&asking->complaint, "the process that asked it was killed by signal %d.",
                     WTERMSIG(status)) < 0)
                asking->complaint = NULL;
}

/* printing */

static bool print(const char *bytes, size_t n) {
        return n == 0 || fwrite(bytes, 1, n, stdout) == n;
}

/* Copies the rest of the output; each line of rows gets the mark behind @n_skipped bytes. */
static int copy(FanOut *fan, Asking *asking, off_t offset, Span mark, size_t n_skipped) {
        bool each_line = fan->form != FAN_OUT_JSON, at_begin = true;
        size_t n_column = 0;
        ssize_t n;

        while ((n = pread(asking->out_fd, fan->piece, COPY_BYTES, offset)) != 0) {
                const char *rest = fan->piece, *end = fan->piece + n;

                if (n < 0)
                        return -errno;
                offset += n;
                while (rest < end) {
                        const char *newline = memchr(rest, '\n', (size_t) (end - rest));
                        size_t n_line = (size_t) ((newline ? newline + 1 : end) - rest), n_front;

                        if (at_begin && n_column + n_line >= n_skipped && mark.n > 0) {
                                n_front = n_skipped - n_column;
                                if (!print(rest, n_front) || !print(mark.bytes, mark.n))
                                        return -EIO;
                                rest += n_front;
                                n_line -= n_front;
                                at_begin = false;
                        }
                        if (!print(rest, n_line))
                                return -EIO;
                        n_column += n_line;
                        rest += n_line;
                        if (newline && each_line) {
                                at_begin = true;
                                n_column = 0;
                        }
                }
        }
        return 0;
}

/* *ret is the first line of the output, with its end; "" if there is none. */
static int read_line(Asking *asking, char **ret) {
        _cleanup_(buffer_done) Buffer line = {};
        const char *newline = NULL;
        char *bytes;
        ssize_t n;
        int r;

        do {
                r = buffer_reserve(&line, 4096, &bytes);
                if (r < 0)
                        return r;
                n = pread(asking->out_fd, bytes, 4096, (off_t) line.n);
                if (n < 0)
                        return -errno;
                line.n += (size_t) n;
                newline = line.n > 0 ? memchr(line.bytes, '\n', line.n) : NULL;
        } while (n > 0 && !newline && line.n < COMPLAINT_BYTES * 64);
        if (newline)
                buffer_truncate(&line, (size_t) (newline - line.bytes) + 1);
        return buffer_take_text(&line, ret);
}

static int print_csv(FanOut *fan, Asking *asking, Span mark) {
        bool legend = !options_have(fan->session->options, OPTION_NO_LEGEND), has_host = false;
        _cleanup_(freep) char *columns = NULL;
        size_t n_columns;
        int r;

        r = read_line(asking, &columns);
        if (r != 0 || !columns)
                return r;
        /* Rows do not fit below the names of other columns that stand there already. */
        if (fan->columns && strcmp(columns, fan->columns) != 0) {
                asking->status = STATUS_FAILED;
                free(asking->complaint);
                asking->complaint = strdup("its rows have other columns than those of the hosts in "
                                           "front of it: ask it alone.");
                return 0;
        }
        n_columns = strlen(columns);
        for (const char *at = columns; !has_host && *at != '\0';) {
                size_t n = strcspn(at, ",\r\n");

                has_host = span_is((Span){ at, n }, "host");
                at += n + (at[n] != '\0');
        }
        if (!fan->columns) {
                if (legend &&
                    ((!has_host && !print("host,", strlen("host,"))) || !print(columns, n_columns)))
                        return -EIO;
                fan->columns = TAKE_PTR(columns);
        }
        if (has_host)
                mark = (Span){};
        return copy(fan, asking, (off_t) n_columns, mark, 0);
}

/*
 * Cuts what one that failed has begun and not ended, as it would spoil what follows for a program
 * that reads it: the rest of a line of rows, or all of a result. *ret is the size then.
 */
static int cut_output(const FanOut *fan, Asking *asking, off_t *ret) {
        bool is_pretty = fan->session->json == JSON_STYLE_PRETTY;
        char end[3] = "";
        struct stat st;
        ssize_t n = 0;

        if (fstat(asking->out_fd, &st) < 0)
                return -errno;
        *ret = st.st_size;
        if (fan->form == FAN_OUT_TEXT || *ret == 0)
                return 0;
        if (fan->form == FAN_OUT_JSON) {
                n = pread(asking->out_fd, end, sizeof(end),
                          MAX_OF(*ret - (off_t) sizeof(end), (off_t) 0));
                if (n == sizeof(end) && memcmp(end + 1, "}\n", 2) == 0 &&
                    (!is_pretty || end[0] == '\n' || end[0] == '{'))
                        return 0;
                *ret = 0;
        }
        for (; *ret > 0; (*ret)--) {
                n = pread(asking->out_fd, end, 1, *ret - 1);
                if (n < 0)
                        return -errno;
                if (n == 0 || end[0] == '\n')
                        break;
        }
        return *ret < st.st_size && ftruncate(asking->out_fd, *ret) < 0 ? -errno : 0;
}

static int print_output(FanOut *fan, Asking *asking) {
        const char *front = fan->session->json == JSON_STYLE_PRETTY && fan->form == FAN_OUT_JSON
                                    ? "\n  \"host\": \""
                                    : "\"host\":\"";
        _cleanup_(buffer_done) Buffer mark = {};
        _cleanup_(freep) char *line = NULL;
        off_t size = 0;
        int r = cut_output(fan, asking, &size);

        if (r < 0 || size == 0)
                return r;
        r = fan->n_shown == 0 ? session_page(fan->session) : 0;
        if (r != 0)
                return -ECANCELED;
        /* The mark stands in front of a line, or behind its first brace. */
        if (fan->form == FAN_OUT_CSV) {
                r = buffer_append_format(&mark, "%s,", asking->host);
        } else {
                /* JSON would escape only the backslash of the characters of a host's name. */
                buffer_append_text(&mark, front);
                for (const char *c = asking->host; *c != '\0'; c++)
                        buffer_append_text(&mark, *c == '\\' ? "\\\\" : (char[]){ *c, '\0' });
                r = buffer_append_text(&mark, "\",");
        }
        if (r < 0)
                return r;
        switch (fan->form) {
        case FAN_OUT_TEXT:
                (void) printf("%s%s:\n", fan->n_shown > 0 ? "\n" : "", asking->host);
                r = copy(fan, asking, 0, (Span){}, 0);
                break;
        case FAN_OUT_JSON:
                r = copy(fan, asking, 0, buffer_span(&mark), 1);
                break;
        case FAN_OUT_NDJSON:
                /* A text in JSON would have a backslash in front of each of these quotes. */
                r = read_line(asking, &line);
                if (r == 0 && line && strstr(line, ",\"host\":"))
                        buffer_clear(&mark);
                if (r == 0)
                        r = copy(fan, asking, 0, buffer_span(&mark), 1);
                break;
        case FAN_OUT_CSV:
                r = print_csv(fan, asking, buffer_span(&mark));
                break;
        }
        fan->n_shown++;
        return r;
}

/* Prints each line of a complaint behind all hosts that have it. */
static int tell_all(FanOut *fan) {
        _cleanup_(freep) const char **hosts = calloc(fan->n, sizeof(*hosts));

        if (!hosts)
                return -ENOMEM;
        for (size_t first = 0; first < fan->n; first++) {
                const char *complaint = fan->askings[first].complaint, *folded = "";
                _cleanup_(buffer_done) Buffer text = {};
                size_t n = 0;
                int r;

                if (!complaint || fan->askings[first].is_told)
                        continue;
                for (size_t i = first; i < fan->n; i++) {
                        Asking *asking = &fan->askings[i];

                        if (!asking->complaint || strcmp(asking->complaint, complaint) != 0)
                                continue;
                        asking->is_told = true;
                        hosts[n++] = asking->host;
                }
                r = host_set_fold(hosts, n, &text);
                if (r == 0)
                        r = buffer_terminate(&text, &folded);
                if (r < 0)
                        return r;
                for (const char *line = complaint; *line != '\0';) {
                        int n_line = (int) strcspn(line, "\n");

                        (void) complain(STATUS_DONE, "%s: %.*s", folded, n_line, line);
                        line += n_line + (line[n_line] != '\0');
                }
        }
        return 0;
}

/* the loop */

/*
 * --fanout bounds how many are asked at a time. With --at all have to stand ready together, and
 * with --for they record at the same time: there it bounds how many log in at a time.
 */
static size_t count_busy(const FanOut *fan) {
        const Options *options = fan->session->options;
        bool only_logins = options->at_realtime_ns > 0 || options->for_ns > 0;
        size_t n = 0;

        for (size_t i = 0; i < fan->n_begun; i++)
                n += fan->askings[i].pid > 0 && (!only_logins || fan->askings[i].connected_fd >= 0);
        return n;
}

static int wait_for_some(FanOut *fan, struct pollfd *polled) {
        size_t n = 0;

        for (size_t i = 0; i < fan->n_begun; i++) {
                const Asking *asking = &fan->askings[i];

                polled[n++] = (struct pollfd){ .fd = asking->pid > 0 ? asking->pid_fd : -1,
                                               .events = POLLIN };
                polled[n++] = (struct pollfd){ .fd = asking->connected_fd };
        }
        if (poll(polled, n, STEP_MS) < 0)
                return errno == EINTR ? 0 : -errno;
        for (size_t i = 0; i < fan->n_begun; i++) {
                Asking *asking = &fan->askings[i];

                if ((polled[2 * i + 1].revents & POLLHUP) != 0)
                        asking->connected_fd = fd_close(asking->connected_fd);
                if (polled[2 * i].revents != 0)
                        end(asking);
        }
        return 0;
}

static int ask_all(FanOut *fan) {
        _cleanup_(freep) struct pollfd *polled = calloc(2 * fan->n + 1, sizeof(*polled));
        size_t fanout = fan->session->options->fanout;
        int r = polled ? 0 : -ENOMEM;

        if (fanout == 0)
                fanout = FAN_OUT_DEFAULT;
        while (r == 0 && fan->n_printed < fan->n && !cancel_requested()) {
                while (r == 0 && fan->n_begun < fan->n && count_busy(fan) < fanout)
                        r = begin(fan, &fan->askings[fan->n_begun++]);
                if (r == 0)
                        r = wait_for_some(fan, polled);
                /* The outputs are printed in their order, up to the first host that goes on. */
                while (r == 0 && fan->n_printed < fan->n && fan->askings[fan->n_printed].ended) {
                        Asking *asking = &fan->askings[fan->n_printed++];

                        r = print_output(fan, asking);
                        asking->out_fd = fd_close(asking->out_fd);
                }
        }
        /* Each that is still asked hangs up, and takes leave of its ssh. */
        for (size_t i = 0; i < fan->n_begun; i++)
                if (fan->askings[i].pid > 0)
                        (void) kill(fan->askings[i].pid, SIGTERM);
        for (size_t i = 0; i < fan->n_begun; i++)
                if (fan->askings[i].pid > 0)
                        end(&fan->askings[i]);
        return r;
}

int fan_out(Session *session, FanOutForm form, int (*run)(Session *session), const HostSet *hosts) {
        _cleanup_(fan_out_done) FanOut fan = { .session = session, .run = run, .form = form };
        bool failed = false, above = false, all_usage = true;
        struct rlimit limit;
        int r;

        /* Each host that was asked holds a file until it is its turn to be printed. */
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
                limit.rlim_cur = limit.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &limit);
        }
        fan.piece = malloc(COPY_BYTES);
        fan.askings = calloc(hosts->n, sizeof(*fan.askings));
        if (!fan.askings || !fan.piece)
                return complain_errno(-ENOMEM, "ask the hosts");
        fan.n = hosts->n;
        for (size_t i = 0; i < fan.n; i++)
                fan.askings[i] = (Asking){ .host = hosts->names[i],
                                           .pid_fd = -EBADF,
                                           .connected_fd = -EBADF,
                                           .out_fd = -EBADF,
                                           .error_fd = -EBADF };
        r = ask_all(&fan);
        if (cancel_requested())
                return complain(STATUS_FAILED, "Cancelled.");
        if (r == 0)
                r = tell_all(&fan);
        if (r != 0)
                return complain_errno(r, "ask the hosts");
        /* 1 if any failed, 2 if all say that, 3 if all answered and some found differences. */
        for (size_t i = 0; i < fan.n; i++) {
                int status = fan.askings[i].status;

                all_usage = all_usage && status == STATUS_USAGE;
                above = above || status == STATUS_ABOVE;
                failed = failed || (status != STATUS_DONE && status != STATUS_ABOVE);
        }
        if (failed)
                return all_usage ? STATUS_USAGE : STATUS_FAILED;
        return above ? STATUS_ABOVE : STATUS_DONE;
}
