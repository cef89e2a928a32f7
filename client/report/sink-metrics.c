/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "render/cell.h"

static int begin(GroupSink *sink, json_object *reply) {
        metrics_page_add_interval(sink->form->metrics, reply);
        return 0;
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < cell_length(groups); i++)
                r = metrics_page_add_group(sink->form->metrics, cell_element(groups, i));
        return r;
}

static int add_sections(GroupSink *sink, json_object *part) {
        return 0;
}

static int end(GroupSink *sink, json_object *reply) {
        return 0;
}

static void free_sink(GroupSink *sink) {
        free(sink);
}

int sink_metrics_new(const GroupForm *form, GroupSink **ret) {
        static const GroupSinkType type = { .begin = begin,
                                            .groups = add_groups,
                                            .sections = add_sections,
                                            .end = end,
                                            .free = free_sink };
        GroupSink *sink = malloc(sizeof(*sink));

        if (!sink)
                return -ENOMEM;
        *sink = (GroupSink){ &type, form };
        *ret = sink;
        return 0;
}
