/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LedgerRecord
 *
 * The layout of the ledger of exits, which programs in the kernel keep (ledger.bpf.h) and
 * captures read (ledger.c): rows of sums over threads that have ended, a page of control words, and
 * records of single threads that ended during a capture.
 *
 * Each row carries the generation in which it grows, odd or even. A capture begins a new
 * generation; rows of the one before do not change from then on, until the next capture makes it
 * the current one again. So a capture reads rows that nobody writes. When the table fills, a fold
 * begins a generation as well, moves the rows that rest into a file (ledger-file.h), and removes
 * them.
 *
 * Numbers are those of the kernel, in its units: nanoseconds, pages, bytes.
 */

#include "kernel/bpf/task-record.h"

// clang-format off

#define LEDGER_DELAY_SUMS(id, word) LEDGER_N_DELAYS_##id, LEDGER_DELAY_NS_##id,
#define LEDGER_DELAY_MAX(id, word) LEDGER_DELAY_MAX_##id,
#define LEDGER_DELAY_MIN(id, word) LEDGER_DELAY_MIN_##id,

/* By what becomes of a member of struct sched_statistics. */
#define LEDGER_SUM_OF_SUM(member) LEDGER_##member,
#define LEDGER_SUM_OF_MAX(member)
#define LEDGER_MAXIMUM_OF_SUM(member)
#define LEDGER_MAXIMUM_OF_MAX(member) LEDGER_##member,
#define LEDGER_SCHEDSTAT_SUM(member, value, fold, ...) LEDGER_SUM_OF_##fold(member)
#define LEDGER_SCHEDSTAT_MAXIMUM(member, value, fold, ...) LEDGER_MAXIMUM_OF_##fold(member)
#define LEDGER_COUNTER_ID(metric, ...) LEDGER_##metric,
// clang-format on

enum {
        TASK_COUNTERS(LEDGER_COUNTER_ID) LEDGER_USER_NS,
        LEDGER_SYSTEM_NS,
        LEDGER_USER_TICKS, /* as procfs scales them, of USER_HZ */
        LEDGER_SYSTEM_TICKS,
        /* TASK_HAS_INTEGRALS: of threads that are not the kernel's */
        LEDGER_RSS_INTEGRAL,
        LEDGER_VM_INTEGRAL,
        /* of threads that were accounted */
        TASK_DELAY_KINDS(LEDGER_DELAY_SUMS)
        /* LEDGER_HAS_SCHEDSTATS */
        COUNTERS_OF_SCHEDSTATS(LEDGER_SCHEDSTAT_SUM) LEDGER_sum_sleep_runtime,
        /* LEDGER_HAS_FORCEIDLE */
        LEDGER_FORCEIDLE_NS,
        /* since the account of waits began */
        LEDGER_STORAGE_WAIT_NS,
        LEDGER_N_STORAGE_WAITS,
        LEDGER_OTHER_WAIT_NS,
        LEDGER_N_OTHER_WAITS,
        /* while the account of reasons was on: ReasonSums */
        LEDGER_REASON_SUMS,
        _LEDGER_SUM_MAX = LEDGER_REASON_SUMS + 2 * _WAIT_REASON_MAX,
};
#define LEDGER_REASON_NS(reason) (LEDGER_REASON_SUMS + WAIT_REASON_##reason)
#define LEDGER_N_REASON(reason) (LEDGER_REASON_NS(reason) + _WAIT_REASON_MAX)

enum {
        LEDGER_RUN_DELAY_MAX, /* TASK_HAS_RUN_DELAY_PEAKS, as the minimum */
        TASK_DELAY_KINDS(LEDGER_DELAY_MAX) COUNTERS_OF_SCHEDSTATS(LEDGER_SCHEDSTAT_MAXIMUM)
                LEDGER_RSS_PEAK, /* in pages; of the process, with its last thread; 0: not known */
        LEDGER_VM_PEAK,          /* likewise */
        LEDGER_OFF_CPU_MAX,      /* as the sums of reasons, and the minimum */
        _LEDGER_MAXIMUM_MAX,
};

/* The smallest that is not 0. */
enum {
        LEDGER_RUN_DELAY_MIN,
        TASK_DELAY_KINDS(LEDGER_DELAY_MIN) LEDGER_OFF_CPU_MIN,
        _LEDGER_MINIMUM_MAX,
};

/* Bits beside those of TaskRecord. */
#define LEDGER_HAS_DELAY_PEAKS (1u << 28) /* since 6.14 */
#define LEDGER_HAS_SCHEDSTATS (1u << 29)
#define LEDGER_HAS_FORCEIDLE (1u << 30)
#define LEDGER_HAS_REALTIME (1u << 31) /* real-time and deadline threads are among them */
#define LEDGER_HAS_DELAY(kind) (1ull << (32 + (kind)))

enum {
        LEDGER_OF_KERNEL = 1 << 0,  /* threads of the kernel */
        LEDGER_OF_SELF = 1 << 1,    /* of ctprofd, its jobs and its callers (LedgerOwn) */
        LEDGER_OVERFLOW = 1 << 2,   /* threads that found no room for a row of their own */
        LEDGER_NAMELESS = 1 << 3,   /* rows of one cgroup that were put together, only in files */
        LEDGER_NUMBERLESS = 1 << 4, /* those whose names differed in numbers, likewise */
        LEDGER_PARENTLESS = 1 << 5, /* those of several parents, likewise */
};

/*
 * The parent is the process whose child the process is when the thread ends: whoever started it, or
 * init or another reaper if that has ended by then. Threads of the kernel have none.
 */
typedef struct LedgerKey {
        char process[TASK_COMM_BYTES], thread[TASK_COMM_BYTES], parent[TASK_COMM_BYTES];
        __u64 cgroup;    /* id; 0: none */
        __u32 flags;     /* LEDGER_OF_KERNEL, ... */
        __u32 is_of_odd; /* the lowest bit of the generation in which the row grows */
        __u32 owner;     /* uid: who answers for the threads, see owner.bpf.h */
        __u32 unused;
} LedgerKey;

typedef struct LedgerValues {
        __u64 has;      /* what the kernel has, the same in all rows, and LEDGER_HAS_REALTIME */
        __u64 exits;    /* threads */
        __u64 lives_ns; /* CLOCK_BOOTTIME */
        __u64 accounted;
        __u64 young, young_run_ns; /* of threads that were born in the same generation */
        __u64 born_ns, grew_ns;    /* CLOCK_BOOTTIME: the first and the last addition of threads */
        __u64 n_folded;            /* rows that became part of this one, to make room */
        __u64 n_overflow;          /* threads that found no row of their own */
        __u64 sums[_LEDGER_SUM_MAX];
        __u64 maxima[_LEDGER_MAXIMUM_MAX];
        __u64 minima[_LEDGER_MINIMUM_MAX];
} LedgerValues;

/*
 * The share of an exiting thread in the ledger, kept in its task. The thread may go on for as long
 * as the file takes that it closes, and is alive until its exit state is set: a capture that shows
 * it takes this out of its row again. Programs change it only after that.
 */
typedef struct LedgerMark {
        __u64 is_added, generation, is_young, is_finished;
        LedgerKey key;
        __u64 accounted, lives_ns;
        __u64 sums[_LEDGER_SUM_MAX];
} LedgerMark;

/* TASK_PART_MARK: read one after the other. */
typedef struct TaskMark {
        LedgerMark mark;
        __u64 exit_state; /* 0: the mark is what was added at the exit */
} TaskMark;

/* A thread that ended while a capture walked. */
typedef struct LedgerRecord {
        __u64 generation; /* of the exit; written last */
        __u32 tid, tgid;
        __u64 start_boottime_ns, start_ns; /* CLOCK_BOOTTIME, CLOCK_MONOTONIC */
        LedgerKey key;
        LedgerValues values;
} LedgerRecord;

#define LEDGER_MAX_ROWS 16384   /* of both generations, beside those for what finds no row */
#define LEDGER_MAX_RECORDS 2048 /* in one capture */
#define LEDGER_MAX_PATHS 8192   /* room for noted paths of cgroups, in units */
#define LEDGER_PATH_UNIT 64     /* bytes */
#define LEDGER_PATH_LEVELS 8
#define LEDGER_LEVEL_BYTES 128

/* The path of a cgroup when the first thread ended in it, from its own name up. */
typedef struct LedgerCgroup {
        __u32 n_levels;
        __u32 is_cut; /* it lies deeper, or a name is longer */
        __u32 owner;  /* of the thread */
        __u32 room;   /* that it takes of the owner's, in units */
        char levels[LEDGER_PATH_LEVELS][LEDGER_LEVEL_BYTES];
} LedgerCgroup;

/*
 * Threads that ended under other names, or in another cgroup, than some capture saw them with
 * (moved.bpf.h).
 */

/* The thread that it was. */
typedef struct MovedLife {
        __u32 tid, tgid;
        __u64 start_boottime_ns;
} MovedLife;

/* Its names when it ended, which are those of the row that has its work. */
typedef struct MovedEnd {
        char process[TASK_COMM_BYTES], thread[TASK_COMM_BYTES];
        __u64 cgroup;   /* id; 0: none */
        __u32 flags;    /* LEDGER_OF_KERNEL, LEDGER_OF_SELF */
        __u32 owner;    /* uid, see owner.bpf.h */
        __u64 ended_ns; /* CLOCK_BOOTTIME */
} MovedEnd;

#define MOVED_MAX_THREADS 2048

/*
 * A thread that is in a row and carries no mark, because none could be made: while a program that
 * was interrupted looks at what a task carries, as the iterator may be at any thread, the kernel
 * lets no other program on that CPU add anything to a task; and there may be no memory.
 */
typedef struct LedgerUnmarked {
        __u64 generation; /* in which it was added; written last */
        MovedLife life;
} LedgerUnmarked;

#define LEDGER_MAX_UNMARKED 1024 /* of those that came last; a power of two */

/*
 * Whoever calls itself anew as often as it can must not take the room of all others. Users are
 * counted in so many places, root in one of its own; a place has at most half of the room, and the
 * last quarter is for those that have less than a sixteenth.
 */
#define MOVED_PLACES 256

static inline __u32 moved_place_of(__u32 owner) {
        return owner == 0 ? 0 : 1 + owner * 2654435761u % (MOVED_PLACES - 1);
}

static inline int moved_has_room(__u64 of_place, __u64 of_all) {
        return of_place <= MOVED_MAX_THREADS / 2 && of_all <= MOVED_MAX_THREADS &&
               (of_all <= MOVED_MAX_THREADS / 4 * 3 || of_place <= MOVED_MAX_THREADS / 16);
}

/* In the memory that programs and captures share. */
typedef struct MovedCounts {
        __u64 n_all, n_of_place[MOVED_PLACES]; /* threads in the table */
        __u64 n_lost; /* threads that are not, or no longer, for want of room */
} MovedCounts;

/*
 * The owners share the room of a table, so that no owner fills it for all. Root, to whom most of a
 * host belongs, has at most half of the room. Another owner has at most an eighth, which is what
 * keeps a capture small. The last quarter is for owners with less than a sixteenth. A thread for
 * which a new row is refused is added to an overflow row of its owner, for which there is always
 * room. Rows are moved into a file when an owner has half of its share, and when a table is three
 * quarters full.
 */
static inline __u64 ledger_share(__u32 owner, __u64 room) {
        return owner == 0 ? room / 2 : room / 8;
}

static inline int ledger_has_room(__u32 owner, __u64 of_owner, __u64 of_all, __u64 room) {
        return of_owner <= ledger_share(owner, room) && of_all <= room &&
               (of_all <= room / 4 * 3 || of_owner <= room / 16);
}

static inline int ledger_is_pressed(__u32 owner, __u64 of_owner, __u64 of_all, __u64 room) {
        return of_owner >= ledger_share(owner, room) / 2 || of_all >= room / 4 * 3;
}

/* The rows and paths of one owner. A place among the owners is never given to another one. */
typedef struct LedgerOwner {
        __u64 uid; /* plus one; 0: the place is free */
        __u64 n_rows, n_paths;
} LedgerOwner;

#define LEDGER_MAX_OWNERS 1024 /* a power of two; those beyond are one owner together */
#define LEDGER_OWNER_TRIES 16  /* places that are looked at */
#define LEDGER_OTHERS ((__u32) -1)
/* Each owner has one for each generation, and as many for ctprof's own. */
#define LEDGER_OVERFLOW_ROWS (4 * (LEDGER_MAX_OWNERS + 1))

static inline __u32 ledger_owner_place(__u32 uid, __u32 i) {
        return (uid * 2654435761u + i) & (LEDGER_MAX_OWNERS - 1);
}

/* The upper half of a generation counts captures: they begin one, and so do folds in between. */
#define LEDGER_CAPTURES(generation) ((generation) >> 32)

/* waits by reason (wait.bpf.h) */

/*
 * The reason that a wait in each system call has, with the numbers of the call on the architectures
 * that we know. A call that is not listed here has the reason WAIT_REASON_other. For some calls,
 * their arguments decide which reason it is.
 */

/* Some calls are no reason of their own: something else decides which one it is. */
enum {
        CALL_DECIDES_FUTEX = _WAIT_REASON_MAX, /* the operation, and the expected value */
        CALL_DECIDES_FUTEX_VALUE,              /* the expected value */
        CALL_DECIDES_FILE,                     /* the type of the file in the first argument */
        CALL_DECIDES_FCNTL,                    /* the command */
        CALL_RESTARTS,                         /* what was interrupted goes on */
        _CALL_DECIDES_MAX,
};

/* Writes files back: an uninterruptible wait in it is one of WAIT_REASON_sync, too. */
#define CALL_SYNCS 0x80u
/* The first argument is a descriptor of what it waits for; so it is with CALL_DECIDES_FILE. */
#define CALL_ON_FILE 0x40u
#define CALL_REASON(decides) ((decides) & ~(CALL_SYNCS | CALL_ON_FILE))

#define CALL_NUMBERS 512u /* as many are looked up */
#define CALL_NONE 0xffffffffu

/* name, number on x86_64, on aarch64 (-1: it has none), what it is */
// clang-format off
#define REASON_CALLS(C)                                                                            \
        C(futex,             202,  98, CALL_DECIDES_FUTEX)                                         \
        C(futex_waitv,       449, 449, WAIT_REASON_futex)                                          \
        C(futex_wait,        455, 455, CALL_DECIDES_FUTEX_VALUE)                                   \
        C(nanosleep,          35, 101, WAIT_REASON_sleep)                                          \
        C(clock_nanosleep,   230, 115, WAIT_REASON_sleep)                                          \
        C(poll,                7,  -1, WAIT_REASON_poll)                                           \
        C(ppoll,             271,  73, WAIT_REASON_poll)                                           \
        C(select,             23,  -1, WAIT_REASON_poll)                                           \
        C(pselect6,          270,  72, WAIT_REASON_poll)                                           \
        C(epoll_wait,        232,  -1, WAIT_REASON_poll)                                           \
        C(epoll_pwait,       281,  22, WAIT_REASON_poll)                                           \
        C(epoll_pwait2,      441, 441, WAIT_REASON_poll)                                           \
        C(read,                0,  63, CALL_DECIDES_FILE)                                          \
        C(write,               1,  64, CALL_DECIDES_FILE)                                          \
        C(readv,              19,  65, CALL_DECIDES_FILE)                                          \
        C(writev,             20,  66, CALL_DECIDES_FILE)                                          \
        C(pread64,            17,  67, CALL_DECIDES_FILE)                                          \
        C(pwrite64,           18,  68, CALL_DECIDES_FILE)                                          \
        C(preadv,            295,  69, CALL_DECIDES_FILE)                                          \
        C(pwritev,           296,  70, CALL_DECIDES_FILE)                                          \
        C(preadv2,           327, 286, CALL_DECIDES_FILE)                                          \
        C(pwritev2,          328, 287, CALL_DECIDES_FILE)                                          \
        C(sendfile,           40,  71, CALL_DECIDES_FILE)                                          \
        C(splice,            275,  76, CALL_DECIDES_FILE)                                          \
        C(tee,               276,  77, CALL_DECIDES_FILE)                                          \
        C(vmsplice,          278,  75, CALL_DECIDES_FILE)                                          \
        C(sendto,             44, 206, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(sendmsg,            46, 211, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(sendmmsg,          307, 269, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(recvfrom,           45, 207, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(recvmsg,            47, 212, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(recvmmsg,          299, 243, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(connect,            42, 203, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(accept,             43, 202, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(accept4,           288, 242, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(shutdown,           48, 210, WAIT_REASON_socket | CALL_ON_FILE)                          \
        C(open,                2,  -1, WAIT_REASON_file)                                           \
        C(openat,            257,  56, WAIT_REASON_file)                                           \
        C(openat2,           437, 437, WAIT_REASON_file)                                           \
        C(creat,              85,  -1, WAIT_REASON_file)                                           \
        C(stat,                4,  -1, WAIT_REASON_file)                                           \
        C(fstat,               5,  80, WAIT_REASON_file)                                           \
        C(lstat,               6,  -1, WAIT_REASON_file)                                           \
        C(newfstatat,        262,  79, WAIT_REASON_file)                                           \
        C(statx,             332, 291, WAIT_REASON_file)                                           \
        C(access,             21,  -1, WAIT_REASON_file)                                           \
        C(faccessat,         269,  48, WAIT_REASON_file)                                           \
        C(faccessat2,        439, 439, WAIT_REASON_file)                                           \
        C(getdents64,        217,  61, WAIT_REASON_file | CALL_ON_FILE)                            \
        C(readlinkat,        267,  78, WAIT_REASON_file)                                           \
        C(unlinkat,          263,  35, WAIT_REASON_file)                                           \
        C(renameat2,         316, 276, WAIT_REASON_file)                                           \
        C(mkdirat,           258,  34, WAIT_REASON_file)                                           \
        C(ftruncate,          77,  46, WAIT_REASON_file | CALL_ON_FILE)                            \
        C(fallocate,         285,  47, WAIT_REASON_file | CALL_ON_FILE)                            \
        C(copy_file_range,   326, 285, WAIT_REASON_file | CALL_ON_FILE)                            \
        C(close,               3,  57, WAIT_REASON_file)                                           \
        C(fsync,              74,  82, WAIT_REASON_file | CALL_SYNCS | CALL_ON_FILE)               \
        C(fdatasync,          75,  83, WAIT_REASON_file | CALL_SYNCS | CALL_ON_FILE)               \
        C(msync,              26, 227, WAIT_REASON_file | CALL_SYNCS)                              \
        C(sync,              162,  81, WAIT_REASON_file | CALL_SYNCS)                              \
        C(syncfs,            306, 267, WAIT_REASON_file | CALL_SYNCS | CALL_ON_FILE)               \
        C(sync_file_range,   277,  84, WAIT_REASON_file | CALL_SYNCS | CALL_ON_FILE)               \
        C(io_getevents,      208,   4, WAIT_REASON_async_io)                                       \
        C(io_pgetevents,     333, 292, WAIT_REASON_async_io)                                       \
        C(io_uring_enter,    426, 426, WAIT_REASON_async_io)                                       \
        C(wait4,              61, 260, WAIT_REASON_child)                                          \
        C(waitid,            247,  95, WAIT_REASON_child)                                          \
        C(rt_sigtimedwait,   128, 137, WAIT_REASON_signal)                                         \
        C(rt_sigsuspend,     130, 133, WAIT_REASON_signal)                                         \
        C(pause,              34,  -1, WAIT_REASON_signal)                                         \
        C(flock,              73,  32, WAIT_REASON_file_lock | CALL_ON_FILE)                       \
        C(fcntl,              72,  25, CALL_DECIDES_FCNTL | CALL_ON_FILE)                          \
        C(semop,              65, 193, WAIT_REASON_ipc)                                            \
        C(semtimedop,        220, 192, WAIT_REASON_ipc)                                            \
        C(msgsnd,             69, 189, WAIT_REASON_ipc)                                            \
        C(msgrcv,             70, 188, WAIT_REASON_ipc)                                            \
        C(mq_timedsend,      242, 182, WAIT_REASON_ipc)                                            \
        C(mq_timedreceive,   243, 183, WAIT_REASON_ipc)                                            \
        C(ioctl,              16,  29, WAIT_REASON_ioctl | CALL_ON_FILE)                           \
        C(restart_syscall,   219, 128, CALL_RESTARTS)
// clang-format on

/* The state of the account of waits by reason. */
typedef struct ReasonControl {
        __u64 epoch;      /* that is on; 0: the account is off */
        __u64 last_epoch; /* that was on */
        /* when it began */
        __u64 since_ns, since_boottime_ns; /* CLOCK_MONOTONIC, CLOCK_BOOTTIME */
        __u64 n_switches;                  /* of the host */
        __u64 until_ns;                    /* CLOCK_MONOTONIC: a program switches it off then */
        __u64 n_lost; /* waits for which there was no memory, since the programs were attached */
} ReasonControl;

/* a recording */

#define RECORD_FILTER_MAX 16u /* processes, and users, of one filter */

typedef enum RecordThreads {
        RECORD_THREADS_ALL,
        RECORD_THREADS_USER,
        RECORD_THREADS_KERNEL,
        _RECORD_THREADS_MAX,
} RecordThreads;

/*
 * The threads whose samples are taken, as far as BPF programs decide it; a field of 0 selects all
 * threads.
 */
typedef struct RecordFilter {
        __u32 is_on;   /* there is a filter, also of who reads the ring */
        __u32 threads; /* RecordThreads */
        __u32 starter; /* a process: what it starts while this is on, and what that starts */
        __u32 n_pids, n_uids;
        __u32 pids[RECORD_FILTER_MAX]; /* processes */
        __u32 uids[RECORD_FILTER_MAX];
        __u64 cgroup; /* its id; those below it are part of it */
} RecordFilter;

/* The waits for which a recording tells who ends them. */
typedef enum RecordWakers {
        RECORD_WAKERS_NONE,
        RECORD_WAKERS_LOCKS, /* those for locks: whoever gives one back has had it */
        RECORD_WAKERS_ALL,
} RecordWakers;

/* The state of a recording (record.bpf.h), written by who records. */
typedef struct RecordControl {
        __u64 id;             /* of the recording that is on; 0: none is */
        __u64 period_ns;      /* P; may change while it is on */
        __u64 clock_ns;       /* between samples of running time */
        __u64 n_stack_bytes;  /* of the stack of user mode that are copied; 0: none */
        __u64 has_frames;     /* frames of the kernel are wanted */
        __u64 has_pointers;   /* stacks are not copied: frame pointers lead from caller to caller */
        __u64 has_waits;      /* samples of what threads wait for are, beside those of the clock */
        __u64 wakers;         /* a RecordWakers: who ends waits is wanted, too */
        __u64 begun_ns;       /* CLOCK_MONOTONIC: earlier beginnings count from then on */
        __u64 end_ns;         /* the same: what goes on counts until then; 0: it has not ended */
        __u64 own[2];         /* processes that are left out: each sample would make another one */
        __u64 min_ns, max_ns; /* intervals of other lengths are not taken; 0: there is no bound */
        __u64 has_lengths;    /* waits are counted by their lengths, until the recording ends */
        RecordFilter filter;

        /* written by programs */
        __u64 n_samples;
        __u64 n_lost_ring;    /* samples for which the ring had no room */
        __u64 n_lost_pending; /* samples of threads that went on while too many were on their way */
        __u64 n_lost_storage; /* intervals of threads for which there was no memory */
        __u64 n_late;         /* samples of threads that were not seen to go on */
        __u64 n_unseen;       /* threads that left a CPU which they were not seen to get */
        __u64 n_without_frames;  /* samples whose frames of the kernel could not be read */
        __u64 n_without_stack;   /* samples whose stack of user mode could not be read */
        __u64 n_busy;            /* samples for which their CPU had no space: another one had it */
        __u64 n_wakes;           /* wake-ups that were told, or lost */
        __u64 n_lost_wakes;      /* for which the ring had no room */
        __u64 n_lost_lengths;    /* waits for which the table of lengths had no room */
        __u64 n_unknown_lengths; /* that had begun before waits were counted by reason */
} RecordControl;

/* Samples that were to be taken, and were lost. */
static inline __u64 record_count_lost(const RecordControl *control) {
        return control->n_lost_ring + control->n_lost_pending + control->n_lost_storage +
               control->n_busy;
}

/* Memory that programs and captures share. */
typedef struct LedgerControl {
        /* written when the programs were attached; 0: they are not */
        __u8 id[16];                           /* random */
        __u64 ledger_since_ns, waits_since_ns; /* CLOCK_BOOTTIME */

        /* written by captures */
        __u64 generation;   /* 1 at first */
        __u64 begun_ns;     /* CLOCK_BOOTTIME, when it was begun */
        __u64 is_recording; /* threads that end are recorded one by one, too */
        __u64 self; /* the process whose threads and children are ctprof's own; 0: none is */

        /* written by programs */
        __u64 n_running[2]; /* that add to rows of an even, of an odd generation right now */
        __u64 n_exits;
        __u64 n_marked, n_finished; /* threads whose last moments are to be added, and were */
        __u64 n_lost_marks;         /* threads whose mark could not be made */
        __u64 n_overflow_exits;
        __u64 n_rows;     /* less those that folds removed, and without rows for overflow */
        __u64 n_paths;    /* units of noted paths, likewise */
        __u64 n_records;  /* of this capture; those above LEDGER_MAX_RECORDS are lost */
        __u64 is_calling; /* for a fold, which sets it to 0 */
        LedgerOwner owners[LEDGER_MAX_OWNERS + 1]; /* the last one: of all others */
        LedgerUnmarked unmarked[LEDGER_MAX_UNMARKED];
        MovedCounts moved;
        ReasonControl reasons; /* since_ns and what goes with it by captures */
        RecordControl record;
} LedgerControl;

/* own */

#define LEDGER_OWN_HOMES 1024 /* a power of two */
#define LEDGER_OWN_TRIES 8
#define LEDGER_OWN_PLACES (LEDGER_OWN_HOMES + LEDGER_OWN_TRIES - 1)
/* A caller that hangs up and ends needs so long for that at most. */
#define LEDGER_FAREWELL_NS 200000000ull

typedef struct LedgerOwnPlace {
        __u64 pid;
        __u64 start_ticks;
        __u64 until_ns; /* CLOCK_BOOTTIME; LEDGER_OWN_FOR_EVER while it is connected */
} LedgerOwnPlace;

#define LEDGER_OWN_FOR_EVER (1ull << 62)
#define LEDGER_OWN_ANY_START (~0ull)

/*
 * The processes of the callers. They are part of the measurement for as long as they are connected;
 * what is left of them right after that is part of it, too. Only the main process writes here. The
 * name of a process does not matter, because any process can take any name. A process is in one of
 * a few places that follow from its number, because it is looked up here for each thread that ends.
 */
typedef struct LedgerOwn {
        LedgerOwnPlace places[LEDGER_OWN_PLACES];
} LedgerOwn;

static inline __u32 ledger_own_home(__u32 pid) {
        return pid & (LEDGER_OWN_HOMES - 1);
}

/*
 * @start_ticks: of the process, as in its stat file, or LEDGER_OWN_ANY_START. Without comparisons,
 * for each would make the verifier walk twice as far: the topmost bit is that of "less than".
 */
static inline __u32 ledger_own_has(const LedgerOwn *own, __u32 pid, __u64 start_ticks,
                                   __u64 now_ns) {
        const LedgerOwnPlace *place = &own->places[ledger_own_home(pid)];
        __u64 any_start = 0 - (start_ticks >> 63), found = 0;

        for (__u32 i = 0; i < LEDGER_OWN_TRIES; i++, place++) {
                __u64 difference =
                        (place->pid ^ pid) | ((place->start_ticks ^ start_ticks) & ~any_start);

                found |= (difference - 1) & (now_ns - place->until_ns);
        }
        return (__u32) (found >> 63);
}
