/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-code.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/macro.h"

_Static_assert(ENOENT == 2, "the code below returns it");

/* instructions */

bool heap_code_knows(uint16_t machine) {
        return machine == EM_X86_64 || machine == EM_AARCH64;
}

static uint32_t word_at(Span code, size_t at) {
        uint32_t word;

        memcpy(&word, code.bytes + at, sizeof(word));
        return le32toh(word);
}

#define X86_RDI 7

/*
 * x86_64, whose first argument is in rdi: "mov register, [rdi + number]"; "lea register, [rdi +
 * number]" or "add rdi, number". The number has one byte or four.
 */
static bool x86_take(Span code, bool is_load, uint64_t *ret) {
        uint8_t rex, opcode, modrm;
        bool is_short;
        int64_t number;

        if (code.n < 4)
                return false;
        rex = (uint8_t) code.bytes[0];
        opcode = (uint8_t) code.bytes[1];
        modrm = (uint8_t) code.bytes[2];
        if ((rex & 0xf9) == 0x48 && opcode == (is_load ? 0x8b : 0x8d) && (modrm & 7) == X86_RDI &&
            (modrm >> 6 == 1 || modrm >> 6 == 2))
                is_short = modrm >> 6 == 1;
        else if (!is_load && rex == 0x48 && modrm == (0xc0 | X86_RDI) &&
                 (opcode == 0x83 || opcode == 0x81))
                is_short = opcode == 0x83;
        else
                return false;
        if (!is_short && code.n < 7)
                return false;
        number = is_short ? (int8_t) code.bytes[3] : (int32_t) word_at(code, 3);
        *ret = (uint64_t) number;
        return number > 0;
}

/*
 * aarch64: "ldr register, [base, #number * 8]"; "add register, base, #number", perhaps shifted left
 * by 12. The first argument is in x0, from where it may be moved: the result belongs there.
 */
static bool arm_take(uint32_t word, bool is_load, unsigned *ret_base, uint64_t *ret) {
        uint64_t number = word >> 10 & 0xfff;

        *ret_base = word >> 5 & 31;
        *ret = is_load ? number * 8 : number << (word >> 22 & 1 ? 12 : 0);
        return number > 0 && (is_load ? (word & UINT32_C(0xffc00000)) == UINT32_C(0xf9400000)
                                      : (word & UINT32_C(0xff800000)) == UINT32_C(0x91000000));
}

bool heap_code_find(uint16_t machine, Span code, bool is_load, uint64_t *ret) {
        size_t step = machine == EM_X86_64 ? 1 : 4;
        uint32_t holders = 1u << 0; /* aarch64: the registers that had the argument */

        if (!heap_code_knows(machine))
                return false;
        for (; code.n >= step; code = (Span){ code.bytes + step, code.n - step }) {
                unsigned base;
                uint32_t word;

                if (machine == EM_X86_64) {
                        if (x86_take(code, is_load, ret))
                                return true;
                        continue;
                }
                word = word_at(code, 0);
                if (arm_take(word, is_load, &base, ret) && holders >> base & 1)
                        return true;
                /* mov register, register */
                if ((word & UINT32_C(0xffe0ffe0)) == UINT32_C(0xaa0003e0) &&
                    holders >> (word >> 16 & 31) & 1)
                        holders |= 1u << (word & 31);
        }
        return false;
}

/* For tables: a literal with NULs in it. */
#define SPAN_BYTES(text) \
        { (text), sizeof(text) - 1 }

/* Compilers make these of "if (!config_stats) return ENOENT;", optimizing or not. */
static const struct {
        uint16_t machine;
        bool is_start; /* the function is nothing else */
        Span code;
} refusals[] = {
        /* mov eax, ENOENT; ret; the same where branches are protected: endbr64 */
        { EM_X86_64, true, SPAN_BYTES("\xb8\x02\0\0\0\xc3") },
        { EM_X86_64, true, SPAN_BYTES("\xf3\x0f\x1e\xfa\xb8\x02\0\0\0\xc3") },
        /* gcc -O0: mov eax, 0; xor eax, 1; test al, al */
        { EM_X86_64, false, SPAN_BYTES("\xb8\0\0\0\0\x83\xf0\x01\x84\xc0") },
        /* clang -O0: mov dword [rbp - 4], ENOENT; mov eax, [rbp - 4]; pop rbp; ret */
        { EM_X86_64, false, SPAN_BYTES("\xc7\x45\xfc\x02\0\0\0\x8b\x45\xfc\x5d\xc3") },
        /* mov w0, ENOENT; ret; the same where branches are protected: bti c */
        { EM_AARCH64, true, SPAN_BYTES("\x40\0\x80\x52\xc0\x03\x5f\xd6") },
        { EM_AARCH64, true, SPAN_BYTES("\x5f\x24\x03\xd5\x40\0\x80\x52\xc0\x03\x5f\xd6") },
        /* gcc -O0: mov w0, 0; eor w0, w0, 1; and w0, w0, 0xff */
        { EM_AARCH64, false, SPAN_BYTES("\0\0\x80\x52\0\0\0\x52\0\x1c\0\x12") },
};

bool heap_code_is_refusal(uint16_t machine, Span code) {
        for (size_t i = 0; i < ELEMENTSOF(refusals); i++) {
                size_t n = refusals[i].is_start ? MIN_OF(code.n, refusals[i].code.n) : code.n;

                if (refusals[i].machine == machine &&
                    memmem(code.bytes, n, refusals[i].code.bytes, refusals[i].code.n))
                        return true;
        }
        return false;
}

/* the table */

#define HEAP_FUNCTIONS 4 /* of a table: number 0 and 2 load a counter, those behind its address */
#define TABLES_MAX 8     /* more are not looked at */

/* As the linker laid "struct ctl_named_node_s" out, on every 64-bit machine. */
typedef struct HeapRecord {
        uint64_t is_named; /* a bool, and padding */
        uint64_t name;
        uint64_t n_children;
        uint64_t children;
        uint64_t function;
} HeapRecord;

static const Span names[HEAP_FUNCTIONS] = {
        { "allocated", sizeof("allocated") },
        { "allocatedp", sizeof("allocatedp") },
        { "deallocated", sizeof("deallocated") },
        { "deallocatedp", sizeof("deallocatedp") },
};

/* The last of the four names is the rarest, so the others are looked up from where it is. */
#define LAST_NAME (HEAP_FUNCTIONS - 1)
#define LAST_NAME_BYTES (LAST_NAME * sizeof(HeapRecord) + offsetof(HeapRecord, name))
#define MARKERS_MAX 64

/* Four records at an address, their words as they are once the module is loaded. */
typedef struct Candidate {
        uint64_t vaddr;
        union {
                HeapRecord records[HEAP_FUNCTIONS];
                uint64_t words[HEAP_FUNCTIONS * sizeof(HeapRecord) / sizeof(uint64_t)];
        };
        bool is_foreign; /* a word of it comes from elsewhere */
} Candidate;

typedef struct TableSearch {
        unsigned n_markers;
        uint64_t markers[MARKERS_MAX];
        uint64_t lowest, highest;
        unsigned n;
        Candidate of[TABLES_MAX];
} TableSearch;

static void find_markers(ElfFile *elf, TableSearch *search, HeapCode *code) {
        search->lowest = UINT64_MAX;
        for (unsigned i = 0; i < elf->n_loads; i++) {
                uint64_t at = 0, vaddr;

                while (!(elf->loads[i].p_flags & PF_W) &&
                       elf_file_search(elf, &elf->loads[i], names[LAST_NAME], &at, &vaddr)) {
                        char before = '\0';

                        if (search->n_markers == MARKERS_MAX)
                                return;
                        (void) elf_file_read_vaddr(elf, vaddr - 1, &before, 1);
                        code->has_end_of_name |= before == '.';
                        code->has_name |= before != '.';
                        search->lowest = MIN_OF(search->lowest, vaddr);
                        search->highest = MAX_OF(search->highest, vaddr);
                        search->markers[search->n_markers++] = vaddr;
                }
        }
}

/* The word at @vaddr is @word, or will be: a candidate is found where that points at a marker. */
static void add_candidate(TableSearch *search, uint64_t vaddr, uint64_t word) {
        if (word < search->lowest || word > search->highest || vaddr < LAST_NAME_BYTES ||
            vaddr % sizeof(uint64_t) != 0)
                return;
        for (unsigned i = 0; i < search->n_markers && search->n < TABLES_MAX; i++)
                if (search->markers[i] == word) {
                        search->of[search->n++] = (Candidate){ .vaddr = vaddr - LAST_NAME_BYTES };
                        return;
                }
}

/* A program that stays where it is has its tables in segments that are not written. */
static void find_in_place(ElfFile *elf, TableSearch *search) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                const Elf64_Phdr *load = &elf->loads[i];
                uint64_t at = load->p_offset + (-load->p_vaddr) % sizeof(uint64_t), word;
                uint64_t end = load->p_offset + load->p_filesz;
                Span view;

                while ((elf->type != ET_DYN || (load->p_flags & PF_W)) &&
                       elf_file_view(elf, at, end, sizeof(word), &view))
                        for (; view.n >= sizeof(word); at += sizeof(word)) {
                                memcpy(&word, view.bytes, sizeof(word));
                                add_candidate(search, at - load->p_offset + load->p_vaddr, word);
                                view = (Span){ view.bytes + sizeof(word), view.n - sizeof(word) };
                        }
        }
}

/* The words of the candidates, as they are in the file and as relocations make them. */
static void read_words(ElfFile *elf, ElfRelocations relocations, TableSearch *search) {
        ElfRelocation relocation;

        for (unsigned i = 0; i < search->n; i++) {
                Candidate *candidate = &search->of[i];

                candidate->is_foreign = !elf_file_read_vaddr(
                        elf, candidate->vaddr, candidate->words, sizeof(candidate->words));
        }
        while (elf_relocations_next(elf, &relocations, &relocation))
                for (unsigned i = 0; i < search->n; i++) {
                        Candidate *candidate = &search->of[i];
                        uint64_t distance = relocation.vaddr - candidate->vaddr;

                        if (distance >= sizeof(candidate->words))
                                continue;
                        if (relocation.kind == ELF_RELOCATION_RELATIVE &&
                            distance % sizeof(uint64_t) == 0)
                                candidate->words[distance / sizeof(uint64_t)] =
                                        (uint64_t) relocation.addend;
                        else
                                candidate->is_foreign = true;
                }
}

static bool is_table(ElfFile *elf, const Candidate *candidate) {
        for (unsigned i = 0; i < HEAP_FUNCTIONS; i++) {
                const HeapRecord *record = &candidate->records[i];
                char name[sizeof("deallocatedp")];

                if (candidate->is_foreign || (record->is_named & 0xff) != 1 ||
                    record->n_children != 0 || record->children != 0 ||
                    !elf_file_read_vaddr(elf, record->name, name, names[i].n) ||
                    memcmp(name, names[i].bytes, names[i].n) != 0)
                        return false;
        }
        return true;
}

/* offsets */

bool heap_offsets_are_possible(uint64_t allocated, uint64_t deallocated, uint64_t n_block) {
        uint64_t distance = deallocated - allocated;

        return (distance == 8 || distance == 16) && allocated % 8 == 0 && deallocated > allocated &&
               n_block >= 8 && deallocated <= n_block - 8;
}

/* Takes what the functions of a table say, which is nothing unless all four agree. */
static void add_table(ElfFile *elf, const Candidate *candidate, HeapCode *code) {
        unsigned n_offsets = 0, n_refusals = 0;
        uint64_t at[HEAP_FUNCTIONS];

        code->has_table = true;
        for (unsigned i = 0; i < HEAP_FUNCTIONS; i++) {
                char bytes[HEAP_CODE_BYTES];
                size_t n = sizeof(bytes);

                /* If the segment ends earlier, its largest half, quarter and so on will do. */
                while (n > 0 && !elf_file_read_vaddr(elf, candidate->records[i].function, bytes, n))
                        n /= 2;
                n_refusals += heap_code_is_refusal(elf->machine, (Span){ bytes, n });
                n_offsets += heap_code_find(elf->machine, (Span){ bytes, n }, i % 2 == 0, &at[i]);
        }
        if (n_refusals == HEAP_FUNCTIONS)
                code->is_disabled = true;
        else if (n_offsets != HEAP_FUNCTIONS || at[0] != at[1] || at[2] != at[3] ||
                 !heap_offsets_are_possible(at[0], at[2], elf->tls.p_memsz))
                return;
        else if (!code->offsets.is_known)
                code->offsets = (HeapOffsets){ true, at[0], at[2] };
        else
                code->is_conflict |=
                        at[0] != code->offsets.allocated || at[2] != code->offsets.deallocated;
}

void heap_code_read(ElfFile *elf, const ElfDynamic *dynamic, HeapCode *ret,
                    ElfRelocations *ret_relocations) {
        ElfRelocations relocations;
        ElfRelocation relocation;
        TableSearch search = {};

        *ret = (HeapCode){};
        find_markers(elf, &search, ret);
        if (search.n_markers == 0)
                return;
        elf_relocations_find(elf, dynamic, ret_relocations);
        relocations = *ret_relocations;
        while (elf_relocations_next(elf, &relocations, &relocation))
                if (relocation.kind == ELF_RELOCATION_RELATIVE)
                        add_candidate(&search, relocation.vaddr, (uint64_t) relocation.addend);
        if (search.n == 0)
                find_in_place(elf, &search);
        if (search.n > 0)
                read_words(elf, *ret_relocations, &search);
        for (unsigned i = 0; i < search.n; i++)
                if (is_table(elf, &search.of[i]))
                        add_table(elf, &search.of[i], ret);
}
