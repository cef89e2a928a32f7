/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolPath
 *
 * Where snapshots are kept by default.
 */

#include "base/macro.h"

#define SPOOL_PATH_SYSTEM "/var/lib/ctprof"

/* $STATE_DIRECTORY of systemd, else the host's own. *ret is owned. */
_must_check_ int spool_path_system(char **ret);
/* Below $XDG_STATE_HOME, else ~/.local/state. -ENOENT when there is no home. *ret is owned. */
_must_check_ int spool_path_private(char **ret);
