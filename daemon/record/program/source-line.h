/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SourceLine
 *
 * Finds the lines of the source that addresses of a file were compiled from, by its debugging
 * information (DWARF). The file is of somebody else, and may be large: all of it is copied into
 * memory, so that it cannot change any more and libdw has no descriptor by which it would look for
 * other files. libdw cannot go on without memory, and what it makes of a byte may be a hundred: so
 * nothing is given to it that could come to more than half a gigabyte, and it is left where there
 * is not even that.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define SOURCE_FILE_MAX_BYTES (UINT64_C(128) << 20) /* with what is compressed in it */
#define SOURCE_PATH_MAX_BYTES 1024u                 /* of a longer one the last part is told */

enum {
        SOURCE_LINES_OK,
        SOURCE_LINES_E_MEMORY, /* there was none for libdw, which has lost some of it */
};

/* Returns true if the file has debugging information of its own. */
bool source_lines_are_in(Elf *elf);

/* Takes the line that the @index-th address is of. -errno ends the search. */
typedef int (*SourceLineSink)(void *userdata, size_t index, Span path, uint32_t line);

/*
 * Looks for the lines of @addresses in the file @fd, at most until @until_ns (CLOCK_MONOTONIC).
 * @addresses: of the file, in ascending order. *ret_whole: all of the file was looked at; else it
 * is too large, memory or time ran out, or it makes no sense. 0, SOURCE_LINES_E_MEMORY, or what
 * @sink failed with.
 */
_must_check_ int source_lines_find(int fd, const uint64_t *addresses, size_t n, uint64_t until_ns,
                                   SourceLineSink sink, void *userdata, bool *ret_whole);
