/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "kernel/text/number-map.h"

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
        uint64_t value;

        number_map_init(&map);
        assert_json(&map, "{}");
        ck_assert(number_map_put(&map, span_of("b"), span_of("2")));
        ck_assert(number_map_put(&map, span_of("a_b"), span_of("3")));
        ck_assert(number_map_put(&map, span_of("B"), span_of("1")));
        ck_assert(number_map_put(&map, span_of("a"), span_of("18446744073709551615")));
        assert_json(&map, "{\"B\":1,\"a\":18446744073709551615,\"a_b\":3,\"b\":2}");
        ck_assert(number_map_get(&map, span_of("a_b"), &value) && value == 3);
        ck_assert(!number_map_get(&map, span_of("c"), &value));
}
END_TEST

START_TEST(a_key_twice_has_no_value) {
        NumberMap map;
        uint64_t value;

        number_map_init(&map);
        ck_assert(number_map_put(&map, span_of("a"), span_of("1")));
        ck_assert(!number_map_put(&map, span_of("a"), span_of("2")));
        ck_assert(!number_map_put(&map, span_of("a"), span_of("3")));
        ck_assert(!number_map_put(&map, span_of("n"), span_of("none")));
        ck_assert(!number_map_put(&map, span_of("n"), span_of("4")));
        ck_assert(!number_map_get(&map, span_of("a"), &value));
        assert_json(&map, "{}");
}
END_TEST

START_TEST(a_map_is_bounded) {
        char texts[NUMBER_MAP_MAX + 1][8];
        NumberMap map;

        number_map_init(&map);
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
        Suite *suite = suite_create("number-map");
        TCase *put = tcase_create("put");

        tcase_add_test(put, a_map_is_in_bytewise_order);
        tcase_add_test(put, a_key_twice_has_no_value);
        tcase_add_test(put, a_map_is_bounded);
        suite_add_tcase(suite, put);
        return check_main(suite);
}
