/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Method
 *
 * Every method that can be called: its name, its handler, and how a success appears in the journal.
 * Whoever can connect may call all of them. A method that changes a snapshot of another user is
 * refused by the job, which reads the owner in the head of the file.
 */

#include "base/span.h"
#include "interface/error-list.h"
#include "service/request/request.h"

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

// clang-format on

#define METHOD_DECLARE(name, handler, record) int handler(Request *request);
PROFILER_METHODS(METHOD_DECLARE)
VARLINK_METHODS(METHOD_DECLARE)

/* NULL when there is none. */
const Method *method_find(Span name);
/* The same for a call, whose connection gets the error when there is none. */
const Method *method_find_or_refuse(Connection *connection, const char *name);
