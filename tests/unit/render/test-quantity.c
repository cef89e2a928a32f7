/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/quantity.h"

#include <assert.h>
#include <check.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/macro.h"
#include "base/number.h"
#include "check-main.h"
#include "render/cell.h"

static Quantity quantity_of_signed(bool negative, uint64_t magnitude) {
        return (Quantity){ .negative = negative && magnitude > 0, .whole = magnitude };
}

#define MAX_VECTORS 400

typedef struct Vector {
        char kind[64];
        char raw[128];
        char text[64];
} Vector;

static Vector vectors[MAX_VECTORS];
static unsigned n_vectors;

static void load_vectors(void) {
        FILE *file = fopen(TESTS_DIR "/data/vectors-scale.tsv", "re");
        char line[512];
        int n_fields;

        assert(file);
        while (fgets(line, sizeof(line), file)) {
                Vector *vector = &vectors[n_vectors];

                if (line[0] == '#')
                        continue;
                assert(n_vectors < MAX_VECTORS);
                n_fields = sscanf(line, "%63[^\t]\t%127[^\t]\t%63[^\n]", vector->kind, vector->raw,
                                  vector->text);
                assert(n_fields == 3);
                n_vectors++;
        }
        (void) fclose(file);
        assert(n_vectors > 170);
}

static const struct {
        const char *name;
        QuantityLadder ladder;
} ladders[] = {
        { "none", QUANTITY_LADDER_NONE },   { "count", QUANTITY_LADDER_COUNT },
        { "ns", QUANTITY_LADDER_NS },       { "us", QUANTITY_LADDER_US },
        { "bytes", QUANTITY_LADDER_BYTES }, { "ticks", QUANTITY_LADDER_TICKS },
        { "ratio", QUANTITY_LADDER_RATIO },
};

static const struct {
        const char *name;
        QuantityForm form;
} forms[] = {
        { "value", QUANTITY_FORM_VALUE },
        { "delta", QUANTITY_FORM_DELTA },
        { "derived-value", QUANTITY_FORM_DERIVED_VALUE },
        { "derived-delta", QUANTITY_FORM_DERIVED_DELTA },
};

static Quantity parse_quantity(const char *text) {
        bool negative = text[0] == '-';
        uint64_t magnitude;

        if (number_parse_u64(span_of(text + negative), &magnitude))
                return quantity_of_signed(negative, magnitude);
        return quantity_of_double(strtod(text, NULL));
}

static void render_number(const Vector *vector, char *ret_text) {
        const char *slash = strchr(vector->kind, '/');
        Span unit = { vector->kind, (size_t) (slash - vector->kind) };

        for (size_t i = 0; i < ELEMENTSOF(ladders); i++)
                for (size_t j = 0; j < ELEMENTSOF(forms); j++)
                        if (span_is(unit, ladders[i].name) &&
                            strcmp(slash + 1, forms[j].name) == 0) {
                                (void) quantity_format(parse_quantity(vector->raw),
                                                       ladders[i].ladder, forms[j].form, ret_text);
                                return;
                        }
        ck_abort_msg("no such kind: %s", vector->kind);
}

static void render_percent(const Vector *vector, char *ret_text) {
        long long before_negative, after_negative;
        unsigned long long before, after;
        Quantity delta;

        /* Signs are taken apart, so that the magnitudes may need all 64 bits. */
        before_negative = vector->raw[0] == '-';
        after_negative = strstr(vector->raw, "> -") != NULL;
        ck_assert_int_eq(sscanf(vector->raw + before_negative, "%llu", &before), 1);
        ck_assert_int_eq(sscanf(strstr(vector->raw, "->") + 3 + after_negative, "%llu", &after), 1);
        ck_assert_int_eq(before_negative, after_negative);
        if (before == 0) {
                (void) strcpy(ret_text, "-");
                return;
        }
        delta = quantity_of_signed((after < before) != (before_negative != 0),
                                   after < before ? before - after : after - before);
        (void) quantity_format_percent_of(delta, quantity_of_signed(before_negative != 0, before),
                                          ret_text);
}

/* What the engine hands over for the sets and words a row of the vectors spells out. */
static const struct {
        const char *raw, *value;
} texts[] = {
        { "all {0,1,2,3}", "{\"minCpus\":4,\"maxCpus\":4,\"uniform\":true,\"cpus\":\"0-3\"}" },
        { "all {0,1,4,5,7}",
          "{\"minCpus\":5,\"maxCpus\":5,\"uniform\":true,\"cpus\":\"0-1,4-5,7\"}" },
        { "all {3}", "{\"minCpus\":1,\"maxCpus\":1,\"uniform\":true,\"cpus\":\"3\"}" },
        { "{0,1} and {0..5}", "{\"minCpus\":2,\"maxCpus\":6,\"uniform\":false}" },
        { "{0,1} and {2,3}", "{\"minCpus\":2,\"maxCpus\":2,\"uniform\":false}" },
        { "R x1, S x1", "{\"mode\":\"R\",\"count\":1,\"total\":2}" },
        { "SCHED_OTHER x2, SCHED_FIFO x1", "{\"mode\":\"SCHED_OTHER\",\"count\":2,\"total\":3}" },
        { "SCHED_OTHER x3", "{\"mode\":\"SCHED_OTHER\",\"count\":3,\"total\":3}" },
        { "true x1, false x1", "{\"mode\":\"false\",\"count\":1,\"total\":2}" },
        { "0 and 0", "{\"min\":0,\"max\":0}" },
        { "0 and 15", "{\"min\":0,\"max\":15}" },
};

static void render_text(const Vector *vector, char *ret_text) {
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_(buffer_done) Buffer cell = {};
                const CellStyle style = { .unit = METRIC_UNIT_NONE };
                const char *text;
                json_object *value;

                if (strcmp(vector->raw, texts[i].raw) != 0)
                        continue;
                value = json_tokener_parse(texts[i].value);
                ck_assert_int_eq(cell_append_value(&cell, value, &style), 0);
                json_object_put(value);
                ck_assert_int_eq(buffer_terminate(&cell, &text), 0);
                (void) snprintf(ret_text, QUANTITY_CHARS, "%s", text);
                return;
        }
        ck_abort_msg("no such row: %s", vector->raw);
}

START_TEST(every_vector_is_rendered_as_written) {
        const Vector *vector = &vectors[_i];
        char text[QUANTITY_CHARS];

        if (strcmp(vector->kind, "percent") == 0)
                render_percent(vector, text);
        else if (strstr(vector->kind, " text"))
                render_text(vector, text);
        else
                render_number(vector, text);
        ck_assert_msg(strcmp(text, vector->text) == 0, "%s of %s: \"%s\", not \"%s\"", vector->kind,
                      vector->raw, text, vector->text);
}
END_TEST

static const struct {
        const char *delta, *before, *text;
} percent_rows[] = {
        { "1", "2000", "+0.0%" },       /* 0.05: a tie, to even */
        { "3", "2000", "+0.2%" },       /* 0.15: a tie, to even */
        { "2001", "4000000", "+0.1%" }, /* just above the tie */
        { "-1", "2000", "+0.0%" },
        { "18446744073709551615", "1", "+1844674407370955161500.0%" },
        { "18446744073709551615", "18446744073709551615", "+100.0%" },
        { "18446744073709551614", "18446744073709551615", "+100.0%" },
        { "9223372036854775807", "18446744073709551615", "+50.0%" },
        { "-5", "-10", "-50.0%" },
        { "999", "1000", "+99.9%" },
};

START_TEST(percents_are_exact_to_the_last_bit) {
        char text[QUANTITY_CHARS];

        (void) quantity_format_percent_of(parse_quantity(percent_rows[_i].delta),
                                          parse_quantity(percent_rows[_i].before), text);
        ck_assert_str_eq(text, percent_rows[_i].text);
}
END_TEST

static const struct {
        double value;
        const char *text;
} double_rows[] = {
        { 233.33333333333334, "+233.3%" },
        { 0.25, "+0.2%" },
        { -0.04, "+0.0%" },
        { -0.06, "-0.1%" },
        { 0.35, "+0.3%" },                      /* below the tie in binary */
        { 0x1p70, "+18446744073709551615.0%" }, /* clips */
};

START_TEST(doubles_round_by_their_exact_value) {
        char text[QUANTITY_CHARS];

        (void) quantity_format_percent(quantity_of_double(double_rows[_i].value), text);
        ck_assert_str_eq(text, double_rows[_i].text);
}
END_TEST

START_TEST(a_remainder_below_the_fraction_breaks_a_tie) {
        char text[QUANTITY_CHARS];

        /* 0.5 plus something far smaller than the last bit of the fraction. */
        (void) quantity_format(quantity_of_double(0x1p-12 * 0x1p-60), QUANTITY_LADDER_RATIO,
                               QUANTITY_FORM_DERIVED_VALUE, text);
        ck_assert_str_eq(text, "0.000");
        ck_assert_uint_eq(quantity_of_double(0x1p-60).fraction, 1);
        ck_assert_uint_eq(quantity_of_double(0x1p-53).fraction, 1);
        ck_assert(!quantity_is_zero(quantity_of_double(0x1p-1000)));
}
END_TEST

START_TEST(magnitudes_compare_past_the_point) {
        ck_assert_int_lt(
                quantity_compare_magnitude(quantity_of_signed(false, 1), quantity_of_double(1.5)),
                0);
        ck_assert_int_gt(quantity_compare_magnitude(quantity_of_signed(true, 2),
                                                    quantity_of_signed(false, 1)),
                         0);
        ck_assert_int_eq(quantity_compare_magnitude(quantity_of_signed(true, 2),
                                                    quantity_of_signed(false, 2)),
                         0);
        ck_assert(quantity_is_zero(quantity_of_double(-0.0)));
        ck_assert(quantity_is_zero(quantity_of_double(0.0 / 0.0)));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("quantity");
        TCase *vector = tcase_create("vector");
        TCase *exact = tcase_create("exact");

        load_vectors();
        tcase_add_loop_test(vector, every_vector_is_rendered_as_written, 0, (int) n_vectors);
        tcase_add_loop_test(exact, percents_are_exact_to_the_last_bit, 0, ELEMENTSOF(percent_rows));
        tcase_add_loop_test(exact, doubles_round_by_their_exact_value, 0, ELEMENTSOF(double_rows));
        tcase_add_test(exact, a_remainder_below_the_fraction_breaks_a_tie);
        tcase_add_test(exact, magnitudes_compare_past_the_point);
        suite_add_tcase(suite, vector);
        suite_add_tcase(suite, exact);
        return check_main(suite);
}
