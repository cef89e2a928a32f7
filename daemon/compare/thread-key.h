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
#include "compare/comparison.h"
#include "compare/key-part.h"
#include "interface/view.h"
#include "snapshot/thread-sample.h"

#define KEY_JOINT '\x1f' /* between the parts of a key */

typedef struct ThreadKeys {
        ViewAxis axis;
        ComparisonBoots boots;
        KeyPart part; /* of axes that are one name */
        Buffer text;  /* of a thread's own key */
} ThreadKeys;

/* Borrowed from the ThreadKeys and the sample, until either changes. */
typedef struct ThreadKey {
        Span id;          /* what makes two threads one group */
        Span label;       /* what is shown; the same bytes as the id unless the group is a thread */
        bool is_pattern;  /* stands for names other than itself */
        Span name;        /* the name behind the pattern */
        size_t n_process; /* of a thread's own key: bytes of the process's name in the label */
} ThreadKey;

/* @view outlives the keys. */
_must_check_ int thread_keys_init(ThreadKeys *keys, const View *view, ComparisonBoots boots);
void thread_keys_done(ThreadKeys *keys);

static inline bool thread_keys_wants_census(const ThreadKeys *keys) {
        return keys->part.census != NULL;
}
/* Keys may stand for names other than themselves. */
static inline bool thread_keys_has_patterns(const ThreadKeys *keys) {
        return keys->part.census || keys->part.flatten;
}
_must_check_ int thread_keys_census(ThreadKeys *keys, const ThreadSample *sample);
_must_check_ int thread_keys_make(ThreadKeys *keys, ComparisonSide side, const ThreadSample *sample,
                                  ThreadKey *ret);
