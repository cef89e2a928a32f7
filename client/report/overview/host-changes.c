/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/host-changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/printable.h"

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

static bool is_alike(json_object *a, json_object *b) {
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

/* Prints one line for the @n changes from @first. */
static int print_change(const Lines *lines, json_object *changes, size_t first, size_t n) {
        json_object *change = cell_element(changes, first);
        _cleanup_(buffer_done) Buffer line = {};
        int r;

        if (n == 1) {
                cell_append_text(&line, cell_member(change, "key"));
        } else {
                printable_append_name(&line, key_of(change).stem);
                r = append_numbers(&line, changes, first, n);
                if (r < 0)
                        return r;
        }
        buffer_append_text(&line, ": ");
        cell_append_text(&line, cell_member(change, "before"));
        buffer_append_text(&line, " \u2192 ");
        cell_append_text(&line, cell_member(change, "after"));
        return lines_print_buffer(lines, "changed", &line);
}

int host_changes_print(const Lines *lines, json_object *changes) {
        size_t n = cell_length(changes);
        int r = 0;

        for (size_t i = 0, end; r == 0 && i < n; i = end) {
                json_object *first = cell_element(changes, i);

                for (end = i + 1; end < n; end++)
                        if (!is_alike(first, cell_element(changes, end)))
                                break;
                r = print_change(lines, changes, i, end - i);
        }
        return r;
}
