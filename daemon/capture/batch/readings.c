/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch/readings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/procfs/proc-task.h"

void readings_begin(Readings *readings, Batch *batch) {
        readings->batch = batch;
        for (size_t i = 0; i < batch->n_tids; i++) {
                ThreadSlot *slot = &readings->slots[i];

                /* The backend clears the sample of a thread that it could open. */
                memset(slot, 0, offsetof(ThreadSlot, sample));
                slot->tid = batch->tids[i];
                slot->fd = -EBADF;
        }
        for (size_t i = 0; i < batch->n_processes; i++) {
                BatchProcess *process = &batch->processes[i];

                for (size_t k = process->first; k < process->first + process->n; k++)
                        if (batch->tids[k] == process->tgid)
                                process->leader = &readings->slots[k];
        }
        buffer_clear(&readings->texts);
}

int readings_open_thread(Readings *readings, const BatchProcess *process, ThreadSlot *slot) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char path[64];
        ProcStat stat;
        Span text;
        int r;

        if (slot->fd >= 0)
                return 0;
        (void) snprintf(path, sizeof(path), "%d/task/%d", process->tgid, slot->tid);
        r = blocking_file_read(&readings->blocking,
                               &(BlockingQuestion){ .owner = slot->owner,
                                                    .dir_fd = readings->host->proc_fd,
                                                    .path = path,
                                                    .name = "stat" },
                               BLOCKING_FILE_LEAST_NS, &fd, &text);
        if (r != 0)
                return r;
        r = proc_stat_parse(text, &stat);
        if (!stat.has_identity)
                return r;
        if (stat.pid != slot->tid || stat.starttime != slot->sample.start_ticks)
                return TEXT_E_VANISHED;
        slot->fd = TAKE_FD(fd);
        return 0;
}

ThreadSlot *readings_find_representative(Readings *readings, const BatchProcess *process) {
        ThreadSlot *slots = &readings->slots[process->first];

        if (process->leader && thread_slot_is_living(process->leader))
                return process->leader;
        for (size_t i = 0; i < process->n; i++)
                if (thread_slot_is_living(&slots[i]))
                        return &slots[i];
        return NULL;
}

/*
 * The list is as old as the capture, and jobs may have begun since. Neither the name nor the
 * executable tells: everybody can give a process the one and run code of their own in the other.
 */
bool capture_host_owns(const CaptureHost *host, pid_t tgid, const ThreadSample *sample) {
        for (size_t i = 0; i < host->n_self_pids; i++)
                if (host->self_pids[i] == tgid)
                        return true;
        return host->main_pid > 0 && sample->has_ppid && sample->ppid == host->main_pid;
}

TextPlace readings_add_text(Readings *readings, Span text) {
        size_t at = readings->texts.n;

        if (buffer_append(&readings->texts, text.bytes, text.n) < 0) {
                readings->error = -ENOMEM;
                return (TextPlace){};
        }
        return (TextPlace){ .at = at, .n = text.n, .is_set = true };
}

void readings_leave_zombies_out(Readings *readings, const BatchProcess *process) {
        ThreadSlot *slots = &readings->slots[process->first];

        for (size_t i = 0; i < process->n; i++)
                if (slots[i].is_zombie) {
                        slots[i].kept = false;
                        /* Nothing of it is in the snapshot, so nothing was tried. */
                        memset(slots[i].outcomes, 0, sizeof(slots[i].outcomes));
                }
}

/* CPU masks */

void readings_put_affinity(Readings *readings, ThreadSlot *slot, size_t n_words) {
        Affinity *affinity = &readings->affinity;
        const unsigned long *mask = affinity->mask;
        size_t n_bytes = n_words * sizeof(*mask), n_chars = 0, n_cpus = 0;
        const char *text = affinity->long_text;
        int r = 0;

        /* A mask equal to the last one is not formatted again. */
        if (n_words == affinity->n_last_words && memcmp(mask, affinity->last_mask, n_bytes) == 0) {
                text = affinity->last_text;
                n_chars = affinity->n_last_text;
                n_cpus = affinity->n_last_cpus;
        } else {
                r = cpu_list_format(mask, n_words, affinity->long_text, sizeof(affinity->long_text),
                                    &n_chars, &n_cpus);
                if (r == 0 && n_chars <= sizeof(affinity->last_text)) {
                        memcpy(affinity->last_mask, mask, n_bytes);
                        memcpy(affinity->last_text, affinity->long_text, n_chars);
                        affinity->n_last_words = n_words;
                        affinity->n_last_text = n_chars;
                        affinity->n_last_cpus = n_cpus;
                }
        }
        /* A mask without CPUs belongs to a thread that is being moved, or to none. */
        if (r != 0 || n_cpus == 0) {
                thread_slot_note(slot, SOURCE_AFFINITY, SOURCE_OUTCOME_malformed);
                return;
        }
        thread_slot_note(slot, SOURCE_AFFINITY, SOURCE_OUTCOME_ok);
        thread_sample_put(&slot->sample, METRIC_cpu_affinity, n_cpus);
        slot->cpus = readings_add_text(readings, (Span){ text, n_chars });
}
