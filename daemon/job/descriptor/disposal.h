/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Disposal
 *
 * Closes descriptors that somebody else sent, for a process that must never wait. Each close(2)
 * asks the file system to flush, and closing the last descriptor of a socket may linger: whoever
 * made the file decides how long either takes. Therefore children close them, which share the
 * descriptor table of their parent. Each user has one child at a time, so that a user's descriptors
 * delay only each other.
 */

#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "user/user.h"
#include "wire/frame.h"

typedef struct Disposal Disposal;

/*
 * Blocks SIGCHLD for good, because the event loop handles it. @event and @users are borrowed; what
 * waits to be closed is charged to whoever sent it.
 */
_must_check_ int disposal_new(sd_event *event, Users *users, Disposal **ret);
/* Begins to close the remaining descriptors and waits a moment at most for that to finish. */
Disposal *disposal_free(Disposal *disposal);
DEFINE_CLEANUP(Disposal *, disposal_free);

/* As fd_close(), but a child closes a descriptor that a keeper noted, soon afterwards. */
int disposal_close(Disposal *disposal, int fd);
/* The same for a connected socket: bytes that were not read from it may hold descriptors. */
int disposal_close_socket(Disposal *disposal, int fd);

/*
 * The keeper of a stream whose peer is @uid: it notes descriptors from there as theirs. From then
 * on only disposal_close() may close them.
 */
typedef struct DisposalKeeper {
        FrameKeeper keeper;
        Disposal *disposal; /* borrowed */
        uid_t uid;
} DisposalKeeper;

/* @keeper must not move while a stream uses it. */
void disposal_keeper_init(DisposalKeeper *keeper, Disposal *disposal, uid_t uid);

/* How many children are closing descriptors. */
unsigned disposal_n_children(const Disposal *disposal);
