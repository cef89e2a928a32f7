/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/stack-store.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/number.h"
#include "metric/reason-list.h"
#include "render/cell.h"

/* Without these limits, a hostile daemon could fill the memory of this process. */
#define STORE_MAX_ROWS ((size_t) 1 << 22)
#define STORE_MAX_FRAMES ((size_t) 1 << 27)
#define STORE_MAX_OBJECTS ((size_t) 1 << 24)
#define STORE_MAX_NAME_BYTES ((size_t) 1 << 28) /* of all names of one sort */
#define ROW_MAX_FRAMES 1024u                    /* the ones further out are left out */

void stack_store_done(StackStore *store) {
        name_set_done(&store->names);
        name_set_done(&store->places);
        name_set_done(&store->functions);
        stack_store_cut(store, 0);
        name_set_done(&store->object_names);
        free(store->object_ns);
        free(store->objects);
        free(store->rows);
        free(store->tests);
        free(store->frames);
        buffer_done(&store->text);
}

static int add_text(NameSet *set, Span name, uint32_t *ret) {
        size_t number;
        int r;

        set->text.max_bytes = STORE_MAX_NAME_BYTES;
        r = name_set_add(set, name, &number);
        if (r == 0 && number >= UINT32_MAX)
                r = -EMSGSIZE;
        if (r == 0)
                *ret = (uint32_t) number;
        return r;
}

static int add_name(NameSet *set, json_object *name, uint32_t *ret) {
        return add_text(set, cell_string(name), ret);
}

static int add_objects(StackStore *store, json_object *objects, StoredStack *row) {
        size_t n = cell_length(objects), n_before = store->n_object_ns;
        int r;

        if (n > STORE_MAX_OBJECTS - store->n_objects)
                return -EMSGSIZE;
        r = ARRAY_RESERVE(store->objects, store->n_objects_allocated, store->n_objects + n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *object = cell_element(objects, i);
                StoredObject *stored = &store->objects[store->n_objects];

                *stored = (StoredObject){ .ns = cell_u64(object, "ns"), .next = row->first_object };
                r = add_name(&store->object_names, cell_member(object, "name"), &stored->name);
                if (r != 0)
                        return r;
                row->first_object = ++store->n_objects;
                if (i == 0)
                        row->last_object = store->n_objects;
        }
        if (r == 0)
                r = ARRAY_RESERVE(store->object_ns, store->n_object_ns, store->object_names.n);
        if (r == 0 && store->n_object_ns > n_before)
                memset(store->object_ns + n_before, 0,
                       (store->n_object_ns - n_before) * sizeof(*store->object_ns));
        return r;
}

/* "flush (app.c:12)": a function and, where it is known, the line of the source. */
static int add_function(StackStore *store, json_object *name, json_object *line, uint32_t *ret) {
        Span path = cell_string(cell_element(line, 0)), function = cell_string(name);
        Buffer *text = &store->text;
        const char *slash;
        int r;

        if (!json_object_is_type(line, json_type_array) || path.n == 0)
                return add_name(&store->functions, name, ret);
        slash = memrchr(path.bytes, '/', path.n);
        if (slash)
                path = (Span){ slash + 1, path.n - (size_t) (slash + 1 - path.bytes) };
        buffer_clear(text);
        buffer_append(text, function.bytes, function.n);
        buffer_append_text(text, " (");
        buffer_append(text, path.bytes, path.n);
        r = buffer_append_format(
                text, ":%llu)", (unsigned long long) json_object_get_uint64(cell_element(line, 1)));
        return r < 0 ? r : add_text(&store->functions, buffer_span(text), ret);
}

/* Adds @row with the names of @stack. */
static int add_row(StackStore *store, StoredStack row, json_object *stack) {
        json_object *frames = cell_member(stack, "frames"), *lines = cell_member(stack, "lines");
        size_t n = cell_length(frames), skip = n > ROW_MAX_FRAMES ? n - ROW_MAX_FRAMES : 0;
        int r;

        row.first = store->n_frames;
        row.n_frames = (uint32_t) (n - skip);
        if (store->n >= STORE_MAX_ROWS || store->n_frames >= STORE_MAX_FRAMES)
                return -EMSGSIZE;
        r = add_name(&store->names, cell_member(stack, "process"), &row.process);
        row.thread = row.process;
        if (r == 0 && cell_member(stack, "thread"))
                r = add_name(&store->names, cell_member(stack, "thread"), &row.thread);
        if (r == 0)
                r = add_name(&store->places, cell_member(stack, "place"), &row.place);
        if (r == 0)
                r = ARRAY_RESERVE(store->rows, store->n_allocated, store->n + 1);
        /* One more, so that there is an array for a stack without frames to be at. */
        if (r == 0)
                r = ARRAY_RESERVE(store->frames, store->n_frames_allocated,
                                  store->n_frames + row.n_frames + 1);
        for (size_t i = skip; r == 0 && i < n; i++) {
                r = add_function(store, cell_element(frames, i),
                                 i < cell_length(lines) ? cell_element(lines, i) : NULL,
                                 &store->frames[store->n_frames]);
                store->n_frames++;
        }
        if (r == 0)
                r = add_objects(store, cell_member(stack, "objects"), &row);
        if (r != 0)
                return r;
        /* All others are shown by waker alone. */
        if (span_is(cell_string(cell_member(stack, "place")), "lock")) {
                row.woken_by = json_object_get(cell_member(stack, "wokenBy"));
                row.woken_ns = cell_u64(row.woken_by, "ns");
        }
        store->rows[store->n++] = row;
        return 0;
}

int stack_store_add(StackStore *store, unsigned side, json_object *stack) {
        double error_ns = (double) cell_u64(stack, "standardErrorNs");
        StoredStack row = {};

        row.of[side] =
                (StackAmount){ .ns = cell_u64(stack, "ns"),
                               .max_ns = cell_u64(stack, "maxNs"),
                               .n_samples = cell_u64(stack, "samples"),
                               .variance = error_ns * error_ns,
                               .is_there = true,
                               .is_exact = json_object_get_boolean(cell_member(stack, "exact")) };
        return add_row(store, row, stack);
}

/* Threads on average, from a number of nanoseconds a second; what no host has is nothing. */
static double threads_of(json_object *quartiles, const char *key) {
        double ns = json_object_get_double(cell_member(quartiles, key));

        return ns >= 0 && ns < 0x1p63 ? ns / NSEC_PER_SEC : 0;
}

int stack_store_add_of_sets(StackStore *store, json_object *stack) {
        static const char *const sides[] = { "before", "after" };
        json_object *p = cell_member(stack, "pAdjusted");
        StackTest test = { .p = p ? json_object_get_double(p) : NAN,
                           .is_significant =
                                   json_object_get_boolean(cell_member(stack, "significant")) };
        StoredStack row = {};
        int r;

        for (unsigned side = 0; side < 2; side++) {
                json_object *quartiles = cell_member(stack, sides[side]);
                double median = threads_of(quartiles, "median");

                row.of[side] = (StackAmount){ .ns = (uint64_t) (median * NSEC_PER_SEC + 0.5),
                                              .is_there = quartiles,
                                              .is_exact = true };
                test.least[side] = threads_of(quartiles, "min");
                test.most[side] = threads_of(quartiles, "max");
        }
        r = ARRAY_RESERVE(store->tests, store->n_tests_allocated, store->n + 1);
        if (r == 0)
                r = add_row(store, row, stack);
        if (r == 0)
                store->tests[store->n - 1] = test;
        return r;
}

void stack_store_drop_unsampled(StackStore *store) {
        size_t n = 0;

        for (size_t i = 0; i < store->n; i++) {
                StoredStack *row = &store->rows[i];
                Span name = row->n_frames == 1 ? name_set_get(&store->functions,
                                                              stack_store_frames(store, row)[0])
                                               : (Span){};
                bool is_outside = span_is(name, "[before or after the recording]");
                uint64_t *sums = is_outside ? store->outside_ns : store->unsampled_ns;

                if (!is_outside && !span_is(name, "[too short to be sampled]")) {
                        store->rows[n++] = *row;
                        continue;
                }
                for (unsigned side = 0; side < 2; side++)
                        sums[side] = number_add_saturating(sums[side], row->of[side].ns);
                (void) json_object_put(row->woken_by);
        }
        store->n = n;
}

void stack_store_cut(StackStore *store, size_t n) {
        while (store->n > n)
                (void) json_object_put(store->rows[--store->n].woken_by);
}

bool stack_store_find_object(const StackStore *store, const StoredStack *begin,
                             const StoredStack *end, Span *ret_name, uint64_t *ret_ns) {
        const StoredObject *most = NULL;

        for (const StoredStack *row = begin; row < end; row++)
                for (size_t at = row->first_object; at != 0; at = store->objects[at - 1].next) {
                        const StoredObject *object = &store->objects[at - 1];
                        uint64_t *sum = &store->object_ns[object->name];

                        *sum = number_add_saturating(*sum, object->ns);
                        if (!most || *sum > store->object_ns[most->name])
                                most = object;
                }
        if (most) {
                *ret_name = name_set_get(&store->object_names, most->name);
                *ret_ns = store->object_ns[most->name];
        }
        for (const StoredStack *row = begin; row < end; row++)
                for (size_t at = row->first_object; at != 0; at = store->objects[at - 1].next)
                        store->object_ns[store->objects[at - 1].name] = 0;
        return most != NULL;
}

/* amounts */

void stack_amount_add(StackAmount *sum, const StackAmount *amount) {
        if (!amount->is_there)
                return;
        sum->is_exact = amount->is_exact && (!sum->is_there || sum->is_exact);
        sum->is_there = true;
        sum->ns = number_add_saturating(sum->ns, amount->ns);
        sum->n_samples = number_add_saturating(sum->n_samples, amount->n_samples);
        sum->max_ns = MAX_OF(sum->max_ns, amount->max_ns);
        sum->variance += amount->variance;
}

double stack_store_threads(const StackStore *store, const StackAmount *amount, unsigned side) {
        return (double) amount->ns / (double) store->elapsed_ns[side];
}

double stack_store_change(const StackStore *store, const StackAmount of[static 2]) {
        return stack_store_threads(store, &of[1], 1) - stack_store_threads(store, &of[0], 0);
}

double stack_store_change_error(const StackStore *store, const StackAmount of[static 2]) {
        double a_ns = (double) store->elapsed_ns[0], b_ns = (double) store->elapsed_ns[1];

        return sqrt(of[0].variance / (a_ns * a_ns) + of[1].variance / (b_ns * b_ns));
}

double stack_store_weight(const StackStore *store, const StoredStack *row) {
        return stack_store_is_pair(store) ? fabs(stack_store_change(store, row->of))
                                          : (double) row->of[0].ns;
}

/* orders */

typedef struct Order {
        const StackStore *store;
        const double *weights; /* of every name as a process */
} Order;

static int compare_stacks(const StackStore *store, const StoredStack *a, const StoredStack *b) {
        const uint32_t *x = stack_store_frames(store, a), *y = stack_store_frames(store, b);

        for (size_t i = 0; i < a->n_frames && i < b->n_frames; i++)
                if (x[i] != y[i])
                        return (x[i] > y[i]) - (x[i] < y[i]);
        if (a->n_frames != b->n_frames)
                return a->n_frames < b->n_frames ? -1 : 1;
        return (a->place > b->place) - (a->place < b->place);
}

static int by_frames(const void *a_, const void *b_, void *userdata) {
        const StoredStack *a = a_, *b = b_;
        const Order *order = userdata;
        double weight_a = order->weights[a->process], weight_b = order->weights[b->process];
        int r;

        if (a->process != b->process)
                return weight_a != weight_b ? (weight_a < weight_b) - (weight_a > weight_b)
                                            : (a->process > b->process) - (a->process < b->process);
        r = compare_stacks(order->store, a, b);
        return r != 0 ? r : (a->thread > b->thread) - (a->thread < b->thread);
}

static int by_weight(const void *a_, const void *b_, void *userdata) {
        const StoredStack *a = a_, *b = b_;
        double x = stack_store_weight(userdata, a), y = stack_store_weight(userdata, b);
        int r;

        if (x != y)
                return x < y ? 1 : -1;
        r = (a->process > b->process) - (a->process < b->process);
        return r != 0 ? r : compare_stacks(userdata, a, b);
}

int stack_store_sort(StackStore *store) {
        _cleanup_(freep) double *weights = calloc(store->names.n + 1, sizeof(*weights));

        if (!weights)
                return -ENOMEM;
        for (size_t i = 0; i < store->n; i++)
                weights[store->rows[i].process] += stack_store_weight(store, &store->rows[i]);
        if (store->n > 0)
                qsort_r(store->rows, store->n, sizeof(*store->rows), by_frames,
                        &(Order){ store, weights });
        return 0;
}

static bool is_same_text(json_object *a, json_object *b, const char *key) {
        return span_equal(cell_string(cell_member(a, key)), cell_string(cell_member(b, key)));
}

/*
 * Leaves in @into the waker that ended most of the wait time of both rows, as far as the rows tell.
 * The other waker is released, and @from has no waker afterwards.
 */
static void merge_wakers(StoredStack *into, StoredStack *from) {
        bool is_same = is_same_text(into->woken_by, from->woken_by, "kind") &&
                       is_same_text(into->woken_by, from->woken_by, "process") &&
                       is_same_text(into->woken_by, from->woken_by, "thread");
        uint64_t sum_ns = number_add_saturating(into->woken_ns, from->woken_ns);

        if (from->woken_ns > into->woken_ns) {
                json_object *kept = into->woken_by;

                into->woken_by = from->woken_by;
                into->woken_ns = from->woken_ns;
                from->woken_by = kept;
        }
        (void) json_object_put(from->woken_by);
        from->woken_by = NULL;
        if (is_same)
                into->woken_ns = sum_ns;
}

/*
 * Drops the waker and the objects of a row of two recordings. They tell what the threads waited for
 * most in each recording, which says little about the difference between the recordings.
 */
static void forget_causes(StoredStack *row) {
        (void) json_object_put(row->woken_by);
        row->woken_by = NULL;
        row->woken_ns = 0;
        row->first_object = row->last_object = 0;
}

static void merge_objects(StackStore *store, StoredStack *into, const StoredStack *from) {
        if (into->first_object == 0)
                into->first_object = from->first_object;
        else
                store->objects[into->last_object - 1].next = from->first_object;
        if (from->first_object != 0)
                into->last_object = from->last_object;
}

int stack_store_match(StackStore *store) {
        StoredStack *rows = store->rows;
        size_t n = 0;
        int r = stack_store_sort(store);

        if (r != 0)
                return r;
        for (size_t i = 0; i < store->n; i++) {
                if (stack_store_is_pair(store))
                        forget_causes(&rows[i]);
                if (n > 0 && rows[n - 1].process == rows[i].process &&
                    compare_stacks(store, &rows[n - 1], &rows[i]) == 0) {
                        stack_amount_add(&rows[n - 1].of[0], &rows[i].of[0]);
                        stack_amount_add(&rows[n - 1].of[1], &rows[i].of[1]);
                        merge_wakers(&rows[n - 1], &rows[i]);
                        merge_objects(store, &rows[n - 1], &rows[i]);
                        if (rows[n - 1].thread != rows[i].thread)
                                rows[n - 1].thread = rows[n - 1].process;
                        continue;
                }
                rows[n++] = rows[i];
        }
        store->n = n;
        if (n > 0)
                qsort_r(rows, n, sizeof(*rows), by_weight, store);
        return 0;
}

bool stack_place_is_rest(Span place) {
#define PLACE_IS(name) || span_is(place, #name)
        return false WAIT_REASONS_OF_REST(PLACE_IS);
#undef PLACE_IS
}
