/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>

#include "byte-span.h"
#include "made-elf.h"
#include "capture/heap/elf-file.h"

/* A library with four slots and two symbols. */
static const MadeOptions options = {
        .type = ET_DYN,
        .machine = EM_X86_64,
        .is_pie = true,
        .allocated = 824,
        .deallocated = 840,
        .n_block = 2632,
        .symbols = { "je_tsd_tls", "other" },
        .symbol_values = { 8, 16 },
        .n_slots = 3,
        .slots = { { HEAP_SLOT_TPOFF, 0, 24, 0 },
                   { HEAP_SLOT_DTPMOD, 5, 0, 0 },
                   { HEAP_SLOT_TLSDESC, 0, UINT64_MAX, 0 } },
};

static MadeElf made;
static ByteSpan file;
static ElfFile *elf;

/* Of what is in @made by now. */
static void reopen(uint64_t size) {
        elf = elf_file_free(elf);
        file = (ByteSpan){ .bytes = made_elf_span(&made) };
        ck_assert_int_eq(elf_file_open(byte_span_open(&file), size, &elf), 0);
}

static void setup(void) {
        made_elf_make(&options, &made);
        reopen(made.n);
}

static void teardown(void) {
        elf = elf_file_free(elf);
}

#define NOTHING INT_MAX

/* The result of a call that may have failed, or found nothing; the next one is a new start. */
static int outcome(bool is_there) {
        int failure = elf->failure;

        elf->failure = 0;
        return failure != 0 ? failure : is_there ? 0 : NOTHING;
}

START_TEST(headers_say_what_the_file_is) {
        ck_assert_uint_eq(elf->type, ET_DYN);
        ck_assert_uint_eq(elf->machine, EM_X86_64);
        ck_assert(elf->is_sound && !elf->has_interpreter);
        ck_assert_uint_eq(elf->dynamic.p_type, PT_DYNAMIC);
        ck_assert_uint_eq(elf->n_loads, 2);
        ck_assert_uint_eq(elf->loads[1].p_vaddr, MADE_WRITTEN_AT + MADE_WRITTEN_MOVED);
        ck_assert_uint_eq(elf->loads[1].p_offset, MADE_WRITTEN_AT);
        ck_assert_uint_eq(elf->loads[1].p_flags, PF_R | PF_W);
        ck_assert_uint_eq(elf->tls.p_offset, MADE_BLOCK_AT);
        ck_assert_uint_eq(elf->tls.p_memsz, 2632);
        ck_assert_uint_eq(elf->tls.p_align, 8);
        ck_assert_uint_eq(file.n_reads, 1);
}
END_TEST

START_TEST(an_address_is_in_one_segment_or_nowhere) {
        uint64_t end = elf->loads[1].p_vaddr + elf->loads[1].p_filesz;
        static char bytes[MADE_WRITTEN_AT];

        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, 0, bytes, sizeof(bytes))), 0);
        ck_assert_mem_eq(bytes, made.bytes, sizeof(bytes));
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, end - 8, bytes, 8)), 0);
        ck_assert_mem_eq(bytes, made.bytes + MADE_BLOCK_AT + 2632 - 8, 8);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, end - 7, bytes, 8)), NOTHING);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, end, bytes, 1)), NOTHING);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, 0, bytes, 0)), NOTHING);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, 1, bytes, SIZE_MAX)), NOTHING);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, UINT64_MAX, bytes, 8)), NOTHING);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, MADE_WRITTEN_AT, bytes, 1)), NOTHING);
}
END_TEST

START_TEST(bytes_are_read_whole_or_not_at_all) {
        char bytes[8];

        ck_assert_int_eq(outcome(elf_file_read(elf, made.n - 8, bytes, 8)), 0);
        ck_assert_mem_eq(bytes, made.bytes + made.n - 8, 8);
        ck_assert_int_eq(outcome(elf_file_read(elf, made.n - 7, bytes, 8)), ELF_FILE_E_MALFORMED);
        ck_assert_int_eq(outcome(elf_file_read(elf, UINT64_MAX, bytes, 8)), ELF_FILE_E_MALFORMED);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, MADE_NAMES_AT, bytes, 8)), 0);
        ck_assert_mem_eq(bytes, "allocate", 8);
        ck_assert_int_eq(outcome(elf_file_read_vaddr(elf, 0x20000, bytes, 8)), NOTHING);
        file.error = -EACCES;
        ck_assert_int_eq(outcome(elf_file_read(elf, 0, bytes, 8)), -EACCES);
}
END_TEST

START_TEST(a_view_has_at_least_a_unit) {
        Span view;

        ck_assert_int_eq(outcome(elf_file_view(elf, 16, made.n, 8, &view)), 0);
        ck_assert_uint_eq(view.n, made.n - 16);
        ck_assert_mem_eq(view.bytes, made.bytes + 16, view.n);
        file.n_reads = 0;
        ck_assert_int_eq(outcome(elf_file_view(elf, 100, 120, 20, &view)), 0);
        ck_assert_uint_eq(view.n, 20);
        ck_assert_mem_eq(view.bytes, made.bytes + 100, 20);
        ck_assert_uint_eq(file.n_reads, 0); /* it was there */
        ck_assert_int_eq(outcome(elf_file_view(elf, 8, 16, 8, &view)), 0);
        ck_assert_uint_eq(file.n_reads, 1);
        ck_assert_int_eq(outcome(elf_file_view(elf, 101, 120, 20, &view)), NOTHING);
        ck_assert_int_eq(outcome(elf_file_view(elf, 121, 120, 1, &view)), NOTHING);
        ck_assert_int_eq(outcome(elf_file_view(elf, made.n - 8, made.n + 8, 8, &view)),
                         ELF_FILE_E_MALFORMED);
        ck_assert_int_eq(outcome(elf_file_view(elf, 64, 72, 8, &view)), 0); /* and it goes on */
        ck_assert_mem_eq(view.bytes, made.bytes + 64, 8);
}
END_TEST

START_TEST(relocations_come_with_their_kinds) {
        static const struct {
                ElfRelocationKind kind;
                uint32_t symbol;
                int64_t addend;
        } slots[] = {
                { ELF_RELOCATION_TPOFF, 0, 24 },
                { ELF_RELOCATION_DTPMOD, 5, 0 },
                { ELF_RELOCATION_TLSDESC, 0, -1 },
        };
        ElfRelocations relocations;
        ElfRelocation relocation;
        ElfDynamic dynamic;

        ck_assert_int_eq(outcome((elf_dynamic_read(elf, &dynamic), true)), 0);
        ck_assert(dynamic.is_pie && !dynamic.plt_is_rela);
        ck_assert_int_eq(outcome((elf_relocations_find(elf, &dynamic, &relocations), true)), 0);
        for (unsigned i = 0; i < 8; i++) {
                ck_assert_int_eq(outcome(elf_relocations_next(elf, &relocations, &relocation)), 0);
                ck_assert_int_eq(relocation.kind, ELF_RELOCATION_RELATIVE);
                ck_assert_uint_eq(relocation.vaddr, MADE_TABLES_AT + MADE_WRITTEN_MOVED +
                                                            i / 2 * 40 + (i % 2 ? 32 : 8));
        }
        for (unsigned i = 0; i < ELEMENTSOF(slots); i++) {
                ck_assert_int_eq(outcome(elf_relocations_next(elf, &relocations, &relocation)), 0);
                ck_assert_int_eq(relocation.kind, slots[i].kind);
                ck_assert_uint_eq(relocation.symbol, slots[i].symbol);
                ck_assert_int_eq(relocation.addend, slots[i].addend);
        }
        ck_assert_int_eq(outcome(elf_relocations_next(elf, &relocations, &relocation)), NOTHING);
}
END_TEST

START_TEST(relocations_of_the_linkage_table_follow) {
        uint64_t words[] = {
                DT_JMPREL,   MADE_RELOCATIONS_AT + 8 * sizeof(Elf64_Rela),
                DT_PLTRELSZ, 3 * sizeof(Elf64_Rela),
                DT_PLTREL,   DT_RELA,
                DT_NULL,     0,
                DT_FLAGS_1,  DF_1_PIE, /* behind the end */
        };
        ElfRelocations relocations;
        ElfRelocation relocation;
        ElfDynamic dynamic;
        unsigned n = 0;

        made_elf_put(&made, MADE_DYNAMIC_AT, words, sizeof(words));
        ck_assert_int_eq(outcome((elf_dynamic_read(elf, &dynamic), true)), 0);
        ck_assert(!dynamic.is_pie);
        ck_assert_int_eq(outcome((elf_relocations_find(elf, &dynamic, &relocations), true)), 0);
        for (; elf_relocations_next(elf, &relocations, &relocation); n++)
                ck_assert_int_ne(relocation.kind, ELF_RELOCATION_RELATIVE);
        ck_assert_uint_eq(n, 3);
        dynamic.n_plt_bytes = 0x10000;
        ck_assert_int_eq(outcome((elf_relocations_find(elf, &dynamic, &relocations), true)),
                         ELF_FILE_E_MALFORMED);
        dynamic.plt_is_rela = false;
        ck_assert_int_eq(outcome((elf_relocations_find(elf, &dynamic, &relocations), true)), 0);
        dynamic.n_rela_bytes = (ELF_RELOCATIONS_MAX + UINT64_C(1)) * sizeof(Elf64_Rela);
        ck_assert_int_eq(outcome((elf_relocations_find(elf, &dynamic, &relocations), true)),
                         ELF_FILE_E_TOO_MUCH);
}
END_TEST

START_TEST(a_dynamic_section_without_an_end_is_given_up) {
        static char bytes[MADE_BYTES_MAX + (ELF_DYNAMIC_MAX + 1) * sizeof(Elf64_Dyn)];
        ElfDynamic dynamic;

        memcpy(bytes, made.bytes, made.n);
        for (size_t at = MADE_BYTES_MAX; at < sizeof(bytes); at += sizeof(Elf64_Dyn))
                memcpy(bytes + at, &(uint64_t){ DT_DEBUG }, 8);
        file.bytes = (Span){ bytes, sizeof(bytes) };
        elf->size = sizeof(bytes);
        elf->dynamic.p_offset = MADE_BYTES_MAX;
        elf->dynamic.p_filesz = ELF_DYNAMIC_MAX * sizeof(Elf64_Dyn);
        ck_assert_int_eq(outcome((elf_dynamic_read(elf, &dynamic), true)), 0);
        elf->dynamic.p_filesz += sizeof(Elf64_Dyn);
        ck_assert_int_eq(outcome((elf_dynamic_read(elf, &dynamic), true)), ELF_FILE_E_TOO_MUCH);
}
END_TEST

START_TEST(symbols_come_with_their_names) {
        ElfSymbols symbols;
        Elf64_Sym symbol;
        char name[16];

        ck_assert_int_eq(outcome((elf_symbols_find(elf, SHT_SYMTAB, &symbols), true)), 0);
        ck_assert_int_eq(outcome(elf_symbols_next(elf, &symbols, &symbol)), 0);
        ck_assert_uint_eq(symbol.st_shndx, SHN_UNDEF);
        ck_assert_int_eq(outcome(elf_symbols_next(elf, &symbols, &symbol)), 0);
        ck_assert(symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_TLS &&
                  symbol.st_value == 8);
        ck_assert_int_eq(outcome(elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name))), 0);
        ck_assert_str_eq(name, "je_tsd_tls");
        ck_assert_int_eq(
                outcome(elf_symbols_name(elf, &symbols, &symbol, name, sizeof("je_tsd_tls"))), 0);
        ck_assert_int_eq(
                outcome(elf_symbols_name(elf, &symbols, &symbol, name, sizeof("je_tsd_tls") - 1)),
                NOTHING);
        file.is_cut = true;
        ck_assert_int_eq(outcome(elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name))),
                         ELF_FILE_E_MALFORMED);
        file.is_cut = false;
        symbol.st_name = (uint32_t) (symbols.names.end - symbols.names.at);
        ck_assert_int_eq(outcome(elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name))),
                         NOTHING);
        ck_assert_int_eq(outcome(elf_symbols_next(elf, &symbols, &symbol)), 0);
        ck_assert_int_eq(outcome(elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name))), 0);
        ck_assert_str_eq(name, "other"); /* cut by the end of the names */
        ck_assert_int_eq(outcome(elf_symbols_next(elf, &symbols, &symbol)), NOTHING);
        ck_assert_int_eq(outcome((elf_symbols_find(elf, SHT_DYNSYM, &symbols), true)), 0);
        ck_assert_int_eq(outcome(elf_symbols_next(elf, &symbols, &symbol)), NOTHING);
}
END_TEST

/* Programs run without sections: bad ones are none. */
static const struct {
        unsigned section;
        size_t member;
        uint64_t number;
        size_t n;
        int r;
} section_rows[] = {
        { 1, offsetof(Elf64_Shdr, sh_offset), UINT64_MAX, 8, 0 },
        { 1, offsetof(Elf64_Shdr, sh_size), UINT64_MAX, 8, 0 },
        { 1, offsetof(Elf64_Shdr, sh_entsize), 23, 8, 0 },
        { 1, offsetof(Elf64_Shdr, sh_link), 0, 4, 0 },
        { 1, offsetof(Elf64_Shdr, sh_link), UINT32_MAX, 4, 0 },
        { 2, offsetof(Elf64_Shdr, sh_type), SHT_NOBITS, 4, 0 },
        { 2, offsetof(Elf64_Shdr, sh_offset), UINT64_MAX - 8, 8, 0 },
};

START_TEST(bad_sections_are_none) {
        uint64_t sections = made.n - 3 * sizeof(Elf64_Shdr);
        ElfSymbols symbols;
        Elf64_Sym symbol;

        made_elf_put(&made,
                     sections + section_rows[_i].section * sizeof(Elf64_Shdr) +
                             section_rows[_i].member,
                     &section_rows[_i].number, section_rows[_i].n);
        reopen(made.n);
        ck_assert_int_eq(outcome((elf_symbols_find(elf, SHT_SYMTAB, &symbols), true)), 0);
        ck_assert_int_eq(outcome(elf_symbols_next(elf, &symbols, &symbol)), NOTHING);
        made_elf_put_word(&made, offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 8);
        reopen(made.n);
        ck_assert_int_eq(outcome((elf_symbols_find(elf, SHT_SYMTAB, &symbols), true)), 0);
        ck_assert_int_eq(outcome(elf_symbols_next(elf, &symbols, &symbol)), NOTHING);
}
END_TEST

START_TEST(too_many_symbols_are_given_up) {
        uint64_t sections = made.n - 3 * sizeof(Elf64_Shdr);
        uint64_t n = (ELF_SYMBOLS_MAX + UINT64_C(1)) * sizeof(Elf64_Sym);
        ElfSymbols symbols;

        made_elf_put_word(&made, sections + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), n);
        reopen(n * 2);
        ck_assert_int_eq(outcome((elf_symbols_find(elf, SHT_SYMTAB, &symbols), true)),
                         ELF_FILE_E_TOO_MUCH);
}
END_TEST

/* searching */

/* A file of several windows. */
#define LONG_BYTES (3 * ELF_WINDOW_BYTES + 100)

START_TEST(a_needle_is_found_wherever_it_lies) {
        static const uint64_t places[] = {
                0,
                1,
                ELF_WINDOW_BYTES - 3,
                ELF_WINDOW_BYTES - 1,
                ELF_WINDOW_BYTES,
                2 * ELF_WINDOW_BYTES - 5,
                LONG_BYTES - 5,
        };
        Elf64_Phdr segment = { .p_vaddr = 0x100000, .p_filesz = LONG_BYTES };
        char *bytes = calloc(1, LONG_BYTES);
        uint64_t at, vaddr;

        ck_assert_ptr_nonnull(bytes);
        file.bytes = (Span){ bytes, LONG_BYTES };
        elf->size = LONG_BYTES;
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                memset(bytes, 0, LONG_BYTES);
                elf->n_window = 0;
                memcpy(bytes + places[i], "hello", 5);
                at = 0;
                ck_assert_int_eq(
                        outcome(elf_file_search(elf, &segment, SPAN_LITERAL("hello"), &at, &vaddr)),
                        0);
                ck_assert_uint_eq(vaddr, segment.p_vaddr + places[i]);
                ck_assert_int_eq(
                        outcome(elf_file_search(elf, &segment, SPAN_LITERAL("hello"), &at, &vaddr)),
                        NOTHING);
        }
        segment.p_filesz--; /* the last one is cut */
        at = 0;
        ck_assert_int_eq(
                outcome(elf_file_search(elf, &segment, SPAN_LITERAL("hello"), &at, &vaddr)),
                NOTHING);
        memset(bytes, 'a', 8); /* they may lie over each other */
        segment.p_filesz = 8;
        elf->n_window = 0;
        at = 0;
        for (uint64_t i = 0; i < 6; i++) {
                ck_assert_int_eq(
                        outcome(elf_file_search(elf, &segment, SPAN_LITERAL("aaa"), &at, &vaddr)),
                        0);
                ck_assert_uint_eq(vaddr, segment.p_vaddr + i);
        }
        ck_assert_int_eq(outcome(elf_file_search(elf, &segment, SPAN_LITERAL("aaa"), &at, &vaddr)),
                         NOTHING);
        free(bytes);
}
END_TEST

START_TEST(reading_ends_where_a_file_is_not_worth_more) {
        char bytes[8];
        unsigned n = 0;

        while (elf_file_read(elf, 0, bytes, sizeof(bytes)))
                n++;
        ck_assert_int_eq(elf->failure, ELF_FILE_E_TOO_MUCH);
        elf->n_left = ELF_READ_BYTES_MAX; /* a failure stays */
        ck_assert(!elf_file_read(elf, 0, bytes, sizeof(bytes)));
        ck_assert_uint_eq(n, ELF_READ_BYTES_MAX / ELF_READ_CHARGE_BYTES - 1); /* one for headers */
}
END_TEST

static Suite *elf_file_suite(void) {
        Suite *suite = suite_create("elf-file");
        TCase *tcase = tcase_create("file");

        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, headers_say_what_the_file_is);
        tcase_add_test(tcase, an_address_is_in_one_segment_or_nowhere);
        tcase_add_test(tcase, bytes_are_read_whole_or_not_at_all);
        tcase_add_test(tcase, a_view_has_at_least_a_unit);
        tcase_add_test(tcase, relocations_come_with_their_kinds);
        tcase_add_test(tcase, relocations_of_the_linkage_table_follow);
        tcase_add_test(tcase, a_dynamic_section_without_an_end_is_given_up);
        tcase_add_test(tcase, symbols_come_with_their_names);
        tcase_add_loop_test(tcase, bad_sections_are_none, 0, ELEMENTSOF(section_rows));
        tcase_add_test(tcase, too_many_symbols_are_given_up);
        tcase_add_test(tcase, a_needle_is_found_wherever_it_lies);
        tcase_add_test(tcase, reading_ends_where_a_file_is_not_worth_more);
        suite_add_tcase(suite, tcase);
        return suite;
}

int main(void) {
        return check_main(elf_file_suite());
}
