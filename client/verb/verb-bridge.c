/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/cancel.h"
#include "call/connection.h"
#include "call/dial.h"
#include "config.h"
#include "interface/error-list.h"
#include "remote/bridge-frame.h"
#include "remote/relay.h"
#include "remote/remote.h"
#include "render/terminal.h"
#include "session/complain.h"
#include "verb/verb.h"
#include "wire/limits.h"

#define VARLINK_GET_INFO "org.varlink.service.GetInfo"

static int keep_version(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        json_object **version = userdata, *member;

        if (json_object_object_get_ex(parameters, "version", &member) &&
            json_object_is_type(member, json_type_string))
                *version = json_object_get(member);
        return 0;
}

/*
 * Asks the daemon for its version. *ret_version stays NULL if the daemon is an earlier one that
 * does not tell its version. If the daemon cannot be asked, the reason is in @ret_complaint.
 */
static int ask_version(const Endpoint *endpoint, json_object **ret_version, char *ret_complaint) {
        const Request request = { .method = VARLINK_GET_INFO, .silence_ns = LIMIT_SILENCE_NS };
        _cleanup_(connection_freep) Connection *connection = NULL;
        _cleanup_(reply_done) Reply error = {};
        int r;

        r = connection_open(endpoint, LIMIT_SILENCE_NS, &connection, ret_complaint);
        if (r == 0)
                r = connection_call(connection, &request, keep_version, ret_version, &error,
                                    ret_complaint);
        return r == CONNECTION_E_ERROR ? 0 : r;
}

static int send_greeting(const char *daemon_version, const char *complaint) {
        _cleanup_(buffer_done) Buffer frame = {};
        char host_name[256];
        int r;

        if (gethostname(host_name, sizeof(host_name)) < 0)
                host_name[0] = '\0';
        host_name[sizeof(host_name) - 1] = '\0';
        r = remote_greeting_encode(&frame, CTPROF_VERSION, daemon_version, host_name, complaint);
        if (r == 0)
                r = buffer_append_byte(&frame, '\0');
        if (r < 0)
                return complain_errno(r, "greet the other host");
        if (fwrite(frame.bytes, 1, frame.n, stdout) != frame.n || fflush(stdout) == EOF)
                return complain(STATUS_FAILED, "Nobody reads what the bridge says.");
        return 0;
}

/* Calls that are to wait are held; everything else goes to the daemon as it came. */
static int on_message(Relay *relay, Span message) {
        return bridge_parse_hold(message, &relay->held_until_realtime_ns) ? RELAY_SWALLOW : 0;
}

static int run_relay(int socket_fd) {
        Relay relay = {
                .socket_fd = socket_fd,
                .in_fd = STDIN_FILENO,
                .out_fd = STDOUT_FILENO,
                .log_fd = -EBADF,
                .max_in_bytes = LIMIT_CALL_BYTES + 4096u,
                .max_out_bytes = LIMIT_REPLY_BYTES,
                .on_message = on_message,
        };
        int r = relay_run(&relay);

        switch (r) {
        case RELAY_OK:
        case RELAY_E_HUNG_UP:
        case RELAY_E_PIPE:
                return STATUS_DONE;
        case RELAY_E_NO_ROOM:
                return complain(STATUS_FAILED,
                                "A file for ctprofd cannot be kept: %s; $TMPDIR names another "
                                "place.",
                                strerror(relay.error));
        case RELAY_E_TOO_LONG:
        case RELAY_E_FILE_TOO_LONG:
        case RELAY_E_TOO_MANY:
                return complain(STATUS_FAILED, "The call is too long for ctprofd.");
        case RELAY_E_MALFORMED:
                return complain(STATUS_FAILED, "What came through the bridge is no call.");
        default:
                return r < 0 ? complain_errno(r, "pass on a call")
                             : complain(STATUS_FAILED, "ctprofd sent what is no file.");
        }
}

int verb_bridge(Session *session) {
        const Endpoint endpoint = { .kind = ENDPOINT_DAEMON,
                                    .socket_path = session->socket_path,
                                    .is_of_bridge = true };
        char sentence[CONNECTION_COMPLAINT_BYTES] = "";
        json_object *version = NULL;
        int fd = -EBADF, r;

        if (options_have(session->options, OPTION_LOCAL))
                return complain(STATUS_USAGE, "A bridge leads to a daemon: --local starts none "
                                              "for it.");
        if (terminal_is(STDIN_FILENO) || terminal_is(STDOUT_FILENO))
                return complain(STATUS_USAGE,
                                "\"bridge\" is for \"ctprofctl --host\" on another host, which "
                                "runs it through ssh: there is nothing to type here.");
        (void) signal(SIGPIPE, SIG_IGN);
        r = ask_version(&endpoint, &version, sentence);
        if (r == 0)
                r = dial(endpoint.socket_path, 0, false, &fd, sentence);
        if (r == 0)
                r = send_greeting(version ? json_object_get_string(version) : NULL, NULL);
        else if (sentence[0] != '\0')
                r = send_greeting(NULL, sentence) == 0 ? STATUS_FAILED : r;
        (void) json_object_put(version);
        if (fd < 0 || r != 0) {
                (void) fd_close(fd);
                return r < 0 ? complain_errno(r, "connect to ctprofd") : STATUS_FAILED;
        }
        return run_relay(fd);
}
