/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ElfFile
 *
 * A 64-bit program or shared library as its process has it mapped: segments, what the dynamic
 * section says, relocations, symbols. The file belongs to somebody else and may be made to hurt, so
 * every offset is checked before it is used, nothing is kept that grows with the file, and the work
 * that a file may ask for is bounded: past ELF_READ_BYTES_MAX every reading answers
 * ELF_FILE_E_TOO_MUCH. Only files of this machine's byte order are read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

/* bytes */

enum {
        BYTES_OK,
        BYTES_E_SHORT,
};

/* The bytes of a file that belongs to somebody else. */
typedef struct ByteSource {
        uint64_t size; /* reads past it fail */
        /*
         * Reads exactly @n bytes at @offset. 0; BYTES_E_SHORT when the file does not have them (any
         * more); -errno.
         */
        int (*read)(void *userdata, uint64_t offset, void *ret, size_t n);
        void *userdata;
} ByteSource;

/* the file */

enum {
        ELF_FILE_OK,
        ELF_FILE_E_NOT_ELF,   /* of another format, or of a kind that no process has mapped */
        ELF_FILE_E_FOREIGN,   /* 32 bits, or of the other byte order */
        ELF_FILE_E_MALFORMED, /* cut off, or it contradicts itself */
        ELF_FILE_E_TOO_MUCH,  /* one of the bounds below is reached */
        ELF_FILE_E_UNMAPPED,  /* no segment has file bytes at the whole of an address range */
        ELF_FILE_E_END,       /* of what is gone through */
};

#define ELF_SEGMENTS_MAX 64
#define ELF_READ_BYTES_MAX (UINT64_C(512) << 20) /* of a file, those read twice counted twice */
#define ELF_READ_CHARGE_BYTES 4096               /* what a small read counts as */
#define ELF_WINDOW_BYTES (256 << 10)             /* the longest that is looked at in one piece */
#define ELF_DYNAMIC_MAX 4096
#define ELF_RELOCATIONS_MAX (4u << 20)
#define ELF_SYMBOLS_MAX (4u << 20)
#define ELF_ADDRESS_MAX (UINT64_C(1) << 56) /* of user space, on any machine so far */

typedef struct ElfSegment {
        uint64_t vaddr;
        uint64_t offset;
        uint64_t file_bytes;
        uint64_t memory_bytes;
        uint64_t align;
        uint32_t flags; /* PF_* */
} ElfSegment;

/* Read it; only the functions below write it. */
typedef struct ElfFile {
        uint16_t type;    /* ET_EXEC or ET_DYN */
        uint16_t machine; /* EM_* */
        bool is_sound;    /* segments lie within the file, and none over another */
        bool has_interpreter;
        bool has_tls, has_dynamic;
        unsigned n_loads;
        ElfSegment loads[ELF_SEGMENTS_MAX]; /* ascending, when sound */
        ElfSegment tls, dynamic;

        const ByteSource *source;
        uint64_t n_left; /* of ELF_READ_BYTES_MAX */
        uint64_t sections_offset;
        unsigned n_sections;
        uint64_t window_offset;
        size_t n_window;
        char *window;
} ElfFile;

/*
 * Reads the headers, within the first ELF_READ_CHARGE_BYTES as a rule. 0, ELF_FILE_E_NOT_ELF,
 * ELF_FILE_E_FOREIGN, ELF_FILE_E_MALFORMED, -errno. @source is borrowed.
 */
_must_check_ int elf_file_open(const ByteSource *source, ElfFile **ret);
ElfFile *elf_file_free(ElfFile *elf);
DEFINE_CLEANUP(ElfFile *, elf_file_free);

/* Exactly @n bytes at a place of the file. 0, ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno. */
_must_check_ int elf_file_read(ElfFile *elf, uint64_t offset, void *ret, size_t n);

/* Where the file has the @n bytes (at least 1) at address @vaddr. 0, ELF_FILE_E_UNMAPPED. */
_must_check_ int elf_file_locate(const ElfFile *elf, uint64_t vaddr, uint64_t n, uint64_t *ret);

/* At an address: as elf_file_read(), and ELF_FILE_E_UNMAPPED. */
_must_check_ int elf_file_read_vaddr(ElfFile *elf, uint64_t vaddr, void *ret, size_t n);

/*
 * Borrows the bytes from @offset to @end of the file, as many as one window has and at least @unit
 * (1 to ELF_WINDOW_BYTES), until the next call that views. 0; ELF_FILE_E_END when @unit do not fit
 * before @end; ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno.
 */
_must_check_ int elf_file_view(ElfFile *elf, uint64_t offset, uint64_t end, size_t unit, Span *ret);

/* searching */

/* Goes through the file bytes of one segment. */
typedef struct ElfSearch {
        ElfFile *elf;
        uint64_t at, end;  /* places of the file */
        uint64_t to_vaddr; /* what turns one into an address, modulo 2^64 */
        Span needle;
} ElfSearch;

/* @needle is borrowed; 1 to ELF_WINDOW_BYTES long. */
void elf_search_init(ElfSearch *search, ElfFile *elf, const ElfSegment *segment, Span needle);
/* The address of the next one. 0, ELF_FILE_E_END, and as elf_file_view(). */
_must_check_ int elf_search_next(ElfSearch *search, uint64_t *ret_vaddr);

/* the dynamic section */

/* What a tag that is missing would say is 0. */
typedef struct ElfDynamic {
        uint64_t rela, n_rela_bytes; /* addresses and lengths as the file says */
        uint64_t plt, n_plt_bytes;
        bool plt_is_rela;
        bool is_pie; /* DF_1_PIE */
} ElfDynamic;

/* 0, ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno. Without a section: all 0. */
_must_check_ int elf_dynamic_read(ElfFile *elf, ElfDynamic *ret);

/* The same on every machine that is known; the names are those of x86_64 and aarch64. */
typedef enum ElfRelocationKind {
        ELF_RELOCATION_OTHER,
        ELF_RELOCATION_RELATIVE, /* where the module is + addend */
        ELF_RELOCATION_TPOFF,    /* TPOFF64, TLS_TPREL */
        ELF_RELOCATION_DTPMOD,   /* DTPMOD64, TLS_DTPMOD */
        ELF_RELOCATION_TLSDESC,
} ElfRelocationKind;

typedef struct ElfRelocation {
        uint64_t vaddr;
        ElfRelocationKind kind;
        uint32_t symbol; /* 0: none */
        int64_t addend;
} ElfRelocation;

/*
 * Goes through the relocations that carry their addends (RELA), those of the procedure linkage
 * table included. What RELR moves has its value in place and is not listed.
 */
typedef struct ElfRelocations {
        ElfFile *elf;
        struct {
                uint64_t at, end;
        } tables[2];
        unsigned table;
} ElfRelocations;

/* 0, ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH. */
_must_check_ int elf_relocations_init(ElfRelocations *relocations, ElfFile *elf,
                                      const ElfDynamic *dynamic);
/* 0, ELF_FILE_E_END, and as elf_file_view(). */
_must_check_ int elf_relocations_next(ElfRelocations *relocations, ElfRelocation *ret);

/* symbols */

typedef struct ElfSymbol {
        uint64_t value;
        uint64_t n_bytes;
        uint64_t name_offset; /* in the file */
        uint8_t type;         /* STT_* */
        bool is_defined;
} ElfSymbol;

/*
 * Goes through the first symbol table of a kind. The section headers, which only tools need and
 * which may be cut away from a program that runs, lead to it: without good ones there are no
 * symbols.
 */
typedef struct ElfSymbols {
        ElfFile *elf;
        uint64_t at, end;
        uint64_t names, names_end;
} ElfSymbols;

/* @section_type: SHT_SYMTAB or SHT_DYNSYM. 0, ELF_FILE_E_TOO_MUCH, -errno. */
_must_check_ int elf_symbols_init(ElfSymbols *symbols, ElfFile *elf, uint32_t section_type);
/* 0, ELF_FILE_E_END, and as elf_file_view(). */
_must_check_ int elf_symbols_next(ElfSymbols *symbols, ElfSymbol *ret);

/*
 * The name, with its NUL. 0; ELF_FILE_E_END when it has no end within @n bytes or the names;
 * ELF_FILE_E_MALFORMED, ELF_FILE_E_TOO_MUCH, -errno.
 */
_must_check_ int elf_symbols_name(const ElfSymbols *symbols, const ElfSymbol *symbol, char *ret,
                                  size_t n);
