/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Recorder
 *
 * What the journal keeps of calls that change the spool, and of refusals: who, what, which
 * snapshot. What succeeds leaves a snapshot behind and so bounds itself; what fails can be repeated
 * for ever by anybody, and is logged only so often for each user.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/span.h"
#include "log/log-limit.h"
#include "log/log.h"
#include "service/method.h"

typedef struct Recorder {
        LogLimit failures;
} Recorder;

void recorder_init(Recorder *recorder);
/* @frame: the last reply to a call of @method; @call: its parameters, NULL when it had none. */
void recorder_take(Recorder *recorder, const Method *method, uid_t uid, json_object *call,
                   Span frame, bool is_error, uint64_t now_mono_ns);
