/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Terminal
 *
 * Properties of stdout and stderr, detected once. Everything that differs between a terminal and a
 * pipe is decided by these members alone.
 */

#include <stdbool.h>
#include <stddef.h>

typedef struct Terminal {
        bool out;       /* stdout is a terminal */
        bool err;       /* stderr is a terminal on which a line can be redrawn */
        bool colour;    /* stdout may have escape sequences */
        bool utf8;      /* the user's locale is UTF-8: block characters can be drawn */
        size_t columns; /* of the terminal, if stdout or stderr is one */
        size_t rows;    /* likewise */
} Terminal;

/*
 * Reads NO_COLOR, SYSTEMD_COLORS, TERM, COLUMNS and LINES beside the descriptors. Sets the locale
 * of character types, to C.UTF-8 if the user's is not UTF-8, because all our text is UTF-8.
 */
void terminal_init(Terminal *terminal);

/* True if a user would see what is written to @fd; binary output is refused then. */
bool terminal_is(int fd);
