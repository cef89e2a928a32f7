/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "analysis/pairing/pairing.h"
#include "colliding.h"
#include "compared.h"
#include "thread.h"
#include "view/view-part.h"

#define END (const char *) NULL

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };

/* Threads @first to @last - 1 of an alphabet of kinds. */
typedef struct Range {
        const char *cgroup;
        unsigned side, first, last;
} Range;

static ThreadSample thread_in(const Range *range, unsigned kind) {
        static char names[64][16];
        ThreadSample sample;

        (void) snprintf(names[kind], sizeof(names[kind]), "kind-%c%c", 'a' + (int) kind / 8,
                        'a' + (int) kind % 8);
        sample = thread_of("process", names[kind], (pid_t) kind + 1);
        sample.cgroup = span_of(range->cgroup);
        thread_sample_put(&sample, METRIC_run_time_ns, 100 * (range->side + 1));
        return sample;
}

static void match(const Range *ranges, size_t n_ranges, const View *view, char *ret_text,
                  size_t n_text) {
        Pairing *pairing;
        size_t n = 0;

        ck_assert_int_eq(pairing_new(NULL, &pairing), 0);
        for (size_t i = 0; i < n_ranges && ranges[i].cgroup; i++)
                for (unsigned kind = ranges[i].first; kind < ranges[i].last; kind++) {
                        ThreadSample sample = thread_in(&ranges[i], kind);

                        for (unsigned twice = 0; twice < 2; twice++)
                                ck_assert_int_eq(pairing_add(pairing, sample.cgroup, ranges[i].side,
                                                             &sample),
                                                 0);
                }
        ck_assert_int_eq(pairing_match(pairing, view), 0);
        ret_text[0] = '\0';
        for (size_t i = 0; i < pairing_n(pairing); i++) {
                const PairingMatch *found = pairing_get(pairing, i);

                n += (size_t) snprintf(ret_text + n, n_text - n, "%.*s=%.*s:%u/%u ",
                                       (int) found->before.n, found->before.bytes,
                                       (int) found->after.n, found->after.bytes,
                                       (unsigned) found->n_shared, (unsigned) found->n_all);
        }
        pairing_free(pairing);
}

static const struct {
        Range ranges[6];
        const char *pairs[2]; /* stated by the view */
        bool off;
        const char *matches;
} rows[] = {
        { .ranges = { { "/a", 0, 0, 12 }, { "/b", 1, 0, 12 } }, .matches = "/a=/b:12/12 " },
        { .ranges = { { "/a", 0, 0, 9 }, { "/b", 1, 0, 9 } }, .matches = "" },
        { .ranges = { { "/a", 0, 0, 10 }, { "/b", 1, 0, 10 } }, .matches = "/a=/b:10/10 " },
        { .ranges = { { "/a", 0, 0, 20 }, { "/b", 1, 0, 18 } }, .matches = "/a=/b:18/20 " },
        { .ranges = { { "/a", 0, 0, 19 }, { "/b", 1, 0, 17 } }, .matches = "" },
        { .ranges = { { "/a", 0, 0, 19 }, { "/b", 1, 1, 20 } }, .matches = "/a=/b:18/20 " },
        { .ranges = { { "/a", 0, 0, 18 }, { "/b", 1, 1, 19 } }, .matches = "" }, /* 17 of 19 */
        /* It is on both sides, so it was not renamed. */
        { .ranges = { { "/a", 0, 0, 12 }, { "/a", 1, 0, 1 }, { "/b", 1, 0, 12 } }, .matches = "" },
        /* The best match wins, and each cgroup is used once. */
        { .ranges = { { "/a", 0, 0, 20 }, { "/b", 1, 0, 19 }, { "/c", 1, 0, 20 } },
          .matches = "/a=/c:20/20 " },
        { .ranges = { { "/a", 0, 0, 20 }, { "/b", 1, 0, 18 }, { "/c", 1, 0, 19 } },
          .matches = "/a=/c:19/20 " },
        { .ranges = { { "/a", 0, 0, 20 },
                      { "/b", 0, 0, 19 },
                      { "/c", 1, 0, 19 },
                      { "/d", 1, 0, 18 } },
          .matches = "/b=/c:19/19 /a=/d:18/20 " },
        /* Cgroups below are paired too, but only under equal names. */
        { .ranges = { { "/v1/a", 0, 0, 12 },
                      { "/v2/a", 1, 0, 12 },
                      { "/v1/b", 0, 20, 21 },
                      { "/v2/b", 1, 30, 31 },
                      { "/v2/c", 1, 20, 21 } },
          .matches = "/v1/a=/v2/a:12/12 /v1/b=/v2/b:0/2 " },
        { .ranges = { { "/v1", 0, 0, 12 },
                      { "/v2", 1, 0, 12 },
                      { "/v1/b/c", 0, 1, 2 },
                      { "/v2/b/c", 1, 1, 2 },
                      { "/v1x/b", 0, 1, 2 },
                      { "/v2x/b", 1, 1, 2 } },
          .matches = "/v1=/v2:12/12 /v1/b/c=/v2/b/c:1/1 " },
        { .ranges = { { "/v1/a", 0, 0, 12 },
                      { "/v2/a", 1, 0, 12 },
                      { "/v1/b", 0, 20, 21 },
                      { "/v2/b", 1, 30, 31 } },
          .off = true,
          .matches = "" },
        /* Stated pairs need no threads of their own and do not widen the roots. */
        { .ranges = { { "/x/v1/a", 0, 0, 2 }, { "/x/v2/a", 1, 1, 3 } },
          .pairs = { "/x/v1=/x/v2" },
          .off = true,
          .matches = "/x/v1=/x/v2:0/0 /x/v1/a=/x/v2/a:1/3 " },
        { .ranges = { { "/v1/a", 0, 0, 2 },
                      { "/v2/a", 1, 0, 2 },
                      { "/v1/b", 0, 0, 2 },
                      { "/v2/b", 1, 0, 2 } },
          .pairs = { "/v1/a=/v2/a" },
          .off = true,
          .matches = "/v1/a=/v2/a:2/2 " },
        /* Among equal matches the bytewise first wins. */
        { .ranges = { { "/b", 0, 0, 10 },
                      { "/a", 0, 0, 10 },
                      { "/d", 1, 0, 10 },
                      { "/c", 1, 0, 10 } },
          .matches = "/a=/c:10/10 /b=/d:10/10 " },
        { .ranges = { { "", 0, 0, 12 }, { "/b", 1, 0, 12 } }, .matches = "" },
        { .ranges = { { "/a", 0, 0, 12 }, { "/b", 1, 0, 12 } }, .off = true, .matches = "" },
        { .ranges = { { "/a", 0, 0, 2 }, { "/b", 1, 1, 3 } },
          .pairs = { "/a=/b" },
          .off = true,
          .matches = "/a=/b:1/3 " },
        { .ranges = { { "/a", 0, 0, 12 }, { "/b", 1, 0, 12 }, { "/c", 1, 20, 21 } },
          .pairs = { "/a=/c", "/a=/b" },
          .matches = "/a=/c:0/13 " },
        { .ranges = { { "/a", 0, 0, 12 }, { "/b", 1, 0, 12 } },
          .pairs = { "/x=/b", "/b=/a" }, /* which does not exist */
          .matches = "/a=/b:12/12 " },
};

START_TEST(renamed_cgroups_are_found_by_content) {
        char complaint[VIEW_COMPLAINT_BYTES], text[256];
        View view;

        view_init(&view);
        view.pairing = !rows[_i].off;
        for (unsigned i = 0; i < 2 && rows[_i].pairs[i]; i++)
                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_pairs, span_of(rows[_i].pairs[i]), complaint),
                        VIEW_OK);
        match(rows[_i].ranges, ELEMENTSOF(rows[_i].ranges), &view, text, sizeof(text));
        ck_assert_str_eq(text, rows[_i].matches);
}
END_TEST

static const struct {
        const char *key, *old_name;
} name_rows[] = {
        { "/v2/a", "/v1/a" }, { "/v2", "/v1" },          { "/v2/z/z", "/v1/z/z" },
        { "/v2x", "" },       { "/said/b", "/known/b" }, { "/other", "" },
        { "", "" },
};

/*
 * Cgroups are paired by the names of the processes and threads in them. Each name in one cgroup
 * collides with a name in the other under XXH3 without a seed, yet the two have nothing in common.
 */
START_TEST(kinds_whose_hashes_collide_are_two) {
        static const char *const tails[] = { "AAAAAAAA", "BBBBBBBB" };
        Pairing *pairing;
        View view;

        view_init(&view);
        ck_assert_int_eq(pairing_new(NULL, &pairing), 0);
        for (unsigned side = 0; side < 2; side++)
                for (unsigned kind = 0; kind < 20; kind++) {
                        char process[] = "process-of-x", thread[] = COLLIDING_MIDDLE "xxxxxxxx";
                        ThreadSample sample;

                        process[sizeof(process) - 2] = (char) ('a' + kind);
                        memcpy(thread + sizeof(COLLIDING_MIDDLE) - 1, tails[side], 8);
                        sample = thread_of(process, thread, (pid_t) kind + 1);
                        sample.cgroup = span_of(side == 0 ? "/old" : "/new");
                        ck_assert_int_eq(pairing_add(pairing, sample.cgroup, side, &sample), 0);
                }
        ck_assert_int_eq(pairing_match(pairing, &view), 0);
        ck_assert_uint_eq(pairing_n(pairing), 0);
        pairing_free(pairing);
}
END_TEST

START_TEST(old_names_are_for_all_below_the_roots) {
        static const Range ranges[] = {
                { "/v1/a", 0, 0, 12 },
                { "/v2/a", 1, 0, 12 },
                { "/known", 0, 20, 21 },
                { "/said", 1, 20, 21 },
        };
        char complaint[VIEW_COMPLAINT_BYTES];
        _cleanup_(buffer_done) Buffer name = { .bytes = NULL };
        Pairing *pairing;
        View view;

        view_init(&view);
        ck_assert_int_eq(view_set(&view, VIEW_PART_pairs, span_of("/known=/said"), complaint),
                         VIEW_OK);
        ck_assert_int_eq(pairing_new(NULL, &pairing), 0);
        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                for (unsigned kind = ranges[i].first; kind < ranges[i].last; kind++) {
                        ThreadSample sample = thread_in(&ranges[i], kind);

                        ck_assert_int_eq(
                                pairing_add(pairing, sample.cgroup, ranges[i].side, &sample), 0);
                }
        ck_assert_int_eq(pairing_match(pairing, &view), 0);
        for (size_t i = 0; i < ELEMENTSOF(name_rows); i++) {
                buffer_clear(&name);
                ck_assert_int_eq(pairing_append_old_name(pairing, span_of(name_rows[i].key), &name),
                                 0);
                ck_assert_msg(span_is(buffer_span(&name), name_rows[i].old_name), "%s",
                              name_rows[i].key);
        }
        pairing_free(pairing);
}
END_TEST

START_TEST(numbers_in_names_make_no_kinds) {
        Pairing *pairing;
        View view;

        view_init(&view);
        ck_assert_int_eq(pairing_new(NULL, &pairing), 0);
        for (unsigned i = 0; i < 100; i++)
                for (unsigned side = 0; side < 2; side++) {
                        ThreadSample sample;
                        char name[16];

                        (void) snprintf(name, sizeof(name), "worker-%u", i);
                        sample = thread_of("p", name, 1);
                        ck_assert_int_eq(
                                pairing_add(pairing, span_of(side ? "/b" : "/a"), side, &sample),
                                0);
                }
        ck_assert_int_eq(pairing_match(pairing, &view), 0);
        ck_assert_uint_eq(pairing_n(pairing), 0);
        pairing_free(pairing);
}
END_TEST

START_TEST(a_report_is_bounded) {
        json_object *written;
        JsonWriter writer;
        Pairing *pairing;
        View view;

        view_init(&view);
        ck_assert_int_eq(pairing_new(NULL, &pairing), 0);
        for (unsigned i = 0; i < 2 * (PAIRING_MAX_WRITTEN + 1); i++)
                for (unsigned kind = 0; kind < PAIRING_MIN_SHARED; kind++) {
                        const Range range = { "/", i % 2, 0, 0 };
                        ThreadSample sample = thread_in(&range, kind);
                        char cgroup[16];

                        (void) snprintf(cgroup, sizeof(cgroup), "/%u", i);
                        ck_assert_int_eq(pairing_add(pairing, span_of(cgroup), i % 2, &sample), 0);
                }
        ck_assert_int_eq(pairing_match(pairing, &view), 0);
        ck_assert_uint_eq(pairing_n(pairing), PAIRING_MAX_WRITTEN + 1);
        ck_assert_uint_eq(pairing_write_json(pairing, json_text_begin(&writer)),
                          PAIRING_MAX_WRITTEN);
        written = json_tokener_parse(json_text_end(&writer));
        ck_assert_uint_eq(json_object_array_length(written), PAIRING_MAX_WRITTEN);
        json_object_put(written);
        pairing_free(pairing);
}
END_TEST

/* Each byte of a path may take six in the report. */
START_TEST(a_report_of_long_paths_is_bounded) {
        enum { N_PAIRS = 20, N_PATH = 4000 };
        JsonWriter writer;
        Pairing *pairing;
        View view;
        size_t n;

        view_init(&view);
        ck_assert_int_eq(pairing_new(NULL, &pairing), 0);
        for (unsigned i = 0; i < 2 * N_PAIRS; i++)
                for (unsigned kind = 0; kind < PAIRING_MIN_SHARED; kind++) {
                        const Range range = { "/", i % 2, 0, 0 };
                        ThreadSample sample = thread_in(&range, kind);
                        char cgroup[N_PATH];

                        memset(cgroup, '\1', sizeof(cgroup));
                        cgroup[0] = '/';
                        cgroup[1] = (char) ('A' + i);
                        ck_assert_int_eq(pairing_add(pairing, (Span){ cgroup, sizeof(cgroup) },
                                                     i % 2, &sample),
                                         0);
                }
        ck_assert_int_eq(pairing_match(pairing, &view), 0);
        ck_assert_uint_eq(pairing_n(pairing), N_PAIRS);
        n = pairing_write_json(pairing, json_text_begin(&writer));
        /* The last one begins before the bound: two paths, and the roots of both. */
        ck_assert_uint_eq(n, PAIRING_MAX_WRITTEN_BYTES / (4 * 6 * N_PATH) + 1);
        ck_assert_uint_lt(strlen(json_text_end(&writer)),
                          PAIRING_MAX_WRITTEN_BYTES + 4 * 6 * N_PATH + 1000);
        pairing_free(pairing);
}
END_TEST

#define N_KINDS 12

/* A renamed cgroup in which one kind disappeared and one is new. */
static Compared renamed(const View *view) {
        static const SideSetup two_sides = { .n_sides = 2 };
        static ThreadSample before[N_KINDS * 2], after[N_KINDS * 2];
        const Range old_range = { "/pod-old", 0, 0, 0 }, new_range = { "/pod-new", 1, 0, 0 };
        const Threads sides[] = { { before, N_KINDS * 2 }, { after, N_KINDS * 2 } };

        for (unsigned i = 0; i < N_KINDS * 2; i++) {
                before[i] = thread_in(&old_range, i);
                after[i] = thread_in(&new_range, i + 1);
        }
        return compared_of(view, &two_sides, sides, no_sources);
}

START_TEST(paired_cgroups_are_one_group) {
        View view;
        Compared compared;
        json_object *group, *pairings;
        JsonWriter writer;

        view_init(&view);
        view.axis = VIEW_AXIS_CGROUP;
        compared = renamed(&view);
        group = compared_group(&compared, COMPARISON_GROUPS, "/pod-old");
        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "delta", END), "2400");
        for (unsigned list = COMPARISON_ONLY_BEFORE; list <= COMPARISON_ONLY_AFTER; list++)
                ck_assert_uint_eq(compared.comparison->lists[list].n_shown, 0);
        ck_assert_uint_eq(pairing_n(compared.comparison->table.pairing), 1);
        ck_assert_uint_eq(
                pairing_write_json(compared.comparison->table.pairing, json_text_begin(&writer)),
                1);
        pairings = json_tokener_parse(json_text_end(&writer));
        group = json_object_array_get_idx(pairings, 0);
        ck_assert_str_eq(json_at(group, "before", END), "\"\\/pod-old\"");
        ck_assert_str_eq(json_at(group, "after", END), "\"\\/pod-new\"");
        ck_assert_str_eq(json_at(group, "shared", END), "23");
        ck_assert_str_eq(json_at(group, "by", END), "\"content\"");
        ck_assert_str_eq(json_at(group, "afterRoot", END), "\"\\/pod-new\"");
        ck_assert_str_eq(json_at(group, "jaccard", END), "0.92");
        json_object_put(pairings);
        compared_done(&compared);

        view.pairing = false;
        compared = renamed(&view);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown, 0);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_ONLY_AFTER].n_shown, 1);
        ck_assert_ptr_null(compared.comparison->table.pairing);
        compared_done(&compared);
}
END_TEST

START_TEST(on_the_axis_all_kinds_are_paired_one_by_one) {
        Compared compared;
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_ALL;
        compared = renamed(&view);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown, N_KINDS * 2 - 1);
        ck_assert_ptr_nonnull(
                compared_group(&compared, COMPARISON_GROUPS, "/pod-old\x1fprocess\x1fkind-ab"));
        /* A cgroup without a counterpart keeps its name. */
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_ONLY_BEFORE,
                                             "/pod-old\x1fprocess\x1fkind-aa"));
        ck_assert_ptr_nonnull(
                compared_group(&compared, COMPARISON_ONLY_AFTER, "/pod-new\x1fprocess\x1fkind-da"));
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_ONLY_AFTER].n_shown, 1);
        compared_done(&compared);
}
END_TEST

START_TEST(other_axes_pair_nothing) {
        JsonWriter writer;
        Compared compared;
        View view;

        view_init(&view);
        compared = renamed(&view);
        ck_assert_ptr_null(compared.comparison->table.pairing);
        ck_assert_uint_eq(
                pairing_write_json(compared.comparison->table.pairing, json_text_begin(&writer)),
                0);
        ck_assert_str_eq(json_text_end(&writer), "[]");
        compared_done(&compared);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("pairing");
        TCase *matches = tcase_create("matches");
        TCase *groups = tcase_create("groups");

        tcase_add_loop_test(matches, renamed_cgroups_are_found_by_content, 0, ELEMENTSOF(rows));
        tcase_add_test(matches, kinds_whose_hashes_collide_are_two);
        tcase_add_test(matches, old_names_are_for_all_below_the_roots);
        tcase_add_test(matches, a_report_is_bounded);
        tcase_add_test(matches, a_report_of_long_paths_is_bounded);
        tcase_add_test(matches, numbers_in_names_make_no_kinds);
        suite_add_tcase(suite, matches);
        tcase_add_test(groups, paired_cgroups_are_one_group);
        tcase_add_test(groups, on_the_axis_all_kinds_are_paired_one_by_one);
        tcase_add_test(groups, other_axes_pair_nothing);
        suite_add_tcase(suite, groups);
        return check_main(suite);
}
