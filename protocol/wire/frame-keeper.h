/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FrameKeeper
 *
 * Lets a FrameStream close descriptors when its owner must not wait in close(2): a descriptor that
 * came from a peer can be a file that somebody else serves. Without a keeper descriptors are closed
 * at once.
 */

#include "base/cleanup.h"

typedef struct FrameKeeper {
        /* The descriptor came from the peer. */
        void (*note)(int fd, void *userdata);
        /* The descriptor came and was not taken, or it was queued and is sent or dropped. */
        void (*close)(int fd, void *userdata);
        /* Closes the stream's own socket. Bytes that were not read from it may hold descriptors. */
        void (*close_socket)(int fd, void *userdata);
        void *userdata;
} FrameKeeper;

static inline void frame_keeper_close(const FrameKeeper *keeper, int fd) {
        if (!keeper)
                (void) fd_close(fd);
        else if (fd >= 0)
                keeper->close(fd, keeper->userdata);
}
