/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/group/value.h"
#include "json-text.h"

#define MAX UINT64_MAX

static const struct {
        Integer a, b, difference;
} subtract_rows[] = {
        { { false, 5 }, { false, 3 }, { false, 2 } },
        { { false, 3 }, { false, 5 }, { true, 2 } },
        { { true, 3 }, { true, 5 }, { false, 2 } },
        { { true, 5 }, { true, 3 }, { true, 2 } },
        { { false, 3 }, { true, 5 }, { false, 8 } },
        { { true, 3 }, { false, 5 }, { true, 8 } },
        { { true, 5 }, { true, 5 }, { false, 0 } },
        { { false, 0 }, { false, MAX }, { true, MAX } },
        { { false, MAX }, { false, 0 }, { false, MAX } },
        { { false, MAX }, { true, 1 }, { false, MAX } }, /* saturates */
        { { true, MAX }, { false, 1 }, { true, MAX } },
};

START_TEST(differences_are_exact) {
        Integer difference = integer_subtract(subtract_rows[_i].a, subtract_rows[_i].b);

        ck_assert_uint_eq(difference.magnitude, subtract_rows[_i].difference.magnitude);
        ck_assert(difference.negative == subtract_rows[_i].difference.negative);
}
END_TEST

static const struct {
        Value value;
        const char *json;
        bool has_number;
        double number;
} value_rows[] = {
        { { .kind = VALUE_ABSENT }, "null", false, 0 },
        { { .kind = VALUE_INTEGER, .integer = { false, MAX } },
          "18446744073709551615",
          true,
          0x1p64 },
        { { .kind = VALUE_INTEGER, .integer = { true, MAX } },
          "-18446744073709551615",
          true,
          -0x1p64 },
        { { .kind = VALUE_REAL, .real = 0.25 }, "0.25", true, 0.25 },
        { { .kind = VALUE_RANGE, .range = { { true, 20 }, { false, 19 } } },
          "{\"min\":-20,\"max\":19}",
          true,
          -0.5 },
        { { .kind = VALUE_MODE, .mode = { .text = "S", .n_text = 1, .count = 2, .total = 3 } },
          "{\"mode\":\"S\",\"count\":2,\"total\":3}",
          false,
          0 },
        { { .kind = VALUE_CPUS,
            .cpus = { .min = 3, .max = 3, .uniform = true, .list = { "0-2", 3 } } },
          "{\"minCpus\":3,\"maxCpus\":3,\"uniform\":true,\"cpus\":\"0-2\"}",
          true,
          3 },
        { { .kind = VALUE_CPUS, .cpus = { .min = 1, .max = 4 } },
          "{\"minCpus\":1,\"maxCpus\":4,\"uniform\":false}",
          true,
          2.5 },
};

START_TEST(values_are_written_by_kind) {
        JsonWriter writer;

        value_write_json(json_text_begin(&writer), &value_rows[_i].value);
        ck_assert_str_eq(json_text_end(&writer), value_rows[_i].json);
        ck_assert(value_has_number(&value_rows[_i].value) == value_rows[_i].has_number);
        ck_assert_double_eq(value_number(&value_rows[_i].value), value_rows[_i].number);
}
END_TEST

START_TEST(a_value_equals_only_itself) {
        for (size_t i = 0; i < ELEMENTSOF(value_rows); i++)
                for (size_t j = 0; j < ELEMENTSOF(value_rows); j++)
                        ck_assert(value_equal(&value_rows[i].value, &value_rows[j].value) ==
                                  (i == j));
}
END_TEST

START_TEST(modes_are_equal_by_their_winners) {
        Value two = { .kind = VALUE_MODE,
                      .mode = { .text = "S", .n_text = 1, .count = 2, .total = 3 } };
        Value nine = { .kind = VALUE_MODE,
                       .mode = { .text = "S", .n_text = 1, .count = 9, .total = 9 } };
        Value other = { .kind = VALUE_MODE,
                        .mode = { .text = "R", .n_text = 1, .count = 2, .total = 3 } };

        ck_assert(value_equal(&two, &nine));
        ck_assert(!value_equal(&two, &other));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("value");
        TCase *integers = tcase_create("integers");
        TCase *values = tcase_create("values");

        tcase_add_loop_test(integers, differences_are_exact, 0, ELEMENTSOF(subtract_rows));
        suite_add_tcase(suite, integers);
        tcase_add_loop_test(values, values_are_written_by_kind, 0, ELEMENTSOF(value_rows));
        tcase_add_test(values, a_value_equals_only_itself);
        tcase_add_test(values, modes_are_equal_by_their_winners);
        suite_add_tcase(suite, values);
        return check_main(suite);
}
