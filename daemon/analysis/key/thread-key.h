/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadKeys
 *
 * Which group a thread belongs to on the axis of one view. A pattern replaces a name only if the
 * census found that names share it, so every thread has to be counted first, and every cgroup, also
 * those without threads of their own.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/side.h"
#include "analysis/key/key-part.h"
#include "view/view.h"
#include "snapshot/thread-sample.h"

#define KEY_JOINT '\x1f' /* separates the parts of a key */

#define THREAD_KEY_MAX_PARTS 3

typedef struct ThreadKeys {
        ViewAxis axis;
        Boots boots;
        KeyPart parts[THREAD_KEY_MAX_PARTS]; /* none: each thread is its own group */
        unsigned n_parts;
        Buffer text; /* scratch for keys with several parts */
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

/* @view outlives the keys. */
_must_check_ int thread_keys_init(ThreadKeys *keys, const View *view, Boots boots);
void thread_keys_done(ThreadKeys *keys);

bool thread_keys_wants_census(const ThreadKeys *keys);
/* Keys may be patterns or globs, so groups list the names behind them. */
bool thread_keys_has_patterns(const ThreadKeys *keys);
_must_check_ int thread_keys_census(ThreadKeys *keys, const ThreadSample *sample);
/* The part that is the cgroup, for counting cgroups by their paths; NULL when keys have none. */
KeyPart *thread_keys_cgroup_part(ThreadKeys *keys);
_must_check_ int thread_keys_make(ThreadKeys *keys, Side side, const ThreadSample *sample,
                                  ThreadKey *ret);
/*
 * Makes the id of a group from its label of all parts by appending their lengths. A name may
 * contain any byte but NUL, also the joint, and then the label alone would be ambiguous.
 */
_must_check_ int thread_key_append_lengths(Buffer *label, size_t n_cgroup, size_t n_process);
