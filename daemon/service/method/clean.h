/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Clean
 *
 * A request of the daemon itself: remove what a crash or a killed job left in the spool. It waits
 * in the queue of requests that add snapshots, so nothing is added before it.
 */

#include "service/desk/desk.h"

/*
 * Queues the request unless the spool is clean, being cleaned or unavailable. A private daemon
 * looks first whether anything is left. No request depends on it: a failure is a line in the log,
 * and the next call tries again.
 */
void clean_spool(Desk *desk);
