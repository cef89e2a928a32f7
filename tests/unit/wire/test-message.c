/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "json/json-scanner.h"
#include "wire/limits.h"
#include "wire/message.h"
#include "wire/message-object.h"

static const JsonLimits limits = { .max_depth = 64, .max_token_bytes = 65536 };

static const struct {
        const char *frame;
        const char *method;
        const char *parameters;
        bool more, oneway, upgrade;
} call_rows[] = {
        { "{\"method\":\"a.B\"}", "a.B", "{}", false, false, false },
        { "{\"method\":\"a.B\",\"parameters\":{}}", "a.B", "{}", false, false, false },
        { "{\"method\":\"a.B\",\"parameters\":null}", "a.B", "{}", false, false, false },
        { " { \"parameters\" : { \"x\" : [ 1 ] } , \"more\" : true , \"method\" : \"m\" } ", "m",
          "{\"x\":[1]}", true, false, false },
        { "{\"method\":\"m\",\"oneway\":true,\"more\":false}", "m", "{}", false, true, false },
        { "{\"method\":\"m\",\"upgrade\":true,\"more\":null}", "m", "{}", false, false, true },
        { "{\"method\":\"m\",\"later\":[{\"more\":1}],\"more\":true}", "m", "{}", true, false,
          false },
        { "{\"method\":\"\\u00e9\\n\"}", "\xc3\xa9\n", "{}", false, false, false },
};

START_TEST(calls_are_decoded) {
        char complaint[MESSAGE_COMPLAINT_BYTES] = "old";
        Buffer text;
        Call call;

        ck_assert_int_eq(call_decode(span_of(call_rows[_i].frame), &call, complaint), 0);
        ck_assert_str_eq(call.method, call_rows[_i].method);
        ck_assert_int_eq(call.more, call_rows[_i].more);
        ck_assert_int_eq(call.oneway, call_rows[_i].oneway);
        ck_assert_int_eq(call.upgrade, call_rows[_i].upgrade);
        buffer_init(&text, 0);
        ck_assert_int_eq(message_append_object(&text, call.parameters), 0);
        ck_assert(span_is(buffer_span(&text), call_rows[_i].parameters));
        buffer_done(&text);
        call_done(&call);
        ck_assert_ptr_null(call.method);
        ck_assert_ptr_null(call.parameters);
}
END_TEST

static const struct {
        const char *frame;
        const char *complaint;
} bad_call_rows[] = {
        { "", "a value is expected at byte 0" },
        { "[]", "an object is expected at byte 0" },
        { "\"method\"", "an object is expected" },
        { "{}", "\"method\" is missing" },
        { "{\"method\":null}", "\"method\" is missing" },
        { "{\"method\":\"\"}", "\"method\" is empty at byte 10" },
        { "{\"method\":1}", "\"method\" must be a string at byte 10" },
        { "{\"method\":{\"a\":1}}", "\"method\" must be a string" },
        { "{\"method\":\"m\",\"parameters\":[]}", "\"parameters\" must be an object at byte 27" },
        { "{\"method\":\"m\",\"parameters\":1}", "\"parameters\" must be an object" },
        { "{\"method\":\"m\",\"more\":1}", "\"more\" must be true or false" },
        { "{\"method\":\"m\",\"oneway\":\"true\"}", "\"oneway\" must be true or false" },
        { "{\"method\":\"m\",\"upgrade\":{}}", "\"upgrade\" must be true or false" },
        { "{\"method\":\"m\",\"method\":\"m\"}", "duplicate member \"method\" at byte 14" },
        { "{\"method\":\"m\",\"x\":{\"y\":1,\"y\":1}}", "duplicate member \"y\"" },
        { "{\"method\":\"m\",\"parameters\":{\"y\":1,\"y\":1}}", "duplicate member \"y\"" },
        { "{\"method\":\"m\",}", "a key is expected" },
        { "{'method':'m'}", "a key or '}' is expected" },
        { "{\"method\":\"m\",\"x\":NaN}", "a value is expected" },
        { "{\"method\":\"m\"}{}", "nothing is expected behind the value at byte 14" },
        { "{\"method\":\"m\\u0000\"}", "\\u0000" },
        { "{\"method\":\"m\xff\"}", "invalid UTF-8" },
        { "{\"method\":\"m\",\"parameters\":{\"x\":\"\\ud800\"}}", "surrogate" },
        { "{\"method\":\"m\"", "',' or '}' is expected" },
};

START_TEST(malformed_calls_are_refused_with_a_complaint) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Call call = {};

        ck_assert_int_eq(call_decode(span_of(bad_call_rows[_i].frame), &call, complaint),
                         MESSAGE_E_MALFORMED);
        ck_assert_msg(strstr(complaint, bad_call_rows[_i].complaint), "\"%s\"", complaint);
        ck_assert_ptr_null(call.method);
        ck_assert_ptr_null(call.parameters);
}
END_TEST

static void append_times(Buffer *buffer, const char *text, unsigned times) {
        for (unsigned i = 0; i < times; i++)
                if (buffer_append_text(buffer, text) != 0)
                        ck_abort();
}

static int decode_nested(unsigned depth, char *complaint) {
        Buffer frame;
        Call call;
        int r;

        buffer_init(&frame, 0);
        append_times(&frame, "{\"method\":\"m\",\"parameters\":{\"x\":", 1);
        append_times(&frame, "[", depth - 2);
        append_times(&frame, "]", depth - 2);
        append_times(&frame, "}}", 1);
        r = call_decode(buffer_span(&frame), &call, complaint);
        if (r == 0)
                call_done(&call);
        buffer_done(&frame);
        return r;
}

START_TEST(calls_nest_up_to_the_limit) {
        char complaint[MESSAGE_COMPLAINT_BYTES];

        ck_assert_int_eq(decode_nested(LIMIT_JSON_DEPTH, complaint), 0);
        ck_assert_int_eq(decode_nested(LIMIT_JSON_DEPTH + 1, complaint), MESSAGE_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(complaint, "nested too deeply"));
}
END_TEST

/* @n_values: the parameters themselves, the array, and what is in it. */
static int decode_values(unsigned n_values, char *complaint) {
        Buffer frame;
        Call call;
        int r;

        buffer_init(&frame, 0);
        append_times(&frame, "{\"method\":\"m\",\"parameters\":{\"x\":[{}", 1);
        append_times(&frame, ",{}", n_values - 3);
        append_times(&frame, "]}}", 1);
        r = call_decode(buffer_span(&frame), &call, complaint);
        if (r == 0)
                call_done(&call);
        buffer_done(&frame);
        return r;
}

START_TEST(calls_hold_a_limited_number_of_values) {
        char complaint[MESSAGE_COMPLAINT_BYTES];

        ck_assert_int_eq(decode_values(LIMIT_CALL_VALUES, complaint), 0);
        ck_assert_int_eq(decode_values(LIMIT_CALL_VALUES + 1, complaint), MESSAGE_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(complaint, "too many values"));
}
END_TEST

static const struct {
        const char *frame;
        bool good;
        const char *error;
        const char *parameters;
        bool continues;
} reply_rows[] = {
        { "{}", true, NULL, "{}", false },
        { "{\"parameters\":{\"a\":1}}", true, NULL, "{\"a\":1}", false },
        { "{\"parameters\":null,\"continues\":null,\"error\":null}", true, NULL, "{}", false },
        { "{\"parameters\":{},\"continues\":true}", true, NULL, "{}", true },
        { "{\"error\":\"a.B\",\"parameters\":{\"x\":[]}}", true, "a.B", "{\"x\":[]}", false },
        { "{\"error\":\"a.B\"}", true, "a.B", "{}", false },
        { "{\"error\":\"a.B\",\"continues\":false}", true, "a.B", "{}", false },
        { "{\"later\":{\"continues\":1}}", true, NULL, "{}", false },
        { "{\"error\":\"a.B\",\"continues\":true}", false, NULL, NULL, false },
        { "{\"error\":\"\"}", false, NULL, NULL, false },
        { "{\"error\":1}", false, NULL, NULL, false },
        { "{\"continues\":\"yes\"}", false, NULL, NULL, false },
        { "{\"parameters\":[]}", false, NULL, NULL, false },
        { "{\"parameters\":{\"a\":1,\"a\":2}}", false, NULL, NULL, false },
        { "{\"parameters\":{\"a\":[1,]}}", false, NULL, NULL, false },
        { "{\"parameters\":{}", false, NULL, NULL, false },
        { "[]", false, NULL, NULL, false },
        { "{}x", false, NULL, NULL, false },
        { "", false, NULL, NULL, false },
};

START_TEST(replies_are_decoded) {
        Span frame = span_of(reply_rows[_i].frame);
        int wanted = reply_rows[_i].good ? 0 : MESSAGE_E_MALFORMED;
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Buffer text;
        Reply reply;

        ck_assert_int_eq(reply_decode(frame, &reply, complaint), wanted);
        if (wanted != 0) {
                ck_assert_str_ne(complaint, "");
                return;
        }
        if (reply_rows[_i].error)
                ck_assert_str_eq(reply.error, reply_rows[_i].error);
        else
                ck_assert_ptr_null(reply.error);
        ck_assert_int_eq(reply.continues, reply_rows[_i].continues);
        buffer_init(&text, 0);
        ck_assert_int_eq(message_append_object(&text, reply.parameters), 0);
        ck_assert(span_is(buffer_span(&text), reply_rows[_i].parameters));
        buffer_done(&text);
        reply_done(&reply);
}
END_TEST

START_TEST(messages_are_encoded_compactly) {
        Buffer text;

        buffer_init(&text, 0);
        ck_assert_int_eq(call_encode(&text, "a.B", (Span){}, false), 0);
        ck_assert(span_is(buffer_span(&text), "{\"method\":\"a.B\",\"parameters\":{}}"));
        buffer_clear(&text);
        ck_assert_int_eq(call_encode(&text, "a.B", SPAN_LITERAL("{\"x\":1}"), true), 0);
        ck_assert(span_is(buffer_span(&text),
                          "{\"method\":\"a.B\",\"parameters\":{\"x\":1},\"more\":true}"));
        buffer_clear(&text);
        ck_assert_int_eq(reply_encode(&text, SPAN_LITERAL("{\"x\":1}"), true), 0);
        ck_assert_int_eq(reply_encode(&text, (Span){}, false), 0); /* behind what is there */
        ck_assert(span_is(buffer_span(&text),
                          "{\"parameters\":{\"x\":1},\"continues\":true}{\"parameters\":{}}"));
        buffer_clear(&text);
        ck_assert_int_eq(error_encode(&text, "a.B", SPAN_LITERAL("{\"x\":1}")), 0);
        ck_assert(span_is(buffer_span(&text), "{\"error\":\"a.B\",\"parameters\":{\"x\":1}}"));
        buffer_done(&text);
}
END_TEST

START_TEST(a_message_that_does_not_fit_leaves_nothing) {
        Buffer text;

        for (size_t max = 5; max < 34; max++) {
                buffer_init(&text, max);
                ck_assert_int_eq(buffer_append_text(&text, "kept"), 0);
                ck_assert_int_eq(call_encode(&text, "a.B", (Span){}, false), -EMSGSIZE);
                ck_assert_int_eq(error_encode(&text, "a.B", (Span){}), -EMSGSIZE);
                ck_assert(span_is(buffer_span(&text), "kept"));
                buffer_done(&text);
        }
}
END_TEST

/* What goes in as a number comes out as it was, whatever json-c thinks of it. */
static const struct {
        const char *number;
        bool is_integer;
        bool negative;
        uint64_t magnitude;
        bool is_double; /* to json-c */
} number_rows[] = {
        { "0", true, false, 0, false },
        { "-1", true, true, 1, false },
        { "9223372036854775807", true, false, INT64_MAX, false },
        { "9223372036854775808", true, false, (uint64_t) INT64_MAX + 1, false },
        { "18446744073709551615", true, false, UINT64_MAX, false },
        { "-9223372036854775808", true, true, (uint64_t) INT64_MAX + 1, false },
        { "-9223372036854775809", true, true, (uint64_t) INT64_MAX + 2, true },
        { "-18446744073709551615", true, true, UINT64_MAX, true },
        { "18446744073709551616", false, false, 0, true },
        { "-18446744073709551616", false, false, 0, true },
        { "1.0", false, false, 0, true },
        { "1.50", false, false, 0, true },
        { "1E5", false, false, 0, true },
        { "-0.0", false, false, 0, true },
        { "1e999", false, false, 0, true },
        { "0.1000000000000000055511151231257827", false, false, 0, true },
};

START_TEST(numbers_survive_decoding_verbatim) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        bool negative = false;
        uint64_t magnitude = 0;
        Buffer frame, wanted, text;
        json_object *number;
        Reply reply;

        buffer_init(&frame, 0);
        buffer_init(&wanted, 0);
        buffer_init(&text, 0);
        ck_assert_int_eq(buffer_append_format(&wanted, "{\"n\":%s,\"l\":[%s]}",
                                              number_rows[_i].number, number_rows[_i].number),
                         0);
        ck_assert_int_eq(reply_encode(&frame, buffer_span(&wanted), true), 0);
        ck_assert_int_eq(reply_decode(buffer_span(&frame), &reply, complaint), 0);
        ck_assert_int_eq(message_append_object(&text, reply.parameters), 0);
        ck_assert(span_equal(buffer_span(&text), buffer_span(&wanted)));

        ck_assert(json_object_object_get_ex(reply.parameters, "n", &number));
        ck_assert_int_eq(json_object_is_type(number, json_type_double), number_rows[_i].is_double);
        ck_assert_int_eq(message_get_integer(number, &negative, &magnitude),
                         number_rows[_i].is_integer);
        if (number_rows[_i].is_integer) {
                ck_assert_int_eq(negative, number_rows[_i].negative);
                ck_assert_uint_eq(magnitude, number_rows[_i].magnitude);
                if (!negative)
                        ck_assert_uint_eq(json_object_get_uint64(number), magnitude);
        }
        reply_done(&reply);
        buffer_done(&frame);
        buffer_done(&wanted);
        buffer_done(&text);
}
END_TEST

START_TEST(doubles_have_their_value) {
        static const char frame[] = "{\"parameters\":{\"a\":0.5,\"b\":-18446744073709551615,"
                                    "\"c\":1e3}}";
        char complaint[MESSAGE_COMPLAINT_BYTES];
        json_object *value;
        Reply reply;

        ck_assert_int_eq(reply_decode(span_of(frame), &reply, complaint), 0);
        ck_assert(json_object_object_get_ex(reply.parameters, "a", &value));
        ck_assert(json_object_get_double(value) == 0.5);
        ck_assert(json_object_object_get_ex(reply.parameters, "b", &value));
        ck_assert(json_object_get_double(value) == -18446744073709551616.0);
        ck_assert(json_object_object_get_ex(reply.parameters, "c", &value));
        ck_assert(json_object_get_double(value) == 1000);
        reply_done(&reply);
}
END_TEST

static const char *const object_rows[] = {
        "{}", "{\"a\":null,\"b\":true,\"c\":false,\"d\":[],\"e\":{},\"f\":[[null],{\"x\":\"y\"}]}",
        "{\"text\":\"\\\"\\\\\\n\\u0001/\xe2\x82\xac\",\"empty\":\"\"}",
        "{\"\":1,\"k\\\"\\n\":2,\"\xe2\x82\xac\":3,\"a/b\":4}",
        /* escaped bytes of names are ordinary text here and must not be escaped again */
        "{\"\xee\xbe\x80\":\"\xee\xbf\xbf\"}", "{\"z\":1,\"a\":2,\"m\":3}", /* order is kept */
};

START_TEST(objects_come_out_as_they_went_in) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Buffer frame, text;
        Reply reply;

        buffer_init(&frame, 0);
        buffer_init(&text, 0);
        ck_assert_int_eq(reply_encode(&frame, span_of(object_rows[_i]), false), 0);
        ck_assert_int_eq(reply_decode(buffer_span(&frame), &reply, complaint), 0);
        ck_assert_int_eq(message_append_object(&text, reply.parameters), 0);
        ck_assert(span_is(buffer_span(&text), object_rows[_i]));
        reply_done(&reply);
        buffer_done(&frame);
        buffer_done(&text);
}
END_TEST

/* Objects that our own code made with json-c's functions, of values JSON does not have, too. */
START_TEST(own_objects_are_strict_text) {
        json_object *object = json_object_new_object();
        Buffer text;

        json_object_object_add(object, "u", json_object_new_uint64(UINT64_MAX));
        json_object_object_add(object, "i", json_object_new_int64(INT64_MIN));
        json_object_object_add(object, "d", json_object_new_double(0.1));
        json_object_object_add(object, "nan", json_object_new_double(NAN));
        json_object_object_add(object, "inf", json_object_new_double(-INFINITY));
        json_object_object_add(object, "bad", json_object_new_double_s(2.5, "NaN"));
        json_object_object_add(object, "latin", json_object_new_string("caf\xe9"));
        json_object_object_add(object, "k\xff", NULL);
        buffer_init(&text, 0);
        ck_assert_int_eq(message_append_object(&text, object), 0);
        ck_assert(span_is(buffer_span(&text),
                          "{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"d\":0.1,"
                          "\"nan\":null,\"inf\":null,\"bad\":2.5,\"latin\":\"caf\xee\xbf\xa9\","
                          "\"k\xee\xbf\xbf\":null}"));
        ck_assert_int_eq(json_check(buffer_span(&text), &limits), 0);
        buffer_clear(&text);
        ck_assert_int_eq(message_append_object(&text, NULL), 0);
        ck_assert(span_is(buffer_span(&text), "null"));
        buffer_done(&text);
        json_object_put(object);
}
END_TEST

START_TEST(objects_too_deep_to_write_fail_and_leave_nothing) {
        json_object *outer = json_object_new_array();
        Buffer text;

        for (unsigned i = 0; i < 1000; i++) {
                json_object *array = json_object_new_array();

                json_object_array_add(array, outer);
                outer = array;
        }
        buffer_init(&text, 0);
        ck_assert_int_eq(buffer_append_text(&text, "kept"), 0);
        ck_assert_int_eq(message_append_object(&text, outer), -EINVAL);
        ck_assert(span_is(buffer_span(&text), "kept"));
        buffer_done(&text);
        json_object_put(outer);
}
END_TEST

START_TEST(what_is_no_integer_is_none) {
        json_object *string = json_object_new_string("1"), *real = json_object_new_double(1);
        bool negative;
        uint64_t magnitude;

        ck_assert(!message_get_integer(NULL, &negative, &magnitude));
        ck_assert(!message_get_integer(string, &negative, &magnitude));
        ck_assert(!message_get_integer(real, &negative, &magnitude));
        json_object_put(string);
        json_object_put(real);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("message");
        TCase *decode = tcase_create("decode");
        TCase *encode = tcase_create("encode");
        TCase *object = tcase_create("object");

        tcase_add_loop_test(decode, calls_are_decoded, 0, ELEMENTSOF(call_rows));
        tcase_add_loop_test(decode, malformed_calls_are_refused_with_a_complaint, 0,
                            ELEMENTSOF(bad_call_rows));
        tcase_add_test(decode, calls_nest_up_to_the_limit);
        tcase_add_test(decode, calls_hold_a_limited_number_of_values);
        tcase_add_loop_test(decode, replies_are_decoded, 0, ELEMENTSOF(reply_rows));
        tcase_add_test(encode, messages_are_encoded_compactly);
        tcase_add_test(encode, a_message_that_does_not_fit_leaves_nothing);
        tcase_add_loop_test(object, numbers_survive_decoding_verbatim, 0, ELEMENTSOF(number_rows));
        tcase_add_test(object, doubles_have_their_value);
        tcase_add_loop_test(object, objects_come_out_as_they_went_in, 0, ELEMENTSOF(object_rows));
        tcase_add_test(object, own_objects_are_strict_text);
        tcase_add_test(object, objects_too_deep_to_write_fail_and_leave_nothing);
        tcase_add_test(object, what_is_no_integer_is_none);
        suite_add_tcase(suite, decode);
        suite_add_tcase(suite, encode);
        suite_add_tcase(suite, object);
        return check_main(suite);
}
