/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view-sort.h"

#include <stdio.h>
#include <string.h>

#include "base/name.h"

#define ORDER_NAME(id, name) name,
static const char *const order_names[] = { VIEW_ORDERS(ORDER_NAME) };

#define OFFERED(id, name) name ", "
#define OFFERED_COLUMN(id, name, ...) name ", "

#define COLUMN_ROW(id, name_, made_of, ...)                             \
        [VIEW_COLUMN_##id] = {                                          \
                .name = (name_),                                        \
                .is_sum = COLUMN_IS_##made_of,                          \
                .n_metrics = ELEMENTSOF(((MetricId[]){ __VA_ARGS__ })), \
                .metrics = { __VA_ARGS__ },                             \
        },
enum { COLUMN_IS_FIRST = false, COLUMN_IS_SUM = true };
const ViewColumnRow view_columns[_VIEW_COLUMN_MAX] = { VIEW_COLUMNS(COLUMN_ROW) };

ViewColumn view_column_find(Span name) {
        static const Span tail = SPAN_LITERAL("/s");
        unsigned id = 0;

        if (name.n > tail.n && span_equal((Span){ name.bytes + name.n - tail.n, tail.n }, tail))
                name.n -= tail.n;
        while (id < _VIEW_COLUMN_MAX && !span_is(name, view_columns[id].name))
                id++;
        return (ViewColumn) id;
}

static int find_key(Span word, ViewSortKey *ret, char *ret_complaint) {
        char folded[VIEW_WORD_CHARS], quoted[VIEW_QUOTED_BYTES];
        Span name = view_fold_case(word, folded);
        MetricId metric = metric_find(name);
        DerivedId derived = derived_find(name);
        ViewColumn column = view_column_find(name);

        if (metric < _METRIC_MAX && metric_table[metric].shape == METRIC_SHAPE_MODE)
                return view_complain(ret_complaint,
                                     "Groups cannot be ordered by %s: its values are words, not "
                                     "numbers.",
                                     metric_table[metric].name);
        if (metric < _METRIC_MAX && metric_is_momentary(metric))
                return view_complain(ret_complaint,
                                     "Groups cannot be ordered by %s: it says where a thread was "
                                     "found, and is not a quantity.",
                                     metric_table[metric].name);
        if (name_find(name, order_names, _VIEW_ORDER_WORDS) < _VIEW_ORDER_WORDS)
                return view_complain(ret_complaint,
                                     "The order \"%s\" stands alone, without a direction and other "
                                     "keys.",
                                     view_quote(name, quoted));
        if (metric < _METRIC_MAX)
                *ret = (ViewSortKey){ VIEW_KEY_METRIC, ret->ascending, (uint8_t) metric };
        else if (derived < _DERIVED_MAX)
                *ret = (ViewSortKey){ VIEW_KEY_DERIVED, ret->ascending, (uint8_t) derived };
        else if (column < _VIEW_COLUMN_MAX)
                *ret = (ViewSortKey){ VIEW_KEY_COLUMN, ret->ascending, (uint8_t) column };
        else
                return view_complain_unknown(
                        ret_complaint, "order", word, metric_nearest_name(name),
                        VIEW_ORDERS(OFFERED)
                                VIEW_COLUMNS(OFFERED_COLUMN) "and the metrics that "
                                                             "\"ctprofctl metric-list\" shows");
        return VIEW_OK;
}

static int add_key(ViewSort *sort, Span entry, char *ret_complaint) {
        char folded[VIEW_WORD_CHARS], quoted[VIEW_QUOTED_BYTES];
        ViewSortKey key = { .id = 0 };
        Span whole = entry, direction;
        const char *colon;
        int r;

        if (entry.n == 0)
                return view_complain(ret_complaint,
                                     "The order has an empty entry: separate names by one comma "
                                     "each.");
        /* ":asc" or ":desc" begins at the first colon. */
        colon = memchr(entry.bytes, ':', entry.n);
        if (colon) {
                direction = (Span){ colon + 1, entry.n - (size_t) (colon + 1 - entry.bytes) };
                direction = view_fold_case(view_trim(direction), folded);
                entry = view_trim((Span){ entry.bytes, (size_t) (colon - entry.bytes) });
                key.ascending = span_is(direction, "asc");
                if (!key.ascending && !span_is(direction, "desc"))
                        return view_complain(
                                ret_complaint,
                                "\"%s\" in the order has no direction behind its colon: it is "
                                "asc or desc.",
                                view_quote(whole, quoted));
        }
        r = find_key(entry, &key, ret_complaint);
        if (r != VIEW_OK)
                return r;
        for (unsigned i = 0; i < sort->n_keys; i++)
                if (sort->keys[i].kind == key.kind && sort->keys[i].id == key.id)
                        return view_complain(ret_complaint,
                                             "The order names \"%s\" twice: name it once.",
                                             view_quote(entry, quoted));
        if (sort->n_keys >= VIEW_SORT_MAX_KEYS)
                return view_complain(ret_complaint, "The order has more than %u keys.",
                                     VIEW_SORT_MAX_KEYS);
        sort->keys[sort->n_keys++] = key;
        return VIEW_OK;
}

int view_sort_parse(Span text, ViewSort *ret, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        Span rest = { text.bytes ? text.bytes : "", text.n }, entry;
        ViewSort sort = { .order = VIEW_ORDER_METRICS };
        char folded[VIEW_WORD_CHARS];
        int r;

        sort.order = (ViewOrder) name_find(view_fold_case(view_trim(rest), folded), order_names,
                                           _VIEW_ORDER_WORDS);
        while (sort.order == VIEW_ORDER_METRICS && view_next_entry(&rest, &entry)) {
                r = add_key(&sort, entry, ret_complaint);
                if (r != VIEW_OK)
                        return r;
        }
        *ret = sort;
        return VIEW_OK;
}

void view_sort_write_json(JsonWriter *writer, const ViewSort *sort) {
        char text[VIEW_SORT_MAX_KEYS * (VIEW_WORD_CHARS + 8)] = "";
        size_t n = 0;

        if (sort->order < _VIEW_ORDER_WORDS) {
                json_write_text(writer, order_names[sort->order]);
                return;
        }
        for (unsigned i = 0; i < sort->n_keys; i++) {
                const ViewSortKey *key = &sort->keys[i];
                const char *name = key->kind == VIEW_KEY_METRIC    ? metric_table[key->id].name
                                   : key->kind == VIEW_KEY_DERIVED ? derived_table[key->id].name
                                                                   : view_columns[key->id].name;

                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s%s", i > 0 ? "," : "", name,
                                       key->ascending ? ":asc" : "");
        }
        json_write_text(writer, text);
}
