/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Why files of threads and taskstats could not be read, in the words of users. */

#include "capture/scene/backend.h"

/* As Backend has it. */
void procfs_explain(const Gates *gates, const Tally *tally, SourceId id, SourceOutcome cause,
                    Source *source);
