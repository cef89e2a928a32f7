/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackText
 *
 * Stacks for people: a list of the heaviest ones, one a line, or a tree for each process. The list
 * and the trees end with lines on what is not among the stacks. For two recordings, they show how
 * many threads were in a stack on average, the change of that number, and the standard error of the
 * change. For two sets, these numbers are medians, and instead of the error they show how certain
 * the difference is.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "base/macro.h"
#include "render/lines.h"
#include "render/table.h"
#include "render/terminal.h"
#include "stack/stack-store.h"

typedef struct StackText {
        FILE *out;
        const Terminal *terminal;
        TableLegend legend;
        json_object *firsts[2]; /* the first reply about each recording; of sets one */
        const char *words[2];   /* what two recordings, or sets, are called */
        bool of_sets;
        bool is_alone;     /* a list in place of everything else: it has what was asked for */
        uint64_t n_hidden; /* stacks that are not in the store */
        bool has_rest;     /* places where threads have nothing to do are in the store, too */
        bool is_chatty;
} StackText;

/* In the order of the store: the heaviest come first. 0 or -errno. */
_must_check_ int stack_text_print_list(const StackText *text, const StackStore *store);
/* Sorts the store. 0 or -errno. */
_must_check_ int stack_text_print_trees(const StackText *text, StackStore *store);

/*
 * Appends of what a recording took samples, from its facts: " of uid 1000 called nginx*"; nothing
 * when it took them of everything.
 */
int stack_append_scope(Buffer *line, json_object *recording);
/*
 * Prints what a recording has not observed although it was to, and whether its times are right,
 * from a reply that has its facts: a line each, with @label, and @word before it. 0 or -errno.
 */
_must_check_ int stack_print_gaps(const Lines *lines, const char *label, const char *word,
                                  json_object *reply);
/* How many samples were taken and are in no stack, from the facts of a recording. */
uint64_t stack_count_lost(json_object *recording);

/*
 * Prints a line for each of the processes that wait most, at most @max of them. The line shows the
 * heaviest stack in which the threads of the process wait, and how many of them wait there on
 * average:
 *
 *     waits  app lock 6.8: worker_main → flush → pthread_mutex_lock
 *
 * A process has no line if hardly any of its threads wait. For two recordings, the line of a
 * process shows the stack that changed most, which may also be one of running threads:
 *
 *     changed  app lock 0.05 → 6.8: worker_main → flush → pthread_mutex_lock
 *
 * The rows of the store must be matched (stack-store.h). Returns 0 or -errno.
 */
_must_check_ int stack_text_print_waits(const Lines *lines, const StackStore *store, size_t max);

/*
 * Appends the three functions of @row that tell most, the innermost first: "read_page ← scan ←
 * query", or with @is_inward the other way round: "query → scan → read_page". How a system call
 * enters the kernel and how a thread leaves its CPU is the same in every stack and says nothing.
 */
int stack_append_leaves(Buffer *cell, const StackStore *store, const StoredStack *row,
                        bool is_inward);
/* The same of functions in an array of a reply. -ENOMEM. */
_must_check_ int stack_append_functions(Buffer *cell, Span place, json_object *names,
                                        bool is_inward);

/* Appends "app/writer" of the members "process" and "thread", or "app" where both are the same. */
void stack_append_threads(Buffer *cell, json_object *object);
/* Appends these of an object that tells who woke a thread, or a word in brackets. */
void stack_append_waker(Buffer *cell, json_object *waker);
/* Appends "[sleep] usleep ← flush" of the member "held" of such an object. -ENOMEM. */
_must_check_ int stack_append_held(Buffer *cell, json_object *held, bool is_inward);
