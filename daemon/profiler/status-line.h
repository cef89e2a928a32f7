/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StatusLine
 *
 * The line that "systemctl status" shows, see sd_notify(3). It changes with every call, so it is
 * sent at intervals; the last change is always sent. Sending never waits, unlike sd_notify(), which
 * sleeps while the queue of the service manager is full, and other services can fill that queue.
 */

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/macro.h"

typedef struct StatusLine StatusLine;

/* Without a service manager nothing is sent. @event is borrowed. */
_must_check_ int status_line_new(sd_event *event, StatusLine **ret);
StatusLine *status_line_free(StatusLine *line);
DEFINE_CLEANUP(StatusLine *, status_line_free);

/* Sets the text, which must not contain line ends. It is cut off after 248 bytes. */
void status_line_set(StatusLine *line, const char *format, ...) _printf_(2, 3);
