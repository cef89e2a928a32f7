/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/change-lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/printable.h"

#define LABEL "changed"
#define ELLIPSIS "\u2026"

/* "cpufreq_governor." and 17; has_number is false if the key does not end in a number. */
typedef struct ChangeKey {
        Span stem;
        bool has_number;
        uint32_t number;
} ChangeKey;

static ChangeKey key_of(json_object *change) {
        Span text = cell_string(cell_member(change, "key"));
        const char *dot = text.n > 0 ? memrchr(text.bytes, '.', text.n) : NULL;
        size_t n_stem = dot ? (size_t) (dot - text.bytes) + 1 : 0;
        ChangeKey key = { .stem = text };

        key.has_number = dot && number_parse_u32((Span){ dot + 1, text.n - n_stem }, &key.number);
        if (key.has_number)
                key.stem.n = n_stem;
        return key;
}

static bool is_same_change(json_object *a, json_object *b) {
        ChangeKey key_a = key_of(a), key_b = key_of(b);

        return key_a.has_number && key_b.has_number && key_a.stem.n == key_b.stem.n &&
               memcmp(key_a.stem.bytes, key_b.stem.bytes, key_a.stem.n) == 0 &&
               json_object_equal(cell_member(a, "before"), cell_member(b, "before")) &&
               json_object_equal(cell_member(a, "after"), cell_member(b, "after"));
}

static int compare_numbers(const void *a, const void *b) {
        uint32_t left = *(const uint32_t *) a, right = *(const uint32_t *) b;

        return left < right ? -1 : left > right;
}

/* "0-3,7" of @n numbers in any order. */
static int append_numbers(Buffer *line, json_object *changes, size_t first, size_t n) {
        _cleanup_(freep) uint32_t *numbers = calloc(n, sizeof(*numbers));

        if (!numbers)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                numbers[i] = key_of(cell_element(changes, first + i)).number;
        qsort(numbers, n, sizeof(*numbers), compare_numbers);
        for (size_t i = 0, end; i < n; i = end) {
                for (end = i + 1; end < n && numbers[end] == numbers[end - 1] + 1; end++)
                        ;
                buffer_append_format(line, "%s%u", i > 0 ? "," : "", numbers[i]);
                if (end - i > 1)
                        buffer_append_format(line, "-%u", numbers[end - 1]);
        }
        return 0;
}

/* "KEY: FROM → TO" of the @n changes from @first. */
static int append_change(Buffer *line, json_object *changes, size_t first, size_t n) {
        json_object *change = cell_element(changes, first);
        int r;

        if (n == 1) {
                cell_append_text(line, cell_member(change, "key"));
        } else {
                printable_append_name(line, key_of(change).stem);
                r = append_numbers(line, changes, first, n);
                if (r < 0)
                        return r;
        }
        buffer_append_text(line, ": ");
        cell_append_text(line, cell_member(change, "before"));
        buffer_append_text(line, " \u2192 ");
        return cell_append_text(line, cell_member(change, "after"));
}

/* How many changes from @first on are one. */
static size_t count_alike(json_object *changes, size_t first) {
        size_t n = 1;

        while (first + n < cell_length(changes) &&
               is_same_change(cell_element(changes, first), cell_element(changes, first + n)))
                n++;
        return n;
}

static int print_all(const Lines *lines, json_object *changes) {
        _cleanup_(buffer_done) Buffer line = {};
        int r = 0;

        for (size_t i = 0, n; r == 0 && i < cell_length(changes); i += n) {
                n = count_alike(changes, i);
                buffer_clear(&line);
                r = append_change(&line, changes, i, n);
                if (r == 0)
                        r = lines_print_buffer(lines, LABEL, &line);
        }
        return r;
}

/* Cuts the only change of a line that has no room for it whole. */
static void clip(Buffer *line, size_t n_columns) {
        const char *text;

        if (buffer_terminate(line, &text) < 0)
                return;
        buffer_truncate(line, printable_fit(text, n_columns));
        buffer_append_text(line, ELLIPSIS);
}

/*
 * Adds changes to the line while there is room for them and for the number of the others; returns
 * how many there are in all.
 */
static int fill(Buffer *line, json_object *changes, size_t n_columns, size_t *ret_n) {
        static const char more[] = ", " ELLIPSIS " +999";
        _cleanup_(buffer_done) Buffer change = {};
        size_t n_shown = 0, n = 0;
        int r = 0;

        for (size_t i = 0, n_alike; r == 0 && i < cell_length(changes); i += n_alike, n++) {
                bool is_last;

                n_alike = count_alike(changes, i);
                is_last = i + n_alike == cell_length(changes);
                if (n_shown < n)
                        continue; /* the line is full: the others are only counted */
                buffer_clear(&change);
                if (n > 0)
                        buffer_append_text(&change, ", ");
                r = append_change(&change, changes, i, n_alike);
                if (r == 0 && n_columns - printable_span_width(buffer_span(line)) >=
                                      printable_span_width(buffer_span(&change)) +
                                              (is_last ? 0 : sizeof(more) - 1)) {
                        r = buffer_append(line, change.bytes, change.n);
                        n_shown++;
                } else if (r == 0 && n == 0) {
                        r = buffer_append(line, change.bytes, change.n);
                        clip(line, n_columns - sizeof(more));
                        n_shown++;
                }
        }
        *ret_n = n - n_shown;
        return r;
}

int change_lines_print(const Lines *lines, json_object *changes, bool all) {
        _cleanup_(buffer_done) Buffer line = {};
        size_t n_more;
        int r;

        if (all || cell_length(changes) == 0)
                return print_all(lines, changes);
        r = fill(&line, changes, lines_text_columns(lines), &n_more);
        if (r < 0)
                return r;
        if (n_more > 0)
                buffer_append_format(&line, ", " ELLIPSIS " +%zu", n_more);
        return lines_print_buffer(lines, LABEL, &line);
}
