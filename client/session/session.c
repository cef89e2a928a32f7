/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/session.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/name.h"
#include "call/cancel.h"
#include "interface/error-list.h"
#include "remote/bridge-frame.h"
#include "render/cell.h"
#include "render/when.h"
#include "session/complain.h"
#include "wire/limits.h"

void session_init(Session *session, const Options *options) {
        const char *path = getenv("CTPROF_SOCKET");
        JsonWish wish = options->json;

        *session = (Session){ .options = options, .connected_fd = -EBADF };
        terminal_init(&session->terminal);
        if (wish == JSON_WISH_AUTO)
                wish = session->terminal.out ? JSON_WISH_PRETTY : JSON_WISH_SHORT;
        session->json = wish == JSON_WISH_PRETTY  ? JSON_STYLE_PRETTY
                        : wish == JSON_WISH_SHORT ? JSON_STYLE_SHORT
                                                  : JSON_STYLE_OFF;
        session->is_machine = session->json != JSON_STYLE_OFF;
        session->is_chatty = !session->is_machine && !options_have(options, OPTION_QUIET);
        session->socket_path = options->socket_path      ? options->socket_path
                               : path && path[0] != '\0' ? path
                                                         : PROFILER_SOCKET_PATH;
        session->legend =
                options_have(options, OPTION_NO_LEGEND) ? TABLE_LEGEND_HIDDEN : TABLE_LEGEND_SHOWN;
        session->progress = (Progress){
                .enabled = session->terminal.err && !options_have(options, OPTION_QUIET),
                .columns = session->terminal.columns,
        };
}

int session_done(Session *session, int status) {
        bool written;

        progress_clear(&session->progress);
        errno = 0;
        written = fflush(stdout) == 0 && !ferror(stdout);
        if (!written && (status == STATUS_DONE || status == STATUS_ABOVE))
                status = complain(STATUS_FAILED, "The result could not be written to stdout: %s.",
                                  strerror(errno > 0 ? errno : EIO));
        pager_close(&session->pager);
        session->kept = connection_free(session->kept);
        session->connected_fd = fd_close(session->connected_fd);
        free(session->spool_path);
        session->spool_path = NULL;
        return status;
}

int session_page(Session *session) {
        int r;

        if (session->is_machine || session->pager.pid > 0 ||
            options_have(session->options, OPTION_NO_PAGER))
                return 0;
        progress_clear(&session->progress);
        r = pager_open(&session->pager, &session->terminal, session->left_status);
        return r < 0 ? complain_errno(r, "start the pager") : 0;
}

/* the spool of a private ctprofd */

int local_spool_default(const char *xdg_state_home, const char *home, Buffer *ret) {
        /* The XDG specification says to ignore relative paths. */
        if (xdg_state_home && xdg_state_home[0] == '/')
                return buffer_append_format(ret, "%s/ctprof", xdg_state_home);
        if (home && home[0] == '/')
                return buffer_append_format(ret, "%s/.local/state/ctprof", home);
        return 0;
}

int local_spool_prepare(const char *path, char **ret) {
        _cleanup_(buffer_done) Buffer absolute = {};
        _cleanup_(freep) char *text = NULL;
        char quoted[QUOTE_BYTES], here[PATH_MAX];
        const char *home = getenv("HOME");
        struct passwd *passwd;
        int r;

        if (!path && (!home || home[0] != '/')) {
                passwd = getpwuid(geteuid());
                home = passwd ? passwd->pw_dir : NULL;
        }
        if (!path)
                (void) local_spool_default(getenv("XDG_STATE_HOME"), home, &absolute);
        else if (path[0] == '/')
                (void) buffer_append_text(&absolute, path);
        else if (getcwd(here, sizeof(here)))
                (void) buffer_append_format(&absolute, "%s/%s", here, path);
        else
                return complain_errno(-errno, "find the spool directory");
        if (buffer_failure(&absolute) == 0 && absolute.n == 0)
                return complain(STATUS_FAILED, "There is no home directory for the spool: name one "
                                               "with --spool DIR.");
        /* mkdir(2) and ctprofd treat a trailing slash as part of the path. */
        while (absolute.n > 1 && absolute.bytes[absolute.n - 1] == '/')
                absolute.n--;
        r = buffer_take_text(&absolute, &text);
        if (r != 0)
                return complain_errno(r, "find the spool directory");
        r = directory_make(text);
        if (r < 0)
                return complain(STATUS_FAILED, "The spool directory %s cannot be made: %s.",
                                quote(text, quoted), strerror(-r));
        *ret = TAKE_PTR(text);
        return 0;
}

/* calls */

/* A call while its replies come. */
typedef struct Exchange {
        Session *session;
        SessionOnReply on_reply;
        void *userdata;
        const SessionCall *call;
        int status; /* what the verb returned, apart from what the connection did */
} Exchange;

/* Keeps what the verb returned apart from what the connection does. */
static int pass_on(Exchange *exchange, int r) {
        if (r <= 0)
                return r;
        exchange->status = r;
        return -ECANCELED;
}

/*
 * Names of snapshots in a reply of the daemon end up on command lines: a completion offers them, a
 * user copies them from a list, and export makes them paths. A daemon of ours sends only names that
 * base/name.h accepts; any other reply is refused as a whole, before a verb sees it.
 *
 * These are the members of replies that are names, have names, or are lists of either.
 */
static const char *const name_members[] = {
        "snapshot", "snapshots",  "before",  "after",    "results",
        "rotated",  "unreadable", "oldName", "replaced",
};

/* Takes progress out of the stream of replies, and hands the rest to the verb. */
static int on_reply(void *userdata, Connection *connection, json_object *parameters, bool last) {
        Exchange *exchange = userdata;
        json_object *progress = cell_member(parameters, "progress");
        const char *bad_name = NULL;
        char quoted[QUOTE_BYTES];
        int r;

        if (progress && !last) {
                progress_update(&exchange->session->progress, progress,
                                clock_now_ns(CLOCK_MONOTONIC));
                return exchange->call->on_progress
                               ? pass_on(exchange,
                                         exchange->call->on_progress(exchange->userdata, progress))
                               : 0;
        }
        progress_clear(&exchange->session->progress);
        for (size_t i = 0; !exchange->call->is_about_files && i < ELEMENTSOF(name_members); i++) {
                json_object *member = cell_member(parameters, name_members[i]);
                bool is_list = json_object_is_type(member, json_type_array);

                for (size_t k = 0; !bad_name && k < (is_list ? cell_length(member) : 1); k++) {
                        json_object *name = is_list ? cell_element(member, k) : member;

                        /* A text, or an object has it; one that is null is left to the verb. */
                        if (json_object_is_type(name, json_type_object))
                                name = cell_member(name, "name");
                        if (!name)
                                continue;
                        bad_name = json_object_is_type(name, json_type_string)
                                           ? snapshot_name_complaint(cell_string(name))
                                           : "is not a text";
                        if (bad_name)
                                (void) quote_json(name, quoted);
                }
        }
        r = bad_name ? complain(STATUS_FAILED,
                                "The reply of ctprofd is not used: the snapshot name %s in it %s.",
                                quoted, bad_name)
                     : exchange->on_reply(exchange->userdata, connection, parameters, last);
        return pass_on(exchange, r);
}

static int on_stop(void *userdata) {
        Exchange *exchange = userdata;

        return pass_on(exchange, exchange->call->on_stop(exchange->userdata));
}

JsonWriter *session_call_begin(SessionCall *call) {
        json_writer_init(&call->writer, &call->parameters);
        json_write_object(&call->writer);
        return &call->writer;
}

void session_call_done(SessionCall *call) {
        buffer_done(&call->parameters);
}

static int complain_over(uint64_t now_realtime_ns, const char *whose, char *ret_complaint) {
        char now[WHEN_CHARS];

        when_format(now_realtime_ns, WHEN_FULL, now);
        (void) snprintf(ret_complaint, CONNECTION_COMPLAINT_BYTES,
                        "the time of --at is over: %s clock says %s.", whose, now);
        return CONNECTION_E_FAILED;
}

/* Without a bridge that could, we hold the call ourselves. */
static int wait_until(uint64_t at_realtime_ns, char *ret_complaint) {
        uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
        int r;

        if (now_ns > at_realtime_ns)
                return complain_over(now_ns, "this", ret_complaint);
        /* It waits in steps, because the clock may be set meanwhile. */
        do {
                uint64_t step_ns = MIN_OF(at_realtime_ns - now_ns, NSEC_PER_SEC);

                r = cancel_wait(-1, 0, mono_deadline_ns(step_ns + 1));
                now_ns = clock_now_ns(CLOCK_REALTIME);
        } while (r == CANCEL_E_TIMEOUT && now_ns < at_realtime_ns);
        if (r == CANCEL_E_TIMEOUT)
                return 0;
        return r < 0 ? r : CONNECTION_E_CANCELLED;
}

/*
 * Connects to the other side of @call, and waits there or here for its time. Sets the time limits
 * of @request: a user who gives one bounds the whole, the connecting included, and bears any
 * silence. Otherwise no daemon may be silent for long. An analysis job that we started ourselves
 * may compute for as long as it takes.
 */
static int open_connection(Session *session, const SessionCall *call, const Endpoint *endpoint,
                           Request *request, Connection **ret, char *ret_complaint) {
        const Remote remote = { .host = session->host,
                                .socket_path = session->options->socket_path,
                                .batch = session->is_of_many };
        uint64_t begin_mono_ns = clock_now_ns(CLOCK_MONOTONIC),
                 timeout_ns = session->options->timeout_ns, at_ns = call->at_realtime_ns,
                 connect_ns = timeout_ns > 0 ? timeout_ns : LIMIT_SILENCE_NS;
        RemoteGreeting greeting = {};
        int r = 0;

        /* The private ctprofd that was kept is called if it still waits for that. */
        if (session->kept && endpoint->kind == ENDPOINT_PRIVATE) {
                if (!connection_is_quiet(session->kept))
                        session->kept = connection_free(session->kept);
                *ret = TAKE_PTR(session->kept);
        }
        if (!*ret && session->host && endpoint->kind == ENDPOINT_DAEMON) {
                r = remote_open(&remote, connect_ns, ret, &greeting, ret_complaint);
                session->connected_fd = fd_close(session->connected_fd);
                if (r != 0)
                        return r;
                memcpy(session->daemon_version, greeting.daemon_version,
                       sizeof(greeting.daemon_version));
                if (at_ns > 0 && greeting.realtime_ns > at_ns)
                        return complain_over(greeting.realtime_ns, "its", ret_complaint);
        } else if (!*ret) {
                if (at_ns > 0)
                        r = wait_until(at_ns, ret_complaint);
                if (r == 0)
                        r = connection_open(endpoint, connect_ns, ret, ret_complaint);
        }
        if (r != 0)
                return r;
        if (timeout_ns > 0) {
                request->timeout_ns = timeout_ns;
                request->spent_ns = clock_now_ns(CLOCK_MONOTONIC) - begin_mono_ns;
        } else {
                request->timeout_ns = LIMIT_CALL_NS;
                request->silence_ns = endpoint->kind != ENDPOINT_ANALYSIS ? LIMIT_SILENCE_NS : 0;
        }
        return 0;
}

int session_call(Session *session, SessionCall *call, SessionOnReply verb_on_reply,
                 void *userdata) {
        const WireTopic topic = { .subject = call->subject,
                                  .taken_hint = call->taken_hint,
                                  .is_elsewhere = session->host,
                                  .daemon_version = session->daemon_version };
        _cleanup_(buffer_done) Buffer prelude = {}, sentence = {};
        _cleanup_(connection_freep) Connection *connection = NULL;
        _cleanup_(reply_done) Reply error = {};
        char complaint[CONNECTION_COMPLAINT_BYTES];
        const char *why = complaint;
        Exchange exchange = { session, verb_on_reply, userdata, call, 0 };
        Endpoint endpoint = { .kind = call->endpoint, .socket_path = session->socket_path };
        Request request;
        int r, status = STATUS_FAILED;

        if (call->writer.buffer) {
                json_write_end(&call->writer);
                r = json_writer_finish(&call->writer);
                if (r < 0)
                        return complain_errno(r, "write the call");
                call->request.parameters = buffer_span(&call->parameters);
        }
        /* "HOST:SNAPSHOT" is asked for there, whatever asks for the one beside it. */
        if (endpoint.kind == ENDPOINT_DAEMON && !session->host &&
            options_have(session->options, OPTION_LOCAL)) {
                r = session->spool_path ? 0
                                        : local_spool_prepare(session->options->spool_path,
                                                              &session->spool_path);
                if (r != 0)
                        return r;
                endpoint.kind = ENDPOINT_PRIVATE;
                endpoint.spool_path = session->spool_path;
        }
        request = call->request;
        request.on_stop = call->on_stop ? on_stop : NULL;
        if (session->host && call->at_realtime_ns > 0) {
                r = bridge_append_hold(&prelude, call->at_realtime_ns);
                if (r != 0)
                        return complain_errno(r, "write the call");
                request.prelude = buffer_span(&prelude);
        }
        r = open_connection(session, call, &endpoint, &request, &connection, complaint);
        if (r == 0)
                r = connection_call(connection, &request, on_reply, &exchange, &error, complaint);
        if (r == 0 && endpoint.kind == ENDPOINT_PRIVATE && session->captures_ends)
                session->kept = TAKE_PTR(connection);
        progress_clear(&session->progress);
        if (r == CONNECTION_E_ERROR && call->tolerated && strcmp(error.error, call->tolerated) == 0)
                r = 0;
        session->is_refused = exchange.status <= 0 && r == CONNECTION_E_ERROR;
        if (exchange.status > 0)
                return exchange.status;
        switch (r) {
        case 0:
                return 0;
        case CONNECTION_E_FAILED:
                break;
        case CONNECTION_E_CANCELLED:
                return complain(STATUS_FAILED, "Cancelled.");
        case CONNECTION_E_ERROR:
                r = wire_complaint_format(&error, &topic, &sentence, &status);
                if (r == 0)
                        r = buffer_terminate(&sentence, &why);
                if (r != 0)
                        return complain_errno(r, "explain the answer of ctprofd");
                break;
        default:
                return complain_errno(r, "talk to ctprofd");
        }
        return complain(status, "%s%s%s", session->host ? session->host : "",
                        session->host ? ": " : "", why);
}

typedef struct One {
        json_object *parameters;
        int fd;
        bool wants_fd;
} One;

static int keep_one(void *userdata, Connection *connection, json_object *parameters, bool last) {
        One *one = userdata;

        if (!last)
                return 0;
        one->parameters = json_object_get(parameters);
        if (one->wants_fd)
                one->fd = connection_take_fd(connection, parameters, "fileDescriptor");
        return 0;
}

int session_call_one(Session *session, SessionCall *call, json_object **ret, int *ret_fd) {
        One one = { .fd = -EBADF, .wants_fd = ret_fd != NULL };
        int r;

        r = session_call(session, call, keep_one, &one);
        if (r == 0 && ret_fd && one.fd < 0)
                r = complain(STATUS_FAILED, "ctprofd did not send the file.");
        if (r != 0) {
                (void) fd_close(one.fd);
                (void) json_object_put(one.parameters);
                return r;
        }
        *ret = one.parameters;
        if (ret_fd)
                *ret_fd = one.fd;
        return 0;
}

int session_finish_json(JsonOut *out) {
        int r = json_out_finish(out);

        return r < 0 ? complain_errno(r, "write the result to stdout") : 0;
}

int session_print_json(const Session *session, json_object *object) {
        _cleanup_(json_out_done) JsonOut out;

        json_out_init(&out, stdout, session->json);
        json_out_value(&out, object);
        return session_finish_json(&out);
}
