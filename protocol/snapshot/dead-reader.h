/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DeadReader
 *
 * Decodes the table of the dead a row at a time. Cells that threads have, too, are read as theirs.
 * A metric is absent when its cell is null or it has no column; the counts must be there.
 */

#include "document/table-reader.h"
#include "snapshot/dead-row.h"
#include "snapshot/thread-reader.h"

typedef struct DeadReader {
        ThreadReader thread; /* reads what a row has in common with a thread's */
        DeadRow row;         /* the last one read; its bytes are @thread's */
        NameSlot started_by;
        unsigned seen; /* bits of the counts that had a value */
} DeadReader;

void dead_reader_init(DeadReader *reader, JsonScanner *scanner);
void dead_reader_done(DeadReader *reader);

/* Rows of the table; the row is a DeadReader. */
extern const TableRows dead_rows;
