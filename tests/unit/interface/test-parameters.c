/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/parameters.h"

#include <check.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/span.h"
#include "check-main.h"
#include "wire/limits.h"

typedef struct Sample {
        const char *text;
        bool flag;
        uint64_t number;
        OptionalU64 optional;
        OptionalBool optional_flag;
        uid_t uid;
        int fd;
        json_object *object, *array, *objects, *texts, *any;
        double real;
} Sample;

static const Parameter table[] = {
        { "text", PARAMETER_TEXT, true, offsetof(Sample, text) },
        { "flag", PARAMETER_BOOL, false, offsetof(Sample, flag) },
        { "number", PARAMETER_U64, false, offsetof(Sample, number) },
        { "optional", PARAMETER_OPTIONAL_U64, false, offsetof(Sample, optional) },
        { "optionalFlag", PARAMETER_OPTIONAL_BOOL, false, offsetof(Sample, optional_flag) },
        { "uid", PARAMETER_UID, false, offsetof(Sample, uid) },
        { "fd", PARAMETER_DESCRIPTOR, false, offsetof(Sample, fd) },
        { "object", PARAMETER_OBJECT, false, offsetof(Sample, object) },
        { "array", PARAMETER_ARRAY, false, offsetof(Sample, array) },
        { "objects", PARAMETER_OBJECTS, false, offsetof(Sample, objects) },
        { "texts", PARAMETER_TEXTS, false, offsetof(Sample, texts) },
        { "any", PARAMETER_NUMBER, false, offsetof(Sample, any) },
        { "real", PARAMETER_REAL, false, offsetof(Sample, real) },
};

/* A stream that has received one frame with one descriptor. */
static FrameStream *stream_with_descriptor(void) {
        FrameStream *sender, *receiver;
        int pair[2], fd = dup(0);
        Span frame;

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert_int_eq(frame_stream_new(pair[0], 100, 100, 4, &sender), 0);
        ck_assert_int_eq(frame_stream_new(pair[1], 100, 100, 4, &receiver), 0);
        ck_assert_int_eq(frame_stream_queue(sender, SPAN_LITERAL("{}"), &fd, 1), 0);
        ck_assert_int_eq(frame_stream_flush(sender), 0);
        ck_assert_int_eq(frame_stream_wait(receiver, 1000, &frame), 0);
        (void) frame_stream_free(sender);
        return receiver;
}

/* *ret_object is the caller's to put: *ret_culprit may be borrowed from it. */
static int decode(const char *text, Sample *sample, json_object **ret_object,
                  const char **ret_culprit) {
        FrameStream *stream = stream_with_descriptor();
        int r;

        *ret_object = json_tokener_parse(text);
        ck_assert_ptr_nonnull(*ret_object);
        *sample = (Sample){ .number = 42, .fd = -EBADF };
        *ret_culprit = NULL;
        r = parameters_decode(*ret_object, table, ELEMENTSOF(table), stream, sample, ret_culprit);
        if (sample->fd >= 0)
                ck_assert_int_eq(close(sample->fd), 0);
        (void) frame_stream_free(stream);
        return r;
}

START_TEST(members_arrive) {
        json_object *object;
        const char *culprit;
        Sample sample;

        ck_assert_int_eq(decode("{\"text\":\"a\",\"flag\":true,\"number\":18446744073709551615,"
                                "\"optional\":18446744073709551615,"
                                "\"optionalFlag\":false,\"uid\":"
                                "4294967294,\"fd\":0,"
                                "\"object\":{},"
                                "\"array\":[],\"objects\":[{}],\"texts\":[\"a\"],\"any\":1.5}",
                                &sample, &object, &culprit),
                         0);
        ck_assert(sample.flag);
        ck_assert(sample.number == UINT64_MAX);
        ck_assert_uint_eq(sample.uid, 4294967294u);
        ck_assert_int_ge(sample.fd, 0);
        ck_assert_ptr_nonnull(sample.text);
        ck_assert_ptr_nonnull(sample.object);
        ck_assert_ptr_nonnull(sample.array);
        ck_assert_ptr_nonnull(sample.objects);
        ck_assert_ptr_nonnull(sample.texts);
        ck_assert_ptr_nonnull(sample.any);
        ck_assert(sample.optional.is_set);
        ck_assert_uint_eq(sample.optional.value, UINT64_MAX);
        ck_assert(sample.optional_flag.is_set && !sample.optional_flag.value);
        ck_assert_str_eq(sample.text, "a");
        json_object_put(object);
}
END_TEST

static const char *const optional_rows[] = {
        "{\"text\":\"\"}",
        "{\"text\":\"\",\"number\":null,\"fd\":null,\"object\":null,\"array\":null,\"flag\":null}",
        "{\"text\":\"\",\"optional\":null,\"optionalFlag\":null,"
        "\"objects\":null,\"texts\":null,"
        "\"any\":null}",
};

START_TEST(missing_and_null_members_keep_their_default) {
        json_object *object;
        const char *culprit;
        Sample sample;

        ck_assert_int_eq(decode(optional_rows[_i], &sample, &object, &culprit), 0);
        ck_assert_uint_eq(sample.number, 42);
        ck_assert_int_eq(sample.fd, -EBADF);
        ck_assert(!sample.flag);
        ck_assert_ptr_null(sample.object);
        ck_assert(!sample.optional.is_set);
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
        { "{\"text\":\"\",\"number\":-1}", "number" },
        { "{\"text\":\"\",\"number\":1.0}", "number" },
        { "{\"text\":\"\",\"number\":\"1\"}", "number" },
        { "{\"text\":\"\",\"uid\":4294967295}", "uid" },
        { "{\"text\":\"\",\"uid\":18446744073709551615}", "uid" },
        { "{\"text\":\"\",\"fd\":1}", "fd" },
        { "{\"text\":\"\",\"fd\":-1}", "fd" },
        { "{\"text\":\"\",\"object\":[]}", "object" },
        { "{\"text\":\"\",\"array\":{}}", "array" },
        { "{\"text\":\"\",\"real\":\"1\"}", "real" },
        { "{\"text\":\"\",\"object\":7}", "object" },
        { "{\"text\":\"\",\"optional\":-1}", "optional" },
        { "{\"text\":\"\",\"optional\":1.5}", "optional" },
        { "{\"text\":\"\",\"optional\":\"1\"}", "optional" },
        { "{\"text\":\"\",\"objects\":[{},1]}", "objects" },
        { "{\"text\":\"\",\"objects\":{}}", "objects" },
        { "{\"text\":\"\",\"texts\":[\"a\",null]}", "texts" },
        { "{\"text\":\"\",\"any\":\"1\"}", "any" },
        { "{\"text\":\"\",\"any\":{}}", "any" },
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
        ck_assert_int_eq(parameters_decode(object, texts, 1, NULL, &sample, &culprit), 0);
        ck_assert_int_eq(json_object_array_add(array, json_object_new_string("a")), 0);
        ck_assert_int_eq(parameters_decode(object, texts, 1, NULL, &sample, &culprit),
                         PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, "texts");
        json_object_put(object);
}
END_TEST

START_TEST(one_descriptor_serves_one_member) {
        static const Parameter two[] = { { "a", PARAMETER_DESCRIPTOR, true, 0 },
                                         { "b", PARAMETER_DESCRIPTOR, true, sizeof(int) } };
        FrameStream *stream = stream_with_descriptor();
        json_object *object = json_tokener_parse("{\"a\":0,\"b\":0}");
        int fds[2] = { -EBADF, -EBADF };
        const char *culprit;

        ck_assert_int_eq(parameters_decode(object, two, 2, stream, fds, &culprit),
                         PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, "b");
        ck_assert_int_ge(fds[0], 0);
        ck_assert_int_eq(close(fds[0]), 0);
        json_object_put(object);
        (void) frame_stream_free(stream);
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
        tcase_add_test(decoding, one_descriptor_serves_one_member);
        suite_add_tcase(suite, decoding);
        return check_main(suite);
}
