/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KernelCmdline
 *
 * The text of /proc/cmdline: words separated by blanks; blanks between double quotes belong to a
 * word (lib/cmdline.c, next_arg()). Words after "--" are for init and not for the kernel.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/* Returns whether the kernel was given @option, alone or with a value. */
bool kernel_cmdline_has(Span text, const char *option);

/*
 * Appends @text with "***" for the value of every word whose key sounds like a secret (password,
 * passphrase, secret, token, credential, or ending in "key"), because people share snapshots.
 */
_must_check_ int kernel_cmdline_redact(Span text, Buffer *buffer);
