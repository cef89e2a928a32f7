/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ServerProgram
 *
 * Finds the ctprofd that belongs to this ctprofctl: the one that $CTPROFD names, else the one
 * beside our executable, in a build tree or installed, else the one of the configured directory.
 */

#include "base/buffer.h"
#include "base/macro.h"

enum {
        SERVER_PROGRAM_OK,
        SERVER_PROGRAM_E_NONE, /* there is none; *ret is the last place that was searched */
};

/*
 * The path of an executable ctprofd as a string in @ret. @override: $CTPROFD, or NULL;
 * @own_directory: where our own executable is, without a slash at the end.
 */
_must_check_ int server_program_find(const char *override, const char *own_directory, Buffer *ret);
/* The same for this process. */
_must_check_ int server_program_find_own(Buffer *ret);
