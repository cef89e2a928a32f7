/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CourseStore
 *
 * The steps of a recording as they come in replies of Stacks: a row for each group of threads and
 * each place in which it was, and how long it was there in each step. A row that a step lacks was
 * not there at all. Figures are threads on average: time in a place, by the length of the step.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/name-set.h"
#include "base/span.h"

typedef struct StoredStep {
        uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
        uint64_t n_threads, n_ended;
        size_t first_cell;
} StoredStep;

typedef struct StoredCell {
        uint32_t row;
        uint64_t ns;
} StoredCell;

/* Empty when zeroed. */
typedef struct CourseStore {
        NameSet groups; /* "app/writer", as they are printed */
        NameSet places;
        NameSet keys;      /* of rows: both numbers */
        uint32_t *numbers; /* owned; of each row its group and its place, one behind the other */
        size_t n_numbers_allocated;
        StoredStep *steps; /* owned */
        size_t n_steps, n_steps_allocated;
        StoredCell *cells; /* owned; those of a step follow each other */
        size_t n_cells, n_cells_allocated;
        Buffer label; /* room for one */
} CourseStore;

void course_store_done(CourseStore *store);
/* Takes what a reply says of one step. -ENOMEM; -EMSGSIZE for more than any recording has. */
_must_check_ int course_store_add(CourseStore *store, json_object *step);

static inline size_t course_store_n_rows(const CourseStore *store) {
        return store->keys.n;
}
static inline Span course_store_group(const CourseStore *store, size_t row) {
        return name_set_get(&store->groups, store->numbers[2 * row]);
}
static inline Span course_store_place(const CourseStore *store, size_t row) {
        return name_set_get(&store->places, store->numbers[2 * row + 1]);
}
static inline size_t course_store_cells_end(const CourseStore *store, size_t step) {
        return step + 1 < store->n_steps ? store->steps[step + 1].first_cell : store->n_cells;
}

/*
 * The steps as figures. The steps are divided into @n spans that follow each other. Each span has
 * @n_steps_each steps, but the last one may have fewer. Each row has @n figures, one for each span.
 */
typedef struct CourseSpans {
        size_t n, n_steps_each;
        double *length_ns; /* of each; owned, as the others */
        double *ns;        /* of each row in each, one row behind the other */
        double *total_ns;  /* of each row */
} CourseSpans;

void course_spans_done(CourseSpans *spans);
/* At most @n_most spans. -ENOMEM. */
_must_check_ int course_spans_make(const CourseStore *store, size_t n_most, CourseSpans *ret);
