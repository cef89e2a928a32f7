/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Remote
 *
 * A connection to the daemon of another host: a process of ours joins our socket to an ssh, which
 * runs "ctprofctl bridge" there. The other host is not trusted, nor is what its shells print: it
 * can answer as a daemon can, and nothing that it sends is more than text. Whatever goes wrong is
 * one sentence, in which "there" is that host.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "call/connection.h"

typedef struct Remote {
        const char *host;        /* a name of a HostSet */
        const char *socket_path; /* there; NULL: the bridge's default */
        bool batch;              /* nobody is asked for a password */
} Remote;

#define REMOTE_VERSION_BYTES 64

/* The bridge tells this of itself first. */
typedef struct RemoteGreeting {
        char daemon_version[REMOTE_VERSION_BYTES]; /* printable */
        uint64_t realtime_ns;                      /* its clock */
} RemoteGreeting;

/* @timeout_ns: for all of it, logging in included. As connection_open(). */
_must_check_ int remote_open(const Remote *remote, uint64_t timeout_ns, Connection **ret,
                             RemoteGreeting *ret_greeting,
                             char ret_complaint[static CONNECTION_COMPLAINT_BYTES]);

/*
 * Appends the frame of a bridge's greeting: the versions and the name of its host, or @complaint,
 * which says why there is no daemon. An argument that is NULL is left out of the frame.
 */
_must_check_ int remote_greeting_encode(Buffer *frame, const char *version,
                                        const char *daemon_version, const char *host_name,
                                        const char *complaint);
