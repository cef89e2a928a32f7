/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitLine
 *
 * The listener hands its rows to a capture so: each capture gets one end of a pair of sockets and
 * the listener the other, sends one file and closes it. So the main process does not take part, and
 * a listener that does not answer costs the capture a moment and nothing else.
 */

#include <stdint.h>
#include "base/macro.h"

enum {
        EXIT_LINE_OK,
        EXIT_LINE_E_SILENT, /* no answer in time */
        EXIT_LINE_E_ENDED,  /* the listener is gone, or could not make the file */
};

/* Both ends, close-on-exec. -errno. */
_must_check_ int exit_line_new(int *ret_listener, int *ret_capture);
/* All descriptors are borrowed. Does not wait. -errno. */
_must_check_ int exit_line_send(int listener_fd, int file);
/* *ret is the caller's. 0, EXIT_LINE_E_SILENT, EXIT_LINE_E_ENDED, -errno. */
_must_check_ int exit_line_receive(int capture_fd, uint64_t timeout_ns, int *ret);
