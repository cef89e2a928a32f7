/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/course-store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "metric/record-place.h"
#include "render/cell.h"
#include "render/printable.h"
#include "stack/stack-text.h"
#include "wire/limits.h"

/* Without these limits, a hostile daemon could fill the memory of this process. */
#define MAX_CELLS ((size_t) 4 * LIMIT_COURSE_CELLS)
#define MAX_STEPS ((size_t) 2 * LIMIT_STEPS)
#define MAX_ROWS ((size_t) 2 * LIMIT_COURSE_GROUPS * _RECORD_PLACE_MAX)
#define MAX_NAME_BYTES ((size_t) 1 << 28)

void course_store_done(CourseStore *store) {
        name_set_done(&store->groups);
        name_set_done(&store->places);
        name_set_done(&store->keys);
        free(store->numbers);
        free(store->steps);
        free(store->cells);
        buffer_done(&store->label);
        *store = (CourseStore){};
}

static int find_row(CourseStore *store, size_t group, Span place, uint32_t *ret) {
        size_t number, row, n_before = store->keys.n;
        uint32_t key[2];
        int r;

        if (n_before >= MAX_ROWS)
                return -EMSGSIZE;
        store->places.text.max_bytes = MAX_NAME_BYTES;
        r = name_set_add(&store->places, place, &number);
        if (r < 0)
                return r;
        key[0] = (uint32_t) group;
        key[1] = (uint32_t) number;
        r = name_set_add(&store->keys, (Span){ (const char *) key, sizeof(key) }, &row);
        if (r == 0)
                r = ARRAY_RESERVE(store->numbers, store->n_numbers_allocated, 2 * (row + 1));
        if (r < 0)
                return r;
        if (row == n_before) {
                store->numbers[2 * row] = key[0];
                store->numbers[2 * row + 1] = key[1];
        }
        *ret = (uint32_t) row;
        return 0;
}

static int add_group(CourseStore *store, json_object *object) {
        json_object *places = cell_member(object, "places");
        size_t group = 0;
        int r;

        buffer_clear(&store->label);
        stack_append_threads(&store->label, object);
        store->groups.text.max_bytes = MAX_NAME_BYTES;
        r = buffer_failure(&store->label);
        if (r == 0)
                r = name_set_add(&store->groups, buffer_span(&store->label), &group);
        if (r < 0 || !json_object_is_type(places, json_type_object))
                return r;
        json_object_object_foreach(places, name, value) {
                StoredCell cell = { .ns = json_object_get_uint64(value) };

                if (store->n_cells >= MAX_CELLS)
                        return -EMSGSIZE;
                r = find_row(store, group, span_of(name), &cell.row);
                if (r == 0)
                        r = ARRAY_RESERVE(store->cells, store->n_cells_allocated,
                                          store->n_cells + 1);
                if (r < 0)
                        return r;
                store->cells[store->n_cells++] = cell;
        }
        return 0;
}

int course_store_add(CourseStore *store, json_object *object) {
        const StoredStep step = {
                .begin_ns = cell_u64(object, "beginBoottimeNs"),
                .end_ns = cell_u64(object, "endBoottimeNs"),
                .n_threads = cell_u64(object, "threads"),
                .n_ended = cell_u64(object, "ended"),
                .first_cell = store->n_cells,
        };
        json_object *groups = cell_member(object, "groups");
        int r;

        if (store->n_steps >= MAX_STEPS)
                return -EMSGSIZE;
        r = ARRAY_RESERVE(store->steps, store->n_steps_allocated, store->n_steps + 1);
        if (r < 0)
                return r;
        store->steps[store->n_steps++] = step;
        for (size_t i = 0; r == 0 && i < cell_length(groups); i++)
                r = add_group(store, cell_element(groups, i));
        return r;
}

/* spans */

void course_spans_done(CourseSpans *spans) {
        free(spans->length_ns);
        free(spans->ns);
        free(spans->total_ns);
        *spans = (CourseSpans){};
}

int course_spans_make(const CourseStore *store, size_t n_most, CourseSpans *ret) {
        size_t each = MAX_OF((store->n_steps + n_most - 1) / n_most, (size_t) 1);
        size_t n_rows = course_store_n_rows(store);
        size_t n = (store->n_steps + each - 1) / each;

        *ret = (CourseSpans){ .n_steps_each = each, .n = n };
        /* Where there is nothing, there is room for one all the same. */
        ret->length_ns = calloc(n + 1, sizeof(*ret->length_ns));
        ret->ns = calloc(n * n_rows + 1, sizeof(*ret->ns));
        ret->total_ns = calloc(n_rows + 1, sizeof(*ret->total_ns));
        if (!ret->length_ns || !ret->ns || !ret->total_ns)
                return -ENOMEM;
        for (size_t i = 0; i < store->n_steps; i++) {
                const StoredStep *step = &store->steps[i];

                if (step->end_ns > step->begin_ns)
                        ret->length_ns[i / each] += (double) (step->end_ns - step->begin_ns);
                for (size_t at = step->first_cell; at < course_store_cells_end(store, i); at++) {
                        const StoredCell *cell = &store->cells[at];

                        ret->ns[cell->row * n + i / each] += (double) cell->ns;
                        ret->total_ns[cell->row] += (double) cell->ns;
                }
        }
        return 0;
}
