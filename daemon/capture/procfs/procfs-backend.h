/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The procfs backend: the files of each thread below /proc, and taskstats where it answers. It
 * works on every kernel and without privileges, with fewer readings of other users' threads.
 */

#include "capture/scene/backend.h"

extern const Backend procfs_backend;
