/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Disposal
 *
 * How a process that never waits gets rid of descriptors that somebody else sent. close(2) asks the
 * file system to flush, each time, and the last one to let go of a socket may linger in it: whoever
 * made the file decides how long either takes. So children close them, which share the table of
 * descriptors with their parent: one child at a time for the descriptors of one user, so that only
 * they wait for each other.
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
/* Starts to close what is left and waits a moment for it, not more. */
Disposal *disposal_free(Disposal *disposal);
DEFINE_CLEANUP(Disposal *, disposal_free);

/* @fd came from @uid: from now on only disposal_close() may close it. */
void disposal_note(Disposal *disposal, int fd, uid_t uid);
/* As fd_close(): at once what is ours, soon and elsewhere what was noted. */
int disposal_close(Disposal *disposal, int fd);
/* The same for a connected socket: what was not read from it may hold descriptors too. */
int disposal_close_socket(Disposal *disposal, int fd);

/* The keeper of a stream with a peer: what comes from there is of that user. */
typedef struct DisposalKeeper {
        FrameKeeper keeper;
        Disposal *disposal; /* borrowed */
        uid_t uid;
} DisposalKeeper;

/* @keeper stays where it is for as long as a stream has it. */
void disposal_keeper_init(DisposalKeeper *keeper, Disposal *disposal, uid_t uid);

/* Descriptors of @uid that wait for their end. */
size_t disposal_n_pending(const Disposal *disposal, uid_t uid);
/* Children at work. */
unsigned disposal_n_children(const Disposal *disposal);
