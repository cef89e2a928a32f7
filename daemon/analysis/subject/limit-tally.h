/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LimitTally
 *
 * Tells which cgroups a limit held back in an interval: what the kernel counts of that (cpu.stat,
 * memory.events, pids.events) in the cgroup records of the two snapshots; and whose limits differ.
 * Paths are literal, whatever a view makes of them, and every cgroup counts.
 *
 * Only a cgroup that both snapshots have says what happened inside. One that the later snapshot
 * alone has was perhaps made inside, but a capture records no cgroup without threads in or below
 * it: the counters of one that had none at the time of the earlier snapshot may be those of weeks.
 * Events of such a cgroup are told of the one above, which the kernel counts them in as well. A
 * cgroup that vanished took its counters along. A counter that fell belongs to another cgroup of
 * the same path.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "json/amount.h"
#include "analysis/group/side.h"
#include "analysis/section/count-map.h"

/* Paths may be long, and a reply has a bound: less is written after LIMIT_BATCH_BYTES. */
#define LIMIT_TALLY_MAX_WRITTEN 64
#define LIMIT_TALLY_MAX_CHANGES 32

/* Zeroed: no cgroup is known. */
typedef struct LimitTally {
        KeyTree cgroups;  /* owned; by path */
        bool seen[SIDES]; /* whether the snapshot has any record of a cgroup */
        char complaint[MEMBER_COMPLAINT_BYTES + 32]; /* after -EBADMSG */
} LimitTally;

/*
 * Takes the record of a cgroup as a snapshot has it; it may be null. -EBADMSG with a complaint when
 * it is not what a capture writes, or -ENOMEM.
 */
_must_check_ int limit_tally_add(LimitTally *tally, Side side, Span path, Span stats_json);

/*
 * Writes an array of Limited of the interface, the heaviest LIMIT_TALLY_MAX_WRITTEN of them:
 * killed processes, then throttled time, then memory, then pids. Null when neither the cgroups of
 * both snapshots nor @host_oom_kills are known.
 *
 * The kernel counts an event in all cgroups above the one in which it happened, too. A cgroup whose
 * count those below explain is left out, and so are kills of the host that a cgroup has. The
 * exception is pids.events before Linux 6.11, and later with the mount option pids_localevents: max
 * is counted only in the cgroup whose fork failed. A cgroup with failures of its own is then left
 * out where those below have as many; that is accepted, because a snapshot does not tell which way
 * its kernel counts. 0 or -ENOMEM, and then nothing was written.
 */
_must_check_ int limit_tally_write_json(LimitTally *tally, Amount host_oom_kills,
                                        JsonWriter *writer);

/* A cgroup held back what is in it by its limit of CPU time. */
typedef struct Throttling {
        Span cgroup; /* borrowed from the tally */
        Amount ns;   /* of all its CPUs */
} Throttling;

/*
 * True when threads in @cgroup were throttled in the interval, there or in the next one above that
 * was; false also where that is not known.
 */
bool limit_tally_throttling(const LimitTally *tally, Span cgroup, Throttling *ret);

/*
 * Writes the limits of cgroups that differ between a snapshot of @before and one of @after, which
 * may be the same tally, as elements Change of an open array: at most LIMIT_TALLY_MAX_CHANGES,
 * cgroup by cgroup. Those come first whose CPUs changed, then those whose memory did, and among
 * equals the one whose limit became another one by the largest factor. A cgroup that one of them
 * lacks has not changed. 0 or -ENOMEM, and then nothing was written.
 */
_must_check_ int limit_tally_write_changes(const LimitTally *before, Side before_side,
                                           const LimitTally *after, Side after_side,
                                           JsonWriter *writer);
