/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MadeElf
 *
 * Programs and libraries that contain what is looked for in jemalloc, as compilers and linkers
 * write it, and nothing else: a segment that is read, with names and code; one that is written, at
 * other addresses than places, with tables, slots and the image of the thread-local block.
 */

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"
#include "base/span.h"
#include "capture/heap/heap-layout.h"

#define MADE_NAMES_AT 0x200
#define MADE_CODE_AT 0x300
#define MADE_FUNCTION_BYTES 0x60
#define MADE_RELOCATIONS_AT 0x600
#define MADE_WRITTEN_AT 0xa00
#define MADE_DYNAMIC_AT MADE_WRITTEN_AT
#define MADE_TABLES_AT 0xb00
#define MADE_TABLE_BYTES 160
#define MADE_SLOTS_AT 0xc40
#define MADE_SLOTS_MAX 8
#define MADE_BLOCK_AT 0xd00
#define MADE_BLOCK_BYTES_MAX 0x2000
#define MADE_FIXED_VADDR 0x400000
#define MADE_WRITTEN_MOVED 0x10000
#define MADE_BYTES_MAX 0x3800

typedef enum MadePointers {
        MADE_RELOCATED, /* RELA */
        MADE_IN_PLACE,  /* RELR, or a program that is not moved */
} MadePointers;

typedef enum MadeCode {
        MADE_ADD,        /* add rdi, number; add x0, x0, number */
        MADE_LEA,        /* lea rax, [rdi + number] */
        MADE_REFUSAL,    /* return ENOENT; */
        MADE_O0_REFUSAL, /* the same, by gcc -O0 */
        MADE_OPAQUE,     /* a call */
        _MADE_CODE_MAX,
} MadeCode;

typedef enum MadeImage {
        MADE_CACHE, /* 5.3: an empty cache, the state, the counters */
        MADE_OLD,   /* 5.0 to 5.2: the state, 0 but for a few words */
        MADE_STATE, /* between them: the state right before the counters */
        MADE_BLANK,
        _MADE_IMAGE_MAX,
} MadeImage;

typedef struct MadeSlot {
        HeapSlot kind;
        uint32_t symbol;
        uint64_t addend;
        uint64_t second; /* word of the pair */
} MadeSlot;

typedef struct MadeOptions {
        uint16_t type, machine;
        bool has_interpreter, is_pie;
        MadePointers pointers;
        MadeCode code;
        MadeImage image;
        uint64_t n_block;                /* bytes */
        uint64_t tsd;                    /* in the block, by the image */
        uint64_t allocated, deallocated; /* in the struct, by the code */
        uint64_t image_allocated;        /* in the struct, by the image; 0: as by the code */
        bool is_name_shared;             /* the last one is the end of "thread.deallocatedp" */
        bool has_no_table;
        const char *version;    /* NULL: none */
        const char *symbols[2]; /* of the block; NULL: none */
        uint64_t symbol_values[2];
        uint64_t second_allocated; /* of a second table; 0: none */
        unsigned n_slots;
        MadeSlot slots[MADE_SLOTS_MAX];
} MadeOptions;

typedef struct MadeElf {
        size_t n;
        char bytes[MADE_BYTES_MAX];
        unsigned n_relocations;
        uint64_t fixed; /* what addresses begin at */
} MadeElf;

static inline Span made_elf_span(const MadeElf *made) {
        return (Span){ made->bytes, made->n };
}

static inline void made_elf_put(MadeElf *made, uint64_t at, const void *bytes, size_t n) {
        memcpy(made->bytes + at, bytes, n);
}

static inline void made_elf_put_word(MadeElf *made, uint64_t at, uint64_t word) {
        made_elf_put(made, at, &word, sizeof(word));
}

/* The address of a place. */
static inline uint64_t made_elf_vaddr(const MadeElf *made, uint64_t at) {
        return made->fixed + at + (at >= MADE_WRITTEN_AT ? MADE_WRITTEN_MOVED : 0);
}

static inline void made_elf_relocate(MadeElf *made, uint64_t at, uint64_t info, uint64_t addend) {
        Elf64_Rela entry = { made_elf_vaddr(made, at), info, (int64_t) addend };

        made_elf_put(made, MADE_RELOCATIONS_AT + made->n_relocations++ * sizeof(entry), &entry,
                     sizeof(entry));
}

/* A word that is an address once the module is loaded. */
static inline void made_elf_point(MadeElf *made, const MadeOptions *options, uint64_t at,
                                  uint64_t target) {
        uint64_t vaddr = made_elf_vaddr(made, target);

        if (options->pointers == MADE_IN_PLACE)
                made_elf_put_word(made, at, vaddr);
        else
                made_elf_relocate(made, at,
                                  options->machine == EM_AARCH64 ? R_AARCH64_RELATIVE
                                                                 : R_X86_64_RELATIVE,
                                  vaddr);
}

/* Code that loads the member at @offset, or makes its address. */
static inline void made_elf_code_x86(MadeElf *made, uint64_t at, MadeCode code, bool is_load,
                                     uint32_t offset) {
        static const char before[] = "\x4c\x0b\x4c\x24\x08\x48\x89\xc8"; /* or r9, [rsp + 8]; ... */
        bool is_short = offset < 128;
        char *to = made->bytes + at;

        memcpy(to, before, sizeof(before) - 1);
        to += sizeof(before) - 1;
        if (is_load)
                memcpy(to, is_short ? "\x48\x8b\x57" : "\x48\x8b\x97", 3);
        else if (code == MADE_LEA)
                memcpy(to, is_short ? "\x48\x8d\x47" : "\x48\x8d\x87", 3);
        else
                memcpy(to, is_short ? "\x48\x83\xc7" : "\x48\x81\xc7", 3);
        memcpy(to + 3, &offset, is_short ? 1 : 4);
        to[is_short ? 4 : 7] = '\xc3';
}

static inline void made_elf_code_arm(MadeElf *made, uint64_t at, bool is_load, uint32_t offset) {
        uint32_t words[] = {
                UINT32_C(0xaa0600a5), /* orr x5, x5, x6 */
                is_load ? UINT32_C(0xf9400001) | offset / 8 << 10
                        : UINT32_C(0x91000000) | offset << 10,
                UINT32_C(0xd65f03c0), /* ret */
        };

        made_elf_put(made, at, words, sizeof(words));
}

static inline void made_elf_code(MadeElf *made, const MadeOptions *options, uint64_t at,
                                 bool is_load, uint64_t offset) {
        bool is_arm = options->machine == EM_AARCH64;

        switch (options->code) {
        case MADE_ADD:
        case MADE_LEA:
                if (is_arm)
                        made_elf_code_arm(made, at, is_load, (uint32_t) offset);
                else
                        made_elf_code_x86(made, at, options->code, is_load, (uint32_t) offset);
                break;
        case MADE_REFUSAL:
                if (is_arm)
                        made_elf_put(made, at, "\x40\0\x80\x52\xc0\x03\x5f\xd6", 8);
                else
                        made_elf_put(made, at, "\xb8\x02\0\0\0\xc3", 6);
                break;
        case MADE_O0_REFUSAL:
                if (is_arm)
                        made_elf_put(made, at, "\xfd\x7b\xb9\xa9\0\0\x80\x52\0\0\0\x52\0\x1c\0\x12",
                                     16);
                else
                        made_elf_put(made, at, "\x55\x48\x89\xe5\xb8\0\0\0\0\x83\xf0\x01\x84\xc0",
                                     14);
                break;
        case MADE_OPAQUE:
                made_elf_put(made, at, is_arm ? "\0\0\0\x94" : "\xe8\0\0\0\0", is_arm ? 4 : 5);
                break;
        case _MADE_CODE_MAX:
                break;
        }
}

static inline void made_elf_table(MadeElf *made, const MadeOptions *options, unsigned number,
                                  uint64_t allocated) {
        uint64_t names[] = { 0, 10, 21, options->is_name_shared ? 40 : 33 }; /* in the text below */
        uint64_t distance = options->deallocated - options->allocated;

        for (unsigned i = 0; i < 4; i++) {
                uint64_t code = MADE_CODE_AT + (number * 4 + i) * MADE_FUNCTION_BYTES;
                uint64_t record = MADE_TABLES_AT + number * MADE_TABLE_BYTES + i * 40;

                made_elf_put_word(made, record, 1);
                made_elf_point(made, options, record + 8, MADE_NAMES_AT + names[i]);
                made_elf_point(made, options, record + 32, code);
                made_elf_code(made, options, code, i % 2 == 0,
                              i < 2 ? allocated : allocated + distance);
        }
}

static inline void made_elf_names(MadeElf *made, const MadeOptions *options) {
        static const char text[] = "allocated\0allocatedp\0deallocated\0";
        const char *last = options->is_name_shared ? "thread.deallocatedp" : "deallocatedp";
        uint64_t at = MADE_NAMES_AT;

        made_elf_put(made, at, text, sizeof(text) - 1);
        at += sizeof(text) - 1;
        made_elf_put(made, at, last, strlen(last) + 1);
        at += strlen(last) + 1;
        if (options->version)
                made_elf_put(made, at, options->version, strlen(options->version) + 1);
}

static inline void made_elf_image(MadeElf *made, const MadeOptions *options) {
        uint64_t start = MADE_BLOCK_AT + options->tsd;
        uint64_t at =
                start + (options->image_allocated ? options->image_allocated : options->allocated);

        switch (options->image) {
        case MADE_CACHE:
                for (unsigned i = 1; i <= 24; i++)
                        made_elf_put_word(made, at - 8 - i * 16, 1);
                made_elf_put_word(made, at - 8, 6);
                break;
        case MADE_OLD:
                made_elf_put_word(made, start, 5);
                made_elf_put_word(made, start + 456, 0xff);
                break;
        case MADE_STATE:
                made_elf_put_word(made, at - 8, 6);
                break;
        case MADE_BLANK:
        case _MADE_IMAGE_MAX:
                break;
        }
}

static inline void made_elf_slots(MadeElf *made, const MadeOptions *options) {
        static const struct {
                uint32_t x86, arm;
        } types[_HEAP_SLOT_MAX] = {
                [HEAP_SLOT_TPOFF] = { R_X86_64_TPOFF64, R_AARCH64_TLS_TPREL },
                [HEAP_SLOT_DTPMOD] = { R_X86_64_DTPMOD64, R_AARCH64_TLS_DTPMOD },
                [HEAP_SLOT_TLSDESC] = { R_X86_64_TLSDESC, R_AARCH64_TLSDESC },
        };

        for (unsigned i = 0; i < options->n_slots; i++) {
                const MadeSlot *slot = &options->slots[i];
                uint32_t type = options->machine == EM_AARCH64 ? types[slot->kind].arm
                                                               : types[slot->kind].x86;

                made_elf_put_word(made, MADE_SLOTS_AT + i * 16 + 8, slot->second);
                made_elf_relocate(made, MADE_SLOTS_AT + i * 16,
                                  ELF64_R_INFO((uint64_t) slot->symbol, type), slot->addend);
        }
}

static inline void made_elf_dynamic(MadeElf *made, const MadeOptions *options) {
        uint64_t words[] = {
                DT_RELA,    made_elf_vaddr(made, MADE_RELOCATIONS_AT),
                DT_RELASZ,  made->n_relocations * sizeof(Elf64_Rela),
                DT_FLAGS_1, options->is_pie ? DF_1_PIE : 0,
                DT_NULL,    0,
        };

        made_elf_put(made, MADE_DYNAMIC_AT, words, sizeof(words));
}

/* Symbols, their names and the headers of both, behind all that is mapped. */
static inline void made_elf_symbols(MadeElf *made, const MadeOptions *options, Elf64_Ehdr *file) {
        Elf64_Shdr sections[3] = { [1] = { .sh_type = SHT_SYMTAB, .sh_link = 2, .sh_entsize = 24 },
                                   [2] = { .sh_type = SHT_STRTAB } };
        char names[128] = {};
        size_t n_names = 1;

        sections[1].sh_offset = made->n;
        made->n += sizeof(Elf64_Sym); /* the first says nothing */
        for (unsigned i = 0; i < 2 && options->symbols[i]; i++) {
                Elf64_Sym symbol = { .st_name = (uint32_t) n_names,
                                     .st_info = ELF64_ST_INFO(STB_LOCAL, STT_TLS),
                                     .st_shndx = 1,
                                     .st_value = options->symbol_values[i] };
                size_t n = strlen(options->symbols[i]) + 1;

                made_elf_put(made, made->n, &symbol, sizeof(symbol));
                made->n += sizeof(symbol);
                memcpy(names + n_names, options->symbols[i], n);
                n_names += n;
        }
        sections[1].sh_size = made->n - sections[1].sh_offset;
        sections[2].sh_offset = made->n;
        sections[2].sh_size = n_names;
        made_elf_put(made, made->n, names, n_names);
        made->n += (n_names + 7) & ~(size_t) 7;
        file->e_shoff = made->n;
        file->e_shnum = 3;
        made_elf_put(made, made->n, sections, sizeof(sections));
        made->n += sizeof(sections);
}

static inline void made_elf_headers(MadeElf *made, const MadeOptions *options, Elf64_Ehdr *file) {
        uint64_t written = made_elf_vaddr(made, MADE_WRITTEN_AT);
        uint64_t block = made_elf_vaddr(made, MADE_BLOCK_AT);
        uint64_t n_written = MADE_BLOCK_AT + options->n_block - MADE_WRITTEN_AT;
        Elf64_Phdr headers[] = {
                { PT_LOAD, PF_R | PF_X, 0, made->fixed, 0, MADE_WRITTEN_AT, MADE_WRITTEN_AT,
                  0x1000 },
                { PT_LOAD, PF_R | PF_W, MADE_WRITTEN_AT, written, 0, n_written, n_written, 0x1000 },
                { PT_TLS, PF_R, MADE_BLOCK_AT, block, 0, options->n_block, options->n_block, 8 },
                { PT_DYNAMIC, PF_R | PF_W, MADE_DYNAMIC_AT, written, 0, 0x100, 0x100, 8 },
                { options->has_interpreter ? PT_INTERP : PT_NULL, PF_R, 0, 0, 0, 0, 0, 1 },
        };

        memcpy(file->e_ident, ELFMAG "\2\1\1", 7);
        file->e_type = options->type;
        file->e_machine = options->machine;
        file->e_phoff = sizeof(*file);
        file->e_phentsize = sizeof(headers[0]);
        file->e_phnum = ELEMENTSOF(headers);
        file->e_shentsize = sizeof(Elf64_Shdr);
        made_elf_put(made, 0, file, sizeof(*file));
        made_elf_put(made, sizeof(*file), headers, sizeof(headers));
}

/* The block is at most MADE_BLOCK_BYTES_MAX, and what is in it lies within. */
static inline void made_elf_make(const MadeOptions *options, MadeElf *ret) {
        Elf64_Ehdr file = {};

        memset(ret, 0, sizeof(*ret));
        ret->fixed = options->type == ET_EXEC ? MADE_FIXED_VADDR : 0;
        ret->n = MADE_BLOCK_AT + ((options->n_block + 7) & ~(uint64_t) 7);
        made_elf_names(ret, options);
        if (!options->has_no_table)
                made_elf_table(ret, options, 0, options->allocated);
        if (options->second_allocated)
                made_elf_table(ret, options, 1, options->second_allocated);
        made_elf_image(ret, options);
        made_elf_slots(ret, options);
        made_elf_dynamic(ret, options);
        if (options->symbols[0])
                made_elf_symbols(ret, options, &file);
        made_elf_headers(ret, options, &file);
}
