/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CourseView
 *
 * Passes the steps of a recording, in replies of Stacks with "course", on to stdout: for people, or
 * as JSON, CSV or NDJSON while they come.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "render/json-out.h"
#include "report/row-writer.h"
#include "session/session.h"
#include "stack/course-store.h"

typedef struct CourseView {
        Session *session;
        const char *name; /* of the recording, as the user calls it */
        bool has_rest;    /* places where threads have nothing to do are asked for, too */
        CourseStore store;
        json_object *first; /* the first reply; owned */
        JsonOut out;
        RowWriter rows;
} CourseView;

/* Its owner zeroes it but for the first members. */
void course_view_done(CourseView *view);
/* Writes the parameters "course", "limit" and "places"; @writer is in an object. */
void course_view_write_parameters(const CourseView *view, JsonWriter *writer);
/* This is a SessionOnReply; @userdata is the CourseView. */
int course_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                         bool last);
