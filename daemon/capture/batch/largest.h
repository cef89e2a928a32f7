/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Largest
 *
 * The processes of the host that have the most resident memory, so many as are wanted, found in one
 * pass over all of them. Only as many as are wanted are kept meanwhile. While all fit, every
 * process is among the largest, whether or not it was offered.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"

typedef struct LargestProcess {
        pid_t tgid;
        /* Another user's, whose memory cannot be read: it comes behind all that can. */
        bool is_closed;
        uint64_t resident_bytes;
        uint64_t swap_bytes; /* 0: none, or not known */
} LargestProcess;

typedef struct Largest {
        size_t n_max;
        uint64_t max_bytes; /* processes with more, resident and in swap, are passed over */
        bool has_refused;   /* there were more than fit */
        /* Owned. Until it is settled, a heap with the least on top; then in the order of tgid. */
        LargestProcess *processes;
        size_t n, n_allocated;
} Largest;

/* -ENOMEM. */
_must_check_ int largest_offer(Largest *largest, LargestProcess process);
/* After the last offer. From then on several threads may ask. */
void largest_settle(Largest *largest);
bool largest_has(const Largest *largest, pid_t tgid);
