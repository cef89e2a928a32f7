/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stddef.h>

#include "capture/heap/elf-file.h"
#include "made-elf.h"
#include "made-heap.h"

/* files without headers */

static const struct {
        Span bytes;
        HeapFailure verdict;
} cut_rows[] = {
        { { "", 0 }, HEAP_NOT_JEMALLOC },
        { { ELFMAG, 3 }, HEAP_NOT_JEMALLOC },
        { { "#!/bin/sh\n", 10 }, HEAP_NOT_JEMALLOC },
        { { ELFMAG, 4 }, HEAP_FAILURE_FILE_UNREADABLE },
        { { ELFMAG "\2", 5 }, HEAP_FAILURE_FILE_UNREADABLE },
        { { ELFMAG "\1\1\1", 7 }, HEAP_FAILURE_ARCH_MISMATCH }, /* 32 bits */
        { { ELFMAG "\2\2\1", 7 }, HEAP_FAILURE_ARCH_MISMATCH }, /* big-endian */
        { { ELFMAG "\2\1\1", 7 }, HEAP_FAILURE_FILE_UNREADABLE },
};

START_TEST(a_file_that_is_cut_before_its_headers_is_told) {
        HeapLayout layout;

        expect(cut_rows[_i].bytes, cut_rows[_i].verdict, "a cut file", &layout);
}
END_TEST

/* made files */

typedef struct Row {
        const char *what;
        MadeOptions options;
        HeapFailure verdict;
        HeapSlot slot;
        unsigned slot_number;
        uint64_t tsd; /* when ready */
} Row;

/* The counters that are found are those that the image has, so no row says them. */
static const Row rows[] = {
        { "5.3, library",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, library whose pointers are relocated in place (RELR)",
          { LIBRARY, OFFSETS_5_3, .pointers = MADE_IN_PLACE, .n_block = TSD_5_3,
            ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, code with lea",
          { LIBRARY, OFFSETS_5_3, .code = MADE_LEA, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, fixed program",
          { PROGRAM, OFFSETS_5_3, .n_block = TSD_5_3 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, movable program",
          { LIBRARY, OFFSETS_5_3, .has_interpreter = true, .n_block = TSD_5_3 + 80, .tsd = 80 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          80 },
        { "5.3, movable program without an interpreter",
          { LIBRARY, OFFSETS_5_3, .is_pie = true, .n_block = TSD_5_3 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, the name at the end of another text",
          { PROGRAM, OFFSETS_5_3, .is_name_shared = true, .n_block = TSD_5_3 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, aarch64 library with descriptors",
          { ARM_LIBRARY, OFFSETS_5_3_64K, .n_block = 2800, .tsd = 40, .n_slots = 4,
            .slots = { { HEAP_SLOT_TLSDESC, 0, 0, 0 },
                       { HEAP_SLOT_TLSDESC, 3, 40, 0 },
                       { HEAP_SLOT_TLSDESC, 0, 40, 0 },
                       { HEAP_SLOT_TLSDESC, 0, 2768, 0 } } },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TLSDESC,
          2,
          40 },
        { "5.3, aarch64 program",
          { .type = ET_EXEC,
            .machine = EM_AARCH64,
            .pointers = MADE_IN_PLACE,
            OFFSETS_5_3_64K,
            .n_block = 2696 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          0 },
        { "5.3, aarch64 library with one slot",
          { ARM_LIBRARY, OFFSETS_5_3_64K, .n_block = 2696, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, library that knows only its number",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 + 40, .tsd = 40, ONE_SLOT(DTPMOD, 0) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_DTPMOD,
          0,
          40 },
        { "5.3, the most direct of three slots",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, .n_slots = 3,
            .slots = { { HEAP_SLOT_DTPMOD, 0, 0, 0 },
                       { HEAP_SLOT_TLSDESC, 0, 0, 0 },
                       { HEAP_SLOT_TPOFF, 0, 0, 0 } } },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          2,
          0 },
        { "5.3, slots of other variables beside the number",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 + 40, .tsd = 40, .n_slots = 2,
            .slots = { { HEAP_SLOT_TPOFF, 0, 8, 0 }, { HEAP_SLOT_DTPMOD, 0, 0, 0 } } },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_DTPMOD,
          1,
          40 },
        { "5.3, two tables that agree",
          { LIBRARY, OFFSETS_5_3, .second_allocated = 824, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          0 },
        { "5.3, code that does not tell, named struct",
          { PROGRAM, OFFSETS_5_3, .code = MADE_OPAQUE, .n_block = TSD_5_3 + 64, .tsd = 64,
            .symbols = { "je_tsd_tls" }, .symbol_values = { 64 } },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          64 },
        { "5.3, code that does not tell",
          { PROGRAM, OFFSETS_5_3, .code = MADE_OPAQUE, .n_block = TSD_5_3 + 64, .tsd = 64 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          HEAP_TSD_UNKNOWN },
        { "5.3, no table, library",
          { LIBRARY, OFFSETS_5_3, .has_no_table = true, .n_block = TSD_5_3 + 64, .tsd = 64,
            ONE_SLOT(TPOFF, 64) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          HEAP_TSD_UNKNOWN },
        { "5.0, library",
          { LIBRARY, OFFSETS_5_0, .n_block = 6104 + 16, .tsd = 16, ONE_SLOT(TPOFF, 16) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          16 },
        { "5.2, library that knows only its number",
          { LIBRARY, OFFSETS_5_2, .n_block = TSD_5_2, ONE_SLOT(DTPMOD, 0) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_DTPMOD,
          0,
          0 },
        { "5.2, library that knows its number and the place of one variable",
          { LIBRARY, OFFSETS_5_2, .n_block = TSD_5_2 + 32, .tsd = 32, .n_slots = 1,
            .slots = { { HEAP_SLOT_DTPMOD, 0, 0, 32 } } },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_DTPMOD,
          0,
          32 },
        { "5.2, stripped program",
          { PROGRAM, OFFSETS_5_2, .n_block = TSD_5_2 + 64, .tsd = 64 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          64 },
        { "5.2, library with a slot of another variable",
          { LIBRARY, OFFSETS_5_2, .n_block = TSD_5_2 + 64, .tsd = 64, .n_slots = 2,
            .slots = { { HEAP_SLOT_TPOFF, 0, 8, 0 }, { HEAP_SLOT_TPOFF, 0, 64, 0 } } },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          1,
          64 },
        { "5.2, code that does not tell",
          { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .version = RELEASE_5_2,
            .n_block = TSD_5_2 + 8, .tsd = 8 },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          8 },
        { "between releases, library",
          { LIBRARY, OFFSETS_2020, .n_block = 6384 + 32, .tsd = 32, ONE_SLOT(TPOFF, 32) },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_TPOFF,
          0,
          32 },
        { "between releases, program with symbols",
          { PROGRAM, OFFSETS_2020, .n_block = 6384 + 32, .tsd = 32,
            .symbols = { "_rjem_je_tsd_tls" }, .symbol_values = { 32 } },
          HEAP_FAILURE_NONE,
          HEAP_SLOT_NONE,
          0,
          32 },
        { "the name that jemalloc without a prefix has",
          { PROGRAM, OFFSETS_2020, .n_block = 6384, .symbols = { "other", "tsd_tls" } },
          HEAP_FAILURE_NONE,
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
          HEAP_FAILURE_ARCH_MISMATCH,
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
          HEAP_FAILURE_LAYOUT_UNKNOWN,
          0,
          0,
          0 },
        { "between releases, code that does not tell",
          { LIBRARY, OFFSETS_2020, .code = MADE_OPAQUE, .n_block = 6384,
            .version = "5.2.1-643-g7d2bac5a384a2fded203298939fc7eb48f8c0f4b", ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_LAYOUT_UNKNOWN,
          0,
          0,
          0 },
        { "counters that are switched off",
          { LIBRARY, OFFSETS_5_2, .code = MADE_REFUSAL, .n_block = TSD_5_2, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "counters that are switched off, aarch64",
          { ARM_LIBRARY, OFFSETS_5_2, .code = MADE_REFUSAL, .n_block = TSD_5_2,
            ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "counters that are switched off, not optimized",
          { LIBRARY, OFFSETS_5_2, .code = MADE_O0_REFUSAL, .version = RELEASE_5_2,
            .n_block = TSD_5_2, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "counters that are switched off, not optimized, aarch64",
          { ARM_LIBRARY, OFFSETS_5_2, .code = MADE_O0_REFUSAL, .version = RELEASE_5_2,
            .n_block = TSD_5_2, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_COUNTERS_DISABLED,
          0,
          0,
          0 },
        { "code and image disagree",
          { LIBRARY, OFFSETS_5_3, .image_allocated = 800, .n_block = TSD_5_3, .tsd = 0,
            ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "code and image disagree in the distance",
          { LIBRARY, .allocated = 824, .deallocated = 832, .image = MADE_CACHE, .n_block = TSD_5_3,
            ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "name and image disagree",
          { PROGRAM, OFFSETS_5_3, .n_block = TSD_5_3 + 64, .tsd = 64, .symbols = { "je_tsd_tls" },
            .symbol_values = { 56 } },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "name and image disagree, code that does not tell",
          { PROGRAM, OFFSETS_5_3, .code = MADE_OPAQUE, .n_block = 5000, .tsd = 64,
            .symbols = { "je_tsd_tls" }, .symbol_values = { 4900 } },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "slot and image disagree",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 + 64, .tsd = 64, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "two tables that disagree",
          { LIBRARY, OFFSETS_5_3, .second_allocated = 888, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "a slot that leads past the block",
          { LIBRARY, OFFSETS_2020, .n_block = 6384, ONE_SLOT(TPOFF, 6000) },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "a slot that leads backwards",
          { LIBRARY, OFFSETS_2020, .n_block = 6384, ONE_SLOT(TPOFF, (uint64_t) -8) },
          HEAP_FAILURE_LAYOUT_CONFLICT,
          0,
          0,
          0 },
        { "between releases, stripped program",
          { PROGRAM, OFFSETS_2020, .n_block = 6384, .tsd = 0 },
          HEAP_FAILURE_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "two named structs",
          { PROGRAM, OFFSETS_2020, .n_block = 7000, .symbols = { "a_tsd_tls", "b_tsd_tls" },
            .symbol_values = { 0, 8 } },
          HEAP_FAILURE_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "a name that only looks like it",
          { PROGRAM, OFFSETS_2020, .n_block = 7000, .symbols = { "_tsd_tls", "mytsd_tls" } },
          HEAP_FAILURE_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "several slots, none where the struct could be",
          { LIBRARY, OFFSETS_2020, .n_block = 6384 + 64, .tsd = 64, .n_slots = 2,
            .slots = { { HEAP_SLOT_TPOFF, 0, 8, 0 }, { HEAP_SLOT_TPOFF, 0, 16, 0 } } },
          HEAP_FAILURE_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "a number, and the struct is not at the start",
          { LIBRARY, OFFSETS_2020, .n_block = 6384 + 64, .tsd = 64, ONE_SLOT(DTPMOD, 0) },
          HEAP_FAILURE_TLS_POSITION_UNKNOWN,
          0,
          0,
          0 },
        { "library without a slot",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3 },
          HEAP_FAILURE_TLS_MODEL_UNSUPPORTED,
          0,
          0,
          0 },
        { "library whose slot another one may answer",
          { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, .n_slots = 1,
            .slots = { { HEAP_SLOT_TPOFF, 7, 0, 0 } } },
          HEAP_FAILURE_TLS_MODEL_UNSUPPORTED,
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
        if (row->verdict == HEAP_FAILURE_NONE)
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
        HeapFailure verdict;
} Change;

#define RECORD(number) (MADE_TABLES_AT + (number) *40)
#define FUNCTION(number) (MADE_CODE_AT + (number) *MADE_FUNCTION_BYTES)
#define RELOCATION(number, member) \
        (MADE_RELOCATIONS_AT + (number) * sizeof(Elf64_Rela) + offsetof(Elf64_Rela, member))

static const Change changes[] = {
        { "nothing changed", 0, ELFMAG0, 1, HEAP_FAILURE_NONE },
        { "a record without the mark of a name", RECORD(1), 0, 8, HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a record with children", RECORD(2) + 16, 1, 8, HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a record with an address of children", RECORD(2) + 24, 1, 8,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "children by a relocation", RELOCATION(1, r_offset), RECORD(0) + 24 + MADE_WRITTEN_MOVED,
          8, HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a word that another module answers", RELOCATION(1, r_info),
          ELF64_R_INFO(UINT64_C(1), R_X86_64_64), 8, HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a record of another name", RELOCATION(0, r_addend), MADE_NAMES_AT + 1, 8,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a record of a name outside", RELOCATION(0, r_addend), UINT64_MAX, 8,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a table that is not aligned", RELOCATION(6, r_offset),
          RECORD(3) + 9 + MADE_WRITTEN_MOVED, 8, HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a table that begins before the segment", RELOCATION(6, r_offset), 16, 8,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a function outside", RELOCATION(1, r_addend), UINT64_MAX - 8, 8,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a function at the end of its segment", RELOCATION(1, r_addend), MADE_WRITTEN_AT - 1, 8,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "a counter that its address is not that of", FUNCTION(1) + 11, 768, 4,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "another counter that its address is not that of", FUNCTION(3) + 11, 784, 4,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "no marker", MADE_NAMES_AT + 33 + 3, 'k', 1, HEAP_NOT_JEMALLOC },
        { "a counter that is not 0 in the image", MADE_BLOCK_AT + 760, 1, 8,
          HEAP_FAILURE_LAYOUT_CONFLICT },
        { "another counter that is not 0 in the image", MADE_BLOCK_AT + 776, 1, 8,
          HEAP_FAILURE_LAYOUT_CONFLICT },
        { "counters behind the image", HEADER(2, p_filesz), 512, 8, HEAP_FAILURE_NONE },
        { "a counter half in the image", HEADER(2, p_filesz), 764, 8, HEAP_FAILURE_NONE },
        { "counters behind the block", HEADER(2, p_memsz), 783, 8, HEAP_FAILURE_FILE_UNREADABLE },
        { "thread-local memory without an alignment", HEADER(2, p_align), 0, 8, HEAP_FAILURE_NONE },
        { "an alignment that is none", HEADER(2, p_align), 24, 8, HEAP_FAILURE_LAYOUT_CONFLICT },
        { "an alignment past any page", HEADER(2, p_align), 1 << 21, 8,
          HEAP_FAILURE_LAYOUT_CONFLICT },
        { "more thread-local memory than there is", HEADER(2, p_memsz), UINT64_C(1) << 40, 8,
          HEAP_FAILURE_LAYOUT_CONFLICT },
        { "thread-local memory past all addresses", HEADER(2, p_memsz), UINT64_MAX - 8, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "an image past the end of the file", HEADER(2, p_offset), UINT64_MAX - 600, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "an image longer than its memory", HEADER(2, p_memsz), 600, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "a little image", HEADER(2, p_filesz), 511, 8, HEAP_NOT_JEMALLOC },
        { "segments over each other", HEADER(1, p_vaddr), MADE_WRITTEN_AT - 1, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "segments out of order", HEADER(0, p_vaddr), 0x100000, 8, HEAP_FAILURE_FILE_UNREADABLE },
        { "a segment past the end of the file", HEADER(1, p_filesz), 0x4000, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "a segment past all addresses", HEADER(1, p_vaddr), UINT64_MAX - 0x100, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "names in a segment that is written", HEADER(0, p_flags), PF_R | PF_W, 4,
          HEAP_NOT_JEMALLOC },
        { "slots in a segment that is not", HEADER(1, p_flags), PF_R, 4,
          HEAP_FAILURE_TLS_POSITION_UNKNOWN },
        { "a slot that is not aligned", RELOCATION(8, r_offset), 0x10c44, 8,
          HEAP_FAILURE_TLS_POSITION_UNKNOWN },
        { "relocations past the end", MADE_DYNAMIC_AT + 8, 0x100000, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "relocations without an end", MADE_DYNAMIC_AT + 24, UINT64_MAX, 8,
          HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "relocations longer than their segment", MADE_DYNAMIC_AT + 24, 0x10000, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "a dynamic section past the end", HEADER(3, p_offset), 0x100000, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "no dynamic section", HEADER(3, p_type), PT_NULL, 4, HEAP_FAILURE_LAYOUT_UNKNOWN },
        { "program headers of another size", offsetof(Elf64_Ehdr, e_phentsize), 55, 2,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "too many program headers", offsetof(Elf64_Ehdr, e_phnum), ELF_SEGMENTS_MAX + 1, 2,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "program headers past the end", offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8, 8,
          HEAP_FAILURE_FILE_UNREADABLE },
        { "no program headers", offsetof(Elf64_Ehdr, e_phnum), 0, 2, HEAP_NOT_JEMALLOC },
        { "an object file", offsetof(Elf64_Ehdr, e_type), ET_REL, 2, HEAP_NOT_JEMALLOC },
        { "sections past the end", offsetof(Elf64_Ehdr, e_shnum), 9, 2, HEAP_FAILURE_NONE },
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
        expect(made_elf_span(&made), HEAP_FAILURE_LAYOUT_UNKNOWN, "no release", &layout);
        made_elf_put(&made, MADE_WRITTEN_AT - sizeof(RELEASE_5_2), RELEASE_5_2,
                     sizeof(RELEASE_5_2));
        expect(made_elf_span(&made), HEAP_FAILURE_NONE, "the last bytes", &layout);
        ck_assert_uint_eq(layout.allocated, 16);
        made_elf_make(&options, &made);
        made_elf_put(&made, MADE_WRITTEN_AT - strlen("5.2."), "5.2.", strlen("5.2."));
        expect(made_elf_span(&made), HEAP_FAILURE_LAYOUT_UNKNOWN, "nothing behind it", &layout);
}
END_TEST

START_TEST(two_releases_are_as_good_as_none) {
        MadeOptions options = { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .n_block = TSD_5_2,
                                .version = RELEASE_5_2 };
        static const char other[] = "5.0.1-0-g896ed3a8b3f41998d4fb4d625d30ac63ef2d51fb";
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&options, &made);
        expect(made_elf_span(&made), HEAP_FAILURE_NONE, "one release", &layout);
        made_elf_put(&made, MADE_CODE_AT - sizeof(other), other, sizeof(other));
        expect(made_elf_span(&made), HEAP_FAILURE_LAYOUT_UNKNOWN, "two releases", &layout);
}
END_TEST

START_TEST(two_allocators_are_as_good_as_none) {
        MadeOptions options = { PROGRAM, OFFSETS_5_3, .n_block = 6000,
                                .symbols = { "je_tsd_tls" } };
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&options, &made);
        expect(made_elf_span(&made), HEAP_FAILURE_NONE, "one allocator", &layout);
        memcpy(made.bytes + MADE_BLOCK_AT + 3000, made.bytes + MADE_BLOCK_AT, 1000);
        expect(made_elf_span(&made), HEAP_FAILURE_TLS_POSITION_UNKNOWN, "two allocators", &layout);
}
END_TEST

START_TEST(program_headers_may_be_anywhere) {
        static MadeElf made;
        HeapLayout layout;

        made_elf_make(&base, &made);
        memcpy(made.bytes + MADE_BLOCK_AT + 0x1000, made.bytes + sizeof(Elf64_Ehdr),
               5 * sizeof(Elf64_Phdr));
        made_elf_put_word(&made, offsetof(Elf64_Ehdr, e_phoff), MADE_BLOCK_AT + 0x1000);
        expect(made_elf_span(&made), HEAP_FAILURE_NONE, "headers at the end", &layout);
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

        return suite;
}

int main(void) {
        return check_main(heap_layout_suite());
}
