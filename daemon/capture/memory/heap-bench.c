/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/memory/heap-bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "capture/scene/patient-thread.h"
#include "file/file-room.h"

#define PATIENCE_LEAST_NS (2 * NSEC_PER_MSEC)

/* Parts of the limit. */
#define OWNER_PART 2 /* what all processes of one owner may take */
#define SLOW_PART 8  /* what those may that were slow before, besides */
#define LONG_PART 16 /* who is waited for as long as that is slow */

/* How often the patience starts anew for a thread that is ready to run. */
#define MAX_STARVED 7

/* Owners beyond share the last account. */
#define MAX_ACCOUNTS 64

typedef struct OwnerAccount {
        uint32_t owner;
        unsigned n_left; /* calls that were left behind */
        uint64_t spent_ns[_HEAP_BENCH_PURPOSE_MAX];
} OwnerAccount;

struct HeapBench {
        HeapBenchOptions options;
        HeapCache *cache;      /* owned */
        Room *room;            /* owned; NULL: no file can be parsed */
        PatientThread *thread; /* owned; NULL: not started, or left behind */
        /* Processes of which a call was left behind in this job: what hangs once hangs again. */
        MemoryLife left[MAX_ACCOUNTS * HEAP_BENCH_MAX_LEFT];
        size_t n_left;
        OwnerAccount accounts[MAX_ACCOUNTS];
        size_t n_accounts;
        /* of the limit; of the part of the slow */
        uint64_t spent_ns[_HEAP_BENCH_PURPOSE_MAX], slow_ns[_HEAP_BENCH_PURPOSE_MAX];
        /* the process at hand */
        HeapBenchPurpose purpose;
        MemoryLife life;
        OwnerAccount *account;
        bool is_of_slow;
        uint64_t waited_ns;
};

int heap_bench_new(const HeapBenchOptions *options, HeapBench **ret) {
        _cleanup_(heap_bench_freep) HeapBench *bench = calloc(1, sizeof(*bench));
        int r;

        if (!bench)
                return -ENOMEM;
        bench->options = *options;
        bench->account = bench->accounts;
        r = heap_cache_new(&bench->cache);
        if (r == 0 && options->cache_fd >= 0)
                r = heap_cache_load(bench->cache, options->cache_fd);
        if (r == 0 && options->open_files)
                r = file_room_new(options->open_files, options->userdata, &bench->room);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bench);
        return 0;
}

HeapBench *heap_bench_free(HeapBench *bench) {
        if (!bench)
                return NULL;
        bench->thread = patient_thread_free(bench->thread);
        bench->room = room_free(bench->room);
        bench->cache = heap_cache_free(bench->cache);
        free(bench);
        return NULL;
}

const HeapBenchOptions *heap_bench_options(const HeapBench *bench) {
        return &bench->options;
}

/* the process at hand */

static OwnerAccount *find_account(HeapBench *bench, uint32_t owner) {
        for (size_t i = 0; i < bench->n_accounts; i++)
                if (bench->accounts[i].owner == owner)
                        return &bench->accounts[i];
        if (bench->n_accounts == MAX_ACCOUNTS)
                return &bench->accounts[MAX_ACCOUNTS - 1];
        bench->accounts[bench->n_accounts] = (OwnerAccount){ .owner = owner };
        return &bench->accounts[bench->n_accounts++];
}

/* Where a number is not known, that of the process has to do. */
static bool is_same(const MemoryLife *a, const MemoryLife *b) {
        return a->tgid == b->tgid &&
               (a->start_ticks == b->start_ticks || a->start_ticks == 0 || b->start_ticks == 0);
}

HeapFailure heap_bench_begin(HeapBench *bench, HeapBenchPurpose purpose, const MemoryLife *life,
                             bool was_slow) {
        const HeapBenchOptions *options = &bench->options;

        bench->purpose = purpose;
        bench->life = *life;
        bench->account = find_account(bench, life->owner);
        bench->is_of_slow = was_slow;
        bench->waited_ns = 0;
        for (size_t i = 0; i < options->n_hung; i++)
                if (is_same(&options->hung[i], life))
                        return HEAP_FAILURE_HUNG;
        for (size_t i = 0; i < bench->n_left; i++)
                if (is_same(&bench->left[i], life))
                        return HEAP_FAILURE_HUNG;
        for (size_t i = 0; i < options->n_barred_owners; i++)
                if (options->barred_owners[i] == life->owner)
                        return HEAP_FAILURE_OWNER_HUNG;
        return bench->account->n_left < HEAP_BENCH_MAX_LEFT ? HEAP_FAILURE_NONE
                                                            : HEAP_FAILURE_OWNER_HUNG;
}

bool heap_bench_was_slow(const HeapBench *bench) {
        return bench->waited_ns >= MAX_OF(bench->options.limit_ns / LONG_PART, PATIENCE_LEAST_NS);
}

/* time */

uint64_t heap_bench_now_ns(const HeapBench *bench) {
        const CaptureSystem *system = bench->options.system;

        return system->now_ns(system->userdata);
}

static void spend(HeapBench *bench, uint64_t ns) {
        if (bench->is_of_slow)
                bench->slow_ns[bench->purpose] += ns;
        else {
                bench->spent_ns[bench->purpose] += ns;
                bench->account->spent_ns[bench->purpose] += ns;
        }
}

static uint64_t left_of(uint64_t limit_ns, uint64_t spent_ns) {
        return limit_ns > spent_ns ? limit_ns - spent_ns : 0;
}

uint64_t heap_bench_patience_ns(const HeapBench *bench, bool is_known) {
        uint64_t limit_ns = bench->options.limit_ns, left_ns, own_ns;

        if (bench->is_of_slow)
                left_ns = own_ns = left_of(limit_ns / SLOW_PART, bench->slow_ns[bench->purpose]);
        else {
                left_ns = left_of(is_known ? limit_ns : limit_ns - limit_ns / 4,
                                  bench->spent_ns[bench->purpose]);
                own_ns = left_of(limit_ns / OWNER_PART, bench->account->spent_ns[bench->purpose]);
        }
        if (left_ns == 0 || own_ns == 0)
                return 0;
        left_ns = MIN_OF(left_ns / 2, own_ns);
        return MAX_OF(left_ns, PATIENCE_LEAST_NS);
}

/* the thread */

HeapWork *heap_bench_work(HeapBench *bench) {
        const CaptureSystem *system = bench->options.system;
        HeapWork *work;

        if (!bench->thread && patient_thread_new(&heap_work, &bench->thread) != 0)
                return NULL;
        work = patient_thread_memory(bench->thread);
        /* Copies: one that is left behind may outlive the system. */
        work->counters.machine = thread_machine;
        work->counters.memory = (ProcessMemory){ system->read_memory, system->userdata };
        work->counters.find_robust_list = system->find_robust_list;
        work->counters.userdata = system->userdata;
        return work;
}

HeapFailure heap_bench_run(HeapBench *bench, HeapWorkKind kind, uint64_t patience_ns) {
        HeapWork *work = patient_thread_memory(bench->thread);
        uint64_t begin_ns = heap_bench_now_ns(bench), took_ns;
        int r;

        if (patience_ns == 0)
                return HEAP_FAILURE_TIME_BUDGET;
        work->kind = kind;
        r = patient_thread_run(bench->thread, patience_ns);
        for (unsigned i = 0; r == -ETIMEDOUT && i < MAX_STARVED; i++)
                r = patient_thread_wait(bench->thread, patience_ns);
        took_ns = heap_bench_now_ns(bench) - begin_ns;
        spend(bench, took_ns);
        bench->waited_ns += took_ns;
        if (r == 0)
                return HEAP_FAILURE_NONE;
        bench->thread = patient_thread_free(bench->thread);
        bench->waited_ns = UINT64_MAX;
        bench->account->n_left++;
        if (bench->n_left < ELEMENTSOF(bench->left))
                bench->left[bench->n_left++] = bench->life;
        if (bench->options.on_left)
                bench->options.on_left(bench->options.userdata, &bench->life);
        return HEAP_FAILURE_TIMED_OUT;
}

/* files */

/*
 * At the end there is one answer at most to wait for. The job ends with the capture: a file that
 * takes longer than this would be parsed again and again, and never be known. Whoever waits for the
 * snapshot waits for this, too, so the patience does not grow with a generous limit.
 */
#define LAST_PATIENCE 5 /* times the limit */
#define LAST_PATIENCE_MAX_NS (10 * NSEC_PER_SEC)

_Static_assert(sizeof(FileIdentity) == sizeof(RoomTag), "a question is known by its file");

static bool is_valid(FileQuestion question, const FileAnswer *answer) {
        switch (question) {
        case FILE_QUESTION_HEAP_LAYOUT:
                return heap_layout_is_valid(&answer->HEAP_LAYOUT,
                                            (uint16_t) answer->HEAP_LAYOUT.machine);
        case FILE_QUESTION_THREAD_LAYOUT:
                return thread_layout_is_valid(&answer->THREAD_LAYOUT);
        case _FILE_QUESTION_MAX:
                break;
        }
        return false;
}

/* That a file could not be read may pass. Without memory for an answer it will be asked again. */
static void keep_answer(HeapBench *bench, FileQuestion question, const FileIdentity *identity,
                        const FileAnswer *answer) {
        if (question != FILE_QUESTION_HEAP_LAYOUT ||
            answer->HEAP_LAYOUT.verdict != HEAP_FILE_UNREADABLE)
                (void) !heap_cache_put_file(bench->cache, identity, question, answer);
}

bool heap_bench_recall(HeapBench *bench, FileQuestion question, const FileIdentity *identity,
                       FileAnswer *ret) {
        return heap_cache_find_file(bench->cache, identity, question, ret) &&
               is_valid(question, ret);
}

/* An answer that was late is as good as any, and waited for until @deadline_ns. */
static void collect_late(HeapBench *bench, uint64_t deadline_ns) {
        FileIdentity identity;
        FileQuestion question;
        FileAnswer answer;
        RoomTag tag;

        if (file_room_take_late(bench->room, deadline_ns, &tag, &question, &answer) != 0 ||
            !is_valid(question, &answer))
                return;
        memcpy(&identity, &tag, sizeof(identity));
        keep_answer(bench, question, &identity, &answer);
}

HeapFailure heap_bench_ask(HeapBench *bench, FileQuestion question, const FileIdentity *identity,
                           int fd, uint64_t patience_ns, FileAnswer *ret) {
        uint64_t begin_ns = heap_bench_now_ns(bench);
        RoomTag tag;
        int r;

        if (!bench->room)
                return HEAP_FAILURE_FILE_JOB;
        memcpy(&tag, identity, sizeof(tag));
        r = file_room_ask(bench->room, question, &tag, fd,
                          clock_now_ns(CLOCK_MONOTONIC) + patience_ns, ret);
        spend(bench, heap_bench_now_ns(bench) - begin_ns);
        collect_late(bench, 0);
        if (r < 0) /* what the job failed to read the file with; a positive result is of the room */
                return HEAP_FAILURE_FILE_UNREADABLE;
        if (r == ROOM_E_LATE)
                return HEAP_FAILURE_TIME_BUDGET;
        if (r > 0 || !is_valid(question, ret))
                return HEAP_FAILURE_FILE_JOB;
        keep_answer(bench, question, identity, ret);
        return HEAP_FAILURE_NONE;
}

uint64_t heap_bench_last_patience_ns(uint64_t limit_ns) {
        return MIN_OF(number_multiply_saturating(limit_ns, LAST_PATIENCE), LAST_PATIENCE_MAX_NS);
}

void heap_bench_keep(HeapBench *bench) {
        if (bench->room)
                collect_late(bench, clock_now_ns(CLOCK_MONOTONIC) +
                                            heap_bench_last_patience_ns(bench->options.limit_ns));
        /* Without it the next capture looks at every file anew. */
        if (bench->options.cache_fd >= 0)
                (void) !heap_cache_store(bench->cache, bench->options.cache_fd);
}
