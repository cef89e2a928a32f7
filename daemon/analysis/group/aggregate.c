/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "analysis/group/life.h"

#define NUMBER_SLOT(member, ...) [METRIC_##member] = AGGREGATE_NUMBER_##member,
static const uint8_t number_slots[_METRIC_MAX] = { METRICS(NUMBER_SLOT) };
_Static_assert(_AGGREGATE_NUMBER_MAX <= UINT8_MAX, "slots are eight bits wide");

#define TALLY_SLOT(member, ...) [METRIC_##member] = AGGREGATE_TALLY_##member,
static const uint8_t tally_slots[_METRIC_MAX] = { METRICS(TALLY_SLOT) };

/*
 * The shape of each metric in one byte: the inner loop of the fold reads these, not the registry.
 */
#define SHAPE_OF_RULE(rule, shape, folds) enum { SHAPE_OF_##rule = METRIC_SHAPE_##shape };
METRIC_RULES(SHAPE_OF_RULE)
#define SHAPE_ENTRY(member, type, rule, ...) [METRIC_##member] = SHAPE_OF_##rule,
static const uint8_t shapes[_METRIC_MAX] = { METRICS(SHAPE_ENTRY) };

/* The sums, but for the number of threads, which counts those without the metric, too. */
#define IS_SUM(member, rule) \
        ((int) SHAPE_OF_##rule == METRIC_SHAPE_SUM && (int) METRIC_##member != METRIC_thread_count)
#define SUM_IN_0(member, type, rule, ...) METRIC_BIT(0, IS_SUM(member, rule), member)
#define SUM_IN_1(member, type, rule, ...) METRIC_BIT(1, IS_SUM(member, rule), member)
#define SUM_IN_2(member, type, rule, ...) METRIC_BIT(2, IS_SUM(member, rule), member)
static const uint64_t sums[] = { 0 METRICS(SUM_IN_0), 0 METRICS(SUM_IN_1), 0 METRICS(SUM_IN_2) };
_Static_assert(ELEMENTSOF(sums) == BITS_WORDS(_METRIC_MAX), "a word for each 64 metrics");

/* An aggregate has room for one list of CPUs, so only one metric may have that shape. */
#define IS_AFFINITY(member, type, rule, ...) +((int) SHAPE_OF_##rule == METRIC_SHAPE_AFFINITY)
_Static_assert(METRICS(IS_AFFINITY) == 1, "one metric is a set of CPUs");

Aggregate *aggregate_free(Aggregate *aggregate) {
        if (!aggregate)
                return NULL;
        for (unsigned i = 0; i < _AGGREGATE_TALLY_MAX; i++)
                free(aggregate->tallies[i].more);
        free(aggregate->cpus);
        free(aggregate->doubts);
        free(aggregate);
        return NULL;
}

static int tally_add(Tally *tally, uint64_t word) {
        unsigned n_more; /* used */

        if (tally->n_words > 0 && tally->first.word == word) {
                tally->first.count++;
                return 0;
        }
        if (tally->n_words == 0) {
                tally->first = (TallyEntry){ .word = word, .count = 1 };
                tally->n_words = 1;
                return 0;
        }
        for (unsigned i = 0; i + 1 < tally->n_words; i++)
                if (tally->more[i].word == word) {
                        tally->more[i].count++;
                        return 0;
                }
        if (tally->n_words >= AGGREGATE_MAX_WORDS)
                return 0;
        /* Grows when the number of words is a power of two. */
        n_more = tally->n_words - 1;
        if ((n_more & (n_more - 1)) == 0) {
                TallyEntry *more =
                        realloc(tally->more, (n_more > 0 ? n_more * 2 : 1) * sizeof(*more));

                if (!more)
                        return -ENOMEM;
                tally->more = more;
        }
        tally->more[n_more] = (TallyEntry){ .word = word, .count = 1 };
        tally->n_words++;
        return 0;
}

/* @sample has the metric. */
static int fold_metric(Aggregate *aggregate, MetricId id, const ThreadSample *sample) {
        uint64_t value = *(const uint64_t *) (const void *) ((const char *) sample +
                                                             thread_sample_slots[id]);
        uint64_t *numbers = &aggregate->numbers[number_slots[id]];
        bool first = aggregate->present[id]++ == 0;
        uint64_t flip;

        switch ((MetricShape) shapes[id]) {
        case METRIC_SHAPE_SUM:
                break; /* aggregate_add() has added it */
        case METRIC_SHAPE_MAX:
                numbers[0] = MAX_OF(numbers[0], value);
                break;
        case METRIC_SHAPE_MIN:
                /* 0 means no event: taken only if no thread has more. */
                if (value != 0 && (numbers[0] == 0 || value < numbers[0]))
                        numbers[0] = value;
                break;
        case METRIC_SHAPE_MODE:
                return tally_add(&aggregate->tallies[tally_slots[id]], value);
        case METRIC_SHAPE_RANGE:
        case METRIC_SHAPE_AFFINITY:
                /* Signed and unsigned ordinals compare differently. */
                flip = metric_table[id].rule == METRIC_RULE_RangeI32 ? UINT64_C(1) << 63 : 0;
                if (first || (value ^ flip) < (numbers[0] ^ flip))
                        numbers[0] = value;
                if (first || (value ^ flip) > (numbers[1] ^ flip))
                        numbers[1] = value;
                if (shapes[id] == METRIC_SHAPE_RANGE)
                        break;
                if (first) {
                        aggregate->cpus = strndup(sample->cpus.bytes ? sample->cpus.bytes : "",
                                                  sample->cpus.n);
                        if (!aggregate->cpus)
                                return -ENOMEM;
                } else if (!aggregate->cpus_differ && !span_is(sample->cpus, aggregate->cpus)) {
                        free(TAKE_PTR(aggregate->cpus));
                        aggregate->cpus_differ = true;
                }
                break;
        }
        return 0;
}

int aggregate_add(Aggregate **to, const ThreadSample *sample) {
        Aggregate *aggregate;
        uint64_t doubts = 0;
        int r;

        if (!*to)
                *to = calloc(1, sizeof(**to));
        aggregate = *to;
        if (!aggregate)
                return -ENOMEM;
        for (unsigned word = 0; word < ELEMENTSOF(sample->present); word++)
                doubts |= sample->implausible[word] | sample->corrected[word];
        if (doubts != 0 && !aggregate->doubts) {
                aggregate->doubts = calloc(1, sizeof(*aggregate->doubts));
                if (!aggregate->doubts)
                        return -ENOMEM;
        }
        for (unsigned id = 0; doubts != 0 && id < _METRIC_MAX; id++) {
                aggregate->doubts->implausible[id] += bits_has(sample->implausible, id);
                /* A corrected value may have been dropped since, as one that lacks its partner. */
                aggregate->doubts->corrected[id] +=
                        bits_has(sample->corrected, id) && bits_has(sample->present, id);
        }
        aggregate->n_threads++;
        aggregate->n_started += sample->start_ticks > 0;
        aggregate->start_ticks = number_add_saturating(aggregate->start_ticks, sample->start_ticks);
        aggregate->last_start = MAX_OF(aggregate->last_start, sample->start_ticks);
        aggregate->present[METRIC_thread_count]++;
        aggregate->numbers[number_slots[METRIC_thread_count]]++;

        for (unsigned word = 0; word < ELEMENTSOF(sample->present); word++) {
                uint64_t others = sample->present[word] & ~sums[word];

                for (uint64_t bits = sample->present[word] & sums[word]; bits; bits &= bits - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(bits);
                        const uint64_t *value =
                                (const void *) ((const char *) sample + thread_sample_slots[id]);
                        uint64_t *sum = &aggregate->numbers[number_slots[id]];

                        aggregate->present[id]++;
                        if (__builtin_add_overflow(*sum, *value, sum)) {
                                *sum = UINT64_MAX;
                                bits_set(aggregate->saturated, id);
                        }
                }
                if (word == METRIC_thread_count / 64)
                        others &= ~(UINT64_C(1) << METRIC_thread_count % 64);
                for (; others; others &= others - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(others);

                        r = fold_metric(aggregate, (MetricId) id, sample);
                        if (r != 0)
                                return r;
                }
        }
        return 0;
}

Sum aggregate_read_sum(const Aggregate *aggregate, MetricId id) {
        if (!aggregate)
                return (Sum){ .present = 0 };
        return (Sum){ .present = aggregate->present[id],
                      .saturated = bits_has(aggregate->saturated, id),
                      .value = aggregate->numbers[number_slots[id]] };
}

void sum_add(Sum *sum, Sum more) {
        bool is_over = __builtin_add_overflow(sum->value, more.value, &sum->value);

        if (is_over || sum->saturated)
                sum->value = UINT64_MAX;
        sum->saturated = sum->saturated || more.saturated || is_over;
        if (__builtin_add_overflow(sum->present, more.present, &sum->present))
                sum->present = UINT32_MAX;
}

Value sum_value(Sum sum) {
        if (sum.present == 0)
                return (Value){ .kind = VALUE_ABSENT };
        return (Value){ .kind = VALUE_INTEGER, .integer = (Integer){ .magnitude = sum.value } };
}

void aggregate_add_sum(Aggregate *aggregate, MetricId id, uint64_t value, uint32_t present) {
        Sum sum = aggregate_read_sum(aggregate, id);

        sum_add(&sum, (Sum){ .value = value, .present = present });
        aggregate->present[id] = sum.present;
        aggregate->numbers[number_slots[id]] = sum.value;
        if (sum.saturated)
                bits_set(aggregate->saturated, id);
}

void aggregate_add_peak(Aggregate *aggregate, MetricId id, uint64_t value) {
        uint64_t *number = &aggregate->numbers[number_slots[id]];

        *number = metric_further(id, *number, value);
        aggregate->present[id] += aggregate->present[id] < UINT32_MAX;
}

uint64_t aggregate_n_with_word(const Aggregate *aggregate, MetricId id, uint64_t word) {
        const Tally *tally = &aggregate->tallies[tally_slots[id]];

        for (unsigned i = 0; i < tally->n_words; i++) {
                const TallyEntry *entry = i == 0 ? &tally->first : &tally->more[i - 1];

                if (entry->word == word)
                        return entry->count;
        }
        return 0;
}

Value aggregate_value(const Aggregate *aggregate, MetricId id) {
        const uint64_t *numbers = &aggregate->numbers[number_slots[id]];
        const Tally *tally = &aggregate->tallies[tally_slots[id]];
        bool is_signed = metric_table[id].rule == METRIC_RULE_RangeI32;
        Value value = { .kind = VALUE_ABSENT };
        Integer *const range[] = { &value.range.min, &value.range.max };

        if (aggregate->present[id] == 0)
                return value;
        switch (metric_table[id].shape) {
        case METRIC_SHAPE_SUM:
        case METRIC_SHAPE_MAX:
        case METRIC_SHAPE_MIN:
                value.kind = VALUE_INTEGER;
                value.integer.magnitude = numbers[0];
                return value;
        case METRIC_SHAPE_RANGE:
                value.kind = VALUE_RANGE;
                for (size_t i = 0; i < ELEMENTSOF(range); i++) {
                        range[i]->negative = is_signed && (int64_t) numbers[i] < 0;
                        range[i]->magnitude = range[i]->negative ? -numbers[i] : numbers[i];
                }
                return value;
        case METRIC_SHAPE_AFFINITY:
                value.kind = VALUE_CPUS;
                value.cpus.min = numbers[0];
                value.cpus.max = numbers[1];
                value.cpus.uniform = !aggregate->cpus_differ;
                value.cpus.list = span_of(aggregate->cpus);
                return value;
        case METRIC_SHAPE_MODE:
                break;
        }
        value.kind = VALUE_MODE;
        for (unsigned i = 0; i < tally->n_words; i++) {
                const TallyEntry *entry = i == 0 ? &tally->first : &tally->more[i - 1];
                char text[POLICY_NAME_CHARS];
                size_t n;

                if (entry->count < value.mode.count)
                        continue;
                if (metric_table[id].rule == METRIC_RULE_Mode) {
                        n = policy_format((int64_t) entry->word, text);
                } else if (metric_table[id].rule == METRIC_RULE_ModeChar) {
                        text[0] = (char) entry->word;
                        n = 1;
                } else {
                        n = (size_t) (stpcpy(text, entry->word ? "true" : "false") - text);
                }
                /* Among equally frequent words the bytewise smallest wins. */
                if (entry->count == value.mode.count &&
                    span_compare((Span){ text, n }, (Span){ value.mode.text, value.mode.n_text }) >=
                            0)
                        continue;
                memcpy(value.mode.text, text, n);
                value.mode.n_text = n;
                value.mode.count = entry->count;
        }
        value.mode.total = aggregate->present[id];
        return value;
}
