/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/stack/stack-view.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/number.h"

void stack_view_done(StackView *view) {
        free(view->times);
        index_done(&view->by_thread);
        buffer_done(&view->names);
        buffer_done(&view->labels);
        free(view->rows);
        index_done(&view->by_row);
        free(view->on);
        *view = (StackView){};
}

/* exact times */

#define METRIC_OF_PLACE(reason, text, ...) [RECORD_PLACE_##reason] = METRIC_##reason##_wait_ns,
static const MetricId metric_of_place[_RECORD_PLACE_MAX] = {
        WAIT_REASONS_APART(METRIC_OF_PLACE)[RECORD_PLACE_storage] = METRIC_storage_wait_ns,
        [RECORD_PLACE_blocked] = METRIC_uninterruptible_ns,
        [RECORD_PLACE_run_queue] = METRIC_wait_time_ns,
        [RECORD_PLACE_running] = METRIC_run_time_ns,
};

#define THREAD_KEY_BYTES (sizeof(uint64_t) + sizeof(uint32_t))

static Span key_of_thread(const void *owner, size_t element) {
        const StackView *view = owner;

        return (Span){ (const char *) &view->times[element], THREAD_KEY_BYTES };
}

static StackTimes *find_thread(StackView *view, uint32_t tid, uint64_t start_ticks) {
        const StackTimes wanted = { .start_ticks = start_ticks, .tid = tid };
        size_t found =
                index_find(&view->by_thread, (Span){ (const char *) &wanted, THREAD_KEY_BYTES },
                           key_of_thread, view);

        return found == INDEX_NONE ? NULL : &view->times[found];
}

/* Threads of one process follow each other, and have the same name more often than not. */
static int add_name(StackView *view, Span name, uint32_t *last) {
        int r = 0;

        if (view->names.n > 0 && span_is(name, view->names.bytes + *last))
                return 0;
        *last = (uint32_t) view->names.n;
        (void) buffer_append(&view->names, name.bytes ? name.bytes : "", name.n);
        (void) buffer_append_byte(&view->names, '\0');
        r = buffer_failure(&view->names);
        return r;
}

static int add_thread(StackView *view, const ThreadSample *sample, StackTimes **ret) {
        StackTimes *times;
        int r;

        r = ARRAY_RESERVE(view->times, view->n_times_allocated, view->n_times + 1);
        if (r < 0)
                return r;
        times = &view->times[view->n_times];
        *times = (StackTimes){ .start_ticks = sample->start_ticks, .tid = (uint32_t) sample->tid };
        if (view->n_times > 0) {
                times->process = times[-1].process;
                times->comm = times[-1].comm;
        }
        r = add_name(view, sample->pcomm, &times->process);
        if (r == 0)
                r = add_name(view, sample->comm, &times->comm);
        if (r == 0)
                r = index_add(&view->by_thread, (Span){ (const char *) times, THREAD_KEY_BYTES },
                              view->n_times);
        if (r == 0)
                view->n_times++;
        *ret = times;
        return r;
}

int stack_view_add_begin(StackView *view, const ThreadSample *sample) {
        StackTimes *times;
        int r;

        if (find_thread(view, (uint32_t) sample->tid, sample->start_ticks))
                return 0;
        r = add_thread(view, sample, &times);
        if (r == 0)
                times->has_begun = true;
        for (unsigned place = 0; r == 0 && place < _RECORD_PLACE_MAX; place++)
                if (thread_sample_has(sample, metric_of_place[place])) {
                        times->known |= UINT64_C(1) << place;
                        times->ns[place] = thread_sample_get(sample, metric_of_place[place]);
                }
        return r;
}

int stack_view_add_end(StackView *view, const ThreadSample *sample) {
        StackTimes *times = find_thread(view, (uint32_t) sample->tid, sample->start_ticks);
        bool is_new = !times;
        int r = 0;

        if (is_new)
                r = add_thread(view, sample, &times);
        else if (times->is_whole)
                return 0;
        /* It is called as it was at the end, also by the samples of what it executed before. */
        if (r == 0 && !is_new)
                r = add_name(view, sample->pcomm, &times->process);
        if (r == 0 && !is_new)
                r = add_name(view, sample->comm, &times->comm);
        if (r < 0)
                return r;
        times->is_whole = true;
        for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++) {
                uint64_t bit = UINT64_C(1) << place, now;

                if (!thread_sample_has(sample, metric_of_place[place]) ||
                    (!is_new && !(times->known & bit))) {
                        times->known &= ~bit;
                        continue;
                }
                now = thread_sample_get(sample, metric_of_place[place]);
                times->known |= bit;
                times->ns[place] = now - MIN_OF(times->ns[place], now);
        }
        return 0;
}

/* rows */

#define ROW_KEY_BYTES offsetof(StackRow, ns)
_Static_assert(ROW_KEY_BYTES == 10 * sizeof(uint32_t), "a key has no holes");

static Span key_of_row(const void *owner, size_t element) {
        const StackView *view = owner;

        return (Span){ (const char *) &view->rows[element], ROW_KEY_BYTES };
}

static int add_row(StackView *view, const StackRow *row) {
        Span key = { (const char *) row, ROW_KEY_BYTES };
        size_t found;
        StackRow *into;
        int r;

        if (row->ns == 0 && row->n_samples == 0)
                return 0;
        found = index_find(&view->by_row, key, key_of_row, view);
        view->place_ns[row->place] += row->ns;
        if (found != INDEX_NONE) {
                into = &view->rows[found];
                into->ns += row->ns;
                into->n_samples += row->n_samples;
                into->max_ns = MAX_OF(into->max_ns, row->max_ns);
                into->variance_ns2 += row->variance_ns2;
                into->is_exact = into->is_exact && row->is_exact;
                return 0;
        }
        r = ARRAY_RESERVE(view->rows, view->n_rows_allocated, view->n_rows + 1);
        if (r == 0)
                r = index_add(&view->by_row, key, view->n_rows);
        if (r == 0)
                view->rows[view->n_rows++] = *row;
        return r;
}

/* The same names have the same place in the labels, so that rows can be compared. */
typedef struct Names {
        StackView *view;
        uint32_t *places; /* owned */
        size_t n, n_allocated;
        Index index;
} Names;

static void names_done(Names *names) {
        free(names->places);
        index_done(&names->index);
}

static Span key_of_name(const void *owner, size_t element) {
        const Names *names = owner;

        return span_of(names->view->labels.bytes + names->places[element]);
}

static int intern(Names *names, Span name, uint32_t *ret) {
        size_t found = index_find(&names->index, name, key_of_name, names);
        int r;

        if (found == INDEX_NONE) {
                Buffer *buffer = &names->view->labels;
                size_t at = buffer->n;

                (void) buffer_append(buffer, name.bytes ? name.bytes : "", name.n);
                (void) buffer_append_byte(buffer, '\0');
                r = buffer_failure(buffer);
                if (r == 0)
                        r = ARRAY_RESERVE(names->places, names->n_allocated, names->n + 1);
                if (r == 0)
                        r = index_add(&names->index, (Span){ buffer->bytes + at, name.n },
                                      names->n);
                if (r < 0)
                        return r;
                names->places[found = names->n++] = (uint32_t) at;
        }
        *ret = names->places[found];
        return 0;
}

/* @part of @whole, of @total that is to be divided. */
static uint64_t share(uint64_t total, uint64_t part, uint64_t whole) {
        return (uint64_t) ((unsigned __int128) total * part / whole);
}

/* The arguments and the state of stack_view_divide(), which makes the rows. */
typedef struct Division {
        StackView *view;
        const RecordingDocument *recording;
        uint32_t user_hz;
        bool by_waker;
        Names names;
} Division;

static Span thread_name(const char text[static 16]) {
        return (Span){ text, strnlen(text, 16) };
}

/* The labels of a thread of the recording. *ret_times: NULL if no snapshot has it. */
static int label_thread(Division *division, uint32_t number, uint32_t *ret_process,
                        uint32_t *ret_comm, StackTimes **ret_times) {
        StackView *view = division->view;
        const StackThread *thread = &division->recording->table.threads[number];
        StackTimes *times =
                find_thread(view, thread->tid,
                            share(thread->start_boottime_ns, division->user_hz, NSEC_PER_SEC));
        int r = intern(&division->names,
                       times ? span_of(view->names.bytes + times->process)
                             : thread_name(thread->process),
                       ret_process);

        *ret_times = times;
        return r < 0 ? r
                     : intern(&division->names,
                              times ? span_of(view->names.bytes + times->comm)
                                    : thread_name(thread->comm),
                              ret_comm);
}

static int label_waker(Division *division, uint32_t waker, StackWaker *ret) {
        StackTimes *times;

        *ret = (StackWaker){ .kind = MIN_OF(waker, (uint32_t) STACK_WAKER_FIRST) };
        return waker < STACK_WAKER_FIRST ? 0
                                         : label_thread(division, waker - STACK_WAKER_FIRST,
                                                        &ret->process, &ret->comm, &times);
}

static int add_unsampled(Division *division, StackRow row, uint32_t stack, uint64_t ns) {
        row.waker =
                (StackWaker){ .kind = division->by_waker ? STACK_WAKER_UNKNOWN : STACK_WAKER_NONE };
        row.stack = stack;
        row.ns = ns;
        row.is_exact = true;
        return add_row(division->view, &row);
}

/*
 * Divides the time of one thread in one place among @samples, which are all samples of the thread
 * in that place. @is_known: @times has the exact time. @all_taken: every interval is a sample. The
 * remainder of the rounding goes to the last sample, so that the sum is exact. @times: NULL if no
 * snapshot has the thread.
 */
static int divide(Division *division, StackRow row, const StackSample *samples, size_t n,
                  bool is_known, bool all_taken, StackTimes *times) {
        StackView *view = division->view;
        const StackRow empty = row;
        uint64_t exact_ns = is_known ? times->ns[row.place] : 0, outside_ns = 0;
        uint64_t long_ns = 0, short_ns = 0, rest_ns, left_ns, long_left_ns, seen = 0;
        double variance = 0;
        int r = 0;

        for (size_t i = 0; i < n; i++) {
                long_ns += samples[i].long_ns;
                short_ns += samples[i].short_ns;
                variance += (double) samples[i].short_variance_us2 * 1e6;
        }
        if (!is_known)
                exact_ns = long_ns + short_ns;
        else if (times->sampled_ns)
                outside_ns = exact_ns - MIN_OF(times->sampled_ns[row.place], exact_ns);
        exact_ns -= outside_ns;
        r = add_unsampled(division, empty, STACK_OUTSIDE, outside_ns);
        /* Programs read the clock a moment before the kernel does. */
        long_left_ns = MIN_OF(long_ns, exact_ns);
        rest_ns = left_ns = exact_ns - long_left_ns;
        for (size_t i = 0; i < n && r == 0; i++) {
                uint64_t of_long = samples[i].long_ns, of_short;
                double fraction =
                        short_ns > 0 ? (double) samples[i].short_ns / (double) short_ns : 0;
                double own = (double) samples[i].short_variance_us2 * 1e6;

                if (long_ns > exact_ns)
                        of_long = share(exact_ns, samples[i].long_ns, long_ns);
                of_long = MIN_OF(of_long, long_left_ns);
                long_left_ns -= of_long;
                seen += samples[i].short_ns;
                of_short = short_ns == 0      ? 0
                           : seen == short_ns ? (samples[i].short_ns > 0 ? left_ns : 0)
                                              : share(rest_ns, samples[i].short_ns, short_ns);
                left_ns -= of_short;
                row.stack = samples[i].key.stack;
                row.ns = of_long + of_short;
                if (i + 1 == n && long_ns > exact_ns)
                        row.ns += long_left_ns;
                row.n_samples = samples[i].n_long + samples[i].n_short;
                row.max_ns = samples[i].max_ns;
                row.is_exact = (is_known || all_taken) && samples[i].n_short == 0;
                row.variance_ns2 = 0;
                if (short_ns > 0) {
                        double scale = is_known ? (double) rest_ns / (double) short_ns : 1;

                        row.variance_ns2 =
                                is_known ? scale * scale *
                                                   (own * (1 - fraction) * (1 - fraction) +
                                                    fraction * fraction * (variance - own))
                                         : own;
                }
                if (division->by_waker) {
                        row.waker_stack = samples[i].key.waker_stack;
                        row.held = samples[i].key.held;
                        row.held_stack = samples[i].key.held_stack;
                        r = label_waker(division, samples[i].key.waker, &row.waker);
                }
                if (r == 0)
                        r = add_row(view, &row);
        }
        if (r < 0 || short_ns > 0)
                return r;
        if (times && !times->sampled_ns) {
                outside_ns = MIN_OF(left_ns, times->outside_ns);
                times->outside_ns -= outside_ns;
                left_ns -= outside_ns;
                r = add_unsampled(division, empty, STACK_OUTSIDE, outside_ns);
        }
        return r == 0 ? add_unsampled(division, empty, STACK_UNSAMPLED, left_ns) : r;
}

static int compare_samples(const void *a, const void *b) {
        const StackSampleKey *x = &((const StackSample *) a)->key,
                             *y = &((const StackSample *) b)->key;

        if (x->thread != y->thread)
                return x->thread < y->thread ? -1 : 1;
        if (x->place != y->place)
                return x->place < y->place ? -1 : 1;
        if (x->stack != y->stack)
                return x->stack < y->stack ? -1 : 1;
        if (x->waker != y->waker)
                return x->waker < y->waker ? -1 : 1;
        if (x->waker_stack != y->waker_stack)
                return x->waker_stack < y->waker_stack ? -1 : 1;
        if (x->held != y->held)
                return x->held < y->held ? -1 : 1;
        if (x->held_stack != y->held_stack)
                return x->held_stack < y->held_stack ? -1 : 1;
        return (x->object > y->object) - (x->object < y->object);
}

static bool has_same_waker(const StackSampleKey *x, const StackSampleKey *y) {
        return x->waker == y->waker && x->waker_stack == y->waker_stack && x->held == y->held &&
               x->held_stack == y->held_stack;
}

/*
 * Samples of one thread in one place, in order: those of one stack, and of one waker if they are to
 * be divided by it, become one in @into.
 */
static size_t merge_samples(const StackSample *samples, size_t n, bool by_waker,
                            StackSample *into) {
        size_t n_into = 0;

        for (size_t i = 0; i < n; i++) {
                StackSample *last = n_into > 0 ? &into[n_into - 1] : NULL;

                if (!last || last->key.stack != samples[i].key.stack ||
                    (by_waker && !has_same_waker(&last->key, &samples[i].key))) {
                        into[n_into++] = samples[i];
                        continue;
                }
                last->long_ns += samples[i].long_ns;
                last->n_long += samples[i].n_long;
                last->short_ns += samples[i].short_ns;
                last->n_short += samples[i].n_short;
                last->short_variance_us2 += samples[i].short_variance_us2;
                last->max_ns = MAX_OF(last->max_ns, samples[i].max_ns);
        }
        return n_into;
}

/* The row of @sample, where rows are not divided by waker. *ret is INDEX_NONE: it has none. */
static int find_row(Division *division, const StackSample *sample, size_t *ret) {
        const StackView *view = division->view;
        StackRow key = { .place = sample->key.place, .stack = sample->key.stack };
        StackTimes *times;
        int r = label_thread(division, sample->key.thread, &key.process, &key.comm, &times);

        *ret = index_find(&view->by_row, (Span){ (const char *) &key, ROW_KEY_BYTES }, key_of_row,
                          view);
        return r;
}

/* who ended waits */

typedef struct Ending {
        size_t row;
        StackWaker waker;
        uint32_t held, held_stack;
        uint64_t ns; /* behind a hole, which is no part of the key */
} Ending;

#define ENDING_KEY_BYTES (offsetof(Ending, held_stack) + sizeof(uint32_t) - offsetof(Ending, waker))
_Static_assert(ENDING_KEY_BYTES == 5 * sizeof(uint32_t), "a key has no holes");

static int compare_endings(const void *a, const void *b) {
        const Ending *x = a, *y = b;

        if (x->row != y->row)
                return x->row < y->row ? -1 : 1;
        return memcmp(&x->waker, &y->waker, ENDING_KEY_BYTES);
}

static bool is_same_waker(const Ending *x, const Ending *y) {
        return x->row == y->row && memcmp(&x->waker, &y->waker, sizeof(x->waker)) == 0;
}

/* Tells each row who ended most of its time. */
static int find_endings(Division *division) {
        const StackTable *table = &division->recording->table;
        StackView *view = division->view;
        _cleanup_(freep) Ending *all = malloc((table->n_samples + 1) * sizeof(*all));
        uint64_t whole_ns = 0, ns = 0, held_ns = 0, most_held_ns = 0;
        const Ending *most_held = NULL;
        size_t n = 0;
        int r = 0;

        if (!all)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_samples && r == 0; i++) {
                const StackSample *sample = &table->samples[i];

                if (sample->key.waker == STACK_WAKER_NONE)
                        continue;
                r = find_row(division, sample, &all[n].row);
                if (r == 0)
                        r = label_waker(division, sample->key.waker, &all[n].waker);
                all[n].held = sample->key.held;
                all[n].held_stack = sample->key.held_stack;
                all[n].ns = sample->long_ns + sample->short_ns;
                n += all[n].row != INDEX_NONE;
        }
        if (n > 1)
                qsort(all, n, sizeof(*all), compare_endings);
        for (size_t i = 0; i < n && r == 0; i++) {
                StackRow *row = &view->rows[all[i].row];
                bool is_last = i + 1 == n || all[i + 1].row != all[i].row;

                ns += all[i].ns;
                held_ns += all[i].ns;
                whole_ns += all[i].ns;
                if (!is_last && compare_endings(&all[i], &all[i + 1]) == 0)
                        continue;
                if (all[i].held != 0 && held_ns > most_held_ns) {
                        most_held_ns = held_ns;
                        most_held = &all[i];
                }
                held_ns = 0;
                if (!is_last && is_same_waker(&all[i], &all[i + 1]))
                        continue;
                if (ns > row->woken_ns) {
                        row->woken_ns = ns;
                        row->woken_by = all[i].waker;
                        row->woken_held = most_held ? most_held->held : 0;
                        row->woken_held_stack = most_held ? most_held->held_stack : 0;
                }
                ns = most_held_ns = 0;
                most_held = NULL;
                if (!is_last)
                        continue;
                row->woken_ns = whole_ns > 0 ? share(row->ns, row->woken_ns, whole_ns) : 0;
                whole_ns = 0;
        }
        return r;
}

/* what they were on */

typedef struct On {
        size_t row;
        uint32_t object;
        uint64_t ns;
} On;

static int compare_on(const void *a, const void *b) {
        const On *x = a, *y = b;

        if (x->row != y->row)
                return x->row < y->row ? -1 : 1;
        return (x->object > y->object) - (x->object < y->object);
}

static int compare_heaviest(const void *a, const void *b) {
        const StackOn *x = a, *y = b;

        if (x->ns != y->ns)
                return x->ns > y->ns ? -1 : 1;
        return (x->object > y->object) - (x->object < y->object);
}

/*
 * Tells each row what its waits were on. The time of samples that do not tell is that of nothing,
 * so that the shares of a row may have less than its time.
 */
static int find_objects(Division *division) {
        const StackTable *table = &division->recording->table;
        StackView *view = division->view;
        _cleanup_(freep) On *all = malloc((table->n_samples + 1) * sizeof(*all));
        size_t n = 0;
        int r = 0;

        view->on = malloc((table->n_samples + 1) * sizeof(*view->on));
        if (!all || !view->on)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_samples && r == 0; i++) {
                const StackSample *sample = &table->samples[i];

                if (!stack_view_has_waker(sample->key.place))
                        continue;
                r = find_row(division, sample, &all[n].row);
                all[n].object = sample->key.object;
                all[n].ns = number_add_saturating(sample->long_ns, sample->short_ns);
                n += all[n].row != INDEX_NONE;
        }
        if (n > 1)
                qsort(all, n, sizeof(*all), compare_on);
        for (size_t i = 0, end; i < n && r == 0; i = end) {
                StackRow *row = &view->rows[all[i].row];
                uint64_t whole_ns = 0;

                row->first_on = view->n_on;
                for (end = i; end < n && all[end].row == all[i].row; end++) {
                        StackOn *last = &view->on[view->n_on];

                        whole_ns = number_add_saturating(whole_ns, all[end].ns);
                        if (all[end].object == STACK_OBJECT_NONE)
                                continue;
                        if (view->n_on > row->first_on && last[-1].object == all[end].object)
                                last[-1].ns = number_add_saturating(last[-1].ns, all[end].ns);
                        else
                                view->on[view->n_on++] = (StackOn){ all[end].object, all[end].ns };
                }
                row->n_on = view->n_on - row->first_on;
                for (size_t k = row->first_on; k < view->n_on && whole_ns > 0; k++)
                        view->on[k].ns = share(row->ns, view->on[k].ns, whole_ns);
                if (row->n_on > 1)
                        qsort(&view->on[row->first_on], row->n_on, sizeof(*view->on),
                              compare_heaviest);
        }
        return r;
}

static int compare_rows(const void *a, const void *b) {
        const StackRow *x = a, *y = b;

        if (x->ns != y->ns)
                return x->ns > y->ns ? -1 : 1;
        return memcmp(x, y, ROW_KEY_BYTES);
}

/* How much longer each thread was observed than it was sampled. */
static void find_outside(StackView *view, const RecordingFacts *facts) {
        uint64_t elapsed_ns = facts->end_boottime_ns - facts->start_boottime_ns;

        for (size_t i = 0; i < view->n_times && elapsed_ns > 0; i++) {
                StackTimes *times = &view->times[i];
                uint64_t sum_ns = 0;

                for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                        if (times->known & UINT64_C(1) << place)
                                sum_ns = number_add_saturating(sum_ns, times->ns[place]);
                times->outside_ns = sum_ns - MIN_OF(sum_ns, elapsed_ns);
        }
}

/*
 * Takes from the recording how long each thread was sampled, and whether the filter takes the
 * thread. The recording does not say whether the filter takes a thread that only woke others.
 */
static void match_threads(StackView *view, const RecordingDocument *recording, uint32_t user_hz) {
        const StackTable *table = &recording->table;
        bool is_filtered = recording->facts.scope.filter.is_on;

        for (size_t i = 0; i < view->n_times; i++)
                view->times[i].is_taken = !is_filtered;
        for (size_t i = 0; i < table->n_threads; i++) {
                const StackThread *thread = &table->threads[i];
                StackTimes *times = find_thread(
                        view, thread->tid, share(thread->start_boottime_ns, user_hz, NSEC_PER_SEC));

                if (!times)
                        continue;
                times->is_taken = times->is_taken || !thread->only_wakes;
                times->sampled_ns = thread->has_times ? thread->ns : NULL;
        }
}

/*
 * Running, waiting for a CPU and waiting for each reason are counted apart, and are all that a
 * thread can do: where their sum is not the time that has passed, one of them is wrong.
 */
static void check_sums(StackView *view, const RecordingFacts *facts) {
        const uint64_t every_place = (UINT64_C(1) << _RECORD_PLACE_MAX) - 1;
        uint64_t elapsed_ns = facts->end_boottime_ns - facts->start_boottime_ns,
                 slack_ns = MAX_OF(elapsed_ns / STACK_SUMS_PART, (uint64_t) STACK_SUMS_SLACK_NS);

        for (size_t i = 0; i < view->n_times; i++) {
                const StackTimes *times = &view->times[i];
                uint64_t sum_ns = 0, off_ns;

                if (!times->has_begun || !times->is_whole || !times->sampled_ns ||
                    (times->known & every_place) != every_place)
                        continue;
                for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                        sum_ns = number_add_saturating(sum_ns, times->sampled_ns[place]);
                off_ns = sum_ns > elapsed_ns ? sum_ns - elapsed_ns : elapsed_ns - sum_ns;
                view->n_throughout++;
                view->n_adding_up += off_ns <= slack_ns;
        }
}

static int divide_all(Division *division) {
        StackView *view = division->view;
        const StackTable *table = &division->recording->table;
        const RecordingFacts *facts = &division->recording->facts;
        const RecordScope *scope = &facts->scope;
        const uint64_t running = UINT64_C(1) << RECORD_PLACE_running;
        /* Where others are left out, the time of all waits says nothing of those that are not. */
        uint64_t known = record_scope_has_lengths(scope) ? running : UINT64_MAX;
        /* All of these are at least as long as the period ever was. */
        uint64_t all_taken =
                known != UINT64_MAX && scope->min_ns >= facts->period_ns ? ~running : 0;
        StackSample *samples = table->samples;
        _cleanup_(freep) StackSample *merged = malloc((table->n_samples + 1) * sizeof(*merged));
        int r = 0;

        if (!merged)
                return -ENOMEM;
        if (table->n_samples > 1)
                qsort(samples, table->n_samples, sizeof(*samples), compare_samples);
        for (size_t i = 0, n; i < table->n_samples && r == 0; i += n) {
                uint64_t bit = UINT64_C(1) << samples[i].key.place;
                StackRow row = { .place = samples[i].key.place };
                StackTimes *times;
                bool is_known;
                size_t n_merged;

                for (n = 1; i + n < table->n_samples &&
                            samples[i + n].key.thread == samples[i].key.thread &&
                            samples[i + n].key.place == samples[i].key.place;)
                        n++;
                if (division->by_waker && !stack_view_has_waker(row.place))
                        continue;
                r = label_thread(division, samples[i].key.thread, &row.process, &row.comm, &times);
                is_known = times && times->is_whole && (times->known & known & bit);
                n_merged = merge_samples(samples + i, n, division->by_waker, merged);
                if (r == 0)
                        r = divide(division, row, merged, n_merged, is_known, all_taken & bit,
                                   times);
                if (times)
                        times->known &= ~bit;
        }
        /* Adds the times of threads in places for which there is no sample at all. */
        for (size_t i = 0; i < view->n_times && r == 0; i++)
                for (unsigned place = 0; place < _RECORD_PLACE_MAX && r == 0; place++) {
                        StackTimes *times = &view->times[i];
                        StackRow row = { .place = place };

                        if (!times->is_whole || !times->is_taken ||
                            !(times->known & known & UINT64_C(1) << place) ||
                            (division->by_waker && !stack_view_has_waker(place)))
                                continue;
                        r = intern(&division->names, span_of(view->names.bytes + times->process),
                                   &row.process);
                        if (r == 0)
                                r = intern(&division->names,
                                           span_of(view->names.bytes + times->comm), &row.comm);
                        if (r == 0)
                                r = divide(division, row, NULL, 0, true, false, times);
                }
        return r;
}

int stack_view_divide(StackView *view, const RecordingDocument *recording, uint32_t user_hz,
                      bool by_waker) {
        Division division = { .view = view,
                              .recording = recording,
                              .user_hz = user_hz,
                              .by_waker = by_waker,
                              .names = { .view = view } };
        int r;

        find_outside(view, &recording->facts);
        match_threads(view, recording, user_hz);
        check_sums(view, &recording->facts);
        r = divide_all(&division);
        if (r == 0 && recording_has_wakers(&recording->facts) && !by_waker)
                r = find_endings(&division);
        if (r == 0 && recording->facts.objects && !by_waker)
                r = find_objects(&division);
        names_done(&division.names);
        if (r == 0 && view->n_rows > 1)
                qsort(view->rows, view->n_rows, sizeof(*view->rows), compare_rows);
        return r;
}

/* names */

const char *stack_word(uint32_t stack) {
        switch (stack) {
        case STACK_OUTSIDE:
                return "[before or after the recording]";
        case STACK_UNSAMPLED:
                return "[too short to be sampled]";
        case STACK_NONE:
                return "[too many stacks]";
        default:
                return NULL;
        }
}

Span stack_frame_name(const RecordingDocument *recording, const StackFrame *frame, Buffer *text) {
        if (frame->name != 0)
                return span_of(recording->table.names.bytes + frame->name);
        if (frame->module == STACK_KERNEL)
                return SPAN_LITERAL("[kernel]");
        buffer_clear(text);
        if (frame->module < recording->modules.n) {
                const char *path = recording->modules.all[frame->module]->path;
                const char *slash = strrchr(path, '/');

                buffer_append_format(text, "[%s+0x%llx]", slash ? slash + 1 : path,
                                     (unsigned long long) frame->offset);
        } else
                buffer_append_text(text, "[unknown]");
        return buffer_span(text);
}
