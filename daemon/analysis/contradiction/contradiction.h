/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Contradiction
 *
 * Two measured facts of an interval that exclude its plain reading, with what explains them, if
 * anything does: the member "but" of the replies. Each fact is at least a quarter of a CPU, that is
 * of the interval.
 *
 *     waiting     threads wait for a CPU while CPUs are idle: a quota throttled them, or they share
 *                 CPUs that are full with others, or they are of a class or a niceness that yields;
 *                 otherwise it is not explained
 *     pressure    the host was held up for a resource, and the waits of all threads for it are less
 *                 than a third of that: threads in state D are named, and who waits for a ring of
 *                 requests, which the kernel counts as pressure of io although no thread waits for
 *                 storage
 *     limits      a process waits for what cgroups of version 1 limit, which nothing is known of
 *
 * A cause of a third of the waiting explains it: the rest happens on every host.
 */

#include "base/macro.h"
#include "json/json-writer.h"
#include "analysis/group/host-use.h"
#include "analysis/contradiction/cohort.h"
#include "json/amount.h"
#include "analysis/subject/host-view.h"
#include "analysis/subject/limit-tally.h"

/* All borrowed. */
typedef struct ContradictionBasis {
        Amount elapsed_ns;
        const HostView *host;
        const HostUse *use;
        Amount believed_ns; /* coverage_believed_ns() */
        const Cohorts *cohorts;
        const LimitTally *limits;
        Span cgroup_v1; /* controllers of cgroup version 1: "cpu, memory"; may be empty */
} ContradictionBasis;

/* Writes an array of Contradiction of the interface, those that matter most first. 0 or -errno. */
_must_check_ int contradictions_write_json(const ContradictionBasis *basis, JsonWriter *writer);
