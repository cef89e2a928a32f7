/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-row.h"

/* The numbers under one key, cgroup after cgroup or process after process. */
static bool next_count(const Sections *sections, SectionCursor *cursor, SectionRow *row) {
        SectionId id = cursor->section;
        bool smaps = id == SECTION_SMAPS_ROLLUP;
        KeyNode *const *list = smaps ? sections->smaps.list : sections->cgroup_list;
        size_t n = smaps ? sections->smaps.n_listed : sections->n_cgroups;

        for (; cursor->item < n; cursor->item++, cursor->walk = (CountWalk){}) {
                const CountMap *maps[SECTION_SIDES] = {};

                if (sections->cut[id] && sections->cut[id][cursor->item])
                        continue;
                row->item = cursor->item;
                row->node = list[cursor->item];
                for (unsigned side = 0; side < SECTION_SIDES; side++) {
                        const CgroupRecord *record =
                                smaps ? NULL : cgroup_entry(row->node)->sides[side];

                        row->there[side] =
                                smaps ? smaps_entry(row->node)->counts[side].n_rolled_up > 0
                                      : record != NULL;
                        if (smaps)
                                maps[side] = &smaps_entry(row->node)->sides[side];
                        else if (record)
                                maps[side] =
                                        id == SECTION_MEMORY_STAT ? &record->stat : &record->events;
                }
                if (count_walk_next(&cursor->walk, maps, &row->key, row->values[0]))
                        return true;
        }
        return false;
}

/* A side has a quota, a weight, a limit or a number of processes, or a protection other than 0. */
static bool has_limits(const CgroupEntry *entry) {
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                for (unsigned id = CGROUP_FIELD_FIRST_LIMIT;
                     entry->sides[side] && id < _CGROUP_FIELD_MAX; id++) {
                        const Reading *reading = &entry->sides[side]->fields[id];

                        if (id == CGROUP_FIELD_PERIOD || id == CGROUP_FIELD_NICE)
                                continue;
                        if (cgroup_fields[id].merge == READING_MERGE_SMALLEST
                                    ? reading->state == READING_MAX || reading_is_some(*reading)
                                    : reading->state == READING_NUMBER)
                                return true;
                }
        return false;
}

/* The values that have fixed places: of a cgroup, or by resource and half of a pressure. */
static bool next_fields(const Sections *sections, SectionCursor *cursor, SectionRow *row) {
        SectionId id = cursor->section;
        bool of_host = id == SECTION_HOST_PRESSURE;
        bool is_pressure = of_host || id == SECTION_PRESSURE;
        size_t n = of_host ? 1 : sections->n_cgroups;
        unsigned first = id == SECTION_CGROUP_LIMITS ? CGROUP_FIELD_FIRST_LIMIT : 0;

        row->fields = is_pressure ? pressure_fields : &cgroup_fields[first];
        row->n_values = is_pressure ? _PRESSURE_VALUE_MAX
                        : first > 0 ? CGROUP_FIELD_N_LIMITS
                                    : CGROUP_FIELD_FIRST_LIMIT;
        for (; cursor->item < n * (is_pressure ? _PRESSURE_RESOURCE_MAX : 1);
             cursor->item++, cursor->position = 0) {
                size_t resource = cursor->item / n;
                const CgroupEntry *entry;

                row->item = cursor->item % n;
                row->node = of_host ? NULL : sections->cgroup_list[row->item];
                entry = row->node ? cgroup_entry(row->node) : NULL;
                if ((is_pressure && !sections->has_pressure[of_host][resource]) ||
                    (sections->cut[id] && sections->cut[id][row->item]) ||
                    (first > 0 && !has_limits(entry)))
                        continue;
                while (cursor->position < (is_pressure ? _PRESSURE_HALF_MAX : 1)) {
                        size_t half = cursor->position++;
                        bool has = !is_pressure;

                        for (unsigned side = 0; side < SECTION_SIDES; side++) {
                                const CgroupRecord *record = entry ? entry->sides[side] : NULL;
                                const PressureRecord *pressure =
                                        of_host ? &sections->host[side]
                                                : (record ? &record->pressure : NULL);
                                const Reading *from = NULL;

                                if (is_pressure && pressure)
                                        from = pressure->values[resource][half];
                                else if (record)
                                        from = &record->fields[first];
                                row->there[side] = from != NULL;
                                for (unsigned i = 0; i < row->n_values; i++) {
                                        row->values[i][side] = from ? from[i] : (Reading){};
                                        has |= row->values[i][side].state != READING_ABSENT;
                                }
                                if (first > 0 && record)
                                        row->values[CGROUP_FIELD_CPUS - first][side] =
                                                cgroup_cpus(record->fields[CGROUP_FIELD_QUOTA],
                                                            record->fields[CGROUP_FIELD_PERIOD]);
                        }
                        if (!has)
                                continue;
                        if (is_pressure) {
                                row->resource = pressure_resource_names[resource];
                                row->half = pressure_half_names[half];
                        }
                        return true;
                }
        }
        return false;
}

/* The state, four numbers, the name of the scheduler where a side has one, and its events. */
static bool next_attribute(const Sections *sections, SectionCursor *cursor, SectionRow *row) {
        const SchedExtRecord *a = &sections->sched_ext[0], *b = &sections->sched_ext[1];
        const CountMap *const maps[] = { &a->events, &b->events };
        size_t at = cursor->position++;

        row->there[0] = a->has;
        row->there[1] = b->has;
        if (at > 0 && at <= _SCHED_EXT_NUMBER_MAX) {
                row->key = span_of(sched_ext_number_names[at - 1]);
                row->values[0][0] = a->numbers[at - 1];
                row->values[0][1] = b->numbers[at - 1];
                return true;
        }
        if (at > _SCHED_EXT_NUMBER_MAX + 1 ||
            (at == _SCHED_EXT_NUMBER_MAX + 1 && !a->ops && !b->ops))
                return count_walk_next(&cursor->walk, maps, &row->key, row->values[0]);
        row->key = at == 0 ? SPAN_LITERAL("state") : SPAN_LITERAL("ops");
        row->is_text = true;
        row->n_values = 0;
        row->texts[0] = at == 0 ? a->state : a->ops;
        row->texts[1] = at == 0 ? b->state : b->ops;
        return true;
}

#define HOST_PART_CASE(id, ...) case SECTION_HOST_##id:

bool section_next_row(const Sections *sections, SectionCursor *cursor, SectionRow *ret) {
        const HostLines *lines;

        /* There may be millions of rows, so those values stay that a row does not have. */
        memset(ret, 0, offsetof(SectionRow, values));
        ret->n_values = 1;
        switch (cursor->section) {
        case SECTION_SMAPS_ROLLUP:
        case SECTION_MEMORY_STAT:
        case SECTION_MEMORY_EVENTS:
                return next_count(sections, cursor, ret);
        case SECTION_CGROUP_STATS:
        case SECTION_CGROUP_LIMITS:
        case SECTION_PRESSURE:
        case SECTION_HOST_PRESSURE:
                return next_fields(sections, cursor, ret);
        case SECTION_SCHED_EXT:
                return next_attribute(sections, cursor, ret);
        case _SECTION_MAX:
                break;
                HOST_PARTS(HOST_PART_CASE, )
                lines = &sections->host_lines[section_host_part(cursor->section)];
                if (cursor->item == lines->n)
                        return false;
                ret->line = &lines->lines[cursor->item++];
                ret->key = span_of(ret->line->key);
                memcpy(ret->values[0], ret->line->sides, sizeof(ret->values[0]));
                memcpy(ret->there, ret->line->there, sizeof(ret->there));
                return true;
        }
        return false;
}

bool section_has_data(const Sections *sections, SectionId id) {
        bool one_side = sections->n_sides == 1;
        SectionCursor cursor = { .section = id };
        SectionRow row;

        if (id == SECTION_SCHED_EXT &&
            (one_side || sections->sched_ext[0].has != sections->sched_ext[1].has))
                return sections->sched_ext[0].has || sections->sched_ext[1].has;
        while (section_next_row(sections, &cursor, &row)) {
                const Reading *sides = row.values[0];

                if (id == SECTION_SCHED_EXT) {
                        if (row.is_text ? row.texts[0] != row.texts[1]
                                        : !reading_equal(sides[0], sides[1]))
                                return true;
                } else if (!one_side || row.fields || reading_is_some(sides[0])) {
                        /* It is worth showing that nothing moved. */
                        return true;
                }
        }
        return false;
}
