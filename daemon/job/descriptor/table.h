/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Table
 *
 * Children that begin with the parent's own descriptor table. A copy, as fork(2) makes it, would
 * hold every descriptor that peers sent, and closing the copies, at execve(2) or exit, asks the
 * file system behind each of them, which may never answer.
 */

#include <stdbool.h>
#include <sys/types.h>
#include "base/macro.h"

/*
 * As fork(2), with one table for both: a descriptor that either opens or closes is opened or closed
 * in both. The child only makes system calls and ends with _exit(2).
 */
_must_check_ pid_t table_fork(void);
/* The same, and the parent goes on when the child has executed something or ended. */
_must_check_ pid_t table_fork_exec(void);

/* The kernel copies tables by whole words of the map of what is open. */
#define TABLE_GRAIN 64

/*
 * In the child: a table of its own, with the descriptors below @n_kept, a multiple of the grain.
 * The others are not copied.
 */
_must_check_ int table_split(int n_kept);
