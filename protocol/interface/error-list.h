/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Error list
 *
 * Every way a call can fail, with the name that crosses the socket.
 */

#define VARLINK_SERVICE "org.varlink.service"
#define PROFILER_INTERFACE "io.ctprof.Profiler"
#define PROFILER_SOCKET_PATH "/run/ctprof/io.ctprof.Profiler"

/*        id                     wire name                                   first parameter */
// clang-format off
#define WIRE_ERRORS(E)                                                                             \
        E(INTERFACE_NOT_FOUND,   VARLINK_SERVICE ".InterfaceNotFound",       "interface")          \
        E(METHOD_NOT_FOUND,      VARLINK_SERVICE ".MethodNotFound",          "method")             \
        E(METHOD_NOT_IMPLEMENTED,VARLINK_SERVICE ".MethodNotImplemented",    "method")             \
        E(INVALID_PARAMETER,     VARLINK_SERVICE ".InvalidParameter",        "parameter")          \
        E(PERMISSION_DENIED,     VARLINK_SERVICE ".PermissionDenied",        "")                   \
        E(EXPECTED_MORE,         VARLINK_SERVICE ".ExpectedMore",            "")                   \
        E(NO_SUCH_SNAPSHOT,      PROFILER_INTERFACE ".NoSuchSnapshot",       "name")               \
        E(SNAPSHOT_EXISTS,       PROFILER_INTERFACE ".SnapshotExists",       "name")               \
        E(INVALID_NAME,          PROFILER_INTERFACE ".InvalidName",          "name")               \
        E(SNAPSHOT_UNREADABLE,   PROFILER_INTERFACE ".SnapshotUnreadable",   "name")               \
        E(NO_WINDOW,             PROFILER_INTERFACE ".NoWindow",             "reason")             \
        E(SPOOL_FULL,            PROFILER_INTERFACE ".SpoolFull",            "reason")             \
        E(SPOOL_UNAVAILABLE,     PROFILER_INTERFACE ".SpoolUnavailable",     "reason")             \
        E(RECORDING_RUNS,        PROFILER_INTERFACE ".RecordingRuns",        "")                   \
        E(NO_RECORDING,          PROFILER_INTERFACE ".NoRecording",          "")                   \
        E(BUSY,                  PROFILER_INTERFACE ".Busy",                 "reason")             \
        E(JOB_FAILED,            PROFILER_INTERFACE ".JobFailed",            "reason")
// clang-format on

#define WIRE_ERROR_ID(id, name, parameter) WIRE_ERROR_##id,
typedef enum WireError { WIRE_ERRORS(WIRE_ERROR_ID) _WIRE_ERROR_MAX } WireError;
