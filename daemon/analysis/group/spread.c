/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/spread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* names */

int spread_names_add(SpreadNames *names, Span name, uint32_t *ret) {
        size_t number;
        int r;

        name.n = MIN_OF(name.n, (size_t) SPREAD_NAME_BYTES);
        if (names->set.n == 0 || !span_equal(name_set_get(&names->set, names->last), name)) {
                r = name_set_add(&names->set, name, &number);
                if (r != 0)
                        return r;
                if (number > UINT32_MAX)
                        return -ENOMEM;
                names->last = (uint32_t) number;
        }
        *ret = names->last;
        return 0;
}

#define ABSENT UINT16_MAX
_Static_assert(SPREAD_BUCKETS < ABSENT, "a place is sixteen bits wide");

/* The metrics that have a spread are numbered without gaps. */
#define HAS_SPREAD(member, type)                                    \
        ((int) METRIC_KIND_OF(type) == (int) METRIC_KIND_COUNTER && \
         (int) METRIC_##member != METRIC_thread_count)
#define SLOT_ID(member, type, ...) \
        SLOT_##member, SLOT_END_##member = SLOT_##member + HAS_SPREAD(member, type) - 1,
enum { METRICS(SLOT_ID) N_SLOTS };

#define NO_SLOT UINT8_MAX
#define SLOT_OF(member, type, ...) \
        [METRIC_##member] = HAS_SPREAD(member, type) ? (int) SLOT_##member : NO_SLOT,
static const uint8_t slots[_METRIC_MAX] = { METRICS(SLOT_OF) };

#define NO_NAME UINT32_MAX

/* The values of one thread: while it is being added, and as long as there are few. */
typedef struct SpreadThread {
        pid_t tid;
        uint32_t name;                         /* NO_NAME: not looked up yet */
        uint64_t present[BITS_WORDS(N_SLOTS)]; /* a bit per slot */
        uint64_t values[N_SLOTS];
} SpreadThread;

/* No thread yet when the least is larger than the top. */
typedef struct SpreadTop {
        uint64_t top, least;
        pid_t tid;
        uint32_t name;
} SpreadTop;

/* SpreadCount counts the threads in each bucket of one slot. */
typedef struct SpreadCount {
        uint64_t n_zero;
        uint32_t *buckets; /* owned, SPREAD_BUCKETS of them; NULL: all are zero */
} SpreadCount;

typedef struct SpreadRow {
        uint16_t buckets[N_SLOTS]; /* or ABSENT */
} SpreadRow;

/* Threads are kept as rows up to SPREAD_MAX_ROWS, then only counted. */
typedef struct SpreadMany {
        SpreadTop tops[N_SLOTS];
        uint32_t n_rows, n_allocated;
        SpreadRow *rows;     /* owned */
        SpreadCount *counts; /* owned, N_SLOTS; NULL while there are rows */
} SpreadMany;

/* life */

static SpreadMany *many_free(SpreadMany *many) {
        if (!many)
                return NULL;
        for (unsigned i = 0; many->counts && i < N_SLOTS; i++)
                free(many->counts[i].buckets);
        free(many->counts);
        free(many->rows);
        free(many);
        return NULL;
}
DEFINE_CLEANUP(SpreadMany *, many_free);

void spread_done(Spread *spread) {
        free(spread->few);
        many_free(spread->many);
        *spread = (Spread){ .few = NULL };
}

/* buckets */

static int count_bucket(SpreadCount *count, unsigned bucket) {
        if (bucket == 0) {
                count->n_zero++;
                return 0;
        }
        if (!count->buckets) {
                count->buckets = calloc(SPREAD_BUCKETS, sizeof(*count->buckets));
                if (!count->buckets)
                        return -ENOMEM;
        }
        count->buckets[bucket]++;
        return 0;
}

/* Makes room for one more row; at the limit turns the rows into counts instead. */
static int make_room(SpreadMany *many) {
        uint32_t n = many->n_rows + MAX_OF(many->n_rows / 2, 4u);
        SpreadRow *rows;

        if (many->counts || many->n_rows < many->n_allocated)
                return 0;
        if (many->n_rows < SPREAD_MAX_ROWS) {
                n = MIN_OF(n, (uint32_t) SPREAD_MAX_ROWS);
                rows = realloc(many->rows, n * sizeof(*rows));
                if (!rows)
                        return -ENOMEM;
                many->rows = rows;
                many->n_allocated = n;
                return 0;
        }
        many->counts = calloc(N_SLOTS, sizeof(*many->counts));
        if (!many->counts)
                return -ENOMEM;
        for (uint32_t i = 0; i < many->n_rows; i++)
                for (unsigned slot = 0; slot < N_SLOTS; slot++) {
                        unsigned bucket = many->rows[i].buckets[slot];
                        int r = bucket == ABSENT ? 0 : count_bucket(&many->counts[slot], bucket);

                        if (r != 0)
                                return r;
                }
        free(TAKE_PTR(many->rows));
        many->n_rows = many->n_allocated = 0;
        return 0;
}

static int add_row(SpreadMany *many, const SpreadThread *thread) {
        SpreadRow row;
        int r;

        r = make_room(many);
        if (r != 0)
                return r;
        memset(&row, 0xff, sizeof(row)); /* all are ABSENT */
        for (unsigned slot = 0; slot < N_SLOTS; slot++) {
                unsigned bucket;

                if (!bits_has(thread->present, slot))
                        continue;
                bucket = spread_bucket_of(thread->values[slot]);
                if (!many->counts) {
                        row.buckets[slot] = (uint16_t) bucket;
                        continue;
                }
                r = count_bucket(&many->counts[slot], bucket);
                if (r != 0)
                        return r;
        }
        if (!many->counts)
                many->rows[many->n_rows++] = row;
        return 0;
}

/* tops */

/* @thread must have its name. */
static void raise_top(SpreadTop *top, const SpreadNames *names, const SpreadThread *thread,
                      uint64_t value) {
        bool leads = top->least > top->top || value > top->top;

        /* If a race in the reader gave one tid twice, the bytewise smaller name leads. */
        if (!leads && value == top->top)
                leads = thread->tid != top->tid
                                ? thread->tid < top->tid
                                : span_compare(name_set_get(&names->set, thread->name),
                                               name_set_get(&names->set, top->name)) < 0;
        if (leads) {
                top->top = value;
                top->tid = thread->tid;
                top->name = thread->name;
        }
        top->least = MIN_OF(top->least, value);
}

static int raise_tops(SpreadMany *many, SpreadNames *names, SpreadThread *thread, Span name) {
        for (unsigned slot = 0; slot < N_SLOTS; slot++) {
                SpreadTop *top = &many->tops[slot];
                uint64_t value = thread->values[slot];
                int r;

                if (!bits_has(thread->present, slot))
                        continue;
                /* Most threads have the top of no sum: their names are not looked up. */
                if (value < top->top) {
                        top->least = MIN_OF(top->least, value);
                        continue;
                }
                if (thread->name == NO_NAME) {
                        r = spread_names_add(names, name, &thread->name);
                        if (r != 0)
                                return r;
                }
                raise_top(top, names, thread, value);
        }
        return 0;
}

/* folding */

static int add_to_many(SpreadMany *many, SpreadNames *names, SpreadThread *thread, Span name) {
        int r;

        r = add_row(many, thread);
        return r != 0 ? r : raise_tops(many, names, thread, name);
}

int spread_add_sample(Spread *spread, SpreadNames *names, const ThreadSample *sample) {
        SpreadThread thread = { .tid = sample->tid, .name = NO_NAME };
        _cleanup_(many_freep) SpreadMany *many = NULL;
        unsigned n = spread->n_few;
        int r;

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                unsigned slot = slots[id];

                if (slot == NO_SLOT || !thread_sample_has(sample, (MetricId) id))
                        continue;
                bits_set(thread.present, slot);
                thread.values[slot] = thread_sample_get(sample, (MetricId) id);
        }
        if (spread->many)
                return add_to_many(spread->many, names, &thread, sample->comm);
        if (n < SPREAD_MAX_FEW) {
                r = spread_names_add(names, sample->comm, &thread.name);
                if (r != 0)
                        return r;
                if ((n & (n - 1)) == 0) { /* grows when the number is a power of two */
                        SpreadThread *few =
                                realloc(spread->few, (n > 0 ? 2 * n : 1) * sizeof(*few));

                        if (!few)
                                return -ENOMEM;
                        spread->few = few;
                }
                spread->few[spread->n_few++] = thread;
                return 0;
        }

        /* The few threads and this one become many. */
        many = calloc(1, sizeof(*many));
        if (!many)
                return -ENOMEM;
        for (unsigned i = 0; i < N_SLOTS; i++)
                many->tops[i].least = UINT64_MAX;
        for (unsigned i = 0; i < n; i++) {
                r = add_to_many(many, names, &spread->few[i], (Span){});
                if (r != 0)
                        return r;
        }
        spread->many = TAKE_PTR(many);
        free(TAKE_PTR(spread->few));
        spread->n_few = 0;
        return add_to_many(spread->many, names, &thread, sample->comm);
}

/* reading */

/* The rank, from 1, of the value that @percent % of @n ordered values do not exceed. */
static uint64_t nearest_rank(uint64_t n, unsigned percent) {
        return (n * percent + 99) / 100;
}

/* Finds the count in which the @rank-th thread falls, and how many threads precede that count. */
static unsigned find_rank(const uint32_t *counts, unsigned n_counts, uint64_t rank,
                          uint64_t *ret_before) {
        uint64_t before = 0;
        unsigned i = 0;

        while (i + 1 < n_counts && before + counts[i] < rank)
                before += counts[i++];
        *ret_before = before;
        return i;
}

/* The largest and the smallest value are known exactly. */
static uint64_t value_of_rank(const SpreadMany *many, unsigned slot,
                              const uint32_t octaves[static SPREAD_OCTAVES], uint64_t n,
                              unsigned percent) {
        const SpreadCount *count = many->counts ? &many->counts[slot] : NULL;
        const SpreadTop *top = &many->tops[slot];
        uint32_t steps[SPREAD_OCTAVE] = { 0 };
        uint64_t rank = nearest_rank(n, percent), middle, before, unused;
        unsigned bucket = 0, octave;

        if (rank == n)
                return top->top;
        if (count) {
                if (rank > count->n_zero)
                        bucket = find_rank(count->buckets, SPREAD_BUCKETS, rank - count->n_zero,
                                           &unused);
        } else {
                /* The octave first and the bucket in it second: two short sweeps instead of one. */
                octave = find_rank(octaves, SPREAD_OCTAVES, rank, &before);
                for (uint32_t i = 0; i < many->n_rows; i++)
                        if (many->rows[i].buckets[slot] / SPREAD_OCTAVE == octave)
                                steps[many->rows[i].buckets[slot] % SPREAD_OCTAVE]++;
                bucket = octave * SPREAD_OCTAVE +
                         find_rank(steps, SPREAD_OCTAVE, rank - before, &unused);
        }
        middle = spread_bucket_middle(bucket);
        middle = MIN_OF(middle, top->top);
        return MAX_OF(middle, top->least);
}

static SpreadTop read_many(const SpreadMany *many, unsigned slot, SpreadFigures *ret) {
        const SpreadCount *count = many->counts ? &many->counts[slot] : NULL;
        uint32_t octaves[SPREAD_OCTAVES] = { 0 };
        uint64_t n = 0;

        if (many->tops[slot].least > many->tops[slot].top)
                return many->tops[slot];
        if (count) {
                n = count->n_zero;
                for (unsigned i = 0; count->buckets && i < SPREAD_BUCKETS; i++)
                        n += count->buckets[i];
        }
        for (uint32_t i = 0; i < many->n_rows; i++) {
                unsigned bucket = many->rows[i].buckets[slot];

                if (bucket == ABSENT)
                        continue;
                octaves[bucket / SPREAD_OCTAVE]++;
                n++;
        }
        ret->n_threads = n;
        ret->p50 = value_of_rank(many, slot, octaves, n, 50);
        ret->p99 = value_of_rank(many, slot, octaves, n, 99);
        return many->tops[slot];
}

static SpreadTop read_few(const Spread *spread, const SpreadNames *names, unsigned slot,
                          SpreadFigures *ret) {
        SpreadTop top = { .least = UINT64_MAX };
        uint64_t values[SPREAD_MAX_FEW];
        unsigned n = 0;

        for (unsigned i = 0; i < spread->n_few; i++) {
                const SpreadThread *thread = &spread->few[i];
                uint64_t value = thread->values[slot];
                unsigned at;

                if (!bits_has(thread->present, slot))
                        continue;
                for (at = n++; at > 0 && values[at - 1] > value; at--)
                        values[at] = values[at - 1];
                values[at] = value;
                raise_top(&top, names, thread, value);
        }
        ret->n_threads = n;
        if (n > 0) {
                ret->p50 = values[nearest_rank(n, 50) - 1];
                ret->p99 = values[nearest_rank(n, 99) - 1];
        }
        return top;
}

bool spread_read(const Spread *spread, const SpreadNames *names, MetricId id, SpreadFigures *ret) {
        SpreadFigures figures = { .n_threads = 0 };
        unsigned slot = slots[id];
        SpreadTop top;

        if (slot == NO_SLOT)
                return false;
        top = spread->many ? read_many(spread->many, slot, &figures)
                           : read_few(spread, names, slot, &figures);
        if (figures.n_threads == 0)
                return false;
        figures.top = top.top;
        figures.top_tid = top.tid;
        figures.top_name = name_set_get(&names->set, top.name);
        *ret = figures;
        return true;
}

size_t spread_bytes(const Spread *spread) {
        const SpreadMany *many = spread->many;
        size_t n = 0;

        while (n < spread->n_few) /* as spread_add_sample() allocates */
                n = n > 0 ? 2 * n : 1;
        n *= sizeof(*spread->few);
        if (!many)
                return n;
        n += sizeof(*many) + many->n_allocated * sizeof(*many->rows);
        for (unsigned i = 0; many->counts && i < N_SLOTS; i++) {
                n += sizeof(*many->counts);
                if (many->counts[i].buckets)
                        n += SPREAD_BUCKETS * sizeof(*many->counts[i].buckets);
        }
        return n;
}
