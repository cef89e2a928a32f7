/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Tally
 *
 * How every attempt to read something ended, by source, and what else is counted in a capture. Each
 * worker has a tally of its own; they are added up once, at the end.
 */

#include <stdbool.h>
#include <stdint.h>
#include "snapshot/source.h"

typedef struct Tally {
        uint64_t counts[_SOURCE_MAX][_SOURCE_OUTCOME_MAX];
        uint64_t n_threads;        /* kept */
        uint64_t n_processes;      /* with a thread that was kept */
        bool processes_hidden;     /* the backend is not shown all processes */
        uint64_t n_smaps_skipped;  /* processes left out when the time budget was used up */
        uint64_t n_groups_outside; /* cgroups outside of the visible part of the hierarchy */
} Tally;

static inline void tally_add(Tally *tally, SourceId source, SourceOutcome outcome) {
        tally->counts[source][outcome]++;
}

static inline void tally_add_counts(Tally *tally, SourceId source,
                                    const uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        for (unsigned i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                tally->counts[source][i] += counts[i];
}

static inline void tally_merge(Tally *tally, const Tally *other) {
        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                tally_add_counts(tally, (SourceId) id, other->counts[id]);
        tally->n_threads += other->n_threads;
        tally->n_processes += other->n_processes;
        tally->processes_hidden |= other->processes_hidden;
        tally->n_smaps_skipped += other->n_smaps_skipped;
        tally->n_groups_outside += other->n_groups_outside;
}
