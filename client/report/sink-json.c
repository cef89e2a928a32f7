/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"

#define SECTION_NAME_CHARS 64

/* Members that replies repeat, or that stand behind the lists, are kept until then. */
typedef struct SinkJson {
        GroupSink sink;
        JsonOut out;
        GroupList list; /* the one that is open */
        bool closed;    /* the last list has ended, and so the member "sections" has begun */
        char section[SECTION_NAME_CHARS]; /* the section whose array is open; "" for none */
        json_object *sources[2];          /* owned */
} SinkJson;

/* The members of each kind of report, in the order of the contract; a reply need not have all. */
typedef struct Members {
        const char *first[14]; /* of the first reply, in front of the lists */
        GroupList last_list;
        const char *sources[2]; /* of the first reply, behind the lists */
        const char *counts[8];  /* of the last reply */
} Members;

#define COUNTS_OF_PAIRS                                                                        \
        "hiddenRows", "hiddenGroups", "hiddenOnlyBefore", "hiddenOnlyAfter", "hiddenSections", \
                "rowsAboveThreshold", "pairings", "hiddenPairings"

static const Members all_members[_REPORT_KIND_MAX] = {
        [REPORT_SNAPSHOT] = {
                .first = { "kind", "matchedGroups", "snapshot", "coverage" },
                .last_list = GROUP_LIST_GROUPS,
                .sources = { "sources" },
                .counts = { "hiddenRows", "hiddenGroups", "hiddenSections", "rowsAboveThreshold" },
        },
        [REPORT_INTERVAL] = {
                .first = { "kind", "matchedGroups", "before", "after", "sameBoot", "elapsedNs",
                           "hostChanges", "changes", "swapped", "lives", "coverage", "host",
                           "limited", "but" },
                .last_list = GROUP_LIST_ONLY_AFTER,
                .sources = { "sourcesBefore", "sourcesAfter" },
                .counts = { COUNTS_OF_PAIRS },
        },
        [REPORT_PAIR] = {
                .first = { "kind", "matchedGroups", "before", "after", "sameBoot", "elapsedNs",
                           "hostChanges", "changes", "swapped", "coverage" },
                .last_list = GROUP_LIST_ONLY_AFTER,
                .sources = { "sourcesBefore", "sourcesAfter" },
                .counts = { COUNTS_OF_PAIRS },
        },
        [REPORT_INTERVALS] = {
                .first = { "kind", "matchedGroups", "a", "b", "sameBoot", "hostChanges",
                           "changes", "swapped", "coverage", "host", "limited", "but",
                           "waits" },
                .last_list = GROUP_LIST_ONLY_AFTER,
                .counts = { "hiddenRows", "hiddenGroups", "hiddenOnlyA", "hiddenOnlyB",
                            "hiddenSections", "rowsAboveThreshold", "pairings",
                            "hiddenPairings" },
        },
        [REPORT_SETS] = {
                .first = { "kind", "matchedGroups", "before", "beforeFrom", "after", "afterFrom",
                           "alpha", "tested", "significant", "leastP", "samplesNeeded" },
                .last_list = GROUP_LIST_GROUPS,
                .sources = { "sourcesBefore", "sourcesAfter" },
                .counts = { "hiddenRows", "hiddenGroups", "groupsOnlyBefore", "groupsOnlyAfter",
                            "rowsAboveThreshold" },
        },
};

static const Members *members_of(const SinkJson *json) {
        return &all_members[json->sink.form->kind];
}

/* Those that the reply has, null ones too; NULL ends the names before @n. */
static void write_members(SinkJson *json, const char *const names[], size_t n, json_object *reply) {
        json_object *value;

        for (size_t i = 0; i < n && names[i]; i++)
                if (json_object_object_get_ex(reply, names[i], &value))
                        json_out_member(&json->out, names[i], value);
}

static int begin(GroupSink *sink, json_object *reply) {
        SinkJson *json = (SinkJson *) sink;
        const Members *members = members_of(json);
        int r;

        json_out_object(&json->out);
        r = group_form_lead(sink->form, NULL, &json->out);
        if (r != 0)
                return r;
        write_members(json, members->first, ELEMENTSOF(members->first), reply);
        for (size_t i = 0; i < ELEMENTSOF(json->sources) && members->sources[i]; i++)
                json->sources[i] = json_object_get(cell_member(reply, members->sources[i]));
        json_out_key(&json->out, group_list_name(sink->form->kind, GROUP_LIST_GROUPS));
        json_out_array(&json->out);
        return 0;
}

static void open_list(SinkJson *json, GroupList list) {
        while (json->list < list) {
                json_out_end(&json->out);
                json_out_key(&json->out, group_list_name(json->sink.form->kind, ++json->list));
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
        open_list(json, members_of(json)->last_list);
        json_out_end(&json->out);
        if (json->sink.form->kind != REPORT_SETS) {
                json_out_key(&json->out, "sections");
                json_out_object(&json->out);
        }
        json->closed = true;
}

static void close_section(SinkJson *json) {
        if (json->section[0] != '\0')
                json_out_end(&json->out);
        json->section[0] = '\0';
}

/* Sections of a newer daemon are passed on, too, but only names that need no escape. */
static bool is_section_name(const char *text) {
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");

        return n > 0 && n < SECTION_NAME_CHARS && text[n] == '\0';
}

/* Arrays of one name in successive parts become one array. */
static int add_sections(GroupSink *sink, json_object *part) {
        SinkJson *json = (SinkJson *) sink;

        close_lists(json);
        json_object_object_foreach(part, name, rows) {
                if (!is_section_name(name))
                        continue;
                if (strcmp(json->section, name) != 0) {
                        close_section(json);
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
        const Members *members = members_of(json);

        close_lists(json);
        close_section(json);
        if (sink->form->kind != REPORT_SETS)
                json_out_end(&json->out);
        for (size_t i = 0; i < ELEMENTSOF(json->sources) && members->sources[i]; i++)
                json_out_member(&json->out, members->sources[i], json->sources[i]);
        write_members(json, members->counts, ELEMENTSOF(members->counts), reply);
        json_out_end(&json->out);
        return session_finish_json(&json->out);
}

static void free_sink(GroupSink *sink) {
        SinkJson *json = (SinkJson *) sink;

        json_out_done(&json->out);
        for (size_t i = 0; i < ELEMENTSOF(json->sources); i++)
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
