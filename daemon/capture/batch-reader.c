/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch-reader.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/cgroups.h"
#include "capture/scene/process-memory.h"
#include "snapshot/thread-column.h"

struct BatchReader {
        const Backend *backend; /* borrowed */
        void *threads;          /* owned: the backend's */
        Scene *scene;           /* owned */
        CgroupSet cgroups;
        RollupBudget *smaps; /* borrowed */
        HeapReader *heap;    /* owned */
        HeapSummary heap_summary;
        TextPlace rollups[BATCH_MAX_THREADS]; /* of the batch's processes */
        CommandPlace places[BATCH_MAX_THREADS];
};

int batch_reader_new(const Backend *backend, const CaptureHost *host, RollupBudget *smaps,
                     Heap *heap, BatchReader **ret) {
        _cleanup_(batch_reader_freep) BatchReader *reader = calloc(1, sizeof(*reader));
        int r;

        if (!reader)
                return -ENOMEM;
        reader->backend = backend;
        reader->smaps = smaps;
        r = scene_new(host, &reader->scene);
        if (r == 0)
                r = backend->reader_new(reader->scene, &reader->threads);
        if (r == 0)
                r = heap_reader_new(heap, reader->scene, &reader->heap_summary, &reader->heap);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(reader);
        return 0;
}

void batch_reader_close(BatchReader *reader) {
        reader->backend->reader_free(TAKE_PTR(reader->threads));
}

BatchReader *batch_reader_free(BatchReader *reader) {
        if (!reader)
                return NULL;
        batch_reader_close(reader);
        free(reader->heap);
        reader->scene = scene_free(reader->scene);
        cgroup_set_done(&reader->cgroups);
        free(reader);
        return NULL;
}

/* Makes rows of the threads of process @number that are kept. */
static void finish_process(BatchReader *reader, size_t number) {
        Scene *scene = reader->scene;
        BatchProcess *process = &scene->batch->processes[number];
        const CommandPlace *place = &reader->places[number];
        TextPlace smaps = reader->rollups[number];
        ThreadSlot *slots = &scene->slots[process->first];
        const ThreadSlot *leader = scene_find_leader(scene, process);
        Buffer *rows = &scene->batch->rows;
        Span pcomm = { NULL, 0 };

        reader->backend->confirm(reader->threads, process);
        if (scene->host->heard_exits)
                scene_leave_zombies_out(scene, process);

        if (process->has_leader && (process->is_split || !leader))
                pcomm = (Span){ process->name, process->n_name };
        else if (!process->is_split && leader)
                pcomm = scene_text(scene, leader->comm);
        for (size_t i = 0; i < process->n && scene->error == 0; i++) {
                ThreadSlot *slot = &slots[i];
                ThreadSample *sample = &slot->sample;
                bool is_leader = slot->tid == process->tgid;
                CgroupEntry *entry;

                /* Readings of a thread that vanished are lost and count as vanished. */
                for (unsigned id = 0; id < _SOURCE_MAX; id++)
                        if (slot->outcomes[id] != 0)
                                scene->tally.counts[id][slot->vanished ? SOURCE_OUTCOME_vanished
                                                                       : slot->outcomes[id] - 1]++;
                if (!slot->kept)
                        continue;
                if (is_leader && slot->num_threads != 0)
                        thread_sample_put(sample, METRIC_nr_threads, slot->num_threads);
                sample->tgid = process->tgid;
                sample->self = capture_host_owns(scene->host, process->tgid, sample);
                sample->comm = scene_text(scene, slot->comm);
                sample->cpus = scene_text(scene, slot->cpus);
                sample->cgroup = scene_text(scene, slot->cgroup);
                sample->pcomm = pcomm;
                sample->command = scene_text(scene, place->command);
                sample->command_line = scene_text(scene, place->line);
                if (rows->n > 0)
                        (void) buffer_append_byte(rows, ',');
                /* It also returns a failure of the comma. */
                scene->error = thread_row_encode(
                        rows, sample, is_leader ? scene_text(scene, smaps) : (Span){ NULL, 0 });
                if (scene->error == 0 && sample->cgroup.bytes) {
                        scene->error = cgroup_set_add(&reader->cgroups, sample->cgroup, &entry);
                        if (scene->error == 0)
                                entry->inhabited = true;
                }
                process->n_kept++;
                scene->tally.n_threads++;
        }
}

void batch_reader_read(BatchReader *reader, Batch *batch) {
        Scene *scene = reader->scene;

        scene_begin(scene, batch);
        reader->backend->read(reader->threads);
        /*
         * These steps read more of a process than the backend did. The ones that can disturb the
         * process come last, and what is asked of another job is asked of the whole batch then.
         */
        for (size_t i = 0; i < batch->n_processes && scene->error == 0; i++) {
                const BatchProcess *process = &batch->processes[i];

                cgroups_read_membership(scene, process, &reader->cgroups);
                process_memory_read(scene, process);
                reader->rollups[i] = rollup_read(reader->smaps, scene, process);
                heap_reader_add(reader->heap, process, &reader->places[i]);
        }
        heap_reader_read(reader->heap);
        for (size_t i = 0; i < batch->n_processes && scene->error == 0; i++)
                finish_process(reader, i);
        scene_end(scene);
}

int batch_reader_merge(const BatchReader *reader, Tally *tally, Heap *heap, CgroupSet *cgroups) {
        heap_summary_merge(&heap->summary, &reader->heap_summary);
        tally_merge(tally, &reader->scene->tally);
        return cgroup_set_merge(cgroups, &reader->cgroups);
}
