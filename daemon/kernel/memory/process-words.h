/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcessWords
 *
 * Reads words of 64 bits at many addresses of another process in few calls. The addresses come from
 * what that process has in its memory, so any of them can be wrong; that costs only the words
 * there. Only aligned words are read, which are never half old and half new.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "base/macro.h"
#include "kernel/text/text-file.h"

/*
 * Reads @n pieces of @remote of process @pid into those of @local, which are as long, in order, up
 * to the first that cannot be read. Returns the number of bytes, or -errno when there
 * are none. process_vm_readv(2) does so.
 */
typedef ssize_t (*ProcessMemoryRead)(void *userdata, pid_t pid, const struct iovec *local,
                                     const struct iovec *remote, size_t n);

typedef struct ProcessMemory {
        ProcessMemoryRead read;
        void *userdata;
} ProcessMemory;

ssize_t process_memory_read_kernel(void *userdata, pid_t pid, const struct iovec *local,
                                   const struct iovec *remote, size_t n);

typedef struct WordRange {
        uint64_t address; /* a multiple of 8 */
        uint64_t *words;  /* borrowed; @n of them */
        uint32_t n;
        bool is_read; /* result: all of them */
} WordRange;

#define PROCESS_WORDS_BATCH 256 /* ranges in one call; the kernel takes 1024 at most */

/*
 * Reads all @ranges that can be read. 0; TEXT_E_VANISHED when process @pid has gone or has no
 * address space any more, TEXT_E_DENIED, TEXT_E_UNSUPPORTED, -errno: then the ranges before may
 * have been read.
 */
_must_check_ int process_words_read(const ProcessMemory *memory, pid_t pid, WordRange *ranges,
                                    size_t n);
