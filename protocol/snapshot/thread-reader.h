/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadReader
 *
 * Decodes the threads of a snapshot document one at a time: rows of the table, or objects of format
 * version 0. A cell that is null or has no column leaves its metric absent; a cell of the wrong
 * type ends the document.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "json/json-scanner.h"
#include "snapshot/thread-column.h"
#include "snapshot/thread-sample.h"

#define THREAD_READER_MAX_COLUMNS 1024
/* Members of an object of version 0 whose column is remembered from the object before. */
#define THREAD_READER_GUESSES 128

/* Where the bytes behind a span of the sample lie; they move while the row is being read. */
typedef struct NameSlot {
        bool is_known;
        size_t at;
        size_t n;
} NameSlot;

typedef struct ThreadReader {
        JsonScanner *scanner; /* borrowed */
        ThreadColumn *columns;
        size_t n_columns;    /* 0 before the columns are read */
        ThreadColumn column; /* being read, for complaints; _COLUMN_MAX: none */

        ThreadSample sample;
        Buffer bytes; /* of the names */
        Buffer smaps;
        NameSlot pcomm, comm, cgroup, cpus;
        uint32_t seen; /* bits of identity columns that had a value */

        bool is_version_0;
        unsigned unmeasured; /* families that an object of version 0 declares so */
        ThreadColumn guesses[THREAD_READER_GUESSES];
} ThreadReader;

void thread_reader_init(ThreadReader *reader, JsonScanner *scanner);
void thread_reader_done(ThreadReader *reader);

/*
 * Each returns 0, JSON_E_MALFORMED with the scanner's complaint, or a negative errno. The first
 * reads the array of column names, the others a thread whose opening token was read. The sample and
 * the rollup are then those of that thread, until the next call.
 */
_must_check_ int thread_reader_columns(ThreadReader *reader);
_must_check_ int thread_reader_row(ThreadReader *reader);
_must_check_ int thread_reader_object(ThreadReader *reader);

static inline Span thread_reader_smaps(const ThreadReader *reader) {
        return buffer_span(&reader->smaps);
}

/* The cell of @reader->column, whose first token was read. */
_must_check_ int thread_reader_cell(ThreadReader *reader, JsonToken token);

/* Appends the bytes that @text stands for (base/name.h). */
_must_check_ int append_name(Buffer *buffer, Span text);
