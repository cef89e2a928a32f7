/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KeyCensus
 *
 * Finds the skeletons that stand for at least two distinct names. It keeps each skeleton and its
 * first name, so memory grows with the number of skeletons.
 */

#include <stdbool.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

typedef struct KeyCensus KeyCensus;

_must_check_ int key_census_new(KeyCensus **ret);
KeyCensus *key_census_free(KeyCensus *census);
DEFINE_CLEANUP(KeyCensus *, key_census_free);

/* Counts @name, whose skeleton is @skeleton. */
_must_check_ int key_census_add(KeyCensus *census, Span skeleton, Span name);
/* Whether two distinct names of this skeleton were counted. */
bool key_census_is_shared(const KeyCensus *census, Span skeleton);
