/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Capture
 *
 * Takes one snapshot of every thread of the host and streams it into a sink: threads in order of
 * process and number, then their cgroups and the cgroups above them, then pressure and scheduler
 * state. A value is a measurement or it is absent. A thread is there from its first to its last
 * reading, or it is dropped and counted. Every source of readings tells how well it could be read.
 * Memory does not grow with the number of threads.
 *
 * The calling thread walks and writes, worker threads read. Nothing is ever changed on the host,
 * and no thread is stopped.
 *
 * Known to be wrong in the kernel and therefore absent: wait_sum and wait_max of real-time and
 * deadline threads on Linux 5.16 to 7.0 (gates.h). Known and kept: schedstats count from when they
 * were switched on; a write to /proc/PID/sched clears them; the kernel prints a small negative time
 * as a positive one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "capture/pace.h"
#include "capture/batch/capture-system.h"
#include "kernel/bpf/task-object.h"
#include "kernel/bpf/ledger.h"
#include "metric/choice.h"
#include "metric/command.h"
#include "snapshot/head.h"
#include "snapshot/snapshot-writer.h"
#include "snapshot/source.h"

#define CAPTURE_DEFAULT_WORKERS 2
#define CAPTURE_REASONS_ALWAYS REASONS_FOREVER

typedef struct CaptureOptions {
        int proc_fd, sys_fd; /* borrowed; @sys_fd may be negative */
        /*
         * From task_program_load(); borrowed; NULL or without an iterator: all is read from files.
         */
        const TaskObjects *tasks;
        const char *no_tasks; /* why it has no ledger or no account of waits; NULL: not wanted */
        /* Rows of the listener of exits: a sealed file; borrowed; negative: there is none. */
        int exits_fd;
        bool hears_exits;     /* of a probe: there is a listener */
        const char *no_exits; /* why there are no such rows, where there should be; or NULL */
        /*
         * The account of waits by reason is on for this time from here on; 0: it is not switched
         * on. CAPTURE_REASONS_ALWAYS: nothing ends it.
         */
        uint64_t reasons_ns;
        const char *no_reasons; /* why it is not switched on; NULL: it is */
        pid_t main_pid;         /* whose children are jobs of ctprof; 0: not known */
        const CaptureSystem *system;
        /* Worker threads; 0: everything is read by the calling thread. */
        unsigned n_workers;
        SmapsMode smaps;              /* of which processes smaps_rollup is read */
        uint64_t smaps_max_rss_bytes; /* the bounds of SMAPS_MODE_SMALL */
        uint64_t smaps_max_processes;
        uint64_t smaps_limit_ns; /* time for that, of all workers together */
        bool heap;               /* read the counters of allocators */
        CommandLines commands;   /* what is read of what processes were started as */
        uint64_t heap_limit_ns;  /* time for each of these, of all workers together */
        int heap_cache_fd;       /* borrowed; negative: there is none */
        /*
         * Gets the other end of a pair to a job that reads memory of others; called once, when
         * there is the first process to read. Consumes @peer_fd in any case. -errno when there will
         * be no such job. NULL: there is none. Called with the userdata of @pace.
         */
        int (*open_memory)(void *userdata, int peer_fd);
        const char *no_memory;  /* why there will be no such job; or NULL */
        const pid_t *self_pids; /* processes that belong to ctprof */
        size_t n_self_pids;

        Pace pace;
} CaptureOptions;

/*
 * Takes a snapshot: of all processes where @only is 0, and else as a probe, of that process and the
 * first one. @head has what the caller knows (name, tagged, uid, tool version, machine id); what
 * the host and the capture tell is added. 0, CAPTURE_E_CANCELLED, or -errno: what the sink failed
 * with, -ENOMEM, or that /proc cannot be listed. @ret_sources is set on 0 only.
 */
_must_check_ int capture_run(const CaptureOptions *options, pid_t only, SnapshotSink sink,
                             void *sink_userdata, Head *head, SourceTable *ret_sources);

/* The places that a probe looked at. */
typedef struct CaptureSample {
        uint64_t n_threads, n_processes;
} CaptureSample;

/*
 * Tells how well each source can be read. It is tried on the calling process and on process 1,
 * which shows what is refused for processes of another user. Results as of capture_run().
 */
_must_check_ int capture_probe(const CaptureOptions *options, SourceTable *ret_sources,
                               CaptureSample *ret_sample);
