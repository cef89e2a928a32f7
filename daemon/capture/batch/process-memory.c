/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch/process-memory.h"

#include "kernel/procfs/procfs.h"

/* A backend puts all of these or none: one of them keeps status from being read. */
static const MetricId metrics[] = {
        METRIC_rss_anon_bytes,
        METRIC_rss_file_bytes,
        METRIC_rss_shmem_bytes,
        METRIC_swap_bytes,
};

ThreadSlot *process_memory_find(Readings *readings, const BatchProcess *process) {
        const ThreadSlot *leader = process->leader;

        if (!leader || !leader->kept || (!leader->has_space && !leader->is_zombie))
                return NULL;
        return readings_find_representative(readings, process);
}

void process_memory_put(ThreadSlot *slot, const ProcStatus *status) {
        ThreadSample *sample = &slot->sample;

        slot->has_library_code = status->has_library_code;
        slot->library_code = status->library_code;
        slot->is_nested = status->n_namespaces > 1;
        if (status->has_rss_anon)
                thread_sample_put(sample, METRIC_rss_anon_bytes, status->rss_anon);
        if (status->has_rss_file)
                thread_sample_put(sample, METRIC_rss_file_bytes, status->rss_file);
        if (status->has_rss_shmem)
                thread_sample_put(sample, METRIC_rss_shmem_bytes, status->rss_shmem);
        if (status->has_swap)
                thread_sample_put(sample, METRIC_swap_bytes, status->swap);
}

static bool has_some(const ThreadSample *sample) {
        for (size_t i = 0; i < ELEMENTSOF(metrics); i++)
                if (thread_sample_has(sample, metrics[i]))
                        return true;
        return false;
}

/*
 * All threads of a process share its memory and so its peak. The virtual size, which is exact, says
 * whether taskstats found that memory: its own peak of the resident size may still be 0.
 */
static void put_peak(Readings *readings, const BatchProcess *process, const ProcStatus *status) {
        ThreadSlot *slots = &readings->slots[process->first];

        for (size_t i = 0; i < process->n && status->has_rss_peak; i++)
                if (slots[i].kept && thread_sample_has(&slots[i].sample, METRIC_hiwater_vm_bytes))
                        thread_sample_put(&slots[i].sample, METRIC_hiwater_rss_bytes,
                                          status->rss_peak);
}

/* Reads the peak alone, for the further threads of a process that has too many for one batch. */
static void read_peak(Readings *readings, const BatchProcess *process) {
        ThreadSlot *slots = &readings->slots[process->first];
        ProcStatus status;
        size_t n;

        for (size_t i = 0; i < process->n; i++) {
                /* A slot whose thread has gone may have the sample of an earlier batch. */
                if (!slots[i].kept)
                        continue;
                if (has_some(&slots[i].sample))
                        return; /* what told of these told of the peak */
                if (!thread_sample_has(&slots[i].sample, METRIC_hiwater_vm_bytes) ||
                    readings_open_thread(readings, process, &slots[i]) != 0 ||
                    text_file_read(slots[i].fd, "status", readings->file, sizeof(readings->file),
                                   &n) != 0 ||
                    proc_status_parse((Span){ readings->file, n }, &status) != 0)
                        continue; /* it has ended: its siblings may have not */
                put_peak(readings, process, &status);
                return;
        }
}

void process_memory_read(Readings *readings, const BatchProcess *process) {
        ThreadSlot *holder = process_memory_find(readings, process);
        ThreadSlot *leader = process->leader;
        ThreadSlot *slots = &readings->slots[process->first];
        ProcStatus status;
        size_t n;
        int r;

        if (holder && has_some(&holder->sample)) {
                for (size_t i = 0; i < ELEMENTSOF(metrics); i++)
                        if (thread_sample_has(&holder->sample, metrics[i]))
                                thread_sample_put(&leader->sample, metrics[i],
                                                  thread_sample_get(&holder->sample, metrics[i]));
        } else if (holder && !readings->host->gates.has_file[SOURCE_STATUS])
                thread_slot_note(leader, SOURCE_STATUS, SOURCE_OUTCOME_unsupported);
        else if (holder) {
                /*
                 * That it fails, and why, is told of the leader, which will lack the counts. A
                 * leader that has gone meanwhile is dropped like any other thread that goes while
                 * it is being read.
                 */
                r = readings_open_thread(readings, process, holder);
                if (r == 0)
                        r = text_file_read(holder->fd, "status", readings->file,
                                           sizeof(readings->file), &n);
                if (r == 0) {
                        if (proc_status_parse((Span){ readings->file, n }, &status) != 0)
                                thread_slot_note(leader, SOURCE_STATUS, SOURCE_OUTCOME_malformed);
                        process_memory_put(leader, &status);
                        put_peak(readings, process, &status);
                } else {
                        thread_slot_note(leader, SOURCE_STATUS, text_file_outcome(r));
                        if (holder == leader && (r == TEXT_E_ABSENT || r == TEXT_E_VANISHED))
                                thread_slot_vanish(leader);
                }
        } else if (!leader)
                read_peak(readings, process);
        for (size_t i = 0; i < process->n; i++)
                for (size_t k = 0; &slots[i] != leader && k < ELEMENTSOF(metrics); k++)
                        thread_sample_drop(&slots[i].sample, metrics[k]);
}
