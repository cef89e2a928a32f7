/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The distribution's jemalloc, as a library and in programs that the build made with it: each
 * argument is KIND=PATH.
 */
#include "check-main.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "capture/heap/heap-layout.h"

/* Debian builds 5.3.0 with pages of 64 KiB where a kernel may have them. */
#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#define ALLOCATED 888
#define TSD_BYTES 2696
#else
#define OWN_MACHINE EM_X86_64
#define ALLOCATED 824
#define TSD_BYTES 2632
#endif

static const struct {
        const char *kind;
        HeapFailure verdict;
        bool is_fixed;
        HeapSlot slot;
        uint64_t neighbour_bytes; /* at least; in front of the struct or behind it */
} kinds[] = {
        { "library", HEAP_FAILURE_NONE, false, HEAP_SLOT_TPOFF, 0 },
        { "fixed", HEAP_FAILURE_NONE, true, HEAP_SLOT_NONE, 0 },
        { "static", HEAP_FAILURE_NONE, true, HEAP_SLOT_NONE, 0 },
        { "static-asking", HEAP_FAILURE_NONE, true, HEAP_SLOT_NONE, 0 },
        { "movable", HEAP_FAILURE_NONE, false, HEAP_SLOT_NONE, 0 },
        { "movable-neighbour", HEAP_FAILURE_NONE, false, HEAP_SLOT_NONE, 1024 },
        { "movable-relr", HEAP_FAILURE_NONE, false, HEAP_SLOT_NONE, 0 },
        { "static-movable", HEAP_FAILURE_NONE, false, HEAP_SLOT_NONE, 0 },
        { "static-neighbour", HEAP_FAILURE_NONE, true, HEAP_SLOT_NONE, 1024 },
        { "without", HEAP_NOT_JEMALLOC, false, HEAP_SLOT_NONE, 1024 },
};

static char **files; /* KIND=PATH */

static void find(const char *path, HeapLayout *ret) {
        _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;

        ck_assert_msg(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
        ck_assert_int_eq(heap_layout_find(fd, (uint64_t) st.st_size, ret), 0);
}

START_TEST(a_linked_program_is_read) {
        const char *path = strchr(files[_i], '=') + 1;
        size_t n_kind = (size_t) (path - files[_i]) - 1, kind = 0;
        HeapLayout layout;

        while (kind < ELEMENTSOF(kinds) && !(strlen(kinds[kind].kind) == n_kind &&
                                             memcmp(kinds[kind].kind, files[_i], n_kind) == 0))
                kind++;
        ck_assert_msg(kind < ELEMENTSOF(kinds), "no kind: %s", files[_i]);
        find(path, &layout);
        ck_assert_msg(layout.verdict == kinds[kind].verdict, "%s is %u", files[_i], layout.verdict);
        ck_assert(heap_layout_is_valid(&layout, OWN_MACHINE));
        if (layout.verdict != HEAP_FAILURE_NONE)
                return;
        ck_assert_msg(layout.is_fixed == kinds[kind].is_fixed, "%s", files[_i]);
        ck_assert_msg(layout.slot_kind == kinds[kind].slot, "%s: slot %u", files[_i],
                      layout.slot_kind);
        ck_assert_msg(layout.tsd != HEAP_TSD_UNKNOWN && layout.allocated - layout.tsd == ALLOCATED,
                      "%s: %llu", files[_i], (unsigned long long) layout.allocated);
        ck_assert_uint_eq(layout.deallocated - layout.allocated, 16);
        ck_assert_uint_ge(layout.tls_memsz, TSD_BYTES + kinds[kind].neighbour_bytes);
        ck_assert_uint_ge(layout.tls_memsz - layout.tsd, TSD_BYTES);
        ck_assert_uint_ge(layout.tls_align, kinds[kind].neighbour_bytes > 0 ? 64 : 8);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite;
        TCase *tcase;

        if (argc < 2) {
                printf("1..0 # SKIP there is no jemalloc to link with: libjemalloc-dev\n");
                return EXIT_SUCCESS;
        }
        suite = suite_create("heap-linked");
        tcase = tcase_create("linked");
        files = argv + 1;
        tcase_add_loop_test(tcase, a_linked_program_is_read, 0, argc - 1);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
