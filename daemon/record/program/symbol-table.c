/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/symbol-table.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/number.h"
#include "kernel/text/cursor.h"

void symbol_table_done(SymbolTable *table) {
        free(table->all);
        buffer_done(&table->names);
        *table = (SymbolTable){};
}

size_t symbol_table_bytes(const SymbolTable *table) {
        return table->n * sizeof(*table->all) + table->names.n;
}

static int add(SymbolTable *table, uint64_t begin, uint64_t size, Span name, uint32_t group,
               unsigned rank) {
        size_t at = table->names.n;
        int r;

        if (table->n >= SYMBOLS_MAX || at > UINT32_MAX - SYMBOL_NAME_MAX_BYTES)
                return 0;
        name.n = name.n < SYMBOL_NAME_MAX_BYTES ? name.n : SYMBOL_NAME_MAX_BYTES - 1;
        r = ARRAY_RESERVE(table->all, table->n_allocated, table->n + 1);
        if (r != 0)
                return r;
        r = buffer_append(&table->names, name.bytes, name.n);
        if (r == 0)
                r = buffer_append_byte(&table->names, '\0');
        if (r < 0)
                return r;
        table->all[table->n++] = (Symbol){
                .begin = begin,
                .size = size,
                .name = (uint32_t) at,
                .group = group & (UINT32_MAX >> 3),
                .rank = rank & 3,
        };
        return 0;
}

/* a file */

static Elf_Scn *find_section(Elf *elf, unsigned type, GElf_Shdr *ret) {
        Elf_Scn *section = NULL;

        while ((section = elf_nextscn(elf, section)))
                if (gelf_getshdr(section, ret) && ret->sh_type == type)
                        return section;
        return NULL;
}

bool symbol_table_is_whole(Elf *elf) {
        GElf_Shdr header;

        return find_section(elf, SHT_SYMTAB, &header) != NULL;
}

/*
 * Empty where it does not end in @names: for one that does not, libelf would look through all of
 * them. Tables of debug files have the version of an exported function in its name
 * ("read@@GLIBC_2.2.5"), those of libraries beside it: one function has one name.
 */
static Span name_in(const Elf_Data *names, size_t at) {
        size_t n_left = at < names->d_size ? names->d_size - at : 0;
        const char *name = n_left > 0 ? (const char *) names->d_buf + at : NULL, *version;
        size_t n = name ? strnlen(name, MIN_OF(n_left, SYMBOL_NAME_MAX_BYTES)) : 0;

        if (n == n_left)
                return (Span){};
        version = n > 1 ? memchr(name + 1, '@', n - 1) : NULL;
        return (Span){ name, version ? (size_t) (version - name) : n };
}

static bool is_of_kind(unsigned type, SymbolKind kind) {
        return kind == SYMBOL_DATA ? type == STT_OBJECT : type == STT_FUNC || type == STT_GNU_IFUNC;
}

/*
 * Libraries have names of their own for what they export: local ones, and with underscores. Where
 * one ends that has no size is told by the next one, but only in a table of all: behind what is
 * exported there may be others, which are not to get its name.
 */
int symbol_table_add_elf(SymbolTable *table, Elf *elf, SymbolKind kind, uint64_t max_bytes,
                         uint64_t *rest) {
        GElf_Shdr header, of_names;
        Elf_Scn *section = find_section(elf, SHT_SYMTAB, &header);
        Elf_Data *data, *names;
        size_t n_left;
        int r = 0;

        if (!section)
                section = find_section(elf, SHT_DYNSYM, &header);
        if (!section || header.sh_entsize == 0 ||
            !gelf_getshdr(elf_getscn(elf, header.sh_link), &of_names) || header.sh_size > *rest ||
            of_names.sh_size > *rest - header.sh_size)
                return 0;
        *rest -= header.sh_size + of_names.sh_size;
        data = elf_getdata(section, NULL);
        names = data ? elf_rawdata(elf_getscn(elf, header.sh_link), NULL) : NULL;
        if (!names || !names->d_buf)
                return 0;
        /* Some names are the ends of others. A file in which all are one long name lies. */
        n_left = data->d_size + names->d_size;
        for (size_t i = 0; i < header.sh_size / header.sh_entsize && i < SYMBOLS_MAX && r == 0 &&
                           symbol_table_bytes(table) < max_bytes;
             i++) {
                GElf_Sym symbol;
                Span name;

                if (!gelf_getsym(data, (int) i, &symbol))
                        break;
                if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 ||
                    !is_of_kind(GELF_ST_TYPE(symbol.st_info), kind))
                        continue;
                name = name_in(names, symbol.st_name);
                if (name.n == 0)
                        continue;
                if (name.n > n_left)
                        break;
                n_left -= name.n;
                if (header.sh_type == SHT_DYNSYM && symbol.st_size == 0)
                        symbol.st_size = 1;
                r = add(table, symbol.st_value, symbol.st_size, name, 0,
                        (GELF_ST_BIND(symbol.st_info) == STB_LOCAL ? 2u : 0u) +
                                (name.bytes[0] == '_' ? 1u : 0u));
        }
        return r;
}

/* the kernel */

int symbol_table_add_kernel(SymbolTable *table, Span text) {
        Cursor cursor = text;
        uint32_t group = 0;
        Span line;
        int r = 0;

        /* So that 0 is no name's place. */
        if (table->names.n == 0)
                r = buffer_append_byte(&table->names, '\0');
        while (r == 0 && cursor_line(&cursor, &line)) {
                Cursor words = line;
                Span address, type, name, module;
                uint64_t begin;

                if (!cursor_word(&words, &address) || !cursor_word(&words, &type) ||
                    !cursor_word(&words, &name) || type.n != 1 || !strchr("tTwW", type.bytes[0]) ||
                    !number_parse_hex(address, &begin) || begin == 0)
                        continue;
                if (!cursor_word(&words, &module)) {
                        group = 0;
                } else if (group == 0 || !span_is(module, symbol_table_text(table, group))) {
                        group = (uint32_t) table->names.n;
                        r = buffer_append(&table->names, module.bytes, module.n);
                        if (r == 0)
                                r = buffer_append_byte(&table->names, '\0');
                }
                if (r == 0)
                        r = add(table, begin, 0, name, group, 0);
        }
        return r;
}

/* code that was made at run time */

int symbol_table_add_jit(SymbolTable *table, Span text) {
        Cursor cursor = text;
        Span line;
        int r = 0;

        while (r == 0 && cursor_line(&cursor, &line)) {
                Cursor words = line;
                Span begin_word, size_word, name;
                uint64_t begin, size;

                if (!cursor_word(&words, &begin_word) || !cursor_word(&words, &size_word) ||
                    !number_parse_hex(begin_word, &begin) || !number_parse_hex(size_word, &size) ||
                    begin == 0 || size == 0 || size > UINT64_MAX - begin)
                        continue;
                name = (Span){ words.bytes, words.n };
                while (name.n > 0 && name.bytes[0] == ' ')
                        name = (Span){ name.bytes + 1, name.n - 1 };
                if (name.n > 0 && !memchr(name.bytes, '\0', name.n))
                        r = add(table, begin, size, name, 0, 0);
        }
        return r;
}

/* looking up */

/* How many at one address are looked at: each asks for a name of somebody else's file. */
#define SYMBOLS_OF_ONE_MAX 64u

/*
 * If several symbols at one address have one rank, the first one is kept, which is the one that was
 * defined first.
 */
static int compare_symbols(const void *a, const void *b) {
        const Symbol *x = a, *y = b;

        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        if (x->rank != y->rank)
                return x->rank < y->rank ? -1 : 1;
        return (x->name > y->name) - (x->name < y->name);
}

void symbol_table_sort(SymbolTable *table) {
        if (table->n > 1)
                qsort(table->all, table->n, sizeof(*table->all), compare_symbols);
}

void symbol_table_drop_replaced(SymbolTable *table) {
        size_t n = 0;

        for (size_t i = 0; i < table->n; i++)
                if (i + 1 == table->n || table->all[i + 1].begin != table->all[i].begin)
                        table->all[n++] = table->all[i];
        table->n = n;
}

int symbol_table_name(SymbolTable *table, const Symbol *symbol, uint64_t *spent_ns, Span *ret) {
        char text[READABLE_NAME_BYTES];
        Symbol *own = &table->all[symbol - table->all];

        if (!own->is_readable) {
                own->is_readable = true;
                if (table->names.n <= UINT32_MAX - sizeof(text) &&
                    readable_name(symbol_table_text(table, own->name), spent_ns, text)) {
                        uint32_t at = (uint32_t) table->names.n;
                        int r = buffer_append(&table->names, text, strlen(text) + 1);

                        if (r < 0)
                                return r;
                        own->name = at;
                }
        }
        *ret = span_of(symbol_table_text(table, own->name));
        return 0;
}

const Symbol *symbol_table_find(const SymbolTable *table, uint64_t address) {
        size_t end = ARRAY_FIRST(table->n, i, table->all[i].begin > address), first;
        uint64_t begin = end > 0 ? table->all[end - 1].begin : 0;

        first = ARRAY_FIRST(end, i, table->all[i].begin >= begin);
        for (size_t i = first; i < end && i - first < SYMBOLS_OF_ONE_MAX; i++)
                if (table->all[i].size == 0 || address - begin < table->all[i].size)
                        return &table->all[i];
        return NULL;
}
