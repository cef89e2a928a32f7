/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/one-sided.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/name.h"
#include "base/number.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "render/table.h"
#include "report/group/group-columns.h"
#include "report/overview/group-label.h"
#include "session/complain.h"

/* These tell at a glance how much a group matters. */
static const MetricId main_figures[] = {
        METRIC_run_time_ns,
        METRIC_wait_time_ns,
        METRIC_voluntary_csw,
        METRIC_hiwater_rss_bytes,
};

#define MAX_FIGURES ELEMENTSOF(main_figures)
#define NAME_BYTES 64 /* of a metric; longer ones are cut */

/* The columns of the list; the reply has only the metrics that were asked for. */
typedef struct Figures {
        MetricId ids[MAX_FIGURES];
        size_t n;
} Figures;

static Figures choose_figures(const View *view) {
        Figures figures = { .n = 0 };

        for (size_t i = 0; i < MAX_FIGURES; i++)
                if (view_wants_metric(view, main_figures[i]))
                        figures.ids[figures.n++] = main_figures[i];
        if (figures.n > 0)
                return figures;
        for (unsigned id = 0; figures.n < MAX_FIGURES && id < _METRIC_MAX; id++)
                if (view_wants_metric(view, (MetricId) id))
                        figures.ids[figures.n++] = (MetricId) id;
        return figures;
}

void one_sided_add(OneSided *list, json_object *group) {
        json_object *entry =
                cell_member(cell_member(group, "metrics"), metric_table[METRIC_run_time_ns].name);
        Quantity run_time = {};
        size_t at;

        list->n_groups++;
        if (!cell_quantity(cell_member(entry, "value"), &run_time))
                list->lacks_run_times = true;
        at = list->n_kept;
        while (at > 0 && quantity_compare_magnitude(run_time, list->run_times[at - 1]) > 0)
                at--;
        if (at == ONE_SIDED_SHOWN)
                return;

        if (list->n_kept == ONE_SIDED_SHOWN)
                (void) json_object_put(list->groups[ONE_SIDED_SHOWN - 1]);
        else
                list->n_kept++;
        memmove(&list->groups[at + 1], &list->groups[at],
                (list->n_kept - at - 1) * sizeof(list->groups[0]));
        memmove(&list->run_times[at + 1], &list->run_times[at],
                (list->n_kept - at - 1) * sizeof(list->run_times[0]));
        list->groups[at] = json_object_get(group);
        list->run_times[at] = run_time;
}

int one_sided_print(const OneSided *list, const Session *session, const char *side,
                    uint32_t user_hz, uint64_t n_hidden) {
        _cleanup_(table_freep) Table *table = NULL;
        bool raw = options_have(session->options, OPTION_RAW);
        uint64_t n_groups = number_add_saturating(list->n_groups, n_hidden);
        const Figures figures = choose_figures(&session->options->view);
        char names[MAX_FIGURES][NAME_BYTES];
        TableColumn columns[2 + MAX_FIGURES] = {
                { .header = view_axis_headers[session->options->view.axis],
                  .shrink_to = 12,
                  .keep_end = session->options->view.axis == VIEW_AXIS_CGROUP },
                { .header = "threads", .right = true },
        };
        int r;

        if (n_groups == 0)
                return 0;
        (void) printf("\nonly in %s (%llu group%s)\n", side, (unsigned long long) n_groups,
                      n_groups == 1 ? "" : "s");
        for (size_t i = 0; i < figures.n; i++) {
                const char *name = metric_table[figures.ids[i]].name;
                Span text = group_metric_text(name);

                (void) snprintf(names[i], NAME_BYTES, "%.*s", (int) text.n, text.bytes);
                columns[2 + i] = (TableColumn){ .header = raw ? name : names[i], .right = true };
        }
        r = table_new(columns, 2 + figures.n, &session->terminal, session->legend, stdout, &table);
        if (r < 0)
                return r;
        if (options_have(session->options, OPTION_WRAP))
                table_set_wrap(table);
        for (size_t i = 0; i < list->n_kept; i++) {
                json_object *group = list->groups[i], *metrics = cell_member(group, "metrics");

                group_label_append(table_cell(table), group);
                cell_append_number(table_cell(table), cell_member(group, "threads"),
                                   QUANTITY_LADDER_NONE);
                for (size_t k = 0; k < figures.n; k++) {
                        const Metric *metric = &metric_table[figures.ids[k]];
                        json_object *entry = cell_member(metrics, metric->name),
                                    *value = cell_member(entry, "value");
                        const CellStyle style = { .unit = metric->unit,
                                                  .raw = raw,
                                                  .user_hz = user_hz };

                        /* The value of a sum is a rate if it is of an interval. */
                        if (value && json_object_get_boolean(cell_member(entry, "perSecond")))
                                cell_append_per_second(table_cell(table), value, &style);
                        else
                                cell_append_value(table_cell(table), value, &style);
                }
                table_end_row(table, 0);
        }
        r = table_end(table);
        if (r == 0 && n_groups > list->n_kept)
                (void) printf("and %llu more%s\n", (unsigned long long) (n_groups - list->n_kept),
                              n_hidden > 0 || list->lacks_run_times ? "" : " that ran less");
        return r;
}

/* pairings */

int pairing_table_print(const Session *session, json_object *reply) {
        static const TableColumn columns[] = {
                { .header = "before", .shrink_to = 12 },
                { .header = "after", .shrink_to = 12 },
                { .header = "shared", .right = true },
                { .header = "Jaccard", .right = true },
                { .header = "by" },
        };
        json_object *pairings = cell_member(reply, "pairings");
        uint64_t n_hidden = cell_u64(reply, "hiddenPairings");
        uint64_t n = number_add_saturating(cell_length(pairings), n_hidden);
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        if (n == 0)
                return 0;
        (void) printf("\nPaired by content (%llu cgroup%s)\n", (unsigned long long) n,
                      n == 1 ? "" : "s");
        r = table_new(columns, ELEMENTSOF(columns), &session->terminal, session->legend, stdout,
                      &table);
        if (r < 0)
                return r;
        if (options_have(session->options, OPTION_WRAP))
                table_set_wrap(table);
        for (size_t i = 0; i < cell_length(pairings); i++) {
                json_object *pairing = cell_element(pairings, i);
                json_object *jaccard = cell_member(pairing, "jaccard");
                Span by = cell_string(cell_member(pairing, "by"));
                Buffer *cell;

                cell_append_text(table_cell(table), cell_member(pairing, "before"));
                cell_append_text(table_cell(table), cell_member(pairing, "after"));
                cell_append_number(table_cell(table), cell_member(pairing, "shared"),
                                   QUANTITY_LADDER_NONE);
                cell = table_cell(table);
                if (jaccard) /* cgroups without threads have none */
                        buffer_append_format(cell, "%.1f%%", 100 * json_object_get_double(jaccard));
                /* The words are those of the command line. */
                buffer_append_text(table_cell(table), span_is(by, "stated")   ? "--pair"
                                                      : span_is(by, "parent") ? "parent"
                                                                              : "content");
                table_end_row(table, 0);
        }
        r = table_end(table);
        if (r == 0 && n_hidden > 0)
                (void) printf("and %llu more\n", (unsigned long long) n_hidden);
        return r;
}

/* Returns whether a name of a reply stands for the bytes of @key. */
static bool is_name_of(json_object *name, Span key) {
        _cleanup_(buffer_done) Buffer bytes = {};

        return name_unescape(&bytes, cell_string(name)) == 0 &&
               span_equal(buffer_span(&bytes), key);
}

void pairing_warn_unmatched(const View *view, json_object *reply) {
        json_object *pairings = cell_member(reply, "pairings");
        char old_quoted[QUOTE_BYTES], new_quoted[QUOTE_BYTES];

        for (unsigned i = 0; pairings && i + 1 < view->pairs.n; i += 2) {
                Span old = view_texts_get(&view->pairs, i),
                     new = view_texts_get(&view->pairs, i + 1);
                bool was_matched = false;

                for (size_t k = 0; k < cell_length(pairings) && !was_matched; k++) {
                        json_object *pairing = cell_element(pairings, k);

                        was_matched = is_name_of(cell_member(pairing, "before"), old) &&
                                      is_name_of(cell_member(pairing, "after"), new);
                }
                if (!was_matched)
                        (void) complain(STATUS_DONE,
                                        "--pair %s=%s paired nothing: one has to have threads, or "
                                        "cgroups with threads below it, only in BEFORE, the other "
                                        "only in AFTER.",
                                        quote_span(old, old_quoted), quote_span(new, new_quoted));
        }
}
