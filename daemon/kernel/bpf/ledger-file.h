/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LedgerFile
 *
 * Rows of the ledger of exits in a sealed file in memory: those that a fold took out of the
 * kernel's table to make room, or all of them where they are not counted by programs. Whoever makes
 * it hands its descriptor over; it lives as long as somebody holds one, and nobody can change it.
 *
 * It is bounded: see ledger-rows.h.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "kernel/bpf/ledger-rows.h"

#define LEDGER_FILE_MAX_ROWS 32768u

typedef enum LedgerOrigin {
        LEDGER_FROM_PROGRAMS = 1,
        LEDGER_FROM_TASKSTATS,
} LedgerOrigin;

typedef struct LedgerFileHead {
        uint32_t layout; /* set by ledger_file_write() */
        uint32_t origin; /* LedgerOrigin */
        uint8_t id[16];
        uint64_t since_ns; /* CLOCK_BOOTTIME */
        /*
         * The generation that began when the rows were taken, see ledger-record.h. If the rows come
         * from programs, the kernel's table may still have rows that rest, until another generation
         * begins. Those rows are in this file, too.
         */
        uint64_t generation;
        uint64_t n_losses;             /* how often exits were lost, it is not known how many */
        uint64_t n_rows, n_path_bytes; /* set by ledger_file_write() */
} LedgerFileHead;

typedef struct LedgerFileRow {
        LedgerRow row;
        uint64_t path_at, n_path; /* among the bytes behind all rows */
} LedgerFileRow;

/* In the file: the head, the rows, the bytes of paths. */
typedef struct LedgerFile {
        void *memory; /* owned mapping */
        size_t n_bytes;
        const LedgerFileHead *head;
        const LedgerFileRow *rows;
        const char *paths;
} LedgerFile;

/*
 * @fd is borrowed. *ret has a mapping of its own. -EBADMSG when that is not such a file, or not
 * sealed; -errno.
 */
_must_check_ int ledger_file_open(int fd, LedgerFile **ret);
LedgerFile *ledger_file_free(LedgerFile *file);
DEFINE_CLEANUP(LedgerFile *, ledger_file_free);

/*
 * Borrowed. The path of the row's cgroup when it was noted; empty: it has none, or it is not known.
 */
Span ledger_file_path(const LedgerFile *file, size_t index);

/*
 * Appends the path of a cgroup. -ENOENT when it is not known; any other failure ends the writing.
 */
typedef int (*LedgerPathOf)(void *userdata, uint64_t cgroup, Buffer *path);

/* @path_of: NULL when there are none. *ret is the caller's. -errno, -EINVAL for too many rows. */
_must_check_ int ledger_file_write(const LedgerFileHead *head, const LedgerRow *rows, size_t n,
                                   LedgerPathOf path_of, void *userdata, int *ret);
