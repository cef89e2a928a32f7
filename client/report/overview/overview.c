/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/overview.h"

#include <string.h>

#include "render/cell.h"
#include "render/printable.h"
#include "render/when.h"
#include "report/overview/host-changes.h"

#define MISSING_LABEL "missing"

static const char *string_of(json_object *object, const char *key) {
        json_object *value = cell_member(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* ", text" or "text" where it is the first; nothing for an unknown. */
static int append_part(Buffer *line, json_object *value) {
        int r;

        if (!value)
                return 0;
        r = line->n > 0 ? buffer_append_text(line, ", ") : 0;
        return r < 0 ? r : cell_append_text(line, value);
}

static int append_count(Buffer *line, json_object *value, const char *one, const char *many) {
        uint64_t count = json_object_get_uint64(value);

        if (!value)
                return 0;
        return buffer_append_format(line, "%s%llu %s", line->n > 0 ? ", " : "",
                                    (unsigned long long) count, count == 1 ? one : many);
}

int head_lines_print(const Lines *lines, const char *label, json_object *head) {
        json_object *start = cell_member(head, "startRealtimeNs");
        _cleanup_(buffer_done) Buffer line = {};
        char when[WHEN_CHARS];
        int r;

        r = append_part(&line, cell_member(head, "name"));
        if (r == 0 && start) {
                when_format(json_object_get_uint64(start), when);
                r = buffer_append_format(&line, "%s%s", line.n > 0 ? ", " : "", when);
        }
        if (r == 0)
                r = append_part(&line, cell_member(head, "hostName"));
        if (r == 0)
                r = append_part(&line, cell_member(head, "kernelRelease"));
        if (r == 0)
                r = append_count(&line, cell_member(head, "threads"), "thread", "threads");
        if (r == 0)
                r = append_count(&line, cell_member(head, "processes"), "process", "processes");
        return r < 0 ? r : lines_print_buffer(lines, label, &line);
}

static bool is_imperfect(json_object *source) {
        const char *state = string_of(source, "state");

        return strcmp(string_of(source, "name"), "jemalloc") != 0 &&
               (strcmp(state, "partial") == 0 || strcmp(state, "unavailable") == 0);
}

/* "smaps_rollup (before) partial: REASON" */
static int print_source(const Lines *lines, json_object *source, const char *side) {
        _cleanup_(buffer_done) Buffer line = {};
        json_object *reason = cell_member(source, "reason");
        int r;

        r = cell_append_text(&line, cell_member(source, "name"));
        if (r == 0)
                r = buffer_append_format(&line, "%s%s%s ", side[0] != '\0' ? " " : "", side,
                                         side[0] != '\0' ? "," : "");
        if (r == 0)
                r = cell_append_text(&line, cell_member(source, "state"));
        if (r == 0 && reason) {
                r = buffer_append_text(&line, ": ");
                if (r == 0)
                        r = cell_append_text(&line, reason);
        }
        return r < 0 ? r : lines_print_buffer(lines, MISSING_LABEL, &line);
}

/* Alike for people: state and reason; counts always differ. */
static bool is_alike(json_object *a, json_object *b) {
        return a && b && strcmp(string_of(a, "state"), string_of(b, "state")) == 0 &&
               strcmp(string_of(a, "reason"), string_of(b, "reason")) == 0;
}

/*
 * A file of the prior tool says nothing about any source: that is one thing to say, not eighteen.
 */
static bool is_uniform(json_object *sources) {
        json_object *first = cell_element(sources, 0);

        for (size_t i = 0; i < cell_length(sources); i++) {
                json_object *source = cell_element(sources, i);

                if (strcmp(string_of(source, "name"), "jemalloc") != 0 &&
                    (!is_imperfect(source) || !is_alike(source, first)))
                        return false;
        }
        return cell_length(sources) > 1;
}

static int print_uniform(const Lines *lines, json_object *sources, const char *side) {
        json_object *first = cell_element(sources, 0);
        _cleanup_(buffer_done) Buffer line = {};
        int r;

        r = buffer_append_format(&line, "every source%s%s: ", side[0] != '\0' ? " " : "", side);
        if (r == 0)
                r = cell_append_text(&line, cell_member(first, "reason"));
        return r < 0 ? r : lines_print_buffer(lines, MISSING_LABEL, &line);
}

int source_lines_print(const Lines *lines, json_object *sources) {
        int r = 0;

        if (is_uniform(sources))
                return print_uniform(lines, sources, "");
        for (size_t i = 0; r == 0 && i < cell_length(sources); i++) {
                json_object *source = cell_element(sources, i);

                if (is_imperfect(source))
                        r = print_source(lines, source, "");
        }
        return r;
}

static json_object *find_source(json_object *sources, const char *name) {
        size_t n = cell_length(sources);

        for (size_t i = 0; i < n; i++) {
                json_object *source = cell_element(sources, i);

                if (strcmp(string_of(source, "name"), name) == 0)
                        return source;
        }
        return NULL;
}

static int print_pair(const Lines *lines, json_object *before, json_object *after) {
        int r = 0;

        if (is_alike(before, after))
                return is_imperfect(before) ? print_source(lines, before, "(before and after)") : 0;
        if (is_imperfect(before))
                r = print_source(lines, before, "(before)");
        if (r == 0 && is_imperfect(after))
                r = print_source(lines, after, "(after)");
        return r;
}

int source_lines_print_pair(const Lines *lines, json_object *before, json_object *after) {
        bool no_before = is_uniform(before), no_after = is_uniform(after);
        int r = 0;

        if (no_before)
                r = print_uniform(lines, before, "(before)");
        if (r == 0 && no_after)
                r = print_uniform(lines, after, "(after)");
        /* The list is closed: either side has all of it. */
        for (size_t i = 0; r == 0 && i < cell_length(after); i++) {
                json_object *source = cell_element(after, i);

                r = print_pair(lines,
                               no_before ? NULL : find_source(before, string_of(source, "name")),
                               no_after ? NULL : source);
        }
        return r;
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
        int64_t span_ns = json_object_get_int64(elapsed);
        uint64_t magnitude_ns = span_ns < 0 ? 0 - (uint64_t) span_ns : (uint64_t) span_ns;
        char span[WHEN_CHARS];

        if (!elapsed) {
                lines_format(
                        lines, "elapsed", "unknown (%s): no rates",
                        why_no_time(cell_member(reply, "before"), cell_member(reply, "after")));
                return;
        }
        when_format_span(magnitude_ns, span);
        lines_format(lines, "elapsed", "%s%s", span_ns < 0 ? "-" : "", span);
}

static unsigned long long count_of(json_object *object, const char *key) {
        return json_object_get_uint64(cell_member(object, key));
}

/* What the sums of a window are made of, and what cannot be in them. */
static void print_window(const Lines *lines, json_object *window) {
        unsigned long long survived = count_of(window, "survived");
        unsigned long long born = count_of(window, "born"), gone = count_of(window, "gone");

        if (!window)
                return;
        lines_format(lines, "window", "%llu thread%s lived on, %llu %s born, %llu %s gone",
                     survived, survived == 1 ? "" : "s", born, born == 1 ? "was" : "were", gone,
                     gone == 1 ? "is" : "are");
        lines_format(lines, "",
                     "not included: threads that were born and gone in between, and what those "
                     "that are gone did after BEFORE");
}

int change_lines_print(const Lines *lines, json_object *reply) {
        print_elapsed(lines, reply);
        print_window(lines, cell_member(reply, "window"));
        return host_changes_print(lines, cell_member(reply, "hostChanges"));
}
