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
} SinkRows;

static int begin(GroupSink *sink, json_object *reply) {
        RowWriter *writer = &((SinkRows *) sink)->writer;
        const GroupForm *form = sink->form;
        int r;

        r = group_form_lead(form, NULL, NULL);
        if (r != 0)
                return r;
        if (writer->style != ROW_STYLE_NDJSON &&
            session_legend(form->session) == TABLE_LEGEND_SHOWN)
                group_rows_add_names(writer, form->kind);
        row_head_begin(writer, form->kind,
                       span_of(view_axis_name(form->session->options->view.axis)), reply);
        return row_writer_failure(writer);
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        static const RowSide sides[_GROUP_LIST_MAX] = {
                [GROUP_LIST_GROUPS] = ROW_SIDE_BOTH,
                [GROUP_LIST_ONLY_BEFORE] = ROW_SIDE_BEFORE,
                [GROUP_LIST_ONLY_AFTER] = ROW_SIDE_AFTER,
        };
        RowWriter *writer = &((SinkRows *) sink)->writer;

        for (size_t i = 0; i < cell_length(groups); i++)
                group_rows_add(writer, sink->form->kind, cell_element(groups, i), sides[list]);
        return row_writer_failure(writer);
}

static int add_sections(GroupSink *sink, json_object *part) {
        RowWriter *writer = &((SinkRows *) sink)->writer;
        const GroupForm *form = sink->form;
        json_object_iter member;

        json_object_object_foreachC(part, member) {
                SectionId id = section_find(member.key);

                for (size_t i = 0; id < _SECTION_MAX && i < cell_length(member.val); i++)
                        section_rows_add(writer, form->kind, &form->session->options->view, id,
                                         cell_element(member.val, i));
        }
        return row_writer_failure(writer);
}

static int end(GroupSink *sink, json_object *reply) {
        return 0;
}

static void free_sink(GroupSink *sink) {
        row_writer_done(&((SinkRows *) sink)->writer);
        free(sink);
}

int sink_rows_new(const GroupForm *form, GroupSink **ret) {
        static const GroupSinkType type = { .begin = begin,
                                            .groups = add_groups,
                                            .sections = add_sections,
                                            .end = end,
                                            .free = free_sink };
        const Options *options = form->session->options;
        SinkRows *rows = malloc(sizeof(*rows));

        if (!rows)
                return -ENOMEM;
        rows->sink = (GroupSink){ &type, form };
        row_writer_init(&rows->writer,
                        options->format == FORMAT_CSV ? ROW_STYLE_CSV : ROW_STYLE_NDJSON,
                        options_have(options, OPTION_FORMULAS), stdout);
        *ret = &rows->sink;
        return 0;
}
