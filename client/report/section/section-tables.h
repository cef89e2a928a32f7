/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionTables
 *
 * The sections of an answer as tables under headings, printed while its parts come. With two
 * sides a value is a row, as metrics are, so that the tables fit a terminal of 80 columns; with one
 * side cgroups are told apart best when each is one line. Pressure is a table for each resource.
 */

#include <json-c/json.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "report/overview/overview.h"
#include "session/session.h"

typedef struct SectionTables SectionTables;

/* @session is borrowed. */
_must_check_ int section_tables_new(const Session *session, ReportKind kind, SectionTables **ret);
SectionTables *section_tables_free(SectionTables *tables);
DEFINE_CLEANUP(SectionTables *, section_tables_free);

/* @part is {NAME: [ROW...]...}. */
_must_check_ int section_tables_add(SectionTables *tables, json_object *part);
/* Finishes the last table, and says of what the user named that there was nothing of it. */
_must_check_ int section_tables_end(SectionTables *tables);
/* There was something to show of one of them, were it only of zeros. */
bool section_tables_any(const SectionTables *tables);
/* Rows that came and were not shown, because nothing changed in them. */
uint64_t section_tables_hidden(const SectionTables *tables);
/* "total of pressure": columns of tables that were too wide. */
_must_check_ int section_tables_omitted(const SectionTables *tables, Buffer *ret_names);
