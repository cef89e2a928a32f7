/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemoryJob
 *
 * A capture asks about the memory of processes, and lets a memory job answer: whatever makes who
 * reads it wait for a stranger is called there. The owner of a process can have such a call wait
 * for ever, deaf even to SIGKILL (a page of a FUSE file will do); then it is that job which hangs.
 * A question goes through a helper (helper/helper.h); it is about many processes, because the way
 * there and back takes longer than reading one.
 *
 * The job has two things to read processes with: the time that may be spent, and a thread that
 * makes the calls which may never return. Those take the lock of a process's memory, or touch files
 * of any file system. A call that does not return in time is left behind. An owner of processes can
 * spend a share of the time on them and have two calls left behind; then his others are not read,
 * and those of everybody else are.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/heap/memory-question.h"
#include "capture/heap/module.h"
#include "capture/batch/blocking-thread.h"
#include "capture/batch/readings.h"

/* the job */

/* Calls for processes of one owner that may hang, in this job or in earlier ones. */
#define MEMORY_JOB_MAX_LEFT 2

typedef struct MemoryJobOptions {
        int proc_fd;                 /* borrowed */
        const CaptureSystem *system; /* borrowed, also by what is left behind */
        uint64_t limit_ns;           /* for each purpose */
        int cache_fd;                /* of what is known of files; borrowed; negative: none */
        /* As HelperTerms has it, for a job that parses files; NULL: there is none. */
        int (*open_files)(void *userdata, int peer_fd);
        /* A call for this process was left behind. May be NULL. */
        void (*on_left)(void *userdata, const MemoryLife *life);
        void *userdata;
        /* Processes that earlier jobs hang in, or hung, and owners: none of them is touched. */
        const MemoryLife *hung; /* borrowed */
        size_t n_hung;
        const uint32_t *barred_owners; /* borrowed */
        size_t n_barred_owners;
} MemoryJobOptions;

/*
 * Answers one question after the other, in a memory job or a thread of a test, until the other side
 * closes its end: 0. -EBADMSG when that side sends something else, -ENOMEM, -errno when the socket
 * fails. @socket_fd is borrowed.
 */
_must_check_ int memory_server_run(int socket_fd, const MemoryJobOptions *options);

/* A process is read for one of these, whose time is not spent on another. */
typedef enum MemoryPurpose {
        MEMORY_COUNTERS,
        MEMORY_COMMANDS,
        MEMORY_STACKS,
        _MEMORY_PURPOSE_MAX,
} MemoryPurpose;

/* Owners beyond share the last account. */
#define MEMORY_JOB_MAX_OWNERS 64

typedef struct OwnerAccount {
        uint32_t owner;
        unsigned n_left; /* calls that were left behind */
        uint64_t spent_ns[_MEMORY_PURPOSE_MAX];
} OwnerAccount;

/* Read its options; the rest is for the functions below. */
typedef struct MemoryJob {
        MemoryJobOptions options;
        BlockingThread *thread; /* owned; NULL: not started, or left behind */
        /* Processes of which a call was left behind in this job: what hangs once hangs again. */
        MemoryLife left[MEMORY_JOB_MAX_OWNERS * MEMORY_JOB_MAX_LEFT];
        size_t n_left;
        OwnerAccount accounts[MEMORY_JOB_MAX_OWNERS];
        size_t n_accounts;
        /* of the limit; of the part of the slow */
        uint64_t spent_ns[_MEMORY_PURPOSE_MAX], slow_ns[_MEMORY_PURPOSE_MAX];
        /* the process at hand */
        MemoryPurpose purpose;
        MemoryLife life;
        OwnerAccount *account;
        bool is_of_slow;
        uint64_t waited_ns;
} MemoryJob;

_must_check_ int memory_job_new(const MemoryJobOptions *options, MemoryJob **ret); /* -ENOMEM */
MemoryJob *memory_job_free(MemoryJob *job);
DEFINE_CLEANUP(MemoryJob *, memory_job_free);

/*
 * From here on everything is for one process, and counts for its owner. NONE, or why it is not to
 * be touched.
 */
HeapFailure memory_job_begin(MemoryJob *job, MemoryPurpose purpose, const MemoryLife *life,
                             bool was_slow);
/* True when the process made us wait for so long that another time others come first. */
bool memory_job_was_slow(const MemoryJob *job);

/*
 * The process is waited for so long: half of what is left at most, so that somebody who makes us
 * wait for a process of his costs that and not the readings of all others. Files are parsed one
 * after the other, so one that takes long costs those behind it, too, of which nothing is known
 * yet. A quarter of the time is only for processes of which everything is known; those that were
 * slow before have an eighth for themselves and take nothing from others. 0: nothing is begun.
 */
uint64_t memory_job_patience_ns(const MemoryJob *job, bool is_known);
uint64_t memory_job_now_ns(const MemoryJob *job);
/* Takes time of the process that was not spent by memory_job_run(). */
void memory_job_spend(MemoryJob *job, uint64_t ns);
/* An answer that was late may be waited for so long at the end. */
uint64_t memory_job_last_patience_ns(uint64_t limit_ns);

/* the thread */

#define MEMORY_WORK_FILES 64 /* at once */
/* So much of the arguments is read: a class path of Java may stand before what tells of it. */
#define MEMORY_WORK_ARGUMENT_BYTES 4096

typedef struct ModuleFile {
        size_t module; /* index in the list */
        FileIdentity identity;
        int result; /* MODULE_FILE_E_* */
        int fd;     /* owned */
} ModuleFile;

/* One piece of work at a time is put here, and its results are found here. */
typedef struct MemoryWork {
        MemoryLife life; /* of the process */
        int dir_fd;      /* borrowed: the directory of a thread of the process */
        int proc_fd;     /* borrowed */
        int result;      /* TEXT_E_*, of a map, words or arguments */

        ModuleList list;
        bool has_program;
        FileIdentity program;

        ModuleFile files[MEMORY_WORK_FILES];
        size_t n_files;

        WordRange ranges[HEAP_MODULES_MAX];
        size_t n_ranges;
        uint64_t words[HEAP_MODULES_MAX][2]; /* of the ranges */

        CounterRequest counters;

        size_t n_arguments;
        char arguments[MEMORY_WORK_ARGUMENT_BYTES];

        uint64_t sp, n_switches; /* StackAsked */
        size_t n_stack;
        char stack[MEMORY_STACK_BYTES];

        void (*step)(struct MemoryWork *work); /* what is done */
} MemoryWork;

/* The next piece of work is put there; NULL when no thread can be started. */
MemoryWork *memory_job_work(MemoryJob *job);
/*
 * Lets the thread do @step for @patience_ns, and for some times that as long as it gets no
 * processor. NONE; TIME_BUDGET when @patience_ns is 0; TIMED_OUT when it was too short: then what
 * memory_job_work() gave is gone.
 */
HeapFailure memory_job_run(MemoryJob *job, void (*step)(MemoryWork *work), uint64_t patience_ns);

/*
 * the probe
 *
 * The part of the job that reads counters. It finds out of one process which of its modules have
 * them and how to get to them (its map, the files of its modules, what they say, and the words of
 * its memory that complete that), and reads those of its threads. With -Dheap=disabled heap-none.c
 * stands for it.
 */
typedef struct HeapProbe HeapProbe;

/* False in a ctprofd that was built with -Dheap=disabled. */
extern const bool heap_probe_is_built;

/* @job is borrowed. -ENOMEM. */
_must_check_ int heap_probe_new(MemoryJob *job, HeapProbe **ret);
HeapProbe *heap_probe_free(HeapProbe *probe);

/*
 * @asked must have all of the processes that it counts. Returns 0; -EINVAL if @asked is not a valid
 * question; -ENOMEM.
 */
_must_check_ int heap_probe_answer(HeapProbe *probe, const HeapAsked *asked, HeapAnswered *ret);
/* Tries on one thread whether this user may read the process at all. */
HeapFailure heap_probe_try(HeapProbe *probe, const MemoryLife *life);
/* Keeps what was found out of files for the next capture. */
void heap_probe_keep(HeapProbe *probe);
