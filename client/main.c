/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * ctprofctl asks ctprofd for captures, lists, views and comparisons, and prints the answers.
 */

#include <signal.h>

#include "call/cancel.h"
#include "verb/verb.h"

int main(int argc, char *argv[]) {
        /* End quietly in "| head", even if our parent ignored the signal. */
        (void) signal(SIGPIPE, SIG_DFL);
        cancel_open();
        return dispatch(argc, argv);
}
