/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostRow
 *
 * What the parts of a host's totals (metric/host-part.h) are read and written with: lines of
 * numbers, and the members of their JSON objects.
 *
 * All functions that read a part open an object and write all of it but its end, which is the
 * caller's. The outcome of each file counts in @counts (indexed by SourceOutcome); a file of which
 * only some lines were in their grammar counts as ok and as malformed, and those lines are left
 * out.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "metric/host-part.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"
#include "kernel/procfs/procfs.h"

/* The numbers of an item; the first @n_values are there. */
typedef struct HostRow {
        unsigned n_values;
        uint64_t values[HOST_MAX_COLUMNS];
} HostRow;

/*
 * The words that are left of a line: numbers, at least @n_least; further ones than the part has
 * columns are of later kernels and skipped. False when a word is no number of 64 bits.
 */
bool host_row_parse(HostPartId part, Cursor *words, unsigned n_least, HostRow *ret);

/* Counts the lines of a file. One without any good line is no file of that kind. */
typedef struct HostFile {
        size_t n_good, n_bad;
} HostFile;

void host_file_count(const HostFile *file, int r, uint64_t counts[static _SOURCE_OUTCOME_MAX]);

/* The whole file in *ret, borrowed from @text until that is used again. Codes of PROCFS. */
_must_check_ int host_file_read(int proc_fd, const char *name, Buffer *text, Span *ret);

/* "columns": [...]; the item's name first, then @more with NULL at its end, then the part's. */
void host_columns_write(JsonWriter *json, HostPartId part, const char *const *more);
/* The cells of a row from those of the part on, null where the kernel has none. */
void host_row_write(JsonWriter *json, HostPartId part, const HostRow *row);
/* GROUP: {NAME: N...} of the fields that are there, by the names they are written with. */
void host_fields_write(JsonWriter *json, HostGroupId group, const Fields *fields,
                       const char *const *names);
