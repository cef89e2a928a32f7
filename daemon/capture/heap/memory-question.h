/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemoryQuestion
 *
 * A capture asks about the memory of processes, and lets a memory job answer: whatever makes who
 * reads it wait for a stranger is called there. The owner of a process can have such a call
 * wait for ever, deaf even to SIGKILL (a page of a FUSE file will do); then it is that job which
 * hangs. A question goes through a room (room/room.h); it is about many processes, because the way
 * there and back takes longer than reading one.
 */

#include <stddef.h>
#include <stdint.h>
#include "capture/heap/heap-cache.h"
#include "capture/heap/heap-failure.h"
#include "capture/scene/scene.h"

typedef enum MemoryQuestion {
        MEMORY_QUESTION_HEAP,     /* the counters of allocators */
        MEMORY_QUESTION_COMMANDS, /* what processes were started as */
        MEMORY_QUESTION_TRIAL,    /* whether memory can be read at all, of a MemoryLife */
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

typedef struct HeapAskedThread {
        uint64_t pointer; /* as the kernel saved it; 0: not known */
        uint32_t tid;
        uint32_t is_kernel_worker; /* it runs no code of the process */
} HeapAskedThread;

typedef struct HeapAskedProcess {
        MemoryLife life;
        uint32_t first, n;  /* its threads */
        uint32_t is_nested; /* in a pid namespace below ours */
        uint32_t was_slow;  /* in an earlier capture */
        HeapFindings known;
} HeapAskedProcess;

typedef struct HeapAsked {
        uint32_t n_threads, n_processes;
        HeapAskedThread threads[BATCH_MAX_THREADS];
        HeapAskedProcess processes[BATCH_MAX_THREADS]; /* no more are sent than there are */
} HeapAsked;

typedef struct HeapAnsweredThread {
        uint64_t allocated, deallocated;
        uint32_t failure; /* HeapFailure; NONE: read */
        uint32_t unused;
} HeapAnsweredThread;

typedef struct HeapAnsweredProcess {
        uint32_t failure;  /* HeapFailure: of all its threads */
        uint32_t was_read; /* what was found of its threads counts: it has plans */
        uint32_t is_slow;
        uint32_t is_lasting; /* what was found is to be kept */
        HeapFindings found;
} HeapAnsweredProcess;

typedef struct HeapAnswered {
        HeapAnsweredThread threads[BATCH_MAX_THREADS];
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

typedef struct CommandsAnswered {
        AnsweredCommand commands[BATCH_MAX_THREADS];
} CommandsAnswered;

typedef struct MemoryTrial {
        uint64_t failure; /* HeapFailure */
} MemoryTrial;

typedef struct MemoryEnd {
        uint64_t unused;
} MemoryEnd;

typedef union MemoryAsked {
        HeapAsked HEAP;
        CommandsAsked COMMANDS;
        MemoryLife TRIAL;
        MemoryEnd END;
} MemoryAsked;

typedef union MemoryAnswered {
        HeapAnswered HEAP;
        CommandsAnswered COMMANDS;
        MemoryTrial TRIAL;
        MemoryEnd END;
} MemoryAnswered;

/* All of a question about @n processes. */
static inline size_t heap_asked_bytes(size_t n) {
        return offsetof(HeapAsked, processes) + n * sizeof(HeapAskedProcess);
}
static inline size_t heap_answered_bytes(size_t n) {
        return offsetof(HeapAnswered, processes) + n * sizeof(HeapAnsweredProcess);
}
static inline size_t commands_asked_bytes(size_t n) {
        return offsetof(CommandsAsked, lives) + n * sizeof(MemoryLife);
}
static inline size_t commands_answered_bytes(size_t n) {
        return n * sizeof(AnsweredCommand);
}
