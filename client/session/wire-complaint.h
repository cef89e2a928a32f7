/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * WireComplaint
 *
 * Turns an error reply into one sentence that names the object and the way out, and into an exit
 * status.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "wire/message.h"

/* Why one interval does not take the option that is its argument. */
#define WIRE_NEEDS_SIDES                                                                    \
        "%s needs two sides, and one interval has only one: give --totals, or compare two " \
        "intervals (A..B C..D)."

typedef struct WireTopic {
        const char *subject;        /* what the user typed; NULL: unknown */
        const char *taken_hint;     /* what to do about SnapshotExists; NULL: none */
        const char *daemon_version; /* printable; NULL or "": not known */
} WireTopic;

/* Appends the sentence to @sentence. */
_must_check_ int wire_complaint_format(const Reply *reply, const WireTopic *topic, Buffer *sentence,
                                       int *ret_status);
