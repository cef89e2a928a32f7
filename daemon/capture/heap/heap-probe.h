/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapProbe
 *
 * The part of a memory job that reads the counters of allocators. It finds out of one process which
 * of its modules have counters and how to get to them (its map, the files of its modules, what they
 * say, and the words of its memory that complete that), and reads those of its threads. With
 * -Dheap=disabled heap-none.c stands for it.
 */

#include <stddef.h>
#include "base/macro.h"
#include "capture/heap/memory-question.h"

typedef struct MemoryJob MemoryJob;
typedef struct HeapProbe HeapProbe;

/* False in a ctprofd that was built with -Dheap=disabled. */
extern const bool heap_probe_is_built;

/* @job is borrowed. -ENOMEM. */
_must_check_ int heap_probe_new(MemoryJob *job, HeapProbe **ret);
HeapProbe *heap_probe_free(HeapProbe *probe);

/* 0; -EINVAL for what is no question; -ENOMEM. */
_must_check_ int heap_probe_answer(HeapProbe *probe, const HeapAsked *asked, size_t n_asked,
                                   HeapAnswered *ret, size_t *ret_n);
/* Tries on one thread whether this user may read the process at all. */
HeapFailure heap_probe_try(HeapProbe *probe, const MemoryLife *life);
/* Keeps what was found out of files for the next capture. */
void heap_probe_keep(HeapProbe *probe);
