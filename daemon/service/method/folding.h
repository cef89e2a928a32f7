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
#include "service/request/request.h"

/* Listens to programs that were loaded: they call when a table fills. */
void folding_watch(Desk *desk);
/* Folds if there is need to, and if that is not going on already. */
void folding_look(Desk *desk);
/* Adds the maps of the ledger and its file of rows to an order, as far as they are there. */
_must_check_ int folding_add(Request *request, OrderFd tasks[static _TASK_OBJECT_MAX]);
/* The ledger has ended: forgets the files. */
void folding_drop(Desk *desk);
