/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetView
 *
 * The replies of CompareSets on their way to stdout, written while they come: head and table for
 * people, rows for programs, or the one JSON object of the contract.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/cleanup.h"
#include "call/connection.h"
#include "json/json-writer.h"
#include "session/session.h"

typedef struct SetView SetView;

/* Functions that return int: 0, or an exit status with the sentence said. */

int set_view_new(Session *session, SetView **ret);
SetView *set_view_free(SetView *view);
DEFINE_CLEANUP(SetView *, set_view_free);

/* The parameters "view" and, when it was given, "alpha"; @writer is in an object. */
void set_view_write_parameters(const SetView *view, JsonWriter *writer);
/* After the last reply: there were significant rows above the threshold. */
bool set_view_is_above(const SetView *view);
/* A SessionOnReply; @userdata is the SetView. */
int set_view_on_reply(void *userdata, Connection *connection, json_object *parameters, bool last);
