/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Help
 *
 * Prints what --help shows, from the lists of verbs and options.
 */

#include <stdio.h>
#include "render/terminal.h"
#include "verb/verb.h"

/* @verb: NULL for the program as a whole. */
void help_print(const Verb *verb, const Terminal *terminal, FILE *out);
