/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/memory/memory-server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "capture/memory/heap-examination.h"
#include "capture/memory/module-table.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/cursor.h"
#include "room/room-server.h"

#define PATH_BYTES 64

typedef struct MemoryServer {
        HeapBench *bench; /* owned */
        ModuleTable table;
        ModuleTable own; /* of the process at hand */
        char file[PROCFS_BUFFER_BYTES];
} MemoryServer;

static MemoryServer *server_free(MemoryServer *server) {
        if (!server)
                return NULL;
        module_table_done(&server->table);
        module_table_done(&server->own);
        server->bench = heap_bench_free(server->bench);
        free(server);
        return NULL;
}

DEFINE_CLEANUP(MemoryServer *, server_free);

/* The process is reached through it for as long as the thread lives; -EBADF. */
static int open_thread(const MemoryServer *server, const MemoryLife *life) {
        char path[PATH_BYTES];

        (void) snprintf(path, sizeof(path), "%u/task/%u", life->tgid, life->tid);
        return openat(heap_bench_options(server->bench)->proc_fd, path,
                      O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* counters of allocators */

/* One process of a question. */
typedef struct HeapCase {
        const HeapAskedProcess *process;
        const HeapAskedThread *threads;
        HeapAnsweredProcess *answer;
        HeapAnsweredThread *answers;
        int dir_fd;
        HeapExamination examination;
} HeapCase;

static void put_requests(const HeapCase *heap, CounterRequest *request) {
        request->geometry = heap->examination.geometry;
        request->n_plans = heap->examination.n_plans;
        for (size_t i = 0; i < request->n_plans; i++)
                request->plans[i] = heap->examination.plans[i];
        request->n = heap->process->n;
        for (size_t i = 0; i < request->n; i++)
                request->threads[i] = (ThreadCounters){
                        .tid = (pid_t) heap->threads[i].tid,
                        .number = heap->process->is_nested ? 0 : (pid_t) heap->threads[i].tid,
                        .pointer = heap->threads[i].pointer,
                };
}

/* The number that a thread has in its own pid namespace; 0 when that cannot be told. */
static pid_t find_number(MemoryServer *server, const HeapCase *heap, pid_t tid) {
        Span key, value, word;
        char path[PATH_BYTES];
        uint32_t number = 0;
        Cursor lines, words;
        size_t n;

        (void) snprintf(path, sizeof(path), "%u/task/%d/status", heap->process->life.tgid, tid);
        if (procfs_read(heap_bench_options(server->bench)->proc_fd, path, server->file,
                        sizeof(server->file), &n) != 0)
                return 0;
        lines = cursor_over((Span){ server->file, n });
        while (cursor_colon_pair(&lines, &key, &value)) {
                if (!span_equal(key, SPAN_LITERAL("NSpid")))
                        continue;
                words = cursor_over(value);
                while (cursor_word(&words, &word))
                        if (!number_parse_u32(word, &number) || number > INT32_MAX)
                                return 0;
                break;
        }
        return (pid_t) number;
}

/*
 * In a nested pid namespace a saved pointer is of use only with a number that takes a file a thread
 * to find out. That is for those only who could not be found without. True when there are such.
 */
static bool add_numbers(MemoryServer *server, const HeapCase *heap, CounterRequest *request) {
        bool has_more = false;

        for (size_t i = 0; i < request->n && heap->process->is_nested; i++) {
                ThreadCounters *thread = &request->threads[i];

                if (thread->failure != HEAP_FAILURE_NO_THREAD_POINTER || thread->pointer == 0 ||
                    heap->threads[i].is_kernel_worker)
                        continue;
                thread->number = find_number(server, heap, thread->tid);
                has_more |= thread->number != 0;
        }
        return has_more;
}

static HeapFailure run_counters(MemoryServer *server) {
        return heap_bench_run(server->bench, HEAP_WORK_COUNTERS,
                              heap_bench_patience_ns(server->bench, true));
}

/*
 * Plans may not be good any more when none of the threads could be read and with some of them that
 * may be why: that a thread has ended, may not be read or has no pointer says nothing of plans.
 */
static bool is_in_vain(const CounterRequest *request) {
        bool has_doubt = false;

        for (size_t i = 0; i < request->n; i++) {
                HeapFailure failure = request->threads[i].failure;

                if (failure == HEAP_FAILURE_NONE)
                        return false;
                has_doubt |= failure != HEAP_FAILURE_PERMISSION &&
                             failure != HEAP_FAILURE_NO_THREAD_POINTER &&
                             !heap_failure_is_benign(failure);
        }
        return has_doubt;
}

/* Reads the threads by plans. False when plans from an earlier capture were of no use. */
static bool read_threads(MemoryServer *server, HeapCase *heap, bool is_recalled) {
        HeapWork *work = heap_bench_work(server->bench);
        HeapFailure failure = HEAP_FAILURE_MAPS_READ;

        if (work) {
                put_requests(heap, &work->counters);
                failure = run_counters(server);
                if (failure == HEAP_FAILURE_NONE && add_numbers(server, heap, &work->counters))
                        failure = run_counters(server);
        }
        if (failure != HEAP_FAILURE_NONE) {
                heap->examination.failure = failure;
                return true;
        }
        if (is_recalled && is_in_vain(&work->counters))
                return false;
        heap->examination.geometry = work->counters.geometry;
        for (size_t i = 0; i < work->counters.n; i++) {
                const ThreadCounters *thread = &work->counters.threads[i];

                heap->answers[i] = (HeapAnsweredThread){
                        .failure = thread->failure,
                        .allocated = thread->allocated,
                        .deallocated = thread->deallocated,
                };
        }
        heap->answer->was_read = true;
        return true;
}

/* What was asked comes from a job that reads what everybody can write. */
static bool recall(HeapCase *heap) {
        const HeapFindings *known = &heap->process->known;

        if (known->verdict != HEAP_READY || known->n_plans == 0 ||
            known->n_plans > HEAP_CACHE_MAX_PLANS)
                return false;
        heap->examination = (HeapExamination){
                .failure = HEAP_FAILURE_NONE,
                .verdict = HEAP_READY,
                .n_plans = known->n_plans,
                .geometry = known->geometry,
        };
        for (size_t i = 0; i < known->n_plans; i++) {
                if (!heap_plan_is_valid(&known->plans[i]))
                        return false;
                heap->examination.plans[i] = known->plans[i];
        }
        return true;
}

static int examine_and_read(MemoryServer *server, HeapCase *heap) {
        int r = heap_examine(server->bench, &server->table, &server->own, heap->dir_fd,
                             (pid_t) heap->process->life.tid, &heap->examination);

        if (r == 0 && heap->examination.failure == HEAP_FAILURE_NONE &&
            heap->examination.n_plans > 0)
                (void) read_threads(server, heap, false);
        return r;
}

static void put_findings(HeapCase *heap) {
        const HeapExamination *examination = &heap->examination;
        HeapAnsweredProcess *answer = heap->answer;

        answer->failure = examination->failure;
        answer->found.verdict = _HEAP_VERDICT_MAX;
        if (!examination->is_lasting || examination->n_plans > HEAP_CACHE_MAX_PLANS)
                return;
        answer->is_lasting = true;
        answer->found = (HeapFindings){
                .verdict = examination->verdict,
                .n_plans = (uint32_t) examination->n_plans,
                .geometry = examination->geometry,
        };
        for (size_t i = 0; i < examination->n_plans; i++)
                answer->found.plans[i] = examination->plans[i];
}

static int answer_heap_process(MemoryServer *server, HeapCase *heap) {
        const MemoryLife *life = &heap->process->life;
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        HeapFailure failure =
                heap_bench_begin(server->bench, HEAP_BENCH_COUNTERS, life, heap->process->was_slow);
        int r = 0;

        if (failure == HEAP_FAILURE_NONE) {
                dir_fd = heap->dir_fd = open_thread(server, life);
                if (dir_fd < 0)
                        failure = HEAP_FAILURE_PID_MISSING;
        }
        if (failure != HEAP_FAILURE_NONE)
                heap->examination = (HeapExamination){ .failure = failure };
        else if (!recall(heap) || !read_threads(server, heap, true))
                r = examine_and_read(server, heap);
        put_findings(heap);
        heap->answer->is_slow = heap_bench_was_slow(server->bench);
        return r;
}

static bool is_whole(const HeapAsked *asked, size_t n) {
        if (n < heap_asked_bytes(0) || asked->n_processes > BATCH_MAX_THREADS ||
            n != heap_asked_bytes(asked->n_processes) || asked->n_threads > BATCH_MAX_THREADS)
                return false;
        for (size_t i = 0; i < asked->n_processes; i++) {
                const HeapAskedProcess *process = &asked->processes[i];

                if (process->first > asked->n_threads ||
                    process->n > asked->n_threads - process->first)
                        return false;
        }
        return true;
}

static int answer_HEAP(MemoryServer *server, const HeapAsked *asked, size_t n_asked,
                       HeapAnswered *ret, size_t *ret_n) {
        int r = is_whole(asked, n_asked) ? 0 : -EINVAL;

        for (size_t i = 0; r == 0 && i < asked->n_processes; i++) {
                const HeapAskedProcess *process = &asked->processes[i];
                HeapCase heap = {
                        .process = process,
                        .threads = &asked->threads[process->first],
                        .answer = &ret->processes[i],
                        .answers = &ret->threads[process->first],
                        .dir_fd = -EBADF,
                };

                r = answer_heap_process(server, &heap);
        }
        if (r == 0)
                *ret_n = heap_answered_bytes(asked->n_processes);
        return r;
}

/* commands */

static HeapFailure failure_of_text(int r) {
        switch (r) {
        case TEXT_OK:
                return HEAP_FAILURE_NONE;
        case TEXT_E_ABSENT:
        case TEXT_E_VANISHED:
                return HEAP_FAILURE_PID_MISSING;
        case TEXT_E_DENIED:
                return HEAP_FAILURE_PERMISSION;
        default:
                return HEAP_FAILURE_PROCESS_VM_READV;
        }
}

/* What the capture does not want does not leave this process. */
static HeapFailure read_command(MemoryServer *server, const MemoryLife *life, CommandLines lines,
                                ProcessCommand *ret) {
        HeapFailure failure = heap_bench_begin(server->bench, HEAP_BENCH_COMMANDS, life, false);
        HeapWork *work;
        Span arguments;

        if (failure != HEAP_FAILURE_NONE)
                return failure;
        work = heap_bench_work(server->bench);
        if (!work)
                return HEAP_FAILURE_PROCESS_VM_READV;
        work->proc_fd = heap_bench_options(server->bench)->proc_fd;
        work->life = *life;
        failure = heap_bench_run(server->bench, HEAP_WORK_COMMAND,
                                 heap_bench_patience_ns(server->bench, true));
        if (failure == HEAP_FAILURE_NONE)
                failure = failure_of_text(work->command_result);
        if (failure != HEAP_FAILURE_NONE)
                return failure;
        arguments = (Span){ work->arguments, work->n_arguments };
        ret->n_command = (uint32_t) command_shorten(arguments, ret->command);
        if (lines == COMMAND_LINES_FULL)
                ret->n_line = (uint32_t) command_keep(arguments, ret->line);
        return HEAP_FAILURE_NONE;
}

static int answer_COMMANDS(MemoryServer *server, const CommandsAsked *asked, size_t n_asked,
                           CommandsAnswered *ret, size_t *ret_n) {
        if (n_asked < commands_asked_bytes(0) || asked->n > BATCH_MAX_THREADS ||
            n_asked != commands_asked_bytes(asked->n))
                return -EINVAL;
        for (uint32_t i = 0; i < asked->n; i++)
                ret->commands[i].failure =
                        read_command(server, &asked->lives[i], (CommandLines) asked->lines,
                                     &ret->commands[i].command);
        *ret_n = commands_answered_bytes(asked->n);
        return 0;
}

/* Whether this user may read the process at all, tried on one thread. */
static HeapFailure try_process(MemoryServer *server, const MemoryLife *life, int dir_fd) {
        uint64_t patience_ns = heap_bench_patience_ns(server->bench, true);
        HeapWork *work = heap_bench_work(server->bench);
        HeapFailure failure;

        if (dir_fd < 0)
                return HEAP_FAILURE_PID_MISSING;
        if (!work)
                return HEAP_FAILURE_MAPS_READ;
        work->dir_fd = dir_fd;
        failure = heap_bench_run(server->bench, HEAP_WORK_LIST, patience_ns);
        if (failure == HEAP_FAILURE_NONE && work->list_result == TEXT_E_DENIED)
                failure = HEAP_FAILURE_PERMISSION;
        if (failure == HEAP_FAILURE_NONE && work->list.n_pieces > 0) {
                const ModulePiece *piece = &work->list.pieces[0];

                work->tid = (pid_t) life->tid;
                work->ranges[0] = (WordRange){ piece->start, work->words[0], 1, false };
                work->n_ranges = 1;
                failure = heap_bench_run(server->bench, HEAP_WORK_WORDS, patience_ns);
                if (failure == HEAP_FAILURE_NONE && work->words_result == TEXT_E_DENIED)
                        failure = HEAP_FAILURE_PERMISSION;
        }
        return failure;
}

static int answer_TRIAL(MemoryServer *server, const MemoryLife *life, size_t n_asked,
                        MemoryTrial *ret, size_t *ret_n) {
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        HeapFailure failure;

        if (n_asked != sizeof(*life))
                return -EINVAL;
        failure = heap_bench_begin(server->bench, HEAP_BENCH_COUNTERS, life, false);
        if (failure == HEAP_FAILURE_NONE) {
                dir_fd = open_thread(server, life);
                failure = try_process(server, life, dir_fd);
        }
        ret->failure = failure;
        *ret_n = sizeof(*ret);
        return 0;
}

static int answer_END(MemoryServer *server, const MemoryEnd *asked, size_t n_asked, MemoryEnd *ret,
                      size_t *ret_n) {
        if (n_asked != sizeof(*asked))
                return -EINVAL;
        heap_bench_keep(server->bench);
        *ret_n = sizeof(*ret);
        return 0;
}

/* questions */

#define MEMORY_ANSWER_CASE(id, asked_type, answered_type)                                        \
        case MEMORY_QUESTION_##id:                                                               \
                return answer_##id(server, (const asked_type *) (const void *) call->body.bytes, \
                                   call->body.n, ret, ret_n);

/* The body lies where malloc() put it, so it is aligned for any type. */
static int answer(void *userdata, const RoomCall *call, void *ret, size_t *ret_n) {
        MemoryServer *server = userdata;

        switch ((MemoryQuestion) call->question) {
                MEMORY_QUESTIONS(MEMORY_ANSWER_CASE)
        case _MEMORY_QUESTION_MAX:
                break;
        }
        return -EOPNOTSUPP;
}

int memory_server_run(int socket_fd, const HeapBenchOptions *options) {
        _cleanup_(server_freep) MemoryServer *server = calloc(1, sizeof(*server));
        const RoomService service = {
                .max_body_bytes = sizeof(MemoryAsked),
                .max_answer_bytes = sizeof(MemoryAnswered),
                .answer = answer,
                .userdata = server,
        };
        int r = server ? heap_bench_new(options, &server->bench) : -ENOMEM;

        return r == 0 ? room_serve(socket_fd, &service) : r;
}
