/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetRows
 *
 * Groups of two sets as rows for programs, one per group and metric, whatever became of its test.
 * ctprof-rows(5) is their contract.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "report/row/row-writer.h"

typedef struct SetRows SetRows;

/* @out is borrowed. */
_must_check_ int set_rows_new(RowStyle style, FILE *out, SetRows **ret);
SetRows *set_rows_free(SetRows *rows);
DEFINE_CLEANUP(SetRows *, set_rows_free);

/* @reply: the first of CompareSets, with what all rows have in common. */
_must_check_ int set_rows_begin(SetRows *rows, json_object *reply);
/* The line of names of CSV. */
_must_check_ int set_rows_add_names(SetRows *rows);
/* One SetGroup of the interface. */
_must_check_ int set_rows_add(SetRows *rows, json_object *group);
