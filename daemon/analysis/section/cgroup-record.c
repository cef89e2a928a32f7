/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-record.h"

#define MEMBER_NAME(id, name, ...) name,
#define MEMBER_MERGE(id, name, merge) merge,
static const char *const resource_names[] = { PRESSURE_RESOURCES(MEMBER_NAME) };
static const char *const half_names[] = { PRESSURE_HALVES(MEMBER_NAME) };
static const char *const value_names[] = { PRESSURE_VALUES(MEMBER_NAME) };
static const ReadingMerge value_merges[] = { PRESSURE_VALUES(MEMBER_MERGE) };

/* The index of @key among @names, @n_names when it is none of them. */
static size_t index_of(Span key, const char *const *names, size_t n_names) {
        size_t i = 0;

        while (i < n_names && !span_is(key, names[i]))
                i++;
        return i;
}

static int scan_value(void *userdata, JsonScanner *scanner, Span key) {
        Reading *values = userdata;
        size_t i = index_of(key, value_names, ELEMENTSOF(value_names));

        if (i == ELEMENTSOF(value_names))
                return json_scanner_skip(scanner);
        return reading_scan(&values[i], scanner, READING_KIND_COUNT);
}

static int scan_half(void *userdata, JsonScanner *scanner, Span key) {
        Reading(*halves)[_PRESSURE_VALUE_MAX] = userdata;
        size_t i = index_of(key, half_names, ELEMENTSOF(half_names));

        if (i == ELEMENTSOF(half_names))
                return json_scanner_skip(scanner);
        return member_scan_value(scanner, scan_value, halves[i]);
}

int pressure_record_scan(void *userdata, JsonScanner *scanner, Span key) {
        PressureRecord *record = userdata;
        size_t i = index_of(key, resource_names, ELEMENTSOF(resource_names));

        if (i == ELEMENTSOF(resource_names))
                return json_scanner_skip(scanner);
        return member_scan_value(scanner, scan_half, record->values[i]);
}

bool pressure_record_has(const PressureRecord *record, unsigned resource) {
        for (unsigned j = 0; j < _PRESSURE_HALF_MAX; j++)
                for (unsigned k = 0; k < _PRESSURE_VALUE_MAX; k++)
                        if (reading_is_some(record->values[resource][j][k]))
                                return true;
        return false;
}

bool pressure_half_sides(const PressureRecord *const records[static 2], unsigned n_sides,
                         unsigned resource, unsigned half,
                         Reading ret_sides[static _PRESSURE_VALUE_MAX][2]) {
        bool has = false;

        for (unsigned k = 0; k < _PRESSURE_VALUE_MAX; k++)
                for (unsigned i = 0; i < 2; i++) {
                        ret_sides[k][i] = i < n_sides && records[i]
                                                  ? records[i]->values[resource][half][k]
                                                  : (Reading){};
                        has |= ret_sides[k][i].state != READING_ABSENT;
                }
        return has;
}

void pressure_members_write(JsonWriter *writer, Span cgroup, unsigned n_sides, unsigned resource,
                            unsigned half, const Reading sides[static _PRESSURE_VALUE_MAX][2]) {
        if (cgroup.bytes)
                json_write_member_name(writer, "cgroup", cgroup);
        json_write_member_text(writer, "resource", resource_names[resource]);
        json_write_member_text(writer, "row", half_names[half]);
        for (unsigned k = 0; k < _PRESSURE_VALUE_MAX; k++) {
                json_write_key(writer, value_names[k]);
                reading_write_sides(writer, n_sides, sides[k]);
        }
}

#define FIELD_ROW(id, object, member, kind, section, merge) \
        [CGROUP_FIELD_##                                    \
                id] = { object, member, READING_KIND_##kind, CGROUP_FIELD_##section, merge },
const CgroupFieldRow cgroup_field_table[_CGROUP_FIELD_MAX] = { CGROUP_FIELDS(FIELD_ROW) };

typedef struct RecordScan {
        CgroupRecord *record;
        KeyTree *names;
        const char *object; /* whose members are read */
} RecordScan;

void cgroup_record_done(CgroupRecord *record) {
        count_map_done(&record->stat);
        count_map_done(&record->events);
}

static int scan_member(void *userdata, JsonScanner *scanner, Span key) {
        RecordScan *scan = userdata;
        CgroupRecord *record = scan->record;
        CgroupField id = 0;
        int r;

        while (id < _CGROUP_FIELD_MAX &&
               (strcmp(cgroup_field_table[id].object, scan->object) != 0 ||
                !span_is(key, cgroup_field_table[id].member)))
                id++;
        if (id < _CGROUP_FIELD_MAX) {
                Reading *reading = &record->fields[id];

                r = reading_scan(reading, scanner, cgroup_field_table[id].kind);
                if (r != 0)
                        return r;
                /* Full protection is the largest number in format version 0, and a word since. */
                if (cgroup_field_table[id].merge == READING_MERGE_SMALLEST &&
                    reading->state == READING_NUMBER && reading->magnitude == UINT64_MAX)
                        *reading = (Reading){ .state = READING_MAX };
                return 0;
        }
        if (strcmp(scan->object, "memory") == 0) {
                if (span_is(key, "stat"))
                        return count_map_scan(&record->stat, scanner, scan->names, 1);
                if (span_is(key, "events"))
                        return count_map_scan(&record->events, scanner, scan->names, 1);
        }
        return json_scanner_skip(scanner);
}

static int scan_object(void *userdata, JsonScanner *scanner, Span key) {
        static const char *const objects[] = { "cpu", "memory", "pids" };
        RecordScan *scan = userdata;

        for (size_t i = 0; i < ELEMENTSOF(objects); i++)
                if (span_is(key, objects[i])) {
                        scan->object = objects[i];
                        return member_scan_value(scanner, scan_member, scan);
                }
        if (span_is(key, "psi"))
                return member_scan_value(scanner, pressure_record_scan, &scan->record->pressure);
        return json_scanner_skip(scanner);
}

int cgroup_record_scan(CgroupRecord *record, Span json, KeyTree *names,
                       char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        RecordScan scan = { .record = record, .names = names };

        return member_scan_text(json, scan_object, &scan, ret_complaint);
}

bool memory_stat_is_gauge(Span key) {
        static const char *const gauges[] = {
                "anon",
                "file",
                "kernel",
                "kernel_stack",
                "pagetables",
                "sec_pagetables",
                "percpu",
                "sock",
                "vmalloc",
                "shmem",
                "zswap",
                "zswapped",
                "zswap_incomp",
                "file_mapped",
                "file_dirty",
                "file_writeback",
                "swapcached",
                "anon_thp",
                "file_thp",
                "shmem_thp",
                "inactive_anon",
                "active_anon",
                "inactive_file",
                "active_file",
                "unevictable",
                "slab",
                "slab_reclaimable",
                "slab_unreclaimable",
                "hugetlb",
        };

        for (size_t i = 0; i < ELEMENTSOF(gauges); i++)
                if (span_is(key, gauges[i]))
                        return true;
        return false;
}

Reading cgroup_cpus(Reading quota_us, Reading period_us) {
        unsigned __int128 thousandths;

        if (quota_us.state == READING_MAX)
                return quota_us;
        if (quota_us.state != READING_NUMBER || !reading_is_some(period_us))
                return (Reading){};
        thousandths = (unsigned __int128) quota_us.magnitude * 1000;
        thousandths = (thousandths + period_us.magnitude / 2) / period_us.magnitude;
        return READING(thousandths > UINT64_MAX ? UINT64_MAX : (uint64_t) thousandths);
}

void cgroup_cpus_write(JsonWriter *writer, Reading cpus) {
        if (cpus.state == READING_NUMBER)
                json_write_double(writer,
                                  (cpus.negative ? -1 : 1) * (double) cpus.magnitude / 1000);
        else
                reading_write(writer, cpus);
}

static ReadingMerge stat_rule(Span key) {
        return memory_stat_is_gauge(key) ? READING_MERGE_PEAK : READING_MERGE_SUM;
}

int cgroup_record_merge(CgroupRecord *record, const CgroupRecord *from) {
        int r;

        for (CgroupField id = 0; id < _CGROUP_FIELD_MAX; id++)
                record->fields[id] = reading_merge(cgroup_field_table[id].merge, record->fields[id],
                                                   from->fields[id]);
        for (unsigned i = 0; i < _PRESSURE_RESOURCE_MAX; i++)
                for (unsigned j = 0; j < _PRESSURE_HALF_MAX; j++)
                        for (unsigned k = 0; k < _PRESSURE_VALUE_MAX; k++) {
                                Reading *value = &record->pressure.values[i][j][k];

                                *value = reading_merge(value_merges[k], *value,
                                                       from->pressure.values[i][j][k]);
                        }
        r = count_map_merge(&record->stat, &from->stat, stat_rule);
        return r == 0 ? count_map_merge(&record->events, &from->events, NULL) : r;
}
