/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/limited-lines.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"
#include "render/compact.h"
#include "render/printable.h"

#define MORE "; %zu more (--verbose)"
#define PIPED_LINES 3

static double amount_of(json_object *object, const char *key) {
        return json_object_get_double(cell_member(object, key));
}

/* "CPU throttled 3.20s in 80 periods" */
static void append_throttled(Buffer *line, json_object *entry) {
        double n = amount_of(entry, "count");

        buffer_append_text(line, "CPU throttled ");
        compact_append_span(line, amount_of(entry, "ns"));
        if (n > 0) {
                buffer_append_text(line, " in ");
                compact_append_count(line, n);
                buffer_append_text(line, n > 1 ? " periods" : " period");
        }
}

/* "memory.max reached 1.2K times", "1 process killed" */
static void append_event(Buffer *line, json_object *entry) {
        static const struct {
                const char *what, *before, *one, *many;
        } events[] = {
                { "memory.max", "memory.max reached ", " time", " times" },
                { "memory.high", "memory.high exceeded ", " time", " times" },
                { "oom_kill", "", " process killed for lack of memory",
                  " processes killed for lack of memory" },
                { "pids.max", "pids.max reached ", " time", " times" },
        };
        Span what = cell_string(cell_member(entry, "what"));
        double n = amount_of(entry, "count");

        for (size_t i = 0; i < ELEMENTSOF(events); i++) {
                if (!span_is(what, events[i].what))
                        continue;
                buffer_append_text(line, events[i].before);
                compact_append_count(line, n);
                buffer_append_text(line, n == 1 ? events[i].one : events[i].many);
                return;
        }
        cell_append_text(line, cell_member(entry, "what"));
        buffer_append_byte(line, ' ');
        compact_append_count(line, n);
}

static json_object *cgroup_of(json_object *limited, size_t index) {
        return cell_member(cell_element(limited, index), "cgroup");
}

static void append_entry(Buffer *line, json_object *entry) {
        if (span_is(cell_string(cell_member(entry, "what")), "cpu.max"))
                append_throttled(line, entry);
        else
                append_event(line, entry);
}

static void append_name(Buffer *line, json_object *cgroup, size_t n_columns) {
        _cleanup_(buffer_done) Buffer name = {};

        if (cell_string(cgroup).n > 0)
                cell_append_text(&name, cgroup);
        else
                buffer_append_text(&name, "the host");
        printable_append_end(line, buffer_span(&name), n_columns);
}

/* entries of one cgroup after the other, in the order of the first of each */

typedef struct Order {
        json_object *limited;
        size_t *indices;
        size_t n;
} Order;

static json_object *cgroup_at(const Order *order, size_t index) {
        return cgroup_of(order->limited, order->indices[index]);
}

static bool begins_cgroup(const Order *order, size_t index) {
        return index == 0 ||
               !json_object_equal(cgroup_at(order, index), cgroup_at(order, index - 1));
}

static bool is_among(const Order *order, json_object *cgroup) {
        for (size_t i = 0; i < order->n; i++)
                if (json_object_equal(cgroup_at(order, i), cgroup))
                        return true;
        return false;
}

static int order_by_cgroup(json_object *limited, Order *ret) {
        size_t n = cell_length(limited);
        Order order = { limited, calloc(n, sizeof(*order.indices)), 0 };

        if (!order.indices)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *cgroup = cgroup_of(limited, i);

                if (is_among(&order, cgroup))
                        continue;
                for (size_t k = i; k < n; k++)
                        if (json_object_equal(cgroup_of(limited, k), cgroup))
                                order.indices[order.n++] = k;
        }
        *ret = order;
        return 0;
}

/* "CGROUP: this, that; CGROUP: this; 3 more (--verbose)" of the entries from @first to @end. */
static void append_entries(Buffer *line, const Order *order, size_t first, size_t end,
                           size_t n_more, size_t name_columns) {
        for (size_t i = first; i < end; i++) {
                if (i > first)
                        buffer_append_text(line, begins_cgroup(order, i) ? "; " : ", ");
                if (i == first || begins_cgroup(order, i)) {
                        append_name(line, cgroup_at(order, i), name_columns);
                        buffer_append_text(line, ": ");
                }
                append_entry(line, cell_element(order->limited, order->indices[i]));
        }
        if (n_more > 0)
                buffer_append_format(line, MORE, n_more);
}

/*
 * A terminal has one text of as many entries as its lines have room for, be it with shorter names.
 */
static int print_fitting(const Lines *lines, const char *label, const Order *order) {
        static const size_t name_columns[] = { 40, 24, 16, 12 }; /* in the end, which says more */
        _cleanup_(buffer_done) Buffer line = {};
        const char *text = "";
        bool fits = false;
        int r;

        for (size_t n = order->n; n > 0 && !fits; n--)
                for (size_t i = 0; i < ELEMENTSOF(name_columns) && !fits; i++) {
                        buffer_clear(&line);
                        append_entries(&line, order, 0, n, order->n - n, name_columns[i]);
                        r = buffer_terminate(&line, &text);
                        if (r < 0)
                                return r;
                        fits = !lines_cut(lines, text);
                }
        lines_print(lines, label, text);
        return 0;
}

/* A pipe has a line for each of the first cgroups. */
static int print_cgroups(const Lines *lines, const char *label, const Order *order) {
        size_t n_lines = 0;
        int r = 0;

        for (size_t i = 0, end; r == 0 && i < order->n && n_lines < PIPED_LINES; i = end) {
                _cleanup_(buffer_done) Buffer line = {};

                for (end = i + 1; end < order->n && !begins_cgroup(order, end); end++)
                        ;
                n_lines++;
                append_entries(&line, order, i, end, n_lines == PIPED_LINES ? order->n - end : 0,
                               SIZE_MAX);
                r = lines_print_buffer(lines, label, &line);
        }
        return r;
}

static int print_all(const Lines *lines, const char *label, json_object *limited) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < cell_length(limited); i++) {
                _cleanup_(buffer_done) Buffer line = {};

                append_name(&line, cgroup_of(limited, i), SIZE_MAX);
                buffer_append_text(&line, ": ");
                append_entry(&line, cell_element(limited, i));
                r = lines_print_buffer(lines, label, &line);
        }
        return r;
}

int limited_lines_print(const Lines *lines, const char *label, json_object *limited,
                        size_t max_lines) {
        Lines few = *lines;
        Order order;
        int r;

        if (max_lines == 0 || cell_length(limited) == 0)
                return print_all(lines, label, limited);
        few.max_lines = max_lines;
        r = order_by_cgroup(limited, &order);
        if (r < 0)
                return r;
        r = lines_text_columns(lines) < SIZE_MAX ? print_fitting(&few, label, &order)
                                                 : print_cgroups(lines, label, &order);
        free(order.indices);
        return r;
}
