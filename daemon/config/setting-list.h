/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Setting list
 *
 * Everything that ctprofd.conf can set, one row each: what it is called, what a value may be, and
 * what holds when nothing is said. ctprofd.conf(5), the file that is installed and the tests follow
 * this list. The bounds are those of a daemon that still works; whoever wants fewer than one
 * connection stops the socket.
 */

#include <stdint.h>
#include "base/macro.h"
#include "base/quantity.h"
#include "metric/choice.h"
#include "metric/command.h"
#include "wire/limits.h"

#define SETTING_MIB (UINT64_C(1) << 20)
#define SETTING_TIB (UINT64_C(1) << 40)
#define SETTING_DAY_NS (86400 * NSEC_PER_SEC)
#define SETTING_PROCESSES (UINT64_C(1) << 22) /* no kernel has more: PID_MAX_LIMIT */

/* Decided by the file system of the spool; see spool_default_limits(). */
#define SETTING_AUTOMATIC QUANTITY_INFINITY

/* id, section, key, type, then the lowest and the highest value, and the default */
// clang-format off
#define SETTINGS(S)                                                                                \
        S(MAX_BYTES, "Spool", "MaxBytes", SIZE,                                                    \
          0, QUANTITY_INFINITY, SETTING_AUTOMATIC)                                                 \
        S(KEEP_FREE, "Spool", "KeepFree", SIZE,                                                    \
          0, QUANTITY_INFINITY - 1, SETTING_AUTOMATIC)                                             \
        S(MAX_AGE, "Spool", "MaxAge", TIME,                                                        \
          0, QUANTITY_INFINITY, QUANTITY_INFINITY)                                                 \
        S(SNAPSHOTS, "Spool", "MaxSnapshots", COUNT,                                               \
          1, 50000, LIMIT_SNAPSHOTS)                                                               \
        S(SNAPSHOTS_PER_USER, "Spool", "MaxSnapshotsPerUser", COUNT,                               \
          1, 50000, LIMIT_SNAPSHOTS_PER_UID)                                                       \
        S(BACKEND, "Capture", "Backend", BACKEND_CHOICE,                                           \
          BACKEND_CHOICE_AUTO, BACKEND_CHOICE_BPF, BACKEND_CHOICE_AUTO)                            \
        S(EXIT_ACCOUNTING, "Capture", "ExitAccounting", EXIT_CHOICE,                               \
          EXIT_CHOICE_AUTO, EXIT_CHOICE_OFF, EXIT_CHOICE_AUTO)                                     \
        S(WAIT_ACCOUNTING, "Capture", "WaitAccounting", ACCOUNTING,                                \
          0, 1, 1)                                                                                 \
        S(WAIT_REASONS, "Capture", "WaitReasons", STAY,                                            \
          0, QUANTITY_INFINITY, LIMIT_REASONS_NS)                                                  \
        S(SMAPS, "Capture", "Smaps", SMAPS_MODE,                                                   \
          SMAPS_MODE_NONE, SMAPS_MODE_ALL, SMAPS_MODE_SMALL)                                       \
        S(SMAPS_MAX_RSS, "Capture", "SmapsMaxRss", SIZE,                                           \
          0, QUANTITY_INFINITY, LIMIT_SMAPS_MAX_RSS_BYTES)                                         \
        S(SMAPS_MAX_PROCESSES, "Capture", "SmapsMaxProcesses", COUNT,                              \
          1, SETTING_PROCESSES, LIMIT_SMAPS_PROCESSES)                                             \
        S(SMAPS_TIME, "Capture", "SmapsTime", TIME,                                                \
          NSEC_PER_MSEC, SETTING_DAY_NS, LIMIT_SMAPS_NS)                                           \
        S(HEAP, "Capture", "Heap", BOOL,                                                           \
          0, 1, 1)                                                                                 \
        S(HEAP_TIME, "Capture", "HeapTime", TIME,                                                  \
          NSEC_PER_MSEC, SETTING_DAY_NS, LIMIT_HEAP_NS)                                            \
        S(COMMANDS, "Capture", "CommandLines", COMMAND_LINES,                                      \
          COMMAND_LINES_NO, COMMAND_LINES_FULL, COMMAND_LINES_SHORT)                               \
        S(JOB_MEMORY, "Jobs", "MemoryMax", SIZE,                                                   \
          64 * SETTING_MIB, SETTING_TIB, LIMIT_JOB_MEMORY_BYTES)                                   \
        S(CAPTURE_TIME, "Jobs", "CaptureTime", TIME,                                               \
          NSEC_PER_SEC, SETTING_DAY_NS, LIMIT_CAPTURE_NS)                                          \
        S(ANALYSIS_TIME, "Jobs", "AnalysisTime", TIME,                                             \
          NSEC_PER_SEC, SETTING_DAY_NS, LIMIT_ANALYSIS_NS)                                         \
        S(RECORDING_TIME, "Jobs", "RecordingTime", TIME,                                           \
          NSEC_PER_SEC, SETTING_DAY_NS, LIMIT_RECORD_NS)                                           \
        S(RECORDING_BYTES, "Jobs", "RecordingBytes", SIZE,                                         \
          SETTING_MIB, SETTING_TIB, LIMIT_RECORD_BYTES)                                            \
        S(ANALYSES, "Jobs", "MaxAnalyses", COUNT,                                                  \
          1, 64, LIMIT_ANALYSES)                                                                   \
        S(CAPTURES_WAITING, "Jobs", "MaxCapturesWaiting", COUNT,                                   \
          1, 1024, LIMIT_CAPTURES_WAITING)                                                         \
        S(CAPTURES_WAITING_PER_USER, "Jobs", "MaxCapturesWaitingPerUser", COUNT,                   \
          1, 1024, LIMIT_CAPTURES_WAITING_PER_UID)                                                 \
        S(ANALYSES_WAITING, "Jobs", "MaxAnalysesWaiting", COUNT,                                   \
          1, 1024, LIMIT_ANALYSES_WAITING)                                                         \
        S(ANALYSES_WAITING_PER_USER, "Jobs", "MaxAnalysesWaitingPerUser", COUNT,                   \
          1, 1024, LIMIT_ANALYSES_WAITING_PER_UID)                                                 \
        S(CONNECTIONS, "Server", "MaxConnections", COUNT,                                          \
          1, 1024, LIMIT_CONNECTIONS)                                                              \
        S(CONNECTIONS_PER_USER, "Server", "MaxConnectionsPerUser", COUNT,                          \
          1, 1024, LIMIT_CONNECTIONS_PER_UID)                                                      \
        S(BYTES, "Server", "MaxBytes", SIZE,                                                       \
          4 * SETTING_MIB, SETTING_TIB, LIMIT_BYTES)                                               \
        S(BYTES_PER_USER, "Server", "MaxBytesPerUser", SIZE,                                       \
          2 * SETTING_MIB, SETTING_TIB, LIMIT_BYTES_PER_UID)                                       \
        S(IDLE_TIME, "Server", "IdleTime", TIME,                                                   \
          NSEC_PER_MSEC, SETTING_DAY_NS, LIMIT_IDLE_NS)                                            \
        S(STALLED_TIME, "Server", "StalledTime", TIME,                                             \
          NSEC_PER_MSEC, SETTING_DAY_NS, LIMIT_STALLED_NS)
// clang-format on

#define SETTING_ID(id, section, key, type, lowest, highest, standard) SETTING_##id,
typedef enum SettingId { SETTINGS(SETTING_ID) _SETTING_MAX } SettingId;
