/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupSink
 *
 * One form of the answers of Show and Compare on stdout. The driver (group-view.h) calls in this
 * order, whatever the replies look like: begin() once, groups() of one list after the other,
 * sections(), end() once; what comes later in an answer never comes before what stands first.
 * A new form is a file with these functions, a row in the table of group-view.c and, for what a
 * user types, one in options.c.
 */

#include <json-c/json.h>
#include "base/cleanup.h"
#include "report/group/group-columns.h"
#include "session/session.h"

/* Where a group is, in the order the lists come in. */
typedef enum GroupList {
        GROUP_LIST_GROUPS, /* of one snapshot, or in both */
        GROUP_LIST_ONLY_BEFORE,
        GROUP_LIST_ONLY_AFTER,
        _GROUP_LIST_MAX,
} GroupList;

/* Member of a reply: an array of Group, or of OneSidedGroup. */
extern const char *const group_list_names[_GROUP_LIST_MAX];

/* What is written before all else: of run, its command. @out is NULL for all but JSON. */
typedef int (*GroupLead)(void *userdata, JsonOut *out);

/* What all forms are told, unchanged for as long as the sink lives. */
typedef struct GroupForm {
        Session *session;
        ReportKind kind;
        GroupColumns columns;
        GroupLead lead; /* may be NULL */
        void *lead_userdata;
} GroupForm;

typedef struct GroupSink GroupSink;

/* All but free() return 0, an exit status with the sentence said, or -errno. */
typedef struct GroupSinkType {
        /* @reply: the first one; heads, sources and hostChanges are in it. */
        int (*begin)(GroupSink *sink, json_object *reply);
        /* @groups: a part of the list, not empty. */
        int (*groups)(GroupSink *sink, GroupList list, json_object *groups);
        /* @part: {NAME: [row...]...}; a name may come again in the next part. */
        int (*sections)(GroupSink *sink, json_object *part);
        /* @reply: the last one; the counts of what was hidden are in it. */
        int (*end)(GroupSink *sink, json_object *reply);
        void (*free)(GroupSink *sink);
} GroupSinkType;

/* The first member of every sink. */
struct GroupSink {
        const GroupSinkType *type;
        const GroupForm *form;
};

static inline GroupSink *group_sink_free(GroupSink *sink) {
        if (sink)
                sink->type->free(sink);
        return NULL;
}
DEFINE_CLEANUP(GroupSink *, group_sink_free);

/* Runs the lead where there is one. 0 or an exit status. */
static inline int group_form_lead(const GroupForm *form, JsonOut *out) {
        return form->lead ? form->lead(form->lead_userdata, out) : 0;
}

/* 0 or -ENOMEM. @form is borrowed. */
typedef int GroupSinkNew(const GroupForm *form, GroupSink **ret);
GroupSinkNew sink_json_new; /* the one object of the contract */
GroupSinkNew sink_rows_new; /* --format csv and ndjson: group-rows.h */
GroupSinkNew sink_html_new; /* one page for a browser: html/html-page.h */
GroupSinkNew sink_text_new; /* head, tables, hints */
