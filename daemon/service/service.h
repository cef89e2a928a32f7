/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Service
 *
 * What the calls of io.ctprof.Profiler mean: each becomes a request, which is answered at once or
 * waits its turn for a job. A request ends exactly once: answered, failed, or dropped because its
 * caller is gone, and then its job is killed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "server/connection.h"
#include "service/queue.h"
#include "spool/spool.h"

typedef struct Service Service;
typedef struct Workshop Workshop;

/* What an administrator may choose, and change while calls are served. */
typedef struct ServiceSettings {
        SpoolLimits spool;
        bool smaps;                       /* for a capture that does not say */
        uint64_t smaps_ns;                /* budget of smaps_rollup in one capture */
        uint64_t capture_ns, analysis_ns; /* what a job may take */
        QueueLimits captures, analyses;   /* changes of the spool wait as analyses do, one runs */
} ServiceSettings;

/* Those of wire/limits.h, and no bounds of the spool. */
ServiceSettings service_default_settings(void);

typedef struct ServiceSetup {
        sd_event *event;
        Disposal *disposal; /* borrowed: of what callers send */
        Workshop *workshop; /* borrowed */
        Spool *spool;       /* borrowed */
        ServiceSettings settings;
        /* Jobs started or ended; NULL: nobody is interested. */
        void (*on_activity)(unsigned n_running, unsigned n_waiting, void *userdata);
        void *userdata;
} ServiceSetup;

/* What a server tells; the userdata is the Service. */
extern const ConnectionEvents service_events;

_must_check_ int service_new(const ServiceSetup *setup, Service **ret);
Service *service_free(Service *service);
DEFINE_CLEANUP(Service *, service_free);

/*
 * Removes what an earlier crash left in the spool, before anything is added: at the latest then,
 * and once. Calling it earlier is for daemons that have the time. Nothing depends on it: a failure
 * is a line in the log, and the next one that adds tries again.
 */
void service_clean_spool(Service *service);
/*
 * For what begins from now on; what runs ends as it began. -ENOMEM, and then nothing is changed.
 */
_must_check_ int service_configure(Service *service, const ServiceSettings *settings);
/* on_activity, without anything having happened. */
void service_tell_activity(const Service *service);
/* Ends every request with an error: its caller gets to read it if the server is still there. */
void service_stop(Service *service);
