/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LocalSpool
 *
 * Finds the directory where a private ctprofd keeps its snapshots: $XDG_STATE_HOME/ctprof unless
 * the user names another one. It is created if it is missing; ctprofd checks an existing one.
 */

#include "base/buffer.h"
#include "base/macro.h"

/* Appends the default directory; nothing if there is no home directory. */
int local_spool_default(const char *xdg_state_home, const char *home, Buffer *ret);

/*
 * @path: as given, NULL for the default. *ret is absolute and owned by the caller. 0, or an exit
 * status after a sentence.
 */
int local_spool_prepare(const char *path, char **ret);
