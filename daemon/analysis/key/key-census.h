/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KeyCensus
 *
 * Which skeletons stand for at least two distinct names among all that were shown to it. Sixteen
 * bytes a skeleton, however long and however many the names: both are known by their 64-bit hashes
 * only, so names that collide on purpose can at worst be grouped as if they were patterns.
 */

#include <stdbool.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

typedef struct KeyCensus KeyCensus;

_must_check_ int key_census_new(KeyCensus **ret);
KeyCensus *key_census_free(KeyCensus *census);
DEFINE_CLEANUP(KeyCensus *, key_census_free);

/* @skeleton is that of @name. */
_must_check_ int key_census_add(KeyCensus *census, Span skeleton, Span name);
/* Two distinct names of this skeleton were added. */
bool key_census_is_shared(const KeyCensus *census, Span skeleton);
