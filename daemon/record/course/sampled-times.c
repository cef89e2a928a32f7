/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/course/sampled-times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/bpf/task-value.h"

#define TIMES_PER_CALL 256u

void sampled_times_done(SampledTimes *times) {
        free(times->begin);
        *times = (SampledTimes){};
}

bool sampled_time_is_over(const TaskRecord *record) {
        return (record->has & TASK_IS_DEAD) != 0 || record->exit_state != 0;
}

void sampled_time_read(const Task *task, const SampledTerms *terms, SampledTime *ret) {
        const TaskRecord *record = task->record;
        const TaskReasons *of = task->reasons;
        char state = task_state(record);
        uint64_t *ns = ret->ns;

        *ret = (SampledTime){ .start_boottime_ns = record->start_boottime_ns,
                              .tid = record->tid,
                              .tgid = record->tgid };
        ns[RECORD_PLACE_running] = record->run_time_ns;
        ns[RECORD_PLACE_run_queue] = record->wait_time_ns;
        if (task->waits && terms->has_waits) {
                const TaskWaits *waits = task->waits;

                ns[RECORD_PLACE_storage] = waits->storage_ns;
                ns[RECORD_PLACE_blocked] = waits->other_ns;
                if (waits->since_ns != 0 && state == 'D')
                        ns[waits->is_storage ? RECORD_PLACE_storage : RECORD_PLACE_blocked] +=
                                record->seen_ns - MIN_OF(waits->since_ns, record->seen_ns);
        }
        if (!of || terms->epoch == 0 || of->epoch != terms->epoch)
                return;
        memcpy(ns, of->sums.ns, WAIT_REASONS_APART_MAX * sizeof(*ns));
        if (of->since_ns != 0 && state != 'R' && of->reason < WAIT_REASONS_APART_MAX &&
            of->begin.n_voluntary == record->voluntary_csw)
                ns[of->reason] += record->seen_ns - MIN_OF(of->since_ns, record->seen_ns);
}

int sampled_time_compare(const SampledTime *a, const SampledTime *b) {
        if (a->tgid != b->tgid)
                return a->tgid < b->tgid ? -1 : 1;
        if (a->tid != b->tid)
                return a->tid < b->tid ? -1 : 1;
        return (a->start_boottime_ns > b->start_boottime_ns) -
               (a->start_boottime_ns < b->start_boottime_ns);
}

int sampled_times_begin(SampledTimes *times, const TaskTable *tasks, const SampledTerms *terms) {
        size_t n = task_table_count(tasks);

        sampled_times_done(times);
        times->begin = calloc(n + 1, sizeof(*times->begin));
        if (!times->begin)
                return -ENOMEM;
        times->terms = *terms;
        for (size_t i = 0; i < n; i++) {
                const Task task = task_table_get(tasks, i);

                sampled_time_read(&task, terms, &times->begin[times->n++]);
        }
        return 0;
}

int sampled_times_end(const SampledTimes *times, const TaskTable *tasks, const SampledTerms *terms,
                      int (*tell)(void *userdata, const SampledTime *all, size_t n),
                      void *userdata) {
        SampledTime told[TIMES_PER_CALL];
        size_t n = 0, before = 0;
        int r = 0;

        if (!times->begin || terms->epoch != times->terms.epoch)
                return 0;
        for (size_t i = 0; i < task_table_count(tasks) && r == 0; i++) {
                const Task task = task_table_get(tasks, i);
                SampledTime *now = &told[n];

                if (sampled_time_is_over(task.record))
                        continue;
                sampled_time_read(&task, terms, now);
                while (before < times->n && sampled_time_compare(&times->begin[before], now) < 0)
                        before++;
                if (before < times->n && sampled_time_compare(&times->begin[before], now) == 0)
                        for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                                now->ns[place] -=
                                        MIN_OF(times->begin[before].ns[place], now->ns[place]);
                if (++n < TIMES_PER_CALL)
                        continue;
                r = tell(userdata, told, n);
                n = 0;
        }
        return r == 0 && n > 0 ? tell(userdata, told, n) : r;
}
