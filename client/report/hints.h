/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Hints
 *
 * The last lines of a view for people: what its signs mean, what is not shown, and how to see it.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "base/macro.h"
#include "report/group/account-table.h"
#include "report/group/group-table.h"
#include "report/group/set-table.h"
#include "report/section/section-tables.h"
#include "report/sink.h"

typedef struct Hints {
        const GroupForm *form;
        const AccountTable *accounts; /* NULL: the view has no overview */
        const GroupTable *rows;       /* NULL: no table of them was begun */
        const SetTable *untested;     /* NULL but of sets */
        const SectionTables *sections;
        json_object *reply; /* the last one, with counts */
} Hints;

/* Nothing if the user wants no hints. 0, -ENOMEM, or the first failed write. */
_must_check_ int hints_print(const Hints *hints, FILE *out);
