/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostUse
 *
 * What the whole host did in the period of one side, as far as the accounts of its groups are
 * measured against it. An amount may not be known.
 */

#include "json/amount.h"

/* Zeroed: nothing is known. */
typedef struct HostUse {
        Amount n_cpus;             /* online at the end */
        Amount cpu_used_ns;        /* user, nice, system, irq and softirq of all CPUs */
        Amount disk_read_bytes;    /* of whole physical disks */
        Amount disk_written_bytes; /* likewise */
        Amount memory_bytes;       /* that the host has */
        Amount dirty_growth_bytes; /* by how much memory that is to be written grew; 0 if it fell */
} HostUse;
