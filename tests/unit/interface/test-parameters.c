/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/parameters.h"

#include <check.h>
#include <stdio.h>
#include "base/span.h"
#include "check-main.h"
#include "wire/limits.h"

typedef struct Sample {
        const char *text;
        bool flag;
        OptionalU64 optional;
        OptionalBool optional_flag;
        json_object *object, *objects, *texts;
        double real;
} Sample;

static const Parameter table[] = {
        { "text", PARAMETER_TEXT, true, offsetof(Sample, text) },
        { "flag", PARAMETER_BOOL, false, offsetof(Sample, flag) },
        { "optional", PARAMETER_OPTIONAL_U64, false, offsetof(Sample, optional) },
        { "optionalFlag", PARAMETER_OPTIONAL_BOOL, false, offsetof(Sample, optional_flag) },
        { "object", PARAMETER_OBJECT, false, offsetof(Sample, object) },
        { "objects", PARAMETER_OBJECTS, false, offsetof(Sample, objects) },
        { "texts", PARAMETER_TEXTS, false, offsetof(Sample, texts) },
        { "real", PARAMETER_REAL, false, offsetof(Sample, real) },
};

/* *ret_object is the caller's to put: *ret_culprit may be borrowed from it. */
static int decode(const char *text, Sample *sample, json_object **ret_object,
                  const char **ret_culprit) {
        *ret_object = json_tokener_parse(text);
        ck_assert_ptr_nonnull(*ret_object);
        *sample = (Sample){ .optional = { .value = 42 } };
        *ret_culprit = NULL;
        return parameters_decode(*ret_object, table, ELEMENTSOF(table), sample, ret_culprit);
}

START_TEST(members_arrive) {
        json_object *object;
        const char *culprit;
        Sample sample;

        ck_assert_int_eq(decode("{\"text\":\"a\",\"flag\":true,\"optional\":18446744073709551615,"
                                "\"optionalFlag\":false,\"object\":{},\"objects\":[{}],"
                                "\"texts\":[\"a\"]}",
                                &sample, &object, &culprit),
                         0);
        ck_assert(sample.flag);
        ck_assert_ptr_nonnull(sample.text);
        ck_assert_ptr_nonnull(sample.object);
        ck_assert_ptr_nonnull(sample.objects);
        ck_assert_ptr_nonnull(sample.texts);
        ck_assert(sample.optional.is_set);
        ck_assert_uint_eq(sample.optional.value, UINT64_MAX);
        ck_assert(sample.optional_flag.is_set && !sample.optional_flag.value);
        ck_assert_str_eq(sample.text, "a");
        json_object_put(object);
}
END_TEST

static const char *const optional_rows[] = {
        "{\"text\":\"\"}",
        "{\"text\":\"\",\"object\":null,\"flag\":null}",
        "{\"text\":\"\",\"optional\":null,\"optionalFlag\":null,\"objects\":null,\"texts\":null}",
};

START_TEST(missing_and_null_members_keep_their_default) {
        json_object *object;
        const char *culprit;
        Sample sample;

        ck_assert_int_eq(decode(optional_rows[_i], &sample, &object, &culprit), 0);
        ck_assert(!sample.flag);
        ck_assert_ptr_null(sample.object);
        ck_assert(!sample.optional.is_set);
        ck_assert_uint_eq(sample.optional.value, 42);
        json_object_put(object);
}
END_TEST

static const struct {
        const char *text;
        double real;
} real_rows[] = {
        { "{\"text\":\"\",\"real\":0.25}", 0.25 },
        { "{\"text\":\"\",\"real\":-3}", -3 },
        { "{\"text\":\"\"}", 0 },
};

START_TEST(any_number_is_a_real_one) {
        json_object *object;
        const char *culprit;
        Sample sample;

        ck_assert_int_eq(decode(real_rows[_i].text, &sample, &object, &culprit), 0);
        ck_assert_double_eq(sample.real, real_rows[_i].real);
        json_object_put(object);
}
END_TEST

static const struct {
        const char *text, *culprit;
} wrong_rows[] = {
        { "{}", "text" },
        { "{\"text\":null}", "text" },
        { "{\"text\":7}", "text" },
        { "{\"text\":\"\",\"flag\":1}", "flag" },
        { "{\"text\":\"\",\"flag\":\"true\"}", "flag" },
        { "{\"text\":\"\",\"object\":[]}", "object" },
        { "{\"text\":\"\",\"real\":\"1\"}", "real" },
        { "{\"text\":\"\",\"object\":7}", "object" },
        { "{\"text\":\"\",\"optional\":-1}", "optional" },
        { "{\"text\":\"\",\"optional\":1.5}", "optional" },
        { "{\"text\":\"\",\"optional\":\"1\"}", "optional" },
        { "{\"text\":\"\",\"objects\":[{},1]}", "objects" },
        { "{\"text\":\"\",\"objects\":{}}", "objects" },
        { "{\"text\":\"\",\"texts\":[\"a\",null]}", "texts" },
        { "{\"text\":\"\",\"other\":1}", "other" },
        { "{\"text\":\"\",\"other\":null}", "other" },
        { "{\"text\":\"\",\"Text\":\"\"}", "Text" },
};

START_TEST(what_is_wrong_is_named) {
        json_object *object;
        const char *culprit;
        Sample sample;

        ck_assert_int_eq(decode(wrong_rows[_i].text, &sample, &object, &culprit),
                         PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, wrong_rows[_i].culprit);
        json_object_put(object);
}
END_TEST

START_TEST(an_array_is_bounded) {
        static const Parameter texts[] = { { "texts", PARAMETER_TEXTS, true,
                                             offsetof(Sample, texts) } };
        json_object *object = json_object_new_object(), *array = json_object_new_array();
        const char *culprit = NULL;
        Sample sample = {};

        ck_assert_int_eq(json_object_object_add(object, "texts", array), 0);
        for (unsigned i = 0; i < LIMIT_NAMES_PER_LIST; i++)
                ck_assert_int_eq(json_object_array_add(array, json_object_new_string("a")), 0);
        ck_assert_int_eq(parameters_decode(object, texts, 1, &sample, &culprit), 0);
        ck_assert_int_eq(json_object_array_add(array, json_object_new_string("a")), 0);
        ck_assert_int_eq(parameters_decode(object, texts, 1, &sample, &culprit),
                         PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, "texts");
        json_object_put(object);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("parameters");
        TCase *decoding = tcase_create("decoding");

        tcase_add_test(decoding, members_arrive);
        tcase_add_loop_test(decoding, missing_and_null_members_keep_their_default, 0,
                            ELEMENTSOF(optional_rows));
        tcase_add_loop_test(decoding, any_number_is_a_real_one, 0, ELEMENTSOF(real_rows));
        tcase_add_loop_test(decoding, what_is_wrong_is_named, 0, ELEMENTSOF(wrong_rows));
        tcase_add_test(decoding, an_array_is_bounded);
        suite_add_tcase(suite, decoding);
        return check_main(suite);
}
