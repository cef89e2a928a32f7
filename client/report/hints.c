/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/hints.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/lines.h"
#include "report/section/section-row.h"

static uint64_t count_of(const Hints *hints, const char *key) {
        return json_object_get_uint64(cell_member(hints->reply, key));
}

static const char *plural(uint64_t n) {
        return n == 1 ? "" : "s";
}

/* "3 more cgroups in memory-stat, 12 in pressure, 1 more process in smaps-rollup (--limit 0)" */
static int print_cuts(const Lines *lines, json_object *cuts) {
        _cleanup_(buffer_done) Buffer line = {};
        const char *noun = NULL;
        json_object_iter member;

        if (!json_object_is_type(cuts, json_type_object))
                return 0;
        json_object_object_foreachC(cuts, member) {
                SectionId id = section_find(member.key);
                uint64_t n = json_object_get_uint64(member.val);
                const char *last_noun = noun;

                if (id == _SECTION_MAX)
                        continue;
                noun = section_item_noun(id, n);
                buffer_append_format(&line, "%s%llu", line.n > 0 ? ", " : "",
                                     (unsigned long long) n);
                if (noun != last_noun)
                        buffer_append_format(&line, " more %s", noun);
                buffer_append_format(&line, " in %s", view_table_name(id));
        }
        if (line.n == 0)
                return buffer_failure(&line);
        buffer_append_text(&line, " (--limit 0)");
        return lines_print_buffer(lines, "", &line);
}

static void print_omitted(const Lines *lines, const Buffer *names, const char *way_out) {
        if (names->n > 0)
                lines_format(lines, "", "no room for %.*s: %s", (int) names->n, names->bytes,
                             way_out);
}

static void print_hidden_rows(FILE *out, const Hints *hints) {
        uint64_t n = number_add_saturating(count_of(hints, "hiddenRows"),
                                           section_tables_hidden(hints->sections));
        bool has_threshold = hints->form->session->options->view.has_threshold;
        const char *rows = n == 1 ? "row" : "rows";

        if (n == 0)
                return;
        if (hints->form->kind == REPORT_SETS)
                (void) fprintf(
                        out, "%llu %s hidden that %s\n", (unsigned long long) n, rows,
                        has_threshold ? "did not move by more, or are not significant (--threshold)"
                                      : "are not significant (--all-rows)");
        else if (has_threshold)
                (void) fprintf(out, "%llu %s hidden that did not move by more (--threshold)\n",
                               (unsigned long long) n, rows);
        else
                (void) fprintf(out, "%llu %s %s hidden (--all-rows)\n", (unsigned long long) n,
                               report_kind_has_sides(hints->form->kind) ? "unchanged"
                               : section_tables_any(hints->sections)    ? "empty or zero"
                                                                        : "empty",
                               rows);
}

/* Of sets, groups that only one side has; the limit or the threshold may hide some. */
static void print_untested(FILE *out, const Hints *hints) {
        uint64_t n_before = count_of(hints, "groupsOnlyBefore");
        uint64_t n_after = count_of(hints, "groupsOnlyAfter");

        if (n_before > 0)
                (void) fprintf(out, "%llu group%s only in BEFORE%s", (unsigned long long) n_before,
                               plural(n_before), n_after > 0 ? ", " : "");
        if (n_after > 0)
                (void) fprintf(out, "%llu group%s only in AFTER", (unsigned long long) n_after,
                               plural(n_after));
        if (n_before > 0 || n_after > 0)
                (void) fputs(": not tested\n", out);
}

static int print_omitted_columns(const Hints *hints, const Lines *lines) {
        static const char elsewhere[] = "a wider terminal or a pipe has it";
        _cleanup_(buffer_done) Buffer accounts = {}, rows = {}, untested = {}, sections = {};
        Span omitted = section_tables_omitted(hints->sections);

        if (hints->accounts)
                account_table_omitted(hints->accounts, &accounts);
        if (hints->rows)
                group_table_omitted(hints->rows, &rows);
        if (hints->untested)
                set_table_omitted(hints->untested, &untested);
        buffer_append(&sections, omitted.bytes, omitted.n);
        print_omitted(lines, &accounts, elsewhere);
        print_omitted(lines, &rows,
                      hints->form->kind == REPORT_SETS
                              ? elsewhere
                              : "a wider terminal, a pipe or --columns has it");
        print_omitted(lines, &untested, elsewhere);
        print_omitted(lines, &sections, elsewhere);
        return buffer_failure(&accounts) < 0 ? buffer_failure(&accounts) : buffer_failure(&rows);
}

static void append_more_groups(Buffer *line, const Hints *hints) {
        bool cuts = hints->accounts && !hints->form->rows; /* rows by metric follow of the others */
        uint64_t n_cut = cuts ? account_table_hidden(hints->accounts) : 0;
        uint64_t n_idle = hints->accounts ? account_table_idle(hints->accounts) : 0;
        uint64_t n = number_add_saturating(count_of(hints, "hiddenGroups"), n_cut);

        if (n > 0)
                buffer_append_format(line, "%llu more group%s (--limit 0)", (unsigned long long) n,
                                     plural(n));
        if (n_idle > 0)
                buffer_append_format(line, "%s%llu idle group%s (--all-rows)", n > 0 ? "; " : "",
                                     (unsigned long long) n_idle, plural(n_idle));
}

/* How many rows and groups are left, of a view that has rows. */
static int print_left(const Lines *lines, const Hints *hints) {
        _cleanup_(buffer_done) Buffer line = {};

        print_hidden_rows(lines->out, hints);
        append_more_groups(&line, hints);
        return line.n > 0 ? lines_print_buffer(lines, "", &line) : 0;
}

/* How many groups are left, and how to see each metric of those that are shown. */
static int print_ways(const Lines *lines, const Hints *hints) {
        size_t n_pairings = cell_length(cell_member(hints->reply, "pairings"));
        _cleanup_(buffer_done) Buffer line = {};

        if (n_pairings > 0)
                lines_format(lines, "", "%zu cgroup%s paired by content (--rows lists them)",
                             n_pairings, plural(n_pairings));
        append_more_groups(&line, hints);
        buffer_append_format(&line, "%sby metric: --rows, --filter, --metrics, --sections",
                             line.n > 0 ? "; " : "");
        return lines_print_buffer(lines, "", &line);
}

static int write_hints(const Lines *lines, const Hints *hints) {
        int r = 0;

        if (hints->accounts)
                r = account_table_print_signs(hints->accounts, lines);
        if (r == 0 && hints->form->rows)
                r = print_left(lines, hints);
        print_untested(lines->out, hints);
        if (r == 0)
                r = print_cuts(lines, cell_member(hints->reply, "hiddenSections"));
        if (r == 0)
                r = print_omitted_columns(hints, lines);
        if (r == 0 && !hints->form->rows)
                r = print_ways(lines, hints);
        return r;
}

int hints_print(const Hints *hints, FILE *out) {
        const Session *session = hints->form->session;
        _cleanup_(freep) char *text = NULL;
        Lines lines = { .terminal = &session->terminal };
        size_t n = 0;
        int r;

        if (!session_is_chatty(session) || options_have(session->options, OPTION_NO_LEGEND))
                return 0;
        lines.out = open_memstream(&text, &n);
        if (!lines.out)
                return -ENOMEM;
        r = write_hints(&lines, hints);
        if (fclose(lines.out) != 0)
                return -ENOMEM;
        if (r == 0 && n > 0)
                (void) fprintf(out, "\n%s", text);
        return r;
}
