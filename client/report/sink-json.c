/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "render/cell.h"
#include "report/section/section-out.h"

/* Members that replies repeat, or that come behind the lists, are kept until then. */
typedef struct SinkJson {
        GroupSink sink;
        JsonOut out;
        GroupList list; /* the one that is open */
        bool closed;    /* the lists are */
        SectionOut sections;
        json_object *sources[2]; /* owned */
} SinkJson;

static void begin_pair(SinkJson *json, json_object *reply) {
        static const char *const names[] = { "before", "after", "sameBoot", "elapsedNs",
                                             "hostChanges" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                json_out_member(&json->out, names[i], cell_member(reply, names[i]));
        if (cell_member(reply, "window"))
                json_out_member(&json->out, "window", cell_member(reply, "window"));
        json->sources[0] = json_object_get(cell_member(reply, "sourcesBefore"));
        json->sources[1] = json_object_get(cell_member(reply, "sourcesAfter"));
}

static int begin(GroupSink *sink, json_object *reply) {
        SinkJson *json = (SinkJson *) sink;
        int r;

        json_out_object(&json->out);
        r = group_form_lead(sink->form, &json->out);
        if (r != 0)
                return r;
        if (sink->form->kind == REPORT_PAIR) {
                begin_pair(json, reply);
        } else {
                json_out_member(&json->out, "snapshot", cell_member(reply, "snapshot"));
                json->sources[0] = json_object_get(cell_member(reply, "sources"));
        }
        json_out_key(&json->out, group_list_names[GROUP_LIST_GROUPS]);
        json_out_array(&json->out);
        return 0;
}

static void open_list(SinkJson *json, GroupList list) {
        while (json->list < list) {
                json_out_end(&json->out);
                json_out_key(&json->out, group_list_names[++json->list]);
                json_out_array(&json->out);
        }
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        SinkJson *json = (SinkJson *) sink;
        size_t n = cell_length(groups);

        open_list(json, list);
        for (size_t i = 0; i < n; i++)
                json_out_value(&json->out, cell_element(groups, i));
        return 0;
}

/* The lists end where the sections begin; each is there, were it empty. */
static void close_lists(SinkJson *json) {
        if (json->closed)
                return;
        open_list(json, json->sink.form->kind == REPORT_SNAPSHOT ? GROUP_LIST_GROUPS
                                                                 : GROUP_LIST_ONLY_AFTER);
        json_out_end(&json->out);
        json->closed = true;
}

static int add_sections(GroupSink *sink, json_object *part) {
        SinkJson *json = (SinkJson *) sink;

        close_lists(json);
        section_out_add(&json->sections, &json->out, part);
        return 0;
}

static int end(GroupSink *sink, json_object *reply) {
        static const char *const counts[] = { "hiddenRows",       "hiddenGroups",
                                              "hiddenOnlyBefore", "hiddenOnlyAfter",
                                              "hiddenSections",   "rowsAboveThreshold",
                                              "pairings",         "hiddenPairings" };
        static const char *const source_names[][2] = {
                [REPORT_SNAPSHOT] = { "sources", NULL },
                [REPORT_PAIR] = { "sourcesBefore", "sourcesAfter" },
        };
        const char *const *names = source_names[sink->form->kind];
        SinkJson *json = (SinkJson *) sink;

        close_lists(json);
        section_out_end(&json->sections, &json->out);
        for (size_t i = 0; i < 2 && names[i]; i++)
                json_out_member(&json->out, names[i], json->sources[i]);
        for (size_t i = 0; i < ELEMENTSOF(counts); i++)
                if (cell_member(reply, counts[i]))
                        json_out_member(&json->out, counts[i], cell_member(reply, counts[i]));
        json_out_end(&json->out);
        return session_finish_json(&json->out);
}

static void free_sink(GroupSink *sink) {
        SinkJson *json = (SinkJson *) sink;

        json_out_done(&json->out);
        for (size_t i = 0; i < 2; i++)
                (void) json_object_put(json->sources[i]);
        free(json);
}

int sink_json_new(const GroupForm *form, GroupSink **ret) {
        static const GroupSinkType type = { .begin = begin,
                                            .groups = add_groups,
                                            .sections = add_sections,
                                            .end = end,
                                            .free = free_sink };
        SinkJson *json = malloc(sizeof(*json));

        if (!json)
                return -ENOMEM;
        *json = (SinkJson){ .sink = { &type, form } };
        json_out_init(&json->out, stdout, form->session->json);
        *ret = &json->sink;
        return 0;
}
