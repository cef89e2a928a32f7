/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/complain.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "config.h"
#include "interface/interface.h"
#include "render/cell.h"
#include "render/printable.h"
#include "render/when.h"

#define QUOTED_COLUMNS 120

int complain(int status, const char *format, ...) {
        va_list arguments;

        /* Flush first, so that the order is kept if stdout and stderr are the same file. */
        (void) fflush(stdout);
        va_start(arguments, format);
        (void) vfprintf(stderr, format, arguments);
        va_end(arguments);
        (void) fputc('\n', stderr);
        return status;
}

int complain_errno(int error, const char *what) {
        return complain(STATUS_FAILED, "Cannot %s: %s.", what,
                        strerror(error < 0 ? -error : error));
}

/* Writes @text printable, cut at @n_columns and at the end of @ret, between @marks. */
static void format_printable(Span text, size_t n_columns, const char *marks, char *ret) {
        _cleanup_(buffer_done) Buffer printable = {};
        const char *shown = "";
        size_t n;

        /* Without memory the sentence still names the problem, though not the object. */
        if (printable_append_name(&printable, text) < 0 || buffer_terminate(&printable, &shown) < 0)
                shown = "?";
        n = printable_cut(span_of(shown), n_columns, QUOTE_BYTES - 8);
        (void) snprintf(ret, QUOTE_BYTES, "%s%.*s%s%s", marks, (int) n, shown,
                        shown[n] != '\0' ? "\u2026" : "", marks);
}

const char *quote_span(Span text, char ret_quoted[static QUOTE_BYTES]) {
        format_printable(text, QUOTED_COLUMNS, "\"", ret_quoted);
        return ret_quoted;
}

const char *quote(const char *text, char ret_quoted[static QUOTE_BYTES]) {
        return quote_span(span_of(text), ret_quoted);
}

const char *quote_json(json_object *value, char ret_quoted[static QUOTE_BYTES]) {
        return quote_span(json_object_is_type(value, json_type_string) ? cell_string(value)
                                                                       : SPAN_LITERAL("?"),
                          ret_quoted);
}

const char *fragment_json(json_object *value, char ret_fragment[static QUOTE_BYTES]) {
        Span text = json_object_is_type(value, json_type_string) ? cell_string(value)
                                                                 : SPAN_LITERAL("?");

        while (text.n > 0 && text.bytes[text.n - 1] == '.')
                text.n--;
        format_printable(text, QUOTE_BYTES, "", ret_fragment);
        return ret_fragment;
}

/* error replies */

/* The parts of the sentence, quoted or made printable. */
typedef struct Facts {
        char value[QUOTE_BYTES];  /* of the error's first parameter, in quotes */
        char reason[QUOTE_BYTES]; /* a fragment; "" when there is none */
        char nearest[QUOTE_BYTES];
        bool has_reason, has_nearest;
        bool is_latest; /* what is missing was named by its place: @back before the newest */
        uint64_t back;
        json_object *offset;
        json_object *parameters;
        const char *sided_option; /* that one interval does not take; NULL: something else */
        const WireTopic *topic;
} Facts;

static void collect(const Reply *reply, WireError error, const WireTopic *topic, Facts *facts) {
        Span value =
                error < _WIRE_ERROR_MAX
                        ? cell_string(cell_member(reply->parameters, wire_error_parameters[error]))
                        : span_of(reply->error);
        json_object *nearest = cell_member(reply->parameters, "nearest");
        json_object *reason = cell_member(reply->parameters, "reason");

        *facts = (Facts){
                .topic = topic,
                .parameters = reply->parameters,
                .has_reason = cell_string(reason).n > 0,
                /* It is there to be typed: a text that is no name is not offered. */
                .has_nearest = !snapshot_name_complaint(cell_string(nearest)),
                .offset = cell_member(reply->parameters, "offset"),
        };
        if (error == WIRE_ERROR_INVALID_PARAMETER && span_is(value, "view.threshold"))
                facts->sided_option = "--threshold";
        /* The daemon refuses an order for this reason alone. */
        else if (error == WIRE_ERROR_INVALID_PARAMETER && span_is(value, "view.sortBy"))
                facts->sided_option = "--sort-by percent";
        /* Name a file as the user typed it: the daemon knows only the last part of its path. */
        if (topic->subject && (value.n == 0 || (error == WIRE_ERROR_SNAPSHOT_UNREADABLE &&
                                                snapshot_name_is_file(topic->subject))))
                value = span_of(topic->subject);
        facts->is_latest = snapshot_name_is_relative(value, &facts->back);
        (void) quote_span(value, facts->value);
        (void) quote_json(nearest, facts->nearest);
        if (facts->has_reason)
                (void) fragment_json(reason, facts->reason);
        else
                (void) snprintf(facts->reason, sizeof(facts->reason), "no reason was given");
}

/* "root (uid 0) records since ..., and until ... at the latest: ..." */
static int format_recorder(const Facts *facts, Buffer *sentence) {
        json_object *parameters = facts->parameters;
        uint64_t uid = cell_u64(parameters, "uid");
        const struct passwd *passwd =
                uid < UINT32_MAX && !facts->topic->is_elsewhere ? getpwuid((uid_t) uid) : NULL;
        char since[WHEN_CHARS], until[WHEN_CHARS];

        when_format(cell_u64(parameters, "sinceRealtimeNs"), WHEN_FULL, since);
        when_format(cell_u64(parameters, "untilRealtimeNs"), WHEN_FULL, until);
        buffer_append_text(sentence, "There is one recording at a time: ");
        if (passwd)
                printable_append(sentence, span_of(passwd->pw_name));
        return buffer_append_format(sentence,
                                    "%suid %llu%s has recorded since %s, and will until %s at the "
                                    "latest.",
                                    passwd ? " (" : "", (unsigned long long) uid, passwd ? ")" : "",
                                    since, until);
}

static int format(WireError error, const Facts *facts, Buffer *sentence) {
        const char *reason = facts->reason, *value = facts->value;

        switch (error) {
        case WIRE_ERROR_NO_SUCH_SNAPSHOT:
                if (facts->has_nearest)
                        return buffer_append_format(sentence,
                                                    "There is no snapshot %s, did you mean %s?",
                                                    value, facts->nearest);
                if (facts->is_latest)
                        return buffer_append_format(
                                sentence,
                                "There is no snapshot %s: %s, and " COMPLAIN_BEGIN " takes one.",
                                value,
                                facts->back == 0 ? "nothing was captured yet"
                                                 : "not so many were captured");
                return buffer_append_format(
                        sentence, "There is no snapshot %s: \"ctprofctl list\" shows all names.",
                        value);
        case WIRE_ERROR_SNAPSHOT_EXISTS:
                return buffer_append_format(sentence, "The name %s is taken: %s.", value,
                                            facts->topic->taken_hint ? facts->topic->taken_hint
                                                                     : "choose another");
        case WIRE_ERROR_INVALID_NAME:
                return buffer_append_format(sentence, "The name %s %s.", value, reason);
        case WIRE_ERROR_SNAPSHOT_UNREADABLE:
                if (facts->offset)
                        return buffer_append_format(
                                sentence, "%s cannot be read as a snapshot: %s, at byte %llu.",
                                value, reason,
                                (unsigned long long) json_object_get_uint64(facts->offset));
                return buffer_append_format(sentence, "%s cannot be read as a snapshot: %s.", value,
                                            reason);
        case WIRE_ERROR_NO_WINDOW:
                return buffer_append_format(sentence, "There is no such interval: %s.", reason);
        case WIRE_ERROR_SPOOL_FULL:
        case WIRE_ERROR_SPOOL_UNAVAILABLE:
                /* The reason is a sentence that names the spool by its path. */
                return buffer_append_format(sentence, "%s.", reason);
        case WIRE_ERROR_RECORDING_RUNS:
                return format_recorder(facts, sentence);
        case WIRE_ERROR_NO_RECORDING:
                return buffer_append_text(sentence, "Nothing is being recorded.");
        case WIRE_ERROR_BUSY:
                return buffer_append_format(sentence, "ctprofd is busy: %s; try again later.",
                                            reason);
        case WIRE_ERROR_JOB_FAILED:
                return buffer_append_format(sentence, "ctprofd could not do it: %s.", reason);
        case WIRE_ERROR_PERMISSION_DENIED:
                if (!facts->has_reason)
                        reason = "ctprofd does not say why";
                return buffer_append_format(sentence,
                                            "Not permitted: %s; only root and the user who made a "
                                            "snapshot may remove, rename or replace it.",
                                            reason);
        case WIRE_ERROR_INVALID_PARAMETER:
                if (facts->sided_option)
                        return buffer_append_format(sentence, WIRE_NEEDS_SIDES,
                                                    facts->sided_option);
                if (facts->has_reason)
                        return buffer_append_format(sentence, "ctprofd does not accept %s: %s.",
                                                    value, reason);
                return buffer_append_format(sentence, "ctprofd does not accept %s of this call.",
                                            value);
        case WIRE_ERROR_METHOD_NOT_FOUND:
        case WIRE_ERROR_INTERFACE_NOT_FOUND:
        case WIRE_ERROR_METHOD_NOT_IMPLEMENTED:
                if (facts->topic->daemon_version && facts->topic->daemon_version[0] != '\0')
                        return buffer_append_format(
                                sentence,
                                "ctprofd %s does not know %s: it is older than ctprofctl here, "
                                "which is " CTPROF_VERSION ".",
                                facts->topic->daemon_version, value);
                return buffer_append_format(sentence,
                                            "This ctprofd does not know %s: it is older than "
                                            "ctprofctl.",
                                            value);
        case WIRE_ERROR_EXPECTED_MORE:
        case _WIRE_ERROR_MAX:
                break;
        }
        return buffer_append_format(sentence, "ctprofd refused with the error %s.", value);
}

int wire_complaint_format(const Reply *reply, const WireTopic *topic, Buffer *sentence,
                          int *ret_status) {
        WireError error = wire_error_find(span_of(reply->error));
        Facts facts;
        int r;

        collect(reply, error, topic, &facts);
        r = format(error, &facts, sentence);
        if (r < 0)
                return r;
        *ret_status = error == WIRE_ERROR_INVALID_NAME || error == WIRE_ERROR_INVALID_PARAMETER
                              ? STATUS_USAGE
                              : STATUS_FAILED;
        return 0;
}
