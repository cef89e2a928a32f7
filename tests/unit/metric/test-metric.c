/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/name.h"
#include "metric/metric.h"

/* One line of a table of tests/data, cut at its tabs. */
#define MAX_FIELDS 12

typedef struct Line {
        char *text;
        const char *fields[MAX_FIELDS];
        unsigned n_fields;
} Line;

static void line_split(Line *line) {
        char *rest = line->text, *field;

        rest[strcspn(rest, "\n")] = '\0';
        line->n_fields = 0;
        while (line->n_fields < MAX_FIELDS && (field = strsep(&rest, "\t")))
                line->fields[line->n_fields++] = field;
}

/* Calls @check with the index and fields of each line below the first; returns how many. */
static unsigned each_line(const char *file, void (*check)(unsigned i, const Line *line)) {
        char path[4096];
        Line line = {};
        size_t n_allocated = 0;
        unsigned n = 0;
        FILE *stream;

        (void) snprintf(path, sizeof(path), "%s/data/%s", TESTS_DIR, file);
        stream = fopen(path, "re");
        ck_assert_msg(stream != NULL, "%s: %m", path);
        for (bool is_first = true; getline(&line.text, &n_allocated, stream) > 0;
             is_first = false) {
                line_split(&line);
                if (!is_first)
                        check(n++, &line);
        }
        free(line.text);
        (void) fclose(stream);
        return n;
}

/* "-" in a table is an empty string of ours. */
static const char *or_empty(const char *field) {
        return strcmp(field, "-") == 0 ? "" : field;
}

static void check_metric(MetricId id, const Line *line) {
        const Metric *metric;

        ck_assert_uint_lt(id, _METRIC_MAX);
        ck_assert_uint_ge(line->n_fields, 9);
        metric = &metric_table[id];
        ck_assert_str_eq(metric->name, line->fields[0]);
        ck_assert_str_eq(metric->type_name, line->fields[2]);
        ck_assert_str_eq(metric->rule_name, line->fields[3]);
        ck_assert_str_eq(metric_section_names[metric->section], line->fields[4]);
        ck_assert_str_eq(metric_class_names[metric->class], line->fields[5]);
        ck_assert_str_eq(metric->gates, or_empty(line->fields[6]));
        ck_assert_str_eq(line->fields[7], "no"); /* the registry has no row for dead metrics */
}

static unsigned n_before;

static void check_primary(unsigned i, const Line *line) {
        check_metric((MetricId) i, line);
}

static void check_added(unsigned i, const Line *line) {
        check_metric((MetricId) (n_before + i), line);
}

START_TEST(metrics_are_those_of_the_tables_in_their_order) {
        n_before = each_line("metrics.tsv", check_primary);
        ck_assert_uint_eq(n_before, 87);
        ck_assert_uint_eq(each_line("metrics-accounting.tsv", check_added), 10);
        n_before += 10;
        ck_assert_uint_eq(each_line("metrics-memory.tsv", check_added), 4);
        n_before += 4;
        ck_assert_uint_eq(each_line("metrics-waits.tsv", check_added), 45);
        ck_assert_uint_eq(n_before + 45, _METRIC_MAX);
}
END_TEST

/* Whether @name stands in @formula as a word of its own. */
static bool has_word(const char *formula, const char *name) {
        size_t n = strlen(name);

        for (const char *at = formula; (at = strstr(at, name)); at += n) {
                char after = at[n];
                bool begins =
                        at == formula || !(strchr("_", at[-1]) || (at[-1] >= 'a' && at[-1] <= 'z'));

                if (begins && !(after == '_' || (after >= 'a' && after <= 'z')))
                        return true;
        }
        return false;
}

static unsigned count_words(const char *formula) {
        unsigned n = 0;

        for (unsigned id = 0; id < _METRIC_MAX; id++)
                n += has_word(formula, metric_table[id].name);
        return n;
}

static void check_derived(unsigned i, const Line *line) {
        const Derived *derived;

        ck_assert_uint_lt(i, _DERIVED_MAX);
        ck_assert_uint_ge(line->n_fields, 5);
        derived = &derived_table[i];
        ck_assert_str_eq(derived->name, line->fields[0]);
        ck_assert_str_eq(metric_section_names[derived->section], line->fields[4]);
        /* "ratio 0..1", "bytes (signed, ...": the family is the first word. */
        ck_assert_mem_eq(line->fields[2], metric_unit_names[derived->unit],
                         strlen(metric_unit_names[derived->unit]));
        ck_assert_int_eq(derived->unit == METRIC_UNIT_RATIO, strcmp(line->fields[3], "yes") == 0);

        ck_assert_uint_le(derived->n_inputs, DERIVED_MAX_INPUTS);
        for (unsigned k = 0; k < derived->n_inputs; k++)
                ck_assert_msg(has_word(line->fields[1], metric_table[derived->inputs[k]].name),
                              "%s: %s is not in \"%s\"", derived->name,
                              metric_table[derived->inputs[k]].name, line->fields[1]);
        ck_assert_uint_eq(derived->n_inputs, count_words(line->fields[1]));
}

START_TEST(derived_values_are_those_of_the_table_in_their_order) {
        ck_assert_uint_eq(each_line("derived.tsv", check_derived), _DERIVED_MAX);
}
END_TEST

static const char operators[] = {
        [DERIVED_FORMULA_QUOTIENT] = '/',   [DERIVED_FORMULA_SHARE] = '/',
        [DERIVED_FORMULA_DIFFERENCE] = '-', [DERIVED_FORMULA_SUM] = '+',
        [DERIVED_FORMULA_OFFCPU] = '+',
};

static void check_formula(unsigned i, const Line *line) {
        const Derived *derived = &derived_table[i];
        const char *formula = line->fields[1];
        size_t n = strlen(metric_table[derived->inputs[0]].name);

        /* The first input comes first, and its operator behind it. */
        ck_assert_mem_eq(formula, metric_table[derived->inputs[0]].name, n);
        ck_assert_int_eq(formula[n + 1], operators[derived->formula]);
        ck_assert_int_eq(strchr(formula, '(') != NULL,
                         derived->formula == DERIVED_FORMULA_SHARE ||
                                 derived->formula == DERIVED_FORMULA_OFFCPU);
        ck_assert_int_eq(strstr(formula, "max(") != NULL,
                         derived->formula == DERIVED_FORMULA_OFFCPU);
}

START_TEST(formulas_are_those_of_the_table) {
        ck_assert_uint_eq(each_line("derived.tsv", check_formula), _DERIVED_MAX);
}
END_TEST

START_TEST(a_derived_value_finds_itself) {
        ck_assert_uint_eq(derived_find(span_of(derived_table[_i].name)), (unsigned) _i);
        ck_assert_uint_eq(metric_find(span_of(derived_table[_i].name)), _METRIC_MAX);
        ck_assert_str_ne(derived_table[_i].description, "");
}
END_TEST

START_TEST(a_metric_finds_itself) {
        const Metric *metric = &metric_table[_i];

        ck_assert_uint_eq(metric_find(span_of(metric->name)), (unsigned) _i);
        ck_assert_uint_eq(derived_find(span_of(metric->name)), _DERIVED_MAX);
}
END_TEST

START_TEST(a_description_is_a_fragment) {
        const char *text = metric_table[_i].description;

        ck_assert_str_ne(text, "");
        ck_assert_int_ne(text[strlen(text) - 1], '.');
        ck_assert_ptr_null(strchr(text, '\n'));
}
END_TEST

START_TEST(a_metric_has_a_source_that_explains_its_absence) {
        const Metric *metric = &metric_table[_i];

        ck_assert_uint_lt(metric->explained_by, _SOURCE_MAX);
        ck_assert_uint_eq(name_find(span_of(metric_source_names[metric->explained_by]),
                                    metric_source_names, _SOURCE_MAX),
                          metric->explained_by);
}
END_TEST

START_TEST(a_shape_suits_the_kind) {
        static const MetricShape shapes[] = {
                [METRIC_KIND_COUNTER] = METRIC_SHAPE_SUM,   [METRIC_KIND_PEAK] = METRIC_SHAPE_MAX,
                [METRIC_KIND_FLOOR] = METRIC_SHAPE_MIN,     [METRIC_KIND_GAUGE] = METRIC_SHAPE_MAX,
                [METRIC_KIND_ORDINAL] = METRIC_SHAPE_RANGE, [METRIC_KIND_WORD] = METRIC_SHAPE_MODE,
                [METRIC_KIND_CPUS] = METRIC_SHAPE_AFFINITY,
        };
        bool is_memory = metric_table[_i].rule == METRIC_RULE_SumGaugeBytes;

        /* A level of memory of several processes is that of all. */
        ck_assert_uint_eq(metric_table[_i].shape,
                          is_memory ? METRIC_SHAPE_SUM : shapes[metric_table[_i].kind]);
        ck_assert(metric_is_cumulative((MetricId) _i) ==
                  (metric_table[_i].shape == METRIC_SHAPE_SUM && !is_memory));
}
END_TEST

START_TEST(names_that_are_none_are_not_found) {
        static const char *const rows[] = { "", "nic", "nicee", "NICE", "nice ", "_METRIC_MAX" };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                ck_assert_uint_eq(metric_find(span_of(rows[i])), _METRIC_MAX);
                ck_assert_uint_eq(derived_find(span_of(rows[i])), _DERIVED_MAX);
                ck_assert_uint_eq(name_find(span_of(rows[i]), metric_source_names, _SOURCE_MAX),
                                  _SOURCE_MAX);
        }
}
END_TEST

START_TEST(sources_are_the_closed_list) {
        static const char *const names[] = {
                "stat",         "schedstat",    "sched",           "schedstats",
                "status",       "io",           "cgroup",          "affinity",
                "smaps_rollup", "taskstats",    "taskstats-delay", "taskstats-irq",
                "jemalloc",     "cgroup-stats", "host-pressure",   "cgroup-pressure",
                "sched-ext",    "host",         "host-cpu",        "host-memory",
                "host-disk",    "host-network", "exits",           "waits",
                "reasons",      "cmdline",
        };

        ck_assert_uint_eq(ELEMENTSOF(names), _SOURCE_MAX);
        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                ck_assert_str_eq(metric_source_names[id], names[id]);
}
END_TEST

static const struct {
        const char *name;
        const char *nearest; /* NULL: nothing is near */
} nearest_rows[] = {
        { "nice", "nice" },
        { "nicee", "nice" },
        { "wait_sun", "wait_sum" },
        { "run_time", "run_time_ns" },
        { "avg_wait", "avg_wait_ns" },
        { "run_tme", "run_time_ns" },
        { "wait", "wait_sum" },
        { "wakeups", "nr_wakeups" },
        { "blkio_delay_totl_ns", "blkio_delay_total_ns" },
        { "xyzzy", NULL },
        { "", NULL },
};

START_TEST(a_mistyped_name_has_a_nearest_one) {
        const char *nearest = metric_nearest_name(span_of(nearest_rows[_i].name));

        if (nearest_rows[_i].nearest)
                ck_assert_pstr_eq(nearest, nearest_rows[_i].nearest);
        else
                ck_assert_ptr_null(nearest);
}
END_TEST

START_TEST(nearest_of_any_list) {
        static const char *const names[] = { "before", "after", "between" };
        char endless[200];

        ck_assert_pstr_eq(name_nearest(span_of("befor"), names, ELEMENTSOF(names)), "before");
        ck_assert_pstr_eq(name_nearest(span_of("aftre"), names, ELEMENTSOF(names)), "after");
        ck_assert_ptr_null(name_nearest(span_of("tomorrow"), names, ELEMENTSOF(names)));
        ck_assert_pstr_eq(name_nearest(span_of("AFTER"), names, ELEMENTSOF(names)), "after");
        ck_assert_ptr_null(name_nearest(span_of("before"), names, 0));
        ck_assert_ptr_null(name_nearest(span_of("b"), (const char *const[]){ "a" }, 1));
        ck_assert_ptr_null(name_nearest(span_of("foo"), (const char *const[]){ "top" }, 1));
        ck_assert_pstr_eq(name_nearest(span_of("shwo"), (const char *const[]){ "show" }, 1),
                          "show");
        ck_assert_pstr_eq(name_nearest(span_of("B"), (const char *const[]){ "b" }, 1), "b");
        memset(endless, 'b', sizeof(endless));
        ck_assert_ptr_null(name_nearest((Span){ endless, sizeof(endless) }, names, 3));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("metric");
        TCase *table = tcase_create("table"), *find = tcase_create("find");
        TCase *nearest = tcase_create("nearest");

        tcase_add_test(table, metrics_are_those_of_the_tables_in_their_order);
        tcase_add_test(table, derived_values_are_those_of_the_table_in_their_order);
        tcase_add_test(table, formulas_are_those_of_the_table);
        tcase_add_loop_test(table, a_description_is_a_fragment, 0, _METRIC_MAX);
        tcase_add_loop_test(table, a_metric_has_a_source_that_explains_its_absence, 0, _METRIC_MAX);
        tcase_add_loop_test(table, a_shape_suits_the_kind, 0, _METRIC_MAX);
        suite_add_tcase(suite, table);
        tcase_add_loop_test(find, a_metric_finds_itself, 0, _METRIC_MAX);
        tcase_add_loop_test(find, a_derived_value_finds_itself, 0, _DERIVED_MAX);
        tcase_add_test(find, names_that_are_none_are_not_found);
        tcase_add_test(find, sources_are_the_closed_list);
        suite_add_tcase(suite, find);
        tcase_add_loop_test(nearest, a_mistyped_name_has_a_nearest_one, 0,
                            ELEMENTSOF(nearest_rows));
        tcase_add_test(nearest, nearest_of_any_list);
        suite_add_tcase(suite, nearest);
        return check_main(suite);
}
