/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/host-change.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "check-main.h"
#include "wire/limits.h"

static const struct {
        const char *before, *after, *changes;
} rows[] = {
        { "{}", "{}", "[]" },
        { "", "", "[]" },
        { "{\"a\":\"x\"}", "{\"a\":\"x\"}", "[]" },
        { "{\"a\":\"x\"}", "{\"a\":\"y\"}", "[{\"key\":\"a\",\"before\":\"x\",\"after\":\"y\"}]" },
        /* one-sided: null, not the empty text */
        { "{\"a\":\"x\"}", "{}", "[{\"key\":\"a\",\"before\":\"x\",\"after\":null}]" },
        { "{}", "{\"a\":\"\"}", "[{\"key\":\"a\",\"before\":null,\"after\":\"\"}]" },
        { "", "{\"a\":1}", "[{\"key\":\"a\",\"before\":null,\"after\":\"1\"}]" },
        { "{\"a\":null}", "{\"a\":1}", "[{\"key\":\"a\",\"before\":null,\"after\":\"1\"}]" },
        { "{\"a\":null}", "{}", "[]" },
        /* the order of members does not matter, all types become text */
        { "{\"a\":1,\"b\":true}", "{\"b\":true,\"a\":1}", "[]" },
        { "{\"a\":\"1\"}", "{\"a\":1}", "[]" },
        { "{\"a\":18446744073709551615}", "{\"a\":-1}",
          "[{\"key\":\"a\",\"before\":\"18446744073709551615\",\"after\":\"-1\"}]" },
        { "{\"a\":false}", "{\"a\":true}",
          "[{\"key\":\"a\",\"before\":\"false\",\"after\":\"true\"}]" },
        /* one key per member, with numbers in keys compared as numbers */
        { "{\"g\":{\"10\":\"p\",\"9\":\"p\"}}", "{\"g\":{\"10\":\"q\",\"9\":\"q\"}}",
          "[{\"key\":\"g.9\",\"before\":\"p\",\"after\":\"q\"},"
          "{\"key\":\"g.10\",\"before\":\"p\",\"after\":\"q\"}]" },
        { "{\"a\":{\"b\":{\"c\":1}}}", "{\"a\":{\"b\":{\"c\":2}}}",
          "[{\"key\":\"a.b.c\",\"before\":\"1\",\"after\":\"2\"}]" },
        { "{\"a\":[1,{\"b\":2}]}", "{\"a\":[1,{\"b\":3}]}",
          "[{\"key\":\"a.1.b\",\"before\":\"2\",\"after\":\"3\"}]" },
        { "{\"a\":{},\"b\":[]}", "{}", "[]" },
        /* the prior tool's spelling of the same number */
        { "{\"total_memory_kb\":7}", "{\"total_memory_kib\":7}", "[]" },
        { "{\"total_memory_kb\":7,\"total_memory_kib\":7}", "{\"total_memory_kib\":8}",
          "[{\"key\":\"total_memory_kib\",\"before\":\"7\",\"after\":\"8\"}]" },
        { "{\"hugepages_size_kb\":7}", "{\"hugepages_size_kib\":8}",
          "[{\"key\":\"hugepages_size_kib\",\"before\":\"7\",\"after\":\"8\"}]" },
        /* what earlier versions do not write is no change where one side lacks it */
        { "{}", "{\"cgroup_v1\":\"cpu\"}", "[]" },
        { "{\"cgroup_v1\":\"\"}", "{}", "[]" },
        { "{\"cgroup_v1\":\"\"}", "{\"cgroup_v1\":\"cpu\"}",
          "[{\"key\":\"cgroup_v1\",\"before\":\"\",\"after\":\"cpu\"}]" },
        /* names under the escape stay as they are */
        { "{\"a\":\"\xee\xbf\xbf\"}", "{\"a\":\"\\n\"}",
          "[{\"key\":\"a\",\"before\":\"\xee\xbf\xbf\",\"after\":\"\\n\"}]" },
};

static void write_changes(const HostFacts *before, const HostFacts *after, Buffer *text) {
        JsonWriter writer;

        buffer_init(text, 0);
        json_writer_init(&writer, text);
        host_changes_write(&writer, before, after);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_append_byte(text, '\0'), 0);
}

START_TEST(what_differs_is_listed) {
        HostFacts before = {}, after = {};
        Head head = { .format_version = HEAD_FORMAT_VERSION };
        Buffer text;

        ck_assert_int_eq(host_facts_flatten(&before, span_of(rows[_i].before), &head), 0);
        ck_assert_int_eq(host_facts_flatten(&after, span_of(rows[_i].after), &head), 0);
        write_changes(&before, &after, &text);
        ck_assert_str_eq(text.bytes, rows[_i].changes);
        buffer_done(&text);
        host_facts_done(&before);
        host_facts_done(&after);
}
END_TEST

START_TEST(what_an_old_file_lacks_is_unknown) {
        Head old = {}, head = { .format_version = HEAD_FORMAT_VERSION };
        HostFacts before = {}, after = {};
        Buffer text;

        ck_assert_int_eq(host_facts_flatten(&before, span_of("{\"a\":1,\"b\":1}"), &old), 0);
        ck_assert_int_eq(host_facts_flatten(&after, span_of("{\"b\":2,\"c\":3}"), &head), 0);
        write_changes(&before, &after, &text);
        ck_assert_str_eq(text.bytes, "[{\"key\":\"a\",\"before\":\"1\",\"after\":null},"
                                     "{\"key\":\"b\",\"before\":\"1\",\"after\":\"2\"}]");
        buffer_done(&text);
        host_facts_done(&before);
        host_facts_done(&after);
}
END_TEST

START_TEST(the_head_tells_what_the_context_does_not) {
        Head heads[] = {
                { .host_name = "a\xff", .kernel_release = "1" },
                { .host_name = "b", .kernel_release = "2" },
        };
        HostFacts before = {}, after = {};
        Buffer text;

        ck_assert_int_eq(host_facts_flatten(&before, SPAN_LITERAL("{}"), &heads[0]), 0);
        /* Facts of the context take precedence. */
        ck_assert_int_eq(
                host_facts_flatten(&after, SPAN_LITERAL("{\"kernel_release\":\"3\"}"), &heads[1]),
                0);
        write_changes(&before, &after, &text);
        ck_assert_str_eq(text.bytes,
                         "[{\"key\":\"host_name\",\"before\":\"a\xee\xbf\xbf\",\"after\":\"b\"},"
                         "{\"key\":\"kernel_release\",\"before\":\"1\",\"after\":\"3\"}]");
        buffer_done(&text);
        host_facts_done(&before);
        host_facts_done(&after);
}
END_TEST

static const char *const malformed[] = {
        "[]", "7", "{", "{\"a\":1,\"a\":2}", "{\"a\":NaN}", "{} x",
};

START_TEST(what_is_no_object_is_malformed) {
        HostFacts facts = {};
        Head head = {};

        ck_assert_int_eq(host_facts_flatten(&facts, span_of(malformed[_i]), &head),
                         HOST_CHANGE_E_MALFORMED);
        host_facts_done(&facts);
}
END_TEST

START_TEST(long_paths_do_not_multiply) {
        /* One long key above many short ones: small as JSON, large when flat. */
        size_t n_key = 60000, n = 0;
        char *text = malloc(n_key + 16 * 4000);
        HostFacts facts = {};
        Head head = {};

        ck_assert_ptr_nonnull(text);
        text[n++] = '{';
        text[n++] = '"';
        memset(text + n, 'k', n_key);
        n += n_key;
        n += (size_t) sprintf(text + n, "\":{");
        for (unsigned i = 0; i < 4000; i++)
                n += (size_t) sprintf(text + n, "%s\"%u\":1", i > 0 ? "," : "", i);
        n += (size_t) sprintf(text + n, "}}");
        ck_assert_uint_lt(n, LIMIT_VALUE_BYTES);

        ck_assert_int_eq(host_facts_flatten(&facts, (Span){ text, n }, &head),
                         HOST_CHANGE_E_MALFORMED);
        host_facts_done(&facts);
        free(text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-change");
        TCase *changes = tcase_create("changes");
        TCase *bad = tcase_create("malformed");

        tcase_add_loop_test(changes, what_differs_is_listed, 0, ELEMENTSOF(rows));
        tcase_add_test(changes, the_head_tells_what_the_context_does_not);
        tcase_add_test(changes, what_an_old_file_lacks_is_unknown);
        tcase_add_loop_test(bad, what_is_no_object_is_malformed, 0, ELEMENTSOF(malformed));
        tcase_add_test(bad, long_paths_do_not_multiply);
        suite_add_tcase(suite, changes);
        suite_add_tcase(suite, bad);
        return check_main(suite);
}
