/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Listener
 *
 * A listening socket whose connections go to a server. When accept(2) fails for lack of descriptors
 * or memory, it pauses for a moment instead of spinning.
 */

#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "server/server.h"

typedef struct Listener Listener;

/* Adopts @fd on success and makes it non-blocking. */
_must_check_ int listener_new(sd_event *event, int fd, Server *server, Listener **ret);
Listener *listener_free(Listener *listener);
DEFINE_CLEANUP(Listener *, listener_free);
