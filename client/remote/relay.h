/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Relay
 *
 * Joins a socket, on which descriptors go along with messages, and two pipes, on which files stand
 * in front of them (bridge-frame.h). Both ends of a bridge are one: here the socket is that of our
 * client and the pipes are ssh's, there it is that of the daemon and they are stdin and stdout. It
 * holds one message and 64 KiB of a file in each direction; a side that does not read holds up the
 * other.
 *
 * A file that comes is kept in an unnamed one, whose descriptor then goes along.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define RELAY_TAIL_BYTES 1024
#define RELAY_STRANGE_BYTES 64

/* The reasons why it ends. */
enum {
        RELAY_OK,         /* both sides have come to their end */
        RELAY_E_HUNG_UP,  /* the client hung up */
        RELAY_E_PIPE,     /* nobody reads the pipe any more, or it ended within a message */
        RELAY_E_TOO_LONG, /* from here on: what came does not follow the rules */
        RELAY_E_FILE_TOO_LONG,
        RELAY_E_TOO_MANY,
        RELAY_E_MALFORMED,
        RELAY_E_REFUSED, /* by @on_message */
        RELAY_E_NO_FILE, /* a descriptor of the socket is no regular file, or it changed */
        RELAY_E_NO_ROOM, /* the file could not be kept; errno of it in @error */
};

typedef struct Relay {
        int socket_fd; /* owned, like the next two: relay_run() closes them */
        int in_fd;     /* bytes come from here */
        int out_fd;    /* and go there */
        int log_fd;    /* the caller's: of what comes here the end is kept; -EBADF: nothing */
        size_t max_in_bytes, max_out_bytes; /* of a message */
        /* It is the client's end, which is over when the client hangs up or the pipe ends. */
        bool is_near;
        /*
         * Sees each message from the pipe. 0 lets it pass, RELAY_SWALLOW drops it, RELAY_E_REFUSED
         * or -errno ends all.
         */
        int (*on_message)(struct Relay *relay, Span message);
        void *userdata;

        uint64_t held_until_realtime_ns; /* nothing is read from the pipe before that */
        char tail[RELAY_TAIL_BYTES];     /* the end of what came from @log_fd */
        size_t n_tail;
        char strange[RELAY_STRANGE_BYTES]; /* what follows no rule: its beginning */
        size_t n_strange;
        int error;
} Relay;

#define RELAY_SWALLOW 1000

/* Runs until it ends, and closes its descriptors. One of the codes above, or -errno. */
_must_check_ int relay_run(Relay *relay);
/* Reads once from @log_fd, which does not wait. False when there is nothing, or never will be. */
bool relay_read_log(Relay *relay);

/* Makes a file without a name in $TMPDIR, or /var/tmp. The descriptor or -errno. */
int unnamed_file_open(void);
