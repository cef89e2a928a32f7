/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Overview
 *
 * The lines above the numbers: when and where the snapshots were taken, what differed between their
 * hosts, and which readings are missing and why.
 */

#include <json-c/json.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "render/lines.h"

#define OVERVIEW_LABEL_COLUMNS 8

typedef enum ReportKind {
        REPORT_SNAPSHOT, /* one snapshot */
        REPORT_PAIR,     /* two snapshots side by side */
} ReportKind;

/* "NAME, 2026-11-20 15:35:01, HOST, KERNEL, 213 threads, 98 processes" */
_must_check_ int head_lines_print(const Lines *lines, const char *label, json_object *head);

/*
 * One line for each source of the array @sources that was partial or unavailable; jemalloc aside.
 */
_must_check_ int source_lines_print(const Lines *lines, json_object *sources);
/* The same for two sides: what is the same for both stands once. */
_must_check_ int source_lines_print_pair(const Lines *lines, json_object *before,
                                         json_object *after);

/*
 * Elapsed time, or why there is none; over a window, what became of the threads; then every
 * difference of the hosts. @reply: the first of
 * Compare.
 */
_must_check_ int change_lines_print(const Lines *lines, json_object *reply);
