/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/course-view.h"

#include "render/cell.h"
#include "report/stack-report.h"
#include "session/complain.h"
#include "stack/course-text.h"

#define DEFAULT_LIMIT 20u /* lines with a curve */

void course_view_done(CourseView *view) {
        course_store_done(&view->store);
        (void) json_object_put(view->first);
        json_out_done(&view->out);
        row_writer_done(&view->rows);
}

static bool is_json(const CourseView *view) {
        return view->session->json != JSON_STYLE_OFF;
}

static bool is_rows(const CourseView *view) {
        Format format = view->session->options->format;

        return options_have(view->session->options, OPTION_FORMAT) &&
               (format == FORMAT_CSV || format == FORMAT_NDJSON);
}

void course_view_write_parameters(const CourseView *view, JsonWriter *writer) {
        json_write_member_bool(writer, "course", true);
        json_write_member_u64(writer, "limit", 1); /* of stacks, which nobody sees */
        if (!view->has_rest)
                stack_report_write_places(writer);
}

/* NULL: names are written. */
static void write_step_part(RowWriter *rows, json_object *step) {
        static const RowField fields[] = { { "begin_boottime_ns", "beginBoottimeNs" },
                                           { "end_boottime_ns", "endBoottimeNs" },
                                           { "threads", "threads" },
                                           { "ended", "ended" } };

        row_begin(rows, ROW_PART_GROUP);
        row_write_fields(rows, step, fields, ELEMENTSOF(fields));
}

static void write_row(RowWriter *rows, json_object *group, const char *place, json_object *ns) {
        static const RowField fields[] = { { "process", "process" }, { "thread", "thread" } };

        row_begin(rows, ROW_PART_OWN);
        row_write_fields(rows, group, fields, ELEMENTSOF(fields));
        row_write_text(rows, "place", span_of(place));
        row_write_value(rows, "ns", ns);
        row_end(rows);
}

static void write_rows(RowWriter *rows, json_object *step) {
        json_object *groups = cell_member(step, "groups");

        write_step_part(rows, step);
        if (!step)
                write_row(rows, NULL, "place", NULL);
        for (size_t i = 0; i < cell_length(groups); i++) {
                json_object *group = cell_element(groups, i);
                json_object *places = cell_member(group, "places");

                if (!json_object_is_type(places, json_type_object))
                        continue;
                json_object_object_foreach(places, place, ns) {
                        write_row(rows, group, place, ns);
                }
        }
}

static int begin(CourseView *view, json_object *reply) {
        char quoted[QUOTE_BYTES];

        view->first = json_object_get(reply);
        if (cell_u64(cell_member(reply, "recording"), "everyNs") == 0)
                return complain(STATUS_USAGE,
                                "%s was recorded without steps, and has no course: \"ctprofctl "
                                "record --every 1s\" makes one that has.",
                                quote(view->name, quoted));
        if (is_rows(view)) {
                stack_report_begin_rows(view->session, &view->rows, reply, write_rows);
                return view->rows.error;
        }
        if (!is_json(view))
                return 0;
        return stack_report_begin_json(view->session, &view->out, reply, "steps");
}

static int print_text(CourseView *view) {
        const Session *session = view->session;
        const CourseText text = {
                .out = stdout,
                .terminal = &session->terminal,
                .legend = session->legend,
                .first = view->first,
                .limit = options_have(session->options, OPTION_LIMIT) ? session->options->view.limit
                                                                      : DEFAULT_LIMIT,
                .has_rest = view->has_rest,
                .is_chatty = session->is_chatty && session->legend == TABLE_LEGEND_SHOWN,
        };
        int r = session_page(view->session);

        return r == 0 ? course_text_print(&text, &view->store) : r;
}

int course_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                         bool last) {
        json_object *steps = cell_member(parameters, "steps");
        CourseView *view = userdata;
        int r = view->first ? 0 : begin(view, parameters);

        for (size_t i = 0; r == 0 && i < cell_length(steps); i++) {
                json_object *step = cell_element(steps, i);

                if (is_rows(view)) {
                        write_rows(&view->rows, step);
                        r = view->rows.error;
                } else if (is_json(view)) {
                        json_out_value(&view->out, step);
                        r = view->out.error;
                } else
                        r = course_store_add(&view->store, step);
        }
        if (r == 0 && last && is_json(view)) {
                json_out_end(&view->out);
                json_out_end(&view->out);
                return session_finish_json(&view->out);
        }
        if (r == 0 && last && !is_rows(view))
                r = print_text(view);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}
