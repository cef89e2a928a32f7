/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordedStacks
 *
 * What a call about stacks reads of a recording: the document between the snapshots of its ends,
 * and both of these, by which the exact times of threads are divided among stacks. What is filled
 * is the caller's to free in any case.
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
