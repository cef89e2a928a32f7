/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/waker-view.h"

#include <stdio.h>

#include "render/cell.h"
#include "render/lines.h"
#include "report/stack-report.h"
#include "session/complain.h"

void waker_view_done(WakerView *view) {
        waker_table_done(&view->table);
        (void) json_object_put(view->first);
        json_out_done(&view->out);
        row_writer_done(&view->rows);
}

static bool is_json(const WakerView *view) {
        return view->session->json != JSON_STYLE_OFF;
}

static bool is_rows(const WakerView *view) {
        const Options *options = view->session->options;

        return options_have(options, OPTION_FORMAT) && options->format != FORMAT_TABLE;
}

void waker_view_write_parameters(const WakerView *view, JsonWriter *writer) {
        const Options *options = view->session->options;

        json_write_member_bool(writer, "wakers", true);
        /* Rows of a table are made of many stacks. */
        if ((is_json(view) || is_rows(view)) && options_have(options, OPTION_LIMIT) &&
            options->view.limit > 0)
                json_write_member_u64(writer, "limit", options->view.limit);
        if (!view->has_rest)
                stack_report_write_places(writer);
}

/* @stack is NULL while names are written. */
static void write_row(RowWriter *rows, json_object *stack) {
        static const RowField of_waker[] = { { "waker", "kind" },
                                             { "waker_process", "process" },
                                             { "waker_thread", "thread" } };
        json_object *waker = cell_member(stack, "waker"), *held = cell_member(waker, "held");

        stack_report_write_fields(rows, stack);
        row_write_fields(rows, waker, of_waker, ELEMENTSOF(of_waker));
        stack_report_write_frames(rows, "waker_frames", cell_member(stack, "wakerFrames"));
        row_write_value(rows, "held_place", cell_member(held, "place"));
        stack_report_write_frames(rows, "held_frames", cell_member(held, "frames"));
        row_end(rows);
}

static int begin(WakerView *view, json_object *reply) {
        view->first = json_object_get(reply);
        if (is_rows(view)) {
                stack_report_begin_rows(view->session, &view->rows, reply, write_row);
                return view->rows.error;
        }
        if (!is_json(view))
                return 0;
        return stack_report_begin_json(view->session, &view->out, reply, "stacks");
}

static int print_table(WakerView *view) {
        const Session *session = view->session;
        const Lines lines = { .out = stdout, .terminal = &session->terminal };
        json_object *facts = cell_member(view->first, "recording");
        uint64_t n_lost = cell_u64(facts, "lostWakes");
        size_t n_hidden = 0;
        int r;

        if (view->table.n == 0) {
                (void) fputs("no waits\n", stdout);
                return 0;
        }
        r = session_page(view->session);
        if (r == 0)
                r = waker_table_print(&view->table, session->options->view.limit,
                                      &session->terminal, session->legend, stdout, &n_hidden);
        if (r != 0)
                return r;
        if (n_lost > 0)
                lines_format(&lines, "", "%llu of %llu wake-ups were lost",
                             (unsigned long long) n_lost,
                             (unsigned long long) cell_u64(facts, "wakes"));
        if (!session->is_chatty || session->legend != TABLE_LEGEND_SHOWN)
                return 0;
        if (!view->has_rest)
                lines_format(&lines, "", "waits for work are not among these (--all-rows)");
        if (n_hidden > 0)
                lines_format(&lines, "", "%zu more waker%s (--limit 0)", n_hidden,
                             n_hidden == 1 ? "" : "s");
        return 0;
}

int waker_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        json_object *stacks = cell_member(parameters, "stacks");
        WakerView *view = userdata;
        int r = view->first ? 0 : begin(view, parameters);

        for (size_t i = 0; r == 0 && i < cell_length(stacks); i++) {
                json_object *stack = cell_element(stacks, i);

                if (is_rows(view)) {
                        write_row(&view->rows, stack);
                        r = view->rows.error;
                } else if (is_json(view)) {
                        json_out_value(&view->out, stack);
                        r = view->out.error;
                } else
                        r = waker_table_add(&view->table, stack);
        }
        if (r == 0 && last && is_json(view)) {
                json_out_end(&view->out);
                json_out_member_u64(&view->out, "hiddenStacks",
                                    cell_u64(parameters, "hiddenStacks"));
                json_out_end(&view->out);
                return session_finish_json(&view->out);
        }
        if (r == 0 && last && !is_rows(view))
                r = print_table(view);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}
