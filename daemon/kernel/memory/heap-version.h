/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapVersion
 *
 * The version that jemalloc says it is, where nothing better tells its offsets: a build without
 * optimization of 5.0 to 5.2. Snapshots between releases have other offsets, which are not known,
 * and the number is never held against what code or image say.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/memory/elf-file.h"

/* Of struct tsd_s, from its start. */
typedef struct HeapVersion {
        bool is_known; /* exactly one release is named, and it is in the table */
        uint64_t allocated;
        uint64_t deallocated;
} HeapVersion;

/* 0, ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno. */
_must_check_ int heap_version_find(ElfFile *elf, HeapVersion *ret);
