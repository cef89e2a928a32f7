/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SmallElf
 *
 * A program of two functions with call frame information, and nothing else: "work", whose frames
 * have 16 bytes with the return address in the upper half, and "start", which nobody called. It has
 * a variable "words", a build id and the name of a debug file; small_elf_strip() takes its symbols
 * out.
 */

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/macro.h"

#define SMALL_ELF_HEADER_AT 0x200 /* .eh_frame_hdr */
#define SMALL_ELF_FRAMES_AT 0x240 /* .eh_frame */
#define SMALL_ELF_LINK_AT 0x2c0
#define SMALL_ELF_ID_AT 0x2e0
#define SMALL_ELF_NAMES_AT 0x300
#define SMALL_ELF_SYMBOLS_AT 0x380
#define SMALL_ELF_SECTIONS_AT 0x400
#define SMALL_ELF_WORK 0x1000
#define SMALL_ELF_START 0x1400
#define SMALL_ELF_WORDS 0x1480 /* in the code, as there are no other pages */
#define SMALL_ELF_BYTES 0x1500
#define SMALL_ELF_ID "build-id"

#if defined(__x86_64__)
#define SMALL_ELF_MACHINE EM_X86_64
#define SMALL_ELF_SP 7
#define SMALL_ELF_RETURN 16
#define SMALL_ELF_PC_AT 16 /* in the registers of a sample */
#define SMALL_ELF_SP_AT 19
#else
#define SMALL_ELF_MACHINE EM_AARCH64
#define SMALL_ELF_SP 31
#define SMALL_ELF_RETURN 30
#define SMALL_ELF_PC_AT 32
#define SMALL_ELF_SP_AT 31
#endif

static inline void small_elf_word(char *elf, size_t at, uint32_t value) {
        memcpy(elf + at, &value, sizeof(value));
}

/* An entry of .eh_frame, filled up with DW_CFA_nop to @n bytes behind its length. */
static inline size_t small_elf_entry(char *elf, size_t at, size_t n, const void *bytes,
                                     size_t n_bytes) {
        small_elf_word(elf, at, (uint32_t) n);
        memcpy(elf + at + 4, bytes, n_bytes);
        return at + 4 + n;
}

static inline size_t small_elf_function(char *elf, size_t at, uint32_t begin, uint32_t size,
                                        const void *code, size_t n_code) {
        size_t next = small_elf_entry(elf, at, 24, "", 0);

        small_elf_word(elf, at + 4, (uint32_t) (at + 4 - SMALL_ELF_FRAMES_AT));
        small_elf_word(elf, at + 8, begin - (uint32_t) (at + 8));
        small_elf_word(elf, at + 12, size);
        memcpy(elf + at + 17, code, n_code);
        return next;
}

static inline void small_elf_make(char elf[static SMALL_ELF_BYTES]) {
        static const char names[] = "\0work\0start\0.symtab\0.strtab\0.eh_frame\0.eh_frame_hdr"
                                    "\0.gnu_debuglink\0.note.gnu.build-id\0words\0.gnu_debugdata";
        /* The address of the frame is the stack pointer and 16, and the caller's 8 below that. */
        static const unsigned char common[] = {
                0,
                0,
                0,
                0,
                1,
                'z',
                'R',
                0,
                1,
                0x78,
                SMALL_ELF_RETURN,
                1,
                0x1b,
                0x0c,
                SMALL_ELF_SP,
                16,
                0x80 | SMALL_ELF_RETURN,
                1,
        };
        static const unsigned char no_caller[] = { 0x07, SMALL_ELF_RETURN };
        const Elf64_Ehdr head = {
                .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                             EV_CURRENT },
                .e_type = ET_DYN,
                .e_machine = SMALL_ELF_MACHINE,
                .e_version = EV_CURRENT,
                .e_phoff = sizeof(head),
                .e_shoff = SMALL_ELF_SECTIONS_AT,
                .e_ehsize = sizeof(head),
                .e_phentsize = sizeof(Elf64_Phdr),
                .e_phnum = 2,
                .e_shentsize = sizeof(Elf64_Shdr),
                .e_shnum = 7,
                .e_shstrndx = 2,
        };
        const Elf64_Phdr segments[] = {
                { .p_type = PT_LOAD,
                  .p_flags = PF_R | PF_X,
                  .p_filesz = SMALL_ELF_BYTES,
                  .p_memsz = SMALL_ELF_BYTES,
                  .p_align = 4096 },
                { .p_type = PT_GNU_EH_FRAME,
                  .p_flags = PF_R,
                  .p_offset = SMALL_ELF_HEADER_AT,
                  .p_vaddr = SMALL_ELF_HEADER_AT,
                  .p_filesz = 28,
                  .p_memsz = 28,
                  .p_align = 4 },
        };
        const Elf64_Sym symbols[] = {
                {},
                { .st_name = 1,
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                  .st_shndx = 3,
                  .st_value = SMALL_ELF_WORK,
                  .st_size = SMALL_ELF_START - SMALL_ELF_WORK },
                { .st_name = 6,
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                  .st_shndx = 3,
                  .st_value = SMALL_ELF_START,
                  .st_size = SMALL_ELF_BYTES - SMALL_ELF_START },
                { .st_name = 86,
                  .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
                  .st_shndx = 3,
                  .st_value = SMALL_ELF_WORDS,
                  .st_size = 64 },
        };
        Elf64_Shdr sections[] = {
                {},
                { .sh_name = 12,
                  .sh_type = SHT_SYMTAB,
                  .sh_offset = SMALL_ELF_SYMBOLS_AT,
                  .sh_size = sizeof(symbols),
                  .sh_link = 2,
                  .sh_info = 1,
                  .sh_addralign = 8,
                  .sh_entsize = sizeof(Elf64_Sym) },
                { .sh_name = 20,
                  .sh_type = SHT_STRTAB,
                  .sh_offset = SMALL_ELF_NAMES_AT,
                  .sh_size = sizeof(names),
                  .sh_addralign = 1 },
                { .sh_name = 28,
                  .sh_type = SHT_PROGBITS,
                  .sh_flags = SHF_ALLOC,
                  .sh_addr = SMALL_ELF_FRAMES_AT,
                  .sh_offset = SMALL_ELF_FRAMES_AT,
                  .sh_addralign = 8 },
                { .sh_name = 38,
                  .sh_type = SHT_PROGBITS,
                  .sh_flags = SHF_ALLOC,
                  .sh_addr = SMALL_ELF_HEADER_AT,
                  .sh_offset = SMALL_ELF_HEADER_AT,
                  .sh_size = 28,
                  .sh_addralign = 4 },
                { .sh_name = 52,
                  .sh_type = SHT_PROGBITS,
                  .sh_offset = SMALL_ELF_LINK_AT,
                  .sh_size = 12,
                  .sh_addralign = 4 },
                { .sh_name = 67,
                  .sh_type = SHT_NOTE,
                  .sh_flags = SHF_ALLOC,
                  .sh_addr = SMALL_ELF_ID_AT,
                  .sh_offset = SMALL_ELF_ID_AT,
                  .sh_size = 24,
                  .sh_addralign = 4 },
        };
        size_t work, start, end;

        memset(elf, 0, SMALL_ELF_BYTES);
        memcpy(elf, &head, sizeof(head));
        memcpy(elf + sizeof(head), segments, sizeof(segments));
        work = small_elf_entry(elf, SMALL_ELF_FRAMES_AT, 20, common, sizeof(common));
        start = small_elf_function(elf, work, SMALL_ELF_WORK, SMALL_ELF_START - SMALL_ELF_WORK, "",
                                   0);
        end = small_elf_function(elf, start, SMALL_ELF_START, SMALL_ELF_BYTES - SMALL_ELF_START,
                                 no_caller, sizeof(no_caller));
        sections[3].sh_size = end + 4 - SMALL_ELF_FRAMES_AT;

        /* A table to search by halves: of each function the address and where its entry is. */
        memcpy(elf + SMALL_ELF_HEADER_AT, "\x01\x1b\x03\x3b", 4);
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 4, SMALL_ELF_FRAMES_AT - SMALL_ELF_HEADER_AT - 4);
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 8, 2);
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 12, SMALL_ELF_WORK - SMALL_ELF_HEADER_AT);
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 16, (uint32_t) work - SMALL_ELF_HEADER_AT);
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 20, SMALL_ELF_START - SMALL_ELF_HEADER_AT);
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 24, (uint32_t) start - SMALL_ELF_HEADER_AT);
        memcpy(elf + SMALL_ELF_LINK_AT, "a.debug", 8);
        memcpy(elf + SMALL_ELF_ID_AT, "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0" SMALL_ELF_ID, 24);
        memcpy(elf + SMALL_ELF_NAMES_AT, names, sizeof(names));
        memcpy(elf + SMALL_ELF_SYMBOLS_AT, symbols, sizeof(symbols));
        memcpy(elf + SMALL_ELF_SECTIONS_AT, sections, sizeof(sections));
}

/*
 * To "work" belongs another entry, which only the table leads to. Whoever reads one entry after the
 * other finds the first one, by which nobody called it.
 */
static inline void small_elf_hide_frame(char *elf) {
        static const unsigned char no_caller[] = { 0x07, SMALL_ELF_RETURN };
        const size_t work = SMALL_ELF_FRAMES_AT + 24, other = work + 2 * 28;
        const size_t end = small_elf_function(elf, other, SMALL_ELF_WORK,
                                              SMALL_ELF_START - SMALL_ELF_WORK, "", 0);

        memcpy(elf + work + 17, no_caller, sizeof(no_caller));
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 16, (uint32_t) other - SMALL_ELF_HEADER_AT);
        small_elf_word(elf, SMALL_ELF_SECTIONS_AT + 3 * sizeof(Elf64_Shdr) + 32,
                       (uint32_t) (end + 4 - SMALL_ELF_FRAMES_AT));
}

/* "start" has no call frame information. */
static inline void small_elf_forget_start(char *elf) {
        small_elf_word(elf, SMALL_ELF_HEADER_AT + 8, 1);
        small_elf_word(elf, SMALL_ELF_FRAMES_AT + 24 + 28, 0);
}

/* Section @number has its @n bytes at another place. */
static inline void small_elf_move(char *elf, unsigned number, uint64_t at, uint64_t n) {
        char *header = elf + SMALL_ELF_SECTIONS_AT + number * sizeof(Elf64_Shdr);

        memcpy(header + offsetof(Elf64_Shdr, sh_offset), &at, sizeof(at));
        memcpy(header + offsetof(Elf64_Shdr, sh_size), &n, sizeof(n));
}

/* Behind it are @n bytes, which are said to be functions that were compressed. */
static inline void small_elf_pack(char *elf, uint64_t n) {
        const Elf64_Shdr section = { .sh_name = 92, .sh_type = SHT_PROGBITS, .sh_addralign = 1 };
        const uint16_t n_sections = 8;

        memcpy(elf + SMALL_ELF_SECTIONS_AT + 7 * sizeof(section), &section, sizeof(section));
        memcpy(elf + offsetof(Elf64_Ehdr, e_shnum), &n_sections, sizeof(n_sections));
        small_elf_move(elf, 7, SMALL_ELF_BYTES, n);
}

/* The section of symbols is none any more. */
static inline void small_elf_strip(char *elf) {
        small_elf_word(elf, SMALL_ELF_SECTIONS_AT + sizeof(Elf64_Shdr) + 4, SHT_PROGBITS);
}
