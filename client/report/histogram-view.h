/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HistogramView
 *
 * Passes the replies of Stacks with "histogram" on to stdout: how long waits were, by the threads
 * that waited and what for, those of most time first. Each one is written when it has come.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "render/json-out.h"
#include "report/row-writer.h"
#include "session/session.h"

typedef struct HistogramView {
        Session *session;
        bool has_rest;      /* places where threads have nothing to do are asked for, too */
        json_object *first; /* the first reply; owned */
        size_t n;
        JsonOut out;
        RowWriter rows;
} HistogramView;

/* Its owner zeroes it but for the first two members. */
void histogram_view_done(HistogramView *view);
/* Writes the parameters "histogram", "limit" and "places"; @writer is in an object. */
void histogram_view_write_parameters(const HistogramView *view, JsonWriter *writer);
/* This is a SessionOnReply; @userdata is the HistogramView. */
int histogram_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                            bool last);
