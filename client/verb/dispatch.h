/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Dispatch
 *
 * From the words of a command line to the verb that does it, or to the one sentence saying why none
 * does.
 */

/* Returns the exit status. */
int dispatch(int argc, char *argv[]);
