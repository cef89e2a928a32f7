/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/object-finder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "record/process-file.h"

#define MAX_FILES 4096u
#define MAX_PATH_BYTES (1u << 20)
/* Memory may be unmapped, and other memory be mapped there. */
#define RANGE_AGE_NS NSEC_PER_SEC
/*
 * The most reads of maps, and the most CPU time for these, in each second. Reading the maps of a
 * process with thousands of mappings takes milliseconds.
 */
#define MAX_READS 500u
#define MAX_CPU_NS UINT64_C(50000000)

/* files */

static Span key_of_file(const void *owner, size_t element) {
        const ObjectFinder *finder = owner;

        return (Span){ (const char *) &finder->files[element], sizeof(RecordFile) };
}

static void forget_files(ObjectFinder *finder) {
        index_clear(&finder->by_file);
        buffer_clear(&finder->paths);
        finder->n_files = 0;
}

/* Without its directories, and without an end where it has been cut. */
static Span name_file(ObjectFinder *finder, const RecordObject *object) {
        size_t n = strnlen(object->file_name, sizeof(object->file_name));

        if (n == 0)
                return (Span){};
        (void) snprintf(finder->name, sizeof(finder->name), "%s%.*s%s",
                        object->file.is_alone ? "" : ".../", (int) n, object->file_name,
                        n + 1 < sizeof(object->file_name) ? "" : "...");
        return span_of(finder->name);
}

/* A file that was renamed since keeps the path by which it was found. */
static int find_file(ObjectFinder *finder, const RecordSample *sample, Span *ret) {
        const RecordFile *file = &sample->object.file;
        Span key = { (const char *) file, sizeof(*file) };
        size_t found = index_find(&finder->by_file, key, key_of_file, finder), n_path;
        char path[PROCESS_FILE_PATH_BYTES];
        int r;

        if (found == INDEX_NONE) {
                /* Drivers of devices may take their time to tell of a descriptor. */
                bool is_slow = file->type == RECORD_FILE_CHARACTER &&
                               sample->place != RECORD_PLACE_terminal;

                n_path = is_slow ? 0
                                 : process_file_read_path(sample->tgid, sample->object.descriptor,
                                                          file->inode, path);
                if (n_path == 0) {
                        *ret = name_file(finder, &sample->object);
                        return 0;
                }
                if (finder->n_files == MAX_FILES || finder->paths.n > MAX_PATH_BYTES)
                        forget_files(finder);
                found = finder->n_files;
                r = ARRAY_RESERVE(finder->files, finder->n_files_allocated, found + 1);
                if (r == 0)
                        r = ARRAY_RESERVE(finder->places, finder->n_places_allocated, found + 1);
                if (r < 0)
                        return r;
                finder->files[found] = *file;
                finder->places[found] = finder->paths.n;
                (void) buffer_append(&finder->paths, path, n_path);
                (void) buffer_append_byte(&finder->paths, '\0');
                r = buffer_failure(&finder->paths);
                if (r == 0)
                        r = index_add(&finder->by_file, key, found);
                if (r < 0)
                        return r;
                finder->n_files++;
        }
        *ret = span_of(finder->paths.bytes + finder->places[found]);
        return 0;
}

/* memory */

static const FoundRange *find_range(const ObjectFinder *finder, const RecordSample *sample) {
        for (size_t i = 0; i < MIN_OF(finder->n_ranges, (uint64_t) OBJECT_RANGES); i++) {
                const FoundRange *range = &finder->ranges[i];
                uint64_t address = sample->object.futex;

                if (range->tgid == sample->tgid && range->image == sample->image &&
                    address >= range->begin && address < range->end &&
                    sample->seen_ns < range->read_ns + RANGE_AGE_NS)
                        return range;
        }
        return NULL;
}

/* *ret stays NULL where nothing is found, or too much was looked for. */
static int read_range(ObjectFinder *finder, const RecordSample *sample, char *space, size_t n_space,
                      const FoundRange **ret) {
        FoundRange *range = &finder->ranges[finder->n_ranges % OBJECT_RANGES];
        uint64_t begun_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
        ProcessMapping mapping;
        bool is_found;
        size_t n;
        int r;

        if (sample->seen_ns - finder->since_ns >= NSEC_PER_SEC) {
                finder->since_ns = sample->seen_ns;
                finder->n_reads = 0;
                finder->cpu_ns = 0;
        }
        if (finder->n_reads == MAX_READS || finder->cpu_ns >= MAX_CPU_NS)
                return 0;
        is_found = process_file_read_maps(sample->tgid, space, n_space, &n) == 0 &&
                   process_map_find((Span){ space, n }, sample->object.futex, &mapping) == 0 &&
                   process_file_is_of_image(sample->tgid, sample->start_stack);
        finder->n_reads++;
        finder->cpu_ns += clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
        if (!is_found)
                return 0;
        buffer_clear(&range->name);
        r = buffer_append(&range->name, mapping.path.bytes, mapping.path.n);
        if (r < 0)
                return r;
        range->tgid = sample->tgid;
        range->image = sample->image;
        range->read_ns = sample->seen_ns;
        range->begin = mapping.start;
        range->end = mapping.end;
        range->offset = mapping.offset;
        range->is_file = mapping.inode != 0;
        finder->n_ranges++;
        *ret = range;
        return 0;
}

static int find_memory(ObjectFinder *finder, const RecordSample *sample, char *space,
                       size_t n_space, RecordObjectName *ret_name, Span *ret) {
        uint64_t sp = sample->has_registers ? sample->registers[UNWIND_SP] : 0;
        const FoundRange *range = find_range(finder, sample);
        int r = range ? 0 : read_range(finder, sample, space, n_space, &range);

        if (r < 0 || !range)
                return r;
        if (range->is_file)
                *ret_name = (RecordObjectName){ true, sample->object.futex - range->begin +
                                                              range->offset };
        /* Stacks of threads are memory like any other, but for who is on it. */
        if (range->name.n > 0)
                *ret = buffer_span(&range->name);
        else
                *ret = sp >= range->begin && sp < range->end ? SPAN_LITERAL("[stack]")
                                                             : SPAN_LITERAL("[anonymous]");
        return 0;
}

int object_finder_find(ObjectFinder *finder, const RecordSample *sample, char *space,
                       size_t n_space, RecordObjectName *ret_name, Span *ret) {
        *ret = (Span){};
        *ret_name = (RecordObjectName){};
        switch (sample->object.kind) {
        case RECORD_OBJECT_FILE:
                return find_file(finder, sample, ret);
        case RECORD_OBJECT_FUTEX:
                return find_memory(finder, sample, space, n_space, ret_name, ret);
        default: /* a socket is told by its numbers */
                return 0;
        }
}

void object_finder_done(ObjectFinder *finder) {
        free(finder->files);
        free(finder->places);
        buffer_done(&finder->paths);
        index_done(&finder->by_file);
        for (size_t i = 0; i < OBJECT_RANGES; i++)
                buffer_done(&finder->ranges[i].name);
        *finder = (ObjectFinder){};
}
