/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Folding
 *
 * Keeps the kernel's table of the ledger of the dead from filling up. This process only looks at
 * two counters, every LIMIT_FOLD_INTERVAL_NS; when they are high, a request of the daemon itself
 * has a job move rows into a file in memory, in a turn between captures. The vault holds that file,
 * under one of two names in turn: the earlier one is dropped only after its successor was stored,
 * so that a restart at any moment finds one of them.
 */

#include "base/macro.h"
#include "service/desk/desk.h"

/* Folds if there is need to, and if that is not going on already. */
void folding_look(Desk *desk);
/* A descriptor of the file of folded rows, the caller's; negative when there is none. */
int folding_lend(const Desk *desk);
/* The ledger has ended: forgets the files. */
void folding_drop(Desk *desk);
