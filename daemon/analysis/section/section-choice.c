/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-choice.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/number.h"

static bool keeps(const Sections *sections, const Reading sides[static SECTION_SIDES]) {
        const View *view = &sections->view;
        Reading delta;

        if (sections->n_sides == 1)
                return !view->changed_only || reading_is_some(sides[0]);
        if (!view->has_threshold)
                return !view->changed_only || !reading_equal(sides[0], sides[1]);
        /* A value that was not measured, or not there, did not move. */
        if (sides[0].state == READING_ABSENT || sides[1].state == READING_ABSENT ||
            reading_equal(sides[0], sides[1]))
                return false;
        delta = reading_delta(sides[0], sides[1]);
        /* Setting or lifting a limit, and growth from zero, exceed every threshold. */
        if (delta.state != READING_NUMBER || sides[0].magnitude == 0)
                return true;
        return 100 * (double) delta.magnitude > view->threshold * (double) sides[0].magnitude;
}

bool section_row_is_wanted(const Sections *sections, SectionId id, const SectionRow *row) {
        const View *view = &sections->view;
        bool one_side = sections->n_sides == 1;
        bool is_state = id == SECTION_CGROUP_STATS || id == SECTION_CGROUP_LIMITS;
        bool is_count = view_table_forms[id].value && id != SECTION_SCHED_EXT;

        if (id == SECTION_SCHED_EXT && one_side) /* they are few */
                return true;
        if (row->is_text) /* texts do not change by a percentage */
                return !view->has_threshold &&
                       (!view->changed_only || row->texts[0] != row->texts[1]);
        for (unsigned i = 0; i < row->n_values; i++) {
                const Reading *sides = row->values[i];
                bool is_alone =
                        sides[0].state == READING_ABSENT || sides[1].state == READING_ABSENT;

                if (row->fields && row->fields[i].unit == FIELD_UNIT_CPUS)
                        continue;
                /*
                 * A process or cgroup that only one side has, has many numbers under keys that are
                 * 0: those say nothing.
                 */
                if (is_count && !one_side && is_alone && view->changed_only &&
                    !reading_is_some(sides[0]) && !reading_is_some(sides[1]))
                        continue;
                if (keeps(sections, sides) ||
                    (is_state && one_side && sides[0].state != READING_ABSENT))
                        return true;
        }
        /* With one side it is worth a row that a large process has no Pss. */
        return id == SECTION_SMAPS_ROLLUP && one_side &&
               smaps_entry(row->node)->counts[0].n_left_out > 0 && span_is(row->key, "Pss");
}

/* cgroups */

/* Movements of these sizes weigh the same; 0: they weigh nothing. */
static const double floors[_FIELD_UNIT_MAX] = {
        [FIELD_UNIT_COUNT] = 1e3,
        [FIELD_UNIT_BYTES] = 1048576.0,
        [FIELD_UNIT_US] = 1e6,
};

typedef struct Candidate {
        bool wanted;
        double score;
        size_t index;
} Candidate;

/* Raises *score to the weight of a row that the view wants. */
static void weigh(const Sections *sections, SectionId id, const SectionRow *row, double *score) {
        bool one_side = sections->n_sides == 1;

        for (unsigned i = 0; i < row->n_values; i++) {
                const Reading *sides = row->values[i];
                Reading size = one_side ? sides[0] : reading_delta(sides[0], sides[1]);
                double floor = floors[FIELD_UNIT_COUNT], amount = 0;

                if (!keeps(sections, sides))
                        continue;
                if (size.state == READING_NUMBER)
                        amount = (double) size.magnitude;
                if (row->fields)
                        floor = floors[row->fields[i].unit];
                else if (id == SECTION_MEMORY_EVENTS)
                        floor = 1;
                else if (memory_stat_is_gauge(row->key))
                        floor = floors[FIELD_UNIT_BYTES];
                if (id != SECTION_CGROUP_LIMITS) {
                        if (floor > 0)
                                *score = MAX_OF(*score, amount / floor);
                } else if (i == CGROUP_FIELD_PIDS - CGROUP_FIELD_FIRST_LIMIT) {
                        /* Each limit counts more than any number of processes. */
                        *score += amount / (amount + 1);
                } else if (row->fields[i].unit != FIELD_UNIT_CPUS &&
                           (one_side || sides[0].state == sides[1].state ||
                            (row->there[0] && row->there[1]))) {
                        /* It changed, or is set; new and vanished cgroups changed no limit. */
                        *score += !one_side || sides[0].state == READING_NUMBER;
                }
        }
}

static int compare_candidates(const void *a, const void *b) {
        const Candidate *x = a, *y = b;

        if (x->score > y->score || x->score < y->score)
                return x->score > y->score ? -1 : 1;
        return (x->index > y->index) - (x->index < y->index);
}

int sections_choose(Sections *sections) {
        _cleanup_(freep) Candidate *candidates = NULL;
        Smaps *smaps = &sections->smaps;
        size_t n_listed = 0, limit = sections->view.limit;

        for (size_t i = 0; i < smaps->n_listed; i++)
                if (view_filter_matches(&sections->view, smaps->list[i]->key))
                        smaps->list[n_listed++] = smaps->list[i];
        smaps->n_listed = n_listed;
        if (limit == 0)
                return 0;
        candidates = calloc(MAX_OF(n_listed, sections->n_cgroups) + 1, sizeof(*candidates));
        if (!candidates)
                return -ENOMEM;
        for (SectionId id = 0; id < _SECTION_MAX; id++) {
                bool is_smaps = id == SECTION_SMAPS_ROLLUP;
                size_t n_items = is_smaps ? n_listed : sections->n_cgroups, n = 0;
                SectionCursor cursor = { .section = id };
                SectionRow row;

                if ((!is_smaps && view_table_abouts[id] != SECTION_ABOUT_CGROUPS) ||
                    n_items <= limit || !view_wants_table(&sections->view, id))
                        continue;
                for (size_t i = 0; i < n_items; i++)
                        candidates[i] = (Candidate){ .index = i };
                while (section_next_row(sections, &cursor, &row)) {
                        if (!section_row_is_wanted(sections, id, &row))
                                continue;
                        candidates[row.item].wanted = true;
                        /* Processes are in their order already. */
                        if (!is_smaps)
                                weigh(sections, id, &row, &candidates[row.item].score);
                }
                for (size_t i = 0; i < n_items; i++)
                        if (candidates[i].wanted)
                                candidates[n++] = candidates[i];
                if (n <= limit)
                        continue;
                qsort(candidates, n, sizeof(*candidates), compare_candidates);
                sections->cut[id] = calloc(n_items, sizeof(bool));
                if (!sections->cut[id])
                        return -ENOMEM;
                for (size_t i = limit; i < n; i++)
                        sections->cut[id][candidates[i].index] = true;
                sections->n_cut[id] = n - limit;
        }
        return 0;
}
