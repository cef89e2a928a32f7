/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FrameKeeper
 *
 * How a FrameStream lets go of descriptors, for owners to whom close(2) may be a wait: what came
 * from a peer can be a file that somebody else serves. Without a keeper they are simply closed.
 */

#include "base/cleanup.h"

typedef struct FrameKeeper {
        /* Came from the peer. */
        void (*note)(int fd, void *userdata);
        /* Came and was not taken, or was queued: sent by now, or never. */
        void (*close)(int fd, void *userdata);
        /* The stream's own; what was not read from it may hold descriptors. */
        void (*close_socket)(int fd, void *userdata);
        void *userdata;
} FrameKeeper;

static inline void frame_keeper_note(const FrameKeeper *keeper, int fd) {
        if (keeper)
                keeper->note(fd, keeper->userdata);
}

static inline void frame_keeper_close(const FrameKeeper *keeper, int fd) {
        if (!keeper)
                (void) fd_close(fd);
        else if (fd >= 0)
                keeper->close(fd, keeper->userdata);
}

static inline void frame_keeper_close_socket(const FrameKeeper *keeper, int fd) {
        if (!keeper)
                (void) fd_close(fd);
        else if (fd >= 0)
                keeper->close_socket(fd, keeper->userdata);
}
