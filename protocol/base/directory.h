/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Directory
 *
 * Makes directories that survive a loss of power. Syncing a directory saves its entries but not its
 * own name, which is an entry of its parent; so the parent is synced, too.
 */

#include "base/macro.h"

/*
 * Makes the directory @path and those above it, for nobody but us, and syncs their names. What is
 * there already, of whatever kind, is fine as it is. 0 or a negative errno.
 */
_must_check_ int directory_make(const char *path);
