/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapLayout, ThreadLayout
 *
 * The two kinds of facts that are found in files.
 *
 * A program or library that contains jemalloc (5.0 and later) keeps two counters of each thread.
 * Their place is found in the file alone: neither symbols nor debugging information are needed.
 * jemalloc's own table of names leads to the functions behind "thread.allocated" and its siblings,
 * whose instructions hold the offsets of the counters in its struct; relocations, a symbol or the
 * initial image of the thread-local block tell where that struct is. A file whose contents
 * contradict each other is refused.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "capture/heap/heap-failure.h"

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
 * HEAP_FAILURE_NONE the rest is 0, except the machine of a file that could be read so far.
 */
typedef struct HeapLayout {
        uint32_t verdict;   /* as heap_verdict_is_of_file() has it */
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
 * only when reading failed for a reason of ours (-EIO is HEAP_FAILURE_FILE_UNREADABLE).
 */
_must_check_ int heap_layout_find(int fd, uint64_t size, HeapLayout *ret);

/*
 * True when the verdict on a file for @machine (EM_*) is NONE and every number in it is within the
 * bounds that one who adds it to addresses counts on; any other verdict needs only to be one. Ask
 * before using an answer that comes from another process. The machine is the file's: it differs
 * from this host's when the file is emulated.
 */
bool heap_layout_is_valid(const HeapLayout *layout, uint16_t machine);

/*
 * glibc keeps a thread's number and its list of robust mutexes in struct pthread, at places from
 * the constants that libc.so.6 (libpthread.so.0 before 2.34) exports for debuggers. The list's head
 * is what get_robust_list(2) tells, so the distance leads back to struct pthread and thus to the
 * thread pointer: its start on x86_64, its end on aarch64. Plain data, too. Where @is_known is 0
 * the rest is.
 */
typedef struct ThreadLayout {
        uint32_t is_known;
        uint32_t sizeof_pthread;
        uint32_t tid_offset;
        uint32_t robust_offset; /* of the head */
} ThreadLayout;

#define THREAD_STRUCT_BYTES_MAX 65536
#define THREAD_LIST_BYTES 24 /* of the head */

/* As heap_layout_find(); a file that is another or cannot be read says nothing. */
_must_check_ int thread_layout_find(int fd, uint64_t size, ThreadLayout *ret);

/* True when the offsets lie within the struct. */
static inline bool thread_layout_is_valid(const ThreadLayout *layout) {
        if (!layout->is_known)
                return layout->sizeof_pthread == 0 && layout->tid_offset == 0 &&
                       layout->robust_offset == 0;
        return layout->is_known == 1 && layout->sizeof_pthread <= THREAD_STRUCT_BYTES_MAX &&
               layout->sizeof_pthread >= THREAD_LIST_BYTES && layout->tid_offset % 4 == 0 &&
               layout->robust_offset % 8 == 0 && layout->tid_offset < layout->robust_offset &&
               layout->robust_offset <= layout->sizeof_pthread - THREAD_LIST_BYTES;
}
