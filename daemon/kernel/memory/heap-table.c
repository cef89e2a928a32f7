/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-table.h"

#include <string.h>

/* As the linker laid "struct ctl_named_node_s" out, on every 64-bit machine. */
typedef struct HeapRecord {
        uint64_t is_named; /* a bool, and padding */
        uint64_t name;
        uint64_t n_children;
        uint64_t children;
        uint64_t function;
} HeapRecord;

#define RECORD_WORDS (sizeof(HeapRecord) / sizeof(uint64_t))
#define LAST_NAME_BYTES (3 * sizeof(HeapRecord) + offsetof(HeapRecord, name))

/* The last of the four names is the rarest, so the others are looked up from where it is. */
#define MARKERS_MAX 64

typedef struct Markers {
        unsigned n;
        uint64_t vaddr[MARKERS_MAX];
        uint64_t lowest, highest;
} Markers;

/* Four records at an address, their words as they are once the module is loaded. */
typedef struct Candidate {
        uint64_t vaddr;
        union {
                HeapRecord records[_HEAP_FUNCTION_MAX];
                uint64_t words[_HEAP_FUNCTION_MAX * RECORD_WORDS];
        };
        bool is_foreign; /* a word of it comes from elsewhere */
} Candidate;

typedef struct Candidates {
        unsigned n;
        Candidate of[HEAP_TABLES_MAX];
} Candidates;

static const Span names[_HEAP_FUNCTION_MAX] = {
        [HEAP_FUNCTION_ALLOCATED] = { "allocated", sizeof("allocated") },
        [HEAP_FUNCTION_ALLOCATEDP] = { "allocatedp", sizeof("allocatedp") },
        [HEAP_FUNCTION_DEALLOCATED] = { "deallocated", sizeof("deallocated") },
        [HEAP_FUNCTION_DEALLOCATEDP] = { "deallocatedp", sizeof("deallocatedp") },
};

static int find_markers(ElfFile *elf, Markers *markers, HeapTables *tables) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                uint64_t at = 0, vaddr;
                int r = ELF_FILE_E_END;

                while (!(elf->loads[i].p_flags & PF_W) &&
                       (r = elf_file_search(elf, &elf->loads[i], names[HEAP_FUNCTION_DEALLOCATEDP],
                                            &at, &vaddr)) == 0) {
                        char before = '\0';

                        if (markers->n == MARKERS_MAX)
                                return 0;
                        r = elf_file_read_vaddr(elf, vaddr - 1, &before, 1);
                        if (r != 0 && r != ELF_FILE_E_UNMAPPED)
                                return r;
                        if (before == '.')
                                tables->has_end_of_name = true;
                        else
                                tables->has_name = true;
                        if (markers->n == 0 || vaddr < markers->lowest)
                                markers->lowest = vaddr;
                        if (markers->n == 0 || vaddr > markers->highest)
                                markers->highest = vaddr;
                        markers->vaddr[markers->n++] = vaddr;
                }
                if (r != ELF_FILE_E_END)
                        return r;
        }
        return 0;
}

/* The word at @vaddr is @word, or will be: a candidate is found where that points at a marker. */
static void add_candidate(Candidates *candidates, const Markers *markers, uint64_t vaddr,
                          uint64_t word) {
        if (word < markers->lowest || word > markers->highest || vaddr < LAST_NAME_BYTES ||
            vaddr % sizeof(uint64_t) != 0)
                return;
        for (unsigned i = 0; i < markers->n && candidates->n < ELEMENTSOF(candidates->of); i++)
                if (markers->vaddr[i] == word) {
                        candidates->of[candidates->n++] =
                                (Candidate){ .vaddr = vaddr - LAST_NAME_BYTES };
                        return;
                }
}

/* A program that stays where it is has its tables in segments that are not written. */
static int find_in_place(ElfFile *elf, const Markers *markers, Candidates *candidates) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                const Elf64_Phdr *load = &elf->loads[i];
                uint64_t at = load->p_offset + (-load->p_vaddr) % sizeof(uint64_t);
                uint64_t end = load->p_offset + load->p_filesz;

                while (elf->type != ET_DYN || (load->p_flags & PF_W)) {
                        size_t n = 0;
                        Span view;
                        int r = elf_file_view(elf, at, end, sizeof(uint64_t), &view);

                        if (r == ELF_FILE_E_END)
                                break;
                        if (r != 0)
                                return r;
                        for (; view.n - n >= sizeof(uint64_t); n += sizeof(uint64_t)) {
                                uint64_t word;

                                memcpy(&word, view.bytes + n, sizeof(word));
                                add_candidate(candidates, markers,
                                              at + n - load->p_offset + load->p_vaddr, word);
                        }
                        at += n;
                }
        }
        return 0;
}

static int read_words(ElfFile *elf, ElfRelocations relocations, Candidates *candidates) {
        ElfRelocation relocation;
        int r;

        for (unsigned i = 0; i < candidates->n; i++) {
                Candidate *candidate = &candidates->of[i];

                r = elf_file_read_vaddr(elf, candidate->vaddr, candidate->words,
                                        sizeof(candidate->words));
                if (r == ELF_FILE_E_UNMAPPED)
                        candidate->is_foreign = true;
                else if (r != 0)
                        return r;
        }
        while ((r = elf_relocations_next(elf, &relocations, &relocation)) == 0)
                for (unsigned i = 0; i < candidates->n; i++) {
                        Candidate *candidate = &candidates->of[i];
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
        return r == ELF_FILE_E_END ? 0 : r;
}

/* 0 and whether it is; or as elf_file_read(). */
static int is_table(ElfFile *elf, const Candidate *candidate, bool *ret) {
        *ret = false;
        if (candidate->is_foreign)
                return 0;
        for (unsigned i = 0; i < _HEAP_FUNCTION_MAX; i++) {
                const HeapRecord *record = &candidate->records[i];
                char name[sizeof("deallocatedp")];
                int r;

                if ((record->is_named & 0xff) != 1 || record->n_children != 0 ||
                    record->children != 0)
                        return 0;
                r = elf_file_read_vaddr(elf, record->name, name, names[i].n);
                if (r == ELF_FILE_E_UNMAPPED ||
                    (r == 0 && memcmp(name, names[i].bytes, names[i].n) != 0))
                        return 0;
                if (r != 0)
                        return r;
        }
        *ret = true;
        return 0;
}

int heap_tables_find(ElfFile *elf, const ElfDynamic *dynamic, HeapTables *ret,
                     ElfRelocations *ret_relocations) {
        Candidates candidates = {};
        HeapTables tables = {};
        Markers markers = {};
        int r = find_markers(elf, &markers, &tables);

        if (r == 0 && markers.n > 0)
                r = elf_relocations_find(elf, dynamic, ret_relocations);
        if (r == 0 && markers.n > 0) {
                ElfRelocations relocations = *ret_relocations;
                ElfRelocation relocation;

                while ((r = elf_relocations_next(elf, &relocations, &relocation)) == 0)
                        if (relocation.kind == ELF_RELOCATION_RELATIVE)
                                add_candidate(&candidates, &markers, relocation.vaddr,
                                              (uint64_t) relocation.addend);
                if (r == ELF_FILE_E_END)
                        r = 0;
        }
        if (r == 0 && markers.n > 0 && candidates.n == 0)
                r = find_in_place(elf, &markers, &candidates);
        if (r == 0 && candidates.n > 0)
                r = read_words(elf, *ret_relocations, &candidates);
        for (unsigned i = 0; r == 0 && i < candidates.n; i++) {
                bool is_one;

                r = is_table(elf, &candidates.of[i], &is_one);
                for (unsigned j = 0; r == 0 && is_one && j < _HEAP_FUNCTION_MAX; j++)
                        tables.functions[tables.n][j] = candidates.of[i].records[j].function;
                tables.n += r == 0 && is_one;
        }
        if (r != 0)
                return r;
        *ret = tables;
        return 0;
}
