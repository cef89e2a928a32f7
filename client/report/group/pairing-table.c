/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/pairing-table.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/name.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/table.h"
#include "session/complain.h"

/* In the words of the command line. */
static const char *origin_of(json_object *pairing) {
        Span by = cell_string(cell_member(pairing, "by"));

        if (span_is(by, "stated"))
                return "--pair";
        return span_is(by, "parent") ? "parent" : "content";
}

static void add_pairing(Table *table, json_object *pairing) {
        json_object *jaccard = cell_member(pairing, "jaccard");
        Buffer *cell;

        cell_append_text(table_cell(table), cell_member(pairing, "before"));
        cell_append_text(table_cell(table), cell_member(pairing, "after"));
        cell_append_number(table_cell(table), cell_member(pairing, "shared"), QUANTITY_LADDER_NONE);
        cell = table_cell(table);
        if (jaccard) /* cgroups without threads have none */
                buffer_append_format(cell, "%.1f%%", 100 * json_object_get_double(jaccard));
        buffer_append_text(table_cell(table), origin_of(pairing));
        table_end_row(table, 0);
}

int pairing_table_print(const Session *session, json_object *reply) {
        static const TableColumn columns[] = {
                { .header = "before", .shrink_to = 12 },
                { .header = "after", .shrink_to = 12 },
                { .header = "shared", .right = true },
                { .header = "Jaccard", .right = true },
                { .header = "by" },
        };
        json_object *pairings = cell_member(reply, "pairings");
        uint64_t n_hidden = json_object_get_uint64(cell_member(reply, "hiddenPairings"));
        uint64_t n = number_add_saturating(cell_length(pairings), n_hidden);
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        if (n == 0)
                return 0;
        (void) printf("\nPaired by content (%llu cgroup%s)\n", (unsigned long long) n,
                      n == 1 ? "" : "s");
        r = table_new(columns, ELEMENTSOF(columns), &session->terminal, session_legend(session),
                      stdout, &table);
        if (r < 0)
                return r;
        if (options_have(session->options, OPTION_WRAP))
                table_set_wrap(table);
        for (size_t i = 0; i < cell_length(pairings); i++)
                add_pairing(table, cell_element(pairings, i));
        r = table_end(table);
        if (r == 0 && n_hidden > 0)
                (void) printf("and %llu more\n", (unsigned long long) n_hidden);
        return r;
}

/* Whether a name of a reply stands for the bytes of @key. */
static bool is_name_of(json_object *name, Span key) {
        _cleanup_(buffer_done) Buffer bytes = {};

        return name_unescape(&bytes, cell_string(name)) == 0 &&
               span_equal(buffer_span(&bytes), key);
}

static bool was_matched(json_object *pairings, Span old, Span new) {
        for (size_t i = 0; i < cell_length(pairings); i++) {
                json_object *pairing = cell_element(pairings, i);

                if (is_name_of(cell_member(pairing, "before"), old) &&
                    is_name_of(cell_member(pairing, "after"), new))
                        return true;
        }
        return false;
}

void pairing_warn_unmatched(const View *view, json_object *reply) {
        json_object *pairings = cell_member(reply, "pairings");
        char old_quoted[QUOTE_BYTES], new_quoted[QUOTE_BYTES];

        for (unsigned i = 0; pairings && i + 1 < view->pairs.n; i += 2) {
                Span old = view_texts_get(&view->pairs, i),
                     new = view_texts_get(&view->pairs, i + 1);

                if (!was_matched(pairings, old, new))
                        (void) complain(STATUS_DONE,
                                        "--pair %s=%s paired nothing: one has to have threads, or "
                                        "cgroups with threads below it, only in BEFORE, the other "
                                        "only in AFTER.",
                                        quote_span(old, old_quoted), quote_span(new, new_quoted));
        }
}
