/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KernelCmdline
 *
 * The text of /proc/cmdline: words apart by blanks, where double quotes hold blanks together
 * (lib/cmdline.c, next_arg()). What follows a word "--" is for init and not for the kernel.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/* Whether the kernel was given @option, alone or with a value. */
bool kernel_cmdline_has(Span text, const char *option);

/*
 * Appends @text with "***" for the value of every word whose key sounds like a secret (password,
 * passphrase, secret, token, credential, or ending in "key"): snapshots are handed around.
 */
_must_check_ int kernel_cmdline_redact(Span text, Buffer *buffer);
