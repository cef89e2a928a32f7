/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/missing.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "render/cell.h"
#include "render/printable.h"
#include "render/table.h"

#define LABEL "missing"
#define REASON_LABEL_COLUMNS 16
#define MAX_ENTRIES 64 /* there are fewer sources */

/* An attempt fails in one of these ways: a member counts it, and the line has a word for it. */
typedef enum Failure {
        FAILURE_DENIED,
        FAILURE_UNSUPPORTED,
        FAILURE_MALFORMED,
        FAILURE_OTHER,
        _FAILURE_MAX,
} Failure;

static const struct {
        const char *key, *text;
} failures[_FAILURE_MAX] = {
        [FAILURE_DENIED] = { "denied", "refused" },
        [FAILURE_UNSUPPORTED] = { "unsupported", "unsupported" },
        [FAILURE_MALFORMED] = { "malformed", "malformed" },
        [FAILURE_OTHER] = { "other", "not read" },
};

/* The things that a source counts; those that are not listed here count readings. */
static const struct {
        const char *source, *one, *many;
} nouns[] = {
        { "stat", "thread", "threads" },
        { "schedstat", "thread", "threads" },
        { "sched", "thread", "threads" },
        { "schedstats", "thread", "threads" },
        { "status", "thread", "threads" },
        { "io", "thread", "threads" },
        { "cgroup", "process", "processes" },
        { "affinity", "thread", "threads" },
        { "smaps_rollup", "process", "processes" },
        { "jemalloc", "thread", "threads" },
        { "taskstats", "thread", "threads" },
        { "taskstats-delay", "thread", "threads" },
        { "taskstats-irq", "thread", "threads" },
        { "cgroup-stats", "cgroup", "cgroups" },
        { "cmdline", "process", "processes" },
};

/* Something that one source lacks, or that all sources of some sides do. */
typedef struct Finding {
        const Missing *missing;
        json_object *first;                      /* of the sources, which say the same */
        json_object *sources[MISSING_MAX_SIDES]; /* NULL: not of this side */
        size_t n_sources;
        const char *remedy; /* how to turn it on, from a side that tells; "" if none does */
        bool is_every;      /* a source stands for all of its side */
} Finding;

static const char *string_of(json_object *object, const char *key) {
        json_object *value = cell_member(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

typedef enum Quality { QUALITY_WHOLE, QUALITY_EXPECTED, QUALITY_IMPERFECT } Quality;

/* Versions that read no allocator counters are expected: each file says so, which is no news. */
static Quality quality_of(json_object *source) {
        const char *state = string_of(source, "state");

        if (strcmp(string_of(source, "name"), "jemalloc") == 0 &&
            strcmp(string_of(source, "reason"), "this version does not read allocator counters") ==
                    0)
                return QUALITY_EXPECTED;
        return strcmp(state, "partial") == 0 || strcmp(state, "unavailable") == 0
                       ? QUALITY_IMPERFECT
                       : QUALITY_WHOLE;
}

/* Returns the kinds of failures that occurred, a bit for each. */
static unsigned kinds_of(json_object *source) {
        unsigned kinds = 0;

        for (unsigned i = 0; i < ELEMENTSOF(failures); i++)
                if (cell_u64(source, failures[i].key) > 0)
                        kinds |= 1U << i;
        return kinds;
}

/* Returns whether both say the same to a reader; the counts always differ. */
static bool is_alike(json_object *a, json_object *b, bool verbose) {
        if (!a || !b || strcmp(string_of(a, "state"), string_of(b, "state")) != 0)
                return false;
        return verbose ? strcmp(string_of(a, "reason"), string_of(b, "reason")) == 0
                       : kinds_of(a) == kinds_of(b) &&
                                 json_object_get_boolean(cell_member(a, "switchedOff")) ==
                                         json_object_get_boolean(cell_member(b, "switchedOff"));
}

/*
 * Appends "io", "every source", and the sides that lack it: " before", " (before and after)", with
 * brackets also where all of them do.
 */
static void append_subject(Buffer *text, const Finding *finding, bool in_brackets) {
        const Missing *missing = finding->missing;
        bool has_sides = in_brackets ? missing->n_sides > 1 : finding->n_sources < missing->n_sides;
        size_t n_done = 0;

        if (finding->is_every)
                buffer_append_text(text, "every source");
        else
                cell_append_text(text, cell_member(finding->first, "name"));
        if (has_sides)
                buffer_append_text(text, in_brackets ? " (" : " ");
        for (size_t i = 0; has_sides && i < missing->n_sides; i++) {
                if (!finding->sources[i])
                        continue;
                if (n_done > 0)
                        buffer_append_text(text, n_done + 1 == finding->n_sources ? " and " : ", ");
                buffer_append_text(text, missing->sides[i].label);
                n_done++;
        }
        if (has_sides && in_brackets)
                buffer_append_byte(text, ')');
}

/* one line for everything, with as many entries as fit */

typedef struct Entries {
        Buffer text;
        size_t ends[MAX_ENTRIES]; /* where each ends in the text; more share the last one */
        size_t n;
        bool is_short;        /* there is more to say of some of them */
        size_t n_unsupported; /* sources that are only counted */
        bool is_brief;        /* no remedies are told */
        const char *remedy;   /* the last one told; NULL: none yet */
} Entries;

/* Appends "13 of 122 threads refused, 2 malformed", or only "refused" if no value was read. */
static void append_failures(Buffer *text, const Finding *finding) {
        json_object *source = finding->first;
        bool is_partial = strcmp(string_of(source, "state"), "partial") == 0, is_first = true;
        bool is_off = json_object_get_boolean(cell_member(source, "switchedOff"));
        const char *name = string_of(source, "name"), *one = "reading", *many = "readings";
        unsigned kinds = kinds_of(source);

        for (size_t i = 0; i < ELEMENTSOF(nouns); i++)
                if (strcmp(nouns[i].source, name) == 0) {
                        one = nouns[i].one;
                        many = nouns[i].many;
                }
        if (kinds == 0)
                buffer_append_text(text, string_of(source, "state"));
        for (unsigned i = 0; i < ELEMENTSOF(failures); i++) {
                /* Attempts that failed in this way on a side, and all attempts. */
                uint64_t least[2] = { UINT64_MAX, UINT64_MAX }, most[2] = {};

                if (!(kinds >> i & 1))
                        continue;
                if (!is_first)
                        buffer_append_text(text, ", ");
                for (size_t side = 0; side < finding->missing->n_sides; side++) {
                        json_object *of_side = finding->sources[side];
                        uint64_t counts[2] = { cell_u64(of_side, failures[i].key),
                                               cell_u64(of_side, "ok") };

                        for (size_t k = 0; k < ELEMENTSOF(failures); k++)
                                counts[1] += cell_u64(of_side, failures[k].key);
                        for (size_t k = 0; of_side && k < 2; k++) {
                                least[k] = MIN_OF(least[k], counts[k]);
                                most[k] = MAX_OF(most[k], counts[k]);
                        }
                }
                for (size_t k = 0; is_partial && k < (is_first ? 2 : 1); k++) {
                        buffer_append_format(text, "%s%llu", k > 0 ? "of " : "",
                                             (unsigned long long) least[k]);
                        if (most[k] != least[k])
                                buffer_append_format(text, "-%llu", (unsigned long long) most[k]);
                        buffer_append_byte(text, ' ');
                }
                if (is_partial && is_first)
                        buffer_append_format(text, "%s ", most[1] == 1 ? one : many);
                /* A reading that needs only a switch is "off" and not unsupported. */
                buffer_append_text(text,
                                   i == FAILURE_UNSUPPORTED && is_off ? "off" : failures[i].text);
                is_first = false;
        }
}

/*
 * Appends "io before: ", without the sides where all of them say so, and how many values are
 * implausible, or if none are, what failed. A remedy of several sources stands behind the first of
 * them only.
 */
static void add_entry(Entries *entries, const Finding *finding, unsigned long long n_implausible) {
        const char *remedy = finding->remedy;
        Buffer *text = &entries->text;

        entries->is_short = entries->is_short || !finding->is_every;
        if (entries->n > 0)
                buffer_append_text(text, "; ");
        append_subject(text, finding, false);
        buffer_append_text(text, ": ");
        if (n_implausible > 0) {
                buffer_append_format(text, "%llu value%s implausible", n_implausible,
                                     n_implausible == 1 ? "" : "s");
        } else if (finding->is_every) {
                cell_append_text(text, cell_member(finding->first, "reason"));
        } else {
                append_failures(text, finding);
                if (!entries->is_brief && remedy[0] != '\0' &&
                    !(entries->remedy && strcmp(entries->remedy, remedy) == 0)) {
                        buffer_append_text(text, " (");
                        printable_append_name(text, span_of(remedy));
                        buffer_append_byte(text, ')');
                        entries->remedy = remedy;
                }
        }
        entries->n = MIN_OF(entries->n + 1, (size_t) MAX_ENTRIES);
        entries->ends[entries->n - 1] = text->n;
}

/*
 * Counts the entries that one line has room for, which are in @ret. A tail stands behind them: "; 3
 * more, 5 unsupported (--verbose)".
 */
static int fit_entries(const Lines *lines, const Entries *entries, const char *way, Buffer *ret,
                       size_t *ret_n) {
        size_t n_columns = lines_text_columns(lines);

        for (size_t n = entries->n;; n--) {
                size_t n_left = entries->n - n;

                buffer_clear(ret);
                buffer_append(ret, entries->text.bytes, n > 0 ? entries->ends[n - 1] : 0);
                if (n_left > 0)
                        buffer_append_format(ret, "%s%zu %s", n > 0 ? "; " : "", n_left,
                                             n > 0         ? "more"
                                             : n_left == 1 ? "source"
                                                           : "sources");
                if (entries->n_unsupported > 0)
                        buffer_append_format(ret, "%s%zu unsupported",
                                             n_left > 0 ? ", "
                                             : n > 0    ? "; "
                                                        : "",
                                             entries->n_unsupported);
                if (way && (entries->is_short || n_left > 0 || entries->n_unsupported > 0))
                        buffer_append_format(ret, " (%s)", way);
                *ret_n = n;
                if (buffer_failure(ret) < 0 || n == 0 ||
                    printable_width(buffer_span(ret)) <= n_columns)
                        return buffer_failure(ret);
        }
}

/* a line for each source */

/* Prints "smaps_rollup (before), partial: REASON", "every source (before): REASON". */
static int print_sentence(const Lines *lines, const Finding *finding) {
        json_object *source = finding->first, *reason = cell_member(source, "reason");
        _cleanup_(buffer_done) Buffer line = {};

        append_subject(&line, finding, true);
        if (!finding->is_every) {
                buffer_append_text(&line, finding->missing->n_sides > 1 ? ", " : " ");
                cell_append_text(&line, cell_member(source, "state"));
        }
        if (reason) {
                buffer_append_text(&line, ": ");
                cell_append_text(&line, reason);
        }
        return lines_print_buffer(lines, LABEL, &line);
}

/* findings */

/* A report prints sentences at once, and entries when all are known. */
typedef struct Report {
        const Lines *lines;
        const Missing *missing;
        Entries entries;
} Report;

/* Tells each different thing that @sources say, one of each side, with all sides that say it. */
static int tell_sources(Report *report, json_object *const *sources, bool is_every) {
        json_object *left[MISSING_MAX_SIDES] = {};
        size_t n = report->missing->n_sides, n_unsupported = report->entries.n_unsupported + 1;
        int r = 0;

        for (size_t i = 0; i < n; i++)
                left[i] = quality_of(sources[i]) == QUALITY_IMPERFECT ? sources[i] : NULL;
        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *first = left[i];
                Finding finding = { .missing = report->missing,
                                    .first = first,
                                    .remedy = "",
                                    .is_every = is_every };

                if (!first)
                        continue;
                for (size_t k = i; k < n; k++) {
                        if (!is_alike(first, left[k], is_every || report->missing->verbose))
                                continue;
                        finding.sources[k] = left[k];
                        finding.n_sources++;
                        if (finding.remedy[0] == '\0')
                                finding.remedy = string_of(left[k], "remedy");
                        left[k] = NULL;
                }
                if (report->missing->verbose)
                        r = print_sentence(report->lines, &finding);
                else if (!is_every && kinds_of(first) == 1U << FAILURE_UNSUPPORTED &&
                         !json_object_get_boolean(cell_member(first, "switchedOff")) &&
                         finding.remedy[0] == '\0')
                        /* This kernel does not have it, and no setting changes that. */
                        report->entries.n_unsupported++;
                else
                        add_entry(&report->entries, &finding, 0);
        }
        report->entries.n_unsupported = MIN_OF(report->entries.n_unsupported, n_unsupported);
        return r;
}

/* Tells of values that were read but not believed. The source itself may be fine. */
static int tell_implausible(Report *report, json_object *const *sources) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < report->missing->n_sides; i++) {
                unsigned long long n = cell_u64(sources[i], "implausible");
                Finding finding = { .missing = report->missing,
                                    .first = sources[i],
                                    .n_sources = 1,
                                    .remedy = "" };
                _cleanup_(buffer_done) Buffer line = {};

                finding.sources[i] = sources[i];
                if (n == 0)
                        continue;
                if (!report->missing->verbose) {
                        add_entry(&report->entries, &finding, n);
                        continue;
                }
                append_subject(&line, &finding, true);
                buffer_append_format(&line,
                                     ", %llu value%s left out as implausible: more than the age of "
                                     "the thread or the interval allows",
                                     n, n == 1 ? "" : "s");
                r = lines_print_buffer(report->lines, LABEL, &line);
        }
        return r;
}

/*
 * Tells of the sources that are named; with @remedied, only of those of which some side can, or
 * none can, be turned on.
 */
static int tell_names(Report *report, json_object *const *sides, json_object *names,
                      const bool *remedied) {
        size_t n_names = cell_length(names);
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_names; i++) {
                const char *name = string_of(cell_element(names, i), "name");
                json_object *sources[MISSING_MAX_SIDES] = {};
                bool has_remedy = false;

                for (size_t k = 0; k < report->missing->n_sides; k++) {
                        for (size_t m = 0; m < cell_length(sides[k]) && !sources[k]; m++) {
                                json_object *source = cell_element(sides[k], m);

                                if (strcmp(string_of(source, "name"), name) == 0)
                                        sources[k] = source;
                        }
                        has_remedy = has_remedy || string_of(sources[k], "remedy")[0] != '\0';
                }
                if (remedied && has_remedy != *remedied)
                        continue;
                r = tell_sources(report, sources, false);
                if (r == 0)
                        r = tell_implausible(report, sources);
        }
        return r;
}

/* Prints sentences, and as many entries as one line has room for. */
int missing_print(const Lines *lines, const Missing *missing) {
        Report report = { .lines = lines,
                          .missing = missing,
                          .entries.is_brief = missing->is_brief };
        Missing brief = *missing;
        const Entries *entries = &report.entries;
        _cleanup_(buffer_done) Buffer line = {};
        json_object *sides[MISSING_MAX_SIDES] = {}, *firsts[MISSING_MAX_SIDES] = {};
        json_object *names = NULL; /* the list of sources is closed, so that any side has them */
        bool remedied = true;
        size_t n_shown = 0;
        int r;

        for (size_t i = 0; i < missing->n_sides; i++) {
                json_object *sources = missing->sides[i].sources, *first = cell_element(sources, 0);
                bool is_uniform = cell_length(sources) > 1;

                /* One entry replaces eighteen in a file of the prior tool, which knows of none. */
                for (size_t k = 0; is_uniform && k < cell_length(sources); k++) {
                        json_object *source = cell_element(sources, k);

                        Quality quality = quality_of(source);

                        is_uniform = quality == QUALITY_EXPECTED || (quality == QUALITY_IMPERFECT &&
                                                                     is_alike(source, first, true));
                }
                firsts[i] = is_uniform ? first : NULL;
                sides[i] = is_uniform ? NULL : sources;
                names = names ? names : sides[i];
        }
        r = tell_sources(&report, firsts, true);
        /* Entries that can be turned on stand first: they may be all that has room. */
        if (r == 0)
                r = tell_names(&report, sides, names, missing->verbose ? NULL : &remedied);
        remedied = false;
        if (r == 0 && !missing->verbose)
                r = tell_names(&report, sides, names, &remedied);
        if (r == 0)
                r = buffer_failure(&entries->text);
        if (r == 0 && (entries->n > 0 || entries->n_unsupported > 0)) {
                r = fit_entries(lines, entries, missing->way, &line, &n_shown);
                /* That there is more to know is left out before a remedy is. */
                if (r == 0 && n_shown == 0 && entries->remedy)
                        r = fit_entries(lines, entries, NULL, &line, &n_shown);
                brief.is_brief = r == 0 && n_shown == 0 && entries->remedy;
                if (r == 0 && !brief.is_brief)
                        r = lines_print_buffer(lines, LABEL, &line);
        }
        buffer_done(&report.entries.text);
        return brief.is_brief && !missing->is_brief ? missing_print(lines, &brief) : r;
}

size_t missing_sides(json_object *reply, MissingSide ret[static MISSING_MAX_SIDES]) {
        json_object *a = cell_member(reply, "a"), *b = cell_member(reply, "b");
        const MissingSide of_one[] = { { "", cell_member(reply, "sources") } };
        const MissingSide of_two[] = { { "before", cell_member(reply, "sourcesBefore") },
                                       { "after", cell_member(reply, "sourcesAfter") } };
        const MissingSide of_intervals[] = { { "A before", cell_member(a, "sourcesBefore") },
                                             { "A after", cell_member(a, "sourcesAfter") },
                                             { "B before", cell_member(b, "sourcesBefore") },
                                             { "B after", cell_member(b, "sourcesAfter") } };

        if (a && b) {
                memcpy(ret, of_intervals, sizeof(of_intervals));
                return ELEMENTSOF(of_intervals);
        }
        if (of_one[0].sources) {
                memcpy(ret, of_one, sizeof(of_one));
                return ELEMENTSOF(of_one);
        }
        memcpy(ret, of_two, sizeof(of_two));
        return ELEMENTSOF(of_two);
}

int missing_print_reply(const Lines *lines, json_object *reply, bool verbose) {
        Missing missing = { .verbose = verbose, .way = "--verbose" };

        missing.n_sides = missing_sides(reply, missing.sides);
        return missing_print(lines, &missing);
}

/* the table of all sources */

/* One column per member, in the order of the contract. */
static const struct {
        const char *key;
        TableColumn table;
} source_columns[] = {
        { "name", { .header = "SOURCE" } },
        { "state", { .header = "STATE" } },
        { "ok", { .header = "OK", .right = true } },
        { "denied", { .header = "DENIED", .right = true } },
        { "vanished", { .header = "VANISHED", .right = true } },
        { "unsupported", { .header = "UNSUPPORTED", .right = true } },
        { "malformed", { .header = "MALFORMED", .right = true } },
        { "other", { .header = "OTHER", .right = true } },
};

#define N_SOURCE_COLUMNS ELEMENTSOF(source_columns)

int source_report_print(const Session *session, json_object *sources) {
        _cleanup_(table_freep) Table *table = NULL;
        const Lines lines = { .out = stdout,
                              .terminal = &session->terminal,
                              .label_columns = REASON_LABEL_COLUMNS };
        TableColumn columns[N_SOURCE_COLUMNS];
        bool first = true;
        int r;

        for (size_t i = 0; i < N_SOURCE_COLUMNS; i++)
                columns[i] = source_columns[i].table;
        r = table_new(columns, N_SOURCE_COLUMNS, &session->terminal, session->legend, stdout,
                      &table);
        if (r < 0)
                return r;
        for (size_t i = 0; i < cell_length(sources); i++) {
                json_object *source = cell_element(sources, i);

                for (size_t k = 0; k < N_SOURCE_COLUMNS; k++) {
                        json_object *value = cell_member(source, source_columns[k].key);

                        if (columns[k].right)
                                cell_append_number(table_cell(table), value, QUANTITY_LADDER_NONE);
                        else
                                cell_append_text(table_cell(table), value);
                }
                table_end_row(table, 0);
        }
        r = table_end(table);
        for (size_t i = 0; r == 0 && i < cell_length(sources); i++) {
                json_object *source = cell_element(sources, i);
                _cleanup_(buffer_done) Buffer name = {}, reason = {};
                const char *label;

                if (!cell_member(source, "reason"))
                        continue;
                if (first)
                        (void) putchar('\n');
                first = false;
                cell_append_text(&name, cell_member(source, "name"));
                r = buffer_terminate(&name, &label);
                if (r < 0)
                        return r;
                cell_append_text(&reason, cell_member(source, "reason"));
                r = lines_print_buffer(&lines, label, &reason);
        }
        return r;
}
