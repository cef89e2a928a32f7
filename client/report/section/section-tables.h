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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "render/table.h"
#include "report/overview/overview.h"
#include "session/session.h"
#include "view/section-list.h"

#define SECTION_TABLE_COLUMNS 8
#define SECTION_HEADING_BYTES 96

typedef struct SectionTables {
        /* The owner sets these before the first part. */
        const Session *session; /* borrowed */
        bool is_pair;           /* values have two sides */
        json_object *reply;     /* the first one, which has the sources; borrowed */
        bool raw;

        /* the table that is being printed */
        Table *table; /* NULL: none */
        SectionId id;
        char heading[SECTION_HEADING_BYTES];
        TableColumn columns[SECTION_TABLE_COLUMNS];
        size_t n_columns;

        json_object **kept; /* owned; rows that are shown in two tables */
        size_t n_kept, n_allocated;

        bool came[_SECTION_MAX], shown[_SECTION_MAX];
        uint64_t n_hidden;
        bool narrow[_SECTION_MAX]; /* one of its tables had to omit a column */
        Buffer omitted;            /* the names of these, as "total of pressure" */

        int error; /* the first failure, -errno */
} SectionTables;

void section_tables_done(SectionTables *tables);

/* Adds a part, {NAME: [ROW...]...}. 0, or the first failure so far. */
_must_check_ int section_tables_add(SectionTables *tables, json_object *part);
/* Finishes the last table, and says why a section that the user named has none. */
_must_check_ int section_tables_end(SectionTables *tables);
/*
 * Returns how many rows were not shown because nothing changed in them. *ret_any: some section
 * came, be it of zeros.
 */
uint64_t section_tables_hidden(const SectionTables *tables, bool *ret_any);
