/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ObjectFinder
 *
 * Finds what takes a privilege to tell of the object of a wait: the path of a file, by the
 * descriptor that the process has for it, and what is mapped where a futex is. It is looked up
 * some time after the wait, when the process may have closed the file, or have ended: then its name
 * alone is known. Samples are of the same few files, so that what was found is remembered.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"
#include "record/record-message.h"

#define OBJECT_RANGES 256u

/* A range of addresses of a process, and what is mapped there. */
typedef struct FoundRange {
        uint32_t tgid;
        uint64_t image, read_ns; /* CLOCK_MONOTONIC, as samples have it */
        uint64_t begin, end, offset;
        bool is_file;
        Buffer name; /* as the kernel prints it; empty: it has none */
} FoundRange;

/* Empty when zeroed. */
typedef struct ObjectFinder {
        RecordFile *files;
        size_t *places; /* of each, where its path begins; each ends in NUL */
        size_t n_files, n_files_allocated, n_places_allocated;
        Buffer paths;
        Index by_file;
        FoundRange ranges[OBJECT_RANGES]; /* a ring */
        uint64_t n_ranges;
        uint64_t since_ns; /* in this second maps were read so often, and took so long */
        uint64_t cpu_ns;
        unsigned n_reads;
        char name[RECORD_FILE_NAME_BYTES + 8]; /* of a file without a path */
} ObjectFinder;

void object_finder_done(ObjectFinder *finder);
/*
 * Tells what the wait of @sample is on. @space has @n_space bytes for the maps of a process. *ret
 * is borrowed until the next call; empty: it is not known, or there is nothing to look up. -ENOMEM.
 */
_must_check_ int object_finder_find(ObjectFinder *finder, const RecordSample *sample, char *space,
                                    size_t n_space, RecordObjectName *ret_name, Span *ret);
