/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SmapsReader
 *
 * Reads smaps_rollup on a thread of its own. The kernel takes the target's mmap lock for it, and
 * whoever owns the target can see to it that the lock is not to be had for as long as he likes: it
 * is enough that somebody maps memory while a page of a file system that does not answer is waited
 * for. Such a read cannot be interrupted, but it can be left behind.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

typedef struct SmapsReader SmapsReader;

/* Starts the thread, which shares the descriptors of the calling one. -errno. */
_must_check_ int smaps_reader_new(SmapsReader **ret);
/* A thread that is left behind keeps what it needs, and ends with its read or the process. */
SmapsReader *smaps_reader_free(SmapsReader *reader);
DEFINE_CLEANUP(SmapsReader *, smaps_reader_free);

/*
 * The file of the thread whose directory @dir_fd is; codes of procfs_read(). -ETIMEDOUT when it
 * took longer than @limit_ns: the reader can then only be freed. *ret is borrowed until the next
 * call.
 */
_must_check_ int smaps_reader_read(SmapsReader *reader, int dir_fd, uint64_t limit_ns, Span *ret);
