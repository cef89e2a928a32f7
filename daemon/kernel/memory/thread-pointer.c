/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/thread-pointer.h"

#include <elf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(__ILP32__)
const uint16_t thread_machine = EM_X86_64;
#elif defined(__aarch64__) && !defined(__ILP32__)
const uint16_t thread_machine = EM_AARCH64;
#else
const uint16_t thread_machine = EM_NONE;
#endif

/*
 * In struct pthread (nptl/descr.h) stand, in this order, the number, an unused number, and the list
 * with a link to the previous one before its head.
 */
#define TID_BEFORE_HEAD 16
#define LIST_BYTES 24 /* of the head */

/*
 * x86_64: the thread pointer is the start of struct pthread, and tcbhead_t makes 0x2c0 bytes of it
 * since 2.4, an ABI that the compiler's stack protector relies on.
 * aarch64: the thread pointer is its end, so the distance grows with the struct (2.34 to 2.41).
 */
#define X86_64_HEAD 0x2e0
#define AARCH64_HEAD 0xe0
#define AARCH64_STRUCT_BYTES 1856

/* A control block of x86_64 is so far from the head at least: tcbhead_t leaves no room below. */
#define SEARCH_LEAST_BYTES 0x100

/*
 * The words of struct pthread of musl (src/internal/pthread_impl.h): its own address, the threads
 * before and behind it in a ring (0 in old versions), and the number.
 *
 * x86_64: the thread pointer is its start; old versions have one more word before the number.
 * aarch64: the thread pointer is its end, so its size must be known: it is that of 1.2.3 and 1.2.4.
 */
#define X86_64_WORDS 8
#define X86_64_MUSL_NUMBER 6
#define X86_64_MUSL_NUMBER_OLD 7
#define AARCH64_MUSL_WORDS 25
#define AARCH64_MUSL_NUMBER 4

bool thread_layout_is_valid(const ThreadLayout *layout) {
        if (!layout->is_known)
                return layout->sizeof_pthread == 0 && layout->tid_offset == 0 &&
                       layout->robust_offset == 0;
        return layout->is_known == 1 && layout->sizeof_pthread <= THREAD_STRUCT_BYTES_MAX &&
               layout->sizeof_pthread >= LIST_BYTES && layout->tid_offset % 4 == 0 &&
               layout->robust_offset % 8 == 0 && layout->tid_offset < layout->robust_offset &&
               layout->robust_offset <= layout->sizeof_pthread - LIST_BYTES;
}

bool thread_geometry_usual(uint16_t machine, ThreadGeometry *ret) {
        switch (machine) {
        case EM_X86_64:
                *ret = (ThreadGeometry){ -X86_64_HEAD, -TID_BEFORE_HEAD };
                return true;
        case EM_AARCH64:
                *ret = (ThreadGeometry){ AARCH64_STRUCT_BYTES - AARCH64_HEAD, -TID_BEFORE_HEAD };
                return true;
        default:
                return false;
        }
}

bool thread_geometry_from(uint16_t machine, const ThreadLayout *layout, ThreadGeometry *ret) {
        int32_t start;

        if (!layout->is_known || !thread_layout_is_valid(layout))
                return false;
        start = -(int32_t) layout->robust_offset;
        if (machine != EM_X86_64 && machine != EM_AARCH64)
                return false;
        *ret = (ThreadGeometry){
                .pointer = machine == EM_X86_64 ? start : start + (int32_t) layout->sizeof_pthread,
                .tid = start + (int32_t) layout->tid_offset,
        };
        return true;
}

/* tcbhead_t begins with its own address, a vector, and its own address as struct pthread. */
static bool is_self_pointing(const uint64_t *words, uint64_t pointer) {
        return words[0] == pointer && words[2] == pointer;
}

bool thread_geometry_search(uint16_t machine, const uint64_t *words, size_t n, uint64_t head,
                            ThreadGeometry *ret) {
        if (machine != EM_X86_64)
                return false;
        /* From the head down: what lies below struct pthread is the thread's own data. */
        for (size_t back = SEARCH_LEAST_BYTES / 8; back <= n && head >= 8 * back; back++) {
                const uint64_t *block = words + n - back;

                if (!is_self_pointing(block, head - 8 * back))
                        continue;
                *ret = (ThreadGeometry){ -(int32_t) (8 * back), -TID_BEFORE_HEAD };
                return true;
        }
        return false;
}

bool thread_address(uint64_t address, int64_t distance, uint64_t align, uint64_t *ret) {
        uint64_t sum;

        if (__builtin_add_overflow(address, distance, &sum) || sum == 0 || (sum & (align - 1)) != 0)
                return false;
        *ret = sum;
        return true;
}

/* On aarch64 struct pthread of musl, and behind it what is at the thread pointer. */
uint32_t thread_block_words(uint16_t machine) {
        return machine == EM_X86_64 ? X86_64_WORDS : AARCH64_MUSL_WORDS + 1;
}

int32_t thread_block_begin(uint16_t machine) {
        return machine == EM_X86_64 ? 0 : -8 * AARCH64_MUSL_WORDS;
}

bool thread_block_is_sound(uint16_t machine, const uint64_t words[static THREAD_BLOCK_WORDS],
                           uint64_t pointer) {
        return machine != EM_X86_64 || is_self_pointing(words, pointer);
}

/*
 * The ring of a process of one thread points to that thread in both directions. What points to
 * itself in the first of them only is glibc's.
 */
bool thread_block_is_musl(uint16_t machine, const uint64_t words[static THREAD_BLOCK_WORDS],
                          uint64_t pointer, uint32_t number) {
        if (machine == EM_AARCH64)
                return words[0] == pointer - 8 * AARCH64_MUSL_WORDS &&
                       (uint32_t) words[AARCH64_MUSL_NUMBER] == number;
        return machine == EM_X86_64 && words[0] == pointer &&
               (words[2] != pointer || words[3] == pointer) &&
               ((uint32_t) words[X86_64_MUSL_NUMBER] == number ||
                (uint32_t) words[X86_64_MUSL_NUMBER_OLD] == number);
}

uint64_t thread_block_vector(uint16_t machine, ThreadLibrary library,
                             const uint64_t words[static THREAD_BLOCK_WORDS]) {
        if (machine == EM_X86_64)
                return words[1];
        return words[library == THREAD_LIBRARY_MUSL ? AARCH64_MUSL_WORDS - 1 : AARCH64_MUSL_WORDS];
}

bool thread_vector_places(ThreadLibrary library, uint64_t vector, uint64_t module,
                          uint64_t *ret_length, uint64_t *ret) {
        uint64_t before = library == THREAD_LIBRARY_MUSL ? 0 : 16;
        uint64_t each = library == THREAD_LIBRARY_MUSL ? 8 : 16;

        if (vector % 8 != 0 || module == 0 || module > THREAD_MODULES_MAX)
                return false;
        if (vector == 0 || vector < before || vector > UINT64_MAX - each * (module + 1))
                return false;
        *ret_length = vector - before;
        *ret = vector + each * module;
        return true;
}

/*
 * A vector begins as zeros; modules that are there when it is made or brought up to date, which is
 * when the thread next uses one that it has no block of, are marked by -1 until then.
 */
bool thread_vector_is_unused(uint64_t length, uint64_t module, uint64_t word) {
        return module > length || word == 0 || word == UINT64_MAX;
}

int thread_robust_list(pid_t tid, uint64_t *ret_head) {
        void *head = NULL;
        size_t n = 0;

        if (syscall(SYS_get_robust_list, tid, &head, &n) < 0)
                return -errno;
        *ret_head = (uint64_t) (uintptr_t) head;
        return 0;
}
