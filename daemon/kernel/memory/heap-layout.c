/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-layout.h"

#include <elf.h>
#include <string.h>

#include "base/err.h"
#include "kernel/memory/elf-file.h"
#include "kernel/memory/heap-code.h"
#include "kernel/memory/heap-image.h"
#include "kernel/memory/heap-table.h"
#include "kernel/memory/heap-version.h"
#include "kernel/memory/tls-slot.h"

/* struct tsd_s of every version is larger, and all of it is initialized: few files have as much. */
#define TSD_BYTES_MIN 512
/* Before the counters, in any version. */
#define TSD_HEAD_BYTES_MAX 4096

/* The offsets from the start of struct tsd_s, by the code of the table's functions. */
typedef struct Code {
        bool is_known;
        bool is_conflict; /* two tables, two answers */
        bool is_disabled;
        uint64_t allocated;
        uint64_t deallocated;
} Code;

/* All that a file tells, before it is held against each other. */
typedef struct Evidence {
        ElfFile *elf;
        bool is_program;
        ElfDynamic dynamic;
        HeapTables tables;
        Code code;
        HeapFound counters; /* the first of them, by the image */
        HeapFound symbols;  /* the struct, by its name */
} Evidence;

/* code */

/*
 * The start of a function: HEAP_CODE_BYTES of it, or where its segment ends before that the largest
 * half, quarter and so on that the segment has. 0, ELF_FILE_E_UNMAPPED, and as elf_file_read().
 */
static int read_code(ElfFile *elf, uint64_t vaddr, char bytes[static HEAP_CODE_BYTES], Span *ret) {
        for (size_t n = HEAP_CODE_BYTES; n > 0; n /= 2) {
                int r = elf_file_read_vaddr(elf, vaddr, bytes, n);

                *ret = (Span){ bytes, n };
                if (r != ELF_FILE_E_UNMAPPED)
                        return r;
        }
        return ELF_FILE_E_UNMAPPED;
}

static bool are_offsets(uint64_t allocated, uint64_t deallocated, uint64_t n_block) {
        uint64_t distance = deallocated - allocated;

        return (distance == 8 || distance == 16) && allocated % 8 == 0 && deallocated > allocated &&
               n_block >= 8 && deallocated <= n_block - 8;
}

/* What the functions of one table say; nothing unless all four agree. */
static int read_table(ElfFile *elf, const HeapTable *table, Code *ret) {
        uint64_t offsets[_HEAP_FUNCTION_MAX];
        unsigned n_offsets = 0, n_refusals = 0;
        Code code = {};

        for (unsigned i = 0; i < _HEAP_FUNCTION_MAX; i++) {
                bool is_load = i == HEAP_FUNCTION_ALLOCATED || i == HEAP_FUNCTION_DEALLOCATED;
                char bytes[HEAP_CODE_BYTES];
                Span span;
                int r = read_code(elf, table->functions[i], bytes, &span);

                if (r == ELF_FILE_E_UNMAPPED)
                        continue;
                if (r != 0)
                        return r;
                n_refusals += heap_code_is_refusal(elf->machine, span);
                n_offsets += (is_load ? heap_code_find_load
                                      : heap_code_find_address)(elf->machine, span, &offsets[i]);
        }
        code.is_disabled = n_refusals == _HEAP_FUNCTION_MAX;
        if (!code.is_disabled && n_offsets == _HEAP_FUNCTION_MAX &&
            offsets[HEAP_FUNCTION_ALLOCATED] == offsets[HEAP_FUNCTION_ALLOCATEDP] &&
            offsets[HEAP_FUNCTION_DEALLOCATED] == offsets[HEAP_FUNCTION_DEALLOCATEDP]) {
                code.allocated = offsets[HEAP_FUNCTION_ALLOCATED];
                code.deallocated = offsets[HEAP_FUNCTION_DEALLOCATED];
                code.is_known =
                        are_offsets(code.allocated, code.deallocated, elf->tls.memory_bytes);
        }
        *ret = code;
        return 0;
}

static int read_tables(ElfFile *elf, const HeapTables *tables, Code *ret) {
        Code code = {};

        for (unsigned i = 0; i < tables->n; i++) {
                Code one;
                int r = read_table(elf, &tables->of[i], &one);

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
        *ret = code;
        return 0;
}

/* names */

static bool is_tsd_name(const char *name) {
        size_t n = strlen(name);

        if (strcmp(name, "tsd_tls") == 0)
                return true;
        return n > strlen("_tsd_tls") && strcmp(name + n - strlen("_tsd_tls"), "_tsd_tls") == 0;
}

static int find_symbols(ElfFile *elf, uint32_t section_type, HeapFound *found) {
        ElfSymbols symbols;
        ElfSymbol symbol;
        int r = elf_symbols_init(&symbols, elf, section_type);

        if (r != 0)
                return r;
        while ((r = elf_symbols_next(&symbols, &symbol)) == 0) {
                char name[128];

                if (symbol.type != STT_TLS || !symbol.is_defined)
                        continue;
                r = elf_symbols_name(&symbols, &symbol, name, sizeof(name));
                if (r == ELF_FILE_E_END)
                        continue;
                if (r != 0)
                        return r;
                if (is_tsd_name(name))
                        heap_found_add(found, symbol.value);
        }
        return r == ELF_FILE_E_END ? 0 : r;
}

/* position */

/* No thread starts with something on its account. */
static int are_zero(ElfFile *elf, uint64_t allocated, uint64_t deallocated, bool *ret) {
        uint64_t words[2] = {};
        int r = heap_image_read(elf, allocated, &words[0]);

        if (r == 0)
                r = heap_image_read(elf, deallocated, &words[1]);
        *ret = words[0] == 0 && words[1] == 0;
        return r;
}

/* Whether the struct may be at @tsd: the counters are 0 in the image, and the state is in place. */
static int add_if_plausible(const Evidence *evidence, const Code *code, uint64_t tsd,
                            HeapFound *found) {
        uint64_t n_block = evidence->elf->tls.memory_bytes;
        bool has_state, are_zeros;
        int r;

        if (tsd > n_block || code->deallocated + 8 > n_block - tsd)
                return 0;
        r = heap_image_has_state(evidence->elf, tsd, code->allocated, &has_state);
        if (r != 0)
                return r;
        r = are_zero(evidence->elf, tsd + code->allocated, tsd + code->deallocated, &are_zeros);
        if (r == 0 && has_state && are_zeros)
                heap_found_add(found, tsd);
        return r;
}

/* The second word of a pair is the variable's place in the block, or 0 when many share the pair. */
static int add_pair(const Evidence *evidence, const Code *code, const TlsSlot *slot,
                    HeapFound *found) {
        uint64_t word = 0;
        int r = elf_file_read_vaddr(evidence->elf, slot->vaddr + 8, &word, sizeof(word));

        if (r != 0 && r != ELF_FILE_E_UNMAPPED)
                return r;
        r = add_if_plausible(evidence, code, word, found);
        return r == 0 && word != 0 ? add_if_plausible(evidence, code, 0, found) : r;
}

/*
 * Where the struct is when neither its name nor the image tells it outright. Where all slots of a
 * library lead to one variable it is jemalloc's; else the one that could be it must be the only
 * such. A program needs no slots, but the struct of 5.0 to 5.2 can be recognized.
 */
static int find_struct(const Evidence *evidence, const Code *code, HeapFound *ret) {
        HeapFound plausible = {}, any = {};
        TlsSlots slots;
        TlsSlot slot;
        int r;

        *ret = any;
        if (evidence->is_program)
                return code->allocated <= 16 ? heap_image_find_struct(evidence->elf, ret) : 0;
        r = tls_slots_init(&slots, evidence->elf, &evidence->dynamic);
        while (r == 0 && (r = tls_slots_next(&slots, &slot)) == 0) {
                if (slot.kind == ELF_RELOCATION_DTPMOD) {
                        any.n = 2; /* it does not tell */
                        r = add_pair(evidence, code, &slot, &plausible);
                } else {
                        heap_found_add(&any, slot.addend);
                        r = add_if_plausible(evidence, code, slot.addend, &plausible);
                }
        }
        if (r != ELF_FILE_E_END)
                return r;
        *ret = any.n == 1 ? any : plausible;
        return 0;
}

/* 0 and a verdict; HEAP_READY with the place of the struct. */
static int find_position(const Evidence *evidence, const Code *code, HeapVerdict *verdict,
                         uint64_t *ret) {
        HeapFound found = evidence->symbols;

        *verdict = HEAP_TLS_POSITION_UNKNOWN;
        if (evidence->counters.n > 1)
                return 0;
        *verdict = HEAP_LAYOUT_CONFLICT;
        if (evidence->counters.n == 1) {
                if (code->deallocated - code->allocated != 16 ||
                    evidence->counters.at < code->allocated)
                        return 0;
                if (found.n == 1 && found.at != evidence->counters.at - code->allocated)
                        return 0;
                heap_found_add(&found, evidence->counters.at - code->allocated);
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

/* Whether @slot is the one through which the module itself comes to the struct. */
static bool is_slot_of(const HeapLayout *layout, const TlsSlot *slot) {
        if (slot->kind == ELF_RELOCATION_DTPMOD)
                return true;
        if (layout->tsd == HEAP_TSD_UNKNOWN)
                return layout->allocated - slot->addend <= TSD_HEAD_BYTES_MAX;
        return layout->tsd == slot->addend;
}

/* The more direct a slot, the higher. */
static const struct {
        ElfRelocationKind relocation;
        HeapSlot slot;
} slot_ranks[] = {
        { ELF_RELOCATION_OTHER, HEAP_SLOT_NONE },
        { ELF_RELOCATION_DTPMOD, HEAP_SLOT_DTPMOD },
        { ELF_RELOCATION_TLSDESC, HEAP_SLOT_TLSDESC },
        { ELF_RELOCATION_TPOFF, HEAP_SLOT_TPOFF },
};

static size_t rank_of(ElfRelocationKind relocation) {
        for (size_t i = 0; i < ELEMENTSOF(slot_ranks); i++)
                if (slot_ranks[i].relocation == relocation)
                        return i;
        return 0;
}

/* The slot that leads to the block in which the struct is: the most direct one. */
static int choose_slot(const Evidence *evidence, HeapLayout *layout, HeapVerdict *verdict) {
        bool has_slots = false;
        size_t best = 0;
        TlsSlots slots;
        TlsSlot slot;
        int r = tls_slots_init(&slots, evidence->elf, &evidence->dynamic);

        while (r == 0 && (r = tls_slots_next(&slots, &slot)) == 0) {
                size_t rank = rank_of(slot.kind);

                has_slots = true;
                if (!is_slot_of(layout, &slot) || rank <= best)
                        continue;
                best = rank;
                layout->slot_kind = slot_ranks[rank].slot;
                layout->slot_vaddr = slot.vaddr;
                layout->slot_addend =
                        slot.kind == ELF_RELOCATION_DTPMOD ? 0 : (int64_t) slot.addend;
        }
        if (r != ELF_FILE_E_END)
                return r;
        if (best > 0 || evidence->is_program)
                *verdict = HEAP_READY;
        else
                *verdict = has_slots ? HEAP_LAYOUT_CONFLICT : HEAP_TLS_MODEL_UNSUPPORTED;
        return 0;
}

/* the answer */

/* Without the code of the functions: what the image tells, else what the version is known for. */
static int find_without_code(const Evidence *evidence, HeapLayout *layout, HeapVerdict *verdict) {
        const HeapFound *symbols = &evidence->symbols;
        HeapVersion version;
        Code code = {};
        bool has_state;
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
        r = heap_version_find(evidence->elf, &version);
        if (r != 0 || !version.is_known)
                return r;
        code.allocated = version.allocated;
        code.deallocated = version.deallocated;
        r = find_position(evidence, &code, verdict, &layout->tsd);
        if (r != 0 || *verdict != HEAP_READY)
                return r;
        layout->allocated = layout->tsd + code.allocated;
        layout->deallocated = layout->tsd + code.deallocated;
        r = heap_image_has_state(evidence->elf, layout->tsd, code.allocated, &has_state);
        if (r == 0 && !has_state)
                *verdict = HEAP_LAYOUT_CONFLICT;
        return r;
}

static int find_offsets(const Evidence *evidence, HeapLayout *layout, HeapVerdict *verdict) {
        const Code *code = &evidence->code;
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
        bool are_zeros;
        int r = find_offsets(evidence, layout, verdict);

        if (r != 0 || *verdict != HEAP_READY)
                return r;
        *verdict = HEAP_LAYOUT_CONFLICT;
        if (layout->allocated > layout->tls_memsz ||
            !are_offsets(layout->allocated, layout->deallocated, layout->tls_memsz))
                return 0;
        r = are_zero(evidence->elf, layout->allocated, layout->deallocated, &are_zeros);
        return r == 0 && are_zeros ? choose_slot(evidence, layout, verdict) : r;
}

static void take_module(const ElfFile *elf, HeapLayout *layout) {
        layout->is_fixed = elf->type == ET_EXEC;
        for (unsigned i = 0; i < elf->n_loads; i++) {
                if (elf->loads[i].file_bytes == 0)
                        continue;
                layout->first_vaddr = elf->loads[i].vaddr & ~(uint64_t) (HEAP_PAGE_BYTES - 1);
                layout->first_offset = elf->loads[i].offset & ~(uint64_t) (HEAP_PAGE_BYTES - 1);
                break;
        }
        layout->tls_vaddr = elf->tls.vaddr;
        layout->tls_memsz = elf->tls.memory_bytes;
        layout->tls_align = MAX_OF(elf->tls.align, (uint64_t) 1);
}

static int gather(ElfFile *elf, Evidence *ret) {
        int r;

        *ret = (Evidence){ .elf = elf };
        r = elf_dynamic_read(elf, &ret->dynamic);
        ret->is_program = elf->type == ET_EXEC || elf->has_interpreter || ret->dynamic.is_pie;
        if (r == 0)
                r = heap_tables_find(elf, &ret->dynamic, &ret->tables);
        if (r != 0 || !(ret->tables.has_name || ret->tables.has_end_of_name))
                return r;
        r = heap_image_find_counters(elf, &ret->counters);
        if (r == 0)
                r = find_symbols(elf, SHT_SYMTAB, &ret->symbols);
        if (r == 0)
                r = find_symbols(elf, SHT_DYNSYM, &ret->symbols);
        if (r == 0)
                r = read_tables(elf, &ret->tables, &ret->code);
        return r;
}

/* A program that only asks jemalloc for its counters has the end of a name, and nothing else. */
static bool is_jemalloc(const Evidence *evidence) {
        return evidence->tables.has_name ||
               (evidence->tables.has_end_of_name &&
                (evidence->tables.n > 0 || evidence->counters.n > 0 || evidence->symbols.n > 0));
}

static int find(ElfFile *elf, HeapLayout *layout, HeapVerdict *verdict) {
        Evidence evidence;
        int r;

        *verdict = HEAP_NOT_JEMALLOC;
        layout->machine = elf->machine;
        if (!elf->has_tls || elf->tls.file_bytes < TSD_BYTES_MIN)
                return 0;
        *verdict = HEAP_ARCH_MISMATCH;
        if (!heap_code_knows(elf->machine))
                return 0;
        *verdict = HEAP_FILE_UNREADABLE;
        if (!elf->is_sound)
                return 0;
        r = gather(elf, &evidence);
        if (r != 0)
                return r;
        *verdict = HEAP_NOT_JEMALLOC;
        if (!is_jemalloc(&evidence))
                return 0;
        take_module(elf, layout);
        r = find_layout(&evidence, layout, verdict);
        if (r == 0 && *verdict == HEAP_READY &&
            !heap_layout_is_valid(layout, (uint16_t) layout->machine))
                *verdict = HEAP_LAYOUT_CONFLICT;
        return r;
}

int heap_layout_find(const ByteSource *file, HeapLayout *ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = NULL;
        HeapVerdict verdict = HEAP_FILE_UNREADABLE;
        HeapLayout layout = {};
        int r = elf_file_open(file, &elf);

        if (r == 0)
                r = find(elf, &layout, &verdict);
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
