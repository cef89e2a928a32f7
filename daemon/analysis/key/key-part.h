/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KeyPart
 *
 * One name of a thread as it appears in the key of a group: the name itself, or a pattern that it
 * shares with other names. All names must be counted before the first key is made of a part that
 * has a census.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/key/key-census.h"
#include "view/view.h"
#include "snapshot/thread-sample.h"

typedef enum KeyPartName {
        KEY_PART_CGROUP,
        KEY_PART_PROCESS,
        KEY_PART_THREAD,
} KeyPartName;

typedef struct KeyPart {
        KeyPartName of;
        const ViewTexts *flatten; /* borrowed from the view; NULL: no globs apply */
        KeyCensus *census;        /* owned; NULL: names become no patterns */
        /* The last name and its key are cached: threads of one process follow each other. */
        bool has_name;
        Buffer name;
        bool is_flat;
        Span flat; /* the glob, when is_flat */
        Buffer skeleton;
} KeyPart;

/* @view outlives the part. @patterns: whether names may become patterns. */
_must_check_ int key_part_init(KeyPart *part, KeyPartName of, const View *view, bool patterns);
void key_part_done(KeyPart *part);

/* The name that the part takes from @sample. */
Span key_part_name(const KeyPart *part, const ThreadSample *sample);
/* Counts the name; does nothing without a census. */
_must_check_ int key_part_census(KeyPart *part, const ThreadSample *sample);
/* *ret is borrowed from the part until the next call, or from the sample. */
_must_check_ int key_part_make(KeyPart *part, const ThreadSample *sample, Span *ret);
