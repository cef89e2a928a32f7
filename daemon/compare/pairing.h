/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pairing
 *
 * Cgroups that were renamed between two snapshots, found by what runs in them. Of every cgroup and
 * side the set of its kinds of threads is kept: the skeletons of process and thread, as hashes. A
 * cgroup that is on one side only is paired with one of the other side when they share at least
 * PAIRING_MIN_SHARED kinds and these are nine tenths of the kinds of either; or when the view says
 * so. Each cgroup is in one pairing at most, the best matches are taken first.
 *
 * Memory grows with the number of distinct kinds in distinct cgroups, not with that of threads.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "compare/group.h"
#include "interface/view.h"
#include "json/json-writer.h"
#include "snapshot/thread-sample.h"

#define PAIRING_MIN_SHARED 10
#define PAIRING_MAX_MATCHES \
        65536                   /* that are weighed against each other; further ones are not seen */
#define PAIRING_MAX_WRITTEN 256 /* paths may be long, and a reply has a bound */

typedef struct Pairing Pairing;

/* Keys of cgroups, borrowed from the Pairing. */
typedef struct PairingMatch {
        Span before, after;
        uint64_t n_shared; /* kinds of threads in both */
        uint64_t n_all;    /* in either */
} PairingMatch;

_must_check_ int pairing_new(Pairing **ret);
Pairing *pairing_free(Pairing *pairing);
DEFINE_CLEANUP(Pairing *, pairing_free);

/* One thread in the cgroup of that key; "" is none. */
_must_check_ int pairing_add(Pairing *pairing, Span cgroup, unsigned side,
                             const ThreadSample *sample);
/* Once, after all threads: finds the matches that @view allows. */
_must_check_ int pairing_match(Pairing *pairing, const View *view);

size_t pairing_n(const Pairing *pairing);
const PairingMatch *pairing_get(const Pairing *pairing, size_t index);
/*
 * An array of {before, after, shared, jaccard}: pairs that the view states, then equal sets, then
 * the others, best matches first; at most PAIRING_MAX_WRITTEN.
 */
void pairing_write_json(const Pairing *pairing, JsonWriter *writer);
