/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Capture
 *
 * One snapshot of every thread of the host, streamed into a sink while it is taken: threads in
 * order of process and number, then their cgroups and the cgroups above them, then pressure and
 * scheduler state. A value is a measurement or it is absent; a thread is there from its first to
 * its last reading or it is dropped and counted; every source of readings tells how well it could
 * be read. Memory does not grow with the number of threads.
 *
 * The calling thread walks and writes, worker threads read. Nothing is ever changed on the host, no
 * thread is stopped.
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
#include "capture/capture-system.h"
#include "snapshot/head.h"
#include "snapshot/snapshot-writer.h"
#include "snapshot/source.h"

enum {
        CAPTURE_OK,
        CAPTURE_E_CANCELLED,
};

#define CAPTURE_DEFAULT_WORKERS 2
#define CAPTURE_MAX_WORKERS 16

typedef struct CaptureOptions {
        int proc_fd, sys_fd; /* borrowed; @sys_fd may be negative */
        const CaptureSystem *system;
        /* Worker threads; 0: everything is read by the calling thread. */
        unsigned n_workers;
        bool smaps;              /* read smaps_rollup of every process */
        uint64_t smaps_limit_ns; /* time for that, of all workers together */
        const pid_t *self_pids;  /* processes that belong to ctprof */
        size_t n_self_pids;

        /*
         * Called by the calling thread, both may be NULL. Progress: at most ten times a second, in
         * processes during the phase "threads", in cgroups during "cgroups". Cancelled: often.
         */
        void (*progress)(void *userdata, const char *phase, uint64_t done, uint64_t total);
        bool (*cancelled)(void *userdata);
        void *userdata;
} CaptureOptions;

/*
 * Takes a snapshot. @head comes with what the caller knows (name, tagged, uid, tool version,
 * machine id); all that the host and the capture tell is put in. 0, CAPTURE_E_CANCELLED, or -errno:
 * what the sink failed with, -ENOMEM, or that /proc cannot be listed. @ret_sources only on 0.
 */
_must_check_ int capture_run(const CaptureOptions *options, SnapshotSink sink, void *sink_userdata,
                             Head *head, SourceTable *ret_sources);

/*
 * How well each source can be read, tried on the calling process and on the first one, which shows
 * what is refused for processes of another user. Results as of capture_run().
 */
_must_check_ int capture_probe(const CaptureOptions *options, SourceTable *ret_sources);
