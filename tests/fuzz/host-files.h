/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostFiles
 *
 * The part of fuzz-procfs that reads a machine: a tree of /proc and /sys of which the input fills
 * some files, as it becomes the host's object and that of sched_ext.
 */

#include "fuzz.h"

void check_host_context(FuzzInput input);
void check_sched_ext(FuzzInput input);
