/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostNetwork
 *
 * What the network of the host has carried since boot: net/dev (net/core/net-procfs.c), net/snmp
 * and net/netstat (net/ipv4/proc.c). These files belong to a network namespace, that of the process
 * below whose directory they are. ctprofd.service has one of its own, without a network, so they
 * are read of process 1.
 *
 * That process 1 is in the network namespace of the host is never assumed. The kernel's own threads
 * are always in the initial one, and process 2, kthreadd, is one of them in every /proc of the
 * initial PID namespace: the two see the same file, that is the same inode. In a container's /proc
 * there is no such thread, and then nothing tells whose network it is.
 */

#include <stdbool.h>
#include <stdint.h>
#include "kernel/procfs/host-row.h"

/* Why the network was not read. */
typedef enum HostNetworkLack {
        HOST_NETWORK_THERE,
        /* This /proc has no kernel threads: it is a container's, or hides others' processes. */
        HOST_NETWORK_FOREIGN_PIDS,
        HOST_NETWORK_OTHER_NAMESPACE, /* process 1 is not in the initial network namespace */
        HOST_NETWORK_DENIED,          /* its files are refused */
        HOST_NETWORK_NO_FILES,        /* a kernel without CONFIG_NET */
} HostNetworkLack;

typedef struct InterfaceLine {
        Span name;
        HostRow row;
} InterfaceLine;

/* "  eth0: 1 2 3 ...", the name and the rest of it already taken apart. False when it is wrong. */
bool interface_line_parse(Span name, Span numbers, InterfaceLine *ret);

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
