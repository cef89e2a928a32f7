/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DefaultSettings
 *
 * The settings of a service without a configuration: the bounds of wire/limits.h, and none for the
 * spool.
 */

#include "service/manager/manager.h"
#include "wire/limits.h"

static inline ManagerSettings default_settings(void) {
        return (ManagerSettings){
                .backend = BACKEND_CHOICE_AUTO,
                .loading_threads = LIMIT_LOADING_THREADS,
                .exits = EXIT_CHOICE_AUTO,
                .counts_waits = true,
                .reasons_ns = LIMIT_REASONS_NS,
                .smaps = SMAPS_MODE_SMALL,
                .smaps_max_rss_bytes = LIMIT_SMAPS_MAX_RSS_BYTES,
                .smaps_max_processes = LIMIT_SMAPS_PROCESSES,
                .smaps_ns = LIMIT_SMAPS_NS,
                .heap = true,
                .commands = COMMAND_LINES_SHORT,
                .heap_ns = LIMIT_HEAP_NS,
                .capture_ns = LIMIT_CAPTURE_NS,
                .analysis_ns = LIMIT_ANALYSIS_NS,
                .recording_ns = LIMIT_RECORD_NS,
                .recording_bytes = LIMIT_RECORD_BYTES,
        };
}
