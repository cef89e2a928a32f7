/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Settings
 *
 * The configuration of a host as the settings of each part of the daemon. It is read from files,
 * and the command line overrides it. Every fault is logged.
 */

#include "base/macro.h"
#include "config/config.h"
#include "profiler/options.h"
#include "server/server.h"
#include "service/service.h"

enum {
        SETTINGS_OK,
        SETTINGS_E_WRONG, /* some lines are wrong; *ret has the other settings */
};

/*
 * A daemon that serves one caller (@is_private) reads only the file that this caller names. Returns
 * a negative errno, and has logged it, when that file cannot be read or memory runs out.
 */
_must_check_ int settings_load(const Options *options, bool is_private, Config **ret);

/* Some defaults depend on the file system of @spool_fd; negative: there is no spool. */
ManagerSettings settings_of_service(const Config *config, int spool_fd);
UserLimits settings_of_users(const Config *config);
ConnectionLimits settings_of_connections(const Config *config);

/*
 * Writes the configuration to standard output, for --dump-config. 0, SETTINGS_E_WRONG or a negative
 * errno, which was logged.
 */
_must_check_ int settings_dump(const Options *options);

#define SETTINGS_SYSTEM_SPOOL "/var/lib/ctprof"

/*
 * The directory of snapshots without --spool: $STATE_DIRECTORY, set by systemd, or the system's.
 * A private daemon has it below $XDG_STATE_HOME, or else in ~/.local/state. -ENOENT when there is
 * no home directory.
 */
_must_check_ int settings_find_spool(bool is_private, char **ret);
