/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KernelDefect
 *
 * Metrics that some kernel releases count wrongly, in ways that arithmetic finds only sometimes, so
 * that they are approximate at best. One row of the list covers the metrics whose names begin with
 * its prefix.
 *
 * Columns: id, prefix, first release that has the defect, first one that no longer has it (0, 0:
 * none is known), what is wrong (macro, so that metric-list.h can repeat it).
 */

#include <stdint.h>
#include "metric/metric.h"

// clang-format off
#define KERNEL_DEFECTS(D)                                                                          \
        /* Delayed dequeue made delayacct_blkio_start() stamp the running task, not the blocked. */\
        D(BLKIO, "blkio_delay_", 6, 12, 0, 0, METRIC_TEXT_OF_BLKIO_DEFECT)
// clang-format on

#define KERNEL_DEFECT_ID(id, ...) KERNEL_DEFECT_##id,
typedef enum KernelDefect { KERNEL_DEFECTS(KERNEL_DEFECT_ID) _KERNEL_DEFECT_MAX } KernelDefect;

/* A set of defects: bit i is that of row i. */
typedef uint32_t KernelDefects;
_Static_assert(_KERNEL_DEFECT_MAX <= 32, "a bit for each defect");

/* The defects of a release such as "6.12.5-amd64"; none for text that is not a release. */
KernelDefects kernel_defects_of(const char *release);
/* Tell what is wrong with the metric or with an input of the derived value; NULL: nothing. */
const char *kernel_defects_of_metric(KernelDefects defects, MetricId id);
const char *kernel_defects_of_derived(KernelDefects defects, DerivedId id);
