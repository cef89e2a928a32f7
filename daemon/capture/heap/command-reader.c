/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/command-reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One process that has to be asked about. */
typedef struct CommandTarget {
        CommandKey key;
        ThreadSlot *leader; /* NULL: in another batch, which counts the process */
        CommandPlace *place;
} CommandTarget;

struct CommandReader {
        Heap *heap;
        Scene *scene;
        CommandLines lines;
        HeapSummary *summary;
        /* Process number i of the question is target number i. */
        CommandTarget targets[BATCH_MAX_THREADS];
        CommandsAsked asked;
        MemoryAnswered answer;
};

int command_reader_new(Heap *heap, Scene *scene, HeapSummary *summary, CommandReader **ret) {
        CommandReader *reader = calloc(1, sizeof(*reader));

        if (!reader)
                return -ENOMEM;
        reader->heap = heap;
        reader->scene = scene;
        reader->summary = summary;
        reader->lines = heap->commands;
        reader->asked.lines = reader->lines;
        *ret = reader;
        return 0;
}

static void take(CommandReader *reader, ThreadSlot *leader, CommandPlace *place,
                 const ProcessCommand *command) {
        if (command->n_command > 0)
                place->command = scene_add_text(reader->scene,
                                                (Span){ command->command, command->n_command });
        if (command->n_line > 0)
                place->line =
                        scene_add_text(reader->scene, (Span){ command->line, command->n_line });
        if (leader)
                thread_slot_note(leader, SOURCE_CMDLINE, SOURCE_OUTCOME_ok);
}

static void fail(CommandReader *reader, ThreadSlot *leader, HeapFailure failure) {
        if (!leader)
                return;
        thread_slot_note(leader, SOURCE_CMDLINE, heap_failures[failure].outcome);
        reader->summary->commands[failure]++;
}

void command_reader_add(CommandReader *reader, const BatchProcess *process, CommandPlace *ret) {
        Scene *scene = reader->scene;
        const ThreadSlot *representative;
        const ThreadSample *sample;
        ProcessCommand known;
        ThreadSlot *leader;
        CommandKey key;
        Span name = {};

        *ret = (CommandPlace){};
        if (reader->lines == COMMAND_LINES_NO)
                return;
        representative = scene_find_representative(scene, process);
        if (!representative ||
            capture_host_owns(scene->host, process->tgid, &representative->sample))
                return;
        leader = process->leader;
        if (leader && !leader->kept)
                leader = NULL;
        /*
         * Where nobody may see its address space, a process is known by its start and its names,
         * which it changes when it executes another program.
         */
        sample = &representative->sample;
        key = (CommandKey){
                .exe_dev = sample->has_exe ? sample->exe_dev : 0,
                .exe_inode = sample->has_exe ? sample->exe_inode : 0,
                .start_stack = representative->start_stack,
                .tgid = (uint64_t) process->tgid,
        };
        if (leader)
                key.start_ticks = leader->sample.start_ticks;
        else if (process->is_split && process->has_leader)
                key.start_ticks = process->start_ticks;
        if (process->is_split)
                name = (Span){ process->name, process->n_name };
        else if (leader)
                name = scene_text(scene, leader->comm);
        if (name.n > 0)
                memcpy(key.name, name.bytes, MIN_OF(name.n, sizeof(key.name)));
        if (key.start_ticks != 0 &&
            heap_cache_find_command(reader->heap->cache, &key, reader->lines, &known)) {
                take(reader, leader, ret, &known);
                return;
        }
        reader->targets[reader->asked.n] =
                (CommandTarget){ .key = key, .leader = leader, .place = ret };
        reader->asked.lives[reader->asked.n++] = (MemoryLife){
                .start_ticks = key.start_ticks,
                .tgid = (uint32_t) process->tgid,
                .tid = (uint32_t) representative->tid,
                .owner = representative->owner,
        };
}

/* The memory job reads what everybody can write, and may have been taken over. */
static bool is_command(const char *text, uint32_t n) {
        return n <= COMMAND_MAX_BYTES && (n == 0 || text[n - 1] == '\0');
}

void command_reader_read(CommandReader *reader) {
        CommandsAsked *asked = &reader->asked;
        size_t n = asked->n;
        bool is_answered = n > 0 && heap_ask(reader->heap, MEMORY_QUESTION_COMMANDS, asked,
                                             commands_asked_bytes(n), &reader->answer,
                                             commands_answered_bytes(n));

        for (size_t i = 0; i < n; i++) {
                const AnsweredCommand *answer = &reader->answer.COMMANDS.commands[i];
                CommandTarget *target = &reader->targets[i];
                int r = 0;

                if (!is_answered || answer->failure > HEAP_FAILURE_NONE ||
                    !is_command(answer->command.command, answer->command.n_command) ||
                    !is_command(answer->command.line, answer->command.n_line)) {
                        fail(reader, target->leader, HEAP_FAILURE_MEMORY_JOB);
                } else if (answer->failure != HEAP_FAILURE_NONE) {
                        fail(reader, target->leader, (HeapFailure) answer->failure);
                } else {
                        take(reader, target->leader, target->place, &answer->command);
                        if (target->key.start_ticks != 0)
                                r = heap_cache_put_command(reader->heap->cache, &target->key,
                                                           reader->lines, &answer->command);
                }
                if (r < 0)
                        reader->scene->error = r;
        }
        asked->n = 0;
}
