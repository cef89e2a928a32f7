/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/limited-lines.h"

#include "render/cell.h"
#include "render/compact.h"

#define MAX_LINES 3

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

/* What happened to @cgroup in the entries from @first to @end; "" is the host. */
static int print_line(const Lines *lines, const char *label, json_object *limited, size_t first,
                      size_t end, size_t n_more) {
        json_object *cgroup = cgroup_of(limited, first);
        _cleanup_(buffer_done) Buffer line = {};
        const char *joint = ": ";

        if (cell_string(cgroup).n > 0)
                cell_append_text(&line, cgroup);
        else
                buffer_append_text(&line, "the host");
        for (size_t i = first; i < end; i++) {
                json_object *entry = cell_element(limited, i);

                if (!json_object_equal(cgroup_of(limited, i), cgroup))
                        continue;
                buffer_append_text(&line, joint);
                joint = ", ";
                if (span_is(cell_string(cell_member(entry, "what")), "cpu.max"))
                        append_throttled(&line, entry);
                else
                        append_event(&line, entry);
        }
        if (n_more > 0)
                buffer_append_format(&line, "; and %zu more (--verbose)", n_more);
        return lines_print_buffer(lines, label, &line);
}

static bool is_among(json_object *limited, const size_t firsts[], size_t n_firsts, size_t index) {
        for (size_t i = 0; i < n_firsts; i++)
                if (json_object_equal(cgroup_of(limited, firsts[i]), cgroup_of(limited, index)))
                        return true;
        return false;
}

/* A line for each of the first cgroups; what is said of others is counted. */
static int print_heaviest(const Lines *lines, const char *label, json_object *limited) {
        size_t n = cell_length(limited), firsts[MAX_LINES], n_firsts = 0, n_more = 0;
        int r = 0;

        for (size_t i = 0; i < n; i++) {
                if (is_among(limited, firsts, n_firsts, i))
                        continue;
                if (n_firsts < MAX_LINES)
                        firsts[n_firsts++] = i;
                else
                        n_more++;
        }
        for (size_t i = 0; r == 0 && i < n_firsts; i++)
                r = print_line(lines, label, limited, firsts[i], n, i + 1 == n_firsts ? n_more : 0);
        return r;
}

int limited_lines_print(const Lines *lines, const char *label, json_object *limited, bool all) {
        size_t n = cell_length(limited);
        int r = 0;

        if (!all)
                return print_heaviest(lines, label, limited);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = print_line(lines, label, limited, i, i + 1, 0);
        return r;
}
