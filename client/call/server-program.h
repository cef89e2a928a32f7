/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ServerProgram
 *
 * Where the ctprofd is that belongs to this ctprofctl: the one $CTPROFD names, else the one beside
 * us, in the build tree or in the tree we were installed to, else the one the build was configured
 * for.
 */

#include "base/buffer.h"
#include "base/macro.h"

enum {
        SERVER_PROGRAM_OK,
        SERVER_PROGRAM_E_NONE, /* nowhere; *ret is where the last look was */
};

/*
 * The path of an executable ctprofd as a string in @ret. @override: $CTPROFD, or NULL;
 * @own_directory: where our own executable is, without a slash at the end.
 */
_must_check_ int server_program_find(const char *override, const char *own_directory, Buffer *ret);
/* The same for this process. */
_must_check_ int server_program_find_own(Buffer *ret);
