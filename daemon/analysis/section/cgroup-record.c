/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-record.h"

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

static CgroupField find_field(const char *object, Span member) {
        CgroupField id = 0;

        while (id < _CGROUP_FIELD_MAX && (strcmp(cgroup_field_table[id].object, object) != 0 ||
                                          !span_is(member, cgroup_field_table[id].member)))
                id++;
        return id;
}

static int scan_member(void *userdata, JsonScanner *scanner, Span key) {
        RecordScan *scan = userdata;
        CgroupRecord *record = scan->record;
        CgroupField id = find_field(scan->object, key);
        int r;

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
                return pressure_record_scan(&scan->record->pressure, scanner);
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

static ReadingMerge event_rule(Span key) {
        return READING_MERGE_SUM;
}

int cgroup_record_merge(CgroupRecord *record, const CgroupRecord *from) {
        int r;

        for (CgroupField id = 0; id < _CGROUP_FIELD_MAX; id++)
                record->fields[id] = reading_merge(cgroup_field_table[id].merge, record->fields[id],
                                                   from->fields[id]);
        pressure_record_merge(&record->pressure, &from->pressure);
        r = count_map_merge(&record->stat, &from->stat, stat_rule);
        return r == 0 ? count_map_merge(&record->events, &from->events, event_rule) : r;
}
