/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/snapshot-call.h"

#include <errno.h>

#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "session/complain.h"
#include "wire/message-object.h"

/* More than any daemon has; a hostile one must not fill our memory. */
#define LIST_MAX_ELEMENTS ((size_t) 1 << 18)

int take_snapshot(Session *session, const char *tag, json_object **ret, int *ret_fd) {
        const Options *options = session->options;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Capture", .more = true },
                .subject = tag,
                .taken_hint = "choose another, or give --replace",
                .at_realtime_ns = options->at_realtime_ns,
        };
        JsonWriter *writer = session_call_begin(&call);

        if (tag)
                json_write_member_text(writer, "tag", tag);
        if (options_have(options, OPTION_REPLACE))
                json_write_member_bool(writer, "replace", true);
        /* Without either the daemon decides. All and none are said as earlier ones know it. */
        if (options_have(options, OPTION_NO_SMAPS))
                json_write_member_bool(writer, "smaps", false);
        else if (options_have(options, OPTION_SMAPS) && options->smaps == SMAPS_MODE_SMALL)
                json_write_member_text(writer, "smapsMode", smaps_mode_names[options->smaps]);
        else if (options_have(options, OPTION_SMAPS))
                json_write_member_bool(writer, "smaps", options->smaps == SMAPS_MODE_ALL);
        if (options_have(options, OPTION_NO_HEAP))
                json_write_member_bool(writer, "heap", false);
        /* Earlier daemons know nothing of it, and count nothing that could be left out. */
        if (options_have(options, OPTION_REASONS))
                json_write_member_bool(writer, "reasons", options->reasons == 1);
        if (options_have(options, OPTION_BACKEND))
                json_write_member_text(writer, "backend", backend_choice_names[options->backend]);
        /* For a private daemon alone: it is of this version, and the only one that asks for it. */
        if (session->captures_ends && options_have(options, OPTION_LOCAL))
                json_write_member_bool(writer, "interval", true);
        if (ret_fd)
                json_write_member_bool(writer, "anonymous", true);
        return session_call_one(session, &call, ret, ret_fd);
}

/* A long list comes in several replies. 0, -ENOMEM, or -EMSGSIZE when it is too long. */
static int append_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        static const char *const keys[] = { "snapshots", "unreadable" };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                json_object *from = cell_member(parameters, keys[i]);
                json_object *to = cell_member(userdata, keys[i]);
                size_t n = cell_length(from);

                if (n > LIST_MAX_ELEMENTS - json_object_array_length(to))
                        return -EMSGSIZE;
                for (size_t k = 0; k < n; k++)
                        if (json_object_array_add(to, json_object_get(cell_element(from, k))) < 0)
                                return -ENOMEM;
        }
        return 0;
}

int list_snapshots(Session *session, bool of_time, json_object **ret) {
        _cleanup_(message_object_freep) json_object *list = json_object_new_object();
        const Options *options = session->options;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".List", .more = true },
        };
        JsonWriter *writer = session_call_begin(&call);
        int r;

        if (!list || json_object_object_add(list, "snapshots", json_object_new_array()) < 0 ||
            json_object_object_add(list, "unreadable", json_object_new_array()) < 0)
                return complain_errno(-ENOMEM, "list the snapshots");

        if (of_time && options_have(options, OPTION_SINCE))
                json_write_member_u64(writer, "sinceRealtimeNs", options->since_realtime_ns);
        if (of_time && options_have(options, OPTION_UNTIL))
                json_write_member_u64(writer, "untilRealtimeNs", options->until_realtime_ns);
        r = session_call(session, &call, append_reply, list);
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

int describe_snapshot(Session *session, const Reference *snapshot, json_object **ret) {
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Info", .more = true },
        };

        reference_prepare_call(snapshot, &call);
        return session_call_one(session, &call, ret, NULL);
}

bool head_is_of_recording(json_object *head) {
        return span_is(cell_string(cell_member(head, "fileKind")), "recording");
}

/* the captures of this host */

static int by_boot(const void *a_, const void *b_) {
        const OwnCapture *a = a_, *b = b_;
        int order = span_compare(a->boot_id, b->boot_id);

        if (order != 0)
                return order;
        return (a->start_boottime_ns > b->start_boottime_ns) -
               (a->start_boottime_ns < b->start_boottime_ns);
}

static int by_time(const void *a_, const void *b_) {
        const OwnCapture *a = a_, *b = b_;

        if (a->boot_begin_ns != b->boot_begin_ns)
                return a->boot_begin_ns < b->boot_begin_ns ? -1 : 1;
        return by_boot(a, b);
}

bool own_captures_share_boot(const OwnCapture *a, const OwnCapture *b) {
        return span_equal(a->boot_id, b->boot_id);
}

int own_captures_list(Session *session, OwnCaptures *ret) {
        json_object *heads;
        OwnCapture *all;
        int r;

        r = list_snapshots(session, false, &ret->list);
        if (r != 0)
                return r;
        heads = cell_member(ret->list, "snapshots");
        ret->all = all = calloc(cell_length(heads) + 1, sizeof(*all));
        if (!all)
                return complain_errno(-ENOMEM, "list the snapshots");
        for (size_t i = 0; i < cell_length(heads); i++) {
                json_object *head = cell_element(heads, i), *name = cell_member(head, "name");
                uint64_t boottime_ns = cell_u64(head, "startBoottimeNs");

                if (!name || cell_member(head, "importedFrom") || head_is_of_recording(head))
                        continue;
                all[ret->n++] = (OwnCapture){
                        .head = head,
                        .name = json_object_get_string(name),
                        .boot_id = cell_string(cell_member(head, "bootId")),
                        .boot_begin_ns = cell_u64(head, "startRealtimeNs") - boottime_ns,
                        .start_boottime_ns = boottime_ns,
                        .end_realtime_ns = cell_u64(head, "endRealtimeNs"),
                };
        }
        qsort(all, ret->n, sizeof(*all), by_boot);
        for (size_t i = 1; i < ret->n; i++)
                if (own_captures_share_boot(&all[i - 1], &all[i]))
                        all[i].boot_begin_ns = all[i - 1].boot_begin_ns;
        qsort(all, ret->n, sizeof(*all), by_time);
        return 0;
}

void own_captures_done(OwnCaptures *captures) {
        free(captures->all);
        (void) json_object_put(captures->list);
}
