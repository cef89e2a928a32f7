/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SymbolTable
 *
 * The functions, or the variables, of one file, or the functions of the kernel, sorted by address:
 * for a program libdwfl would look through all of them for every address. The text and the file are
 * of somebody else: what makes no sense in them is left out.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "record/program/readable-name.h"

#define SYMBOL_NAME_MAX_BYTES MANGLED_NAME_BYTES
#define SYMBOLS_MAX (4u << 20)

typedef struct Symbol {
        uint64_t begin, size; /* 0: up to the next one */
        uint32_t name;        /* where in the names it begins; each ends in NUL */
        /* For a function of the kernel: the place of its module's name in the names; 0: none. */
        uint32_t group : 29;
        uint32_t rank : 2;        /* of several at one address the lowest one is its name */
        uint32_t is_readable : 1; /* so is the name, or it cannot be made so */
} Symbol;

typedef struct SymbolTable {
        Symbol *all; /* sorted by @begin */
        size_t n, n_allocated;
        Buffer names;
} SymbolTable;

void symbol_table_done(SymbolTable *table);
typedef enum SymbolKind { SYMBOL_FUNCTION, SYMBOL_DATA } SymbolKind;

/* Memory that it takes. */
size_t symbol_table_bytes(const SymbolTable *table);
/*
 * Adds the functions, or variables, of .symtab, or, where there is none, of .dynsym; addresses are
 * those of the file. No more are added when the table has @max_bytes, and none from sections of
 * more than *rest bytes, from which theirs are taken. -ENOMEM. A file that libelf cannot read has
 * none.
 */
_must_check_ int symbol_table_add_elf(SymbolTable *table, Elf *elf, SymbolKind kind,
                                      uint64_t max_bytes, uint64_t *rest);
/*
 * Returns true if the table that symbol_table_add_elf() reads is .symtab: no symbols were taken out
 * of the file.
 */
bool symbol_table_is_whole(Elf *elf);
/*
 * Adds the functions in @text, a part of /proc/kallsyms that ends with a line. Lines without an
 * address are left out: the kernel shows zeros to those who may not see addresses. -ENOMEM.
 */
_must_check_ int symbol_table_add_kernel(SymbolTable *table, Span text);
/*
 * Adds the functions in @text, a part of a map as compilers at run time write it for perf(1), that
 * ends with a line: "START SIZE NAME", the numbers in hexadecimal. Addresses are those of the
 * process; other lines are left out. -ENOMEM.
 */
_must_check_ int symbol_table_add_jit(SymbolTable *table, Span text);
/* Has to come after the last addition, and before anything is looked up. */
void symbol_table_sort(SymbolTable *table);
/*
 * Keeps only the function that was added last where several have one address: it has replaced the
 * code of the others. Call it after symbol_table_sort().
 */
void symbol_table_drop_replaced(SymbolTable *table);
/* The name as its language has it, until the next call. @spent_ns: of readable_name(). -ENOMEM. */
_must_check_ int symbol_table_name(SymbolTable *table, const Symbol *symbol, uint64_t *spent_ns,
                                   Span *ret);
/* The one that @address is in, or NULL. */
const Symbol *symbol_table_find(const SymbolTable *table, uint64_t address);
static inline const char *symbol_table_text(const SymbolTable *table, uint32_t at) {
        return (const char *) table->names.bytes + at;
}
