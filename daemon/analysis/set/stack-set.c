/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/stack-set.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "analysis/group/value.h"

/* In the key of a row, before its functions. */
enum { KEY_PROCESS, KEY_PLACE, KEY_FUNCTIONS };

#define LEAST_THREADS 0.01 /* so many were in a stack of the family, in some recording */

static const char *const place_names[_RECORD_PLACE_MAX] = RECORD_PLACE_NAMES;

void stack_set_done(StackSet *set) {
        for (size_t i = 0; i < set->n_rows; i++)
                free(set->rows[i].samples.values);
        free(set->rows);
        free(set->unsampled.values);
        free(set->numbers);
        free(set->tests);
        index_done(&set->by_key);
        name_set_done(&set->names);
        *set = (StackSet){};
}

static Span key_of_row(const void *owner, size_t element) {
        const StackSet *set = owner;
        const StackSetRow *row = &set->rows[element];

        return (Span){ (const char *) (set->numbers + row->key),
                       row->n_key * sizeof(*set->numbers) };
}

static int number_of(StackSet *set, Span name, uint32_t *ret) {
        size_t number;
        int r = name_set_add(&set->names, name, &number);

        if (r == 0)
                *ret = (uint32_t) number;
        return r;
}

/* one recording */

/*
 * The state while the stacks of one recording are added to the set. In the set, a stack is named by
 * a number for each of its frames.
 */
typedef struct Taking {
        StackSet *set;
        const StackView *view;
        const RecordingDocument *recording;
        uint32_t *functions; /* owned; of each frame; UINT32_MAX: it was not met yet */
        Buffer text;         /* of a frame */
} Taking;

static void taking_done(Taking *taking) {
        free(taking->functions);
        buffer_done(&taking->text);
}

static int function_of(Taking *taking, uint32_t frame, uint32_t *ret) {
        uint32_t *number = &taking->functions[frame];
        int r = 0;

        if (*number == UINT32_MAX)
                r = number_of(taking->set,
                              stack_frame_name(taking->recording,
                                               &taking->recording->table.frames[frame],
                                               &taking->text),
                              number);
        *ret = *number;
        return r == 0 ? buffer_failure(&taking->text) : r;
}

/* Puts the key of a row behind all others. */
static int append_key(Taking *taking, const StackRow *row, bool is_overflow) {
        const StackTable *table = &taking->recording->table;
        const char *word = is_overflow ? stack_word(STACK_NONE) : stack_word(row->stack);
        size_t begin = 0, end = 1;
        StackSet *set = taking->set;
        uint32_t *key;
        int r;

        if (!word) {
                begin = row->stack > 0 ? table->stacks[row->stack - 1] : 0;
                end = table->stacks[row->stack];
        }
        r = ARRAY_RESERVE(set->numbers, set->n_numbers_allocated,
                          set->n_numbers + KEY_FUNCTIONS + (end - begin));
        if (r < 0)
                return r;
        key = set->numbers + set->n_numbers;
        r = number_of(set,
                      is_overflow ? SPAN_LITERAL("[others]")
                                  : span_of(stack_view_label(taking->view, row->process)),
                      &key[KEY_PROCESS]);
        key[KEY_PLACE] = row->place;
        if (word && r == 0)
                r = number_of(set, span_of(word), &key[KEY_FUNCTIONS]);
        for (size_t i = begin; !word && i < end && r == 0; i++)
                r = function_of(taking, table->numbers[i], &key[KEY_FUNCTIONS + i - begin]);
        set->n_numbers += KEY_FUNCTIONS + (end - begin);
        return r;
}

static bool is_full(const StackSet *set) {
        return set->n_rows >= STACK_SET_MAX_ROWS || set->n_numbers >= STACK_SET_MAX_NUMBERS ||
               set->names.text.n >= STACK_SET_MAX_NAME_BYTES;
}

static int find_row(Taking *taking, const StackRow *row, StackSetRow **ret) {
        StackSet *set = taking->set;
        size_t at = set->n_numbers, found;
        bool is_overflow = false;
        Span key;
        int r;

        for (;;) {
                r = append_key(taking, row, is_overflow);
                if (r < 0)
                        return r;
                key = (Span){ (const char *) (set->numbers + at),
                              (set->n_numbers - at) * sizeof(*set->numbers) };
                found = index_find(&set->by_key, key, key_of_row, set);
                if (found != INDEX_NONE || is_overflow || !is_full(set))
                        break;
                set->n_numbers = at;
                set->n_overflow++;
                is_overflow = true;
        }
        if (found == INDEX_NONE) {
                r = ARRAY_RESERVE(set->rows, set->n_rows_allocated, set->n_rows + 1);
                if (r == 0)
                        r = index_add(&set->by_key, key, set->n_rows);
                if (r < 0)
                        return r;
                found = set->n_rows++;
                set->rows[found] = (StackSetRow){
                        .key = at,
                        .n_key = (uint32_t) (set->n_numbers - at),
                        .is_word = is_overflow || stack_word(row->stack),
                };
        } else
                set->n_numbers = at;
        *ret = &set->rows[found];
        return 0;
}

int stack_set_take(StackSet *set, unsigned side, const StackView *view,
                   const RecordingDocument *recording, uint64_t places) {
        _cleanup_(taking_done) Taking taking = { .set = set, .view = view, .recording = recording };
        const RecordingFacts *facts = &recording->facts;
        double elapsed_ns = (double) (facts->end_boottime_ns - facts->start_boottime_ns);
        uint64_t bit = UINT64_C(1) << set->n_taken;
        double unsampled_ns = 0;
        int r = 0;

        assert(set->n_taken < set->n_captures && set->n_captures <= SET_MAX_CAPTURES);
        taking.functions = malloc((recording->table.n_frames + 1) * sizeof(*taking.functions));
        if (!taking.functions)
                return -ENOMEM;
        memset(taking.functions, 0xff, recording->table.n_frames * sizeof(*taking.functions));
        set->sides[side] |= bit;
        for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                if (place == RECORD_PLACE_running ? facts->running : facts->waiting)
                        set->sampled[place] |= bit;
        for (size_t i = 0; i < view->n_rows && r == 0; i++) {
                const StackRow *one = &view->rows[i];
                StackSetRow *row;

                if (places != 0 && !(places >> one->place & 1))
                        continue;
                if (one->stack == STACK_UNSAMPLED || one->stack == STACK_OUTSIDE) {
                        unsampled_ns += (double) one->ns;
                        continue;
                }
                r = find_row(&taking, one, &row);
                if (r == 0)
                        row->now_ns += (double) one->ns;
        }
        for (size_t i = 0; i < set->n_rows && r == 0; i++) {
                StackSetRow *row = &set->rows[i];

                if (row->now_ns > 0)
                        r = set_samples_put(&row->samples, set->n_captures, set->n_taken,
                                            row->now_ns / elapsed_ns);
                row->now_ns = 0;
        }
        if (r == 0)
                r = set_samples_put(&set->unsampled, set->n_captures, set->n_taken,
                                    unsampled_ns / elapsed_ns);
        set->n_taken++;
        return r;
}

/* the end */

static unsigned place_of(const StackSet *set, const StackSetRow *row) {
        return set->numbers[row->key + KEY_PLACE];
}

/* The samples of one side, with the zeros. */
static size_t samples_of(const StackSet *set, const StackSetRow *row, unsigned side,
                         double ret_values[static SET_MAX_CAPTURES]) {
        uint64_t without =
                set->sides[side] & set->sampled[place_of(set, row)] & ~row->samples.present;
        size_t n = set_samples_get(&row->samples, set->sides[side], ret_values);

        for (; without != 0; without &= without - 1)
                ret_values[n++] = 0;
        return n;
}

static int test_row(StackSet *set, RankTest *test, StackSetRow *row, size_t *n_short) {
        double values[SIDES][SET_MAX_CAPTURES], least = INFINITY, most = 0;
        size_t n[SIDES];
        bool is_tested;
        int r;

        for (unsigned side = 0; side < SIDES; side++) {
                n[side] = samples_of(set, row, side, values[side]);
                for (size_t i = 0; i < n[side]; i++) {
                        least = fmin(least, values[side][i]);
                        most = fmax(most, values[side][i]);
                }
        }
        if (row->is_word || most < LEAST_THREADS || !(least < most))
                return 0;
        /* No number of recordings helps where none of one side sampled the place. */
        if (n[SIDE_BEFORE] == 0 || n[SIDE_AFTER] == 0)
                return 0;
        r = ARRAY_RESERVE(set->tests, set->n_tests_allocated, set->n_tests + 1);
        if (r == 0)
                r = set_test_run(test, values[0], n[0], values[1], n[1], set->alpha, n_short,
                                 &set->tests[set->n_tests], &is_tested);
        if (r == 0 && is_tested)
                row->test = (uint32_t) ++set->n_tests;
        return r;
}

/* NULL: the row is not in the family. */
static const SetTest *test_of(const StackSet *set, const StackSetRow *row) {
        const SetTest *test = row->test > 0 ? &set->tests[row->test - 1] : NULL;

        return test && !isnan(test->adjusted) ? test : NULL;
}

static bool is_significant(const StackSet *set, const StackSetRow *row) {
        const SetTest *test = test_of(set, row);

        return test && test->adjusted < set->alpha;
}

static int compare_rows(const void *a, const void *b, void *userdata) {
        const StackSetRow *x = a, *y = b;
        const StackSet *set = userdata;
        double changes[] = { fabs(x->change), fabs(y->change) };

        if (is_significant(set, x) != is_significant(set, y))
                return is_significant(set, x) ? -1 : 1;
        if (changes[0] > changes[1] || changes[0] < changes[1])
                return changes[0] > changes[1] ? -1 : 1;
        return (x->key > y->key) - (x->key < y->key);
}

int stack_set_finish(StackSet *set) {
        _cleanup_(rank_test_freep) RankTest *test = NULL;
        double values[SET_MAX_CAPTURES];
        Quartiles sides[SIDES];
        size_t n_short = 0;
        int r = rank_test_new(&test);

        assert(set->n_taken == set->n_captures);
        for (size_t i = 0; i < set->n_rows && r == 0; i++) {
                StackSetRow *row = &set->rows[i];

                for (unsigned side = 0; side < SIDES; side++)
                        sides[side] = quartiles_of(values, samples_of(set, row, side, values));
                if (sides[0].n > 0 && sides[1].n > 0)
                        row->change = sides[1].median - sides[0].median;
                r = test_row(set, test, row, &n_short);
        }
        if (r == 0)
                r = set_family_settle(set->tests, set->n_tests, n_short, set->alpha, &set->family);
        /* The index tells of their old places, and nobody looks into it any more. */
        if (r == 0 && set->n_rows > 1)
                qsort_r(set->rows, set->n_rows, sizeof(*set->rows), compare_rows, set);
        return r;
}

static const char *reason_of_no_test(const StackSetRow *row, const Quartiles sides[static SIDES]) {
        if (row->is_word)
                return "not tested: it stands for many stacks";
        if (row->test > 0)
                return "not adjusted: with so few or so equal samples it could not be significant "
                       "even alone";
        if (sides[0].n < 2 || sides[1].n < 2)
                return "not tested: needs two recordings per side that took samples there";
        return "not tested: in no recording a hundredth of a thread was in it, or in all of them "
               "equally much";
}

/*
 * Writes and returns the quartiles of @n samples. The samples are numbers of threads; the quartiles
 * are in nanoseconds per second.
 */
static Quartiles write_side(unsigned side, double *values, size_t n, JsonWriter *writer) {
        static const char *const names[SIDES] = { "before", "after" };
        Quartiles quartiles;

        for (size_t i = 0; i < n; i++)
                values[i] *= (double) NSEC_PER_SEC;
        quartiles = quartiles_of(values, n);
        quartiles_write_json(writer, names[side], &quartiles);
        return quartiles;
}

void stack_set_write_unsampled(const StackSet *set, JsonWriter *writer) {
        double values[SET_MAX_CAPTURES];

        json_write_key(writer, "unsampled");
        json_write_object(writer);
        for (unsigned side = 0; side < SIDES; side++)
                (void) write_side(side, values,
                                  set_samples_get(&set->unsampled, set->sides[side], values),
                                  writer);
        json_write_end(writer);
}

void stack_set_write(const StackSet *set, size_t index, JsonWriter *writer) {
        const StackSetRow *row = &set->rows[index];
        const uint32_t *key = set->numbers + row->key;
        const SetTest *test = test_of(set, row);
        double values[SET_MAX_CAPTURES];
        Quartiles sides[SIDES];

        json_write_object(writer);
        json_write_member_name(writer, "process", name_set_get(&set->names, key[KEY_PROCESS]));
        json_write_member_text(writer, "place", place_names[key[KEY_PLACE]]);
        for (unsigned side = 0; side < SIDES; side++)
                sides[side] = write_side(side, values, samples_of(set, row, side, values), writer);
        double_write_json(writer, "delta", sides[0].n > 0 && sides[1].n > 0,
                          sides[1].median - sides[0].median);
        double_write_json(writer, "u", test, test ? test->u : 0);
        double_write_json(writer, "p", test, test ? test->p : 0);
        double_write_json(writer, "pAdjusted", test, test ? test->adjusted : 0);
        json_write_member_bool(writer, "significant", is_significant(set, row));
        if (!test)
                json_write_member_text(writer, "reason", reason_of_no_test(row, sides));
        json_write_key(writer, "frames");
        json_write_array(writer);
        for (uint32_t i = KEY_FUNCTIONS; i < row->n_key; i++)
                json_write_name(writer, name_set_get(&set->names, key[i]));
        json_write_end(writer);
        json_write_end(writer);
}
