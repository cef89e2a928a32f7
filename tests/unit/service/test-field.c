/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "service/request/field.h"

typedef struct Sample {
        const char *text;
        bool flag;
        FieldU64 number;
        json_object *object, *objects, *texts, *real;
} Sample;

static const Field table[] = {
        { "text", FIELD_TEXT, false, offsetof(Sample, text) },
        { "flag", FIELD_BOOL, false, offsetof(Sample, flag) },
        { "number", FIELD_U64, false, offsetof(Sample, number) },
        { "object", FIELD_OBJECT, false, offsetof(Sample, object) },
        { "objects", FIELD_OBJECTS, false, offsetof(Sample, objects) },
        { "texts", FIELD_TEXTS, false, offsetof(Sample, texts) },
        { "real", FIELD_NUMBER, false, offsetof(Sample, real) },
};

static const struct {
        const char *json;
        const char *culprit; /* NULL: valid */
} rows[] = {
        { "{}", NULL },
        { "{\"text\":\"x\",\"flag\":true,\"number\":1,\"object\":{},\"objects\":[{}],\"texts\":[]}",
          NULL },
        { "{\"text\":null,\"flag\":null,\"number\":null,\"object\":null,\"texts\":null}", NULL },
        { "{\"number\":18446744073709551615}", NULL },
        { "{\"number\":-1}", "number" },
        { "{\"number\":1.5}", "number" },
        { "{\"number\":\"1\"}", "number" },
        { "{\"text\":1}", "text" },
        { "{\"flag\":1}", "flag" },
        { "{\"flag\":\"true\"}", "flag" },
        { "{\"object\":[]}", "object" },
        { "{\"objects\":[{},1]}", "objects" },
        { "{\"objects\":{}}", "objects" },
        { "{\"texts\":[\"a\",null]}", "texts" },
        { "{\"texts\":[\"a\",\"b\",\"c\"]}", NULL },
        { "{\"texts\":[\"a\",\"b\",\"c\",\"d\"]}", "texts" }, /* past the bound of the test */
        { "{\"real\":1.5}", NULL },
        { "{\"real\":1}", NULL },
        { "{\"real\":null}", NULL },
        { "{\"real\":\"1\"}", "real" },
        { "{\"real\":{}}", "real" },
        { "{\"other\":1}", "other" },
        { "{\"other\":null}", "other" },
};

START_TEST(only_what_the_table_says_gets_through) {
        json_object *object = json_tokener_parse(rows[_i].json);
        Sample sample = { .text = NULL };
        const char *culprit = NULL;

        ck_assert_int_eq(fields_decode(object, table, ELEMENTSOF(table), 3, &sample, &culprit),
                         rows[_i].culprit ? FIELD_E_INVALID : FIELD_OK);
        if (rows[_i].culprit)
                ck_assert_str_eq(culprit, rows[_i].culprit);
        json_object_put(object);
}
END_TEST

START_TEST(values_arrive_and_defaults_stay) {
        json_object *object =
                json_tokener_parse("{\"text\":\"x\",\"number\":18446744073709551615}");
        Sample sample = { .flag = true };
        const char *culprit;

        ck_assert_int_eq(fields_decode(object, table, ELEMENTSOF(table), 3, &sample, &culprit), 0);
        ck_assert_str_eq(sample.text, "x");
        ck_assert(sample.flag);
        ck_assert(sample.number.is_set);
        ck_assert_uint_eq(sample.number.value, UINT64_MAX);
        ck_assert_ptr_null(sample.object);
        json_object_put(object);
}
END_TEST

START_TEST(what_is_required_is_missed_also_when_it_is_null) {
        static const Field required[] = { { "text", FIELD_TEXT, true, offsetof(Sample, text) } };
        json_object *missing = json_tokener_parse("{}");
        json_object *null = json_tokener_parse("{\"text\":null}");
        const char *culprit = NULL;
        Sample sample;

        ck_assert_int_eq(fields_decode(missing, required, 1, 3, &sample, &culprit),
                         FIELD_E_INVALID);
        ck_assert_str_eq(culprit, "text");
        culprit = NULL;
        ck_assert_int_eq(fields_decode(null, required, 1, 3, &sample, &culprit), FIELD_E_INVALID);
        ck_assert_str_eq(culprit, "text");
        json_object_put(missing);
        json_object_put(null);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("field");
        TCase *decode = tcase_create("decode");

        tcase_add_loop_test(decode, only_what_the_table_says_gets_through, 0, ELEMENTSOF(rows));
        tcase_add_test(decode, values_arrive_and_defaults_stay);
        tcase_add_test(decode, what_is_required_is_missed_also_when_it_is_null);
        suite_add_tcase(suite, decode);
        return check_main(suite);
}
