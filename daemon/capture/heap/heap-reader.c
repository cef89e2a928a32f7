/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/batch/process-memory.h"
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

/* One process whose command has to be asked for. */
typedef struct CommandTarget {
        CommandKey key;
        ThreadSlot *leader; /* NULL: in another batch, which counts the process, or not kept */
        CommandPlace *place;
} CommandTarget;

struct HeapReader {
        Heap *heap;
        Readings *readings;
        HeapSummary *summary;
        /* Process number i of a question is target number i. */
        HeapTarget targets[BATCH_MAX_THREADS];
        HeapAsked asked;
        CommandTarget command_targets[BATCH_MAX_THREADS];
        CommandsAsked commands_asked;
        MemoryAnswered answer;
};

int heap_reader_new(Heap *heap, Readings *readings, HeapSummary *summary, HeapReader **ret) {
        HeapReader *reader = calloc(1, sizeof(*reader));

        if (!reader)
                return -ENOMEM;
        reader->heap = heap;
        reader->readings = readings;
        reader->summary = summary;
        reader->commands_asked.lines = heap->commands;
        *ret = reader;
        return 0;
}

/* processes */

static MemoryLife find_life(const HeapTarget *target) {
        return (MemoryLife){
                .start_ticks = target->key.start_ticks,
                .tgid = (uint32_t) target->process->tgid,
                .tid = (uint32_t) target->representative->tid,
                .owner = target->representative->owner,
        };
}

/*
 * Checks that the process which was read is the one that the slots are of: a thread that was there
 * before is still there, in the same address space. NONE, PID_MISSING, IDENTITY_CHANGED; or what
 * kept us from reading the last one that may be there.
 */
static HeapFailure confirm(HeapReader *reader, const HeapTarget *target) {
        HeapFailure failure = HEAP_FAILURE_PID_MISSING;
        Readings *readings = reader->readings;
        ProcStat now;
        Span text;
        int r;

        for (size_t i = 0; i < target->process->n; i++) {
                ThreadSlot *slot = &target->slots[i];
                BlockingQuestion file = { .owner = slot->owner, .name = "stat" };

                if (!thread_slot_is_living(slot))
                        continue;
                r = readings_open_thread(readings, target->process, slot);
                file.dir_fd = slot->fd;
                if (r == 0)
                        r = blocking_file_read(&readings->blocking, &file, BLOCKING_FILE_LEAST_NS,
                                               NULL, &text);
                if (r != 0) {
                        HeapFailure cause =
                                heap_failure_of_reading(r, HEAP_FAILURE_PROCESS_VM_READV);

                        if (cause != HEAP_FAILURE_PID_MISSING)
                                failure = cause;
                        continue;
                }
                if (proc_stat_parse(text, &now) != 0 || now.state == 'Z' || now.state == 'X')
                        continue;
                return now.starttime == slot->sample.start_ticks &&
                                       now.start_stack == slot->start_stack
                               ? HEAP_FAILURE_NONE
                               : HEAP_FAILURE_IDENTITY_CHANGED;
        }
        return failure;
}

/* counters */

/* Once a process. */
static void count_process(HeapReader *reader, const HeapTarget *target, HeapFailure failure) {
        if (target->leader)
                reader->summary->failures[failure]++;
        else
                reader->summary->parts[failure]++;
}

/* None of the process's threads can be read. */
static void fail_process(HeapReader *reader, const HeapTarget *target, HeapFailure failure) {
        for (size_t i = 0; i < target->process->n; i++)
                if (thread_slot_is_living(&target->slots[i]))
                        thread_slot_note(&target->slots[i], SOURCE_JEMALLOC,
                                         heap_failures[failure].outcome);
        count_process(reader, target, failure);
}

static void try_process(HeapReader *reader, const HeapTarget *target) {
        const MemoryLife life = find_life(target);
        HeapFailure failure = HEAP_FAILURE_MEMORY_JOB;

        if (heap_ask(reader->heap, MEMORY_QUESTION_TRIAL, &life, 1, &reader->answer) &&
            reader->answer.TRIAL <= HEAP_FAILURE_NONE)
                failure = (HeapFailure) reader->answer.TRIAL;
        if (failure != HEAP_FAILURE_NONE) {
                fail_process(reader, target, failure);
                return;
        }
        for (size_t i = 0; i < target->process->n; i++)
                if (thread_slot_is_living(&target->slots[i]))
                        thread_slot_note(&target->slots[i], SOURCE_JEMALLOC, SOURCE_OUTCOME_ok);
}

/* The bytes of code in libraries complete the key by which the process is recognised later. */
static void complete_key(HeapReader *reader, HeapTarget *target) {
        ThreadSlot *representative = target->representative, *slot = representative;
        Readings *readings = reader->readings;
        ProcStatus status;
        size_t n;

        /* Whichever of its threads status was read of, it tells this of the process. */
        if (target->leader && target->leader->has_library_code)
                slot = target->leader;
        if (slot->has_library_code) {
                target->has_key = true;
                target->key.library_code = slot->library_code;
                target->is_nested = slot->is_nested;
        } else if (readings_open_thread(readings, target->process, representative) == 0 &&
                   text_file_read(representative->fd, "status", readings->file,
                                  sizeof(readings->file), &n) == 0) {
                (void) !proc_status_parse((Span){ readings->file, n }, &status);
                target->has_key = status.has_library_code;
                target->key.library_code = status.library_code;
                target->is_nested = status.has_n_namespaces && status.n_namespaces > 1;
        }
        target->has_key &= target->key.start_ticks != 0;
}

/* The memory job and the cache have what everybody can write. */
static bool is_finding(const HeapFindings *found) {
        return (heap_verdict_is_of_file(found->verdict) || found->verdict == HEAP_NOT_SETTLED) &&
               found->n_plans <= HEAP_CACHE_MAX_PLANS;
}

static void add_counters(HeapReader *reader, HeapTarget *target) {
        const HeapFindings *found = &target->known.found;
        const BatchProcess *process = target->process;
        HeapAsked *asked = &reader->asked;
        HeapAskedProcess *question;

        /* The kernel shows its stack only to those who may read its map. */
        if (target->representative->start_stack == 0) {
                fail_process(reader, target, HEAP_FAILURE_PERMISSION);
                return;
        }
        if (reader->heap->options.is_trial) {
                try_process(reader, target);
                return;
        }
        complete_key(reader, target);
        target->is_recalled =
                target->has_key &&
                heap_cache_find_process(reader->heap->cache, &target->key, &target->known) &&
                is_finding(found);
        /*
         * Most processes have nothing to read, and the backend has told what shows that: there is
         * no more to know of them for as long as they stay what they are.
         */
        if (target->is_recalled && found->verdict != HEAP_FAILURE_NONE &&
            found->verdict != HEAP_NOT_SETTLED) {
                if (found->verdict != HEAP_NOT_JEMALLOC)
                        fail_process(reader, target, (HeapFailure) found->verdict);
                return;
        }
        question = &asked->processes[asked->n_processes];
        *question = (HeapAskedProcess){
                .life = find_life(target),
                .first = asked->n_threads,
                .is_nested = target->is_nested,
                .known.verdict = HEAP_NOT_SETTLED,
        };
        if (target->is_recalled) {
                question->was_slow = (uint32_t) target->known.was_slow;
                question->known = *found;
        }
        for (size_t i = 0; i < process->n; i++) {
                const ThreadSlot *slot = &target->slots[i];

                if (thread_slot_is_living(slot))
                        asked->threads[asked->n_threads++] = (ThreadCounters){
                                .pointer = slot->thread_pointer,
                                .tid = slot->tid,
                                .number = target->is_nested ? 0 : slot->tid,
                                .is_kernel_worker = slot->is_kernel_worker,
                        };
        }
        question->n = asked->n_threads - question->first;
        reader->targets[asked->n_processes++] = *target;
}

static bool is_valid(const HeapAnsweredProcess *answer, const ThreadCounters *answers, size_t n) {
        if (answer->failure > HEAP_FAILURE_NONE || answer->is_slow > 1 ||
            !is_finding(&answer->found))
                return false;
        for (size_t i = 0; i < answer->found.n_plans; i++)
                if (!heap_plan_is_valid(&answer->found.plans[i]))
                        return false;
        for (size_t i = 0; i < n; i++)
                if (answers[i].failure > HEAP_FAILURE_NONE)
                        return false;
        return true;
}

/*
 * Counters are found by a thread's number, which another thread of its process may have by now. Its
 * directory is its own, and is empty when it has exited.
 */
static HeapFailure confirm_thread(HeapReader *reader, const HeapTarget *target, ThreadSlot *slot) {
        int r = readings_open_thread(reader->readings, target->process, slot);
        HeapFailure failure = heap_failure_of_reading(r, HEAP_FAILURE_PROCESS_VM_READV);
        struct statx file;

        if (failure == HEAP_FAILURE_NONE &&
            statx(slot->fd, "stat", AT_STATX_DONT_SYNC, 0, &file) != 0)
                failure = HEAP_FAILURE_PID_MISSING;
        return failure == HEAP_FAILURE_PID_MISSING ? HEAP_FAILURE_THREAD_EXITED : failure;
}

static void take_counters(HeapReader *reader, const HeapTarget *target,
                          const ThreadCounters *answers) {
        bool was_late = false;
        size_t at = 0;

        for (size_t i = 0; i < target->process->n; i++) {
                ThreadSlot *slot = &target->slots[i];
                HeapFailure failure;

                if (!thread_slot_is_living(slot))
                        continue;
                failure = (HeapFailure) answers[at].failure;
                if (failure == HEAP_FAILURE_NO_THREAD_POINTER && slot->is_kernel_worker) {
                        at++;
                        continue; /* it has no counters */
                }
                if (failure == HEAP_FAILURE_NONE)
                        failure = confirm_thread(reader, target, slot);
                if (failure != HEAP_FAILURE_NONE) {
                        thread_slot_note(slot, SOURCE_JEMALLOC, heap_failures[failure].outcome);
                        if (failure != HEAP_FAILURE_TIMED_OUT)
                                reader->summary->failures[failure]++;
                        else if (!was_late)
                                count_process(reader, target, failure);
                        was_late |= failure == HEAP_FAILURE_TIMED_OUT;
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

static void take_answer(HeapReader *reader, const HeapTarget *target,
                        const HeapAnsweredProcess *answer, const ThreadCounters *answers) {
        HeapFailure failure = (HeapFailure) answer->failure, identity = HEAP_FAILURE_NONE;
        bool is_tried = failure != HEAP_FAILURE_TIME_BUDGET && failure != HEAP_FAILURE_HUNG &&
                        failure != HEAP_FAILURE_OWNER_HUNG;
        bool is_lasting = answer->found.verdict != HEAP_NOT_SETTLED;
        HeapProcess process = { .key = target->key, .found.verdict = HEAP_NOT_SETTLED };
        int r;

        /* Something may be missing because the process is no more. */
        if (is_tried && (failure != HEAP_FAILURE_NONE || answer->was_read))
                identity = confirm(reader, target);
        if (failure == HEAP_FAILURE_NONE ||
            (identity != HEAP_FAILURE_NONE &&
             heap_failures[identity].outcome == SOURCE_OUTCOME_vanished))
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
            (!is_lasting && process.was_slow == answer->is_slow))
                return;
        process.was_slow = answer->is_slow;
        if (is_lasting)
                process.found = answer->found;
        r = heap_cache_put_process(reader->heap->cache, &process);
        if (r < 0)
                reader->readings->error = r;
}

static void read_counters(HeapReader *reader) {
        const HeapAnswered *answer = &reader->answer.HEAP;
        HeapAsked *asked = &reader->asked;
        bool is_answered =
                asked->n_processes > 0 && heap_ask(reader->heap, MEMORY_QUESTION_HEAP, asked,
                                                   asked->n_processes, &reader->answer);

        for (size_t i = 0; i < asked->n_processes; i++) {
                const HeapAskedProcess *process = &asked->processes[i];
                const ThreadCounters *answers = &answer->threads[process->first];

                if (is_answered && is_valid(&answer->processes[i], answers, process->n))
                        take_answer(reader, &reader->targets[i], &answer->processes[i], answers);
                else
                        fail_process(reader, &reader->targets[i], HEAP_FAILURE_MEMORY_JOB);
        }
        asked->n_processes = asked->n_threads = 0;
}

/* commands */

static void take_command(HeapReader *reader, const CommandTarget *target,
                         const ProcessCommand *command) {
        if (command->n_command > 0)
                target->place->command = readings_add_text(
                        reader->readings, (Span){ command->command, command->n_command });
        if (command->n_line > 0)
                target->place->line = readings_add_text(reader->readings,
                                                        (Span){ command->line, command->n_line });
        if (target->leader)
                thread_slot_note(target->leader, SOURCE_CMDLINE, SOURCE_OUTCOME_ok);
}

static void add_command(HeapReader *reader, const HeapTarget *process, CommandPlace *ret) {
        CommandsAsked *asked = &reader->commands_asked;
        const BatchProcess *batch = process->process;
        CommandTarget target = {
                .leader = process->leader && process->leader->kept ? process->leader : NULL,
                .place = ret,
        };
        ProcessCommand known;
        Span name = {};

        /*
         * Where nobody may see its address space, a process is known by its start and its names,
         * which it changes when it executes another program.
         */
        target.key = (CommandKey){
                .start_ticks = process->key.start_ticks,
                .exe_dev = process->key.exe_dev,
                .exe_inode = process->key.exe_inode,
                .start_stack = process->key.start_stack,
                .tgid = process->key.tgid,
        };
        if (batch->is_split)
                name = (Span){ batch->name, batch->n_name };
        else if (target.leader)
                name = readings_text(reader->readings, target.leader->comm);
        if (name.n > 0)
                memcpy(target.key.name, name.bytes, MIN_OF(name.n, sizeof(target.key.name)));
        if (target.key.start_ticks != 0 &&
            heap_cache_find_command(reader->heap->cache, &target.key, reader->heap->commands,
                                    &known)) {
                take_command(reader, &target, &known);
                return;
        }
        reader->command_targets[asked->n] = target;
        asked->lives[asked->n++] = find_life(process);
}

/* As is_finding(). */
static bool is_text(const char *text, uint32_t n) {
        return n <= COMMAND_MAX_BYTES && (n == 0 || text[n - 1] == '\0');
}

static void read_commands(HeapReader *reader) {
        CommandsAsked *asked = &reader->commands_asked;
        bool is_answered = asked->n > 0 && heap_ask(reader->heap, MEMORY_QUESTION_COMMANDS, asked,
                                                    asked->n, &reader->answer);

        for (size_t i = 0; i < asked->n; i++) {
                const AnsweredCommand *answer = &reader->answer.COMMANDS[i];
                const CommandTarget *target = &reader->command_targets[i];
                HeapFailure failure = HEAP_FAILURE_MEMORY_JOB;
                int r = 0;

                if (is_answered && answer->failure <= HEAP_FAILURE_NONE &&
                    is_text(answer->command.command, answer->command.n_command) &&
                    is_text(answer->command.line, answer->command.n_line))
                        failure = (HeapFailure) answer->failure;
                if (failure == HEAP_FAILURE_NONE) {
                        take_command(reader, target, &answer->command);
                        if (target->key.start_ticks != 0)
                                r = heap_cache_put_command(reader->heap->cache, &target->key,
                                                           reader->heap->commands,
                                                           &answer->command);
                } else if (target->leader) {
                        thread_slot_note(target->leader, SOURCE_CMDLINE,
                                         heap_failures[failure].outcome);
                        reader->summary->commands[failure]++;
                }
                if (r < 0)
                        reader->readings->error = r;
        }
        asked->n = 0;
}

/* both */

void heap_reader_add(HeapReader *reader, const BatchProcess *process, CommandPlace *ret) {
        bool has_counters = !reader->heap->absence;
        bool has_commands = reader->heap->commands != COMMAND_LINES_NO;
        Readings *readings = reader->readings;
        const ThreadSlot *slot;
        HeapTarget target = {
                .process = process,
                .slots = &readings->slots[process->first],
                .leader = process->leader,
        };

        *ret = (CommandPlace){};
        if (!has_counters && !has_commands)
                return;
        slot = target.representative = readings_find_representative(readings, process);
        if (slot && capture_host_owns(readings->host, process->tgid, &slot->sample))
                return;
        if (has_counters)
                reader->summary->n_walked += target.leader != NULL;
        if (!slot)
                return;
        /* Without the leader's start time the process cannot be recognised later. */
        target.key = (HeapProcessKey){
                .exe_dev = slot->sample.has_exe ? slot->sample.exe_dev : 0,
                .exe_inode = slot->sample.has_exe ? slot->sample.exe_inode : 0,
                .start_stack = slot->start_stack,
                .tgid = (uint64_t) process->tgid,
        };
        if (target.leader && target.leader->kept)
                target.key.start_ticks = target.leader->sample.start_ticks;
        else if (process->is_split && process->has_leader)
                target.key.start_ticks = process->start_ticks;
        if (has_counters)
                add_counters(reader, &target);
        if (has_commands)
                add_command(reader, &target, ret);
}

void heap_reader_read(HeapReader *reader) {
        read_counters(reader);
        read_commands(reader);
}
