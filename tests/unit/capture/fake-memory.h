/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FakeMemory
 *
 * The memory of processes that a test makes up, word by word, and the lists of robust mutexes of
 * their threads. All processes share one memory; a thread can be taken out of it.
 */

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "capture/heap/thread-counters.h"

#define FAKE_MAX_WORDS 16384
#define FAKE_MAX_THREADS 256

typedef struct FakeTask {
        pid_t tid;
        uint64_t head;
        int head_error;   /* -errno of asking for its list */
        int memory_error; /* -errno of reading memory by its number */
        unsigned n_asked;
        /* From the second question on, if not 0: another list, or -errno. */
        uint64_t next_head;
        int next_error;
} FakeTask;

typedef struct FakeMemory {
        struct {
                uint64_t address, word;
        } words[FAKE_MAX_WORDS];
        size_t n_words;
        FakeTask tasks[FAKE_MAX_THREADS];
        size_t n_tasks;
        unsigned n_reads;
        void (*on_read)(void); /* called before each reading of memory */
} FakeMemory;

static inline void fake_word(FakeMemory *memory, uint64_t address, uint64_t word) {
        for (size_t i = 0; i < memory->n_words; i++)
                if (memory->words[i].address == address) {
                        memory->words[i].word = word;
                        return;
                }
        ck_assert_uint_lt(memory->n_words, FAKE_MAX_WORDS);
        memory->words[memory->n_words].address = address;
        memory->words[memory->n_words++].word = word;
}

/* The word cannot be read any more. */
static inline void fake_unmap(FakeMemory *memory, uint64_t address) {
        for (size_t i = 0; i < memory->n_words; i++)
                if (memory->words[i].address == address)
                        memory->words[i] = memory->words[--memory->n_words];
}

static inline FakeTask *fake_task(FakeMemory *memory, pid_t tid) {
        for (size_t i = 0; i < memory->n_tasks; i++)
                if (memory->tasks[i].tid == tid)
                        return &memory->tasks[i];
        return NULL;
}

/* The words at @pointer that are looked at, as 0. */
static inline void fake_block(FakeMemory *memory, uint16_t machine, uint64_t pointer) {
        uint64_t begin = pointer + (uint64_t) (int64_t) thread_block_begin(machine);

        for (uint32_t i = 0; i < thread_block_words(machine); i++)
                fake_word(memory, begin + 8 * i, 0);
}

/*
 * A thread with its control block at @pointer, which knows itself as @number and has the vector
 * @vector of blocks.
 */
static inline FakeTask *fake_add_task(FakeMemory *memory, uint16_t machine, ThreadGeometry geometry,
                                      pid_t tid, uint32_t number, uint64_t pointer,
                                      uint64_t vector) {
        uint64_t head = pointer - (uint64_t) (int64_t) geometry.pointer;
        uint64_t place = head + (uint64_t) (int64_t) geometry.tid;
        bool is_x86 = machine == EM_X86_64; /* its block points to itself */
        FakeTask *task = &memory->tasks[memory->n_tasks++];

        ck_assert_uint_le(memory->n_tasks, FAKE_MAX_THREADS);
        *task = (FakeTask){ .tid = tid, .head = head };
        fake_block(memory, machine, pointer);
        fake_word(memory, head - 8, head);
        fake_word(memory, head, head); /* the list is empty */
        fake_word(memory, pointer, is_x86 ? pointer : vector);
        fake_word(memory, pointer + 8, is_x86 ? vector : 0);
        fake_word(memory, pointer + 16, is_x86 ? pointer : 0);
        fake_word(memory, place & ~UINT64_C(7),
                  place % 8 == 0 ? number | UINT64_C(0xffffffff00000000)
                                 : (uint64_t) number << 32 | 0xeeeeeeee);
        return task;
}

/* A thread of musl, as 1.2.3 has it: the kernel knows no list of it. */
static inline FakeTask *fake_add_musl_task(FakeMemory *memory, uint16_t machine, pid_t tid,
                                           uint32_t number, uint64_t pointer, uint64_t vector) {
        bool is_x86 = machine == EM_X86_64;
        uint64_t begin = is_x86 ? pointer : pointer - 200;
        uint64_t ring = begin + (is_x86 ? 16 : 8);
        FakeTask *task = &memory->tasks[memory->n_tasks++];

        ck_assert_uint_le(memory->n_tasks, FAKE_MAX_THREADS);
        *task = (FakeTask){ .tid = tid };
        fake_block(memory, machine, pointer);
        fake_word(memory, begin, begin);
        fake_word(memory, ring, begin + 0x100000); /* another thread, and one more */
        fake_word(memory, ring + 8, begin + 0x200000);
        fake_word(memory, is_x86 ? pointer + 8 : pointer - 8, vector);
        fake_word(memory, begin + (is_x86 ? 48 : 32), number | UINT64_C(0x0000000b00000000));
        return task;
}

static inline int fake_robust_list(FakeMemory *memory, pid_t tid, uint64_t *ret_head) {
        FakeTask *task = fake_task(memory, tid);

        if (!task)
                return -ESRCH;
        if (task->n_asked++ > 0 && (task->next_error != 0 || task->next_head != 0)) {
                *ret_head = task->next_head;
                return task->next_error;
        }
        *ret_head = task->head;
        return task->head_error;
}

static inline bool fake_find(const FakeMemory *memory, uint64_t address, uint64_t *ret) {
        for (size_t i = 0; i < memory->n_words; i++)
                if (memory->words[i].address == address) {
                        *ret = memory->words[i].word;
                        return true;
                }
        return false;
}

static inline ssize_t fake_read(FakeMemory *memory, pid_t pid, const struct iovec *local,
                                const struct iovec *remote, size_t n) {
        const FakeTask *task;
        ssize_t n_read = 0;

        memory->n_reads++;
        if (memory->on_read)
                memory->on_read();
        task = fake_task(memory, pid);
        if (!task)
                return -ESRCH;
        if (task->memory_error != 0)
                return task->memory_error;
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < remote[i].iov_len; k += 8) {
                        uint64_t word;

                        if (!fake_find(memory, (uint64_t) (uintptr_t) remote[i].iov_base + k,
                                       &word))
                                return n_read > 0 ? n_read : -EFAULT;
                        memcpy((char *) local[i].iov_base + k, &word, sizeof(word));
                        n_read += (ssize_t) sizeof(word);
                }
        return n_read;
}
