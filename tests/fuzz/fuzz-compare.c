/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Compares two snapshots made from the input under a view made from it. Totals of groups are totals
 * of threads, or of threads in a window; a delta is the difference of its two values; swapping the
 * sides negates every delta. The order of threads does not matter, a limit only cuts off, hidden
 * rows are counted. Quantiles ascend and lie within the values of the threads.
 *
 * Aims at: daemon/analysis/compare/comparison.c, daemon/analysis/group/group.c,
 *          daemon/analysis/compare/group-json.c, daemon/analysis/group/column.c,
 *          daemon/analysis/group/aggregate.c,
 *          daemon/analysis/group/value.c, daemon/analysis/compare/row.c,
 *          daemon/analysis/group/spread.c, daemon/analysis/pairing/pairing.c,
 *          daemon/analysis/compare/order.c, daemon/analysis/compare/column-table.c,
 *          daemon/analysis/key/thread-key.c, daemon/analysis/key/thread-group.c,
 *          daemon/analysis/group/member-list.c
 */

#include "base/number.h"
#include "compared-case.h"
#include "fuzz.h"
#include "made-threads.h"
#include "made-view.h"

/* totals */

static uint64_t sum_of_groups(const Answer *answer, ComparisonList list, unsigned id,
                              const char *key) {
        uint64_t sum = 0;

        for (size_t i = 0; i < n_groups(answer, list); i++)
                sum = number_add_saturating(sum,
                                            number_of(row_of(group_at(answer, list, i), id), key));
        return sum;
}

static bool is_left_out(const Case *one, const ThreadSample *sample) {
        return sample && sample->self && !one->view.self;
}

static uint64_t value_of(const ThreadSample *sample, unsigned id) {
        return thread_sample_has(sample, (MetricId) id) ? thread_sample_get(sample, (MetricId) id)
                                                        : 0;
}

static uint64_t sum_of_threads(const Case *one, unsigned side, unsigned id) {
        uint64_t sum = 0;

        for (size_t i = 0; i < one->sides[side].n; i++)
                if (!is_left_out(one, &one->sides[side].samples[i]))
                        sum = number_add_saturating(sum,
                                                    value_of(&one->sides[side].samples[i], id));
        return sum;
}

/* Older than the earlier snapshot, which lacks it: it lived on. A start is rounded down. */
static bool was_overlooked(const Case *one, const ThreadSample *after) {
        const JudgeTime *before = &one->setup.times[0];

        return number_multiply_saturating(number_add_saturating(after->start_ticks, 1),
                                          before->tick_ns) <= before->start_ns;
}

/*
 * All of the threads that were born, the common sums of survivors, nothing of those that are gone
 * or were overlooked before.
 */
static void sum_of_lives(const Case *one, unsigned id, uint64_t *ret_before, uint64_t *ret_after) {
        *ret_before = *ret_after = 0;
        for (size_t i = 0; i < one->sides[1].n; i++) {
                const ThreadSample *after = &one->sides[1].samples[i];
                const ThreadSample *before = made_find(&one->sides[0], after);

                if (is_left_out(one, before) || is_left_out(one, after) ||
                    (!before && was_overlooked(one, after)) ||
                    !thread_sample_has(after, (MetricId) id) ||
                    (before && !thread_sample_has(before, (MetricId) id)))
                        continue;
                *ret_after = number_add_saturating(*ret_after, value_of(after, id));
                if (before)
                        *ret_before = number_add_saturating(*ret_before, value_of(before, id));
        }
}

static bool is_summed(const Case *one, unsigned id) {
        return metric_table[id].shape == METRIC_SHAPE_SUM &&
               view_wants_metric(&one->view, (MetricId) id);
}

/*
 * Of lives, levels cover all threads of a side, and a first delay can have a past that is known to
 * be 0: other tests tell about these.
 */
static bool is_simple_work(unsigned id) {
        SourceId source = metric_table[id].explained_by;

        return metric_is_cumulative((MetricId) id) && id != METRIC_thread_count &&
               source != SOURCE_TASKSTATS_DELAY && source != SOURCE_TASKSTATS_IRQ;
}

static void check_sums(const Case *one, const Answer *answer) {
        const char *key = one->setup.n_sides == 1 ? "value" : "before";

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                uint64_t before, after, wanted_before, wanted_after;

                if (!is_summed(one, id) || (has_lives(one) && !is_simple_work(id)))
                        continue;
                before = sum_of_groups(answer, COMPARISON_GROUPS, id, key);
                after = sum_of_groups(answer, COMPARISON_GROUPS, id, "after");
                wanted_before = sum_of_threads(one, 0, id);
                wanted_after = sum_of_threads(one, 1, id);
                if (has_lives(one))
                        sum_of_lives(one, id, &wanted_before, &wanted_after);
                else {
                        before = number_add_saturating(
                                before, sum_of_groups(answer, COMPARISON_ONLY_BEFORE, id, "value"));
                        after = number_add_saturating(
                                after, sum_of_groups(answer, COMPARISON_ONLY_AFTER, id, "value"));
                }
                fuzz_expect(before == wanted_before, "%s: the groups' total is the threads'",
                            metric_table[id].name);
                fuzz_expect(one->setup.n_sides == 1 || after == wanted_after,
                            "%s: the groups' total is the threads', after", metric_table[id].name);
        }
}

static void check_lives(const Case *one, const Answer *answer) {
        LifeCounts all = answer->comparison->table.columns.of[0].lives, sum = {}, wanted = {};

        for (size_t i = 0; i < n_groups(answer, COMPARISON_GROUPS); i++) {
                json_object *group = group_at(answer, COMPARISON_GROUPS, i);
                json_object *lives = member(group, "lives");
                uint64_t survived = number_of(lives, "survived");

                fuzz_expect(number_of(group, "threadsBefore") ==
                                            survived + number_of(lives, "ended") &&
                                    number_of(group, "threadsAfter") ==
                                            survived + number_of(lives, "born"),
                            "threads are those that lived on and the rest");
                sum.survived += survived;
                sum.born += number_of(lives, "born");
                sum.vanished += number_of(lives, "ended");
        }
        for (size_t i = 0; i < n_groups(answer, COMPARISON_ONLY_BEFORE); i++)
                sum.vanished += number_of(
                        member(group_at(answer, COMPARISON_ONLY_BEFORE, i), "lives"), "ended");
        fuzz_expect(n_groups(answer, COMPARISON_ONLY_AFTER) == 0, "what was born began at 0");
        for (size_t i = 0; i < one->sides[0].n; i++) {
                const ThreadSample *before = &one->sides[0].samples[i];
                const ThreadSample *after = made_find(&one->sides[1], before);

                if (is_left_out(one, before) || is_left_out(one, after))
                        continue;
                wanted.survived += after != NULL;
                wanted.vanished += !after;
        }
        for (size_t i = 0; i < one->sides[1].n; i++) {
                const ThreadSample *after = &one->sides[1].samples[i];

                if (is_left_out(one, after) || made_find(&one->sides[0], after))
                        continue;
                wanted.survived += was_overlooked(one, after);
                wanted.born += !was_overlooked(one, after);
        }
        fuzz_expect(all.survived == wanted.survived && all.born == wanted.born &&
                            all.vanished == wanted.vanished,
                    "every life is counted once");
        fuzz_expect(sum.survived == all.survived && sum.born == all.born &&
                            sum.vanished == all.vanished,
                    "the groups have all lives");
}

/* rows */

static void check_spread(json_object *spread) {
        uint64_t top = number_of(member(spread, "top"), "value");
        uint64_t p50 = number_of(spread, "p50"), p99 = number_of(spread, "p99");

        fuzz_expect(p50 <= p99 && p99 <= top, "quantiles ascend to the top");
}

static void check_delta(json_object *row, const char *name) {
        uint64_t before = number_of(row, "before"), after = number_of(row, "after"), delta = 0;
        bool negative = false;

        if (!member(row, "before") || !member(row, "after")) {
                fuzz_expect(!member(row, "delta"), "%s: there is no delta with nothing", name);
                fuzz_expect(member(row, "reason"), "%s: an absent value has a reason", name);
                return;
        }
        fuzz_expect(message_get_integer(member(row, "delta"), &negative, &delta),
                    "%s: the delta of a sum is an integer", name);
        fuzz_expect(delta == (after > before ? after - before : before - after) &&
                            negative == (after < before),
                    "%s: the delta lies between its values", name);
        fuzz_expect(json_object_get_boolean(member(row, "changed")) == (before != after),
                    "%s: it changed when its values differ", name);
}

static void check_row(json_object *row, const char *name, bool is_pair) {
        MetricId id = metric_find(span_of(name));

        fuzz_expect(id < _METRIC_MAX, "%s is a metric", name);
        if (metric_table[id].shape != METRIC_SHAPE_SUM)
                return;
        if (member(row, "spread"))
                check_spread(member(row, "spread"));
        if (member(row, "spreadBefore"))
                check_spread(member(row, "spreadBefore"));
        if (is_pair)
                check_delta(row, name);
}

static void check_rows(const Answer *answer, ComparisonList list, bool are_pairs) {
        for (size_t i = 0; i < n_groups(answer, list); i++) {
                json_object *rows = member(group_at(answer, list, i), "metrics");

                json_object_object_foreach(rows, name, row) {
                        check_row(row, name, are_pairs);
                }
        }
}

/* two answers */

static void check_order(const Case *one, const Answer *answer) {
        Case reversed = *one;
        _cleanup_(answer_done) Answer other = {};

        for (unsigned side = 0; side < 2; side++)
                reversed.sides[side] = made_reversed(&one->sides[side]);
        other = answer_of(&reversed);
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                fuzz_expect(span_equal(buffer_span(&answer->texts[list]),
                                       buffer_span(&other.texts[list])),
                            "the order of threads is nothing");
        fuzz_expect(span_equal(buffer_span(&answer->pairings), buffer_span(&other.pairings)),
                    "nor is it for pairings");
}

/* A thread may have different names on the two sides of one boot; its later names count. */
static bool is_same_group(json_object *a, json_object *b, bool by_life) {
        static const char *const keys[] = { "pid",     "tid",    "startTicks", "key",
                                            "members", "cgroup", "process",    "thread" };

        for (size_t i = 0; i < (by_life ? 3 : ELEMENTSOF(keys)); i++)
                if (!json_object_equal(member(a, keys[i]), member(b, keys[i])))
                        return false;
        return true;
}

static json_object *find_group(const Answer *answer, json_object *like, bool by_life) {
        for (size_t i = 0; i < n_groups(answer, COMPARISON_GROUPS); i++) {
                json_object *group = group_at(answer, COMPARISON_GROUPS, i);

                if (is_same_group(group, like, by_life))
                        return group;
        }
        return NULL;
}

static void check_negated(json_object *rows, json_object *swapped_rows) {
        fuzz_expect(json_object_object_length(rows) == json_object_object_length(swapped_rows),
                    "a group has the same rows");
        json_object_object_foreach(rows, name, row) {
                json_object *swapped = member(swapped_rows, name);
                double delta = json_object_get_double(member(row, "delta"));
                double negated = json_object_get_double(member(swapped, "delta"));

                fuzz_expect(!(delta + negated < 0 || delta + negated > 0),
                            "%s: swapping negates: %g, %g", name, delta, negated);
                fuzz_expect(
                        json_object_equal(member(row, "before"), member(swapped, "after")) &&
                                json_object_equal(member(row, "after"), member(swapped, "before")),
                        "%s: swapping swaps the values", name);
                fuzz_expect(json_object_get_boolean(member(row, "changed")) ==
                                    json_object_get_boolean(member(swapped, "changed")),
                            "%s: what changed, changed", name);
        }
}

static void check_swapped(const Case *one, const Answer *answer) {
        bool by_life = one->view.axis == VIEW_AXIS_THREAD && one->setup.boots == BOOTS_SAME;
        Case swapped = *one;
        _cleanup_(answer_done) Answer other = {};

        swapped.sides[0] = one->sides[1];
        swapped.sides[1] = one->sides[0];
        other = answer_of(&swapped);
        fuzz_expect(n_groups(answer, COMPARISON_GROUPS) == n_groups(&other, COMPARISON_GROUPS) &&
                            n_groups(answer, COMPARISON_ONLY_BEFORE) ==
                                    n_groups(&other, COMPARISON_ONLY_AFTER) &&
                            n_groups(answer, COMPARISON_ONLY_AFTER) ==
                                    n_groups(&other, COMPARISON_ONLY_BEFORE),
                    "swapping swaps the lists");
        for (size_t i = 0; i < n_groups(answer, COMPARISON_GROUPS); i++) {
                json_object *group = group_at(answer, COMPARISON_GROUPS, i);
                json_object *found = find_group(&other, group, by_life);

                fuzz_expect(found, "a group is there both ways: %s",
                            json_object_to_json_string(member(group, "key")));
                check_negated(member(group, "metrics"), member(found, "metrics"));
                check_negated(member(group, "derived"), member(found, "derived"));
        }
}

/* @all: without limit and with nothing hidden; @answer: as the view wants it. */
static void check_hidden(const Case *one, const Answer *answer, const Answer *all) {
        Case unlimited = *one;
        _cleanup_(answer_done) Answer whole = {};
        uint64_t n_rows = 0;

        unlimited.view.limit = 0;
        whole = answer_of(&unlimited);
        for (unsigned i = 0; i < _COMPARISON_LIST_MAX; i++) {
                ComparisonList list = (ComparisonList) i;
                size_t n = n_groups(&whole, list), limit = one->view.limit;

                fuzz_expect(n_groups(answer, list) == (limit > 0 ? MIN_OF(limit, n) : n),
                            "a limit is kept");
                fuzz_expect(n_groups(answer, list) + answer->comparison->lists[list].n_hidden == n,
                            "what is cut off is counted");
                for (size_t k = 0; k < n_groups(answer, list); k++)
                        fuzz_expect(json_object_equal(group_at(answer, list, k),
                                                      group_at(&whole, list, k)),
                                    "a limit only cuts");
        }
        if (one->view.n_filter > 0 || (!one->view.changed_only && !one->view.has_threshold))
                return;
        for (size_t i = 0; i < n_groups(&whole, COMPARISON_GROUPS); i++) {
                json_object *group = group_at(&whole, COMPARISON_GROUPS, i);

                n_rows += (uint64_t) json_object_object_length(member(group, "metrics")) +
                          (uint64_t) json_object_object_length(member(group, "derived"));
        }
        n_rows += whole.comparison->n_hidden_rows;
        for (size_t i = 0; i < n_groups(all, COMPARISON_GROUPS); i++) {
                json_object *group = group_at(all, COMPARISON_GROUPS, i);

                n_rows -= (uint64_t) json_object_object_length(member(group, "metrics")) +
                          (uint64_t) json_object_object_length(member(group, "derived"));
        }
        fuzz_expect(n_rows == 0, "every row is shown or counted as hidden");
}

/* Deltas keep their groups when the sides are swapped, unless cgroups have their old names. */
static bool can_swap(const Case *one) {
        bool pairs = (one->view.pairing || one->view.pairs.n > 0) &&
                     (one->view.axis == VIEW_AXIS_CGROUP || one->view.axis == VIEW_AXIS_ALL);

        return one->setup.n_sides == 2 && !one->view.window && !pairs;
}

/* Checks that need another run of the engine; an input has one of them or all. */
typedef enum Relation { RELATION_ORDER, RELATION_LIMIT, RELATION_SWAP, RELATION_ALL } Relation;

static bool wants(Relation wanted, Relation relation) {
        return wanted == relation || wanted == RELATION_ALL;
}

/* The parts of time add up to the time alive where nothing is missing. */
static void check_account(json_object *account) {
        static const char *const parts[] = { "runningNs", "waitingNs", "storageNs", "blockedNs",
                                             "asleepNs" };
        json_object *alive = member(account, "aliveNs");
        uint64_t sum = 0, wanted;

        if (!alive || !member(account, "asleepNs"))
                return;
        wanted = json_object_get_uint64(alive);
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                sum = number_add_saturating(sum, json_object_get_uint64(member(account, parts[i])));
        fuzz_expect(sum == wanted, "parts of time do not overlap: %s",
                    json_object_to_json_string(account));
}

/* Each group has a row in the overview of the same weight; @answer is without limit. */
static void check_overview(const Answer *answer) {
        size_t n_rows = n_groups(answer, COMPARISON_OVERVIEW), n = 0;

        for (unsigned list = 0; list < COMPARISON_OVERVIEW; list++)
                n += n_groups(answer, (ComparisonList) list);
        fuzz_expect(n_rows == n, "the overview has every group");
        for (size_t i = 0; i < n_rows; i++) {
                json_object *row = group_at(answer, COMPARISON_OVERVIEW, i), *found = NULL;
                json_object *accounts = member(row, "accounts");

                for (unsigned list = 0; list < COMPARISON_OVERVIEW; list++)
                        for (size_t k = 0; k < n_groups(answer, (ComparisonList) list); k++) {
                                json_object *group = group_at(answer, (ComparisonList) list, k);

                                if (is_same_group(group, row, false))
                                        found = group;
                        }
                fuzz_expect(
                        found && json_object_equal(member(found, "weight"), member(row, "weight")),
                        "a row of the overview is one of the groups");
                for (size_t k = 0; k < json_object_array_length(accounts); k++)
                        check_account(json_object_array_get_idx(accounts, k));
        }
}

static void check(const Case *one, Relation wanted) {
        _cleanup_(answer_done) Answer answer = answer_of(one);
        _cleanup_(answer_done) Answer all = {};
        Case bare = *one;

        bare.view.limit = 0;
        bare.view.changed_only = bare.view.has_threshold = false;
        bare.view.n_filter = 0;
        all = answer_of(&bare);
        check_sums(&bare, &all);
        check_rows(&all, COMPARISON_GROUPS, one->setup.n_sides == 2);
        check_rows(&all, COMPARISON_ONLY_BEFORE, false);
        check_rows(&all, COMPARISON_ONLY_AFTER, false);
        check_overview(&all);
        if (wants(wanted, RELATION_ORDER))
                check_order(one, &answer);
        if (wants(wanted, RELATION_LIMIT))
                check_hidden(one, &answer, &all);
        if (has_lives(one))
                check_lives(&bare, &all);
        if (wants(wanted, RELATION_SWAP) && can_swap(one))
                check_swapped(&bare, &all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        uint8_t n_before, n_after, setup;
        Case one = {};

        if (size < 8)
                return 0;
        made_view(&input, &one.view);
        one.view.overview = true;
        setup = fuzz_take_u8(&input);
        one.setup = (SideSetup){
                .n_sides = setup & 1 ? 1 : 2,
                .boots = (Boots) ((setup >> 1) % 3),
                .elapsed_ns = setup & 0x80 ? 0 : NSEC_PER_SEC,
                .times = { { true, 2 * NSEC_PER_SEC, 3 * NSEC_PER_SEC, NSEC_PER_SEC / 100 },
                           { true, 3 * NSEC_PER_SEC, 4 * NSEC_PER_SEC, NSEC_PER_SEC / 100 } },
        };
        n_before = fuzz_take_u8(&input);
        n_after = fuzz_take_u8(&input);
        made_threads(&input, n_before % (MADE_MAX_THREADS + 1), &one.sides[0]);
        if (one.setup.n_sides == 2)
                made_threads(&input, n_after % (MADE_MAX_THREADS + 1), &one.sides[1]);
        check(&one, (Relation) (setup >> 3 & 3));
        return 0;
}
