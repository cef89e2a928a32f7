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
 * What renamed one cgroup renamed those beside it and below, too: what two paired paths have before
 * their common tail are their roots, and cgroups of one side only that have the same path below the
 * roots are paired in turn, whatever runs in them. The roots of a pair that the view states are the
 * pair itself.
 *
 * Memory grows with the number of distinct kinds in distinct cgroups, not with that of threads.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/group.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/thread-sample.h"

#define PAIRING_MIN_SHARED 10
#define PAIRING_MAX_MATCHES \
        65536                   /* that are weighed against each other; further ones are not seen */
#define PAIRING_MAX_WRITTEN 256 /* paths may be long, and a reply has a bound */

typedef struct Pairing Pairing;

typedef enum PairingOrigin {
        PAIRING_STATED,
        PAIRING_CONTENT,
        PAIRING_PARENT,
} PairingOrigin;

/* Keys of cgroups, borrowed from the Pairing or the view. */
typedef struct PairingMatch {
        Span before, after;
        Span before_root, after_root; /* of PAIRING_PARENT: those that paired it */
        PairingOrigin by;
        uint64_t n_shared; /* kinds of threads in both */
        uint64_t n_all;    /* in either */
} PairingMatch;

_must_check_ int pairing_new(Pairing **ret);
Pairing *pairing_free(Pairing *pairing);
DEFINE_CLEANUP(Pairing *, pairing_free);

/* One thread in the cgroup of that key; "" is none. */
_must_check_ int pairing_add(Pairing *pairing, Span cgroup, unsigned side,
                             const ThreadSample *sample);
/* Once, after all threads: finds the matches that @view allows; @view outlives the pairing. */
_must_check_ int pairing_match(Pairing *pairing, const View *view);

size_t pairing_n(const Pairing *pairing);
const PairingMatch *pairing_get(const Pairing *pairing, size_t index);
/*
 * An array of {before, after, by, beforeRoot, afterRoot, shared, jaccard}: pairs that the view
 * states, then equal sets, then the others, best matches first, then those that were paired with
 * their parents; at most PAIRING_MAX_WRITTEN.
 */
void pairing_write_json(const Pairing *pairing, JsonWriter *writer);

/*
 * What the cgroup of that key, which may have no threads of its own, was called before: appended to
 * @name, nothing when it was not renamed. 0 or -ENOMEM.
 */
_must_check_ int pairing_append_old_name(const Pairing *pairing, Span key, Buffer *name);
