/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Weight
 *
 * How much a group matters on its host: the largest of three shares.
 *
 *     time       seconds running, waiting for a CPU, blocked on storage, in other uninterruptible
 *                waits of programs and on their locks, over CPUs x elapsed
 *     storage    bytes read and written, over what the disks moved or 10 MiB a second, whichever is
 *                more; at most 1
 *     memory     bytes that its memory grew in an interval, or its live heap where that is known
 *                and grew by more, over a hundredth of the host's memory a minute; at most 1
 *
 * Of two sides it is the share that moved more, with its sign, and not the difference of two
 * weights: a group whose storage share is 1 on both sides may have lost half its CPU.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/account/account.h"
#include "analysis/group/host-use.h"
#include "json/amount.h"
#include "base/macro.h"

#define WEIGHT_MEMORY_PER_MINUTE 0.01
#define WEIGHT_STORAGE_BYTES_PER_SECOND (UINT64_C(10) * 1024 * 1024)

/* The accounts of one side are measured against a WeightScale. */
typedef struct WeightScale {
        /* Elapsed time and CPUs are known; else one second of one CPU gives an order, no number. */
        bool known;
        double cpu_ns;
        double storage_bytes; /* not 0 */
        double memory_bytes;  /* 0: not known, and no share */
} WeightScale;

WeightScale weight_scale_of(const HostUse *host, Amount elapsed_ns);

/* Zeroed: none is known. */
typedef struct Shares {
        bool has_time, has_storage, has_memory;
        double time, storage, memory;
} Shares;

/* @account is NULL if the group has no thread on that side: then it has no part in anything. */
Shares shares_of(const WeightScale *scale, const Account *account);
/*
 * The share that moved more, @b - @a; false if no share is known on both sides. Without @a it is
 * the largest share of @b.
 */
bool weight_between(const Shares *a, const Shares *b, double *ret);
/* Sets the weights by which the group is ordered. */
void group_weigh(Group *group);
