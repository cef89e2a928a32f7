/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupView
 *
 * The replies of Show and Compare on their way to stdout, in whatever form the user wants
 * (group-sink.h). They are written while they come, so that memory stays as it is; an answer whose
 * parts come out of order is refused.
 */

#include <json-c/json.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "report/sink.h"
#include "session/session.h"

typedef struct GroupView GroupView;

/* Functions that return int: 0, or an exit status with the sentence said. */

int group_view_new(Session *session, ReportKind kind, GroupView **ret);
GroupView *group_view_free(GroupView *view);
DEFINE_CLEANUP(GroupView *, group_view_free);
/* @lead is called once, before the first output. */
void group_view_set_lead(GroupView *view, GroupLead lead, void *userdata);

/* The View parameter that fits what is printed; @writer is in an object. */
void group_view_write_parameter(const GroupView *view, JsonWriter *writer);
/* After the last reply: there were rows above the threshold. */
bool group_view_is_above(const GroupView *view);
/* A SessionOnReply; @userdata is the GroupView. */
int group_view_on_reply(void *userdata, Connection *connection, json_object *parameters, bool last);
