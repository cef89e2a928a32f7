/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/pressure-record.h"

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

static int scan_resource(void *userdata, JsonScanner *scanner, Span key) {
        PressureRecord *record = userdata;
        size_t i = index_of(key, resource_names, ELEMENTSOF(resource_names));

        if (i == ELEMENTSOF(resource_names))
                return json_scanner_skip(scanner);
        return member_scan_value(scanner, scan_half, record->values[i]);
}

int pressure_record_scan(PressureRecord *record, JsonScanner *scanner) {
        return member_scan_value(scanner, scan_resource, record);
}

int pressure_record_scan_text(PressureRecord *record, Span json,
                              char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        return member_scan_text(json, scan_resource, record, ret_complaint);
}

void pressure_record_merge(PressureRecord *record, const PressureRecord *from) {
        for (unsigned i = 0; i < _PRESSURE_RESOURCE_MAX; i++)
                for (unsigned j = 0; j < _PRESSURE_HALF_MAX; j++)
                        for (unsigned k = 0; k < _PRESSURE_VALUE_MAX; k++)
                                record->values[i][j][k] =
                                        reading_merge(value_merges[k], record->values[i][j][k],
                                                      from->values[i][j][k]);
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
