/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "render/cell.h"

#define SECTION_NAME_CHARS 64

typedef struct SinkJson {
        GroupSink sink;
        JsonOut out;
        const ReportSetting *setting;
        GroupList list; /* the one that is open */
        bool closed;    /* the last list has ended, and so the member "sections" has begun */
        char section[SECTION_NAME_CHARS]; /* the section whose array is open; "" for none */
        json_object *first;               /* the first reply; owned */
} SinkJson;

/* Each kind has some of these members; they come in the order of the contract. */
static const char *const first_members[] = {
        "kind",      "matchedGroups", "snapshot",    "a",         "b",
        "before",    "beforeFrom",    "after",       "afterFrom", "sameBoot",
        "elapsedNs", "hostChanges",   "changes",     "swapped",   "lives",
        "coverage",  "host",          "limited",     "but",       "waits",
        "alpha",     "tested",        "significant", "leastP",    "samplesNeeded",
};
/* These come with the first reply, and stand behind the lists. */
static const char *const source_members[] = { "sources", "sourcesBefore", "sourcesAfter" };
/* These come with the last reply. */
static const char *const last_members[] = {
        "hiddenRows",     "hiddenGroups",       "hiddenOnlyBefore", "hiddenOnlyAfter",
        "hiddenOnlyA",    "hiddenOnlyB",        "groupsOnlyBefore", "groupsOnlyAfter",
        "hiddenSections", "rowsAboveThreshold", "pairings",         "hiddenPairings",
};

/* Writes those that the reply has, null ones too. A host without an interval is for rows only. */
static void write_members(SinkJson *json, const char *const names[], size_t n, json_object *reply) {
        json_object *value;

        for (size_t i = 0; i < n; i++)
                if ((json->setting->has_begin || strcmp(names[i], "host") != 0) &&
                    json_object_object_get_ex(reply, names[i], &value))
                        json_out_member(&json->out, names[i], value);
}

static int begin(GroupSink *sink, json_object *reply) {
        SinkJson *json = (SinkJson *) sink;
        const GroupForm *form = sink->form;
        int r;

        json_out_init(&json->out, stdout, form->session->json);
        json->setting = &report_settings[form->kind];
        json_out_object(&json->out);
        r = form->lead ? form->lead(form->lead_userdata, NULL, &json->out) : 0;
        if (r != 0)
                return r;
        write_members(json, first_members, ELEMENTSOF(first_members), reply);
        json->first = json_object_get(reply);
        json_out_key(&json->out, json->setting->lists[GROUP_LIST_GROUPS]);
        json_out_array(&json->out);
        return 0;
}

static void open_list(SinkJson *json, GroupList list) {
        while (json->list < list) {
                json_out_end(&json->out);
                json_out_key(&json->out, json->setting->lists[++json->list]);
                json_out_array(&json->out);
        }
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        SinkJson *json = (SinkJson *) sink;

        open_list(json, list);
        for (size_t i = 0; i < cell_length(groups); i++)
                json_out_value(&json->out, cell_element(groups, i));
        return 0;
}

/* Writes the lists that did not come as empty ones, and begins the sections. */
static void close_lists(SinkJson *json) {
        if (json->closed)
                return;
        open_list(json, (GroupList) (json->setting->n_lists - 1));
        json_out_end(&json->out);
        if (json->setting->has_sections) {
                json_out_key(&json->out, "sections");
                json_out_object(&json->out);
        }
        json->closed = true;
}

/* Joins arrays of one name in successive parts to one array. */
static int add_sections(GroupSink *sink, json_object *part) {
        SinkJson *json = (SinkJson *) sink;

        close_lists(json);
        json_object_object_foreach(part, name, rows) {
                size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

                /* Sections of a newer daemon are passed on, unless the name needs an escape. */
                if (n == 0 || n >= SECTION_NAME_CHARS || name[n] != '\0')
                        continue;
                if (strcmp(json->section, name) != 0) {
                        if (json->section[0] != '\0')
                                json_out_end(&json->out);
                        (void) snprintf(json->section, sizeof(json->section), "%s", name);
                        json_out_key(&json->out, json->section);
                        json_out_array(&json->out);
                }
                for (size_t i = 0; i < cell_length(rows); i++)
                        json_out_value(&json->out, cell_element(rows, i));
        }
        return 0;
}

static int end(GroupSink *sink, json_object *reply) {
        SinkJson *json = (SinkJson *) sink;

        close_lists(json);
        if (json->section[0] != '\0')
                json_out_end(&json->out);
        if (json->setting->has_sections)
                json_out_end(&json->out);
        write_members(json, source_members, ELEMENTSOF(source_members), json->first);
        write_members(json, last_members, ELEMENTSOF(last_members), reply);
        json_out_end(&json->out);
        return session_finish_json(&json->out);
}

static void done(GroupSink *sink) {
        SinkJson *json = (SinkJson *) sink;

        json_out_done(&json->out);
        (void) json_object_put(json->first);
}

const GroupSinkType sink_json = { .size = sizeof(SinkJson),
                                  .begin = begin,
                                  .groups = add_groups,
                                  .sections = add_sections,
                                  .end = end,
                                  .done = done };
