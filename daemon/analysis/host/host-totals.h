/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostTotals
 *
 * Reads what a snapshot tells of its host as a whole (metric/host-part.h), and what happened
 * between two snapshots of one boot. Every number is there or absent; a part that could not be
 * read, or that the file's version did not record, is absent as a whole.
 *
 * Numbers keep the kernel's units (ticks, sectors, milliseconds, KiB) until host_value_of_unit()
 * makes nanoseconds and bytes of them: sums and differences in the kernel's units are exact.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/amount.h"
#include "metric/host-part.h"

/* No host has more; a document that does is refused. */
#define HOST_MAX_ITEMS 32768
#define HOST_MAX_NUMBERS 2048

#define HOST_NAME_BYTES 96 /* an interface has 15, a disk 31, each of up to 3 when escaped */

/* A CPU, a disk or an interface. */
typedef struct HostItem {
        char name[HOST_NAME_BYTES]; /* "0", "sda", "eth0"; valid UTF-8 under name_escape() */
        HostKind kind;
        bool has_device;
        uint32_t major, minor;           /* of a disk, as cgroups name it in io.stat */
        Amount counts[HOST_MAX_COLUMNS]; /* HOST_CPU_USER..., HOST_DISK_READS... */
} HostItem;

/* A number of the whole host under the kernel's name: "ctxt", "MemAvailable", "TcpRetransSegs". */
typedef struct HostNumber {
        char name[HOST_NAME_BYTES];
        HostGroupId group; /* its unit and rule: host_groups */
        Amount count;
} HostNumber;

typedef struct HostPart {
        bool has;
        Amount at_boottime_ns; /* when it was read; of a difference, when the later one was */
        Amount elapsed_ns;     /* of a difference only */
        Amount all_cpus[HOST_MAX_COLUMNS]; /* the item HOST_CPU_ALL, offline CPUs included */
        HostItem *items; /* owned; in the order of the file; of CPUs those that were online */
        size_t n_items, n_items_allocated;
        HostNumber *numbers; /* owned; in the order of the file */
        size_t n_numbers, n_numbers_allocated;
} HostPart;

/* Zeroed: nothing is known. */
typedef struct HostTotals {
        uint32_t user_hz; /* ticks a second; 0: not known */
        HostPart parts[_HOST_PART_MAX];
} HostTotals;

void host_totals_done(HostTotals *totals);

#define HOST_COMPLAINT_BYTES 192

/*
 * Takes one part as a document has it; empty or null: absent. Members and columns that are not
 * known are skipped, and so is what has no name or one of HOST_NAME_BYTES and more.
 * JSON_E_MALFORMED with a complaint, or a negative errno.
 */
_must_check_ int host_totals_scan(HostTotals *totals, HostPartId part, Span json,
                                  char ret_complaint[static HOST_COMPLAINT_BYTES]);

/* lookup; absent or NULL when there is none */

Amount host_totals_number(const HostTotals *totals, HostPartId part, const char *name);
/* @hint: the place of the item if both sides list the same ones, as they mostly do. */
const HostItem *host_part_find(const HostPart *part, const char *name, size_t hint);

/* A sum of ticks of one CPU or of all. */
typedef enum HostCpuTime {
        HOST_CPU_TIME_USED, /* user + nice + system + irq + softirq; steal is not use */
        HOST_CPU_TIME_ALL,  /* the same and idle, iowait and steal: all the time there was */
} HostCpuTime;

Amount host_cpu_time(const Amount cpu[static HOST_MAX_COLUMNS], HostCpuTime what);

/*
 * One column of all items that are whole (metric/host-part.h): the bytes of all disks, or of all
 * network devices, without counting any twice. Absent when the part is, or when it is not known of
 * some item that moved anything whether it is whole. A level is added up like a sum.
 */
Amount host_totals_sum(const HostTotals *totals, HostPartId part, unsigned column);

/* in the units that people read: nanoseconds, bytes; saturating; absent without user_hz */

Amount host_value_of_unit(const HostTotals *totals, HostUnit unit, Amount count);

/*
 * Finds what happened from @before to @after, two snapshots of one boot in this order: of sums the
 * difference, absent where one side lacks it or it fell (an item that came anew under an old name,
 * a counter of the kernel that was reset); of levels the later one. Items that only one side has
 * are left out: a CPU that was plugged or a disk that went in between has no difference. All CPUs
 * together have one, as they count those that are offline, too. A part that one side lacks is
 * absent. 0 or -ENOMEM; *ret must be freed in both cases.
 */
_must_check_ int host_totals_difference(const HostTotals *before, const HostTotals *after,
                                        HostTotals *ret);

/* One value of that: @after - @before by @rule; counters of 32 bits may have wrapped once. */
Amount host_count_difference(HostRule rule, Amount before, Amount after);
