/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/json-out.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"

/* Owned by the caller. */
static char *print(JsonStyle style, const char *json) {
        _cleanup_(json_out_done) JsonOut out;
        json_object *value = json_tokener_parse(json);
        char *text = NULL;
        size_t n_text;
        FILE *file = open_memstream(&text, &n_text);

        json_out_init(&out, file, style);
        json_out_value(&out, value);
        ck_assert_int_eq(json_out_finish(&out), 0);
        ck_assert_int_eq(fclose(file), 0);
        json_object_put(value);
        return text;
}

static const struct {
        const char *json, *pretty;
} rows[] = {
        { "{\"b\":1,\"a\":[],\"c\":{},\"d\":null}",
          "{\n  \"b\": 1,\n  \"a\": [],\n  \"c\": {},\n  \"d\": null\n}" },
        { "[1,-2,[\"x/y\",true]]", "[\n  1,\n  -2,\n  [\n    \"x/y\",\n    true\n  ]\n]" },
        { "18446744073709551615", "18446744073709551615" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "\"\\u001b\\\"\\u00b5\"", NULL },
        { "{\"process\":\"\\uef9b\"}", NULL },
        { "0.1", "0.1" },
};

START_TEST(short_is_one_line_as_it_came) {
        _cleanup_(freep) char *text = print(JSON_STYLE_SHORT, rows[_i].json);
        json_object *again = json_tokener_parse(text), *value = json_tokener_parse(rows[_i].json);

        ck_assert(json_object_equal(again, value));
        ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
        if (rows[_i].pretty) {
                text[strlen(text) - 1] = '\0';
                ck_assert_str_eq(text, rows[_i].json);
        }
        json_object_put(again);
        json_object_put(value);
}
END_TEST

START_TEST(pretty_is_a_member_a_line) {
        _cleanup_(freep) char *text = print(JSON_STYLE_PRETTY, rows[_i].json);
        json_object *again = json_tokener_parse(text), *value = json_tokener_parse(rows[_i].json);

        ck_assert(json_object_equal(again, value));
        if (rows[_i].pretty) {
                text[strlen(text) - 1] = '\0';
                ck_assert_str_eq(text, rows[_i].pretty);
        }
        json_object_put(again);
        json_object_put(value);
}
END_TEST

/* {"groups": [1, {"n": 2}], "name": "\xff", "text": "x", "none": null} in pieces */
static int write_pieces(FILE *file, JsonStyle style) {
        _cleanup_(json_out_done) JsonOut out;
        json_object *element = json_tokener_parse("{\"n\":2}");

        json_out_init(&out, file, style);
        json_out_object(&out);
        json_out_key(&out, "groups");
        json_out_array(&out);
        json_out_u64(&out, 1);
        json_out_value(&out, element);
        json_out_end(&out);
        json_out_key(&out, "name");
        json_out_name(&out, SPAN_LITERAL("\xff"));
        json_out_key(&out, "text");
        json_out_text(&out, "x");
        json_out_member(&out, "none", NULL);
        json_out_end(&out);
        json_object_put(element);
        return json_out_finish(&out);
}

START_TEST(pieces_become_one_value) {
        char *text = NULL;
        size_t n_text;
        FILE *file = open_memstream(&text, &n_text);

        ck_assert_int_eq(write_pieces(file, JSON_STYLE_SHORT), 0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_str_eq(text, "{\"groups\":[1,{\"n\":2}],\"name\":\"\uefff\",\"text\":\"x\","
                               "\"none\":null}\n");
        free(text);

        file = open_memstream(&text, &n_text);
        ck_assert_int_eq(write_pieces(file, JSON_STYLE_PRETTY), 0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_str_eq(text,
                         "{\n  \"groups\": [\n    1,\n    {\n      \"n\": 2\n    }\n  ],\n"
                         "  \"name\": \"\uefff\",\n  \"text\": \"x\",\n  \"none\": null\n}\n");
        free(text);
}
END_TEST

static const struct {
        const char *text, *written;
} markup_rows[] = {
        { "</script>", "\"\\u003c/script\\u003e\"" },
        { "<!--", "\"\\u003c!--\"" },
        { "<<", "\"\\u003c\\u003c\"" },
        { "a\u2028b\u2029", "\"a\\u2028b\\u2029\"" },
        { "\u2027\u202a&'", "\"\u2027\\u202a&'\"" },
        { "", "\"\"" },
};

START_TEST(in_markup_nothing_looks_like_a_tag) {
        _cleanup_(json_out_done) JsonOut out;
        char *text = NULL;
        size_t n_text;
        FILE *file = open_memstream(&text, &n_text);

        json_out_init(&out, file, JSON_STYLE_SHORT);
        out.in_markup = true;
        json_out_object(&out);
        json_out_key(&out, markup_rows[_i].text);
        json_out_text(&out, markup_rows[_i].text);
        json_out_end(&out);
        ck_assert_int_eq(json_out_finish(&out), 0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_int_eq(
                strncmp(text + 1, markup_rows[_i].written, strlen(markup_rows[_i].written)), 0);
        ck_assert_ptr_nonnull(strstr(text, ":"));
        ck_assert_int_eq(strncmp(strstr(text, "\":") + 2, markup_rows[_i].written,
                                 strlen(markup_rows[_i].written)),
                         0);
        free(text);
}
END_TEST

START_TEST(raw_values_take_their_places) {
        _cleanup_(json_out_done) JsonOut out;
        char *text = NULL;
        size_t n_text;
        FILE *file = open_memstream(&text, &n_text);

        json_out_init(&out, file, JSON_STYLE_SHORT);
        json_out_array(&out);
        json_out_raw(&out, SPAN_LITERAL("{\"a\":1}"));
        json_out_raw(&out, SPAN_LITERAL("2"));
        json_out_end(&out);
        ck_assert_int_eq(json_out_finish(&out), 0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_str_eq(text, "[{\"a\":1},2]\n");
        free(text);
}
END_TEST

START_TEST(a_full_disk_is_noticed) {
        FILE *file = fopen("/dev/full", "we");

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(write_pieces(file, JSON_STYLE_SHORT), -ENOSPC);
        (void) fclose(file);
}
END_TEST

START_TEST(what_is_not_closed_is_not_finished) {
        _cleanup_(json_out_done) JsonOut out;
        FILE *file = fopen("/dev/null", "we");

        json_out_init(&out, file, JSON_STYLE_SHORT);
        json_out_object(&out);
        ck_assert_int_eq(json_out_finish(&out), -EINVAL);
        json_out_init(&out, file, JSON_STYLE_SHORT);
        json_out_end(&out);
        ck_assert_int_eq(json_out_finish(&out), -EINVAL);
        json_out_init(&out, file, JSON_STYLE_SHORT);
        for (unsigned i = 0; i <= JSON_OUT_MAX_DEPTH; i++)
                json_out_array(&out);
        ck_assert_int_eq(json_out_finish(&out), -EMSGSIZE);
        (void) fclose(file);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("json-out");
        TCase *value = tcase_create("value");
        TCase *pieces = tcase_create("pieces");

        tcase_add_loop_test(value, short_is_one_line_as_it_came, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(value, pretty_is_a_member_a_line, 0, ELEMENTSOF(rows));
        tcase_add_test(pieces, pieces_become_one_value);
        tcase_add_loop_test(pieces, in_markup_nothing_looks_like_a_tag, 0, ELEMENTSOF(markup_rows));
        tcase_add_test(pieces, raw_values_take_their_places);
        tcase_add_test(pieces, a_full_disk_is_noticed);
        tcase_add_test(pieces, what_is_not_closed_is_not_finished);
        suite_add_tcase(suite, value);
        suite_add_tcase(suite, pieces);
        return check_main(suite);
}
