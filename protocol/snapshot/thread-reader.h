/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadReader
 *
 * Decodes the threads of a snapshot document one at a time: rows of the table, or objects of format
 * version 0. A metric is absent when its cell is null or it has no column; a cell of the wrong type
 * makes the document malformed.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "json/json-scanner.h"
#include "document/table-reader.h"
#include "snapshot/thread-column.h"
#include "snapshot/thread-sample.h"

/* So many members of an object of version 0 are remembered for the next object. */
#define THREAD_READER_MEMBERS 128

/* The place of a span's bytes, which may move while the row is read. */
typedef struct NameSlot {
        bool is_known;
        size_t at;
        size_t n;
} NameSlot;

/* The meaning of a key in an object of version 0 (thread-reader.c). */
typedef unsigned ThreadMember;

/* Zeroed but for the scanner. */
typedef struct ThreadReader {
        JsonScanner *scanner; /* borrowed */

        ThreadSample sample;
        Buffer bytes; /* of the names */
        Buffer smaps;
        NameSlot pcomm, comm, cgroup, cpus, command, command_line;
        Buffer last_command, last_name; /* a command, and what groups call it */
        uint32_t seen;                  /* bits of identity columns that had a value */

        bool is_version_0;   /* set before the first row */
        unsigned unmeasured; /* families that an object of version 0 says were not read */
        ThreadMember members[THREAD_READER_MEMBERS]; /* by their order in the objects */
        size_t n_members;
} ThreadReader;

/* Rows of the table; the row is a ThreadReader, which has the sample and the rollup afterwards. */
extern const TableRows thread_rows;
/*
 * The same for an array of objects of format version 0: reads the next one, after @n_before others.
 * *ret_more is false at the end of the array.
 */
_must_check_ int thread_reader_object(ThreadReader *reader, DocumentReader *document,
                                      uint64_t n_before, bool *ret_more);

/*
 * The parts of a row, for tables whose rows have cells of threads. thread_reader_begin(), which is
 * TableRows.begin of a ThreadReader, empties the sample, and thread_reader_end() gives it the names
 * and what is known of the identity.
 */
void thread_reader_begin(void *row);
/* TableRows.cell of threads. */
_must_check_ int thread_reader_cell(void *row, unsigned column, JsonToken token);
/* The metrics among these cells; for rows that are, or begin with, a ThreadReader. */
extern const TableCounts thread_counts;
/* A cell that is a name, beside those of threads; and once the row was read, its bytes. */
_must_check_ int thread_reader_name(ThreadReader *reader, JsonToken token, NameSlot *ret);
Span thread_reader_span(const ThreadReader *reader, const NameSlot *slot);
/* 0 or -ENOMEM. */
_must_check_ int thread_reader_end(ThreadReader *reader);
