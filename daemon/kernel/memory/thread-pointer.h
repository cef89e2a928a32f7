/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadPointer
 *
 * Finds the thread pointer of somebody else's thread without stopping it, and says whether an
 * address is the pointer of a certain thread. glibc tells the kernel where each thread keeps its
 * list of robust mutexes: inside of struct pthread, at a distance from the thread pointer that is
 * the same for all threads of a process. get_robust_list(2) gives that address to whoever may read
 * the process. Threads without such a list (musl, raw clone(2), vfork(2)) cannot be found so: of
 * them a pointer must be known from elsewhere.
 *
 * Either library keeps the thread's number at a distance from the pointer, and has words that point
 * to themselves: that is what an address is checked by.
 *
 * All functions but thread_layout_find() and thread_robust_list() are pure, and answer for either
 * machine.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"

/* EM_* of the machine that this program was built for; EM_NONE when threads are not found here. */
extern const uint16_t thread_machine;

/*
 * glibc keeps a thread's number and its list in struct pthread, at places from the constants that
 * libc.so.6 (libpthread.so.0 before 2.34) exports for debuggers. The list's head is what
 * get_robust_list(2) tells, so the distance leads back to struct pthread and thus to the thread
 * pointer: its start on x86_64, its end on aarch64. Plain data: travels between our own processes
 * and lies in their cache. Where @is_known is 0 the rest is.
 */
typedef struct ThreadLayout {
        uint32_t is_known;
        uint32_t sizeof_pthread;
        uint32_t tid_offset;
        uint32_t robust_offset; /* of the head */
} ThreadLayout;

#define THREAD_STRUCT_BYTES_MAX 65536

/*
 * Reads the file @fd of the C library, which is borrowed and has @size bytes. Any other file, or
 * one that cannot be read, says nothing; -errno as heap_layout_find().
 */
_must_check_ int thread_layout_find(int fd, uint64_t size, ThreadLayout *ret);
/* True when the offsets lie within the struct. */
bool thread_layout_is_valid(const ThreadLayout *layout);

/* Distances from the address that get_robust_list(2) tells. */
typedef struct ThreadGeometry {
        int32_t pointer; /* the thread pointer */
        int32_t tid;     /* the thread's number as its own pid namespace has it, 32 bits */
} ThreadGeometry;

/* glibc has had this since 2.4 on x86_64, and has it today on aarch64. False for others. */
bool thread_geometry_usual(uint16_t machine, ThreadGeometry *ret);
/* As @layout says, if that can be. */
bool thread_geometry_from(uint16_t machine, const ThreadLayout *layout, ThreadGeometry *ret);

/*
 * Looks for a control block that points to itself in the @n words that lie just before address
 * @head, where the usual distance does not lead to one. False on machines that have none.
 */
#define THREAD_SEARCH_WORDS 128
bool thread_geometry_search(uint16_t machine, const uint64_t *words, size_t n, uint64_t head,
                            ThreadGeometry *ret);

/* @address + @distance; false when that wraps, or is not a multiple of @align, a power of two. */
bool thread_address(uint64_t address, int64_t distance, uint64_t align, uint64_t *ret);

/* The C libraries whose threads are known. */
typedef enum ThreadLibrary {
        THREAD_LIBRARY_GLIBC,
        THREAD_LIBRARY_MUSL,
        _THREAD_LIBRARY_MAX,
} ThreadLibrary;

/*
 * The words at the thread pointer that either library can be recognised by: so many as a machine
 * has them, the first of them at a distance from the pointer.
 */
#define THREAD_BLOCK_WORDS 26
uint32_t thread_block_words(uint16_t machine);
int32_t thread_block_begin(uint16_t machine);
/* Those of glibc point to themselves, where a machine has such words. */
bool thread_block_is_sound(uint16_t machine, const uint64_t words[static THREAD_BLOCK_WORDS],
                           uint64_t pointer);
/* Those of musl point to themselves, and thread @number of its pid namespace has them. */
bool thread_block_is_musl(uint16_t machine, const uint64_t words[static THREAD_BLOCK_WORDS],
                          uint64_t pointer, uint32_t number);

/*
 * The vector of a thread's blocks of thread-local memory. That of glibc (dtv_t) has pairs of words,
 * of which number @module begins with the block's address; the word before the pair 0 tells how
 * many there are. That of musl has addresses only, and their number in place of the address 0.
 */
#define THREAD_MODULES_MAX 65536
uint64_t thread_block_vector(uint16_t machine, ThreadLibrary library,
                             const uint64_t words[static THREAD_BLOCK_WORDS]);
/* False when that cannot be a vector, or @module a number of a module. */
bool thread_vector_places(ThreadLibrary library, uint64_t vector, uint64_t module,
                          uint64_t *ret_length, uint64_t *ret);
/* The block has not been allocated: the thread has never used the module's memory. */
bool thread_vector_is_unused(uint64_t length, uint64_t module, uint64_t word);

/* get_robust_list(2). 0 with *ret_head 0 where there is none; -errno. */
_must_check_ int thread_robust_list(pid_t tid, uint64_t *ret_head);
