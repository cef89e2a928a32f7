/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "view/view.h"
#include "view/view-part.h"

START_TEST(defaults_are_the_documented_ones) {
        View view;

        view_init(&view);
        ck_assert_int_eq(view.axis, VIEW_AXIS_PCOMM);
        ck_assert(view.thread_normalize);
        ck_assert(view.cgroup_normalize);
        ck_assert_uint_eq(view.cgroup_flatten.n, 0);
        ck_assert_uint_eq(view.limit, 40);
        ck_assert(!view.changed_only);
        ck_assert(!view.self);
        ck_assert(view_wants_metric(&view, METRIC_run_time_ns));
        ck_assert(view_wants_metric(&view, METRIC_cpu_delay_count));
        ck_assert(!view_wants_metric(&view, METRIC_acct_utime_ns));
        ck_assert(view_wants_derived(&view, DERIVED_avg_wait_ns));
        ck_assert(view_wants_derived(&view, DERIVED_avg_cpu_delay_ns));
}
END_TEST

static const struct {
        const char *name;
        ViewAxis axis; /* _VIEW_AXIS_MAX: refused */
} axis_rows[] = {
        { "pcomm", VIEW_AXIS_PCOMM },     { "command", VIEW_AXIS_COMMAND },
        { "comm", VIEW_AXIS_COMM },       { "comm-exact", VIEW_AXIS_COMM_EXACT },
        { "cgroup", VIEW_AXIS_CGROUP },   { "thread", VIEW_AXIS_THREAD },
        { "all", VIEW_AXIS_ALL },         { "Thread", VIEW_AXIS_THREAD },
        { "process", VIEW_AXIS_PCOMM },   { "thread-name", VIEW_AXIS_COMM },
        { "", _VIEW_AXIS_MAX },           { "pid", _VIEW_AXIS_MAX },
        { "comm,pcomm", _VIEW_AXIS_MAX },
};

START_TEST(axes_are_found_by_name) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view;
        int r;

        view_init(&view);
        r = view_set(&view, VIEW_PART_axis, span_of(axis_rows[_i].name), complaint);
        if (axis_rows[_i].axis < _VIEW_AXIS_MAX) {
                ck_assert_int_eq(r, VIEW_OK);
                ck_assert_int_eq(view.axis, axis_rows[_i].axis);
        } else {
                ck_assert_int_eq(r, VIEW_E_INVALID);
                ck_assert_ptr_nonnull(strstr(complaint, "comm-exact"));
                ck_assert_int_eq(view.axis, VIEW_AXIS_PCOMM);
        }
}
END_TEST

START_TEST(axes_have_names_and_headers) {
        ck_assert_str_eq(view_axis_names[VIEW_AXIS_PCOMM], "pcomm");
        ck_assert_str_eq(view_axis_headers[VIEW_AXIS_PCOMM], "process");
        ck_assert_str_eq(view_axis_headers[VIEW_AXIS_ALL], "cgroup / process / thread");
        ck_assert_str_eq(view_axis_names[VIEW_AXIS_COMM_EXACT], "comm-exact");
        ck_assert_str_eq(view_axis_headers[VIEW_AXIS_COMM_EXACT], "thread");
}
END_TEST

static const struct {
        const char *list;
        const char *complaint; /* part of it; NULL: accepted */
        bool primary, delay, accounting, derived;
} section_rows[] = {
        { "primary", NULL, true, false, false, false },
        { " derived , taskstats-accounting ", NULL, false, false, true, true },
        { "PRIMARY,taskstats-delay", NULL, true, true, false, false },
        { "", "empty entry", false, false, false, false },
        { " ", "empty entry", false, false, false, false },
        { ",primary", "empty entry", false, false, false, false },
        { "primary,", "empty entry", false, false, false, false },
        { "primary,,derived", "empty entry", false, false, false, false },
        { "primary,derived,Primary", "\"Primary\" is named twice", false, false, false, false },
        { "primery", "mean \"primary\"", false, false, false, false },
        { "xyzzyxyzzyxyzzy", "Valid are primary", false, false, false, false },
};

START_TEST(sections_are_a_strict_list) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view;
        int r;

        view_init(&view);
        r = view_set(&view, VIEW_PART_sections, span_of(section_rows[_i].list), complaint);
        if (section_rows[_i].complaint) {
                ck_assert_int_eq(r, VIEW_E_INVALID);
                ck_assert_msg(strstr(complaint, section_rows[_i].complaint) != NULL, "%s",
                              complaint);
                ck_assert(!view.has_sections);
                return;
        }
        ck_assert_int_eq(r, VIEW_OK);
        ck_assert(view_wants_metric(&view, METRIC_minflt) == section_rows[_i].primary);
        ck_assert(view_wants_metric(&view, METRIC_irq_delay_count) == section_rows[_i].delay);
        ck_assert(view_wants_metric(&view, METRIC_acct_utime_ns) == section_rows[_i].accounting);
        ck_assert(view_wants_derived(&view, DERIVED_avg_wait_ns) == section_rows[_i].derived);
        ck_assert(view_wants_derived(&view, DERIVED_avg_cpu_delay_ns) == section_rows[_i].delay);
}
END_TEST

static const struct {
        const char *list;
        const char *complaint;
        unsigned n_metrics, n_derived;
} metric_rows[] = {
        { "run_time_ns", NULL, 1, 0 },
        { "Run_Time_Ns, avg_wait_ns", NULL, 1, 1 },
        { "acct_utime_ns", NULL, 1, 0 },
        { "*_delay_total_ns", NULL, 8, 0 },
        { "run_time_ns,*_delay_total_ns", NULL, 9, 0 },
        { "avg_*_ns", NULL, 0, 32 },
        { "m[ai]?flt", NULL, 2, 0 },
        { "?tim?_clock_ticks,pol[i]cy", NULL, 3, 0 },
        { "*", NULL, _METRIC_MAX, _DERIVED_MAX },
        { "", "empty entry", 0, 0 },
        { "cpu,READ/S", NULL, 2, 0 }, /* columns: what their cells are made of */
        { "io", NULL, 3, 0 },
        { "switch,voluntary_csw", NULL, 2, 0 },
        { "column", "and cpu wait io", 0, 0 },
        { "run_time_ns,", "empty entry", 0, 0 },
        { "run_time_ns,run_time_ns", "named twice", 0, 0 },
        { "run_time", "did you mean \"run_time_ns\"", 0, 0 },
        { "no such thing at all", "metric-list", 0, 0 },
        { "x*y*z", "No metric matches", 0, 0 },
        { "\x1b[31mred", "\"?[31mred\"", 0, 0 },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a...\"",
          0, 0 },
};

static void count_wanted(const View *view, unsigned *ret_metrics, unsigned *ret_derived) {
        *ret_metrics = *ret_derived = 0;
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                *ret_metrics += view_wants_metric(view, (MetricId) id);
        for (unsigned id = 0; id < _DERIVED_MAX; id++)
                *ret_derived += view_wants_derived(view, (DerivedId) id);
}

START_TEST(metrics_are_names_and_globs) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        unsigned n_metrics, n_derived;
        View view;
        int r;

        view_init(&view);
        r = view_set(&view, VIEW_PART_metrics, span_of(metric_rows[_i].list), complaint);
        if (metric_rows[_i].complaint) {
                ck_assert_int_eq(r, VIEW_E_INVALID);
                ck_assert_msg(strstr(complaint, metric_rows[_i].complaint) != NULL, "%s",
                              complaint);
                ck_assert(!view.has_metrics);
                return;
        }
        ck_assert_int_eq(r, VIEW_OK);
        count_wanted(&view, &n_metrics, &n_derived);
        ck_assert_uint_eq(n_metrics, metric_rows[_i].n_metrics);
        ck_assert_uint_eq(n_derived, metric_rows[_i].n_derived);
}
END_TEST

START_TEST(lists_are_bounded) {
        char complaint[VIEW_COMPLAINT_BYTES] = "", list[257 * 10];
        View view;

        /* Distinct globs of nine characters, each of which matches at least "processor". */
        for (unsigned i = 0; i < 257; i++)
                for (unsigned j = 0; j < 10; j++)
                        list[i * 10 + j] = j == 9 ? ',' : i >> j & 1 ? '*' : '?';
        view_init(&view);
        ck_assert_int_eq(
                view_set(&view, VIEW_PART_metrics, (Span){ list, 256 * 10 - 1 }, complaint),
                VIEW_OK);
        ck_assert_int_eq(
                view_set(&view, VIEW_PART_metrics, (Span){ list, 257 * 10 - 1 }, complaint),
                VIEW_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "more than 256"));
        ck_assert_int_eq(view_set(&view, VIEW_PART_sections, (Span){ NULL, 0 }, complaint),
                         VIEW_E_INVALID);
}
END_TEST

START_TEST(sections_and_metrics_both_apply) {
        char complaint[VIEW_COMPLAINT_BYTES];
        View view;

        view_init(&view);
        ck_assert_int_eq(view_set(&view, VIEW_PART_sections, span_of("primary"), complaint),
                         VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of("run_time_ns,cpu_delay_count"),
                                  complaint),
                         VIEW_OK);
        ck_assert(view_wants_metric(&view, METRIC_run_time_ns));
        ck_assert(!view_wants_metric(&view, METRIC_cpu_delay_count));
        ck_assert(!view_wants_metric(&view, METRIC_minflt));
}
END_TEST

static const struct {
        const char *glob;
        const char *complaint; /* part of it; NULL: accepted */
} flatten_rows[] = {
        { "/a/*", NULL },
        { " /a,b ", NULL },
        { "", "it is empty" },
        { "/x[", "\"/x[\" for cgroups is malformed: a [" },
        { "/a**", "whole component" },
};

START_TEST(globs_are_checked_where_they_enter) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view;
        int r;

        view_init(&view);
        r = view_set(&view, VIEW_PART_cgroup_flatten, span_of(flatten_rows[_i].glob), complaint);
        if (flatten_rows[_i].complaint) {
                ck_assert_int_eq(r, VIEW_E_INVALID);
                ck_assert_msg(strstr(complaint, flatten_rows[_i].complaint) != NULL, "%s",
                              complaint);
                ck_assert_uint_eq(view.cgroup_flatten.n, 0);
                return;
        }
        ck_assert_int_eq(r, VIEW_OK);
        ck_assert(span_is(view_texts_get(&view.cgroup_flatten, 0), flatten_rows[_i].glob));
}
END_TEST

START_TEST(globs_are_bounded) {
        char complaint[VIEW_COMPLAINT_BYTES] = "", glob[3] = "/";
        View view;

        view_init(&view);
        for (unsigned i = 0; i < VIEW_TEXTS_MAX; i++) {
                glob[1] = (char) ('0' + i);
                if (glob[1] == '[')
                        glob[1] = '!';
                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_cgroup_flatten, span_of(glob), complaint),
                        VIEW_OK);
        }
        /* One more time the same is none more. */
        ck_assert_int_eq(view_set(&view, VIEW_PART_cgroup_flatten, span_of(glob), complaint),
                         VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_cgroup_flatten, span_of("/more"), complaint),
                         VIEW_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "more than 64"));
        ck_assert_uint_eq(view.cgroup_flatten.n, VIEW_TEXTS_MAX);
}
END_TEST

START_TEST(a_filter_is_one_glob) {
        static char long_glob[GLOB_MAX_BYTES + 1];
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view;

        view_init(&view);
        ck_assert(view_filter_matches(&view, span_of("anything")));
        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("first"), complaint), VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("w*/?"), complaint), VIEW_OK);
        ck_assert(view_filter_matches(&view, span_of("work/er/3")));
        ck_assert(!view_filter_matches(&view, span_of("first")));
        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("w["), complaint),
                         VIEW_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "\"w[\" is malformed: a [ in it is never closed"));
        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of(""), complaint), VIEW_E_INVALID);
        memset(long_glob, '*', sizeof(long_glob));
        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, (Span){ long_glob, GLOB_MAX_BYTES + 1 },
                                  complaint),
                         VIEW_E_INVALID);
        ck_assert_int_eq(
                view_set(&view, VIEW_PART_filter, (Span){ long_glob, GLOB_MAX_BYTES }, complaint),
                VIEW_OK);
}
END_TEST

static const struct {
        const char *text;
        const char *complaint; /* part of it; NULL: accepted */
} pair_rows[] = {
        { "/a=/b", NULL },
        { "/a=/b=c", NULL }, /* the first sign divides */
        { "/a", "\"/a\" is no pair" },
        { "", "no pair" },
        { "=/b", "two different" },
        { "/a=", "two different" },
        { "/a=/a", "two different" },
};

START_TEST(a_pair_is_two_keys) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view;
        int r;

        view_init(&view);
        ck_assert(view.pairing);
        r = view_set(&view, VIEW_PART_pairs, span_of(pair_rows[_i].text), complaint);
        if (pair_rows[_i].complaint) {
                ck_assert_int_eq(r, VIEW_E_INVALID);
                ck_assert_msg(strstr(complaint, pair_rows[_i].complaint) != NULL, "%s", complaint);
                ck_assert_uint_eq(view.pairs.n, 0);
                return;
        }
        ck_assert_int_eq(r, VIEW_OK);
        ck_assert(span_is(view_texts_get(&view.pairs, 0), "/a"));
        ck_assert(span_is(view_texts_get(&view.pairs, 1), pair_rows[_i].text + 3));
        for (unsigned i = 1; i < VIEW_TEXTS_MAX / 2; i++)
                ck_assert_int_eq(view_set(&view, VIEW_PART_pairs, span_of("x=y"), complaint),
                                 VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_pairs, span_of("x=y"), complaint),
                         VIEW_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "more than 32"));
        ck_assert_uint_eq(view.pairs.n, VIEW_TEXTS_MAX);
}
END_TEST

static const struct {
        const char *text;
        double threshold; /* less than 0: refused */
} threshold_rows[] = {
        { "5", 5 },     { "0", 0 },
        { "0.5", 0.5 }, { ".25", 0.25 },
        { "5.", 5 },    { " 10 % ", 10 },
        { "", -1 },     { ".", -1 },
        { "-1", -1 },   { "1.2.3", -1 },
        { "%", -1 },    { "5x", -1 },
        { "1e3", -1 },  { "1234567890123456", -1 },
        { "nan", -1 },
};

START_TEST(a_threshold_is_a_percentage) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view;
        int r;

        view_init(&view);
        r = view_set(&view, VIEW_PART_threshold, span_of(threshold_rows[_i].text), complaint);
        if (threshold_rows[_i].threshold < 0) {
                ck_assert_int_eq(r, VIEW_E_INVALID);
                ck_assert_ptr_nonnull(strstr(complaint, "no percentage"));
                ck_assert(!view.has_threshold);
                return;
        }
        ck_assert_int_eq(r, VIEW_OK);
        ck_assert(view.has_threshold);
        ck_assert_double_eq(view.threshold, threshold_rows[_i].threshold);
}
END_TEST

static int decode(const char *text, View *ret, char *ret_complaint) {
        json_object *object = json_tokener_parse(text);
        int r = view_decode(object, ret, ret_complaint);

        json_object_put(object);
        return r;
}

static json_object *encode(const View *view) {
        json_object *object;
        JsonWriter writer;
        const char *text;
        Buffer buffer;

        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        view_write_json(&writer, view);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        object = json_tokener_parse(text);
        ck_assert_ptr_nonnull(object);
        buffer_done(&buffer);
        return object;
}

START_TEST(tables_are_named_like_sections) {
        char complaint[VIEW_COMPLAINT_BYTES];
        View view;

        view_init(&view);
        ck_assert(view_wants_table(&view, SECTION_SMAPS_ROLLUP));
        ck_assert(!view_wants_table(&view, SECTION_MEMORY_STAT));
        view.axis = VIEW_AXIS_ALL;
        ck_assert(view_wants_table(&view, SECTION_MEMORY_STAT));
        view.axis = VIEW_AXIS_CGROUP;
        for (SectionId id = 0; id < _SECTION_MAX; id++)
                ck_assert(view_wants_table(&view, id));

        ck_assert_int_eq(
                view_set(&view, VIEW_PART_sections, span_of("Memory-Stat,primary"), complaint),
                VIEW_OK);
        for (SectionId id = 0; id < _SECTION_MAX; id++)
                ck_assert(view_wants_table(&view, id) == (id == SECTION_MEMORY_STAT));
        ck_assert(view.sections[METRIC_SECTION_PRIMARY]);
        ck_assert(!view.sections[METRIC_SECTION_DERIVED]);
        ck_assert_str_eq(view_table_names[SECTION_SCHED_EXT], "sched-ext");
        ck_assert_int_eq(view_set(&view, VIEW_PART_sections, span_of("memory-stats"), complaint),
                         VIEW_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "mean \"memory-stat\""));
}
END_TEST

static void assert_texts_equal(const ViewTexts *a, const ViewTexts *b) {
        ck_assert_uint_eq(a->n, b->n);
        for (unsigned i = 0; i < a->n; i++)
                ck_assert(span_equal(view_texts_get(a, i), view_texts_get(b, i)));
}

START_TEST(a_view_survives_the_wire) {
        char complaint[VIEW_COMPLAINT_BYTES];
        json_object *object;
        View view, again;

        view_init(&view);
        if (_i & 1)
                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_sections, span_of("derived,pressure"), complaint),
                        VIEW_OK);
        if (_i & 2)
                ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of("*_ns"), complaint),
                                 VIEW_OK);
        if (_i & 4) {
                view.axis = VIEW_AXIS_THREAD;
                view.thread_normalize = false;
                view.limit = UINT32_MAX;
                view.changed_only = view.self = true;
                view.cgroup_normalize = view.pairing = false;
                view.window = view.spread = true;
                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_pairs, span_of("/old\xfe=/new"), complaint),
                        VIEW_OK);
                ck_assert_int_eq(view_set(&view, VIEW_PART_sort,
                                          span_of("minflt:asc,avg_wait_ns,Write/s:asc"), complaint),
                                 VIEW_OK);
                ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("\xfe*"), complaint),
                                 VIEW_OK);
                ck_assert_int_eq(view_set(&view, VIEW_PART_threshold, span_of("2.5"), complaint),
                                 VIEW_OK);
                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_cgroup_flatten, span_of("/\xff/*"), complaint),
                        VIEW_OK);
                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_cgroup_flatten, span_of("/b/**"), complaint),
                        VIEW_OK);
        }
        object = encode(&view);
        memset(&again, 0, sizeof(again));
        ck_assert_int_eq(view_decode(object, &again, complaint), VIEW_OK);
        ck_assert_int_eq(again.axis, view.axis);
        ck_assert(again.thread_normalize == view.thread_normalize);
        ck_assert(again.has_sections == view.has_sections);
        ck_assert(again.has_metrics == view.has_metrics);
        ck_assert_mem_eq(again.sections, view.sections, sizeof(view.sections));
        ck_assert_mem_eq(again.tables, view.tables, sizeof(view.tables));
        ck_assert_mem_eq(again.metrics, view.metrics, sizeof(view.metrics));
        ck_assert_mem_eq(again.derived, view.derived, sizeof(view.derived));
        ck_assert_uint_eq(again.limit, view.limit);
        ck_assert(again.changed_only == view.changed_only);
        ck_assert(again.self == view.self);
        ck_assert(again.cgroup_normalize == view.cgroup_normalize);
        ck_assert_mem_eq(&again.sort, &view.sort, sizeof(view.sort));
        ck_assert(span_equal((Span){ again.filter, again.n_filter },
                             (Span){ view.filter, view.n_filter }));
        ck_assert(again.has_threshold == view.has_threshold);
        ck_assert_double_eq(again.threshold, view.threshold);
        ck_assert(again.pairing == view.pairing);
        ck_assert(again.window == view.window);
        ck_assert(again.spread == view.spread);
        assert_texts_equal(&again.pairs, &view.pairs);
        assert_texts_equal(&again.cgroup_flatten, &view.cgroup_flatten);
        json_object_put(object);
}
END_TEST

START_TEST(no_view_is_the_default_one) {
        char complaint[VIEW_COMPLAINT_BYTES];
        View view, nulls;

        ck_assert_int_eq(view_decode(NULL, &view, complaint), VIEW_OK);
        ck_assert_uint_eq(view.limit, VIEW_DEFAULT_LIMIT);
        ck_assert_int_eq(
                decode("{\"groupBy\":null,\"metrics\":null,\"limit\":null}", &nulls, complaint),
                VIEW_OK);
        ck_assert(!nulls.has_metrics);
        ck_assert_uint_eq(nulls.limit, VIEW_DEFAULT_LIMIT);
}
END_TEST

static const struct {
        const char *text;
        const char *complaint;
} refused_rows[] = {
        { "[]", "object" },
        { "{\"groupBy\":\"pid\"}", "\"pid\"" },
        { "{\"groupBy\":1}", "groupBy" },
        { "{\"threadNormalize\":1}", "threadNormalize" },
        { "{\"changedOnly\":\"yes\"}", "changedOnly" },
        { "{\"self\":0}", "self" },
        { "{\"limit\":-1}", "limit" },
        { "{\"limit\":4294967296}", "limit" },
        { "{\"limit\":\"1\"}", "limit" },
        { "{\"limit\":1.5}", "limit" },
        { "{\"sections\":\"primary\"}", "array" },
        { "{\"sections\":[1]}", "array of texts" },
        { "{\"sections\":[\"primary\",\"primary\"]}", "twice" },
        { "{\"metrics\":[\"*\"]}", "Unknown metric" },
        { "{\"metrics\":[\"run_time_ns\",null]}", "array of texts" },
        { "{\"metrics\":{}}", "array" },
        { "{\"cgroupNormalize\":1}", "cgroupNormalize" },
        { "{\"cgroupFlatten\":\"/a\"}", "array" },
        { "{\"cgroupFlatten\":[\"/a\",\"/a**\"]}", "\"/a**\"" },
        { "{\"cgroupFlatten\":[\"\"]}", "empty" },
        { "{\"sortBy\":1}", "sortBy" },
        { "{\"sortBy\":\"policy\"}", "policy" },
        { "{\"filter\":[]}", "filter" },
        { "{\"filter\":\"\"}", "it is empty" },
        { "{\"pairing\":1}", "pairing" },
        { "{\"window\":1}", "window" },
        { "{\"spread\":\"yes\"}", "spread" },
        { "{\"pairs\":{}}", "array of {old, new}" },
        { "{\"pairs\":[[]]}", "array of {old, new}" },
        { "{\"pairs\":[{\"old\":\"/a\"}]}", "array of {old, new}" },
        { "{\"pairs\":[{\"old\":\"/a\",\"new\":1}]}", "array of {old, new}" },
        { "{\"pairs\":[{\"old\":\"/a\",\"new\":\"/b\",\"x\":1}]}", "array of {old, new}" },
        { "{\"pairs\":[{\"old\":\"/a\",\"new\":\"/a\"}]}", "two different" },
        { "{\"threshold\":\"5\"}", "threshold" },
        { "{\"threshold\":-0.5}", "threshold" },
        { "{\"threshold\":1e999}", "threshold" },
        { "{\"sortDown\":\"name\"}", "\"sortDown\"" },
};

START_TEST(a_view_is_decoded_strictly) {
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view = { .limit = 7 };

        ck_assert_int_eq(decode(refused_rows[_i].text, &view, complaint), VIEW_E_INVALID);
        ck_assert_msg(strstr(complaint, refused_rows[_i].complaint) != NULL, "%s", complaint);
        ck_assert_uint_eq(view.limit, 7);
}
END_TEST

/* A row of SECTIONS that lacks a column would leave members empty. */
START_TEST(every_section_has_its_words) {
        for (SectionId id = 0; id < _SECTION_MAX; id++) {
                const SectionForm *form = &view_table_forms[id];

                ck_assert_ptr_nonnull(view_table_names[id]);
                ck_assert_uint_lt(form->source, _SOURCE_MAX);
                ck_assert(form->one && form->many && form->not_there && form->no_value);
                ck_assert(!form->value || form->key);
                ck_assert(form->item || view_table_abouts[id] == SECTION_ABOUT_HOST ||
                          view_table_abouts[id] == SECTION_ABOUT_HOST_PART);
        }
        for (unsigned part = 0; part < _HOST_PART_MAX; part++) {
                SectionId id = SECTION_HOST_CPU + part;

                ck_assert_int_eq(view_table_abouts[id], SECTION_ABOUT_HOST_PART);
                ck_assert_uint_eq(view_table_forms[id].source, host_parts[part].source);
                ck_assert_str_eq(view_table_names[id] + strlen("host-"),
                                 host_parts[part].member + strlen("host_"));
                ck_assert((host_parts[part].item != NULL) == (host_parts[part].n_ranks > 0));
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("view");
        TCase *words = tcase_create("words");
        TCase *wire = tcase_create("wire");

        tcase_add_test(words, defaults_are_the_documented_ones);
        tcase_add_loop_test(words, axes_are_found_by_name, 0, ELEMENTSOF(axis_rows));
        tcase_add_test(words, axes_have_names_and_headers);
        tcase_add_loop_test(words, sections_are_a_strict_list, 0, ELEMENTSOF(section_rows));
        tcase_add_loop_test(words, metrics_are_names_and_globs, 0, ELEMENTSOF(metric_rows));
        tcase_add_test(words, lists_are_bounded);
        tcase_add_test(words, sections_and_metrics_both_apply);
        tcase_add_test(words, tables_are_named_like_sections);
        tcase_add_test(words, every_section_has_its_words);
        tcase_add_loop_test(words, globs_are_checked_where_they_enter, 0, ELEMENTSOF(flatten_rows));
        tcase_add_test(words, globs_are_bounded);
        tcase_add_test(words, a_filter_is_one_glob);
        tcase_add_loop_test(words, a_pair_is_two_keys, 0, ELEMENTSOF(pair_rows));
        tcase_add_loop_test(words, a_threshold_is_a_percentage, 0, ELEMENTSOF(threshold_rows));
        suite_add_tcase(suite, words);
        tcase_add_loop_test(wire, a_view_survives_the_wire, 0, 8);
        tcase_add_test(wire, no_view_is_the_default_one);
        tcase_add_loop_test(wire, a_view_is_decoded_strictly, 0, ELEMENTSOF(refused_rows));
        suite_add_tcase(suite, wire);
        return check_main(suite);
}
