/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/lines.h"
#include "report/group/account-table.h"
#include "report/group/group-columns.h"
#include "report/group/group-table.h"
#include "report/group/one-sided.h"
#include "report/overview/overview.h"
#include "report/section/section-row.h"
#include "report/section/section-tables.h"
#include "stack/stack-text.h"

/* Lines of a first screen that are no groups: blank ones, headers, hints, and the next prompt. */
#define OTHER_LINES 5
#define SCREEN_LINES 24 /* at least, whatever the terminal says */
#define MAX_WAITS 3     /* lines of what processes of a recording wait for */
#define MIN_GROUPS 8    /* for which lines above them are cut */

typedef struct SinkText {
        GroupSink sink;
        bool is_kept;           /* the view is printed at its end: all rows are waited for */
        bool fits;              /* it is cut to one screen */
        size_t n_head_lines;    /* above the tables */
        json_object *first;     /* the first reply; owned, as the next two */
        json_object *command;   /* a row of the overview; NULL: none */
        json_object *kept;      /* rows of the overview that are waited for */
        bool has_groups;        /* as many of them as a screen should have found room */
        AccountTable *accounts; /* the overview; NULL: there is none, or not yet */
        bool has_overview;      /* it has a group */
        bool accounts_done;     /* it is printed */
        GroupTable *table;      /* rows by metric */
        FILE *later;            /* where they wait for the overview; NULL: it is printed before */
        char *later_text;       /* owned */
        size_t n_later;
        OneSided only[2]; /* BEFORE, AFTER */
        SectionTables sections;
        bool groups_done; /* their table is printed */
        uint32_t user_hz; /* the ticks of a second; 0: no head of the first reply has it */
        /* The filter lets so many groups through, unless there is none or an older daemon. */
        bool knows_matched;
        uint64_t n_matched;
} SinkText;

/* False for a user who names only sections without metrics, and gets no empty table. */
static bool wants_groups(const View *view) {
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (view_wants_metric(view, (MetricId) id))
                        return true;
        for (unsigned id = 0; id < _DERIVED_MAX; id++)
                if (view_wants_derived(view, (DerivedId) id))
                        return true;
        return false;
}

/*
 * Writes the lines above the tables to *ret_text, owned by the caller, and counts them. Each takes
 * at most @max_lines of the terminal.
 */
static int format_head(SinkText *text, size_t max_lines, char **ret_text, size_t *ret_n) {
        const GroupForm *form = text->sink.form;
        bool verbose = options_have(form->session->options, OPTION_VERBOSE);
        _cleanup_(freep) char *head = NULL;
        size_t n;
        FILE *out = open_memstream(&head, &n);
        const Lines lines = { .out = out,
                              .terminal = &form->session->terminal,
                              .label_columns = OVERVIEW_LABEL_COLUMNS,
                              .max_lines = max_lines };
        int r;

        if (!out)
                return -ENOMEM;
        r = form->lead ? form->lead(form->lead_userdata, out, NULL) : 0;
        if (r == 0)
                r = overview_print(&lines, form->kind, text->first, verbose);
        if (r == 0 && form->stacks)
                r = stack_print_gaps(&lines, "recorded", "", form->recorded);
        if (r == 0 && form->stacks) {
                Lines short_lines = lines;

                short_lines.max_lines = verbose ? 0 : 1;
                r = stack_text_print_waits(&short_lines, form->stacks,
                                           verbose ? SIZE_MAX : MAX_WAITS);
        }
        if (fclose(out) != 0)
                return -ENOMEM;
        if (r != 0)
                return r;
        text->n_head_lines = 0;
        for (size_t i = 0; i < n; i++)
                text->n_head_lines += head[i] == '\n';
        *ret_text = TAKE_PTR(head);
        *ret_n = n;
        return 0;
}

static int print_head(SinkText *text) {
        _cleanup_(freep) char *head = NULL;
        size_t n;
        int r = format_head(text, 0, &head, &n);

        return r != 0 || fwrite(head, 1, n, stdout) == n ? r : -errno;
}

static int new_accounts(const SinkText *text, uint64_t max_rows, FILE *out, AccountTable **ret) {
        const GroupForm *form = text->sink.form;
        int r;

        r = account_table_new(form->session, form->kind, &form->accounts, text->first, max_rows,
                              out, ret);
        if (r == 0 && text->command)
                account_table_add(*ret, text->command, true);
        return r;
}

static int begin(GroupSink *sink, json_object *reply) {
        const GroupForm *form = sink->form;
        SinkText *text = (SinkText *) sink;
        json_object *matched = cell_member(reply, "matchedGroups");
        json_object *after = cell_member(reply, "after");
        json_object *const heads[] = {
                cell_member(reply, "snapshot"), after,
                cell_member(cell_member(reply, "b"), "after"), cell_element(after, 0), /* of sets */
        };
        const Terminal *terminal = &form->session->terminal;
        bool has_limit = options_have(form->session->options, OPTION_LIMIT);
        int r;

        text->fits = form->overview && !form->rows && terminal->out && !has_limit;
        /* Sets are only passed on once their stacks are known. */
        text->is_kept =
                text->fits || (form->waits_for_stacks && !report_settings[form->kind].of_medians);
        for (size_t i = 0; text->user_hz == 0 && i < ELEMENTSOF(heads); i++) {
                int64_t hz = json_object_get_int64(cell_member(heads[i], "userHz"));

                if (hz > 0 && hz <= (int64_t) NSEC_PER_SEC)
                        text->user_hz = (uint32_t) hz;
        }
        text->knows_matched = matched;
        text->n_matched = json_object_get_uint64(matched);
        r = session_page(form->session);
        if (r != 0)
                return r;
        text->first = json_object_get(reply);
        if (form->overview && form->command)
                text->command = form->command(form->lead_userdata);
        if (text->is_kept) {
                text->kept = json_object_new_array();
                r = text->kept ? 0 : -ENOMEM;
        } else {
                r = print_head(text);
        }
        if (r == 0 && form->overview && !text->is_kept) {
                size_t screen = MAX_OF(terminal->rows, (size_t) SCREEN_LINES);
                size_t n_lines = text->n_head_lines + (text->command != NULL) + OTHER_LINES;
                /* A first screen has room for so many groups; a pipe and a limit have all. */
                uint64_t room = screen > n_lines + MIN_GROUPS ? screen - n_lines : MIN_GROUPS;

                r = new_accounts(text, !terminal->out || has_limit ? UINT64_MAX : room, stdout,
                                 &text->accounts);
        }
        if (r == 0 && report_settings[form->kind].of_medians) {
                text->later = open_memstream(&text->later_text, &text->n_later);
                r = text->later ? 0 : -ENOMEM;
        }
        if (r == 0)
                r = group_table_new(form->session, &form->columns, form->kind, text->user_hz,
                                    text->later ? text->later : stdout, &text->table);
        text->sections = (SectionTables){ .session = form->session,
                                          .is_pair = report_settings[form->kind].n_lists > 1,
                                          .reply = reply,
                                          .raw = options_have(form->session->options, OPTION_RAW) };
        return r;
}

static int add_accounts(GroupSink *sink, json_object *rows) {
        SinkText *text = (SinkText *) sink;

        text->has_overview = text->has_overview || cell_length(rows) > 0;
        for (size_t i = 0; i < cell_length(rows); i++) {
                json_object *row = cell_element(rows, i);

                if (text->accounts)
                        account_table_add(text->accounts, row, false);
                else if (json_object_array_add(text->kept, json_object_get(row)) != 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Ends the overview with an empty line; sections print one themselves, above their headings. */
static int end_overview(SinkText *text) {
        const GroupForm *form = text->sink.form;
        int r = 0;

        if (text->accounts_done)
                return 0;
        text->accounts_done = true;
        /* A daemon that knows of no overview sends rows by metric, which fit no screen. */
        if (text->is_kept && !text->has_overview) {
                r = print_head(text);
                if (r == 0)
                        r = new_accounts(text, 0, stdout, &text->accounts);
        }
        if (r == 0 && text->accounts && text->accounts->begun)
                r = table_end(text->accounts->table);
        if (!text->later && (form->rows || !text->has_overview) &&
            wants_groups(&form->session->options->view))
                (void) putchar('\n');
        return r;
}

/*
 * Adds a SetGroup to the overview, after it was given the members that an OverviewRow of other
 * kinds has: its rates are those of a second, and so the accounts of its sides; null without any.
 */
static int add_set_account(SinkText *text, json_object *group) {
        static const char *const sides[] = { "before", "after" };
        static const char *const numbers[] = { "threadsBefore", "threadsAfter" };
        json_object *rates = cell_member(group, "rates"), *accounts = json_object_new_array();
        json_object *of_side[2] = { cell_member(rates, sides[0]), cell_member(rates, sides[1]) };
        int r;

        /* The daemon may send anything in place of an account; only an object is an account. */
        for (size_t i = 0; i < ELEMENTSOF(sides); i++)
                if (!json_object_is_type(of_side[i], json_type_object))
                        of_side[i] = NULL;
        if (!accounts || !json_object_is_type(group, json_type_object)) {
                json_object_put(accounts);
                return accounts ? 0 : -ENOMEM;
        }
        r = json_object_object_add(group, "accounts", accounts);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(sides); i++) {
                double n = json_object_get_double(cell_member(group, numbers[i]));
                int64_t n_threads = n >= 0 && n < 0x1p53 ? (int64_t) (n + 0.5) : 0;

                if (of_side[i])
                        r = json_object_object_add(of_side[i], "threads",
                                                   json_object_new_int64(n_threads));
                else if (of_side[1 - i])
                        r = json_object_object_add(group, "only",
                                                   json_object_new_string(sides[1 - i]));
                if (r == 0)
                        r = json_object_array_add(accounts, json_object_get(of_side[i]));
        }
        if (r != 0)
                return -ENOMEM;
        if (of_side[0] || of_side[1]) { /* else a daemon that tells no rates */
                text->has_overview = true;
                account_table_add(text->accounts, group, false);
        }
        return 0;
}

/* groups */

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        SinkText *text = (SinkText *) sink;
        int r;

        r = text->later ? 0 : end_overview(text);
        for (size_t i = 0; r == 0 && i < cell_length(groups); i++) {
                json_object *group = cell_element(groups, i);

                if (text->later && text->accounts)
                        r = add_set_account(text, group);
                if (r != 0)
                        break;
                if (list != GROUP_LIST_GROUPS)
                        one_sided_add(&text->only[list - GROUP_LIST_ONLY_BEFORE], group);
                else
                        r = group_table_add(text->table, group);
        }
        return r;
}

/* Says why there are no rows: headers alone would leave open whether something went wrong. */
static void print_nothing(const SinkText *text) {
        const Session *session = text->sink.form->session;
        const View *view = &session->options->view;
        bool filters = view->n_filter > 0;

        if (!session->is_chatty)
                return;
        if (text->knows_matched && text->n_matched == 0)
                (void) puts("no group matches the filter");
        else if (text->sink.form->kind == REPORT_SETS)
                (void) puts("no difference is significant");
        else if (text->sink.form->kind == REPORT_SNAPSHOT)
                (void) puts(!filters              ? "no values"
                            : text->knows_matched ? "no values in groups that match the filter"
                                                  : "no group matches the filter");
        else if (view->has_threshold)
                (void) puts("no row of a group moved by more than the threshold");
        else if (text->only[0].n_groups > 0 || text->only[1].n_groups > 0)
                (void) puts("nothing changed in the groups that both have");
        else
                (void) puts(filters ? "nothing changed in groups that match the filter"
                                    : "nothing changed");
}

static int end_groups(SinkText *text) {
        const GroupForm *form = text->sink.form;
        bool is_empty, says, later = text->later;
        int r;

        if (text->groups_done)
                return 0;
        text->groups_done = true;
        r = end_overview(text);
        if (r < 0)
                return r;
        /* A daemon that knows of no overview sends the rows of all groups. */
        if (!form->rows && text->has_overview)
                return 0;
        if (!wants_groups(&form->session->options->view))
                return 0;
        r = group_table_end(text->table, &is_empty);
        if (r < 0)
                return r;
        says = is_empty && ((text->knows_matched && text->n_matched == 0) || !later ||
                            !set_reply_is_untested(text->first));
        if (later) {
                FILE *file = TAKE_PTR(text->later);

                if (fclose(file) != 0)
                        return -ENOMEM;
                if (says || text->n_later > 0)
                        (void) putchar('\n');
                if (fwrite(text->later_text, 1, text->n_later, stdout) != text->n_later)
                        return -errno;
        }
        if (says)
                print_nothing(text);
        return 0;
}

static int add_sections(GroupSink *sink, json_object *part) {
        SinkText *text = (SinkText *) sink;
        int r;

        r = end_groups(text);
        return r < 0 ? r : section_tables_add(&text->sections, part);
}

/* hints */

/* Prints "3 more cgroups in memory-stat, 12 in pressure, 1 more process in smaps-rollup". */
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
                noun = n == 1 ? view_table_forms[id].one : view_table_forms[id].many;
                buffer_append_format(&line, "%s%llu", line.n > 0 ? ", " : "",
                                     (unsigned long long) n);
                if (!last_noun || strcmp(noun, last_noun) != 0)
                        buffer_append_format(&line, " more %s", noun);
                buffer_append_format(&line, " in %s", view_table_names[id]);
        }
        if (line.n == 0)
                return buffer_failure(&line);
        buffer_append_text(&line, " (--limit 0)");
        return lines_print_buffer(lines, "", &line);
}

static void print_hidden_rows(FILE *out, const SinkText *text, json_object *reply) {
        bool any_section;
        uint64_t n = number_add_saturating(cell_u64(reply, "hiddenRows"),
                                           section_tables_hidden(&text->sections, &any_section));
        bool has_threshold = text->sink.form->session->options->view.has_threshold;
        const char *rows = n == 1 ? "row" : "rows";

        if (n == 0)
                return;
        if (text->sink.form->kind == REPORT_SETS)
                (void) fprintf(
                        out, "%llu %s hidden that %s\n", (unsigned long long) n, rows,
                        has_threshold ? "did not move by more, or are not significant (--threshold)"
                                      : "are not significant (--all-rows)");
        else if (has_threshold)
                (void) fprintf(out, "%llu %s hidden that did not move by more (--threshold)\n",
                               (unsigned long long) n, rows);
        else
                (void) fprintf(out, "%llu %s %s hidden (--all-rows)\n", (unsigned long long) n,
                               report_settings[text->sink.form->kind].n_lists > 1 ? "unchanged"
                               : any_section                                      ? "empty or zero"
                                                                                  : "empty",
                               rows);
}

static int write_hints(const Lines *lines, const SinkText *text, json_object *reply) {
        static const char elsewhere[] = "a wider terminal or a pipe has it";
        static const char chosen[] = "a wider terminal, a pipe or --columns has it";
        /* Sets have groups of one side; the limit or the threshold may hide some. */
        uint64_t n_before = cell_u64(reply, "groupsOnlyBefore");
        uint64_t n_after = cell_u64(reply, "groupsOnlyAfter");
        uint64_t n_pairings = number_add_saturating(cell_length(cell_member(reply, "pairings")),
                                                    cell_u64(reply, "hiddenPairings"));
        uint64_t n_more = cell_u64(reply, "hiddenGroups");
        uint64_t n_idle = text->accounts ? text->accounts->n_idle : 0;
        _cleanup_(buffer_done) Buffer line = {}, accounts = {}, rows = {};
        const struct {
                const Buffer *names;
                const char *way_out;
        } omitted[] = {
                { &accounts, elsewhere },
                { &rows, text->sink.form->kind == REPORT_SETS ? elsewhere : chosen },
                { &text->sections.omitted, elsewhere },
        };
        int r = 0;

        /* With rows, the groups that were cut have their rows by metric below. */
        if (text->accounts && !text->sink.form->rows &&
            text->accounts->n_rows > text->accounts->max_rows)
                n_more = number_add_saturating(n_more,
                                               text->accounts->n_rows - text->accounts->max_rows);
        if (n_more > 0)
                buffer_append_format(&line, "%llu more group%s (--limit 0)",
                                     (unsigned long long) n_more, n_more == 1 ? "" : "s");
        if (n_idle > 0)
                buffer_append_format(&line, "%s%llu idle group%s (--all-rows)",
                                     n_more > 0 ? "; " : "", (unsigned long long) n_idle,
                                     n_idle == 1 ? "" : "s");
        if (text->accounts)
                r = account_table_print_signs(text->accounts, lines);
        if (r == 0 && text->sink.form->rows) {
                print_hidden_rows(lines->out, text, reply);
                r = line.n > 0 ? lines_print_buffer(lines, "", &line) : 0;
        }
        if (n_before > 0)
                (void) fprintf(lines->out, "%llu group%s only in BEFORE%s",
                               (unsigned long long) n_before, n_before == 1 ? "" : "s",
                               n_after > 0 ? ", " : "");
        if (n_after > 0)
                (void) fprintf(lines->out, "%llu group%s only in AFTER",
                               (unsigned long long) n_after, n_after == 1 ? "" : "s");
        if (n_before > 0 || n_after > 0)
                (void) fputs(": not tested\n", lines->out);
        if (r == 0)
                r = print_cuts(lines, cell_member(reply, "hiddenSections"));
        if (r != 0)
                return r;
        if (text->accounts)
                table_omitted(text->accounts->table, &accounts);
        if (text->sink.form->rows)
                table_omitted(text->table->table, &rows);
        for (size_t i = 0; i < ELEMENTSOF(omitted); i++)
                if (omitted[i].names->n > 0)
                        lines_format(lines, "", "no room for %.*s: %s", (int) omitted[i].names->n,
                                     omitted[i].names->bytes, omitted[i].way_out);
        r = buffer_failure(&accounts) < 0 ? buffer_failure(&accounts) : buffer_failure(&rows);
        if (r != 0 || text->sink.form->rows)
                return r;
        if (n_pairings > 0)
                lines_format(lines, "", "%llu cgroup%s paired by content (--rows lists them)",
                             (unsigned long long) n_pairings, n_pairings == 1 ? "" : "s");
        buffer_append_format(&line, "%sby metric: --rows, --filter, --metrics, --sections",
                             line.n > 0 ? "; " : "");
        return lines_print_buffer(lines, "", &line);
}

/* Prints the last lines: the meaning of signs, the number of hidden rows, and how to see them. */
static int print_hints(const SinkText *text, json_object *reply, FILE *out) {
        const Session *session = text->sink.form->session;
        _cleanup_(freep) char *written = NULL;
        Lines lines = { .terminal = &session->terminal };
        size_t n = 0;
        int r;

        if (!session->is_chatty || options_have(session->options, OPTION_NO_LEGEND))
                return 0;
        lines.out = open_memstream(&written, &n);
        if (!lines.out)
                return -ENOMEM;
        r = write_hints(&lines, text, reply);
        if (fclose(lines.out) != 0)
                return -ENOMEM;
        if (r == 0 && n > 0)
                (void) fprintf(out, "\n%s", written);
        return r;
}

/* a first screen */

/* Writes the overview with at most @max_rows groups, and the hints below it, as a text. */
static int format_below(SinkText *text, json_object *reply, size_t max_rows, char **ret_text,
                        size_t *ret_n) {
        _cleanup_(freep) char *below = NULL;
        size_t n;
        FILE *out = open_memstream(&below, &n);
        int r;

        if (!out)
                return -ENOMEM;
        text->accounts = account_table_free(text->accounts);
        r = new_accounts(text, max_rows, out, &text->accounts);
        for (size_t i = 0; r == 0 && i < cell_length(text->kept); i++)
                account_table_add(text->accounts, cell_element(text->kept, i), false);
        if (r == 0 && text->accounts->begun)
                r = table_end(text->accounts->table);
        if (r == 0)
                r = print_hints(text, reply, out);
        if (fclose(out) != 0)
                return -ENOMEM;
        if (r != 0)
                return r;
        *ret_text = TAKE_PTR(below);
        *ret_n = n;
        return 0;
}

/*
 * Writes as many groups as leave room for the hints and the next prompt below the head. The text of
 * the hints depends on the rows, so rows and hints are written again, with fewer rows each time,
 * until they fit.
 */
static int format_fitting(SinkText *text, json_object *reply, char **ret_text, size_t *ret_n) {
        size_t screen = MAX_OF(text->sink.form->session->terminal.rows, (size_t) SCREEN_LINES);
        size_t max_rows = cell_length(text->kept);

        for (;;) {
                size_t n, n_all = text->n_head_lines + 1;
                _cleanup_(freep) char *below = NULL;
                int r;

                r = format_below(text, reply, max_rows, &below, &n);
                if (r != 0)
                        return r;
                for (size_t i = 0; i < n; i++)
                        n_all += below[i] == '\n';
                text->has_groups = max_rows >= MIN_GROUPS || max_rows == cell_length(text->kept);
                if (!text->fits || n_all <= screen || max_rows <= 1) {
                        *ret_text = TAKE_PTR(below);
                        *ret_n = n;
                        return 0;
                }
                max_rows = max_rows > n_all - screen ? max_rows - (n_all - screen) : 1;
        }
}

/* Prints a first screen. Lines above the groups are cut where these would have too little room. */
static int print_screen(SinkText *text, json_object *reply) {
        static const size_t cuts[] = { 0, 3, 2 };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(cuts); i++) {
                _cleanup_(freep) char *head = NULL, *below = NULL;
                size_t n_head, n_below;

                r = format_head(text, cuts[i], &head, &n_head);
                if (r == 0)
                        r = format_fitting(text, reply, &below, &n_below);
                if (r != 0 || (!text->has_groups && i + 1 < ELEMENTSOF(cuts)))
                        continue;
                if (fwrite(head, 1, n_head, stdout) != n_head ||
                    fwrite(below, 1, n_below, stdout) != n_below)
                        return -errno;
                return 0;
        }
        return r;
}

static int end(GroupSink *sink, json_object *reply) {
        SinkText *text = (SinkText *) sink;
        const GroupForm *form = sink->form;
        const ReportSetting *setting = &report_settings[form->kind];
        int r;

        r = end_groups(text);
        if (r == 0 && text->is_kept && text->has_overview)
                return print_screen(text, reply);
        /* A view without sections has none to explain. */
        if (r == 0 && form->rows && setting->has_sections)
                r = section_tables_end(&text->sections);
        if (r == 0 && form->rows)
                r = pairing_table_print(form->session, reply);
        for (size_t i = 0; r == 0 && form->rows && i + 1 < setting->n_lists; i++)
                r = one_sided_print(&text->only[i], form->session, setting->labels[i],
                                    text->user_hz, cell_u64(reply, setting->hidden[i]));
        return r < 0 ? r : print_hints(text, reply, stdout);
}

static void done(GroupSink *sink) {
        SinkText *text = (SinkText *) sink;

        (void) json_object_put(text->first);
        (void) json_object_put(text->command);
        (void) json_object_put(text->kept);
        text->accounts = account_table_free(text->accounts);
        text->table = group_table_free(text->table);
        if (text->later)
                (void) fclose(text->later);
        free(text->later_text);
        section_tables_done(&text->sections);
        for (size_t i = 0; i < 2; i++)
                for (size_t k = 0; k < text->only[i].n_kept; k++)
                        (void) json_object_put(text->only[i].groups[k]);
}

const GroupSinkType sink_text = { .size = sizeof(SinkText),
                                  .begin = begin,
                                  .overview = add_accounts,
                                  .groups = add_groups,
                                  .sections = add_sections,
                                  .end = end,
                                  .done = done };
