/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "byte-span.h"
#include "made-elf.h"
#include "capture/heap/thread-counters.h"

/* made files */

#define BLOCK_BYTES 512
#define SYMBOLS_AT (MADE_BLOCK_AT + BLOCK_BYTES)
#define SIZE_AT MADE_CODE_AT /* where no code is wanted */
#define TID_AT (MADE_CODE_AT + 8)

typedef struct Constants {
        uint32_t size;
        uint32_t tid[3]; /* bits, elements, offset */
} Constants;

static const Constants glibc_x86_64 = { 2368, { 32, 1, 720 } };

/* Not a C library, but it exports what one does. */
static void make_libc(const Constants *constants, MadeElf *ret) {
        static const MadeOptions options = {
                .type = ET_DYN,
                .machine = EM_AARCH64,
                .has_no_table = true,
                .image = MADE_BLANK,
                .n_block = BLOCK_BYTES,
                .symbols = { "_thread_db_sizeof_pthread", "_thread_db_pthread_tid" },
                .symbol_values = { SIZE_AT, TID_AT },
        };
        static const uint64_t sizes[] = { sizeof(constants->size), sizeof(constants->tid) };
        uint32_t dynamic = SHT_DYNSYM;

        made_elf_make(&options, ret);
        made_elf_put(ret, SIZE_AT, &constants->size, sizeof(constants->size));
        made_elf_put(ret, TID_AT, constants->tid, sizeof(constants->tid));
        for (unsigned i = 0; i < 2; i++) {
                uint64_t at = SYMBOLS_AT + (i + 1) * sizeof(Elf64_Sym);

                ret->bytes[at + offsetof(Elf64_Sym, st_info)] =
                        ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
                made_elf_put_word(ret, at + offsetof(Elf64_Sym, st_size), sizes[i]);
        }
        made_elf_put(ret, ret->n - 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type), &dynamic,
                     sizeof(dynamic));
}

static ThreadLayout find(Span bytes) {
        ByteSpan file = { .bytes = bytes };
        ThreadLayout layout;

        ck_assert_int_eq(thread_layout_find(byte_span_open(&file), bytes.n, &layout), 0);
        ck_assert(thread_layout_is_valid(&layout));
        return layout;
}

static const struct {
        Constants constants;
        bool is_known;
} rows[] = {
        { { 2368, { 32, 1, 720 } }, true },
        { { 1856, { 32, 1, 208 } }, true },
        { { 760, { 32, 1, 720 } }, true }, /* the head ends where the struct does */
        { { 759, { 32, 1, 720 } }, false },
        { { THREAD_STRUCT_BYTES_MAX, { 32, 1, 720 } }, true },
        { { THREAD_STRUCT_BYTES_MAX + 1, { 32, 1, 720 } }, false },
        { { 2368, { 64, 1, 720 } }, false },
        { { 2368, { 32, 2, 720 } }, false },
        { { 2368, { 32, 1, 722 } }, false },
        { { 2368, { 32, 1, 724 } }, false }, /* a head is a pointer */
        { { 2368, { 32, 1, UINT32_MAX } }, false },
        { { 2368, { 32, 1, UINT32_MAX - 15 } }, false },
        { { 0, { 32, 1, 0 } }, false },
};

START_TEST(constants_are_believed_within_bounds) {
        static MadeElf made;
        ThreadLayout layout;

        make_libc(&rows[_i].constants, &made);
        layout = find(made_elf_span(&made));
        ck_assert_uint_eq(layout.is_known, rows[_i].is_known);
        if (!layout.is_known)
                return;
        ck_assert_uint_eq(layout.sizeof_pthread, rows[_i].constants.size);
        ck_assert_uint_eq(layout.tid_offset, rows[_i].constants.tid[2]);
        ck_assert_uint_eq(layout.robust_offset, layout.tid_offset + 16);
}
END_TEST

START_TEST(a_constant_that_is_not_one_is_none) {
        static const struct {
                size_t at, n;
                uint64_t number;
        } changes[] = {
                { offsetof(Elf64_Sym, st_shndx), 2, SHN_UNDEF },
                { offsetof(Elf64_Sym, st_info), 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) },
                { offsetof(Elf64_Sym, st_size), 8, 8 },
                { offsetof(Elf64_Sym, st_value), 8, UINT64_MAX },
                { offsetof(Elf64_Sym, st_name), 4, 2 },
                { offsetof(Elf64_Sym, st_name), 4, UINT32_MAX },
        };
        static MadeElf made;

        for (unsigned symbol = 1; symbol <= 2; symbol++)
                for (size_t i = 0; i < ELEMENTSOF(changes); i++) {
                        make_libc(&glibc_x86_64, &made);
                        ck_assert(find(made_elf_span(&made)).is_known);
                        made_elf_put(&made, SYMBOLS_AT + symbol * sizeof(Elf64_Sym) + changes[i].at,
                                     &changes[i].number, changes[i].n);
                        ck_assert_msg(!find(made_elf_span(&made)).is_known, "change %zu", i);
                }
}
END_TEST

START_TEST(a_file_that_is_cut_has_none_or_the_same) {
        static MadeElf made;

        make_libc(&glibc_x86_64, &made);
        for (size_t n = 0; n < made.n; n++)
                ck_assert(!find((Span){ made.bytes, n }).is_known);
        ck_assert(find(made_elf_span(&made)).is_known);
        ck_assert(!find(SPAN_LITERAL("#!/bin/sh\n")).is_known);
}
END_TEST

START_TEST(an_error_of_ours_is_passed_up) {
        static MadeElf made;
        ByteSpan file = { .error = -EACCES };
        ThreadLayout layout = { .is_known = 4711 };
        int fd;

        make_libc(&glibc_x86_64, &made);
        file.bytes = made_elf_span(&made);
        fd = byte_span_open(&file);
        ck_assert_int_eq(thread_layout_find(fd, made.n, &layout), -EACCES);
        ck_assert_uint_eq(layout.is_known, 4711);
        file.error = -EIO;
        ck_assert_int_eq(thread_layout_find(fd, made.n, &layout), 0);
        ck_assert_uint_eq(layout.is_known, 0);
}
END_TEST

START_TEST(what_is_not_known_is_empty) {
        ThreadLayout layout = {
                .is_known = 1, .sizeof_pthread = 2368, .tid_offset = 720, .robust_offset = 736
        };

        ck_assert(thread_layout_is_valid(&layout));
        layout.is_known = 2;
        ck_assert(!thread_layout_is_valid(&layout));
        layout.is_known = 0;
        ck_assert(!thread_layout_is_valid(&layout));
        layout = (ThreadLayout){};
        ck_assert(thread_layout_is_valid(&layout));
}
END_TEST

/* the C library of this program */

static int find_libc(struct dl_phdr_info *info, size_t n, void *userdata) {
        const char **path = userdata;

        if (info->dlpi_name && strstr(info->dlpi_name, "/libc.so.6"))
                *path = info->dlpi_name;
        return *path != NULL;
}

/* It tells where this very thread has its number and its list. */
static void check_own_thread(const ThreadLayout *layout) {
        const char *thread;
        struct robust_list_head *head = NULL;
        pthread_t self = pthread_self(); /* glibc: the address of struct pthread */
        size_t n = 0;
        pid_t tid;

        memcpy(&thread, &self, sizeof(thread));
        memcpy(&tid, thread + layout->tid_offset, sizeof(tid));
        ck_assert_int_eq(tid, (pid_t) syscall(SYS_gettid));
        ck_assert_int_eq(syscall(SYS_get_robust_list, 0, &head, &n), 0);
        ck_assert_ptr_eq((const char *) head, thread + layout->robust_offset);
#if defined(__aarch64__)
        ck_assert_ptr_eq(__builtin_thread_pointer(), thread + layout->sizeof_pthread);
#elif defined(__x86_64__)
        ck_assert_mem_eq(thread, &thread, sizeof(thread)); /* the thread pointer, at itself */
#endif
}

static void *check_in_thread(void *userdata) {
        check_own_thread(userdata);
        return NULL;
}

START_TEST(the_own_library_tells_where_its_threads_keep_things) {
        _cleanup_(fd_closep) int fd = -EBADF;
        const char *path = NULL;
        ThreadLayout layout;
        pthread_t thread;

        if (check_skips(dl_iterate_phdr(find_libc, &path) == 0
                                ? "this is linked statically, or not with glibc"
                                : check_lacks_robust_lists()))
                return;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        byte_span = NULL;
        ck_assert_int_eq(thread_layout_find(fd, (uint64_t) lseek(fd, 0, SEEK_END), &layout), 0);
        ck_assert_uint_eq(layout.is_known, 1);
        check_own_thread(&layout);
        ck_assert_int_eq(pthread_create(&thread, NULL, check_in_thread, &layout), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static Suite *thread_layout_suite(void) {
        Suite *suite = suite_create("thread-layout");
        TCase *tcase = tcase_create("made");

        tcase_add_loop_test(tcase, constants_are_believed_within_bounds, 0, ELEMENTSOF(rows));
        tcase_add_test(tcase, a_constant_that_is_not_one_is_none);
        tcase_add_test(tcase, a_file_that_is_cut_has_none_or_the_same);
        tcase_add_test(tcase, an_error_of_ours_is_passed_up);
        tcase_add_test(tcase, what_is_not_known_is_empty);
        suite_add_tcase(suite, tcase);

        tcase = tcase_create("own");
        tcase_add_test(tcase, the_own_library_tells_where_its_threads_keep_things);
        suite_add_tcase(suite, tcase);
        return suite;
}

int main(void) {
        return check_main(thread_layout_suite());
}
