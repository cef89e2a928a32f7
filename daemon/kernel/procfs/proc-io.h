/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcIo
 *
 * /proc/PID/task/TID/io: seven "key: value" lines (fs/proc/base.c, do_io_accounting();
 * CONFIG_TASK_IO_ACCOUNTING). Reading wants ptrace-read permission on the target.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"

// clang-format off
#define PROC_IO_KEYS(K)                                                                            \
        K(rchar)                 /* bytes asked of read calls, cached or not */                    \
        K(wchar)                 /* bytes given to write calls */                                  \
        K(syscr)                 /* read calls */                                                  \
        K(syscw)                 /* write calls */                                                 \
        K(read_bytes)            /* fetched from storage */                                        \
        K(write_bytes)           /* sent towards storage */                                        \
        K(cancelled_write_bytes) /* dirtied, then truncated before they were written */
// clang-format on

#define PROC_IO_ID(key) PROC_IO_##key,
typedef enum ProcIoKey { PROC_IO_KEYS(PROC_IO_ID) _PROC_IO_MAX } ProcIoKey;

typedef struct ProcIo {
        uint32_t present; /* bit per ProcIoKey */
        uint64_t values[_PROC_IO_MAX];
} ProcIo;

static inline bool proc_io_has(const ProcIo *io, ProcIoKey key) {
        return io->present >> key & 1;
}

_must_check_ int proc_io_parse(Span text, ProcIo *ret);
