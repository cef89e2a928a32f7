/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ClockWatch
 *
 * Finds CPUs whose running time has no samples, for want of a clock. Clocks are opened when the
 * daemon starts, for CPUs that are on then, and the kernel forgets that of a CPU which is switched
 * off: one that is switched on later has none. Each clock counts its ticks. So a CPU that does much
 * work while its clock stands still has none, and that work is what the recording does not see.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "record/record-scope.h"

typedef struct ClockWatch ClockWatch;

/* @ticks: one for each of @n_cpus; borrowed. @clock_ns: from one to the next. -ENOMEM. */
_must_check_ int clock_watch_new(const uint64_t *ticks, size_t n_cpus, uint64_t clock_ns,
                                 ClockWatch **ret);
ClockWatch *clock_watch_free(ClockWatch *watch);
DEFINE_CLEANUP(ClockWatch *, clock_watch_free);

/* A look now and then is enough. @now_ns: CLOCK_MONOTONIC. */
bool clock_watch_is_due(const ClockWatch *watch, uint64_t now_ns);
/*
 * Compares the times of all CPUs with those of the look before. @stat has the times at @now_ns, as
 * /proc/stat prints them: in ticks, of which a second has @user_hz. Lines that are not in the
 * grammar are left out.
 */
void clock_watch_look(ClockWatch *watch, Span stat, uint64_t user_hz, uint64_t now_ns);
/*
 * Sets *ret to the CPUs that all looks so far have found without a clock, and to the time that
 * these CPUs have worked without one.
 */
void clock_watch_tell(const ClockWatch *watch, UnclockedTime *ret);
