/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CpuList
 *
 * Sets of CPUs as the kernel prints them ("0-3,7") and as sched_getaffinity(2) fills them in. A
 * list is taken whole or not at all.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/text/text-file.h"

#define CPU_LIST_MAX_CPUS \
        65536 /* ids are less than this; the kernel has at most 8192 (NR_CPUS) today */
#define CPU_LIST_WORD_BITS (8 * sizeof(unsigned long))
#define CPU_LIST_MAX_WORDS (CPU_LIST_MAX_CPUS / CPU_LIST_WORD_BITS)

/*
 * Reads "0-3,7" into a mask of CPU_LIST_MAX_WORDS words. Blanks around tokens and empty tokens are
 * skipped. A reversed range, an id of CPU_LIST_MAX_CPUS or more, anything else, and a list without
 * any CPU are TEXT_E_MALFORMED. *ret_n counts distinct CPUs. On failure the
 * mask is undefined.
 */
_must_check_ int cpu_list_parse(Span text, unsigned long ret_mask[static CPU_LIST_MAX_WORDS],
                                size_t *ret_n);

/*
 * Writes the mask of @n_words as "0-3,7", ascending, without a terminator. TEXT_E_TOO_LARGE when it
 * does not fit in @size bytes. An empty mask is 0 bytes and 0 CPUs.
 */
_must_check_ int cpu_list_format(const unsigned long *mask, size_t n_words, char *text, size_t size,
                                 size_t *ret_chars, size_t *ret_n);
