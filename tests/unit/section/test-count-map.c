/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/count-map.h"

#include <stdio.h>

#include "check-main.h"

static void scan(CountMap *map, KeyTree *names, const char *json, uint64_t unit) {
        char complaint[MEMBER_COMPLAINT_BYTES];

        ck_assert_int_eq(count_map_scan_text(map, span_of(json), names, unit, complaint), 0);
}

START_TEST(keys_are_ascending_whatever_the_file) {
        CountMap map = {};
        KeyTree names = {};

        scan(&map, &names, "{\"c\":3,\"a\":1,\"b\":2,\"ab\":12,\"\":0}", 1);
        ck_assert_uint_eq(map.n, 5);
        for (size_t i = 1; i < map.n; i++)
                ck_assert_int_lt(span_compare(map.counts[i - 1].name->key, map.counts[i].name->key),
                                 0);
        ck_assert(reading_equal(count_map_get(&map, SPAN_LITERAL("ab")), READING(12)));
        ck_assert(reading_equal(count_map_get(&map, SPAN_LITERAL("d")), (Reading){}));
        count_map_done(&map);
        key_tree_done(&names, NULL);
}
END_TEST

START_TEST(units_do_not_overflow) {
        CountMap map = {};
        KeyTree names = {};

        scan(&map, &names, "{\"Rss\":18014398509481983,\"Pss\":18014398509481984}", 1024);
        ck_assert(reading_equal(count_map_get(&map, SPAN_LITERAL("Rss")),
                                READING(UINT64_MAX - 1023)));
        ck_assert(reading_equal(count_map_get(&map, SPAN_LITERAL("Pss")), READING(UINT64_MAX)));
        count_map_done(&map);
        key_tree_done(&names, NULL);
}
END_TEST

START_TEST(many_keys_fit) {
        CountMap map = {};
        KeyTree names = {};
        char key[16];

        for (unsigned i = 1000; i > 0; i--) {
                KeyNode *name;
                Count *count;

                (void) snprintf(key, sizeof(key), "%04u", i);
                ck_assert_int_eq(key_tree_put(&names, 0, span_of(key), &name), 0);
                ck_assert_int_eq(count_map_put(&map, name, &count), 0);
                ck_assert_uint_eq(count->value, 0);
                count->value = i;
        }
        ck_assert_uint_eq(map.n, 1000);
        for (unsigned i = 0; i < 1000; i++)
                ck_assert_uint_eq(map.counts[i].value, i + 1);
        count_map_done(&map);
        key_tree_done(&names, NULL);
}
END_TEST

START_TEST(a_walk_meets_every_key_once) {
        static const char *const keys[] = { "a", "b", "c", "d" };
        static const int before[] = { 1, 2, -1, 4 }, after[] = { -1, 20, 30, 40 };
        CountMap a = {}, b = {};
        const CountMap *const maps[] = { &a, &b };
        CountWalk walk = {};
        Reading sides[2];
        KeyTree names = {};
        size_t n = 0;
        Span key;

        scan(&a, &names, "{\"a\":1,\"b\":2,\"d\":4}", 1);
        scan(&b, &names, "{\"b\":20,\"c\":30,\"d\":40}", 1);
        for (; count_walk_next(&walk, maps, &key, sides); n++) {
                ck_assert(span_is(key, keys[n]));
                ck_assert_int_eq(sides[0].state != READING_ABSENT, before[n] >= 0);
                ck_assert_int_eq(sides[1].state != READING_ABSENT, after[n] >= 0);
                if (before[n] >= 0)
                        ck_assert_uint_eq(sides[0].magnitude, (unsigned) before[n]);
                if (after[n] >= 0)
                        ck_assert_uint_eq(sides[1].magnitude, (unsigned) after[n]);
        }
        ck_assert_uint_eq(n, ELEMENTSOF(keys));
        count_map_done(&a);
        count_map_done(&b);
        key_tree_done(&names, NULL);
}
END_TEST

static const char *const malformed_rows[] = {
        "", "[]", "{\"a\":-1}", "{\"a\":null}", "{\"a\":1,\"a\":2}", "{\"a\":\"max\"}", "{} x",
};

START_TEST(anything_but_counts_is_malformed) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        CountMap map = {};
        KeyTree names = {};

        ck_assert_int_eq(
                count_map_scan_text(&map, span_of(malformed_rows[_i]), &names, 1, complaint),
                JSON_E_MALFORMED);
        ck_assert_str_ne(complaint, "");
        count_map_done(&map);
        key_tree_done(&names, NULL);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("count-map");
        TCase *maps = tcase_create("maps");

        tcase_add_test(maps, keys_are_ascending_whatever_the_file);
        tcase_add_test(maps, units_do_not_overflow);
        tcase_add_test(maps, many_keys_fit);
        tcase_add_test(maps, a_walk_meets_every_key_once);
        tcase_add_loop_test(maps, anything_but_counts_is_malformed, 0, ELEMENTSOF(malformed_rows));
        suite_add_tcase(suite, maps);
        return check_main(suite);
}
