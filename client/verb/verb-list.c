/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "call/cancel.h"
#include "render/cell.h"
#include "render/when.h"
#include "session/complain.h"
#include "session/snapshot-call.h"
#include "verb/verb.h"
#include "wire/message-object.h"

#define COLUMN_KIND 1
#define COLUMN_CAPTURED 2

/* Most spools have one host and one kernel: these columns are omitted first. */
static const TableColumn columns[] = {
        { .header = "NAME", .shrink_to = 24 },
        [COLUMN_KIND] = { .header = "KIND" },
        [COLUMN_CAPTURED] = { .header = "CAPTURED" },
        { .header = "AGE", .right = true },
        { .header = "HOST", .shrink_to = 8, .omit = 2 },
        { .header = "KERNEL", .shrink_to = 8, .omit = 3 },
        { .header = "THREADS", .right = true },
        { .header = "PROCESSES", .right = true, .omit = 1 },
        { .header = "SIZE", .right = true },
        { .header = "BY", .shrink_to = 8 },
};

static int print_heads(Session *session, json_object *heads) {
        char zone[WHEN_CHARS] = "", other[WHEN_CHARS], header[WHEN_CHARS + sizeof("CAPTURED ()")];
        uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
        TableColumn zoned[ELEMENTSOF(columns)];
        _cleanup_(table_freep) Table *table = NULL;
        TableLegend legend = session->legend;
        bool in_header = legend == TABLE_LEGEND_SHOWN, has_recording = false;
        int r;

        /* If all times have one zone in common, it stands in the header. */
        for (size_t i = 0; in_header && i < cell_length(heads); i++) {
                json_object *start = cell_member(cell_element(heads, i), "startRealtimeNs");

                if (!start)
                        continue;
                when_format(json_object_get_uint64(start), WHEN_ZONE, other);
                in_header = zone[0] == '\0' || strcmp(zone, other) == 0;
                memcpy(zone, other, sizeof(zone));
        }
        in_header = in_header && zone[0] != '\0';
        memcpy(zoned, columns, sizeof(columns));
        if (in_header) {
                (void) snprintf(header, sizeof(header), "CAPTURED (%s)", zone);
                zoned[COLUMN_CAPTURED].header = header;
        }
        /* A spool of snapshots alone needs no column that says so. */
        for (size_t i = 0; i < cell_length(heads); i++)
                has_recording = has_recording || head_is_of_recording(cell_element(heads, i));
        zoned[COLUMN_KIND].absent = !has_recording;
        r = session_page(session);
        if (r != 0)
                return r;
        r = table_new(zoned, ELEMENTSOF(zoned), &session->terminal, legend, stdout, &table);
        if (r < 0)
                return complain_errno(r, "print the result");
        /* The cells are appended in the order of the columns. */
        for (size_t i = 0; i < cell_length(heads); i++) {
                json_object *head = cell_element(heads, i), *user = cell_member(head, "uid");
                uint64_t uid = json_object_get_uint64(user);
                json_object *start = cell_member(head, "startRealtimeNs");
                char captured[WHEN_CHARS] = "", age[WHEN_CHARS] = "";
                uint64_t start_ns = json_object_get_uint64(start);
                const struct passwd *passwd;
                Buffer *cell;

                if (start) {
                        when_format(start_ns, in_header ? WHEN_CLOCK : WHEN_FULL, captured);
                        when_format_span(now_ns > start_ns ? now_ns - start_ns : 0, WHEN_ROUGH,
                                         age);
                }
                cell_append_text(table_cell(table), cell_member(head, "name"));
                buffer_append_text(table_cell(table),
                                   head_is_of_recording(head) ? "recording" : "snapshot");
                cell = table_cell(table);
                buffer_append_text(cell, captured);
                /* The time is that of the origin, by whose clock it was set. */
                if (cell_member(head, "importedFrom"))
                        buffer_append_text(cell, start ? " imported" : "imported");
                buffer_append_text(table_cell(table), age);
                cell_append_text(table_cell(table), cell_member(head, "hostName"));
                cell_append_text(table_cell(table), cell_member(head, "kernelRelease"));
                cell_append_number(table_cell(table), cell_member(head, "threads"),
                                   QUANTITY_LADDER_NONE);
                cell_append_number(table_cell(table), cell_member(head, "processes"),
                                   QUANTITY_LADDER_NONE);
                cell_append_number(table_cell(table), cell_member(head, "sizeBytes"),
                                   QUANTITY_LADDER_BYTES);
                cell = table_cell(table);
                /* A number of another host may be somebody else here. */
                passwd = user && uid < UINT32_MAX && !session->host ? getpwuid((uid_t) uid) : NULL;
                if (passwd)
                        buffer_append_text(cell, passwd->pw_name);
                else if (user)
                        buffer_append_u64(cell, uid);
                table_end_row(table, 0);
        }
        r = table_end(table);
        return r < 0 ? complain_errno(r, "print the result") : 0;
}

int verb_list(Session *session) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        json_object *heads, *unreadable;
        char quoted[QUOTE_BYTES], why[QUOTE_BYTES];
        int r;

        r = options_refuse_times(session->options, "no snapshot can lie");
        if (r == 0)
                r = list_snapshots(session, true, &reply);
        if (r != 0)
                return r;
        heads = cell_member(reply, "snapshots");
        unreadable = cell_member(reply, "unreadable");
        if (session->json != JSON_STYLE_OFF) {
                _cleanup_(json_out_done) JsonOut out;

                json_out_init(&out, stdout, session->json);
                json_out_object(&out);
                json_out_member(&out, "snapshots", heads);
                json_out_end(&out);
                r = session_finish_json(&out);
        } else {
                r = print_heads(session, heads);
        }
        for (size_t i = 0; i < cell_length(unreadable); i++) {
                json_object *result = cell_element(unreadable, i);

                (void) complain(STATUS_DONE, "%s cannot be read: %s.",
                                quote_json(cell_member(result, "name"), quoted),
                                fragment_json(cell_member(result, "error"), why));
        }
        /* Headers alone leave open what to do next. */
        if (r != 0 || !session->is_chatty || cell_length(heads) > 0 || cell_length(unreadable) > 0)
                return r;
        if (options_have(session->options, OPTION_SINCE) ||
            options_have(session->options, OPTION_UNTIL))
                return complain(STATUS_DONE, "No snapshot of the spool is of that time.");
        return complain(STATUS_DONE, "The spool has no snapshots: begin with " COMPLAIN_BEGIN ".");
}
