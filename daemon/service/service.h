/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Service
 *
 * Carries out the calls of io.ctprof.Profiler: each becomes a request, which is answered at once or
 * waits its turn for a job. A request ends exactly once: answered, failed, or dropped because its
 * caller is gone, and then its job is killed.
 */

#include "base/macro.h"
#include "server/server.h"
#include "service/manager/manager.h"

/* The events a server reports; their userdata is the Manager. */
extern const ConnectionEvents service_events;

_must_check_ int service_new(const Manager *setup, Manager **ret);
Manager *service_free(Manager *manager);

/*
 * Removes what an earlier crash left in the spool, and reads what is in it. This happens by itself
 * before the first snapshot is added and the first list is made; calling it at the start does it
 * while nobody waits.
 */
void service_open_spool(Manager *manager);
/*
 * Has a job load the programs through which threads are read, unless the settings want none or the
 * descriptor store has them already; calls that add to the spool wait while is_loading.
 * Afterwards this process has given up the capabilities that loading takes, whatever came of it.
 * For the start; a private service loads when a call is worth it, and gives them up then.
 */
void service_load_programs(Manager *manager);
/*
 * Sets the settings for requests that begin from now on; requests that run end with the old
 * settings. The caller sets the limits of the users before this call.
 */
void service_configure(Manager *manager, const ManagerSettings *settings);
/* Ends every request with an error, which its caller can read if the server is still there. */
void service_stop(Manager *manager);
