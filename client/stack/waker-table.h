/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * WakerTable
 *
 * Who ended the waits of a recording: the rows that a reply of Stacks has for each stack, added up
 * for each group of threads, place and waker, with the functions in which that one did it most.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/index.h"
#include "base/macro.h"
#include "render/table.h"
#include "render/terminal.h"

typedef struct WakerRow {
        size_t key; /* where in the keys: process, thread, place and waker, as they are printed */
        uint64_t ns, n_samples;
        double variance;
        bool is_exact;
        uint64_t heaviest_ns; /* of one stack of the waker */
        json_object *frames;  /* that stack; owned; NULL: there is none */
        uint64_t held_ns;     /* of the heaviest row that tells where the waker was meanwhile */
        json_object *held;    /* that one's object; owned; NULL: none does */
        double group_ns;      /* of all wakers of the threads in the place; when it is printed */
} WakerRow;

/* Empty when zeroed. */
typedef struct WakerTable {
        WakerRow *rows;
        size_t n, n_allocated;
        Buffer keys; /* each of three texts that end in NUL */
        Index by_key;
} WakerTable;

void waker_table_done(WakerTable *table);
/* Takes what a reply says of one stack. -ENOMEM; -EMSGSIZE for more than any recording has. */
_must_check_ int waker_table_add(WakerTable *table, json_object *stack);
/*
 * Prints the groups, the heaviest first, in each of them the heaviest waker first, and at most
 * @limit rows (0: all). *ret_hidden: how many are left out. 0 or -errno.
 */
_must_check_ int waker_table_print(WakerTable *table, size_t limit, const Terminal *terminal,
                                   TableLegend legend, FILE *out, size_t *ret_hidden);
