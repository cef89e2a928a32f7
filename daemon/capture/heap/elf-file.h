/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ElfFile
 *
 * A 64-bit program or shared library as its process has it mapped: segments, what the dynamic
 * section says, relocations, symbols. libelf reads the headers of the file and of its sections.
 * Tables and segments are read here, one window at a time, because libelf gives out only whole
 * sections: the symbols of a large program alone would be a multiple of what this may take.
 *
 * The file belongs to somebody else and may be made to do harm. Every offset is checked before it
 * is used, and the work that a file may ask for is bounded: past ELF_READ_BYTES_MAX nothing more is
 * read. Nothing is mapped, here or by libelf (ELF_C_READ): a file that its owner truncates
 * meanwhile would end a process that has it mapped. Only files of this machine's byte order are
 * read.
 *
 * It is no failure if something is not in the file (the address, a further entry): the answer is
 * false. A failure is kept in the ElfFile, and from then on every answer is that nothing is there.
 * So a caller that asks for several things needs to check for a failure only at the end.
 */

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

typedef struct Elf Elf;

enum {
        ELF_FILE_OK,
        ELF_FILE_E_NOT_ELF,   /* of another format, or of a kind that no process has mapped */
        ELF_FILE_E_FOREIGN,   /* 32 bits, or of the other byte order */
        ELF_FILE_E_MALFORMED, /* cut off, or it contradicts itself */
        ELF_FILE_E_TOO_MUCH,  /* one of the bounds below is reached */
};

#define ELF_SEGMENTS_MAX 64
#define ELF_READ_BYTES_MAX (UINT64_C(512) << 20) /* of a file, those read twice counted twice */
#define ELF_READ_CHARGE_BYTES 4096               /* what a small read counts as */
#define ELF_WINDOW_BYTES (256 << 10)             /* the longest that is looked at in one piece */
#define ELF_DYNAMIC_MAX 4096
#define ELF_RELOCATIONS_MAX (4u << 20)
#define ELF_SYMBOLS_MAX (4u << 20)
#define ELF_ADDRESS_MAX (UINT64_C(1) << 56) /* of user space, on any machine so far */

/* Read it; only the functions below write it. */
typedef struct ElfFile {
        uint16_t type;    /* ET_EXEC or ET_DYN */
        uint16_t machine; /* EM_* */
        bool is_sound;    /* segments lie within the file, and none over another */
        bool has_interpreter;
        unsigned n_loads;
        Elf64_Phdr loads[ELF_SEGMENTS_MAX]; /* ascending, when sound */
        Elf64_Phdr tls, dynamic;            /* PT_NULL when there is none */

        int failure; /* 0, ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno */

        Elf *elf;        /* owned */
        int fd;          /* borrowed */
        uint64_t size;   /* of the file, when it was opened */
        uint64_t n_left; /* of ELF_READ_BYTES_MAX */
        uint64_t window_offset;
        size_t n_window;
        char *window; /* owned */
} ElfFile;

/*
 * Reads the headers of the file @fd, which is borrowed and has @size bytes. 0, ELF_FILE_E_NOT_ELF,
 * ELF_FILE_E_FOREIGN, ELF_FILE_E_MALFORMED, -errno.
 */
_must_check_ int elf_file_open(int fd, uint64_t size, ElfFile **ret);
ElfFile *elf_file_free(ElfFile *elf);
DEFINE_CLEANUP(ElfFile *, elf_file_free);

/* Exactly @n bytes at a place of the file; it is a failure if they are not there. */
bool elf_file_read(ElfFile *elf, uint64_t offset, void *ret, size_t n);
/* At an address, if one segment has file bytes at the whole of the range. */
bool elf_file_read_vaddr(ElfFile *elf, uint64_t vaddr, void *ret, size_t n);

/*
 * Borrows the bytes from @offset to @end of the file, as many as one window has and at least @unit
 * (1 to ELF_WINDOW_BYTES), until the next call that views. False when @unit do not fit before @end.
 */
bool elf_file_view(ElfFile *elf, uint64_t offset, uint64_t end, size_t unit, Span *ret);

/*
 * The address of the next @needle, of 1 to ELF_WINDOW_BYTES, in the file bytes of @segment. *at is
 * 0 at first, and what the next call goes on from.
 */
bool elf_file_search(ElfFile *elf, const Elf64_Phdr *segment, Span needle, uint64_t *at,
                     uint64_t *ret_vaddr);

/* The places of the file between which entries are left; empty when zeroed. */
typedef struct ElfTable {
        uint64_t at, end;
} ElfTable;

/* A tag that is missing counts as 0. */
typedef struct ElfDynamic {
        uint64_t rela, n_rela_bytes; /* addresses and lengths as the file says */
        uint64_t plt, n_plt_bytes;
        bool plt_is_rela;
        bool is_pie; /* DF_1_PIE */
} ElfDynamic;

/* Without a section: all 0. */
void elf_dynamic_read(ElfFile *elf, ElfDynamic *ret);

/* The same on every machine that is known; the names are those of x86_64 and aarch64. */
typedef enum ElfRelocationKind {
        ELF_RELOCATION_OTHER,
        ELF_RELOCATION_RELATIVE, /* where the module is + addend */
        /* These are for words that lead to a thread-local block, the more directly the higher. */
        ELF_RELOCATION_DTPMOD, /* DTPMOD64, TLS_DTPMOD */
        ELF_RELOCATION_TLSDESC,
        ELF_RELOCATION_TPOFF, /* TPOFF64, TLS_TPREL */
        _ELF_RELOCATION_MAX,
} ElfRelocationKind;

typedef struct ElfRelocation {
        uint64_t vaddr;
        ElfRelocationKind kind;
        uint32_t symbol; /* 0: none */
        int64_t addend;
} ElfRelocation;

/*
 * The relocations that carry their addends (RELA), and behind them those of the procedure linkage
 * table. The words that RELR relocates have their values in place and are not listed. To go through
 * the relocations anew, use a copy of the struct as elf_relocations_find() made it.
 */
typedef struct ElfRelocations {
        ElfTable tables[2];
} ElfRelocations;

/* A table that is not within the file is a failure. */
void elf_relocations_find(ElfFile *elf, const ElfDynamic *dynamic, ElfRelocations *ret);
bool elf_relocations_next(ElfFile *elf, ElfRelocations *relocations, ElfRelocation *ret);

/*
 * The first symbol table of a kind, and its names. The section headers, which only tools need and
 * which may be cut away from a program that runs, lead to it: without good ones there are no
 * symbols.
 */
typedef struct ElfSymbols {
        ElfTable entries, names;
} ElfSymbols;

/* @section_type: SHT_SYMTAB or SHT_DYNSYM. */
void elf_symbols_find(ElfFile *elf, uint32_t section_type, ElfSymbols *ret);
bool elf_symbols_next(ElfFile *elf, ElfSymbols *symbols, Elf64_Sym *ret);
/* The name, with its NUL. False when it has no end within @n bytes or the names. */
bool elf_symbols_name(ElfFile *elf, const ElfSymbols *symbols, const Elf64_Sym *symbol, char *ret,
                      size_t n);
