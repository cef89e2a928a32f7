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
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "view/view.h"
#include "snapshot/thread-sample.h"

/*
 * Turns the path of a cgroup into a key: the glob of the view that matches it, otherwise its
 * skeleton. Both are pure functions of the path. A skeleton becomes a key only if the census finds
 * two distinct paths behind it; a glob is always used.
 *
 * A skeleton of a path is the skeleton of each component (pattern.h). The instance of a service,
 * "name@instance.service", becomes {I} unless it contains '.', '_' or '-', which suggest that it
 * has a structure of its own.
 */

/* Finds the first of @globs that matches @path; false when none does. */
bool cgroup_flatten(const ViewTexts *globs, Span path, Span *ret);
/* Appends the skeleton of @path. 0, or the failure that sticks to @buffer. */
int cgroup_append_skeleton(Buffer *buffer, Span path);

/*
 * Finds the skeletons that stand for at least two distinct names. It keeps each skeleton and its
 * first name, so memory grows with the number of skeletons.
 */
typedef struct KeyCensus KeyCensus;

_must_check_ int key_census_new(KeyCensus **ret);
KeyCensus *key_census_free(KeyCensus *census);
DEFINE_CLEANUP(KeyCensus *, key_census_free);

/* Counts @name, whose skeleton is @skeleton. */
_must_check_ int key_census_add(KeyCensus *census, Span skeleton, Span name);
/* Whether two distinct names of this skeleton were counted. */
bool key_census_is_shared(const KeyCensus *census, Span skeleton);
/*
 * The key of the names that have this skeleton: the skeleton when two share it, else the one name,
 * borrowed from the census or @skeleton; false when none was counted.
 */
bool key_census_find(const KeyCensus *census, Span skeleton, Span *ret);

typedef enum KeyPartName {
        KEY_PART_CGROUP,
        KEY_PART_PROCESS,
        KEY_PART_THREAD,
        KEY_PART_COMMAND,
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
_must_check_ int key_part_census(KeyPart *part, Span name);
/* *ret is borrowed from the part until the next call, or from @name. */
_must_check_ int key_part_make(KeyPart *part, Span name, Span *ret);
/*
 * The same for a text that is a name or a pattern: a pattern that only one name has is that name.
 */
_must_check_ int key_part_resolve(KeyPart *part, Span text, Span *ret);
