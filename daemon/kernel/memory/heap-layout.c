/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/memory/elf-file.h"
#include "kernel/memory/heap-code.h"
#include "kernel/memory/heap-table.h"

/* struct tsd_s of every version is larger, and all of it is initialized: few files have as much. */
#define TSD_BYTES_MIN 512
/* Before the counters, in any version. */
#define TSD_HEAD_BYTES_MAX 4096

#define WORD sizeof(uint64_t)
#define IMAGE_BYTES_MAX (16u << 20) /* a longer one is ELF_FILE_E_TOO_MUCH */

/* Two different places of a kind tell as little as none: nothing says which one it is. */
typedef struct Found {
        unsigned n;  /* 0, 1, or 2 for more */
        uint64_t at; /* the first */
} Found;

static void found_add(Found *found, uint64_t at) {
        if (found->n == 0)
                *found = (Found){ 1, at };
        else if (found->at != at)
                found->n = 2;
}

/* The offsets of the counters from the start of struct tsd_s, by the code of the functions. */
typedef struct Offsets {
        bool is_known;
        bool is_conflict; /* two tables, two answers */
        bool is_disabled;
        uint64_t allocated;
        uint64_t deallocated;
} Offsets;

/* All that a file tells, before its parts are held against each other. */
typedef struct Evidence {
        ElfFile *elf;
        bool is_program;
        ElfRelocations relocations;
        HeapTables tables;
        char *image; /* owned: what a thread-local block of the module begins as */
        size_t n_image;
        Offsets code;
        Found counters; /* the first of them, by the image */
        Found symbols;  /* the struct, by its name */
} Evidence;

/*
 * the image
 *
 * The initial image of the thread-local block has jemalloc's struct tsd_s in it. The struct begins
 * with a state or has it right before the counters, and no thread has that state and a cache
 * without entries except by this image. Places are bytes from the start of the block.
 */

#define CACHE_ENTRIES 24 /* of the radix tree, each {1, 0} in the image */
#define CACHE_BYTES (CACHE_ENTRIES * 2 * WORD)
#define COUNTERS_BYTES (CACHE_BYTES + 4 * WORD) /* state, allocated, another, deallocated */

/* The struct of 5.0 to 5.2 is so long at least; within it five words may be all ones. */
#define OLD_BYTES 4000
#define OLD_ONES_AT 456
#define OLD_ONES_BYTES 40

/* The block goes on with 0 behind the end of the image. */
static uint64_t word_at(const Evidence *evidence, uint64_t at) {
        uint64_t word = 0;

        if (at <= evidence->n_image && evidence->n_image - at >= sizeof(word))
                memcpy(&word, evidence->image + at, sizeof(word));
        return word;
}

/* tsd_state_uninitialized, as the versions number it. */
static bool is_state(uint64_t word) {
        return word == 5 || word == 6;
}

/* 5.3 and later: an empty cache, the state, and two counters, 16 bytes from each other. */
static bool has_counters(const Evidence *evidence, uint64_t at) {
        for (uint64_t i = at; i < at + CACHE_BYTES; i += 2 * WORD)
                if (word_at(evidence, i) != 1 || word_at(evidence, i + WORD) != 0)
                        return false;
        at += CACHE_BYTES;
        return is_state(word_at(evidence, at)) && word_at(evidence, at + WORD) == 0 &&
               word_at(evidence, at + 3 * WORD) == 0;
}

/* 5.0 to 5.2: the state at the start of the struct, and 4 KB of 0 behind it. */
static bool has_old_struct(const Evidence *evidence, uint64_t at) {
        if (!is_state(word_at(evidence, at)))
                return false;
        for (uint64_t i = WORD; i < OLD_BYTES; i += WORD)
                if (word_at(evidence, at + i) != 0 &&
                    (i < OLD_ONES_AT || i >= OLD_ONES_AT + OLD_ONES_BYTES))
                        return false;
        return true;
}

static Found find_in_image(const Evidence *evidence, size_t n,
                           bool (*has)(const Evidence *evidence, uint64_t at)) {
        Found found = {};

        for (uint64_t at = 0; at + n <= evidence->n_image && found.n < 2; at += WORD)
                if (has(evidence, at))
                        found_add(&found, at);
        return found;
}

/*
 * True when a struct at @tsd has its state where every known version has it: right before the
 * counter at @allocated from its start, or one word farther.
 */
static bool has_state(const Evidence *evidence, uint64_t tsd, uint64_t allocated) {
        return (allocated >= WORD && is_state(word_at(evidence, tsd + allocated - WORD))) ||
               (allocated >= 2 * WORD && is_state(word_at(evidence, tsd + allocated - 2 * WORD)));
}

/* No thread starts with something on its account. */
static bool are_zero(const Evidence *evidence, uint64_t allocated, uint64_t deallocated) {
        return word_at(evidence, allocated) == 0 && word_at(evidence, deallocated) == 0;
}

/* code */

static bool are_offsets(uint64_t allocated, uint64_t deallocated, uint64_t n_block) {
        uint64_t distance = deallocated - allocated;

        return (distance == 8 || distance == 16) && allocated % 8 == 0 && deallocated > allocated &&
               n_block >= 8 && deallocated <= n_block - 8;
}

/* Reads what the functions of one table say, which is nothing unless all four agree. */
static int read_table(ElfFile *elf, const uint64_t functions[static _HEAP_FUNCTION_MAX],
                      Offsets *ret) {
        uint64_t offsets[_HEAP_FUNCTION_MAX];
        unsigned n_offsets = 0, n_refusals = 0;
        Offsets code = {};

        for (unsigned i = 0; i < _HEAP_FUNCTION_MAX; i++) {
                bool is_load = i == HEAP_FUNCTION_ALLOCATED || i == HEAP_FUNCTION_DEALLOCATED;
                char bytes[HEAP_CODE_BYTES];
                size_t n = sizeof(bytes);
                int r;

                /* If the segment ends earlier, its largest half, quarter and so on will do. */
                while ((r = elf_file_read_vaddr(elf, functions[i], bytes, n)) ==
                               ELF_FILE_E_UNMAPPED &&
                       n > 1)
                        n /= 2;
                if (r == ELF_FILE_E_UNMAPPED)
                        continue;
                if (r != 0)
                        return r;
                n_refusals += heap_code_is_refusal(elf->machine, (Span){ bytes, n });
                n_offsets += (is_load ? heap_code_find_load : heap_code_find_address)(
                        elf->machine, (Span){ bytes, n }, &offsets[i]);
        }
        code.is_disabled = n_refusals == _HEAP_FUNCTION_MAX;
        if (!code.is_disabled && n_offsets == _HEAP_FUNCTION_MAX &&
            offsets[HEAP_FUNCTION_ALLOCATED] == offsets[HEAP_FUNCTION_ALLOCATEDP] &&
            offsets[HEAP_FUNCTION_DEALLOCATED] == offsets[HEAP_FUNCTION_DEALLOCATEDP]) {
                code.allocated = offsets[HEAP_FUNCTION_ALLOCATED];
                code.deallocated = offsets[HEAP_FUNCTION_DEALLOCATED];
                code.is_known = are_offsets(code.allocated, code.deallocated, elf->tls.p_memsz);
        }
        *ret = code;
        return 0;
}

static int read_tables(Evidence *evidence) {
        Offsets code = {};

        for (unsigned i = 0; i < evidence->tables.n; i++) {
                Offsets one;
                int r = read_table(evidence->elf, evidence->tables.functions[i], &one);

                if (r != 0)
                        return r;
                if (!one.is_known) {
                        code.is_disabled |= one.is_disabled;
                } else if (!code.is_known) {
                        one.is_disabled = code.is_disabled;
                        code = one;
                } else {
                        code.is_conflict |= one.allocated != code.allocated ||
                                            one.deallocated != code.deallocated;
                }
        }
        evidence->code = code;
        return 0;
}

/* names */

/* A symbol of the struct is "tsd_tls", perhaps behind a prefix. */
static int find_symbols(Evidence *evidence, uint32_t section_type) {
        static const char suffix[] = "_tsd_tls";
        ElfFile *elf = evidence->elf;
        ElfSymbols symbols;
        Elf64_Sym symbol;
        int r = elf_symbols_find(elf, section_type, &symbols);

        while (r == 0 && (r = elf_symbols_next(elf, &symbols, &symbol)) == 0) {
                char name[128];
                size_t n;

                if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF)
                        continue;
                r = elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name));
                if (r == ELF_FILE_E_END) {
                        r = 0;
                        continue;
                }
                if (r != 0)
                        return r;
                n = strlen(name);
                if (strcmp(name, suffix + 1) == 0 ||
                    (n > strlen(suffix) && strcmp(name + n - strlen(suffix), suffix) == 0))
                        found_add(&evidence->symbols, symbol.st_value);
        }
        return r == ELF_FILE_E_END ? 0 : r;
}

/*
 * The version that jemalloc says it is gives the offsets where nothing better does: in a build
 * without optimization of 5.0 to 5.2. Snapshots between releases have other offsets, which are not
 * known, and the number is never held against what code or image say.
 */
static const struct {
        const char *start;
        uint64_t allocated;
        uint64_t deallocated;
} versions[] = {
        { "5.0.", 8, 16 },
        { "5.1.", 16, 24 },
        { "5.2.", 16, 24 },
};

static int find_version(ElfFile *elf, const Elf64_Phdr *load, Span start, bool *is_named) {
        static const char none[] = "-0-g";
        uint64_t end = load->p_vaddr + load->p_filesz, at = 0, vaddr;
        int r;

        while ((r = elf_file_search(elf, load, start, &at, &vaddr)) == 0) {
                uint64_t rest = vaddr + start.n;
                char text[64] = {};
                size_t n = (size_t) MIN_OF(end - rest, (uint64_t) sizeof(text) - 1), n_digits;

                /* The text may be the last of its segment. */
                r = n > 0 ? elf_file_read_vaddr(elf, rest, text, n) : 0;
                if (r != 0 && r != ELF_FILE_E_UNMAPPED)
                        return r;
                /*
                 * "5.2." is followed by "1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756", and the
                 * end. The number in the middle counts the changes since the release.
                 */
                if (text[0] < '0' || text[0] > '9' || strncmp(text + 1, none, strlen(none)) != 0)
                        continue;
                n_digits = strspn(text + 1 + strlen(none), "0123456789abcdef");
                *is_named |= n_digits >= 7 && text[1 + strlen(none) + n_digits] == '\0';
        }
        return r == ELF_FILE_E_END ? 0 : r;
}

/* Known when exactly one release is named, and it is in the table. */
static int find_release(ElfFile *elf, Offsets *ret) {
        unsigned n = 0;

        *ret = (Offsets){};
        for (size_t i = 0; i < ELEMENTSOF(versions); i++) {
                bool is_named = false;

                for (unsigned j = 0; j < elf->n_loads; j++) {
                        int r = elf->loads[j].p_flags & PF_W
                                        ? 0
                                        : find_version(elf, &elf->loads[j],
                                                       span_of(versions[i].start), &is_named);

                        if (r != 0)
                                return r;
                }
                if (is_named)
                        *ret = (Offsets){
                                .is_known = ++n == 1,
                                .allocated = versions[i].allocated,
                                .deallocated = versions[i].deallocated,
                        };
        }
        return 0;
}

/* slots */

/* True when the loader has two words to write at @vaddr. */
static bool is_writable(const ElfFile *elf, uint64_t vaddr) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                const Elf64_Phdr *load = &elf->loads[i];

                if ((load->p_flags & PF_W) && vaddr % 8 == 0 && vaddr >= load->p_vaddr &&
                    vaddr - load->p_vaddr < load->p_memsz &&
                    load->p_memsz - (vaddr - load->p_vaddr) >= 16)
                        return true;
        }
        return false;
}

/*
 * The next of the words that the dynamic loader fills in for the module's own use of its
 * thread-local block. One whose relocation has a symbol may lead to the block of another module, so
 * it is left out. The addend is the variable's place in the block, but that of a DTPMOD means
 * nothing. As elf_relocations_next().
 */
static int next_slot(ElfFile *elf, ElfRelocations *relocations, ElfRelocation *ret) {
        int r;

        do
                r = elf_relocations_next(elf, relocations, ret);
        while (r == 0 && (ret->kind < ELF_RELOCATION_DTPMOD || ret->symbol != 0 ||
                          !is_writable(elf, ret->vaddr)));
        return r;
}

/* The slot that leads to the block in which the struct is: the most direct one. */
static int choose_slot(const Evidence *evidence, HeapLayout *layout, HeapVerdict *verdict) {
        static const HeapSlot kinds[_ELF_RELOCATION_MAX] = {
                [ELF_RELOCATION_DTPMOD] = HEAP_SLOT_DTPMOD,
                [ELF_RELOCATION_TLSDESC] = HEAP_SLOT_TLSDESC,
                [ELF_RELOCATION_TPOFF] = HEAP_SLOT_TPOFF,
        };
        ElfRelocations relocations = evidence->relocations;
        ElfRelocationKind best = ELF_RELOCATION_OTHER;
        bool has_slots = false;
        ElfRelocation slot;
        int r;

        while ((r = next_slot(evidence->elf, &relocations, &slot)) == 0) {
                has_slots = true;
                if (slot.kind <= best)
                        continue;
                /* The module itself comes to the struct through it. */
                if (slot.kind != ELF_RELOCATION_DTPMOD &&
                    (layout->tsd == HEAP_TSD_UNKNOWN
                             ? layout->allocated - (uint64_t) slot.addend > TSD_HEAD_BYTES_MAX
                             : layout->tsd != (uint64_t) slot.addend))
                        continue;
                best = slot.kind;
                layout->slot_kind = kinds[best];
                layout->slot_vaddr = slot.vaddr;
                layout->slot_addend = best == ELF_RELOCATION_DTPMOD ? 0 : slot.addend;
        }
        if (r != ELF_FILE_E_END)
                return r;
        if (best != ELF_RELOCATION_OTHER || evidence->is_program)
                *verdict = HEAP_READY;
        else
                *verdict = has_slots ? HEAP_LAYOUT_CONFLICT : HEAP_TLS_MODEL_UNSUPPORTED;
        return 0;
}

/* position */

/* The struct may be at @tsd: its counters are 0 in the image, and the state is in place. */
static void add_if_plausible(const Evidence *evidence, const Offsets *code, uint64_t tsd,
                             Found *found) {
        uint64_t n_block = evidence->elf->tls.p_memsz;

        if (tsd <= n_block && code->deallocated + 8 <= n_block - tsd &&
            has_state(evidence, tsd, code->allocated) &&
            are_zero(evidence, tsd + code->allocated, tsd + code->deallocated))
                found_add(found, tsd);
}

/*
 * Finds the struct when neither its name nor the image tells outright where it is. If all slots of
 * a library lead to one variable, that is jemalloc's; else the one that could be it must be the
 * only such. A program needs no slots, but the struct of 5.0 to 5.2 can be recognized.
 */
static int find_struct(const Evidence *evidence, const Offsets *code, Found *ret) {
        ElfRelocations relocations = evidence->relocations;
        Found plausible = {}, any = {};
        ElfRelocation slot;
        int r;

        if (evidence->is_program) {
                *ret = code->allocated <= 16 ? find_in_image(evidence, OLD_BYTES, has_old_struct)
                                             : any;
                return 0;
        }
        while ((r = next_slot(evidence->elf, &relocations, &slot)) == 0) {
                uint64_t tsd = (uint64_t) slot.addend;

                if (slot.kind == ELF_RELOCATION_DTPMOD) {
                        /*
                         * The second word of the pair is the variable's place in the block, or 0
                         * when many share the pair.
                         */
                        any.n = 2;
                        tsd = 0;
                        r = elf_file_read_vaddr(evidence->elf, slot.vaddr + 8, &tsd, sizeof(tsd));
                        if (r != 0 && r != ELF_FILE_E_UNMAPPED)
                                return r;
                        add_if_plausible(evidence, code, 0, &plausible);
                } else {
                        found_add(&any, tsd);
                }
                add_if_plausible(evidence, code, tsd, &plausible);
        }
        if (r != ELF_FILE_E_END)
                return r;
        *ret = any.n == 1 ? any : plausible;
        return 0;
}

/* 0 and a verdict; HEAP_READY with the place of the struct. */
static int find_position(const Evidence *evidence, const Offsets *code, HeapVerdict *verdict,
                         uint64_t *ret) {
        Found found = evidence->symbols;

        *verdict = HEAP_TLS_POSITION_UNKNOWN;
        if (evidence->counters.n > 1)
                return 0;
        *verdict = HEAP_LAYOUT_CONFLICT;
        if (evidence->counters.n == 1) {
                uint64_t tsd = evidence->counters.at - code->allocated;

                if (code->deallocated - code->allocated != 16 ||
                    evidence->counters.at < code->allocated || (found.n == 1 && found.at != tsd))
                        return 0;
                found_add(&found, tsd);
        }
        if (found.n == 0 && evidence->counters.n == 0) {
                int r = find_struct(evidence, code, &found);

                if (r != 0)
                        return r;
        }
        *verdict = found.n == 1 ? HEAP_READY : HEAP_TLS_POSITION_UNKNOWN;
        *ret = found.at;
        return 0;
}

/* the answer */

/* Without the code of the functions: what the image tells, else what the version is known for. */
static int find_without_code(const Evidence *evidence, HeapLayout *layout, HeapVerdict *verdict) {
        const Found *symbols = &evidence->symbols;
        Offsets release;
        int r;

        *verdict = HEAP_LAYOUT_UNKNOWN;
        if (evidence->counters.n == 1) {
                layout->allocated = evidence->counters.at;
                layout->deallocated = evidence->counters.at + 16;
                layout->tsd = symbols->n == 1 ? symbols->at : HEAP_TSD_UNKNOWN;
                *verdict = symbols->n == 0 || (symbols->n == 1 && layout->allocated - symbols->at <=
                                                                          TSD_HEAD_BYTES_MAX)
                                   ? HEAP_READY
                                   : HEAP_LAYOUT_CONFLICT;
                return 0;
        }
        r = find_release(evidence->elf, &release);
        if (r != 0 || !release.is_known)
                return r;
        r = find_position(evidence, &release, verdict, &layout->tsd);
        if (r != 0 || *verdict != HEAP_READY)
                return r;
        layout->allocated = layout->tsd + release.allocated;
        layout->deallocated = layout->tsd + release.deallocated;
        if (!has_state(evidence, layout->tsd, release.allocated))
                *verdict = HEAP_LAYOUT_CONFLICT;
        return 0;
}

static int find_offsets(const Evidence *evidence, HeapLayout *layout, HeapVerdict *verdict) {
        const Offsets *code = &evidence->code;
        int r;

        *verdict = HEAP_LAYOUT_CONFLICT;
        if (code->is_conflict)
                return 0;
        *verdict = HEAP_COUNTERS_DISABLED;
        if (!code->is_known && code->is_disabled)
                return 0;
        if (!code->is_known)
                return find_without_code(evidence, layout, verdict);
        r = find_position(evidence, code, verdict, &layout->tsd);
        if (r != 0 || *verdict != HEAP_READY)
                return r;
        if (__builtin_add_overflow(layout->tsd, code->allocated, &layout->allocated) ||
            __builtin_add_overflow(layout->tsd, code->deallocated, &layout->deallocated))
                *verdict = HEAP_LAYOUT_CONFLICT;
        return 0;
}

static int find_layout(const Evidence *evidence, HeapLayout *layout, HeapVerdict *verdict) {
        const ElfFile *elf = evidence->elf;
        int r;

        layout->is_fixed = elf->type == ET_EXEC;
        for (unsigned i = 0; i < elf->n_loads; i++) {
                if (elf->loads[i].p_filesz == 0)
                        continue;
                layout->first_vaddr = elf->loads[i].p_vaddr & ~(uint64_t) (HEAP_PAGE_BYTES - 1);
                layout->first_offset = elf->loads[i].p_offset & ~(uint64_t) (HEAP_PAGE_BYTES - 1);
                break;
        }
        layout->tls_vaddr = elf->tls.p_vaddr;
        layout->tls_memsz = elf->tls.p_memsz;
        layout->tls_align = MAX_OF(elf->tls.p_align, (uint64_t) 1);

        r = find_offsets(evidence, layout, verdict);
        if (r != 0 || *verdict != HEAP_READY)
                return r;
        *verdict = HEAP_LAYOUT_CONFLICT;
        if (layout->allocated <= layout->tls_memsz &&
            are_offsets(layout->allocated, layout->deallocated, layout->tls_memsz) &&
            are_zero(evidence, layout->allocated, layout->deallocated))
                r = choose_slot(evidence, layout, verdict);
        if (r == 0 && *verdict == HEAP_READY &&
            !heap_layout_is_valid(layout, (uint16_t) layout->machine))
                *verdict = HEAP_LAYOUT_CONFLICT;
        return r;
}

static int gather(Evidence *evidence) {
        ElfFile *elf = evidence->elf;
        ElfDynamic dynamic;
        int r = elf_dynamic_read(elf, &dynamic);

        if (r == 0)
                r = heap_tables_find(elf, &dynamic, &evidence->tables, &evidence->relocations);
        if (r != 0 || !(evidence->tables.has_name || evidence->tables.has_end_of_name))
                return r;
        evidence->is_program = elf->type == ET_EXEC || elf->has_interpreter || dynamic.is_pie;
        if (elf->tls.p_filesz > IMAGE_BYTES_MAX)
                return ELF_FILE_E_TOO_MUCH;
        evidence->n_image = (size_t) elf->tls.p_filesz;
        evidence->image = malloc(evidence->n_image);
        if (!evidence->image)
                return -ENOMEM;
        r = elf_file_read(elf, elf->tls.p_offset, evidence->image, evidence->n_image);
        if (r != 0)
                return r;
        evidence->counters = find_in_image(evidence, COUNTERS_BYTES, has_counters);
        evidence->counters.at += CACHE_BYTES + WORD;
        r = find_symbols(evidence, SHT_SYMTAB);
        if (r == 0)
                r = find_symbols(evidence, SHT_DYNSYM);
        return r == 0 ? read_tables(evidence) : r;
}

int heap_layout_find(int fd, uint64_t size, HeapLayout *ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = NULL;
        HeapVerdict verdict = HEAP_FILE_UNREADABLE;
        HeapLayout layout = {};
        Evidence evidence = {};
        int r = elf_file_open(fd, size, &elf);

        if (r == 0)
                layout.machine = elf->machine;
        if (r == 0 && (elf->tls.p_type == PT_NULL || elf->tls.p_filesz < TSD_BYTES_MIN))
                verdict = HEAP_NOT_JEMALLOC;
        else if (r == 0 && !heap_code_knows(elf->machine))
                verdict = HEAP_ARCH_MISMATCH;
        else if (r == 0 && elf->is_sound) {
                evidence.elf = elf;
                r = gather(&evidence);
                verdict = HEAP_NOT_JEMALLOC;
                /* A program that asks jemalloc for its counters has the end of a name alone. */
                if (r == 0 && (evidence.tables.has_name ||
                               (evidence.tables.has_end_of_name &&
                                (evidence.tables.n > 0 || evidence.counters.n > 0 ||
                                 evidence.symbols.n > 0))))
                        r = find_layout(&evidence, &layout, &verdict);
                free(evidence.image);
        }
        switch (r) {
        case 0:
                break;
        case ELF_FILE_E_NOT_ELF:
                verdict = HEAP_NOT_JEMALLOC;
                break;
        case ELF_FILE_E_FOREIGN:
                verdict = HEAP_ARCH_MISMATCH;
                break;
        case ELF_FILE_E_TOO_MUCH:
                verdict = HEAP_LAYOUT_UNKNOWN;
                break;
        case ELF_FILE_E_MALFORMED:
        case -EIO:
                verdict = HEAP_FILE_UNREADABLE;
                break;
        default:
                return err_fold(r);
        }
        if (verdict != HEAP_READY)
                layout = (HeapLayout){ .machine = layout.machine };
        layout.verdict = verdict;
        *ret = layout;
        return 0;
}

bool heap_layout_is_valid(const HeapLayout *layout, uint16_t machine) {
        if (layout->verdict != HEAP_READY)
                return layout->verdict < _HEAP_VERDICT_MAX;
        return layout->machine == machine && heap_code_knows(machine) && layout->is_fixed <= 1 &&
               layout->slot_kind < _HEAP_SLOT_MAX && layout->first_vaddr % HEAP_PAGE_BYTES == 0 &&
               layout->first_vaddr < ELF_ADDRESS_MAX &&
               layout->first_offset % HEAP_PAGE_BYTES == 0 && layout->first_offset <= INT64_MAX &&
               layout->tls_vaddr < ELF_ADDRESS_MAX && layout->tls_memsz <= HEAP_TLS_BYTES_MAX &&
               layout->tls_align <= HEAP_TLS_ALIGN_MAX && layout->tls_align > 0 &&
               (layout->tls_align & (layout->tls_align - 1)) == 0 && layout->slot_vaddr % 8 == 0 &&
               layout->slot_vaddr < ELF_ADDRESS_MAX &&
               (layout->slot_kind == HEAP_SLOT_NONE) == (layout->slot_vaddr == 0) &&
               layout->slot_addend >= 0 && (uint64_t) layout->slot_addend <= layout->tls_memsz &&
               (layout->tsd == HEAP_TSD_UNKNOWN || layout->tsd < layout->allocated) &&
               layout->allocated <= layout->tls_memsz &&
               are_offsets(layout->allocated, layout->deallocated, layout->tls_memsz);
}

const char *heap_verdict_name(HeapVerdict verdict) {
        static const char *const verdict_names[_HEAP_VERDICT_MAX] = {
                [HEAP_READY] = "ready",
                [HEAP_NOT_JEMALLOC] = "not-jemalloc",
                [HEAP_ARCH_MISMATCH] = "arch-mismatch",
                [HEAP_LAYOUT_UNKNOWN] = "layout-unknown",
                [HEAP_LAYOUT_CONFLICT] = "layout-conflict",
                [HEAP_TLS_POSITION_UNKNOWN] = "tls-position-unknown",
                [HEAP_TLS_MODEL_UNSUPPORTED] = "tls-model-unsupported",
                [HEAP_COUNTERS_DISABLED] = "counters-disabled",
                [HEAP_FILE_UNREADABLE] = "file-unreadable",
        };

        return verdict < _HEAP_VERDICT_MAX ? verdict_names[verdict] : "unknown";
}
