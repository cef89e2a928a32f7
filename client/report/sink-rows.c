/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "render/cell.h"
#include "report/row/group-rows.h"
#include "report/section/section-row.h"

typedef struct SinkRows {
        GroupSink sink;
        GroupRows *rows;
} SinkRows;

static int begin(GroupSink *sink, json_object *reply) {
        const Session *session = sink->form->session;
        SinkRows *rows = (SinkRows *) sink;
        int r;

        r = group_form_lead(sink->form, NULL);
        if (r == 0)
                r = group_rows_begin(rows->rows, reply);
        if (r == 0 && session->options->format == FORMAT_CSV &&
            session_legend(session) == TABLE_LEGEND_SHOWN)
                r = group_rows_add_names(rows->rows);
        return r;
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        static const RowSide sides[_GROUP_LIST_MAX] = {
                [GROUP_LIST_GROUPS] = ROW_SIDE_BOTH,
                [GROUP_LIST_ONLY_BEFORE] = ROW_SIDE_BEFORE,
                [GROUP_LIST_ONLY_AFTER] = ROW_SIDE_AFTER,
        };
        SinkRows *rows = (SinkRows *) sink;
        size_t n = cell_length(groups);
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = group_rows_add(rows->rows, cell_element(groups, i), sides[list]);
        return r;
}

static int add_sections(GroupSink *sink, json_object *part) {
        SinkRows *rows = (SinkRows *) sink;
        json_object_iter member;

        json_object_object_foreachC(part, member) {
                SectionId id = section_find(member.key);
                size_t n = id < _SECTION_MAX ? cell_length(member.val) : 0;
                int r = 0;

                for (size_t i = 0; r == 0 && i < n; i++)
                        r = group_rows_add_section(rows->rows, id, cell_element(member.val, i));
                if (r != 0)
                        return r;
        }
        return 0;
}

static int end(GroupSink *sink, json_object *reply) {
        return 0;
}

static void free_sink(GroupSink *sink) {
        SinkRows *rows = (SinkRows *) sink;

        rows->rows = group_rows_free(rows->rows);
        free(rows);
}

int sink_rows_new(const GroupForm *form, GroupSink **ret) {
        static const GroupSinkType type = { .begin = begin,
                                            .groups = add_groups,
                                            .sections = add_sections,
                                            .end = end,
                                            .free = free_sink };
        SinkRows *rows = malloc(sizeof(*rows));
        int r;

        if (!rows)
                return -ENOMEM;
        *rows = (SinkRows){ .sink = { &type, form } };
        r = group_rows_new(form->session->options->format == FORMAT_CSV ? ROW_STYLE_CSV
                                                                        : ROW_STYLE_NDJSON,
                           form->kind, &form->session->options->view, stdout, &rows->rows);
        if (r < 0) {
                free(rows);
                return r;
        }
        *ret = &rows->sink;
        return 0;
}
