/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/ledger-rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GONE \
        UINT32_MAX /* flags of a row that has become part of another: see ledger_rows_coarsen() */

// clang-format off
#define COUNTER_ROW(metric, place, member, needs, ...) { LEDGER_##metric, METRIC_##metric, needs },
const LedgerSum ledger_counters[] = { TASK_COUNTERS(COUNTER_ROW) };
const size_t n_ledger_counters = ELEMENTSOF(ledger_counters);

#define DELAY_ROW(id, word)                                                                        \
        { LEDGER_N_DELAYS_##id, LEDGER_DELAY_NS_##id,                                              \
          LEDGER_DELAY_MAX_##id, LEDGER_DELAY_MIN_##id,                                            \
          METRIC_##word##_delay_count, METRIC_##word##_delay_total_ns,                             \
          METRIC_##word##_delay_max_ns, METRIC_##word##_delay_min_ns },
const LedgerDelay ledger_delays[_TASK_DELAY_MAX] = { TASK_DELAY_KINDS(DELAY_ROW) };
// clang-format on

void ledger_values_add(LedgerValues *values, const LedgerValues *from) {
        values->has |= from->has;
        values->exits += from->exits;
        values->lives_ns += from->lives_ns;
        values->accounted += from->accounted;
        values->young += from->young;
        values->young_run_ns += from->young_run_ns;
        if (values->born_ns == 0 || (from->born_ns != 0 && from->born_ns < values->born_ns))
                values->born_ns = from->born_ns;
        values->grew_ns = MAX_OF(values->grew_ns, from->grew_ns);
        values->n_folded += from->n_folded;
        values->n_overflow += from->n_overflow;
        for (size_t i = 0; i < _LEDGER_SUM_MAX; i++)
                values->sums[i] += from->sums[i];
        for (size_t i = 0; i < _LEDGER_MAXIMUM_MAX; i++)
                values->maxima[i] = MAX_OF(values->maxima[i], from->maxima[i]);
        for (size_t i = 0; i < _LEDGER_MINIMUM_MAX; i++)
                if (from->minima[i] != 0 &&
                    (values->minima[i] == 0 || from->minima[i] < values->minima[i]))
                        values->minima[i] = from->minima[i];
}

bool ledger_values_take_out(LedgerValues *values, const LedgerMark *mark) {
        uint64_t young_run_ns = mark->is_young ? mark->sums[LEDGER_run_time_ns] : 0;
        bool has_all = values->exits > 0 && values->lives_ns >= mark->lives_ns &&
                       values->accounted >= mark->accounted && values->young >= mark->is_young &&
                       values->young_run_ns >= young_run_ns;

        for (size_t i = 0; i < _LEDGER_SUM_MAX; i++)
                has_all = has_all && values->sums[i] >= mark->sums[i];
        if (!has_all)
                return false;
        values->exits--;
        values->lives_ns -= mark->lives_ns;
        values->accounted -= mark->accounted;
        values->young -= mark->is_young;
        values->young_run_ns -= young_run_ns;
        for (size_t i = 0; i < _LEDGER_SUM_MAX; i++)
                values->sums[i] -= mark->sums[i];
        return true;
}

bool ledger_values_are_none(const LedgerValues *values) {
        uint64_t any = values->exits | values->lives_ns | values->n_folded | values->n_overflow;

        for (size_t i = 0; i < _LEDGER_SUM_MAX; i++)
                any |= values->sums[i];
        return any == 0;
}

uint64_t ledger_rows_share(uint32_t owner, size_t max_rows) {
        return owner == 0 ? max_rows / 8 : max_rows / 16;
}

/* what rows become part of */

/* Returns whether there are any. */
static bool replace_numbers(char name[static TASK_COMM_BYTES]) {
        bool in_number = false, has_any = false;
        size_t n = 0;

        for (size_t i = 0; i < TASK_COMM_BYTES && name[i] != '\0'; i++) {
                bool was_in_number = in_number;

                in_number = name[i] >= '0' && name[i] <= '9';
                has_any = has_any || in_number;
                if (!in_number)
                        name[n++] = name[i];
                else if (!was_in_number)
                        name[n++] = '0';
        }
        memset(name + n, 0, TASK_COMM_BYTES - n);
        return has_any;
}

#define FORGOTTEN ((uint32_t) (LEDGER_PARENTLESS | LEDGER_NUMBERLESS | LEDGER_NAMELESS))

/* A key tells only the largest of its losses. */
static void note_forgotten(LedgerKey *key, uint32_t what) {
        memset(key->parent, 0, sizeof(key->parent));
        key->flags = (key->flags & ~FORGOTTEN) | what;
}

/* These return whether they say anything of such a row. */

static bool forget_parent(LedgerKey *key) {
        if (ledger_key_is_folded(key))
                return false;
        note_forgotten(key, LEDGER_PARENTLESS);
        return true;
}

static bool forget_numbers(LedgerKey *key) {
        bool has_any = replace_numbers(key->process);

        if (ledger_key_is_folded(key))
                return (key->flags & LEDGER_NUMBERLESS) != 0;
        if (!replace_numbers(key->thread) && !has_any)
                return false;
        note_forgotten(key, LEDGER_NUMBERLESS);
        return true;
}

static bool forget_names(LedgerKey *key) {
        if (key->flags & LEDGER_OVERFLOW)
                return false;
        memset(key->process, 0, sizeof(key->process));
        memset(key->thread, 0, sizeof(key->thread));
        note_forgotten(key, LEDGER_NAMELESS);
        return true;
}

static void forget_cgroup(LedgerKey *key) {
        *key = (LedgerKey){ .flags = LEDGER_OVERFLOW | (key->flags & LEDGER_OF_SELF),
                            .owner = key->owner };
}

static bool forget_owner(LedgerKey *key) {
        if (!(key->flags & LEDGER_OVERFLOW))
                return false;
        *key = (LedgerKey){ .flags = LEDGER_OVERFLOW, .owner = LEDGER_OTHERS };
        return true;
}

bool ledger_key_coarsen(LedgerKey *key) {
        if (!(key->flags & LEDGER_PARENTLESS) && forget_parent(key))
                return true;
        if (!ledger_key_is_folded(key) && forget_numbers(key))
                return true;
        if (!(key->flags & LEDGER_NAMELESS) && forget_names(key))
                return true;
        if (!(key->flags & LEDGER_OVERFLOW)) {
                forget_cgroup(key);
                return true;
        }
        return key->owner != LEDGER_OTHERS && forget_owner(key);
}

/* the rows of one owner */

typedef struct Item {
        LedgerRow *row;   /* NULL: it became part of another */
        LedgerKey target; /* of the step at hand */
        size_t group;     /* the number of its group */
        bool is_fixed;    /* it stays as it is */
} Item;

/* Those of one target, or of one cgroup. */
typedef struct Group {
        size_t n, n_left; /* rows, and those that stay on their own */
        uint64_t grew_ns; /* of the latest */
        uint64_t room;    /* of the path, which is free when none is left */
        bool has_target;  /* a row of the target is there */
        bool goes;
} Group;

/* A cgroup's place in the order in which they go. */
typedef struct Turn {
        uint64_t grew_ns;
        size_t group;
} Turn;

/* All of these are owned, and there are as many of each as there are rows. */
typedef struct Coarsener {
        const LedgerCoarsening *how;
        Item *items;
        Group *groups;
        Turn *turns;
} Coarsener;

static void coarsener_done(Coarsener *coarsener) {
        free(coarsener->items);
        free(coarsener->groups);
        free(coarsener->turns);
}

static int compare_owners(const void *a, const void *b) {
        const LedgerRow *x = a, *y = b;

        return (x->key.owner > y->key.owner) - (x->key.owner < y->key.owner);
}

static int compare_targets(const void *a, const void *b) {
        return memcmp(&((const Item *) a)->target, &((const Item *) b)->target, sizeof(LedgerKey));
}

static int compare_cgroups(const void *a, const void *b) {
        uint64_t x = ((const Item *) a)->row->key.cgroup, y = ((const Item *) b)->row->key.cgroup;

        return (x > y) - (x < y);
}

/* The same order whatever the order was. */
static int compare_growth(const void *a, const void *b) {
        const LedgerRow *x = ((const Item *) a)->row, *y = ((const Item *) b)->row;

        if (x->values.grew_ns != y->values.grew_ns)
                return x->values.grew_ns < y->values.grew_ns ? -1 : 1;
        return memcmp(&x->key, &y->key, sizeof(x->key));
}

static uint64_t path_room(const LedgerCoarsening *how, uint64_t cgroup) {
        if (!how->path_bytes || cgroup == 0)
                return 0;
        return how->path_bytes(how->userdata, cgroup) / LEDGER_PATH_UNIT;
}

static size_t take_items(Coarsener *coarsener, LedgerRow *rows, size_t n) {
        const LedgerCoarsening *how = coarsener->how;
        size_t n_items = 0;

        for (size_t i = 0; i < n; i++)
                if (rows[i].key.flags != GONE)
                        coarsener->items[n_items++] = (Item){
                                .row = &rows[i],
                                .is_fixed = how->is_elsewhere &&
                                            how->is_elsewhere(how->userdata, &rows[i].key),
                        };
        return n_items;
}

/* Rows, and the paths of their cgroups. Leaves the items in the order of these. */
static uint64_t measure(const Coarsener *coarsener, size_t n) {
        Item *items = coarsener->items;
        uint64_t room = n;

        qsort(items, n, sizeof(*items), compare_cgroups);
        for (size_t i = 0; i < n; i++)
                if (i == 0 || compare_cgroups(&items[i - 1], &items[i]) != 0)
                        room += path_room(coarsener->how, items[i].row->key.cgroup);
        return room;
}

static bool is_free(const Item *item, uint64_t grew_before_ns) {
        return !item->is_fixed && item->row->values.grew_ns < grew_before_ns;
}

/* Rows of the same target become one; what stays as it is keeps its own. */
static size_t merge(Coarsener *coarsener, size_t n) {
        Item *items = coarsener->items;
        size_t n_left = 0;

        qsort(items, n, sizeof(*items), compare_targets);
        for (size_t i = 0; i < n; i++) {
                LedgerRow *row = items[i].row, *into = n_left > 0 ? items[n_left - 1].row : NULL;

                /* A row that is folded for the first time counts itself. */
                if (!ledger_key_is_folded(&row->key) && ledger_key_is_folded(&items[i].target))
                        row->values.n_folded = 1;
                if (into && compare_targets(&items[n_left - 1], &items[i]) == 0) {
                        ledger_values_add(&into->values, &row->values);
                        row->key.flags = GONE;
                        continue;
                }
                row->key = items[i].target;
                items[n_left++] = items[i];
        }
        return n_left;
}

/*
 * One step: folds as many rows, from those that have not grown for longest, as it takes for the
 * owner to have at most @most. A row that would be alone in its target stays.
 */
static size_t fold_rows(Coarsener *coarsener, size_t n, uint64_t *room, uint64_t most,
                        bool (*forget)(LedgerKey *), uint64_t grew_before_ns) {
        Item *items = coarsener->items;
        size_t n_groups = 0;

        if (*room <= most)
                return n;
        for (size_t i = 0; i < n; i++) {
                items[i].target = items[i].row->key;
                if (is_free(&items[i], grew_before_ns) && !forget(&items[i].target))
                        items[i].target = items[i].row->key;
        }
        /* Rows of the same target become neighbours. */
        qsort(items, n, sizeof(*items), compare_targets);
        for (size_t i = 0; i < n; i++) {
                Group *group;

                if (i == 0 || compare_targets(&items[i - 1], &items[i]) != 0)
                        coarsener->groups[n_groups++] = (Group){};
                items[i].group = n_groups - 1;
                group = &coarsener->groups[items[i].group];
                group->n++;
                group->has_target =
                        group->has_target ||
                        memcmp(&items[i].target, &items[i].row->key, sizeof(LedgerKey)) == 0;
        }
        qsort(items, n, sizeof(*items), compare_growth);
        for (size_t i = 0; i < n; i++) {
                Group *group = &coarsener->groups[items[i].group];
                bool moves = memcmp(&items[i].target, &items[i].row->key, sizeof(LedgerKey)) != 0;

                if (moves && *room > most && group->n > 1) {
                        *room -= group->has_target;
                        group->has_target = true;
                } else
                        items[i].target = items[i].row->key;
        }
        return merge(coarsener, n);
}

static int compare_turns(const void *a, const void *b) {
        const Turn *x = a, *y = b;

        if (x->grew_ns != y->grew_ns)
                return x->grew_ns < y->grew_ns ? -1 : 1;
        return (x->group > y->group) - (x->group < y->group);
}

/* The last step takes whole cgroups, so that their paths go as well. */
static size_t fold_cgroups(Coarsener *coarsener, size_t n, uint64_t room, uint64_t most,
                           uint64_t grew_before_ns) {
        Item *items = coarsener->items;
        size_t n_groups = 0;

        if (room <= most)
                return n;
        /* Items of the same cgroup become neighbours. */
        qsort(items, n, sizeof(*items), compare_cgroups);
        for (size_t i = 0; i < n; i++) {
                const LedgerRow *row = items[i].row;
                Group *group;

                if (i == 0 || compare_cgroups(&items[i - 1], &items[i]) != 0)
                        coarsener->groups[n_groups++] = (Group){
                                .room = path_room(coarsener->how, row->key.cgroup),
                        };
                items[i].group = n_groups - 1;
                items[i].target = row->key;
                group = &coarsener->groups[n_groups - 1];
                if (row->key.flags & LEDGER_OVERFLOW)
                        continue;
                group->n++;
                group->n_left += !is_free(&items[i], grew_before_ns);
                group->grew_ns = MAX_OF(group->grew_ns, row->values.grew_ns);
        }
        for (size_t i = 0; i < n_groups; i++)
                coarsener->turns[i] = (Turn){ coarsener->groups[i].grew_ns, i };
        qsort(coarsener->turns, n_groups, sizeof(*coarsener->turns), compare_turns);
        room += 2; /* what they become part of, of our own and of others; these may be new rows */
        for (size_t i = 0; i < n_groups; i++) {
                Group *group = &coarsener->groups[coarsener->turns[i].group];

                group->goes = room > most;
                if (group->goes)
                        room -= group->n - group->n_left + (group->n_left == 0 ? group->room : 0);
        }
        for (size_t i = 0; i < n; i++)
                if (coarsener->groups[items[i].group].goes && is_free(&items[i], grew_before_ns))
                        forget_cgroup(&items[i].target);
        return merge(coarsener, n);
}

/* all owners */

typedef struct Share {
        LedgerRow *rows;
        size_t n;
        uint64_t room;
} Share;

/* @before_ns: rows that have grown since are left alone. */
static void reduce_share(Coarsener *coarsener, Share *share, uint64_t most, uint64_t before_ns) {
        size_t n = take_items(coarsener, share->rows, share->n);
        uint64_t room = measure(coarsener, n);

        n = fold_rows(coarsener, n, &room, most, forget_parent, before_ns);
        n = fold_rows(coarsener, n, &room, most, forget_numbers, before_ns);
        n = fold_rows(coarsener, n, &room, most, forget_names, before_ns);
        n = fold_cgroups(coarsener, n, room, most, before_ns);
        share->room = measure(coarsener, n);
}

static uint64_t sum_rooms(const Share *shares, size_t n, uint64_t level) {
        uint64_t sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += MIN_OF(shares[i].room, level);
        return sum;
}

/*
 * If rows must stay, others have to make more room. At last each owner has one row, or such as must
 * stay.
 */
static void fit(Coarsener *coarsener, LedgerRow *rows, size_t n, Share *shares, size_t n_shares) {
        const uint64_t max = coarsener->how->max_rows;
        uint64_t level = 0, high = max, room;

        /* Each owner may have so much for all of them to fit: whoever has less is left alone. */
        while (level < high) {
                uint64_t middle = level + (high - level + 1) / 2;

                if (sum_rooms(shares, n_shares, middle) <= max)
                        level = middle;
                else
                        high = middle - 1;
        }
        while ((room = sum_rooms(shares, n_shares, UINT64_MAX)) > max) {
                for (size_t i = 0; i < n_shares; i++)
                        if (shares[i].room > level)
                                reduce_share(coarsener, &shares[i], level, UINT64_MAX);
                if (level == 0)
                        break;
                level /= 2;
        }
        room = sum_rooms(shares, n_shares, UINT64_MAX);
        (void) fold_rows(coarsener, take_items(coarsener, rows, n), &room, max, forget_owner,
                         UINT64_MAX);
}

int ledger_rows_coarsen(LedgerRow *rows, size_t *n, const LedgerCoarsening *how) {
        _cleanup_(coarsener_done) Coarsener coarsener = {
                .how = how,
                .items = calloc(*n + 1, sizeof(*coarsener.items)),
                .groups = calloc(*n + 1, sizeof(*coarsener.groups)),
                .turns = calloc(*n + 1, sizeof(*coarsener.turns)),
        };
        _cleanup_(freep) Share *shares = calloc(*n + 1, sizeof(*shares));
        size_t n_shares = 0, n_left = 0;

        if (!coarsener.items || !coarsener.groups || !coarsener.turns || !shares)
                return -ENOMEM;
        qsort(rows, *n, sizeof(*rows), compare_owners);
        for (size_t i = 0; i < *n; i++) {
                if (i == 0 || compare_owners(&rows[i - 1], &rows[i]) != 0)
                        shares[n_shares++].rows = &rows[i];
                shares[n_shares - 1].n++;
        }
        for (size_t i = 0; i < n_shares; i++) {
                uint64_t share = ledger_rows_share(shares[i].rows[0].key.owner, how->max_rows);

                reduce_share(&coarsener, &shares[i], share / 4, how->idle_since_ns);
                if (shares[i].room > share)
                        reduce_share(&coarsener, &shares[i], share, UINT64_MAX);
        }
        fit(&coarsener, rows, *n, shares, n_shares);
        for (size_t i = 0; i < *n; i++)
                if (rows[i].key.flags != GONE) {
                        if (n_left != i)
                                rows[n_left] = rows[i];
                        n_left++;
                }
        *n = n_left;
        return 0;
}

/* what was lost */

static int compare_losses(const void *a, const void *b) {
        const LedgerLoss *x = a, *y = b;
        uint64_t of_x = x->n_folded + x->n_overflow, of_y = y->n_folded + y->n_overflow;

        if (of_x != of_y)
                return of_x < of_y ? 1 : -1;
        return (x->owner > y->owner) - (x->owner < y->owner);
}

static void add_loss(LedgerLoss *loss, const LedgerLoss *other) {
        loss->n_folded += other->n_folded;
        loss->n_overflow += other->n_overflow;
        loss->grew_ns = MAX_OF(loss->grew_ns, other->grew_ns);
}

static int compare_loss_owners(const void *a, const void *b) {
        const LedgerLoss *x = a, *y = b;

        return (x->owner > y->owner) - (x->owner < y->owner);
}

int ledger_rows_losses(const LedgerRow *rows, size_t n, LedgerLoss ret[static LEDGER_MAX_LOSSES],
                       size_t *ret_n) {
        _cleanup_(freep) LedgerLoss *all = calloc(n + 1, sizeof(*all));
        size_t n_all = 0, n_owners = 0;

        if (!all)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (ledger_key_is_folded(&rows[i].key) && rows[i].values.grew_ns != 0)
                        all[n_all++] = (LedgerLoss){
                                .owner = rows[i].key.owner,
                                .n_folded = rows[i].values.n_folded,
                                .n_overflow = rows[i].values.n_overflow,
                                .grew_ns = rows[i].values.grew_ns,
                        };
        qsort(all, n_all, sizeof(*all), compare_loss_owners);
        for (size_t i = 0; i < n_all; i++)
                if (n_owners > 0 && all[n_owners - 1].owner == all[i].owner)
                        add_loss(&all[n_owners - 1], &all[i]);
                else
                        all[n_owners++] = all[i];
        qsort(all, n_owners, sizeof(*all), compare_losses);
        for (size_t i = LEDGER_MAX_LOSSES; i < n_owners; i++)
                add_loss(&all[LEDGER_MAX_LOSSES - 1], &all[i]);
        if (n_owners > LEDGER_MAX_LOSSES)
                all[LEDGER_MAX_LOSSES - 1].owner = LEDGER_OTHERS;
        *ret_n = MIN_OF(n_owners, (size_t) LEDGER_MAX_LOSSES);
        memcpy(ret, all, *ret_n * sizeof(*all));
        return 0;
}
