/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pwd.h>
#include <stdio.h>

#include "call/cancel.h"
#include "render/cell.h"
#include "render/when.h"
#include "session/complain.h"
#include "session/snapshot-call.h"
#include "verb/verb.h"
#include "wire/message-object.h"

enum {
        COLUMN_NAME,
        COLUMN_CAPTURED,
        COLUMN_AGE,
        COLUMN_HOST,
        COLUMN_KERNEL,
        COLUMN_THREADS,
        COLUMN_PROCESSES,
        COLUMN_SIZE,
        COLUMN_BY,
        N_COLUMNS,
};

/* Most spools have one host and one kernel: these columns are omitted first. */
static const TableColumn columns[N_COLUMNS] = {
        [COLUMN_NAME] = { .header = "NAME", .shrink_to = 24 },
        [COLUMN_CAPTURED] = { .header = "CAPTURED" },
        [COLUMN_AGE] = { .header = "AGE", .right = true },
        [COLUMN_HOST] = { .header = "HOST", .shrink_to = 8, .omit = 2 },
        [COLUMN_KERNEL] = { .header = "KERNEL", .shrink_to = 8, .omit = 3 },
        [COLUMN_THREADS] = { .header = "THREADS", .right = true },
        [COLUMN_PROCESSES] = { .header = "PROCESSES", .right = true, .omit = 1 },
        [COLUMN_SIZE] = { .header = "SIZE", .right = true },
        [COLUMN_BY] = { .header = "BY", .shrink_to = 8 },
};

static int append_user(Buffer *cell, json_object *uid) {
        const struct passwd *passwd;

        if (!uid)
                return 0;
        passwd = getpwuid((uid_t) json_object_get_uint64(uid));
        if (passwd)
                return buffer_append_text(cell, passwd->pw_name);
        return buffer_append_u64(cell, json_object_get_uint64(uid));
}

static int append_when(Buffer *cell, json_object *start, uint64_t now_realtime_ns, bool is_age) {
        char text[WHEN_CHARS];

        if (!start)
                return 0;
        if (is_age)
                when_format_age(json_object_get_uint64(start), now_realtime_ns, text);
        else
                when_format(json_object_get_uint64(start), text);
        return buffer_append_text(cell, text);
}

static int append_cell(Buffer *cell, size_t column, json_object *head, uint64_t now_realtime_ns) {
        switch (column) {
        case COLUMN_NAME:
                return cell_append_text(cell, cell_member(head, "name"));
        case COLUMN_CAPTURED:
                return append_when(cell, cell_member(head, "startRealtimeNs"), 0, false);
        case COLUMN_AGE:
                return append_when(cell, cell_member(head, "startRealtimeNs"), now_realtime_ns,
                                   true);
        case COLUMN_HOST:
                return cell_append_text(cell, cell_member(head, "hostName"));
        case COLUMN_KERNEL:
                return cell_append_text(cell, cell_member(head, "kernelRelease"));
        case COLUMN_THREADS:
                return cell_append_number(cell, cell_member(head, "threads"), QUANTITY_LADDER_NONE);
        case COLUMN_PROCESSES:
                return cell_append_number(cell, cell_member(head, "processes"),
                                          QUANTITY_LADDER_NONE);
        case COLUMN_SIZE:
                return cell_append_number(cell, cell_member(head, "sizeBytes"),
                                          QUANTITY_LADDER_BYTES);
        case COLUMN_BY:
                return append_user(cell, cell_member(head, "uid"));
        default:
                return 0;
        }
}

static int add_head(Table *table, json_object *head, uint64_t now_realtime_ns) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_COLUMNS; i++)
                r = append_cell(table_cell(table), i, head, now_realtime_ns);
        return r < 0 ? r : table_end_row(table, 0);
}

static int print_heads(Session *session, json_object *heads) {
        _cleanup_(table_freep) Table *table = NULL;
        uint64_t now_realtime_ns = realtime_now_ns();
        int r;

        r = table_new(columns, N_COLUMNS, &session->terminal, session_legend(session), stdout,
                      &table);
        for (size_t i = 0; r == 0 && i < cell_length(heads); i++)
                r = add_head(table, cell_element(heads, i), now_realtime_ns);
        return r < 0 ? r : table_end(table);
}

static void complain_unreadable(json_object *results) {
        char quoted[QUOTE_BYTES], why[QUOTE_BYTES];

        for (size_t i = 0; i < cell_length(results); i++) {
                json_object *result = cell_element(results, i);

                (void) complain(STATUS_DONE, "%s cannot be read: %s.",
                                quote_json(cell_member(result, "name"), quoted),
                                fragment_json(cell_member(result, "error"), why));
        }
}

static int print_list_json(Session *session, json_object *reply) {
        _cleanup_(json_out_done) JsonOut out;

        json_out_init(&out, stdout, session->json);
        json_out_object(&out);
        json_out_member(&out, "snapshots", cell_member(reply, "snapshots"));
        json_out_end(&out);
        return session_finish_json(&out);
}

int verb_list(Session *session) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        const Options *options = session->options;
        int r;

        if (options_have(options, OPTION_SINCE) && options_have(options, OPTION_UNTIL) &&
            options->since_realtime_ns > options->until_realtime_ns)
                return complain(STATUS_USAGE,
                                "--since is later than --until: nothing can be between.");
        r = list_snapshots(session, &reply);
        if (r != 0)
                return r;
        if (session_has_json(session)) {
                r = print_list_json(session, reply);
        } else {
                r = session_page(session);
                if (r == 0)
                        r = print_heads(session, cell_member(reply, "snapshots"));
                if (r < 0)
                        r = complain_errno(r, "print the result");
        }
        complain_unreadable(cell_member(reply, "unreadable"));
        return r;
}
