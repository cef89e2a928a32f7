/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/stack-store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "render/cell.h"

/* What a hostile daemon could send beyond these would fill our memory. */
#define STORE_MAX_ROWS ((size_t) 1 << 22)
#define STORE_MAX_FRAMES ((size_t) 1 << 27)
#define ROW_MAX_FRAMES 1024u /* the ones further out are left out */

void stack_store_done(StackStore *store) {
        name_set_done(&store->names);
        name_set_done(&store->places);
        name_set_done(&store->functions);
        free(store->rows);
        free(store->frames);
}

static int add_name(NameSet *set, json_object *name, uint32_t *ret) {
        size_t number;
        int r = name_set_add(set, cell_string(name), &number);

        if (r == 0 && number >= UINT32_MAX)
                r = -EMSGSIZE;
        if (r == 0)
                *ret = (uint32_t) number;
        return r;
}

int stack_store_add(StackStore *store, json_object *stack) {
        json_object *frames = cell_member(stack, "frames");
        size_t n = cell_length(frames), skip = n > ROW_MAX_FRAMES ? n - ROW_MAX_FRAMES : 0;
        StackRow row = { .first = store->n_frames,
                         .n_frames = (uint32_t) (n - skip),
                         .ns = cell_u64(stack, "ns"),
                         .n_samples = cell_u64(stack, "samples"),
                         .error_ns = cell_u64(stack, "standardErrorNs"),
                         .is_exact = json_object_get_boolean(cell_member(stack, "exact")) };
        int r;

        if (store->n >= STORE_MAX_ROWS || store->n_frames >= STORE_MAX_FRAMES)
                return -EMSGSIZE;
        r = add_name(&store->names, cell_member(stack, "process"), &row.process);
        if (r == 0)
                r = add_name(&store->names, cell_member(stack, "thread"), &row.thread);
        if (r == 0)
                r = add_name(&store->places, cell_member(stack, "place"), &row.place);
        if (r == 0)
                r = ARRAY_RESERVE(store->rows, store->n_allocated, store->n + 1);
        if (r == 0)
                r = ARRAY_RESERVE(store->frames, store->n_frames_allocated,
                                  store->n_frames + row.n_frames);
        for (size_t i = skip; r == 0 && i < n; i++) {
                r = add_name(&store->functions, cell_element(frames, i),
                             &store->frames[store->n_frames]);
                store->n_frames++;
        }
        if (r == 0)
                store->rows[store->n++] = row;
        return r;
}

typedef struct Order {
        const StackStore *store;
        const uint64_t *process_ns; /* of every name */
} Order;

static int by_frames(const void *a_, const void *b_, void *userdata) {
        const StackRow *a = a_, *b = b_;
        const Order *order = userdata;
        const uint32_t *x = stack_store_frames(order->store, a);
        const uint32_t *y = stack_store_frames(order->store, b);
        uint64_t ns_a = order->process_ns[a->process], ns_b = order->process_ns[b->process];

        if (a->process != b->process)
                return ns_a != ns_b ? (ns_a < ns_b) - (ns_a > ns_b)
                                    : (a->process > b->process) - (a->process < b->process);
        for (size_t i = 0; i < a->n_frames && i < b->n_frames; i++)
                if (x[i] != y[i])
                        return (x[i] > y[i]) - (x[i] < y[i]);
        if (a->n_frames != b->n_frames)
                return a->n_frames < b->n_frames ? -1 : 1;
        if (a->place != b->place)
                return a->place < b->place ? -1 : 1;
        return (a->thread > b->thread) - (a->thread < b->thread);
}

int stack_store_sort(StackStore *store) {
        _cleanup_(freep) uint64_t *process_ns = calloc(store->names.n + 1, sizeof(*process_ns));

        if (!process_ns)
                return -ENOMEM;
        for (size_t i = 0; i < store->n; i++)
                process_ns[store->rows[i].process] += store->rows[i].ns;
        if (store->n > 0)
                qsort_r(store->rows, store->n, sizeof(*store->rows), by_frames,
                        &(Order){ store, process_ns });
        return 0;
}

bool stack_place_is_rest(Span place) {
        static const char *const names[] = {
                "idle", "sleep", "poll", "child", "signal", "stopped"
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (span_is(place, names[i]))
                        return true;
        return false;
}
