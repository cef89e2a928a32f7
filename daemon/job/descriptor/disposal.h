/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Disposal
 *
 * How a process that must never wait closes descriptors that somebody else sent. Each close(2) asks
 * the file system to flush, and closing the last descriptor of a socket may linger: both take as
 * long as the maker of the file wants. So children do it, which share the descriptor table of their
 * parent. There is one child at a time for each user, so that a user's descriptors delay only each
 * other.
 */

#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "wire/frame-keeper.h"

typedef struct Disposal Disposal;

/* Blocks SIGCHLD for good: the event loop takes it instead. */
_must_check_ int disposal_new(sd_event *event, Disposal **ret);
/* Starts to close the descriptors that are left, and waits for that for a moment at most. */
Disposal *disposal_free(Disposal *disposal);
DEFINE_CLEANUP(Disposal *, disposal_free);

/* @fd came from @uid: from now on only disposal_close() may close it. */
void disposal_note(Disposal *disposal, int fd, uid_t uid);
/* As fd_close(), but a descriptor that was noted is closed soon, by a child. */
int disposal_close(Disposal *disposal, int fd);
/* The same for a connected socket: bytes that were not read from it may hold descriptors. */
int disposal_close_socket(Disposal *disposal, int fd);

/* The keeper of a stream with a peer: descriptors from there belong to that user. */
typedef struct DisposalKeeper {
        FrameKeeper keeper;
        Disposal *disposal; /* borrowed */
        uid_t uid;
} DisposalKeeper;

/* @keeper must not move while a stream uses it. */
void disposal_keeper_init(DisposalKeeper *keeper, Disposal *disposal, uid_t uid);

/* Descriptors of @uid that wait to be closed. */
size_t disposal_n_pending(const Disposal *disposal, uid_t uid);
/* Children at work. */
unsigned disposal_n_children(const Disposal *disposal);
