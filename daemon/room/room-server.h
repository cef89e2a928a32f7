/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RoomServer
 *
 * The side that answers the questions of a Room: a job, or a thread of a test.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

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
