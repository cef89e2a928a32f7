/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotFault
 *
 * Why a file cannot be read as a snapshot, and where in it.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"

enum {
        SNAPSHOT_FILE_OK,
        SNAPSHOT_FILE_E_NO_HEAD, /* no trailer: of another tool, or of format version 0 */
        SNAPSHOT_FILE_E_DAMAGED, /* the fault says how and where */
};

typedef struct SnapshotFault {
        char text[256]; /* a fragment: "the digest does not match", "the file is empty" */
        bool has_offset;
        uint64_t offset; /* bytes into the file, or into the document when @in_document */
        bool in_document;
} SnapshotFault;

#define FAULT_NOWHERE UINT64_MAX

/* Overwrites @fault, which may be NULL; @offset is of the file, or FAULT_NOWHERE. */
void fault_set(SnapshotFault *fault, uint64_t offset, const char *format, ...) _printf_(3, 4);
