/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Why counters of allocators could not be read, in the words of users. */

#include "capture/heap/heap.h"
#include "capture/scene/backend.h"

/* @source has its counts and a general judgement of them, which is replaced. */
void heap_explain(const Heap *heap, Source *source);
/* The same of commands. */
void heap_explain_commands(const Heap *heap, Source *source);
