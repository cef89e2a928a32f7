/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pager
 *
 * Shows stdout through a pager, as systemctl does, but only on a terminal. The pager is
 * $SYSTEMD_PAGER, then $PAGER, then less, then more; "" and "cat" mean that there is no pager.
 * Output that fits on one screen is printed without a pager.
 */

#include <sys/types.h>
#include "base/macro.h"
#include "render/terminal.h"

typedef struct Pager {
        pid_t pid; /* 0: none */
} Pager;

/*
 * From here on stdout goes through the pager, if there is one. Once the user has left the pager,
 * the process ends with @left_status at its next write, because nobody wants the rest.
 */
_must_check_ int pager_open(Pager *pager, const Terminal *terminal, int left_status);
/* Closes stdout and waits until the user has left the pager. */
void pager_close(Pager *pager);
