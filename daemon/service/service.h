/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Service
 *
 * Carries out the calls of io.ctprof.Profiler: each becomes a request, which is answered at once or
 * waits its turn for a job. A request ends exactly once: answered, failed, or dropped because its
 * caller is gone, and then its job is killed.
 */

#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "server/server.h"
#include "service/manager/manager.h"

typedef struct Service {
        Manager manager;
        void (*on_activity)(unsigned n_running, unsigned n_waiting, void *userdata);
        void *userdata;
        sd_event_source *heartbeat; /* off while there are no requests */
        sd_event_source *look;      /* at the tables of programs */
} Service;

typedef struct ServiceSetup {
        sd_event *event;
        Users *users;       /* borrowed: what each caller has under way */
        Disposal *disposal; /* borrowed: closes descriptors that callers sent */
        JobPool *pool;      /* borrowed */
        FdStore *fd_store;  /* borrowed */
        Spool *spool;       /* borrowed */
        OwnProcesses *own;  /* borrowed: who calls; NULL: nobody keeps that */
        ManagerSettings settings;
        bool is_private; /* serves one caller, with the privileges of that caller */
        /* Called after jobs started or ended; may be NULL. */
        void (*on_activity)(unsigned n_running, unsigned n_waiting, void *userdata);
        void *userdata;
} ServiceSetup;

/* The events a server reports; their userdata is the Service. */
extern const ConnectionEvents service_events;

_must_check_ int service_new(const ServiceSetup *setup, Service **ret);
Service *service_free(Service *service);
DEFINE_CLEANUP(Service *, service_free);

/*
 * Removes what an earlier crash left in the spool, and reads what is in it. This happens by itself
 * before the first snapshot is added and the first list is made; calling it at the start does it
 * while nobody waits.
 */
void service_open_spool(Service *service);
/*
 * Has a job load the programs through which threads are read, unless the settings want none or the
 * descriptor store has them already; calls that add to the spool wait while manager.is_loading.
 * Afterwards this process has given up the capabilities that loading takes, whatever came of it.
 * For the start; a private service loads when a call is worth it, and gives them up then.
 */
void service_load_programs(Service *service);
/*
 * New settings for what begins from now on; requests that run end with the old ones. What the users
 * may have is set before.
 */
void service_configure(Service *service, const ManagerSettings *settings);
/* Calls on_activity although nothing happened. */
void service_tell_activity(const Service *service);
/* Ends every request with an error, which its caller can read if the server is still there. */
void service_stop(Service *service);
