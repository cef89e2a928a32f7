/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Settings
 *
 * The configuration of a host as the settings of each part of the daemon: read from its files,
 * overridden by the command line. Every fault is a line in the log.
 */

#include "base/macro.h"
#include "config/config.h"
#include "profiler/options.h"
#include "server/server.h"
#include "service/service.h"

enum {
        SETTINGS_OK,
        SETTINGS_E_WRONG, /* *ret has the settings that could be used */
};

/*
 * A daemon that serves one caller (@is_private) follows only what this caller names. A negative
 * errno when the file that the command line names cannot be read, or without memory; it was logged.
 */
_must_check_ int settings_load(const Options *options, bool is_private, Config **ret);

/* @spool_fd: where the defaults depend on the file system; negative when there is none. */
DeskSettings settings_of_service(const Config *config, int spool_fd);
ServerLimits settings_of_server(const Config *config);

/* "--dump-config": to standard output; 0, SETTINGS_E_WRONG or a negative errno; it was logged. */
_must_check_ int settings_dump(const Options *options);
