/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "capture/heap/file-job.h"
#include "kernel/memory/heap-plan.h"
#include "capture/heap/memory-job.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/cursor.h"

const bool heap_probe_is_built = true;

/* The result of examining one process. */
typedef struct Examination {
        HeapFailure failure;
        /* It is so for as long as the process executes this program and maps no more code. */
        bool is_lasting;
        HeapVerdict verdict; /* when it is lasting */
        size_t n_plans;      /* 0 without a failure: the process does not use jemalloc */
        HeapPlan plans[HEAP_MODULES_MAX];
        ThreadGeometry geometry;
} Examination;

struct HeapProbe {
        MemoryJob *job;       /* borrowed */
        FileAnswers *answers; /* owned */
        ModuleTable table;    /* of files in any process */
        ModuleTable own;      /* of files of the process at hand only */
        char file[PROCFS_BUFFER_BYTES];

        /* the process at hand, which @result is about */
        Examination result;
        MemoryWork *work;               /* borrowed from the job */
        uint64_t begin_ns, patience_ns; /* for all of the examination */
        HeapFailure missing;            /* why nothing is known of some modules */
        int error;                      /* 0 or -ENOMEM */
        /* Libraries whose plans wait for words of the process, number i for words[i]. */
        HeapLayout layouts[HEAP_MODULES_MAX];
        size_t n_layouts;
};

int heap_probe_new(MemoryJob *job, HeapProbe **ret) {
        const MemoryJobOptions *options = &job->options;
        HeapProbe *probe = calloc(1, sizeof(*probe));
        int r = probe ? file_answers_new(options->cache_fd, options->open_files, options->userdata,
                                         &probe->answers)
                      : -ENOMEM;

        if (r < 0) {
                free(probe);
                return r;
        }
        probe->job = job;
        *ret = probe;
        return 0;
}

HeapProbe *heap_probe_free(HeapProbe *probe) {
        if (!probe)
                return NULL;
        module_table_done(&probe->table);
        module_table_done(&probe->own);
        probe->answers = file_answers_free(probe->answers);
        free(probe);
        return NULL;
}

void heap_probe_keep(HeapProbe *probe) {
        file_answers_keep(probe->answers,
                          memory_job_last_patience_ns(probe->job->options.limit_ns));
}

/*
 * steps
 *
 * The thread that may be left behind does these, with nothing but its own memory.
 */

static void list_step(MemoryWork *work) {
        work->list_result = module_list_read(&work->list, work->dir_fd);
        work->has_program =
                work->list_result == 0 && module_file_program(work->dir_fd, &work->program) == 0;
}

static void identify_step(MemoryWork *work) {
        for (size_t i = 0; i < work->n_files; i++) {
                ModuleFile *file = &work->files[i];
                const ProcessMapping mapping =
                        module_list_mapping(&work->list, &work->list.modules[file->module]);
                char path[MODULE_FILE_PATH_BYTES];

                file->result = module_file_find(work->dir_fd, &mapping, path, &file->identity);
        }
}

static void open_step(MemoryWork *work) {
        for (size_t i = 0; i < work->n_files; i++) {
                ModuleFile *file = &work->files[i];
                const ProcessMapping mapping =
                        module_list_mapping(&work->list, &work->list.modules[file->module]);

                file->fd = -EBADF;
                file->result = module_file_open(work->dir_fd, &mapping, &file->identity, &file->fd);
        }
}

static void words_step(MemoryWork *work) {
        work->words_result =
                process_words_read(&work->counters.memory, work->tid, work->ranges, work->n_ranges);
}

static void counters_step(MemoryWork *work) {
        thread_counters_read(&work->counters);
}

/* examination */

static void stop(HeapProbe *probe, HeapFailure failure) {
        probe->result = (Examination){ .failure = failure };
}

static void settle(HeapProbe *probe, HeapVerdict verdict) {
        Examination *result = &probe->result;

        result->failure = heap_failure_of_verdict(verdict);
        result->is_lasting = true;
        result->verdict = verdict;
        if (verdict != HEAP_READY)
                result->n_plans = 0;
}

/* The time for this process that has not been spent. */
static uint64_t left_ns(const HeapProbe *probe) {
        uint64_t spent_ns = memory_job_now_ns(probe->job) - probe->begin_ns;

        return spent_ns < probe->patience_ns ? probe->patience_ns - spent_ns : 0;
}

/* False, and the examination is over, when something failed. */
static bool goes_on(HeapProbe *probe, HeapFailure failure) {
        if (failure != HEAP_FAILURE_NONE)
                stop(probe, failure);
        return failure == HEAP_FAILURE_NONE;
}

/* Lets the thread work; likewise. */
static bool run(HeapProbe *probe, void (*step)(MemoryWork *work)) {
        return goes_on(probe, memory_job_run(probe->job, step, left_ns(probe)));
}

/* files */

/* Finds module number @i among the known ones; NULL when it is none of them. */
static const KnownModule *find_known(const HeapProbe *probe, size_t i) {
        const Module *module = &probe->work->list.modules[i];
        const KnownModule *known =
                module_table_find(&probe->table, (ModuleKey){ { module->dev, module->inode } });

        return known ? known : module_table_find(&probe->own, (ModuleKey){ { i, 0 } });
}

/* False, and the examination is over, when there is no memory for it. */
static bool know(HeapProbe *probe, const ModuleFile *file, HeapFailure failure,
                 const HeapLayout *layout) {
        const Module *module = &probe->work->list.modules[file->module];
        bool is_named_so =
                file->identity.dev == module->dev && file->identity.inode == module->inode;
        ModuleTable *table = is_named_so ? &probe->table : &probe->own;
        KnownModule known = {
                .key = is_named_so ? (ModuleKey){ { module->dev, module->inode } }
                                   : (ModuleKey){ { file->module, 0 } },
                .identity = file->identity,
                .failure = failure,
        };

        if (module_table_find(table, known.key))
                return true;
        if (failure == HEAP_FAILURE_NONE)
                known.layout = *layout;
        probe->error = module_table_add(table, &known);
        return probe->error == 0;
}

/* As file_answers_ask(); the time is the process's. */
static HeapFailure ask_file(HeapProbe *probe, FileQuestion question, const ModuleFile *file,
                            FileAnswer *ret) {
        uint64_t begin_ns = memory_job_now_ns(probe->job);
        HeapFailure failure = file_answers_ask(probe->answers, question, &file->identity, file->fd,
                                               left_ns(probe), ret);

        memory_job_spend(probe->job, memory_job_now_ns(probe->job) - begin_ns);
        return failure;
}

/* Finds out about the files at hand, up to the end of the time for it. */
static bool learn_files(HeapProbe *probe) {
        MemoryWork *work = probe->work;
        size_t n_unknown = 0;
        bool has_time;

        if (!run(probe, identify_step))
                return false;
        for (size_t i = 0; i < work->n_files; i++) {
                const ModuleFile *file = &work->files[i];
                FileAnswer answer;

                if (file->result != 0)
                        continue; /* it stays unknown */
                if (!file_answers_find(probe->answers, FILE_QUESTION_HEAP_LAYOUT, &file->identity,
                                       &answer))
                        work->files[n_unknown++] = *file;
                else if (!know(probe, file, HEAP_FAILURE_NONE, &answer.HEAP_LAYOUT))
                        return false;
        }
        work->n_files = n_unknown;
        has_time = n_unknown == 0 || run(probe, open_step);
        if (!has_time)
                return false;
        for (size_t i = 0; i < work->n_files; i++) {
                ModuleFile *file = &work->files[i];
                FileAnswer answer;

                if (has_time && file->result == 0) {
                        HeapFailure failure =
                                ask_file(probe, FILE_QUESTION_HEAP_LAYOUT, file, &answer);

                        /*
                         * The next process with this file asks again when there was no answer, and
                         * the next capture when it said nothing lasting, which is that the file
                         * could not be read.
                         */
                        if (failure == HEAP_FAILURE_FILE_JOB || failure == HEAP_FAILURE_TIME_BUDGET)
                                probe->missing = failure;
                        else
                                has_time = know(probe, file, failure, &answer.HEAP_LAYOUT);
                }
                file->fd = fd_close(file->fd);
                if (has_time && left_ns(probe) == 0) {
                        stop(probe, HEAP_FAILURE_TIME_BUDGET);
                        has_time = false;
                }
        }
        work->n_files = 0;
        return has_time;
}

/* plans */

/* Every copy of a library has a word of its own; it is asked for. */
static HeapVerdict plan_library(HeapProbe *probe, const Module *module, const HeapLayout *layout) {
        MemoryWork *work = probe->work;
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE), bias;
        size_t at = 0, n = 0;

        /* An emulator has the files of its guest mapped, but the kernel does not execute them. */
        if (layout->machine != thread_machine)
                return HEAP_NOT_JEMALLOC;
        if (layout->slot_kind == HEAP_SLOT_NONE)
                return HEAP_TLS_MODEL_UNSUPPORTED;
        for (; module_list_place(&work->list, module, layout, page_bytes, &at, &bias); n++) {
                size_t i = probe->n_layouts;

                if (probe->result.n_plans + i >= HEAP_MODULES_MAX)
                        return HEAP_TLS_MODEL_UNSUPPORTED;
                work->ranges[i] = (WordRange){
                        .address = bias + layout->slot_vaddr,
                        .words = work->words[i],
                        .n = (uint32_t) heap_plan_n_words(layout),
                };
                probe->layouts[probe->n_layouts++] = *layout;
        }
        return n > 0 ? HEAP_READY : HEAP_TLS_POSITION_UNKNOWN;
}

static HeapVerdict plan_module(HeapProbe *probe, const Module *module, const KnownModule *known) {
        const MemoryWork *work = probe->work;
        Examination *result = &probe->result;
        const HeapLayout *layout = &known->layout;
        HeapVerdict verdict = (HeapVerdict) layout->verdict;
        bool is_program = work->has_program && known->identity.dev == work->program.dev &&
                          known->identity.inode == work->program.inode;

        /* Only the program tells what kind of process it is. */
        if (verdict == HEAP_ARCH_MISMATCH && !is_program)
                return HEAP_NOT_JEMALLOC;
        if (verdict != HEAP_READY)
                return verdict;
        if (!is_program)
                return plan_library(probe, module, layout);
        if (layout->machine != thread_machine)
                return HEAP_ARCH_MISMATCH;
        if (result->n_plans + probe->n_layouts >= HEAP_MODULES_MAX)
                return HEAP_TLS_MODEL_UNSUPPORTED;
        return heap_plan_of_program(layout, &result->plans[result->n_plans++])
                       ? HEAP_READY
                       : HEAP_LAYOUT_CONFLICT;
}

/*
 * Goes through the modules. One that has jemalloc and cannot be read spoils the sum of all. One
 * that cannot be looked at hardly has it, too, when another one has.
 */
static bool plan_modules(HeapProbe *probe) {
        const MemoryWork *work = probe->work;
        HeapFailure unknown = HEAP_FAILURE_NONE;

        for (size_t i = 0; i < work->list.n; i++) {
                const Module *module = &work->list.modules[i];
                const KnownModule *known = find_known(probe, i);
                HeapVerdict verdict;

                if (!known || known->failure != HEAP_FAILURE_NONE) {
                        unknown = known ? known->failure : probe->missing;
                        continue;
                }
                verdict = plan_module(probe, module, known);
                if (verdict == HEAP_FILE_UNREADABLE)
                        unknown = HEAP_FAILURE_FILE_UNREADABLE;
                else if (verdict != HEAP_READY && verdict != HEAP_NOT_JEMALLOC) {
                        settle(probe, verdict);
                        return false;
                }
        }
        if (probe->result.n_plans + probe->n_layouts > 0) {
                probe->result.is_lasting = unknown == HEAP_FAILURE_NONE;
                return true;
        }
        if (unknown == HEAP_FAILURE_NONE)
                settle(probe, HEAP_NOT_JEMALLOC);
        else
                stop(probe, unknown);
        return false;
}

/* words of the process */

/* Makes plans of words, and leaves the layouts that lead to further words. */
static bool take_words(HeapProbe *probe, bool is_further) {
        Examination *result = &probe->result;
        MemoryWork *work = probe->work;
        size_t n_left = 0;

        for (size_t i = 0; i < probe->n_layouts; i++) {
                const HeapLayout layout = probe->layouts[i];
                HeapPlan *plan = &result->plans[result->n_plans];
                uint64_t further = 0;
                HeapPlanResult made;

                if (!work->ranges[i].is_read) {
                        stop(probe, HEAP_FAILURE_PROCESS_VM_READV);
                        return false;
                }
                made = is_further ? heap_plan_of_descriptor(&layout, work->words[i], plan)
                                  : heap_plan_of_library(&layout, work->words[i], plan, &further);
                switch (made) {
                case HEAP_PLAN_MADE:
                        result->n_plans++;
                        break;
                case HEAP_PLAN_FURTHER:
                        work->ranges[n_left] = (WordRange){
                                .address = further,
                                .words = work->words[n_left],
                                .n = 2,
                        };
                        probe->layouts[n_left++] = layout;
                        break;
                case HEAP_PLAN_UNSUPPORTED:
                        settle(probe, HEAP_TLS_MODEL_UNSUPPORTED);
                        return false;
                case HEAP_PLAN_IMPOSSIBLE:
                        stop(probe, HEAP_FAILURE_TLS_ARITHMETIC);
                        return false;
                }
        }
        probe->n_layouts = n_left;
        return true;
}

/*
 * The distance of the thread pointer changes with the C library where a thread's control block
 * cannot be recognised: with the wrong one, other words would be taken for counters. A static
 * program has none that could be asked. Without an answer the examination is over: one that a file
 * does not know is an answer, too.
 */
static bool find_geometry(HeapProbe *probe) {
        static const char *const names[] = { "libc.so.6", "libpthread.so.0" };
        MemoryWork *work = probe->work;
        const ModuleList *list = &work->list;
        Examination *result = &probe->result;

        (void) thread_geometry_usual(thread_machine, &result->geometry);
        if (thread_machine != EM_AARCH64)
                return true;
        for (size_t i = 0; i < ELEMENTSOF(names) * list->n; i++) {
                const Module *module = &list->modules[i % list->n];
                const KnownModule *known = find_known(probe, i % list->n);
                HeapFailure failure = HEAP_FAILURE_NONE;
                ModuleFile *file = &work->files[0];
                FileAnswer answer;

                if (!module_list_is_named(list, module, names[i / list->n]))
                        continue;
                if (!known) {
                        stop(probe, probe->missing);
                        return false;
                }
                if (!file_answers_find(probe->answers, FILE_QUESTION_THREAD_LAYOUT,
                                       &known->identity, &answer)) {
                        *file = (ModuleFile){
                                .module = i % list->n,
                                .identity = known->identity,
                                .fd = -EBADF,
                        };
                        work->n_files = 1;
                        if (!run(probe, open_step))
                                return false;
                        failure = file->result == 0 ? ask_file(probe, FILE_QUESTION_THREAD_LAYOUT,
                                                               file, &answer)
                                                    : HEAP_FAILURE_FILE_OPEN;
                        file->fd = fd_close(file->fd);
                        work->n_files = 0;
                }
                if (!goes_on(probe, failure))
                        return false;
                if (thread_geometry_from(thread_machine, &answer.THREAD_LAYOUT, &result->geometry))
                        return true;
        }
        return true;
}

/* Finds out how to get to the counters of the process, reached through its thread @life.tid. */
static int examine(HeapProbe *probe, const MemoryLife *life, int dir_fd) {
        MemoryWork *work = memory_job_work(probe->job);

        probe->result = (Examination){ .failure = HEAP_FAILURE_NONE };
        probe->work = work;
        probe->begin_ns = memory_job_now_ns(probe->job);
        probe->patience_ns = memory_job_patience_ns(probe->job, false);
        probe->missing = HEAP_FAILURE_FILE_OPEN;
        probe->error = 0;
        probe->n_layouts = 0;
        probe->own.n = 0;
        index_clear(&probe->own.index);
        if (!work) {
                stop(probe, HEAP_FAILURE_MAPS_READ);
                return 0;
        }
        work->dir_fd = dir_fd;
        if (!run(probe, list_step) ||
            !goes_on(probe, heap_failure_of_reading(work->list_result, HEAP_FAILURE_MAPS_READ)))
                return probe->error;
        work->n_files = 0;
        for (size_t i = 0; i < work->list.n; i++) {
                if (!find_known(probe, i))
                        work->files[work->n_files++] = (ModuleFile){ .module = i, .fd = -EBADF };
                if (work->n_files == MEMORY_WORK_FILES && !learn_files(probe))
                        return probe->error;
        }
        if ((work->n_files > 0 && !learn_files(probe)) || !plan_modules(probe))
                return probe->error;
        for (unsigned is_further = 0; is_further < 2 && probe->n_layouts > 0; is_further++) {
                work->tid = (pid_t) life->tid;
                work->n_ranges = probe->n_layouts;
                if (!run(probe, words_step) ||
                    !goes_on(probe, heap_failure_of_reading(work->words_result,
                                                            HEAP_FAILURE_PROCESS_VM_READV)) ||
                    !take_words(probe, is_further))
                        return probe->error;
        }
        if (find_geometry(probe))
                probe->result.verdict = HEAP_READY;
        return probe->error;
}

/* threads */

/* One process of a question. */
typedef struct HeapCase {
        const HeapAskedProcess *process;
        const HeapAskedThread *threads;
        HeapAnsweredProcess *answer;
        HeapAnsweredThread *answers;
} HeapCase;

/* The number that a thread has in its own pid namespace; 0 when that cannot be told. */
static pid_t find_number(HeapProbe *probe, const HeapCase *heap, pid_t tid) {
        Span key, value, word;
        uint32_t number = 0;
        Cursor lines, words;
        char path[64];
        size_t n;

        (void) snprintf(path, sizeof(path), "%u/task/%d/status", heap->process->life.tgid, tid);
        if (text_file_read(probe->job->options.proc_fd, path, probe->file, sizeof(probe->file),
                           &n) != 0)
                return 0;
        lines = (Span){ probe->file, n };
        while (cursor_colon_pair(&lines, &key, &value)) {
                if (!span_equal(key, SPAN_LITERAL("NSpid")))
                        continue;
                words = value;
                while (cursor_word(&words, &word))
                        if (!number_parse_u32(word, &number) || number > INT32_MAX)
                                return 0;
                break;
        }
        return (pid_t) number;
}

/* Reads the threads by plans. False when plans from an earlier capture were of no use. */
static bool read_threads(HeapProbe *probe, const HeapCase *heap, bool is_recalled) {
        MemoryWork *work = memory_job_work(probe->job);
        Examination *result = &probe->result;
        bool has_more = false, is_in_vain = false;
        CounterRequest *request;
        HeapFailure failure;

        if (!work) {
                result->failure = HEAP_FAILURE_MAPS_READ;
                return true;
        }
        request = &work->counters;
        request->geometry = result->geometry;
        request->n_plans = result->n_plans;
        memcpy(request->plans, result->plans, sizeof(request->plans));
        request->n = heap->process->n;
        for (size_t i = 0; i < request->n; i++)
                request->threads[i] = (ThreadCounters){
                        .tid = (pid_t) heap->threads[i].tid,
                        .number = heap->process->is_nested ? 0 : (pid_t) heap->threads[i].tid,
                        .pointer = heap->threads[i].pointer,
                };
        failure =
                memory_job_run(probe->job, counters_step, memory_job_patience_ns(probe->job, true));
        /*
         * In a nested pid namespace a saved pointer is of use only with a number that takes a file
         * a thread to find out. That is for those only who could not be found without.
         */
        for (size_t i = 0; failure == HEAP_FAILURE_NONE && i < request->n; i++) {
                ThreadCounters *thread = &request->threads[i];

                if (!heap->process->is_nested || thread->pointer == 0 ||
                    thread->failure != HEAP_FAILURE_NO_THREAD_POINTER ||
                    heap->threads[i].is_kernel_worker)
                        continue;
                thread->number = find_number(probe, heap, thread->tid);
                has_more |= thread->number != 0;
        }
        if (has_more)
                failure = memory_job_run(probe->job, counters_step,
                                         memory_job_patience_ns(probe->job, true));
        if (failure != HEAP_FAILURE_NONE) {
                result->failure = failure;
                return true;
        }
        /*
         * Plans may not be good any more when none of the threads could be read and with some of
         * them that may be why: that a thread has ended, may not be read or has no pointer says
         * nothing of plans.
         */
        for (size_t i = 0; is_recalled && i < request->n; i++) {
                failure = request->threads[i].failure;
                is_recalled = failure != HEAP_FAILURE_NONE;
                is_in_vain |= is_recalled && failure != HEAP_FAILURE_PERMISSION &&
                              failure != HEAP_FAILURE_NO_THREAD_POINTER &&
                              !heap_failures[failure].is_benign;
        }
        if (is_recalled && is_in_vain)
                return false;
        result->geometry = request->geometry;
        for (size_t i = 0; i < request->n; i++)
                heap->answers[i] = (HeapAnsweredThread){
                        .failure = request->threads[i].failure,
                        .allocated = request->threads[i].allocated,
                        .deallocated = request->threads[i].deallocated,
                };
        heap->answer->was_read = true;
        return true;
}

/* The question comes from a job that reads what everybody can write, so its plans are checked. */
static bool recall(HeapProbe *probe, const HeapFindings *known) {
        if (known->verdict != HEAP_READY || known->n_plans == 0 ||
            known->n_plans > HEAP_CACHE_MAX_PLANS)
                return false;
        probe->result = (Examination){
                .failure = HEAP_FAILURE_NONE,
                .verdict = HEAP_READY,
                .n_plans = known->n_plans,
                .geometry = known->geometry,
        };
        memcpy(probe->result.plans, known->plans, sizeof(known->plans));
        for (size_t i = 0; i < known->n_plans; i++)
                if (!heap_plan_is_valid(&known->plans[i]))
                        return false;
        return true;
}

/* The process is reached through it for as long as the thread lives; -EBADF. */
static int open_thread(const HeapProbe *probe, const MemoryLife *life) {
        char path[64];

        (void) snprintf(path, sizeof(path), "%u/task/%u", life->tgid, life->tid);
        return openat(probe->job->options.proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int answer_process(HeapProbe *probe, const HeapCase *heap) {
        const HeapAskedProcess *process = heap->process;
        HeapAnsweredProcess *answer = heap->answer;
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        Examination *result = &probe->result;
        int r = 0;

        *result = (Examination){
                .failure = memory_job_begin(probe->job, MEMORY_COUNTERS, &process->life,
                                            process->was_slow),
        };
        if (result->failure == HEAP_FAILURE_NONE) {
                dir_fd = open_thread(probe, &process->life);
                if (dir_fd < 0)
                        result->failure = HEAP_FAILURE_PID_MISSING;
        }
        if (result->failure == HEAP_FAILURE_NONE &&
            (!recall(probe, &process->known) || !read_threads(probe, heap, true))) {
                r = examine(probe, &process->life, dir_fd);
                if (r == 0 && result->failure == HEAP_FAILURE_NONE && result->n_plans > 0)
                        (void) read_threads(probe, heap, false);
        }
        answer->failure = result->failure;
        answer->found.verdict = _HEAP_VERDICT_MAX;
        if (result->is_lasting && result->n_plans <= HEAP_CACHE_MAX_PLANS) {
                answer->is_lasting = true;
                answer->found = (HeapFindings){
                        .verdict = result->verdict,
                        .n_plans = (uint32_t) result->n_plans,
                        .geometry = result->geometry,
                };
                for (size_t i = 0; i < result->n_plans; i++)
                        answer->found.plans[i] = result->plans[i];
        }
        answer->is_slow = memory_job_was_slow(probe->job);
        return r;
}

int heap_probe_answer(HeapProbe *probe, const HeapAsked *asked, size_t n_asked, HeapAnswered *ret,
                      size_t *ret_n) {
        if (n_asked < heap_asked_bytes(0) || asked->n_processes > BATCH_MAX_THREADS ||
            n_asked != heap_asked_bytes(asked->n_processes) || asked->n_threads > BATCH_MAX_THREADS)
                return -EINVAL;
        for (size_t i = 0; i < asked->n_processes; i++)
                if (asked->processes[i].first > asked->n_threads ||
                    asked->processes[i].n > asked->n_threads - asked->processes[i].first)
                        return -EINVAL;
        for (size_t i = 0; i < asked->n_processes; i++) {
                const HeapAskedProcess *process = &asked->processes[i];
                const HeapCase heap = {
                        .process = process,
                        .threads = &asked->threads[process->first],
                        .answer = &ret->processes[i],
                        .answers = &ret->threads[process->first],
                };
                int r = answer_process(probe, &heap);

                if (r != 0)
                        return r;
        }
        *ret_n = heap_answered_bytes(asked->n_processes);
        return 0;
}

HeapFailure heap_probe_try(HeapProbe *probe, const MemoryLife *life) {
        HeapFailure failure = memory_job_begin(probe->job, MEMORY_COUNTERS, life, false);
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        uint64_t patience_ns;
        MemoryWork *work;

        if (failure != HEAP_FAILURE_NONE)
                return failure;
        dir_fd = open_thread(probe, life);
        if (dir_fd < 0)
                return HEAP_FAILURE_PID_MISSING;
        patience_ns = memory_job_patience_ns(probe->job, true);
        work = memory_job_work(probe->job);
        if (!work)
                return HEAP_FAILURE_MAPS_READ;
        work->dir_fd = dir_fd;
        failure = memory_job_run(probe->job, list_step, patience_ns);
        if (failure == HEAP_FAILURE_NONE && work->list_result == TEXT_E_DENIED)
                failure = HEAP_FAILURE_PERMISSION;
        if (failure != HEAP_FAILURE_NONE || work->list.n_pieces == 0)
                return failure;
        work->tid = (pid_t) life->tid;
        work->ranges[0] = (WordRange){ work->list.pieces[0].start, work->words[0], 1, false };
        work->n_ranges = 1;
        failure = memory_job_run(probe->job, words_step, patience_ns);
        return failure == HEAP_FAILURE_NONE && work->words_result == TEXT_E_DENIED
                       ? HEAP_FAILURE_PERMISSION
                       : failure;
}
