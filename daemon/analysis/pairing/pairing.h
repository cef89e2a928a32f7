/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pairing
 *
 * Finds cgroups that were renamed between two snapshots by what runs in them. For every cgroup and
 * side it keeps the set of kinds of threads: the skeletons of process and thread. A cgroup that is
 * on one side only is paired with one of the other side if they share at least PAIRING_MIN_SHARED
 * kinds and these are nine tenths of the kinds of either; or if the view says so. Each cgroup is in
 * at most one pair; the best matches are taken first.
 *
 * A rename also changes the paths of the cgroups beside and below. The parts of two paired paths
 * before their common tail are their roots; cgroups of one side only that have the same path below
 * these roots are paired too, whatever runs in them. The roots of a pair that the view states are
 * the pair itself. A root is a path, while the cgroups beside and below it may be known by their
 * patterns: names are therefore looked for below the path and below its key, and what is found is a
 * key, as the census makes them.
 *
 * Memory grows with the number of distinct kinds in distinct cgroups, not with the number of
 * threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/group.h"
#include "analysis/key/thread-key.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/thread-sample.h"

/*
 * A set of hashes that stand for kinds of threads. Numbers may be added repeatedly; settle the set
 * before any other use.
 */

/* Empty when zeroed. */
typedef struct KindSet {
        uint64_t *kinds; /* owned; once settled, ascending and distinct */
        size_t n;
        size_t n_allocated;
} KindSet;

void kind_set_done(KindSet *set);
/* 0 or -ENOMEM. */
_must_check_ int kind_set_add(KindSet *set, uint64_t kind);
void kind_set_settle(KindSet *set);
/* Counts the numbers that both sets have; both must be settled. */
uint64_t kind_set_shared(const KindSet *a, const KindSet *b);

/*
 * Paths of cgroups as trees: the part of two paths before their common tail, and whether one path
 * is below another. Components are never split.
 */

/*
 * The paths without the trailing components that both share; the whole paths if nothing would be
 * left of one.
 */
void cgroup_roots(Span before, Span after, Span *ret_before, Span *ret_after);
/*
 * The rest of @path after @root, "" for the root itself; false when @path is not at or below @root.
 */
bool cgroup_is_below(Span path, Span root, Span *ret_rest);
/* Appends the path that has @rest below @root. */
_must_check_ int cgroup_append_moved(Buffer *name, Span root, Span rest);

#define PAIRING_MIN_SHARED 10
#define PAIRING_MAX_MATCHES 65536 /* candidates that are compared; further ones are ignored */
/* As a reply has a bound and paths may be long, no more are written after so many, or so long. */
#define PAIRING_MAX_WRITTEN 256
#define PAIRING_MAX_WRITTEN_BYTES (1024u * 1024u)

typedef struct Pairing Pairing;

typedef enum PairingOrigin {
        PAIRING_STATED,
        PAIRING_CONTENT,
        PAIRING_PARENT,
} PairingOrigin;

/* Keys of cgroups, borrowed from the Pairing or the view. */
typedef struct PairingMatch {
        Span before, after;
        Span before_root, after_root; /* for PAIRING_PARENT: the roots that paired it */
        PairingOrigin by;
        uint64_t n_shared; /* kinds of threads in both */
        uint64_t n_all;    /* in either */
} PairingMatch;

/*
 * @keys makes the keys of cgroups and outlives the pairing; NULL: paths are keys. It must have
 * counted all cgroups by the time of pairing_match().
 */
_must_check_ int pairing_new(KeyPart *keys, Pairing **ret);
Pairing *pairing_free(Pairing *pairing);
DEFINE_CLEANUP(Pairing *, pairing_free);

/* Adds a thread of that cgroup; does nothing for "", an unknown cgroup. */
_must_check_ int pairing_add(Pairing *pairing, Span cgroup, unsigned side,
                             const ThreadSample *sample);
/* Call once after all threads: finds the pairs that @view allows. @view outlives the pairing. */
_must_check_ int pairing_match(Pairing *pairing, const View *view);

size_t pairing_n(const Pairing *pairing);
const PairingMatch *pairing_get(const Pairing *pairing, size_t index);
/*
 * Writes an array of {before, after, by, beforeRoot, afterRoot, shared, jaccard}: pairs that the
 * view states, then equal sets, then the others with the best matches first, then cgroups that were
 * paired by their parents. Returns how many: at most PAIRING_MAX_WRITTEN, and fewer where these
 * would be longer than PAIRING_MAX_WRITTEN_BYTES. If @pairing is NULL, the array is empty.
 */
size_t pairing_write_json(const Pairing *pairing, JsonWriter *writer);

/*
 * Appends the former name of a cgroup, which may have no threads of its own, to @name; nothing if
 * it was not renamed. 0 or -ENOMEM.
 */
_must_check_ int pairing_append_old_name(const Pairing *pairing, Span key, Buffer *name);
