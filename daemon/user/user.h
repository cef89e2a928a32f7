/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Users
 *
 * Counts what the daemon has under way for each user, and knows how much of it one user and all of
 * them may have. A user is a uid. Whatever a user can multiply holds a Charge, which begins and
 * ends with it and follows its size; so sums are always those of the things that exist. users_ask()
 * is the one place that says no. Whoever asked says it in words, and decides what follows: a
 * newcomer is refused, a call is answered with an error, a connection ends, or a request waits.
 *
 * A user is known while it has charges, and LIMIT_REMEMBERED_USERS are remembered afterwards, so
 * that coming back is no way to the front of a queue.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"

/* The queues of requests: for jobs that add to the spool, that read, that change what is there. */
typedef enum QueueKind {
        QUEUE_ADDING,
        QUEUE_RECORDING, /* one, beside what is added */
        QUEUE_READING,
        QUEUE_CHANGING,
        QUEUE_SURVEYING, /* the spool, for the index: our own requests only */
        QUEUE_LOADING,   /* programs into the kernel, and what tells about them meanwhile */
        _QUEUE_KIND_MAX,
} QueueKind;

/* These are counted. */
typedef enum Use {
        USE_CONNECTIONS,
        USE_BYTES,    /* everything that is kept for connections */
        USE_UNREAD,   /* the part of these bytes that are replies which were not read yet */
        USE_CLOSING,  /* descriptors that were sent and wait to be closed */
        USE_HELD,     /* bytes of files in memory that callers have open, or may get */
        USE_HANGABLE, /* jobs that hang, or could come to hang in a file that a caller sent */
        USE_STUCK,    /* the jobs among these that SIGKILL did not end */
        /* These are followed by those of the other queues, in the order of QueueKind. */
        USE_RUNNING,                                 /* requests that have a place */
        USE_RESTING = USE_RUNNING + _QUEUE_KIND_MAX, /* those of them that gave it up for now */
        USE_WAITING = USE_RESTING + _QUEUE_KIND_MAX, /* requests that wait for a place */
        _USE_MAX = USE_WAITING + _QUEUE_KIND_MAX,
} Use;

/* UINT64_MAX: there is no bound. */
typedef struct UserLimits {
        uint64_t of_user[_USE_MAX];
        uint64_t of_all[_USE_MAX];
} UserLimits;

typedef struct Users Users;

typedef struct User {
        struct User *next;
        Users *users;
        uid_t uid;
        unsigned n_charges;
        uint64_t n[_USE_MAX];
        uint64_t last_turn[_QUEUE_KIND_MAX]; /* later ones have larger numbers; 0: it had none */
} User;

struct Users {
        UserLimits limits; /* charges stay, also where they are more than new limits allow */
        User *first;
        unsigned n_idle; /* users without a charge */
        uint64_t n[_USE_MAX];
        uint64_t n_turns; /* the number of the last turn in any queue */
};

enum {
        USER_OK,
        USER_E_FULL,          /* all users together have too much */
        USER_E_FULL_FOR_USER, /* this one has */
};

/* The bounds of wire/limits.h; @n_readers requests may read at the same time. */
UserLimits user_default_limits(uint64_t n_readers);

_must_check_ int users_new(const UserLimits *limits, Users **ret);
/* After the last charge has ended. */
Users *users_free(Users *users);

/* Asks for @n more of it; with 0, if @uid is not past the bounds. USER_OK, USER_E_*. */
_must_check_ int users_ask(const Users *users, uid_t uid, Use use, uint64_t n);
/* True when all users together may have @n more. */
bool users_have_room(const Users *users, Use use, uint64_t n);
uint64_t users_count(const Users *users, uid_t uid, Use use);

/* A member of what it counts; all zeros when nothing is charged. It may be moved. */
typedef struct Charge {
        User *user;
        Use use; /* another one may be set while @n is 0 */
        uint64_t n;
} Charge;

/* -ENOMEM, and then nothing is charged. */
_must_check_ int charge_begin(Charge *charge, Users *users, uid_t uid, Use use, uint64_t n);
/* Follows the size of what it counts; does nothing when nothing is charged. */
void charge_set(Charge *charge, uint64_t n);
/* Does nothing when it has ended. */
void charge_end(Charge *charge);
