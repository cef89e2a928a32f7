/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Terminal
 *
 * What stands behind stdout and stderr, found out once: everything that differs between a person
 * and a pipe is decided on these members and nothing else.
 */

#include <stdbool.h>
#include <stddef.h>

typedef struct Terminal {
        bool out;       /* stdout is a terminal */
        bool err;       /* stderr is one that a line can be redrawn on */
        bool colour;    /* stdout may have escape sequences */
        size_t columns; /* of the terminal; only when one of them is */
} Terminal;

/*
 * Looks at the descriptors and at NO_COLOR, SYSTEMD_COLORS, TERM and COLUMNS; sets the character
 * type locale, to C.UTF-8 where the user's is not UTF-8, because all our text is.
 */
void terminal_init(Terminal *terminal);

/* A descriptor a user would see bytes on: what binary output is refused for. */
bool terminal_is(int fd);
