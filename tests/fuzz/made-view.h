/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MadeView
 *
 * A View made of four bytes: the axis and switches, which rows, the order, what is hidden.
 */

#include "fuzz.h"
#include "view/view.h"
#include "view/view-part.h"

static inline void made_metrics(View *view, uint8_t choice) {
        static const char *const lists[] = {
                "run_time_ns,wait_sum,policy,nice,cpu_affinity,state,nr_threads,wait_max",
                "thread_count,run_time_ns,*delay*",
                "avg_*,cpu_efficiency",
                "run_time_ns",
        };
        char complaint[VIEW_COMPLAINT_BYTES];
        const char *list = choice == 15 ? "*" : lists[choice % ELEMENTSOF(lists)]; /* all cost */

        fuzz_expect(view_set(view, VIEW_PART_metrics, span_of(list), complaint) == VIEW_OK,
                    "metrics: %s", complaint);
}

static inline void made_order(View *view, uint8_t choice) {
        static const char *const orders[] = {
                "impact",
                "delta",
                "percent",
                "name",
                "run_time_ns",
                "wait_max:asc,nice",
                "cpu_affinity,run_time_ns:asc",
                "thread_count:asc",
        };
        char complaint[VIEW_COMPLAINT_BYTES];

        fuzz_expect(view_set(view, VIEW_PART_sort, span_of(orders[choice % ELEMENTSOF(orders)]),
                             complaint) == VIEW_OK,
                    "an order: %s", complaint);
}

/* What leaves groups and rows out. */
static inline void made_hiding(View *view, uint8_t choice) {
        static const char *const globs[] = { "*work*", "/old/*", "?*", "[!a]*" };
        char complaint[VIEW_COMPLAINT_BYTES];
        int r = VIEW_OK;

        view->limit = choice & 1 ? 1 + (choice >> 6) : 0;
        view->changed_only = choice & 2;
        if (choice & 4)
                r = view_set(view, VIEW_PART_threshold, SPAN_LITERAL("5"), complaint);
        if (r == VIEW_OK && choice & 8)
                r = view_set(view, VIEW_PART_filter, span_of(globs[choice >> 4 & 3]), complaint);
        fuzz_expect(r == VIEW_OK, "a threshold and a filter: %s", complaint);
}

static inline void made_view(FuzzInput *input, View *ret) {
        uint8_t axis = fuzz_take_u8(input), switches = fuzz_take_u8(input);
        uint8_t rows = fuzz_take_u8(input), hiding = fuzz_take_u8(input);
        char complaint[VIEW_COMPLAINT_BYTES];

        view_init(ret);
        ret->axis = (ViewAxis) (axis % _VIEW_AXIS_MAX);
        ret->window = switches & 1;
        ret->spread = switches & 2;
        ret->thread_normalize = !(switches & 4);
        ret->cgroup_normalize = !(switches & 8);
        ret->pairing = switches & 16;
        ret->self = switches & 32;
        if (switches & 64)
                fuzz_expect(view_set(ret, VIEW_PART_pairs, SPAN_LITERAL("/old/x=/new/x"),
                                     complaint) == VIEW_OK,
                            "a pair: %s", complaint);
        if (switches & 128)
                fuzz_expect(view_set(ret, VIEW_PART_cgroup_flatten, SPAN_LITERAL("/*/b-*"),
                                     complaint) == VIEW_OK,
                            "a glob: %s", complaint);
        made_metrics(ret, rows & 15);
        made_order(ret, rows >> 4);
        made_hiding(ret, hiding);
}
