/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapTable
 *
 * The part of jemalloc's table of names (src/ctl.c) that lists "allocated", "allocatedp",
 * "deallocated" and "deallocatedp" below "thread": four records in a row, each a name and the
 * function that answers it. The pointers in it are words of the file where it is always mapped at
 * the same place or where RELR moves it, else the addends of relocations.
 */

#include "kernel/memory/elf-file.h"

#define HEAP_TABLES_MAX 8

typedef enum HeapFunction {
        HEAP_FUNCTION_ALLOCATED,  /* loads the counter */
        HEAP_FUNCTION_ALLOCATEDP, /* makes its address */
        HEAP_FUNCTION_DEALLOCATED,
        HEAP_FUNCTION_DEALLOCATEDP,
        _HEAP_FUNCTION_MAX,
} HeapFunction;

typedef struct HeapTables {
        /*
         * The file has the name "deallocatedp" by itself. A program that asks for
         * "thread.deallocatedp" has its end; where jemalloc is linked in, they may be one.
         */
        bool has_name;
        bool has_end_of_name;
        unsigned n;
        /* The addresses of the functions; more tables are not looked at. */
        uint64_t functions[HEAP_TABLES_MAX][_HEAP_FUNCTION_MAX];
} HeapTables;

/*
 * *ret_relocations is found, for the caller too, where the file has a name. 0,
 * ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno.
 */
_must_check_ int heap_tables_find(ElfFile *elf, const ElfDynamic *dynamic, HeapTables *ret,
                                  ElfRelocations *ret_relocations);
