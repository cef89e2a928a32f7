/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/row.h"

#include <math.h>
#include <stdio.h>

#include "base/macro.h"
#include "base/number.h"

const char *row_name(unsigned index) {
        return index < _METRIC_MAX ? metric_table[index].name
                                   : derived_table[index - _METRIC_MAX].name;
}

MetricUnit row_unit(unsigned index) {
        return index < _METRIC_MAX ? metric_table[index].unit
                                   : derived_table[index - _METRIC_MAX].unit;
}

bool row_has_rate(unsigned index) {
        if (index < _METRIC_MAX)
                return work_has_rate((MetricId) index);
        return derived_is_sum((DerivedId) (index - _METRIC_MAX));
}

bool row_is_wanted(const View *view, unsigned index) {
        return index < _METRIC_MAX ? view_wants_metric(view, (MetricId) index)
                                   : view_wants_derived(view, (DerivedId) (index - _METRIC_MAX));
}

bool row_ranks(unsigned index) {
        return index >= _METRIC_MAX ||
               metric_table[index].section != METRIC_SECTION_TASKSTATS_ACCOUNTING;
}

/* values */

/* The value is VALUE_ABSENT unless the outcome is DERIVED_COMPUTED. */
static DerivedOutcome derive(const Derived *derived, const Sum inputs[static DERIVED_MAX_INPUTS],
                             Value *ret, MetricId *ret_input) {
        const Sum *last = &inputs[derived->n_inputs - 1];
        unsigned n = derived->n_inputs;
        uint64_t sum = 0;
        long double denominator;

        *ret = (Value){ .kind = VALUE_ABSENT };
        for (unsigned i = 0; i < derived->n_inputs; i++)
                if (inputs[i].present == 0) {
                        *ret_input = derived->inputs[i];
                        return DERIVED_INPUT_ABSENT;
                }

        switch (derived->formula) {
        case DERIVED_FORMULA_QUOTIENT:
        case DERIVED_FORMULA_SHARE:
                denominator = (long double) inputs[1].value;
                if (derived->formula == DERIVED_FORMULA_SHARE)
                        denominator += (long double) inputs[0].value;
                if (!(denominator > 0))
                        return DERIVED_DENOMINATOR_ZERO;
                /*
                 * This rounds twice where long double is wider than double, and once where it is
                 * not; both are more exact than the digits that are shown.
                 */
                ret->kind = VALUE_REAL;
                ret->real = (double) ((long double) inputs[0].value / denominator);
                break;
        case DERIVED_FORMULA_DIFFERENCE:
                /* The difference to a sum that stopped growing says nothing. */
                for (unsigned i = 0; i < derived->n_inputs; i++)
                        if (inputs[i].saturated) {
                                *ret_input = derived->inputs[i];
                                return DERIVED_INPUT_SATURATED;
                        }
                ret->kind = VALUE_INTEGER;
                ret->integer = integer_subtract((Integer){ .magnitude = inputs[0].value },
                                                (Integer){ .magnitude = inputs[1].value });
                break;
        case DERIVED_FORMULA_SUM:
        case DERIVED_FORMULA_OFFCPU:
                if (derived->formula == DERIVED_FORMULA_OFFCPU) {
                        /* The waits of the last two overlap. */
                        sum = MAX_OF(last[-1].value, last->value);
                        n -= 2;
                }
                for (unsigned i = 0; i < n; i++)
                        sum = number_add_saturating(sum, inputs[i].value);
                ret->kind = VALUE_INTEGER;
                ret->integer = (Integer){ .magnitude = sum };
                break;
        }
        return DERIVED_COMPUTED;
}

static Sum sum_of(const GroupColumn *of, MetricId id, RowTerm term, bool is_level) {
        if (term == ROW_BEGIN || term == ROW_END)
                return column_total(of, term == ROW_BEGIN ? SIDE_BEFORE : SIDE_AFTER, id);
        return term == ROW_RATE && is_level ? column_level(of, id) : column_sum(of, id);
}

/* False: an input fell, and nothing follows from the work. */
static bool set_derived(RowValue *ret, const GroupColumn *of, const Derived *derived,
                        RowTerm term) {
        bool is_level = derived->formula == DERIVED_FORMULA_DIFFERENCE;
        MetricId fallen =
                term == ROW_RATE && !is_level ? column_fallen_input(of, derived) : _METRIC_MAX;
        Sum inputs[DERIVED_MAX_INPUTS] = {};

        if (fallen != _METRIC_MAX) {
                ret->outcome = DERIVED_INPUT_ABSENT;
                ret->input = fallen;
                return false;
        }
        for (unsigned i = 0; i < derived->n_inputs; i++)
                inputs[i] = sum_of(of, derived->inputs[i], term, is_level);
        ret->outcome = derive(derived, inputs, &ret->value, &ret->input);
        for (unsigned i = 0; ret->outcome == DERIVED_COMPUTED && i < derived->n_inputs; i++)
                ret->limited = ret->limited || inputs[i].saturated;
        return true;
}

RowValue row_value(const GroupColumn *of, unsigned index, RowTerm term, uint64_t elapsed_ns) {
        const Aggregate *threads = of->ends[term == ROW_BEGIN ? SIDE_BEFORE : SIDE_AFTER];
        RowValue ret = { .value.kind = VALUE_ABSENT };
        MetricId id = (MetricId) index;
        bool is_known = true;
        Sum sum;

        if (index >= _METRIC_MAX) {
                if (!set_derived(&ret, of, &derived_table[index - _METRIC_MAX], term))
                        return ret;
        } else if (metric_table[id].shape == METRIC_SHAPE_SUM) {
                sum = sum_of(of, id, term, !work_has_rate(id));
                ret.present = sum.present;
                ret.limited = sum.saturated;
                ret.value = sum_value(sum);
                is_known = !column_fell(of, id);
        } else {
                ret.present = threads->present[id];
                ret.value = aggregate_value(threads, id);
        }
        ret.is_rate = term == ROW_RATE && row_has_rate(index);
        if (!ret.is_rate || ret.value.kind == VALUE_ABSENT)
                return ret;
        ret.value = is_known && elapsed_ns > 0
                            ? (Value){ .kind = VALUE_REAL,
                                       .real = value_number(&ret.value) * (double) NSEC_PER_SEC /
                                               (double) elapsed_ns }
                            : (Value){ .kind = VALUE_ABSENT };
        return ret;
}

void row_init(Row *row, const Group *group, unsigned side, unsigned index, bool in_order) {
        unsigned n_sides = side == BOTH_SIDES ? SIDES : 1;
        bool is_momentary = index < _METRIC_MAX && metric_is_momentary((MetricId) index);
        MetricId id = (MetricId) index;
        bool is_at_limit;

        *row = (Row){ .index = index,
                      .is_derived = index >= _METRIC_MAX,
                      .id = index < _METRIC_MAX ? index : index - _METRIC_MAX,
                      .interval = side == BOTH_SIDES ? group_interval(group) : NULL };
        if (side == BOTH_SIDES && !row->is_derived) {
                row->has_inside = row->interval && (metric_table[id].kind == METRIC_KIND_PEAK ||
                                                    metric_table[id].kind == METRIC_KIND_FLOOR);
                row->inside = row->has_inside && column_moved(row->interval, id);
                row->refuted = group_refutes_growth(group, id);
        }
        for (unsigned i = 0; i < n_sides; i++) {
                unsigned of = side == BOTH_SIDES ? i : side;
                const Columns *columns = group->columns;
                const ColumnSide *at = &columns->sides[of];
                const GroupColumn *column = &group->of[at->column];
                const Aggregate *threads = column->ends[at->end];
                RowTerm term = columns->are_intervals     ? ROW_RATE
                               : !columns->are_ends       ? ROW_WORK
                               : (Side) of == SIDE_BEFORE ? ROW_BEGIN
                                                          : ROW_END;
                RowValue value =
                        row_value(column, index, term, columns->of[at->column].setup.elapsed_ns);

                row->values[i] = value.value;
                row->present = value.present;
                row->limited[i] = value.limited;
                row->outcomes[i] = value.outcome;
                row->inputs[i] = value.input;
                row->doubts[i] = threads->doubts;
                if (at->end == SIDE_AFTER) /* the ended are of the later end */
                        row->exited[i] = column->exited;
                row->has_no_thread[i] = threads->n_threads == 0;
                if (columns->are_intervals)
                        row->works[i] = column;
                row->is_rate = row->is_rate || value.is_rate;
                /* That of threads whose peak or minimum moved, not of one which had it. */
                if (row->inside)
                        row->values[i] = column_record(row->interval, (Side) of, id);
        }

        is_at_limit = row->limited[0] || row->limited[1];
        if (side != BOTH_SIDES) {
                row->has_number = !is_momentary && value_has_number(&row->values[0]);
        } else if (!is_momentary) {
                if (!row->refuted && !is_at_limit)
                        row->delta = delta_between(&row->values[0], &row->values[1]);
                row->has_number = row->delta.kind != DELTA_NONE;
                row->changed = row->has_inside ? row->inside
                                               : is_at_limit || !value_equal(&row->values[0],
                                                                             &row->values[1]);
        }
        if (row->is_derived)
                return;
        /*
         * In one boot, a sum over the same threads with as many values can only grow. If a thread
         * lost a value while another gained one this also looks like a reset, but that takes a race
         * in the reader. In an interval each thread was checked by itself.
         */
        if (in_order && row->interval)
                row->reset = column_fell(row->interval, id);
        else if (in_order)
                row->reset = metric_is_cumulative(id) && row->delta.kind == DELTA_INTEGER &&
                             row->delta.integer.negative && group_survived(group) &&
                             group_sum(group, SIDE_BEFORE, id).present ==
                                     group_sum(group, SIDE_AFTER, id).present;
        for (unsigned i = 0; i < SIDES; i++)
                row->reset = row->reset ||
                             (row->works[i] && work_has_rate(id) && column_fell(row->works[i], id));
}

bool row_percent(const Row *row, double *ret) {
        if (row->reset || (row->is_derived && derived_table[row->id].unit == METRIC_UNIT_RATIO))
                return false;
        return delta_percent(&row->delta, &row->values[0], ret);
}

bool row_growth(const Row *row, double *ret) {
        if (row_percent(row, ret)) {
                *ret = fabs(*ret);
                return true;
        }
        if (row->reset || row->delta.kind == DELTA_NONE ||
            (row->is_derived && derived_table[row->id].unit == METRIC_UNIT_RATIO) ||
            fabs(value_number(&row->values[0])) > 0)
                return false;
        *ret = fabs(delta_number(&row->delta)) > 0 ? INFINITY : 0;
        return true;
}

bool row_per_second(const Row *row, uint64_t elapsed_ns, double *ret) {
        if (row->is_derived || !metric_is_work((MetricId) row->id) || row->reset ||
            row->delta.kind == DELTA_NONE || elapsed_ns == 0)
                return false;
        *ret = delta_number(&row->delta) * (double) NSEC_PER_SEC / (double) elapsed_ns;
        return true;
}

/* absence */

const char *absence_of_metric(const SourceTable *sources, MetricId id,
                              char ret_text[static ABSENCE_BYTES]) {
        const Metric *metric = &metric_table[id];
        const Source *source;

        if (!sources)
                return "not recorded by this file";
        source = &sources->sources[metric->explained_by];
        if (metric->explained_by == SOURCE_JEMALLOC && source->state == SOURCE_STATE_PARTIAL) {
                /* Most processes do not use it: that it was partial explains few of them. */
                (void) snprintf(ret_text, ABSENCE_BYTES,
                                "no thread of this group uses jemalloc, or none could be read: %s",
                                source->reason);
                return ret_text;
        }
        if (source->state != SOURCE_STATE_OK)
                return source->reason[0] != '\0' ? source->reason
                                                 : source_state_names[source->state];
        /* The source itself could be read. */
        if (id == METRIC_nr_threads)
                return "only the first thread of a process has it";
        if (metric->rule == METRIC_RULE_SumGaugeBytes)
                return "processes without memory lack it, and so do snapshots of earlier "
                       "versions";
        if (id == METRIC_hiwater_rss_bytes || id == METRIC_hiwater_vm_bytes ||
            id == METRIC_acct_rss_mb_us || id == METRIC_acct_vm_mb_us)
                return "these threads have no memory of their own";
        if (metric->explained_by == SOURCE_JEMALLOC)
                return "not applicable: no thread of this group that could be read uses jemalloc";
        if (id == METRIC_other_wait_call)
                return "none of these threads has waited for an other reason";
        if (metric->explained_by == SOURCE_REASONS)
                return "waits were not counted by reason all the time: WaitReasons=always in "
                       "ctprofd.conf counts them also while nobody measures";
        if (metric->class == METRIC_CLASS_FAIR_POLICY)
                return "the scheduling policy of these threads has none";
        if (metric->section == METRIC_SECTION_TASKSTATS_DELAY &&
            (metric->shape == METRIC_SHAPE_MAX || metric->shape == METRIC_SHAPE_MIN))
                return "this kernel's taskstats does not keep it";
        return "this kernel does not give it for these threads";
}

/*
 * The reason that follows from threads that were born or ended; NULL when the source has to
 * explain.
 */
static const char *absence_in_interval(const GroupColumn *of, unsigned side, MetricId id) {
        const LifeCounts *lives = &of->work->lives;
        const ColumnGaps *gaps = of->work->gaps;

        if (!metric_is_cumulative(id)) {
                if (side == 0 && lives->survived + lives->vanished == 0)
                        return "all of these threads started after the first snapshot";
                return side == 0 && column_moved(of, id)
                               ? "the threads that reached it were born or ended in between"
                               : NULL;
        }
        if (gaps && gaps->only[1 - side][id] > 0)
                return NULL; /* this side lacks it: the source explains */
        if (gaps && gaps->only[side][id] > 0)
                return "the other snapshot lacks it for these threads";
        if (bits_has(of->work->inherited, id))
                return "a forked process begins with the counters of the thread that forked";
        if (side == 0 && of->work->vanished && of->work->vanished->present[id] > 0)
                return "only threads that have ended have it";
        return NULL;
}

static const char *explain(const Row *row, unsigned index, const SourceTable *sources, MetricId id,
                           char ret_text[static ABSENCE_BYTES]) {
        /* In an interval a sum is on both sides or on neither; the ended are of the later one. */
        const GroupExited *exited = row->exited[row->interval ? SIDE_AFTER : index];
        const GroupColumn *work = row->works[index];
        const char *text = NULL;

        if (row->doubts[index] && row->doubts[index]->implausible[id] > 0)
                return "implausible: more than the age of these threads or the interval allows";
        if (work && work_has_rate(id) && column_fell(work, id))
                return "the counter was reset";
        if (work && work_has_rate(id) && column_holds(work, id))
                return "the earlier snapshot lacks it for these threads";
        if (!work && row->interval)
                text = absence_in_interval(row->interval, index, id);
        if (text)
                return text;
        if (exited && bits_has(exited->refuted, id))
                return "threads that ended had been counted under other names before";
        if (exited && group_exited_left_out(exited, id) > 0)
                return "what threads that ended had done before is not known";
        if ((row->interval || work) && row->has_no_thread[index] && !metric_is_cumulative(id))
                return "all of these threads have ended";
        return absence_of_metric(sources, id, ret_text);
}

void derived_format_zero(const Derived *derived, char ret_text[static ABSENCE_BYTES]) {
        const char *first = metric_table[derived->inputs[0]].name;
        const char *second = metric_table[derived->inputs[1]].name;

        if (derived->formula == DERIVED_FORMULA_SHARE)
                (void) snprintf(ret_text, ABSENCE_BYTES, "%s and %s are 0", first, second);
        else
                (void) snprintf(ret_text, ABSENCE_BYTES, "%s is 0", second);
}

const char *absence_of_value(const Row *row, unsigned index, const SourceTable *sources,
                             char ret_text[static ABSENCE_BYTES]) {
        char text[ABSENCE_BYTES];

        if (!row->is_derived)
                (void) snprintf(ret_text, ABSENCE_BYTES, "%s",
                                explain(row, index, sources, (MetricId) row->id, text));
        else if (row->outcomes[index] == DERIVED_DENOMINATOR_ZERO)
                derived_format_zero(&derived_table[row->id], ret_text);
        else if (row->outcomes[index] == DERIVED_INPUT_SATURATED)
                (void) snprintf(ret_text, ABSENCE_BYTES, "the sum of %s is more than 2^64-1",
                                metric_table[row->inputs[index]].name);
        else
                (void) snprintf(ret_text, ABSENCE_BYTES, "no %s: %s",
                                metric_table[row->inputs[index]].name,
                                explain(row, index, sources, row->inputs[index], text));
        return ret_text;
}

/* doubts */

const char *approximation_of_value(const Row *row, unsigned index, KernelDefects defects,
                                   char ret_text[static ABSENCE_BYTES]) {
        const char *defect = row->is_derived
                                     ? kernel_defects_of_derived(defects, (DerivedId) row->id)
                                     : kernel_defects_of_metric(defects, (MetricId) row->id);
        const Doubts *doubts = row->doubts[index];
        const GroupExited *exited = row->exited[index];
        uint64_t n = 0;
        int n_text = 0;

        if (doubts && !row->is_derived)
                n = doubts->corrected[row->id];
        for (unsigned i = 0; doubts && row->is_derived && i < derived_table[row->id].n_inputs; i++)
                n += doubts->corrected[derived_table[row->id].inputs[i]];
        if (row->limited[index]) {
                (void) snprintf(ret_text, ABSENCE_BYTES, ROW_AT_ITS_LIMIT);
                return ret_text;
        }
        if (!defect && exited && (row->is_derived || metric_is_work((MetricId) row->id)) &&
            group_exited_moved(exited))
                defect = "threads changed their names before they ended: what they did is counted "
                         "under the last ones";
        if (n > 0)
                n_text = snprintf(ret_text, ABSENCE_BYTES,
                                  "without %llu event%s longer than the thread or the interval",
                                  (unsigned long long) n, n == 1 ? "" : "s");
        if (defect)
                (void) snprintf(ret_text + n_text, ABSENCE_BYTES - (size_t) n_text, "%s%s",
                                n > 0 ? "; " : "", defect);
        return n > 0 || defect ? ret_text : NULL;
}

bool sides_join(const char *const names[static SIDES], const char *const reasons[static SIDES],
                char ret_text[static JOINED_BYTES]) {
        const char *before = reasons[0], *after = reasons[1];

        if (before && after && strcmp(before, after) == 0)
                (void) snprintf(ret_text, JOINED_BYTES, "%s and %s: %s", names[0], names[1],
                                before);
        else
                (void) snprintf(ret_text, JOINED_BYTES, "%s%s%s%s%s%s%s", before ? names[0] : "",
                                before ? ": " : "", before ? before : "",
                                before && after ? "; " : "", after ? names[1] : "",
                                after ? ": " : "", after ? after : "");
        return before || after;
}
