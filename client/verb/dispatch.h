/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Dispatch
 *
 * Runs the verb that a command line names, or explains why there is none. Prints what --help shows,
 * from the lists of verbs and options.
 */

/* Returns the exit status. */
int dispatch(int argc, char *argv[]);
