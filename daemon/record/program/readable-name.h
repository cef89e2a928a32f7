/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ReadableName
 *
 * Names of C++ and Rust as they are written, not as the linker has them. They are of strangers: a
 * few characters may stand for millions of others, or take hours to find out. So what is longer
 * than a name may be ends in "...", and what takes too long stays as it is, alone or together with
 * others: while one is read, nothing else is.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/clock.h"

#define MANGLED_NAME_BYTES 1025u  /* with the NUL; libiberty reads none that are longer */
#define READABLE_NAME_BYTES 1024u /* with the NUL */
#define ALL_READABLE_MAX_NS (5 * NSEC_PER_SEC) /* of CPU time; most names take some microseconds */

/*
 * False where @name is of no such language, or cannot be read in time. @spent_ns: the CPU time for
 * all names so far, to which that for this one is added.
 */
bool readable_name(const char *name, uint64_t *spent_ns, char ret[static READABLE_NAME_BYTES]);
