/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Hung
 *
 * The processes in whose memory a job hangs, or hung. Each process is known by its id and its start
 * time, so that no other job reads its memory, also after a restart of the daemon. A memory job
 * reports a process when it has left behind a call for it, which did not return in time. The way
 * the job ends decides: if it ends when it is killed, the call was only slow, and the report is
 * forgotten.
 *
 * An owner of two such processes is barred: no process of that owner is touched while jobs hang in
 * two of them, and for an hour after. The reports come from a job that reads data which every user
 * can write. Such a job can bar owners of its choice, but only by hanging, and it can do nothing
 * else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "wire/limits.h"

typedef struct FdStore FdStore;
typedef struct JobPool JobPool;

#define HUNG_READS_TO_BAR 2
#define HUNG_BARRED_NS (3600 * NSEC_PER_SEC)

typedef enum HungState {
        HUNG_SUSPECT, /* its job is not gone, and has not been killed in vain yet */
        HUNG_NOW,     /* it has */
        HUNG_OVER,    /* the job is gone, or of an earlier daemon */
} HungState;

/* Plain data: lies in the file. */
typedef struct HungProcess {
        uint64_t start_ticks; /* of its leader; 0: not known */
        uint64_t since_realtime_ns;
        uint64_t over_boottime_ns; /* when its job was gone */
        uint32_t tgid, owner;
        int32_t job; /* pid */
        uint32_t state;
} HungProcess;

typedef struct Hung {
        int fd; /* the rows, with zeros behind them; negative: they are in memory only */
        size_t n;
        HungProcess rows[LIMIT_HUNG_PROCESSES];
} Hung;

/*
 * Takes the file of an earlier daemon over from the descriptor store, or puts a new one there.
 */
void hung_init(Hung *hung, FdStore *fd_store);

/* @job says that it has left a call for this process behind; of one job only a few are kept. */
void hung_add(Hung *hung, pid_t job, uint32_t tgid, uint64_t start_ticks, uint32_t owner);
/* Finds out what has become of jobs: call it whenever some have changed. */
void hung_follow(Hung *hung, const JobPool *pool);

/* Writes up to @n owners that are barred, each once, and returns their number. */
size_t hung_get_barred(const Hung *hung, uint32_t *ret_owners, size_t n);
/* The next process in which @job hangs, from *@at on, 0 at first; NULL: there is none. */
const HungProcess *hung_next_of(const Hung *hung, pid_t job, size_t *at);
