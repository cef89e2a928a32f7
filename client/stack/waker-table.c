/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/waker-table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/printable.h"
#include "stack/stack-text.h"

/* Without these limits, a hostile daemon could fill the memory of this process. */
#define MAX_ROWS ((size_t) 1 << 20)
#define MAX_FRAMES 1024u
#define MAX_KEY_BYTES ((size_t) 1 << 28)

void waker_table_done(WakerTable *table) {
        for (size_t i = 0; i < table->n; i++) {
                (void) json_object_put(table->rows[i].frames);
                (void) json_object_put(table->rows[i].held);
        }
        free(table->rows);
        buffer_done(&table->keys);
        index_done(&table->by_key);
        *table = (WakerTable){};
}

/* The texts of a key: 0 of the threads, 1 of the place, 2 of the waker; NUL is behind each. */
static const char *text_of(const WakerTable *table, const WakerRow *row, unsigned which) {
        const char *text = table->keys.bytes + row->key;

        while (which-- > 0)
                text += strlen(text) + 1;
        return text;
}

static Span key_of(const void *owner, size_t element) {
        const WakerTable *table = owner;
        const WakerRow *row = &table->rows[element];
        const char *last = text_of(table, row, 2), *begin = table->keys.bytes + row->key;

        return (Span){ begin, (size_t) (last - begin) + strlen(last) + 1 };
}

static int find_row(WakerTable *table, json_object *stack, WakerRow **ret) {
        size_t at = table->keys.n, found;
        Span key;
        int r;

        table->keys.max_bytes = MAX_KEY_BYTES;
        stack_append_threads(&table->keys, stack);
        buffer_append_byte(&table->keys, '\0');
        printable_append_name(&table->keys, cell_string(cell_member(stack, "place")));
        buffer_append_byte(&table->keys, '\0');
        stack_append_waker(&table->keys, cell_member(stack, "waker"));
        r = buffer_append_byte(&table->keys, '\0');
        if (r < 0)
                return r;
        key = (Span){ table->keys.bytes + at, table->keys.n - at };
        found = index_find(&table->by_key, key, key_of, table);
        if (found != INDEX_NONE) {
                table->keys.n = at;
        } else {
                if (table->n >= MAX_ROWS)
                        return -EMSGSIZE;
                r = ARRAY_RESERVE(table->rows, table->n_allocated, table->n + 1);
                if (r == 0)
                        r = index_add(&table->by_key, key, table->n);
                if (r < 0)
                        return r;
                found = table->n++;
                table->rows[found] = (WakerRow){ .key = at, .is_exact = true };
        }
        *ret = &table->rows[found];
        return 0;
}

int waker_table_add(WakerTable *table, json_object *stack) {
        json_object *frames = cell_member(stack, "wakerFrames");
        json_object *held = cell_member(cell_member(stack, "waker"), "held");
        double error = (double) cell_u64(stack, "standardErrorNs");
        uint64_t ns = cell_u64(stack, "ns");
        WakerRow *row;
        int r = find_row(table, stack, &row);

        if (r < 0)
                return r;
        row->ns = number_add_saturating(row->ns, ns);
        row->n_samples = number_add_saturating(row->n_samples, cell_u64(stack, "samples"));
        row->variance += error * error;
        row->is_exact = row->is_exact && json_object_get_boolean(cell_member(stack, "exact"));
        if (ns > row->heaviest_ns && cell_length(frames) > 0 && cell_length(frames) <= MAX_FRAMES) {
                row->heaviest_ns = ns;
                (void) json_object_put(row->frames);
                row->frames = json_object_get(frames);
        }
        if (held && ns > row->held_ns) {
                row->held_ns = ns;
                (void) json_object_put(row->held);
                row->held = json_object_get(held);
        }
        return 0;
}

/* printing */

static int by_group(const void *a_, const void *b_, void *userdata) {
        const WakerTable *table = userdata;
        const WakerRow *a = a_, *b = b_;
        int order = strcmp(text_of(table, a, 0), text_of(table, b, 0));

        if (order == 0)
                order = strcmp(text_of(table, a, 1), text_of(table, b, 1));
        return order;
}

static int by_weight(const void *a_, const void *b_, void *userdata) {
        const WakerRow *a = a_, *b = b_;
        int order;

        if (a->group_ns != b->group_ns)
                return a->group_ns < b->group_ns ? 1 : -1;
        order = by_group(a, b, userdata);
        if (order == 0)
                order = (a->ns < b->ns) - (a->ns > b->ns);
        return order != 0 ? order : strcmp(text_of(userdata, a, 2), text_of(userdata, b, 2));
}

/* Groups are made of rows that follow each other, so that each row knows the sum of its own. */
static void sort(WakerTable *table) {
        qsort_r(table->rows, table->n, sizeof(*table->rows), by_group, table);
        for (size_t i = 0, end; i < table->n; i = end) {
                double ns = 0;

                for (end = i;
                     end < table->n && by_group(&table->rows[i], &table->rows[end], table) == 0;
                     end++)
                        ns += (double) table->rows[end].ns;
                for (size_t k = i; k < end; k++)
                        table->rows[k].group_ns = ns;
        }
        qsort_r(table->rows, table->n, sizeof(*table->rows), by_weight, table);
}

int waker_table_print(WakerTable *table, size_t limit, const Terminal *terminal, TableLegend legend,
                      FILE *out, size_t *ret_hidden) {
        TableColumn columns[] = {
                { .header = "PROCESS", .shrink_to = 12 },
                { .header = "PLACE" },
                { .header = "WAKER", .shrink_to = 12 },
                { .header = "TIME", .right = true },
                { .header = "ERROR", .right = true, .absent = true },
                { .header = "SHARE", .right = true },
                { .header = "SAMPLES", .right = true, .omit = 1 },
                { .header = "STACK", .shrink_to = 12 },
                { .header = "HELD IN", .shrink_to = 12, .absent = true },
        };
        _cleanup_(table_freep) Table *output = NULL;
        size_t n = limit > 0 ? MIN_OF(limit, table->n) : table->n;
        int r;

        if (table->n > 1)
                sort(table);
        for (size_t i = 0; i < n; i++) {
                columns[4].absent = columns[4].absent && table->rows[i].is_exact;
                columns[8].absent = columns[8].absent && !table->rows[i].held;
        }
        r = table_new(columns, ELEMENTSOF(columns), terminal, legend, out, &output);
        for (size_t i = 0; r == 0 && i < n; i++) {
                const WakerRow *row = &table->rows[i];
                Buffer *cell;

                for (unsigned which = 0; which < 3; which++)
                        buffer_append_text(table_cell(output), text_of(table, row, which));
                compact_append_span(table_cell(output), (double) row->ns);
                cell = table_cell(output);
                if (!row->is_exact) {
                        buffer_append_text(cell, "\u00b1");
                        compact_append_span(cell, sqrt(row->variance));
                } else if (!columns[4].absent)
                        buffer_append_byte(cell, ' ');
                compact_append_percent(table_cell(output),
                                       row->group_ns > 0 ? 100 * (double) row->ns / row->group_ns
                                                         : 0);
                buffer_append_format(table_cell(output), "%llu",
                                     (unsigned long long) row->n_samples);
                cell = table_cell(output);
                /* Chosen as those of a thread that waits for another one. */
                if (row->frames)
                        r = stack_append_functions(cell, SPAN_LITERAL("lock"), row->frames, false);
                cell = table_cell(output);
                if (r == 0 && row->held)
                        r = stack_append_held(cell, row->held, false);
                else if (!columns[8].absent)
                        buffer_append_byte(cell, ' ');
                table_end_row(output, 0);
        }
        *ret_hidden = table->n - n;
        return r == 0 ? table_end(output) : r;
}
