/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/cgroupfs/cgroup-stats.h"
#include "text/fixture.h"

static int write_json(Span text, Buffer *buffer) {
        JsonWriter writer;
        int r;

        json_writer_init(&writer, buffer);
        r = io_stat_write_json(&writer, text);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        return r;
}

static const struct {
        const char *text;
        int r;
        const char *json;
} rows[] = {
        { "", 0, "{}" },
        { "8:0 wbytes=2 rbytes=1\n", 0, "{\"8:0\":{\"rbytes\":1,\"wbytes\":2}}" },
        { "8:16 rios=1\n8:0 rios=2\n254:0 rios=3\n", 0,
          "{\"254:0\":{\"rios\":3},\"8:0\":{\"rios\":2},\"8:16\":{\"rios\":1}}" },
        { "8:0 rios=1 cost.vrate=100.00 cost.usage=7\n", 0,
          "{\"8:0\":{\"cost.usage\":7,\"rios\":1}}" },
        { "7:1 7:0 8:0 rios=1\n7:2 \n", 0, "{\"8:0\":{\"rios\":1}}" },
        { "7:1 \n", 0, "{}" },
        { "8:0 rios=1 rios=1 wios=2\n", TEXT_E_MALFORMED, "{\"8:0\":{\"wios\":2}}" },
        { "8:0 rios=1.5 rios=1 wios=2\n", TEXT_E_MALFORMED, "{\"8:0\":{\"wios\":2}}" },
        { "8:0 rios=x wios=2\n", TEXT_E_MALFORMED, "{\"8:0\":{\"wios\":2}}" },
        { "8:0 rios=-1\n", TEXT_E_MALFORMED, "{\"8:0\":{}}" },
        { "8:0 rios=1\n8:0 rios=1\n8:1 rios=1\n", TEXT_E_MALFORMED, "{\"8:1\":{\"rios\":1}}" },
        { "rios=1\n", TEXT_E_MALFORMED, "{}" },
        { "sda rios=1\n8:0 rios=1\n", TEXT_E_MALFORMED, "{\"8:0\":{\"rios\":1}}" },
        { ":0 rios=1\n8: rios=1\n", TEXT_E_MALFORMED, "{}" },
        { "8:0 rios=12", TEXT_E_MALFORMED, "{}" },
};

START_TEST(devices_become_objects) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(write_json(span_of(rows[_i].text), &buffer), rows[_i].r);
        ck_assert_msg(span_is(buffer_span(&buffer), rows[_i].json), "%.*s", (int) buffer.n,
                      buffer.bytes);
        buffer_done(&buffer);
}
END_TEST

START_TEST(devices_are_bounded) {
        char *text = malloc((IO_STAT_MAX_DEVICES + 1) * 16);
        size_t n = 0;
        Buffer buffer;

        buffer_init(&buffer, 0);
        for (unsigned i = 0; i < IO_STAT_MAX_DEVICES; i++)
                n += (size_t) sprintf(text + n, "8:%u rios=1\n", i);
        ck_assert_int_eq(write_json((Span){ text, n }, &buffer), 0);
        buffer_clear(&buffer);
        n += (size_t) sprintf(text + n, "9:0 rios=1\n");
        ck_assert_int_eq(write_json((Span){ text, n }, &buffer), TEXT_E_MALFORMED);
        buffer_done(&buffer);
        free(text);
}
END_TEST

START_TEST(a_cut_file_has_nothing_of_its_last_line) {
        Span text = fixture_read("cgroup/6.1-schedstats/system.slice/burner.service/io.stat");
        Buffer buffer;

        buffer_init(&buffer, 0);
        for (size_t n = 1; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                buffer_clear(&buffer);
                ck_assert_int_eq(write_json(cut, &buffer), TEXT_E_MALFORMED);
                ck_assert(span_is(buffer_span(&buffer), "{}"));
                fixture_free(cut);
        }
        buffer_done(&buffer);
        fixture_free(text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("io-stat");
        TCase *json = tcase_create("json");

        tcase_add_loop_test(json, devices_become_objects, 0, ELEMENTSOF(rows));
        tcase_add_test(json, devices_are_bounded);
        tcase_add_test(json, a_cut_file_has_nothing_of_its_last_line);
        suite_add_tcase(suite, json);
        return check_main(suite);
}
