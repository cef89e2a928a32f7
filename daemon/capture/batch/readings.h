/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Readings
 *
 * What was read of the threads of one batch: a backend fills the slots, further steps add what they
 * read of each process, and the worker writes the rows of the threads that are kept. A thread that
 * goes while it is being read is dropped whole and counted.
 *
 * Each worker has one of these, and uses it for one batch after the other. Running out of memory
 * sticks in readings->error; what is read after it is incomplete, and the capture fails.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "capture/batch/capture-system.h"
#include "capture/batch/gates.h"
#include "capture/batch/blocking-file.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/procfs/procfs.h"
#include "kernel/bpf/ledger.h"
#include "kernel/taskstats/taskstats-message.h"
#include "kernel/text/cpu-list.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

/* batches */

#define BATCH_MAX_THREADS TASKSTATS_BATCH_MAX
/* The longest name that the kernel prints (fs/proc/array.c, proc_task_name()). */
#define BATCH_NAME_BYTES 64

typedef struct ThreadSlot ThreadSlot;

typedef struct BatchProcess {
        pid_t tgid;
        size_t first, n; /* its threads are batch->tids[first ... first + n - 1] */
        /*
         * The process continues in other batches. The walk has read its name once, so that all rows
         * agree, and its start time, so that each part can check that it is the same process.
         */
        bool is_split;
        bool has_leader; /* the walk could read the leader, which may not be in the batch */
        uint64_t start_ticks;
        char name[BATCH_NAME_BYTES];
        size_t n_name;
        const void *evidence; /* as of Batch, of the process; NULL: none */
        ThreadSlot *leader;   /* of the readings; NULL: it is not in this batch */

        size_t n_kept; /* result: rows */
} BatchProcess;

/*
 * A piece of work for one worker: the threads to read, grouped by process, and the rows that were
 * made of them. It holds at most as many threads as one taskstats request: several small processes,
 * or a part of a large one, so that several workers share a process with 25,000 threads.
 */
typedef struct Batch {
        pid_t tids[BATCH_MAX_THREADS];
        /* The walk's knowledge of each thread, for its backend's reader; borrowed from the walk. */
        const void *evidence[BATCH_MAX_THREADS];
        size_t n_tids;
        BatchProcess processes[BATCH_MAX_THREADS];
        size_t n_processes;
        uint64_t n_walked, n_listed; /* progress of the walk when the batch was filled: processes */

        Buffer rows;  /* result: joined by "," */
        int error;    /* result: 0 or -ENOMEM, which ends the capture */
        bool is_read; /* the results are there; under the lock of the walk */
} Batch;

/* counts */

/*
 * A capture counts how every attempt to read something ended, by source, and other things. Each
 * worker has a tally of its own; they are added up once, at the end.
 */
typedef struct Tally {
        uint64_t counts[_SOURCE_MAX][_SOURCE_OUTCOME_MAX];
        uint64_t n_threads;       /* kept */
        uint64_t n_processes;     /* with a thread that was kept */
        bool processes_hidden;    /* the backend is not shown all processes */
        uint64_t n_smaps_skipped; /* processes left out for time */
        uint64_t n_smaps_large;   /* processes left out for their size */
        uint64_t smaps_largest_bytes;
        uint64_t n_groups_outside; /* cgroups outside of the visible part of the hierarchy */
} Tally;

static inline void tally_add_counts(Tally *tally, SourceId source,
                                    const uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        for (unsigned i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                tally->counts[source][i] += counts[i];
}

/* threads */

/* The host that is captured. All workers share it; it does not change during the walk. */
typedef struct CaptureHost {
        int proc_fd;                 /* borrowed */
        const CaptureSystem *system; /* borrowed */
        Cgroupfs *cgroupfs;          /* owned; NULL: no hierarchy is mounted */
        Gates gates;
        /* Processes that belong to ctprof. */
        const pid_t *self_pids; /* borrowed */
        size_t n_self_pids;
        int sys_fd;            /* borrowed; may be negative */
        uint64_t reason_epoch; /* of the account of waits by reason; 0: it is off */
        int task_fd;           /* of the loaded task iterator; borrowed; negative: there is none */
        Ledger *ledger;        /* owned; NULL: programs count neither exits nor waits */
        /*
         * The ledger is of messages that tell each exit when it happens: it has all zombies, which
         * are not among the living then.
         */
        bool heard_exits;
        pid_t main_pid; /* of ctprof: its children are its jobs; 0: not known */
} CaptureHost;

/* Bytes in readings->texts, by offset because that buffer may move until all texts are in it. */
typedef struct TextPlace {
        size_t at, n;
        bool is_set;
} TextPlace;

struct ThreadSlot {
        pid_t tid;
        /*
         * O_PATH of /proc/TGID/task/TID, owned, -EBADF when it was not opened: see
         * readings_open_thread(). All files of a thread are read through it: once the thread is
         * gone it answers nothing, so two lives of a tid cannot mix. (Only the leader's number
         * passes from task to task within the life of a process, when another thread executes a
         * program.)
         */
        int fd;
        bool kept;     /* its row will be written */
        bool vanished; /* it went while it was being read */
        /* All of its row was read at one moment: that it goes later takes nothing from it. */
        bool is_settled;
        bool has_space; /* it has an address space, as far as is known */
        /* It works for the process within the kernel (io_uring, vhost) and runs no code of it. */
        bool is_kernel_worker;
        /*
         * The uid of who answers for it (owner.bpf.h), where the sample has an owner. Without BPF
         * that is its own uid, also within a user namespace.
         */
        uint32_t owner;
        char state;
        bool is_zombie;
        int64_t policy;
        uint64_t num_threads; /* of the process; 0 unknown */
        uint64_t start_stack; /* of the address space; 0 unknown */
        /* Saved by the kernel when the thread last left a CPU; 0: the backend does not know it. */
        uint64_t thread_pointer;
        uint64_t seen_ns; /* CLOCK_MONOTONIC, just after its identity had been read */
        /*
         * Its status file told these of its process: bytes mapped to be executed, and whether it
         * lives in a pid namespace below that of this /proc.
         */
        bool has_library_code, is_nested;
        uint64_t library_code;
        uint64_t cgroup_id; /* 0: the backend does not know it */

        uint8_t outcomes[_SOURCE_MAX]; /* SourceOutcome + 1; 0: not tried */
        TextPlace comm, cpus, cgroup;
        ThreadSample sample; /* its spans are set last */
};

#define AFFINITY_TEXT_BYTES 1024 /* a longer CPU list is formatted anew each time */

/*
 * The CPU mask of the thread at hand. Nearly all threads of a host have the same mask, so the last
 * one is remembered and not formatted again.
 */
typedef struct Affinity {
        unsigned long mask[CPU_LIST_MAX_WORDS], last_mask[CPU_LIST_MAX_WORDS];
        size_t n_last_words, n_last_text, n_last_cpus;
        char last_text[AFFINITY_TEXT_BYTES];
        char long_text[8 * CPU_LIST_MAX_CPUS / 2];
} Affinity;

/* Zeroed but for the host; the texts and the blocking thread are freed by its owner. */
typedef struct Readings {
        const CaptureHost *host;             /* borrowed */
        Batch *batch;                        /* borrowed; NULL between batches */
        ThreadSlot slots[BATCH_MAX_THREADS]; /* slot i is the thread batch->tids[i] */
        Buffer texts;
        Tally tally; /* of all batches so far */
        int error;   /* 0 or -ENOMEM; sticks */
        BlockingFile blocking;
        Affinity affinity;
        char file[PROCFS_BUFFER_BYTES]; /* each file is read into this and parsed at once */
} Readings;

/* Sets the slots to the threads of @batch, which no reading has been tried of, and its leaders. */
void readings_begin(Readings *readings, Batch *batch);

/*
 * Opens slot->fd for a backend that needs no files, if it is not open yet. 0, or as
 * blocking_file_read(); TEXT_E_VANISHED also when another thread has the number by now.
 */
_must_check_ int readings_open_thread(Readings *readings, const BatchProcess *process,
                                      ThreadSlot *slot);
/*
 * A thread by which the memory of the process is reached: the leader if it lives; otherwise its
 * address space lives on with another thread. NULL where there is none.
 */
ThreadSlot *readings_find_representative(Readings *readings, const BatchProcess *process);

/* Keeps a copy of @text until the next readings_begin(). */
TextPlace readings_add_text(Readings *readings, Span text);
static inline Span readings_text(const Readings *readings, TextPlace place) {
        return place.is_set ? (Span){ readings->texts.bytes + place.at, place.n }
                            : (Span){ NULL, 0 };
}

/* Returns whether the process, of which @sample is a thread, belongs to ctprof. */
bool capture_host_owns(const CaptureHost *host, pid_t tgid, const ThreadSample *sample);

static inline void thread_slot_note(ThreadSlot *slot, SourceId source, SourceOutcome outcome) {
        slot->outcomes[source] = (uint8_t) (outcome + 1);
}
/* A reading showed that the thread has gone. */
static inline void thread_slot_vanish(ThreadSlot *slot) {
        if (slot->is_settled)
                return;
        slot->vanished = true;
        slot->kept = false;
}
/* It is in the capture, and has memory that can be read. */
static inline bool thread_slot_is_living(const ThreadSlot *slot) {
        return slot->kept && slot->has_space && !slot->is_zombie;
}
/* Zombies of the process are counted by a ledger, so they are not among the living. */
void readings_leave_zombies_out(Readings *readings, const BatchProcess *process);

/*
 * Puts the mask, of @n_words words in readings->affinity, into the sample as a number of CPUs and
 * into the slot as text, and notes how the source ended.
 */
void readings_put_affinity(Readings *readings, ThreadSlot *slot, size_t n_words);
