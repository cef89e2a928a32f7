/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-data.h"

typedef bool (*CgroupPredicate)(const Sections *sections, const CgroupEntry *entry);

static bool any_cgroup(const Sections *sections, CgroupPredicate predicate) {
        for (size_t i = 0; i < sections->n_cgroups; i++)
                if (predicate(sections, cgroup_entry(sections->cgroup_list[i])))
                        return true;
        return false;
}

static bool has_some(const CountMap *map) {
        for (size_t i = 0; i < map->n; i++)
                if (map->counts[i].value > 0)
                        return true;
        return false;
}

/* Of two sides a key is enough: that nothing moved is news then. */
static bool has_counts(const Sections *sections, const CountMap *map) {
        return sections->n_sides > 1 ? map->n > 0 : has_some(map);
}

static bool has_stat(const Sections *sections, const CgroupEntry *entry) {
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                if (entry->sides[side] && has_counts(sections, &entry->sides[side]->stat))
                        return true;
        return false;
}

static bool has_events(const Sections *sections, const CgroupEntry *entry) {
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                if (entry->sides[side] && has_counts(sections, &entry->sides[side]->events))
                        return true;
        return false;
}

static bool has_limits(const Sections *sections _unused_, const CgroupEntry *entry) {
        return cgroup_has_limits(entry);
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

static bool any_resource(const Sections *sections,
                         bool (*has)(const Sections *sections, unsigned resource)) {
        for (unsigned resource = 0; resource < _PRESSURE_RESOURCE_MAX; resource++)
                if (has(sections, resource))
                        return true;
        return false;
}

static bool has_smaps(const Sections *sections) {
        for (size_t i = 0; i < sections->smaps.n_listed; i++) {
                const SmapsEntry *entry = smaps_entry(sections->smaps.list[i]);

                for (unsigned side = 0; side < SECTION_SIDES; side++)
                        if (has_counts(sections, &entry->sides[side]))
                                return true;
        }
        return false;
}

static bool has_sched_ext(const Sections *sections) {
        const SchedExtRecord *records = sections->sched_ext;

        return sections->n_sides > 1 ? sched_ext_record_differs(&records[0], &records[1])
                                     : records[0].has;
}

bool section_has_data(const Sections *sections, SectionId id) {
        switch (id) {
        case SECTION_SMAPS_ROLLUP:
                return has_smaps(sections);
        case SECTION_CGROUP_STATS:
                return sections->n_cgroups > 0;
        case SECTION_CGROUP_LIMITS:
                return any_cgroup(sections, has_limits);
        case SECTION_MEMORY_STAT:
                return any_cgroup(sections, has_stat);
        case SECTION_MEMORY_EVENTS:
                return any_cgroup(sections, has_events);
        case SECTION_PRESSURE:
                return any_resource(sections, section_has_pressure);
        case SECTION_HOST_PRESSURE:
                return any_resource(sections, section_has_host_pressure);
        case SECTION_SCHED_EXT:
                return has_sched_ext(sections);
        case _SECTION_MAX:
                break;
        }
        return false;
}
