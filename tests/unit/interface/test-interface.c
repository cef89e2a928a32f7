/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <json-c/json.h>
#include <string.h>

#include "interface/interface.h"
#include "view/view.h"
#include "metric/metric.h"

static const struct {
        WireError error;
        const char *name;
        const char *parameter;
} name_rows[] = {
        { WIRE_ERROR_INTERFACE_NOT_FOUND, "org.varlink.service.InterfaceNotFound", "interface" },
        { WIRE_ERROR_PERMISSION_DENIED, "org.varlink.service.PermissionDenied", "" },
        { WIRE_ERROR_NO_SUCH_SNAPSHOT, "io.ctprof.Profiler.NoSuchSnapshot", "name" },
        { WIRE_ERROR_JOB_FAILED, "io.ctprof.Profiler.JobFailed", "reason" },
};

START_TEST(errors_have_wire_names) {
        ck_assert_str_eq(wire_error_names[name_rows[_i].error], name_rows[_i].name);
        ck_assert_str_eq(wire_error_parameters[name_rows[_i].error], name_rows[_i].parameter);
        ck_assert_int_eq(wire_error_find(span_of(name_rows[_i].name)), name_rows[_i].error);
}
END_TEST

START_TEST(every_error_is_found_by_its_name) {
        for (unsigned error = 0; error < _WIRE_ERROR_MAX; error++)
                ck_assert_uint_eq(wire_error_find(span_of(wire_error_names[(WireError) error])),
                                  error);
        ck_assert_int_eq(wire_error_find(span_of("io.ctprof.Profiler.NoSuch")), _WIRE_ERROR_MAX);
        ck_assert_int_eq(wire_error_find(span_of("")), _WIRE_ERROR_MAX);
}
END_TEST

static const struct {
        WireError error;
        WireErrorDetail detail;
        const char *json;
} encode_rows[] = {
        { WIRE_ERROR_PERMISSION_DENIED, { .reason = NULL }, "{}" },
        { WIRE_ERROR_METHOD_NOT_FOUND, { .subject = { "a.B", 3 } }, "{\"method\":\"a.B\"}" },
        { WIRE_ERROR_NO_SUCH_SNAPSHOT,
          { .subject = { "befor", 5 }, .nearest = "before" },
          "{\"name\":\"befor\",\"nearest\":\"before\"}" },
        { WIRE_ERROR_INVALID_NAME,
          { .subject = { ".x", 2 }, .reason = "begins with a dot" },
          "{\"name\":\".x\",\"reason\":\"begins with a dot\"}" },
        { WIRE_ERROR_SNAPSHOT_UNREADABLE,
          { .subject = { "x", 1 }, .reason = "it is empty", .has_offset = true, .offset = 0 },
          "{\"name\":\"x\",\"reason\":\"it is empty\",\"offset\":0}" },
        { WIRE_ERROR_SPOOL_FULL, { .reason = "no room" }, "{\"reason\":\"no room\"}" },
        { WIRE_ERROR_BUSY, { .subject = { "x", 1 } }, "{\"reason\":\"\"}" },
        { WIRE_ERROR_NO_SUCH_SNAPSHOT,
          { .subject = { "a\"\xff", 3 } },
          "{\"name\":\"a\\\"\xee\xbf\xbf\"}" }, /* valid JSON whatever the caller was sent */
};

START_TEST(error_parameters_are_one_object) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(wire_error_encode(&buffer, encode_rows[_i].error, &encode_rows[_i].detail),
                         0);
        ck_assert(span_is(buffer_span(&buffer), encode_rows[_i].json));
        buffer_done(&buffer);
}
END_TEST

START_TEST(an_error_needs_no_detail) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(wire_error_encode(&buffer, WIRE_ERROR_EXPECTED_MORE, NULL), 0);
        ck_assert(span_is(buffer_span(&buffer), "{}"));
        buffer_done(&buffer);
}
END_TEST

START_TEST(a_full_buffer_is_reported) {
        Buffer buffer;

        buffer_init(&buffer, 4);
        ck_assert_int_eq(wire_error_encode(&buffer, WIRE_ERROR_SPOOL_FULL, &encode_rows[5].detail),
                         -EMSGSIZE);
        buffer_done(&buffer);
}
END_TEST

static json_object *metric_list(void) {
        json_object *list;
        const char *text;
        JsonWriter writer;
        Buffer buffer;

        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        metric_list_write_json(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        list = json_tokener_parse(text);
        ck_assert_ptr_nonnull(list);
        buffer_done(&buffer);
        return list;
}

static const char *text_of(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key));
}

START_TEST(the_registry_is_listed_in_order) {
        json_object *list = metric_list();
        json_object *metrics = json_object_object_get(list, "metrics");
        json_object *derived = json_object_object_get(list, "derived");

        ck_assert_uint_eq(json_object_array_length(metrics), _METRIC_MAX);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                json_object *metric = json_object_array_get_idx(metrics, id);

                ck_assert_str_eq(text_of(metric, "name"), metric_table[id].name);
                ck_assert_str_eq(text_of(metric, "rule"), metric_table[id].rule_name);
                ck_assert_int_eq(json_object_object_length(metric), 8);
        }
        ck_assert_uint_eq(json_object_array_length(derived), _DERIVED_MAX);
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                json_object *value = json_object_array_get_idx(derived, id);

                ck_assert_str_eq(text_of(value, "name"), derived_table[id].name);
                ck_assert_uint_eq(json_object_array_length(json_object_object_get(value, "inputs")),
                                  derived_table[id].n_inputs);
                ck_assert_int_eq(json_object_object_length(value), 5);
        }
        json_object_put(list);
}
END_TEST

START_TEST(gates_are_an_array_of_options) {
        json_object *list = metric_list();
        json_object *metrics = json_object_object_get(list, "metrics");
        json_object *none = json_object_array_get_idx(metrics, METRIC_thread_count);
        json_object *two = json_object_array_get_idx(metrics, METRIC_core_forceidle_sum);

        ck_assert_uint_eq(json_object_array_length(json_object_object_get(none, "gates")), 0);
        two = json_object_object_get(two, "gates");
        ck_assert_uint_eq(json_object_array_length(two), 2);
        ck_assert_str_eq(json_object_get_string(json_object_array_get_idx(two, 0)),
                         "CONFIG_SCHED_CORE");
        ck_assert_str_eq(json_object_get_string(json_object_array_get_idx(two, 1)),
                         "CONFIG_SCHEDSTATS");
        json_object_put(list);
}
END_TEST

static bool has_term(unsigned list, Span name) {
        for (size_t i = 0; i < legend_lists[list].n_terms; i++)
                if (span_is(name, legend_lists[list].terms[i].name))
                        return true;
        return false;
}

START_TEST(every_word_of_the_registry_has_a_term) {
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                const char *gates = metric->gates;

                ck_assert(
                        has_term(LEGEND_SECTIONS, span_of(metric_section_names[metric->section])));
                ck_assert(has_term(LEGEND_RULES, span_of(metric->rule_name)));
                ck_assert(has_term(LEGEND_CLASSES, span_of(metric_class_names[metric->class])));
                while (*gates) {
                        size_t n = strcspn(gates, ",");

                        ck_assert(has_term(LEGEND_GATES, (Span){ gates, n }));
                        gates += n + (gates[n] == ',');
                }
        }
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                ck_assert(has_term(LEGEND_SECTIONS, span_of(view_table_names[(SectionId) id])));
}
END_TEST

START_TEST(the_legend_is_listed_behind_the_registry) {
        json_object *list = metric_list();

        for (unsigned i = 0; i < _LEGEND_MAX; i++) {
                json_object *terms = json_object_object_get(list, legend_lists[i].key);

                ck_assert_uint_eq(json_object_array_length(terms), legend_lists[i].n_terms);
                ck_assert_str_eq(text_of(json_object_array_get_idx(terms, 0), "name"),
                                 legend_lists[i].terms[0].name);
        }
        json_object_put(list);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("interface");
        TCase *errors = tcase_create("errors");
        TCase *registry = tcase_create("registry");

        tcase_add_loop_test(errors, errors_have_wire_names, 0, ELEMENTSOF(name_rows));
        tcase_add_test(errors, every_error_is_found_by_its_name);
        tcase_add_loop_test(errors, error_parameters_are_one_object, 0, ELEMENTSOF(encode_rows));
        tcase_add_test(errors, an_error_needs_no_detail);
        tcase_add_test(errors, a_full_buffer_is_reported);
        suite_add_tcase(suite, errors);
        tcase_add_test(registry, the_registry_is_listed_in_order);
        tcase_add_test(registry, gates_are_an_array_of_options);
        tcase_add_test(registry, every_word_of_the_registry_has_a_term);
        tcase_add_test(registry, the_legend_is_listed_behind_the_registry);
        suite_add_tcase(suite, registry);
        return check_main(suite);
}
