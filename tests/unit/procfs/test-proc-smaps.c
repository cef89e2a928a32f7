/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/proc-task.h"
#include "text/fixture.h"

static ProcSmaps smaps;

static void assert_json(const char *wanted) {
        JsonWriter writer;
        Buffer buffer;

        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        number_map_write_json(&writer, &smaps);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_msg(span_is(buffer_span(&buffer), wanted), "%.*s", (int) buffer.n, buffer.bytes);
        buffer_done(&buffer);
}

static const struct {
        const char *path, *json;
} fixture_rows[] = {
        { "proc/6.1-schedstats/1/smaps_rollup",
          "{\"AnonHugePages\":0,\"Anonymous\":2228,\"FilePmdMapped\":0,\"LazyFree\":0,\"Locked\":0,"
          "\"Private_Clean\":2768,\"Private_Dirty\":2228,\"Private_Hugetlb\":0,\"Pss\":7619,"
          "\"Pss_Anon\":2228,\"Pss_Dirty\":2228,\"Pss_File\":5391,\"Pss_Shmem\":0,"
          "\"Referenced\":11332,\"Rss\":11332,\"Shared_Clean\":6336,\"Shared_Dirty\":0,"
          "\"Shared_Hugetlb\":0,\"ShmemPmdMapped\":0,\"Swap\":0,\"SwapPss\":0}" },
        { "proc/7.2-scx/1/smaps_rollup",
          "{\"AnonHugePages\":0,\"Anonymous\":2624,\"FilePmdMapped\":0,\"KSM\":0,\"LazyFree\":0,"
          "\"Locked\":0,\"Private_Clean\":4152,\"Private_Dirty\":2624,\"Private_Hugetlb\":0,"
          "\"Pss\":9483,\"Pss_Anon\":2624,\"Pss_Dirty\":2624,\"Pss_File\":6859,\"Pss_Shmem\":0,"
          "\"Referenced\":13368,\"Rss\":13368,\"Shared_Clean\":6592,\"Shared_Dirty\":0,"
          "\"Shared_Hugetlb\":0,\"ShmemPmdMapped\":0,\"Swap\":0,\"SwapPss\":0}" },
        { "proc/edge-names/100/smaps_rollup", "{\"Pss\":7,\"Rss\":12}" },
};

START_TEST(kernels_files_become_sorted_json) {
        Span text = fixture_read(fixture_rows[_i].path);

        ck_assert_int_eq(proc_smaps_parse(text, &smaps), 0);
        assert_json(fixture_rows[_i].json);
        fixture_free(text);
}
END_TEST

START_TEST(a_cut_file_has_no_wrong_values) {
        Span text = fixture_read(fixture_rows[_i].path);
        static ProcSmaps part;

        ck_assert_int_eq(proc_smaps_parse(text, &smaps), 0);
        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                if (proc_smaps_parse(cut, &part) == 0)
                        ck_assert(n == 0 || cut.bytes[n - 1] == '\n');
                for (size_t i = 0, at = 0; i < part.n_entries; i++, at++) {
                        while (!span_equal(smaps.entries[at].key, part.entries[i].key))
                                ck_assert_uint_lt(++at, smaps.n_entries);
                        ck_assert(smaps.entries[at].has_value);
                        ck_assert_uint_eq(part.entries[i].value, smaps.entries[at].value);
                }
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

static const struct {
        const char *text;
        int r;
        const char *json;
} rows[] = {
        { "", TEXT_E_MALFORMED, "{}" },
        { "00400000-7fff ---p 00000000 00:00 0   [rollup]\n", TEXT_E_MALFORMED, "{}" },
        { "Rss:  5 kB\nNew_Key9: 6\n", 0, "{\"New_Key9\":6,\"Rss\":5}" },
        { "Rss: 18446744073709551615 kB\n", 0, "{\"Rss\":18446744073709551615}" },
        { "Rss: x kB\nPss: 1 kB\n", TEXT_E_MALFORMED, "{\"Pss\":1}" },
        { "Rss:\nPss: 1 kB\n", TEXT_E_MALFORMED, "{\"Pss\":1}" },
        { "Rss: -1 kB\n", TEXT_E_MALFORMED, "{}" },
        { "Rss: 1 kB\nRss: 2 kB\nPss: 3 kB\nRss: 4 kB\n", TEXT_E_MALFORMED, "{\"Pss\":3}" },
        { "R-s: 1 kB\nR s: 1 kB\n\"R: 1 kB\n: 1 kB\n", TEXT_E_MALFORMED, "{}" },
        { "Rss: 1 kB\nPss: 2 kB", TEXT_E_MALFORMED, "{\"Rss\":1}" },
};

START_TEST(bad_lines_are_dropped_one_by_one) {
        ck_assert_int_eq(proc_smaps_parse(span_of(rows[_i].text), &smaps), rows[_i].r);
        assert_json(rows[_i].json);
}
END_TEST

START_TEST(more_keys_than_fit_are_malformed) {
        char *text = malloc((NUMBER_MAP_MAX + 1) * 16);
        size_t n = 0;

        for (unsigned i = 0; i < NUMBER_MAP_MAX; i++)
                n += (size_t) sprintf(text + n, "K%04u: 1 kB\n", i);
        ck_assert_int_eq(proc_smaps_parse((Span){ text, n }, &smaps), 0);
        n += (size_t) sprintf(text + n, "One: 1 kB\n");
        ck_assert_int_eq(proc_smaps_parse((Span){ text, n }, &smaps), TEXT_E_MALFORMED);
        ck_assert_uint_eq(smaps.n_entries, NUMBER_MAP_MAX);
        free(text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-smaps");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, kernels_files_become_sorted_json, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_cut_file_has_no_wrong_values, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, bad_lines_are_dropped_one_by_one, 0, ELEMENTSOF(rows));
        tcase_add_test(parse, more_keys_than_fit_are_malformed);
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
