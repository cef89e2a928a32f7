/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemoryQuestion
 *
 * What is asked of a memory job (memory-job.h) and what it answers: the bodies of the messages of a
 * helper, by question. In both directions there are only numbers and bytes of a fixed place, for
 * each side takes the other for a stranger.
 */

#include <stddef.h>
#include <stdint.h>
#include "capture/heap/heap-cache.h"
#include "capture/heap/heap-failure.h"
#include "capture/heap/thread-counters.h"
#include "capture/batch/readings.h"
#include "kernel/bpf/record-sample.h"

typedef enum MemoryQuestion {
        MEMORY_QUESTION_HEAP,     /* the counters of allocators */
        MEMORY_QUESTION_COMMANDS, /* what processes were started as */
        MEMORY_QUESTION_TRIAL,    /* whether memory can be read at all, of a MemoryLife */
        MEMORY_QUESTION_STACK,    /* the stack of a thread that waits */
        MEMORY_QUESTION_END,      /* nothing more is asked: keeps what was found */
        _MEMORY_QUESTION_MAX,
} MemoryQuestion;

/* A process, by its life. Numbers are those of the host. */
typedef struct MemoryLife {
        uint64_t start_ticks; /* of the leader; 0: not known */
        uint32_t tgid;
        uint32_t tid;   /* of a living thread, to reach the process by */
        uint32_t owner; /* uid, as ThreadSlot has it */
        uint32_t unused;
} MemoryLife;

/* In both directions thread and process number i are those of the question. */

typedef struct HeapAskedProcess {
        MemoryLife life;
        uint32_t first, n;  /* its threads */
        uint32_t is_nested; /* in a pid namespace below ours: no numbers of threads are known */
        uint32_t was_slow;  /* in an earlier capture */
        HeapFindings known;
} HeapAskedProcess;

typedef struct HeapAsked {
        uint32_t n_threads, n_processes;
        ThreadCounters threads[BATCH_MAX_THREADS];
        HeapAskedProcess processes[BATCH_MAX_THREADS]; /* no more are sent than there are */
} HeapAsked;

typedef struct HeapAnsweredProcess {
        uint32_t failure;  /* HeapFailure: of all its threads */
        uint32_t was_read; /* what was found of its threads counts: it has plans */
        uint32_t is_slow;
        uint32_t unused;
        HeapFindings found; /* to be kept, if it is settled */
} HeapAnsweredProcess;

typedef struct HeapAnswered {
        ThreadCounters threads[BATCH_MAX_THREADS];
        HeapAnsweredProcess processes[BATCH_MAX_THREADS];
} HeapAnswered;

typedef struct CommandsAsked {
        uint32_t lines; /* CommandLines */
        uint32_t n;
        MemoryLife lives[BATCH_MAX_THREADS]; /* no more are sent than there are */
} CommandsAsked;

typedef struct AnsweredCommand {
        uint32_t failure; /* HeapFailure; NONE: read */
        ProcessCommand command;
} AnsweredCommand;

/* A thread that waits, and where its stack of user mode ends. */
typedef struct StackAsked {
        MemoryLife life;
        uint64_t sp;
        uint64_t
                n_switches; /* of the thread, both kinds: with another number it is another stack */
} StackAsked;

#define MEMORY_STACK_BYTES RECORD_MAX_STACK_BYTES

typedef struct StackAnswered {
        uint32_t failure; /* HeapFailure; NONE: read, as far as there are pages */
        uint32_t n;
        char bytes[MEMORY_STACK_BYTES];
} StackAnswered;

typedef union MemoryAsked {
        HeapAsked HEAP;
        CommandsAsked COMMANDS;
        MemoryLife TRIAL;
        StackAsked STACK;
        uint64_t END;
} MemoryAsked;

typedef union MemoryAnswered {
        HeapAnswered HEAP;
        AnsweredCommand COMMANDS[BATCH_MAX_THREADS];
        uint64_t TRIAL; /* HeapFailure */
        StackAnswered STACK;
        uint64_t END;
} MemoryAnswered;

/* All of a question about @n processes, and of its answer. */
static inline size_t memory_asked_bytes(MemoryQuestion question, size_t n) {
        return question == MEMORY_QUESTION_HEAP
                       ? offsetof(HeapAsked, processes) + n * sizeof(HeapAskedProcess)
               : question == MEMORY_QUESTION_COMMANDS
                       ? offsetof(CommandsAsked, lives) + n * sizeof(MemoryLife)
               : question == MEMORY_QUESTION_TRIAL ? sizeof(MemoryLife)
               : question == MEMORY_QUESTION_STACK ? sizeof(StackAsked)
                                                   : sizeof(uint64_t);
}
static inline size_t memory_answered_bytes(MemoryQuestion question, size_t n) {
        return question == MEMORY_QUESTION_HEAP
                       ? offsetof(HeapAnswered, processes) + n * sizeof(HeapAnsweredProcess)
               : question == MEMORY_QUESTION_COMMANDS ? n * sizeof(AnsweredCommand)
               : question == MEMORY_QUESTION_STACK    ? sizeof(StackAnswered)
                                                      : sizeof(uint64_t);
}
