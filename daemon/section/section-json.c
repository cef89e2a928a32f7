/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "section/section-json.h"

#include "section/section-data.h"

/* Writes the next row of a section; false when there is none. */
typedef bool (*RowWrite)(const Sections *sections, SectionCursor *cursor, JsonWriter *writer);

static const CgroupEntry *cgroup_at(const Sections *sections, size_t i) {
        return cgroup_entry(sections->cgroup_list[i]);
}

/* cgroups */

static void write_cpus(JsonWriter *writer, bool has, double millicpus) {
        if (has)
                json_write_double(writer, millicpus / 1000);
        else
                json_write_null(writer);
}

static void write_cpus_sides(JsonWriter *writer, unsigned n_sides, const CgroupEntry *entry) {
        bool has[SECTION_SIDES] = {};
        uint64_t cpus[SECTION_SIDES] = {};
        double delta;

        for (unsigned side = 0; side < n_sides; side++)
                has[side] = entry->sides[side] &&
                            cgroup_record_millicpus(entry->sides[side], &cpus[side]);
        if (n_sides == 1) {
                write_cpus(writer, has[0], (double) cpus[0]);
                return;
        }
        delta = cpus[1] >= cpus[0] ? (double) (cpus[1] - cpus[0]) : -(double) (cpus[0] - cpus[1]);
        json_write_object(writer);
        json_write_key(writer, "before");
        write_cpus(writer, has[0], (double) cpus[0]);
        json_write_key(writer, "after");
        write_cpus(writer, has[1], (double) cpus[1]);
        json_write_key(writer, "delta");
        write_cpus(writer, has[0] && has[1], delta);
        json_write_end(writer);
}

static void write_field(JsonWriter *writer, unsigned n_sides, const CgroupEntry *entry,
                        CgroupField id) {
        Reading sides[SECTION_SIDES] = {};

        for (unsigned side = 0; side < n_sides; side++)
                if (entry->sides[side])
                        sides[side] = entry->sides[side]->fields[id];
        json_write_key(writer, cgroup_field_table[id].member);
        reading_write_sides(writer, n_sides, sides);
        if (id == CGROUP_FIELD_MAX_PERIOD_US) {
                json_write_key(writer, "cpus");
                write_cpus_sides(writer, n_sides, entry);
        }
}

/* The fields of @section, object by object as in the document. */
static void write_fields(const Sections *sections, JsonWriter *writer, size_t i,
                         CgroupFieldSection section) {
        const char *object = NULL;

        json_write_object(writer);
        json_write_member_name(writer, "cgroup", sections->cgroup_list[i]->key);
        for (CgroupField id = 0; id < _CGROUP_FIELD_MAX; id++) {
                const CgroupFieldRow *row = &cgroup_field_table[id];

                if (row->section != section)
                        continue;
                if (!object || strcmp(row->object, object) != 0) {
                        if (object)
                                json_write_end(writer);
                        object = row->object;
                        json_write_key(writer, object);
                        json_write_object(writer);
                }
                write_field(writer, sections->n_sides, cgroup_at(sections, i), id);
        }
        json_write_end(writer);
        json_write_end(writer);
}

static bool write_stats(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        if (cursor->item >= sections->cgroups.n)
                return false;
        write_fields(sections, writer, cursor->item++, CGROUP_FIELD_STATS);
        return true;
}

static bool write_limits(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        while (cursor->item < sections->cgroups.n) {
                size_t i = cursor->item++;

                if (!cgroup_has_limits(cgroup_at(sections, i)))
                        continue;
                write_fields(sections, writer, i, CGROUP_FIELD_LIMITS);
                return true;
        }
        return false;
}

/* numbers under keys */

typedef struct CountRows {
        KeyNode *const *list;
        size_t n;
        void (*maps_of)(KeyNode *node, const CountMap *ret[static SECTION_SIDES]);
        const char *(*unit_of)(Span key);
        const char *group, *key, *value; /* members of a row */
} CountRows;

static void write_count(const Sections *sections, const CountRows *rows, JsonWriter *writer,
                        Span group, Span key, const Reading *sides) {
        json_write_object(writer);
        json_write_member_name(writer, rows->group, group);
        json_write_key(writer, rows->key);
        json_write_span(writer, key);
        json_write_member_text(writer, "unit", rows->unit_of(key));
        json_write_key(writer, rows->value);
        reading_write_sides(writer, sections->n_sides, sides);
        json_write_end(writer);
}

static bool write_next_count(const Sections *sections, const CountRows *rows, SectionCursor *cursor,
                             JsonWriter *writer) {
        for (; cursor->item < rows->n; cursor->item++, cursor->walk = (CountWalk){}) {
                KeyNode *node = rows->list[cursor->item];
                const CountMap *maps[SECTION_SIDES];
                Reading sides[SECTION_SIDES];
                Span key;

                rows->maps_of(node, maps);
                while (count_walk_next(&cursor->walk, maps, &key, sides)) {
                        if (!sections_keep_count(sections, sides))
                                continue;
                        write_count(sections, rows, writer, node->key, key, sides);
                        return true;
                }
        }
        return false;
}

static const char *unit_bytes(Span key) {
        return "bytes";
}

static const char *unit_count(Span key) {
        return "count";
}

static const char *unit_of_stat(Span key) {
        return memory_stat_is_gauge(key) ? "bytes" : "count";
}

static void smaps_of(KeyNode *node, const CountMap *ret[static SECTION_SIDES]) {
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                ret[side] = &smaps_entry(node)->sides[side];
}

static void stat_of(KeyNode *node, const CountMap *ret[static SECTION_SIDES]) {
        const CgroupEntry *entry = cgroup_entry(node);

        for (unsigned side = 0; side < SECTION_SIDES; side++)
                ret[side] = entry->sides[side] ? &entry->sides[side]->stat : NULL;
}

static void events_of(KeyNode *node, const CountMap *ret[static SECTION_SIDES]) {
        const CgroupEntry *entry = cgroup_entry(node);

        for (unsigned side = 0; side < SECTION_SIDES; side++)
                ret[side] = entry->sides[side] ? &entry->sides[side]->events : NULL;
}

static bool write_smaps(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        const CountRows rows = {
                .list = sections->smaps.list,
                .n = sections->smaps.processes.n,
                .maps_of = smaps_of,
                .unit_of = unit_bytes,
                .group = "process",
                .key = "key",
                .value = "value",
        };

        return write_next_count(sections, &rows, cursor, writer);
}

static bool write_stat(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        const CountRows rows = {
                .list = sections->cgroup_list,
                .n = sections->cgroups.n,
                .maps_of = stat_of,
                .unit_of = unit_of_stat,
                .group = "cgroup",
                .key = "key",
                .value = "value",
        };

        return write_next_count(sections, &rows, cursor, writer);
}

static bool write_events(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        const CountRows rows = {
                .list = sections->cgroup_list,
                .n = sections->cgroups.n,
                .maps_of = events_of,
                .unit_of = unit_count,
                .group = "cgroup",
                .key = "event",
                .value = "count",
        };

        return write_next_count(sections, &rows, cursor, writer);
}

/* pressure: items are cgroups, resource after resource; positions are halves */

static bool write_pressure(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        size_t n = sections->cgroups.n;

        for (; cursor->item < n * _PRESSURE_RESOURCE_MAX; cursor->item++, cursor->position = 0) {
                unsigned resource = (unsigned) (cursor->item / n);
                const PressureRecord *records[SECTION_SIDES] = {};
                const KeyNode *node = sections->cgroup_list[cursor->item % n];
                const CgroupEntry *entry = cgroup_at(sections, cursor->item % n);

                if (cursor->item % n == 0 && !section_has_pressure(sections, resource)) {
                        cursor->item += n - 1;
                        continue;
                }
                for (unsigned side = 0; side < SECTION_SIDES; side++)
                        records[side] = entry->sides[side] ? &entry->sides[side]->pressure : NULL;
                while (cursor->position < _PRESSURE_HALF_MAX)
                        if (pressure_row_write(writer, node->key, sections->n_sides, records,
                                               resource, (unsigned) cursor->position++))
                                return true;
        }
        return false;
}

static bool write_host_pressure(const Sections *sections, SectionCursor *cursor,
                                JsonWriter *writer) {
        const PressureRecord *const records[] = { &sections->host[0], &sections->host[1] };

        for (; cursor->item < _PRESSURE_RESOURCE_MAX; cursor->item++, cursor->position = 0) {
                unsigned resource = (unsigned) cursor->item;

                if (!section_has_host_pressure(sections, resource))
                        continue;
                while (cursor->position < _PRESSURE_HALF_MAX)
                        if (pressure_row_write(writer, (Span){}, sections->n_sides, records,
                                               resource, (unsigned) cursor->position++))
                                return true;
        }
        return false;
}

static bool write_sched_ext(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        return sched_ext_row_write(writer, sections->n_sides, sections->sched_ext,
                                   &cursor->position, &cursor->walk);
}

static const RowWrite row_writers[_SECTION_MAX] = {
        [SECTION_SMAPS_ROLLUP] = write_smaps,          [SECTION_CGROUP_STATS] = write_stats,
        [SECTION_CGROUP_LIMITS] = write_limits,        [SECTION_MEMORY_STAT] = write_stat,
        [SECTION_MEMORY_EVENTS] = write_events,        [SECTION_PRESSURE] = write_pressure,
        [SECTION_HOST_PRESSURE] = write_host_pressure, [SECTION_SCHED_EXT] = write_sched_ext,
};

/* False: the part is full. */
static bool write_section(const Sections *sections, SectionCursor *cursor, JsonWriter *writer,
                          size_t n_bytes, size_t *n_rows) {
        bool more = true;

        json_write_key(writer, view_table_name(cursor->section));
        json_write_array(writer);
        while (more && (*n_rows == 0 || writer->buffer->n < n_bytes)) {
                more = row_writers[cursor->section](sections, cursor, writer);
                *n_rows += more;
        }
        json_write_end(writer);
        return !more;
}

bool section_part_write(const Sections *sections, SectionCursor *cursor, JsonWriter *writer,
                        size_t n_bytes) {
        size_t n_rows = 0;
        bool fits = true;

        json_write_object(writer);
        while (cursor->section < _SECTION_MAX && fits) {
                if (sections->shown[cursor->section])
                        fits = write_section(sections, cursor, writer, n_bytes, &n_rows);
                if (fits)
                        *cursor = (SectionCursor){ .section = cursor->section + 1 };
        }
        json_write_end(writer);
        return fits;
}
