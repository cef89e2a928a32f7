/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <stddef.h>

#include "byte-span.h"
#include "made-elf.h"
#include "kernel/memory/elf-file.h"
#include "kernel/memory/heap-layout.h"

#define TSD_5_3 2632
#define TSD_5_2 6216

static int find(Span bytes, HeapLayout *ret) {
        ByteSpan file = { .bytes = bytes };
        ByteSource source = byte_span_source(&file);

        return heap_layout_find(&source, ret);
}

static void expect(Span bytes, HeapVerdict verdict, const char *what, HeapLayout *ret) {
        ck_assert_int_eq(find(bytes, ret), 0);
        ck_assert_msg(ret->verdict == verdict, "%s: %s and not %s", what,
                      heap_verdict_name(ret->verdict), heap_verdict_name(verdict));
        ck_assert_msg(heap_layout_is_valid(ret, (uint16_t) ret->machine), "%s", what);
}

/* files without headers */

static const struct {
        Span bytes;
        HeapVerdict verdict;
} cut_rows[] = {
        { { "", 0 }, HEAP_NOT_JEMALLOC },
        { { ELFMAG, 3 }, HEAP_NOT_JEMALLOC },
        { { "#!/bin/sh\n", 10 }, HEAP_NOT_JEMALLOC },
        { { ELFMAG, 4 }, HEAP_FILE_UNREADABLE },
        { { ELFMAG "\2", 5 }, HEAP_FILE_UNREADABLE },
        { { ELFMAG "\1\1\1", 7 }, HEAP_ARCH_MISMATCH }, /* 32 bits */
        { { ELFMAG "\2\2\1", 7 }, HEAP_ARCH_MISMATCH }, /* big-endian */
        { { ELFMAG "\2\1\1", 7 }, HEAP_FILE_UNREADABLE },
};

START_TEST(a_file_that_is_cut_before_its_headers_is_told) {
        HeapLayout layout;

        expect(cut_rows[_i].bytes, cut_rows[_i].verdict, "a cut file", &layout);
}
END_TEST

/* made files */

/* What stands in most rows. */
#define LIBRARY .type = ET_DYN, .machine = EM_X86_64
#define PROGRAM .type = ET_EXEC, .machine = EM_X86_64, .pointers = MADE_IN_PLACE
#define ARM_LIBRARY .type = ET_DYN, .machine = EM_AARCH64
#define OFFSETS_5_3 .allocated = 824, .deallocated = 840, .image = MADE_CACHE
#define OFFSETS_5_3_64K .allocated = 888, .deallocated = 904, .image = MADE_CACHE
#define OFFSETS_5_2 .allocated = 16, .deallocated = 24, .image = MADE_OLD
#define OFFSETS_5_0 .allocated = 8, .deallocated = 16, .image = MADE_OLD
#define OFFSETS_2020 .allocated = 760, .deallocated = 776, .image = MADE_STATE
#define ONE_SLOT(kind_, addend_) \
        .n_slots = 1, .slots = { { .kind = HEAP_SLOT_##kind_, .addend = (addend_) } }
#define RELEASE_5_2 "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756"

typedef struct Row {
        const char *what;
        MadeOptions options;
        HeapVerdict verdict;
        HeapSlot slot;
        unsigned slot_number;
        uint64_t tsd; /* when ready */
} Row;

/* The counters that are found are those that the image has, so no row says them. */
static const Row rows[] = {
        { "5.3, library",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, library whose pointers are relocated in place (RELR)",
          { LIBRARY, OFFSETS_5_3, .pointers = MADE_IN_PLACE, .n_block = TSD_5_3,
            ONE_SLOT(TPOFF, 0) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, code with lea",
          { LIBRARY, OFFSETS_5_3, .code = MADE_LEA, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, fixed program",
          { PROGRAM, OFFSETS_5_3, .n_block = TSD_5_3 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, movable program",
          { LIBRARY, OFFSETS_5_3, .has_interpreter = true, .n_block = TSD_5_3 + 80, .tsd = 80 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          80 },
        { "5.3, movable program without an interpreter",
          { LIBRARY, OFFSETS_5_3, .is_pie = true, .n_block = TSD_5_3 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, the name at the end of another text",
          { PROGRAM, OFFSETS_5_3, .is_name_shared = true, .n_block = TSD_5_3 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, aarch64 library with descriptors",
          { ARM_LIBRARY, OFFSETS_5_3_64K, .n_block = 2800, .tsd = 40, .n_slots = 4,
            .slots = { { HEAP_SLOT_TLSDESC, 0, 0, 0 },
                       { HEAP_SLOT_TLSDESC, 3, 40, 0 },
                       { HEAP_SLOT_TLSDESC, 0, 40, 0 },
                       { HEAP_SLOT_TLSDESC, 0, 2768, 0 } } },
          HEAP_READY,
          HEAP_SLOT_TLSDESC,
          2,
          40 },
        { "5.3, aarch64 program",
          { .type = ET_EXEC,
            .machine = EM_AARCH64,
            .pointers = MADE_IN_PLACE,
            OFFSETS_5_3_64K,
            .n_block = 2696 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, aarch64 library with one slot",
          { ARM_LIBRARY, OFFSETS_5_3_64K, .n_block = 2696, ONE_SLOT(TPOFF, 0) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, library that knows only its number",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 + 40, .tsd = 40, ONE_SLOT(DTPMOD, 0) },
          HEAP_READY,
          HEAP_SLOT_DTPMOD,
          0,
          40 },
        { "5.3, the most direct of three slots",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, .n_slots = 3,
            .slots = { { HEAP_SLOT_DTPMOD, 0, 0, 0 },
                       { HEAP_SLOT_TLSDESC, 0, 0, 0 },
                       { HEAP_SLOT_TPOFF, 0, 0, 0 } } },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          2,
          0 },
        { "5.3, slots of other variables beside the number",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 + 40, .tsd = 40, .n_slots = 2,
            .slots = { { HEAP_SLOT_TPOFF, 0, 8, 0 }, { HEAP_SLOT_DTPMOD, 0, 0, 0 } } },
          HEAP_READY,
          HEAP_SLOT_DTPMOD,
          1,
          40 },
        { "5.3, two tables that agree",
          { LIBRARY, OFFSETS_5_3, .second_allocated = 824, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, code that does not tell, named struct",
          { PROGRAM, OFFSETS_5_3, .code = MADE_OPAQUE, .n_block = TSD_5_3 + 64, .tsd = 64,
            .symbols = { "je_tsd_tls" }, .symbol_values = { 64 } },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          64 },
        { "5.3, code that does not tell",
          { PROGRAM, OFFSETS_5_3, .code = MADE_OPAQUE, .n_block = TSD_5_3 + 64, .tsd = 64 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          HEAP_TSD_UNKNOWN },
        { "5.3, no table, library",
          { LIBRARY, OFFSETS_5_3, .has_no_table = true, .n_block = TSD_5_3 + 64, .tsd = 64,
            ONE_SLOT(TPOFF, 64) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          HEAP_TSD_UNKNOWN },
        { "5.0, library",
          { LIBRARY, OFFSETS_5_0, .n_block = 6104 + 16, .tsd = 16, ONE_SLOT(TPOFF, 16) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          16 },
        { "5.2, library that knows only its number",
          { LIBRARY, OFFSETS_5_2, .n_block = TSD_5_2, ONE_SLOT(DTPMOD, 0) },
          HEAP_READY,
          HEAP_SLOT_DTPMOD,
          0,
          0 },
        { "5.2, library that knows its number and the place of one variable",
          { LIBRARY, OFFSETS_5_2, .n_block = TSD_5_2 + 32, .tsd = 32, .n_slots = 1,
            .slots = { { HEAP_SLOT_DTPMOD, 0, 0, 32 } } },
          HEAP_READY,
          HEAP_SLOT_DTPMOD,
          0,
          32 },
        { "5.2, stripped program",
          { PROGRAM, OFFSETS_5_2, .n_block = TSD_5_2 + 64, .tsd = 64 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          64 },
        { "5.2, library with a slot of another variable",
          { LIBRARY, OFFSETS_5_2, .n_block = TSD_5_2 + 64, .tsd = 64, .n_slots = 2,
            .slots = { { HEAP_SLOT_TPOFF, 0, 8, 0 }, { HEAP_SLOT_TPOFF, 0, 64, 0 } } },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          1,
          64 },
        { "5.2, code that does not tell",
          { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .version = RELEASE_5_2,
            .n_block = TSD_5_2 + 8, .tsd = 8 },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          8 },
        { "between releases, library",
          { LIBRARY, OFFSETS_2020, .n_block = 6384 + 32, .tsd = 32, ONE_SLOT(TPOFF, 32) },
          HEAP_READY,
          HEAP_SLOT_TPOFF,
          0,
          32 },
        { "between releases, program with symbols",
          { PROGRAM, OFFSETS_2020, .n_block = 6384 + 32, .tsd = 32,
            .symbols = { "_rjem_je_tsd_tls" }, .symbol_values = { 32 } },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          32 },
        { "the name that jemalloc without a prefix has",
          { PROGRAM, OFFSETS_2020, .n_block = 6384, .symbols = { "other", "tsd_tls" } },
          HEAP_READY,
          HEAP_SLOT_NONE,
          0,
          0 },

        { "no names",
          { LIBRARY, .has_no_table = true, .n_block = TSD_5_3, .is_name_shared = true },
          HEAP_NOT_JEMALLOC,
          0,
          0,
          0 },
        { "little thread-local memory",
          { LIBRARY, .allocated = 16, .deallocated = 24, .n_block = 504, ONE_SLOT(TPOFF, 0) },
          HEAP_NOT_JEMALLOC,
          0,
          0,
          0 },
        { "another machine",
          { .type = ET_DYN, .machine = EM_RISCV, OFFSETS_5_3, .n_block = TSD_5_3 },
          HEAP_ARCH_MISMATCH,
          0,
          0,
          0 },
        { "another machine with little thread-local memory",
          { .type = ET_DYN, .machine = EM_RISCV, .n_block = 8 },
          HEAP_NOT_JEMALLOC,
          0,
          0,
          0 },
        { "nothing but names",
          { LIBRARY, .has_no_table = true, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_LAYOUT_UNKNOWN,
          0,
          0,
          0 },
        { "between releases, code that does not tell",
          { LIBRARY, OFFSETS_2020, .code = MADE_OPAQUE, .n_block = 6384,
            .version = "5.2.1-643-g7d2bac5a384a2fded203298939fc7eb48f8c0f4b", ONE_SLOT(TPOFF, 0) },
          HEAP_LAYOUT_UNKNOWN,
          0,
          0,
          0 },
        { "counters that are switched off",
          { LIBRARY, OFFSETS_5_2, .code = MADE_REFUSAL, .n_block = TSD_5_2, ONE_SLOT(TPOFF, 0) },
          HEAP_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "counters that are switched off, aarch64",
          { ARM_LIBRARY, OFFSETS_5_2, .code = MADE_REFUSAL, .n_block = TSD_5_2,
            ONE_SLOT(TPOFF, 0) },
          HEAP_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "counters that are switched off, not optimized",
          { LIBRARY, OFFSETS_5_2, .code = MADE_O0_REFUSAL, .version = RELEASE_5_2,
            .n_block = TSD_5_2, ONE_SLOT(TPOFF, 0) },
          HEAP_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "counters that are switched off, not optimized, aarch64",
          { ARM_LIBRARY, OFFSETS_5_2, .code = MADE_O0_REFUSAL, .version = RELEASE_5_2,
            .n_block = TSD_5_2, ONE_SLOT(TPOFF, 0) },
          HEAP_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "code and image disagree",
          { LIBRARY, OFFSETS_5_3, .image_allocated = 800, .n_block = TSD_5_3, .tsd = 0,
            ONE_SLOT(TPOFF, 0) },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "code and image disagree in the distance",
          { LIBRARY, .allocated = 824, .deallocated = 832, .image = MADE_CACHE, .n_block = TSD_5_3,
            ONE_SLOT(TPOFF, 0) },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "name and image disagree",
          { PROGRAM, OFFSETS_5_3, .n_block = TSD_5_3 + 64, .tsd = 64, .symbols = { "je_tsd_tls" },
            .symbol_values = { 56 } },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "name and image disagree, code that does not tell",
          { PROGRAM, OFFSETS_5_3, .code = MADE_OPAQUE, .n_block = 5000, .tsd = 64,
            .symbols = { "je_tsd_tls" }, .symbol_values = { 4900 } },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "slot and image disagree",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 + 64, .tsd = 64, ONE_SLOT(TPOFF, 0) },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "two tables that disagree",
          { LIBRARY, OFFSETS_5_3, .second_allocated = 888, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "a slot that leads past the block",
          { LIBRARY, OFFSETS_2020, .n_block = 6384, ONE_SLOT(TPOFF, 6000) },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "a slot that leads backwards",
          { LIBRARY, OFFSETS_2020, .n_block = 6384, ONE_SLOT(TPOFF, (uint64_t) -8) },
          HEAP_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "between releases, stripped program",
          { PROGRAM, OFFSETS_2020, .n_block = 6384, .tsd = 0 },
          HEAP_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "two named structs",
          { PROGRAM, OFFSETS_2020, .n_block = 7000, .symbols = { "a_tsd_tls", "b_tsd_tls" },
            .symbol_values = { 0, 8 } },
          HEAP_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "a name that only looks like it",
          { PROGRAM, OFFSETS_2020, .n_block = 7000, .symbols = { "_tsd_tls", "mytsd_tls" } },
          HEAP_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "several slots, none where the struct could be",
          { LIBRARY, OFFSETS_2020, .n_block = 6384 + 64, .tsd = 64, .n_slots = 2,
            .slots = { { HEAP_SLOT_TPOFF, 0, 8, 0 }, { HEAP_SLOT_TPOFF, 0, 16, 0 } } },
          HEAP_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "a number, and the struct is not at the start",
          { LIBRARY, OFFSETS_2020, .n_block = 6384 + 64, .tsd = 64, ONE_SLOT(DTPMOD, 0) },
          HEAP_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "library without a slot",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 },
          HEAP_TLS_MODEL_UNSUPPORTED,
          0,
          0,
          0 },
        { "library whose slot another one may answer",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, .n_slots = 1,
            .slots = { { HEAP_SLOT_TPOFF, 7, 0, 0 } } },
          HEAP_TLS_MODEL_UNSUPPORTED,
          0,
          0,
          0 },
};

static uint64_t image_allocated(const MadeOptions *options) {
        return options->tsd +
               (options->image_allocated ? options->image_allocated : options->allocated);
}

static void check_ready(const Row *row, const MadeElf *made, const HeapLayout *layout) {
        uint64_t first = row->options.type == ET_EXEC ? MADE_FIXED_VADDR : 0;

        ck_assert_uint_eq(layout->machine, row->options.machine);
        ck_assert_uint_eq(layout->is_fixed, row->options.type == ET_EXEC);
        ck_assert_uint_eq(layout->first_vaddr, first);
        ck_assert_uint_eq(layout->first_offset, 0);
        ck_assert_uint_eq(layout->tls_vaddr, made_elf_vaddr(made, MADE_BLOCK_AT));
        ck_assert_uint_eq(layout->tls_memsz, row->options.n_block);
        ck_assert_uint_eq(layout->tls_align, 8);
        ck_assert_uint_eq(layout->allocated, image_allocated(&row->options));
        ck_assert_uint_eq(layout->deallocated - layout->allocated,
                          row->options.deallocated - row->options.allocated);
        ck_assert_msg(layout->tsd == row->tsd, "%s: at %llu", row->what,
                      (unsigned long long) layout->tsd);
        ck_assert_msg(layout->slot_kind == row->slot, "%s: slot %u", row->what, layout->slot_kind);
        if (row->slot == HEAP_SLOT_NONE) {
                ck_assert_uint_eq(layout->slot_vaddr, 0);
                return;
        }
        ck_assert_msg(layout->slot_vaddr ==
                              made_elf_vaddr(made, MADE_SLOTS_AT + row->slot_number * 16),
                      "%s: slot at %#llx", row->what, (unsigned long long) layout->slot_vaddr);
        ck_assert_int_eq(layout->slot_addend,
                         row->slot == HEAP_SLOT_DTPMOD
                                 ? 0
                                 : (int64_t) row->options.slots[row->slot_number].addend);
}

START_TEST(a_file_is_what_it_was_made_as) {
        const Row *row = &rows[_i];
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&row->options, &made);
        expect(made_elf_span(&made), row->verdict, row->what, &layout);
        if (row->verdict == HEAP_READY)
                check_ready(row, &made, &layout);
        else
                ck_assert_uint_eq(layout.allocated | layout.deallocated | layout.tls_memsz, 0);
}
END_TEST

/* changes of a made file, which is a library between releases: its image does not help */

static const MadeOptions base = { LIBRARY, OFFSETS_2020, .n_block = 6384, ONE_SLOT(TPOFF, 0) };

typedef struct Change {
        const char *what;
        uint64_t at;
        uint64_t word;
        unsigned n; /* bytes of it */
        HeapVerdict verdict;
} Change;

#define RECORD(number) (MADE_TABLES_AT + (number) *40)
#define FUNCTION(number) (MADE_CODE_AT + (number) *MADE_FUNCTION_BYTES)
#define HEADER(number, member) \
        (sizeof(Elf64_Ehdr) + (number) * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, member))
#define RELOCATION(number, member) \
        (MADE_RELOCATIONS_AT + (number) * sizeof(Elf64_Rela) + offsetof(Elf64_Rela, member))

static const Change changes[] = {
        { "nothing changed", 0, ELFMAG0, 1, HEAP_READY },
        { "a record without the mark of a name", RECORD(1), 0, 8, HEAP_LAYOUT_UNKNOWN },
        { "a record with children", RECORD(2) + 16, 1, 8, HEAP_LAYOUT_UNKNOWN },
        { "a record with an address of children", RECORD(2) + 24, 1, 8, HEAP_LAYOUT_UNKNOWN },
        { "children by a relocation", RELOCATION(1, r_offset), RECORD(0) + 24 + MADE_WRITTEN_MOVED,
          8, HEAP_LAYOUT_UNKNOWN },
        { "a word that another module answers", RELOCATION(1, r_info),
          ELF64_R_INFO(UINT64_C(1), R_X86_64_64), 8, HEAP_LAYOUT_UNKNOWN },
        { "a record of another name", RELOCATION(0, r_addend), MADE_NAMES_AT + 1, 8,
          HEAP_LAYOUT_UNKNOWN },
        { "a record of a name outside", RELOCATION(0, r_addend), UINT64_MAX, 8,
          HEAP_LAYOUT_UNKNOWN },
        { "a table that is not aligned", RELOCATION(6, r_offset),
          RECORD(3) + 9 + MADE_WRITTEN_MOVED, 8, HEAP_LAYOUT_UNKNOWN },
        { "a table that begins before the segment", RELOCATION(6, r_offset), 16, 8,
          HEAP_LAYOUT_UNKNOWN },
        { "a function outside", RELOCATION(1, r_addend), UINT64_MAX - 8, 8, HEAP_LAYOUT_UNKNOWN },
        { "a function at the end of its segment", RELOCATION(1, r_addend), MADE_WRITTEN_AT - 1, 8,
          HEAP_LAYOUT_UNKNOWN },
        { "a counter that its address is not that of", FUNCTION(1) + 11, 768, 4,
          HEAP_LAYOUT_UNKNOWN },
        { "another counter that its address is not that of", FUNCTION(3) + 11, 784, 4,
          HEAP_LAYOUT_UNKNOWN },
        { "no marker", MADE_NAMES_AT + 33 + 3, 'k', 1, HEAP_NOT_JEMALLOC },
        { "a counter that is not 0 in the image", MADE_BLOCK_AT + 760, 1, 8, HEAP_LAYOUT_CONFLICT },
        { "another counter that is not 0 in the image", MADE_BLOCK_AT + 776, 1, 8,
          HEAP_LAYOUT_CONFLICT },
        { "counters behind the image", HEADER(2, p_filesz), 512, 8, HEAP_READY },
        { "a counter half in the image", HEADER(2, p_filesz), 764, 8, HEAP_READY },
        { "counters behind the block", HEADER(2, p_memsz), 783, 8, HEAP_FILE_UNREADABLE },
        { "thread-local memory without an alignment", HEADER(2, p_align), 0, 8, HEAP_READY },
        { "an alignment that is none", HEADER(2, p_align), 24, 8, HEAP_LAYOUT_CONFLICT },
        { "an alignment past any page", HEADER(2, p_align), 1 << 21, 8, HEAP_LAYOUT_CONFLICT },
        { "more thread-local memory than there is", HEADER(2, p_memsz), UINT64_C(1) << 40, 8,
          HEAP_LAYOUT_CONFLICT },
        { "thread-local memory past all addresses", HEADER(2, p_memsz), UINT64_MAX - 8, 8,
          HEAP_FILE_UNREADABLE },
        { "an image past the end of the file", HEADER(2, p_offset), UINT64_MAX - 600, 8,
          HEAP_FILE_UNREADABLE },
        { "an image longer than its memory", HEADER(2, p_memsz), 600, 8, HEAP_FILE_UNREADABLE },
        { "a little image", HEADER(2, p_filesz), 511, 8, HEAP_NOT_JEMALLOC },
        { "segments over each other", HEADER(1, p_vaddr), MADE_WRITTEN_AT - 1, 8,
          HEAP_FILE_UNREADABLE },
        { "segments out of order", HEADER(0, p_vaddr), 0x100000, 8, HEAP_FILE_UNREADABLE },
        { "a segment past the end of the file", HEADER(1, p_filesz), 0x4000, 8,
          HEAP_FILE_UNREADABLE },
        { "a segment past all addresses", HEADER(1, p_vaddr), UINT64_MAX - 0x100, 8,
          HEAP_FILE_UNREADABLE },
        { "names in a segment that is written", HEADER(0, p_flags), PF_R | PF_W, 4,
          HEAP_NOT_JEMALLOC },
        { "slots in a segment that is not", HEADER(1, p_flags), PF_R, 4,
          HEAP_TLS_POSITION_UNKNOWN },
        { "a slot that is not aligned", RELOCATION(8, r_offset), 0x10c44, 8,
          HEAP_TLS_POSITION_UNKNOWN },
        { "relocations past the end", MADE_DYNAMIC_AT + 8, 0x100000, 8, HEAP_FILE_UNREADABLE },
        { "relocations without an end", MADE_DYNAMIC_AT + 24, UINT64_MAX, 8, HEAP_LAYOUT_UNKNOWN },
        { "relocations longer than their segment", MADE_DYNAMIC_AT + 24, 0x10000, 8,
          HEAP_FILE_UNREADABLE },
        { "a dynamic section past the end", HEADER(3, p_offset), 0x100000, 8,
          HEAP_FILE_UNREADABLE },
        { "no dynamic section", HEADER(3, p_type), PT_NULL, 4, HEAP_LAYOUT_UNKNOWN },
        { "program headers of another size", offsetof(Elf64_Ehdr, e_phentsize), 55, 2,
          HEAP_FILE_UNREADABLE },
        { "too many program headers", offsetof(Elf64_Ehdr, e_phnum), ELF_SEGMENTS_MAX + 1, 2,
          HEAP_FILE_UNREADABLE },
        { "program headers past the end", offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8, 8,
          HEAP_FILE_UNREADABLE },
        { "no program headers", offsetof(Elf64_Ehdr, e_phnum), 0, 2, HEAP_NOT_JEMALLOC },
        { "an object file", offsetof(Elf64_Ehdr, e_type), ET_REL, 2, HEAP_NOT_JEMALLOC },
        { "sections past the end", offsetof(Elf64_Ehdr, e_shnum), 9, 2, HEAP_READY },
};

START_TEST(a_change_is_noticed) {
        const Change *change = &changes[_i];
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&base, &made);
        made_elf_put(&made, change->at, &change->word, change->n);
        expect(made_elf_span(&made), change->verdict, change->what, &layout);
}
END_TEST

START_TEST(a_release_may_be_named_at_the_end_of_its_segment) {
        MadeOptions options = { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .n_block = TSD_5_2 };
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&options, &made);
        expect(made_elf_span(&made), HEAP_LAYOUT_UNKNOWN, "no release", &layout);
        made_elf_put(&made, MADE_WRITTEN_AT - sizeof(RELEASE_5_2), RELEASE_5_2,
                     sizeof(RELEASE_5_2));
        expect(made_elf_span(&made), HEAP_READY, "the last bytes", &layout);
        ck_assert_uint_eq(layout.allocated, 16);
        made_elf_make(&options, &made);
        made_elf_put(&made, MADE_WRITTEN_AT - strlen("5.2."), "5.2.", strlen("5.2."));
        expect(made_elf_span(&made), HEAP_LAYOUT_UNKNOWN, "nothing behind it", &layout);
}
END_TEST

START_TEST(two_releases_are_as_good_as_none) {
        MadeOptions options = { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .n_block = TSD_5_2,
                                .version = RELEASE_5_2 };
        static const char other[] = "5.0.1-0-g896ed3a8b3f41998d4fb4d625d30ac63ef2d51fb";
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&options, &made);
        expect(made_elf_span(&made), HEAP_READY, "one release", &layout);
        made_elf_put(&made, MADE_CODE_AT - sizeof(other), other, sizeof(other));
        expect(made_elf_span(&made), HEAP_LAYOUT_UNKNOWN, "two releases", &layout);
}
END_TEST

START_TEST(two_allocators_are_as_good_as_none) {
        MadeOptions options = { PROGRAM, OFFSETS_5_3, .n_block = 6000,
                                .symbols = { "je_tsd_tls" } };
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&options, &made);
        expect(made_elf_span(&made), HEAP_READY, "one allocator", &layout);
        memcpy(made.bytes + MADE_BLOCK_AT + 3000, made.bytes + MADE_BLOCK_AT, 1000);
        expect(made_elf_span(&made), HEAP_TLS_POSITION_UNKNOWN, "two allocators", &layout);
}
END_TEST

START_TEST(program_headers_may_be_anywhere) {
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&base, &made);
        memcpy(made.bytes + MADE_BLOCK_AT + 0x1000, made.bytes + sizeof(Elf64_Ehdr),
               5 * sizeof(Elf64_Phdr));
        made_elf_put_word(&made, offsetof(Elf64_Ehdr, e_phoff), MADE_BLOCK_AT + 0x1000);
        expect(made_elf_span(&made), HEAP_READY, "headers at the end", &layout);
}
END_TEST

/* hostile files */

static const MadeOptions victims[] = {
        { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
        { LIBRARY, OFFSETS_2020, .n_block = 2048, ONE_SLOT(TPOFF, 0) },
        { PROGRAM, OFFSETS_5_3, .n_block = TSD_5_3, .symbols = { "je_tsd_tls" } },
        { ARM_LIBRARY, OFFSETS_5_3_64K, .n_block = 2696, ONE_SLOT(TLSDESC, 0) },
        { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .version = RELEASE_5_2, .n_block = 4096 },
};

/* To the next byte that is tried: all are, but where each takes long. */
static size_t stride(void) {
        return getenv("CTPROF_FEW_ROUNDS") ? 13 : 1;
}

/* What is left of a file is read as in the whole of it, or not at all. */
static void expect_same_or_none(const HeapLayout *part, const HeapLayout *whole, size_t cut) {
        ck_assert(heap_layout_is_valid(part, (uint16_t) part->machine));
        if (part->verdict != HEAP_READY)
                return;
        ck_assert_msg(part->allocated == whole->allocated &&
                              part->deallocated == whole->deallocated &&
                              part->slot_vaddr == whole->slot_vaddr &&
                              part->slot_addend == whole->slot_addend &&
                              part->first_vaddr == whole->first_vaddr &&
                              part->tls_memsz == whole->tls_memsz,
                      "cut at %zu", cut);
}

START_TEST(a_file_that_is_cut_anywhere_is_never_misread) {
        static const int errors[] = { BYTES_E_SHORT, -EIO };
        static MadeElf made;
        HeapLayout whole, part;

        made_elf_make(&victims[_i], &made);
        expect(made_elf_span(&made), HEAP_READY, "a whole file", &whole);
        for (size_t cut = 0; cut < made.n; cut += stride()) {
                ck_assert_int_eq(find((Span){ made.bytes, cut }, &part), 0);
                expect_same_or_none(&part, &whole, cut);
                ck_assert(cut >= MADE_BLOCK_AT + victims[_i].n_block || part.verdict != HEAP_READY);
                /* It shrinks while it is read, or its medium fails. */
                for (size_t i = 0; i < ELEMENTSOF(errors); i++) {
                        ByteSpan file = { .bytes = made_elf_span(&made),
                                          .error = errors[i],
                                          .fails_from = cut };
                        ByteSource source = byte_span_source(&file);

                        ck_assert_int_eq(heap_layout_find(&source, &part), 0);
                        expect_same_or_none(&part, &whole, cut);
                }
        }
}
END_TEST

START_TEST(a_byte_that_is_another_is_no_danger) {
        static const char masks[] = { 1, 0x10, 0x7f, '\xff' };
        static MadeElf made;

        made_elf_make(&victims[_i], &made);
        for (size_t at = 0; at < made.n; at += stride())
                for (size_t i = 0; i < ELEMENTSOF(masks); i++) {
                        HeapLayout layout;

                        made.bytes[at] ^= masks[i];
                        ck_assert_int_eq(find(made_elf_span(&made), &layout), 0);
                        ck_assert(heap_layout_is_valid(&layout, (uint16_t) layout.machine));
                        made.bytes[at] ^= masks[i];
                }
}
END_TEST

START_TEST(an_error_of_ours_is_passed_up) {
        static MadeElf made;
        ByteSpan file = { .error = -EACCES };
        ByteSource source;
        HeapLayout layout = { .verdict = 4711 };

        made_elf_make(&base, &made);
        file.bytes = made_elf_span(&made);
        source = byte_span_source(&file);
        for (; file.fails_from < made.n; file.fails_from += 64) {
                ck_assert_int_eq(heap_layout_find(&source, &layout), -EACCES);
                ck_assert_uint_eq(layout.verdict, 4711);
        }
        file.fails_from = made.n;
        ck_assert_int_eq(heap_layout_find(&source, &layout), 0);
        ck_assert_uint_eq(layout.verdict, HEAP_READY);
}
END_TEST

START_TEST(a_file_of_another_kind_costs_one_read) {
        MadeOptions options = { LIBRARY, .allocated = 16, .deallocated = 24, .n_block = 504 };
        static MadeElf made;
        ByteSpan file = {};
        ByteSource source;
        HeapLayout layout;

        made_elf_make(&options, &made);
        file.bytes = made_elf_span(&made);
        source = byte_span_source(&file);
        ck_assert_int_eq(heap_layout_find(&source, &layout), 0);
        ck_assert_uint_eq(layout.verdict, HEAP_NOT_JEMALLOC);
        ck_assert_uint_eq(file.n_reads, 1);
}
END_TEST

/* A file whose segments are endless: the made one, and then the same bytes again and again. */
typedef struct Endless {
        const MadeElf *made;
        char filler[2 * ELF_WINDOW_BYTES];
        size_t n_filler; /* of one of the same */
        uint64_t n_bytes_read;
        uint64_t n_reads;
} Endless;

static void endless_init(Endless *endless, const MadeElf *made, Span filler) {
        *endless = (Endless){ .made = made, .n_filler = filler.n };
        for (size_t i = 0; i < sizeof(endless->filler); i++)
                endless->filler[i] = filler.bytes[i % filler.n];
}

static int read_endless(void *userdata, uint64_t offset, void *ret, size_t n) {
        Endless *endless = userdata;
        char *bytes = ret;
        size_t done = 0;

        ck_assert_uint_le(n, ELF_WINDOW_BYTES);
        endless->n_reads++;
        endless->n_bytes_read += n;
        if (offset < endless->made->n) {
                done = MIN_OF(n, (size_t) (endless->made->n - offset));
                memcpy(bytes, endless->made->bytes + offset, done);
        }
        memcpy(bytes + done, endless->filler + (offset + done) % endless->n_filler, n - done);
        return 0;
}

static const struct {
        unsigned header; /* which segment has no end */
        Span filler;
} endless_rows[] = {
        { 1, { "\0", 1 } },
        { 2, { "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16 } }, /* an empty cache */
        { 1, { "\x21\2\x40\0\0\0\0\0", 8 } },              /* addresses of the name */
        { 0, { "5.2.1-0-g0123456 5.2.1 ", 23 } },
};

START_TEST(work_is_bounded) {
        MadeOptions options = { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .n_block = TSD_5_2 };
        static MadeElf made;
        static Endless endless;
        ByteSource source = { .size = UINT64_C(1) << 40,
                              .read = read_endless,
                              .userdata = &endless };
        uint64_t n = UINT64_C(1) << 36;
        HeapLayout layout;

        if (getenv("CTPROF_FEW_ROUNDS"))
                return;
        made_elf_make(&options, &made);
        endless_init(&endless, &made, endless_rows[_i].filler);
        made_elf_put_word(&made, HEADER(endless_rows[_i].header, p_filesz), n);
        made_elf_put_word(&made, HEADER(endless_rows[_i].header, p_memsz), n);
        if (endless_rows[_i].header == 0) { /* room for the names */
                made_elf_put_word(&made, HEADER(1, p_vaddr), MADE_FIXED_VADDR + n);
                made_elf_put_word(&made, HEADER(2, p_vaddr), MADE_FIXED_VADDR + n);
        }
        ck_assert_int_eq(heap_layout_find(&source, &layout), 0);
        ck_assert_str_eq(heap_verdict_name(layout.verdict), "layout-unknown");
        ck_assert_uint_le(endless.n_bytes_read, ELF_READ_BYTES_MAX);
        ck_assert_uint_le(endless.n_reads, ELF_READ_BYTES_MAX / ELF_READ_CHARGE_BYTES);
}
END_TEST

/* validity */

static const HeapLayout valid = {
        .verdict = HEAP_READY,
        .machine = EM_X86_64,
        .slot_kind = HEAP_SLOT_TPOFF,
        .tls_vaddr = 0xc7520,
        .tls_memsz = TSD_5_3,
        .tls_align = 8,
        .slot_vaddr = 0xccf78,
        .allocated = 824,
        .deallocated = 840,
};

START_TEST(a_number_out_of_bounds_is_seen) {
        static const struct {
                size_t at;
                size_t n;
                uint64_t number;
                bool is_valid;
        } numbers[] = {
#define NUMBER(member, number, is_valid) \
        { offsetof(HeapLayout, member), sizeof(valid.member), (number), (is_valid) }
                NUMBER(verdict, _HEAP_VERDICT_MAX, false),
                NUMBER(verdict, HEAP_NOT_JEMALLOC, true),
                NUMBER(machine, EM_AARCH64, false),
                NUMBER(is_fixed, 1, true),
                NUMBER(is_fixed, 2, false),
                NUMBER(slot_kind, HEAP_SLOT_NONE, false),
                NUMBER(slot_kind, HEAP_SLOT_TLSDESC, true),
                NUMBER(slot_kind, _HEAP_SLOT_MAX, false),
                NUMBER(first_vaddr, 0x400000, true),
                NUMBER(first_vaddr, 1, false),
                NUMBER(first_vaddr, ELF_ADDRESS_MAX, false),
                NUMBER(first_offset, 0x1000, true),
                NUMBER(first_offset, 8, false),
                NUMBER(first_offset, UINT64_C(1) << 63, false),
                NUMBER(tls_vaddr, ELF_ADDRESS_MAX - 1, true),
                NUMBER(tls_vaddr, ELF_ADDRESS_MAX, false),
                NUMBER(tls_memsz, 848, true),
                NUMBER(tls_memsz, 847, false),
                NUMBER(tls_memsz, 0, false),
                NUMBER(tls_memsz, HEAP_TLS_BYTES_MAX, true),
                NUMBER(tls_memsz, HEAP_TLS_BYTES_MAX + 1, false),
                NUMBER(tls_align, 1, true),
                NUMBER(tls_align, 0, false),
                NUMBER(tls_align, 12, false),
                NUMBER(tls_align, HEAP_TLS_ALIGN_MAX, true),
                NUMBER(tls_align, HEAP_TLS_ALIGN_MAX * 2, false),
                NUMBER(slot_vaddr, 0, false),
                NUMBER(slot_vaddr, 0xccf7c, false),
                NUMBER(slot_vaddr, ELF_ADDRESS_MAX, false),
                NUMBER(slot_addend, TSD_5_3, true),
                NUMBER(slot_addend, TSD_5_3 + 1, false),
                NUMBER(slot_addend, UINT64_MAX, false),
                NUMBER(tsd, HEAP_TSD_UNKNOWN, true),
                NUMBER(tsd, 816, true),
                NUMBER(tsd, 824, false),
                NUMBER(allocated, 832, true),
                NUMBER(allocated, 816, false),
                NUMBER(allocated, 828, false),
                NUMBER(allocated, 840, false),
                NUMBER(allocated, UINT64_MAX - 7, false),
                NUMBER(deallocated, 832, true),
                NUMBER(deallocated, 848, false),
                NUMBER(deallocated, UINT64_MAX - 7, false),
#undef NUMBER
        };

        ck_assert(heap_layout_is_valid(&valid, EM_X86_64));
        ck_assert(!heap_layout_is_valid(&valid, EM_RISCV));
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                HeapLayout layout = valid;

                memcpy((char *) &layout + numbers[i].at, &numbers[i].number, numbers[i].n);
                ck_assert_msg(heap_layout_is_valid(&layout, EM_X86_64) == numbers[i].is_valid,
                              "number %zu", i);
        }
}
END_TEST

START_TEST(every_verdict_has_a_name) {
        for (unsigned i = 0; i < _HEAP_VERDICT_MAX; i++)
                for (unsigned j = 0; j < i; j++)
                        ck_assert_str_ne(heap_verdict_name(i), heap_verdict_name(j));
        ck_assert_str_eq(heap_verdict_name(_HEAP_VERDICT_MAX), "unknown");
}
END_TEST

static Suite *heap_layout_suite(void) {
        Suite *suite = suite_create("heap-layout");
        TCase *tcase = tcase_create("file");

        tcase_add_loop_test(tcase, a_file_that_is_cut_before_its_headers_is_told, 0,
                            ELEMENTSOF(cut_rows));
        tcase_add_loop_test(tcase, a_file_is_what_it_was_made_as, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(tcase, a_change_is_noticed, 0, ELEMENTSOF(changes));
        tcase_add_test(tcase, a_release_may_be_named_at_the_end_of_its_segment);
        tcase_add_test(tcase, two_releases_are_as_good_as_none);
        tcase_add_test(tcase, two_allocators_are_as_good_as_none);
        tcase_add_test(tcase, program_headers_may_be_anywhere);
        suite_add_tcase(suite, tcase);

        tcase = tcase_create("hostile");
        tcase_add_loop_test(tcase, a_file_that_is_cut_anywhere_is_never_misread, 0,
                            ELEMENTSOF(victims));
        tcase_add_loop_test(tcase, a_byte_that_is_another_is_no_danger, 0, ELEMENTSOF(victims));
        tcase_add_test(tcase, an_error_of_ours_is_passed_up);
        tcase_add_test(tcase, a_file_of_another_kind_costs_one_read);
        tcase_add_loop_test(tcase, work_is_bounded, 0, ELEMENTSOF(endless_rows));
        suite_add_tcase(suite, tcase);

        tcase = tcase_create("validity");
        tcase_add_test(tcase, a_number_out_of_bounds_is_seen);
        tcase_add_test(tcase, every_verdict_has_a_name);
        suite_add_tcase(suite, tcase);
        return suite;
}

int main(void) {
        return check_main(heap_layout_suite());
}
