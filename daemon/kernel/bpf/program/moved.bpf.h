/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * A thread takes all that it has done to the row of the names that it ends with. An earlier
 * snapshot has it under the names that it had then, so whoever compares the two has to know that
 * they differ. A task therefore carries what captures have seen of its names, and one that ends
 * under others is noted with those.
 *
 * The iterator notes what it sees before it looks whether the thread is in the ledger, and the
 * program of an exit enters the thread in the ledger before it looks for that note, with a barrier
 * in between on both sides: a capture that shows a thread alive has noted its names in time.
 */

#include "kernel/bpf/ledger-record.h"

#include <bpf/bpf_helpers.h>

/* With a barrier before and after, which an addition has only where its result is used. */
static __always_inline void add_ordered(__u64 *place, __u64 n) {
        __u64 old = __sync_fetch_and_add(place, n);

        asm volatile("" : : "r"(old));
}

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, MOVED_MAX_THREADS);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, MovedLife);
        __type(value, MovedEnd);
} ledger_moved SEC(".maps");

/* The names that the first capture saw, as words, and whether a later one saw others. */
typedef struct SeenNames {
        __u64 n_seen, is_other;
        __u64 process[TASK_COMM_BYTES / 8], thread[TASK_COMM_BYTES / 8];
        __u64 cgroup;
} SeenNames;

struct {
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, SeenNames);
} seen_names SEC(".maps");

/* Without branches between the words, which are few. */
static __always_inline int differs(const SeenNames *seen, const __u64 *process, const __u64 *thread,
                                   __u64 cgroup) {
        return ((seen->process[0] ^ process[0]) | (seen->process[1] ^ process[1]) |
                (seen->thread[0] ^ thread[0]) | (seen->thread[1] ^ thread[1]) |
                (seen->cgroup ^ cgroup)) != 0;
}

/* The iterator has made @record of a thread that is not in the ledger by now. */
static __always_inline void note_seen_names(const TaskRecord *record, struct task_struct *task) {
        SeenNames *seen =
                bpf_task_storage_get(&seen_names, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        const __u64 *thread = (const void *) record->comm;
        __u64 process[TASK_COMM_BYTES / 8];

        if (!seen)
                return;
        __builtin_memcpy(process, task->group_leader->comm, sizeof(process));
        if (seen->n_seen == 0) {
                seen->process[0] = process[0];
                seen->process[1] = process[1];
                seen->thread[0] = thread[0];
                seen->thread[1] = thread[1];
                seen->cgroup = record->cgroup;
        } else if (differs(seen, process, thread, record->cgroup)) {
                seen->is_other = 1;
        }
        add_ordered(&seen->n_seen, 1);
}

/* Called for a thread that exits, whose mark is set; @cgroup is where it is now. */
static __always_inline int was_seen_otherwise(struct task_struct *task, __u64 cgroup) {
        const SeenNames *seen = bpf_task_storage_get(&seen_names, task, 0, 0);
        __u64 process[TASK_COMM_BYTES / 8], thread[TASK_COMM_BYTES / 8];

        if (!seen || seen->n_seen == 0)
                return 0;
        __builtin_memcpy(process, task->group_leader->comm, sizeof(process));
        __builtin_memcpy(thread, task->comm, sizeof(thread));
        return seen->is_other || differs(seen, process, thread, cgroup);
}
