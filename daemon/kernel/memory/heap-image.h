/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapImage
 *
 * What the initial image of the thread-local block tells of jemalloc's struct tsd_s in it. The
 * struct begins with a state or has it right before the counters, and no thread has that state and
 * a cache without entries except by this image. Places are bytes from the start of the block.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/memory/elf-file.h"

#define HEAP_IMAGE_BYTES_MAX (16u << 20) /* a longer one is ELF_FILE_E_TOO_MUCH */
#define HEAP_CACHE_ENTRIES 24            /* of the radix tree, each {1, 0} in the image */

/* Two of a kind are as good as none: which one is it? */
typedef struct HeapFound {
        unsigned n;  /* 0, 1, or 2 for more */
        uint64_t at; /* the first */
} HeapFound;

static inline void heap_found_add(HeapFound *found, uint64_t at) {
        if (found->n == 0)
                *found = (HeapFound){ 1, at };
        else if (found->at != at)
                found->n = 2;
}

/*
 * 5.3 and later: an empty cache, the state, and then the first counter, whose place is told; the
 * second follows 16 bytes behind it. 0, ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno.
 */
_must_check_ int heap_image_find_counters(ElfFile *elf, HeapFound *ret);

/* 5.0 to 5.2: the state at the start of the struct, whose place is told; 4 KB of 0 follow. */
_must_check_ int heap_image_find_struct(ElfFile *elf, HeapFound *ret);

/* The initial word at @at; 0 past the end of the image. 0, or as elf_file_read(). */
_must_check_ int heap_image_read(ElfFile *elf, uint64_t at, uint64_t *ret);

/*
 * Whether a struct at @tsd is as every version that is known has it: the state 8 or 16 bytes before
 * the counter at @allocated, from its start. Likewise.
 */
_must_check_ int heap_image_has_state(ElfFile *elf, uint64_t tsd, uint64_t allocated, bool *ret);
