/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/exited-list.h"

#include "analysis/group/side.h"
#include "check-main.h"

#define BEGIN_NS 100
#define EARLY_NS 90
#define LATE_NS 110
#define NAMELESS "[ended, names folded]"
#define OVERFLOW "[ended without a row]"

/* A row of a ledger; with @owner -1 of many. */
typedef struct Row {
        int owner;
        uint64_t folded;
        const char *name;
        uint64_t exits, born_ns, grew_ns;
} Row;

static ExitedRow row_of(const Row *row) {
        ExitedRow exited = {
                .exits = row->exits,
                .has_owner = row->owner >= 0,
                .has_times = true,
                .owner = row->owner < 0 ? 0 : (uint64_t) row->owner,
                .folded = row->folded,
                .born_boottime_ns = row->born_ns,
                .grew_boottime_ns = row->grew_ns,
        };

        thread_sample_clear(&exited.sample);
        exited.sample.pcomm = exited.sample.comm = span_of(row->name);
        exited.sample.has_kthread = row->folded != EXITED_OVERFLOW;
        if (row->folded != EXITED_OVERFLOW)
                exited.sample.cgroup = SPAN_LITERAL("/a");
        return exited;
}

#define MAX_ROWS 4

/* What the later ledger has, and what becomes of a row of the earlier one. */
static const struct {
        Row earlier;
        Row later[MAX_ROWS];
        const char *name; /* NULL: it does not count */
} places[] = {
        /* It is there. */
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { 5, EXITED_OWN, "job-17", 9, 50, 120 },
            { 5, EXITED_NAMELESS, NAMELESS, 9, 1, LATE_NS } },
          "job-17" },
        /* It is there beside one of another cgroup that has the path, whichever comes first. */
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { 5, EXITED_OWN, "job-17", 2, 70, 80 },
            { 5, EXITED_OWN, "job-17", 3, 50, 60 },
            { 5, EXITED_OWN, "job-17", 1, 105, 105 } },
          "job-17" },
        /* It was put together with others, to which nothing was added since. */
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { 5, EXITED_NAMELESS, NAMELESS, 9, 1, EARLY_NS },
            { 6, EXITED_NAMELESS, NAMELESS, 9, 1, LATE_NS } },
          NULL },
        /* The same, and then others of its name ended: that is another row. */
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { 5, EXITED_OWN, "job-17", 1, 105, 105 },
            { 5, EXITED_NAMELESS, NAMELESS, 9, 1, EARLY_NS } },
          NULL },
        /* To which something was added: it is taken out of the first that may have it. */
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { 5, EXITED_NAMELESS, NAMELESS, 9, 1, LATE_NS },
            { 5, EXITED_NUMBERLESS, "job-0", 3, 1, EARLY_NS } },
          "job-0" },
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { 5, EXITED_NAMELESS, NAMELESS, 9, 1, LATE_NS },
            { 5, EXITED_NUMBERLESS, "job-0", 2, 1, EARLY_NS } },
          NAMELESS },
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { 5, EXITED_NAMELESS, NAMELESS, 2, 1, LATE_NS },
            { 5, EXITED_OVERFLOW, OVERFLOW, 3, 1, LATE_NS } },
          OVERFLOW },
        { { 5, EXITED_OWN, "job-17", 3, 50, 60 },
          { { -1, EXITED_OVERFLOW, OVERFLOW, 3, 1, LATE_NS } },
          OVERFLOW },
        /* One that had been put together goes further, too, but not back. */
        { { 5, EXITED_NUMBERLESS, "job-0", 3, 50, 60 },
          { { 5, EXITED_NAMELESS, NAMELESS, 3, 1, LATE_NS } },
          NAMELESS },
        { { 5, EXITED_NAMELESS, NAMELESS, 3, 50, 60 },
          { { 5, EXITED_NAMELESS, NAMELESS, 7, 50, EARLY_NS },
            { 6, EXITED_NAMELESS, NAMELESS, 3, 1, LATE_NS } },
          NULL },
};

static void fill(ExitedList *list, const Row *rows, uint64_t *ret_grew_ns) {
        for (size_t i = 0; i < MAX_ROWS && rows[i].name; i++) {
                ExitedRow row = row_of(&rows[i]);

                ck_assert_int_eq(exited_list_add(list, &row), 0);
                if (rows[i].folded != EXITED_OWN)
                        *ret_grew_ns = MAX_OF(*ret_grew_ns, rows[i].grew_ns);
        }
}

START_TEST(a_row_is_found_where_it_went) {
        const Row earlier[MAX_ROWS] = { places[_i].earlier };
        _cleanup_(exited_list_done) ExitedList before = { .n = 0 }, after = { .n = 0 };
        ExitedSpan span = {
                .before = &before, .after = &after, .is_known = true, .begin_ns = BEGIN_NS
        };
        ExitedRow row = row_of(&earlier[0]);
        uint64_t ignored = 0;

        fill(&before, earlier, &ignored);
        fill(&after, places[_i].later, &span.grew_ns);
        ck_assert_int_eq(exited_span_begin(&span), 0);
        ck_assert_int_eq(exited_span_place(&span, SIDE_BEFORE, &row), places[_i].name != NULL);
        if (places[_i].name)
                ck_assert(span_is(row.sample.pcomm, places[_i].name) &&
                          span_is(row.sample.comm, places[_i].name));
}
END_TEST

typedef struct Child {
        Row row;
        const char *parent; /* NULL: not known */
} Child;

static ExitedRow row_of_child(const Child *child) {
        ExitedRow row = row_of(&child->row);

        if (child->parent)
                row.started_by = span_of(child->parent);
        return row;
}

/* The same of a row with a parent, and whether that is still told of it; no name is ever lost. */
static const struct {
        Child earlier, later[2];
        bool tells_parent;
} parents[] = {
        { { { 5, EXITED_OWN, "job", 3, 50, 60 }, "sh" },
          { { { 5, EXITED_OWN, "job", 9, 50, LATE_NS }, "sh" },
            { { 5, EXITED_OWN, "job", 9, 50, LATE_NS }, "bash" } },
          true },
        /* Nothing was added to it: of the interval that is no parent. */
        { { { 5, EXITED_OWN, "job", 3, 50, 60 }, "sh" },
          { { { 5, EXITED_OWN, "job", 3, 50, 60 }, "sh" },
            { { 5, EXITED_OWN, "job", 9, 50, LATE_NS }, "bash" } },
          false },
        /* It became part of one of several parents, whether or not another one is there by now. */
        { { { 5, EXITED_OWN, "job", 3, 50, 60 }, "sh" },
          { { { 5, EXITED_OWN, "job", 9, 40, LATE_NS }, NULL },
            { { 5, EXITED_NAMELESS, NAMELESS, 9, 1, LATE_NS }, NULL } },
          false },
        { { { 5, EXITED_OWN, "job", 3, 50, 60 }, "sh" },
          { { { 5, EXITED_OWN, "job", 9, 40, EARLY_NS }, NULL },
            { { 5, EXITED_OWN, "job", 1, 105, LATE_NS }, "sh" } },
          false },
        /* That took in an older one since. */
        { { { 5, EXITED_OWN, "job", 3, 50, 60 }, NULL },
          { { { 5, EXITED_OWN, "job", 9, 40, LATE_NS }, NULL },
            { { 5, EXITED_OWN, "other", 9, 40, LATE_NS }, "sh" } },
          false },
};

START_TEST(who_loses_a_parent_loses_no_name) {
        _cleanup_(exited_list_done) ExitedList before = { .n = 0 }, after = { .n = 0 };
        ExitedSpan span = {
                .before = &before, .after = &after, .is_known = true, .begin_ns = BEGIN_NS
        };
        ExitedRow row = row_of_child(&parents[_i].earlier);

        ck_assert_int_eq(exited_list_add(&before, &row), 0);
        for (size_t i = 0; i < ELEMENTSOF(parents[_i].later); i++) {
                ExitedRow later = row_of_child(&parents[_i].later[i]);

                ck_assert_int_eq(exited_list_add(&after, &later), 0);
        }
        ck_assert_uint_eq(after.n, ELEMENTSOF(parents[_i].later));
        ck_assert_int_eq(exited_span_begin(&span), 0);
        ck_assert(exited_span_place(&span, SIDE_BEFORE, &row));
        ck_assert(span_is(row.sample.pcomm, "job") && span_is(row.sample.comm, "job"));
        ck_assert_int_eq(row.started_by.bytes != NULL, parents[_i].tells_parent);
        ck_assert_uint_eq(span.n_lost, 0);
        for (size_t i = 0; i < ELEMENTSOF(parents[_i].later); i++) {
                ExitedRow later = row_of_child(&parents[_i].later[i]);

                if (later.folded == EXITED_OWN)
                        ck_assert(exited_span_place(&span, SIDE_AFTER, &later));
        }
}
END_TEST

/* Rows that were put together count as idle on both sides, whatever became part of them. */
START_TEST(idle_rows_do_not_count) {
        const Row later[MAX_ROWS] = { { 5, EXITED_NAMELESS, NAMELESS, 9, 1, EARLY_NS },
                                      { 6, EXITED_NAMELESS, NAMELESS, 9, 1, LATE_NS },
                                      { 5, EXITED_OWN, "job", 9, 1, EARLY_NS } };
        _cleanup_(exited_list_done) ExitedList before = { .n = 0 }, after = { .n = 0 };
        ExitedSpan span = {
                .before = &before, .after = &after, .is_known = true, .begin_ns = BEGIN_NS
        };

        fill(&after, later, &span.grew_ns);
        ck_assert_int_eq(exited_span_begin(&span), 0);
        for (size_t i = 0; i < 3; i++) {
                ExitedRow row = row_of(&later[i]);

                ck_assert_int_eq(exited_span_place(&span, SIDE_AFTER, &row), i > 0);
        }
        span.is_known = false; /* files of earlier versions */
        for (size_t i = 0; i < 3; i++) {
                ExitedRow row = row_of(&later[i]);

                ck_assert(exited_span_place(&span, SIDE_AFTER, &row));
        }
}
END_TEST

/* What a thread had done that ended is taken out of the row that its work was added to. */
START_TEST(a_thread_is_found_where_its_row_went) {
        const Row later[MAX_ROWS] = { { 5, EXITED_NAMELESS, NAMELESS, 1, 1, LATE_NS },
                                      { 5, EXITED_OWN, "kept", 9, 1, LATE_NS } };
        _cleanup_(exited_list_done) ExitedList before = { .n = 0 }, after = { .n = 0 };
        ExitedSpan span = {
                .before = &before, .after = &after, .is_known = true, .begin_ns = BEGIN_NS
        };
        static const char *const names[] = { "kept", "child", "gone", "more" };
        static const char *const wanted[] = { "kept", "child", NAMELESS, "more" };
        const Child child = { { 5, EXITED_OWN, "child", 9, 1, LATE_NS }, "sh" };
        ExitedRow row;

        fill(&after, later, &span.grew_ns);
        row = row_of_child(&child);
        ck_assert_int_eq(exited_list_add(&after, &row), 0);
        ck_assert_int_eq(exited_span_begin(&span), 0);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                ThreadSample vanished = { .has_owner = true,
                                          .uid = 5,
                                          .cgroup = SPAN_LITERAL("/a") };

                vanished.pcomm = vanished.comm = span_of(names[i]);
                exited_span_place_vanished(&span, &vanished);
                ck_assert(span_is(vanished.pcomm, wanted[i]));
        }
        ck_assert_uint_eq(span.n_lost, 1);
}
END_TEST

/* Those in a row of many owners, to which nothing was added, had ended before. */
START_TEST(a_thread_is_in_no_row_that_did_not_grow) {
        const Row later[MAX_ROWS] = { { 6, EXITED_NAMELESS, NAMELESS, 9, 1, LATE_NS },
                                      { -1, EXITED_OVERFLOW, OVERFLOW, 9, 1, EARLY_NS } };
        _cleanup_(exited_list_done) ExitedList before = { .n = 0 }, after = { .n = 0 };
        ExitedSpan span = {
                .before = &before, .after = &after, .is_known = true, .begin_ns = BEGIN_NS
        };
        ThreadSample vanished = { .has_owner = true, .uid = 5, .cgroup = SPAN_LITERAL("/a") };

        fill(&after, later, &span.grew_ns);
        ck_assert_int_eq(exited_span_begin(&span), 0);
        vanished.pcomm = vanished.comm = SPAN_LITERAL("gone");
        exited_span_place_vanished(&span, &vanished);
        ck_assert(span_is(vanished.pcomm, "gone"));
        ck_assert_uint_eq(span.n_lost, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("dead-list");
        TCase *tcase = tcase_create("places");

        tcase_add_loop_test(tcase, a_row_is_found_where_it_went, 0, ELEMENTSOF(places));
        tcase_add_loop_test(tcase, who_loses_a_parent_loses_no_name, 0, ELEMENTSOF(parents));
        tcase_add_test(tcase, idle_rows_do_not_count);
        tcase_add_test(tcase, a_thread_is_found_where_its_row_went);
        tcase_add_test(tcase, a_thread_is_in_no_row_that_did_not_grow);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
