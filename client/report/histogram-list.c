/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long waits were, by the threads that waited and what for, those of most time first. */
#include "report/stack-list.h"

#include <stdio.h>

#include "render/cell.h"
#include "render/compact.h"
#include "render/lines.h"
#include "render/printable.h"
#include "session/complain.h"
#include "stack/stack-text.h"

/* The widths of the parts of a line, which fits into 80 columns of the terminal. */
#define LENGTH_COLUMNS 19u
#define BAR_CELLS 15u
#define TIME_COLUMNS 8u
#define SHARE_COLUMNS 6u
/* Without this limit, a hostile daemon could fill a screen with lines that say nothing. */
#define MAX_BUCKETS 64u

/* for programs */

/* A row for each bucket. @histogram is NULL while names are written. */
static void write_rows(RowWriter *rows, json_object *histogram) {
        static const RowField of_group[] = { { "process", "process" },
                                             { "thread", "thread" },
                                             { "place", "place" } };
        static const RowField fields[] = { { "at_least_ns", "atLeastNs" },
                                           { "below_ns", "belowNs" },
                                           { "count", "count" },
                                           { "ns", "ns" } };
        json_object *buckets = cell_member(histogram, "buckets");
        size_t n = histogram ? cell_length(buckets) : 1;

        row_begin(rows, ROW_PART_GROUP);
        row_write_fields(rows, histogram, of_group, ELEMENTSOF(of_group));
        for (size_t i = 0; i < n; i++) {
                row_begin(rows, ROW_PART_OWN);
                row_write_fields(rows, histogram ? cell_element(buckets, i) : NULL, fields,
                                 ELEMENTSOF(fields));
                row_end(rows);
        }
}

/* for people */

typedef struct Bucket {
        uint64_t begin_ns, end_ns; /* 0: it has no end */
        uint64_t n, ns;
} Bucket;

/*
 * Where lengths did not occur between others, one line is for the gap. Returns how many there are.
 */
static size_t take_buckets(json_object *histogram, Bucket buckets[static MAX_BUCKETS]) {
        json_object *all = cell_member(histogram, "buckets");
        uint64_t end_ns = 0;
        size_t n = 0;

        for (size_t i = 0; i < cell_length(all) && n + 2 <= MAX_BUCKETS; i++) {
                json_object *one = cell_element(all, i);
                const Bucket bucket = { .begin_ns = cell_u64(one, "atLeastNs"),
                                        .end_ns = cell_u64(one, "belowNs"),
                                        .n = cell_u64(one, "count"),
                                        .ns = cell_u64(one, "ns") };

                if (n > 0 && end_ns < bucket.begin_ns)
                        buckets[n++] = (Bucket){ .begin_ns = end_ns, .end_ns = bucket.begin_ns };
                buckets[n++] = bucket;
                end_ns = bucket.end_ns;
        }
        return n;
}

/* "4.1ms..8.2ms" */
static void append_bounds(Buffer *text, const Bucket *bucket) {
        compact_append_span(text, (double) bucket->begin_ns);
        buffer_append_text(text, "..");
        if (bucket->end_ns > 0)
                compact_append_span(text, (double) bucket->end_ns);
}

/* ", p50 4.1ms..8.2ms": in which bucket the wait is that is as long as @percent of all at least. */
static void append_percentile(Buffer *text, const Bucket *buckets, size_t n, unsigned percent) {
        double all = 0, seen = 0;
        size_t at = 0;

        for (size_t i = 0; i < n; i++)
                all += (double) buckets[i].n;
        while (at + 1 < n && (seen += (double) buckets[at].n) < all * percent / 100)
                at++;
        if (n == 0)
                return;
        buffer_append_format(text, ", p%u ", percent);
        append_bounds(text, &buckets[at]);
}

/* Returns the time in all places that are shown. */
static double shown_ns(const StackList *list) {
        json_object *places = cell_member(list->first, "places");
        json_object_iter place;
        double ns = 0;

        if (!json_object_is_type(places, json_type_object))
                return 0;
        json_object_object_foreachC(places, place) {
                if (list->has_rest || !stack_place_is_rest(span_of(place.key)))
                        ns += (double) json_object_get_uint64(place.val);
        }
        return ns;
}

static double percent_of(double part, double whole) {
        return whole > 0 ? 100 * part / whole : 0;
}

static void append_padded(Buffer *line, size_t n_columns, Buffer *cell) {
        for (size_t n = printable_width(buffer_span(cell)); n < n_columns; n++)
                buffer_append_byte(line, ' ');
        buffer_append(line, cell->bytes, cell->n);
        buffer_clear(cell);
}

static unsigned count_cells(double part, double most) {
        return most > 0 ? MIN_OF((unsigned) (BAR_CELLS * part / most + 0.5), BAR_CELLS) : 0;
}

static void append_bar(Buffer *line, const Terminal *terminal, unsigned n) {
        while (n-- > 0)
                buffer_append_text(line, terminal->utf8 ? "\u2588" : "#");
}

/* "app/worker lock: 614 waits, 7.52s, 81 %, p50 4.1ms..8.2ms, p99 16ms..33ms" */
static void append_title(Buffer *text, const StackList *list, json_object *histogram,
                         const Bucket *buckets, size_t n) {
        uint64_t n_waits = cell_u64(histogram, "count");
        double ns = (double) cell_u64(histogram, "ns");

        stack_append_threads(text, histogram);
        buffer_append_byte(text, ' ');
        printable_append_name(text, cell_string(cell_member(histogram, "place")));
        buffer_append_format(text, ": %llu wait%s, ", (unsigned long long) n_waits,
                             n_waits == 1 ? "" : "s");
        compact_append_span(text, ns);
        buffer_append_text(text, ", ");
        compact_append_percent(text, percent_of(ns, shown_ns(list)));
        append_percentile(text, buckets, n, 50);
        append_percentile(text, buckets, n, 99);
}

/* A line for each length: how many waits, their time, and both as bars. */
static int append_buckets(Buffer *text, const Terminal *terminal, const Bucket *buckets, size_t n) {
        double n_most = 0, ns_most = 0, all_ns = 0;
        _cleanup_(buffer_done) Buffer cell = {};

        for (size_t i = 0; i < n; i++) {
                n_most = MAX_OF(n_most, (double) buckets[i].n);
                ns_most = MAX_OF(ns_most, (double) buckets[i].ns);
                all_ns += (double) buckets[i].ns;
        }
        for (size_t i = 0; i < n; i++) {
                double ns = (double) buckets[i].ns;
                unsigned n_cells = count_cells((double) buckets[i].n, n_most);

                append_bounds(&cell, &buckets[i]);
                append_padded(text, LENGTH_COLUMNS, &cell);
                buffer_append_format(text, " %8llu ", (unsigned long long) buckets[i].n);
                append_bar(text, terminal, n_cells);
                buffer_append_format(text, "%*s", (int) (BAR_CELLS - n_cells), "");
                compact_append_span(&cell, ns);
                append_padded(text, TIME_COLUMNS, &cell);
                compact_append_percent(&cell, percent_of(ns, all_ns));
                append_padded(text, SHARE_COLUMNS, &cell);
                n_cells = count_cells(ns, ns_most);
                if (n_cells > 0)
                        buffer_append_byte(text, ' ');
                append_bar(text, terminal, n_cells);
                buffer_append_byte(text, '\n');
        }
        return buffer_failure(&cell) < 0 ? buffer_failure(&cell) : buffer_failure(text);
}

static int print_histogram(StackList *list, json_object *histogram) {
        const Terminal *terminal = &list->session->terminal;
        const Lines lines = { .out = stdout, .terminal = terminal };
        _cleanup_(buffer_done) Buffer title = {}, text = {};
        Bucket buckets[MAX_BUCKETS];
        size_t n = take_buckets(histogram, buckets);
        int r;

        append_title(&title, list, histogram, buckets, n);
        r = append_buckets(&text, terminal, buckets, n);
        if (list->n_histograms++ > 0)
                (void) putchar('\n');
        if (r == 0)
                r = lines_print_buffer(&lines, "", &title);
        if (r == 0 && text.n > 0)
                (void) fwrite(text.bytes, 1, text.n, stdout);
        return r;
}

/* "waits of process 71 called nginx*, by length" */
static int print_heading(StackList *list) {
        const Session *session = list->session;
        _cleanup_(buffer_done) Buffer scope = {};
        const char *line = "";
        int r;

        if (!stack_list_is_for_people(list))
                return 0;
        r = session_page(list->session);
        if (r == 0)
                r = stack_append_scope(&scope, cell_member(list->first, "recording"));
        if (r == 0)
                r = buffer_terminate(&scope, &line);
        if (r == 0 && session->legend == TABLE_LEGEND_SHOWN)
                (void) printf("waits%s, by length\n\n", line);
        return r;
}

static int print_end(StackList *list, uint64_t n_hidden) {
        const Session *session = list->session;
        const Lines lines = { .out = stdout, .terminal = &session->terminal };
        json_object *facts = cell_member(list->first, "recording");
        unsigned long long n_lost = cell_u64(facts, "lostLengths"),
                           n_unknown = cell_u64(facts, "unknownLengths");
        bool is_chatty = session->is_chatty && session->legend == TABLE_LEGEND_SHOWN;

        if (list->n_histograms == 0)
                (void) fputs("no waits\n", stdout);
        else if (n_lost > 0 || n_unknown > 0 || is_chatty)
                (void) putchar('\n');
        if (n_lost > 0)
                lines_format(&lines, "", "%llu wait%s not among these: there were too many names",
                             n_lost, n_lost == 1 ? " is" : "s are");
        if (n_unknown > 0)
                lines_format(&lines, "",
                             "%llu wait%s not among these: nobody knows when they began", n_unknown,
                             n_unknown == 1 ? " is" : "s are");
        if (is_chatty && !list->has_rest)
                lines_format(&lines, "", "waits for work are not among these (--all-rows)");
        if (is_chatty && n_hidden > 0)
                lines_format(&lines, "", "%llu more (--limit 0)", (unsigned long long) n_hidden);
        return 0;
}

const StackListKind histogram_list = {
        .parameter = "histogram",
        .elements = "histograms",
        .hidden = "hiddenHistograms",
        .begin = print_heading,
        .write_rows = write_rows,
        .add = print_histogram,
        .end = print_end,
};
