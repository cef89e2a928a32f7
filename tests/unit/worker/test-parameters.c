/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/parameters.h"

#include <check.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/span.h"
#include "check-main.h"

typedef struct Sample {
        const char *text;
        bool flag;
        uint64_t number;
        uid_t uid;
        int fd;
        json_object *object, *array;
        double real;
} Sample;

static const Parameter table[] = {
        { "text", PARAMETER_TEXT, true, offsetof(Sample, text) },
        { "flag", PARAMETER_BOOL, false, offsetof(Sample, flag) },
        { "number", PARAMETER_U64, false, offsetof(Sample, number) },
        { "uid", PARAMETER_UID, false, offsetof(Sample, uid) },
        { "fd", PARAMETER_DESCRIPTOR, false, offsetof(Sample, fd) },
        { "object", PARAMETER_OBJECT, false, offsetof(Sample, object) },
        { "array", PARAMETER_ARRAY, false, offsetof(Sample, array) },
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

static int decode(const char *text, Sample *sample, char *culprit) {
        FrameStream *stream = stream_with_descriptor();
        json_object *object = json_tokener_parse(text);
        int r;

        ck_assert_ptr_nonnull(object);
        *sample = (Sample){ .number = 42, .fd = -EBADF };
        culprit[0] = '\0';
        r = parameters_decode(object, table, ELEMENTSOF(table), "x.", stream, sample, culprit);
        if (sample->fd >= 0)
                ck_assert_int_eq(close(sample->fd), 0);
        (void) frame_stream_free(stream);
        json_object_put(object);
        return r;
}

START_TEST(members_arrive) {
        char culprit[PARAMETER_CULPRIT_BYTES];
        Sample sample;

        ck_assert_int_eq(decode("{\"text\":\"a\",\"flag\":true,\"number\":18446744073709551615,"
                                "\"uid\":4294967294,\"fd\":0,\"object\":{},\"array\":[]}",
                                &sample, culprit),
                         0);
        ck_assert(sample.flag);
        ck_assert(sample.number == UINT64_MAX);
        ck_assert_uint_eq(sample.uid, 4294967294u);
        ck_assert_int_ge(sample.fd, 0);
        ck_assert_ptr_nonnull(sample.text);
        ck_assert_ptr_nonnull(sample.object);
        ck_assert_ptr_nonnull(sample.array);
}
END_TEST

static const char *const optional_rows[] = {
        "{\"text\":\"\"}",
        "{\"text\":\"\",\"number\":null,\"fd\":null,\"object\":null,\"array\":null,\"flag\":null}",
};

START_TEST(missing_and_null_members_keep_their_default) {
        char culprit[PARAMETER_CULPRIT_BYTES];
        Sample sample;

        ck_assert_int_eq(decode(optional_rows[_i], &sample, culprit), 0);
        ck_assert_uint_eq(sample.number, 42);
        ck_assert_int_eq(sample.fd, -EBADF);
        ck_assert(!sample.flag);
        ck_assert_ptr_null(sample.object);
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
        char culprit[PARAMETER_CULPRIT_BYTES];
        Sample sample;

        ck_assert_int_eq(decode(real_rows[_i].text, &sample, culprit), 0);
        ck_assert_double_eq(sample.real, real_rows[_i].real);
}
END_TEST

static const struct {
        const char *text, *culprit;
} wrong_rows[] = {
        { "{}", "x.text" },
        { "{\"text\":null}", "x.text" },
        { "{\"text\":7}", "x.text" },
        { "{\"text\":\"\",\"flag\":1}", "x.flag" },
        { "{\"text\":\"\",\"flag\":\"true\"}", "x.flag" },
        { "{\"text\":\"\",\"number\":-1}", "x.number" },
        { "{\"text\":\"\",\"number\":1.0}", "x.number" },
        { "{\"text\":\"\",\"number\":\"1\"}", "x.number" },
        { "{\"text\":\"\",\"uid\":4294967295}", "x.uid" },
        { "{\"text\":\"\",\"uid\":18446744073709551615}", "x.uid" },
        { "{\"text\":\"\",\"fd\":1}", "x.fd" },
        { "{\"text\":\"\",\"fd\":-1}", "x.fd" },
        { "{\"text\":\"\",\"object\":[]}", "x.object" },
        { "{\"text\":\"\",\"array\":{}}", "x.array" },
        { "{\"text\":\"\",\"real\":\"1\"}", "x.real" },
        { "{\"text\":\"\",\"other\":1}", "x.other" },
        { "{\"text\":\"\",\"other\":null}", "x.other" },
        { "{\"text\":\"\",\"Text\":\"\"}", "x.Text" },
};

START_TEST(what_is_wrong_is_named) {
        char culprit[PARAMETER_CULPRIT_BYTES];
        Sample sample;

        ck_assert_int_eq(decode(wrong_rows[_i].text, &sample, culprit), PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, wrong_rows[_i].culprit);
}
END_TEST

START_TEST(a_culprit_is_bounded) {
        char text[1024], culprit[PARAMETER_CULPRIT_BYTES];
        Sample sample;

        (void) snprintf(text, sizeof(text), "{\"text\":\"\",\"%0500d\":1}", 0);
        ck_assert_int_eq(decode(text, &sample, culprit), PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, "x....");
}
END_TEST

START_TEST(one_descriptor_serves_one_parameter) {
        FrameStream *stream = stream_with_descriptor();
        json_object *object = json_tokener_parse("{\"fileDescriptor\":0,\"label\":\"l\"}");
        SnapshotRef first = SNAPSHOT_REF_NONE, second = SNAPSHOT_REF_NONE;
        char culprit[PARAMETER_CULPRIT_BYTES];

        ck_assert_int_eq(snapshot_ref_decode(object, "before", stream, &first, culprit), 0);
        ck_assert_str_eq(first.label, "l");
        ck_assert_int_eq(snapshot_ref_decode(object, "after", stream, &second, culprit),
                         PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, "after.fileDescriptor");
        snapshot_ref_done(&first);
        snapshot_ref_done(&second);
        ck_assert_int_eq(first.fd, -EBADF);
        json_object_put(object);
        (void) frame_stream_free(stream);
}
END_TEST

START_TEST(a_reference_is_an_object) {
        char culprit[PARAMETER_CULPRIT_BYTES];
        SnapshotRef ref = SNAPSHOT_REF_NONE;

        ck_assert_int_eq(snapshot_ref_decode(NULL, "before", NULL, &ref, culprit),
                         PARAMETERS_E_INVALID);
        ck_assert_str_eq(culprit, "before");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("parameters");
        TCase *members = tcase_create("members");
        TCase *refs = tcase_create("refs");

        tcase_add_test(members, members_arrive);
        tcase_add_loop_test(members, missing_and_null_members_keep_their_default, 0,
                            ELEMENTSOF(optional_rows));
        tcase_add_loop_test(members, any_number_is_a_real_one, 0, ELEMENTSOF(real_rows));
        tcase_add_loop_test(members, what_is_wrong_is_named, 0, ELEMENTSOF(wrong_rows));
        tcase_add_test(members, a_culprit_is_bounded);
        tcase_add_test(refs, one_descriptor_serves_one_parameter);
        tcase_add_test(refs, a_reference_is_an_object);
        suite_add_tcase(suite, members);
        suite_add_tcase(suite, refs);
        return check_main(suite);
}
