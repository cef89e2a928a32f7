/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/stack-list.h"

#include <stdio.h>

#include "render/cell.h"
#include "render/lines.h"
#include "report/stack-report.h"
#include "session/complain.h"
#include "stack/course-text.h"

#define CURVES 20u /* of groups and places, where no limit is given */

void stack_list_done(StackList *list) {
        waker_table_done(&list->wakers);
        course_store_done(&list->course);
        (void) json_object_put(list->first);
        json_out_done(&list->out);
        row_writer_done(&list->rows);
}

static bool is_json(const StackList *list) {
        return list->session->json != JSON_STYLE_OFF;
}

static bool is_rows(const StackList *list) {
        const Options *options = list->session->options;

        return options_have(options, OPTION_FORMAT) && options->format != FORMAT_TABLE;
}

bool stack_list_is_for_people(const StackList *list) {
        return !is_json(list) && !is_rows(list);
}

void stack_list_write_parameters(const StackList *list, JsonWriter *writer) {
        const Options *options = list->session->options;
        bool is_limited = stack_list_is_for_people(list) ? !list->kind->adds_up
                                                         : options_have(options, OPTION_LIMIT);

        json_write_member_bool(writer, list->kind->parameter, true);
        if (!list->kind->hidden)
                json_write_member_u64(writer, "limit", 1); /* of stacks, which nobody sees */
        else if (is_limited && options->view.limit > 0)
                json_write_member_u64(writer, "limit", options->view.limit);
        if (!list->has_rest)
                stack_report_write_places(writer);
}

static int begin(StackList *list, json_object *reply) {
        int r = 0;

        list->first = json_object_get(reply);
        if (list->kind->begin)
                r = list->kind->begin(list);
        if (r == 0 && is_rows(list)) {
                stack_report_begin_rows(list->session, &list->rows, reply, list->kind->write_rows);
                r = list->rows.error;
        } else if (r == 0 && is_json(list))
                r = stack_report_begin_json(list->session, &list->out, reply, list->kind->elements);
        return r;
}

static int add(StackList *list, json_object *element) {
        if (is_rows(list)) {
                list->kind->write_rows(&list->rows, element);
                return list->rows.error;
        }
        if (is_json(list)) {
                json_out_value(&list->out, element);
                return list->out.error;
        }
        return list->kind->add(list, element);
}

static int end(StackList *list, json_object *reply) {
        const char *hidden = list->kind->hidden;
        uint64_t n_hidden = hidden ? cell_u64(reply, hidden) : 0;

        if (is_rows(list))
                return 0;
        if (!is_json(list))
                return list->kind->end(list, n_hidden);
        json_out_end(&list->out);
        if (hidden)
                json_out_member_u64(&list->out, hidden, n_hidden);
        json_out_end(&list->out);
        return session_finish_json(&list->out);
}

int stack_list_on_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        StackList *list = userdata;
        json_object *elements = cell_member(parameters, list->kind->elements);
        int r = list->first ? 0 : begin(list, parameters);

        for (size_t i = 0; r == 0 && i < cell_length(elements); i++)
                r = add(list, cell_element(elements, i));
        if (r == 0 && last)
                r = end(list, parameters);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}

/* who ended waits */

static void write_waker_row(RowWriter *rows, json_object *stack) {
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

static int add_waker(StackList *list, json_object *stack) {
        return waker_table_add(&list->wakers, stack);
}

/* The lines of the table are counted and not the stacks, of which many make one. */
static int print_wakers(StackList *list, uint64_t n_hidden_stacks) {
        const Session *session = list->session;
        const Lines lines = { .out = stdout, .terminal = &session->terminal };
        json_object *facts = cell_member(list->first, "recording");
        uint64_t n_lost = cell_u64(facts, "lostWakes");
        size_t n_hidden = 0;
        int r;

        if (list->wakers.n == 0) {
                (void) fputs("no waits\n", stdout);
                return 0;
        }
        r = session_page(list->session);
        if (r == 0)
                r = waker_table_print(&list->wakers, session->options->view.limit,
                                      &session->terminal, session->legend, stdout, &n_hidden);
        if (r != 0)
                return r;
        if (n_lost > 0)
                lines_format(&lines, "", "%llu of %llu wake-ups were lost",
                             (unsigned long long) n_lost,
                             (unsigned long long) cell_u64(facts, "wakes"));
        if (!session->is_chatty || session->legend != TABLE_LEGEND_SHOWN)
                return 0;
        if (!list->has_rest)
                lines_format(&lines, "", "waits for work are not among these (--all-rows)");
        if (n_hidden > 0)
                lines_format(&lines, "", "%zu more waker%s (--limit 0)", n_hidden,
                             n_hidden == 1 ? "" : "s");
        return 0;
}

const StackListKind waker_list = {
        .parameter = "wakers",
        .elements = "stacks",
        .hidden = "hiddenStacks",
        .adds_up = true,
        .write_rows = write_waker_row,
        .add = add_waker,
        .end = print_wakers,
};

/* the course */

static int check_steps(StackList *list) {
        char quoted[QUOTE_BYTES];

        if (cell_u64(cell_member(list->first, "recording"), "everyNs") > 0)
                return 0;
        return complain(STATUS_USAGE,
                        "%s was recorded without steps, and has no course: \"ctprofctl record "
                        "--every 1s\" makes one that has.",
                        quote(list->name, quoted));
}

static void write_place(RowWriter *rows, json_object *group, const char *place, json_object *ns) {
        static const RowField fields[] = { { "process", "process" }, { "thread", "thread" } };

        row_begin(rows, ROW_PART_OWN);
        row_write_fields(rows, group, fields, ELEMENTSOF(fields));
        row_write_text(rows, "place", span_of(place));
        row_write_value(rows, "ns", ns);
        row_end(rows);
}

static void write_step_rows(RowWriter *rows, json_object *step) {
        static const RowField fields[] = { { "begin_boottime_ns", "beginBoottimeNs" },
                                           { "end_boottime_ns", "endBoottimeNs" },
                                           { "threads", "threads" },
                                           { "ended", "ended" } };
        json_object *groups = cell_member(step, "groups");

        row_begin(rows, ROW_PART_GROUP);
        row_write_fields(rows, step, fields, ELEMENTSOF(fields));
        if (!step)
                write_place(rows, NULL, "place", NULL);
        for (size_t i = 0; i < cell_length(groups); i++) {
                json_object *group = cell_element(groups, i);
                json_object *places = cell_member(group, "places");

                if (!json_object_is_type(places, json_type_object))
                        continue;
                json_object_object_foreach(places, place, ns) {
                        write_place(rows, group, place, ns);
                }
        }
}

static int add_step(StackList *list, json_object *step) {
        return course_store_add(&list->course, step);
}

static int print_course(StackList *list, uint64_t n_hidden) {
        const Session *session = list->session;
        const CourseText text = {
                .out = stdout,
                .terminal = &session->terminal,
                .legend = session->legend,
                .first = list->first,
                .limit = options_have(session->options, OPTION_LIMIT) ? session->options->view.limit
                                                                      : CURVES,
                .has_rest = list->has_rest,
                .is_chatty = session->is_chatty && session->legend == TABLE_LEGEND_SHOWN,
        };
        int r = session_page(list->session);

        return r == 0 ? course_text_print(&text, &list->course) : r;
}

const StackListKind course_list = {
        .parameter = "course",
        .elements = "steps",
        .begin = check_steps,
        .write_rows = write_step_rows,
        .add = add_step,
        .end = print_course,
};
