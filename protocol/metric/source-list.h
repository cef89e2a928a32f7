/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Source list
 *
 * The sources that a capture reads, with the names that users see. A source is a family of readings
 * and not a file: the three counters of schedstat belong to "schedstat" even when taskstats
 * delivered them, and the part of the sched file that a sysctl switches on is a source of its own,
 * "schedstats", beside "sched".
 */

// clang-format off
#define SOURCES(S)                                                                                 \
        S(STAT,            "stat")            /* /proc/PID/task/TID/stat */                        \
        S(SCHEDSTAT,       "schedstat")       /* /proc/PID/task/TID/schedstat */                   \
        S(SCHED,           "sched")           /* /proc/PID/task/TID/sched */                       \
        S(SCHEDSTATS,      "schedstats")      /* the same file's sysctl-gated lines */             \
        S(STATUS,          "status")          /* /proc/PID/task/TID/status */                      \
        S(IO,              "io")              /* /proc/PID/task/TID/io */                          \
        S(CGROUP,          "cgroup")          /* /proc/PID/cgroup */                               \
        S(AFFINITY,        "affinity")        /* sched_getaffinity(2) */                           \
        S(SMAPS_ROLLUP,    "smaps_rollup")    /* /proc/PID/smaps_rollup, per process */            \
        S(TASKSTATS,       "taskstats")       /* generic netlink TASKSTATS */                      \
        S(TASKSTATS_DELAY, "taskstats-delay") /* its delay categories besides cpu and irq */       \
        S(TASKSTATS_IRQ,   "taskstats-irq")   /* its irq delays */                                 \
        S(JEMALLOC,        "jemalloc")        /* allocator counters of the target */               \
        S(CGROUP_STATS,    "cgroup-stats")    /* cgroup v2 files but pressure */                   \
        S(HOST_PRESSURE,   "host-pressure")   /* /proc/pressure */                                 \
        S(CGROUP_PRESSURE, "cgroup-pressure") /* *.pressure of cgroup v2 */                        \
        S(SCHED_EXT,       "sched-ext")       /* /sys/kernel/sched_ext */                          \
        S(HOST,            "host")            /* host context */                                   \
        S(HOST_CPU,        "host-cpu")        /* /proc/stat, /proc/loadavg */                      \
        S(HOST_MEMORY,     "host-memory")     /* /proc/meminfo, /proc/vmstat */                    \
        S(HOST_DISK,       "host-disk")       /* /proc/diskstats */                                \
        S(HOST_NETWORK,    "host-network")    /* /proc/1/net/dev, snmp, netstat */           \
        S(EXITS,           "exits")           /* the ledger of exits */                         \
        S(WAITS,           "waits")           /* the account of uninterruptible waits */           \
        S(REASONS,         "reasons")         /* the account of all other waits, by reason */      \
        S(CMDLINE,         "cmdline")         /* /proc/PID/task/TID/cmdline, per process */
// clang-format on

/* From here on earlier versions did not read them, and their files do not list them. */
#define SOURCE_FIRST_LATER SOURCE_HOST_CPU

#define SOURCE_ID(id, name) SOURCE_##id,
typedef enum SourceId { SOURCES(SOURCE_ID) _SOURCE_MAX } SourceId;
