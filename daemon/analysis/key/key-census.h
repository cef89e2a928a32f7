/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KeyCensus
 *
 * Which skeletons stand for at least two distinct names among all that were shown to it. It keeps
 * each skeleton and the first name that had it, so memory grows with the number of skeletons.
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
