/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/clock-watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/number.h"
#include "kernel/text/cpu-list.h"
#include "kernel/text/cursor.h"

/*
 * A clock may stand still while its CPU is idle, and work is counted in whole ticks of the kernel:
 * only that so many were to come and none came tells that there is no clock.
 */
#define LEAST_TICKS 20u
#define LOOK_NS NSEC_PER_SEC

typedef struct Cpu {
        uint64_t n_ticks;  /* of its clock */
        uint64_t used;     /* in units of /proc/stat */
        uint64_t still_ns; /* what it has done since its clock stands still */
        bool was_seen;
} Cpu;

struct ClockWatch {
        const uint64_t *ticks; /* borrowed; written by programs */
        size_t n_cpus;
        uint64_t least_ns;  /* of work without a tick */
        uint64_t looked_ns; /* 0: not yet */
        uint64_t unclocked_ns;
        unsigned long *mask; /* owned: CPUs that have lost some */
        size_t n_words;
        Cpu cpus[];
};

int clock_watch_new(const uint64_t *ticks, size_t n_cpus, uint64_t clock_ns, ClockWatch **ret) {
        ClockWatch *watch = calloc(1, sizeof(*watch) + n_cpus * sizeof(*watch->cpus));

        if (!watch)
                return -ENOMEM;
        watch->ticks = ticks;
        watch->n_cpus = n_cpus;
        watch->least_ns = LEAST_TICKS * clock_ns;
        watch->n_words = (n_cpus + CPU_LIST_WORD_BITS - 1) / CPU_LIST_WORD_BITS;
        watch->mask = calloc(watch->n_words, sizeof(*watch->mask));
        if (!watch->mask) {
                free(watch);
                return -ENOMEM;
        }
        *ret = watch;
        return 0;
}

ClockWatch *clock_watch_free(ClockWatch *watch) {
        if (watch)
                free(watch->mask);
        free(watch);
        return NULL;
}

bool clock_watch_is_due(const ClockWatch *watch, uint64_t now_ns) {
        return watch->looked_ns == 0 || now_ns >= watch->looked_ns + LOOK_NS;
}

/* "cpu7 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ ...": those in which it does something. */
static bool parse_line(Span line, uint32_t *ret_cpu, uint64_t *ret_used) {
        static const bool is_work[] = { true, true, true, false, false, true, true };
        uint64_t value, used = 0;
        Span word;

        if (!cursor_word(&line, &word) || word.n <= 3 || memcmp(word.bytes, "cpu", 3) != 0 ||
            !number_parse_u32((Span){ word.bytes + 3, word.n - 3 }, ret_cpu))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(is_work); i++) {
                if (!cursor_word(&line, &word) || !number_parse_u64(word, &value))
                        return false;
                used = number_add_saturating(used, is_work[i] ? value : 0);
        }
        *ret_used = used;
        return true;
}

/*
 * Returns how long @cpu has worked without a clock, as far as this has become known since the last
 * look.
 */
static uint64_t add_work(Cpu *cpu, uint64_t done_ns, uint64_t least_ns) {
        uint64_t before_ns = cpu->still_ns;

        cpu->still_ns += done_ns;
        if (cpu->still_ns < least_ns)
                return 0;
        return before_ns < least_ns ? cpu->still_ns : done_ns;
}

void clock_watch_look(ClockWatch *watch, Span stat, uint64_t user_hz, uint64_t now_ns) {
        uint32_t number;
        uint64_t used;
        Span line;

        watch->looked_ns = now_ns;
        while (cursor_line(&stat, &line)) {
                uint64_t n_ticks, lost_ns = 0;
                unsigned long bit;
                Cpu *cpu;

                if (!parse_line(line, &number, &used) || number >= watch->n_cpus)
                        continue;
                cpu = &watch->cpus[number];
                bit = 1ul << number % CPU_LIST_WORD_BITS;
                n_ticks = __atomic_load_n(&watch->ticks[number], __ATOMIC_RELAXED);
                if (n_ticks != cpu->n_ticks)
                        cpu->still_ns = 0;
                else if (cpu->was_seen && used > cpu->used)
                        lost_ns = add_work(cpu, (used - cpu->used) * (NSEC_PER_SEC / user_hz),
                                           watch->least_ns);
                if (lost_ns > 0)
                        watch->mask[number / CPU_LIST_WORD_BITS] |= bit;
                watch->unclocked_ns += lost_ns;
                cpu->n_ticks = n_ticks;
                cpu->used = used;
                cpu->was_seen = true;
        }
}

void clock_watch_tell(const ClockWatch *watch, UnclockedTime *ret) {
        static const char more[] = ",...";
        size_t n_words = watch->n_words, n_chars = 0, n;

        *ret = (UnclockedTime){ .ns = watch->unclocked_ns };
        while (cpu_list_format(watch->mask, n_words, ret->cpus, sizeof(ret->cpus) - sizeof(more),
                               &n_chars, &n) != 0)
                n_words--;
        ret->cpus[n_chars] = '\0';
        if (n_words < watch->n_words)
                memcpy(ret->cpus + n_chars, more, sizeof(more));
}
