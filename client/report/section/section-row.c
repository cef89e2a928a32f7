/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-row.h"

#include <math.h>
#include <string.h>

#include "render/cell.h"

const SectionUnitRow section_units[_SECTION_UNIT_MAX] = {
        [SECTION_UNIT_NONE] = { NULL, "none", QUANTITY_LADDER_NONE },
        [SECTION_UNIT_COUNT] = { "count", "count", QUANTITY_LADDER_COUNT },
        [SECTION_UNIT_BYTES] = { "bytes", "bytes", QUANTITY_LADDER_BYTES },
        [SECTION_UNIT_US] = { NULL, "us", QUANTITY_LADDER_US },
        [SECTION_UNIT_NS] = { "ns", "ns", QUANTITY_LADDER_NS },
        [SECTION_UNIT_CPUS] = { NULL, "cpus", QUANTITY_LADDER_RATIO },
        [SECTION_UNIT_PERCENT] = { NULL, "percent", QUANTITY_LADDER_NONE },
        [SECTION_UNIT_HUNDREDTHS] = { "hundredths", "none", QUANTITY_LADDER_NONE },
};

SectionId section_find(const char *name) {
        unsigned id = 0;

        while (id < _SECTION_MAX && strcmp(view_table_names[(SectionId) id], name) != 0)
                id++;
        return (SectionId) id;
}

/* A value that has a fixed place in a row, and a name. */
typedef struct SectionPlace {
        const char *object; /* NULL: in the row itself */
        const char *member;
        const char *name;
        SectionUnit unit;
} SectionPlace;

#define PLACE(id, object, member, name, unit, ...) { object, member, name, SECTION_UNIT_##unit },
static const SectionPlace stats_places[] = { SECTION_STATS(PLACE) };
static const SectionPlace limits_places[] = { SECTION_LIMITS(PLACE) };
static const SectionPlace pressure_places[] = { SECTION_PRESSURES(PLACE) };

/* The places of the values in those sections whose rows have several values. */
static const struct {
        const SectionPlace *places;
        size_t n;
} section_places[_SECTION_MAX] = {
        [SECTION_CGROUP_STATS] = { stats_places, ELEMENTSOF(stats_places) },
        [SECTION_CGROUP_LIMITS] = { limits_places, ELEMENTSOF(limits_places) },
        [SECTION_PRESSURE] = { pressure_places, ELEMENTSOF(pressure_places) },
        [SECTION_HOST_PRESSURE] = { pressure_places, ELEMENTSOF(pressure_places) },
};

SectionRow section_row_read(SectionId id, json_object *row) {
        const SectionForm *form = &view_table_forms[id];
        SectionRow read = {
                .json = row,
                .item = form->item ? cell_member(row, form->item) : NULL,
                .resource = cell_member(row, "resource"),
                .half = cell_member(row, "row"),
                .reason = cell_member(row, "reason"),
        };

        for (size_t i = 0; i < section_places[id].n; i++) {
                const SectionPlace *place = &section_places[id].places[i];
                json_object *object = place->object ? cell_member(row, place->object) : row;

                read.values[read.n_values++] =
                        (SectionValue){ .name = span_of(place->name),
                                        .unit = place->unit,
                                        .value = cell_member(object, place->member) };
        }
        if (form->value) {
                Span unit = cell_string(cell_member(row, "unit"));
                SectionValue *value = &read.values[read.n_values++];

                *value = (SectionValue){
                        .name = cell_string(cell_member(row, form->key)),
                        .value = cell_member(row, form->value),
                        .rate = cell_member(row, "perSecond"),
                };
                for (unsigned i = 0; i < _SECTION_UNIT_MAX; i++)
                        if (section_units[i].wire && span_is(unit, section_units[i].wire))
                                value->unit = (SectionUnit) i;
        }
        return read;
}

bool section_value_percent(json_object *value, double *ret) {
        json_object *before = cell_member(value, "before"), *delta = cell_member(value, "delta");
        Quantity from, by;

        if (!cell_quantity(before, &from) || quantity_is_zero(from) || !cell_quantity(delta, &by))
                return false;
        *ret = 100 * json_object_get_double(delta) / fabs(json_object_get_double(before));
        return true;
}

bool section_value_moved(const SectionValue *value, const View *view) {
        json_object *before = cell_member(value->value, "before");
        json_object *after = cell_member(value->value, "after");
        double percent;

        if (json_object_equal(before, after))
                return false;
        if (!view->has_threshold)
                return true;
        if (section_value_percent(value->value, &percent))
                return fabs(percent) > view->threshold;
        /* A value that was not measured did not move, and words never do. */
        if (!before || !after ||
            (json_object_is_type(before, json_type_string) &&
             json_object_is_type(after, json_type_string)))
                return false;
        return true; /* growth from zero, or a limit that was set or lifted */
}
