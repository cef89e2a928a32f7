/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/course/steps.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "metric/record-place.h"
#include "wire/limits.h"

#define MAX_TRIES 4u /* of a reading */
#define CELLS_PER_MESSAGE 2048u

/* The group that gets the time of all groups for which there is no room. */
static const CourseGroup other_groups = { .process = "[other groups]", .comm = "[other groups]" };

/* A thread, as one reading has it. */
typedef struct Account {
        SampledTime time;
        uint32_t group;
} Account;

/* A row of the ledger; one that was removed and came again began at another time. */
typedef struct RowAccount {
        LedgerKey key;
        uint64_t born_ns, exits;
        uint64_t ns[_RECORD_PLACE_MAX];
} RowAccount;

typedef struct Reading {
        Account *accounts; /* owned; by process and thread */
        size_t n, n_allocated;
        RowAccount *rows; /* owned */
        size_t n_rows, n_rows_allocated;
        Index by_key;
        SampledTerms terms;
        uint64_t at_boottime_ns;
        bool has_queue;
} Reading;

typedef struct GroupTimes {
        int64_t now[_RECORD_PLACE_MAX];  /* of the step at hand */
        int64_t debt[_RECORD_PLACE_MAX]; /* not positive: what is still to be taken out */
        uint64_t kept[_RECORD_PLACE_MAX];
} GroupTimes;

struct Steps {
        StepsSink sink;
        pid_t main_pid, caller_pid;
        Reading readings[2];
        unsigned last; /* the reading before; the other one is at hand */
        bool has_last;
        Course groups;     /* of which it has no more */
        GroupTimes *times; /* owned; one for each group */
        size_t n_times, n_times_allocated;
        CourseStep kept; /* told when the step behind it is known */
        bool has_kept;
        uint64_t n_steps, n_cells;
        int failure; /* of the sink: it lacks a group, so that numbers of others mean nothing */
        StepsFacts facts;
};

int steps_new(const StepsSink *sink, pid_t main_pid, pid_t caller_pid, Steps **ret) {
        Steps *steps = calloc(1, sizeof(*steps));

        if (!steps)
                return -ENOMEM;
        steps->sink = *sink;
        steps->main_pid = main_pid;
        steps->caller_pid = caller_pid;
        steps->facts.places = (UINT64_C(1) << _RECORD_PLACE_MAX) - 1;
        *ret = steps;
        return 0;
}

Steps *steps_free(Steps *steps) {
        if (!steps)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(steps->readings); i++) {
                free(steps->readings[i].accounts);
                free(steps->readings[i].rows);
                index_done(&steps->readings[i].by_key);
        }
        course_done(&steps->groups);
        free(steps->times);
        free(steps);
        return NULL;
}

void steps_get_facts(const Steps *steps, StepsFacts *ret) {
        *ret = steps->facts;
}

/* groups */

/* The names of a group, and of its process, may change at any time, as often as anybody wants. */
static int find_group(Steps *steps, const char process[static 16], const char comm[static 16],
                      uint32_t *ret) {
        CourseGroup group;
        size_t n_before = steps->groups.n_groups;
        int r;

        memcpy(group.process, process, sizeof(group.process));
        memcpy(group.comm, comm, sizeof(group.comm));
        if (steps->n_cells >= LIMIT_COURSE_CELLS ||
            (n_before >= LIMIT_COURSE_GROUPS &&
             course_find_group(&steps->groups, &group) == INDEX_NONE))
                group = other_groups;
        r = ARRAY_RESERVE(steps->times, steps->n_times_allocated, n_before + 1);
        if (r == 0)
                r = course_add_group(&steps->groups, &group, ret);
        if (r < 0 || steps->groups.n_groups == n_before)
                return r;
        steps->times[n_before] = (GroupTimes){};
        steps->n_times = n_before + 1;
        steps->failure = steps->sink.group(steps->sink.userdata, &steps->groups.groups[n_before]);
        return steps->failure;
}

/* readings */

void steps_begin_reading(Steps *steps, const SampledTerms *terms) {
        Reading *reading = &steps->readings[!steps->last];

        reading->n = reading->n_rows = 0;
        index_clear(&reading->by_key);
        reading->terms = *terms;
        reading->has_queue = true;
}

static bool is_own(const Steps *steps, const TaskRecord *record) {
        return (pid_t) record->tgid == steps->main_pid || (pid_t) record->ppid == steps->main_pid ||
               (pid_t) record->tgid == steps->caller_pid;
}

int steps_add_tasks(Steps *steps, const TaskTable *tasks) {
        Reading *reading = &steps->readings[!steps->last];
        int r = ARRAY_RESERVE(reading->accounts, reading->n_allocated, task_table_count(tasks));

        for (size_t i = 0; i < task_table_count(tasks) && r == 0; i++) {
                const Task task = task_table_get(tasks, i);
                const TaskRecord *record = task.record, *leader = record;
                Account *account = &reading->accounts[reading->n];
                size_t at;

                if (sampled_time_is_over(record) || is_own(steps, record))
                        continue;
                at = task_table_search(tasks, (pid_t) record->tgid, (pid_t) record->tgid);
                if (at < task_table_count(tasks) &&
                    task_table_get(tasks, at).record->tid == record->tgid)
                        leader = task_table_get(tasks, at).record;
                reading->has_queue = reading->has_queue && (record->has & TASK_HAS_RUN_DELAY) != 0;
                sampled_time_read(&task, &reading->terms, &account->time);
                r = find_group(steps, leader->comm, record->comm, &account->group);
                reading->n++;
        }
        return r;
}

static Span key_of_row(const void *owner, size_t element) {
        const Reading *reading = owner;

        return (Span){ (const char *) &reading->rows[element].key, sizeof(LedgerKey) };
}

int steps_add_row(void *userdata, const LedgerKey *key, const LedgerValues *values) {
        Steps *steps = userdata;
        Reading *reading = &steps->readings[!steps->last];
        RowAccount *row;
        int r;

        if (key->flags & LEDGER_OF_SELF)
                return 0;
        r = ARRAY_RESERVE(reading->rows, reading->n_rows_allocated, reading->n_rows + 1);
        if (r < 0)
                return r;
        row = &reading->rows[reading->n_rows];
        *row = (RowAccount){ .key = *key, .born_ns = values->born_ns, .exits = values->exits };
        for (unsigned i = 0; i < WAIT_REASONS_APART_MAX; i++)
                row->ns[i] = values->sums[LEDGER_REASON_SUMS + i];
        row->ns[RECORD_PLACE_storage] = values->sums[LEDGER_STORAGE_WAIT_NS];
        row->ns[RECORD_PLACE_blocked] = values->sums[LEDGER_OTHER_WAIT_NS];
        row->ns[RECORD_PLACE_run_queue] = values->sums[LEDGER_wait_time_ns];
        row->ns[RECORD_PLACE_running] = values->sums[LEDGER_run_time_ns];
        /* A table that changes while it is walked may give a row twice. */
        if (index_find(&reading->by_key, (Span){ (const char *) key, sizeof(*key) }, key_of_row,
                       reading) != INDEX_NONE)
                return 0;
        r = index_add(&reading->by_key, (Span){ (const char *) &row->key, sizeof(row->key) },
                      reading->n_rows);
        reading->n_rows += r == 0;
        return r;
}

/* differences */

/* @before and @after: NULL where the thread, or the row, is not there. */
static void add_difference(Steps *steps, uint32_t group, const uint64_t *before,
                           const uint64_t *after, bool forgets_reasons) {
        int64_t *now = steps->times[group].now;

        for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++) {
                bool is_forgotten = forgets_reasons && place < WAIT_REASONS_APART_MAX;

                now[place] += (int64_t) ((after ? after[place] : 0) -
                                         (before && !is_forgotten ? before[place] : 0));
        }
}

static void compare_threads(Steps *steps, const Reading *before, const Reading *after) {
        /* The times that a thread has waited for each reason begin anew with the account. */
        bool forgets = before->terms.epoch != after->terms.epoch;
        size_t i = 0, k = 0;

        while (i < before->n || k < after->n) {
                int order = i == before->n  ? 1
                            : k == after->n ? -1
                                            : sampled_time_compare(&before->accounts[i].time,
                                                                   &after->accounts[k].time);
                const uint64_t *old = NULL, *new = NULL;
                uint32_t group = 0;

                if (order <= 0) {
                        old = before->accounts[i].time.ns;
                        group = before->accounts[i++].group;
                }
                if (order >= 0) {
                        new = after->accounts[k].time.ns;
                        group = after->accounts[k++].group;
                }
                add_difference(steps, group, old, new, forgets);
        }
}

static int compare_rows(Steps *steps, const Reading *before, const Reading *after,
                        uint64_t *ret_ended) {
        *ret_ended = 0;
        for (size_t i = 0; i < after->n_rows; i++) {
                const RowAccount *new = &after->rows[i], *old = NULL;
                size_t found = index_find(&before->by_key,
                                          (Span){ (const char *) &new->key, sizeof(new->key) },
                                          key_of_row, before);
                uint32_t group;
                int r;

                if (found != INDEX_NONE && before->rows[found].born_ns == new->born_ns)
                        old = &before->rows[found];
                if (old && memcmp(old->ns, new->ns, sizeof(new->ns)) == 0 &&
                    old->exits == new->exits)
                        continue;
                /* One that holds what there was no room for has no names. */
                if (new->key.flags & LEDGER_OVERFLOW)
                        r = find_group(steps, other_groups.process, other_groups.comm, &group);
                else
                        r = find_group(steps, new->key.process, new->key.thread, &group);
                if (r < 0)
                        return r;
                *ret_ended += new->exits - (old ? MIN_OF(old->exits, new->exits) : 0);
                add_difference(steps, group, old ? old->ns : NULL, new->ns, false);
        }
        return 0;
}

/* The step before loses what the one at hand would have less than nothing of. */
static void settle(GroupTimes *times) {
        for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++) {
                int64_t now = times->now[place] + times->debt[place], own_debt;

                times->debt[place] = 0;
                if (now < 0) {
                        uint64_t taken = MIN_OF((uint64_t) -now, times->kept[place]);

                        times->kept[place] -= taken;
                        now += (int64_t) taken;
                        /*
                         * A debt from earlier steps that is not paid by now will never be paid, and
                         * is dropped.
                         */
                        own_debt = MIN_OF(times->now[place], (int64_t) 0);
                        times->debt[place] = MAX_OF(now, own_debt);
                        now = 0;
                }
                times->now[place] = now;
        }
}

static int tell_kept(Steps *steps) {
        CourseCell cells[CELLS_PER_MESSAGE];
        size_t n = 0;
        int r;

        if (!steps->has_kept)
                return 0;
        r = steps->sink.step(steps->sink.userdata, &steps->kept);
        for (size_t i = 0; i < steps->n_times; i++)
                for (unsigned place = 0; place < _RECORD_PLACE_MAX && r == 0; place++) {
                        if (steps->times[i].kept[place] == 0)
                                continue;
                        cells[n++] = (CourseCell){ .step = (uint32_t) steps->n_steps,
                                                   .group = (uint32_t) i,
                                                   .place = place,
                                                   .ns = steps->times[i].kept[place] };
                        if (n < ELEMENTSOF(cells))
                                continue;
                        r = steps->sink.cells(steps->sink.userdata, cells, n);
                        steps->n_cells += n;
                        n = 0;
                }
        if (r == 0 && n > 0)
                r = steps->sink.cells(steps->sink.userdata, cells, n);
        steps->n_cells += n;
        steps->n_steps++;
        steps->has_kept = false;
        return r;
}

static void note_places(Steps *steps, const Reading *reading) {
        uint64_t *places = &steps->facts.places;

        if (reading->terms.epoch == 0)
                *places &= ~((UINT64_C(1) << WAIT_REASONS_APART_MAX) - 1);
        if (!reading->terms.has_waits)
                *places &= ~(UINT64_C(1) << RECORD_PLACE_storage | UINT64_C(1)
                                                                           << RECORD_PLACE_blocked);
        if (!reading->has_queue)
                *places &= ~(UINT64_C(1) << RECORD_PLACE_run_queue);
}

int steps_end_reading(Steps *steps, uint64_t now_boottime_ns) {
        Reading *before = &steps->readings[steps->last], *after = &steps->readings[!steps->last];
        uint64_t n_ended;
        int r;

        after->at_boottime_ns = now_boottime_ns;
        note_places(steps, after);
        steps->last = !steps->last;
        if (!steps->has_last) {
                steps->has_last = true;
                return 0;
        }
        for (size_t i = 0; i < steps->n_times; i++)
                memset(steps->times[i].now, 0, sizeof(steps->times[i].now));
        compare_threads(steps, before, after);
        r = compare_rows(steps, before, after, &n_ended);
        if (r < 0)
                return r;
        for (size_t i = 0; i < steps->n_times; i++)
                settle(&steps->times[i]);
        r = tell_kept(steps);
        for (size_t i = 0; i < steps->n_times; i++)
                for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                        steps->times[i].kept[place] =
                                steps->facts.places >> place & 1
                                        ? (uint64_t) steps->times[i].now[place]
                                        : 0;
        steps->kept = (CourseStep){ .begin_boottime_ns = before->at_boottime_ns,
                                    .end_boottime_ns = now_boottime_ns,
                                    .n_threads = after->n,
                                    .n_ended = n_ended };
        steps->has_kept = true;
        return r;
}

int steps_end(Steps *steps) {
        return tell_kept(steps);
}

/* the kernel */

/* 0, or a negative errno: of a reading that is not there then. */
static int read_once(Steps *steps, const TaskObjects *objects, LedgerControl *control) {
        _cleanup_(task_table_freep) TaskTable *tasks = NULL;
        int r = task_table_read(objects->fds[TASK_OBJECT_TASKS], &tasks);

        if (r == 0)
                r = steps_add_tasks(steps, tasks);
        return r == 0 ? ledger_visit_rows(objects, steps_add_row, steps) : r;
}

int steps_take(Steps *steps, const TaskObjects *objects, LedgerControl *control) {
        uint64_t begin, end, now_ns = 0;
        unsigned n = 0;
        int r;

        do {
                begin = ledger_stamp(control);
                now_ns = clock_now_ns(CLOCK_BOOTTIME);
                steps_begin_reading(steps, &(SampledTerms){ control->reasons.epoch,
                                                            control->waits_since_ns != 0 });
                r = read_once(steps, objects, control);
                end = ledger_stamp(control);
        } while (r == 0 && begin != end && ++n < MAX_TRIES);
        if (steps->failure < 0)
                return steps->failure;
        /* A reading is one of many, and worth less than the recording. */
        if (r < 0) {
                steps->facts.n_missed++;
                return 0;
        }
        steps->facts.n_unsettled += begin != end;
        return steps_end_reading(steps, now_ns);
}
