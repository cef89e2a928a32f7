/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapCache
 *
 * Captures keep what they need not find out again: what was learned of each file, and of each
 * process which plans lead to its counters, or that it has none, and what it was started as. It
 * lies in a memory file that outlives the capture: read when one begins, written when it ends. Its
 * records are bounded in size and number, so the file is. A file that is torn because two captures
 * wrote it, or is of another version, counts as empty.
 *
 * Files are known by FileIdentity; a process by when it began and by everything that changes when
 * it executes another program or, where its counters are, maps more code. Several threads may use
 * one cache.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/index.h"
#include "base/macro.h"
#include "capture/heap/heap-layout.h"
#include "capture/heap/thread-counters.h"
#include "metric/command.h"

/* Items of one length, which begin with their keys, of one length. */
typedef struct CacheTable {
        size_t n_item_bytes, n_key_bytes, n_max;
        char *items; /* owned */
        size_t n, n_allocated;
        Index index;
} CacheTable;

/* NULL when it is not there; borrowed until the next one is added. */
void *cache_table_find(const CacheTable *table, const void *key);
/* One that is not in it; nothing is added to a full table. -ENOMEM. */
_must_check_ int cache_table_add(CacheTable *table, const void *item);
void cache_table_done(CacheTable *table);

/* The questions about a file, which a file job answers (file-job.h). */
typedef enum FileQuestion {
        FILE_QUESTION_HEAP_LAYOUT,
        FILE_QUESTION_THREAD_LAYOUT,
        _FILE_QUESTION_MAX,
} FileQuestion;

/* Plain data, of either question. */
typedef union FileAnswer {
        HeapLayout HEAP_LAYOUT;
        ThreadLayout THREAD_LAYOUT;
} FileAnswer;

/* The length of the answer; 0 for an unknown question. */
static inline size_t file_answer_bytes(uint32_t question) {
        return question == FILE_QUESTION_HEAP_LAYOUT     ? sizeof(HeapLayout)
               : question == FILE_QUESTION_THREAD_LAYOUT ? sizeof(ThreadLayout)
                                                         : 0;
}

/* A file's content has not changed while none of these has. Plain data. */
typedef struct FileIdentity {
        uint64_t dev, inode, size;
        int64_t modified_ns, changed_ns;
} FileIdentity;

#define HEAP_CACHE_MAX_FILES 4096
#define HEAP_CACHE_MAX_PROCESSES 16384
#define HEAP_CACHE_MAX_PLANS 2 /* a process with more is looked at each time */

typedef struct HeapProcessKey {
        uint64_t start_ticks; /* of the leader */
        uint64_t exe_dev, exe_inode;
        uint64_t start_stack;  /* of its address space */
        uint64_t library_code; /* bytes mapped to be executed, without the program */
        uint64_t tgid;
} HeapProcessKey;

/* The findings about a process, of this capture or an earlier one. Plain data. */
typedef struct HeapFindings {
        uint32_t verdict; /* HeapFailure; HEAP_NOT_SETTLED: nothing that would last */
        uint32_t n_plans; /* of HEAP_FAILURE_NONE */
        ThreadGeometry geometry;
        HeapPlan plans[HEAP_CACHE_MAX_PLANS];
} HeapFindings;

typedef struct HeapProcess {
        HeapProcessKey key;
        HeapFindings found;
        uint64_t was_slow; /* to answer: others come first */
} HeapProcess;

/* The command of a process stays what it is until it executes a program, which changes these. */
#define COMMAND_KEY_NAME_BYTES 16

typedef struct CommandKey {
        uint64_t start_ticks; /* of the leader */
        uint64_t exe_dev, exe_inode;
        uint64_t start_stack; /* of its address space */
        uint64_t tgid;
        char name[COMMAND_KEY_NAME_BYTES];
} CommandKey;

/* Commands as command.h has them; empty: there is none. */
typedef struct ProcessCommand {
        uint32_t n_command, n_line;
        char command[COMMAND_MAX_BYTES];
        char line[COMMAND_MAX_BYTES]; /* with COMMAND_LINES_FULL */
} ProcessCommand;

typedef struct HeapCache HeapCache;

_must_check_ int heap_cache_new(HeapCache **ret); /* -ENOMEM */
HeapCache *heap_cache_free(HeapCache *cache);
DEFINE_CLEANUP(HeapCache *, heap_cache_free);

/*
 * Takes what is in @fd, if that is a cache of ours; else the cache stays empty. Does not move the
 * file's position. -ENOMEM.
 */
_must_check_ int heap_cache_load(HeapCache *cache, int fd);
/*
 * Writes the files, and the processes and commands that were found or put since the cache was
 * loaded: the others have ended, but where there was no such process, as nobody asked for counters,
 * those that were known are kept. -errno; what is in the file then is not read as a cache. Only
 * heap_cache_free() comes after.
 */
_must_check_ int heap_cache_store(HeapCache *cache, int fd);

/* The answer to a question about a file, of the question's size. */
bool heap_cache_find_file(HeapCache *cache, const FileIdentity *identity, FileQuestion question,
                          void *ret_answer);
/* A full cache forgets the file that was of no use for the longest time. -ENOMEM. */
_must_check_ int heap_cache_put_file(HeapCache *cache, const FileIdentity *identity,
                                     FileQuestion question, const void *answer);

/* Tells whether a process of earlier captures has plans; true also when none is known. */
bool heap_cache_expects_plans(const HeapCache *cache);
bool heap_cache_find_process(HeapCache *cache, const HeapProcessKey *key, HeapProcess *ret);
/*
 * Replaces what is known of this process: plans that led nowhere have been made anew. A full cache
 * takes no further processes. -ENOMEM.
 */
_must_check_ int heap_cache_put_process(HeapCache *cache, const HeapProcess *process);

/* The command of a process, if as much as @lines was read of it. */
bool heap_cache_find_command(HeapCache *cache, const CommandKey *key, CommandLines lines,
                             ProcessCommand *ret);
/* A full cache takes no further processes. -ENOMEM. */
_must_check_ int heap_cache_put_command(HeapCache *cache, const CommandKey *key, CommandLines lines,
                                        const ProcessCommand *command);
