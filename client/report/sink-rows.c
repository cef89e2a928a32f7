/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "render/cell.h"
#include "report/row/group-rows.h"
#include "report/row/row-head.h"
#include "report/row/section-rows.h"
#include "report/section/section-row.h"

typedef struct SinkRows {
        GroupSink sink;
        RowWriter writer;
        RowStream own; /* stdout, where there is no other */
        RowStream *stream;
        RowChoice choice;
        json_object *coverage; /* owned */
} SinkRows;

/* Writes the names of the columns where they are wanted and do not stand there yet. */
static void begin_stream(RowStream *stream, const Session *session, RowWriter *writer,
                         ReportKind kind) {
        if (stream->is_csv && !stream->is_begun && session_legend(session) == TABLE_LEGEND_SHOWN)
                group_rows_add_names(writer, kind);
        stream->is_begun = true;
}

static Span axis_of(const Session *session) {
        return span_of(view_axis_name(session->options->view.axis));
}

static void init_writer(RowWriter *writer, const RowStream *stream, const Session *session) {
        row_writer_init(writer, stream->is_csv ? ROW_STYLE_CSV : ROW_STYLE_NDJSON,
                        options_have(session->options, OPTION_FORMULAS), stream->out);
}

static int begin(GroupSink *sink, json_object *reply) {
        SinkRows *rows = (SinkRows *) sink;
        const GroupForm *form = sink->form;
        int r;

        r = group_form_lead(form, NULL, NULL);
        if (r != 0)
                return r;
        begin_stream(rows->stream, form->session, &rows->writer, form->kind);
        row_head_begin(&rows->writer, form->kind, axis_of(form->session), reply);
        if (form->kind == REPORT_INTERVAL)
                rows->coverage = json_object_get(cell_member(reply, "coverage"));
        return row_writer_failure(&rows->writer);
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        static const RowSide sides[_GROUP_LIST_MAX] = {
                [GROUP_LIST_GROUPS] = ROW_SIDE_BOTH,
                [GROUP_LIST_ONLY_BEFORE] = ROW_SIDE_BEFORE,
                [GROUP_LIST_ONLY_AFTER] = ROW_SIDE_AFTER,
        };
        SinkRows *rows = (SinkRows *) sink;

        for (size_t i = 0; i < cell_length(groups); i++)
                group_rows_add(&rows->writer, sink->form->kind, cell_element(groups, i),
                               sides[list], rows->choice, rows->coverage);
        return row_writer_failure(&rows->writer);
}

static int add_sections(GroupSink *sink, json_object *part) {
        SinkRows *rows = (SinkRows *) sink;
        RowWriter *writer = &rows->writer;
        const GroupForm *form = sink->form;
        json_object_iter member;

        json_object_object_foreachC(part, member) {
                SectionId id = section_find(member.key);

                for (size_t i = 0; id < _SECTION_MAX && i < cell_length(member.val); i++)
                        section_rows_add(writer, form->kind, &form->session->options->view, id,
                                         cell_element(member.val, i), rows->choice);
        }
        return row_writer_failure(writer);
}

static int end(GroupSink *sink, json_object *reply) {
        SinkRows *rows = (SinkRows *) sink;

        group_rows_add_coverage(&rows->writer, rows->coverage, rows->choice);
        return row_writer_failure(&rows->writer);
}

static void free_sink(GroupSink *sink) {
        SinkRows *rows = (SinkRows *) sink;

        row_writer_done(&rows->writer);
        (void) json_object_put(rows->coverage);
        free(sink);
}

int sink_rows_new(const GroupForm *form, GroupSink **ret) {
        static const GroupSinkType type = { .begin = begin,
                                            .groups = add_groups,
                                            .sections = add_sections,
                                            .end = end,
                                            .free = free_sink };
        const View *view = &form->session->options->view;
        SinkRows *rows = malloc(sizeof(*rows));

        if (!rows)
                return -ENOMEM;
        *rows = (SinkRows){
                .sink = { &type, form },
                .own = { stdout, .is_csv = form->session->options->format == FORMAT_CSV },
        };
        rows->stream = form->stream ? form->stream : &rows->own;
        /* Who names metrics or sections wants nothing else, but a stream has to be believed. */
        rows->choice = (RowChoice){
                .present = rows->stream->present,
                .lives = form->stream || (!view->has_metrics && !view->has_sections),
        };
        init_writer(&rows->writer, rows->stream, form->session);
        *ret = &rows->sink;
        return 0;
}

int sink_rows_add_gap(Session *session, RowStream *stream, json_object *ends, Span reason) {
        RowWriter writer;
        int r;

        init_writer(&writer, stream, session);
        begin_stream(stream, session, &writer, REPORT_INTERVAL);
        row_head_begin_gap(&writer, axis_of(session), ends);
        group_rows_add_gap(&writer, reason);
        r = row_writer_failure(&writer);
        row_writer_done(&writer);
        return r;
}
