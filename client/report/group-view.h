/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupView
 *
 * Passes the replies of Show, Compare and CompareSets on to stdout in the format the user wants
 * (sink.h). They are written while they come, so that memory does not grow; an answer whose parts
 * come out of order is refused.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "report/sink.h"
#include "session/complain.h"
#include "session/session.h"

typedef struct GroupView {
        GroupForm form;
        Format format;
        ReportKind asked; /* what the verb is about; the reply says what became of it */
        GroupSink *sink;  /* owned; NULL: not yet made */
        unsigned stage;
        bool wants_spread;    /* a column shows how sums are spread over threads */
        bool begun;           /* the first reply was passed on */
        bool above;           /* after the last reply: some rows moved by more than the threshold */
        bool wants_rows;      /* somebody asks for rows, which otherwise only sets have */
        json_object *last;    /* owned: the last reply, with which the view waits for its stacks */
        json_object *replies; /* owned: of sets all, since these are printed while they come */
        bool is_recording[2]; /* the interval is one; of two intervals or sets each, all of it */
        json_object *recorded[2]; /* owned: the head of that recording; of a set an array of all */
        bool has_recording;       /* of sets: some member is one */
        char other[QUOTE_BYTES];  /* and another one that is none */
} GroupView;

/* Functions that return int return 0, or an exit status after a message to the user. */

/* @form says for whom the view is and where it goes; it is copied. */
int group_view_new(const GroupForm *form, GroupView **ret);
GroupView *group_view_free(GroupView *view);
DEFINE_CLEANUP(GroupView *, group_view_free);
/*
 * Refuses columns that an interval does not have, for it has one side: before, after and %. 0 or an
 * exit status.
 */
int group_view_refuse_side_columns(const Options *options);

/* Writes the parameters "view" and, for sets, "alpha"; @writer is in an object. */
void group_view_write_parameters(const GroupView *view, JsonWriter *writer);
/* All that the view is about are recordings: there are stacks of it. */
static inline bool group_view_has_stacks(const GroupView *view) {
        return view->is_recording[0] &&
               (view->is_recording[1] || view->form.kind == REPORT_INTERVAL);
}
/*
 * The first screen of a recording is printed by group_view_end(), after all replies have come:
 * the caller sets form.stacks first. 0 or an exit status.
 */
static inline bool group_view_waits(const GroupView *view) {
        return view->last;
}
int group_view_end(GroupView *view);
/* This is a SessionOnReply; @userdata is the GroupView. */
int group_view_on_reply(void *userdata, Connection *connection, json_object *parameters, bool last);
