/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "capture/heap/elf-file.h"
#include "capture/heap/heap-code.h"

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

/* All that a file tells, before its parts are held against each other. */
typedef struct Evidence {
        ElfFile *elf;
        bool is_program;
        ElfRelocations relocations;
        char *image; /* owned: what a thread-local block of the module begins as */
        size_t n_image;
        HeapCode code;
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

/* names */

/* A symbol of the struct is "tsd_tls", perhaps behind a prefix. */
static void find_symbols(Evidence *evidence, uint32_t section_type) {
        static const char suffix[] = "_tsd_tls";
        ElfFile *elf = evidence->elf;
        ElfSymbols symbols;
        Elf64_Sym symbol;
        char name[128];

        elf_symbols_find(elf, section_type, &symbols);
        while (elf_symbols_next(elf, &symbols, &symbol)) {
                size_t n;

                if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF ||
                    !elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name)))
                        continue;
                n = strlen(name);
                if (strcmp(name, suffix + 1) == 0 ||
                    (n > strlen(suffix) && strcmp(name + n - strlen(suffix), suffix) == 0))
                        found_add(&evidence->symbols, symbol.st_value);
        }
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

static bool has_version(ElfFile *elf, const Elf64_Phdr *load, Span start) {
        static const char none[] = "-0-g";
        uint64_t end = load->p_vaddr + load->p_filesz, at = 0, vaddr;
        bool is_named = false;

        while (!(load->p_flags & PF_W) && elf_file_search(elf, load, start, &at, &vaddr)) {
                uint64_t rest = vaddr + start.n;
                char text[64] = {};
                size_t n_digits;

                /* The text may be the last of its segment. */
                (void) elf_file_read_vaddr(
                        elf, rest, text, (size_t) MIN_OF(end - rest, (uint64_t) sizeof(text) - 1));
                /*
                 * "5.2." is followed by "1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756", and the
                 * end. The number in the middle counts the changes since the release.
                 */
                if (text[0] < '0' || text[0] > '9' || strncmp(text + 1, none, strlen(none)) != 0)
                        continue;
                n_digits = strspn(text + 1 + strlen(none), "0123456789abcdef");
                is_named |= n_digits >= 7 && text[1 + strlen(none) + n_digits] == '\0';
        }
        return is_named;
}

/* Known when exactly one release is named, and it is in the table. */
static HeapOffsets find_release(ElfFile *elf) {
        HeapOffsets release = {};
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(versions); i++) {
                bool is_named = false;

                for (unsigned j = 0; j < elf->n_loads; j++)
                        is_named |= has_version(elf, &elf->loads[j], span_of(versions[i].start));
                if (is_named)
                        release = (HeapOffsets){
                                .is_known = ++n == 1,
                                .allocated = versions[i].allocated,
                                .deallocated = versions[i].deallocated,
                        };
        }
        return release;
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
 * nothing.
 */
static bool next_slot(ElfFile *elf, ElfRelocations *relocations, ElfRelocation *ret) {
        while (elf_relocations_next(elf, relocations, ret))
                if (ret->kind >= ELF_RELOCATION_DTPMOD && ret->symbol == 0 &&
                    is_writable(elf, ret->vaddr))
                        return true;
        return false;
}

/* The slot that leads to the block in which the struct is: the most direct one. */
static HeapFailure choose_slot(const Evidence *evidence, HeapLayout *layout) {
        static const HeapSlot kinds[_ELF_RELOCATION_MAX] = {
                [ELF_RELOCATION_DTPMOD] = HEAP_SLOT_DTPMOD,
                [ELF_RELOCATION_TLSDESC] = HEAP_SLOT_TLSDESC,
                [ELF_RELOCATION_TPOFF] = HEAP_SLOT_TPOFF,
        };
        ElfRelocations relocations = evidence->relocations;
        ElfRelocationKind best = ELF_RELOCATION_OTHER;
        bool has_slots = false;
        ElfRelocation slot;

        while (next_slot(evidence->elf, &relocations, &slot)) {
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
        if (best != ELF_RELOCATION_OTHER || evidence->is_program)
                return HEAP_FAILURE_NONE;
        return has_slots ? HEAP_FAILURE_LAYOUT_CONFLICT : HEAP_FAILURE_TLS_MODEL_UNSUPPORTED;
}

/* position */

/* The struct may be at @tsd: its counters are 0 in the image, and the state is in place. */
static void add_if_plausible(const Evidence *evidence, const HeapOffsets *code, uint64_t tsd,
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
static Found find_struct(const Evidence *evidence, const HeapOffsets *code) {
        ElfRelocations relocations = evidence->relocations;
        Found plausible = {}, any = {};
        ElfRelocation slot;

        if (evidence->is_program)
                return code->allocated <= 16 ? find_in_image(evidence, OLD_BYTES, has_old_struct)
                                             : any;
        while (next_slot(evidence->elf, &relocations, &slot)) {
                uint64_t tsd = (uint64_t) slot.addend;

                if (slot.kind == ELF_RELOCATION_DTPMOD) {
                        /*
                         * The second word of the pair is the variable's place in the block, or 0
                         * when many share the pair.
                         */
                        any.n = 2;
                        tsd = 0;
                        (void) elf_file_read_vaddr(evidence->elf, slot.vaddr + 8, &tsd,
                                                   sizeof(tsd));
                        add_if_plausible(evidence, code, 0, &plausible);
                } else {
                        found_add(&any, tsd);
                }
                add_if_plausible(evidence, code, tsd, &plausible);
        }
        return any.n == 1 ? any : plausible;
}

/* Sets the place of the struct, and that of the counters, which are @code away. */
static HeapFailure find_position(const Evidence *evidence, const HeapOffsets *code,
                                 HeapLayout *layout) {
        Found found = evidence->symbols;

        if (evidence->counters.n > 1)
                return HEAP_FAILURE_TLS_POSITION_UNKNOWN;
        if (evidence->counters.n == 1) {
                uint64_t tsd = evidence->counters.at - code->allocated;

                if (code->deallocated - code->allocated != 16 ||
                    evidence->counters.at < code->allocated || (found.n == 1 && found.at != tsd))
                        return HEAP_FAILURE_LAYOUT_CONFLICT;
                found_add(&found, tsd);
        } else if (found.n == 0)
                found = find_struct(evidence, code);
        if (found.n != 1)
                return HEAP_FAILURE_TLS_POSITION_UNKNOWN;
        layout->tsd = found.at;
        return __builtin_add_overflow(found.at, code->allocated, &layout->allocated) ||
                               __builtin_add_overflow(found.at, code->deallocated,
                                                      &layout->deallocated)
                       ? HEAP_FAILURE_LAYOUT_CONFLICT
                       : HEAP_FAILURE_NONE;
}

/* the answer */

/* By code, else by what the image tells, else by what the version is known for. */
static HeapFailure find_counters(const Evidence *evidence, HeapLayout *layout) {
        const Found *symbols = &evidence->symbols;
        HeapFailure verdict;
        HeapOffsets release;

        if (evidence->code.is_conflict)
                return HEAP_FAILURE_LAYOUT_CONFLICT;
        if (evidence->code.offsets.is_known)
                return find_position(evidence, &evidence->code.offsets, layout);
        if (evidence->code.is_disabled)
                return HEAP_FAILURE_COUNTERS_DISABLED;
        if (evidence->counters.n == 1) {
                layout->allocated = evidence->counters.at;
                layout->deallocated = evidence->counters.at + 16;
                layout->tsd = symbols->n == 1 ? symbols->at : HEAP_TSD_UNKNOWN;
                return symbols->n == 0 || (symbols->n == 1 &&
                                           layout->allocated - symbols->at <= TSD_HEAD_BYTES_MAX)
                               ? HEAP_FAILURE_NONE
                               : HEAP_FAILURE_LAYOUT_CONFLICT;
        }
        release = find_release(evidence->elf);
        if (!release.is_known)
                return HEAP_FAILURE_LAYOUT_UNKNOWN;
        verdict = find_position(evidence, &release, layout);
        return verdict == HEAP_FAILURE_NONE && !has_state(evidence, layout->tsd, release.allocated)
                       ? HEAP_FAILURE_LAYOUT_CONFLICT
                       : verdict;
}

static HeapFailure find_layout(const Evidence *evidence, HeapLayout *layout) {
        const ElfFile *elf = evidence->elf;
        HeapFailure verdict;

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

        verdict = find_counters(evidence, layout);
        if (verdict != HEAP_FAILURE_NONE)
                return verdict;
        if (layout->allocated > layout->tls_memsz ||
            !heap_offsets_are_possible(layout->allocated, layout->deallocated, layout->tls_memsz) ||
            !are_zero(evidence, layout->allocated, layout->deallocated))
                return HEAP_FAILURE_LAYOUT_CONFLICT;
        verdict = choose_slot(evidence, layout);
        layout->verdict = verdict;
        return heap_layout_is_valid(layout, (uint16_t) layout->machine)
                       ? verdict
                       : HEAP_FAILURE_LAYOUT_CONFLICT;
}

/* Looks for all that tells of jemalloc; the file is sound. */
static HeapFailure examine(Evidence *evidence, HeapLayout *layout) {
        HeapCode *code = &evidence->code;
        ElfFile *elf = evidence->elf;
        ElfDynamic dynamic;

        elf_dynamic_read(elf, &dynamic);
        heap_code_read(elf, &dynamic, code, &evidence->relocations);
        if (elf->failure != 0 || !(code->has_name || code->has_end_of_name))
                return HEAP_NOT_JEMALLOC;
        evidence->is_program = elf->type == ET_EXEC || elf->has_interpreter || dynamic.is_pie;
        if (elf->tls.p_filesz > IMAGE_BYTES_MAX)
                return HEAP_FAILURE_LAYOUT_UNKNOWN;
        evidence->image = malloc(elf->tls.p_filesz);
        if (!evidence->image)
                elf->failure = -ENOMEM;
        if (!elf_file_read(elf, elf->tls.p_offset, evidence->image, elf->tls.p_filesz))
                return HEAP_NOT_JEMALLOC;
        evidence->n_image = (size_t) elf->tls.p_filesz;
        evidence->counters = find_in_image(evidence, COUNTERS_BYTES, has_counters);
        evidence->counters.at += CACHE_BYTES + WORD;
        find_symbols(evidence, SHT_SYMTAB);
        find_symbols(evidence, SHT_DYNSYM);
        /* A program that asks jemalloc for its counters has the end of a name alone. */
        if (elf->failure != 0 || !(code->has_name || code->has_table || evidence->counters.n > 0 ||
                                   evidence->symbols.n > 0))
                return HEAP_NOT_JEMALLOC;
        return find_layout(evidence, layout);
}

int heap_layout_find(int fd, uint64_t size, HeapLayout *ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = NULL;
        HeapFailure verdict = HEAP_FAILURE_FILE_UNREADABLE;
        HeapLayout layout = {};
        Evidence evidence = {};
        int r = elf_file_open(fd, size, &elf);

        if (r == 0) {
                layout.machine = elf->machine;
                evidence.elf = elf;
                if (elf->tls.p_type == PT_NULL || elf->tls.p_filesz < TSD_BYTES_MIN)
                        verdict = HEAP_NOT_JEMALLOC;
                else if (!heap_code_knows(elf->machine))
                        verdict = HEAP_FAILURE_ARCH_MISMATCH;
                else if (elf->is_sound)
                        verdict = examine(&evidence, &layout);
                free(evidence.image);
                r = elf->failure;
        }
        switch (r) {
        case 0:
                break;
        case ELF_FILE_E_NOT_ELF:
                verdict = HEAP_NOT_JEMALLOC;
                break;
        case ELF_FILE_E_FOREIGN:
                verdict = HEAP_FAILURE_ARCH_MISMATCH;
                break;
        case ELF_FILE_E_TOO_MUCH:
                verdict = HEAP_FAILURE_LAYOUT_UNKNOWN;
                break;
        case ELF_FILE_E_MALFORMED:
        case -EIO:
                verdict = HEAP_FAILURE_FILE_UNREADABLE;
                break;
        default:
                return err_fold(r);
        }
        if (verdict != HEAP_FAILURE_NONE)
                layout = (HeapLayout){ .machine = layout.machine };
        layout.verdict = verdict;
        *ret = layout;
        return 0;
}

bool heap_layout_is_valid(const HeapLayout *layout, uint16_t machine) {
        if (layout->verdict != HEAP_FAILURE_NONE)
                return heap_verdict_is_of_file(layout->verdict);
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
               heap_offsets_are_possible(layout->allocated, layout->deallocated, layout->tls_memsz);
}

/* thread layouts */

/* Debuggers are told so of a member of a struct: its bits, how many it is, its offset. */
typedef struct Member {
        uint32_t n_bits;
        uint32_t n_elements;
        uint32_t offset;
} Member;

/* struct pthread goes on from the thread's number: a number not in use, "previous", the head. */
#define HEAD_BEHIND_TID 16

int thread_layout_find(int fd, uint64_t size, ThreadLayout *ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = NULL;
        bool has_size = false, has_tid = false;
        uint32_t sizeof_pthread = 0;
        Member tid = {};
        const struct {
                const char *name;
                void *to;
                size_t n;
                bool *has;
        } constants[] = {
                { "_thread_db_sizeof_pthread", &sizeof_pthread, sizeof(sizeof_pthread), &has_size },
                { "_thread_db_pthread_tid", &tid, sizeof(tid), &has_tid },
        };
        char name[sizeof("_thread_db_sizeof_pthread")];
        ElfSymbols symbols = {};
        ThreadLayout layout = {};
        Elf64_Sym symbol;
        int r = elf_file_open(fd, size, &elf);

        if (r == 0)
                elf_symbols_find(elf, SHT_DYNSYM, &symbols);
        while (r == 0 && elf_symbols_next(elf, &symbols, &symbol)) {
                if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF ||
                    (symbol.st_size != sizeof(sizeof_pthread) && symbol.st_size != sizeof(tid)) ||
                    !elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name)))
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(constants); i++)
                        if (strcmp(name, constants[i].name) == 0 &&
                            symbol.st_size == constants[i].n)
                                *constants[i].has = elf_file_read_vaddr(
                                        elf, symbol.st_value, constants[i].to, constants[i].n);
        }
        if (r == 0)
                r = elf->failure;
        if (r < 0 && r != -EIO)
                return r;
        if (r == 0 && has_size && has_tid && tid.n_bits == 32 && tid.n_elements == 1 &&
            tid.offset <= THREAD_STRUCT_BYTES_MAX)
                layout = (ThreadLayout){
                        .is_known = 1,
                        .sizeof_pthread = sizeof_pthread,
                        .tid_offset = tid.offset,
                        .robust_offset = tid.offset + HEAD_BEHIND_TID,
                };
        *ret = thread_layout_is_valid(&layout) ? layout : (ThreadLayout){};
        return 0;
}
