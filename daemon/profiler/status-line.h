/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StatusLine
 *
 * What "systemctl status" shows of a service, sd_notify(3). It changes with every call and is only
 * a courtesy, so it is told now and then, the last one always, and never waited for: sd_notify()
 * sleeps while the queue of the service manager is full, which other services can fill.
 */

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/macro.h"

typedef struct StatusLine StatusLine;

/* Without a service manager a line that goes nowhere. @event is borrowed. */
_must_check_ int status_line_new(sd_event *event, StatusLine **ret);
StatusLine *status_line_free(StatusLine *line);
DEFINE_CLEANUP(StatusLine *, status_line_free);

/* A text without line ends; what is past its bound is cut off. */
void status_line_set(StatusLine *line, const char *format, ...) _printf_(2, 3);
