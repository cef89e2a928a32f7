/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-record.h"

#include <string.h>

#include "base/macro.h"

#define NAME(id, name) name,
#define MEMBER(id, object, member, ...) member,
const char *const pressure_resource_names[] = { PRESSURE_RESOURCES(NAME) };
const char *const pressure_half_names[] = { PRESSURE_HALVES(NAME) };

#define FIELD(id, object, member, name, unit, kind, merge) \
        { object, member, FIELD_UNIT_##unit, READING_KIND_##kind, READING_MERGE_##merge },
const RecordField pressure_fields[] = { SECTION_PRESSURES(FIELD) };
const RecordField cgroup_fields[] = { SECTION_STATS(FIELD) SECTION_LIMITS(FIELD) };

int pressure_scan_member(void *userdata, JsonScanner *scanner, Span key) {
        /* By depth; each ends in NULL. */
        static const char *const names[][_PRESSURE_VALUE_MAX + 1] = {
                { PRESSURE_RESOURCES(NAME) },
                { PRESSURE_HALVES(NAME) },
                { SECTION_PRESSURES(MEMBER) },
        };
        PressureScan *scan = userdata;
        unsigned depth = scan->depth;
        size_t *at = scan->at, i = 0;
        int r;

        while (names[depth][i] && !span_is(key, names[depth][i]))
                i++;
        if (!names[depth][i])
                return json_scanner_skip(scanner);
        at[depth] = i;
        if (depth == ELEMENTSOF(names) - 1)
                return reading_scan(&scan->record->values[at[0]][at[1]][at[2]], scanner,
                                    pressure_fields[i].kind);
        scan->depth++;
        r = member_scan_value(scanner, pressure_scan_member, scan);
        scan->depth--;
        return r;
}

bool pressure_record_has(const PressureRecord *record, unsigned resource) {
        for (unsigned j = 0; j < _PRESSURE_HALF_MAX; j++)
                for (unsigned k = 0; k < _PRESSURE_VALUE_MAX; k++)
                        if (reading_is_some(record->values[resource][j][k]))
                                return true;
        return false;
}

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

        while (id < _CGROUP_FIELD_MAX && (cgroup_fields[id].unit == FIELD_UNIT_CPUS ||
                                          strcmp(cgroup_fields[id].object, scan->object) != 0 ||
                                          !span_is(key, cgroup_fields[id].member)))
                id++;
        if (id < _CGROUP_FIELD_MAX) {
                Reading *reading = &record->fields[id];

                r = reading_scan(reading, scanner, cgroup_fields[id].kind);
                if (r != 0)
                        return r;
                /* Full protection is the largest number in format version 0, and a word since. */
                if (cgroup_fields[id].merge == READING_MERGE_SMALLEST &&
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
        PressureScan pressure = { .record = &scan->record->pressure };

        for (size_t i = 0; i < ELEMENTSOF(objects); i++)
                if (span_is(key, objects[i])) {
                        scan->object = objects[i];
                        return member_scan_value(scanner, scan_member, scan);
                }
        if (span_is(key, "psi"))
                return member_scan_value(scanner, pressure_scan_member, &pressure);
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
                record->fields[id] = reading_merge(cgroup_fields[id].merge, record->fields[id],
                                                   from->fields[id]);
        for (unsigned i = 0; i < _PRESSURE_RESOURCE_MAX; i++)
                for (unsigned j = 0; j < _PRESSURE_HALF_MAX; j++)
                        for (unsigned k = 0; k < _PRESSURE_VALUE_MAX; k++) {
                                Reading *value = &record->pressure.values[i][j][k];

                                *value = reading_merge(pressure_fields[k].merge, *value,
                                                       from->pressure.values[i][j][k]);
                        }
        r = count_map_merge(&record->stat, &from->stat, stat_rule);
        return r == 0 ? count_map_merge(&record->events, &from->events, NULL) : r;
}
