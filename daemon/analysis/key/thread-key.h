/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pattern
 *
 * The skeleton of a name: the name with the parts replaced that number its instances, so that
 * worker-3 and worker-7 share worker-{N}. Names are bytes; letters, digits and hex are ASCII. A
 * skeleton is a pure function of the name. The census decides whether the skeleton becomes a key.
 *
 *     {U}     a UUID of lower-case hex digits, joined by '-' or by '_' throughout
 *     {N}     a run of digits
 *     {H}     a token of at least four lower-case hex digits, a decimal one among them
 *     0x{H}   a token of "0x" and hex digits of either case
 */

#include <stdbool.h>
#include "analysis/group/side.h"
#include "base/buffer.h"
#include "base/macro.h"
#include "base/name-set.h"
#include "base/span.h"
#include "snapshot/thread-sample.h"
#include "view/view.h"

/* Appends the skeleton of @name. 0, or the failure that sticks to @buffer. */
int pattern_append_skeleton(Buffer *buffer, Span name);

/*
 * KeyPart
 *
 * One name of a thread as it appears in the key of a group: the name itself, or a pattern that it
 * shares with other names. All names must be counted before the first key is made of a part that
 * has a census.
 */

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
typedef struct KeyCensus {
        NameSet skeletons;
        NameSet names;  /* the first one of each skeleton */
        size_t *firsts; /* owned; by skeleton: the number of its first name, or SIZE_MAX: two */
        size_t n_allocated;
} KeyCensus;

/* Counts @name, whose skeleton is @skeleton. */
_must_check_ int key_census_add(KeyCensus *census, Span skeleton, Span name);
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
        bool has_census;          /* else names become no patterns */
        KeyCensus census;
        /* The last name and its key are cached: threads of one process follow each other. */
        bool has_name;
        Buffer name;
        bool is_flat;
        Span flat; /* the glob, when is_flat */
        Buffer skeleton;
} KeyPart;

/* @view outlives the part. @patterns: names may become patterns. */
void key_part_init(KeyPart *part, KeyPartName of, const View *view, bool patterns);
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

/*
 * ThreadKeys
 *
 * Tells which group a thread belongs to on the axis of one view. A pattern replaces a name only if
 * the census found that names share it, so every thread has to be counted first, and every cgroup,
 * also those without threads of their own.
 */

#define KEY_JOINT '\x1f' /* separates the parts of a key */

#define THREAD_KEY_MAX_PARTS 3

typedef struct ThreadKeys {
        ViewAxis axis;
        Boots boots;
        KeyPart parts[THREAD_KEY_MAX_PARTS]; /* none: each thread is its own group */
        unsigned n_parts;
        KeyPart *cgroup;   /* of the parts; NULL: keys have none */
        bool has_census;   /* some names may become patterns */
        bool has_patterns; /* keys may be patterns or globs, so groups list the names behind them */
        Buffer text;       /* scratch for keys with several parts */
} ThreadKeys;

/* Borrowed from the ThreadKeys and the sample until either changes. */
typedef struct ThreadKey {
        Span id;          /* threads with equal ids are one group */
        Span label;       /* shown to the user; mostly equal to the id */
        bool is_pattern;  /* the (last) part of the key is a pattern */
        Span name;        /* the name behind the pattern */
        size_t n_cgroup;  /* of a key with several parts: bytes of the cgroup in the label */
        size_t n_process; /* the same of the process */
} ThreadKey;

/* @view outlives the keys, which stay where they are. */
void thread_keys_init(ThreadKeys *keys, const View *view, Boots boots);
void thread_keys_done(ThreadKeys *keys);

_must_check_ int thread_keys_make(ThreadKeys *keys, Side side, const ThreadSample *sample,
                                  ThreadKey *ret);
/*
 * Makes the id of a group from its label of all parts by appending their lengths. A name may
 * contain any byte but NUL, also the joint, and then the label alone would be ambiguous.
 */
_must_check_ int thread_key_append_lengths(Buffer *label, size_t n_cgroup, size_t n_process);
