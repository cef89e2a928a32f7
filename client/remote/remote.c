/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "remote/remote.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "call/cancel.h"
#include "call/child.h"
#include "json/json-writer.h"
#include "remote/bridge-frame.h"
#include "remote/host-set.h"
#include "remote/relay.h"
#include "render/cell.h"
#include "render/printable.h"
#include "wire/limits.h"
#include "wire/message.h"

#define GREETING "ctprofBridge"
#define CONFIG_BYTES 65536u
#define LINE_COLUMNS 200u
#define END_STEP_MS 1000
/* Used if ssh's own configuration says nothing, for a host that is off would never time out. */
#define CONNECT_TIMEOUT "ConnectTimeout=10"
#define ALIVE_INTERVAL "ServerAliveInterval=15"
/* The pause before the one further try varies, so that not all who were refused come together. */
#define PAUSE_MS 1000u
#define PAUSE_SPREAD_MS 2000u

/* Statuses of a shell, and ssh's own. */
enum { STATUS_CANNOT_RUN = 126, STATUS_NOT_FOUND = 127, STATUS_SSH = 255 };

int remote_greeting_encode(Buffer *frame, const char *version, const char *daemon_version,
                           const char *host_name, const char *complaint) {
        _cleanup_(buffer_done) Buffer parameters = {};
        JsonWriter writer;
        int r;

        json_writer_init(&writer, &parameters);
        json_write_object(&writer);
        json_write_key(&writer, GREETING);
        json_write_object(&writer);
        json_write_member_u64(&writer, "bridge", BRIDGE_VERSION);
        json_write_member_u64(&writer, "realtimeNs", clock_now_ns(CLOCK_REALTIME));
        if (version)
                json_write_member_text(&writer, "version", version);
        if (host_name)
                json_write_member_name(&writer, "hostName", span_of(host_name));
        if (daemon_version)
                json_write_member_name(&writer, "daemonVersion", span_of(daemon_version));
        if (complaint)
                json_write_member_name(&writer, "complaint", span_of(complaint));
        json_write_end(&writer);
        json_write_end(&writer);
        r = json_writer_finish(&writer);
        return r < 0 ? r : reply_encode(frame, buffer_span(&parameters), false);
}

/* the process that stands between our socket and ssh */

/* It tells this once the bridge stands. Anything else is a sentence: why it does not, or broke. */
typedef struct Standing {
        char mark; /* no sentence begins with it */
        RemoteGreeting greeting;
} Standing;

#define STANDING_MARK '\1'

typedef struct Near {
        const Remote *remote;
        const char *ssh;
        HostAddress address;
        int socket_fd, words_fd;
        bool greeted;
        bool explained;
        pid_t pid; /* of ssh */
        int status;
} Near;

/* Says why it failed. Only the first reason counts: others follow from it. */
static _printf_(2, 3) void explain(Near *near, const char *format, ...) {
        char text[CONNECTION_COMPLAINT_BYTES];
        va_list arguments;

        if (near->explained)
                return;
        va_start(arguments, format);
        (void) vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        (void) !write(near->words_fd, text, strlen(text));
        near->explained = true;
}

/* Makes @text printable, and cuts it; "?" where there is no memory. */
static void format_line(Span text, char *ret, size_t n_ret) {
        _cleanup_(buffer_done) Buffer printable = {};
        const char *shown = "?";

        if (printable_append(&printable, text) < 0 || buffer_terminate(&printable, &shown) < 0)
                shown = "?";
        (void) snprintf(ret, n_ret, "%.*s",
                        (int) printable_cut(span_of(shown), LINE_COLUMNS, n_ret - 1), shown);
}

static int on_message(Relay *relay, Span message) {
        char complaint[MESSAGE_COMPLAINT_BYTES], line[CONNECTION_COMPLAINT_BYTES];
        Standing standing = { .mark = STANDING_MARK };
        _cleanup_(reply_done) Reply reply = {};
        Near *near = relay->userdata;
        json_object *bridge = NULL, *number;
        Span sentence;
        int r;

        if (near->greeted)
                return 0;
        r = reply_decode(message, &reply, complaint);
        if (r != 0 || reply.error ||
            !json_object_object_get_ex(reply.parameters, GREETING, &bridge)) {
                relay->n_strange = MIN_OF(message.n, sizeof(relay->strange));
                memcpy(relay->strange, message.bytes, relay->n_strange);
                return r < 0 ? r : RELAY_E_MALFORMED;
        }
        if (!json_object_object_get_ex(bridge, "bridge", &number) ||
            json_object_get_uint64(number) != BRIDGE_VERSION) {
                explain(near, "The ctprofctl there speaks another form of the bridge: both hosts "
                              "need the same version of ctprof.");
                return RELAY_E_REFUSED;
        }
        sentence = cell_string(cell_member(bridge, "complaint"));
        while (sentence.n > 0 && sentence.bytes[sentence.n - 1] == '.')
                sentence.n--;
        if (sentence.n > 0) {
                _cleanup_(buffer_done) Buffer printable = {};
                const char *shown = "?";

                /* It is a whole sentence of theirs, which has the remedy at its end. */
                if (printable_append_name(&printable, sentence) < 0 ||
                    buffer_terminate(&printable, &shown) < 0)
                        shown = "?";
                explain(near, "%.*s.",
                        (int) printable_cut(span_of(shown), SIZE_MAX,
                                            CONNECTION_COMPLAINT_BYTES - sizeof(".")),
                        shown);
                return RELAY_E_REFUSED;
        }
        format_line(cell_string(cell_member(bridge, "daemonVersion")), line, sizeof(line));
        (void) snprintf(standing.greeting.daemon_version, sizeof(standing.greeting.daemon_version),
                        "%.*s",
                        (int) printable_cut(span_of(line), REMOTE_VERSION_BYTES / 4,
                                            REMOTE_VERSION_BYTES - 1),
                        line);
        if (json_object_object_get_ex(bridge, "realtimeNs", &number))
                standing.greeting.realtime_ns = json_object_get_uint64(number);
        near->greeted = true;
        (void) !write(near->words_fd, &standing, sizeof(standing));
        return RELAY_SWALLOW;
}

/* ssh */

/* An ssh is started with these. */
typedef struct Words {
        const char *words[32];
        size_t n;
        char port[8];
        int fds[3]; /* its stdin, stdout and stderr */
} Words;

static void add_word(Words *words, const char *word) {
        if (words->n + 1 < ELEMENTSOF(words->words))
                words->words[words->n++] = word;
}

static void add_setting(Words *words, const char *setting) {
        add_word(words, "-o");
        add_word(words, setting);
}

static void add_port(Words *words, const Near *near) {
        if (near->address.port.n == 0)
                return;
        (void) snprintf(words->port, sizeof(words->port), "%.*s", (int) near->address.port.n,
                        near->address.port.bytes);
        add_word(words, "-p");
        add_word(words, words->port);
}

static int become(void *userdata) {
        const Words *words = userdata;

        /* If we are killed, it must not stay. */
        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void) signal(SIGPIPE, SIG_DFL);
        for (int i = 0; i < 3; i++)
                if (dup2(words->fds[i], i) < 0)
                        return errno;
        assert(words->words[0]);
        /* It does not write to the words. */
        (void) execvp(words->words[0], (char *const *) (uintptr_t) words->words);
        return errno;
}

static int make_pipe(int flags, int *ret_read_fd, int *ret_write_fd) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC | flags) < 0)
                return -errno;
        *ret_read_fd = fds[0];
        *ret_write_fd = fds[1];
        return 0;
}

static void reap(pid_t pid, int *ret_status) {
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                ;
}

/* 0 or -errno. */
static int start(Words *words, pid_t *ret_pid) {
        int r = child_run(NULL, become, words, ret_pid);

        if (r < 0 && *ret_pid > 0)
                reap(*ret_pid, NULL);
        return r;
}

static bool wait_for_input(int fd, int socket_fd) {
        struct pollfd polled[] = { { .fd = fd, .events = POLLIN }, { .fd = socket_fd } };

        while (poll(polled, ELEMENTSOF(polled), -1) < 0)
                if (errno != EINTR)
                        return false;
        return (polled[1].revents & POLLHUP) == 0;
}

/* Reads what ssh would do for this host, a setting a line; "" if it does not tell. */
static const char *read_config(Near *near, Buffer *text) {
        _cleanup_(fd_closep) int read_fd = -EBADF, write_fd = -EBADF;
        Words words = {};
        const char *result;
        ssize_t n = 1;
        pid_t pid = 0;
        char *end;

        add_word(&words, near->ssh);
        add_word(&words, "-G");
        add_port(&words, near);
        add_word(&words, "--");
        add_word(&words, near->address.text);
        if (make_pipe(0, &read_fd, &write_fd) < 0)
                return "";
        words.fds[0] = words.fds[2] = STDIN_FILENO; /* which is /dev/null */
        words.fds[1] = write_fd;
        if (start(&words, &pid) < 0)
                return "";
        write_fd = fd_close(write_fd);
        while (n > 0 && text->n < CONFIG_BYTES && wait_for_input(read_fd, near->socket_fd) &&
               buffer_reserve(text, 4096, &end) == 0) {
                n = read(read_fd, end, 4096);
                text->n += n > 0 ? (size_t) n : 0;
        }
        (void) kill(pid, SIGTERM);
        reap(pid, NULL);
        buffer_append_byte(text, '\0');
        result = text->bytes;
        return result && buffer_failure(text) == 0 ? result : "";
}

/* True if @config has a line "@name VALUE" whose value is not @none. */
static bool is_set(const char *config, const char *name, const char *none) {
        size_t n_name = strlen(name);

        for (const char *line = config; *line != '\0';) {
                size_t n = strcspn(line, "\n");

                if (n > n_name && strncmp(line, name, n_name) == 0 && line[n_name] == ' ')
                        return !span_is((Span){ line + n_name + 1, n - n_name - 1 }, none);
                line += n + (line[n] != '\0');
        }
        return false;
}

/* Starts ssh for the bridge; the descriptors of @relay become our ends. 0 or -errno. */
static int start_bridge(Near *near, const char *config, Relay *relay) {
        _cleanup_(fd_closep) int in_theirs = -EBADF, out_theirs = -EBADF, log_theirs = -EBADF;
        _cleanup_(buffer_done) Buffer command = {};
        const char *path = near->remote->socket_path, *command_text;
        Words words = {};
        int r;

        /* The words that the remote shell gets: a path is put in quotes for it. */
        buffer_append_text(&command, "ctprofctl bridge");
        if (path) {
                buffer_append_text(&command, " --socket '");
                for (const char *c = path; *c != '\0'; c++)
                        buffer_append_text(&command, *c == '\'' ? "'\\''" : (char[]){ *c, '\0' });
                buffer_append_text(&command, "'");
        }
        r = buffer_terminate(&command, &command_text);
        if (r < 0)
                return r;
        add_word(&words, near->ssh);
        add_word(&words, "-xaT");
        add_setting(&words, "ClearAllForwardings=yes");
        add_setting(&words, "RemoteCommand=none");
        if (near->remote->batch)
                add_setting(&words, "BatchMode=yes");
        if (!is_set(config, "connecttimeout", "none"))
                add_setting(&words, CONNECT_TIMEOUT);
        if (!is_set(config, "serveraliveinterval", "0"))
                add_setting(&words, ALIVE_INTERVAL);
        add_port(&words, near);
        add_word(&words, "--");
        add_word(&words, near->address.text);
        add_word(&words, command_text);

        r = make_pipe(0, &in_theirs, &relay->out_fd);
        if (r == 0)
                r = make_pipe(0, &relay->in_fd, &out_theirs);
        if (r == 0)
                r = make_pipe(0, &relay->log_fd, &log_theirs);
        if (r < 0)
                return r;
        words.fds[0] = in_theirs;
        words.fds[1] = out_theirs;
        words.fds[2] = log_theirs;
        return start(&words, &near->pid);
}

/* True if the process has ended within the time. */
static bool has_ended(pid_t pid, int timeout_ms) {
        _cleanup_(fd_closep) int pid_fd = pidfd_open(pid, 0);
        struct pollfd polled = { .fd = pid_fd, .events = POLLIN };

        return pid_fd < 0 || poll(&polled, 1, timeout_ms) > 0;
}

/* what went wrong */

static bool has_text(const Relay *relay, const char *text) {
        return memmem(relay->tail, relay->n_tail, text, strlen(text));
}

/* Writes the last line of what ssh said. */
static void format_last_line(const Relay *relay, char ret_line[static CONNECTION_COMPLAINT_BYTES]) {
        Span text = { relay->tail, relay->n_tail };
        const char *newline;

        while (text.n > 0 && strchr("\r\n .", text.bytes[text.n - 1]))
                text.n--;
        newline = text.n > 0 ? memrchr(text.bytes, '\n', text.n) : NULL;
        if (newline)
                text = (Span){ newline + 1, text.n - (size_t) (newline + 1 - text.bytes) };
        format_line(text, ret_line, CONNECTION_COMPLAINT_BYTES);
}

/*
 * Finds the reason behind "port N: " or "hostname NAME: " in the last line; without the name of the
 * host it is the same for many.
 */
static bool find_reason(char *line, const char *mark, char **ret_reason) {
        char *at = strstr(line, mark), *reason = at ? strstr(at, ": ") : NULL;

        if (!reason)
                return false;
        *reason = '\0';
        *ret_reason = reason + 2;
        if (**ret_reason >= 'A' && **ret_reason <= 'Z')
                **ret_reason += 'a' - 'A';
        return true;
}

static void explain_ssh(Near *near, const Relay *relay) {
        char line[CONNECTION_COMPLAINT_BYTES], *reason, *port;
        const char *remedy = "";

        format_last_line(relay, line);
        if (has_text(relay, "Host key verification failed")) {
                explain(near, "ssh does not know its host key, or another one: log in once with "
                              "\"ssh\", and compare it with what the host has.");
        } else if (has_text(relay, "Permission denied")) {
                explain(near, "ssh is not let in (%s): a key that is accepted there is needed%s.",
                        line,
                        near->remote->batch ? ", because with several hosts nobody is asked for a "
                                              "password"
                                            : "");
        } else if (find_reason(line, "Could not resolve hostname ", &reason)) {
                explain(near, "its name cannot be resolved: %s.", reason);
        } else if ((port = strstr(line, "connect to host ")) &&
                   find_reason(port, " port ", &reason)) {
                if (strstr(reason, "timed out"))
                        remedy = ": is it up, and is the port open?";
                else if (strstr(reason, "refused"))
                        remedy = ": does sshd run there?";
                explain(near, "%s at port %s%s", reason, strstr(port, " port ") + strlen(" port "),
                        remedy[0] != '\0' ? remedy : ".");
        } else if (line[0] != '\0') {
                explain(near, "ssh failed: %s; \"ssh -v\" tells more.", line);
        } else {
                explain(near, "ssh ended without a word; \"ssh -v\" tells more.");
        }
}

/* It ended before it greeted us. */
static void explain_no_bridge(Near *near, const Relay *relay) {
        int status = WIFEXITED(near->status) ? WEXITSTATUS(near->status) : -1;
        char line[CONNECTION_COMPLAINT_BYTES];

        format_last_line(relay, line);
        switch (status) {
        case STATUS_SSH:
                explain_ssh(near, relay);
                break;
        case STATUS_NOT_FOUND:
                explain(near, "there is no ctprofctl there where ssh finds programs: install "
                              "ctprof there.");
                break;
        case STATUS_CANNOT_RUN:
                explain(near, "ctprofctl cannot be run there: %s.", line);
                break;
        default:
                if (has_text(relay, "Unknown verb"))
                        explain(near, "the ctprofctl there is too old to know \"bridge\": update "
                                      "ctprof there.");
                else if (line[0] != '\0')
                        explain(near, "\"ctprofctl bridge\" ended there before it began: %s.",
                                line);
                else
                        explain(near, "\"ctprofctl bridge\" ended there without a word: is another "
                                      "command forced for this key?");
                break;
        }
}

/* @r is the code that the relay ended with. */
static void explain_end(Near *near, const Relay *relay, int r) {
        const char *newline = memchr(relay->strange, '\n', relay->n_strange);
        size_t n = newline ? (size_t) (newline - relay->strange) : relay->n_strange;
        char line[CONNECTION_COMPLAINT_BYTES];

        switch (r) {
        case RELAY_OK:
        case RELAY_E_PIPE:
                if (!near->greeted) {
                        explain_no_bridge(near, relay);
                        break;
                }
                format_last_line(relay, line);
                if (WIFEXITED(near->status) && WEXITSTATUS(near->status) == STATUS_SSH)
                        explain(near, "the connection broke in the middle of the call: %s.",
                                line[0] != '\0' ? line : "ssh does not say why");
                else if (line[0] != '\0')
                        explain(near, "the bridge there ended in the middle of the call: %s.",
                                line);
                else
                        explain(near, "ctprofd hung up in the middle of the call: there, "
                                      "\"journalctl -u ctprofd\" may tell why.");
                break;
        case RELAY_E_HUNG_UP:
        case RELAY_E_REFUSED:
                break;
        case RELAY_E_TOO_LONG:
                explain(near, "the bridge there sent a message that is too long.");
                break;
        case RELAY_E_FILE_TOO_LONG:
                explain(near, "the bridge there announced a file that is longer than a snapshot "
                              "can be.");
                break;
        case RELAY_E_TOO_MANY:
                explain(near, "the bridge there sent more files than a message can have.");
                break;
        case RELAY_E_MALFORMED:
                format_line((Span){ relay->strange, n }, line, sizeof(line));
                if (near->greeted)
                        explain(near,
                                "the bridge there sent what is no message (\"%s\"): more bytes of "
                                "a file than it had said, or something that prints in between.",
                                line);
                else
                        explain(near,
                                "\"%s\" came instead of the greeting of \"ctprofctl bridge\": a "
                                "shell there must print nothing when it is not on a terminal.",
                                line);
                break;
        case RELAY_E_NO_FILE:
                explain(near, "a file could not be sent: it is no regular one, or it was changed "
                              "meanwhile.");
                break;
        case RELAY_E_NO_ROOM:
                explain(near,
                        "a file from there could not be kept here: %s; $TMPDIR names another "
                        "place.",
                        strerror(relay->error));
                break;
        default:
                explain(near, "the bridge could not be kept up: %s.", strerror(-r));
                break;
        }
}

/* Runs a bridge from its begin to its end. True if another one is worth a try. */
static bool run_bridge(Near *near, const char *config) {
        static const char *const refusals[] = { "exchange_identification", "banner exchange",
                                                "Connection reset by", "Connection closed by",
                                                "Session open refused" };
        Relay relay = {
                .socket_fd = fcntl(near->socket_fd, F_DUPFD_CLOEXEC, 0),
                .in_fd = -EBADF,
                .out_fd = -EBADF,
                .log_fd = -EBADF,
                .max_in_bytes = LIMIT_REPLY_BYTES,
                .max_out_bytes = LIMIT_CALL_BYTES + 4096u,
                .is_near = true,
                .on_message = on_message,
                .userdata = near,
        };
        bool may_be_full;
        int r;

        r = relay.socket_fd < 0 ? -errno : start_bridge(near, config, &relay);
        if (r < 0) {
                explain(near, "%s cannot be run: %s.", near->ssh,
                        r == -ENOENT ? "there is no such program here" : strerror(-r));
                return false;
        }
        r = relay_run(&relay);
        /* Its pipes are closed: it ends by itself, and takes leave of those on its connection. */
        if (!has_ended(near->pid, END_STEP_MS))
                (void) kill(near->pid, SIGTERM);
        if (!has_ended(near->pid, END_STEP_MS))
                (void) kill(near->pid, SIGKILL);
        reap(near->pid, &near->status);
        while (relay_read_log(&relay))
                ;
        relay.log_fd = fd_close(relay.log_fd);
        /*
         * A bastion's sshd drops newcomers when too many log in, and refuses sessions beyond its
         * number: in both cases it hangs up before anything was said.
         */
        may_be_full = false;
        for (size_t i = 0; i < ELEMENTSOF(refusals); i++)
                may_be_full = may_be_full || has_text(&relay, refusals[i]);
        if (may_be_full && r != RELAY_E_HUNG_UP && !near->greeted && !near->explained &&
            WIFEXITED(near->status) && WEXITSTATUS(near->status) == STATUS_SSH)
                return true;
        explain_end(near, &relay, r);
        return false;
}

static _noreturn_ void become_near(const Remote *remote, int socket_fd, int words_fd) {
        const char *ssh = getenv("CTPROF_SSH");
        _cleanup_(buffer_done) Buffer config = {};
        Near near = { .remote = remote, .ssh = ssh && ssh[0] != '\0' ? ssh : "ssh" };
        struct pollfd client = {};
        const char *config_text;
        int null_fd, pause_ms;

        /* Ctrl-C is for our client: it hangs up, and that ends us and ssh in order. */
        (void) signal(SIGINT, SIG_IGN);
        (void) signal(SIGQUIT, SIG_IGN);
        (void) signal(SIGTERM, SIG_DFL);
        (void) signal(SIGPIPE, SIG_IGN);
        near.socket_fd = fcntl(socket_fd, F_DUPFD_CLOEXEC, 5);
        near.words_fd = fcntl(words_fd, F_DUPFD_CLOEXEC, 5);
        null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (near.socket_fd < 0 || near.words_fd < 0 || null_fd < 0 ||
            dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0 ||
            dup2(near.socket_fd, 3) < 0 || dup2(near.words_fd, 4) < 0)
                _exit(EXIT_FAILURE);
        near.socket_fd = client.fd = 3;
        near.words_fd = 4;
        (void) close_range(5, ~0u, 0);
        (void) fcntl(near.socket_fd, F_SETFD, FD_CLOEXEC);
        (void) fcntl(near.words_fd, F_SETFD, FD_CLOEXEC);

        host_address_parse(remote->host, &near.address);
        config_text = read_config(&near, &config);
        pause_ms = (int) (PAUSE_MS + (unsigned) (clock_now_ns(CLOCK_MONOTONIC) / NSEC_PER_USEC +
                                                 (uint64_t) getpid() * 7919u) %
                                             PAUSE_SPREAD_MS);
        /* There is another try if we are still wanted after a pause. */
        if (run_bridge(&near, config_text) && poll(&client, 1, pause_ms) == 0 &&
            run_bridge(&near, config_text))
                explain(&near, "ssh was turned away twice: too many log in there, or at the host "
                               "in front of it, at a time (MaxStartups of sshd_config(5)).");
        _exit(near.explained ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* the client's side */

/* Waits for the first word of the process. */
static int await_bridge(int words_fd, uint64_t timeout_ns, RemoteGreeting *ret_greeting,
                        char *ret_complaint) {
        union {
                Standing standing;
                char text[CONNECTION_COMPLAINT_BYTES];
        } word = {};
        ssize_t n;
        int r;

        r = cancel_wait(words_fd, POLLIN, mono_deadline_ns(timeout_ns));
        if (r == CANCEL_E_CANCELLED || r == CANCEL_E_STOP)
                return CONNECTION_E_CANCELLED;
        if (r == CANCEL_E_TIMEOUT) {
                (void) snprintf(ret_complaint, CONNECTION_COMPLAINT_BYTES,
                                "\"ctprofctl bridge\" did not greet within %.3g seconds; "
                                "--timeout=SECONDS waits longer.",
                                (double) timeout_ns / (double) NSEC_PER_SEC);
                return CONNECTION_E_FAILED;
        }
        if (r != 0)
                return err_fold(r);
        do
                n = read(words_fd, &word, sizeof(word) - 1);
        while (n < 0 && errno == EINTR);
        if (n == sizeof(word.standing) && word.standing.mark == STANDING_MARK) {
                *ret_greeting = word.standing.greeting;
                return 0;
        }
        (void) snprintf(ret_complaint, CONNECTION_COMPLAINT_BYTES, "%s",
                        n > 0 ? word.text : "the process that talks to ssh ended.");
        return CONNECTION_E_FAILED;
}

int remote_open(const Remote *remote, uint64_t timeout_ns, Connection **ret,
                RemoteGreeting *ret_greeting,
                char ret_complaint[static CONNECTION_COMPLAINT_BYTES]) {
        _cleanup_(fd_closep) int ours = -EBADF, theirs = -EBADF, words_read = -EBADF,
                                 words_write = -EBADF;
        Child child = {};
        int sockets[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return -errno;
        ours = sockets[0];
        theirs = sockets[1];
        /* Each word is read by itself, also where two have come by then. */
        r = make_pipe(O_DIRECT, &words_read, &words_write);
        if (r < 0)
                return r;
        (void) fflush(stdout);
        child.pid = fork();
        if (child.pid < 0)
                return -errno;
        if (child.pid == 0)
                become_near(remote, theirs, words_write);
        theirs = fd_close(theirs);
        words_write = fd_close(words_write);

        r = await_bridge(words_read, timeout_ns, ret_greeting, ret_complaint);
        if (r == 0)
                r = connection_adopt(ours, "ctprofd", ret);
        if (r != 0) {
                ours = fd_close(ours);
                child_end(&child);
                return r;
        }
        (void) TAKE_FD(ours);
        connection_set_child(*ret, child, TAKE_FD(words_read));
        return 0;
}
