/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>

#include "capture/heap/elf-file.h"
#include "made-elf.h"
#include "made-heap.h"

/* hostile files */

static const MadeOptions victims[] = {
        { LIBRARY, OFFSETS_5_3, .n_block = TSD_5_3, ONE_SLOT(TPOFF, 0) },
        { LIBRARY, OFFSETS_2020, .n_block = 2048, ONE_SLOT(TPOFF, 0) },
        { PROGRAM, OFFSETS_5_3, .n_block = TSD_5_3, .symbols = { "je_tsd_tls" } },
        { ARM_LIBRARY, OFFSETS_5_3_64K, .n_block = 2696, ONE_SLOT(TLSDESC, 0) },
        { PROGRAM, OFFSETS_5_2, .code = MADE_OPAQUE, .version = RELEASE_5_2, .n_block = 4096 },
};

/* To the next byte that is tried. */
static size_t stride(void) {
        return getenv("CTPROF_FEW_ROUNDS") ? 13 : getenv("CTPROF_THOROUGH") ? 1 : 3;
}

/* What is left of a file is read as in the whole of it, or not at all. */
static void expect_same_or_none(const HeapLayout *part, const HeapLayout *whole, size_t cut) {
        ck_assert(heap_layout_is_valid(part, (uint16_t) part->machine));
        if (part->verdict != HEAP_FAILURE_NONE)
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
        static MadeElf made;
        HeapLayout whole, part;

        made_elf_make(&victims[_i], &made);
        expect(made_elf_span(&made), HEAP_FAILURE_NONE, "a whole file", &whole);
        for (size_t cut = 0; cut < made.n; cut += stride()) {
                ck_assert_int_eq(find((Span){ made.bytes, cut }, &part), 0);
                expect_same_or_none(&part, &whole, cut);
                ck_assert(cut >= MADE_BLOCK_AT + victims[_i].n_block ||
                          part.verdict != HEAP_FAILURE_NONE);
                /* It shrinks while it is read, or its medium fails. */
                for (unsigned i = 0; i < 2; i++) {
                        ByteSpan file = { .bytes = made_elf_span(&made),
                                          .is_cut = i == 0,
                                          .error = -EIO,
                                          .fails_from = cut };

                        ck_assert_int_eq(heap_layout_find(byte_span_open(&file), made.n, &part), 0);
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

/* No image of this one helps, so that all of the file is read. */
START_TEST(an_error_of_ours_is_passed_up) {
        MadeOptions options = { LIBRARY, OFFSETS_2020, .n_block = 6384, ONE_SLOT(TPOFF, 0) };
        static MadeElf made;
        ByteSpan file = { .error = -EACCES };
        HeapLayout layout = { .verdict = 4711 };
        int fd;

        made_elf_make(&options, &made);
        file.bytes = made_elf_span(&made);
        fd = byte_span_open(&file);
        /* The headers of sections, which are the last, are read by libelf. */
        for (; file.fails_from < made.n - 3 * sizeof(Elf64_Shdr); file.fails_from += 64) {
                ck_assert_int_eq(heap_layout_find(fd, made.n, &layout), -EACCES);
                ck_assert_uint_eq(layout.verdict, 4711);
        }
        file.fails_from = made.n;
        ck_assert_int_eq(heap_layout_find(fd, made.n, &layout), 0);
        ck_assert_uint_eq(layout.verdict, HEAP_FAILURE_NONE);
}
END_TEST

START_TEST(a_file_of_another_kind_costs_its_headers) {
        MadeOptions options = { LIBRARY, .allocated = 16, .deallocated = 24, .n_block = 504 };
        static MadeElf made;
        ByteSpan file = {};
        HeapLayout layout;

        made_elf_make(&options, &made);
        file.bytes = made_elf_span(&made);
        ck_assert_int_eq(heap_layout_find(byte_span_open(&file), made.n, &layout), 0);
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

static void read_endless(void *userdata, uint64_t offset, void *ret, size_t n) {
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
        ByteSpan file = { .read = read_endless, .userdata = &endless };
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
        file.bytes = made_elf_span(&made); /* as libelf sees it */
        ck_assert_int_eq(heap_layout_find(byte_span_open(&file), UINT64_C(1) << 40, &layout), 0);
        ck_assert_str_eq(verdict_name(layout.verdict), "layout-unknown");
        ck_assert_uint_le(endless.n_bytes_read, ELF_READ_BYTES_MAX);
        ck_assert_uint_le(endless.n_reads, ELF_READ_BYTES_MAX / ELF_READ_CHARGE_BYTES);
}
END_TEST

/* validity */

static const HeapLayout valid = {
        .verdict = HEAP_FAILURE_NONE,
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
                NUMBER(verdict, HEAP_NOT_SETTLED, false),
                NUMBER(verdict, HEAP_FAILURE_PERMISSION, false),
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

static Suite *heap_layout_hostile_suite(void) {
        Suite *suite = suite_create("heap-layout-hostile");
        TCase *tcase = tcase_create("hostile");

        tcase_add_loop_test(tcase, a_file_that_is_cut_anywhere_is_never_misread, 0,
                            ELEMENTSOF(victims));
        tcase_add_loop_test(tcase, a_byte_that_is_another_is_no_danger, 0, ELEMENTSOF(victims));
        tcase_add_test(tcase, an_error_of_ours_is_passed_up);
        tcase_add_test(tcase, a_file_of_another_kind_costs_its_headers);
        tcase_add_loop_test(tcase, work_is_bounded, 0, ELEMENTSOF(endless_rows));
        suite_add_tcase(suite, tcase);

        tcase = tcase_create("validity");
        tcase_add_test(tcase, a_number_out_of_bounds_is_seen);
        suite_add_tcase(suite, tcase);
        return suite;
}

int main(void) {
        return check_main(heap_layout_hostile_suite());
}
