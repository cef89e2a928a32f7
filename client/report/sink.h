/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupSink
 *
 * One output format of the answers of Show, Compare and CompareSets. Whatever the replies look
 * like, the driver (group-view.h) calls begin() once, groups() for one list after the other,
 * sections(), and end() once. A new format is a file with these functions, a row in the table of
 * group-view.c and a word in options.c.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "report/group/account-cell.h"
#include "report/group/group-columns.h"
#include "report/overview/overview.h"
#include "report/row-writer.h"
#include "session/session.h"
#include "stack/stack-store.h"

typedef struct MetricsPage MetricsPage; /* metrics-page.h */

/* The lists of groups, in the order in which they come; ReportSetting has their names. */
typedef enum GroupList {
        GROUP_LIST_GROUPS, /* of one column, or in both */
        GROUP_LIST_ONLY_BEFORE,
        GROUP_LIST_ONLY_AFTER,
        _GROUP_LIST_MAX,
} GroupList;

/*
 * Writes what stands above everything else, the command of "run": as text to @file, to @out for
 * JSON, and where neither can take it to stderr. 0 or an exit status.
 */
typedef int (*GroupLead)(void *userdata, FILE *file, JsonOut *out);
/* Returns the command as a row of the overview (account-table.h), owned by the caller, or NULL. */
typedef json_object *(*GroupCommand)(void *userdata);

/* Rows of several views in one stream, which has the names of its columns once. */
typedef struct RowStream {
        FILE *out;     /* borrowed */
        bool is_csv;   /* else NDJSON */
        bool is_begun; /* something was written */
        bool present;  /* only rows that have a value */
} RowStream;

/* All formats need to know this, which does not change once the sink has begun. */
typedef struct GroupForm {
        Session *session;
        ReportKind kind; /* as asked for; from begin() on as the reply says */
        GroupColumns columns;
        AccountColumns accounts; /* of the overview */
        bool overview;           /* one line a group was asked for */
        bool rows;               /* rows by metric were asked for */
        GroupLead lead;          /* may be NULL, as the next */
        GroupCommand command;
        void *lead_userdata;
        const StackStore *stacks; /* of a recording, matched; NULL: there are none */
        json_object *recorded;    /* borrowed, with these: the first reply about it */
        bool waits_for_stacks;    /* nothing is printed before end(), when they are known */
        RowStream *stream;        /* where rows go instead of stdout; may be NULL */
        MetricsPage *metrics;     /* where groups go instead of stdout; may be NULL */
} GroupForm;

typedef struct GroupSink GroupSink;

/* All but done() return 0, an exit status after a message to the user, or -errno. */
typedef struct GroupSinkType {
        size_t size; /* of the struct that begins with a GroupSink; zeroed before begin() */
        /* @reply is the first one, with heads, sources and hostChanges. */
        int (*begin)(GroupSink *sink, json_object *reply);
        /* @rows are OverviewRows, a part of the overview, which comes first. NULL: not used. */
        int (*overview)(GroupSink *sink, json_object *rows);
        /* @groups are a part of the list, which is not empty. */
        int (*groups)(GroupSink *sink, GroupList list, json_object *groups);
        /* @part is {NAME: [row...]...}; a name may come again in the next part. NULL: not used. */
        int (*sections)(GroupSink *sink, json_object *part);
        /* @reply is the last one, with counts of hidden groups and rows. NULL: not used. */
        int (*end)(GroupSink *sink, json_object *reply);
        /* Releases what the sink owns, even if nothing has begun. NULL: it owns nothing. */
        void (*done)(GroupSink *sink);
} GroupSinkType;

/* The first member of every sink. */
struct GroupSink {
        const GroupSinkType *type;
        const GroupForm *form;
};

extern const GroupSinkType sink_json;    /* --json */
extern const GroupSinkType sink_rows;    /* --format csv and ndjson */
extern const GroupSinkType sink_html;    /* --format html: html/html-page.h */
extern const GroupSinkType sink_metrics; /* of an interval, into a MetricsPage: metrics-page.h */
extern const GroupSinkType sink_text;    /* for people: overview, tables, hints */

/*
 * Writes a row that says that nothing is known of the time between two snapshots, and why. @ends:
 * {before, after, sameBoot}, heads or null. 0 or -errno.
 */
int sink_rows_add_gap(Session *session, RowStream *stream, json_object *ends, Span reason);
/*
 * Writes the fields that all rows of two sets have in common, from @reply, the first one. @reply is
 * NULL while the names of the fields are written.
 */
void sink_rows_write_sets(RowWriter *writer, json_object *reply);
