/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/wait-shift.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/key/thread-group.h"

/* What is told: so many seconds in each second, and such a share of what the part was at most. */
#define LEAST_SHIFT 0.05
#define LEAST_SHARE 0.1
/* One that may be idleness is told of a group only if it is so much larger. */
#define PREFERENCE 1.25

/* Parts of an account: these, and the reasons apart. */
enum {
        PART_RUNNING = WAIT_REASONS_APART_MAX,
        PART_WAITING,
        PART_STORAGE,
        PART_BLOCKED,
        _PART_APART_MAX,
        PART_SYNC = _PART_APART_MAX, /* of the two above it */
        _PART_MAX,
};

#define NAME_OF_REASON(reason, text, ...) [WAIT_REASON_##reason] = #reason,
static const char *const part_names[_PART_MAX] = {
        WAIT_REASONS_APART(NAME_OF_REASON)[PART_STORAGE] = "storage",
        [PART_BLOCKED] = "uninterruptible",
        [PART_SYNC] = "sync",
};

typedef struct Shift {
        const Group *group;
        unsigned part;
        uint64_t ns[SIDES]; /* of the part */
        uint64_t threads;   /* at the end of the second interval */
        double moved;       /* seconds in each second */
} Shift;

static bool is_chosen_by_nobody(unsigned part) {
        return part == WAIT_REASON_lock || part >= PART_STORAGE;
}

static Amount part_of(const Account *account, unsigned part) {
        switch (part) {
        case PART_RUNNING:
                return account->running_ns;
        case PART_WAITING:
                return account->waiting_ns;
        case PART_STORAGE:
                return account->storage_ns;
        case PART_BLOCKED:
                return account->blocked_ns;
        case PART_SYNC:
                return account->sync_ns;
        }
        return account->reasons_ns[part];
}

/* The shift of a group; false: there is none that is worth telling. */
static bool find_shift(const Group *group, Shift *ret) {
        double changes[_PART_MAX], gained = 0, lost = 0, most = 0, elapsed_ns[SIDES];
        Account accounts[SIDES];

        if (!group->has_program)
                return false;
        for (unsigned i = 0; i < SIDES; i++) {
                elapsed_ns[i] = (double) period_elapsed_ns(&group->columns->of[i].period).n;
                if (!(elapsed_ns[i] > 0) || !group_account(group, i, FIGURES_CUT, &accounts[i]) ||
                    accounts[i].no_reasons)
                        return false;
        }
        for (unsigned part = 0; part < _PART_MAX; part++) {
                Amount a = part_of(&accounts[0], part), b = part_of(&accounts[1], part);

                changes[part] = 0; /* unless both sides are known */
                if (a.known && b.known)
                        changes[part] = (double) b.n / elapsed_ns[1] - (double) a.n / elapsed_ns[0];
                if (part >= _PART_APART_MAX)
                        continue;
                gained += fmax(0, changes[part]);
                lost += fmax(0, -changes[part]);
        }
        for (unsigned part = 0; part < _PART_MAX; part++) {
                double a = (double) part_of(&accounts[0], part).n / elapsed_ns[0];
                double b = (double) part_of(&accounts[1], part).n / elapsed_ns[1];
                double moved = changes[part] > 0 ? fmin(changes[part], lost)
                                                 : fmin(-changes[part], gained);
                double rank = is_chosen_by_nobody(part) ? moved * PREFERENCE : moved;

                if (!part_names[part] || part == WAIT_REASON_idle || moved < LEAST_SHIFT ||
                    moved < LEAST_SHARE * fmax(a, b) || rank <= most ||
                    (changes[part] < 0 && !is_chosen_by_nobody(part)))
                        continue;
                /* Most of it was in calls that sync, which are told of as such. */
                if ((part == PART_STORAGE || part == PART_BLOCKED) &&
                    fabs(changes[PART_SYNC]) > fabs(changes[part]) / 2)
                        continue;
                most = rank;
                *ret = (Shift){ .group = group,
                                .part = part,
                                .ns = { part_of(&accounts[0], part).n,
                                        part_of(&accounts[1], part).n },
                                .threads = accounts[1].threads,
                                .moved = moved };
        }
        return most > 0;
}

static int compare_shifts(const void *a, const void *b) {
        const Shift *first = a, *second = b;
        bool chosen[] = { is_chosen_by_nobody(first->part), is_chosen_by_nobody(second->part) };

        if (chosen[0] != chosen[1])
                return chosen[0] ? -1 : 1;
        if (first->moved > second->moved || first->moved < second->moved)
                return first->moved > second->moved ? -1 : 1;
        return (first->group->index > second->group->index) -
               (first->group->index < second->group->index);
}

int wait_shifts_write(JsonWriter *writer, const GroupTable *table, const View *view) {
        Shift *shifts = calloc(table->n_groups + 1, sizeof(*shifts)); /* calloc(0) may be NULL */
        size_t n = 0;

        if (!shifts)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_groups; i++)
                if (!group_is_empty(table->groups[i]) && group_passes(table->groups[i], view))
                        n += find_shift(table->groups[i], &shifts[n]);
        qsort(shifts, n, sizeof(*shifts), compare_shifts);
        json_write_array(writer);
        for (size_t i = 0; i < n && i < WAIT_SHIFTS_MAX; i++) {
                json_write_object(writer);
                group_write_names(writer, shifts[i].group, view->axis);
                json_write_member_text(writer, "reason", part_names[shifts[i].part]);
                json_write_member_u64(writer, "aNs", shifts[i].ns[0]);
                json_write_member_u64(writer, "bNs", shifts[i].ns[1]);
                json_write_member_u64(writer, "threads", shifts[i].threads);
                json_write_end(writer);
        }
        json_write_end(writer);
        free(shifts);
        return 0;
}
