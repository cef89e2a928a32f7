/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Dispatch
 *
 * Runs the verb that a command line names, or explains why there is none.
 */

/* Returns the exit status. */
int dispatch(int argc, char *argv[]);
