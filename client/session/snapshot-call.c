/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/snapshot-call.h"

#include "interface/error-list.h"
#include "json/json-writer.h"

/* Without either option the daemon decides. All and none are said as earlier daemons know it. */
static void write_smaps(JsonWriter *writer, const Options *options) {
        if (options_have(options, OPTION_NO_SMAPS))
                json_write_member_bool(writer, "smaps", false);
        else if (options_have(options, OPTION_SMAPS) && options->smaps == SMAPS_MODE_SMALL)
                json_write_member_text(writer, "smapsMode", smaps_mode_name(options->smaps));
        else if (options_have(options, OPTION_SMAPS))
                json_write_member_bool(writer, "smaps", options->smaps == SMAPS_MODE_ALL);
}

int take_snapshot(Session *session, const char *tag, json_object **ret, int *ret_fd) {
        const Options *options = session->options;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Capture", .more = true },
                .subject = tag,
                .taken_hint = "choose another, or give --replace",
        };
        JsonWriter *writer = session_call_begin(&call);

        if (tag)
                json_write_member_text(writer, "tag", tag);
        if (options_have(options, OPTION_REPLACE))
                json_write_member_bool(writer, "replace", true);
        write_smaps(writer, options);
        if (ret_fd)
                json_write_member_bool(writer, "anonymous", true);
        return session_call_one(session, &call, ret, ret_fd);
}

int list_snapshots(Session *session, json_object **ret) {
        const Options *options = session->options;
        _cleanup_(session_call_done)
                SessionCall call = { .request = { .method = PROFILER_INTERFACE ".List" } };
        JsonWriter *writer = session_call_begin(&call);

        if (options_have(options, OPTION_SINCE))
                json_write_member_u64(writer, "sinceRealtimeNs", options->since_realtime_ns);
        if (options_have(options, OPTION_UNTIL))
                json_write_member_u64(writer, "untilRealtimeNs", options->until_realtime_ns);
        return session_call_one(session, &call, ret, NULL);
}
