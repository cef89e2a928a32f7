/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/memory-job.h"

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
#include "kernel/procfs/procfs.h"
#include "kernel/text/cursor.h"

const bool heap_probe_is_built = true;

/*
 * The facts that are known about the file of a module. Most processes have the same libraries. So a
 * file is identified once per capture, and not once per process, if the device and inode number in
 * /proc/PID/maps are those of this file alone. On btrfs they are not: maps has one device for all
 * subvolumes, and each subvolume numbers its files by itself. So if statx(2) tells another device
 * or number than maps, the file is known in its process only, by the module's index.
 */
typedef struct KnownFile {
        uint64_t key[2]; /* device and number, or the index in the list */
        FileIdentity identity;
        HeapFailure failure; /* NONE: the layout is there */
        HeapLayout layout;
} KnownFile;

struct HeapProbe {
        MemoryJob *job;       /* borrowed */
        FileAnswers *answers; /* owned */
        CacheTable shared;    /* of KnownFile: in any process */
        CacheTable own;       /* of KnownFile: of the process at hand only */
        char file[PROCFS_BUFFER_BYTES];

        /* the process at hand */
        MemoryWork *work;               /* borrowed from the job */
        uint64_t begin_ns, patience_ns; /* for all of the examination */
        HeapFailure missing;            /* why nothing is known of some modules */
        int error;                      /* 0 or -ENOMEM */
        HeapWay way;                    /* without a plan: the process does not use jemalloc */
        /* It is so for as long as the process executes this program and maps no more code. */
        bool is_lasting;
        /* Libraries whose plans wait for words of the process, number i for words[i]. */
        HeapLayout layouts[HEAP_MODULES_MAX];
        size_t n_layouts;
};

int heap_probe_new(MemoryJob *job, HeapProbe **ret) {
        const MemoryJobOptions *options = &job->options;
        const CacheTable files = {
                .n_item_bytes = sizeof(KnownFile),
                .n_key_bytes = sizeof(((KnownFile *) NULL)->key),
                .n_max = SIZE_MAX,
        };
        HeapProbe *probe = calloc(1, sizeof(*probe));
        int r = probe ? file_answers_new(options->cache_fd, options->open_files, options->userdata,
                                         &probe->answers)
                      : -ENOMEM;

        if (r < 0) {
                free(probe);
                return r;
        }
        probe->job = job;
        probe->shared = probe->own = files;
        *ret = probe;
        return 0;
}

HeapProbe *heap_probe_free(HeapProbe *probe) {
        if (!probe)
                return NULL;
        cache_table_done(&probe->shared);
        cache_table_done(&probe->own);
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
        work->result = module_list_read(&work->list, work->dir_fd);
        work->has_program =
                work->result == 0 && module_file_program(work->dir_fd, &work->program) == 0;
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
        work->result = process_words_read(&work->counters.system, (pid_t) work->life.tid,
                                          work->ranges, work->n_ranges);
}

static void counters_step(MemoryWork *work) {
        thread_counters_read(&work->counters);
}

/*
 * examination
 *
 * Each part of it answers NONE when the next one is to go on, and else what the process as a whole
 * is: a failure, or HEAP_NOT_JEMALLOC.
 */

/* The time for this process that has not been spent. */
static uint64_t left_ns(const HeapProbe *probe) {
        uint64_t spent_ns = memory_job_now_ns(probe->job) - probe->begin_ns;

        return spent_ns < probe->patience_ns ? probe->patience_ns - spent_ns : 0;
}

static HeapFailure run(HeapProbe *probe, void (*step)(MemoryWork *work)) {
        return memory_job_run(probe->job, step, left_ns(probe));
}

/* Lets the thread read something whose result is TEXT_E_*. */
static HeapFailure run_reading(HeapProbe *probe, void (*step)(MemoryWork *work),
                               HeapFailure otherwise) {
        HeapFailure failure = run(probe, step);

        return failure == HEAP_FAILURE_NONE
                       ? heap_failure_of_reading(probe->work->result, otherwise)
                       : failure;
}

/* Finds the file of module number @i among the known ones; NULL when it is none of them. */
static const KnownFile *find_known(const HeapProbe *probe, size_t i) {
        const Module *module = &probe->work->list.modules[i];
        const KnownFile *known =
                cache_table_find(&probe->shared, (uint64_t[2]){ module->dev, module->inode });

        return known ? known : cache_table_find(&probe->own, (uint64_t[2]){ i, 0 });
}

/* False when there is no memory for it. */
static bool know(HeapProbe *probe, const ModuleFile *file, HeapFailure failure,
                 const HeapLayout *layout) {
        const Module *module = &probe->work->list.modules[file->module];
        bool is_shared = file->identity.dev == module->dev && file->identity.inode == module->inode;
        CacheTable *table = is_shared ? &probe->shared : &probe->own;
        KnownFile known = {
                .key = { is_shared ? module->dev : file->module, is_shared ? module->inode : 0 },
                .identity = file->identity,
                .failure = failure,
        };

        if (failure == HEAP_FAILURE_NONE)
                known.layout = *layout;
        if (!cache_table_find(table, known.key))
                probe->error = cache_table_add(table, &known);
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
static HeapFailure learn_files(HeapProbe *probe) {
        HeapFailure verdict = run(probe, identify_step);
        MemoryWork *work = probe->work;
        size_t n_unknown = 0;
        FileAnswer answer;

        if (verdict != HEAP_FAILURE_NONE)
                return verdict;
        for (size_t i = 0; i < work->n_files; i++) {
                const ModuleFile *file = &work->files[i];

                if (file->result != 0)
                        continue; /* it stays unknown */
                if (!file_answers_find(probe->answers, FILE_QUESTION_HEAP_LAYOUT, &file->identity,
                                       &answer))
                        work->files[n_unknown++] = *file;
                else if (!know(probe, file, HEAP_FAILURE_NONE, &answer.HEAP_LAYOUT))
                        return HEAP_FAILURE_MEMORY_JOB;
        }
        work->n_files = n_unknown;
        if (n_unknown > 0)
                verdict = run(probe, open_step);
        if (verdict != HEAP_FAILURE_NONE)
                return verdict;
        for (size_t i = 0; i < work->n_files; i++) {
                ModuleFile *file = &work->files[i];

                if (verdict == HEAP_FAILURE_NONE && file->result == 0) {
                        HeapFailure failure =
                                ask_file(probe, FILE_QUESTION_HEAP_LAYOUT, file, &answer);

                        /*
                         * The next process with this file asks again when there was no answer, and
                         * the next capture when it said nothing lasting, which is that the file
                         * could not be read.
                         */
                        if (failure == HEAP_FAILURE_FILE_JOB || failure == HEAP_FAILURE_TIME_BUDGET)
                                probe->missing = failure;
                        else if (!know(probe, file, failure, &answer.HEAP_LAYOUT))
                                verdict = HEAP_FAILURE_MEMORY_JOB;
                }
                file->fd = fd_close(file->fd);
                if (verdict == HEAP_FAILURE_NONE && left_ns(probe) == 0)
                        verdict = HEAP_FAILURE_TIME_BUDGET;
        }
        work->n_files = 0;
        return verdict;
}

/* Every copy of a library has a word of its own; it is asked for. */
static HeapFailure plan_library(HeapProbe *probe, const Module *module, const HeapLayout *layout) {
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE), bias;
        MemoryWork *work = probe->work;
        size_t at = 0, n = 0;

        /* An emulator has the files of its guest mapped, but the kernel does not execute them. */
        if (layout->machine != thread_machine)
                return HEAP_NOT_JEMALLOC;
        if (layout->slot_kind == HEAP_SLOT_NONE)
                return HEAP_FAILURE_TLS_MODEL_UNSUPPORTED;
        for (; module_list_place(&work->list, module, layout, page_bytes, &at, &bias); n++) {
                size_t i = probe->n_layouts;

                if (probe->way.n_plans + i >= HEAP_MODULES_MAX)
                        return HEAP_FAILURE_TLS_MODEL_UNSUPPORTED;
                work->ranges[i] = (WordRange){
                        .address = bias + layout->slot_vaddr,
                        .words = work->words[i],
                        .n = (uint32_t) heap_plan_n_words(layout),
                };
                probe->layouts[probe->n_layouts++] = *layout;
        }
        return n > 0 ? HEAP_FAILURE_NONE : HEAP_FAILURE_TLS_POSITION_UNKNOWN;
}

static HeapFailure plan_module(HeapProbe *probe, const Module *module, const KnownFile *known) {
        const HeapLayout *layout = &known->layout;
        const MemoryWork *work = probe->work;
        HeapWay *way = &probe->way;
        bool is_program = work->has_program && known->identity.dev == work->program.dev &&
                          known->identity.inode == work->program.inode;

        /* Only the program tells what kind of process it is. */
        if (layout->verdict == HEAP_FAILURE_ARCH_MISMATCH && !is_program)
                return HEAP_NOT_JEMALLOC;
        if (layout->verdict != HEAP_FAILURE_NONE)
                return (HeapFailure) layout->verdict;
        if (!is_program)
                return plan_library(probe, module, layout);
        if (layout->machine != thread_machine)
                return HEAP_FAILURE_ARCH_MISMATCH;
        if (way->n_plans + probe->n_layouts >= HEAP_MODULES_MAX)
                return HEAP_FAILURE_TLS_MODEL_UNSUPPORTED;
        return heap_plan_of_program(layout, &way->plans[way->n_plans++])
                       ? HEAP_FAILURE_NONE
                       : HEAP_FAILURE_LAYOUT_CONFLICT;
}

/*
 * Goes through the modules. One that has jemalloc and cannot be read spoils the sum of all. One
 * that cannot be looked at hardly has it, too, when another one has.
 */
static HeapFailure plan_modules(HeapProbe *probe) {
        const ModuleList *list = &probe->work->list;
        HeapFailure unknown = HEAP_FAILURE_NONE;

        for (size_t i = 0; i < list->n; i++) {
                const KnownFile *known = find_known(probe, i);
                HeapFailure verdict;

                if (!known || known->failure != HEAP_FAILURE_NONE) {
                        unknown = known ? known->failure : probe->missing;
                        continue;
                }
                verdict = plan_module(probe, &list->modules[i], known);
                if (verdict == HEAP_FAILURE_FILE_UNREADABLE)
                        unknown = verdict;
                else if (verdict != HEAP_FAILURE_NONE && verdict != HEAP_NOT_JEMALLOC) {
                        probe->is_lasting = true;
                        return verdict;
                }
        }
        probe->is_lasting = unknown == HEAP_FAILURE_NONE;
        if (probe->way.n_plans + probe->n_layouts > 0)
                return HEAP_FAILURE_NONE;
        return probe->is_lasting ? HEAP_NOT_JEMALLOC : unknown;
}

/* Makes plans of words of the process, and leaves the layouts that lead to further words. */
static HeapFailure take_words(HeapProbe *probe, bool is_further) {
        MemoryWork *work = probe->work;
        HeapWay *way = &probe->way;
        size_t n_left = 0;

        for (size_t i = 0; i < probe->n_layouts; i++) {
                const HeapLayout layout = probe->layouts[i];
                HeapPlan *plan = &way->plans[way->n_plans];
                uint64_t further = 0;
                HeapPlanResult made;

                if (!work->ranges[i].is_read)
                        return HEAP_FAILURE_PROCESS_VM_READV;
                made = is_further ? heap_plan_of_descriptor(&layout, work->words[i], plan)
                                  : heap_plan_of_library(&layout, work->words[i], plan, &further);
                if (made == HEAP_PLAN_MADE)
                        way->n_plans++;
                else if (made != HEAP_PLAN_FURTHER)
                        return HEAP_FAILURE_TLS_ARITHMETIC;
                else {
                        work->ranges[n_left] = (WordRange){
                                .address = further,
                                .words = work->words[n_left],
                                .n = 2,
                        };
                        probe->layouts[n_left++] = layout;
                }
        }
        probe->n_layouts = n_left;
        return HEAP_FAILURE_NONE;
}

/*
 * The distance of the thread pointer changes with the C library where a thread's control block
 * cannot be recognised: with the wrong one, other words would be taken for counters. A static
 * program has none that could be asked. Without an answer the examination is over: one that a file
 * does not know is an answer, too.
 */
static HeapFailure find_geometry(HeapProbe *probe) {
        static const char *const names[] = { "libc.so.6", "libpthread.so.0" };
        MemoryWork *work = probe->work;
        const ModuleList *list = &work->list;
        ThreadGeometry *geometry = &probe->way.geometry;

        (void) thread_geometry_usual(thread_machine, geometry);
        for (size_t i = 0; thread_machine == EM_AARCH64 && i < ELEMENTSOF(names) * list->n; i++) {
                const KnownFile *known = find_known(probe, i % list->n);
                HeapFailure failure = HEAP_FAILURE_NONE;
                ModuleFile *file = &work->files[0];
                FileAnswer answer;

                if (!module_list_is_named(list, &list->modules[i % list->n], names[i / list->n]))
                        continue;
                if (!known)
                        return probe->missing;
                if (!file_answers_find(probe->answers, FILE_QUESTION_THREAD_LAYOUT,
                                       &known->identity, &answer)) {
                        *file = (ModuleFile){
                                .module = i % list->n,
                                .identity = known->identity,
                                .fd = -EBADF,
                        };
                        work->n_files = 1;
                        failure = run(probe, open_step);
                        if (failure != HEAP_FAILURE_NONE)
                                return failure;
                        failure = file->result == 0 ? ask_file(probe, FILE_QUESTION_THREAD_LAYOUT,
                                                               file, &answer)
                                                    : HEAP_FAILURE_FILE_OPEN;
                        file->fd = fd_close(file->fd);
                        work->n_files = 0;
                }
                if (failure != HEAP_FAILURE_NONE)
                        return failure;
                if (thread_geometry_from(thread_machine, &answer.THREAD_LAYOUT, geometry))
                        break;
        }
        return HEAP_FAILURE_NONE;
}

/* Finds out how to get to the counters of the process, whose thread's directory @dir_fd is. */
static HeapFailure examine(HeapProbe *probe, int dir_fd) {
        MemoryWork *work = memory_job_work(probe->job);
        HeapFailure verdict;

        probe->work = work;
        probe->way = (HeapWay){ .n_plans = 0 };
        probe->begin_ns = memory_job_now_ns(probe->job);
        probe->patience_ns = memory_job_patience_ns(probe->job, false);
        probe->missing = HEAP_FAILURE_FILE_OPEN;
        probe->is_lasting = false;
        probe->n_layouts = 0;
        probe->own.n = 0;
        index_clear(&probe->own.index);
        if (!work)
                return HEAP_FAILURE_MAPS_READ;
        work->dir_fd = dir_fd;
        verdict = run_reading(probe, list_step, HEAP_FAILURE_MAPS_READ);
        if (verdict != HEAP_FAILURE_NONE)
                return verdict;
        work->n_files = 0;
        for (size_t i = 0; i < work->list.n; i++) {
                if (!find_known(probe, i))
                        work->files[work->n_files++] = (ModuleFile){ .module = i, .fd = -EBADF };
                if (work->n_files == MEMORY_WORK_FILES ||
                    (work->n_files > 0 && i + 1 == work->list.n))
                        verdict = learn_files(probe);
                if (verdict != HEAP_FAILURE_NONE)
                        return verdict;
        }
        verdict = plan_modules(probe);
        if (verdict != HEAP_FAILURE_NONE)
                return verdict;
        for (unsigned is_further = 0; is_further < 2 && probe->n_layouts > 0; is_further++) {
                work->n_ranges = probe->n_layouts;
                verdict = run_reading(probe, words_step, HEAP_FAILURE_PROCESS_VM_READV);
                if (verdict == HEAP_FAILURE_NONE)
                        verdict = take_words(probe, is_further);
                if (verdict != HEAP_FAILURE_NONE)
                        break;
        }
        if (verdict == HEAP_FAILURE_NONE)
                verdict = find_geometry(probe);
        probe->is_lasting &= verdict == HEAP_FAILURE_NONE;
        return verdict;
}

/* threads */

/* The number that a thread has in its own pid namespace; 0 when that cannot be told. */
static pid_t find_number(HeapProbe *probe, const HeapAskedProcess *process, pid_t tid) {
        Span key, value, word;
        uint32_t number = 0;
        Cursor lines, words;
        char path[64];
        size_t n;

        (void) snprintf(path, sizeof(path), "%u/task/%d/status", process->life.tgid, tid);
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

/*
 * Reads the threads by the plans. NONE, or why none could be read; HEAP_NOT_SETTLED when plans from
 * an earlier capture were of no use.
 */
static HeapFailure read_threads(HeapProbe *probe, const HeapAskedProcess *process,
                                const ThreadCounters *threads, bool is_recalled,
                                ThreadCounters *ret) {
        uint64_t patience_ns = memory_job_patience_ns(probe->job, true);
        MemoryWork *work = memory_job_work(probe->job);
        bool has_more = false, is_in_vain = false;
        CounterRequest *request;
        HeapFailure failure;

        if (!work)
                return HEAP_FAILURE_MAPS_READ;
        request = &work->counters;
        request->way = probe->way;
        request->n = process->n;
        memcpy(request->threads, threads, request->n * sizeof(*threads));
        failure = memory_job_run(probe->job, counters_step, patience_ns);
        /*
         * In a nested pid namespace a saved pointer is of use only with a number that takes a file
         * a thread to find out. That is for those only who could not be found without.
         */
        for (size_t i = 0; failure == HEAP_FAILURE_NONE && i < request->n; i++) {
                ThreadCounters *thread = &request->threads[i];

                if (!process->is_nested || thread->pointer == 0 ||
                    thread->failure != HEAP_FAILURE_NO_THREAD_POINTER || thread->is_kernel_worker)
                        continue;
                thread->number = find_number(probe, process, thread->tid);
                has_more |= thread->number != 0;
        }
        if (has_more)
                failure = memory_job_run(probe->job, counters_step,
                                         memory_job_patience_ns(probe->job, true));
        if (failure != HEAP_FAILURE_NONE)
                return failure;
        /*
         * Plans may not be good any more when none of the threads could be read and with some of
         * them that may be why: that a thread has ended, may not be read or has no pointer says
         * nothing of plans.
         */
        for (size_t i = 0; is_recalled && i < request->n; i++) {
                failure = (HeapFailure) request->threads[i].failure;
                is_recalled = failure != HEAP_FAILURE_NONE;
                is_in_vain |= is_recalled && failure != HEAP_FAILURE_PERMISSION &&
                              failure != HEAP_FAILURE_NO_THREAD_POINTER &&
                              !heap_failures[failure].is_benign;
        }
        if (is_recalled && is_in_vain)
                return HEAP_NOT_SETTLED;
        probe->way.geometry = request->way.geometry;
        memcpy(ret, request->threads, request->n * sizeof(*ret));
        return HEAP_FAILURE_NONE;
}

/* The question comes from a job that reads what everybody can write, so its plans are checked. */
static bool recall(HeapProbe *probe, const HeapFindings *known) {
        if (known->verdict != HEAP_FAILURE_NONE || known->n_plans == 0 ||
            known->n_plans > HEAP_CACHE_MAX_PLANS)
                return false;
        probe->way = (HeapWay){ .geometry = known->geometry, .n_plans = known->n_plans };
        memcpy(probe->way.plans, known->plans, sizeof(known->plans));
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

static void answer_process(HeapProbe *probe, const HeapAskedProcess *process,
                           const ThreadCounters *threads, HeapAnsweredProcess *ret,
                           ThreadCounters *ret_threads) {
        HeapFailure verdict =
                memory_job_begin(probe->job, MEMORY_COUNTERS, &process->life, process->was_slow);
        HeapFailure lasting = HEAP_NOT_SETTLED;
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        HeapWay *way = &probe->way;

        if (verdict == HEAP_FAILURE_NONE) {
                dir_fd = open_thread(probe, &process->life);
                if (dir_fd < 0)
                        verdict = HEAP_FAILURE_PID_MISSING;
        }
        if (verdict == HEAP_FAILURE_NONE) {
                verdict = recall(probe, &process->known)
                                  ? read_threads(probe, process, threads, true, ret_threads)
                                  : HEAP_NOT_SETTLED;
                if (verdict == HEAP_NOT_SETTLED) {
                        verdict = examine(probe, dir_fd);
                        if (probe->is_lasting)
                                lasting = verdict;
                        if (verdict == HEAP_FAILURE_NONE)
                                verdict = read_threads(probe, process, threads, false, ret_threads);
                }
                ret->was_read = verdict == HEAP_FAILURE_NONE;
        }
        ret->failure = verdict == HEAP_NOT_JEMALLOC ? HEAP_FAILURE_NONE : verdict;
        ret->is_slow = memory_job_was_slow(probe->job);
        if (lasting != HEAP_FAILURE_NONE)
                way->n_plans = 0;
        if (way->n_plans > HEAP_CACHE_MAX_PLANS)
                lasting = HEAP_NOT_SETTLED;
        ret->found.verdict = lasting;
        if (lasting == HEAP_NOT_SETTLED)
                return;
        ret->found.n_plans = (uint32_t) way->n_plans;
        ret->found.geometry = way->geometry;
        memcpy(ret->found.plans, way->plans, way->n_plans * sizeof(*way->plans));
}

int heap_probe_answer(HeapProbe *probe, const HeapAsked *asked, HeapAnswered *ret) {
        probe->error = 0;
        if (asked->n_threads > BATCH_MAX_THREADS)
                return -EINVAL;
        for (size_t i = 0; i < asked->n_processes; i++)
                if (asked->processes[i].first > asked->n_threads ||
                    asked->processes[i].n > asked->n_threads - asked->processes[i].first)
                        return -EINVAL;
        for (size_t i = 0; i < asked->n_processes && probe->error == 0; i++) {
                uint32_t first = asked->processes[i].first;

                answer_process(probe, &asked->processes[i], &asked->threads[first],
                               &ret->processes[i], &ret->threads[first]);
        }
        return probe->error;
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
        if (failure == HEAP_FAILURE_NONE && work->result == TEXT_E_DENIED)
                failure = HEAP_FAILURE_PERMISSION;
        if (failure != HEAP_FAILURE_NONE || work->list.n_pieces == 0)
                return failure;
        work->ranges[0] = (WordRange){ work->list.pieces[0].start, work->words[0], 1, false };
        work->n_ranges = 1;
        failure = memory_job_run(probe->job, words_step, patience_ns);
        return failure == HEAP_FAILURE_NONE && work->result == TEXT_E_DENIED
                       ? HEAP_FAILURE_PERMISSION
                       : failure;
}
