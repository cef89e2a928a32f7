/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/account-cell.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/cell.h"
#include "render/compact.h"
#include "render/printable.h"
#include "session/complain.h"
#include "view/view-sort.h"
#include "view/view-words.h"

#define ARROW "\u2192"
#define MINUS "\u2212"
#define BAR_CELLS 12
#define OFFERED(id, name, ...) ", " name
#define EXTRA UINT_MAX /* a column that is there if there is room for it */
/* A column of locks is there for so many seconds in each second, or for so many in whole lives. */
#define LEAST_TOLD 0.01
#define LEAST_TOLD_NS 10e6
/* A wait has moved by so many seconds in each second, and by such a share of the larger side. */
#define LEAST_MOVED 0.05
#define LEAST_MOVED_SHARE 0.1
#define LEAST_WEIGHT 0.01
#define MOST_SHARE 0.8
#define WAITS_COLUMNS 12 /* room for one reason of short figures */

/* A time is written as CPUs or a duration, and a level has no rate. */
typedef enum Figure { FIGURE_NONE, FIGURE_TIME, FIGURE_COUNT, FIGURE_BYTES, FIGURE_LEVEL } Figure;

static const struct {
        const char *name;        /* as it is chosen; NULL: it cannot be */
        const char *rate, *life; /* headers */
        const char *key;         /* of an account */
        const char *exact;       /* the member that is false if the figure is approximate */
        Figure figure;
        unsigned omit;
} columns[_ACCOUNT_COLUMN_MAX] = {
        [ACCOUNT_COLUMN_GROUP] = { "group", "GROUP", "GROUP", NULL, NULL, FIGURE_NONE, 0 },
        [ACCOUNT_COLUMN_THREADS] = { "threads", "THREADS", "THREADS", NULL, NULL, FIGURE_NONE, 0 },
        [ACCOUNT_COLUMN_CPU] = { "cpu", "CPU", "CPU", "runningNs", NULL, FIGURE_TIME, 0 },
        [ACCOUNT_COLUMN_WAIT] = { "wait", "WAIT", "WAIT", "waitingNs", NULL, FIGURE_TIME, 5 },
        [ACCOUNT_COLUMN_STORAGE] = { "io", "IO", "IO", "storageNs", "exact", FIGURE_TIME, 4 },
        [ACCOUNT_COLUMN_LOCK] = { "lock", "LOCK", "LOCK", "reasons", NULL, FIGURE_TIME, 1 },
        [ACCOUNT_COLUMN_BLOCKED] = { "blocked", "BLOCKED", "BLOCKED", "blockedNs", NULL,
                                     FIGURE_TIME, 2 },
        [ACCOUNT_COLUMN_SWITCHES] = { "switch", "SWITCH/S", "SWITCHES", "switches", NULL,
                                      FIGURE_COUNT, 10 },
        [ACCOUNT_COLUMN_READ] = { "read", "READ/S", "READ", "readBytes", NULL, FIGURE_BYTES, 8 },
        [ACCOUNT_COLUMN_WRITE] = { "write", "WRITE/S", "WRITE", "writeBytes", "writeExact",
                                   FIGURE_BYTES, 9 },
        [ACCOUNT_COLUMN_RSS] = { "rss", "RSS", "RSS", "rssBytes", NULL, FIGURE_LEVEL, 3 },
        [ACCOUNT_COLUMN_FAULTS] = { "majflt", "MAJFLT/S", "MAJFLT", "majorFaults", NULL,
                                    FIGURE_COUNT, EXTRA },
        [ACCOUNT_COLUMN_PEAK] = { "peak-rss", "PEAK-RSS", "PEAK-RSS", "peakRssBytes", NULL,
                                  FIGURE_LEVEL, EXTRA },
        [ACCOUNT_COLUMN_STARTER] = { NULL, "STARTED BY", "STARTED BY", NULL, NULL, FIGURE_NONE, 6 },
        [ACCOUNT_COLUMN_WAITS] = { NULL, "WAITS FOR", "WAITS FOR", NULL, NULL, FIGURE_NONE, 7 },
        [ACCOUNT_COLUMN_BAR] = { NULL, "TIME", "TIME", NULL, NULL, FIGURE_NONE, EXTRA },
};

/* columns that a user may choose */

int account_columns_parse(const char *list, AccountColumns *ret,
                          char ret_complaint[static ACCOUNT_COLUMNS_COMPLAINT_BYTES]) {
        AccountColumns chosen = { .is_added = list[strspn(list, " ")] == '+' };
        Span rest = span_of(list + strspn(list, " ") + chosen.is_added), entry, other = {};
        char quoted[QUOTE_BYTES], folded[VIEW_WORD_CHARS];
        bool is_ours = false, has[_ACCOUNT_COLUMN_MAX] = {};

        while (view_next_entry(&rest, &entry)) {
                Span name = view_fold_case(entry, folded);
                ViewColumn known = view_column_find(name);
                unsigned id = 0;

                if (known < _VIEW_COLUMN_MAX)
                        name = span_of(view_columns[known].name);
                while (id < _ACCOUNT_COLUMN_MAX &&
                       !(columns[id].name && span_is(name, columns[id].name)))
                        id++;
                if (id == _ACCOUNT_COLUMN_MAX) {
                        other = other.bytes ? other : entry;
                        continue;
                }
                /* Tables of rows have these two, too. */
                is_ours = is_ours || (id != ACCOUNT_COLUMN_GROUP && id != ACCOUNT_COLUMN_THREADS);
                if (has[id]) {
                        (void) snprintf(ret_complaint, ACCOUNT_COLUMNS_COMPLAINT_BYTES,
                                        "The column %s is named twice: name it once.",
                                        quote_span(entry, quoted));
                        return ACCOUNT_COLUMNS_E_INVALID;
                }
                has[id] = true;
                chosen.ids[chosen.n++] = (AccountColumn) id;
        }
        if (!is_ours)
                return ACCOUNT_COLUMNS_E_OTHERS;
        if (other.bytes) {
                (void) snprintf(ret_complaint, ACCOUNT_COLUMNS_COMPLAINT_BYTES,
                                "%s is no column of the overview, which has group, "
                                "threads" VIEW_COLUMNS(OFFERED) ": columns of rows stand in a list "
                                                                "of their own.",
                                quote_span(other, quoted));
                return ACCOUNT_COLUMNS_E_INVALID;
        }
        if (!has[ACCOUNT_COLUMN_GROUP]) {
                memmove(&chosen.ids[1], &chosen.ids[0], chosen.n++ * sizeof(chosen.ids[0]));
                chosen.ids[0] = ACCOUNT_COLUMN_GROUP;
        }
        *ret = chosen;
        return ACCOUNT_COLUMNS_OK;
}

static json_object *figure_of(json_object *account, AccountColumn column) {
        json_object *reasons;

        if (column != ACCOUNT_COLUMN_LOCK)
                return columns[column].key ? cell_member(account, columns[column].key) : NULL;
        /* Sets tell of one reason only. */
        reasons = cell_member(account, "reasons");
        return reasons ? cell_member(reasons, "lock") : cell_member(account, "lockNs");
}

TableColumn account_column(AccountColumn column, const ReportSetting *setting) {
        bool is_text = column == ACCOUNT_COLUMN_GROUP || column == ACCOUNT_COLUMN_BAR ||
                       column == ACCOUNT_COLUMN_STARTER || column == ACCOUNT_COLUMN_WAITS;

        return (TableColumn){
                .header = column == ACCOUNT_COLUMN_RSS && setting->of_medians ? "GROWTH/S"
                          : setting->has_begin                                ? columns[column].rate
                                               : columns[column].life,
                .right = !is_text,
                .omit = columns[column].omit == EXTRA ? 0 : columns[column].omit,
                .idle_first = columns[column].omit > 0,
                .extra = columns[column].omit == EXTRA,
                /* These columns stand once a row has something to say. */
                .absent = column == ACCOUNT_COLUMN_LOCK || column == ACCOUNT_COLUMN_BLOCKED ||
                          column == ACCOUNT_COLUMN_STARTER || column == ACCOUNT_COLUMN_WAITS ||
                          (setting->of_medians &&
                           (column == ACCOUNT_COLUMN_SWITCHES || column == ACCOUNT_COLUMN_FAULTS ||
                            column == ACCOUNT_COLUMN_PEAK)),
                .only_told = column == ACCOUNT_COLUMN_RSS,
                .give_to = column == ACCOUNT_COLUMN_WAITS ? WAITS_COLUMNS : 0,
        };
}

/* threads: "12", "12 +3 −1", "431 ended", "12→14", "9→5 ended", "4 new", "2 gone" */

/*
 * Appends how many there are at the end of each. Where no thread is left at either end, the group
 * is known by those that ended.
 */
static void append_two_counts(Buffer *cell, json_object *first, json_object *second) {
        unsigned long long a = cell_u64(first, "threads"), b = cell_u64(second, "threads");
        unsigned long long a_ended = cell_u64(first, "ended") + cell_u64(first, "bornAndEnded");
        unsigned long long b_ended = cell_u64(second, "ended") + cell_u64(second, "bornAndEnded");
        bool ended = a == 0 && b == 0 && (a_ended > 0 || b_ended > 0);

        if (ended) {
                a = a_ended;
                b = b_ended;
                buffer_append_format(cell, "%llu", a);
        } else {
                cell_append_number(cell, cell_member(first, "threads"), QUANTITY_LADDER_NONE);
        }
        if (a != b)
                buffer_append_format(cell, ARROW "%llu", b);
        if (ended)
                buffer_append_text(cell, " ended");
}

static void append_threads(Buffer *cell, json_object *row, const ReportSetting *setting) {
        json_object *accounts = cell_member(row, "accounts");
        json_object *first = cell_element(accounts, 0), *second = cell_element(accounts, 1);
        json_object *last = second ? second : first;
        Span only = cell_string(cell_member(row, "only"));
        bool is_gone = span_is(only, "before") || span_is(only, "a");
        bool is_new = span_is(only, "after") || span_is(only, "b");
        unsigned long long n = cell_u64(is_new ? last : first, "threads");
        unsigned long long born = cell_u64(first, "born"), ended = cell_u64(first, "ended"),
                           short_lived = cell_u64(first, "bornAndEnded");
        uint64_t n_ended;
        /* All threads of such a group were born and ended inside. */
        bool is_short_lived = short_lived > 0 && n == 0 && born == 0 && ended == 0;

        if (is_new && n == 0) {
                n_ended = cell_u64(last, "ended") + cell_u64(last, "bornAndEnded");
                buffer_append_format(cell, "%llu ended", (unsigned long long) n_ended);
        } else if (is_new) {
                buffer_append_format(cell, "%llu new", n);
        } else if (!is_gone && setting->n_columns == 2) {
                append_two_counts(cell, first, second);
        } else if (is_short_lived && (is_gone || setting->has_begin)) {
                buffer_append_format(cell, "%llu ended", short_lived);
        } else if (is_gone) {
                /* The group may have had no threads at the end, but some that ended. */
                buffer_append_format(cell, "%llu gone", n > 0 ? n : ended);
        } else {
                cell_append_number(cell, cell_member(first, "threads"), QUANTITY_LADDER_NONE);
                /* Threads that were born and ended count with both, so that the cell adds up. */
                if (setting->has_begin && born + short_lived > 0)
                        buffer_append_format(cell, " +%llu", born + short_lived);
                if (setting->has_begin && ended + short_lived > 0)
                        buffer_append_format(cell, " " MINUS "%llu", ended + short_lived);
        }
}

/* figures */

static void append_raw(Buffer *cell, double value) {
        buffer_append_format(cell,
                             value < 0x1p53 && value == (double) (uint64_t) value ? "%.0f" : "%.6g",
                             value);
}

/* memory */

#define LEAST_RSS_BYTES (8.0 * 1024 * 1024) /* in an interval, or of medians in a minute */
#define LEAST_RSS_SHARE 0.05

/* Appends a number of bytes, or "-" for a side of which it is not known. */
static void append_level(Buffer *cell, bool known, double bytes, const AccountStyle *style) {
        if (!known)
                buffer_append_byte(cell, '-');
        else if (style->raw)
                append_raw(cell, bytes);
        else
                compact_append_bytes(cell, bytes);
}

/* Appends both with an arrow between them, or once what both read. */
static void append_both(Buffer *cell, const Buffer *before, const Buffer *after) {
        buffer_append(cell, before->bytes, before->n);
        if (span_equal(buffer_span(before), buffer_span(after)))
                return;
        buffer_append_text(cell, ARROW);
        buffer_append(cell, after->bytes, after->n);
}

/*
 * Appends the levels at the begin and the end of a column, or at the ends of two, where they
 * changed by much, which is 8 MiB and 5 %; in columns that have a begin, they did inside one. A
 * heap that grows in memory that the process had before shows in no level. Medians have how fast
 * memory grew in a second.
 */
static void append_rss(Buffer *cell, json_object *row, const AccountStyle *style) {
        const ReportSetting *setting = style->setting;
        bool is_one = setting->n_columns == 1, is_wanted = false, known[2];
        json_object *accounts = cell_member(row, "accounts");
        json_object *first = cell_element(accounts, 0), *last = cell_element(accounts, !is_one);
        double heap = json_object_get_double(cell_member(last, "heapGrowthBytes"));
        double begins[2], ends[2], from, to;
        _cleanup_(buffer_done) Buffer before = {}, after = {};
        bool heap_grew;

        for (size_t side = 0; side < 2; side++) {
                json_object *account = cell_element(accounts, side);
                json_object *begin = cell_member(account, "rssBeforeBytes");
                json_object *end = cell_member(account, "rssBytes");

                begins[side] = json_object_get_double(begin);
                ends[side] = json_object_get_double(end);
                /*
                 * An interval counts processes whose memory is known at both ends, and at one those
                 * that were born or ended: where it knows one end only, none were at the other.
                 */
                known[side] = begin || end || cell_member(account, "memoryGrowthBytes");
                is_wanted = is_wanted ||
                            fabs(ends[side] - begins[side]) >=
                                    MAX_OF(LEAST_RSS_BYTES, LEAST_RSS_SHARE * begins[side]);
        }
        heap_grew = heap >= MAX_OF(LEAST_RSS_BYTES, LEAST_RSS_SHARE * ends[!is_one]);
        from = is_one && setting->has_begin ? begins[0] : ends[0];
        to = ends[!is_one];
        if (setting->of_medians) {
                from = json_object_get_double(cell_member(first, "memoryGrowthBytes"));
                to = json_object_get_double(cell_member(last, "memoryGrowthBytes"));
                is_wanted = MAX_OF(from, to) >= LEAST_RSS_BYTES / 60;
        } else if (setting->has_begin) {
                is_wanted = is_wanted || (!is_one && heap_grew);
        } else {
                is_wanted = fabs(to - from) >= MAX_OF(LEAST_RSS_BYTES, LEAST_RSS_SHARE * from);
        }
        if (setting->has_begin && is_one && !is_wanted && heap_grew) {
                buffer_append_text(cell, "heap +");
                append_level(cell, true, heap, style);
        } else if ((known[0] || known[1]) && (is_wanted || style->all_rss)) {
                append_level(&before, known[0], from, style);
                append_level(&after, known[!is_one], to, style);
                append_both(cell, &before, &after);
        } else {
                buffer_append_byte(cell, '-');
        }
}

/*
 * Appends a figure, with "~" in front if it is one and is approximate. It is a rate if the kind has
 * rates and the figure is no level.
 */
static void append_side(Buffer *cell, AccountColumn column, json_object *account, size_t side,
                        const AccountStyle *style, AccountSigns *signs) {
        const char *exact = columns[column].exact;
        json_object *is_exact = exact ? cell_member(account, exact) : NULL;
        json_object *cuts = cell_member(account, "cut"), *value = figure_of(account, column);
        json_object *at_most =
                column == ACCOUNT_COLUMN_WRITE ? cell_member(account, "writeAtMostBytes") : NULL;
        bool moved = column == ACCOUNT_COLUMN_CPU && cell_u64(account, "leftOut") > 0 && value;
        bool inexact = json_object_is_type(is_exact, json_type_boolean) &&
                       !json_object_get_boolean(is_exact) && json_object_get_double(value) > 0;
        bool is_rate = style->setting->has_begin && columns[column].figure != FIGURE_LEVEL;
        bool cut = false;
        json_object *own = cell_member(account, "elapsedNs");
        double elapsed_ns = own ? json_object_get_double(own) : (double) style->elapsed_ns[side];
        double figure;
        Quantity quantity;

        for (size_t i = 0; i < cell_length(cuts) && columns[column].key; i++)
                cut = cut || span_is(cell_string(cell_element(cuts, i)), columns[column].key);
        if (moved || inexact || cut) {
                signs->moved = signs->moved || moved;
                signs->cut = signs->cut || cut;
                signs->storage = signs->storage || (inexact && column == ACCOUNT_COLUMN_STORAGE);
                signs->writes = signs->writes || (inexact && column == ACCOUNT_COLUMN_WRITE);
                if (!style->raw)
                        buffer_append_byte(cell, '~');
        }
        value = at_most ? at_most : value;
        if (!cell_quantity(value, &quantity) || (is_rate && elapsed_ns <= 0)) {
                buffer_append_byte(cell, '-');
                return;
        }
        figure = json_object_get_double(value);
        if (is_rate)
                figure /= columns[column].figure == FIGURE_TIME ? elapsed_ns
                                                                : elapsed_ns / NSEC_PER_SEC;
        if (style->raw)
                append_raw(cell, figure);
        else if (columns[column].figure == FIGURE_COUNT)
                compact_append_count(cell, figure);
        else if (columns[column].figure != FIGURE_TIME)
                compact_append_bytes(cell, figure);
        else if (is_rate)
                compact_append_cpus(cell, figure);
        else
                compact_append_span(cell, figure);
}

static bool is_nothing(Span text) {
        return span_is(text, "0") || span_is(text, "-");
}

static void append_two(Buffer *cell, AccountColumn column, json_object *row,
                       const AccountStyle *style, AccountSigns *signs) {
        json_object *accounts = cell_member(row, "accounts");
        json_object *first = cell_element(accounts, 0), *second = cell_element(accounts, 1);
        _cleanup_(buffer_done) Buffer before = {}, after = {};

        append_side(&before, column, first, 0, style, signs);
        append_side(&after, column, second, 1, style, signs);
        /*
         * From nothing to not having been there, or back, is no change worth an arrow. Not having
         * been measured is another thing than nothing.
         */
        if ((!first || !second) && is_nothing(buffer_span(&before)) &&
            is_nothing(buffer_span(&after))) {
                buffer_append_byte(cell,
                                   before.bytes[0] == '0' || after.bytes[0] == '0' ? '0' : '-');
                return;
        }
        /* A peak that did not rise in A was one all the same. */
        if (column == ACCOUNT_COLUMN_PEAK && first && second &&
            span_is(buffer_span(&before), "-") && !is_nothing(buffer_span(&after))) {
                buffer_append_text(cell, "peak ");
                buffer_append(cell, after.bytes, after.n);
                return;
        }
        append_both(cell, &before, &after);
}

/* Returns the process that was the parent of more than half of the threads that ended, or NULL. */
static json_object *starter_of(json_object *account) {
        json_object *first = cell_element(cell_member(account, "startedBy"), 0);

        uint64_t n_ended = cell_u64(account, "ended") + cell_u64(account, "bornAndEnded");

        return first && cell_u64(first, "threads") > n_ended / 2 ? cell_member(first, "name")
                                                                 : NULL;
}

/* reasons of waits: "poll 3.0, futex 1.9", "sleep 0→6.6" */

typedef struct Wait {
        const char *reason;
        double amounts[2]; /* seconds in each second, or of whole lives nanoseconds */
        double rank;
} Wait;

/* If columns differ, a wait that moved ranks first, and above all one that has begun. */
static double rank_of(const Wait *wait, bool of_changes) {
        double a = wait->amounts[0], b = wait->amounts[1], moved = fabs(b - a);

        if (!of_changes)
                return b;
        if (moved < LEAST_MOVED || moved < LEAST_MOVED_SHARE * MAX_OF(a, b))
                return 0;
        return b > a ? 1.25 * moved : moved;
}

/* An account may say itself how long its column was; 0: nobody knows. */
static double amount_of(json_object *value, json_object *account, size_t side,
                        const AccountStyle *style) {
        json_object *own = cell_member(account, "elapsedNs");
        double elapsed_ns = own ? json_object_get_double(own) : (double) style->elapsed_ns[side];
        double ns = json_object_get_double(value);

        return !style->setting->has_begin ? ns : elapsed_ns > 0 ? ns / elapsed_ns : 0;
}

/*
 * Finds the two waits of @row that say most, those for locks left out, which have a column. Returns
 * how many say anything.
 */
static size_t find_waits(json_object *row, const AccountStyle *style, bool of_changes,
                         Wait ret[static 2]) {
        json_object *accounts = cell_member(row, "accounts");
        json_object *first = cell_element(accounts, 0), *second = cell_element(accounts, 1);
        json_object *last = second ? second : first, *reasons = cell_member(last, "reasons");
        size_t side = last == second, n = 0;
        double rest = 0, least_told = style->setting->has_begin ? LEAST_TOLD : LEAST_TOLD_NS;
        json_object_iter member;
        Wait wait;

        if (!json_object_is_type(reasons, json_type_object))
                return 0;
        json_object_object_foreachC(reasons, member) {
                if (strcmp(member.key, "lock") == 0)
                        continue;
                wait = (Wait){ .reason = member.key };
                wait.amounts[1] = amount_of(member.val, last, side, style);
                if (of_changes)
                        wait.amounts[0] =
                                amount_of(cell_member(cell_member(first, "reasons"), member.key),
                                          first, 0, style);
                wait.rank = rank_of(&wait, of_changes);
                rest += wait.rank;
                if (n == 0 || wait.rank > ret[0].rank) {
                        ret[1] = n > 0 ? ret[0] : wait;
                        ret[0] = wait;
                } else if (n == 1 || wait.rank > ret[1].rank) {
                        ret[1] = wait;
                }
                n++;
        }
        n = MIN_OF(n, (size_t) 2);
        /* One reason that holds most of it is enough. */
        if (n == 2 && (ret[1].rank <= 0 || ret[0].rank > MOST_SHARE * rest ||
                       ret[1].rank < (of_changes ? 0.5 * ret[0].rank : 0.1 * rest)))
                n = 1;
        /* Waits in fsync and its kin, be they for storage or the kernel, have no column. */
        wait = (Wait){ .reason = "sync" };
        wait.amounts[1] = amount_of(cell_member(last, "syncNs"), last, side, style);
        if (of_changes)
                wait.amounts[0] = amount_of(cell_member(first, "syncNs"), first, 0, style);
        wait.rank = rank_of(&wait, of_changes);
        if (wait.rank > 0 && MAX_OF(wait.amounts[0], wait.amounts[1]) >= least_told) {
                ret[1] = ret[0];
                ret[0] = wait;
                n = n > 0 && ret[1].rank > 0 ? 2 : 1;
        }
        return n > 0 && ret[0].rank > 0 ? n : 0;
}

static void append_amount(Buffer *cell, double amount, const AccountStyle *style) {
        if (style->raw)
                append_raw(cell, amount);
        else if (!style->setting->has_begin)
                compact_append_span(cell, amount);
        else
                compact_append_threads(cell, amount);
}

static void append_waits(Buffer *cell, json_object *row, const AccountStyle *style) {
        json_object *accounts = cell_member(row, "accounts");
        bool of_changes = style->setting->n_columns == 2 && style->setting->has_begin &&
                          cell_member(cell_element(accounts, 0), "reasons") &&
                          cell_member(cell_element(accounts, 1), "reasons");
        Wait waits[2] = {};
        size_t n = of_changes ? find_waits(row, style, true, waits) : 0;

        if (n == 0) {
                of_changes = false;
                n = find_waits(row, style, false, waits);
        }
        for (size_t i = 0; i < n; i++) {
                /* A reason is a key of the reply, which may be any text. */
                if (i > 0)
                        buffer_append_text(cell, ", ");
                printable_append_name(cell, span_of(waits[i].reason));
                buffer_append_byte(cell, ' ');
                if (of_changes) {
                        append_amount(cell, waits[i].amounts[0], style);
                        buffer_append_text(cell, ARROW);
                }
                append_amount(cell, waits[i].amounts[1], style);
        }
}

/* columns that stand, and stay */

bool account_row_tells(json_object *row, AccountColumn column, const AccountStyle *style) {
        double least_told = style->setting->has_begin ? LEAST_TOLD : LEAST_TOLD_NS;

        for (size_t side = 0; side < style->setting->n_columns; side++) {
                json_object *account = cell_element(cell_member(row, "accounts"), side);

                if (column == ACCOUNT_COLUMN_WAITS && cell_member(account, "reasons"))
                        return true;
                if (column == ACCOUNT_COLUMN_STARTER && starter_of(account))
                        return true;
                if (columns[column].key &&
                    amount_of(figure_of(account, column), account, side, style) >= least_told)
                        return true;
        }
        return false;
}

/* Returns how much a figure is, or by how much it moved. */
static double moved_of(json_object *row, AccountColumn column, const AccountStyle *style) {
        json_object *accounts = cell_member(row, "accounts");
        json_object *first = cell_element(accounts, 0), *second = cell_element(accounts, 1);
        double amount = amount_of(figure_of(first, column), first, 0, style);

        if (style->setting->n_columns == 1)
                return amount;
        return amount_of(figure_of(second, column), second, 1, style) - amount;
}

bool account_row_weighs(json_object *row, AccountColumn column, const AccountStyle *style) {
        static const AccountColumn times[] = { ACCOUNT_COLUMN_CPU, ACCOUNT_COLUMN_WAIT,
                                               ACCOUNT_COLUMN_STORAGE, ACCOUNT_COLUMN_LOCK,
                                               ACCOUNT_COLUMN_BLOCKED };
        double weight = fabs(json_object_get_double(cell_member(row, "weight"))), all = 0;
        double read, written, grown = 0;

        if (!style->setting->has_begin || weight < LEAST_WEIGHT || style->cpus <= 0)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(times); i++) {
                if (times[i] == column)
                        return fabs(moved_of(row, column, style)) / style->cpus >= weight / 2;
                all += moved_of(row, times[i], style) / style->cpus;
        }
        /* A weight that is no time is the largest share of bytes. */
        if (!(fabs(all) < weight * 0.99))
                return false;
        read = fabs(moved_of(row, ACCOUNT_COLUMN_READ, style));
        written = fabs(moved_of(row, ACCOUNT_COLUMN_WRITE, style));
        for (size_t side = 0; side < style->setting->n_columns; side++) {
                json_object *account = cell_element(cell_member(row, "accounts"), side);

                /* The resident size counts as it grew in the column where it did most. */
                grown = MAX_OF(grown,
                               amount_of(cell_member(account, "rssBytes"), account, side, style) -
                                       amount_of(cell_member(account, "rssBeforeBytes"), account,
                                                 side, style));
        }
        if (grown > read + written)
                return column == ACCOUNT_COLUMN_RSS;
        return column == (written > read ? ACCOUNT_COLUMN_WRITE : ACCOUNT_COLUMN_READ);
}

/* the bar */

typedef enum Part {
        PART_RUNNING,
        PART_WAITING,
        PART_STORAGE,
        PART_BLOCKED,
        PART_LOCK,
        PART_ASLEEP,
        _PART_MAX,
} Part;

static const struct {
        const char *key, *block, *letter, *name;
} parts[_PART_MAX] = {
        [PART_RUNNING] = { "runningNs", "\u2588", "R", "running" },
        [PART_WAITING] = { "waitingNs", "\u2593", "W", "waiting for a CPU" },
        [PART_STORAGE] = { "storageNs", "\u2592", "I", "storage" },
        [PART_BLOCKED] = { "blockedNs", "\u2591", "B", "blocked" },
        [PART_LOCK] = { "reasons", "\u259e", "L", "locks" },
        [PART_ASLEEP] = { "asleepNs", "\u00b7", ".", "asleep" },
};

/* Divides the cells so that their sum is right: what is left over goes to the largest rests. */
static void divide_cells(const double shares[_PART_MAX], unsigned ret_cells[_PART_MAX]) {
        double rests[_PART_MAX];
        unsigned n = 0;

        for (unsigned i = 0; i < _PART_MAX; i++) {
                /* Where a host tells more than a double holds, a share is no number. */
                double cells = shares[i] > 0 ? shares[i] * BAR_CELLS : 0;

                ret_cells[i] = (unsigned) cells;
                rests[i] = cells - ret_cells[i];
                n += ret_cells[i];
        }
        for (; n < BAR_CELLS; n++) {
                unsigned most = 0;

                for (unsigned i = 1; i < _PART_MAX; i++)
                        if (rests[i] > rests[most])
                                most = i;
                ret_cells[most]++;
                rests[most] = 0;
        }
}

static void append_bar(Buffer *cell, json_object *account, const AccountStyle *style,
                       AccountSigns *signs) {
        double shares[_PART_MAX] = {}, sum = 0;
        double lock_ns = json_object_get_double(figure_of(account, ACCOUNT_COLUMN_LOCK));
        unsigned cells[_PART_MAX];
        Quantity asleep;

        if (!cell_quantity(cell_member(account, parts[PART_ASLEEP].key), &asleep))
                return;
        for (unsigned i = 0; i < _PART_MAX; i++) {
                double ns = json_object_get_double(cell_member(account, parts[i].key));

                /* Sleep for a lock is a part of its own. */
                shares[i] =
                        i == PART_LOCK ? lock_ns : MAX_OF(0, ns - (i == PART_ASLEEP ? lock_ns : 0));
                sum += shares[i];
        }
        if (sum <= 0)
                return;
        for (unsigned i = 0; i < _PART_MAX; i++)
                shares[i] /= sum;
        divide_cells(shares, cells);
        for (unsigned i = 0; i < _PART_MAX; i++)
                for (unsigned n = 0; n < cells[i]; n++)
                        buffer_append_text(cell, style->utf8 ? parts[i].block : parts[i].letter);
        signs->bar = true;
        signs->locks = signs->locks || cells[PART_LOCK] > 0;
}

void account_cell_append(Buffer *cell, AccountColumn column, json_object *row,
                         const AccountStyle *style, AccountSigns *signs) {
        json_object *accounts = cell_member(row, "accounts");
        json_object *first = cell_element(accounts, 0), *second = cell_element(accounts, 1);
        bool is_both = style->setting->n_columns == 2 && first && second;

        if (column == ACCOUNT_COLUMN_THREADS) {
                append_threads(cell, row, style->setting);
        } else if (column == ACCOUNT_COLUMN_RSS) {
                append_rss(cell, row, style);
        } else if (column == ACCOUNT_COLUMN_STARTER) {
                /* The parent of threads that ended: "sh", "cron→sh". */
                _cleanup_(buffer_done) Buffer before = {}, after = {};

                first = starter_of(first);
                second = starter_of(second);
                if (!first && !second)
                        return;
                if (!is_both)
                        first = second = first ? first : second;
                cell_append_text(&before, first);
                cell_append_text(&after, second);
                append_both(cell, &before, &after);
        } else if (column == ACCOUNT_COLUMN_WAITS) {
                append_waits(cell, row, style);
        } else if (column == ACCOUNT_COLUMN_BAR) {
                append_bar(cell, first, style, signs);
        } else if (style->setting->n_columns == 2) {
                append_two(cell, column, row, style, signs);
        } else {
                append_side(cell, column, first, 0, style, signs);
        }
}

bool account_row_is_idle(json_object *row, json_object *changes, const AccountStyle *style) {
        json_object *accounts = cell_member(row, "accounts"),
                    *members = cell_member(row, "members");
        json_object *first = cell_element(accounts, 0);
        _cleanup_(buffer_done) Buffer cell = {};
        AccountStyle usual = *style;
        AccountSigns signs = {};

        usual.all_rss = false;
        if (cell_member(row, "only") || !first)
                return false;
        for (size_t i = 0; i < cell_length(changes); i++) {
                json_object *change = cell_element(changes, i), *key = cell_member(change, "key"),
                            *cgroup = cell_member(change, "cgroup");

                if (key && json_object_equal(cell_member(row, "key"), key))
                        return false;
                /* A limit is that of a group of all threads of its cgroup, or of several. */
                if (key || !cgroup || cell_member(row, "process") || cell_member(row, "thread"))
                        continue;
                if (json_object_equal(cell_member(row, "cgroup"), cgroup))
                        return false;
                for (size_t k = 0; k < cell_length(members); k++)
                        if (json_object_equal(cell_member(cell_element(members, k), "name"),
                                              cgroup))
                                return false;
        }
        for (size_t i = 0; i < cell_length(accounts); i++) {
                json_object *account = cell_element(accounts, i);
                Quantity running;

                if (!cell_quantity(figure_of(account, ACCOUNT_COLUMN_CPU), &running) ||
                    cell_u64(account, "born") > 0 || cell_u64(account, "ended") > 0 ||
                    cell_u64(account, "bornAndEnded") > 0 ||
                    cell_u64(account, "threads") != cell_u64(first, "threads"))
                        return false;
        }
        for (unsigned i = 0; i < _ACCOUNT_COLUMN_MAX; i++) {
                if (!columns[i].key)
                        continue;
                buffer_clear(&cell);
                account_cell_append(&cell, (AccountColumn) i, row, &usual, &signs);
                /* "0", "0.00", "~0B", "-", "0.00\u21920": no digit but 0. A word is no number. */
                for (size_t k = 0; k < cell.n; k++)
                        if (cell.bytes[k] >= '1' && cell.bytes[k] <= '9')
                                return false;
        }
        return buffer_failure(&cell) == 0;
}

void account_bar_legend(Buffer *line, const AccountStyle *style, const AccountSigns *signs) {
        for (unsigned i = 0; i < _PART_MAX; i++) {
                if (i == PART_LOCK && !signs->locks)
                        continue;
                buffer_append_format(line, "%s%s %s", i > 0 ? ", " : "TIME: ",
                                     style->utf8 ? parts[i].block : parts[i].letter, parts[i].name);
        }
}
