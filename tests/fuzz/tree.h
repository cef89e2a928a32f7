/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Tree
 *
 * A directory of the process's own, below $TMPDIR or /tmp, that a target fills with files to be
 * read. It is removed when the process ends in order; tests/fuzz/run and replay.c set $TMPDIR
 * and clean up what a crash leaves.
 */

#include "base/span.h"

/* Where it is: absolute, and a descriptor. Made by the first call. */
const char *tree_path(void);
int tree_fd(void);

/* Makes the file @name with @content, and the directories that lead to it. */
void tree_put(const char *name, Span content);
/* Removes all files; directories stay. */
void tree_clear(void);
