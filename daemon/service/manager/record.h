/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Record
 *
 * The journal's lines about calls that change the spool, and about refusals: who called what, for
 * which snapshot. A success leaves a snapshot behind, so the spool bounds their number. A failure
 * can be repeated for ever by anybody, so failures are logged at a limited rate for each user.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/span.h"
#include "log/log.h"

// clang-format off
/*        id         line for the journal                  its MESSAGE_ID */
#define RECORDS(R)                                                                                 \
        R(NOTHING,   "",                                   "")                                     \
        R(CLEANED,   "",                                   "") /* only a failure, as a warning */  \
        R(SURVEYED,  "",                                   "") /* the same */                      \
        R(CAPTURED,  "took snapshot",                      "df539a7ceea74c259300c43f7e0d3655")     \
        R(RECORDED,  "recorded",                           "ddf88439e91e47b7b42c2f09e65652f2")     \
        R(IMPORTED,  "imported snapshot",                  "baef289567b04605b51112a80b1f33f3")     \
        R(REMOVED,   "removed snapshot",                   "8fd2a91aca9c460184be1e7078c90c48")     \
        R(RENAMED,   "renamed a snapshot to",              "2e88fb20b83747efaa4c0d4a65e976e8")     \
        R(REPLACED,  "replaced snapshot",                  "9890678e7bcc415e8b5ccc4e9cbba7d4")     \
        R(ROTATED,   "made room by removing snapshot",     "be5b95d98e8742c7b7ab7df55ea10553")
// clang-format on

/* For a call that was refused or failed, whichever it was. */
#define RECORD_REFUSED_ID "a29b826659fc47f8999c43d6fc28569c"

#define RECORD_ENUM(id, line, message_id) RECORD_##id,
typedef enum Record { RECORDS(RECORD_ENUM) _RECORD_MAX } Record;

typedef struct RecordedCall {
        const char *method; /* in full */
        Record record;
        uid_t uid;
        json_object *parameters; /* NULL when the call had none */
} RecordedCall;

/* @frame: the last reply to the call; @failures: LIMIT_LOGGED_FAILURES_PER_MINUTE. */
void record_call(LogLimit *failures, const RecordedCall *call, Span frame, bool is_error,
                 uint64_t now_mono_ns);
