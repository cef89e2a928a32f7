/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * How many pages of an address space are resident, by kind. Since 6.2 the kernel counts them in
 * parts, one for each CPU, which it passes on some dozens at a time.
 */

#include "kernel/bpf/task-record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define MAX_CPUS 8192

const volatile __u32 n_cpus = 1; /* that the kernel has places for; set before loading */

/* Its elements lie where the kernel puts objects of each CPU: see read_common_address(). */
struct {
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, __u64);
} landmark SEC(".maps");

/* A pointer as a number that can be calculated with. */
static __always_inline __u64 address_of(const void *pointer) {
        const void *volatile copy = pointer;
        __u64 address = 0;

        (void) bpf_probe_read_kernel(&address, sizeof(address), (const void *) &copy);
        return address;
}

/*
 * An object of each CPU has one address, to which each CPU has another number to add. The kernel
 * tells a program neither of these numbers. But of a map of such objects it hands out the pointers
 * for each CPU, and the map holds the common address: the number is the difference.
 */
static __always_inline __u64 read_common_address(void) {
        __u64 place = address_of(&landmark) + bpf_core_field_offset(struct bpf_array, pptrs);
        __u64 address = 0;

        (void) bpf_probe_read_kernel(&address, sizeof(address), (const void *) place);
        return address;
}

/* A place is found at loading time only where the index is a constant. */
#define READ_COUNTER(kind)                                            \
        do {                                                          \
                memory->resident[kind] = mm->rss_stat[kind].count;    \
                counters[kind] = (__u64) mm->rss_stat[kind].counters; \
        } while (0)

/* Since 6.2 each CPU has a part of the count of pages that it has not passed on yet. */
static __always_inline __u64 sum_resident(TaskMemory *memory, struct mm_struct *mm) {
        __u64 common = read_common_address(), counters[_TASK_MEMORY_MAX];
        __u32 zero = 0;

        READ_COUNTER(TASK_MEMORY_FILE);
        READ_COUNTER(TASK_MEMORY_ANON);
        READ_COUNTER(TASK_MEMORY_SWAP);
        READ_COUNTER(TASK_MEMORY_SHMEM);
        for (__u32 cpu = 0; cpu < MAX_CPUS && cpu < n_cpus; cpu++) {
                const __u64 *place = bpf_map_lookup_percpu_elem(&landmark, &zero, cpu);
                __u64 offset;

                if (!place)
                        break;
                offset = address_of(place) - common;
                for (__u32 kind = 0; kind < _TASK_MEMORY_MAX; kind++) {
                        __s32 part = 0;

                        (void) bpf_probe_read_kernel(&part, sizeof(part),
                                                     (const void *) (counters[kind] + offset));
                        memory->resident[kind] += part;
                }
        }
        return TASK_MEMORY_HAS_RESIDENT;
}

/* Pages by kind, as the kernel itself shows them from 6.16 on. */
static __always_inline __u64 read_resident(TaskMemory *memory, struct mm_struct *mm) {
        /* The verifier of 6.1 refuses to look into an atomic_long_t. */
        const struct mm_struct___single *single = (const void *) mm;

        if (bpf_core_field_exists(mm->rss_stat[0].count))
                return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem)
                               ? sum_resident(memory, mm)
                               : 0;
        (void) bpf_core_read(memory->resident, sizeof(memory->resident), &single->rss_stat.count);
        return TASK_MEMORY_HAS_RESIDENT;
}

/* The most pages that @mm has had, where it can be told; else 0. */
static __always_inline __u64 read_rss_peak(struct mm_struct *mm) {
        TaskMemory memory = {};
        __u64 peak = mm->hiwater_rss; /* as of when pages were given back the last time */
        __s64 n;

        if (!read_resident(&memory, mm))
                return 0;
        n = memory.resident[TASK_MEMORY_FILE] + memory.resident[TASK_MEMORY_ANON] +
            memory.resident[TASK_MEMORY_SHMEM];
        return n > (__s64) peak ? (__u64) n : peak;
}
