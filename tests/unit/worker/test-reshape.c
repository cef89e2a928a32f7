/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/export/reshape.h"

#include <check.h>
#include "check-main.h"

static const Shape inner[] = {
        { .key = "n", .kind = SHAPE_NUMBER },
        {},
};

/* One member of each kind, from JSON to JSON. */
static const struct {
        Shape shape;
        const char *from, *to;
} rows[] = {
        { { .key = "a", .kind = SHAPE_NUMBER }, "{\"a\":7,\"b\":8}", "{\"a\":7}" },
        { { .key = "a", .kind = SHAPE_NUMBER },
          "{\"a\":18446744073709551615}",
          "{\"a\":18446744073709551615}" },
        { { .key = "a", .kind = SHAPE_NUMBER, .absent = 9 }, "{}", "{\"a\":9}" },
        { { .key = "a", .kind = SHAPE_NUMBER, .absent = 9 }, "{\"a\":null}", "{\"a\":9}" },
        { { .key = "a", .kind = SHAPE_NUMBER, .absent = 9 }, "{\"a\":-1}", "{\"a\":9}" },
        { { .key = "a", .kind = SHAPE_NUMBER, .absent = 9 }, "{\"a\":\"max\"}", "{\"a\":9}" },
        { { .key = "a", .kind = SHAPE_NUMBER, .other_key = "z" }, "{\"z\":3}", "{\"a\":3}" },
        { { .key = "a", .kind = SHAPE_NUMBER, .other_key = "z" },
          "{\"z\":3,\"a\":4}",
          "{\"a\":4}" },
        { { .key = "a", .kind = SHAPE_NUMBER_OR_NULL }, "{\"a\":-20}", "{\"a\":-20}" },
        { { .key = "a", .kind = SHAPE_NUMBER_OR_NULL }, "{\"a\":\"max\"}", "{\"a\":null}" },
        { { .key = "a", .kind = SHAPE_NUMBER_OR_NULL }, "{}", "{\"a\":null}" },
        { { .key = "a", .kind = SHAPE_FLOOR_OR_NULL },
          "{\"a\":\"max\"}",
          "{\"a\":18446744073709551615}" },
        { { .key = "a", .kind = SHAPE_FLOOR_OR_NULL }, "{\"a\":5}", "{\"a\":5}" },
        { { .key = "a", .kind = SHAPE_FLOOR_OR_NULL }, "{\"a\":\"x\"}", "{\"a\":null}" },
        { { .key = "a", .kind = SHAPE_AVERAGE }, "{\"a\":70000}", "{\"a\":65535}" },
        { { .key = "a", .kind = SHAPE_AVERAGE }, "{\"a\":null}", "{\"a\":0}" },
        { { .key = "a", .kind = SHAPE_TEXT }, "{\"a\":\"\\\"\"}", "{\"a\":\"\\\"\"}" },
        { { .key = "a", .kind = SHAPE_TEXT }, "{\"a\":7}", "{\"a\":\"\"}" },
        { { .key = "a", .kind = SHAPE_NUMBERS },
          "{\"a\":{\"x\":1,\"y\":-1,\"z\":\"2\"}}",
          "{\"a\":{\"x\":1}}" },
        { { .key = "a", .kind = SHAPE_NUMBERS }, "{}", "{\"a\":{}}" },
        { { .key = "a", .kind = SHAPE_OBJECT, .shapes = inner },
          "{\"a\":{\"n\":1,\"m\":2}}",
          "{\"a\":{\"n\":1}}" },
        { { .key = "a", .kind = SHAPE_OBJECT, .shapes = inner },
          "{\"a\":[]}",
          "{\"a\":{\"n\":0}}" },
        { { .key = "a", .kind = SHAPE_NUMBER_IF }, "{\"a\":1}", "{\"a\":1}" },
        { { .key = "a", .kind = SHAPE_NUMBER_IF }, "{\"a\":\"1\"}", "{}" },
        { { .key = "a", .kind = SHAPE_TEXT_IF }, "{\"a\":\"\"}", "{\"a\":\"\"}" },
        { { .key = "a", .kind = SHAPE_TEXT_IF }, "{}", "{}" },
        { { .key = "a", .kind = SHAPE_TEXTS_IF },
          "{\"a\":{\"x\":\"1\",\"y\":2}}",
          "{\"a\":{\"x\":\"1\"}}" },
        { { .key = "a", .kind = SHAPE_SWITCH_IF }, "{\"a\":1}", "{\"a\":\"on\"}" },
        { { .key = "a", .kind = SHAPE_SWITCH_IF }, "{\"a\":0}", "{\"a\":\"runtime_off\"}" },
        { { .key = "a", .kind = SHAPE_SWITCH_IF }, "{\"a\":\"off\"}", "{\"a\":\"off\"}" },
        { { .key = "a", .kind = SHAPE_SWITCH_IF }, "{\"a\":2}", "{}" },
        { { .key = "a", .kind = SHAPE_SWITCH_IF }, "{\"a\":null}", "{}" },
        { { .key = "a", .kind = SHAPE_TEXTS_IF }, "{\"a\":{}}", "{}" },
        { { .key = "a", .kind = SHAPE_OBJECT_IF, .shapes = inner },
          "{\"a\":{}}",
          "{\"a\":{\"n\":0}}" },
        { { .key = "a", .kind = SHAPE_OBJECT_IF, .shapes = inner }, "{\"a\":null}", "{}" },
        /* a name that was escaped when it was read is not escaped again */
        { { .key = "a", .kind = SHAPE_NUMBERS },
          "{\"a\":{\"\uefff\":1}}",
          "{\"a\":{\"\uefff\":1}}" },
        { { .key = "a", .kind = SHAPE_TEXTS_IF },
          "{\"a\":{\"\uefff\":\"1\"}}",
          "{\"a\":{\"\uefff\":\"1\"}}" },
        /* an empty value is an object without members */
        { { .key = "a", .kind = SHAPE_NUMBER }, "", "{\"a\":0}" },
        { { .key = "a", .kind = SHAPE_NUMBER }, "7", "{\"a\":0}" },
};

START_TEST(members_take_their_shape) {
        const Shape shapes[] = { rows[_i].shape, {} };
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        ck_assert_int_eq(reshape_write(&writer, shapes, span_of(rows[_i].from)), 0);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        ck_assert_str_eq(text.bytes, rows[_i].to);
        buffer_done(&text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("reshape");
        TCase *members = tcase_create("members");

        tcase_add_loop_test(members, members_take_their_shape, 0, ELEMENTSOF(rows));
        suite_add_tcase(suite, members);
        return check_main(suite);
}
