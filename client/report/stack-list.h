/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackList
 *
 * Passes a list that Stacks gives of a recording on to stdout, in place of its stacks: who ended
 * waits, the course of it, or how long waits were. It is JSON, CSV or NDJSON as it comes, and for
 * people what its kind makes of the elements.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "call/connection.h"
#include "json/json-writer.h"
#include "render/json-out.h"
#include "report/row-writer.h"
#include "session/session.h"
#include "stack/course-store.h"
#include "stack/waker-table.h"

typedef struct StackList StackList;

typedef struct StackListKind {
        const char *parameter; /* of Stacks, by which the list is asked for */
        const char *elements;  /* the member of replies that has it */
        const char *hidden;    /* the one that says how many were left out; NULL: none are */
        bool adds_up;          /* people see no single element, so that all are asked for */
        /* Looks at the first reply, in any form; may be NULL. 0, -errno or an exit status. */
        int (*begin)(StackList *list);
        /* Writes rows of an element; NULL: the names of their fields. */
        void (*write_rows)(RowWriter *rows, json_object *element);
        /* For people: takes an element; ends. 0 or -errno. */
        int (*add)(StackList *list, json_object *element);
        int (*end)(StackList *list, uint64_t n_hidden);
} StackListKind;

/* Its owner zeroes it but for the first four members. */
struct StackList {
        const StackListKind *kind;
        Session *session;
        const char *name;   /* of the recording, as the user calls it */
        bool has_rest;      /* places where threads have nothing to do are asked for, too */
        json_object *first; /* the first reply; owned */
        JsonOut out;
        RowWriter rows;
        /* of their kinds, for people */
        WakerTable wakers;
        CourseStore course;
        size_t n_histograms;
};

extern const StackListKind waker_list, course_list, histogram_list;

void stack_list_done(StackList *list);
bool stack_list_is_for_people(const StackList *list);
/* Writes the parameters of Stacks that ask for it; @writer is in an object. */
void stack_list_write_parameters(const StackList *list, JsonWriter *writer);
/* This is a SessionOnReply; @userdata is the StackList. */
int stack_list_on_reply(void *userdata, Connection *connection, json_object *parameters, bool last);
