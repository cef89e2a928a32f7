/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Profiler
 *
 * The daemon as a whole: builds one of each part and takes them apart in the reverse order. It
 * serves until it is told to stop, or, when it was started for one connection, until that
 * connection ends.
 */

#include "base/macro.h"
#include "profiler/options.h"

/*
 * Runs the daemon. 0 when it was stopped, a negative errno when it could not be; then it said why.
 */
_must_check_ int profiler_run(const Options *options);
