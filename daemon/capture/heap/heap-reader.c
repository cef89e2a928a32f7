/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/number.h"
#include "capture/heap/heap-examination.h"
#include "capture/scene/process-memory.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/cursor.h"

struct HeapReader {
        HeapBench bench;
        ModuleTable table;
        ModuleTable own; /* of the process that is examined */
        HeapSummary summary;
};

int heap_reader_new(Heap *heap, Scene *scene, HeapReader **ret) {
        HeapReader *reader = calloc(1, sizeof(*reader));

        if (!reader)
                return -ENOMEM;
        reader->bench = (HeapBench){ .heap = heap, .scene = scene };
        *ret = reader;
        return 0;
}

void heap_reader_close(HeapReader *reader) {
        heap_bench_done(&reader->bench);
}

HeapReader *heap_reader_free(HeapReader *reader) {
        if (!reader)
                return NULL;
        heap_reader_close(reader);
        module_table_done(&reader->table);
        module_table_done(&reader->own);
        free(reader);
        return NULL;
}

const HeapSummary *heap_reader_summary(const HeapReader *reader) {
        return &reader->summary;
}

/* One process, as far as it is in this batch. */
typedef struct HeapTarget {
        const BatchProcess *process;
        ThreadSlot *slots;
        ThreadSlot *leader;  /* NULL: in another batch, which counts the process */
        ThreadSlot *speaker; /* a living thread, to reach the process by */
        bool is_nested;
        bool has_key;
        HeapProcessKey key;
} HeapTarget;

static bool is_living(const ThreadSlot *slot) {
        return slot->kept && slot->has_space && !thread_slot_is_zombie(slot);
}

/* The leader if it lives; otherwise its address space lives on with another thread. */
static ThreadSlot *find_speaker(const HeapTarget *target) {
        if (target->leader && is_living(target->leader))
                return target->leader;
        for (size_t i = 0; i < target->process->n; i++)
                if (is_living(&target->slots[i]))
                        return &target->slots[i];
        return NULL;
}

/* counts */

static void count_failure(HeapReader *reader, HeapFailure failure) {
        reader->summary.failures[failure]++;
}

static void note_failure(ThreadSlot *slot, HeapFailure failure) {
        thread_slot_note(slot, SOURCE_JEMALLOC, heap_failure_outcome(failure));
}

/* None of the process's threads can be read. */
static void fail_process(HeapReader *reader, const HeapTarget *target, HeapFailure failure) {
        for (size_t i = 0; i < target->process->n; i++)
                if (is_living(&target->slots[i]))
                        note_failure(&target->slots[i], failure);
        if (target->leader)
                count_failure(reader, failure);
        else
                reader->summary.parts[failure]++;
}

/* identity */

/* What status says of the process, from whichever of its threads it was read. */
static const ThreadSlot *find_status(HeapReader *reader, const HeapTarget *target,
                                     ThreadSlot *room) {
        Scene *scene = reader->bench.scene;
        ProcStatus status;
        size_t n;

        if (target->leader && target->leader->has_library_code)
                return target->leader;
        if (target->speaker->has_library_code)
                return target->speaker;
        if (scene_open_thread(scene, target->process, target->speaker) != 0 ||
            procfs_read(target->speaker->fd, "status", scene->file, sizeof(scene->file), &n) != 0)
                return NULL;
        (void) !proc_status_parse((Span){ scene->file, n }, &status);
        room->has_library_code = status.has_library_code;
        room->library_code = status.library_code;
        room->is_nested = status.has_n_namespaces && status.n_namespaces > 1;
        return room;
}

/* Without the leader's start time the process cannot be recognised later. */
static void make_key(HeapReader *reader, HeapTarget *target) {
        const ThreadSlot *speaker = target->speaker, *leader = target->leader, *status;
        const BatchProcess *process = target->process;
        const ThreadSample *sample = &speaker->sample;
        ThreadSlot room;

        room.has_library_code = room.is_nested = false;
        status = find_status(reader, target, &room);
        target->is_nested = status && status->is_nested;
        target->key = (HeapProcessKey){
                .tgid = (uint64_t) process->tgid,
                .start_stack = speaker->start_stack,
                .library_code = status ? status->library_code : 0,
        };
        if (sample->has_exe) {
                target->key.exe_dev = sample->exe_dev;
                target->key.exe_inode = sample->exe_inode;
        }
        if (leader && leader->kept)
                target->key.start_ticks = leader->sample.start_ticks;
        else if (process->is_split && process->has_leader)
                target->key.start_ticks = process->start_ticks;
        target->has_key = status && status->has_library_code && target->key.start_ticks != 0;
}

/*
 * Whether what was read is of the process that the slots are of: a thread that was there before is
 * still there, in the same address space. NONE, PID_MISSING, IDENTITY_CHANGED.
 */
static HeapFailure confirm(HeapReader *reader, const HeapTarget *target) {
        Scene *scene = reader->bench.scene;
        ProcStat now;
        size_t n;

        for (size_t i = 0; i < target->process->n; i++) {
                ThreadSlot *slot = &target->slots[i];

                if (!is_living(slot) || scene_open_thread(scene, target->process, slot) != 0 ||
                    procfs_read(slot->fd, "stat", scene->file, sizeof(scene->file), &n) != 0 ||
                    proc_stat_parse((Span){ scene->file, n }, &now) != 0 || now.state == 'Z' ||
                    now.state == 'X')
                        continue;
                return now.starttime == slot->sample.start_ticks &&
                                       now.start_stack == slot->start_stack
                               ? HEAP_FAILURE_NONE
                               : HEAP_FAILURE_IDENTITY_CHANGED;
        }
        return HEAP_FAILURE_PID_MISSING;
}

/* plans */

static bool recall(HeapReader *reader, const HeapTarget *target, HeapExamination *ret) {
        HeapProcess known;

        if (!target->has_key ||
            !heap_cache_find_process(heap_cache(reader->bench.heap), &target->key, &known) ||
            known.verdict >= _HEAP_VERDICT_MAX || known.n_plans > HEAP_CACHE_MAX_PLANS)
                return false;
        *ret = (HeapExamination){
                .failure = heap_failure_of_verdict((HeapVerdict) known.verdict),
                .verdict = (HeapVerdict) known.verdict,
                .n_plans = known.verdict == HEAP_READY ? known.n_plans : 0,
                .geometry = known.geometry,
        };
        for (size_t i = 0; i < ret->n_plans; i++) {
                if (!heap_plan_is_valid(&known.plans[i]))
                        return false;
                ret->plans[i] = known.plans[i];
        }
        return true;
}

static void keep(HeapReader *reader, const HeapTarget *target, const HeapExamination *examination) {
        HeapProcess process = {
                .key = target->key,
                .verdict = examination->verdict,
                .n_plans = (uint32_t) examination->n_plans,
                .geometry = examination->geometry,
        };
        int r;

        if (!target->has_key || !examination->is_lasting ||
            examination->n_plans > HEAP_CACHE_MAX_PLANS)
                return;
        for (size_t i = 0; i < examination->n_plans; i++)
                process.plans[i] = examination->plans[i];
        r = heap_cache_put_process(heap_cache(reader->bench.heap), &process);
        if (r < 0)
                reader->bench.scene->error = r;
}

/* threads */

static void put_requests(CounterRequest *request, const HeapTarget *target,
                         const HeapExamination *examination) {
        request->geometry = examination->geometry;
        request->n_plans = examination->n_plans;
        for (size_t i = 0; i < examination->n_plans; i++)
                request->plans[i] = examination->plans[i];
        request->n = 0;
        for (size_t i = 0; i < target->process->n; i++) {
                const ThreadSlot *slot = &target->slots[i];

                if (is_living(slot))
                        request->threads[request->n++] = (ThreadCounters){
                                .tid = slot->tid,
                                .number = target->is_nested ? 0 : slot->tid,
                                .pointer = slot->thread_pointer,
                        };
        }
}

/* The number that a thread has in its own pid namespace; 0 when that cannot be told. */
static pid_t find_number(HeapReader *reader, const HeapTarget *target, ThreadSlot *slot) {
        Scene *scene = reader->bench.scene;
        Span key, value, word;
        uint32_t number = 0;
        Cursor lines, words;
        size_t n;

        if (scene_open_thread(scene, target->process, slot) != 0 ||
            procfs_read(slot->fd, "status", scene->file, sizeof(scene->file), &n) != 0)
                return 0;
        lines = cursor_over((Span){ scene->file, n });
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
static bool add_numbers(HeapReader *reader, const HeapTarget *target, CounterRequest *request) {
        bool has_more = false;
        size_t at = 0;

        for (size_t i = 0; i < target->process->n && target->is_nested; i++) {
                ThreadSlot *slot = &target->slots[i];
                ThreadCounters *thread;

                if (!is_living(slot))
                        continue;
                thread = &request->threads[at++];
                if (thread->failure != HEAP_FAILURE_NO_THREAD_POINTER || thread->pointer == 0 ||
                    slot->is_kernel_worker)
                        continue;
                thread->number = find_number(reader, target, slot);
                has_more |= thread->number != 0;
        }
        return has_more;
}

static HeapFailure run_counters(HeapReader *reader) {
        return heap_bench_run(&reader->bench, HEAP_WORK_COUNTERS,
                              heap_patience_ns(reader->bench.heap, true));
}

static HeapFailure read_counters(HeapReader *reader, const HeapTarget *target,
                                 CounterRequest *request) {
        HeapFailure failure = run_counters(reader);

        if (failure == HEAP_FAILURE_NONE && add_numbers(reader, target, request))
                failure = run_counters(reader);
        return failure;
}

/*
 * Counters are found by a thread's number, which another thread of its process may have by now. Its
 * directory is its own, and is empty when it has exited.
 */
static bool is_still_there(Scene *scene, const BatchProcess *process, ThreadSlot *slot) {
        struct statx file;

        return scene_open_thread(scene, process, slot) == 0 &&
               statx(slot->fd, "stat", AT_STATX_DONT_SYNC, 0, &file) == 0;
}

static void take_counters(HeapReader *reader, const HeapTarget *target,
                          const CounterRequest *request) {
        size_t at = 0;

        for (size_t i = 0; i < target->process->n && at < request->n; i++) {
                ThreadSlot *slot = &target->slots[i];
                const ThreadCounters *counters = &request->threads[at];
                HeapFailure failure;

                if (!is_living(slot))
                        continue;
                at++;
                if (counters->failure == HEAP_FAILURE_NO_THREAD_POINTER && slot->is_kernel_worker)
                        continue; /* it has no counters */
                failure = counters->failure;
                if (failure == HEAP_FAILURE_NONE &&
                    !is_still_there(reader->bench.scene, target->process, slot))
                        failure = HEAP_FAILURE_THREAD_EXITED;
                if (failure != HEAP_FAILURE_NONE) {
                        note_failure(slot, failure);
                        count_failure(reader, failure);
                        continue;
                }
                thread_sample_put(&slot->sample, METRIC_allocated_bytes, counters->allocated);
                thread_sample_put(&slot->sample, METRIC_deallocated_bytes, counters->deallocated);
                thread_slot_note(slot, SOURCE_JEMALLOC, SOURCE_OUTCOME_ok);
                reader->summary.n_ok++;
        }
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
static bool read_threads(HeapReader *reader, const HeapTarget *target, HeapExamination *examination,
                         bool is_recalled) {
        HeapWork *work = heap_bench_work(&reader->bench);
        HeapFailure failure = work ? HEAP_FAILURE_NONE : HEAP_FAILURE_MAPS_READ;

        if (work) {
                put_requests(&work->counters, target, examination);
                failure = read_counters(reader, target, &work->counters);
        }
        if (failure == HEAP_FAILURE_NONE)
                failure = confirm(reader, target);
        if (failure != HEAP_FAILURE_NONE) {
                fail_process(reader, target, failure);
                return true;
        }
        if (is_recalled && is_in_vain(&work->counters))
                return false;
        examination->geometry = work->counters.geometry;
        reader->summary.n_detected += target->leader != NULL;
        take_counters(reader, target, &work->counters);
        return true;
}

static void examine_and_read(HeapReader *reader, const HeapTarget *target) {
        HeapExamination examination;

        heap_examine(&reader->bench, &reader->table, &reader->own, target->speaker, &examination);
        if (examination.failure != HEAP_FAILURE_NONE) {
                /* Something may be missing because the process is no more. */
                HeapFailure identity = confirm(reader, target);

                fail_process(reader, target,
                             identity != HEAP_FAILURE_NONE ? identity : examination.failure);
        } else if (examination.n_plans > 0)
                (void) read_threads(reader, target, &examination, false);
        keep(reader, target, &examination);
}

/* the step */

/* Whether this user may read the process at all, tried on one thread. */
static void try_process(HeapReader *reader, const HeapTarget *target) {
        uint64_t patience_ns = heap_patience_ns(reader->bench.heap, true);
        HeapWork *work = heap_bench_work(&reader->bench);
        HeapFailure failure = HEAP_FAILURE_MAPS_READ;

        if (work) {
                work->dir_fd = target->speaker->fd;
                failure = heap_bench_run(&reader->bench, HEAP_WORK_LIST, patience_ns);
        }
        if (failure == HEAP_FAILURE_NONE && work->list_result == TEXT_E_DENIED)
                failure = HEAP_FAILURE_PERMISSION;
        if (failure == HEAP_FAILURE_NONE && work->list.n_pieces > 0) {
                const ModulePiece *piece = &work->list.pieces[0];

                work->tid = target->speaker->tid;
                work->ranges[0] = (WordRange){ piece->start, work->words[0], 1, false };
                work->n_ranges = 1;
                failure = heap_bench_run(&reader->bench, HEAP_WORK_WORDS, patience_ns);
                if (failure == HEAP_FAILURE_NONE && work->words_result == TEXT_E_DENIED)
                        failure = HEAP_FAILURE_PERMISSION;
        }
        if (failure != HEAP_FAILURE_NONE) {
                fail_process(reader, target, failure);
                return;
        }
        for (size_t i = 0; i < target->process->n; i++)
                if (is_living(&target->slots[i]))
                        thread_slot_note(&target->slots[i], SOURCE_JEMALLOC, SOURCE_OUTCOME_ok);
}

void heap_reader_read(HeapReader *reader, const BatchProcess *process) {
        Scene *scene = reader->bench.scene;
        HeapTarget target = {
                .process = process,
                .slots = scene_threads(scene, process),
                .leader = scene_find_leader(scene, process),
        };
        HeapExamination known;
        bool is_trial, is_known;

        if (heap_state(reader->bench.heap) != HEAP_STATE_READING)
                return;
        target.speaker = find_speaker(&target);
        if (target.speaker &&
            capture_host_owns(scene->host, process->tgid, &target.speaker->sample))
                return;
        reader->summary.n_walked += target.leader != NULL;
        if (!target.speaker)
                return;
        /* The kernel shows its stack only to those who may read its map. */
        if (target.speaker->start_stack == 0) {
                fail_process(reader, &target, HEAP_FAILURE_PERMISSION);
                return;
        }
        is_trial = heap_is_trial(reader->bench.heap);
        if (!is_trial)
                make_key(reader, &target);
        is_known = !is_trial && recall(reader, &target, &known);
        /* Of most processes nothing is to be read, and the backend has told what it takes. */
        if (is_known && known.n_plans == 0) {
                if (known.failure != HEAP_FAILURE_NONE)
                        fail_process(reader, &target, known.failure);
                return;
        }
        if (scene_open_thread(scene, process, target.speaker) != 0)
                fail_process(reader, &target, HEAP_FAILURE_PID_MISSING);
        else if (is_trial)
                try_process(reader, &target);
        else if (!is_known || !read_threads(reader, &target, &known, true))
                examine_and_read(reader, &target);
}
