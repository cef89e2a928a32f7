/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordPlace
 *
 * Where each moment of a thread's life is: it waits for something, waits for a CPU, or runs. The
 * reasons that are apart from each other come first, with the numbers of WaitReason.
 */

#include "metric/reason-list.h"

// clang-format off
#define RECORD_PLACES(P)                                                                           \
        WAIT_REASONS_APART(RECORD_PLACE_REASON, P)                                                 \
        P(storage)                                                                                 \
        P(blocked)   /* uninterruptible for another reason than storage */                         \
        P(run_queue)                                                                               \
        P(running)
// clang-format on
#define RECORD_PLACE_REASON(reason, text, P) P(reason)

#define RECORD_PLACE_ID(name) RECORD_PLACE_##name,
typedef enum RecordPlace { RECORD_PLACES(RECORD_PLACE_ID) _RECORD_PLACE_MAX } RecordPlace;

#define RECORD_PLACE_NAME(name) #name,
/* The names of the places in files and replies. */
#define RECORD_PLACE_NAMES \
        { RECORD_PLACES(RECORD_PLACE_NAME) }
