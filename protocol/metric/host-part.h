/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostPart
 *
 * A snapshot tells of the host as a whole: its CPUs, its memory, its disks and its network. A
 * part is one source and one member of the document, of this shape:
 *
 *     {"at_boottime_ns": N,                                 CLOCK_BOOTTIME, just before it was read
 *      "counts": {NAME: N, ...}, "levels": {NAME: N, ...}, ...         the groups of HOST_GROUPS
 *      "columns": [NAME, ...], "rows": [[CELL, ...], ...]}              one row an item
 *
 * An item is a CPU, a disk or a network interface. A cell is null where the kernel does not tell
 * it. Numbers are in the kernel's units, which the names of columns end in; a reader gets the unit
 * in which people read them from the tables here.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "metric/source-list.h"

// clang-format off
/*
 * Everything else that differs between the parts follows from these rows: the section of snapshots
 * ("host_" and the name), that of views ("host-" and the name, protocol/view/section-list.h), and
 * the columns by which items are ranked where a view shows only the ones that did most.
 *        id       name       an item is, its words in tables, why one is not on a side
 *                 its columns, how many, the ones that are added up to rank it, how many
 *                 what the section holds */
#define HOST_PARTS(P, S)                                                                           \
        P(CPU,     "cpu",     "cpu", "CPU", "CPUs", "this CPU was not online",                     \
          cpu_columns, ELEMENTSOF(cpu_columns), cpu_use, ELEMENTSOF(cpu_use),                      \
          "what the CPUs did, each and together, context switches, new threads and load",          \
          S)                                                                                       \
        P(MEMORY,  "memory",  NULL, "row", "rows", "this kernel does not tell it",                 \
          NULL, 0, NULL, 0,                                                                        \
          "the memory of the host, and how it was paged, reclaimed and swapped", S)                \
        P(DISK,    "disk",    "disk", "disk", "disks", "there is no such disk",                    \
          disk_columns, ELEMENTSOF(disk_columns), disk_use, ELEMENTSOF(disk_use),                  \
          "requests, bytes and times of the disks, each and together", S)                          \
        P(NETWORK, "network", "interface", "interface", "interfaces",                              \
          "there is no such interface", network_columns, ELEMENTSOF(network_columns),              \
          network_use, ELEMENTSOF(network_use),                                                    \
          "bytes, packets and losses of the network interfaces, and of TCP and UDP", S)

/* The way a value moves: counted since boot, in 64 bits or in 32; or the state of a moment. */
typedef enum HostRule { HOST_RULE_SUM, HOST_RULE_SUM_32, HOST_RULE_LEVEL } HostRule;

/* The unit that the kernel counts in. */
typedef enum HostUnit {
        HOST_UNIT_COUNT,
        HOST_UNIT_BYTES,
        HOST_UNIT_KIB,
        HOST_UNIT_SECTORS,    /* of 512 bytes, whatever the disk's are */
        HOST_UNIT_MS,
        HOST_UNIT_TICKS,      /* of 1/USER_HZ seconds */
        HOST_UNIT_HUNDREDTHS,
} HostUnit;

/*        id                 member               unit        rule */
#define HOST_GROUPS(G)                                                                             \
        G(COUNTS,            "counts",            COUNT,      SUM)                                 \
        G(LEVELS,            "levels",            COUNT,      LEVEL)                               \
        G(LEVELS_KIB,        "levels_kib",        KIB,        LEVEL)                               \
        G(LEVELS_HUNDREDTHS, "levels_hundredths", HUNDREDTHS, LEVEL)

/*
 * The columns of CPUs, in the order of the lines "cpu" (all, also those that are offline now) and
 * "cpuN" of /proc/stat. guest is part of user, too, and guest_nice of nice.
 *        id           column                    shown as      unit   rule
 */
#define HOST_CPU_COLUMNS(C)                                                                        \
        C(USER,        "user_clock_ticks",       "user",       TICKS, SUM)                         \
        C(NICE,        "nice_clock_ticks",       "nice",       TICKS, SUM)                         \
        C(SYSTEM,      "system_clock_ticks",     "system",     TICKS, SUM)                         \
        C(IDLE,        "idle_clock_ticks",       "idle",       TICKS, SUM)                         \
        C(IOWAIT,      "iowait_clock_ticks",     "iowait",     TICKS, SUM)                         \
        C(IRQ,         "irq_clock_ticks",        "irq",        TICKS, SUM)                         \
        C(SOFTIRQ,     "softirq_clock_ticks",    "softirq",    TICKS, SUM)                         \
        C(STEAL,       "steal_clock_ticks",      "steal",      TICKS, SUM)                         \
        C(GUEST,       "guest_clock_ticks",      "guest",      TICKS, SUM)                         \
        C(GUEST_NICE,  "guest_nice_clock_ticks", "guest_nice", TICKS, SUM)

/* The columns of disks, in the order of /proc/diskstats. The kernel prints its times in 32 bits. */
#define HOST_DISK_COLUMNS(C)                                                                       \
        C(READS,            "reads",             "reads",           COUNT,   SUM)                  \
        C(READS_MERGED,     "reads_merged",      "reads_merged",    COUNT,   SUM)                  \
        C(READ_SECTORS,     "read_sectors",      "read_bytes",      SECTORS, SUM)                  \
        C(READ_MS,          "read_ms",           "read_time",       MS,      SUM_32)               \
        C(WRITES,           "writes",            "writes",          COUNT,   SUM)                  \
        C(WRITES_MERGED,    "writes_merged",     "writes_merged",   COUNT,   SUM)                  \
        C(WRITTEN_SECTORS,  "written_sectors",   "written_bytes",   SECTORS, SUM)                  \
        C(WRITE_MS,         "write_ms",          "write_time",      MS,      SUM_32)               \
        C(IN_FLIGHT,        "in_flight",         "in_flight",       COUNT,   LEVEL)                \
        C(BUSY_MS,          "busy_ms",           "busy_time",       MS,      SUM_32)               \
        C(REQUEST_MS,       "request_ms",        "request_time",    MS,      SUM_32)               \
        C(DISCARDS,         "discards",          "discards",        COUNT,   SUM)                  \
        C(DISCARDS_MERGED,  "discards_merged",   "discards_merged", COUNT,   SUM)                  \
        C(DISCARDED_SECTORS, "discarded_sectors", "discarded_bytes", SECTORS, SUM)                 \
        C(DISCARD_MS,       "discard_ms",        "discard_time",    MS,      SUM_32)               \
        C(FLUSHES,          "flushes",           "flushes",         COUNT,   SUM)                  \
        C(FLUSH_MS,         "flush_ms",          "flush_time",      MS,      SUM_32)

/* The columns of interfaces, in the order of /proc/net/dev. */
#define HOST_NETWORK_COLUMNS(C)                                                                    \
        C(RX_BYTES,      "rx_bytes",      "rx_bytes",      BYTES, SUM)                             \
        C(RX_PACKETS,    "rx_packets",    "rx_packets",    COUNT, SUM)                             \
        C(RX_ERRORS,     "rx_errors",     "rx_errors",     COUNT, SUM)                             \
        C(RX_DROPPED,    "rx_dropped",    "rx_dropped",    COUNT, SUM)                             \
        C(RX_FIFO,       "rx_fifo",       "rx_fifo",       COUNT, SUM)                             \
        C(RX_FRAME,      "rx_frame",      "rx_frame",      COUNT, SUM)                             \
        C(RX_COMPRESSED, "rx_compressed", "rx_compressed", COUNT, SUM)                             \
        C(RX_MULTICAST,  "rx_multicast",  "rx_multicast",  COUNT, SUM)                             \
        C(TX_BYTES,      "tx_bytes",      "tx_bytes",      BYTES, SUM)                             \
        C(TX_PACKETS,    "tx_packets",    "tx_packets",    COUNT, SUM)                             \
        C(TX_ERRORS,     "tx_errors",     "tx_errors",     COUNT, SUM)                             \
        C(TX_DROPPED,    "tx_dropped",    "tx_dropped",    COUNT, SUM)                             \
        C(TX_FIFO,       "tx_fifo",       "tx_fifo",       COUNT, SUM)                             \
        C(TX_COLLISIONS, "tx_collisions", "tx_collisions", COUNT, SUM)                             \
        C(TX_CARRIER,    "tx_carrier",    "tx_carrier",    COUNT, SUM)                             \
        C(TX_COMPRESSED, "tx_compressed", "tx_compressed", COUNT, SUM)

/*
 * The kinds of items. Only whole items add up to a total of the host: every byte passes through
 * exactly one of them.
 *        id          name          whole
 */
#define HOST_KINDS(K)                                                                              \
        K(UNKNOWN,    NULL,         false) /* it could not be found out */                         \
        K(DISK,       "disk",       true)  /* the disk itself, or the path to a remote one */      \
        K(PARTITION,  "partition",  false)                                                         \
        K(STACKED,    "stacked",    false) /* made of other disks: dm, md, multipath, bcache */    \
        K(LOOP,       "loop",       false) /* a file as a disk */                                  \
        K(MEMORY,     "memory",     false) /* zram, a ramdisk: no disk at all */                   \
        K(DEVICE,     "device",     true)  /* a network device */                                  \
        K(LOWER,      "lower",      false) /* its bytes are counted by the device above it, too */ \
        K(VIRTUAL,    "virtual",    false) /* a bridge, a tunnel, an end of a container */         \
        K(LOOPBACK,   "loopback",   false)
// clang-format on

#define HOST_PART_ID(id, ...) HOST_PART_##id,
typedef enum HostPartId { HOST_PARTS(HOST_PART_ID, ) _HOST_PART_MAX } HostPartId;
#define HOST_GROUP_ID(id, ...) HOST_GROUP_##id,
typedef enum HostGroupId { HOST_GROUPS(HOST_GROUP_ID) _HOST_GROUP_MAX } HostGroupId;
#define HOST_KIND_ID(id, ...) HOST_KIND_##id,
typedef enum HostKind { HOST_KINDS(HOST_KIND_ID) _HOST_KIND_MAX } HostKind;
#define HOST_CPU_ID(id, ...) HOST_CPU_##id,
enum { HOST_CPU_COLUMNS(HOST_CPU_ID) _HOST_CPU_MAX };
#define HOST_DISK_ID(id, ...) HOST_DISK_##id,
enum { HOST_DISK_COLUMNS(HOST_DISK_ID) _HOST_DISK_MAX };
#define HOST_NETWORK_ID(id, ...) HOST_NETWORK_##id,
enum { HOST_NETWORK_COLUMNS(HOST_NETWORK_ID) _HOST_NETWORK_MAX };

#define HOST_MAX_COLUMNS 17 /* of any part */
#define HOST_CPU_ALL "all"  /* the name of the item that stands for all CPUs */

typedef struct HostColumn {
        const char *name;  /* in documents */
        const char *shown; /* in sections */
        HostUnit unit;
        HostRule rule;
} HostColumn;

typedef struct HostPartInfo {
        const char *member; /* of the document */
        const char *item;   /* NULL: the part has none */
        SourceId source;
        const HostColumn *columns;
        unsigned n_columns;
        const unsigned char *ranks; /* columns whose sum ranks an item */
        unsigned n_ranks;
} HostPartInfo;

typedef struct HostGroupInfo {
        const char *member;
        HostUnit unit;
        HostRule rule;
} HostGroupInfo;

typedef struct HostKindInfo {
        const char *name; /* NULL for HOST_KIND_UNKNOWN */
        bool is_whole;
} HostKindInfo;

extern const HostKindInfo host_kinds[_HOST_KIND_MAX];
extern const HostPartInfo host_parts[_HOST_PART_MAX];
extern const HostGroupInfo host_groups[_HOST_GROUP_MAX];

/* HOST_KIND_UNKNOWN for a name of a later version. */
HostKind host_kind_find(Span name);
