/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-plan.h"

#include <elf.h>

#include "kernel/memory/thread-pointer.h"

/* A thread's static blocks can be so far away from its thread pointer. */
#define DISTANCE_MAX INT64_C(0x7fffffff)

/* Two pointers that aarch64 has at the thread pointer, before the program's block. */
#define AARCH64_BLOCK_BYTES 16

/*
 * From here on a word is a pointer and no distance: no program has that much static thread-local
 * memory, and none has its heap below.
 */
#define DESCRIPTOR_LEAST_ADDRESS (INT64_C(1) << 22)

bool heap_plan_is_valid(const HeapPlan *plan) {
        if (plan->allocated % 8 != 0 || plan->deallocated % 8 != 0 ||
            plan->allocated >= plan->deallocated || plan->deallocated >= HEAP_TLS_BYTES_MAX ||
            plan->deallocated - plan->allocated >= 8 * HEAP_PLAN_WORDS)
                return false;
        switch (plan->kind) {
        case HEAP_PLAN_STATIC:
                return plan->distance >= -DISTANCE_MAX && plan->distance <= DISTANCE_MAX &&
                       plan->distance % 8 == 0;
        case HEAP_PLAN_VECTOR:
                return plan->module > 0 && plan->module <= THREAD_MODULES_MAX;
        default:
                return false;
        }
}

/*
 * The thread pointer of x86_64 lies above all blocks and that of aarch64 below: what is on the
 * other side has not been relocated yet, or is no block.
 */
static bool make_static(const HeapLayout *layout, int64_t distance, HeapPlan *ret) {
        int64_t n_bytes = (int64_t) layout->tls_memsz;

        if (distance < -DISTANCE_MAX || distance > DISTANCE_MAX)
                return false;
        if (layout->machine == EM_X86_64 ? distance > -n_bytes : distance < AARCH64_BLOCK_BYTES)
                return false;
        *ret = (HeapPlan){
                .kind = HEAP_PLAN_STATIC,
                .distance = distance,
                .allocated = layout->allocated,
                .deallocated = layout->deallocated,
        };
        return heap_plan_is_valid(ret);
}

static bool make_vector(const HeapLayout *layout, uint64_t module, HeapPlan *ret) {
        *ret = (HeapPlan){
                .kind = HEAP_PLAN_VECTOR,
                .module = module,
                .allocated = layout->allocated,
                .deallocated = layout->deallocated,
        };
        return heap_plan_is_valid(ret);
}

/*
 * Linkers count on these places (ELF Handling for Thread-Local Storage, variants I and II): the
 * block next to the thread pointer, as aligned as the segment's address in the file.
 */
bool heap_plan_of_program(const HeapLayout *layout, HeapPlan *ret) {
        uint64_t mask = layout->tls_align > 1 ? layout->tls_align - 1 : 0;

        if (layout->machine == EM_X86_64)
                return make_static(layout,
                                   -(int64_t) (layout->tls_memsz +
                                               ((-layout->tls_vaddr - layout->tls_memsz) & mask)),
                                   ret);
        return make_static(layout,
                           (int64_t) (AARCH64_BLOCK_BYTES +
                                      ((layout->tls_vaddr - AARCH64_BLOCK_BYTES) & mask)),
                           ret);
}

size_t heap_plan_n_words(const HeapLayout *layout) {
        return layout->slot_kind == HEAP_SLOT_TLSDESC ? 2 : 1;
}

static HeapPlanResult result_of(bool is_made) {
        return is_made ? HEAP_PLAN_MADE : HEAP_PLAN_IMPOSSIBLE;
}

/* A word of the process that is a distance to the block, plus the addend of its relocation. */
static bool make_from_offset(const HeapLayout *layout, uint64_t word, HeapPlan *ret) {
        int64_t distance;

        return !__builtin_sub_overflow((int64_t) word, layout->slot_addend, &distance) &&
               make_static(layout, distance, ret);
}

HeapPlanResult heap_plan_of_library(const HeapLayout *layout, const uint64_t *words, HeapPlan *ret,
                                    uint64_t *ret_further) {
        switch (layout->slot_kind) {
        case HEAP_SLOT_TPOFF:
                return result_of(make_from_offset(layout, words[0], ret));
        case HEAP_SLOT_DTPMOD:
                return result_of(make_vector(layout, words[0], ret));
        case HEAP_SLOT_TLSDESC:
                /*
                 * A function and its argument. It says whether the block is static: then the
                 * argument is the distance, otherwise the address of a pair.
                 */
                if (words[0] == 0)
                        return HEAP_PLAN_IMPOSSIBLE;
                if ((int64_t) words[1] < DESCRIPTOR_LEAST_ADDRESS)
                        return result_of(make_from_offset(layout, words[1], ret));
                if (words[1] % 8 != 0)
                        return HEAP_PLAN_IMPOSSIBLE;
                *ret_further = words[1];
                return HEAP_PLAN_FURTHER;
        default:
                return HEAP_PLAN_UNSUPPORTED;
        }
}

/* The module's number, and the offset in its block, which is the addend once more. */
HeapPlanResult heap_plan_of_descriptor(const HeapLayout *layout, const uint64_t words[static 2],
                                       HeapPlan *ret) {
        return result_of(words[1] == (uint64_t) layout->slot_addend &&
                         make_vector(layout, words[0], ret));
}
