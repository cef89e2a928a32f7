/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SymbolTable
 *
 * The functions of one file, or of the kernel, sorted by address: for a program libdwfl would look
 * through all of them for every address. The text and the file are of somebody else: what makes no
 * sense in them is left out.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

#define SYMBOL_NAME_MAX_BYTES 512u
#define SYMBOLS_MAX (4u << 20)

typedef struct Symbol {
        uint64_t begin, size; /* 0: up to the next one */
        uint32_t name;        /* where in the names it begins; each ends in NUL */
        uint32_t group;       /* of the kernel: where the name of the module begins; 0: none */
} Symbol;

typedef struct SymbolTable {
        Symbol *all; /* sorted by @begin */
        size_t n, n_allocated;
        Buffer names;
} SymbolTable;

void symbol_table_done(SymbolTable *table);
/*
 * Adds the functions of .symtab, or, where there is none, of .dynsym; addresses are those of the
 * file. -ENOMEM. A file that libelf cannot read has none.
 */
_must_check_ int symbol_table_add_elf(SymbolTable *table, Elf *elf);
/*
 * Adds the functions in @text, a part of /proc/kallsyms that ends with a line. Lines without an
 * address are left out: the kernel shows zeros to those who may not see addresses. -ENOMEM.
 */
_must_check_ int symbol_table_add_kernel(SymbolTable *table, Span text);
/* Has to come after the last addition, and before anything is looked up. */
void symbol_table_sort(SymbolTable *table);
/* The function that @address is in, or NULL. */
const Symbol *symbol_table_find(const SymbolTable *table, uint64_t address);
static inline const char *symbol_table_text(const SymbolTable *table, uint32_t at) {
        return (const char *) table->names.bytes + at;
}
