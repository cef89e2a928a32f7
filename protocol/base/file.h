/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * File
 *
 * Reads and writes the whole of something however the kernel divides it, and makes directories that
 * survive a loss of power. Syncing a directory saves its entries but not its own name, which is an
 * entry of its parent; so the parent is synced, too.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

/* All of @n bytes from @offset, or as many as there are: *ret_n. 0 or a negative errno. */
_must_check_ int file_read_at(int fd, void *bytes, size_t n, uint64_t offset, size_t *ret_n);
/* All of @n bytes; waits for a pipe that somebody made non-blocking. 0 or a negative errno. */
_must_check_ int file_write(int fd, const void *bytes, size_t n);

/*
 * Makes the directory @path and those above it, for nobody but us, and syncs their names. A file
 * that is there already, of whatever kind, is left as it is and is no error. 0 or a negative errno.
 */
_must_check_ int directory_make(const char *path);
