/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LocalSpool
 *
 * Where a private ctprofd keeps its snapshots: $XDG_STATE_HOME/ctprof unless the user names another
 * place. Made when it is missing; what is there is left for ctprofd to judge.
 */

#include "base/buffer.h"
#include "base/macro.h"

/* The directory by default, from the environment; "" when there is no home. */
_must_check_ int local_spool_default(const char *xdg_state_home, const char *home, Buffer *ret);

/* @path: as given, NULL for the default. *ret is absolute and owned. 0 or an exit status, said. */
int local_spool_prepare(const char *path, char **ret);
