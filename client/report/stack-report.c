/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/stack-report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/number.h"
#include "html/flame-page.h"
#include "metric/record-place.h"
#include "render/cell.h"
#include "report/overview/kind.h"
#include "report/sink.h"
#include "session/complain.h"
#include "stack/stack-profile.h"
#include "stack/stack-text.h"

#define LIST_STACKS 10u /* on a first screen */
/* Threads of many names may have one stack: so many of the heaviest make up the list. */
#define LIST_ASKED 1000u

static const char *const place_names[_RECORD_PLACE_MAX] = RECORD_PLACE_NAMES;

void stack_report_done(StackReport *report) {
        stack_store_done(&report->store);
        for (size_t i = 0; i < ELEMENTSOF(report->firsts); i++)
                (void) json_object_put(report->firsts[i]);
        json_out_done(&report->out);
        row_writer_done(&report->rows);
        stack_pprof_done(&report->pprof);
        course_store_done(&report->course);
}

/* Two recordings are called as two intervals are. */
static const ReportSetting *setting_of(const StackReport *report) {
        return &report_settings[report->of_sets ? REPORT_SETS : REPORT_INTERVALS];
}

static bool is_list(const StackReport *report) {
        return report->form == STACK_FORM_LIST;
}

/* How many stacks the user wants; 0: all. */
static uint32_t limit_of(const StackReport *report) {
        const Options *options = report->session->options;
        bool has_limit = options_have(options, OPTION_LIMIT);
        uint32_t limit = options->view.limit;

        /* People get the heaviest, programs everything, unless the user says otherwise. */
        if (is_list(report))
                return has_limit && limit > 0 ? MIN_OF(limit, LIST_STACKS) : LIST_STACKS;
        return has_limit || report->form == STACK_FORM_TREES ? limit : 0;
}

void stack_report_write_places(JsonWriter *writer) {
        json_write_key(writer, "places");
        json_write_array(writer);
        for (unsigned id = 0; id < _RECORD_PLACE_MAX; id++)
                if (!stack_place_is_rest(span_of(place_names[id])))
                        json_write_text(writer, place_names[id]);
        json_write_end(writer);
}

void stack_report_write_parameters(const StackReport *report, JsonWriter *writer) {
        const Options *options = report->session->options;
        uint32_t limit = is_list(report) && !report->of_sets ? LIST_ASKED : limit_of(report);

        if (report->of_sets)
                json_write_member_bool(writer, "stacks", true);
        if (report->of_sets && options_have(options, OPTION_ALPHA)) {
                json_write_key(writer, "alpha");
                json_write_double(writer, options->alpha);
        }
        /*
         * If there are two recordings, the stacks of interest are those that differ. These may be
         * light in both recordings, so the request has no limit.
         */
        if (limit > 0 && !report->is_pair)
                json_write_member_u64(writer, "limit", limit);
        if (report->form == STACK_FORM_PPROF)
                json_write_member_bool(writer, "files", true);
        if (options_have(options, OPTION_LINES))
                json_write_member_bool(writer, "lines", true);
        /* A page draws the steps of a recording that has some; two have none in common. */
        if (report->form == STACK_FORM_HTML && !report->is_pair)
                json_write_member_bool(writer, "course", true);
        if (!report->has_rest)
                stack_report_write_places(writer);
}

/* JSON */

static void write_head(JsonOut *out, json_object *first) {
        static const char *const members[] = { "snapshot", "recording",         "elapsedNs",
                                               "places",   "threadsThroughout", "threadsAddingUp" };

        for (size_t i = 0; i < ELEMENTSOF(members); i++) {
                json_object *member = cell_member(first, members[i]);

                if (member)
                        json_out_member(out, members[i], member);
        }
}

int stack_report_begin_json(const Session *session, JsonOut *out, json_object *first,
                            const char *name) {
        json_out_init(out, stdout, session->json);
        json_out_object(out);
        write_head(out, first);
        json_out_key(out, name);
        json_out_array(out);
        return out->error;
}

static void write_amount(JsonOut *out, const char *key, const StackAmount *amount) {
        json_out_key(out, key);
        if (!amount->is_there) {
                json_out_value(out, NULL);
                return;
        }
        json_out_object(out);
        json_out_member_u64(out, "ns", amount->ns);
        json_out_member_u64(out, "samples", amount->n_samples);
        json_out_member_u64(out, "maxNs", amount->max_ns);
        json_out_member_double(out, "standardErrorNs", sqrt(amount->variance));
        json_out_key(out, "exact");
        json_out_raw(out, amount->is_exact ? SPAN_LITERAL("true") : SPAN_LITERAL("false"));
        json_out_end(out);
}

static int write_pair(StackReport *report) {
        const ReportSetting *setting = setting_of(report);
        const StackStore *store = &report->store;
        JsonOut *out = &report->out;

        json_out_init(out, stdout, report->session->json);
        json_out_object(out);
        for (unsigned side = 0; side < setting->n_columns; side++) {
                json_out_key(out, setting->sides[side]);
                json_out_object(out);
                write_head(out, report->firsts[side]);
                json_out_end(out);
        }
        json_out_key(out, "stacks");
        json_out_array(out);
        for (size_t i = 0; i < store->n && out->error == 0; i++) {
                const StoredStack *row = &store->rows[i];
                double change = stack_store_change(store, row->of);

                json_out_object(out);
                json_out_member_span(out, "process", name_set_get(&store->names, row->process));
                json_out_member_span(out, "place", name_set_get(&store->places, row->place));
                for (unsigned side = 0; side < setting->n_columns; side++)
                        write_amount(out, setting->sides[side], &row->of[side]);
                json_out_member_double(out, "changePerSecondNs", change * NSEC_PER_SEC);
                json_out_member_double(out, "standardErrorPerSecondNs",
                                       stack_store_change_error(store, row->of) * NSEC_PER_SEC);
                json_out_key(out, "frames");
                json_out_array(out);
                for (size_t k = 0; k < row->n_frames; k++)
                        json_out_span(out, name_set_get(&store->functions,
                                                        stack_store_frames(store, row)[k]));
                json_out_end(out);
                json_out_end(out);
        }
        json_out_end(out);
        json_out_member_u64(out, "hiddenStacks", report->n_hidden);
        json_out_end(out);
        return session_finish_json(out);
}

/* rows */

/* One after the other: in lists, the separator is none of theirs. */
static void append_item(RowWriter *rows, Span name, size_t i) {
        size_t begin = rows->scratch.n + (i > 0);

        if (i > 0)
                buffer_append_byte(&rows->scratch, ';');
        buffer_append(&rows->scratch, name.bytes, name.n);
        for (size_t k = begin; k < rows->scratch.n; k++)
                if (rows->scratch.bytes[k] == ';')
                        rows->scratch.bytes[k] = ',';
}

void stack_report_write_frames(RowWriter *rows, const char *name, json_object *frames) {
        if (cell_length(frames) == 0) {
                row_write_text(rows, name, frames ? SPAN_LITERAL("") : (Span){});
                return;
        }
        for (size_t i = 0; i < cell_length(frames); i++)
                append_item(rows, cell_string(cell_element(frames, i)), i);
        row_write_scratch(rows, name);
}

void stack_report_write_fields(RowWriter *rows, json_object *stack) {
        static const RowField fields[] = { { "process", "process" },
                                           { "thread", "thread" },
                                           { "place", "place" },
                                           { "ns", "ns" },
                                           { "samples", "samples" },
                                           { "max_ns", "maxNs" },
                                           { "standard_error_ns", "standardErrorNs" },
                                           { "exact", "exact" } };

        row_begin(rows, ROW_PART_OWN);
        row_write_fields(rows, stack, fields, ELEMENTSOF(fields));
        stack_report_write_frames(rows, "frames", cell_member(stack, "frames"));
}

static void write_row(RowWriter *rows, json_object *stack) {
        stack_report_write_fields(rows, stack);
        row_end(rows);
}

/* Likewise, and "NAME NS;NAME NS" of what its waits were on. */
static void write_row_with_objects(RowWriter *rows, json_object *stack) {
        json_object *objects = cell_member(stack, "objects");

        stack_report_write_fields(rows, stack);
        for (size_t i = 0; i < cell_length(objects); i++) {
                json_object *object = cell_element(objects, i);

                append_item(rows, cell_string(cell_member(object, "name")), i);
                buffer_append_format(&rows->scratch, " %llu",
                                     (unsigned long long) cell_u64(object, "ns"));
        }
        if (cell_length(objects) > 0 || rows->naming)
                row_write_scratch(rows, "objects");
        else
                row_write_value(rows, "objects", NULL);
        row_end(rows);
}

static RowWriter row_writer_of(const Session *session) {
        bool is_csv = session->options->format == FORMAT_CSV;

        return (RowWriter){ .style = is_csv ? ROW_STYLE_CSV : ROW_STYLE_NDJSON,
                            .formulas = options_have(session->options, OPTION_FORMULAS),
                            .out = stdout,
                            .naming = is_csv && session->legend == TABLE_LEGEND_SHOWN };
}

void stack_report_begin_rows(const Session *session, RowWriter *rows, json_object *first,
                             void (*write)(RowWriter *rows, json_object *element)) {
        static const RowField fields[] = { { "recording", "name" },
                                           { "host", "hostName" },
                                           { "machine_id", "machineId" },
                                           { "boot_id", "bootId" },
                                           { "kernel_release", "kernelRelease" },
                                           { "start_realtime_ns", "startRealtimeNs" },
                                           { "end_realtime_ns", "endRealtimeNs" } };

        *rows = row_writer_of(session);
        for (;;) {
                row_begin(rows, ROW_PART_HEAD);
                row_write_fields(rows, cell_member(first, "snapshot"), fields, ELEMENTSOF(fields));
                row_write_value(rows, "elapsed_ns", cell_member(first, "elapsedNs"));
                if (!rows->naming)
                        return;
                write(rows, NULL);
                rows->naming = false;
        }
}

/* @stack is NULL while names are written. */
static void write_row_of_sets(RowWriter *rows, json_object *stack) {
        static const RowField names[] = { { "process", "process" }, { "place", "place" } };
        static const RowField samples[] = { { "n", "n" },     { "median", "median" },
                                            { "min", "min" }, { "max", "max" },
                                            { "q1", "q1" },   { "q3", "q3" } };
        static const RowField tests[] = { { "delta", "delta" },
                                          { "u", "u" },
                                          { "p", "p" },
                                          { "p_adjusted", "pAdjusted" },
                                          { "significant", "significant" },
                                          { "reason", "reason" } };
        const ReportSetting *setting = &report_settings[REPORT_SETS];

        row_begin(rows, ROW_PART_OWN);
        row_write_fields(rows, stack, names, ELEMENTSOF(names));
        for (unsigned side = 0; side < setting->n_columns; side++) {
                row_set_prefix(rows, setting->sides[side], "_");
                row_write_fields(rows, cell_member(stack, setting->sides[side]), samples,
                                 ELEMENTSOF(samples));
        }
        row_set_prefix(rows, NULL, NULL);
        row_write_fields(rows, stack, tests, ELEMENTSOF(tests));
        stack_report_write_frames(rows, "frames", cell_member(stack, "frames"));
        row_end(rows);
}

static void begin_rows_of_sets(StackReport *report, json_object *reply) {
        const Session *session = report->session;
        RowWriter *rows = &report->rows;

        *rows = row_writer_of(session);
        for (;;) {
                row_begin(rows, ROW_PART_HEAD);
                sink_rows_write_sets(rows, reply);
                if (!rows->naming)
                        return;
                write_row_of_sets(rows, NULL);
                rows->naming = false;
        }
}

static int begin_sets(StackReport *report, json_object *reply) {
        static const char *const members[] = {
                "kind",          "before",        "after",     "recordedBefore",
                "recordedAfter", "alpha",         "tested",    "significant",
                "leastP",        "samplesNeeded", "unsampled", "overflowStacks"
        };
        JsonOut *out = &report->out;

        report->firsts[0] = json_object_get(reply);
        report->store.elapsed_ns[0] = report->store.elapsed_ns[1] = NSEC_PER_SEC;
        if (report->form == STACK_FORM_ROWS)
                begin_rows_of_sets(report, reply);
        if (report->form != STACK_FORM_JSON)
                return report->rows.error;
        json_out_init(out, stdout, report->session->json);
        json_out_object(out);
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                json_out_member(out, members[i], cell_member(reply, members[i]));
        json_out_key(out, "stacks");
        json_out_array(out);
        return out->error;
}

static int begin(StackReport *report, json_object *reply) {
        uint64_t elapsed_ns = cell_u64(reply, "elapsedNs");

        report->firsts[report->side] = json_object_get(reply);
        report->write_row =
                json_object_get_boolean(cell_member(cell_member(reply, "recording"), "objects"))
                        ? write_row_with_objects
                        : write_row;
        report->store.elapsed_ns[report->side] = elapsed_ns;
        if (report->is_pair)
                return elapsed_ns > 0 ? 0
                                      : complain(STATUS_FAILED,
                                                 "ctprofd does not say how long it was recorded.");
        if (report->form == STACK_FORM_SPEEDSCOPE)
                json_out_init(&report->out, stdout, JSON_STYLE_SHORT);
        if (report->form == STACK_FORM_PPROF)
                return stack_pprof_begin(&report->pprof, stdout, reply);
        if (report->form == STACK_FORM_ROWS)
                stack_report_begin_rows(report->session, &report->rows, reply, report->write_row);
        if (report->form != STACK_FORM_JSON)
                return report->rows.error;
        return stack_report_begin_json(report->session, &report->out, reply, "stacks");
}

static int add(StackReport *report, json_object *stack) {
        report->n_seen++;
        if (report->form == STACK_FORM_PPROF)
                return stack_pprof_add(&report->pprof, stack);
        if (report->form == STACK_FORM_ROWS) {
                (report->of_sets ? write_row_of_sets : report->write_row)(&report->rows, stack);
                return report->rows.error;
        }
        if (report->form != STACK_FORM_JSON && report->of_sets)
                return stack_store_add_of_sets(&report->store, stack);
        if (report->form != STACK_FORM_JSON || report->is_pair)
                return stack_store_add(&report->store, report->side, stack);
        json_out_value(&report->out, stack);
        return report->out.error;
}

int stack_report_on_reply(void *userdata, Connection *connection, json_object *parameters,
                          bool last) {
        json_object *stacks = cell_member(parameters, "stacks"),
                    *steps = cell_member(parameters, "steps");
        StackReport *report = userdata;
        int r = 0;

        if (!report->firsts[report->side])
                r = report->of_sets ? begin_sets(report, parameters) : begin(report, parameters);
        for (size_t i = 0; r == 0 && i < cell_length(steps); i++)
                r = course_store_add(&report->course, cell_element(steps, i));
        for (size_t i = 0; r == 0 && i < cell_length(stacks); i++)
                r = add(report, cell_element(stacks, i));
        if (last)
                report->n_hidden = number_add_saturating(report->n_hidden,
                                                         cell_u64(parameters, "hiddenStacks"));
        if (report->of_sets)
                return r < 0 ? complain_errno(r, "write the result to stdout") : r;
        if (r == 0 && last && is_list(report))
                stack_store_drop_unsampled(&report->store);
        if (r == 0 && last && (report->is_pair ? report->side == 1 : is_list(report)))
                r = stack_store_match(&report->store);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}

/* the end */

static int write_folded(const StackStore *store, bool has_errors) {
        _cleanup_(buffer_done) Buffer line = {};
        int r = 0;

        for (size_t i = 0; r == 0 && i < store->n; i++) {
                buffer_clear(&line);
                r = stack_append_folded(&line, store, &store->rows[i], has_errors);
                if (r == 0 && fwrite(line.bytes, 1, line.n, stdout) != line.n)
                        r = errno > 0 ? -errno : -EIO;
        }
        return r;
}

/* 0, an exit status or -errno. */
static int write_all(StackReport *report) {
        const ReportSetting *setting = setting_of(report);
        const Session *session = report->session;
        StackStore *store = &report->store;
        size_t limit = limit_of(report);
        StackText text = {
                .out = stdout,
                .terminal = &session->terminal,
                .legend = session->legend,
                .firsts = { report->firsts[0], report->firsts[1] },
                .words = { setting->labels[0], setting->labels[1] },
                .of_sets = report->of_sets,
                .is_alone = !is_list(report),
                .has_rest = report->has_rest,
                .is_chatty = session->is_chatty && session->legend == TABLE_LEGEND_SHOWN,
        };
        int r;

        if ((report->is_pair || is_list(report)) && limit > 0 && store->n > limit) {
                report->n_hidden = number_add_saturating(report->n_hidden, store->n - limit);
                stack_store_cut(store, limit);
        }
        text.n_hidden = report->n_hidden;
        switch (report->form) {
        case STACK_FORM_LIST:
                (void) putchar('\n');
                return stack_text_print_list(&text, store);
        case STACK_FORM_TREES:
                r = session_page(report->session);
                if (r == 0 && report->of_sets) /* medians do not add up to trees */
                        return stack_text_print_list(&text, store);
                return r == 0 ? stack_text_print_trees(&text, store) : r;
        case STACK_FORM_JSON:
                if (report->is_pair)
                        return write_pair(report);
                json_out_end(&report->out);
                json_out_member_u64(&report->out, "hiddenStacks", report->n_hidden);
                json_out_end(&report->out);
                return session_finish_json(&report->out);
        case STACK_FORM_SPEEDSCOPE:
                return stack_write_speedscope(
                        &report->out, store,
                        cell_member(cell_member(report->firsts[0], "snapshot"), "name"));
        case STACK_FORM_HTML:
                return flame_page_write(stdout, store, &report->course, report->firsts);
        case STACK_FORM_FOLDED:
                return write_folded(store, options_have(session->options, OPTION_STANDARD_ERRORS));
        case STACK_FORM_PPROF:
                return stack_pprof_end(&report->pprof, report->firsts[0]);
        case STACK_FORM_ROWS:
                break;
        }
        return 0;
}

int stack_report_end(StackReport *report, bool *ret_again) {
        int r;

        *ret_again = report->n_seen == 0 && !report->has_rest;
        r = *ret_again ? 0 : write_all(report);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}
