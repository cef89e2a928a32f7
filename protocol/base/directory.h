/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Directory
 *
 * Making directories that last. What is synced in a directory is lost with the name of the
 * directory, and that is synced with its parent only.
 */

#include "base/macro.h"

/*
 * Makes the directory @path and those above it, for nobody but us, and syncs their names. What is
 * there already, of whatever kind, is fine as it is. 0 or a negative errno.
 */
_must_check_ int directory_make(const char *path);
