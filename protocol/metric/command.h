/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Command
 *
 * The command that a process was started as, of which its name tells the first 15 bytes at best,
 * and of an interpreter only that. The arguments lie in the memory of the process, which may have
 * written anything there. They hold secrets, so that a snapshot by default has what tells programs
 * apart and no more: the first argument, and of an interpreter the program that it was given, which
 * is its first argument that is no option.
 *
 * A command is its arguments one after the other, each with the NUL that ends it.
 */

#include <stddef.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/* The part of it that a capture records. */
// clang-format off
#define COMMAND_LINES(M)                                                                           \
        M(NO,    "no")                                                                             \
        M(SHORT, "short") /* the program, and what an interpreter runs */                          \
        M(FULL,  "full")  /* that, and all arguments up to a bound */
// clang-format on

#define COMMAND_LINES_ID(id, name) COMMAND_LINES_##id,
typedef enum CommandLines { COMMAND_LINES(COMMAND_LINES_ID) _COMMAND_LINES_MAX } CommandLines;

#define COMMAND_MAX_BYTES 256

/*
 * The command that @text is, the beginning of a /proc/PID/cmdline, into @ret: as many bytes as are
 * returned, 0 when it tells of no command. That is so of a title, which a process writes over its
 * arguments (setproctitle(3)): it has no NUL but at its end, and blanks; and of a first argument
 * that is longer than there is room for.
 */
size_t command_shorten(Span text, char ret[static COMMAND_MAX_BYTES]);
/* All arguments of it, up to the bound; the last one may have been cut. A title is one argument. */
size_t command_keep(Span text, char ret[static COMMAND_MAX_BYTES]);

/* Takes the first argument from @rest, without its NUL. False when there is none. */
bool command_next(Span *rest, Span *ret);
/*
 * Appends what groups are called by: the last component of the first argument, and of an
 * interpreter also that of what it runs ("python3 worker.py"). Nothing when there is no command. 0,
 * or the failure that sticks to @buffer.
 */
int command_append_name(Buffer *buffer, Span command);
