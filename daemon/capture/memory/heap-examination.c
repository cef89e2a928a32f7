/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/memory/heap-examination.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"

typedef struct Examiner {
        HeapBench *bench;
        ModuleTable *table, *own;
        HeapWork *work; /* borrowed from the bench */
        HeapExamination *result;
        uint64_t begin_ns, patience_ns; /* for all of it */
        HeapFailure missing;            /* why nothing is known of some modules */
        int error;                      /* 0 or -ENOMEM */
        /* Libraries whose plans wait for words of the process, number i for words[i]. */
        HeapLayout layouts[HEAP_MODULES_MAX];
        size_t n_layouts;
} Examiner;

static void stop(Examiner *examiner, HeapFailure failure) {
        *examiner->result = (HeapExamination){ .failure = failure };
}

static void settle(Examiner *examiner, HeapVerdict verdict) {
        HeapExamination *result = examiner->result;

        result->failure = heap_failure_of_verdict(verdict);
        result->is_lasting = true;
        result->verdict = verdict;
        if (verdict != HEAP_READY)
                result->n_plans = 0;
}

/* What is left of the time for this process. */
static uint64_t left_ns(const Examiner *examiner) {
        uint64_t spent_ns = heap_bench_now_ns(examiner->bench) - examiner->begin_ns;

        return spent_ns < examiner->patience_ns ? examiner->patience_ns - spent_ns : 0;
}

/* Lets the thread work; false when that failed, and then the examination is over. */
static bool run(Examiner *examiner, HeapWorkKind kind) {
        HeapFailure failure = heap_bench_run(examiner->bench, kind, left_ns(examiner));

        if (failure != HEAP_FAILURE_NONE)
                stop(examiner, failure);
        return failure == HEAP_FAILURE_NONE;
}

static bool list_modules(Examiner *examiner) {
        if (!run(examiner, HEAP_WORK_LIST))
                return false;
        switch (examiner->work->list_result) {
        case 0:
                return true;
        case TEXT_E_DENIED:
                stop(examiner, HEAP_FAILURE_PERMISSION);
                return false;
        case TEXT_E_VANISHED:
        case TEXT_E_ABSENT:
                stop(examiner, HEAP_FAILURE_PID_MISSING);
                return false;
        default:
                stop(examiner, HEAP_FAILURE_MAPS_READ);
                return false;
        }
}

/* files */

static bool keep_memory(Examiner *examiner, int r) {
        if (r < 0)
                examiner->error = r;
        return r == 0;
}

/* What is known of module number @i; NULL when that is nothing. */
static const KnownModule *find_known(const Examiner *examiner, size_t i) {
        const Module *module = &examiner->work->list.modules[i];
        const KnownModule *known = module_table_find(examiner->table, module_key_of_map(module));

        return known ? known : module_table_find(examiner->own, module_key_of_index(i));
}

static bool know(Examiner *examiner, const ModuleFile *file, HeapFailure failure,
                 const HeapLayout *layout) {
        const Module *module = &examiner->work->list.modules[file->module];
        bool is_named_so =
                file->identity.dev == module->dev && file->identity.inode == module->inode;
        ModuleKey key = is_named_so ? module_key_of_map(module) : module_key_of_index(file->module);
        ModuleTable *table = is_named_so ? examiner->table : examiner->own;

        if (module_table_find(table, key))
                return true;
        return keep_memory(examiner,
                           module_table_add(table, key, &file->identity, failure, layout));
}

/*
 * The next process with this file asks again when there was no answer, and the next capture when it
 * said nothing lasting, which is that the file could not be read.
 */
static bool ask(Examiner *examiner, const ModuleFile *file) {
        FileAnswer answer;
        HeapFailure failure = heap_bench_ask(examiner->bench, FILE_QUESTION_HEAP_LAYOUT,
                                             &file->identity, file->fd, left_ns(examiner), &answer);

        if (failure != HEAP_FAILURE_FILE_JOB && failure != HEAP_FAILURE_TIME_BUDGET)
                return know(examiner, file, failure, &answer.HEAP_LAYOUT);
        examiner->missing = failure;
        return true;
}

/* Of the files at hand, leaves those of which nothing is known but what they are. */
static bool recall_files(Examiner *examiner) {
        HeapWork *work = examiner->work;
        size_t n_left = 0;

        for (size_t i = 0; i < work->n_files; i++) {
                FileAnswer answer;

                if (work->files[i].result != 0)
                        continue; /* it stays unknown */
                if (!heap_bench_recall(examiner->bench, FILE_QUESTION_HEAP_LAYOUT,
                                       &work->files[i].identity, &answer))
                        work->files[n_left++] = work->files[i];
                else if (!know(examiner, &work->files[i], HEAP_FAILURE_NONE, &answer.HEAP_LAYOUT))
                        return false;
        }
        work->n_files = n_left;
        return true;
}

/* Finds out about the files at hand, up to the end of the time for it. */
static bool learn_files(Examiner *examiner) {
        HeapWork *work = examiner->work;
        bool goes_on = run(examiner, HEAP_WORK_IDENTIFY);

        if (!goes_on)
                return false;
        goes_on = recall_files(examiner);
        if (goes_on && work->n_files > 0)
                goes_on = run(examiner, HEAP_WORK_OPEN);
        if (!goes_on)
                return false;
        for (size_t i = 0; i < work->n_files; i++) {
                if (goes_on && work->files[i].result == 0)
                        goes_on = ask(examiner, &work->files[i]);
                work->files[i].fd = fd_close(work->files[i].fd);
                if (goes_on && left_ns(examiner) == 0) {
                        stop(examiner, HEAP_FAILURE_TIME_BUDGET);
                        goes_on = false;
                }
        }
        work->n_files = 0;
        return goes_on;
}

static bool learn_modules(Examiner *examiner) {
        HeapWork *work = examiner->work;

        work->n_files = 0;
        for (size_t i = 0; i < work->list.n; i++) {
                if (!find_known(examiner, i))
                        work->files[work->n_files++] = (ModuleFile){ .module = i, .fd = -EBADF };
                if (work->n_files == HEAP_WORK_FILES && !learn_files(examiner))
                        return false;
        }
        return work->n_files == 0 || learn_files(examiner);
}

/* plans */

static bool is_program(const HeapWork *work, const KnownModule *known) {
        return work->has_program && known->identity.dev == work->program.dev &&
               known->identity.inode == work->program.inode;
}

static bool has_room(const Examiner *examiner) {
        return examiner->result->n_plans + examiner->n_layouts < HEAP_MODULES_MAX;
}

static HeapVerdict plan_program(Examiner *examiner, const HeapLayout *layout) {
        HeapExamination *result = examiner->result;

        if (layout->machine != thread_machine)
                return HEAP_ARCH_MISMATCH;
        if (!has_room(examiner))
                return HEAP_TLS_MODEL_UNSUPPORTED;
        return heap_plan_of_program(layout, &result->plans[result->n_plans++])
                       ? HEAP_READY
                       : HEAP_LAYOUT_CONFLICT;
}

/* Every copy of a library has a word of its own; it is asked for. */
static HeapVerdict plan_library(Examiner *examiner, const Module *module,
                                const HeapLayout *layout) {
        HeapWork *work = examiner->work;
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE), bias;
        size_t at = 0, n = 0;

        /* An emulator has the files of its guest mapped, but the kernel does not execute them. */
        if (layout->machine != thread_machine)
                return HEAP_NOT_JEMALLOC;
        if (layout->slot_kind == HEAP_SLOT_NONE)
                return HEAP_TLS_MODEL_UNSUPPORTED;
        for (; module_list_place(&work->list, module, layout, page_bytes, &at, &bias); n++) {
                size_t i = examiner->n_layouts;

                if (!has_room(examiner))
                        return HEAP_TLS_MODEL_UNSUPPORTED;
                work->ranges[i] = (WordRange){
                        .address = bias + layout->slot_vaddr,
                        .words = work->words[i],
                        .n = (uint32_t) heap_plan_n_words(layout),
                };
                examiner->layouts[examiner->n_layouts++] = *layout;
        }
        return n > 0 ? HEAP_READY : HEAP_TLS_POSITION_UNKNOWN;
}

static HeapVerdict plan_module(Examiner *examiner, const Module *module, const KnownModule *known) {
        HeapVerdict verdict = (HeapVerdict) known->layout.verdict;
        bool is_main = is_program(examiner->work, known);

        /* Only the program tells what kind of process it is. */
        if (verdict == HEAP_ARCH_MISMATCH && !is_main)
                return HEAP_NOT_JEMALLOC;
        if (verdict != HEAP_READY)
                return verdict;
        return is_main ? plan_program(examiner, &known->layout)
                       : plan_library(examiner, module, &known->layout);
}

/*
 * Goes through the modules. One that has jemalloc and cannot be read spoils the sum of all. One
 * that cannot be looked at hardly has it, too, when another one has.
 */
static bool plan_modules(Examiner *examiner) {
        const HeapWork *work = examiner->work;
        HeapFailure unknown = HEAP_FAILURE_NONE;

        for (size_t i = 0; i < work->list.n; i++) {
                const Module *module = &work->list.modules[i];
                const KnownModule *known = find_known(examiner, i);
                HeapVerdict verdict;

                if (!known || known->failure != HEAP_FAILURE_NONE) {
                        unknown = known ? known->failure : examiner->missing;
                        continue;
                }
                verdict = plan_module(examiner, module, known);
                if (verdict == HEAP_FILE_UNREADABLE)
                        unknown = HEAP_FAILURE_FILE_UNREADABLE;
                else if (verdict != HEAP_READY && verdict != HEAP_NOT_JEMALLOC) {
                        settle(examiner, verdict);
                        return false;
                }
        }
        if (examiner->result->n_plans + examiner->n_layouts > 0) {
                examiner->result->is_lasting = unknown == HEAP_FAILURE_NONE;
                return true;
        }
        if (unknown == HEAP_FAILURE_NONE)
                settle(examiner, HEAP_NOT_JEMALLOC);
        else
                stop(examiner, unknown);
        return false;
}

/* words of the process */

static bool read_words(Examiner *examiner, pid_t tid) {
        HeapWork *work = examiner->work;

        work->tid = tid;
        work->n_ranges = examiner->n_layouts;
        if (!run(examiner, HEAP_WORK_WORDS))
                return false;
        switch (work->words_result) {
        case 0:
                return true;
        case TEXT_E_DENIED:
                stop(examiner, HEAP_FAILURE_PERMISSION);
                return false;
        case TEXT_E_VANISHED:
                stop(examiner, HEAP_FAILURE_PID_MISSING);
                return false;
        default:
                stop(examiner, HEAP_FAILURE_PROCESS_VM_READV);
                return false;
        }
}

/* Makes plans of words, and leaves the layouts that lead to further words. */
static bool take_words(Examiner *examiner, bool is_further) {
        HeapExamination *result = examiner->result;
        HeapWork *work = examiner->work;
        size_t n_left = 0;

        for (size_t i = 0; i < examiner->n_layouts; i++) {
                const HeapLayout layout = examiner->layouts[i];
                HeapPlan *plan = &result->plans[result->n_plans];
                uint64_t further = 0;
                HeapPlanResult made;

                if (!work->ranges[i].is_read) {
                        stop(examiner, HEAP_FAILURE_PROCESS_VM_READV);
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
                        examiner->layouts[n_left++] = layout;
                        break;
                case HEAP_PLAN_UNSUPPORTED:
                        settle(examiner, HEAP_TLS_MODEL_UNSUPPORTED);
                        return false;
                case HEAP_PLAN_IMPOSSIBLE:
                        stop(examiner, HEAP_FAILURE_TLS_ARITHMETIC);
                        return false;
                }
        }
        examiner->n_layouts = n_left;
        return true;
}

/* Without an answer the examination is over: one that it does not know is an answer, too. */
static bool ask_library(Examiner *examiner, const ModuleFile *asked, FileAnswer *ret) {
        HeapWork *work = examiner->work;
        ModuleFile *file = &work->files[0];
        HeapFailure failure = HEAP_FAILURE_FILE_OPEN;

        if (heap_bench_recall(examiner->bench, FILE_QUESTION_THREAD_LAYOUT, &asked->identity, ret))
                return true;
        *file = *asked;
        work->n_files = 1;
        if (!run(examiner, HEAP_WORK_OPEN))
                return false;
        if (file->result == 0)
                failure = heap_bench_ask(examiner->bench, FILE_QUESTION_THREAD_LAYOUT,
                                         &file->identity, file->fd, left_ns(examiner), ret);
        file->fd = fd_close(file->fd);
        work->n_files = 0;
        if (failure != HEAP_FAILURE_NONE)
                stop(examiner, failure);
        return failure == HEAP_FAILURE_NONE;
}

/*
 * The distance of the thread pointer changes with the C library where a thread's control block
 * cannot be recognised: with the wrong one, other words would be taken for counters. A static
 * program has none that could be asked.
 */
static bool find_geometry(Examiner *examiner) {
        static const char *const names[] = { "libc.so.6", "libpthread.so.0" };
        const ModuleList *list = &examiner->work->list;
        HeapExamination *result = examiner->result;

        (void) thread_geometry_usual(thread_machine, &result->geometry);
        if (thread_machine != EM_AARCH64)
                return true;
        for (size_t i = 0; i < ELEMENTSOF(names) * list->n; i++) {
                const Module *module = &list->modules[i % list->n];
                const KnownModule *known = find_known(examiner, i % list->n);
                ModuleFile file = { .module = i % list->n, .fd = -EBADF };
                FileAnswer answer;

                if (!module_list_is_named(list, module, names[i / list->n]))
                        continue;
                if (!known) {
                        stop(examiner, examiner->missing);
                        return false;
                }
                file.identity = known->identity;
                if (!ask_library(examiner, &file, &answer))
                        return false;
                if (thread_geometry_from(thread_machine, &answer.THREAD_LAYOUT, &result->geometry))
                        return true;
        }
        return true;
}

static void examine(Examiner *examiner, int dir_fd, pid_t tid) {
        examiner->work->dir_fd = dir_fd;
        if (!list_modules(examiner) || !learn_modules(examiner) || !plan_modules(examiner))
                return;
        if (examiner->n_layouts > 0 && (!read_words(examiner, tid) || !take_words(examiner, false)))
                return;
        if (examiner->n_layouts > 0 && (!read_words(examiner, tid) || !take_words(examiner, true)))
                return;
        if (find_geometry(examiner))
                examiner->result->verdict = HEAP_READY;
}

int heap_examine(HeapBench *bench, ModuleTable *table, ModuleTable *own, int dir_fd, pid_t tid,
                 HeapExamination *ret) {
        Examiner examiner = {
                .bench = bench,
                .table = table,
                .own = own,
                .work = heap_bench_work(bench),
                .result = ret,
                .begin_ns = heap_bench_now_ns(bench),
                .patience_ns = heap_bench_patience_ns(bench, false),
                .missing = HEAP_FAILURE_FILE_OPEN,
        };

        *ret = (HeapExamination){ .failure = HEAP_FAILURE_NONE };
        module_table_clear(own);
        if (examiner.work)
                examine(&examiner, dir_fd, tid);
        else
                stop(&examiner, HEAP_FAILURE_MAPS_READ);
        return examiner.error;
}
