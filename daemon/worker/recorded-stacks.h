/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordedStacks
 *
 * Reads the parts of a recording that a call about stacks needs: the document between the snapshots
 * of its two ends, and both of these snapshots, by which the exact times of threads are divided
 * among stacks. The caller frees the objects that these functions fill, also after a failure.
 */

#include <stdbool.h>
#include "analysis/stack/stack-view.h"
#include "analysis/subject/subject.h"
#include "base/macro.h"
#include "record/recording-document.h"
#include "worker/work.h"

/*
 * @end is the second snapshot of the recording; @lines: frames are lines of the source where it has
 * some, and not functions. 0, WORK_E_ANSWERED or -errno.
 */
_must_check_ int work_read_recording(Work *work, const Subject *end, bool lines,
                                     RecordingDocument *ret);
/* stack_view_divide() of the recording between both. Likewise. */
_must_check_ int work_divide_stacks(Work *work, Subject *begin, Subject *end,
                                    const RecordingDocument *recording, bool by_waker,
                                    StackView *view);
