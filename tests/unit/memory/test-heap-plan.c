/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <elf.h>

#include "capture/heap/thread-counters.h"

static HeapLayout layout_of(uint16_t machine) {
        return (HeapLayout){
                .verdict = HEAP_FAILURE_NONE,
                .machine = machine,
                .tls_memsz = 2632,
                .tls_align = 16,
                .allocated = 824,
                .deallocated = 840,
        };
}

/* Where linkers put the block of a program, by hand. */
static const struct {
        uint16_t machine;
        uint64_t vaddr, memsz, align;
        int64_t distance;
} program_rows[] = {
        { EM_X86_64, 0x4000, 2632, 8, -2632 },
        { EM_X86_64, 0x4000, 2632, 16, -2640 },
        { EM_X86_64, 0x4000, 2632, 64, -2688 },
        { EM_X86_64, 0x4008, 2632, 16, -2632 }, /* begins 8 behind a multiple of 16 */
        { EM_X86_64, 0x4008, 2640, 16, -2648 },
        { EM_X86_64, 0x4030, 2632, 64, -2640 },
        { EM_X86_64, 0x4000, 2632, 0, -2632 },
        { EM_AARCH64, 0x4000, 2632, 8, 16 },
        { EM_AARCH64, 0x4000, 2632, 16, 16 },
        { EM_AARCH64, 0x4000, 2632, 64, 64 },
        { EM_AARCH64, 0x4008, 2632, 16, 24 },
        { EM_AARCH64, 0x4030, 2632, 64, 48 },
};

START_TEST(the_block_of_a_program_has_a_fixed_place) {
        HeapLayout layout = layout_of(program_rows[_i].machine);
        HeapPlan plan;

        layout.tls_vaddr = program_rows[_i].vaddr;
        layout.tls_memsz = program_rows[_i].memsz;
        layout.tls_align = program_rows[_i].align;
        ck_assert(heap_plan_of_program(&layout, &plan));
        ck_assert_uint_eq(plan.kind, HEAP_PLAN_STATIC);
        ck_assert_int_eq(plan.distance, program_rows[_i].distance);
        ck_assert_uint_eq(plan.allocated, 824);
        ck_assert_uint_eq(plan.deallocated, 840);
}
END_TEST

START_TEST(a_program_with_impossible_memory_has_no_plan) {
        HeapLayout layout = layout_of(EM_X86_64);
        HeapPlan plan;

        layout.tls_memsz = UINT64_C(1) << 40;
        ck_assert(!heap_plan_of_program(&layout, &plan));
        layout = layout_of(EM_X86_64);
        layout.tls_vaddr = 4; /* the block would not be aligned */
        layout.tls_align = 8;
        ck_assert(!heap_plan_of_program(&layout, &plan));
}
END_TEST

#define POINTER UINT64_C(0x7f0000001230)

static const struct {
        uint16_t machine;
        HeapSlot slot;
        int64_t addend;
        uint64_t words[2];
        HeapPlanResult result;
        HeapPlanKind kind;
        int64_t distance;
        uint64_t module;
} library_rows[] = {
        /* x86_64: blocks lie below the thread pointer */
        { EM_X86_64,
          HEAP_SLOT_TPOFF,
          0,
          { (uint64_t) -2632 },
          HEAP_PLAN_MADE,
          HEAP_PLAN_STATIC,
          -2632,
          0 },
        { EM_X86_64,
          HEAP_SLOT_TPOFF,
          64,
          { (uint64_t) -2632 },
          HEAP_PLAN_MADE,
          HEAP_PLAN_STATIC,
          -2696,
          0 },
        { EM_X86_64, HEAP_SLOT_TPOFF, 0, { 0 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 }, /* not relocated */
        { EM_X86_64, HEAP_SLOT_TPOFF, 64, { 64 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_X86_64, HEAP_SLOT_TPOFF, 0, { (uint64_t) -2624 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_X86_64, HEAP_SLOT_TPOFF, 0, { (uint64_t) -2633 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_X86_64, HEAP_SLOT_TPOFF, 0, { POINTER }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_X86_64, HEAP_SLOT_TPOFF, 8, { UINT64_C(1) << 63 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        /* aarch64: above */
        { EM_AARCH64, HEAP_SLOT_TPOFF, 0, { 128 }, HEAP_PLAN_MADE, HEAP_PLAN_STATIC, 128, 0 },
        { EM_AARCH64, HEAP_SLOT_TPOFF, 0, { 0 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_AARCH64, HEAP_SLOT_TPOFF, 0, { 8 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_AARCH64, HEAP_SLOT_TPOFF, 0, { (uint64_t) -128 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_AARCH64, HEAP_SLOT_TPOFF, 0, { POINTER }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        /* vectors */
        { EM_X86_64, HEAP_SLOT_DTPMOD, 0, { 3 }, HEAP_PLAN_MADE, HEAP_PLAN_VECTOR, 0, 3 },
        { EM_X86_64, HEAP_SLOT_DTPMOD, 0, { 0 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_X86_64,
          HEAP_SLOT_DTPMOD,
          0,
          { THREAD_MODULES_MAX + 1 },
          HEAP_PLAN_IMPOSSIBLE,
          0,
          0,
          0 },
        { EM_X86_64, HEAP_SLOT_DTPMOD, 0, { POINTER }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        /* descriptors */
        { EM_X86_64,
          HEAP_SLOT_TLSDESC,
          0,
          { POINTER, (uint64_t) -2632 },
          HEAP_PLAN_MADE,
          HEAP_PLAN_STATIC,
          -2632,
          0 },
        { EM_X86_64, HEAP_SLOT_TLSDESC, 0, { POINTER, POINTER }, HEAP_PLAN_FURTHER, 0, 0, 0 },
        { EM_X86_64,
          HEAP_SLOT_TLSDESC,
          0,
          { POINTER, POINTER + 4 },
          HEAP_PLAN_IMPOSSIBLE,
          0,
          0,
          0 },
        { EM_X86_64, HEAP_SLOT_TLSDESC, 0, { POINTER, 0 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_X86_64, HEAP_SLOT_TLSDESC, 0, { 0, (uint64_t) -2632 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_AARCH64,
          HEAP_SLOT_TLSDESC,
          16,
          { POINTER, 144 },
          HEAP_PLAN_MADE,
          HEAP_PLAN_STATIC,
          128,
          0 },
        { EM_AARCH64, HEAP_SLOT_TLSDESC, 0, { POINTER, 0x420010 }, HEAP_PLAN_FURTHER, 0, 0, 0 },
        { EM_AARCH64, HEAP_SLOT_TLSDESC, 0, { POINTER, 8 }, HEAP_PLAN_IMPOSSIBLE, 0, 0, 0 },
        { EM_X86_64, HEAP_SLOT_NONE, 0, { 0 }, HEAP_PLAN_UNSUPPORTED, 0, 0, 0 },
};

START_TEST(words_of_the_process_complete_the_plan_for_a_library) {
        HeapLayout layout = layout_of(library_rows[_i].machine);
        uint64_t further = 0;
        HeapPlan plan = {};

        layout.slot_kind = library_rows[_i].slot;
        layout.slot_addend = library_rows[_i].addend;
        ck_assert_uint_eq(heap_plan_n_words(&layout),
                          layout.slot_kind == HEAP_SLOT_TLSDESC ? 2 : 1);
        ck_assert_int_eq(heap_plan_of_library(&layout, library_rows[_i].words, &plan, &further),
                         library_rows[_i].result);
        if (library_rows[_i].result == HEAP_PLAN_FURTHER)
                ck_assert_uint_eq(further, library_rows[_i].words[1]);
        if (library_rows[_i].result != HEAP_PLAN_MADE)
                return;
        ck_assert_uint_eq(plan.kind, library_rows[_i].kind);
        ck_assert_int_eq(plan.distance, library_rows[_i].distance);
        ck_assert_uint_eq(plan.module, library_rows[_i].module);
        ck_assert_uint_eq(plan.allocated, 824);
        ck_assert_uint_eq(plan.deallocated, 840);
        ck_assert(heap_plan_is_valid(&plan));
}
END_TEST

START_TEST(a_descriptor_has_the_module_and_the_addend) {
        HeapLayout layout = layout_of(EM_AARCH64);
        HeapPlan plan;

        layout.slot_kind = HEAP_SLOT_TLSDESC;
        layout.slot_addend = 64;
        ck_assert_int_eq(heap_plan_of_descriptor(&layout, (uint64_t[]){ 7, 64 }, &plan),
                         HEAP_PLAN_MADE);
        ck_assert_uint_eq(plan.kind, HEAP_PLAN_VECTOR);
        ck_assert_uint_eq(plan.module, 7);
        ck_assert_int_eq(heap_plan_of_descriptor(&layout, (uint64_t[]){ 7, 0 }, &plan),
                         HEAP_PLAN_IMPOSSIBLE);
        ck_assert_int_eq(heap_plan_of_descriptor(&layout, (uint64_t[]){ 0, 64 }, &plan),
                         HEAP_PLAN_IMPOSSIBLE);
}
END_TEST

static const HeapPlan bad_plans[] = {
        { .kind = _HEAP_PLAN_MAX, .distance = -8, .module = 1, .deallocated = 8 },
        { .kind = HEAP_PLAN_STATIC, .distance = INT64_C(1) << 31, .deallocated = 8 },
        { .kind = HEAP_PLAN_STATIC, .distance = -(INT64_C(1) << 31), .deallocated = 8 },
        { .kind = HEAP_PLAN_STATIC, .distance = -12, .deallocated = 8 },
        { .kind = HEAP_PLAN_STATIC, .distance = -16, .allocated = 4, .deallocated = 12 },
        { .kind = HEAP_PLAN_STATIC, .distance = -16, .allocated = 8, .deallocated = 12 },
        { .kind = HEAP_PLAN_STATIC, .distance = -16, .allocated = 8, .deallocated = 8 },
        { .kind = HEAP_PLAN_STATIC, .distance = -16, .allocated = 16, .deallocated = 8 },
        { .kind = HEAP_PLAN_STATIC, .distance = -16, .allocated = 0, .deallocated = 24 },
        { .kind = HEAP_PLAN_STATIC,
          .distance = -16,
          .allocated = HEAP_TLS_BYTES_MAX - 8,
          .deallocated = HEAP_TLS_BYTES_MAX },
        { .kind = HEAP_PLAN_VECTOR, .module = 0, .deallocated = 8 },
        { .kind = HEAP_PLAN_VECTOR, .module = THREAD_MODULES_MAX + 1, .deallocated = 8 },
};

START_TEST(a_plan_from_elsewhere_is_held_against_bounds) {
        ck_assert(!heap_plan_is_valid(&bad_plans[_i]));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("heap-plan");
        TCase *plans = tcase_create("plans");

        tcase_add_loop_test(plans, the_block_of_a_program_has_a_fixed_place, 0,
                            ELEMENTSOF(program_rows));
        tcase_add_test(plans, a_program_with_impossible_memory_has_no_plan);
        tcase_add_loop_test(plans, words_of_the_process_complete_the_plan_for_a_library, 0,
                            ELEMENTSOF(library_rows));
        tcase_add_test(plans, a_descriptor_has_the_module_and_the_addend);
        tcase_add_loop_test(plans, a_plan_from_elsewhere_is_held_against_bounds, 0,
                            ELEMENTSOF(bad_plans));
        suite_add_tcase(suite, plans);
        return check_main(suite);
}
