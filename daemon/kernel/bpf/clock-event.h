/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ClockEvent
 *
 * Events of the clocks of all CPUs, each of which runs a program: they need no counters of the
 * processor, which virtual machines do not have. They are opened with the programs, which takes
 * CAP_PERFMON, and are off: a recording switches them on, which takes nothing.
 */

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

/*
 * Opens one for each of the next @max CPUs that are on, from *cpu on, and has it run @program; the
 * descriptors are the caller's. *cpu is the first that was not looked at: 0 for the first call, and
 * after the last there are none. -errno; *ret_n is how many there are in any case.
 */
_must_check_ int clock_events_open(int program, unsigned *cpu, int *ret_fds, size_t max,
                                   size_t *ret_n);
/* Switches all on, every @period_ns from now on, or none. -errno. */
_must_check_ int clock_events_start(const int *fds, size_t n, uint64_t period_ns);
void clock_events_stop(const int *fds, size_t n);
