/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/change-lines.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "check-main.h"

#define CHANGE(key, before, after) "{\"key\":\"" key "\",\"before\":" before ",\"after\":" after "}"

static const struct {
        const char *changes, *text;
} rows[] = {
        { "[]", "" },
        { "null", "" },
        { "[" CHANGE("kernel.x", "\"0\"", "\"1\"") "]", "changed   kernel.x: 0 \u2192 1\n" },
        { "[" CHANGE("gov.0", "\"a\"", "\"b\"") "," CHANGE("gov.1", "\"a\"", "\"b\"") "," CHANGE(
                  "gov.10", "\"a\"", "\"b\"") "," CHANGE("gov.2", "\"a\"", "\"b\"") "]",
          "changed   gov.0-2,10: a \u2192 b\n" },
        { "[" CHANGE("gov.0", "\"a\"", "\"b\"") "," CHANGE("gov.1", "\"b\"", "\"a\"") "]",
          "changed   gov.0: a \u2192 b\nchanged   gov.1: b \u2192 a\n" },
        { "[" CHANGE("a.0", "null", "\"1\"") "," CHANGE("a.1", "null", "\"1\"") "]",
          "changed   a.0-1: - \u2192 1\n" },
        { "[" CHANGE("a.0", "\"0\"", "\"1\"") "," CHANGE("b.1", "\"0\"", "\"1\"") "]",
          "changed   a.0: 0 \u2192 1\nchanged   b.1: 0 \u2192 1\n" },
        { "[" CHANGE("x", "\"0\"", "\"1\"") "," CHANGE("y", "\"0\"", "\"1\"") "]",
          "changed   x: 0 \u2192 1\nchanged   y: 0 \u2192 1\n" },
        { "[" CHANGE("v6.12", "\"0\"", "\"1\"") "]", "changed   v6.12: 0 \u2192 1\n" },
        { "[" CHANGE("a.4294967296", "\"0\"", "\"1\"") "," CHANGE("a.1", "\"0\"", "\"1\"") "]",
          "changed   a.4294967296: 0 \u2192 1\nchanged   a.1: 0 \u2192 1\n" },
};

static json_object *reply_of(const char *host_changes) {
        json_object *reply = json_object_new_object();

        json_object_object_add(reply, "hostChanges", json_tokener_parse(host_changes));
        return reply;
}

START_TEST(what_changed_alike_on_every_cpu_is_one_line) {
        json_object *reply = reply_of(rows[_i].changes);
        Terminal pipe = {};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        const Lines lines = { .out = out, .terminal = &pipe, .label_columns = 8 };

        ck_assert_int_eq(change_lines_print(&lines, reply, true), 0);
        (void) fclose(out);
        ck_assert_str_eq(text, rows[_i].text);
        free(text);
        (void) json_object_put(reply);
}
END_TEST

#define THREE                                                                                   \
        "[" CHANGE("gov.0", "\"a\"", "\"b\"") "," CHANGE("gov.1", "\"a\"", "\"b\"") "," CHANGE( \
                "rt", "\"950000\"", "\"-1\"") "," CHANGE("thp", "null", "\"always\"") "]"

static const struct {
        size_t columns; /* 0: a pipe */
        const char *changes, *text;
} lines_of[] = {
        { 0, "[]", "" },
        { 0, THREE, "changed   gov.0-1: a \u2192 b, rt: 950000 \u2192 -1, thp: - \u2192 always\n" },
        { 80, THREE,
          "changed   gov.0-1: a \u2192 b, rt: 950000 \u2192 -1, thp: - \u2192 always\n" },
        { 57, THREE, "changed   gov.0-1: a \u2192 b, rt: 950000 \u2192 -1, \u2026 +1\n" },
        { 40, THREE, "changed   gov.0-1: a \u2192 b, \u2026 +2\n" },
        /* nobody sets it */
        { 80,
          "[" CHANGE("hugepages_free", "\"5\"", "\"3\"") "," CHANGE("hugepages_total", "\"5\"",
                                                                    "\"7\"") "]",
          "changed   hugepages_total: 5 \u2192 7\n" },
        { 80, "[" CHANGE("hugepages_free", "\"5\"", "\"3\"") "]", "" },
        { 40, "[" CHANGE("cmdline", "\"root=/dev/vda1 quiet\"", "\"root=/dev/vda1\"") "]",
          "changed   cmdline: root=/dev/\u2026\n" },
};

START_TEST(what_changed_is_one_line) {
        json_object *reply = reply_of(lines_of[_i].changes);
        const Terminal terminal = { .out = lines_of[_i].columns > 0,
                                    .columns = lines_of[_i].columns };
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        const Lines lines = { .out = out, .terminal = &terminal, .label_columns = 8 };

        ck_assert_int_eq(change_lines_print(&lines, reply, false), 0);
        (void) fclose(out);
        ck_assert_str_eq(text, lines_of[_i].text);
        free(text);
        (void) json_object_put(reply);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-changes");
        TCase *print = tcase_create("print");

        tcase_add_loop_test(print, what_changed_alike_on_every_cpu_is_one_line, 0,
                            ELEMENTSOF(rows));
        tcase_add_loop_test(print, what_changed_is_one_line, 0, ELEMENTSOF(lines_of));
        suite_add_tcase(suite, print);
        return check_main(suite);
}
