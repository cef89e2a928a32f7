/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/cgroups.h"
#include "kernel/procfs/proc-task.h"
#include "colliding.h"

static CgroupSet set, other;

static void setup(void) {
        set = (CgroupSet){};
        other = (CgroupSet){};
}

static void teardown(void) {
        cgroup_set_done(&set);
        cgroup_set_done(&other);
}

static CgroupEntry *add(CgroupSet *to, const char *path) {
        CgroupEntry *entry;

        ck_assert_int_eq(cgroup_set_add(to, span_of(path), &entry), 0);
        return entry;
}

static void check_paths(const char *const *paths, size_t n_paths) {
        ck_assert_uint_eq(set.n_entries, n_paths);
        for (size_t i = 0; i < n_paths; i++) {
                size_t at = 0;

                while (at < set.n_entries && !span_is(set.entries[at]->path, paths[i]))
                        at++;
                ck_assert_uint_lt(at, set.n_entries);
        }
}

START_TEST(a_path_is_one_entry_that_stays) {
        CgroupEntry *entry = add(&set, "/a");

        entry->threading = CGROUP_THREADING_SPREAD;
        for (unsigned i = 0; i < 1000; i++) {
                char path[32];

                snprintf(path, sizeof(path), "/slice/%u", i);
                (void) add(&set, path);
        }
        ck_assert_ptr_eq(add(&set, "/a"), entry);
        ck_assert_int_eq(add(&set, "/a")->threading, CGROUP_THREADING_SPREAD);
        ck_assert_int_eq(add(&set, "/slice/7")->threading, CGROUP_THREADING_UNKNOWN);
        ck_assert_uint_eq(set.n_entries, 1001);
}
END_TEST

START_TEST(paths_whose_unseeded_hashes_are_equal_are_two_entries) {
        CgroupEntry *a, *b;

        ck_assert_colliding();
        ck_assert_int_eq(cgroup_set_add(&set, COLLIDING_A, &a), 0);
        ck_assert_int_eq(cgroup_set_add(&set, COLLIDING_B, &b), 0);
        ck_assert_ptr_ne(a, b);
        ck_assert(span_equal(a->path, COLLIDING_A) && span_equal(b->path, COLLIDING_B));
        ck_assert_uint_eq(set.n_entries, 2);
}
END_TEST

START_TEST(merging_takes_the_inhabited_and_all_above_them) {
        static const char *const expected[] = { "/", "/a", "/a-b", "/a/b", "/a/b/c", "/x" };

        add(&other, "/a/b/c")->inhabited = true;
        add(&other, "/a-b")->inhabited = true;
        add(&other, "/empty/one");
        ck_assert_int_eq(cgroup_set_merge(&set, &other), 0);
        cgroup_set_done(&other);
        add(&other, "/x")->inhabited = true;
        add(&other, "/a")->inhabited = true;
        ck_assert_int_eq(cgroup_set_merge(&set, &other), 0);
        check_paths(expected, ELEMENTSOF(expected));
}
END_TEST

START_TEST(what_lies_outside_has_nothing_above_it) {
        static const char *const expected[] = { "/../a/b" };

        add(&other, "/../a/b")->inhabited = true;
        ck_assert_int_eq(cgroup_set_merge(&set, &other), 0);
        check_paths(expected, ELEMENTSOF(expected));
}
END_TEST

static const struct {
        const char *path;
        bool outside;
} outside_rows[] = {
        { "/..", true },   { "/../a", true }, { "/a/../b", true }, { "..", true },
        { "/a/..", true }, { "/", false },    { "/a", false },     { "/..a", false },
        { "/a..", false }, { "/...", false }, { "/a../b", false }, { "", false },
};

START_TEST(a_component_of_two_dots_leads_outside) {
        ck_assert_int_eq(cgroup_path_is_outside(span_of(outside_rows[_i].path)),
                         outside_rows[_i].outside);
}
END_TEST

START_TEST(paths_are_bytes) {
        Span path = { "/\xff\n", 3 };
        CgroupEntry *entry;

        ck_assert_int_eq(cgroup_set_add(&set, path, &entry), 0);
        ck_assert(span_equal(entry->path, path));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroups");
        TCase *entries = tcase_create("entries");

        tcase_add_checked_fixture(entries, setup, teardown);
        tcase_add_test(entries, a_path_is_one_entry_that_stays);
        tcase_add_test(entries, paths_whose_unseeded_hashes_are_equal_are_two_entries);
        tcase_add_test(entries, merging_takes_the_inhabited_and_all_above_them);
        tcase_add_test(entries, what_lies_outside_has_nothing_above_it);
        tcase_add_test(entries, paths_are_bytes);
        tcase_add_loop_test(entries, a_component_of_two_dots_leads_outside, 0,
                            ELEMENTSOF(outside_rows));
        suite_add_tcase(suite, entries);
        return check_main(suite);
}
