/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionTables
 *
 * The sections of a report as tables under headings, printed while their parts come. For a pair,
 * every value is a row, as for metrics, so that the tables fit a terminal of 80 columns; for one
 * snapshot, every cgroup is a row, so that cgroups are easy to compare. Pressure has a table for
 * each resource.
 */

#include <json-c/json.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "report/overview/overview.h"
#include "session/session.h"

typedef struct SectionTables SectionTables;

/* @session is borrowed. */
_must_check_ int section_tables_new(const Session *session, ReportKind kind, json_object *reply,
                                    SectionTables **ret);
SectionTables *section_tables_free(SectionTables *tables);
DEFINE_CLEANUP(SectionTables *, section_tables_free);

/* Adds a part, {NAME: [ROW...]...}. 0, or the first failure so far. */
_must_check_ int section_tables_add(SectionTables *tables, json_object *part);
/* Finishes the last table, and says why a section that the user named has none. */
_must_check_ int section_tables_end(SectionTables *tables);
/*
 * Returns how many rows were not shown because nothing changed in them. *ret_any: some section
 * came, be it of zeros.
 */
uint64_t section_tables_hidden(const SectionTables *tables, bool *ret_any);
/* Names the columns that were omitted on a narrow terminal, as "total of pressure"; borrowed. */
Span section_tables_omitted(const SectionTables *tables);
