/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapCode
 *
 * jemalloc's code says how far into its struct of a thread the counters lie. A part of its table of
 * names (src/ctl.c) lists "allocated", "allocatedp", "deallocated" and "deallocatedp" below
 * "thread": four records in a row, each a name and the function that answers it. The pointers in it
 * are words of the file where it is always mapped at the same place or where RELR moves it, else
 * the addends of relocations. The functions' first argument points at the struct: two load a
 * member, two make its address.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "capture/heap/elf-file.h"

/* instructions; pure */

#define HEAP_CODE_BYTES 96 /* of a function, as far as it is looked at */

/* True when there is a decoder for @machine (EM_*). */
bool heap_code_knows(uint16_t machine);

/*
 * Finds the first member of the struct, but for one at its start, that the code loads as 8 bytes,
 * or makes the address of; *ret is undefined without one. It is evidence, not proof: instructions
 * of x86_64 are looked for at every byte, and the code behind the end of a short function is looked
 * at, too. So several functions are held against each other.
 */
bool heap_code_find(uint16_t machine, Span code, bool is_load, uint64_t *ret);

/*
 * True when the code is that of a function which always returns ENOENT, as far as compilers are
 * known to write it.
 */
bool heap_code_is_refusal(uint16_t machine, Span code);

/* the table, and what its functions say */

/* The offsets of the counters from the start of the struct. */
typedef struct HeapOffsets {
        bool is_known;
        uint64_t allocated;
        uint64_t deallocated;
} HeapOffsets;

/* True when they can be those of counters in a block of @n_block bytes. */
bool heap_offsets_are_possible(uint64_t allocated, uint64_t deallocated, uint64_t n_block);

typedef struct HeapCode {
        /*
         * The file has the name "deallocatedp" by itself. A program that asks for
         * "thread.deallocatedp" has its end; where jemalloc is linked in, they may be one.
         */
        bool has_name;
        bool has_end_of_name;
        bool has_table;
        HeapOffsets offsets;
        bool is_conflict; /* two tables, two answers */
        bool is_disabled;
} HeapCode;

/* *ret_relocations is found, for the caller too, where the file has a name. */
void heap_code_read(ElfFile *elf, const ElfDynamic *dynamic, HeapCode *ret,
                    ElfRelocations *ret_relocations);
