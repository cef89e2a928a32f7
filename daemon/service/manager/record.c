/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/manager/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "interface/interface.h"
#include "wire/limits.h"
#include "wire/message.h"

#define RECORD_DETAIL_BYTES (LOG_QUOTE_BYTES + 64)

static const struct {
        const char *line;
        const char *message_id;
} record_rows[] = {
#define RECORD_ROW(id, line_, message_id_) { .line = (line_), .message_id = (message_id_) },
        RECORDS(RECORD_ROW)
#undef RECORD_ROW
};

static size_t array_length(json_object *value) {
        return json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
}

static const char *text_member(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

/* One line; @detail ends it. */
static void record_name(const RecordedCall *call, Record record, const char *name,
                        const char *old_name, const char *detail) {
        const LogEvent event = {
                .message_id = record_rows[record].message_id,
                .uid = call->uid,
                .method = call->method,
                .snapshot = name,
                .old_snapshot = old_name,
        };
        char quoted[LOG_QUOTE_BYTES];

        log_write(LOG_INFO, 0, &event, "uid %u %s %s%s", (unsigned) call->uid,
                  record_rows[record].line, log_quote(span_of(name ? name : ""), quoted), detail);
}

static void record_head(const RecordedCall *call, Record record, json_object *head,
                        const char *old_name) {
        json_object *uid = json_object_object_get(head, "uid");
        json_object *start = json_object_object_get(head, "startRealtimeNs");
        char detail[RECORD_DETAIL_BYTES] = "", quoted[LOG_QUOTE_BYTES];
        struct tm utc;
        time_t seconds;
        size_t n = 0;

        if (record == RECORD_REMOVED || record == RECORD_REPLACED) {
                /*
                 * " of uid 1000, taken 2026-11-21T07:00:00Z", as far as known: nobody can look up a
                 * snapshot that was removed.
                 */
                if (json_object_is_type(uid, json_type_int))
                        n = (size_t) snprintf(detail, sizeof(detail), " of uid %" PRIi64,
                                              json_object_get_int64(uid));
                if (json_object_is_type(start, json_type_int)) {
                        seconds = (time_t) (json_object_get_uint64(start) / NSEC_PER_SEC);
                        if (gmtime_r(&seconds, &utc))
                                (void) strftime(detail + n, sizeof(detail) - n, ", taken %FT%TZ",
                                                &utc);
                }
        } else if (old_name) {
                (void) snprintf(detail, sizeof(detail), ", formerly %s",
                                log_quote(span_of(old_name), quoted));
        }
        record_name(call, record, text_member(head, "name"), old_name, detail);
}

/*
 * Only a call that may change the spool is recorded, or an error that is recorded for every method.
 * A request of our own may be brought about by calls, so its lines are limited, too.
 */
static void record_failure(LogLimit *failures, const RecordedCall *call, const Reply *reply,
                           uint64_t now_mono_ns) {
        static const char *const keys[] = { "name", "tag", "label" };
        const char *name = text_member(reply->parameters, "name");
        const char *reason = text_member(reply->parameters, "reason");
        json_object *names = json_object_object_get(call->parameters, "names");
        LogEvent event = {
                .message_id = RECORD_REFUSED_ID,
                .uid = call->uid,
                .method = call->method,
        };
        char quoted_error[LOG_QUOTE_BYTES], quoted[LOG_QUOTE_BYTES], quoted_reason[LOG_QUOTE_BYTES];
        char others[LOG_SUPPRESSED_BYTES];
        bool is_own = call->record == RECORD_CLEANED || call->record == RECORD_SURVEYED;
        unsigned n_suppressed;

        if (call->record == RECORD_NOTHING &&
            strcmp(reply->error, wire_error_names[WIRE_ERROR_PERMISSION_DENIED]) != 0 &&
            strcmp(reply->error, wire_error_names[WIRE_ERROR_BUSY]) != 0)
                return;
        if (!log_limit_pass(failures, is_own ? 0 : call->uid, now_mono_ns, &n_suppressed))
                return;
        if (is_own) {
                log_warning(0, "Could not %s the spool, will try again later: %s%s",
                            call->record == RECORD_CLEANED ? "clean" : "read",
                            log_quote(span_of(reason ? reason : reply->error), quoted),
                            log_suppressed(n_suppressed, others));
                return;
        }
        /* The name of the snapshot is that of the error, or else of the call. */
        for (size_t i = 0; i < ELEMENTSOF(keys) && !name; i++)
                name = text_member(call->parameters, keys[i]);
        if (!name && array_length(names) > 0)
                name = json_object_get_string(json_object_array_get_idx(names, 0));
        event.snapshot = name;
        log_write(LOG_NOTICE, 0, &event, "%s by uid %u failed: %s%s%s%s%s%s", call->method,
                  (unsigned) call->uid, log_quote(span_of(reply->error), quoted_error),
                  name ? " " : "", name ? log_quote(span_of(name), quoted) : "", reason ? " " : "",
                  reason ? log_quote(span_of(reason), quoted_reason) : "",
                  log_suppressed(n_suppressed, others));
}

void record_call(LogLimit *failures, const RecordedCall *call, Span frame, bool is_error,
                 uint64_t now_mono_ns) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        json_object *one, *several, *replaced, *rotated;
        Reply reply;

        /* Most replies need not be decoded: they leave no line. */
        if (!is_error && (call->record == RECORD_NOTHING || call->record == RECORD_CLEANED ||
                          call->record == RECORD_SURVEYED))
                return;
        if (reply_decode(frame, &reply, complaint) != 0)
                return;
        if (is_error) {
                record_failure(failures, call, &reply, now_mono_ns);
                reply_done(&reply);
                return;
        }
        /* A reply has one snapshot or several, and lists snapshots that were removed for them. */
        one = json_object_object_get(reply.parameters, "snapshot");
        several = json_object_object_get(reply.parameters, "snapshots");
        replaced = json_object_object_get(reply.parameters, "replaced");
        rotated = json_object_object_get(reply.parameters, "rotated");
        if (one)
                record_head(call, call->record, one, NULL);
        for (size_t i = 0; i < array_length(several); i++)
                record_head(call, call->record, json_object_array_get_idx(several, i),
                            text_member(reply.parameters, "oldName"));
        if (replaced)
                record_head(call, RECORD_REPLACED, replaced, NULL);
        for (size_t i = 0; i < array_length(rotated); i++)
                record_name(call, RECORD_ROTATED,
                            json_object_get_string(json_object_array_get_idx(rotated, i)), NULL,
                            "");
        reply_done(&reply);
}
