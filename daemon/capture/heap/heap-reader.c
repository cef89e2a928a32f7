/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/scene/process-memory.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"

/* One process, as far as it is in this batch. */
typedef struct HeapTarget {
        const BatchProcess *process;
        ThreadSlot *slots;
        ThreadSlot *leader;         /* NULL: in another batch, which counts the process */
        ThreadSlot *representative; /* a living thread, to reach the process by */
        bool is_nested;
        bool has_key, is_recalled;
        HeapProcessKey key;
        HeapProcess known; /* when it is recalled */
} HeapTarget;

struct HeapReader {
        Heap *heap;
        Scene *scene;
        HeapSummary *summary;
        /* Process number i of the question is target number i. */
        HeapTarget targets[BATCH_MAX_THREADS];
        HeapAsked asked;
        MemoryAnswered answer;
};

int heap_reader_new(Heap *heap, Scene *scene, HeapSummary *summary, HeapReader **ret) {
        HeapReader *reader = calloc(1, sizeof(*reader));

        if (!reader)
                return -ENOMEM;
        reader->heap = heap;
        reader->scene = scene;
        reader->summary = summary;
        *ret = reader;
        return 0;
}

/* counts */

/* None of the process's threads can be read. */
static void fail_process(HeapReader *reader, const HeapTarget *target, HeapFailure failure) {
        for (size_t i = 0; i < target->process->n; i++)
                if (thread_slot_is_living(&target->slots[i]))
                        thread_slot_note(&target->slots[i], SOURCE_JEMALLOC,
                                         heap_failures[failure].outcome);
        if (target->leader)
                reader->summary->failures[failure]++;
        else
                reader->summary->parts[failure]++;
}

/* identity */

/* Without the leader's start time the process cannot be recognised later. */
static void make_key(HeapReader *reader, HeapTarget *target) {
        const ThreadSlot *leader = target->leader;
        const BatchProcess *process = target->process;
        ThreadSlot *representative = target->representative;
        const ThreadSample *sample = &representative->sample;
        Scene *scene = reader->scene;
        bool has_library_code = true;
        ProcStatus status;
        size_t n;

        target->key = (HeapProcessKey){
                .tgid = (uint64_t) process->tgid,
                .start_stack = representative->start_stack,
        };
        /* Whichever of its threads status was read of, it tells this of the process. */
        if (leader && leader->has_library_code) {
                target->key.library_code = leader->library_code;
                target->is_nested = leader->is_nested;
        } else if (representative->has_library_code) {
                target->key.library_code = representative->library_code;
                target->is_nested = representative->is_nested;
        } else if (scene_open_thread(scene, process, representative) == 0 &&
                   text_file_read(representative->fd, "status", scene->file, sizeof(scene->file),
                                  &n) == 0) {
                (void) !proc_status_parse((Span){ scene->file, n }, &status);
                has_library_code = status.has_library_code;
                target->key.library_code = status.library_code;
                target->is_nested = status.has_n_namespaces && status.n_namespaces > 1;
        } else
                has_library_code = false;
        if (sample->has_exe) {
                target->key.exe_dev = sample->exe_dev;
                target->key.exe_inode = sample->exe_inode;
        }
        if (leader && leader->kept)
                target->key.start_ticks = leader->sample.start_ticks;
        else if (process->is_split && process->has_leader)
                target->key.start_ticks = process->start_ticks;
        target->has_key = has_library_code && target->key.start_ticks != 0;
}

/*
 * Checks that the process which was read is the one that the slots are of: a thread that was there
 * before is still there, in the same address space. NONE, PID_MISSING, IDENTITY_CHANGED.
 */
static HeapFailure confirm(HeapReader *reader, const HeapTarget *target) {
        Scene *scene = reader->scene;
        ProcStat now;
        Span text;

        for (size_t i = 0; i < target->process->n; i++) {
                ThreadSlot *slot = &target->slots[i];
                BlockingQuestion file = { .owner = slot->owner, .name = "stat" };

                if (!thread_slot_is_living(slot) ||
                    scene_open_thread(scene, target->process, slot) != 0)
                        continue;
                file.dir_fd = slot->fd;
                if (blocking_file_read(&scene->blocking, &file, BLOCKING_FILE_LEAST_NS, NULL,
                                       &text) != 0 ||
                    proc_stat_parse(text, &now) != 0 || now.state == 'Z' || now.state == 'X')
                        continue;
                return now.starttime == slot->sample.start_ticks &&
                                       now.start_stack == slot->start_stack
                               ? HEAP_FAILURE_NONE
                               : HEAP_FAILURE_IDENTITY_CHANGED;
        }
        return HEAP_FAILURE_PID_MISSING;
}

/* threads */

static void take_counters(HeapReader *reader, const HeapTarget *target,
                          const HeapAnsweredThread *answers) {
        size_t at = 0;

        for (size_t i = 0; i < target->process->n; i++) {
                ThreadSlot *slot = &target->slots[i];
                HeapFailure failure;
                struct statx file;

                if (!thread_slot_is_living(slot))
                        continue;
                failure = (HeapFailure) answers[at].failure;
                if (failure == HEAP_FAILURE_NO_THREAD_POINTER && slot->is_kernel_worker) {
                        at++;
                        continue; /* it has no counters */
                }
                /*
                 * Counters are found by a thread's number, which another thread of its process may
                 * have by now. Its directory is its own, and is empty when it has exited.
                 */
                if (failure == HEAP_FAILURE_NONE &&
                    (scene_open_thread(reader->scene, target->process, slot) != 0 ||
                     statx(slot->fd, "stat", AT_STATX_DONT_SYNC, 0, &file) != 0))
                        failure = HEAP_FAILURE_THREAD_EXITED;
                if (failure != HEAP_FAILURE_NONE) {
                        thread_slot_note(slot, SOURCE_JEMALLOC, heap_failures[failure].outcome);
                        reader->summary->failures[failure]++;
                } else {
                        thread_sample_put(&slot->sample, METRIC_allocated_bytes,
                                          answers[at].allocated);
                        thread_sample_put(&slot->sample, METRIC_deallocated_bytes,
                                          answers[at].deallocated);
                        thread_slot_note(slot, SOURCE_JEMALLOC, SOURCE_OUTCOME_ok);
                        reader->summary->n_ok++;
                }
                at++;
        }
}

/* the question */

static MemoryLife find_life(const HeapTarget *target) {
        return (MemoryLife){
                .start_ticks = target->key.start_ticks,
                .tgid = (uint32_t) target->process->tgid,
                .tid = (uint32_t) target->representative->tid,
                .owner = target->representative->owner,
        };
}

static void try_process(HeapReader *reader, const HeapTarget *target) {
        const MemoryLife life = find_life(target);
        const MemoryTrial *trial = &reader->answer.TRIAL;
        bool is_answered = heap_ask(reader->heap, MEMORY_QUESTION_TRIAL, &life, sizeof(life),
                                    &reader->answer, sizeof(*trial)) &&
                           trial->failure <= HEAP_FAILURE_NONE;

        if (!is_answered || trial->failure != HEAP_FAILURE_NONE) {
                fail_process(reader, target,
                             is_answered ? (HeapFailure) trial->failure : HEAP_FAILURE_MEMORY_JOB);
                return;
        }
        for (size_t i = 0; i < target->process->n; i++)
                if (thread_slot_is_living(&target->slots[i]))
                        thread_slot_note(&target->slots[i], SOURCE_JEMALLOC, SOURCE_OUTCOME_ok);
}

void heap_reader_add(HeapReader *reader, const BatchProcess *process) {
        Scene *scene = reader->scene;
        HeapTarget target = {
                .process = process,
                .slots = &scene->slots[process->first],
                .leader = process->leader,
        };
        const HeapFindings *found = &target.known.found;
        HeapAsked *asked = &reader->asked;
        HeapAskedProcess *question;

        if (reader->heap->state != HEAP_STATE_READING)
                return;
        target.representative = scene_find_representative(scene, process);
        if (target.representative &&
            capture_host_owns(scene->host, process->tgid, &target.representative->sample))
                return;
        reader->summary->n_walked += target.leader != NULL;
        if (!target.representative)
                return;
        /* The kernel shows its stack only to those who may read its map. */
        if (target.representative->start_stack == 0) {
                fail_process(reader, &target, HEAP_FAILURE_PERMISSION);
                return;
        }
        if (reader->heap->options.is_trial) {
                try_process(reader, &target);
                return;
        }
        make_key(reader, &target);
        target.is_recalled =
                target.has_key &&
                heap_cache_find_process(reader->heap->cache, &target.key, &target.known) &&
                found->verdict <= _HEAP_VERDICT_MAX && found->n_plans <= HEAP_CACHE_MAX_PLANS;
        /*
         * Most processes have nothing to read, and the backend has told what shows that: there is
         * no more to know of them for as long as they stay what they are.
         */
        if (target.is_recalled && found->verdict != HEAP_READY &&
            found->verdict != _HEAP_VERDICT_MAX) {
                HeapFailure failure = heap_failure_of_verdict((HeapVerdict) found->verdict);

                if (failure != HEAP_FAILURE_NONE)
                        fail_process(reader, &target, failure);
                return;
        }
        question = &asked->processes[asked->n_processes];
        *question = (HeapAskedProcess){
                .life = find_life(&target),
                .first = asked->n_threads,
                .is_nested = target.is_nested,
                .known.verdict = _HEAP_VERDICT_MAX,
        };
        if (target.is_recalled) {
                question->was_slow = (uint32_t) target.known.was_slow;
                question->known = *found;
        }
        for (size_t i = 0; i < process->n; i++) {
                const ThreadSlot *slot = &target.slots[i];

                if (thread_slot_is_living(slot))
                        asked->threads[asked->n_threads++] = (HeapAskedThread){
                                .pointer = slot->thread_pointer,
                                .tid = (uint32_t) slot->tid,
                                .is_kernel_worker = slot->is_kernel_worker,
                        };
        }
        question->n = asked->n_threads - question->first;
        reader->targets[asked->n_processes++] = target;
}

/* the answer */

/* The memory job reads what everybody can write, and may have been taken over. */
static bool is_valid(const HeapAnsweredProcess *answer, const HeapAnsweredThread *answers,
                     size_t n) {
        const HeapFindings *found = &answer->found;

        if (answer->failure > HEAP_FAILURE_NONE || answer->is_slow > 1 ||
            found->verdict > _HEAP_VERDICT_MAX || found->n_plans > HEAP_CACHE_MAX_PLANS ||
            (answer->is_lasting && found->verdict == _HEAP_VERDICT_MAX))
                return false;
        for (size_t i = 0; i < found->n_plans; i++)
                if (!heap_plan_is_valid(&found->plans[i]))
                        return false;
        for (size_t i = 0; i < n; i++)
                if (answers[i].failure > HEAP_FAILURE_NONE)
                        return false;
        return true;
}

static void take_answer(HeapReader *reader, const HeapTarget *target,
                        const HeapAnsweredProcess *answer, const HeapAnsweredThread *answers) {
        HeapFailure failure = (HeapFailure) answer->failure, identity = HEAP_FAILURE_NONE;
        bool is_tried = failure != HEAP_FAILURE_TIME_BUDGET && failure != HEAP_FAILURE_HUNG &&
                        failure != HEAP_FAILURE_OWNER_HUNG;
        HeapProcess process = { .key = target->key, .found.verdict = _HEAP_VERDICT_MAX };
        int r;

        /* Something may be missing because the process is no more. */
        if (is_tried && (failure != HEAP_FAILURE_NONE || answer->was_read))
                identity = confirm(reader, target);
        if (identity != HEAP_FAILURE_NONE)
                failure = identity;
        if (failure != HEAP_FAILURE_NONE)
                fail_process(reader, target, failure);
        else if (answer->was_read) {
                reader->summary->n_detected += target->leader != NULL;
                take_counters(reader, target, answers);
        }
        if (target->is_recalled)
                process = target->known;
        if (identity != HEAP_FAILURE_NONE || !target->has_key ||
            (!answer->is_lasting && process.was_slow == answer->is_slow))
                return;
        process.was_slow = answer->is_slow;
        if (answer->is_lasting)
                process.found = answer->found;
        r = heap_cache_put_process(reader->heap->cache, &process);
        if (r < 0)
                reader->scene->error = r;
}

void heap_reader_read(HeapReader *reader) {
        HeapAsked *asked = &reader->asked;
        const HeapAnswered *answer = &reader->answer.HEAP;
        bool is_answered = asked->n_processes > 0 &&
                           heap_ask(reader->heap, MEMORY_QUESTION_HEAP, asked,
                                    heap_asked_bytes(asked->n_processes), &reader->answer,
                                    heap_answered_bytes(asked->n_processes));

        for (size_t i = 0; i < asked->n_processes; i++) {
                const HeapAskedProcess *process = &asked->processes[i];
                const HeapAnsweredThread *answers = &answer->threads[process->first];

                if (is_answered && is_valid(&answer->processes[i], answers, process->n))
                        take_answer(reader, &reader->targets[i], &answer->processes[i], answers);
                else
                        fail_process(reader, &reader->targets[i], HEAP_FAILURE_MEMORY_JOB);
        }
        asked->n_processes = asked->n_threads = 0;
}
