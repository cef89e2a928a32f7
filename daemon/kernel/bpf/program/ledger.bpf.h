/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The ledger of exits: what threads have done that have ended, added up by process name, thread
 * name, cgroup and name of the parent.
 *
 * A thread is added when it exits (sched_process_exit), while its names and its cgroup are known.
 * It goes on running for a while: it gives back its memory, closes its files, and leaves its CPU
 * for the last time. That work, up to half of a short life, is added as it leaves (sched_switch),
 * and what the kernel counted after that when it frees the task (sched_process_free). Whichever
 * comes second finds the other's work done. Some hosts run no program while certain tasks of theirs
 * are on the CPU: freeing interrupts any task, so that it may go unseen, but a thread always leaves
 * in its own time.
 *
 * A mark in the task tells the iterator that the thread is in the ledger. It is set before the
 * program looks at the generation, so that a thread that the iterator has seen without a mark is
 * added to the new generation, which the capture does not read. While a program adds to a
 * generation it is counted, so that a capture can wait until rows of the earlier one rest.
 */

#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/program/memory.bpf.h"
#include "kernel/bpf/program/moved.bpf.h"
#include "kernel/bpf/program/owner.bpf.h"
#include "kernel/bpf/program/wait.bpf.h"

/* One for each program: freeing can interrupt an exit on the same CPU. */
enum { SCRATCH_OF_EXIT, SCRATCH_OF_SWITCH, SCRATCH_OF_FREE, _SCRATCH_MAX };

typedef struct Scratch {
        LedgerKey key, place; /* see find_room() */
        LedgerValues values;
} Scratch;

struct {
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
        __uint(max_entries, _SCRATCH_MAX);
        __type(key, __u32);
        __type(value, Scratch);
} scratches SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, LEDGER_MAX_ROWS + LEDGER_OVERFLOW_ROWS);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, LedgerKey);
        __type(value, LedgerValues);
} ledger_rows SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(max_entries, LEDGER_MAX_RECORDS);
        __uint(map_flags, BPF_F_MMAPABLE);
        __type(key, __u32);
        __type(value, LedgerRecord);
} ledger_records SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, LEDGER_MAX_PATHS);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, __u64);
        __type(value, LedgerCgroup);
} ledger_cgroups SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, LedgerCgroup);
} cgroup_scratch SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(max_entries, 1);
        __uint(map_flags, BPF_F_MMAPABLE);
        __type(key, __u32);
        __type(value, LedgerOwn);
} ledger_own SEC(".maps");

/* Wakes the main process when a table fills. */
struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, 4096); /* or what a page has */
} ledger_calls SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, LedgerMark);
} marks SEC(".maps");

static __always_inline int is_marked(struct task_struct *task) {
        const LedgerMark *mark = bpf_task_storage_get(&marks, task, 0, 0);

        return mark && mark->is_added;
}

/* Sets what a record of the iterator says of that. */
static __always_inline __u32 read_mark(TaskRecord *record, struct task_struct *task) {
        const LedgerMark *mark = bpf_task_storage_get(&marks, task, 0, 0);

        if (!mark || !mark->is_added)
                return 0;
        record->ledger_generation = mark->generation;
        return TASK_IS_DEAD;
}

/* generations */

static __always_inline __u64 current_generation(void) {
        return *(volatile __u64 *) &control.generation;
}

/*
 * Returns the generation to add to. A capture that begins another generation waits until
 * leave_generation() is called.
 */
static __always_inline __u64 enter_generation(void) {
        __u64 generation = current_generation();

        for (int i = 0; i < 4; i++) {
                __u64 again;

                add_ordered(&control.n_running[generation & 1], 1);
                again = current_generation();
                if (again == generation)
                        return generation;
                add_ordered(&control.n_running[generation & 1], (__u64) -1);
                generation = again;
        }
        add_ordered(&control.n_running[generation & 1], 1);
        return generation;
}

static __always_inline void leave_generation(__u64 generation) {
        add_ordered(&control.n_running[generation & 1], (__u64) -1);
}

/* values of one task */

/*
 * As the kernel divides the time that a thread ran by the ticks that hit it (cputime_adjust()); of
 * more than 4 s with as many bits as 64 of a product leave.
 */
static __always_inline void scale_times(LedgerValues *values) {
        __u64 run = values->sums[LEDGER_run_time_ns], user = values->sums[LEDGER_USER_NS];
        __u64 system = values->sums[LEDGER_SYSTEM_NS], total = user + system, largest = run | total;
        __u32 shift = largest >> 48 ? 32 : largest >> 40 ? 16 : largest >> 32 ? 8 : 0;

        if (system != 0 && user == 0)
                system = run;
        else if (system != 0 && total >> shift != 0)
                system = ((system >> shift) * (run >> shift) / (total >> shift)) << shift;
        if (system > run)
                system = run;
        values->sums[LEDGER_USER_TICKS] = (run - system) / TASK_TICK_NS;
        values->sums[LEDGER_SYSTEM_TICKS] = system / TASK_TICK_NS;
}

/* Returns the bits of TaskRecord for the counters that this kernel has. */
static __always_inline __u32 find_has(const struct task_struct *task) {
        __u32 has = TASK_IS_READ;

        if (bpf_core_field_exists(task->prev_cputime.utime))
                has |= TASK_HAS_PREV_TIMES;
        if (bpf_core_field_exists(task->sched_info.run_delay))
                has |= TASK_HAS_RUN_DELAY;
        if (bpf_core_field_exists(task->sched_info.max_run_delay))
                has |= TASK_HAS_RUN_DELAY_PEAKS;
        if (bpf_core_field_exists(task->ioac.rchar))
                has |= TASK_HAS_IO_CALLS;
        if (bpf_core_field_exists(task->ioac.read_bytes))
                has |= TASK_HAS_IO_BYTES;
        if (bpf_core_field_exists(task->acct_rss_mem1))
                has |= TASK_HAS_INTEGRALS;
        return has;
}

#define READ_LEDGER_COUNTER(metric, place, member, ...) \
        if (bpf_core_field_exists(task->member))        \
                sums[LEDGER_##metric] = task->member;

static __always_inline void read_counters_of(LedgerValues *values, struct task_struct *task) {
        __u64 *sums = values->sums;

        values->has = find_has(task);
        TASK_COUNTERS(READ_LEDGER_COUNTER)
        sums[LEDGER_USER_NS] = task->utime;
        sums[LEDGER_SYSTEM_NS] = task->stime;
        if (bpf_core_field_exists(task->prev_cputime.utime))
                scale_times(values);
        else {
                sums[LEDGER_USER_TICKS] = sums[LEDGER_USER_NS] / TASK_TICK_NS;
                sums[LEDGER_SYSTEM_TICKS] = sums[LEDGER_SYSTEM_NS] / TASK_TICK_NS;
        }
        if (bpf_core_field_exists(task->sched_info.max_run_delay)) {
                values->maxima[LEDGER_RUN_DELAY_MAX] = task->sched_info.max_run_delay;
                values->minima[LEDGER_RUN_DELAY_MIN] = task->sched_info.min_run_delay;
        }
        if (bpf_core_field_exists(task->acct_rss_mem1)) {
                sums[LEDGER_RSS_INTEGRAL] = task->acct_rss_mem1;
                sums[LEDGER_VM_INTEGRAL] = task->acct_vm_mem1;
        }
}

#define READ_LEDGER_DELAY(id, word)                                             \
        if (bpf_core_field_exists(info->word##_delay)) {                        \
                sums[LEDGER_N_DELAYS_##id] = info->word##_count;                \
                sums[LEDGER_DELAY_NS_##id] = info->word##_delay;                \
                values->has |= LEDGER_HAS_DELAY(TASK_DELAY_##id);               \
        }                                                                       \
        if (bpf_core_field_exists(info->word##_delay_max)) {                    \
                values->has |= LEDGER_HAS_DELAY_PEAKS;                          \
                values->maxima[LEDGER_DELAY_MAX_##id] = info->word##_delay_max; \
                values->minima[LEDGER_DELAY_MIN_##id] = info->word##_delay_min; \
        }

/* The bits of numbers that are larger than @most; without branches, as in subtract_added(). */
#define EXCESS(id, word) \
        | (most - sums[LEDGER_DELAY_NS_##id]) | (most - values->maxima[LEDGER_DELAY_MAX_##id])
#define FORGET_DELAY(id, word)                     \
        sums[LEDGER_N_DELAYS_##id] = 0;            \
        sums[LEDGER_DELAY_NS_##id] = 0;            \
        values->maxima[LEDGER_DELAY_MAX_##id] = 0; \
        values->minima[LEDGER_DELAY_MIN_##id] = 0;

/*
 * From 6.12 on the kernel can count as a delay the time since the boot (wait.bpf.h). A thread of
 * which it says a delay longer than its life is one without delay accounting: in a sum nobody could
 * tell any more what is wrong with it.
 */
static __always_inline void read_delay_block(LedgerValues *values, struct task_struct *task) {
        __u64 life_ns = bpf_ktime_get_boot_ns() - task->start_boottime;
        __u64 most = life_ns + (life_ns >> 10) + TASK_TICK_NS;
        const struct task_delay_info *info;
        __u64 *sums = values->sums;

        if (!bpf_core_field_exists(task->delays))
                return;
        info = task->delays;
        if (!info)
                return;
        values->accounted = 1;
        TASK_DELAY_KINDS(READ_LEDGER_DELAY)
        if ((0 TASK_DELAY_KINDS(EXCESS)) >> 63) {
                values->accounted = 0;
                TASK_DELAY_KINDS(FORGET_DELAY)
        }
}

/* A negative value is an error of the kernel's accounting. */
#define READ_LEDGER_STAT(member, place)                             \
        do {                                                        \
                __u64 value = task->stats.member;                   \
                (place)[LEDGER_##member] = value >> 63 ? 0 : value; \
        } while (0);
#define LEDGER_PLACE_SUM values->sums
#define LEDGER_PLACE_MAX values->maxima
#define READ_LEDGER_SCHEDSTAT(member, value, fold, ...) \
        READ_LEDGER_STAT(member, LEDGER_PLACE_##fold)

/* include/uapi/linux/sched.h */
#define SCHED_FIFO 1
#define SCHED_RR 2
#define SCHED_DEADLINE 6

/* Several kernels count waits for a CPU wrongly for these threads: see Gates. */
static __always_inline int is_realtime(const struct task_struct *task) {
        return task->policy == SCHED_FIFO || task->policy == SCHED_RR ||
               task->policy == SCHED_DEADLINE;
}

static __always_inline void read_stats(LedgerValues *values, struct task_struct *task) {
        if (!bpf_core_field_exists(task->stats.wait_sum))
                return;
        values->has |= LEDGER_HAS_SCHEDSTATS;
        COUNTERS_OF_SCHEDSTATS(READ_LEDGER_SCHEDSTAT)
        READ_LEDGER_STAT(sum_sleep_runtime, values->sums)
        if (is_realtime(task))
                values->has |= LEDGER_HAS_REALTIME;
        if (bpf_core_field_exists(task->stats.core_forceidle_sum)) {
                values->has |= LEDGER_HAS_FORCEIDLE;
                values->sums[LEDGER_FORCEIDLE_NS] = task->stats.core_forceidle_sum;
        }
}

static __always_inline void read_waits(LedgerValues *values, struct task_struct *task) {
        const TaskWaits *wait = bpf_task_storage_get(&waits, task, 0, 0);
        const TaskReasons *of = bpf_task_storage_get(&reasons, task, 0, 0);
        __u64 epoch = reasons_epoch();

        if (wait) {
                values->sums[LEDGER_STORAGE_WAIT_NS] = wait->storage_ns;
                values->sums[LEDGER_N_STORAGE_WAITS] = wait->n_storage;
                values->sums[LEDGER_OTHER_WAIT_NS] = wait->other_ns;
                values->sums[LEDGER_N_OTHER_WAITS] = wait->n_other;
        }
        if (!of || epoch == 0 || of->epoch != epoch)
                return;
        __builtin_memcpy(&values->sums[LEDGER_REASON_SUMS], &of->sums, sizeof(of->sums));
        values->maxima[LEDGER_OFF_CPU_MAX] = of->max_ns;
        values->minima[LEDGER_OFF_CPU_MIN] = of->min_ns;
}

/*
 * The values are cleared and copied in two parts, which must stay apart: the compiler has no
 * instructions for a larger one. The compiler has to be told that the second part consists of whole
 * words, or it writes each byte by itself.
 */
#define VALUES_FRONT __builtin_offsetof(LedgerValues, sums[LEDGER_REASON_SUMS])
#define VALUES_REST(values) \
        __builtin_assume_aligned((values)->sums + LEDGER_REASON_SUMS, sizeof(__u64))

static __always_inline void forget_values(LedgerValues *values) {
        __builtin_memset(values, 0, VALUES_FRONT);
        asm volatile("" ::: "memory");
        __builtin_memset(VALUES_REST(values), 0, sizeof(*values) - VALUES_FRONT);
}

static __always_inline void copy_values(LedgerValues *to, const LedgerValues *from) {
        __builtin_memcpy(to, from, VALUES_FRONT);
        asm volatile("" ::: "memory");
        __builtin_memcpy(VALUES_REST(to), VALUES_REST(from), sizeof(*to) - VALUES_FRONT);
}

static __always_inline void read_values(LedgerValues *values, struct task_struct *task) {
        forget_values(values);
        read_counters_of(values, task);
        read_delay_block(values, task);
        read_stats(values, task);
        read_waits(values, task);
}

/* rows */

#define MAX_TRIES 4 /* of one number, against other CPUs */

static __always_inline void raise_maximum(__u64 *place, __u64 value) {
        for (int i = 0; i < MAX_TRIES; i++) {
                __u64 old = *(volatile __u64 *) place;

                if (value <= old || __sync_val_compare_and_swap(place, old, value) == old)
                        return;
        }
}

static __always_inline void lower_minimum(__u64 *place, __u64 value) {
        for (int i = 0; i < MAX_TRIES && value != 0; i++) {
                __u64 old = *(volatile __u64 *) place;

                if ((old != 0 && value >= old) ||
                    __sync_val_compare_and_swap(place, old, value) == old)
                        return;
        }
}

/*
 * Verified by itself, as it is not static: each program that adds would otherwise be walked through
 * it with every state in which it may arrive, which takes most of the time that loading takes.
 */
__noinline int add_values(LedgerValues *row, const LedgerValues *values) {
        if (!row || !values)
                return 0;
        raise_maximum(&row->grew_ns, values->grew_ns);
        if (values->n_overflow)
                __sync_fetch_and_add(&row->n_overflow, values->n_overflow);
        if (values->has & ~row->has)
                __sync_fetch_and_or(&row->has, values->has);
        if (values->exits)
                __sync_fetch_and_add(&row->exits, values->exits);
        if (values->lives_ns)
                __sync_fetch_and_add(&row->lives_ns, values->lives_ns);
        if (values->accounted)
                __sync_fetch_and_add(&row->accounted, values->accounted);
        if (values->young)
                __sync_fetch_and_add(&row->young, values->young);
        if (values->young_run_ns)
                __sync_fetch_and_add(&row->young_run_ns, values->young_run_ns);
        for (int i = 0; i < _LEDGER_SUM_MAX; i++)
                if (values->sums[i])
                        __sync_fetch_and_add(&row->sums[i], values->sums[i]);
        for (int i = 0; i < _LEDGER_MAXIMUM_MAX; i++)
                raise_maximum(&row->maxima[i], values->maxima[i]);
        for (int i = 0; i < _LEDGER_MINIMUM_MAX; i++)
                lower_minimum(&row->minima[i], values->minima[i]);
        return 0;
}

/* owners */

/* The place of @uid among the owners, which is taken now where it is a new one. */
__noinline __u32 find_owner(__u32 uid) {
        for (__u32 i = 0; i < LEDGER_OWNER_TRIES; i++) {
                __u32 place = ledger_owner_place(uid, i);
                __u64 id =
                        __sync_val_compare_and_swap(&control.owners[place].uid, 0, (__u64) uid + 1);

                if (id == 0 || id == (__u64) uid + 1)
                        return place;
        }
        return LEDGER_MAX_OWNERS;
}

static __always_inline LedgerOwner *owner_at(__u32 place) {
        asm volatile("" : "+r"(place)); /* the verifier does not know what the compiler does */
        return &control.owners[place > LEDGER_MAX_OWNERS ? LEDGER_MAX_OWNERS : place];
}

/* Once: until a fold has begun, another call would say nothing new. */
static __noinline int call_for_room(void) {
        __u64 one = 1;

        if (__sync_val_compare_and_swap(&control.is_calling, 0, 1) == 0)
                (void) bpf_ringbuf_output(&ledger_calls, &one, sizeof(one), 0);
        return 0;
}

static __noinline int take_room(__u32 uid, __u64 *of_owner, __u64 *of_all, __u64 n, __u64 room) {
        __u64 own = __sync_fetch_and_add(of_owner, n) + n;
        __u64 all = __sync_fetch_and_add(of_all, n) + n;

        if (ledger_is_pressed(uid, own, all, room) && *(volatile __u64 *) &control.is_calling == 0)
                (void) call_for_room();
        if (ledger_has_room(uid, own, all, room))
                return 1;
        __sync_fetch_and_add(of_owner, -n);
        __sync_fetch_and_add(of_all, -n);
        return 0;
}

enum { ROW_IS_THERE, ROW_IS_NEW, ROW_IS_NEW_OVERFLOW };

/* Returns whether it has made a row of @scratch's key and values. */
static __always_inline int make_row(Scratch *scratch, __u32 place) {
        LedgerOwner *owner = owner_at(place);

        if (!take_room(scratch->key.owner, &owner->n_rows, &control.n_rows, 1, LEDGER_MAX_ROWS))
                return 0;
        if (bpf_map_update_elem(&ledger_rows, &scratch->key, &scratch->values, BPF_NOEXIST) == 0)
                return 1;
        /* Another CPU was faster, or there is no memory. */
        __sync_fetch_and_add(&owner->n_rows, (__u64) -1);
        __sync_fetch_and_add(&control.n_rows, (__u64) -1);
        return 0;
}

/*
 * Makes a row of @scratch's key and values, or leaves in @place the key of the one to which they
 * are to be added. An owner's row for what finds no other is made when it is needed; that of all
 * others is there from the start.
 */
static __noinline int find_room(Scratch *scratch) {
        __u32 place = find_owner(scratch->key.owner);
        LedgerKey *key = &scratch->place;

        if (make_row(scratch, place))
                return ROW_IS_NEW;
        *key = scratch->key;
        if (bpf_map_lookup_elem(&ledger_rows, key))
                return ROW_IS_THERE;
        scratch->values.n_overflow = scratch->values.exits;
        __sync_fetch_and_add(&control.n_overflow_exits, scratch->values.exits);
        __builtin_memset(key, 0, sizeof(*key));
        key->flags = LEDGER_OVERFLOW | (scratch->key.flags & LEDGER_OF_SELF);
        key->is_of_odd = scratch->key.is_of_odd;
        key->owner = scratch->key.owner;
        if (bpf_map_lookup_elem(&ledger_rows, key))
                return ROW_IS_THERE;
        if (place != LEDGER_MAX_OWNERS &&
            bpf_map_update_elem(&ledger_rows, key, &scratch->values, BPF_NOEXIST) == 0)
                return ROW_IS_NEW_OVERFLOW;
        if (bpf_map_lookup_elem(&ledger_rows, key))
                return ROW_IS_THERE;
        key->flags = LEDGER_OVERFLOW;
        key->owner = LEDGER_OTHERS;
        return ROW_IS_THERE;
}

/* Adds to the row of @scratch's key; returns whether the row is new. */
static __always_inline int add_to_row(Scratch *scratch, __u64 now_ns) {
        LedgerValues *row = bpf_map_lookup_elem(&ledger_rows, &scratch->key);

        scratch->values.born_ns = scratch->values.grew_ns = now_ns;
        if (!row) {
                int made = find_room(scratch);

                if (made != ROW_IS_THERE)
                        return made == ROW_IS_NEW;
                row = bpf_map_lookup_elem(&ledger_rows, &scratch->place);
        }
        if (row)
                (void) add_values(row, &scratch->values);
        return 0;
}

/* cgroups: a path is noted while the cgroup is there, with the first thread that ends in it */

/* Notes the path for the exiting thread. Verified by itself, as its loop has many ways through. */
__noinline int note_cgroup(__u32 uid) {
        struct task_struct *task = bpf_get_current_task_btf();
        __u32 zero = 0;
        LedgerCgroup *path = bpf_map_lookup_elem(&cgroup_scratch, &zero);
        struct kernfs_node *node, *parent;
        LedgerOwner *owner;
        __u64 id, n_bytes = 0, cut = 0;

        if (!path)
                return 0;
        node = task->cgroups->dfl_cgrp->kn;
        id = node->id;
        if (bpf_map_lookup_elem(&ledger_cgroups, &id))
                return 0;
        path->n_levels = 0;
        for (__u32 i = 0; i < LEDGER_PATH_LEVELS; i++) {
                long n;

                parent = parent_of(node);
                if (!parent) /* the root has no name */
                        break;
                n = bpf_probe_read_kernel_str(path->levels[i], LEDGER_LEVEL_BYTES, node->name);
                /* Without branches, as in subtract_added(): where it failed, or did not fit. */
                cut |= (__u64) n >> 63 | (__u64) (LEDGER_LEVEL_BYTES - 1 - n) >> 63;
                n_bytes += n & ~(n >> 63); /* with a NUL, for which there will be a slash */
                path->n_levels = i + 1;
                node = parent;
        }
        path->is_cut = cut != 0 || parent_of(node);
        path->owner = uid;
        path->room = 1 + n_bytes / LEDGER_PATH_UNIT;
        owner = owner_at(find_owner(uid));
        if (!take_room(uid, &owner->n_paths, &control.n_paths, path->room, LEDGER_MAX_PATHS))
                return 0;
        if (bpf_map_update_elem(&ledger_cgroups, &id, path, BPF_NOEXIST) == 0)
                return 0;
        __sync_fetch_and_add(&owner->n_paths, -(__u64) path->room);
        __sync_fetch_and_add(&control.n_paths, -(__u64) path->room);
        return 0;
}

/* our own */

static __noinline int is_of_caller(__u32 pid, __u64 start_ticks, __u64 now) {
        __u32 zero = 0;
        const LedgerOwn *own = bpf_map_lookup_elem(&ledger_own, &zero);

        return own ? (int) ledger_own_has(own, pid, start_ticks, now) : 0;
}

static __always_inline __u32 is_own(struct task_struct *task, __u64 now) {
        if (control.self == 0)
                return 0;
        if (task->tgid == control.self || task->real_parent->tgid == control.self)
                return 1;
        return (__u32) is_of_caller(task->tgid, task->group_leader->start_boottime / TASK_TICK_NS,
                                    now);
}

/* the exit */

static __always_inline void read_key(LedgerKey *key, struct task_struct *task, __u64 now) {
        struct task_struct *leader = task->group_leader;

        __builtin_memset(key, 0, sizeof(*key));
        (void) bpf_probe_read_kernel_str(key->thread, sizeof(key->thread), task->comm);
        (void) bpf_probe_read_kernel_str(key->process, sizeof(key->process), leader->comm);
        if (bpf_core_field_exists(task->cgroups))
                key->cgroup = task->cgroups->dfl_cgrp->kn->id;
        key->owner = read_owner(task);
        if (task->flags & PF_KTHREAD)
                key->flags |= LEDGER_OF_KERNEL;
        else
                (void) bpf_probe_read_kernel_str(key->parent, sizeof(key->parent),
                                                 task->real_parent->group_leader->comm);
        if (is_own(task, now))
                key->flags |= LEDGER_OF_SELF;
}

static __always_inline void record_exit(Scratch *scratch, struct task_struct *task,
                                        __u64 generation) {
        __u32 index = (__u32) __sync_fetch_and_add(&control.n_records, 1);
        LedgerRecord *record = bpf_map_lookup_elem(&ledger_records, &index);

        if (!record)
                return;
        record->tid = task->pid;
        record->tgid = task->tgid;
        record->start_boottime_ns = task->start_boottime;
        record->start_ns = task->start_time;
        record->key = scratch->key;
        copy_values(&record->values, &scratch->values);
        __sync_lock_test_and_set(&record->generation, generation);
}

/*
 * The peaks of a process, with its last thread. Up to 6.12 its address space is gone by now, and
 * what the kernel notes for wait4(2) is known instead. But execve(2) adds to that the peak of the
 * address space that it leaves, which after vfork(2) is the parent's: it is believed only of a
 * process that has executed nothing.
 */
static __always_inline void read_peaks(LedgerValues *values, struct task_struct *task) {
        struct mm_struct *mm = task->mm;

        if (task->signal->live.counter != 0 || task->vfork_done)
                return; /* others use the same, or it is the parent's */
        if (mm) {
                values->maxima[LEDGER_RSS_PEAK] = read_rss_peak(mm);
                values->maxima[LEDGER_VM_PEAK] =
                        mm->hiwater_vm > mm->total_vm ? mm->hiwater_vm : mm->total_vm;
        } else if (task->self_exec_id == task->parent_exec_id)
                values->maxima[LEDGER_RSS_PEAK] = task->signal->maxrss;
}

/*
 * Notes the thread that runs, which exits, with the names in the scratch of the exit. Verified by
 * itself, as it is not static: the exit is long enough without it.
 */
__noinline int note_moved(void) {
        __u32 index = SCRATCH_OF_EXIT;
        const Scratch *scratch = bpf_map_lookup_elem(&scratches, &index);
        struct task_struct *task = bpf_get_current_task_btf();
        MovedCounts *counts = &control.moved;
        __u64 of_place, of_all, *place;
        MovedLife life = {};
        MovedEnd end = {};

        if (!scratch)
                return 0;
        life.tid = task->pid;
        life.tgid = task->tgid;
        life.start_boottime_ns = task->start_boottime;
        __builtin_memcpy(end.process, scratch->key.process, sizeof(end.process));
        __builtin_memcpy(end.thread, scratch->key.thread, sizeof(end.thread));
        end.cgroup = scratch->key.cgroup;
        end.flags = scratch->key.flags;
        end.owner = read_owner(task);
        end.ended_ns = bpf_ktime_get_boot_ns();

        index = moved_place_of(end.owner);
        asm volatile("" : "+r"(index)); /* the verifier does not know what the compiler does */
        place = &counts->n_of_place[index < MOVED_PLACES ? index : 0];
        of_place = __sync_fetch_and_add(place, 1) + 1;
        of_all = __sync_fetch_and_add(&counts->n_all, 1) + 1;
        if (moved_has_room(of_place, of_all) &&
            bpf_map_update_elem(&ledger_moved, &life, &end, BPF_NOEXIST) == 0)
                return 0;
        __sync_fetch_and_add(place, (__u64) -1);
        __sync_fetch_and_add(&counts->n_all, (__u64) -1);
        __sync_fetch_and_add(&counts->n_lost, 1);
        return 0;
}

/* In a ring: the place may have been another thread's, long ago. */
static __always_inline void note_unmarked(struct task_struct *task, __u64 generation) {
        __u64 n = __sync_fetch_and_add(&control.n_lost_marks, 1);
        LedgerUnmarked *place = &control.unmarked[n & (LEDGER_MAX_UNMARKED - 1)];

        __sync_lock_test_and_set(&place->generation, 0);
        place->life.tid = task->pid;
        place->life.tgid = task->tgid;
        place->life.start_boottime_ns = task->start_boottime;
        __sync_lock_test_and_set(&place->generation, generation);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(add_exit, struct task_struct *task) {
        __u32 index = SCRATCH_OF_EXIT;
        Scratch *scratch = bpf_map_lookup_elem(&scratches, &index);
        __u64 now = bpf_ktime_get_boot_ns(), generation;
        LedgerValues *values;
        LedgerMark *mark;

        if (!scratch)
                return 0;
        mark = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (mark) {
                mark->is_added = 1;
                __sync_fetch_and_add(&control.n_marked, 1);
        }
        generation = enter_generation();
        if (!mark)
                note_unmarked(task, generation);

        values = &scratch->values;
        read_key(&scratch->key, task, now);
        read_values(values, task);
        if (was_seen_otherwise(task, scratch->key.cgroup))
                (void) note_moved();
        if (mark) {
                mark->key = scratch->key;
                mark->accounted = values->accounted;
                __builtin_memcpy(mark->sums, values->sums, sizeof(mark->sums));
        }
        values->exits = 1;
        values->young = task->start_boottime >= control.begun_ns;
        if (values->young)
                values->young_run_ns = values->sums[LEDGER_run_time_ns];
        if (mark)
                mark->is_young = values->young;
        values->lives_ns = now - task->start_boottime;
        if (mark)
                mark->lives_ns = values->lives_ns;
        read_peaks(values, task);
        scratch->key.is_of_odd = generation & 1;
        if (add_to_row(scratch, now) && bpf_core_field_exists(task->cgroups))
                (void) note_cgroup(scratch->key.owner);
        __sync_fetch_and_add(&control.n_exits, 1);
        if (*(volatile __u64 *) &control.is_recording)
                record_exit(scratch, task, generation);
        if (mark)
                mark->generation = generation;
        leave_generation(generation);
        return 0;
}

/* the rest */

/*
 * Leaves in @values what has come since @mark; returns whether anything has. Without branches: the
 * verifier would follow each combination of them.
 */
static __always_inline int subtract_added(LedgerValues *values, LedgerMark *mark) {
        __u64 all = 0;

        for (int i = 0; i < _LEDGER_SUM_MAX; i++) {
                __u64 more = values->sums[i] - mark->sums[i];

                more &= (more >> 63) - 1; /* scaled times can go back: then 0 */
                values->sums[i] = more;
                mark->sums[i] += more;
                all |= more;
        }
        values->accounted = 0; /* the thread has been counted */
        /* It lived on, at least for as long as it ran or waited for a CPU. */
        values->lives_ns = values->sums[LEDGER_run_time_ns] + values->sums[LEDGER_wait_time_ns];
        return all != 0;
}

/*
 * Neither the leader of a task that has exited, nor its cgroup, nor its memory may be looked at.
 * While a run queue is locked no memory is allocated: a row is not made then, and the rest is left
 * to a later event. Inline, because a call makes the verifier walk forty times as far.
 */
static __always_inline int add_rest(struct task_struct *task, __u32 scratch_index) {
        Scratch *scratch = bpf_map_lookup_elem(&scratches, &scratch_index);
        LedgerMark *mark = bpf_task_storage_get(&marks, task, 0, 0);
        LedgerValues *row = 0;
        __u64 generation;

        if (!scratch || !mark || !mark->is_added)
                return 0;
        scratch->key = mark->key;
        generation = enter_generation();
        scratch->key.is_of_odd = generation & 1;
        if (scratch_index == SCRATCH_OF_SWITCH)
                row = bpf_map_lookup_elem(&ledger_rows, &scratch->key);
        if (row || scratch_index != SCRATCH_OF_SWITCH) {
                read_values(&scratch->values, task);
                if (subtract_added(&scratch->values, mark)) {
                        if (mark->is_young &&
                            LEDGER_CAPTURES(mark->generation) == LEDGER_CAPTURES(generation))
                                scratch->values.young_run_ns =
                                        scratch->values.sums[LEDGER_run_time_ns];
                        if (row) {
                                scratch->values.grew_ns = bpf_ktime_get_boot_ns();
                                (void) add_values(row, &scratch->values);
                        } else
                                (void) add_to_row(scratch, bpf_ktime_get_boot_ns());
                }
                if (!mark->is_finished)
                        __sync_fetch_and_add(&control.n_finished, 1);
                mark->is_finished = 1;
        }
        leave_generation(generation);
        return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(free_task, struct task_struct *task) {
        return add_rest(task, SCRATCH_OF_FREE);
}
