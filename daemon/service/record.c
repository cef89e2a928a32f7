/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/record.h"

#include <json-c/json.h>
#include <string.h>

#include "base/macro.h"
#include "interface/interface.h"
#include "wire/message.h"

#define RECORDER_FAILURES_PER_MINUTE 60

static const struct {
        const char *line;
        const char *message_id;
} record_rows[] = {
#define RECORD_ROW(id, line_, message_id_) { .line = (line_), .message_id = (message_id_) },
        RECORDS(RECORD_ROW)
#undef RECORD_ROW
};

void recorder_init(Recorder *recorder) {
        *recorder = (Recorder){
                .failures = { .interval_ns = 60 * NSEC_PER_SEC,
                              .burst = RECORDER_FAILURES_PER_MINUTE },
        };
}

static const char *text_member(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static void record_snapshot(const Method *method, uid_t uid, json_object *head) {
        const char *name = text_member(head, "name");
        char quoted[LOG_QUOTE_BYTES];
        const LogEvent event = {
                .message_id = record_rows[method->record].message_id,
                .uid = uid,
                .method = method->name,
                .snapshot = name,
        };

        log_event(LOG_INFO, &event, "uid %u %s %s", (unsigned) uid,
                  record_rows[method->record].line, log_quote(span_of(name ? name : ""), quoted));
}

/* A reply has one snapshot, or several. */
static void record_success(const Method *method, uid_t uid, json_object *parameters) {
        json_object *one = json_object_object_get(parameters, "snapshot");
        json_object *several = json_object_object_get(parameters, "snapshots");

        if (one)
                record_snapshot(method, uid, one);
        if (!json_object_is_type(several, json_type_array))
                return;
        for (size_t i = 0; i < json_object_array_length(several); i++)
                record_snapshot(method, uid, json_object_array_get_idx(several, i));
}

static void record_failure(Recorder *recorder, const Method *method, uid_t uid, const Reply *reply,
                           uint64_t now_mono_ns) {
        const char *name = text_member(reply->parameters, "name");
        const char *reason = text_member(reply->parameters, "reason");
        const LogEvent event = {
                .message_id = RECORD_REFUSED_ID,
                .uid = uid,
                .method = method->name,
                .snapshot = name,
        };
        char quoted[LOG_QUOTE_BYTES], quoted_reason[LOG_QUOTE_BYTES];
        unsigned n_suppressed;

        if (!log_limit_pass(&recorder->failures, now_mono_ns, &n_suppressed))
                return;
        log_event(LOG_NOTICE, &event, "%s by uid %u failed: %s%s%s%s%s%s", method->name,
                  (unsigned) uid, reply->error, name ? " " : "",
                  name ? log_quote(span_of(name), quoted) : "", reason ? " " : "",
                  reason ? log_quote(span_of(reason), quoted_reason) : "",
                  n_suppressed > 0 ? " (others were not logged)" : "");
}

void recorder_take(Recorder *recorder, const Method *method, uid_t uid, Span frame, bool is_error,
                   uint64_t now_mono_ns) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Reply reply;
        bool refused;

        /* Most replies are not looked into. */
        if (method->record == RECORD_NOTHING && !is_error)
                return;
        if (reply_decode(frame, &reply, complaint) != 0)
                return;
        refused =
                is_error && strcmp(reply.error, wire_error_name(WIRE_ERROR_PERMISSION_DENIED)) == 0;
        if (!is_error)
                record_success(method, uid, reply.parameters);
        else if (refused || method->record != RECORD_NOTHING)
                record_failure(recorder, method, uid, &reply, now_mono_ns);
        reply_done(&reply);
}
