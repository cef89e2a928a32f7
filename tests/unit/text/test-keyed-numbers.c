/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "base/macro.h"
#include "kernel/text/keyed-numbers.h"

/* known keys */

static const Span keys[] = { SPAN_LITERAL("one"), SPAN_LITERAL("two"), SPAN_LITERAL("tw") };

START_TEST(fields_take_what_was_asked_for) {
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };

        ck_assert(fields_put(&fields, span_of("tw"), span_of("18446744073709551615")));
        ck_assert(!fields_put(&fields, span_of("three"), span_of("not a number")));
        ck_assert(fields_put(&fields, span_of("one"), span_of("0")));
        ck_assert_uint_eq(fields.present, 1u << 0 | 1u << 2);
        ck_assert_uint_eq(values[0], 0);
        ck_assert_uint_eq(values[2], UINT64_MAX);
        ck_assert(!fields.malformed);
}
END_TEST

START_TEST(a_field_twice_is_absent_for_good) {
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };

        for (unsigned i = 0; i < 3; i++)
                ck_assert(fields_put(&fields, span_of("one"), span_of("1")));
        ck_assert(fields_put(&fields, span_of("two"), span_of("2")));
        ck_assert_uint_eq(fields.present, 1u << 1);
        ck_assert(fields.malformed);
}
END_TEST

static const char *const bad_values[] = { "", "-1", "1.5", "x", "1 2", "18446744073709551616" };

START_TEST(a_field_without_a_number_is_absent) {
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };

        ck_assert(fields_put(&fields, span_of("one"), span_of(bad_values[_i])));
        ck_assert_uint_eq(fields.present, 0);
        ck_assert(fields.malformed);
}
END_TEST

/* all keys */

static void assert_json(const NumberMap *map, const char *wanted) {
        Buffer buffer;
        JsonWriter writer;

        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        number_map_write_json(&writer, map);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&buffer), wanted));
        buffer_done(&buffer);
}

START_TEST(a_map_is_in_bytewise_order) {
        NumberMap map;

        map.n_entries = 0;
        assert_json(&map, "{}");
        ck_assert(number_map_put(&map, span_of("b"), span_of("2")));
        ck_assert(number_map_put(&map, span_of("a_b"), span_of("3")));
        ck_assert(number_map_put(&map, span_of("B"), span_of("1")));
        ck_assert(number_map_put(&map, span_of("a"), span_of("18446744073709551615")));
        assert_json(&map, "{\"B\":1,\"a\":18446744073709551615,\"a_b\":3,\"b\":2}");
}
END_TEST

START_TEST(a_key_twice_has_no_value) {
        NumberMap map;

        map.n_entries = 0;
        ck_assert(number_map_put(&map, span_of("a"), span_of("1")));
        ck_assert(!number_map_put(&map, span_of("a"), span_of("2")));
        ck_assert(!number_map_put(&map, span_of("a"), span_of("3")));
        ck_assert(!number_map_put(&map, span_of("n"), span_of("none")));
        ck_assert(!number_map_put(&map, span_of("n"), span_of("4")));
        ck_assert(!map.entries[0].has_value);
        assert_json(&map, "{}");
}
END_TEST

START_TEST(a_map_is_bounded) {
        char texts[NUMBER_MAP_MAX + 1][8];
        NumberMap map;

        map.n_entries = 0;
        for (unsigned i = 0; i <= NUMBER_MAP_MAX; i++) {
                (void) snprintf(texts[i], sizeof(texts[i]), "k%03u", NUMBER_MAP_MAX - i);
                ck_assert_int_eq(number_map_put(&map, span_of(texts[i]), span_of("1")),
                                 i < NUMBER_MAP_MAX);
        }
        ck_assert_uint_eq(map.n_entries, NUMBER_MAP_MAX);
        ck_assert(span_is(map.entries[0].key, "k001"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("keyed-numbers");
        TCase *fields = tcase_create("fields"), *map = tcase_create("map");

        tcase_add_test(fields, fields_take_what_was_asked_for);
        tcase_add_test(fields, a_field_twice_is_absent_for_good);
        tcase_add_loop_test(fields, a_field_without_a_number_is_absent, 0, ELEMENTSOF(bad_values));
        suite_add_tcase(suite, fields);
        tcase_add_test(map, a_map_is_in_bytewise_order);
        tcase_add_test(map, a_key_twice_has_no_value);
        tcase_add_test(map, a_map_is_bounded);
        suite_add_tcase(suite, map);
        return check_main(suite);
}
