/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-table.h"

#include <elf.h>
#include <string.h>

#include "base/span.h"

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

/* Where the last of the four names is: the rarest of them, so the others are looked up from it. */
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

/* names */

static int take_marker(ElfFile *elf, uint64_t vaddr, Markers *markers, HeapTables *tables) {
        char before = '\0';
        int r = elf_file_read_vaddr(elf, vaddr - 1, &before, 1);

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
        return 0;
}

static int find_markers(ElfFile *elf, Markers *markers, HeapTables *tables) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                ElfSearch search;
                uint64_t vaddr;
                int r;

                if (elf->loads[i].flags & PF_W)
                        continue;
                elf_search_init(&search, elf, &elf->loads[i], names[HEAP_FUNCTION_DEALLOCATEDP]);
                while ((r = elf_search_next(&search, &vaddr)) == 0) {
                        if (markers->n == MARKERS_MAX)
                                return 0;
                        r = take_marker(elf, vaddr, markers, tables);
                        if (r != 0)
                                return r;
                }
                if (r != ELF_FILE_E_END)
                        return r;
        }
        return 0;
}

static bool is_marker(const Markers *markers, uint64_t vaddr) {
        if (vaddr < markers->lowest || vaddr > markers->highest)
                return false;
        for (unsigned i = 0; i < markers->n; i++)
                if (markers->vaddr[i] == vaddr)
                        return true;
        return false;
}

/* candidates */

/* @vaddr: of a word that points at a marker. */
static void add_candidate(Candidates *candidates, uint64_t vaddr) {
        if (vaddr < LAST_NAME_BYTES || vaddr % sizeof(uint64_t) != 0 ||
            candidates->n == ELEMENTSOF(candidates->of))
                return;
        candidates->of[candidates->n++] = (Candidate){ .vaddr = vaddr - LAST_NAME_BYTES };
}

static int find_relocated(ElfFile *elf, const ElfDynamic *dynamic, const Markers *markers,
                          Candidates *candidates) {
        ElfRelocations relocations;
        ElfRelocation relocation;
        int r = elf_relocations_init(&relocations, elf, dynamic);

        if (r != 0)
                return r;
        while ((r = elf_relocations_next(&relocations, &relocation)) == 0)
                if (relocation.kind == ELF_RELOCATION_RELATIVE &&
                    is_marker(markers, (uint64_t) relocation.addend))
                        add_candidate(candidates, relocation.vaddr);
        return r == ELF_FILE_E_END ? 0 : r;
}

static int find_in_segment(ElfFile *elf, const ElfSegment *load, const Markers *markers,
                           Candidates *candidates) {
        uint64_t at = load->offset + (-load->vaddr) % sizeof(uint64_t);
        uint64_t end = load->offset + load->file_bytes;

        for (;;) {
                size_t n = 0;
                Span view;
                int r = elf_file_view(elf, at, end, sizeof(uint64_t), &view);

                if (r != 0)
                        return r == ELF_FILE_E_END ? 0 : r;
                for (; view.n - n >= sizeof(uint64_t); n += sizeof(uint64_t)) {
                        uint64_t word;

                        memcpy(&word, view.bytes + n, sizeof(word));
                        if (is_marker(markers, word))
                                add_candidate(candidates, at + n - load->offset + load->vaddr);
                }
                at += n;
        }
}

/* A program that stays where it is has its tables in segments that are not written. */
static int find_in_place(ElfFile *elf, const Markers *markers, Candidates *candidates) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                const ElfSegment *load = &elf->loads[i];
                int r;

                if (elf->type == ET_DYN && !(load->flags & PF_W))
                        continue;
                r = find_in_segment(elf, load, markers, candidates);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* words */

static int read_words(ElfFile *elf, Candidates *candidates) {
        for (unsigned i = 0; i < candidates->n; i++) {
                Candidate *candidate = &candidates->of[i];
                int r = elf_file_read_vaddr(elf, candidate->vaddr, candidate->words,
                                            sizeof(candidate->words));

                if (r == ELF_FILE_E_UNMAPPED)
                        candidate->is_foreign = true;
                else if (r != 0)
                        return r;
        }
        return 0;
}

static int relocate_words(ElfFile *elf, const ElfDynamic *dynamic, Candidates *candidates) {
        ElfRelocations relocations;
        ElfRelocation relocation;
        int r = elf_relocations_init(&relocations, elf, dynamic);

        if (r != 0)
                return r;
        while ((r = elf_relocations_next(&relocations, &relocation)) == 0)
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

static int take_tables(ElfFile *elf, const Candidates *candidates, HeapTables *tables) {
        for (unsigned i = 0; i < candidates->n; i++) {
                HeapTable *table = &tables->of[tables->n];
                bool is_one;
                int r = is_table(elf, &candidates->of[i], &is_one);

                if (r != 0)
                        return r;
                if (!is_one)
                        continue;
                for (unsigned j = 0; j < _HEAP_FUNCTION_MAX; j++)
                        table->functions[j] = candidates->of[i].records[j].function;
                tables->n++;
        }
        return 0;
}

int heap_tables_find(ElfFile *elf, const ElfDynamic *dynamic, HeapTables *ret) {
        Candidates candidates = {};
        HeapTables tables = {};
        Markers markers = {};
        int r = find_markers(elf, &markers, &tables);

        if (r == 0 && markers.n > 0)
                r = find_relocated(elf, dynamic, &markers, &candidates);
        if (r == 0 && markers.n > 0 && candidates.n == 0)
                r = find_in_place(elf, &markers, &candidates);
        if (r == 0)
                r = read_words(elf, &candidates);
        if (r == 0 && candidates.n > 0)
                r = relocate_words(elf, dynamic, &candidates);
        if (r == 0)
                r = take_tables(elf, &candidates, &tables);
        if (r != 0)
                return r;
        *ret = tables;
        return 0;
}
