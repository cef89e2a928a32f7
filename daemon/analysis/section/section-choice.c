/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-choice.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

/* sections */

/* With two sides a key is enough, because it is worth showing that nothing moved. */
static bool has_counts(const Sections *sections, const CountMap *map) {
        if (sections->n_sides > 1)
                return map->n > 0;
        for (size_t i = 0; i < map->n; i++)
                if (map->counts[i].value > 0)
                        return true;
        return false;
}

static bool is_set(const CgroupRecord *record, CgroupField id) {
        const Reading *reading = &record->fields[id];

        switch (id) {
        case CGROUP_FIELD_MAX_QUOTA_US:
        case CGROUP_FIELD_WEIGHT:
        case CGROUP_FIELD_MEMORY_MAX:
        case CGROUP_FIELD_MEMORY_HIGH:
        case CGROUP_FIELD_PIDS_CURRENT:
        case CGROUP_FIELD_PIDS_MAX:
                return reading->state == READING_NUMBER;
        case CGROUP_FIELD_MEMORY_LOW:
        case CGROUP_FIELD_MEMORY_MIN:
                return reading->state == READING_MAX || reading_is_some(*reading);
        case CGROUP_FIELD_USAGE_USEC:
        case CGROUP_FIELD_NR_THROTTLED:
        case CGROUP_FIELD_THROTTLED_USEC:
        case CGROUP_FIELD_MAX_PERIOD_US:
        case CGROUP_FIELD_WEIGHT_NICE:
        case CGROUP_FIELD_MEMORY_CURRENT:
        case _CGROUP_FIELD_MAX:
                break;
        }
        return false;
}

bool cgroup_has_limits(const CgroupEntry *entry) {
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                for (CgroupField id = 0; entry->sides[side] && id < _CGROUP_FIELD_MAX; id++)
                        if (is_set(entry->sides[side], id))
                                return true;
        return false;
}

bool section_has_pressure(const Sections *sections, unsigned resource) {
        for (size_t i = 0; i < sections->n_cgroups; i++) {
                const CgroupEntry *entry = cgroup_entry(sections->cgroup_list[i]);

                for (unsigned side = 0; side < SECTION_SIDES; side++)
                        if (entry->sides[side] &&
                            pressure_record_has(&entry->sides[side]->pressure, resource))
                                return true;
        }
        return false;
}

bool section_has_host_pressure(const Sections *sections, unsigned resource) {
        return pressure_record_has(&sections->host[0], resource) ||
               pressure_record_has(&sections->host[1], resource);
}

bool section_has_data(const Sections *sections, SectionId id) {
        const SchedExtRecord *sched_ext = sections->sched_ext;
        const HostLines *lines;

        switch (id) {
        case SECTION_SMAPS_ROLLUP:
                for (size_t i = 0; i < sections->smaps.n_listed; i++) {
                        const SmapsEntry *entry = smaps_entry(sections->smaps.list[i]);

                        if (has_counts(sections, &entry->sides[0]) ||
                            has_counts(sections, &entry->sides[1]))
                                return true;
                }
                return false;
        case SECTION_CGROUP_STATS:
                return sections->n_cgroups > 0;
        case SECTION_CGROUP_LIMITS:
                for (size_t i = 0; i < sections->n_cgroups; i++)
                        if (cgroup_has_limits(cgroup_entry(sections->cgroup_list[i])))
                                return true;
                return false;
        case SECTION_MEMORY_STAT:
        case SECTION_MEMORY_EVENTS:
                for (size_t i = 0; i < SECTION_SIDES * sections->n_cgroups; i++) {
                        KeyNode *node = sections->cgroup_list[i / SECTION_SIDES];
                        const CgroupRecord *record = cgroup_entry(node)->sides[i % SECTION_SIDES];

                        if (record &&
                            has_counts(sections,
                                       id == SECTION_MEMORY_STAT ? &record->stat : &record->events))
                                return true;
                }
                return false;
        case SECTION_PRESSURE:
        case SECTION_HOST_PRESSURE:
                for (unsigned resource = 0; resource < _PRESSURE_RESOURCE_MAX; resource++)
                        if (id == SECTION_PRESSURE ? section_has_pressure(sections, resource)
                                                   : section_has_host_pressure(sections, resource))
                                return true;
                return false;
        case SECTION_HOST_CPU:
        case SECTION_HOST_MEMORY:
        case SECTION_HOST_DISK:
        case SECTION_HOST_NETWORK:
                lines = &sections->host_lines[section_host_part(id)];
                if (sections->n_sides > 1)
                        return lines->n > 0;
                for (size_t i = 0; i < lines->n; i++)
                        if (reading_is_some(lines->lines[i].sides[0]))
                                return true;
                return false;
        case SECTION_SCHED_EXT:
                return sections->n_sides > 1
                               ? sched_ext_record_differs(&sched_ext[0], &sched_ext[1])
                               : sched_ext[0].has;
        case _SECTION_MAX:
                break;
        }
        return false;
}

/* rows */

bool sections_keep(const Sections *sections, const Reading sides[static SECTION_SIDES]) {
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

bool sections_keep_count(const Sections *sections, const Reading sides[static SECTION_SIDES]) {
        bool is_alone = sections->n_sides > 1 &&
                        (sides[0].state == READING_ABSENT || sides[1].state == READING_ABSENT);

        if (is_alone && sections->view.changed_only && !reading_is_some(sides[0]) &&
            !reading_is_some(sides[1]))
                return false;
        return sections_keep(sections, sides);
}

bool sections_keep_some(const Sections *sections, const Reading (*sides)[SECTION_SIDES], size_t n) {
        for (size_t i = 0; i < n; i++)
                if (sections_keep(sections, sides[i]))
                        return true;
        return false;
}

void cgroup_field_sides(const CgroupEntry *entry, CgroupField id,
                        Reading ret_sides[static SECTION_SIDES]) {
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                ret_sides[side] = entry->sides[side] ? entry->sides[side]->fields[id] : (Reading){};
}

bool sections_keep_fields(const Sections *sections, const CgroupEntry *entry,
                          CgroupFieldSection section) {
        for (CgroupField id = 0; id < _CGROUP_FIELD_MAX; id++) {
                Reading sides[SECTION_SIDES];

                if (cgroup_field_table[id].section != section)
                        continue;
                cgroup_field_sides(entry, id, sides);
                if (sections_keep(sections, sides) ||
                    (sections->n_sides == 1 && sides[0].state != READING_ABSENT))
                        return true;
        }
        return false;
}

/* cgroups */

/* Units that make movements of different kinds comparable: one of each weighs the same. */
#define FLOOR_USEC 1e6
#define FLOOR_BYTES 1048576.0
#define FLOOR_COUNT 1e3

typedef struct Candidate {
        double score;
        size_t index;
} Candidate;

/* Raises *score to the weight of one row; false if the view does not want the row. */
static bool weigh(const Sections *sections, const Reading sides[static SECTION_SIDES], double floor,
                  double *score) {
        Reading size = sections->n_sides > 1 ? reading_delta(sides[0], sides[1]) : sides[0];

        if (!sections_keep(sections, sides))
                return false;
        if (size.state == READING_NUMBER)
                *score = MAX_OF(*score, (double) size.magnitude / floor);
        return true;
}

static bool weigh_stats(const Sections *sections, SectionId id _unused_, const CgroupEntry *entry,
                        double *score) {
        static const double floors[_CGROUP_FIELD_MAX] = {
                [CGROUP_FIELD_USAGE_USEC] = FLOOR_USEC,
                [CGROUP_FIELD_NR_THROTTLED] = FLOOR_COUNT,
                [CGROUP_FIELD_THROTTLED_USEC] = FLOOR_USEC,
                [CGROUP_FIELD_MEMORY_CURRENT] = FLOOR_BYTES,
        };

        for (CgroupField field = 0; field < _CGROUP_FIELD_MAX; field++) {
                Reading sides[SECTION_SIDES];

                if (cgroup_field_table[field].section != CGROUP_FIELD_STATS)
                        continue;
                cgroup_field_sides(entry, field, sides);
                (void) weigh(sections, sides, floors[field], score);
        }
        return sections_keep_fields(sections, entry, CGROUP_FIELD_STATS);
}

/* Each limit that changed, or is set, counts more than any number of processes. */
static bool weigh_limits(const Sections *sections, SectionId id _unused_, const CgroupEntry *entry,
                         double *score) {
        for (CgroupField field = 0; field < _CGROUP_FIELD_MAX; field++) {
                Reading sides[SECTION_SIDES];
                double pids = 0;

                if (cgroup_field_table[field].section != CGROUP_FIELD_LIMITS)
                        continue;
                cgroup_field_sides(entry, field, sides);
                if (field == CGROUP_FIELD_PIDS_CURRENT) {
                        if (weigh(sections, sides, 1, &pids))
                                *score += pids / (pids + 1);
                } else if (sections->n_sides > 1 && sides[0].state != sides[1].state &&
                           (!entry->sides[0] || !entry->sides[1])) {
                        continue; /* a cgroup that is new or has vanished changed no limit */
                } else if (sections_keep(sections, sides)) {
                        *score += sections->n_sides > 1 || sides[0].state == READING_NUMBER;
                }
        }
        return cgroup_has_limits(entry) &&
               sections_keep_fields(sections, entry, CGROUP_FIELD_LIMITS);
}

static bool weigh_counts(const Sections *sections, SectionId id, const CgroupEntry *entry,
                         double *score) {
        const CountMap *maps[SECTION_SIDES] = {};
        bool is_stat = id == SECTION_MEMORY_STAT, kept = false;
        Reading sides[SECTION_SIDES];
        CountWalk walk = {};
        Span key;

        for (unsigned side = 0; side < SECTION_SIDES; side++)
                if (entry->sides[side])
                        maps[side] =
                                is_stat ? &entry->sides[side]->stat : &entry->sides[side]->events;
        while (count_walk_next(&walk, maps, &key, sides)) {
                double floor = is_stat ? FLOOR_COUNT : 1;

                if (is_stat && memory_stat_is_gauge(key))
                        floor = FLOOR_BYTES;
                kept |= sections_keep_count(sections, sides) &&
                        weigh(sections, sides, floor, score);
        }
        return kept;
}

static bool weigh_pressure(const Sections *sections, SectionId id _unused_,
                           const CgroupEntry *entry, double *score) {
        const PressureRecord *records[SECTION_SIDES];
        Reading sides[_PRESSURE_VALUE_MAX][SECTION_SIDES];
        bool kept = false;

        for (unsigned side = 0; side < SECTION_SIDES; side++)
                records[side] = entry->sides[side] ? &entry->sides[side]->pressure : NULL;
        for (unsigned resource = 0; resource < _PRESSURE_RESOURCE_MAX; resource++) {
                if (!section_has_pressure(sections, resource))
                        continue;
                for (unsigned half = 0; half < _PRESSURE_HALF_MAX; half++) {
                        if (!pressure_half_sides(records, sections->n_sides, resource, half, sides))
                                continue;
                        kept |= sections_keep_some(sections, sides, _PRESSURE_VALUE_MAX);
                        (void) weigh(sections, sides[PRESSURE_VALUE_TOTAL], FLOOR_USEC, score);
                }
        }
        return kept;
}

typedef bool (*Weigh)(const Sections *sections, SectionId id, const CgroupEntry *entry,
                      double *score);

static const Weigh weighs[_SECTION_MAX] = {
        [SECTION_CGROUP_STATS] = weigh_stats, [SECTION_CGROUP_LIMITS] = weigh_limits,
        [SECTION_MEMORY_STAT] = weigh_counts, [SECTION_MEMORY_EVENTS] = weigh_counts,
        [SECTION_PRESSURE] = weigh_pressure,
};

static int compare_candidates(const void *a, const void *b) {
        const Candidate *x = a, *y = b;

        if (x->score > y->score || x->score < y->score)
                return x->score > y->score ? -1 : 1;
        return (x->index > y->index) - (x->index < y->index);
}

/* processes */

static bool has_kept(const Sections *sections, const SmapsEntry *entry) {
        const CountMap *const maps[] = { &entry->sides[0], &entry->sides[1] };
        Reading sides[SECTION_SIDES];
        CountWalk walk = {};
        Span key;

        while (count_walk_next(&walk, maps, &key, sides))
                if (sections_keep_count(sections, sides))
                        return true;
        return false;
}

int sections_choose(Sections *sections) {
        _cleanup_(freep) Candidate *candidates = NULL;
        Smaps *smaps = &sections->smaps;
        size_t n_kept = 0, n_listed = 0, limit = sections->view.limit;

        /* The processes are in their order already, so the first ones are kept. */
        for (size_t i = 0; i < smaps->n_listed; i++) {
                if (!view_filter_matches(&sections->view, smaps->list[i]->key))
                        continue;
                if (limit > 0 && has_kept(sections, smaps_entry(smaps->list[i])) &&
                    n_kept++ >= limit) {
                        sections->n_cut[SECTION_SMAPS_ROLLUP]++;
                        continue;
                }
                smaps->list[n_listed++] = smaps->list[i];
        }
        smaps->n_listed = n_listed;
        if (limit == 0 || sections->n_cgroups <= limit)
                return 0;
        candidates = reallocarray(NULL, sections->n_cgroups, sizeof(*candidates));
        if (!candidates)
                return -ENOMEM;
        for (SectionId id = 0; id < _SECTION_MAX; id++) {
                size_t n = 0;

                if (!weighs[id] || !view_wants_table(&sections->view, id))
                        continue;
                for (size_t i = 0; i < sections->n_cgroups; i++) {
                        const CgroupEntry *entry = cgroup_entry(sections->cgroup_list[i]);
                        Candidate candidate = { .index = i };

                        if (weighs[id](sections, id, entry, &candidate.score))
                                candidates[n++] = candidate;
                }
                if (n <= limit)
                        continue;
                qsort(candidates, n, sizeof(*candidates), compare_candidates);
                sections->cut[id] = calloc(sections->n_cgroups, sizeof(bool));
                if (!sections->cut[id])
                        return -ENOMEM;
                for (size_t i = limit; i < n; i++)
                        sections->cut[id][candidates[i].index] = true;
                sections->n_cut[id] = n - limit;
        }
        return 0;
}
