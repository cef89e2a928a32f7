/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * What the tests of layouts share: the options of most files that are made, and finding the
 * counters in one.
 */

#include <check.h>
#include <elf.h>
#include <stddef.h>

#include "byte-span.h"
#include "capture/heap/heap-layout.h"
#include "made-elf.h"

/* What stands in most rows. */
#define LIBRARY .type = ET_DYN, .machine = EM_X86_64
#define PROGRAM .type = ET_EXEC, .machine = EM_X86_64, .pointers = MADE_IN_PLACE
#define ARM_LIBRARY .type = ET_DYN, .machine = EM_AARCH64
#define OFFSETS_5_3 .allocated = 824, .deallocated = 840, .image = MADE_CACHE
#define OFFSETS_5_3_64K .allocated = 888, .deallocated = 904, .image = MADE_CACHE
#define OFFSETS_5_2 .allocated = 16, .deallocated = 24, .image = MADE_OLD
#define OFFSETS_5_0 .allocated = 8, .deallocated = 16, .image = MADE_OLD
#define OFFSETS_2020 .allocated = 760, .deallocated = 776, .image = MADE_STATE
#define ONE_SLOT(kind_, addend_) \
        .n_slots = 1, .slots = { { .kind = HEAP_SLOT_##kind_, .addend = (addend_) } }
#define RELEASE_5_2 "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756"

#define TSD_5_3 2632
#define TSD_5_2 6216

/* Where a made file has a member of its program header. */
#define HEADER(number, member) \
        (sizeof(Elf64_Ehdr) + (number) * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, member))

static inline const char *verdict_name(uint32_t verdict) {
        return verdict == HEAP_FAILURE_NONE   ? "ready"
               : verdict == HEAP_NOT_JEMALLOC ? "not-jemalloc"
                                              : heap_failures[verdict].name;
}

static inline int find(Span bytes, HeapLayout *ret) {
        ByteSpan file = { .bytes = bytes };

        return heap_layout_find(byte_span_open(&file), bytes.n, ret);
}

static inline void expect(Span bytes, HeapFailure verdict, const char *what, HeapLayout *ret) {
        ck_assert_int_eq(find(bytes, ret), 0);
        ck_assert_msg(ret->verdict == verdict, "%s: %s and not %s", what,
                      verdict_name(ret->verdict), verdict_name(verdict));
        ck_assert_msg(heap_layout_is_valid(ret, (uint16_t) ret->machine), "%s", what);
}
