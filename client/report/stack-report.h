/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackView
 *
 * Passes the replies of Stacks on to stdout in the form the user wants. What needs all of them
 * before it can begin is kept in a StackStore; JSON and folded lines are written while they come.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "session/session.h"
#include "stack/stack-store.h"

typedef enum StackForm {
        STACK_FORM_LIST,  /* the heaviest, below the first screen of an interval */
        STACK_FORM_TREES, /* --stacks */
        STACK_FORM_JSON,  /* the same with --json */
        STACK_FORM_FOLDED,
        STACK_FORM_SPEEDSCOPE,
        STACK_FORM_HTML,
} StackForm;

typedef struct StackView {
        Session *session;
        StackForm form;
        bool has_rest; /* places where threads have nothing to do are asked for, too */
        StackStore store;
        json_object *first; /* the first reply; owned */
        JsonOut out;
        Buffer line;
        uint64_t n_seen;
} StackView;

/* Its owner zeroes it but for the first three members. */
void stack_view_done(StackView *view);
/* Writes the parameters "limit" and "places"; @writer is in an object. */
void stack_view_write_parameters(const StackView *view, JsonWriter *writer);
/* This is a SessionOnReply; @userdata is the StackView. */
int stack_view_on_reply(void *userdata, Connection *connection, json_object *parameters, bool last);
