/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/task-value.h"

#include <sys/sysmacros.h>
#include "base/macro.h"
#include "base/number.h"

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x2u
#define TASK_REPORT 0x7fu /* the states that have a letter each, from interruptible to parked */
#define TASK_IDLE 0x402u
#define TASK_REPORT_IDLE 0x80u
#define TASK_RTLOCK_WAIT 0x1000u
#define TASK_FROZEN 0x8000u

char task_state(const TaskRecord *record) {
        static const char letters[] = "RSDTtXZPI";
        uint32_t state = (record->state | record->exit_state) & TASK_REPORT;

        if ((record->state & TASK_IDLE) == TASK_IDLE)
                state = TASK_REPORT_IDLE;
        /* In the end it waits for a lock, or to be thawed. */
        if (record->state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
                state = TASK_UNINTERRUPTIBLE;
        return letters[state == 0 ? 0 : 32 - __builtin_clz(state)];
}

void task_cpu_times(const TaskRecord *record, uint64_t *ret_user_ns, uint64_t *ret_system_ns) {
        __extension__ typedef unsigned __int128 Wide;
        uint64_t user = record->user_ns, system = record->system_ns, run = record->run_time_ns;

        if (!(record->has & TASK_HAS_PREV_TIMES)) {
                *ret_user_ns = user;
                *ret_system_ns = system;
                return;
        }
        /* Nothing has been added since they were shown last. */
        if (number_add_saturating(record->prev_user_ns, record->prev_system_ns) >= run) {
                *ret_user_ns = record->prev_user_ns;
                *ret_system_ns = record->prev_system_ns;
                return;
        }
        /* The kernel's mul_u64_u64_div_u64(), which is exact. */
        if (system != 0 && user == 0)
                system = run;
        else if (system != 0)
                system = MIN_OF(
                        (uint64_t) ((Wide) system * run / number_add_saturating(system, user)),
                        run);
        system = MAX_OF(system, record->prev_system_ns);
        user = run - system;
        if (user < record->prev_user_ns) {
                user = record->prev_user_ns;
                system = run - user;
        }
        *ret_user_ns = user;
        *ret_system_ns = system;
}

uint64_t task_start_ticks(const TaskRecord *record) {
        return record->start_boottime_ns / TASK_TICK_NS;
}

uint64_t task_device(uint64_t kernel_device) {
        /* include/linux/kdev_t.h: MINORBITS */
        return makedev((unsigned) (kernel_device >> 20), (unsigned) (kernel_device & 0xfffff));
}

uint64_t task_library_code(const TaskMemory *memory, uint64_t page_bytes) {
        uint64_t executable = memory->executable * page_bytes;
        uint64_t begin = memory->code_begin & ~(page_bytes - 1);
        uint64_t end = (memory->code_end + page_bytes - 1) & ~(page_bytes - 1);

        return executable - MIN_OF(end - begin, executable);
}

uint64_t task_integral_mb_us(uint64_t integral, uint64_t page_bytes) {
        const uint64_t divisor = 1000 * 1024;
        uint64_t whole = number_multiply_saturating(integral / divisor, page_bytes);

        return number_add_saturating(whole, integral % divisor * page_bytes / divisor);
}

uint64_t task_resident(const TaskMemory *memory) {
        uint64_t n = 0;

        for (unsigned kind = 0; kind < ELEMENTSOF(memory->resident); kind++)
                if (kind != TASK_MEMORY_SWAP && memory->resident[kind] > 0)
                        n = number_add_saturating(n, (uint64_t) memory->resident[kind]);
        return n;
}
