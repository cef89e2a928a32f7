/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Upkeep
 *
 * Requests of the daemon itself for the sake of the spool.
 *
 * Cleaning removes what a crash or a killed job left there. It waits in the queue of requests that
 * add snapshots, so nothing is added before it.
 *
 * A survey has a job read the heads of all snapshots into the index. Calls that name or list
 * snapshots wait for it when the directory is not as the index knows it, because the daemon has
 * just started or somebody else changed the spool; then they see the same list. Other calls are
 * served meanwhile.
 */

#include "service/manager/manager.h"

/*
 * Queues a cleaning unless the spool is clean, being cleaned or unavailable. A private daemon looks
 * first whether anything is left. No request depends on it: a failure is a line in the log, and the
 * next call tries again.
 */
void clean_spool(Manager *manager);

/* Starts one unless it runs already. -ENOMEM when it could not be tried. */
_must_check_ int survey_start(Manager *manager);
