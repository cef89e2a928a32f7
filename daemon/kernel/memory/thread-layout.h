/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadLayout
 *
 * Where glibc keeps a thread's number and its list of robust mutexes in struct pthread, from the
 * constants that libc.so.6 (libpthread.so.0 before 2.34) exports for debuggers. The list's head is
 * what get_robust_list(2) tells, so the distance leads back to struct pthread and thus to the
 * thread pointer: its start on x86_64, its end on aarch64.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"

typedef struct ByteSource ByteSource;

#define THREAD_STRUCT_BYTES_MAX 65536

/* Plain data, as HeapLayout is. Where @is_known is 0 the rest is. */
typedef struct ThreadLayout {
        uint32_t is_known;
        uint32_t sizeof_pthread;
        uint32_t tid_offset;
        uint32_t robust_offset; /* of the head */
} ThreadLayout;

/* Any other file, or one that cannot be read, has none; -errno as heap_layout_find(). */
_must_check_ int thread_layout_find(const ByteSource *file, ThreadLayout *ret);

/* Whether the offsets lie within the struct. */
bool thread_layout_is_valid(const ThreadLayout *layout);
