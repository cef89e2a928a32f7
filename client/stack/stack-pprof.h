/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackPprof
 *
 * Stacks as a profile of pprof: a gzip'ed message Profile of its profile.proto. Samples are written
 * while they come; what they refer to by number follows behind them, in any order of which a reader
 * of protocol buffers makes the same. A value is the time in nanoseconds, another the number of
 * samples. There are no addresses: that of a location is its place in its file, behind the files
 * before it. The first file is none: it has the name of the recording.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/name-set.h"

typedef struct PprofFile {
        uint32_t path, build_id; /* numbers of texts */
        uint64_t start;          /* the address of its first byte, once all locations are known */
        uint64_t end;            /* behind the last place in it that a location is at */
} PprofFile;

typedef struct PprofLocation {
        uint64_t offset;         /* in the file */
        uint32_t function, file; /* a text; a number, or UINT32_MAX */
} PprofLocation;

/* Zeroed before stack_pprof_begin(). */
typedef struct StackPprof {
        FILE *out; /* borrowed */
        z_stream stream;
        bool is_open;  /* the stream */
        int error;     /* the first failure, -errno, which sticks */
        Buffer sample; /* messages, the inner one first */
        Buffer label;
        NameSet texts; /* the first is empty */
        NameSet keys;  /* bytes of a PprofLocation each, in the order of numbers */
        PprofFile *files;
        size_t n_files;
} StackPprof;

void stack_pprof_done(StackPprof *pprof);
/* @first: the first reply, with files. 0 or -errno. */
_must_check_ int stack_pprof_begin(StackPprof *pprof, FILE *out, json_object *first);
_must_check_ int stack_pprof_add(StackPprof *pprof, json_object *stack);
_must_check_ int stack_pprof_end(StackPprof *pprof, json_object *first);
