/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/html-data.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "wire/message.h"

/* The parameters of a reply, as it comes from ctprofd. */
static json_object *decode(const char *json) {
        _cleanup_(buffer_done) Buffer frame = {};
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Reply reply = {};

        ck_assert_int_eq(buffer_append_format(&frame, "{\"parameters\":{\"x\":%s}}", json), 0);
        ck_assert_int_eq(reply_decode(buffer_span(&frame), &reply, complaint), 0);
        return reply.parameters;
}

typedef struct Written {
        NameSet reasons;
        char *text;
        size_t n_text;
        FILE *file;
        JsonOut out;
} Written;

static void written_begin(Written *written) {
        *written = (Written){};
        written->file = open_memstream(&written->text, &written->n_text);
        json_out_init(&written->out, written->file, JSON_STYLE_SHORT);
        written->out.in_markup = true;
}

static void written_end(Written *written) {
        name_set_done(&written->reasons);
        json_out_done(&written->out);
        (void) fclose(written->file);
        free(written->text);
}

static void check_text(Written *written, const char *expected) {
        ck_assert_int_eq(json_out_finish(&written->out), 0);
        ck_assert_uint_gt(written->n_text, 0);
        written->text[written->n_text - 1] = '\0';
        ck_assert_str_eq(written->text, expected);
}

static const struct {
        const char *json, *written; /* NULL: the same */
} values[] = {
        { "0", NULL },
        { "9007199254740991", NULL },
        { "-9007199254740991", NULL },
        { "9007199254740992", "\"9007199254740992\"" }, /* doubles have no odd numbers from here */
        { "-9007199254740993", "\"-9007199254740993\"" },
        { "18446744073709551615", "\"18446744073709551615\"" },
        { "-18446744073709551615", "\"-18446744073709551615\"" },
        { "0.25", NULL },
        { "null", NULL },
        { "true", NULL },
        { "{\"min\":1,\"max\":18446744073709551615}",
          "{\"min\":1,\"max\":\"18446744073709551615\"}" },
        { "[[18446744073709551615],{}]", "[[\"18446744073709551615\"],{}]" },
        { "\"</script>\"", "\"\\u003c/script\\u003e\"" },
};

START_TEST(integers_stay_exact_in_a_browser) {
        json_object *value = decode(values[_i].json);
        Written written;

        written_begin(&written);
        html_data_write_value(&written.out, cell_member(value, "x"));
        check_text(&written, values[_i].written ? values[_i].written : values[_i].json);
        written_end(&written);
        (void) json_object_put(value);
}
END_TEST

#define RUN_TIME "10" /* the place of run_time_ns in the registry */

static const struct {
        const char *group, *written;
} groups[] = {
        /* one snapshot */
        { "{\"key\":\"a\",\"threads\":2,\"metrics\":{\"run_time_ns\":{\"value\":5,\"present\":2}}}",
          "{\"key\":\"a\",\"threads\":2,\"rows\":[[" RUN_TIME ",0,null,5,2]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"value\":null,\"present\":0,\"reason\":\"r\"}}}",
          "{\"rows\":[[" RUN_TIME ",0,\"r\",null,0]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"value\":7,\"present\":1,\"spread\":{\"p50\":7}}}}",
          "{\"rows\":[[" RUN_TIME ",0,null,7,1,{\"p50\":7}]]}" },
        /* two */
        { "{\"metrics\":{\"run_time_ns\":{\"before\":1,\"after\":3,\"delta\":2,\"percent\":200,"
          "\"perSecond\":null,\"changed\":true,\"reset\":false}}}",
          "{\"rows\":[[" RUN_TIME ",1,null,1,3,2,200]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"before\":3,\"after\":1,\"delta\":-2,\"percent\":null,"
          "\"perSecond\":-0.5,\"changed\":true,\"reset\":true,\"spread\":null,\"spreadBefore\":"
          "{\"p99\":3}}}}",
          "{\"rows\":[[" RUN_TIME ",3,null,3,1,-2,null,-0.5,null,{\"p99\":3}]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"before\":null,\"after\":null,\"delta\":null,"
          "\"changed\":false,\"reason\":\"r\"}}}",
          "{\"rows\":[[" RUN_TIME ",0,\"r\"]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"before\":1,\"after\":3,\"delta\":2,\"percent\":null,"
          "\"perSecond\":0.5,\"changed\":true,\"reset\":false,\"work\":2}}}",
          "{\"rows\":[[" RUN_TIME ",1,null,1,3,2,null,0.5,null,null,2]]}" },
        /* two intervals */
        { "{\"metrics\":{\"run_time_ns\":{\"a\":1.5,\"b\":3,\"delta\":1.5,\"percent\":100,"
          "\"changed\":true}},\"weight\":-0.25}",
          "{\"weight\":-0.25,\"rows\":[[" RUN_TIME ",1,null,1.5,3,1.5,100]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"a\":1,\"b\":3,\"delta\":2,\"percent\":200,"
          "\"perSecond\":true,"
          "\"approximate\":\"why\"}}}",
          "{\"rows\":[[" RUN_TIME ",44,null,1,3,2,200]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"a\":null,\"b\":3,\"delta\":null,\"percent\":null,"
          "\"reason\":\"r\"}}}",
          "{\"rows\":[[" RUN_TIME ",0,\"r\",null,3]]}" },
        /* two sets */
        { "{\"metrics\":{\"run_time_ns\":{\"before\":{\"n\":2,\"median\":1.5},\"after\":null,"
          "\"delta\":null,\"percent\":null,\"u\":null,\"p\":null,\"pAdjusted\":null,"
          "\"significant\":false,\"perSecond\":true,\"reason\":\"r\"}}}",
          "{\"rows\":[[" RUN_TIME ",32,\"r\",{\"n\":2,\"median\":1.5}]]}" },
        { "{\"metrics\":{\"run_time_ns\":{\"before\":{\"n\":4},\"after\":{\"n\":5},\"delta\":1,"
          "\"percent\":2,\"u\":20,\"p\":0.01,\"pAdjusted\":0.03,\"significant\":true,"
          "\"perSecond\":false}}}",
          "{\"rows\":[[" RUN_TIME ",16,null,{\"n\":4},{\"n\":5},1,2,0.01,0.03]]}" },
        /* what this build does not know keeps its name */
        { "{\"metrics\":{\"of_tomorrow\":{\"value\":1}},\"derived\":null}",
          "{\"rows\":[[\"of_tomorrow\",0,null,1]]}" },
        /* no group at all */
        { "null", "{\"rows\":[]}" },
        { "{\"metrics\":3}", "{\"rows\":[]}" },
};

START_TEST(rows_are_short) {
        json_object *group = decode(groups[_i].group);
        Written written;

        written_begin(&written);
        html_data_write_group(&written.out, &written.reasons, cell_member(group, "x"));
        check_text(&written, groups[_i].written);
        written_end(&written);
        (void) json_object_put(group);
}
END_TEST

START_TEST(a_reason_is_told_once) {
        json_object *group = decode("{\"metrics\":{\"run_time_ns\":{\"value\":null,\"reason\":"
                                    "\"r\"},\"wait_time_ns\":{\"value\":null,\"reason\":\"r\"}}}");
        Written written;

        written_begin(&written);
        html_data_write_group(&written.out, &written.reasons, cell_member(group, "x"));
        check_text(&written, "{\"rows\":[[" RUN_TIME ",0,\"r\"],[11,0,0]]}");
        written_end(&written);
        (void) json_object_put(group);
}
END_TEST

/* Writes a group with one reason; @is_known: as a number, else as text; @is_kept: not in a list. */
static void check_told(NameSet *reasons, unsigned i, bool is_known, bool is_kept) {
        char json[96], expected[64];
        json_object *group;
        Written written;

        (void) snprintf(json, sizeof(json),
                        "{\"metrics\":{\"run_time_ns\":{\"value\":null,\"reason\":\"%u more\"}}}",
                        i);
        (void) snprintf(expected, sizeof(expected),
                        is_known  ? "{\"rows\":[[" RUN_TIME ",0,%u]]}"
                        : is_kept ? "{\"rows\":[[" RUN_TIME ",0,\"%u more\"]]}"
                                  : "{\"rows\":[[" RUN_TIME ",0,[\"%u more\"]]]}",
                        i);
        group = decode(json);
        written_begin(&written);
        html_data_write_group(&written.out, reasons, cell_member(group, "x"));
        check_text(&written, expected);
        written_end(&written);
        (void) json_object_put(group);
}

START_TEST(reasons_are_numbered_as_they_come) {
        NameSet reasons = {};

        for (unsigned i = 0; i < HTML_REASONS_MAX; i++)
                check_told(&reasons, i, false, true);
        for (unsigned i = 0; i < HTML_REASONS_MAX; i++)
                check_told(&reasons, i, true, true);
        name_set_done(&reasons);
}
END_TEST

START_TEST(a_reason_without_a_number_is_marked) {
        NameSet reasons = {};

        for (unsigned i = 0; i < HTML_REASONS_MAX; i++)
                check_told(&reasons, i, false, true);
        check_told(&reasons, HTML_REASONS_MAX, false, false);
        check_told(&reasons, HTML_REASONS_MAX, false, false);
        check_told(&reasons, 7, true, true);
        name_set_done(&reasons);
}
END_TEST

START_TEST(metrics_stand_at_their_numbers) {
        json_object *list;
        Written written;

        written_begin(&written);
        html_data_write_metrics(&written.out);
        ck_assert_int_eq(json_out_finish(&written.out), 0);
        list = json_tokener_parse(written.text);
        ck_assert_uint_eq(cell_length(list), (size_t) _METRIC_MAX + _DERIVED_MAX);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                json_object *metric = json_object_array_get_idx(list, id);

                ck_assert(span_is(cell_string(cell_member(metric, "name")), metric_table[id].name));
                ck_assert_int_eq(cell_member(metric, "sum") != NULL,
                                 metric_table[id].shape == METRIC_SHAPE_SUM);
                ck_assert_int_eq(cell_member(metric, "counter") != NULL,
                                 metric_is_cumulative((MetricId) id) && id != METRIC_thread_count);
                ck_assert_ptr_null(cell_member(metric, "derived"));
        }
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                json_object *derived = json_object_array_get_idx(list, _METRIC_MAX + id);

                ck_assert(
                        span_is(cell_string(cell_member(derived, "name")), derived_table[id].name));
                ck_assert_ptr_nonnull(cell_member(derived, "derived"));
        }
        ck_assert_str_eq(json_object_get_string(cell_member(
                                 json_object_array_get_idx(list, METRIC_run_time_ns), "name")),
                         "run_time_ns");
        (void) json_object_put(list);
        written_end(&written);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("html-data");
        TCase *data = tcase_create("data");

        tcase_add_loop_test(data, integers_stay_exact_in_a_browser, 0, ELEMENTSOF(values));
        tcase_add_loop_test(data, rows_are_short, 0, ELEMENTSOF(groups));
        tcase_add_test(data, a_reason_is_told_once);
        tcase_add_test(data, reasons_are_numbered_as_they_come);
        tcase_add_test(data, a_reason_without_a_number_is_marked);
        tcase_add_test(data, metrics_stand_at_their_numbers);
        suite_add_tcase(suite, data);
        return check_main(suite);
}
