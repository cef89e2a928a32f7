/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/change-lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/printable.h"
#include "report/overview/group-label.h"

#define LABEL "changed"
#define ELLIPSIS "\u2026"
#define MEMORY "memory." /* limits in bytes */
#define NAME_COLUMNS 32  /* of a cgroup or a group, so that what changed has room beside it */

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

/* Returns how many changes from @first on are one. */
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

/* changes of cgroups and groups, as texts */

/* "/db ", "nginx ". */
static int append_name(Buffer *text, json_object *change, size_t n_columns) {
        _cleanup_(buffer_done) Buffer name = {};

        if (cell_member(change, "key"))
                group_label_append(&name, change);
        else
                cell_append_text(&name, cell_member(change, "cgroup"));
        printable_append_end(text, buffer_span(&name), n_columns);
        buffer_append_byte(text, ' ');
        return buffer_failure(&name);
}

/* Both are of one cgroup, or of one group. */
static bool is_same_subject(json_object *a, json_object *b) {
        json_object *key = cell_member(a, "key"), *other = cell_member(b, "key");

        if (key || other)
                return json_object_equal(key, other);
        return json_object_equal(cell_member(a, "cgroup"), cell_member(b, "cgroup"));
}

static int append_setting(Buffer *text, json_object *value, Span what) {
        Quantity quantity;

        if (!cell_quantity(value, &quantity))
                return cell_append_text(text, value);
        if (span_is(what, "cpu.max")) {
                compact_append_cpus(text, json_object_get_double(value));
                return buffer_append_text(text, " CPUs");
        }
        if (what.n > strlen(MEMORY) && memcmp(what.bytes, MEMORY, strlen(MEMORY)) == 0)
                return compact_append_bytes(text, json_object_get_double(value));
        return cell_append_number(text, value, QUANTITY_LADDER_NONE);
}

/* Takes @text. */
static int put_text(json_object *object, const char *key, Buffer *text) {
        json_object *string = NULL;

        if (buffer_failure(text) == 0)
                string = json_object_new_string_len(text->bytes, (int) text->n);
        buffer_done(text);
        return string && json_object_object_add(object, key, string) == 0 ? 0 : -ENOMEM;
}

/* As a change of a host, which is a key and two texts. @n_columns: of the name; 0: without it. */
static int put_change(json_object *object, json_object *change, size_t n_columns) {
        static const char *const sides[] = { "before", "after" };
        json_object *what_text = cell_member(change, "what");
        Span what = cell_string(what_text);
        Buffer key = {};
        int r = 0;

        if (n_columns > 0)
                r = append_name(&key, change, n_columns);
        cell_append_text(&key, what_text);
        if (r < 0)
                buffer_done(&key);
        else
                r = put_text(object, "key", &key);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(sides); i++) {
                Buffer value = {};

                append_setting(&value, cell_member(change, sides[i]), what);
                r = put_text(object, sides[i], &value);
        }
        return r;
}

/* Nobody sets how many huge pages are free: that changes as programs take them. */
static bool is_level(json_object *change) {
        return span_is(cell_string(cell_member(change, "key")), "hugepages_free");
}

/*
 * A list of all changes, owned by the caller. A name has at most @n_columns; @once: it stands only
 * before the first change of a cgroup or a group.
 */
static int collect(json_object *reply, size_t n_columns, bool once, json_object **ret) {
        json_object *changes = cell_member(reply, "changes"),
                    *of_hosts = cell_member(reply, "hostChanges");
        json_object *list = json_object_new_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < cell_length(changes); i++) {
                json_object *object = json_object_new_object(), *change = cell_element(changes, i);
                bool is_named =
                        once && i > 0 && is_same_subject(change, cell_element(changes, i - 1));

                if (!object || json_object_array_add(list, object) != 0) {
                        (void) json_object_put(object);
                        r = -ENOMEM;
                } else {
                        r = put_change(object, change, is_named ? 0 : n_columns);
                }
        }
        for (size_t i = 0; r == 0 && i < cell_length(of_hosts); i++) {
                json_object *change = json_object_get(cell_element(of_hosts, i));

                if (is_level(change)) {
                        (void) json_object_put(change);
                        continue;
                }
                if (json_object_array_add(list, change) != 0) {
                        (void) json_object_put(change);
                        r = -ENOMEM;
                }
        }
        if (r < 0) {
                (void) json_object_put(list);
                return r;
        }
        *ret = list;
        return 0;
}

/* lines */

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

static int print_some(const Lines *lines, json_object *changes) {
        _cleanup_(buffer_done) Buffer line = {};
        size_t n_more;
        int r;

        r = fill(&line, changes, lines_text_columns(lines), &n_more);
        if (r < 0)
                return r;
        if (n_more > 0)
                buffer_append_format(&line, ", " ELLIPSIS " +%zu", n_more);
        return lines_print_buffer(lines, LABEL, &line);
}

int change_lines_print(const Lines *lines, json_object *reply, bool all) {
        bool is_whole = all || lines_text_columns(lines) == SIZE_MAX;
        json_object *changes;
        int r;

        r = collect(reply, is_whole ? SIZE_MAX : NAME_COLUMNS, !all, &changes);
        if (r < 0)
                return r;
        if (all)
                r = print_all(lines, changes);
        else if (cell_length(changes) > 0)
                r = print_some(lines, changes);
        (void) json_object_put(changes);
        return r;
}
