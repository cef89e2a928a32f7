/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/bpf/bpf-backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "capture/bpf/task-sample.h"
#include "capture/procfs/procfs-backend.h"
#include "kernel/bpf/task-table.h"
#include "kernel/bpf/task-value.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/proc-walk.h"

/* include/linux/sched.h */
#define PF_WQ_WORKER 0x00000020u

/* The numbers in a task are of the initial pid namespace; those of this /proc must be the same. */
static bool bpf_probe(const CaptureHost *host) {
        _cleanup_(fd_closep) int fd = -EBADF;

        if (host->task_fd < 0 || host->gates.foreign_pids)
                return false;
        fd = task_iterator_open(host->task_fd);
        return fd >= 0;
}

/*
 * the walk: through the table, which is sorted by process and thread
 *
 * There are hosts whose kernel keeps processes from BPF programs. The kernel also counts all
 * threads: when the table has fewer, the processes of /proc that it lacks are read from files, in
 * batches of their own. They are those that /proc lists before the table is read and after it. Who
 * was born meanwhile is for the next capture: to read their files would let everybody who starts
 * processes choose how they are read.
 */

typedef struct BpfWalk {
        const CaptureHost *host;
        Tally *tally;
        TaskTable *tasks;           /* owned */
        const TaskRecord **records; /* owned: those of the table, in its order */
        size_t at;                  /* the next one */
        pid_t only;                 /* 0: all */
        bool wants_ledger;          /* only a capture of all threads has use for those that ended */
        bool is_within;             /* the process at hand was begun in an earlier batch */
        BatchProcess process;
        ProcWalk before;  /* processes that were there before the table was read */
        ProcWalk missing; /* processes that the table lacks */
        size_t n_filled;  /* of these: those before were read */
        void *files;      /* owned: the walk through one of them, or NULL */
} BpfWalk;

/*
 * Its row is in the ledger, or it is a zombie from before the ledger began, which does nothing any
 * more and gets no row when it is reaped. Its record still tells the name of a process whose leader
 * has ended.
 */
static bool is_dead(const BpfWalk *walk, const TaskRecord *record) {
        return ((record->has & TASK_IS_DEAD) != 0 || record->exit_state != 0) &&
               walk->wants_ledger && walk->host->ledger->is_read;
}

static pid_t process_at(const BpfWalk *walk, size_t at) {
        return (pid_t) walk->records[at]->tgid;
}

static void bpf_walk_free(void *userdata) {
        BpfWalk *walk = userdata;

        if (!walk)
                return;
        procfs_backend.walk_free(walk->files);
        proc_walk_done(&walk->before);
        proc_walk_done(&walk->missing);
        free(walk->records);
        walk->tasks = task_table_free(walk->tasks);
        free(walk);
}

/* The second number of the fourth word: threads that exist. 0 when it cannot be told. */
static uint64_t count_threads(const CaptureHost *host) {
        char text[128];
        uint64_t n = 0;
        const char *slash;
        size_t n_chars;

        if (text_file_read(host->proc_fd, "loadavg", text, sizeof(text) - 1, &n_chars) != 0)
                return 0;
        text[n_chars] = '\0';
        slash = strchr(text, '/');
        if (!slash || !number_parse_u64((Span){ slash + 1, strspn(slash + 1, "0123456789") }, &n))
                return 0;
        return n;
}

/* A sample of the host is the process that was asked for and the first one. */
static bool is_wanted(const BpfWalk *walk, pid_t tgid) {
        return walk->only == 0 || tgid == walk->only || tgid == 1;
}

/* Where they cannot be listed there are none. */
static int list_processes(const CaptureHost *host, ProcWalk *ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        int r = text_file_open_directory(host->proc_fd, ".", &fd);

        if (r == 0)
                r = proc_walk_list(ret, fd);
        return r < 0 ? r : 0;
}

/* Leaves in walk->missing what the table lacks. */
static int find_missing(BpfWalk *walk) {
        const ProcWalk *before = &walk->before;
        size_t n = 0, n_before = 0;
        int r;

        r = list_processes(walk->host, &walk->missing);
        if (r < 0)
                return r;
        for (size_t i = 0; i < walk->missing.n_ids; i++) {
                pid_t tgid = walk->missing.ids[i];
                size_t at = task_table_search(walk->tasks, tgid, 0);

                while (n_before < before->n_ids && before->ids[n_before] < tgid)
                        n_before++;
                if (n_before < before->n_ids && before->ids[n_before] == tgid &&
                    is_wanted(walk, tgid) &&
                    (at == task_table_count(walk->tasks) || process_at(walk, at) != tgid))
                        walk->missing.ids[n++] = tgid;
        }
        walk->missing.n_ids = n;
        return 0;
}

static int bpf_walk_new(const CaptureHost *host, pid_t only, Tally *tally, void **ret) {
        uint64_t n_before = count_threads(host), n_after;
        BpfWalk *walk = calloc(1, sizeof(*walk));
        size_t n_all;
        int r = 0;

        if (!walk)
                return -ENOMEM;
        walk->host = host;
        walk->tally = tally;
        walk->only = only;
        walk->wants_ledger =
                host->ledger && only == 0 && !host->heard_exits && ledger_is_kept(host->ledger);
        r = list_processes(host, &walk->before);
        /* The living, and with them those that ended: each thread is among the one or the other. */
        if (walk->wants_ledger && r == 0)
                r = ledger_begin(host->ledger, host->main_pid);
        if (walk->wants_ledger && r == 0) {
                r = task_table_read(host->task_fd, &walk->tasks);
                if (r < 0)
                        ledger_cancel(host->ledger);
                else
                        r = ledger_end(host->ledger, walk->tasks);
        }
        /* Where it cannot be read, its source says so, and its threads are shown once more. */
        if (r != -ENOMEM)
                r = walk->tasks ? 0 : task_table_read(host->task_fd, &walk->tasks);
        n_after = count_threads(host);

        /* Every step of the walk looks at records, and the table takes one apart each time. */
        n_all = r < 0 ? 0 : task_table_count(walk->tasks);
        walk->records = calloc(n_all + 1, sizeof(*walk->records));
        if (!walk->records)
                r = -ENOMEM;
        for (size_t i = 0; r >= 0 && i < n_all; i++)
                walk->records[i] = task_table_get(walk->tasks, i).record;
        /* Where threads come and go there may be as many although some cannot be seen. */
        if (r >= 0 && n_all < MAX_OF(n_before, n_after))
                r = find_missing(walk);
        if (r < 0) {
                bpf_walk_free(walk);
                return r;
        }
        *ret = walk;
        return 0;
}

/* The threads of a process have one memory: that of the first one that still has it is offered. */
static int bpf_offer_memory(void *userdata, Largest *largest) {
        const BpfWalk *walk = userdata;
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
        size_t n_all = task_table_count(walk->tasks);
        pid_t offered = 0;
        int r = 0;

        for (size_t at = 0; r == 0 && at < n_all; at++) {
                pid_t tgid = process_at(walk, at);
                const TaskMemory *memory =
                        tgid != offered ? task_of(walk->records[at]).memory : NULL;
                LargestProcess process = { .tgid = tgid };
                int64_t n_swapped;

                if (!memory)
                        continue;
                offered = tgid;
                /* Kernels that count pages in a way that the program does not know have files. */
                if (!(memory->has & TASK_MEMORY_HAS_RESIDENT)) {
                        r = procfs_offer_process(walk->host, tgid, largest);
                        continue;
                }
                n_swapped = memory->resident[TASK_MEMORY_SWAP];
                process.resident_bytes =
                        number_multiply_saturating(task_resident(memory), page_bytes);
                process.swap_bytes = number_multiply_saturating(
                        n_swapped > 0 ? (uint64_t) n_swapped : 0, page_bytes);
                r = largest_offer(largest, process);
        }
        for (size_t i = 0; r == 0 && i < walk->missing.n_ids; i++)
                r = procfs_offer_process(walk->host, walk->missing.ids[i], largest);
        return r;
}

/*
 * Finds the memory of the process, which stands with the leader or, once that has ended, with
 * others.
 */
static void begin_process(BpfWalk *walk, size_t n) {
        pid_t tgid = process_at(walk, walk->at);
        size_t at = task_table_search(walk->tasks, tgid, tgid);
        const TaskRecord *leader = NULL;

        if (at < task_table_count(walk->tasks) && walk->records[at]->tid == (uint32_t) tgid)
                leader = walk->records[at];
        walk->process = (BatchProcess){ .tgid = tgid, .is_split = n > BATCH_MAX_THREADS };
        if (leader)
                walk->process.evidence = task_of(leader).memory;
        for (size_t i = 0; i < n && !walk->process.evidence; i++)
                walk->process.evidence = task_of(walk->records[walk->at + i]).memory;
        if (!leader || !(walk->process.is_split || is_dead(walk, leader)))
                return;
        walk->process.has_leader = true;
        walk->process.start_ticks = task_start_ticks(leader);
        walk->process.n_name = strnlen(leader->comm, sizeof(leader->comm));
        memcpy(walk->process.name, leader->comm, walk->process.n_name);
}

/* Fills the batch with threads of process @tgid, which has no record. At its end there are none. */
static int fill_from_files(BpfWalk *walk, pid_t tgid, Batch *batch) {
        int r = walk->files ? 0 : procfs_walk_one(walk->host, tgid, walk->tally, &walk->files);

        if (r == 0)
                r = procfs_backend.walk_next(walk->files, batch);
        if (r < 0)
                return r;
        for (size_t i = 0; i < batch->n_tids; i++)
                batch->evidence[i] = NULL;
        if (batch->n_tids == 0) {
                procfs_backend.walk_free(TAKE_PTR(walk->files));
                walk->n_filled++;
        }
        return 0;
}

static int bpf_walk_next(void *userdata, Batch *batch) {
        BpfWalk *walk = userdata;
        size_t n_all = task_table_count(walk->tasks);

        for (;;) {
                pid_t tgid = walk->at < n_all ? process_at(walk, walk->at) : INT32_MAX;
                pid_t missing = walk->n_filled < walk->missing.n_ids
                                        ? walk->missing.ids[walk->n_filled]
                                        : INT32_MAX;
                bool is_missing = !walk->is_within && missing < tgid;
                size_t n_left = 0, n;
                BatchProcess *added;
                int r;

                if (is_missing && batch->n_tids == 0) {
                        r = fill_from_files(walk, missing, batch);
                        if (r < 0)
                                return r;
                        if (batch->n_tids > 0)
                                break;
                        continue;
                }
                if (is_missing || walk->at == n_all)
                        break;
                /* Its threads that follow; past a batch it does not matter how many more. */
                while (n_left <= BATCH_MAX_THREADS && walk->at + n_left < n_all &&
                       process_at(walk, walk->at + n_left) == tgid)
                        n_left++;
                if (!is_wanted(walk, tgid)) {
                        walk->at += n_left;
                        continue;
                }
                if (!walk->is_within)
                        begin_process(walk, n_left);
                /* A process is divided only when no batch could hold it. */
                n = MIN_OF(n_left, (size_t) BATCH_MAX_THREADS);
                if (batch->n_tids + n > BATCH_MAX_THREADS)
                        break;
                added = &batch->processes[batch->n_processes];
                *added = walk->process;
                added->first = batch->n_tids;
                for (size_t i = walk->at; i < walk->at + n; i++) {
                        const TaskRecord *record = walk->records[i];

                        if (is_dead(walk, record))
                                continue;
                        batch->tids[batch->n_tids] = (pid_t) record->tid;
                        batch->evidence[batch->n_tids++] = record;
                        added->n++;
                }
                batch->n_processes += added->n > 0;
                walk->at += n;
                walk->is_within = n < n_left;
        }
        batch->n_walked = walk->at;
        batch->n_listed = n_all;
        return 0;
}

/* reading */

typedef struct BpfReader {
        Readings *readings;
        void *files;           /* owned: the reader of batches whose threads have no records */
        size_t n_online_words; /* 0: not known */
        unsigned long online[CPU_LIST_MAX_WORDS];
} BpfReader;

static int bpf_reader_new(Readings *readings, void **ret) {
        BpfReader *reader = calloc(1, sizeof(*reader));
        size_t n, n_cpus;

        if (!reader)
                return -ENOMEM;
        reader->readings = readings;
        /* sched_getaffinity(2) leaves out CPUs that are not online. */
        if (readings->host->sys_fd >= 0 &&
            text_file_read(readings->host->sys_fd, "devices/system/cpu/online", readings->file,
                           sizeof(readings->file), &n) == 0) {
                while (n > 0 && readings->file[n - 1] == '\n')
                        n--;
                if (cpu_list_parse((Span){ readings->file, n }, reader->online, &n_cpus) == 0)
                        reader->n_online_words = CPU_LIST_MAX_WORDS;
        }
        *ret = reader;
        return 0;
}

static void bpf_reader_free(void *userdata) {
        BpfReader *reader = userdata;

        if (!reader)
                return;
        procfs_backend.reader_free(reader->files);
        free(reader);
}

static bool has_records(const Readings *readings) {
        return readings->batch->n_tids == 0 || readings->batch->evidence[0];
}

/*
 * Threads of the kernel can have longer names than a task has room for, and workers tell with
 * theirs what they did last (fs/proc/array.c, proc_task_name()). Where the file is gone, the short
 * name does.
 */
static Span read_name(BpfReader *reader, const BatchProcess *process, ThreadSlot *slot,
                      const TaskRecord *record) {
        const Span name = { record->comm, strnlen(record->comm, TASK_COMM_BYTES) };
        bool may_be_longer = record->flags & PROC_STAT_PF_KTHREAD &&
                             (record->flags & PF_WQ_WORKER || name.n == TASK_COMM_BYTES - 1);
        Readings *readings = reader->readings;
        char path[64];
        size_t n;

        if (!may_be_longer || process->n > 1)
                return name;
        (void) snprintf(path, sizeof(path), "%d/comm", slot->tid);
        if (text_file_read(readings->host->proc_fd, path, readings->file, sizeof(readings->file),
                           &n) != 0 ||
            n < 2)
                return name;
        return (Span){ readings->file, n - 1 };
}

static void bpf_read_batch(void *userdata) {
        BpfReader *reader = userdata;
        Readings *readings = reader->readings;

        if (!has_records(readings)) {
                if (!reader->files)
                        readings->error = procfs_reader_new_guarded(readings, &reader->files);
                if (readings->error == 0)
                        procfs_backend.read(reader->files);
                return;
        }
        for (size_t i = 0; i < readings->batch->n_processes; i++) {
                const BatchProcess *process = &readings->batch->processes[i];
                ThreadSlot *slots = &readings->slots[process->first];

                for (size_t k = 0; k < process->n; k++) {
                        const TaskRecord *record = readings->batch->evidence[process->first + k];
                        const Task task = task_of(record);
                        size_t n = MIN_OF(task.n_affinity_words, (size_t) CPU_LIST_MAX_WORDS);

                        task_sample_take(readings, &slots[k], &task, process->evidence);
                        for (size_t w = 0; w < n; w++) {
                                readings->affinity.mask[w] = task.affinity[w];
                                if (w < reader->n_online_words)
                                        readings->affinity.mask[w] &= reader->online[w];
                        }
                        readings_put_affinity(readings, &slots[k], n);
                        slots[k].comm = readings_add_text(
                                readings, read_name(reader, process, &slots[k], record));
                }
        }
}

/* A record is of one task. */
static void bpf_confirm(void *userdata, const BatchProcess *process) {
        BpfReader *reader = userdata;
        const CaptureHost *host = reader->readings->host;

        if (has_records(reader->readings))
                return;
        procfs_backend.confirm(reader->files, process);
        /* A process that has ended since the pass is in the ledger or will be. */
        if (host->ledger && host->ledger->is_read)
                readings_leave_zombies_out(reader->readings, process);
}

static void bpf_explain(const Gates *gates, const Tally *tally, SourceId id, SourceOutcome cause,
                        Source *source) {
        procfs_backend.explain(gates, tally, id, cause, source);
        if (id == SOURCE_TASKSTATS_DELAY && cause == SOURCE_OUTCOME_unsupported &&
            gates->delay_trust == DELAY_TRUST_YOUNG)
                source_set(source, source->state,
                           "threads that were started before kernel.task_delayacct=1 have no delay "
                           "accounting: boot with delayacct to account all from their start");
}

const Backend bpf_backend = {
        .name = "bpf",
        .sources = {
                [SOURCE_STAT] = SOURCE_BACKEND_BPF,
                [SOURCE_SCHEDSTAT] = SOURCE_BACKEND_BPF,
                [SOURCE_SCHED] = SOURCE_BACKEND_BPF,
                [SOURCE_SCHEDSTATS] = SOURCE_BACKEND_BPF,
                [SOURCE_STATUS] = SOURCE_BACKEND_BPF,
                [SOURCE_IO] = SOURCE_BACKEND_BPF,
                [SOURCE_CGROUP] = SOURCE_BACKEND_BPF,
                [SOURCE_AFFINITY] = SOURCE_BACKEND_BPF,
                [SOURCE_TASKSTATS] = SOURCE_BACKEND_BPF,
                [SOURCE_TASKSTATS_DELAY] = SOURCE_BACKEND_BPF,
                [SOURCE_TASKSTATS_IRQ] = SOURCE_BACKEND_BPF,
        },
        .reads_in_walk = true,
        .probe = bpf_probe,
        .walk_new = bpf_walk_new,
        .offer_memory = bpf_offer_memory,
        .walk_next = bpf_walk_next,
        .walk_free = bpf_walk_free,
        .reader_new = bpf_reader_new,
        .read = bpf_read_batch,
        .confirm = bpf_confirm,
        .reader_free = bpf_reader_free,
        .explain = bpf_explain,
};
