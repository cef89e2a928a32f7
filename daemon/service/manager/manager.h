/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Manager
 *
 * All requests of the daemon share this: its settings, the index of the spool, the queues in which
 * requests wait for a job, the list of requests, the journal, and the event in which the next
 * request gets its turn.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>
#include "base/macro.h"
#include "metric/choice.h"
#include "metric/command.h"
#include "service/manager/hung.h"
#include "service/manager/held-files.h"
#include "service/manager/queue.h"
#include "service/manager/record.h"
#include "spool/spool-index.h"
#include "spool/spool.h"

typedef struct Disposal Disposal;
typedef struct OwnProcesses OwnProcesses;
typedef struct Request Request;
typedef struct FdStore FdStore;
typedef struct Job Job;
typedef struct JobPool JobPool;

#define MANAGER_REFUSAL_BYTES 256

/* An administrator may choose these, and change them while calls are served. */
typedef struct ManagerSettings {
        SpoolLimits spool;
        BackendChoice backend;        /* for a capture that does not say */
        unsigned loading_threads;     /* for so many a private service loads BPF programs */
        ExitChoice exits;             /* who counts what threads have done that end */
        bool counts_waits;            /* by programs, where those are loaded */
        uint64_t reasons_ns;          /* how long by reason after a capture; 0: never */
        SmapsMode smaps;              /* for a capture that does not say */
        uint64_t smaps_max_rss_bytes; /* the bounds of SMAPS_MODE_SMALL */
        uint64_t smaps_max_processes;
        uint64_t smaps_ns;                      /* budget of smaps_rollup in one capture */
        bool heap;                              /* counters of allocators, likewise */
        CommandLines commands;                  /* what is read of what processes were started as */
        uint64_t heap_ns;                       /* budget of each of these */
        uint64_t capture_ns, analysis_ns;       /* time limits of jobs */
        uint64_t recording_ns, recording_bytes; /* of one, with its ends */
} ManagerSettings;

/* The job that hears of exits: listening.h. */
typedef struct Listening {
        Job *job; /* NULL: there is none */
        uint64_t started_ns;
        bool has_begun;                      /* it may be started */
        bool is_heard;                       /* the job has registered */
        bool is_again;                       /* a ledger has ended with its job */
        char refusal[MANAGER_REFUSAL_BYTES]; /* why the kernel tells of no exits; "" */
} Listening;

/*
 * The caller of service_new() sets the first members, up to @userdata; the service sets the others.
 */
typedef struct Manager {
        sd_event *event;    /* borrowed, as the next ones */
        Users *users;       /* what each caller has under way */
        Disposal *disposal; /* closes descriptors that callers sent */
        JobPool *pool;
        FdStore *fd_store;
        Spool *spool;
        OwnProcesses *own; /* who calls; NULL: nobody keeps that */
        ManagerSettings settings;
        bool is_private; /* serves one caller, with the privileges of that caller */
        /* Called after jobs started or ended; may be NULL. */
        void (*on_activity)(void *userdata);
        /* Called when a directory was opened that was not there at the start; may be NULL. */
        void (*on_spool)(void *userdata);
        void *userdata;

        Listening listening;
        SpoolIndex *index;   /* of @spool */
        uint64_t started_ns; /* CLOCK_MONOTONIC */
        /* How often a caller that asked for "more" gets a progress reply, whatever its job says. */
        uint64_t heartbeat_ns;
        Queue queues[_QUEUE_KIND_MAX];
        int *clocks; /* owned: of CPUs, for recordings */
        size_t n_clocks, n_clocks_allocated;
        Request *recording; /* borrowed: the one that records; NULL: none does */
        Request *requests;  /* all of them, linked by request.c */
        LogLimit failures;  /* the lines about calls that failed */
        /* Calls request_start_job() of those whose turn it is; enabled when a place may be free. */
        sd_event_source *turn;
        sd_event_source *look;      /* a timer that looks at tables of programs */
        sd_event_source *calls;     /* of programs whose tables fill; NULL: none are loaded */
        sd_event_source *heartbeat; /* off while there are no requests */
        HeldFiles held;
        Hung hung;
        /* Why threads cannot be read through BPF; "" while that was not tried, or works. */
        char bpf_refusal[MANAGER_REFUSAL_BYTES];
        /* Why exits or waits are not counted; "" likewise. */
        char programs_refusal[MANAGER_REFUSAL_BYTES];
        bool is_over;    /* the service ends: what becomes of its own requests tells nothing */
        bool is_loading; /* a request that loads programs exists: captures wait for it */
        bool loads_none; /* for as long as this process lives, as its settings said at the start */
        bool is_folding; /* a request that folds rows of the ledger exists */
        uint64_t folded_ns, aged_ns; /* when such a request last began; one for what is old */
        bool is_cleaned;             /* the spool, or it will be before anything is added */
        bool is_cleaning;            /* a request to do so exists */
        bool is_surveying;           /* a request that fills the index exists */
} Manager;
