/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/contradiction/contradiction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/number.h"
#include "kernel/text/cpu-list.h"
#include "kernel/text/cursor.h"

/* Parts of the interval, in CPUs. */
#define LEAST 0.25
#define LEAST_THROTTLED 0.05
#define FULL_CPU 0.9 /* the share of time in which it is not idle */
#define IDLE_CPU 0.95
#define EXPLAINS 3 /* a part of so many */
#define STUCK_SHOWN 3
#define CPU_LIST_MAX_CHARS (6 * (size_t) CPU_LIST_MAX_CPUS) /* each with a comma */

/* One sentence that is being made: its members go into the object, its words into the text. */
typedef struct Sentence {
        const ContradictionBasis *basis;
        JsonWriter *writer;
        Buffer text;
} Sentence;

static void begin(Sentence *sentence, const char *what) {
        buffer_clear(&sentence->text);
        json_write_object(sentence->writer);
        json_write_member_text(sentence->writer, "what", what);
}

static void say(Sentence *sentence, const char *text) {
        buffer_append_text(&sentence->text, text);
}

static void say_name(Sentence *sentence, Span name) {
        if (name.n > 0)
                buffer_append(&sentence->text, name.bytes, name.n);
        else
                say(sentence, "\"\"");
}

static void say_cpus(Sentence *sentence, uint64_t ns) {
        buffer_append_format(&sentence->text, "%.2f",
                             (double) ns / (double) sentence->basis->elapsed_ns.n);
}

static int end(Sentence *sentence) {
        json_write_member_name(sentence->writer, "text", buffer_span(&sentence->text));
        json_write_end(sentence->writer);
        return buffer_failure(&sentence->text);
}

/* CPUs */

/* One CPU by its number, and how idle it was. */
typedef struct CpuIdle {
        uint64_t cpu;
        double idle; /* the share of its time */
} CpuIdle;

typedef struct CpuUse {
        CpuIdle *cpus; /* owned */
        size_t n;
        unsigned long mask[CPU_LIST_MAX_WORDS]; /* scratch */
} CpuUse;

static bool mask_has(const unsigned long *mask, uint64_t cpu) {
        return cpu < CPU_LIST_MAX_CPUS &&
               (mask[cpu / CPU_LIST_WORD_BITS] >> cpu % CPU_LIST_WORD_BITS & 1) != 0;
}

/*
 * True when who may use the CPUs of @list alone has none but full ones, and another one is idle.
 * Leaves them in the mask.
 */
static bool is_confined(CpuUse *use, Span list) {
        bool is_full = true, has_other = false;
        size_t n;

        if (list.n == 0 || cpu_list_parse(list, use->mask, &n) != 0)
                return false;
        n = 0;
        for (size_t i = 0; i < use->n; i++) {
                bool has = mask_has(use->mask, use->cpus[i].cpu);

                n += has;
                is_full = is_full && (!has || use->cpus[i].idle <= 1 - FULL_CPU);
                has_other = has_other || (!has && use->cpus[i].idle >= LEAST);
        }
        return n > 0 && is_full && has_other;
}

/* Writes a list of CPUs as a member, and says it: "CPU 1", "CPUs 0-3,7". */
static int tell_cpus(Sentence *sentence, const unsigned long *mask, const char *key) {
        _cleanup_(freep) char *list = NULL;
        size_t n_chars, n_cpus;
        int r = -ENOMEM;

        list = malloc(CPU_LIST_MAX_CHARS);
        if (list)
                r = cpu_list_format(mask, CPU_LIST_MAX_WORDS, list, CPU_LIST_MAX_CHARS, &n_chars,
                                    &n_cpus);
        if (r != 0)
                return err_fold(r);
        json_write_member_name(sentence->writer, key, (Span){ list, n_chars });
        say(sentence, n_cpus == 1 ? "CPU " : "CPUs ");
        return buffer_append(&sentence->text, list, n_chars);
}

/* waiting */

/* True for cohorts of a kind. */
typedef bool (*CohortMatch)(void *userdata, const Cohort *cohort);

typedef struct Most {
        uint64_t sum;         /* of all cohorts that match */
        uint64_t ns;          /* of the one that has most of it */
        const Cohort *cohort; /* this one; NULL: none matches */
} Most;

/* @matches may be NULL: all cohorts. */
static Most most_of(const Cohorts *cohorts, CohortTime time, CohortMatch matches, void *userdata) {
        Most most = {};

        for (const KeyNode *node = cohorts->tree.first; node; node = node->next) {
                const Cohort *cohort = (const Cohort *) (const void *) node->payload;
                uint64_t ns = cohort->ns[time];

                if ((int64_t) ns <= 0 || (matches && !matches(userdata, cohort)))
                        continue;
                most.sum = number_add_saturating(most.sum, ns);
                if (ns > most.ns) {
                        most.ns = ns;
                        most.cohort = cohort;
                }
        }
        return most;
}

static bool is_throttled(void *userdata, const Cohort *cohort) {
        const ContradictionBasis *basis = userdata;
        Throttling throttling;

        return limit_tally_throttling(basis->limits, cohort->cgroup, &throttling) &&
               (!throttling.ns.known ||
                (double) throttling.ns.n / (double) basis->elapsed_ns.n >= LEAST_THROTTLED);
}

static bool is_confined_cohort(void *userdata, const Cohort *cohort) {
        return is_confined(userdata, cohort->cpus);
}

/* Finds the cohorts that must run on CPUs which @with uses. */
typedef struct Sharing {
        CpuUse *use;
        const Cohort *with;
        unsigned long mask[CPU_LIST_MAX_WORDS]; /* of that */
} Sharing;

static bool is_sharing(void *userdata, const Cohort *cohort) {
        const Sharing *sharing = userdata;

        if (span_equal(cohort->process, sharing->with->process) ||
            !is_confined(sharing->use, cohort->cpus))
                return false;
        for (size_t i = 0; i < CPU_LIST_MAX_WORDS; i++)
                if (sharing->use->mask[i] & sharing->mask[i])
                        return true;
        return false;
}

static bool yields_by_class(void *userdata, const Cohort *cohort) {
        return cohort->has_class && cohort->policy != 0; /* SCHED_OTHER */
}

static bool yields_by_nice(void *userdata, const Cohort *cohort) {
        return cohort->has_class && cohort->nice > 0;
}

static void tell_who(Sentence *sentence, const Cohort *cohort, const char *key) {
        json_write_member_name(sentence->writer, key, cohort->process);
}

static void tell_quota(Sentence *sentence, const Cohort *cohort) {
        const LimitTally *limits = sentence->basis->limits;
        Throttling throttling = {};

        (void) limit_tally_throttling(limits, cohort->cgroup, &throttling);
        json_write_member_text(sentence->writer, "why", "quota");
        tell_who(sentence, cohort, "process");
        json_write_member_name(sentence->writer, "cgroup", throttling.cgroup);
        amount_write_json(sentence->writer, "throttledNs", throttling.ns);
        say(sentence, "the CPU quota of ");
        say_name(sentence, throttling.cgroup);
        say(sentence, " throttled ");
        say_name(sentence, cohort->process);
        if (throttling.ns.known)
                buffer_append_format(&sentence->text, " for %.2f s",
                                     (double) throttling.ns.n / NSEC_PER_SEC);
}

/* "CPU 1, 100 % busy, while CPU 0 is idle" */
static int tell_full_cpus(Sentence *sentence, CpuUse *use, const unsigned long *full) {
        _cleanup_(freep) unsigned long *idle = calloc(CPU_LIST_MAX_WORDS, sizeof(*idle));
        double busy = 0, idle_share = 0;
        size_t n_full = 0, n_idle = 0;
        int r;

        if (!idle)
                return -ENOMEM;
        for (size_t i = 0; i < use->n; i++) {
                const CpuIdle *cpu = &use->cpus[i];

                if (mask_has(full, cpu->cpu)) {
                        busy += 1 - cpu->idle;
                        n_full++;
                } else if (cpu->idle >= LEAST && cpu->cpu < CPU_LIST_MAX_CPUS) {
                        idle[cpu->cpu / CPU_LIST_WORD_BITS] |= 1UL << cpu->cpu % CPU_LIST_WORD_BITS;
                        idle_share += cpu->idle;
                        n_idle++;
                }
        }
        r = tell_cpus(sentence, full, "cpus");
        if (r != 0)
                return r;
        buffer_append_format(&sentence->text, ", %.0f %% busy, while ",
                             100 * busy / (double) MAX_OF(n_full, (size_t) 1));
        r = tell_cpus(sentence, idle, "idleCpus");
        if (r != 0)
                return r;
        say(sentence, n_idle == 1 ? " is " : " are ");
        idle_share /= (double) MAX_OF(n_idle, (size_t) 1);
        if (idle_share < IDLE_CPU)
                buffer_append_format(&sentence->text, "%.0f %% ", 100 * idle_share);
        say(sentence, "idle");
        return buffer_failure(&sentence->text);
}

/* "redis-server and python3 share CPU 1, …" */
static int tell_affinity(Sentence *sentence, CpuUse *use, const Cohort *cohort) {
        _cleanup_(freep) Sharing *sharing = calloc(1, sizeof(*sharing));
        const Cohort *other;

        if (!sharing)
                return -ENOMEM;
        (void) is_confined(use, cohort->cpus);
        *sharing = (Sharing){ .use = use, .with = cohort };
        memcpy(sharing->mask, use->mask, sizeof(sharing->mask));
        other = most_of(sentence->basis->cohorts, COHORT_RUNNING, is_sharing, sharing).cohort;
        json_write_member_text(sentence->writer, "why", "affinity");
        tell_who(sentence, cohort, "process");
        if (other) {
                tell_who(sentence, other, "with");
                /* The CPUs that the two have in common are full. */
                if (is_confined(use, other->cpus))
                        for (size_t i = 0; i < CPU_LIST_MAX_WORDS; i++)
                                sharing->mask[i] &= use->mask[i];
                say_name(sentence, cohort->process);
                say(sentence, " and ");
                say_name(sentence, other->process);
                say(sentence, " share ");
        } else if (cohort->n_threads > 1) {
                buffer_append_format(&sentence->text, "%llu threads of ",
                                     (unsigned long long) cohort->n_threads);
                say_name(sentence, cohort->process);
                say(sentence, " share ");
        } else {
                say_name(sentence, cohort->process);
                say(sentence, " may use only ");
        }
        return tell_full_cpus(sentence, use, sharing->mask);
}

/* The cohort that has most of the waiting of those that match; NULL if they have too little. */
static const Cohort *find_cause(const ContradictionBasis *basis, CohortMatch matches,
                                void *userdata) {
        Most most = most_of(basis->cohorts, COHORT_WAITING, matches, userdata);

        return most.sum > basis->host->waiting_ns.n / EXPLAINS ? most.cohort : NULL;
}

static int tell_waiting(Sentence *sentence, CpuUse *use) {
        const ContradictionBasis *basis = sentence->basis;
        const HostTotals *host = &basis->host->difference;
        const Amount *all = host->parts[HOST_PART_CPU].all_cpus;
        Amount waiting = basis->host->waiting_ns, idle = all[HOST_CPU_IDLE];
        const double elapsed_ns = (double) basis->elapsed_ns.n;
        JsonWriter *writer = sentence->writer;
        const Cohort *most;
        int r = 0;

        if (!waiting.known || !idle.known)
                return 0;
        idle.n = number_add_saturating(idle.n, all[HOST_CPU_IOWAIT].n);
        idle = host_value_of_unit(host, HOST_UNIT_TICKS, idle);
        /* Ticks miss what is shorter than they are, so that what they have as idle may be less. */
        if (idle.known && basis->believed_ns.known && basis->use->n_cpus.known) {
                Amount all_ns = amount_of(
                        number_multiply_saturating(basis->use->n_cpus.n, basis->elapsed_ns.n));

                idle.n = MIN_OF(idle.n, amount_subtract(all_ns, basis->believed_ns).n);
        }
        if (!idle.known || (double) waiting.n / elapsed_ns < LEAST ||
            (double) idle.n / elapsed_ns < LEAST)
                return 0;
        begin(sentence, "waiting");
        json_write_member_u64(writer, "waitingNs", waiting.n);
        json_write_member_u64(writer, "idleNs", idle.n);
        say_cpus(sentence, waiting.n);
        say(sentence, " threads wait while ");
        say_cpus(sentence, idle.n);
        say(sentence, " CPUs are idle: ");
        if ((most = find_cause(basis, is_throttled, (void *) (uintptr_t) basis))) {
                tell_quota(sentence, most);
        } else if ((most = find_cause(basis, is_confined_cohort, use))) {
                r = tell_affinity(sentence, use, most);
        } else if ((most = find_cause(basis, yields_by_class, NULL))) {
                char policy[POLICY_NAME_CHARS];
                size_t n = policy_format(most->policy, policy);

                json_write_member_text(writer, "why", "class");
                tell_who(sentence, most, "process");
                json_write_member_name(writer, "policy", (Span){ policy, n });
                say_name(sentence, most->process);
                say(sentence, " is of class ");
                buffer_append(&sentence->text, policy, n);
        } else if ((most = find_cause(basis, yields_by_nice, NULL))) {
                json_write_member_text(writer, "why", "nice");
                tell_who(sentence, most, "process");
                json_write_member_i64(writer, "nice", most->nice);
                say_name(sentence, most->process);
                buffer_append_format(&sentence->text, " runs at nice %lld", (long long) most->nice);
        } else {
                Most waiter = most_of(basis->cohorts, COHORT_WAITING, NULL, NULL);

                json_write_member_null(writer, "why");
                say(sentence, "not explained");
                if (waiter.cohort) {
                        tell_who(sentence, waiter.cohort, "process");
                        say(sentence, " (");
                        say_name(sentence, waiter.cohort->process);
                        say(sentence, " ");
                        say_cpus(sentence, waiter.ns);
                        say(sentence, ")");
                }
        }
        return r == 0 ? end(sentence) : r;
}

/* pressure */

static int compare_stuck(const void *a, const void *b) {
        const KeyNode *const *left = a, *const *right = b;
        const StuckName *x = stuck_name_of(*left), *y = stuck_name_of(*right);

        if (x->kthread != y->kthread)
                return x->kthread ? 1 : -1;
        if (x->n_before != y->n_before)
                return x->n_before > y->n_before ? -1 : 1;
        if (x->n != y->n)
                return x->n > y->n ? -1 : 1;
        return span_compare((*left)->key, (*right)->key);
}

/* "in state D: python3 ×2, python3/worker" */
static int tell_stuck(Sentence *sentence) {
        const KeyTree *stuck = &sentence->basis->cohorts->stuck;
        _cleanup_(freep) KeyNode **names = NULL;
        int r = key_tree_list(stuck, compare_stuck, &names);

        if (r != 0)
                return r;
        json_write_key(sentence->writer, "stuck");
        json_write_array(sentence->writer);
        say(sentence, stuck->n > 0 ? "in state D: " : "no thread was in state D at the end");
        for (size_t i = 0; i < stuck->n && i < STUCK_SHOWN; i++) {
                const StuckName *name = stuck_name_of(names[i]);

                if (i > 0)
                        say(sentence, ", ");
                json_write_object(sentence->writer);
                json_write_member_name(sentence->writer, "process", name->process);
                json_write_member_name(sentence->writer, "thread", name->thread);
                json_write_member_u64(sentence->writer, "threads", name->n);
                json_write_end(sentence->writer);
                say_name(sentence, name->process);
                if (!span_equal(name->process, name->thread)) {
                        say(sentence, "/");
                        say_name(sentence, name->thread);
                }
                if (name->n > 1)
                        buffer_append_format(&sentence->text, " \u00d7%llu",
                                             (unsigned long long) name->n);
        }
        if (stuck->n > STUCK_SHOWN)
                buffer_append_format(&sentence->text, ", %zu more names", stuck->n - STUCK_SHOWN);
        json_write_end(sentence->writer);
        return 0;
}

static int tell_pressure(Sentence *sentence, unsigned resource, const char *name, CohortTime time) {
        const ContradictionBasis *basis = sentence->basis;
        Amount pressure = host_view_stalled_ns(basis->host, resource, PRESSURE_HALF_SOME);
        const double elapsed_ns = (double) basis->elapsed_ns.n;
        uint64_t explained;
        Most ring;
        int r = 0;

        pressure.n = MIN_OF(pressure.n, basis->elapsed_ns.n);
        explained = most_of(basis->cohorts, time, NULL, NULL).sum;
        if (!pressure.known || explained >= pressure.n / EXPLAINS ||
            (double) (pressure.n - explained) / elapsed_ns < LEAST)
                return 0;
        begin(sentence, "pressure");
        json_write_member_text(sentence->writer, "resource", name);
        json_write_member_u64(sentence->writer, "pressureNs", pressure.n);
        json_write_member_u64(sentence->writer, "groupsNs", explained);
        buffer_append_format(&sentence->text, "pressure %s %.0f %%, but groups waited only ", name,
                             100 * ((double) pressure.n / elapsed_ns));
        say_cpus(sentence, explained);
        say(sentence, ": ");
        ring = most_of(basis->cohorts, COHORT_ASYNC_IO, NULL, NULL);
        if (resource == PRESSURE_RESOURCE_IO && ring.cohort && ring.sum >= pressure.n / EXPLAINS) {
                tell_who(sentence, ring.cohort, "ring");
                say_name(sentence, ring.cohort->process);
                say(sentence, " waits in io_uring_enter for its ring (");
                say_cpus(sentence, ring.ns);
                say(sentence, ")");
        } else {
                r = tell_stuck(sentence);
        }
        return r == 0 ? end(sentence) : r;
}

/* limits */

/* The limits of these controllers are told of cgroups of version 2. */
static const struct {
        unsigned controller; /* 0: cpu, 1: memory */
        const char *waits;
        CohortTime time;
} limit_rows[] = {
        { 0, " waits for a CPU (", COHORT_WAITING },
        { 1, " reads anew what had been in memory (", COHORT_EVICTED },
        { 1, " waits for storage (", COHORT_STORAGE },
};

/* "limits unknown (cgroup v1: cpu, memory): make waits for a CPU (0.82)" */
static int tell_limits(Sentence *sentence) {
        static const char *const controllers[] = { "cpu", "memory" };
        const ContradictionBasis *basis = sentence->basis;
        Cursor words = basis->cgroup_v1; /* "cpu, memory" */
        bool has[ELEMENTSOF(controllers)] = {};
        Span word;

        while (cursor_word(&words, &word)) {
                if (word.bytes[word.n - 1] == ',')
                        word.n--;
                for (size_t i = 0; i < ELEMENTSOF(controllers); i++)
                        has[i] = has[i] || span_is(word, controllers[i]);
        }
        for (size_t i = 0; i < ELEMENTSOF(limit_rows); i++) {
                Most most = most_of(basis->cohorts, limit_rows[i].time, NULL, NULL);
                const char *joint = "";

                if (!has[limit_rows[i].controller] || !most.cohort ||
                    (double) most.ns / (double) basis->elapsed_ns.n < LEAST)
                        continue;
                begin(sentence, "limits");
                tell_who(sentence, most.cohort, "process");
                json_write_key(sentence->writer, "controllers");
                json_write_array(sentence->writer);
                say(sentence, "limits unknown (cgroup v1: ");
                for (size_t k = 0; k < ELEMENTSOF(controllers); k++) {
                        if (!has[k])
                                continue;
                        json_write_text(sentence->writer, controllers[k]);
                        say(sentence, joint);
                        say(sentence, controllers[k]);
                        joint = ", ";
                }
                json_write_end(sentence->writer);
                say(sentence, "): ");
                say_name(sentence, most.cohort->process);
                say(sentence, limit_rows[i].waits);
                say_cpus(sentence, most.ns);
                say(sentence, ")");
                return end(sentence);
        }
        return 0;
}

int contradictions_write_json(const ContradictionBasis *basis, JsonWriter *writer) {
        static const struct {
                const char *name;
                unsigned resource;
                CohortTime time;
        } pressures[] = {
                { "io", PRESSURE_RESOURCE_IO, COHORT_STORAGE },
                { "memory", PRESSURE_RESOURCE_MEMORY, COHORT_MEMORY },
                { "cpu", PRESSURE_RESOURCE_CPU, COHORT_WAITING },
        };
        const HostPart *part = &basis->host->difference.parts[HOST_PART_CPU];
        Sentence sentence = { .basis = basis, .writer = writer };
        CpuUse use = { .n = 0 };
        int r;

        json_write_array(writer);
        if (basis->elapsed_ns.n == 0) {
                json_write_end(writer);
                return 0;
        }
        use.cpus = calloc(part->n_items + 1, sizeof(*use.cpus));
        for (const HostItem *item = part->items;
             use.cpus && item && item < part->items + part->n_items; item++) {
                const Amount *counts = item->counts;
                Amount time = host_cpu_time(counts, HOST_CPU_TIME_ALL);
                CpuIdle *cpu = &use.cpus[use.n];

                if (!time.known || time.n == 0 || !number_parse_u64(span_of(item->name), &cpu->cpu))
                        continue;
                cpu->idle =
                        ((double) counts[HOST_CPU_IDLE].n + (double) counts[HOST_CPU_IOWAIT].n) /
                        (double) time.n;
                use.n++;
        }
        r = use.cpus ? tell_waiting(&sentence, &use) : -ENOMEM;
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(pressures); i++)
                r = tell_pressure(&sentence, pressures[i].resource, pressures[i].name,
                                  pressures[i].time);
        if (r == 0)
                r = tell_limits(&sentence);
        free(use.cpus);
        buffer_done(&sentence.text);
        json_write_end(writer);
        return r;
}
