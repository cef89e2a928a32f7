/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/printable.h"
#include "render/when.h"
#include "report/overview/change-lines.h"
#include "report/overview/group-label.h"
#include "report/overview/host-lines.h"
#include "report/overview/limited-lines.h"
#include "report/overview/missing.h"
#include "report/overview/set-overview.h"

#define LIMITED_LINES 2 /* of all intervals together */
#define BUT_SENTENCES 2 /* likewise; one where there is little room */
#define BUT_LINES 2     /* of each sentence on a terminal */
#define WAITS_LINES 2

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
                        return "the snapshots are of different hosts: levels, peaks and limits "
                               "compare, and work by two intervals (A..B C..D)";
        }
        if (!cell_member(before, "bootId") || !cell_member(after, "bootId"))
                return "one of the snapshots has no boot id";
        return "the snapshots are of different boots";
}

/* Nobody should take the difference of two totals for what was done in between. */
static void print_totals_line(const Lines *lines, json_object *reply) {
        json_object *elapsed = cell_member(reply, "elapsedNs");
        char span[WHEN_CHARS];

        if (!elapsed) {
                lines_format(
                        lines, "totals", "of whole lives, which differ in length; %s",
                        why_no_time(cell_member(reply, "before"), cell_member(reply, "after")));
                return;
        }
        when_format_span(json_object_get_uint64(elapsed), span);
        lines_format(lines, "totals", "of whole lives, which differ in length; captured %s apart",
                     span);
}

/* intervals */

/*
 * ": 31 lived on, 3 born, 2 ended". What those that ended did is only told by the coverage, where
 * there is one.
 */
static void append_lives(Buffer *line, json_object *lives, json_object *coverage) {
        static const struct {
                const char *key, *text;
        } counts[] = {
                { "survived", "lived on" },
                { "born", "born" },
                { "ended", "ended" },
                { "bornAndEnded", "born and ended" },
        };
        const char *joint = ": ";

        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                uint64_t n = json_object_get_uint64(cell_member(lives, counts[i].key));

                if (n == 0)
                        continue;
                buffer_append_format(line, "%s%llu %s", joint, (unsigned long long) n,
                                     counts[i].text);
                joint = ", ";
                if (i == 2 && !cell_member(coverage, "endedNs") &&
                    !cell_member(coverage, "cpuUsedNs"))
                        buffer_append_text(line, " unseen");
        }
}

/* Appends the host and the kernel unless @other has the same. */
static void append_place(Buffer *line, json_object *head, json_object *other) {
        static const char *const keys[] = { "hostName", "kernelRelease" };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                json_object *value = cell_member(head, keys[i]);

                if (!other || !json_object_equal(value, cell_member(other, keys[i])))
                        append_part(line, value);
        }
}

/*
 * "BEFORE..AFTER: 10.250s from 2026-11-21 10:00:00, HOST, KERNEL, 35 threads: 31 lived on, …".
 * @interval has before, after, elapsedNs and lives; @other: a head whose place is known already.
 */
static int print_interval_line(const Lines *lines, const char *label, json_object *interval,
                               json_object *coverage, json_object *other) {
        json_object *before = cell_member(interval, "before"),
                    *after = cell_member(interval, "after");
        json_object *start = cell_member(before, "startRealtimeNs");
        json_object *elapsed = cell_member(interval, "elapsedNs");
        _cleanup_(buffer_done) Buffer line = {};
        char when[WHEN_CHARS], span[WHEN_CHARS];

        cell_append_text(&line, cell_member(before, "name"));
        buffer_append_text(&line, "..");
        cell_append_text(&line, cell_member(after, "name"));
        if (elapsed && start) {
                when_format_span(json_object_get_uint64(elapsed), span);
                when_format(json_object_get_uint64(start), when);
                buffer_append_format(&line, ": %s from %s", span, when);
        }
        append_place(&line, before, other);
        append_count(&line, cell_member(after, "threads"), "thread", "threads");
        append_lives(&line, cell_member(interval, "lives"), coverage);
        return lines_print_buffer(lines, label, &line);
}

/*
 * Why what threads did that ended is in no group: said where that may have been much, and where
 * nobody knows how much it was although threads ended.
 */
static int print_unseen(const Lines *lines, const char *label, json_object *lives,
                        json_object *coverage, bool verbose) {
        uint64_t n = json_object_get_uint64(cell_member(lives, "ended"));
        bool measured = cell_member(coverage, "cpuUsedNs") && cell_member(coverage, "attributedNs");
        json_object *by_name = cell_member(lives, "endedReason");
        json_object *reason = by_name ? by_name : cell_member(coverage, "endedReason");
        _cleanup_(buffer_done) Buffer line = {};

        if (!reason ||
            (!verbose && !by_name && (measured ? host_lines_cover_all(coverage) : n == 0)))
                return 0;
        buffer_append_text(&line, "the work of threads that ended ");
        if (n > 0)
                buffer_append_format(&line, "(%llu vanished) ", (unsigned long long) n);
        buffer_append_text(&line, by_name ? "is in no group: " : "is not included: ");
        cell_append_text(&line, reason);
        return lines_print_buffer(lines, label, &line);
}

/* What lost its name stands in groups that say so. */
static int print_folded(const Lines *lines, const char *label, json_object *lives) {
        json_object *reason = cell_member(lives, "foldedReason");
        _cleanup_(buffer_done) Buffer line = {};

        if (!reason)
                return 0;
        cell_append_text(&line, reason);
        return lines_print_buffer(lines, label, &line);
}

/* Whether @but has a sentence about the same as @sentence. */
static bool says_same(json_object *but, json_object *sentence) {
        for (size_t i = 0; i < cell_length(but); i++) {
                json_object *other = cell_element(but, i);

                if (json_object_equal(cell_member(other, "what"), cell_member(sentence, "what")) &&
                    json_object_equal(cell_member(other, "resource"),
                                      cell_member(sentence, "resource")))
                        return true;
        }
        return false;
}

/*
 * What contradicts itself: at most *left sentences, of those that @later has none like, the ones
 * about the same in the later of two intervals.
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

                if (says_same(later, sentence))
                        continue;
                cell_append_text(&line, cell_member(sentence, "text"));
                r = lines_print_buffer(*left == SIZE_MAX ? lines : &few, label, &line);
                *left -= *left < SIZE_MAX;
        }
        return r;
}

static size_t but_sentences(const Lines *lines, bool verbose) {
        if (verbose)
                return SIZE_MAX;
        return lines->max_lines == 0 || lines->max_lines > BUT_LINES ? BUT_SENTENCES : 1;
}

static HostSide host_side(json_object *host, json_object *coverage, json_object *interval) {
        return (HostSide){
                .host = host,
                .coverage = coverage,
                .elapsed_ns = json_object_get_uint64(cell_member(interval, "elapsedNs")),
        };
}

static int print_interval(const Lines *lines, json_object *reply, bool verbose) {
        json_object *coverage = cell_member(reply, "coverage");
        const HostSide side = host_side(cell_member(reply, "host"), coverage, reply);
        size_t n_sentences = but_sentences(lines, verbose);
        int r;

        r = print_interval_line(lines, "interval", reply, coverage, NULL);
        if (r == 0)
                r = host_lines_print(lines, &side, 1);
        if (r == 0)
                r = print_unseen(lines, "ended", cell_member(reply, "lives"), coverage, verbose);
        if (r == 0)
                r = print_folded(lines, "ended", cell_member(reply, "lives"));
        if (r == 0)
                r = limited_lines_print(lines, "limited", cell_member(reply, "limited"),
                                        verbose ? 0 : LIMITED_LINES);
        if (r == 0)
                r = print_but(lines, "but", cell_member(reply, "but"), NULL, &n_sentences);
        if (r == 0)
                r = change_lines_print(lines, reply, verbose);
        return r < 0 ? r : missing_print_reply(lines, reply, verbose);
}

/* "lock 0.1 \u2192 6.8 of 8 threads", in seconds of each second */
static void append_shift(Buffer *line, json_object *shift, const HostSide sides[static 2]) {
        static const char *const keys[] = { "aNs", "bNs" };
        uint64_t threads = json_object_get_uint64(cell_member(shift, "threads"));
        double most = 0;

        group_label_append(line, shift);
        buffer_append_text(line, ": ");
        cell_append_text(line, cell_member(shift, "reason"));
        for (size_t i = 0; i < 2; i++) {
                double ns = json_object_get_double(cell_member(shift, keys[i]));
                double amount = sides[i].elapsed_ns > 0 ? ns / (double) sides[i].elapsed_ns : 0;

                buffer_append_text(line, i > 0 ? " \u2192 " : " ");
                compact_append_threads(line, amount);
                most = MAX_OF(most, amount);
        }
        if (threads > 1 && most >= 0.5)
                buffer_append_format(line, " of %llu threads", (unsigned long long) threads);
}

/* Of which groups the threads wait for something else in the second interval: as many as fit. */
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

static int print_intervals(const Lines *lines, json_object *reply, bool verbose) {
        static const char *const keys[] = { "a", "b" }, *const labels[] = { "A", "B" },
                                 *const limited_labels[] = { "limited A", "limited B" },
                                 *const ended_labels[] = { "ended A", "ended B" };
        json_object *host = cell_member(reply, "host"), *limited = cell_member(reply, "limited");
        json_object *coverage = cell_member(reply, "coverage"), *other = NULL;
        json_object *but = cell_member(reply, "but");
        size_t max_lines = LIMITED_LINES, n_sentences = but_sentences(lines, verbose);
        HostSide sides[2];
        int r = 0;

        for (size_t i = 0; r == 0 && i < 2; i++) {
                json_object *interval = cell_member(reply, keys[i]);

                sides[i] = host_side(cell_member(host, keys[i]), cell_member(coverage, keys[i]),
                                     interval);
                r = print_interval_line(lines, labels[i], interval, sides[i].coverage, other);
                other = cell_member(interval, "before");
        }
        if (r == 0)
                r = host_lines_print(lines, sides, 2);
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = print_unseen(lines, ended_labels[i],
                                 cell_member(cell_member(reply, keys[i]), "lives"),
                                 sides[i].coverage, verbose);
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = print_folded(lines, ended_labels[i],
                                 cell_member(cell_member(reply, keys[i]), "lives"));
        if (cell_length(cell_member(limited, "a")) > 0 &&
            cell_length(cell_member(limited, "b")) > 0)
                max_lines /= 2;
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = limited_lines_print(lines, limited_labels[i], cell_member(limited, keys[i]),
                                        verbose ? 0 : max_lines);
        if (r == 0)
                r = print_waits(lines, reply, sides, verbose);
        if (r == 0)
                r = print_but(lines, "but B", cell_member(but, "b"), NULL, &n_sentences);
        if (r == 0)
                r = print_but(lines, "but A", cell_member(but, "a"), cell_member(but, "b"),
                              &n_sentences);
        if (r == 0)
                r = change_lines_print(lines, reply, verbose);
        return r < 0 ? r : missing_print_reply(lines, reply, verbose);
}

/* snapshots */

static int print_snapshot(const Lines *lines, json_object *reply, bool verbose) {
        int r;

        r = print_head(lines, "snapshot", cell_member(reply, "snapshot"));
        return r < 0 ? r : missing_print_reply(lines, reply, verbose);
}

static int print_totals(const Lines *lines, json_object *reply, bool verbose) {
        int r;

        r = print_head(lines, "before", cell_member(reply, "before"));
        if (r < 0)
                return r;
        r = print_head(lines, "after", cell_member(reply, "after"));
        if (r < 0)
                return r;
        print_totals_line(lines, reply);
        r = change_lines_print(lines, reply, verbose);
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

static const char *const kind_names[_REPORT_KIND_MAX] = {
        [REPORT_SNAPSHOT] = "state",    [REPORT_PAIR] = "totals",         [REPORT_SETS] = "sets",
        [REPORT_INTERVAL] = "interval", [REPORT_INTERVALS] = "intervals",
};

const char *report_kind_name(ReportKind kind) {
        return kind_names[kind];
}

ReportKind report_kind_of(json_object *reply, ReportKind asked) {
        Span name = cell_string(cell_member(reply, "kind"));

        for (unsigned kind = 0; kind < _REPORT_KIND_MAX; kind++)
                if (span_is(name, kind_names[kind]))
                        return (ReportKind) kind;
        return asked;
}

int overview_print(const Lines *lines, ReportKind kind, json_object *reply, bool verbose) {
        switch (kind) {
        case REPORT_SNAPSHOT:
                return print_snapshot(lines, reply, verbose);
        case REPORT_PAIR:
                return print_totals(lines, reply, verbose);
        case REPORT_INTERVAL:
                return print_interval(lines, reply, verbose);
        case REPORT_INTERVALS:
                return print_intervals(lines, reply, verbose);
        case REPORT_SETS:
                return print_sets(lines, reply, verbose);
        case _REPORT_KIND_MAX:
                break;
        }
        return 0;
}
