/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Addition
 *
 * What the methods that add something to the spool share: a capture, a recording, which has a
 * capture at each end, and an import. See method-add.c.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "interface/parameters.h"
#include "metric/choice.h"
#include "service/request/request.h"
#include "spool/spool.h"

/* The state of such a request begins with this. */
typedef struct Addition {
        OrderName name; /* "": named by the time it begins at */
        bool tagged, replace, is_import;
        const Spool *spool; /* borrowed; NULL: @file is not there */
        int file;           /* owned; ours beside those of the jobs */
        Buffer sources;     /* what the capture job said of them; part of the answer */
        Buffer rotated;     /* names that had to make room before it */
        Buffer recording;   /* JSON of how samples were taken; empty: none were */
} Addition;

typedef struct CaptureFields {
        const char *tag;
        bool replace, anonymous, interval;
        OptionalBool wants_smaps;
        const char *backend_name; /* NULL: not given */
        BackendChoice backend;
        const char *smaps_mode; /* likewise */
        SmapsMode smaps;
        OptionalBool wants_heap, wants_reasons;
        bool heap;
} CaptureFields;

/* The state of a capture, and how that of a recording begins. */
typedef struct CaptureState {
        Addition addition;
        CaptureFields fields;
        /* Goes on when the snapshot is written and its texts are kept. */
        int (*on_written)(Request *request);
} CaptureState;

void addition_release(Request *request);
/* Writes the member "recording" of an answer, where there is one. */
void addition_write_recording(const Addition *addition, JsonWriter *writer);
/* The stage that takes a snapshot into addition.file, in the queue of those that add. */
extern const Stage addition_capturing;
/* Puts addition.file into the spool, and answers: in the place that the request has. */
_must_check_ int addition_publish(Request *request);
/* Drops progress for a caller that does not read it. */
int addition_on_progress(Request *request, Span parameters);
