/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * WakerView
 *
 * Passes the replies of Stacks with "wakers" on to stdout: a table of who ended waits, or JSON, CSV
 * or NDJSON as it comes.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "render/json-out.h"
#include "report/row-writer.h"
#include "session/session.h"
#include "stack/waker-table.h"

typedef struct WakerView {
        Session *session;
        bool has_rest; /* places where threads have nothing to do are asked for, too */
        WakerTable table;
        json_object *first; /* the first reply; owned */
        JsonOut out;
        RowWriter rows;
} WakerView;

/* Its owner zeroes it but for the first two members. */
void waker_view_done(WakerView *view);
/* Writes the parameters "wakers", "limit" and "places"; @writer is in an object. */
void waker_view_write_parameters(const WakerView *view, JsonWriter *writer);
/* This is a SessionOnReply; @userdata is the WakerView. */
int waker_view_on_reply(void *userdata, Connection *connection, json_object *parameters, bool last);
