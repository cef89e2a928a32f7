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
#define NAME_COLUMNS 32  /* of a cgroup or a group; the change needs room beside it */

/* A key as "cpufreq_governor." and 17; has_number is false if it does not end in a number. */
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

static int compare_numbers(const void *a, const void *b) {
        uint32_t left = *(const uint32_t *) a, right = *(const uint32_t *) b;

        return left < right ? -1 : left > right;
}

/* Appends "KEY: FROM → TO" of the @n changes from @first, whose numbers are "0-3,7". */
static int append_change(Buffer *line, json_object *changes, size_t first, size_t n) {
        json_object *change = cell_element(changes, first);

        if (n == 1) {
                cell_append_text(line, cell_member(change, "key"));
        } else {
                _cleanup_(freep) uint32_t *numbers = calloc(n, sizeof(*numbers));

                if (!numbers)
                        return -ENOMEM;
                printable_append_name(line, key_of(change).stem);
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
        }
        buffer_append_text(line, ": ");
        cell_append_text(line, cell_member(change, "before"));
        buffer_append_text(line, " \u2192 ");
        return cell_append_text(line, cell_member(change, "after"));
}

/* Returns how many changes from @first on are one. */
static size_t count_alike(json_object *changes, size_t first) {
        size_t n = 1;

        for (; first + n < cell_length(changes); n++) {
                json_object *a = cell_element(changes, first),
                            *b = cell_element(changes, first + n);
                ChangeKey key_a = key_of(a), key_b = key_of(b);

                if (!key_a.has_number || !key_b.has_number || !span_equal(key_a.stem, key_b.stem) ||
                    !json_object_equal(cell_member(a, "before"), cell_member(b, "before")) ||
                    !json_object_equal(cell_member(a, "after"), cell_member(b, "after")))
                        break;
        }
        return n;
}

/* changes of cgroups and groups, as texts */

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

/*
 * Writes a change as one of a host, which is a key and two texts. The name in the key, "/db " or
 * "nginx ", has @n_columns; 0: it has none.
 */
static int put_change(json_object *object, json_object *change, size_t n_columns) {
        static const char *const sides[] = { "before", "after" };
        json_object *what_text = cell_member(change, "what");
        Span what = cell_string(what_text);
        _cleanup_(buffer_done) Buffer name = {};
        Buffer key = {};
        int r;

        if (n_columns > 0) {
                if (cell_member(change, "key"))
                        group_label_append(&name, change);
                else
                        cell_append_text(&name, cell_member(change, "cgroup"));
                printable_append_end(&key, buffer_span(&name), n_columns);
                buffer_append_byte(&key, ' ');
        }
        cell_append_text(&key, what_text);
        r = put_text(object, "key", &key);
        if (r == 0)
                r = buffer_failure(&name);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(sides); i++) {
                Buffer value = {};

                append_setting(&value, cell_member(change, sides[i]), what);
                r = put_text(object, sides[i], &value);
        }
        return r;
}

/*
 * Makes a list of all changes, owned by the caller. A name has at most @n_columns; with @once, it
 * stands only before the first change of a cgroup or a group.
 */
static int collect(json_object *reply, size_t n_columns, bool once, json_object **ret) {
        json_object *changes = cell_member(reply, "changes"),
                    *of_hosts = cell_member(reply, "hostChanges");
        json_object *list = json_object_new_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < cell_length(changes); i++) {
                json_object *object = json_object_new_object(), *change = cell_element(changes, i);
                json_object *previous = i > 0 ? cell_element(changes, i - 1) : NULL;
                json_object *key = cell_member(change, "key"),
                            *previous_key = cell_member(previous, "key");
                const char *subject = key || previous_key ? "key" : "cgroup";
                bool is_named = once && i > 0 &&
                                json_object_equal(cell_member(change, subject),
                                                  cell_member(previous, subject));

                if (!object || json_object_array_add(list, object) != 0) {
                        (void) json_object_put(object);
                        r = -ENOMEM;
                } else {
                        r = put_change(object, change, is_named ? 0 : n_columns);
                }
        }
        for (size_t i = 0; r == 0 && i < cell_length(of_hosts); i++) {
                json_object *change = json_object_get(cell_element(of_hosts, i));

                /* Nobody sets how many huge pages are free: programs take them. */
                if (span_is(cell_string(cell_member(change, "key")), "hugepages_free")) {
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
                const char *text;
                bool is_last;

                n_alike = count_alike(changes, i);
                is_last = i + n_alike == cell_length(changes);
                if (n_shown < n)
                        continue; /* the line is full: the others are only counted */
                buffer_clear(&change);
                if (n > 0)
                        buffer_append_text(&change, ", ");
                r = append_change(&change, changes, i, n_alike);
                if (r == 0 && n_columns - printable_width(buffer_span(line)) >=
                                      printable_width(buffer_span(&change)) +
                                              (is_last ? 0 : sizeof(more) - 1)) {
                        r = buffer_append(line, change.bytes, change.n);
                        n_shown++;
                } else if (r == 0 && n == 0) {
                        /* A line that has no room for one whole change has a part of it. */
                        r = buffer_append(line, change.bytes, change.n);
                        if (buffer_terminate(line, &text) == 0) {
                                buffer_truncate(line,
                                                printable_fit(span_of(text),
                                                              n_columns - sizeof(more), NULL));
                                buffer_append_text(line, ELLIPSIS);
                        }
                        n_shown++;
                }
        }
        *ret_n = n - n_shown;
        return r;
}

int change_lines_print(const Lines *lines, json_object *reply, bool all) {
        bool is_whole = all || lines_text_columns(lines) == SIZE_MAX;
        _cleanup_(buffer_done) Buffer line = {};
        json_object *changes;
        size_t n_more = 0;
        int r;

        r = collect(reply, is_whole ? SIZE_MAX : NAME_COLUMNS, !all, &changes);
        if (r < 0)
                return r;
        for (size_t i = 0, n; all && r == 0 && i < cell_length(changes); i += n) {
                n = count_alike(changes, i);
                buffer_clear(&line);
                r = append_change(&line, changes, i, n);
                if (r == 0)
                        r = lines_print_buffer(lines, LABEL, &line);
        }
        if (!all && cell_length(changes) > 0) {
                r = fill(&line, changes, lines_text_columns(lines), &n_more);
                if (r == 0 && n_more > 0)
                        buffer_append_format(&line, ", " ELLIPSIS " +%zu", n_more);
                if (r == 0)
                        r = lines_print_buffer(lines, LABEL, &line);
        }
        (void) json_object_put(changes);
        return r;
}
