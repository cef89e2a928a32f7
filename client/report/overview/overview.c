/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/overview.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/printable.h"
#include "render/when.h"
#include "report/overview/change-lines.h"
#include "report/overview/group-label.h"
#include "report/overview/host-lines.h"
#include "report/overview/missing.h"
#include "session/snapshot-call.h"

#define LIMITED_LINES 2 /* of all intervals together */
#define BUT_SENTENCES 2 /* likewise, or one if there is little room */
#define BUT_LINES 2     /* of each sentence on a terminal */
#define WAITS_LINES 2
#define PIPED_LINES 3 /* of limits, in a pipe */
#define MAX_LISTED 4  /* hosts, kernels */
#define LABEL_CHARS 16

/* Appends a text, or how many there are, behind a comma; what is unknown is left out. */
static void append_part(Buffer *line, json_object *value, const char *one, const char *many) {
        uint64_t count = json_object_get_uint64(value);

        if (!value)
                return;
        if (line->n > 0)
                buffer_append_text(line, ", ");
        if (one)
                buffer_append_format(line, "%llu %s", (unsigned long long) count,
                                     count == 1 ? one : many);
        else
                cell_append_text(line, value);
}

static int print_head(const Lines *lines, const char *label, json_object *head) {
        json_object *start = cell_member(head, "startRealtimeNs");
        _cleanup_(buffer_done) Buffer line = {};
        char when[WHEN_CHARS];

        append_part(&line, cell_member(head, "name"), NULL, NULL);
        if (start) {
                when_format(json_object_get_uint64(start), WHEN_FULL, when);
                buffer_append_format(&line, "%s%s", line.n > 0 ? ", " : "", when);
        }
        append_part(&line, cell_member(head, "hostName"), NULL, NULL);
        append_part(&line, cell_member(head, "kernelRelease"), NULL, NULL);
        append_part(&line, cell_member(head, "threads"), "thread", "threads");
        append_part(&line, cell_member(head, "processes"), "process", "processes");
        return lines_print_buffer(lines, label, &line);
}

/* Warns the reader, who might take a difference of totals for the work in between. */
static void print_totals_line(const Lines *lines, json_object *reply) {
        static const char *const host_keys[] = { "machineId", "hostName" };
        json_object *before = cell_member(reply, "before"), *after = cell_member(reply, "after");
        json_object *elapsed = cell_member(reply, "elapsedNs");
        const char *why = "the snapshots are of different boots";
        char span[WHEN_CHARS];

        if (elapsed) {
                when_format_span(json_object_get_uint64(elapsed), WHEN_EXACT, span);
                lines_format(lines, "totals",
                             "of whole lives, which differ in length; captured %s apart", span);
                return;
        }
        if (!cell_member(before, "bootId") || !cell_member(after, "bootId"))
                why = "one of the snapshots has no boot id";
        for (size_t i = 0; i < ELEMENTSOF(host_keys); i++) {
                Span a = cell_string(cell_member(before, host_keys[i])),
                     b = cell_string(cell_member(after, host_keys[i]));

                if (a.n > 0 && b.n > 0 && !span_equal(a, b))
                        why = "the snapshots are of different hosts: levels, peaks and limits "
                              "compare, and work by two intervals (A..B C..D)";
        }
        lines_format(lines, "totals", "of whole lives, which differ in length; %s", why);
}

/* sets */

static bool is_first_of_its_kind(json_object *heads, size_t index, const char *key) {
        json_object *value = cell_member(cell_element(heads, index), key);

        for (size_t i = 0; i < index; i++)
                if (json_object_equal(cell_member(cell_element(heads, i), key), value))
                        return false;
        return value;
}

static size_t count_distinct(json_object *heads, const char *key) {
        size_t n = 0;

        for (size_t i = 0; i < cell_length(heads); i++)
                n += is_first_of_its_kind(heads, i, key);
        return n;
}

/* Appends ", VALUE", or ", 2 kernels (VALUE, VALUE)" if the snapshots differ in it. */
static void append_distinct(Buffer *line, json_object *heads, const char *key, const char *kinds) {
        size_t n = count_distinct(heads, key), n_listed = 0;

        if (n > 1)
                buffer_append_format(line, ", %zu %s (", n, kinds);
        for (size_t i = 0; i < cell_length(heads) && n_listed < MAX_LISTED; i++) {
                if (!is_first_of_its_kind(heads, i, key))
                        continue;
                if (n == 1 || n_listed > 0)
                        buffer_append_text(line, ", ");
                cell_append_text(line, cell_member(cell_element(heads, i), key));
                n_listed++;
        }
        if (n > MAX_LISTED)
                buffer_append_text(line, ", ...");
        if (n > 1)
                buffer_append_byte(line, ')');
}

/* Prints "9 captures, base-1 to base-9, 2026-11-21 07:00:01 over 2min 9s, HOST, KERNEL". */
static int print_set(const Lines *lines, const char *label, json_object *heads) {
        _cleanup_(buffer_done) Buffer line = {};
        size_t n = cell_length(heads), n_boots = count_distinct(heads, "bootId");
        json_object *first = cell_element(heads, 0);
        json_object *last = n > 0 ? cell_element(heads, n - 1) : NULL;
        json_object *from = cell_member(first, "startRealtimeNs"),
                    *to = cell_member(last, "startRealtimeNs");
        uint64_t from_ns = json_object_get_uint64(from), to_ns = json_object_get_uint64(to);
        char when[WHEN_CHARS], span[WHEN_CHARS];

        buffer_append_format(&line, "%zu capture%s, ", n, n == 1 ? "" : "s");
        cell_append_text(&line, cell_member(first, "name"));
        if (n > 1) {
                buffer_append_text(&line, " to ");
                cell_append_text(&line, cell_member(last, "name"));
        }
        if (from && to) {
                when_format(from_ns, WHEN_FULL, when);
                buffer_append_format(&line, ", %s", when);
        }
        if (from && to && first != last) {
                when_format_span(to_ns > from_ns ? to_ns - from_ns : 0, WHEN_EXACT, span);
                buffer_append_format(&line, " over %s", span);
        }
        append_distinct(&line, heads, "hostName", "hosts");
        append_distinct(&line, heads, "kernelRelease", "kernels");
        if (n_boots > 1)
                buffer_append_format(&line, ", %zu boots", n_boots);
        return lines_print_buffer(lines, label, &line);
}

bool set_reply_is_untested(json_object *reply) {
        double tested = json_object_get_double(cell_member(reply, "tested"));
        double least_p = json_object_get_double(cell_member(reply, "leastP"));
        double alpha = json_object_get_double(cell_member(reply, "alpha"));

        return cell_u64(reply, "significant") == 0 && (!(tested > 0) || tested * least_p >= alpha);
}

/* Says what came of the tests, and how many captures it would take if nothing could. */
static void print_tests(const Lines *lines, json_object *reply) {
        unsigned long long n_tested = cell_u64(reply, "tested");
        unsigned long long n_significant = cell_u64(reply, "significant");
        unsigned long long n_needed = cell_u64(reply, "samplesNeeded");

        if (n_tested == 0)
                lines_format(lines, "tested",
                             "nothing: it takes two samples a side that are not all equal, and for "
                             "rates three captures of one boot");
        else
                lines_format(lines, "tested",
                             "%llu row%s, adjusted for as many: %llu %s an adjusted p below %g",
                             n_tested, n_tested == 1 ? "" : "s", n_significant,
                             n_significant == 1 ? "has" : "have",
                             json_object_get_double(cell_member(reply, "alpha")));
        if (n_needed > 0 && n_significant == 0)
                lines_format(lines, "",
                             "%s: for one row alone to be significant it takes %llu a side, for "
                             "rates %llu captures; or fewer rows (--filter, --metrics)",
                             set_reply_is_untested(reply)
                                     ? "with so few samples no test could succeed"
                                     : "some rows have too few samples",
                             n_needed, n_needed + 1);
}

/* limits: entries of one cgroup after the other, in the order of the first of each */

/* Appends "CPU throttled 3.20s in 80 periods", "memory.max reached 1.2K times". */
static void append_entry(Buffer *line, json_object *entry) {
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
        double n = json_object_get_double(cell_member(entry, "count"));

        if (span_is(what, "cpu.max")) {
                buffer_append_text(line, "CPU throttled ");
                compact_append_span(line, json_object_get_double(cell_member(entry, "ns")));
                if (n > 0) {
                        buffer_append_text(line, " in ");
                        compact_append_count(line, n);
                        buffer_append_text(line, n > 1 ? " periods" : " period");
                }
                return;
        }
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

static void append_cgroup(Buffer *line, json_object *cgroup, size_t n_columns) {
        _cleanup_(buffer_done) Buffer name = {};

        if (cell_string(cgroup).n > 0)
                cell_append_text(&name, cgroup);
        else
                buffer_append_text(&name, "the host");
        printable_append_end(line, buffer_span(&name), n_columns);
}

/* Entries of limits, those of one cgroup after the other. */
typedef struct Order {
        json_object **entries; /* owned, but not each */
        size_t n;
} Order;

static bool begins_cgroup(const Order *order, size_t i) {
        return i == 0 || !json_object_equal(cell_member(order->entries[i], "cgroup"),
                                            cell_member(order->entries[i - 1], "cgroup"));
}

/* Appends "CGROUP: this, that; CGROUP: this; 3 more (--verbose)" of entries from @first to @end. */
static void append_entries(Buffer *line, const Order *order, size_t first, size_t end,
                           size_t n_more, size_t name_columns) {
        for (size_t i = first; i < end; i++) {
                if (i > first)
                        buffer_append_text(line, begins_cgroup(order, i) ? "; " : ", ");
                if (i == first || begins_cgroup(order, i)) {
                        append_cgroup(line, cell_member(order->entries[i], "cgroup"), name_columns);
                        buffer_append_text(line, ": ");
                }
                append_entry(line, order->entries[i]);
        }
        if (n_more > 0)
                buffer_append_format(line, "; %zu more (--verbose)", n_more);
}

/*
 * Prints one text of as many entries as the lines of a terminal have room for, be it with shorter
 * names.
 */
static int print_fitting_limits(const Lines *lines, const char *label, const Order *order) {
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

/* Prints a line for each of the first cgroups, as a pipe has them. */
static int print_first_cgroups(const Lines *lines, const char *label, const Order *order) {
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

/* Prints as many entries as @max_lines have room for; 0: all, each in a line of its own. */
static int print_limited(const Lines *lines, const char *label, json_object *limited,
                         size_t max_lines) {
        size_t n = cell_length(limited);
        Lines few = *lines;
        Order order = {};
        int r = 0;

        for (size_t i = 0; r == 0 && max_lines == 0 && i < n; i++) {
                json_object *entry = cell_element(limited, i);
                _cleanup_(buffer_done) Buffer line = {};

                append_cgroup(&line, cell_member(entry, "cgroup"), SIZE_MAX);
                buffer_append_text(&line, ": ");
                append_entry(&line, entry);
                r = lines_print_buffer(lines, label, &line);
        }
        if (max_lines == 0 || n == 0)
                return r;
        order.entries = calloc(n, sizeof(json_object *));
        if (!order.entries)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *cgroup = cell_member(cell_element(limited, i), "cgroup");
                bool is_there = false;

                for (size_t k = 0; k < order.n; k++)
                        is_there =
                                is_there ||
                                json_object_equal(cell_member(order.entries[k], "cgroup"), cgroup);
                for (size_t k = i; !is_there && k < n; k++) {
                        json_object *entry = cell_element(limited, k);

                        if (json_object_equal(cell_member(entry, "cgroup"), cgroup))
                                order.entries[order.n++] = entry;
                }
        }
        few.max_lines = max_lines;
        r = lines_text_columns(lines) < SIZE_MAX ? print_fitting_limits(&few, label, &order)
                                                 : print_first_cgroups(lines, label, &order);
        free(order.entries);
        return r;
}

/* intervals */

/*
 * Prints "BEFORE..AFTER: 10.250s from 2026-11-21 10:00:00, HOST, KERNEL, 35 threads: 31 lived on,
 * …", or the same with the name of a recording. @interval has before, after, elapsedNs and lives;
 * @other is a head whose host and kernel are known already, or NULL.
 */
static int print_interval_line(const Lines *lines, const char *label, json_object *interval,
                               json_object *coverage, json_object *other) {
        static const char *const places[] = { "hostName", "kernelRelease" };
        static const struct {
                const char *key, *text;
        } counts[] = {
                { "survived", "lived on" },
                { "born", "born" },
                { "ended", "ended" },
                { "bornAndEnded", "born and ended" },
        };
        json_object *lives = cell_member(interval, "lives");
        json_object *before = cell_member(interval, "before"),
                    *after = cell_member(interval, "after");
        json_object *start = cell_member(before, "startRealtimeNs");
        json_object *elapsed = cell_member(interval, "elapsedNs");
        _cleanup_(buffer_done) Buffer line = {};
        char when[WHEN_CHARS], span[WHEN_CHARS];
        const char *joint = ": ";
        /* The ends of a recording have no names of their own. */
        json_object *const heads[] = { cell_member(interval, "snapshot"), before, after };
        json_object *recording = NULL;

        for (size_t i = 0; !recording && i < ELEMENTSOF(heads); i++)
                if (head_is_of_recording(heads[i]))
                        recording = heads[i];
        if (recording) {
                cell_append_text(&line, cell_member(recording, "name"));
                label = strcmp(label, "interval") == 0 ? "recording" : label;
        } else {
                cell_append_text(&line, cell_member(before, "name"));
                buffer_append_text(&line, "..");
                cell_append_text(&line, cell_member(after, "name"));
        }
        if (elapsed && start) {
                when_format_span(json_object_get_uint64(elapsed), WHEN_EXACT, span);
                when_format(json_object_get_uint64(start), WHEN_FULL, when);
                buffer_append_format(&line, ": %s from %s", span, when);
        }
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                json_object *value = cell_member(before, places[i]);

                if (!other || !json_object_equal(value, cell_member(other, places[i])))
                        append_part(&line, value, NULL, NULL);
        }
        append_part(&line, cell_member(after, "threads"), "thread", "threads");
        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                uint64_t n = cell_u64(lives, counts[i].key);

                if (n == 0)
                        continue;
                buffer_append_format(&line, "%s%llu %s", joint, (unsigned long long) n,
                                     counts[i].text);
                joint = ", ";
                /* Only the coverage, where there is one, tells what those that ended did. */
                if (i == 2 && !cell_member(coverage, "endedNs") &&
                    !cell_member(coverage, "cpuUsedNs"))
                        buffer_append_text(&line, " unseen");
        }
        return lines_print_buffer(lines, label, &line);
}

/*
 * Prints what contradicts itself, at most *left sentences. One about which @later, those of the
 * later of two intervals, has a sentence, too, is left to that.
 */
static int print_but(const Lines *lines, const char *label, json_object *but, json_object *later,
                     size_t *left) {
        Lines few = *lines;
        int r = 0;

        if (few.max_lines == 0 || few.max_lines > BUT_LINES)
                few.max_lines = BUT_LINES;
        for (size_t i = 0; r == 0 && i < cell_length(but) && *left > 0; i++) {
                json_object *sentence = cell_element(but, i);
                _cleanup_(buffer_done) Buffer line = {};
                bool is_said = false;

                for (size_t k = 0; k < cell_length(later); k++) {
                        json_object *other = cell_element(later, k);

                        is_said = is_said || (json_object_equal(cell_member(other, "what"),
                                                                cell_member(sentence, "what")) &&
                                              json_object_equal(cell_member(other, "resource"),
                                                                cell_member(sentence, "resource")));
                }
                if (is_said)
                        continue;
                cell_append_text(&line, cell_member(sentence, "text"));
                r = lines_print_buffer(*left == SIZE_MAX ? lines : &few, label, &line);
                *left -= *left < SIZE_MAX;
        }
        return r;
}

/* Appends "lock 0.1 \u2192 6.8 of 8 threads", in seconds of each second. */
static void append_shift(Buffer *line, json_object *shift, const HostSide sides[static 2]) {
        static const char *const keys[] = { "aNs", "bNs" };
        uint64_t threads = cell_u64(shift, "threads");
        double most = 0;

        group_label_append(line, shift);
        buffer_append_text(line, ": ");
        cell_append_text(line, cell_member(shift, "reason"));
        for (size_t i = 0; i < 2; i++) {
                double ns = json_object_get_double(cell_member(shift, keys[i]));
                double amount = sides[i].elapsed_ns > 0 ? ns / sides[i].elapsed_ns : 0;

                buffer_append_text(line, i > 0 ? " \u2192 " : " ");
                compact_append_threads(line, amount);
                most = MAX_OF(most, amount);
        }
        if (threads > 1 && most >= 0.5)
                buffer_append_format(line, " of %llu threads", (unsigned long long) threads);
}

/* Prints as many groups as fit whose threads wait for something else in the second interval. */
static int print_waits(const Lines *lines, json_object *reply, const HostSide sides[static 2],
                       bool verbose) {
        Lines few = *lines;
        json_object *shifts = cell_member(reply, "waits");
        _cleanup_(buffer_done) Buffer line = {};
        size_t n = cell_length(shifts), fits = 0;

        few.max_lines = WAITS_LINES;
        for (size_t i = 0; i < n; i++) {
                const char *text;
                int r;

                if (i > 0)
                        buffer_append_text(&line, "; ");
                append_shift(&line, cell_element(shifts, i), sides);
                r = buffer_terminate(&line, &text);
                if (r < 0)
                        return r;
                if (!verbose && i > 0 && lines_cut(&few, text))
                        break;
                fits = line.n;
        }
        line.n = fits;
        return n > 0 ? lines_print_buffer(verbose ? lines : &few, "waits", &line) : 0;
}

/* A column has these lines; where there are two columns, their labels end in its letter. */
enum { LINE_ENDED, LINE_LIMITED, LINE_BUT, _LINE_MAX };

static int print_columns(const Lines *lines, const ReportSetting *setting, json_object *reply,
                         bool verbose) {
        static const char *const members[] = { "host", "coverage", "limited", "but" };
        static const char *const words[_LINE_MAX] = { "ended", "limited", "but" };
        size_t n = setting->n_columns, n_limited = 0;
        bool has_room = lines->max_lines == 0 || lines->max_lines > BUT_LINES;
        size_t n_sentences = verbose ? SIZE_MAX : has_room ? BUT_SENTENCES : 1;
        json_object *lives[2] = {}, *limited[2] = {}, *but[3] = {};
        json_object *known = NULL; /* the head that the line of the first column told of */
        char labels[2][_LINE_MAX][LABEL_CHARS];
        HostSide sides[2] = {};
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *interval = n == 1 ? reply : cell_member(reply, setting->sides[i]);
                uint64_t elapsed_ns = cell_u64(interval, "elapsedNs");
                json_object *values[ELEMENTSOF(members)];

                for (size_t k = 0; k < ELEMENTSOF(members); k++) {
                        values[k] = cell_member(reply, members[k]);
                        if (n > 1)
                                values[k] = cell_member(values[k], setting->sides[i]);
                }
                sides[i] = (HostSide){ .host = values[0],
                                       .coverage = values[1],
                                       .elapsed_ns = elapsed_ns > 0 ? (double) elapsed_ns : NAN };
                limited[i] = values[2];
                but[i] = values[3];
                lives[i] = cell_member(interval, "lives");
                for (size_t k = 0; k < _LINE_MAX; k++)
                        (void) snprintf(labels[i][k], LABEL_CHARS, "%s%s%s", words[k],
                                        n > 1 ? " " : "", n > 1 ? setting->words[i] : "");
                n_limited += cell_length(limited[i]) > 0;
                r = print_interval_line(lines, n > 1 ? setting->words[i] : "interval", interval,
                                        values[1], known);
                known = cell_member(interval, "before");
        }
        if (r == 0)
                r = host_lines_print(lines, sides, n);
        /*
         * The work of threads that ended may be in no group: it is said why where that may have
         * been much, and where nobody knows how much it was although threads ended.
         */
        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *coverage = sides[i].coverage;
                uint64_t n_ended = cell_u64(lives[i], "ended");
                bool measured =
                        cell_member(coverage, "cpuUsedNs") && cell_member(coverage, "attributedNs");
                json_object *by_name = cell_member(lives[i], "endedReason");
                json_object *reason = by_name ? by_name : cell_member(coverage, "endedReason");
                _cleanup_(buffer_done) Buffer line = {};

                if (!reason || (!verbose && !by_name &&
                                (measured ? host_lines_coverage(coverage) >= HOST_FULL_COVERAGE
                                          : n_ended == 0)))
                        continue;
                buffer_append_text(&line, "the work of threads that ended ");
                if (n_ended > 0)
                        buffer_append_format(&line, "(%llu vanished) ",
                                             (unsigned long long) n_ended);
                buffer_append_text(&line, by_name ? "is in no group: " : "is not included: ");
                cell_append_text(&line, reason);
                r = lines_print_buffer(lines, labels[i][LINE_ENDED], &line);
        }
        /* Threads may have lost their names; groups of shortened names have their work. */
        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *reason = cell_member(lives[i], "foldedReason");
                _cleanup_(buffer_done) Buffer line = {};

                if (!reason)
                        continue;
                cell_append_text(&line, reason);
                r = lines_print_buffer(lines, labels[i][LINE_ENDED], &line);
        }
        for (size_t i = 0; r == 0 && i < n; i++)
                r = print_limited(lines, labels[i][LINE_LIMITED], limited[i],
                                  verbose ? 0 : LIMITED_LINES / MAX_OF(n_limited, (size_t) 1));
        if (r == 0 && n == 2)
                r = print_waits(lines, reply, sides, verbose);
        /* A sentence that is true of both is said of the last one. */
        for (size_t i = n; r == 0 && i-- > 0;)
                r = print_but(lines, labels[i][LINE_BUT], but[i], but[i + 1], &n_sentences);
        return r;
}

int overview_print(const Lines *lines, ReportKind kind, json_object *reply, bool verbose) {
        const ReportSetting *setting = &report_settings[kind];
        int r = 0;

        if (kind == REPORT_SNAPSHOT)
                r = print_head(lines, "snapshot", cell_member(reply, "snapshot"));
        else if (kind != REPORT_SETS && setting->has_begin)
                r = print_columns(lines, setting, reply, verbose);
        for (size_t i = 0; r == 0 && i < 2 && setting->n_columns == 2; i++) {
                json_object *side = cell_member(reply, setting->sides[i]);

                if (kind == REPORT_PAIR)
                        r = print_head(lines, setting->words[i], side);
                else if (kind == REPORT_SETS)
                        r = print_set(lines, setting->words[i], side);
        }
        if (r == 0 && kind == REPORT_PAIR)
                print_totals_line(lines, reply);
        if (r == 0)
                r = change_lines_print(lines, reply, verbose);
        if (r == 0)
                r = missing_print_reply(lines, reply, verbose);
        if (r == 0 && kind == REPORT_SETS)
                print_tests(lines, reply);
        return r;
}
