/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Profiler
 *
 * The daemon as a whole: makes its parts and releases them in the reverse order. It serves until it
 * is told to stop. A private daemon, which ctprofctl started for one connection, serves until that
 * connection ends.
 */

#include "base/macro.h"
#include "profiler/options.h"

/*
 * Runs the daemon. 0 when it was stopped, a negative errno when it could not start or go on; then
 * it has logged why.
 */
_must_check_ int profiler_run(const Options *options);
