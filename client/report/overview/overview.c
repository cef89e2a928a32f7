/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/printable.h"
#include "render/when.h"
#include "report/overview/missing.h"
#include "report/overview/set-overview.h"

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
                        if (!is_same_change(first, cell_element(changes, end)))
                                break;
                r = print_change(lines, changes, i, end - i);
        }
        return r;
}

static const char *string_of(json_object *object, const char *key) {
        json_object *value = cell_member(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* The parts of a line are separated by commas; an unknown one is left out. */
static void append_part(Buffer *line, json_object *value) {
        if (!value)
                return;
        if (line->n > 0)
                buffer_append_text(line, ", ");
        cell_append_text(line, value);
}

static void append_count(Buffer *line, json_object *value, const char *one, const char *many) {
        uint64_t count = json_object_get_uint64(value);

        if (value)
                buffer_append_format(line, "%s%llu %s", line->n > 0 ? ", " : "",
                                     (unsigned long long) count, count == 1 ? one : many);
}

static int print_head(const Lines *lines, const char *label, json_object *head) {
        json_object *start = cell_member(head, "startRealtimeNs");
        _cleanup_(buffer_done) Buffer line = {};
        char when[WHEN_CHARS];

        append_part(&line, cell_member(head, "name"));
        if (start) {
                when_format(json_object_get_uint64(start), when);
                buffer_append_format(&line, "%s%s", line.n > 0 ? ", " : "", when);
        }
        append_part(&line, cell_member(head, "hostName"));
        append_part(&line, cell_member(head, "kernelRelease"));
        append_count(&line, cell_member(head, "threads"), "thread", "threads");
        append_count(&line, cell_member(head, "processes"), "process", "processes");
        return lines_print_buffer(lines, label, &line);
}

static const char *why_no_time(json_object *before, json_object *after) {
        static const char *const host_keys[] = { "machineId", "hostName" };

        for (size_t i = 0; i < ELEMENTSOF(host_keys); i++) {
                const char *a = string_of(before, host_keys[i]),
                           *b = string_of(after, host_keys[i]);

                if (a[0] != '\0' && b[0] != '\0' && strcmp(a, b) != 0)
                        return "different hosts";
        }
        if (!cell_member(before, "bootId") || !cell_member(after, "bootId"))
                return "a file without boot id";
        return "different boots";
}

static void print_elapsed(const Lines *lines, json_object *reply) {
        json_object *elapsed = cell_member(reply, "elapsedNs");
        char span[WHEN_CHARS];

        if (!elapsed) {
                lines_format(
                        lines, "elapsed", "unknown (%s): no rates",
                        why_no_time(cell_member(reply, "before"), cell_member(reply, "after")));
                return;
        }
        when_format_span(json_object_get_uint64(elapsed), span);
        lines_format(lines, "elapsed", "%s", span);
}

static unsigned long long count_of(json_object *object, const char *key) {
        return json_object_get_uint64(cell_member(object, key));
}

static void print_lives(const Lines *lines, json_object *lives) {
        unsigned long long survived = count_of(lives, "survived");
        unsigned long long born = count_of(lives, "born"), ended = count_of(lives, "ended");

        if (!lives)
                return;
        lines_format(lines, "lives", "%llu thread%s lived on, %llu %s born, %llu ended", survived,
                     survived == 1 ? "" : "s", born, born == 1 ? "was" : "were", ended);
        lines_format(lines, "",
                     "not included: threads that were born and ended in between, and the work that "
                     "ended threads did after BEFORE");
}

static int print_snapshot(const Lines *lines, json_object *reply, bool verbose) {
        int r;

        r = print_head(lines, "snapshot", cell_member(reply, "snapshot"));
        return r < 0 ? r : missing_print_reply(lines, reply, verbose);
}

static int print_pair(const Lines *lines, json_object *reply, bool verbose) {
        int r;

        r = print_head(lines, "before", cell_member(reply, "before"));
        if (r < 0)
                return r;
        r = print_head(lines, "after", cell_member(reply, "after"));
        if (r < 0)
                return r;
        print_elapsed(lines, reply);
        print_lives(lines, cell_member(reply, "lives"));
        r = host_changes_print(lines, cell_member(reply, "hostChanges"));
        return r < 0 ? r : missing_print_reply(lines, reply, verbose);
}

static int print_sets(const Lines *lines, json_object *reply, bool verbose) {
        int r;

        r = set_line_print(lines, "before", cell_member(reply, "before"));
        if (r < 0)
                return r;
        r = set_line_print(lines, "after", cell_member(reply, "after"));
        if (r < 0)
                return r;
        r = missing_print_reply(lines, reply, verbose);
        if (r < 0)
                return r;
        set_tests_print(lines, reply);
        return 0;
}

ReportKind report_kind_of(json_object *reply, ReportKind asked) {
        static const char *const names[_REPORT_KIND_MAX] = {
                [REPORT_SNAPSHOT] = "state",      [REPORT_PAIR] = "totals",
                [REPORT_SETS] = "sets",           [REPORT_INTERVAL] = "interval",
                [REPORT_INTERVALS] = "intervals",
        };
        Span name = cell_string(cell_member(reply, "kind"));

        for (unsigned kind = 0; kind < _REPORT_KIND_MAX; kind++)
                if (span_is(name, names[kind]))
                        return (ReportKind) kind;
        return asked;
}

int overview_print(const Lines *lines, ReportKind kind, json_object *reply, bool verbose) {
        switch (kind) {
        case REPORT_SNAPSHOT:
                return print_snapshot(lines, reply, verbose);
        case REPORT_PAIR:
        case REPORT_INTERVAL:
        case REPORT_INTERVALS:
                return print_pair(lines, reply, verbose);
        case REPORT_SETS:
                return print_sets(lines, reply, verbose);
        case _REPORT_KIND_MAX:
                break;
        }
        return 0;
}
