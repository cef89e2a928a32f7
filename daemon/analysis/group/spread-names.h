/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpreadNames
 *
 * The names of threads that have the top of some sum. Each name is kept once and referred to by a
 * number; names are never removed.
 */

#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

#define SPREAD_NAME_BYTES 64 /* longer names are cut to this length */

typedef struct SpreadNames SpreadNames;

_must_check_ int spread_names_new(SpreadNames **ret);
SpreadNames *spread_names_free(SpreadNames *names);
DEFINE_CLEANUP(SpreadNames *, spread_names_free);

/* Finds or adds @name. 0 or -ENOMEM. */
_must_check_ int spread_names_add(SpreadNames *names, Span name, uint32_t *ret);
/* Borrowed until the next name is added. */
Span spread_names_get(const SpreadNames *names, uint32_t number);
