/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "user/user.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "wire/limits.h"

/* limits */

UserLimits user_default_limits(uint64_t n_readers) {
        /* If there is more than one place, one user cannot take them all. */
        uint64_t n_of_user = n_readers > 1 ? n_readers - 1 : 1;
        UserLimits limits;

        for (unsigned use = 0; use < _USE_MAX; use++)
                limits.of_user[use] = limits.of_all[use] = UINT64_MAX;
        limits.of_user[USE_CONNECTIONS] = LIMIT_CONNECTIONS_PER_UID;
        limits.of_all[USE_CONNECTIONS] = LIMIT_CONNECTIONS;
        limits.of_user[USE_BYTES] = LIMIT_BYTES_PER_UID;
        limits.of_all[USE_BYTES] = LIMIT_BYTES;
        limits.of_user[USE_CLOSING] = LIMIT_FDS_CLOSING_PER_UID;
        limits.of_user[USE_HELD] = LIMIT_HELD_BYTES_PER_UID;
        limits.of_all[USE_HELD] = LIMIT_HELD_BYTES;
        limits.of_user[USE_STUCK] = LIMIT_STUCK_JOBS_PER_UID;
        limits.of_all[USE_STUCK] = LIMIT_STUCK_JOBS_OF_ALL;
        for (unsigned queue = 0; queue < _QUEUE_KIND_MAX; queue++) {
                limits.of_user[USE_RUNNING + queue] = limits.of_all[USE_RUNNING + queue] = 1;
                limits.of_all[USE_RESTING + queue] = 1;
                limits.of_user[USE_WAITING + queue] = LIMIT_ANALYSES_WAITING_PER_UID;
                limits.of_all[USE_WAITING + queue] = LIMIT_ANALYSES_WAITING;
        }
        limits.of_user[USE_WAITING + QUEUE_ADDING] = LIMIT_CAPTURES_WAITING_PER_UID;
        limits.of_all[USE_WAITING + QUEUE_ADDING] = LIMIT_CAPTURES_WAITING;
        limits.of_user[USE_RUNNING + QUEUE_READING] = n_of_user;
        limits.of_all[USE_RUNNING + QUEUE_READING] = n_readers;
        limits.of_all[USE_RESTING + QUEUE_READING] = n_readers;
        /* As many requests may rest as may run, hence twice as many. */
        limits.of_user[USE_HANGABLE] = MAX_OF((uint64_t) LIMIT_STUCK_JOBS_PER_UID, n_of_user);
        limits.of_all[USE_HANGABLE] = MAX_OF((uint64_t) LIMIT_STUCK_JOBS, 2 * n_readers);
        return limits;
}

/* sums */

static User *find(const Users *users, uid_t uid) {
        User *user = users->first;

        while (user && user->uid != uid)
                user = user->next;
        return user;
}

uint64_t users_count(const Users *users, uid_t uid, Use use) {
        const User *user = find(users, uid);

        return user ? user->n[use] : 0;
}

bool users_have_room(const Users *users, Use use, uint64_t n) {
        uint64_t limit = users->limits.of_all[use], n_held = users->n[use];

        /*
         * The bounds of all users leave out requests that rest, which have no place but count for
         * their user, and jobs that are known to hang, which have a bound of their own.
         */
        if (use >= USE_RUNNING && use < USE_RESTING)
                n_held -= users->n[use - USE_RUNNING + USE_RESTING];
        else if (use == USE_HANGABLE)
                n_held -= users->n[USE_STUCK];
        return n_held <= limit && n <= limit - n_held;
}

int users_ask(const Users *users, uid_t uid, Use use, uint64_t n) {
        uint64_t limit = users->limits.of_user[use], n_held = users_count(users, uid, use);
        bool is_user = n_held > limit || n > limit - n_held;
        bool is_all = !users_have_room(users, use, n);

        if (use == USE_CONNECTIONS) {
                /* Closing some of its own would not let this user in. */
                is_user &= !is_all;
        } else if (use == USE_BYTES) {
                /* Past the bound of all, the connection that holds most ends: see server.h. */
                is_all = false;
        } else if (use == USE_STUCK) {
                /*
                 * Jobs hang in files of their user. The bound on hanging jobs of all users together
                 * is so high that a few users cannot lock out the others. The others are refused
                 * only when the memory that hanging jobs keep is too much for the host.
                 */
                is_user |= n_held > 0 && users->n[use] >= LIMIT_STUCK_JOBS;
        }
        if (is_user)
                return USER_E_FULL_FOR_USER;
        return is_all ? USER_E_FULL : USER_OK;
}

/* life */

int users_new(const UserLimits *limits, Users **ret) {
        Users *users = calloc(1, sizeof(*users));

        if (!users)
                return -ENOMEM;
        users->limits = *limits;
        *ret = users;
        return 0;
}

Users *users_free(Users *users) {
        if (!users)
                return NULL;
        while (users->first) {
                User *user = users->first;

                assert(user->n_charges == 0);
                users->first = user->next;
                free(user);
        }
        free(users);
        return NULL;
}

/* Forgets the user whose last turn is longest ago, of those without a charge. */
static void forget_one(Users *users) {
        User **oldest = NULL, *user;
        uint64_t oldest_turn = 0;

        for (User **link = &users->first; *link; link = &(*link)->next) {
                uint64_t latest = 0;

                for (unsigned queue = 0; queue < _QUEUE_KIND_MAX; queue++)
                        latest = MAX_OF(latest, (*link)->last_turn[queue]);
                if ((*link)->n_charges > 0 || (oldest && latest >= oldest_turn))
                        continue;
                oldest = link;
                oldest_turn = latest;
        }
        if (!oldest)
                return;
        user = *oldest;
        *oldest = user->next;
        users->n_idle--;
        free(user);
}

int charge_begin(Charge *charge, Users *users, uid_t uid, Use use, uint64_t n) {
        User *user = find(users, uid);

        assert(!charge->user);
        if (!user) {
                user = calloc(1, sizeof(*user));
                if (!user)
                        return -ENOMEM;
                if (users->n_idle >= LIMIT_REMEMBERED_USERS)
                        forget_one(users);
                user->users = users;
                user->uid = uid;
                user->next = users->first;
                users->first = user;
                users->n_idle++;
        }
        if (user->n_charges++ == 0)
                users->n_idle--;
        *charge = (Charge){ .user = user, .use = use };
        charge_set(charge, n);
        return 0;
}

void charge_set(Charge *charge, uint64_t n) {
        User *user = charge->user;

        if (!user)
                return;
        /* Unsigned sums come out right where the difference is negative, too. */
        user->n[charge->use] += n - charge->n;
        user->users->n[charge->use] += n - charge->n;
        charge->n = n;
}

void charge_end(Charge *charge) {
        User *user = charge->user;

        if (!user)
                return;
        charge_set(charge, 0);
        if (--user->n_charges == 0)
                user->users->n_idle++;
        *charge = (Charge){};
}
