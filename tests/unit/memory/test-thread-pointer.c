/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <elf.h>
#include <string.h>

#include "capture/heap/thread-counters.h"

static const struct {
        uint16_t machine;
        bool is_known;
        ThreadGeometry geometry;
} usual_rows[] = {
        { EM_X86_64, true, { -0x2e0, -16 } },
        { EM_AARCH64, true, { 1856 - 0xe0, -16 } },
        { EM_RISCV, false, {} },
        { EM_NONE, false, {} },
};

START_TEST(the_usual_distances_are_those_of_glibc) {
        ThreadGeometry geometry = {};

        ck_assert_int_eq(thread_geometry_usual(usual_rows[_i].machine, &geometry),
                         usual_rows[_i].is_known);
        ck_assert_int_eq(geometry.pointer, usual_rows[_i].geometry.pointer);
        ck_assert_int_eq(geometry.tid, usual_rows[_i].geometry.tid);
}
END_TEST

static const struct {
        uint16_t machine;
        ThreadLayout layout;
        bool is_good;
        ThreadGeometry geometry;
} layout_rows[] = {
        { EM_X86_64, { 1, 2304, 0x2d0, 0x2e0 }, true, { -0x2e0, -16 } },
        { EM_X86_64, { 1, 2304, 0x2dc, 0x2e0 }, true, { -0x2e0, -4 } },
        { EM_AARCH64, { 1, 1856, 0xd0, 0xe0 }, true, { 1632, -16 } },
        { EM_AARCH64, { 1, 65536, 0, 0x100 }, true, { 65536 - 0x100, -0x100 } },
        { EM_RISCV, { 1, 1856, 0xd0, 0xe0 }, false, {} },
        { EM_AARCH64, { 0, 0, 0, 0 }, false, {} },
        { EM_AARCH64, { 0, 1856, 0xd0, 0xe0 }, false, {} },
        { EM_AARCH64, { 1, 65537, 0xd0, 0xe0 }, false, {} },
        { EM_AARCH64, { 1, 100, 0xd0, 0xe0 }, false, {} },
        { EM_AARCH64, { 1, 1856, 0xe0, 0xe0 }, false, {} },
        { EM_AARCH64, { 1, 1856, 0xd0, UINT32_MAX }, false, {} },
};

START_TEST(a_librarys_own_constants_make_distances) {
        ThreadGeometry geometry = {};

        ck_assert_int_eq(
                thread_geometry_from(layout_rows[_i].machine, &layout_rows[_i].layout, &geometry),
                layout_rows[_i].is_good);
        ck_assert_int_eq(geometry.pointer, layout_rows[_i].geometry.pointer);
        ck_assert_int_eq(geometry.tid, layout_rows[_i].geometry.tid);
}
END_TEST

#define HEAD UINT64_C(0x7f0000002000)

/* A control block so many bytes before the head points to itself. */
START_TEST(a_control_block_is_found_by_what_it_points_to) {
        uint64_t words[THREAD_SEARCH_WORDS] = {};
        size_t n = ELEMENTSOF(words);
        ThreadGeometry geometry = {};

        for (size_t back = 3; back <= n; back++) {
                bool is_near = 8 * back < 0x100; /* too near to be one */

                memset(words, 0, sizeof(words));
                words[n - back] = words[n - back + 2] = HEAD - 8 * back;
                ck_assert_int_eq(thread_geometry_search(EM_X86_64, words, n, HEAD, &geometry),
                                 !is_near);
                if (!is_near)
                        ck_assert_int_eq(geometry.pointer, -(int32_t) (8 * back));
                ck_assert(!thread_geometry_search(EM_AARCH64, words, n, HEAD, &geometry));
                ck_assert(!thread_geometry_search(EM_X86_64, words, n, HEAD + 8, &geometry));
                words[n - back + 2]++;
                ck_assert(!thread_geometry_search(EM_X86_64, words, n, HEAD, &geometry));
        }
        ck_assert(!thread_geometry_search(EM_X86_64, words, n, 8, &geometry));
        ck_assert(!thread_geometry_search(EM_X86_64, words, 0, HEAD, &geometry));
}
END_TEST

static const struct {
        uint64_t address;
        int64_t distance;
        uint64_t align;
        bool is_good;
        uint64_t sum;
} address_rows[] = {
        { HEAD, -0x2e0, 8, true, HEAD - 0x2e0 },
        { HEAD, -4, 4, true, HEAD - 4 },
        { HEAD, -4, 8, false, 0 },
        { HEAD + 1, 0, 8, false, 0 },
        { 0x100, -0x100, 8, false, 0 },
        { 0x100, -0x108, 8, false, 0 },
        { UINT64_MAX - 7, 8, 8, false, 0 },
        { UINT64_MAX - 7, 0, 8, true, UINT64_MAX - 7 },
        { 0, 8, 8, true, 8 },
        { 16, INT64_MIN, 8, false, 0 },
};

START_TEST(addresses_do_not_wrap) {
        uint64_t sum = 0;

        ck_assert_int_eq(thread_address(address_rows[_i].address, address_rows[_i].distance,
                                        address_rows[_i].align, &sum),
                         address_rows[_i].is_good);
        ck_assert_uint_eq(sum, address_rows[_i].sum);
}
END_TEST

START_TEST(control_blocks_differ_between_machines) {
        const uint64_t words[THREAD_BLOCK_WORDS] = { HEAD, 0x1000, HEAD };
        const uint64_t wrong[THREAD_BLOCK_WORDS] = { HEAD, HEAD, 0x1000 };
        const uint64_t arm[THREAD_BLOCK_WORDS] = { [24] = 0x3000, [25] = 0x2000 };

        ck_assert_uint_eq(thread_block_words(EM_X86_64), 8);
        ck_assert_int_eq(thread_block_begin(EM_X86_64), 0);
        ck_assert_uint_eq(thread_block_words(EM_AARCH64), THREAD_BLOCK_WORDS);
        /* The last of them is at the thread pointer. */
        ck_assert_int_eq(thread_block_begin(EM_AARCH64), -8 * (THREAD_BLOCK_WORDS - 1));
        ck_assert(thread_block_is_sound(EM_X86_64, words, HEAD));
        ck_assert(!thread_block_is_sound(EM_X86_64, words, HEAD + 8));
        ck_assert(!thread_block_is_sound(EM_X86_64, wrong, HEAD));
        ck_assert(thread_block_is_sound(EM_AARCH64, wrong, HEAD));
        ck_assert_uint_eq(thread_block_vector(EM_X86_64, THREAD_LIBRARY_GLIBC, words), 0x1000);
        ck_assert_uint_eq(thread_block_vector(EM_X86_64, THREAD_LIBRARY_MUSL, words), 0x1000);
        ck_assert_uint_eq(thread_block_vector(EM_AARCH64, THREAD_LIBRARY_GLIBC, arm), 0x2000);
        ck_assert_uint_eq(thread_block_vector(EM_AARCH64, THREAD_LIBRARY_MUSL, arm), 0x3000);
}
END_TEST

/* Words of thread 77 at address HEAD; on aarch64 the thread pointer is 200 bytes above it. */
static const struct {
        uint16_t machine;
        uint64_t words[8];
        bool is_musl;
} musl_rows[] = {
        { EM_X86_64, { HEAD, 1, 2, 3, 0, 4, 77 }, true },
        { EM_X86_64, { HEAD, 1, 2, 3, 0, 4, 77 | UINT64_C(11) << 32 }, true }, /* errno */
        { EM_X86_64, { HEAD, 1, 2, 3, 0, 4, 5, 77 }, true },                   /* an old one */
        { EM_X86_64, { HEAD, 1, 0, 0, 0, 4, 5, 77 }, true },                   /* a very old one */
        { EM_X86_64, { HEAD, 1, HEAD, HEAD, 0, 4, 77 }, true }, /* of the only thread */
        { EM_X86_64, { HEAD, 1, HEAD, 1, 0, 4, 77 }, false },   /* of glibc */
        { EM_X86_64, { HEAD, 1, 2, 3, 0, 4, 78 }, false },
        { EM_X86_64, { HEAD, 1, 2, 3, 0, 4, UINT64_C(77) << 32 }, false },
        { EM_X86_64, { HEAD + 8, 1, 2, 3, 0, 4, 77 }, false },
        { EM_X86_64, { 0, 1, 2, 3, 0, 4, 77 }, false },
        { EM_AARCH64, { HEAD, 2, 3, 0, 77 }, true },
        { EM_AARCH64, { HEAD, 2, 3, 0, 78 }, false },
        { EM_AARCH64, { HEAD + 200, 2, 3, 0, 77 }, false },
        { EM_NONE, { HEAD, 1, 2, 3, 77, 4, 77 }, false },
};

START_TEST(threads_of_musl_are_known_by_their_number) {
        uint64_t words[THREAD_BLOCK_WORDS] = {};
        uint64_t pointer = musl_rows[_i].machine == EM_AARCH64 ? HEAD + 200 : HEAD;

        memcpy(words, musl_rows[_i].words, sizeof(musl_rows[_i].words));
        ck_assert_int_eq(thread_block_is_musl(musl_rows[_i].machine, words, pointer, 77),
                         musl_rows[_i].is_musl);
}
END_TEST

static const struct {
        uint64_t vector, module;
        bool is_good;
} vector_rows[] = {
        { 0x5000, 1, true },
        { 0x5000, THREAD_MODULES_MAX, true },
        { 16, 1, true },
        { 0x5000, 0, false },
        { 0x5000, THREAD_MODULES_MAX + 1, false },
        { 0x5000, UINT64_MAX, false },
        { 0x5004, 1, false },
        { 0, 1, false },
        { 8, 1, false },
        { UINT64_MAX - 7, 1, false },
        { UINT64_MAX - 31, 1, false },
};

START_TEST(a_vector_is_looked_at_within_the_address_space) {
        uint64_t length = 0, place = 0, vector = vector_rows[_i].vector;

        ck_assert_int_eq(thread_vector_places(THREAD_LIBRARY_GLIBC, vector, vector_rows[_i].module,
                                              &length, &place),
                         vector_rows[_i].is_good);
        if (vector_rows[_i].is_good) {
                ck_assert_uint_eq(length, vector - 16);
                ck_assert_uint_eq(place, vector + 16 * vector_rows[_i].module);
        }
}
END_TEST

START_TEST(a_vector_of_musl_has_addresses_only) {
        uint64_t length = 0, place = 0;

        ck_assert(thread_vector_places(THREAD_LIBRARY_MUSL, 8, 3, &length, &place));
        ck_assert_uint_eq(length, 8);
        ck_assert_uint_eq(place, 8 + 24);
        ck_assert(!thread_vector_places(THREAD_LIBRARY_MUSL, 0, 1, &length, &place));
        ck_assert(!thread_vector_places(THREAD_LIBRARY_MUSL, 12, 1, &length, &place));
        ck_assert(!thread_vector_places(THREAD_LIBRARY_MUSL, 8, 0, &length, &place));
        ck_assert(!thread_vector_places(THREAD_LIBRARY_MUSL, 8, THREAD_MODULES_MAX + 1, &length,
                                        &place));
        ck_assert(!thread_vector_places(THREAD_LIBRARY_MUSL, UINT64_MAX - 7, 1, &length, &place));
}
END_TEST

START_TEST(a_block_that_was_never_allocated_is_unused) {
        ck_assert(!thread_vector_is_unused(3, 3, HEAD));
        ck_assert(thread_vector_is_unused(2, 3, HEAD));
        ck_assert(thread_vector_is_unused(3, 3, UINT64_MAX));
        ck_assert(thread_vector_is_unused(3, 3, 0));
}
END_TEST

/* Of this very program: glibc has told the kernel, and the distances lead to what they should. */
START_TEST(the_kernel_tells_of_a_thread_of_ours) {
        uint64_t head = 0, pointer;
        ThreadGeometry geometry;

        if (check_skips(check_lacks_robust_lists()))
                return;
        ck_assert_int_eq(capture_system_kernel.find_robust_list(NULL, 0, &head), 0);
        ck_assert_int_lt(capture_system_kernel.find_robust_list(NULL, INT32_MAX, &head), 0);
        if (!thread_geometry_usual(thread_machine, &geometry) || head == 0)
                return;
        ck_assert(thread_address(head, geometry.pointer, 8, &pointer));
        ck_assert_uint_eq(pointer, (uint64_t) (uintptr_t) __builtin_thread_pointer());
}
END_TEST

int main(void) {
        Suite *suite = suite_create("thread-pointer");
        TCase *geometry = tcase_create("geometry"), *block = tcase_create("block");

        tcase_add_loop_test(geometry, the_usual_distances_are_those_of_glibc, 0,
                            ELEMENTSOF(usual_rows));
        tcase_add_loop_test(geometry, a_librarys_own_constants_make_distances, 0,
                            ELEMENTSOF(layout_rows));
        tcase_add_test(geometry, a_control_block_is_found_by_what_it_points_to);
        tcase_add_loop_test(geometry, addresses_do_not_wrap, 0, ELEMENTSOF(address_rows));
        tcase_add_test(geometry, the_kernel_tells_of_a_thread_of_ours);
        suite_add_tcase(suite, geometry);
        tcase_add_test(block, control_blocks_differ_between_machines);
        tcase_add_loop_test(block, threads_of_musl_are_known_by_their_number, 0,
                            ELEMENTSOF(musl_rows));
        tcase_add_test(block, a_vector_of_musl_has_addresses_only);
        tcase_add_loop_test(block, a_vector_is_looked_at_within_the_address_space, 0,
                            ELEMENTSOF(vector_rows));
        tcase_add_test(block, a_block_that_was_never_allocated_is_unused);
        suite_add_tcase(suite, block);
        return check_main(suite);
}
