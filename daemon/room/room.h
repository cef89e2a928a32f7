/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Room
 *
 * The side that asks another process questions, which it trusts with the answer and with nothing
 * else. The other side is had when there is the first question, and whatever becomes of it (it
 * never comes, dies, hangs, talks nonsense) costs the questions alone: each has a deadline. Answers
 * are checked for their form; what is in them is still what a stranger made of a stranger's things.
 *
 * A question is a RoomAsked with what belongs to it, and a descriptor where it is about a file; the
 * answer is a RoomAnswered and, where its result is 0, the bytes that the question is for. Each is
 * one message of a SOCK_SEQPACKET pair, and they take turns.
 *
 * Several threads may ask, also such as have got descriptor tables of their own since the room was
 * made; their questions wait for each other. After one that was late the next is not sent before
 * its answer came, so there is never more than one on its way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

typedef struct RoomAsked {
        uint32_t id; /* comes back with the answer */
        uint32_t question;
} RoomAsked;

typedef struct RoomAnswered {
        uint32_t id;
        int32_t result; /* 0, or why there is no answer: -errno */
} RoomAnswered;

typedef struct Room Room;

enum {
        ROOM_OK,
        ROOM_E_LATE,   /* no answer by the deadline, or two are late already */
        ROOM_E_GONE,   /* nobody answers, now and later */
        ROOM_E_UNABLE, /* it could not be asked now: no descriptor or memory is left */
};

typedef struct RoomTerms {
        size_t max_answer_bytes; /* behind the RoomAnswered */
        /* True when an answer to @question can be @n bytes long. */
        bool (*fits)(uint32_t question, size_t n);
        /*
         * Called once, by room_begin() or at the first question, to get @peer_fd, which it consumes
         * in any case, to somebody who runs room_serve() on it. 0, or -errno when there is nobody.
         */
        int (*open)(void *userdata, int peer_fd);
        void *userdata;
} RoomTerms;

_must_check_ int room_new(const RoomTerms *terms, Room **ret);
/*
 * Has the other side come now, without waiting for it: a question is coming. For the thread that
 * made the room.
 */
void room_begin(Room *room);
/* After the last question of any thread. The other side sees that nobody asks any more. */
Room *room_free(Room *room);
DEFINE_CLEANUP(Room *, room_free);

/* The side that asks knows its question by this; nobody else looks into it. */
typedef struct RoomTag {
        uint64_t words[5];
} RoomTag;

typedef struct RoomQuestion {
        uint32_t question;
        RoomTag tag;
        Span body; /* sent behind the RoomAsked */
        int fd;    /* borrowed: a duplicate is sent; negative: none */
} RoomQuestion;

/*
 * @deadline_ns: CLOCK_MONOTONIC; @ret has room for the longest answer. 0, ROOM_E_*, or the -errno
 * that the other side says, and only that: it is about what was asked.
 */
_must_check_ int room_ask(Room *room, const RoomQuestion *question, uint64_t deadline_ns, void *ret,
                          size_t *ret_n);

/*
 * Gives the answer to the last question that was late, once, waiting for it until @deadline_ns. 0;
 * ROOM_E_LATE when it has not come, or no question is late; ROOM_E_GONE, _UNABLE; or the -errno
 * that the other side says.
 */
_must_check_ int room_take_late(Room *room, uint64_t deadline_ns, RoomTag *ret_tag,
                                uint32_t *ret_question, void *ret, size_t *ret_n);

/* the side that answers: a job, or a thread of a test */

#define ROOM_SERVER_MAX_FDS 2

typedef struct RoomCall {
        uint32_t question;
        Span body;
        const int *fds; /* borrowed: those that came */
        size_t n_fds;
} RoomCall;

typedef struct RoomService {
        size_t max_body_bytes, max_answer_bytes;
        unsigned max_fds; /* ROOM_SERVER_MAX_FDS at most; more that come are closed */
        /* @ret has room for the longest answer and is zeroed. 0 or the -errno to answer. */
        int (*answer)(void *userdata, const RoomCall *call, void *ret, size_t *ret_n);
        void *userdata;
} RoomService;

/*
 * Answers one question after the other, until the other side closes its end: 0. -EBADMSG when that
 * side sends something else, -errno when the socket fails. @socket_fd is borrowed.
 */
_must_check_ int room_serve(int socket_fd, const RoomService *service);
