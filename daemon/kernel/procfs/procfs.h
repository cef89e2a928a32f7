/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Procfs
 *
 * Reading below /proc. Readers fill a buffer, parsers (proc-*.h) take bytes and allocate nothing;
 * the descriptor of /proc, of a process's task directory or of a thread comes from above.
 *
 * All parsers of this directory return 0 when the whole text was in its grammar. TEXT_E_MALFORMED
 * means that some of it was not; *ret then has the values that are certain and lacks the others. A
 * key that occurs twice is malformed and absent. Unknown keys are skipped, missing ones are absent.
 * A text that does not end in a newline was cut: its last line is ignored and it is malformed. A
 * text of keys and values without any known key is malformed, too. Spans in results are borrowed
 * from the text.
 *
 * TEXT_E_ABSENT is the outcome of a thread that went, or of a kernel without the file, and
 * TEXT_E_VANISHED also that of smaps_rollup where there is no address space.
 */

#include <stddef.h>
#include "base/macro.h"
#include "kernel/text/text-file.h"

/* Holds every file of a thread or process that we parse; status and sched are the largest. */
#define PROCFS_BUFFER_BYTES (16 * 1024)
