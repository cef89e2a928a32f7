/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadCounters
 *
 * Reads the counters of the threads of one process by the plans for its modules, without stopping
 * any of them. Each thread's pointer comes from the kernel, so nothing has to be searched in the
 * process; that it is a thread pointer, and still that thread's when the counters were read, is
 * checked by what was read together with them. A thread that fails a check has no counters.
 *
 * There are two ways to a pointer. The kernel keeps a copy of the register from when the thread
 * last left a CPU, which the task iterator tells; of a program that never moves the register, which
 * are all but a few, it is as good as the register itself. And it keeps where glibc has the
 * thread's list of robust mutexes, which takes a call a thread, and which musl does not tell it:
 * inside of struct pthread, at a distance from the thread pointer that is the same for all threads
 * of a process. The copy is tried first: it costs nothing, and a wrong one (the register was moved,
 * the thread has ended, a child of vfork(2) runs on its parent's) leads to memory without this
 * thread's number, or with a list that is elsewhere. Then the list is asked for.
 *
 * Two things cannot be seen from outside. When a library with thread-local memory was unloaded and
 * jemalloc was loaded under its number, a thread that has used neither since still has the old
 * block in its vector. And a copy that a program made of all data of a thread of musl, to use it in
 * its place, looks like that thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "capture/heap/heap-failure.h"
#include "capture/heap/heap-layout.h"
#include "capture/batch/capture-system.h"
#include "capture/batch/readings.h"
#include "kernel/text/text-file.h"

/*
 * words of another process
 *
 * Words of 64 bits are read at many addresses in few calls. The addresses come from what that
 * process has in its memory, so any of them can be wrong; that costs only the words there. Only
 * aligned words are read, which are never half old and half new.
 */

typedef struct WordRange {
        uint64_t address; /* a multiple of 8 */
        uint64_t *words;  /* borrowed; @n of them */
        uint32_t n;
        bool is_read; /* result: all of them */
} WordRange;

#define PROCESS_WORDS_BATCH 256 /* ranges in one call; the kernel takes 1024 at most */

/*
 * Reads all @ranges that can be read. 0; TEXT_E_VANISHED when process @pid has gone or has no
 * address space any more, TEXT_E_DENIED, TEXT_E_UNSUPPORTED, -errno: then the ranges before may
 * have been read.
 */
_must_check_ int process_words_read(const CaptureSystem *system, pid_t pid, WordRange *ranges,
                                    size_t n);

/* thread pointers; pure, for either machine */

/* EM_* of the machine that this program was built for; EM_NONE when threads are not found here. */
extern const uint16_t thread_machine;

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

/*
 * plans; pure
 *
 * A plan leads from a thread pointer to the counters of one module in one process. It is made of
 * what the file says (HeapLayout) and what the process adds: where it has mapped the module, and
 * what its dynamic linker has put into the word that leads to the module's thread-local block.
 * Words of the process are held against bounds, as they may be from before the linker was done.
 */

typedef enum HeapPlanKind {
        HEAP_PLAN_STATIC, /* the block is at a distance from the thread pointer */
        HEAP_PLAN_VECTOR, /* its address stands in the thread's vector of blocks */
        _HEAP_PLAN_MAX,
} HeapPlanKind;

/* Plain data: lies in the cache of captures. */
typedef struct HeapPlan {
        uint32_t kind; /* HeapPlanKind */
        uint32_t unused;
        int64_t distance;                /* STATIC: from the thread pointer to the block */
        uint64_t module;                 /* VECTOR: number of the module, from 1 */
        uint64_t allocated, deallocated; /* from the start of the block */
} HeapPlan;

/*
 * Within the bounds that one who adds it to addresses counts on: the counters are aligned, and
 * close enough to be read in one piece of HEAP_PLAN_WORDS.
 */
#define HEAP_PLAN_WORDS 3
bool heap_plan_is_valid(const HeapPlan *plan);

/* The plan for the program itself, whose block has a fixed place. False: the layout cannot be. */
bool heap_plan_of_program(const HeapLayout *layout, HeapPlan *ret);

/*
 * The plan for a library is made of the words at @layout's slot_vaddr. For HEAP_SLOT_TLSDESC they
 * can lead to two further words, which then have to be read at *ret_further.
 */
size_t heap_plan_n_words(const HeapLayout *layout);

typedef enum HeapPlanResult {
        HEAP_PLAN_MADE,
        HEAP_PLAN_FURTHER,     /* read two words at *ret_further: heap_plan_of_descriptor() */
        HEAP_PLAN_UNSUPPORTED, /* the layout has no slot */
        HEAP_PLAN_IMPOSSIBLE,  /* no linker puts that there; it may not have come so far */
} HeapPlanResult;

HeapPlanResult heap_plan_of_library(const HeapLayout *layout, const uint64_t *words, HeapPlan *ret,
                                    uint64_t *ret_further);
HeapPlanResult heap_plan_of_descriptor(const HeapLayout *layout, const uint64_t words[static 2],
                                       HeapPlan *ret);

/* The way from a process to its counters. */
#define HEAP_MODULES_MAX 8 /* far more than any program has modules with jemalloc */
typedef struct HeapWay {
        ThreadGeometry geometry; /* corrected where it is found to be another one */
        size_t n_plans;
        HeapPlan plans[HEAP_MODULES_MAX];
} HeapWay;

/* counters */

/* Plain data, which is the question and the answer. */
typedef struct ThreadCounters {
        uint64_t pointer; /* as the kernel saved it, of use with @number only; 0: not known */
        pid_t tid;
        pid_t number;              /* that it has in its own pid namespace; 0: not known */
        uint32_t is_kernel_worker; /* it runs no code of the process */

        uint32_t failure;                /* result: HeapFailure; NONE: read */
        uint64_t allocated, deallocated; /* results: of all modules together */
} ThreadCounters;

typedef struct CounterRequest {
        uint16_t machine; /* EM_* */
        CaptureSystem system;
        HeapWay way;
        size_t n;
        ThreadCounters threads[BATCH_MAX_THREADS];
} CounterRequest;

/* Sets the results of all threads. */
void thread_counters_read(CounterRequest *request);
