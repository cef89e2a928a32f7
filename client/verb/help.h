/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Help
 *
 * What --help prints, made from the tables that the program runs by.
 */

#include <stdio.h>
#include "render/terminal.h"
#include "verb/verb.h"

/* @verb: NULL for the program as a whole. */
void help_print(const Verb *verb, const Terminal *terminal, FILE *out);
