/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pager
 *
 * A program between stdout and the person, as systemctl has it: only on a terminal, chosen by
 * $SYSTEMD_PAGER, then $PAGER, then less and more; "" and "cat" mean none. less gets -FRSX, so that
 * it vanishes when all fits on one screen.
 */

#include <sys/types.h>
#include "base/macro.h"
#include "render/terminal.h"

typedef struct Pager {
        pid_t pid; /* 0: none */
} Pager;

/*
 * From here on stdout goes through the pager, if there is one. Once the person has left it, the
 * process ends with @left_status when it writes more: nobody wants the rest.
 */
_must_check_ int pager_open(Pager *pager, const Terminal *terminal, int left_status);
/* Closes stdout and waits until the person has left. */
void pager_close(Pager *pager);
