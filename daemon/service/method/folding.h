/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Folding
 *
 * Keeps the kernel's table of the ledger of exits from filling up. This process only looks at
 * two counters, every LIMIT_FOLD_INTERVAL_NS; when they are high, a request of the daemon itself
 * has a job move rows into a file in memory, in a turn between captures. The descriptor store holds
 * that file, under one of two names in turn: the earlier one is dropped only after its successor
 * was stored, so that a restart at any moment finds one of them.
 */

#include "base/macro.h"
#include "service/manager/manager.h"
#include "service/request/request.h"

/* Listens to programs that were loaded: they call when a table fills. */
void folding_watch(Manager *manager);
/* Folds if there is need to, and if that is not going on already. */
void folding_look(Manager *manager);
/* Adds the maps of the ledger and its file of rows to an order, as far as they are there. */
_must_check_ int folding_add(Request *request, OrderFd tasks[static _TASK_OBJECT_MAX]);
/* The ledger has ended: forgets the files. */
void folding_drop(Manager *manager);
