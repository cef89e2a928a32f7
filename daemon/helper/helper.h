/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Helper
 *
 * Another process that answers questions, as the side that asks sees it: it trusts the helper with
 * the answer and with nothing else. A helper is started for the first question, and whatever
 * becomes of it (it never comes, dies, hangs, talks nonsense) costs the questions alone: each has a
 * deadline. Answers are checked for their form; what is in them is still what a stranger made of a
 * stranger's things.
 *
 * A question is a HelperAsked with what belongs to it, and a descriptor where it is about a file;
 * the answer is a HelperAnswered and, where its result is 0, the bytes that the question is for.
 * Each is one message of a SOCK_SEQPACKET pair, and they take turns.
 *
 * Several threads may ask, also such as have got descriptor tables of their own since the helper
 * was made; their questions wait for each other. After one that was late the next is not sent
 * before its answer came, so there is never more than one on its way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

typedef struct HelperAsked {
        uint32_t id; /* comes back with the answer */
        uint32_t question;
} HelperAsked;

typedef struct HelperAnswered {
        uint32_t id;
        int32_t result; /* 0, or why there is no answer: -errno */
} HelperAnswered;

typedef struct Helper Helper;

enum {
        HELPER_OK,
        HELPER_E_LATE,   /* no answer by the deadline, or two are late already */
        HELPER_E_GONE,   /* nobody answers, now and later */
        HELPER_E_UNABLE, /* it could not be asked now: no descriptor or memory is left */
};

typedef struct HelperTerms {
        size_t max_answer_bytes; /* behind the HelperAnswered */
        /* True when an answer to @question can be @n bytes long. */
        bool (*fits)(uint32_t question, size_t n);
        /*
         * Called once, by helper_begin() or at the first question, to get @peer_fd, which it
         * consumes in any case, to somebody who runs helper_serve() on it. 0, or -errno when there
         * is nobody.
         */
        int (*open)(void *userdata, int peer_fd);
        void *userdata;
} HelperTerms;

_must_check_ int helper_new(const HelperTerms *terms, Helper **ret);
/*
 * Has the other side come now, without waiting for it: a question is coming. For the thread that
 * made the helper.
 */
void helper_begin(Helper *helper);
/* After the last question of any thread. The other side sees that nobody asks any more. */
Helper *helper_free(Helper *helper);
DEFINE_CLEANUP(Helper *, helper_free);

/* The side that asks knows its question by this; nobody else looks into it. */
typedef struct HelperTag {
        uint64_t words[5];
} HelperTag;

typedef struct HelperQuestion {
        uint32_t question;
        HelperTag tag;
        Span body; /* sent behind the HelperAsked */
        int fd;    /* borrowed: a duplicate is sent; negative: none */
} HelperQuestion;

/*
 * @deadline_ns: CLOCK_MONOTONIC; @ret has room for the longest answer. 0, HELPER_E_*, or the -errno
 * that the other side says, and only that: it is about what was asked.
 */
_must_check_ int helper_ask(Helper *helper, const HelperQuestion *question, uint64_t deadline_ns,
                            void *ret, size_t *ret_n);

/*
 * Gives the answer to the last question that was late, once, waiting for it until @deadline_ns. 0;
 * HELPER_E_LATE when it has not come, or no question is late; HELPER_E_GONE, _UNABLE; or the -errno
 * that the other side says.
 */
_must_check_ int helper_take_late(Helper *helper, uint64_t deadline_ns, HelperTag *ret_tag,
                                  uint32_t *ret_question, void *ret, size_t *ret_n);

/* the side that answers: a job, or a thread of a test */

#define HELPER_SERVER_MAX_FDS 2

typedef struct HelperCall {
        uint32_t question;
        Span body;
        const int *fds; /* borrowed: those that came */
        size_t n_fds;
} HelperCall;

typedef struct HelperService {
        size_t max_body_bytes, max_answer_bytes;
        unsigned max_fds; /* HELPER_SERVER_MAX_FDS at most; more that come are closed */
        /* @ret has room for the longest answer and is zeroed. 0 or the -errno to answer. */
        int (*answer)(void *userdata, const HelperCall *call, void *ret, size_t *ret_n);
        void *userdata;
} HelperService;

/*
 * Answers one question after the other, until the other side closes its end: 0. -EBADMSG when that
 * side sends something else, -errno when the socket fails. @socket_fd is borrowed.
 */
_must_check_ int helper_serve(int socket_fd, const HelperService *service);
