/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Method
 *
 * Everything that can be called, one row each: the name, what handles it, and what the journal is
 * told when it is done. Connecting is enough to call any of them; what changes the snapshot of
 * somebody else is refused by the job that would do it, which looks at the uid in the head.
 */

#include <stdbool.h>
#include "base/span.h"
#include "interface/error-list.h"

typedef struct Request Request;

/*        name         handler               recorded as */
// clang-format off
#define PROFILER_METHODS(M)                                                                        \
        M(Capture,     method_capture,       CAPTURED)                                             \
        M(List,        method_list,          NOTHING)                                              \
        M(Show,        method_show,          NOTHING)                                              \
        M(Compare,     method_compare,       NOTHING)                                              \
        M(CompareSets, method_compare_sets,  NOTHING)                                              \
        M(Info,        method_info,          NOTHING)                                              \
        M(MetricList,  method_metric_list,   NOTHING)                                              \
        M(Verify,      method_verify,        NOTHING)                                              \
        M(Remove,      method_remove,        REMOVED)                                              \
        M(Rename,      method_rename,        RENAMED)                                              \
        M(Export,      method_export,        NOTHING)                                              \
        M(Import,      method_import,        IMPORTED)                                             \
        M(Status,      method_status,        NOTHING)

#define VARLINK_METHODS(M)                                                                         \
        M(GetInfo,                 varlink_get_info,        NOTHING)                               \
        M(GetInterfaceDescription, varlink_get_description, NOTHING)

/*        id         line for the journal                  its MESSAGE_ID */
#define RECORDS(R)                                                                                 \
        R(NOTHING,   "",                                   "")                                     \
        R(CAPTURED,  "took snapshot",                      "df539a7ceea74c259300c43f7e0d3655")     \
        R(IMPORTED,  "imported snapshot",                  "baef289567b04605b51112a80b1f33f3")     \
        R(REMOVED,   "removed snapshot",                   "8fd2a91aca9c460184be1e7078c90c48")     \
        R(RENAMED,   "gave a snapshot the name",           "2e88fb20b83747efaa4c0d4a65e976e8")     \
        R(REPLACED,  "replaced snapshot",                  "9890678e7bcc415e8b5ccc4e9cbba7d4")     \
        R(ROTATED,   "added one and so rotated away",      "be5b95d98e8742c7b7ab7df55ea10553")
// clang-format on

/* For a call that was refused or failed, whichever it was. */
#define RECORD_REFUSED_ID "a29b826659fc47f8999c43d6fc28569c"

#define RECORD_ENUM(id, line, message_id) RECORD_##id,
typedef enum Record { RECORDS(RECORD_ENUM) _RECORD_MAX } Record;

typedef struct Method {
        const char *name; /* in full */
        /*
         * Answers, or submits a job that will; 0. REQUEST_ANSWERED when an error was the answer. A
         * negative errno is answered by the caller.
         */
        int (*handle)(Request *request);
        Record record;
} Method;

#define METHOD_DECLARE(name, handler, record) int handler(Request *request);
PROFILER_METHODS(METHOD_DECLARE)
VARLINK_METHODS(METHOD_DECLARE)

/*
 * NULL when there is none; *ret_known_interface tells whether at least the interface is one of
 * ours.
 */
const Method *method_find(Span name, bool *ret_known_interface);
