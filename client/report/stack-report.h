/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackReport
 *
 * Passes the replies of Stacks on to stdout in the form the user wants. A form that needs all
 * replies before it can begin keeps their stacks in a StackStore; JSON, rows and profiles of one
 * recording are written while the replies come. Two recordings are asked for one after the other,
 * and have one report. The stacks of two sets come in replies of CompareSets.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "report/row-writer.h"
#include "session/session.h"
#include "stack/course-store.h"
#include "stack/stack-pprof.h"
#include "stack/stack-store.h"

typedef enum StackForm {
        STACK_FORM_LIST,  /* the heaviest, below the first screen of an interval */
        STACK_FORM_TREES, /* --stacks */
        STACK_FORM_JSON,  /* the same with --json */
        STACK_FORM_ROWS,  /* the same with --format csv or ndjson */
        STACK_FORM_FOLDED,
        STACK_FORM_PPROF,
        STACK_FORM_SPEEDSCOPE,
        STACK_FORM_HTML,
} StackForm;

typedef struct StackReport {
        Session *session;
        StackForm form;
        bool has_rest; /* places where threads have nothing to do are asked for, too */
        bool is_pair;  /* of two recordings */
        bool of_sets;  /* of two sets of them */
        unsigned side; /* of the recording whose replies come: 0, and 1 of the second one */
        StackStore store;
        json_object *firsts[2]; /* the first reply about each; owned */
        JsonOut out;
        RowWriter rows;
        void (*write_row)(RowWriter *rows, json_object *stack); /* of this recording */
        StackPprof pprof;
        CourseStore course; /* of a page */
        uint64_t n_seen, n_hidden;
} StackReport;

/* Its owner zeroes it but for the first members. */
void stack_report_done(StackReport *report);
/* Writes "limit" and "places", and what sets need; @writer is in an object. */
void stack_report_write_parameters(const StackReport *report, JsonWriter *writer);
/* Parts that all views of stacks have: "places" without those of rest; members of a reply. */
void stack_report_write_places(JsonWriter *writer);
/*
 * Begins JSON with what the first reply says of the recording, and a list called @name; its owner
 * ends both. Returns the error of @out.
 */
int stack_report_begin_json(const Session *session, JsonOut *out, json_object *first,
                            const char *name);
/*
 * Begins csv or ndjson, with what the first reply says of the recording in each row. @write writes
 * rows of one element of the replies, or, for NULL, the names of their fields.
 */
void stack_report_begin_rows(const Session *session, RowWriter *rows, json_object *first,
                             void (*write)(RowWriter *rows, json_object *element));
/* Begins a row with the fields of a stack; NULL: while names are written. */
void stack_report_write_fields(RowWriter *rows, json_object *stack);
/* Writes functions as one field, with a semicolon between two. */
void stack_report_write_frames(RowWriter *rows, const char *name, json_object *frames);
/* A SessionOnReply; @userdata is the StackReport. A list or a pair is matched with the last. */
int stack_report_on_reply(void *userdata, Connection *connection, json_object *parameters,
                          bool last);
/*
 * Prints what was kept, once all replies have come. Nothing where nobody works and places without
 * work were not asked for: @ret_again, they are to be. 0 or an exit status.
 */
int stack_report_end(StackReport *report, bool *ret_again);
