/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostFiles
 *
 * The files of the kernel with the totals of the host, and their parts (metric/host-part.h) in a
 * document: lines of numbers become the members of JSON objects.
 *
 * All functions that read a part open an object and write all of it but its end, which is the
 * caller's. The outcome of each file counts in @counts (indexed by SourceOutcome); a file of which
 * only some lines were in their grammar counts as ok and as malformed, and those lines are left
 * out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"
#include "metric/host-part.h"

/*
 * HostCpu
 *
 * The CPUs of the host, and the work that they have done since boot: /proc/stat (fs/proc/stat.c)
 * and /proc/loadavg (fs/proc/loadavg.c). Times stay in ticks. The line "cpu" also has the times of
 * CPUs that are offline now; those have no line of their own.
 */

/*
 * Members: counts {ctxt, intr, softirqs, processes}, levels {procs_running, procs_blocked,
 * threads}, levels_hundredths {load1, load5, load15}, and the CPUs, "all" first, in ascending
 * order. @text is scratch memory.
 */
void host_cpu_read(int proc_fd, Buffer *text, JsonWriter *json,
                   uint64_t counts[static _SOURCE_OUTCOME_MAX]);

/* Context switches of all CPUs since the boot; false when that cannot be told. */
bool host_cpu_count_switches(int proc_fd, uint64_t *ret);

/*
 * HostMemory
 *
 * The memory of the host: all of /proc/meminfo (fs/proc/meminfo.c), and of /proc/vmstat
 * (mm/vmstat.c) the events of paging, reclaim, compaction, huge pages, swap and the OOM killer. The
 * levels that vmstat prints too, in pages, are in meminfo.
 */

/*
 * Members, with the kernel's own keys: levels_kib (the lines of meminfo in kB), levels (its other
 * lines, which count pages of a kind), counts (vmstat). @text is scratch memory.
 */
void host_memory_read(int proc_fd, Buffer *text, JsonWriter *json,
                      uint64_t counts[static _SOURCE_OUTCOME_MAX]);

/*
 * HostDisk
 *
 * The disks of the host, and the work that they have done since boot: /proc/diskstats
 * (block/genhd.c, diskstats_show()). Sectors in that file have 512 bytes on every disk. The kind of
 * a disk follows from its name and, if /sys can be read, from the disks below it, so that no byte
 * enters a total twice.
 */

/*
 * Finds the kind of a disk that is not a partition. @text: all of diskstats, where the paths of an
 * NVMe multipath disk are ("nvme0c1n1" of "nvme0n1"); they are the disks then. @block_fd: the
 * directory /sys/class/block, or negative.
 */
HostKind disk_find_kind(Span name, Span text, int block_fd);

/* Members: the disks and partitions in the order of the file. @sys_fd may be negative. */
void host_disk_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                    uint64_t counts[static _SOURCE_OUTCOME_MAX]);

/*
 * HostNetwork
 *
 * The traffic of the host's network since boot: net/dev (net/core/net-procfs.c), net/snmp
 * and net/netstat (net/ipv4/proc.c). These files belong to a network namespace, that of the process
 * below whose directory they are. ctprofd.service has one of its own, without a network, so they
 * are read of process 1.
 *
 * That process 1 is in the network namespace of the host is never assumed. The kernel's own threads
 * are always in the initial one, and process 2, kthreadd, is one of them in every /proc of the
 * initial PID namespace: the two see the same file, that is the same inode. In a container's /proc
 * there is no such thread, and then nothing tells whose network it is.
 */

/* Why the network was not read. */
typedef enum HostNetworkLack {
        HOST_NETWORK_THERE,
        /* This /proc has no kernel threads: it is a container's, or hides others' processes. */
        HOST_NETWORK_FOREIGN_PIDS,
        HOST_NETWORK_OTHER_NAMESPACE, /* process 1 is not in the initial network namespace */
        HOST_NETWORK_DENIED,          /* its files are refused */
        HOST_NETWORK_NO_FILES,        /* a kernel without CONFIG_NET */
} HostNetworkLack;

/*
 * Lines come in pairs: "Tcp: NAME NAME ..." and "Tcp: N N ...". Puts those of @fields, whose keys
 * are prefix and name in one ("TcpRetransSegs", as nstat(8) has them). False when something is not
 * in this grammar.
 */
bool network_pairs_parse(Span text, Fields *fields);

/*
 * Members: counts, levels, and the interfaces in the order of the file. @sys_fd may be negative;
 * then, and where /sys shows the interfaces of another namespace, it is not known what they are.
 */
HostNetworkLack host_network_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                                  uint64_t counts[static _SOURCE_OUTCOME_MAX]);
