/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * ctprofctl: asks for captures, lists, views and comparisons, and renders the answers. What they
 * say is worked out by ctprofd.
 */

#include <signal.h>

#include "call/cancel.h"
#include "verb/dispatch.h"

int main(int argc, char *argv[]) {
        /* "| head" ends us quietly, also under a parent that ignored the signal. */
        (void) signal(SIGPIPE, SIG_DFL);
        cancel_open();
        return dispatch(argc, argv);
}
