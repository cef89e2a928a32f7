/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapLayout
 *
 * A program or library that contains jemalloc (5.0 and later) keeps two counters of each thread.
 * Their place is found in the file alone: neither symbols nor debugging information are needed.
 * jemalloc's own table of names leads to the functions behind "thread.allocated" and its siblings,
 * whose instructions hold the offsets of the counters in its struct; relocations, a symbol or the
 * initial image of the thread-local block tell where that struct is. What contradicts itself is
 * refused.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"

typedef enum HeapVerdict {
        HEAP_READY,
        HEAP_NOT_JEMALLOC,
        HEAP_ARCH_MISMATCH,         /* 32 bits, another byte order, or a machine we cannot decode */
        HEAP_LAYOUT_UNKNOWN,        /* it is jemalloc, and the offsets were not found */
        HEAP_LAYOUT_CONFLICT,       /* two ways to find them disagree */
        HEAP_TLS_POSITION_UNKNOWN,  /* the offsets are known, the place of the struct is not */
        HEAP_TLS_MODEL_UNSUPPORTED, /* a library without a word that leads to its block */
        HEAP_COUNTERS_DISABLED,     /* built so that the counters stay 0 (--disable-stats) */
        HEAP_FILE_UNREADABLE,       /* cut off or malformed */
        _HEAP_VERDICT_MAX,
} HeapVerdict;

/* The word of the module that leads from a thread to the module's thread-local block. */
typedef enum HeapSlot {
        HEAP_SLOT_NONE,    /* a program: the block's distance from the thread pointer is fixed */
        HEAP_SLOT_TPOFF,   /* distance from the thread pointer to the block, plus slot_addend */
        HEAP_SLOT_DTPMOD,  /* number of the module; the thread's vector has the block's address */
        HEAP_SLOT_TLSDESC, /* two words; the second is a distance as for TPOFF, or an address */
        _HEAP_SLOT_MAX,
} HeapSlot;

#define HEAP_TSD_UNKNOWN UINT64_MAX
#define HEAP_PAGE_BYTES 4096 /* the smallest of any machine */
#define HEAP_TLS_BYTES_MAX (UINT64_C(1) << 30)
#define HEAP_TLS_ALIGN_MAX (UINT64_C(1) << 20)

/*
 * Plain data: travels between our own processes and lies in their cache. Where the verdict is not
 * HEAP_READY the rest is 0, except the machine of a file that could be read so far.
 */
typedef struct HeapLayout {
        uint32_t verdict;   /* HeapVerdict */
        uint32_t machine;   /* EM_* */
        uint32_t is_fixed;  /* addresses are as in the file (ET_EXEC) */
        uint32_t slot_kind; /* HeapSlot */
        /*
         * Address of the first segment with file bytes and its place in the file, both rounded down
         * to HEAP_PAGE_BYTES: the mapping of that place tells how far the module was moved, by its
         * start - first_vaddr. Pages of a kernel may be larger: round down further there.
         */
        uint64_t first_vaddr;
        uint64_t first_offset;
        uint64_t tls_vaddr; /* of PT_TLS; bytes in memory; alignment, a power of two */
        uint64_t tls_memsz;
        uint64_t tls_align;
        uint64_t slot_vaddr; /* 0 without a slot */
        int64_t slot_addend;
        uint64_t tsd;       /* of struct tsd_s in the module's block, or HEAP_TSD_UNKNOWN */
        uint64_t allocated; /* the counters, 8 bytes each; from the start of the module's block */
        uint64_t deallocated;
} HeapLayout;

/*
 * Reads the file @fd, which is borrowed and has @size bytes. Always answers with a verdict; -errno
 * only when reading failed for a reason of ours (-EIO is HEAP_FILE_UNREADABLE).
 */
_must_check_ int heap_layout_find(int fd, uint64_t size, HeapLayout *ret);

/*
 * True when @layout is HEAP_READY for @machine (EM_*) and every number in it is within the bounds
 * that one who adds it to addresses counts on; any other verdict needs only to be one. Ask before
 * using an answer that comes from another process. The machine of a HEAP_READY layout is the
 * file's: it differs from this host's when the file is emulated.
 */
bool heap_layout_is_valid(const HeapLayout *layout, uint16_t machine);

/* "ready", "not-jemalloc", ...; for people and for tests. */
const char *heap_verdict_name(HeapVerdict verdict);
