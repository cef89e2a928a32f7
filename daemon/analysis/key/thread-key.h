/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadKeys
 *
 * Which group a thread belongs to, on the axis of one view. Patterns stand for names that the
 * census found to be shared; before that, every thread has to be shown to it.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/side.h"
#include "analysis/key/key-part.h"
#include "view/view.h"
#include "snapshot/thread-sample.h"

#define KEY_JOINT '\x1f' /* between the parts of a key */

#define THREAD_KEY_MAX_PARTS 3

typedef struct ThreadKeys {
        ViewAxis axis;
        Boots boots;
        KeyPart parts[THREAD_KEY_MAX_PARTS]; /* names that make up the key; none: a thread's own */
        unsigned n_parts;
        Buffer text; /* of keys that have several parts */
} ThreadKeys;

/* Borrowed from the ThreadKeys and the sample, until either changes. */
typedef struct ThreadKey {
        Span id;          /* what makes two threads one group */
        Span label;       /* what is shown; mostly the same bytes as the id */
        bool is_pattern;  /* stands for names other than itself; of several parts, the last does */
        Span name;        /* the name behind the pattern */
        size_t n_cgroup;  /* of a key with several parts: bytes of the cgroup in the label */
        size_t n_process; /* the same of the process */
} ThreadKey;

/* @view outlives the keys. */
_must_check_ int thread_keys_init(ThreadKeys *keys, const View *view, Boots boots);
void thread_keys_done(ThreadKeys *keys);

bool thread_keys_wants_census(const ThreadKeys *keys);
/* Keys may stand for names other than themselves. */
bool thread_keys_has_patterns(const ThreadKeys *keys);
_must_check_ int thread_keys_census(ThreadKeys *keys, const ThreadSample *sample);
_must_check_ int thread_keys_make(ThreadKeys *keys, Side side, const ThreadSample *sample,
                                  ThreadKey *ret);
/*
 * Makes the id of a group out of its label of all parts: where a name has the joint in it, as it
 * may have any byte but NUL, the label alone could be that of other names.
 */
_must_check_ int thread_key_append_lengths(Buffer *label, size_t n_cgroup, size_t n_process);
